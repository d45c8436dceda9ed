//! The Python module `sluicegate._core`: translation only.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use sluicegate_lab::results::{Cells, ResultTable, summary, tables};
use sluicegate_lab::{Scenario, declarations};
use sluicegate_netsim::Sim;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pyo3::create_exception!(
    _core,
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A scenario that cannot be run: where, what, and which rule it breaks."
);

/// How long the simulator runs before Python is heard.
const SLICE: Duration = Duration::from_millis(40);

/// A panic in Rust becomes an exception; nothing unwinds into Python.
fn caught<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        PyRuntimeError::new_err(format!("internal error, please report it: {}", text.unwrap_or_default()))
    })
}

fn read(text: &str, name: &str, sets: &[(String, String)]) -> PyResult<Scenario> {
    caught(|| Scenario::read(text, name, sets))?.map_err(|error| ScenarioError::new_err(error.0))
}

/// Does long work that Rust cannot slice on a thread of its own, so that Ctrl-C is heard meanwhile; it is then left
/// to end by itself.
fn aside<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    std::thread::spawn(move || sender.send(caught(work)));
    loop {
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(SLICE)) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("internal error: no answer")),
        }
    }
}

/// The version of the program.
#[pyfunction]
fn version() -> &'static str {
    sluicegate_lab::VERSION
}

/// Everything declared, as JSON.
#[pyfunction(name = "declarations")]
fn declarations_json() -> PyResult<String> {
    caught(|| declarations::declarations().to_string())
}

/// The resolved scenario as JSON, or `ScenarioError`.
#[pyfunction]
fn check(text: &str, name: &str, sets: Vec<(String, String)>) -> PyResult<String> {
    Ok(read(text, name, &sets)?.resolved.to_string())
}

/// Runs a scenario; `progress(simulated s, total s, events)` is called between slices and may raise.
#[pyfunction]
fn run<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    sets: Vec<(String, String)>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenario = read(text, name, &sets)?;
    let total = scenario.duration().as_secs();
    let (scenario, mut sim) = aside(py, move || {
        let sim = Sim::new(scenario.plan());
        (scenario, sim)
    })?;
    loop {
        let going = py.detach(|| {
            let begun = Instant::now();
            caught(|| {
                while begun.elapsed() < SLICE {
                    if !sim.advance(4096) {
                        return false;
                    }
                }
                true
            })
        })?;
        py.check_signals()?;
        if let Some(progress) = &progress {
            progress.call1((sim.now().as_secs(), total, sim.events()))?;
        }
        if !going {
            break;
        }
    }
    let (summary, tables) = aside(py, move || {
        let outcome = sim.finish();
        (summary(&scenario, &outcome).to_string(), tables(&outcome))
    })?;
    let result = PyDict::new(py);
    let all = PyDict::new(py);
    for table in &tables {
        all.set_item(table.name, columns(py, table)?)?;
    }
    result.set_item("summary", summary)?;
    result.set_item("tables", all)?;
    Ok(result)
}

fn columns<'py>(py: Python<'py>, table: &ResultTable) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for column in &table.columns {
        py.check_signals()?;
        let payload: Bound<'py, PyAny> = match &column.cells {
            Cells::F64(cells) => bytes(py, cells.iter().map(|x| x.to_le_bytes())),
            Cells::U64(cells) => bytes(py, cells.iter().map(|x| x.to_le_bytes())),
            Cells::Str(cells) => PyList::new(py, cells)?.into_any(),
        };
        let name = column.name.as_ref().into_pyobject(py)?.into_any();
        let dtype = column.cells.dtype().into_pyobject(py)?.into_any();
        list.append(PyTuple::new(py, [name, dtype, payload])?)?;
    }
    Ok(list)
}

fn bytes(py: Python<'_>, cells: impl Iterator<Item = [u8; 8]>) -> Bound<'_, PyAny> {
    PyBytes::new(py, &cells.flatten().collect::<Vec<u8>>()).into_any()
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(declarations_json, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
