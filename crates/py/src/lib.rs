//! The Python module `sluicegate._core`: translation only.

mod bpf;
mod capture;
mod discipline;
mod endpoint;
mod lent;
#[cfg(target_os = "linux")]
mod live;
mod own;
mod replay;
mod scenario;
mod simulation;

use lent::{ConservationError, PyCtx, PyHeader, PyPacket};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use scenario::PyScenario;
use simulation::{Driver, PySimulation};
use sluicegate_base::{Link, Rate, Time};
use sluicegate_lab::own::bytes;
use sluicegate_lab::replay::trace::{Trace, attach};
use sluicegate_lab::results::{Cells, ResultTable};
use sluicegate_lab::vectors::{Format, text_of, write};
use sluicegate_lab::{Foreign, declarations};
use std::fs::File;
use std::io::BufWriter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

pyo3::create_exception!(
    sluicegate, // where Python finds it, other processes included
    ScenarioError,
    pyo3::exceptions::PyValueError,
    "A scenario that cannot be run: where, what, and which rule it breaks."
);

/// How long the simulator runs before Python is heard.
const SLICE: Duration = Duration::from_millis(40);

/// Events between two looks at the clock, and at the errors of disciplines written in Python.
const EVENTS: u64 = 4096;

/// A panic in Rust becomes an exception; nothing unwinds into Python.
fn caught<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        let text = text.or_else(|| cause.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        PyRuntimeError::new_err(format!("internal error, please report it: {}", text.unwrap_or_default()))
    })
}

/// Does steps of work for a slice of time, or until one is the last, while Python does other things; what the last one gave.
fn slice<T: Send>(
    py: Python<'_>,
    mut step: impl FnMut() -> T + Send,
    goes_on: impl Fn(&T) -> bool + Send,
) -> PyResult<T> {
    py.detach(move || {
        let begun = Instant::now();
        caught(|| {
            loop {
                let state = step();
                if !goes_on(&state) || begun.elapsed() >= SLICE {
                    return state;
                }
            }
        })
    })
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

/// The commit that the build was told of, as tools/wheel.py does; "" otherwise.
#[pyfunction]
fn commit() -> &'static str {
    option_env!("SLUICEGATE_COMMIT").unwrap_or("")
}

/// Everything declared, as JSON.
#[pyfunction(name = "declarations")]
fn declarations_json() -> PyResult<String> {
    caught(|| declarations::declarations().to_string())
}

/// The nearest of `known` to `given`, if it is near at all. Names of files may have what no text has.
#[pyfunction]
fn nearest<'py>(given: &Bound<'py, PyString>, known: Vec<Bound<'py, PyString>>) -> Option<Bound<'py, PyString>> {
    let names: Vec<_> = known.iter().map(|name| name.to_string_lossy()).collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let near = sluicegate_base::params::nearest(&given.to_string_lossy(), &names)?;
    names.iter().position(|name| *name == near).map(|at| known[at].clone())
}

/// PI's gains a and b for n flows with the round-trip time r in seconds on c packets per second, sampled w times in a second.
#[pyfunction]
fn pi_gains(n: f64, r: f64, c: f64, w: f64) -> (f64, f64) {
    let gains = sluicegate_aqm::pi::Gains::of(n, r, c, w);
    (gains.a, gains.b)
}

/// The gains a and b of AFD's and DCN's controller for a share of which one packet changes the arrivals by `effect` packets.
#[pyfunction]
fn fair_share_gains(gain: f64, effect: f64) -> (f64, f64) {
    let gains = sluicegate_aqm::fair_share::Gains::of(gain, effect);
    (gains.a, gains.b)
}

/// How many packets AFD's shadow buffer holds on a link, rate in bit/s and packets in bytes.
#[pyfunction]
fn afd_samples(rate: u64, packet: u64) -> u64 {
    sluicegate_aqm::afd::AfdParams::samples(&Link { rate: Rate(rate), packet })
}

/// What is in a file of connection vectors, as JSON, and its text in the format of this name, if one is given.
#[pyfunction]
#[pyo3(signature = (path, format=None))]
fn vectors(py: Python<'_>, path: String, format: Option<&str>) -> PyResult<(String, Option<String>)> {
    let format = match format {
        None => None,
        Some(name) => {
            let known = Format::ALL.iter().copied().find(|format| format.name() == name);
            let names = Format::ALL.map(Format::name).join(", ");
            Some(known.ok_or_else(|| ScenarioError::new_err(format!("no such format: {name:?}; one of {names}")))?)
        }
    };
    let done = aside(py, move || {
        let text = text_of(&path).map_err(|rule| format!("{path}: {rule}"))?;
        let vectors = sluicegate_lab::vectors::read(&text, &path).map_err(|error| error.0)?;
        let its = Format::of(&text).unwrap_or(Format::Original);
        let written = format.map(|format| write(&vectors, format)).transpose();
        let written = written.map_err(|error| format!("{path}: {}", error.0))?;
        Ok::<_, String>((sluicegate_lab::vectors::summary(&vectors, its).to_string(), written))
    })?;
    done.map_err(ScenarioError::new_err)
}

