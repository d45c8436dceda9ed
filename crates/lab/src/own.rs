//! A program that contains a user's congestion controls and ends of flows, written in Rust, and runs scenarios for another
//! process. The Python package writes such a program around the user's file, compiles it, and asks it for runs:
//!
//! ```no_run
//! # mod mine {
//! #     pub struct Paced;
//! #     impl Paced { pub fn new(_: &sluicegate_tcp::Host) -> Paced { Paced } }
//! #     impl sluicegate_tcp::cc::CongestionControl for Paced {
//! #         fn cwnd(&self) -> f64 { 10.0 }
//! #         fn ssthresh(&self) -> f64 { 10.0 }
//! #         fn on_ack(&mut self, _: &sluicegate_tcp::cc::Ack) {}
//! #         fn on_congestion(&mut self, _: f64, _: f64) {}
//! #         fn on_timeout(&mut self, _: f64, _: bool) {}
//! #         fn set_cwnd(&mut self, _: f64) {}
//! #     }
//! # }
//! fn main() -> std::process::ExitCode {
//!     sluicegate_lab::Own::default().controller(mine::Paced::new).serve()
//! }
//! ```
//!
//! A request on standard input is JSON: `text`, `name` and `sets` as [`Scenario::read`] takes them, and `own`, which maps each
//! name in the scenario to the number of a congestion control or a pair of ends, from 0 in the order in which the program adds
//! them. The answer on standard output begins with lines of JSON that report progress, `[simulated s, total s, events]`. A
//! last line has either `error`, or the summary and the columns of every table. The cells of these columns follow as bytes,
//! in the same order and with nothing between them.

use crate::document::ScenarioError;
use crate::foreign::Foreign;
use crate::results::{Cells, Column, ResultTable};
use crate::simulation::Refusal;
use crate::{Scenario, Simulation};
use serde_json::{Value as Json, json};
use sluicegate_base::Time;
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::{EndpointPair, Plan};
use sluicegate_tcp::Host;
use sluicegate_tcp::cc::CongestionControl;
use sluicegate_tcp::host::MakeController;
use std::io::{Read, Write, stdin, stdout};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks at a run.
const SLICE: Duration = Duration::from_millis(40);

/// Events between two looks at the clock.
const EVENTS: u64 = 4096;

/// What a program has, in the order in which it was told.
#[derive(Default)]
pub struct Own(Vec<Part>);

enum Part {
    Controller(Arc<MakeController>),
    Ends(EndpointPair),
}

impl Own {
    /// With a congestion control, which `make` makes for each connection.
    #[must_use]
    pub fn controller<C: CongestionControl + 'static>(
        mut self,
        make: impl Fn(&Host) -> C + Send + Sync + 'static,
    ) -> Own {
        self.0.push(Part::Controller(Arc::new(move |host| Box::new(make(host)))));
        self
    }

    /// With ends of a flow.
    #[must_use]
    pub fn ends(mut self, pair: EndpointPair) -> Own {
        self.0.push(Part::Ends(pair));
        self
    }

    /// Answers the request on standard input; the exit code is 2 for a scenario that cannot be run.
    #[must_use]
    pub fn serve(self) -> ExitCode {
        let mut request = String::new();
        let read = stdin().read_to_string(&mut request).map_err(|error| error.to_string());
        let done = read.and_then(|_| self.answer(&request));
        let (line, tables, code) = match done {
            Ok((line, tables)) => (line, tables, ExitCode::SUCCESS),
            Err(error) => (json!({ "error": error }), Vec::new(), ExitCode::from(2)),
        };
        let cells = tables.iter().flat_map(|table| &table.columns).map(|column| bytes(&column.cells));
        let mut out = stdout().lock();
        let written = writeln!(out, "{line}").and_then(|()| {
            cells.into_iter().try_for_each(|cells| out.write_all(&cells))?;
            out.flush()
        });
        // Nobody listens any more.
        if written.is_err() { ExitCode::FAILURE } else { code }
    }

    /// Runs what a request asks for.
    fn answer(&self, request: &str) -> Result<(Json, Vec<ResultTable>), String> {
        let request: Json = serde_json::from_str(request).map_err(|error| error.to_string())?;
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let sets = request["sets"].as_array().into_iter().flatten();
        let sets: Vec<(String, String)> = sets.map(|pair| (text(&pair[0]), text(&pair[1]))).collect();
        let (summary, tables) =
            self.run(&text(&request["text"]), &text(&request["name"]), &sets, &request["own"]).map_err(|e| e.0)?;
        let columns = |table: &ResultTable| table.columns.iter().map(described).collect::<Json>();
        let described: Json = tables.iter().map(|table| json!([table.name, columns(table)])).collect();
        Ok((json!({ "summary": summary, "tables": described }), tables))
    }

    fn run(
        &self,
        text: &str,
        name: &str,
        sets: &[(String, String)],
        places: &Json,
    ) -> Result<(Json, Vec<ResultTable>), ScenarioError> {
        let scenario = Scenario::read(text, name, sets)?;
        let plan = self.plan(&scenario, places)?;
        let mut simulation = Simulation::new(scenario, plan);
        let total = simulation.duration().as_secs();
        let mut told = Instant::now();
        loop {
            let going = simulation.advance(Time::NEVER, EVENTS, &mut |foreign, _, _| Err(elsewhere(foreign)));
            let going = going.map_err(|refusal| match refusal {
                Refusal::Scenario(error) | Refusal::Build(error) => error,
            })?;
            if !going {
                return Ok(simulation.finish());
            }
            if told.elapsed() >= SLICE {
                told = Instant::now();
                let line = json!([simulation.now().as_secs(), total, simulation.events()]);
                let mut out = stdout().lock();
                writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| ScenarioError(error.to_string()))?;
            }
        }
    }

    /// The plan of a scenario with what the program has; `places`: by name.
    fn plan(&self, scenario: &Scenario, places: &Json) -> Result<Plan, ScenarioError> {
        let mut plan = scenario.plan_with(&mut |foreign, _, _| Err(elsewhere(foreign)))?;
        for (flow, foreign) in scenario.own_flows() {
            let place = places[&foreign.reference].as_u64().and_then(|place| usize::try_from(place).ok());
            let source = Arc::make_mut(&mut plan.flows[flow].source);
            match (place.and_then(|place| self.0.get(place)), source.host_mut()) {
                (Some(Part::Controller(make)), Some(host)) => {
                    let own = host.clone().with_controller(&foreign.reference, make.clone());
                    *host = own.map_err(|rule| foreign.error(&rule))?;
                }
                (Some(Part::Ends(pair)), None) => *source = SourcePlan::Endpoints(pair.clone()),
                _ => return Err(elsewhere(foreign)),
            }
        }
        Ok(plan)
    }
}

