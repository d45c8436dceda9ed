//! Ends written in Python, as the simulator sees them. The first error, Python's own or a broken rule, is kept in [`Faults`]; from
//! then on an end is silent and calls nothing, until the run loop looks.

use crate::discipline::dict;
use crate::lent::{Faults, ecn_of, shown};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sluicegate_base::{Stream, Time};
use sluicegate_lab::Foreign;
use sluicegate_netsim::{Datagram, Endpoint, EndpointPair};
use std::sync::{Arc, Mutex};

/// The longest IP packet.
const LONGEST: usize = 65_535;

/// How often in a row an end may be woken a nanosecond after the last time: then it is stuck.
const STUCK: u32 = 1000;

/// How many datagrams an end may send at one time: then it never says that this is all.
const ENDLESS: u32 = 100_000;

/// What an end in Python sends or receives.
#[pyclass(frozen, module = "sluicegate", name = "Datagram")]
pub struct PyDatagram {
    /// Its length in bytes, IP header included.
    #[pyo3(get)]
    bytes: u32,
    /// Its ECN field as in the IP header: 0 not capable, 1 and 2 capable, 3 marked.
    #[pyo3(get)]
    ecn: u8,
    /// What it carries.
    #[pyo3(get)]
    payload: Py<PyBytes>,
}

#[pymethods]
impl PyDatagram {
    #[new]
    #[pyo3(signature = (payload=None, *, bytes=None, ecn=0))]
    fn new(py: Python<'_>, payload: Option<Bound<'_, PyBytes>>, bytes: Option<usize>, ecn: u8) -> PyResult<PyDatagram> {
        let payload = payload.unwrap_or_else(|| PyBytes::new(py, b""));
        let carried = payload.as_bytes().len();
        let bytes = bytes.unwrap_or(28 + carried);
        if bytes < carried.max(1) || bytes > LONGEST {
            let rule = format!("must be from {} (what it carries) to {LONGEST}", carried.max(1));
            return Err(PyValueError::new_err(format!("Datagram: bytes = {bytes}: {rule}")));
        }
        if ecn > 3 {
            return Err(PyValueError::new_err(format!("Datagram: ecn = {ecn}: must be from 0 to 3")));
        }
        Ok(PyDatagram { bytes: bytes as u32, ecn, payload: payload.unbind() })
    }

    fn __repr__(&self) -> String {
        format!("<datagram, {} bytes, ecn {}>", self.bytes, self.ecn)
    }
}

/// The class of an end, and its `receive`, `poll_transmit`, `deadline` and `wake`.
type Hooks = (String, Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>);

/// One end.
struct PyEnd {
    class: String,
    receive: Py<PyAny>,
    poll_transmit: Py<PyAny>,
    deadline: Py<PyAny>,
    wake: Py<PyAny>,
    /// Which end it is, of which flow: for messages.
    place: String,
    faults: Arc<Faults>,
    /// The time of the last call, and of the last wake-up; how many of these have come a nanosecond after the one before.
    now: Time,
    woken: Time,
    stuck: u32,
    /// What it has sent in a row at that time.
    sent: u32,
}

/// Lets `make`, a `sluicegate.custom.aqm.Maker`, make the ends of the flow with this index.
pub fn build(
    make: &Bound<'_, PyAny>,
    foreign: &Foreign,
    file: &str,
    (seed, flow): (u64, usize),
    faults: &Arc<Faults>,
) -> PyResult<EndpointPair> {
    let py = make.py();
    let file = (!foreign.overridden).then_some(file);
    let offered = dict(py, &foreign.shared)?;
    offered.set_item("flow", flow + 1)?;
    offered.set_item("seed", Stream::new(seed, &format!("flow/{flow}/ends")).bits())?;
    let made = make.call_method1("ends", (&foreign.reference, file, dict(py, &foreign.given)?, offered))?;
    let hooks: [Hooks; 2] = made.extract()?;
    let mut names = ["sender", "receiver"].into_iter();
    let ends = hooks.map(|(class, receive, poll_transmit, deadline, wake)| {
        let place = format!("the {} of flow {}", names.next().unwrap_or_default(), flow + 1);
        let (faults, now, woken) = (faults.clone(), Time::ZERO, Time::NEVER);
        PyEnd { class, receive, poll_transmit, deadline, wake, place, faults, now, woken, stuck: 0, sent: 0 }
    });
    let ends = Mutex::new(Some(ends));
    let take = move |_| {
        let [sender, receiver] = ends.lock().ok().and_then(|mut ends| ends.take()).expect("a plan is run once");
        (sender, receiver)
    };
    Ok(EndpointPair::new("endpoints", take))
}

