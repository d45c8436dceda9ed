//! A run that Python drives.

use crate::lent::Faults;
use crate::scenario::PyScenario;
use crate::{EVENTS, ScenarioError, aside, caught, discipline, endpoint, placed, result_of, slice};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluicegate_aqm::Discipline;
use sluicegate_base::{Rate, Time};
use sluicegate_lab::replay::Shapes;
use sluicegate_lab::replay::trace::observable;
use sluicegate_lab::simulation::Refusal;
use sluicegate_lab::{Foreign, Simulation};
use sluicegate_netsim::{EndpointPair, Plan, QueuedPacket};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// A simulation, and what makes its disciplines in Python and hears their errors.
pub struct Driver {
    pub simulation: Simulation,
    maker: Maker,
    /// Whether it stopped in the middle of an event, and can neither go on nor be looked at.
    broken: bool,
}

/// Makes disciplines written in Python.
struct Maker {
    make: Option<Py<PyAny>>,
    /// The scenario's file.
    file: String,
    faults: Arc<Faults>,
    /// Whether it has made one, and whether headers are shown to it.
    used: bool,
    shown: bool,
}

impl Maker {
    /// What makes what is written in Python.
    fn make<'py>(&mut self, py: Python<'py>, foreign: &Foreign) -> PyResult<Bound<'py, PyAny>> {
        self.used = true;
        let rule = "is written in Python, and nothing that makes it was given";
        let make = self.make.as_ref().ok_or_else(|| ScenarioError::new_err(foreign.error(rule).0))?;
        Ok(make.bind(py).clone())
    }

    fn ends(&mut self, py: Python<'_>, foreign: &Foreign, flow: (u64, usize)) -> PyResult<EndpointPair> {
        if foreign.is_rust() {
            let rule = "is written in Rust, and runs in a program of its own, from its beginning to its end";
            return Err(ScenarioError::new_err(foreign.error(rule).0));
        }
        let make = self.make(py, foreign)?;
        endpoint::build(&make, foreign, &self.file, flow, &self.faults).map_err(|error| placed(py, foreign, error))
    }

    fn build(
        &mut self,
        py: Python<'_>,
        foreign: &Foreign,
        link: &str,
        rate: Rate,
    ) -> PyResult<(String, Box<dyn Discipline<QueuedPacket>>)> {
        let make = self.make(py, foreign)?;
        discipline::build(&make, foreign, &self.file, link, rate, &self.faults)
            .map_err(|error| placed(py, foreign, error))
    }
}

impl Maker {
    /// What it has made may ask packets for their headers from now on.
    fn show_headers(&mut self, simulation: &mut Simulation) {
        if self.used && !self.shown {
            self.shown = true;
            simulation.sim().show_headers(&self.faults.headers);
        }
    }
}

/// Why Rust has refused a change, as an exception.
fn refused(refusal: Refusal<PyErr>) -> PyErr {
    match refusal {
        Refusal::Scenario(error) => ScenarioError::new_err(error.0),
        Refusal::Build(error) => error,
    }
}

impl Driver {
    /// A run of a scenario before anything has happened, and the shapes of packets if any link is to be captured.
    pub fn begin(
        py: Python<'_>,
        scenario: &PyScenario,
        make: Option<&Bound<'_, PyAny>>,
        captured: Vec<String>,
    ) -> PyResult<(Driver, Option<Shapes>)> {
        let scenario = scenario.read.clone();
        let make = make.map(|make| make.clone().unbind());
        let mut maker = Maker { make, file: scenario.name.clone(), faults: Arc::default(), used: false, shown: false };
        let look = move |plan: &Plan| -> Result<_, sluicegate_lab::ScenarioError> {
            captured.iter().try_for_each(|link| observable(plan, link))?;
            Ok((!captured.is_empty()).then(|| Shapes::of(plan)))
        };
        let begun = if scenario.is_foreign() {
            let mut plan =
                caught(|| scenario.plan_with(&mut |foreign, link, rate| maker.build(py, foreign, link, rate)))??;
            for (flow, foreign) in scenario.own_flows() {
                let ends = maker.ends(py, foreign, (scenario.seed(), flow))?;
                plan.flows[flow].source = Arc::new(ends.into());
            }
            caught(|| look(&plan).map(|shapes| (Simulation::new(scenario, plan), shapes)))?
        } else {
            aside(py, move || {
                let plan = scenario.plan()?;
                look(&plan).map(|shapes| (Simulation::new(scenario, plan), shapes))
            })?
        };
        let (simulation, shapes) = begun.map_err(|error| ScenarioError::new_err(error.0))?;
        let mut driver = Driver { simulation, maker, broken: false };
        driver.maker.show_headers(&mut driver.simulation);
        Ok((driver, shapes))
    }