fn elsewhere(foreign: &Foreign) -> ScenarioError {
    foreign.error("is not in this program")
}

/// A column: its name, its type, how many bytes its cells are, and of texts the different ones.
fn described(column: &Column) -> Json {
    let (length, names) = match &column.cells {
        Cells::F64(cells) => (8 * cells.len(), Json::Null),
        Cells::I64(cells) => (8 * cells.len(), Json::Null),
        Cells::Str(texts) => (4 * texts.codes.len(), json!(texts.names)),
    };
    json!([column.name, column.cells.dtype(), length, names])
}

/// The cells of a column as bytes, the least first: of texts the place of each among the different ones.
#[must_use]
pub fn bytes(cells: &Cells) -> Vec<u8> {
    match cells {
        Cells::F64(cells) => cells.iter().flat_map(|cell| cell.to_le_bytes()).collect(),
        Cells::I64(cells) => cells.iter().flat_map(|cell| cell.to_le_bytes()).collect(),
        Cells::Str(cells) => cells.codes.iter().flat_map(|code| code.to_le_bytes()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_tcp::cc::Ack;

    /// A window that stays.
    struct Fixed(f64);

    impl CongestionControl for Fixed {
        fn cwnd(&self) -> f64 {
            self.0
        }
        fn ssthresh(&self) -> f64 {
            self.0
        }
        fn on_ack(&mut self, _ack: &Ack) {}
        fn on_congestion(&mut self, _window: f64, _least: f64) {}
        fn on_timeout(&mut self, _window: f64, _cut: bool) {}
        fn set_cwnd(&mut self, _cwnd: f64) {}
    }

    const TEXT: &str = "network = { rate = \"10 Mbit/s\", delay = \"50 ms\" }\n\
                        flows = [{ kind = \"tcp\", controller = \"a.rs:Two\" }, { kind = \"tcp\", controller = \"a.rs:Four\" }]\n\
                        run = { duration = \"20 s\", warmup = \"10 s\" }\n";

    fn answered(own: &Json) -> Result<(Json, Vec<ResultTable>), String> {
        let program = Own::default().controller(|_| Fixed(2.0)).controller(|_| Fixed(4.0));
        program.answer(&json!({ "text": TEXT, "name": "it.toml", "sets": [], "own": own }).to_string())
    }

    #[test]
    fn names_stand_for_places_in_the_program() {
        for (first, second) in [(0, 1), (1, 0)] {
            let (line, tables) = answered(&json!({ "a.rs:Two": first, "a.rs:Four": second })).unwrap();
            assert_eq!(line["tables"][0][0], "flows");
            let flows = tables[0].columns.iter().zip(line["tables"][0][1].as_array().unwrap());
            let described =
                flows.clone().map(|(column, described)| (described[2].as_u64().unwrap(), bytes(&column.cells)));
            assert!(described.clone().count() > 20);
            described.for_each(|(length, cells)| assert_eq!(length, cells.len() as u64));
            let throughput = tables[0].columns.iter().find(|column| column.name == "throughput_bps").unwrap();
            let Cells::F64(rates) = &throughput.cells else { panic!("numbers") };
            let ratio = rates[1 - first] / rates[first];
            // Twice the window, but for what the link takes to send the packets, a hundredth of the round trip.
            assert!((1.9..2.1).contains(&ratio), "{rates:?}");
        }
    }

    #[test]
    fn what_the_program_has_not_is_refused_at_its_place() {
        let refused = answered(&json!({ "a.rs:Two": 0 })).unwrap_err();
        assert_eq!(refused, "it.toml:2: flows.1.controller = \"a.rs:Four\": is not in this program");
        assert!(answered(&json!({ "a.rs:Two": 0, "a.rs:Four": 7 })).unwrap_err().contains("is not in this program"));
    }
}
