//! The replay of a capture, as Python calls it.

use crate::lent::Faults;
use crate::{EVENTS, SLICE, ScenarioError, aside, caught, discipline, placed, result_of, slice};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluicegate_lab::replay::piped::Piped;
use sluicegate_lab::replay::{Failure, Progress, Replay, ReplayScenario, Report};
use std::fs::File;
use std::io::{self, BufWriter, Read, stdin};
use std::sync::Arc;

/// Replays the capture at `path` (`-`: standard input) as `sets` say; `write`: a new file for what leaves the link;
/// `progress(bytes read, packets)` is called between slices and may raise; `make` makes a discipline written in Python.
#[pyfunction]
#[pyo3(signature = (path, sets, write, progress, make=None))]
pub fn replay<'py>(
    py: Python<'py>,
    path: &str,
    sets: Vec<(String, String)>,
    write: Option<&str>,
    progress: Option<Bound<'py, PyAny>>,
    make: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenario = caught(|| ReplayScenario::read(&sets))?.map_err(|error| ScenarioError::new_err(error.0))?;
    let faults = Arc::new(Faults::default());
    let (name, queue) = caught(|| {
        scenario.discipline(&mut |foreign, link, rate| match &make {
            Some(make) => {
                discipline::build(make, foreign, "", link, rate, &faults).map_err(|error| placed(py, foreign, error))
            }
            None => Err(ScenarioError::new_err(ReplayScenario::nothing_builds(foreign).0)),
        })
    })??;
    let reader = opened(py, path)?;
    let out = match write {
        Some(path) => Some(BufWriter::new(File::create(path).map_err(|error| failed(&error, path))?)),
        None => None,
    };
    let answer = |failure: Failure| match failure {
        Failure::Unusable(what) => ScenarioError::new_err(format!("{path}: {what}")),
        Failure::Write(error) => failed(&error, write.unwrap_or_default()),
    };
    let mut run = Replay::new(reader, scenario.setting(), queue, out).map_err(answer)?;
    let budget = if scenario.is_foreign() { EVENTS / 64 } else { EVENTS };
    loop {
        let going = |state: &Result<Progress, Failure>| matches!(state, Ok(Progress::Going)) && !faults.any();
        let state = slice(py, || run.advance(budget), going)?;
        if let Some(error) = faults.take() {
            return Err(error);
        }
        let state = state.map_err(answer)?;
        py.check_signals()?;
        if let Some(progress) = &progress {
            progress.call1(run.progress())?;
        }
        if state == Progress::Done {
            break;
        }
    }
    let (rate, file) = (scenario.setting().rate, path.to_owned());
    let done = aside(py, move || {
        let report = Report::new(run.finish()?, name, rate);
        Ok((report.summary(&scenario, &file).to_string(), report.tables()))
    })?;
    let (summary, tables) = done.map_err(answer)?;
    result_of(py, &summary, &tables)
}

/// The stream of the capture at `path` (`-`: standard input).
pub fn opened(py: Python<'_>, path: &str) -> PyResult<Box<dyn Read + Send>> {
    if path == "-" {
        return Ok(Box::new(Piped::new(stdin(), SLICE)));
    }
    let name = path.to_owned(); // a named pipe opens when somebody writes to it
    let file = aside(py, move || File::open(name))?.map_err(|error| failed(&error, path))?;
    let regular = file.metadata().is_ok_and(|about| about.is_file());
    Ok(if regular { Box::new(file) } else { Box::new(Piped::new(file, SLICE)) })
}

/// An error of the system, with the file that it is about.
pub fn failed(error: &io::Error, path: &str) -> PyErr {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
    PyOSError::new_err((error.raw_os_error().unwrap_or(5), text, path.to_owned()))
}
