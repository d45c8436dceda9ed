//! The module that the page runs in a worker: translation only. Text goes in and JSON comes out; errors are the texts that the
//! command line prints.

use serde_json::{Value as Json, json};
use sluicegate_base::{Span, Time};
use sluicegate_lab::results::{Cells, ResultTable};
use sluicegate_lab::simulation::Refusal;
use sluicegate_lab::watch::Watch;
use sluicegate_lab::{Foreign, Scenario, ScenarioError, Simulation, declarations};
use std::panic;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn error(text: &str);
}

/// A panic, which is a mistake of the program, is told where developers look.
#[wasm_bindgen(start)]
pub fn start() {
    panic::set_hook(Box::new(|info| error(&info.to_string())));
}

/// The version of the program.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    sluicegate_lab::VERSION.to_owned()
}

/// Everything declared, as JSON.
#[wasm_bindgen(js_name = declarations)]
#[must_use]
pub fn declarations_json() -> String {
    declarations::declarations().to_string()
}

/// A run that the page drives.
#[wasm_bindgen]
pub struct Run {
    simulation: Simulation,
    watch: Watch,
    samples: Watch,
}

const IN_PYTHON: &str = "is written in Python, which this page does not have";

#[wasm_bindgen]
impl Run {
    /// A run of a scenario before anything has happened. `sets`: overrides, `KEY=VALUE` each. `watched`: everything is counted
    /// from the start, because whoever watches sees the warm-up too.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, name: &str, sets: Vec<String>, watched: bool) -> Result<Run, String> {
        let pair = |set: String| set.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
        let sets: Vec<(String, String)> = sets.into_iter().filter_map(pair).collect();
        let begun = Scenario::read(text, name, &sets).and_then(|scenario| {
            let mut plan = scenario.plan_with(&mut |foreign, _, _| Err(foreign.error(IN_PYTHON)))?;
            if watched {
                plan.warmup = Span::ZERO;
            }
            Ok(Simulation::new(scenario, plan))
        });
        Ok(Run { simulation: begun.map_err(|error| error.0)?, watch: Watch::default(), samples: Watch::default() })
    }

    /// What the page has to know of it: the scenario as it was given and with every default, the groups, the group of each flow.
    #[must_use]
    pub fn about(&self) -> String {
        let run = &self.simulation;
        json!({
            "given": run.given(),
            "scenario": run.resolved_scenario(),
            "groups": run.names(),
            "group_of_flow": run.groups_of_flows(),
            "duration_s": run.duration().as_secs(),
        })
        .to_string()
    }

    /// Runs about `budget` events, up to and including a time in seconds; false when that or the end of the run is reached.
    pub fn advance(&mut self, until_s: f64, budget: u32) -> Result<bool, String> {
        let mut none = |foreign: &Foreign, _: &str, _| Err::<_, ScenarioError>(foreign.error(IN_PYTHON));
        let until = Time((until_s * 1e9) as u64);
        self.simulation.advance(until, budget.into(), &mut none).map_err(told)
    }

    /// Makes a change at the present time.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let mut none = |foreign: &Foreign, _: &str, _| Err::<_, ScenarioError>(foreign.error(IN_PYTHON));
        self.simulation.set(key, value, &mut none).map_err(told)
    }

    /// What has been changed, as JSON.
    #[must_use]
    pub fn changes(&self) -> String {
        self.simulation.changes().to_string()
    }

    /// The simulated time in seconds.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.simulation.now().as_secs()
    }

    /// Events so far.
    #[must_use]
    pub fn events(&self) -> f64 {
        self.simulation.events() as f64
    }

    /// Whether the run is over.
    #[must_use]
    pub fn done(&self) -> bool {
        self.simulation.is_done()
    }

    /// The present frame as JSON, with up to `events` of what has happened to packets since the last one.
    pub fn frame(&mut self, events: u32) -> String {
        self.watch.frame(&mut self.simulation, Some(events as usize)).to_string()
    }

    /// What has been counted since the last sample, as a frame without single packets.
    pub fn sample(&mut self) -> String {
        self.samples.frame(&mut self.simulation, None).to_string()
    }

    /// The summary of the run so far, as JSON.
    #[must_use]
    pub fn summary(&self) -> String {
        self.simulation.results().0.to_string()
    }

    /// The tables of the run so far, as JSON: of each its columns, of each name, type and rows. Numbers are texts of the bits
    /// of the little-endian bytes, so that nothing is lost.
    #[must_use]
    pub fn tables(&self) -> String {
        let (_, tables) = self.simulation.results();
        Json::Array(tables.iter().map(table).collect()).to_string()
    }
}

fn table(table: &ResultTable) -> Json {
    let columns = table.columns.iter().map(|column| {
        let rows: Json = match &column.cells {
            Cells::F64(cells) => cells.iter().map(|x| hex(x.to_le_bytes())).collect(),
            Cells::I64(cells) => cells.iter().map(|x| hex(x.to_le_bytes())).collect(),
            Cells::Str(cells) => cells.codes.iter().map(|code| cells.names[*code as usize].as_str()).collect(),
        };
        json!([column.name, column.cells.dtype(), rows])
    });
    json!({ "name": table.name, "columns": columns.collect::<Json>() })
}

fn hex(bytes: [u8; 8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn told(refusal: Refusal<ScenarioError>) -> String {
    match refusal {
        Refusal::Scenario(error) | Refusal::Build(error) => error.0,
    }
}
