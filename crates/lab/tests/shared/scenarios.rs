//! A scenario as text: read, refused, run, and read again as it was resolved. Messages call it `test.toml`.

use serde_json::Value as Json;
use sluicegate_lab::{Scenario, ScenarioError};
use sluicegate_netsim::{Outcome, Sim};

/// Overrides as the command line gives them.
pub fn overrides(sets: &[(&str, &str)]) -> Vec<(String, String)> {
    sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

pub fn read(text: &str, sets: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    Scenario::read(text, "test.toml", &overrides(sets))
}

/// The message of a scenario that must be refused.
pub fn refusal(text: &str, sets: &[(&str, &str)]) -> String {
    read(text, sets).err().expect("it is refused").0
}

pub fn sim(text: &str, sets: &[(&str, &str)]) -> Sim {
    Sim::new(read(text, sets).unwrap().plan().unwrap())
}

pub fn finished(mut sim: Sim) -> Outcome {
    while sim.advance(1 << 20) {}
    sim.finish()
}

pub fn run(text: &str, sets: &[(&str, &str)]) -> Outcome {
    finished(sim(text, sets))
}

/// A resolved scenario resolves to itself.
pub fn assert_resolves_to_itself(resolved: &Json) {
    let again = toml::to_string(resolved).unwrap();
    assert_eq!(read(&again, &[]).unwrap().resolved, *resolved);
}
