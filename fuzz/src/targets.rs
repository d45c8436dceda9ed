//! What the fuzzer calls with its bytes, and `crates/lab/tests/corpus.rs` with the files of the corpus.
//!
//! Whatever the bytes, a target returns within a second and within the memory that `tools/fuzz` allows. Bytes that are
//! valid are not only read: what they describe is begun, as far as a bound on flows and events goes.

use sluicegate_aqm::Discipline;
use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_base::{Rate, Size, quantity};
use sluicegate_lab::{Foreign, Scenario, ScenarioError};
use sluicegate_netsim::{Sim, SimPacket};

/// Events of the simulator that one input may use: some milliseconds.
const EVENTS: u64 = 3_000;

/// More flows than this are checked but not set up: memory and time of a run grow with them, as the scenario asks.
const FLOWS: u64 = 64;

/// What overrides are put on: the scenarios that come along.
const BASES: &[&str] = &[
    include_str!("../../python/sluicegate/scenarios/choke1999.toml"),
    include_str!("../../python/sluicegate/scenarios/topology.toml"),
    include_str!("../../python/sluicegate/scenarios/traffic.toml"),
];

/// The text of a scenario.
pub fn scenario(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        read_and_begin(text, &[]);
    }
}

/// Values of the command line: lines of KEY=VALUE, each as `--set` takes it, on top of a scenario; the number of lines
/// chooses which.
pub fn overrides(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sets: Vec<(String, String)> = text
        .split('\n')
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    for (_, value) in &sets {
        quantities(value);
    }
    read_and_begin(BASES[sets.len() % BASES.len()], &sets);
}

/// What is shown of a quantity is read as the same again.
fn quantities(text: &str) {
    if let Ok(span) = quantity::span(text) {
        assert_eq!(quantity::span(&span.to_string()), Ok(span));
    }
    if let Ok(rate) = quantity::rate(text) {
        assert_eq!(quantity::rate(&rate.to_string()), Ok(rate));
    }
    if let Ok(size) = quantity::size(text) {
        assert_eq!(quantity::size(&size.to_string()), Ok(size));
    }
}

fn read_and_begin(text: &str, sets: &[(String, String)]) {
    let scenario = match Scenario::read(text, "fuzz.toml", sets) {
        Ok(scenario) => scenario,
        Err(ScenarioError(message)) => {
            let placed = message.starts_with("fuzz.toml:") || message.starts_with("--set ");
            assert!(placed, "the message has no place: {message}");
            return;
        }
    };
    let groups = scenario.resolved["flows"].as_array().expect("flows are a list");
    let flows = groups.iter().filter_map(|group| group["count"].as_u64()).fold(0, u64::saturating_add);
    if flows > FLOWS {
        return;
    }
    let plan = scenario.plan_with(&mut stand_in);
    let mut sim = Sim::new(plan.expect("the stand-in is always built"));
    if !sim.advance(EVENTS) {
        let outcome = sim.finish();
        let _ = sluicegate_lab::results::summary(&scenario, &outcome);
        let _ = sluicegate_lab::results::tables(&outcome);
    }
}

/// In the place of a discipline written in Python.
fn stand_in(_: &Foreign, _: &str, _: Rate) -> Result<(String, Box<dyn Discipline<SimPacket>>), ScenarioError> {
    let queue = DropTail::new(DropTailParams { limit: Size::Packets(50) });
    Ok(("stand-in".to_owned(), Box::new(queue)))
}