    /// Runs up to and including a time; `progress(simulated s, total s, events)` is called between slices and may raise.
    pub fn advance(&mut self, py: Python<'_>, until: Time, progress: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Driver { simulation, maker, broken } = self;
        let total = simulation.duration().as_secs();
        loop {
            let faults = maker.faults.clone();
            let step = || {
                // A discipline in Python takes microseconds for what takes nanoseconds here, and an error is to be seen at
                // once.
                let budget = if maker.used { EVENTS / 64 } else { EVENTS };
                let mut build =
                    |foreign: &Foreign, link: &str, rate| Python::attach(|py| maker.build(py, foreign, link, rate));
                let going = simulation.advance(until, budget, &mut build)?;
                maker.show_headers(simulation);
                Ok(going)
            };
            let going = slice(py, step, |going| matches!(going, Ok(true)) && !faults.any());
            let fault = maker.faults.take();
            *broken = going.is_err() || fault.is_some();
            if let Some(error) = fault {
                return Err(error);
            }
            let going = going?.map_err(refused)?;
            py.check_signals()?;
            if let Some(progress) = progress {
                progress.call1((simulation.now().as_secs(), total, simulation.events()))?;
            }
            if !going {
                return Ok(());
            }
        }
    }

    fn set(&mut self, py: Python<'_>, key: &str, value: &str) -> PyResult<()> {
        let Driver { simulation, maker, broken } = self;
        let mut build = |foreign: &Foreign, link: &str, rate| maker.build(py, foreign, link, rate);
        let done = caught(|| simulation.set(key, value, &mut build));
        maker.show_headers(simulation);
        let fault = maker.faults.take();
        *broken = done.is_err() || fault.is_some();
        fault.map_or(Ok(()), Err)?;
        done?.map_err(refused)
    }
}

/// Where a run that Python drives is.
enum State {
    Running(Box<Driver>),
    /// It was ended, or a discipline has raised an exception in the middle of an event.
    Over(&'static str),
}

/// A run that Python drives.
#[pyclass(frozen, module = "sluicegate._core", name = "Simulation")]
pub struct PySimulation(Mutex<State>);

const ENDED: &str = "this simulation has ended";
const BROKEN: &str = "this simulation has ended with an error";

impl PySimulation {
    fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        match self.0.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(state)) => Ok(state.into_inner()),
            // To wait would be for ever: whoever holds it may wait for this thread's hold of Python.
            Err(TryLockError::WouldBlock) => Err(PyRuntimeError::new_err("this simulation is at work")),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Driver) -> PyResult<T>) -> PyResult<T> {
        let mut state = self.state()?;
        let driver = match &mut *state {
            State::Running(driver) => driver,
            State::Over(why) => return Err(PyRuntimeError::new_err(*why)),
        };
        let done = work(driver);
        if driver.broken {
            *state = State::Over(BROKEN);
        }
        done
    }
}

#[pymethods]
impl PySimulation {
    #[new]
    #[pyo3(signature = (scenario, make=None))]
    fn new(py: Python<'_>, scenario: &PyScenario, make: Option<Bound<'_, PyAny>>) -> PyResult<PySimulation> {
        let (driver, _) = Driver::begin(py, scenario, make.as_ref(), Vec::new())?;
        Ok(PySimulation(Mutex::new(State::Running(Box::new(driver)))))
    }

    /// Runs up to and including a time in nanoseconds, or the end.
    #[pyo3(signature = (until_ns, progress=None))]
    fn advance(&self, py: Python<'_>, until_ns: u64, progress: Option<Bound<'_, PyAny>>) -> PyResult<()> {
        self.with(|driver| driver.advance(py, Time(until_ns), progress.as_ref()))
    }

    /// Makes a change at the present time.
    fn set(&self, py: Python<'_>, key: &str, value: &str) -> PyResult<()> {
        self.with(|driver| driver.set(py, key, value))
    }

    /// Summary and tables so far.
    fn results<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (summary, tables) = self.with(|driver| {
            let simulation = &mut driver.simulation;
            py.detach(move || caught(|| simulation.results()))
        })?;
        result_of(py, &summary.to_string(), &tables)
    }

    /// Ends the run where it is: summary and tables.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.with(|_| Ok(()))?;
        let state = std::mem::replace(&mut *self.state()?, State::Over(ENDED));
        let State::Running(driver) = state else { return Err(PyRuntimeError::new_err(ENDED)) };
        let (summary, tables) = aside(py, move || driver.simulation.finish())?;
        result_of(py, &summary.to_string(), &tables)
    }

    /// Gives up what it holds.
    fn close(&self) -> PyResult<()> {
        let mut state = self.state()?;
        if matches!(*state, State::Running(_)) {
            *state = State::Over(ENDED);
        }
        Ok(())
    }

    /// What has been changed, and what is to be, as JSON.
    fn changes(&self) -> PyResult<String> {
        self.with(|driver| Ok(driver.simulation.changes().to_string()))
    }

    /// The simulated time, and the length of the run, in nanoseconds, and events so far.
    fn clock(&self) -> PyResult<(u64, u64, u64)> {
        self.with(|driver| {
            let simulation = &driver.simulation;
            Ok((simulation.now().0, simulation.duration().0, simulation.events()))
        })
    }
}
