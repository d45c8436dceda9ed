//! Parts of a scenario that are written in Rust, outside the package: Python builds a program that contains them, and runs the
//! scenario in it (`sluicegate_lab::Own`).

use crate::{ScenarioError, placed};
use pyo3::prelude::*;
use sluicegate_lab::{Foreign, Scenario};

/// Lets `make`, a `sluicegate.custom.aqm.Maker`, find or make the program that a scenario needs; none if it needs none.
pub fn program<'py>(make: &Bound<'py, PyAny>, scenario: &Scenario) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (rust, python): (Vec<_>, Vec<_>) = scenario.own_flows().map(|(_, own)| own).partition(|own| own.is_rust());
    let Some(first) = rust.first().copied() else { return Ok(None) };
    if !python.is_empty() || scenario.has_own_queue() {
        let rule = "is written in Rust, and another part of the scenario in Python; a run has one of the two";
        return Err(ScenarioError::new_err(first.error(rule).0));
    }
    let mut last: Option<&Foreign> = None;
    let mut names: Vec<(&str, Option<&str>)> = Vec::new();
    for own in rust {
        // Those of a group are alike.
        if !last.replace(own).is_some_and(|last| std::ptr::eq(last, own)) {
            names.push((&own.reference, (!own.overridden).then_some(&*scenario.name)));
        }
    }
    make.call_method1("program", (names,)).map(Some).map_err(|error| placed(make.py(), first, error))
}