impl PyEnd {
    /// Calls a method at `now`; none when it raised, or gave what it must not.
    fn call<T>(&mut self, method: &str, now: Time, work: impl FnOnce(&Self, Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.faults.any() {
            return None;
        }
        self.now = now;
        Python::attach(|py| {
            let error = match work(self, py) {
                Ok(value) => return Some(value),
                Err(error) => error,
            };
            let (s, ns) = (now.0 / 1_000_000_000, now.0 % 1_000_000_000);
            let PyEnd { class, place, .. } = self;
            let note = format!("sluicegate: in {class}.{method}, {place}, simulated time {s}.{ns:09} s");
            // An exception that refuses notes is raised without one.
            drop(error.value(py).call_method1("add_note", (note,)));
            self.faults.keep(error);
            None
        })
    }

    /// An error about what a method gave.
    fn wrong(&self, method: &str, given: &Bound<'_, PyAny>, rule: &str) -> PyErr {
        PyTypeError::new_err(format!("{}.{method} returned {}: it must return {rule}", self.class, shown(given)))
    }

    fn nothing(&self, method: &str, given: &Bound<'_, PyAny>) -> PyResult<()> {
        if given.is_none() { Ok(()) } else { Err(self.wrong(method, given, "None")) }
    }
}

impl Endpoint for PyEnd {
    fn receive(&mut self, datagram: Datagram, now: Time) {
        self.call("receive", now, |end, py| {
            let Datagram { bytes, ecn, payload } = datagram;
            let payload = PyBytes::new(py, &payload).unbind();
            let datagram = Py::new(py, PyDatagram { bytes, ecn: ecn as u8, payload })?;
            end.nothing("receive", &end.receive.bind(py).call1((datagram, now.0))?)
        });
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Datagram> {
        self.sent = if now == self.now { self.sent + 1 } else { 1 };
        self.call("poll_transmit", now, |end, py| {
            let given = end.poll_transmit.bind(py).call1((now.0,))?;
            if given.is_none() {
                return Ok(None);
            }
            if end.sent > ENDLESS {
                let rule = "return None when that is all";
                let class = &end.class;
                return Err(PyValueError::new_err(format!(
                    "{class}.poll_transmit sent {ENDLESS} datagrams at once: {rule}"
                )));
            }
            let Ok(datagram) = given.cast::<PyDatagram>() else {
                return Err(end.wrong("poll_transmit", &given, "a sluicegate.Datagram or None"));
            };
            let PyDatagram { bytes, ecn, payload } = datagram.get();
            let payload = payload.bind(py).as_bytes().to_vec();
            Ok(Some(Datagram { bytes: *bytes, ecn: ecn_of(*ecn), payload }))
        })
        .flatten()
    }

    fn deadline(&mut self) -> Option<Time> {
        let now = self.now;
        self.call("deadline", now, |end, py| {
            let given = end.deadline.bind(py).call0()?;
            let at: Option<u64> =
                given.extract().map_err(|_| end.wrong("deadline", &given, "None or a time in whole nanoseconds"))?;
            if at.is_some_and(|at| Time(at) <= now) && end.stuck > STUCK {
                let rule = "each time a wake-up was due at once; name a later time, or None";
                return Err(PyValueError::new_err(format!(
                    "{}.deadline returned {} at {} ns, after {STUCK} wake-ups: {rule}",
                    end.class,
                    shown(&given),
                    now.0
                )));
            }
            Ok(at.map(Time))
        })
        .flatten()
    }

    fn wake(&mut self, now: Time) {
        self.stuck = if now.0 == self.woken.0.wrapping_add(1) { self.stuck + 1 } else { 0 };
        self.woken = now;
        self.call("wake", now, |end, py| end.nothing("wake", &end.wake.bind(py).call1((now.0,))?));
    }
}
