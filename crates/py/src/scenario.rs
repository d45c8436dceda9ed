//! A scenario that is read once, for all that Python then does with it.

use crate::lent::Faults;
use crate::{ScenarioError, caught, discipline, endpoint, own, placed};
use pyo3::prelude::*;
use sluicegate_lab::queueing::Unused;
use sluicegate_lab::replay::ReplayScenario;
use sluicegate_lab::{Foreign, Scenario};
use std::sync::Arc;

/// A scenario that has passed every check.
#[pyclass(frozen, module = "sluicegate._core", name = "Scenario")]
pub struct PyScenario {
    pub read: Arc<Scenario>,
    /// What it was read from, with the overrides: a program that runs it reads the same.
    pub text: String,
    pub sets: Vec<(String, String)>,
}

#[pymethods]
impl PyScenario {
    /// Reads a text with overrides on top; `ScenarioError` for one that breaks a rule.
    #[new]
    fn new(text: String, name: &str, sets: Vec<(String, String)>) -> PyResult<PyScenario> {
        let read = caught(|| Scenario::read(&text, name, &sets))?;
        let read = Arc::new(read.map_err(|error| ScenarioError::new_err(error.0))?);
        Ok(PyScenario { read, text, sets })
    }

    /// The file's name.
    #[getter]
    fn name(&self) -> &str {
        &self.read.name
    }

    /// What overrides or the file say of a queue that does nothing: place and key, discipline, nearest key.
    #[getter]
    fn unused(&self) -> Vec<(&str, &str, &str)> {
        told(&self.read.unused)
    }

    /// Everything with its defaults filled in, the caller's own.
    fn resolved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.read.resolved.to_string(),))
    }

    /// Makes what users write, to see that it can be made.
    fn try_making(&self, make: &Bound<'_, PyAny>) -> PyResult<()> {
        let (scenario, faults) = (&self.read, Arc::new(Faults::default()));
        let at = |foreign: &Foreign, error| placed(make.py(), foreign, error);
        scenario.try_foreign(&mut |foreign, link, rate| {
            discipline::build(make, foreign, &scenario.name, link, rate, &faults).map_err(|error| at(foreign, error))
        })?;
        own::program(make, scenario)?;
        let mut last: Option<&Foreign> = None;
        for (flow, foreign) in scenario.own_flows() {
            // Those of a group are alike.
            if foreign.is_rust() || last.replace(foreign).is_some_and(|last| std::ptr::eq(last, foreign)) {
                continue;
            }
            endpoint::build(make, foreign, &scenario.name, (scenario.seed(), flow), &faults)
                .map_err(|error| at(foreign, error))?;
        }
        Ok(())
    }
}

/// The same as [`PyScenario::unused`] of the overrides of a replay.
#[pyfunction]
pub fn unused_in_replay(sets: Vec<(String, String)>) -> PyResult<Vec<(String, String, String)>> {
    let read = caught(|| ReplayScenario::read(&sets))?.map_err(|error| ScenarioError::new_err(error.0))?;
    let owned =
        |(place, discipline, hint): (&str, &str, &str)| (place.to_owned(), discipline.to_owned(), hint.to_owned());
    Ok(told(&read.unused).into_iter().map(owned).collect())
}

fn told(unused: &[Unused]) -> Vec<(&str, &str, &str)> {
    unused.iter().map(|key| (&*key.place, key.discipline, &*key.hint)).collect()
}