/// An error of a discipline that Python makes, with its place when it is the scenario's fault.
fn placed(py: Python<'_>, foreign: &Foreign, error: PyErr) -> PyErr {
    if !error.is_instance_of::<ScenarioError>(py) {
        return error;
    }
    let placed = ScenarioError::new_err(foreign.error(&error.value(py).to_string()).0);
    placed.set_cause(py, error.cause(py));
    placed
}

/// Runs a scenario; `progress(simulated s, total s, events)` is called between slices and may raise; `make` makes a
/// discipline written in Python; `pcap` names links, and for each a new file for what it sends.
#[pyfunction]
#[pyo3(signature = (scenario, progress=None, make=None, pcap=Vec::new()))]
fn run<'py>(
    py: Python<'py>,
    scenario: &PyScenario,
    progress: Option<Bound<'py, PyAny>>,
    make: Option<Bound<'py, PyAny>>,
    pcap: Vec<(String, String)>,
) -> PyResult<Bound<'py, PyDict>> {
    if let Some(program) = make.as_ref().map_or(Ok(None), |make| own::program(make, &scenario.read))? {
        let given = (&scenario.text, &scenario.read.name, scenario.sets.clone(), progress, pcap);
        return Ok(program.call_method1("run", given)?.cast_into()?);
    }
    let links: Vec<String> = pcap.iter().map(|(link, _)| link.clone()).collect();
    let (mut driver, shapes) = Driver::begin(py, scenario, make.as_ref(), links)?;
    let mut traces = Vec::new();
    for ((link, path), shapes) in pcap.iter().zip(shapes.iter().cycle()) {
        let trace = File::create(path).and_then(|file| Trace::new(BufWriter::new(file), shapes.clone()));
        let trace = trace.map_err(|error| replay::failed(&error, path))?;
        traces.push((attach(driver.simulation.sim(), link, trace), path));
    }
    driver.advance(py, Time::NEVER, progress.as_ref())?;
    for (trace, path) in traces {
        let trace = trace.lock().ok().and_then(|mut trace| trace.take());
        trace.map_or(Ok(()), |trace| trace.finish().map(drop)).map_err(|error| replay::failed(&error, path))?;
    }
    let (summary, tables) = aside(py, move || driver.simulation.finish())?;
    result_of(py, &summary.to_string(), &tables)
}

fn result_of<'py>(py: Python<'py>, summary: &str, tables: &[ResultTable]) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("summary", summary)?;
    result.set_item("tables", tables_of(py, tables)?)?;
    Ok(result)
}

fn tables_of<'py>(py: Python<'py>, tables: &[ResultTable]) -> PyResult<Bound<'py, PyDict>> {
    let all = PyDict::new(py);
    for table in tables {
        all.set_item(table.name, columns(py, table)?)?;
    }
    Ok(all)
}

fn columns<'py>(py: Python<'py>, table: &ResultTable) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for column in &table.columns {
        py.check_signals()?;
        let cells = PyBytes::new(py, &bytes(&column.cells)).into_any();
        let payload = match &column.cells {
            Cells::Str(texts) => PyTuple::new(py, [PyList::new(py, &texts.names)?.into_any(), cells])?.into_any(),
            Cells::F64(_) | Cells::I64(_) => cells,
        };
        let name = column.name.as_ref().into_pyobject(py)?.into_any();
        let dtype = column.cells.dtype().into_pyobject(py)?.into_any();
        list.append(PyTuple::new(py, [name, dtype, payload])?)?;
    }
    Ok(list)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("ConservationError", module.py().get_type::<ConservationError>())?;
    module.add_class::<PyPacket>()?;
    module.add_class::<PyHeader>()?;
    module.add_class::<endpoint::PyDatagram>()?;
    module.add_class::<PyCtx>()?;
    module.add_class::<PyScenario>()?;
    module.add_class::<PySimulation>()?;
    module.add_class::<capture::PyCaptureTable>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(commit, module)?)?;
    module.add_function(wrap_pyfunction!(declarations_json, module)?)?;
    module.add_function(wrap_pyfunction!(nearest, module)?)?;
    module.add_function(wrap_pyfunction!(pi_gains, module)?)?;
    module.add_function(wrap_pyfunction!(fair_share_gains, module)?)?;
    module.add_function(wrap_pyfunction!(afd_samples, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::unused_in_replay, module)?)?;
    module.add_function(wrap_pyfunction!(vectors, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(bpf::bpf_names, module)?)?;
    module.add_function(wrap_pyfunction!(bpf::bpf_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(bpf::bpf_object, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(live::shell, module)?)?;
        module.add_function(wrap_pyfunction!(live::testbed, module)?)?;
        module.add_function(wrap_pyfunction!(live::bridge, module)?)?;
    }
    module.add_function(wrap_pyfunction!(replay::replay, module)?)
}
