//! A discipline written in Python, as the simulator sees it.
//!
//! The packets themselves stay here; Python holds a token for each ([`crate::lent`]). So the queue's length and bytes are
//! ours to tell. The first error, Python's own or a broken rule, is kept in [`Faults`]; from then on the discipline is a
//! plain queue that calls nothing, until the run loop looks.

use crate::lent::{DEPARTED, Faults, Lendable, PyCtx, PyPacket, Queue, named, shown};
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sluicegate_aqm::fifo::Buffer;
use sluicegate_aqm::{Ctx, Discipline};
use sluicegate_base::params::Raw;
use sluicegate_base::{Link, Rate, Time};
use sluicegate_lab::Foreign;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Name, `enqueue`, `dequeue`, and `next_wakeup`, `wake`, `average` where they are there.
type Hooks = (String, Py<PyAny>, Py<PyAny>, Option<Py<PyAny>>, Option<Py<PyAny>>, Option<Py<PyAny>>);

/// Lets `make`, a `sluicegate.custom.aqm.Maker`, make the discipline of one link.
pub fn build<P: Lendable>(
    make: &Bound<'_, PyAny>,
    foreign: &Foreign,
    file: &str,
    link: &str,
    rate: Rate,
    faults: &Arc<Faults>,
) -> PyResult<(String, Box<dyn Discipline<P>>)> {
    let py = make.py();
    let file = (!foreign.overridden).then_some(file);
    let offered = dict(py, &foreign.shared)?;
    offered.set_item("rate_bps", rate.0)?;
    let made = make.call1((&foreign.reference, file, dict(py, &foreign.given)?, offered))?;
    let (class, enqueue, dequeue, next_wakeup, wake, average): Hooks = made.extract()?;
    let (link, faults, gone) = (link.to_owned(), faults.clone(), AtomicBool::new(false));
    let queue = Arc::new(Queue { class: class.clone(), link, faults, gone });
    let discipline = PyDiscipline {
        enqueue,
        dequeue,
        next_wakeup,
        wake,
        average,
        ctx: Py::new(py, PyCtx::new(queue.clone(), rate))?,
        queue,
        inside: Inside { packets: BTreeMap::new(), bytes: 0 },
        arrived: 0,
        now: Cell::new(Time::ZERO),
    };
    Ok((class, Box::new(discipline)))
}

pub(crate) fn dict<'py>(py: Python<'py>, values: &[(String, Raw)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, raw) in values {
        match raw {
            Raw::Switch(on) => dict.set_item(key, on)?,
            Raw::Integer(n) => dict.set_item(key, n)?,
            Raw::Number(x) => dict.set_item(key, x)?,
            Raw::Text(text) => dict.set_item(key, text)?,
            Raw::List(list) => dict.set_item(key, list)?,
            Raw::Other(_) => {} // refused when the scenario was read
        }
    }
    Ok(dict)
}

/// What is queued, by number: in which order packets will leave, only Python knows.
struct Inside<P> {
    packets: BTreeMap<u64, P>,
    bytes: u64,
}

impl<P: Lendable> Inside<P> {
    fn insert(&mut self, number: u64, packet: P) {
        self.bytes += packet.bytes();
        self.packets.insert(number, packet);
    }

    fn remove(&mut self, number: u64) -> Option<P> {
        let packet = self.packets.remove(&number)?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// The number of the packet that came first.
    fn first(&self) -> Option<u64> {
        self.packets.keys().next().copied()
    }
}

impl<P: Lendable> Buffer<P> for Inside<P> {
    fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.packets.values().for_each(visit);
    }
}

struct PyDiscipline<P> {
    enqueue: Py<PyAny>,
    dequeue: Py<PyAny>,
    next_wakeup: Option<Py<PyAny>>,
    wake: Option<Py<PyAny>>,
    average: Option<Py<PyAny>>,
    ctx: Py<PyCtx>,
    queue: Arc<Queue>,
    inside: Inside<P>,
    arrived: u64,
    /// The time of the last call.
    now: Cell<Time>,
}

impl<P> Drop for PyDiscipline<P> {
    fn drop(&mut self) {
        self.queue.gone.store(true, Ordering::Relaxed);
    }
}

impl<P: Lendable> PyDiscipline<P> {
    fn idle(&self) -> bool {
        self.queue.faults.any()
    }

    /// What a call gave; none when it raised, or when a rule was broken during it.
    fn outcome<T>(&self, py: Python<'_>, method: &str, result: PyResult<T>) -> Option<T> {
        let faults = &self.queue.faults;
        let kept = faults.take_fault();
        let error = match (result, kept) {
            (Ok(value), None) => return Some(value),
            (Ok(_), Some(kept)) => kept.error,
            (Err(raised), None) => raised,
            // A call that raises lets go of packets that it has not kept yet.
            (Err(raised), Some(kept)) if kept.forgotten => raised,
            // It may come between taking a packet and returning it: the rule that this breaks is not the user's error.
            (Err(raised), Some(_)) if raised.is_instance_of::<PyKeyboardInterrupt>(py) => raised,
            // What was raised has the traceback; but a broken rule that Python has caught comes first.
            (Err(raised), Some(kept)) if kept.error.value(py).is(raised.value(py)) => raised,
            (Err(_), Some(kept)) => kept.error,
        };
        let Queue { class, link, .. } = &*self.queue;
        let now = self.now.get().0;
        let (s, ns) = (now / 1_000_000_000, now % 1_000_000_000);
        let note = format!("sluicegate: in {class}.{method}, at link {link:?}, simulated time {s}.{ns:09} s");
        // An exception that refuses notes is raised without one.
        drop(error.value(py).call_method1("add_note", (note,)));
        faults.keep(error);
        None
    }

    /// Calls with the context lent; what was dropped meanwhile goes to `ctx`.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        ctx: &mut Ctx<'_, P>,
        arriving: Option<P>,
        work: impl FnOnce(&Self, &Py<PyCtx>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.now.set(ctx.now);
        let mut lent = self.ctx.borrow_mut(py);
        (lent.open, lent.now, lent.rng) = (true, ctx.now, ctx.rng.clone());
        (lent.packets, lent.bytes, lent.arriving) = (self.inside.packets(), self.inside.bytes(), 0);
        if let Some(packet) = arriving {
            lent.arriving = self.arrived;
            self.inside.insert(self.arrived, packet);
        }
        drop(lent);
        let result = work(self, &self.ctx);
        let mut lent = self.ctx.borrow_mut(py);
        lent.open = false;
        *ctx.rng = lent.rng.clone();
        for (number, reason) in lent.dropped.drain(..) {
            if let Some(packet) = self.inside.remove(number) {
                ctx.drop(packet, reason);
            }
        }
        result
    }

    /// Nothing but `None` may come from a method that gives nothing.
    fn nothing(&self, method: &str, given: &Bound<'_, PyAny>) -> PyResult<()> {
        if given.is_none() {
            return Ok(());
        }
        let class = &self.queue.class;
        Err(PyTypeError::new_err(format!("{class}.{method} returned {}: it must return None", shown(given))))
    }

    /// The packet that `dequeue` returned.
    fn departing(&mut self, given: &Bound<'_, PyAny>) -> PyResult<Option<P>> {
        let (py, class) = (given.py(), &self.queue.class);
        if given.is_none() {
            let Some((&number, packet)) = self.inside.packets.first_key_value() else { return Ok(None) };
            // A shaper holds packets back, and says until when.
            if let Some(hook) = &self.next_wakeup {
                if self.wakeup(&hook.bind(py).call0()?)?.is_some() {
                    return Ok(None);
                }
            }
            let (named, all) = (named(number, packet.number()), self.inside.packets());
            let what = format!(
                "{named} is queued ({all} in all), but {class}.dequeue returned None, and next_wakeup names no time"
            );
            return Err(self.queue.violation(py, what));
        }
        let Ok(token) = given.cast::<PyPacket>() else {
            let what = format!("{class}.dequeue returned {}: it must return a packet or None", shown(given));
            return Err(PyTypeError::new_err(what));
        };
        let token = token.get();
        token.leave(py, &self.queue, DEPARTED, "was returned from dequeue")?;
        Ok(self.inside.remove(token.number).map(|mut packet| {
            packet.take_mark(token.ecn(), token.marked());
            packet
        }))
    }

    /// The time that `next_wakeup` returned.
    fn wakeup(&self, given: &Bound<'_, PyAny>) -> PyResult<Option<Time>> {
        let class = &self.queue.class;
        let Ok(at) = given.extract::<Option<u64>>() else {
            let rule = "it must return None or a time in whole nanoseconds";
            return Err(PyTypeError::new_err(format!("{class}.next_wakeup returned {}: {rule}", shown(given))));
        };
        let now = self.now.get();
        if at.is_none_or(|at| Time(at) > now) {
            return Ok(at.map(Time));
        }
        let (at, now) = (shown(given), now.0);
        Err(PyValueError::new_err(format!(
            "{class}.next_wakeup returned {at} at {now} ns: it must return a later time"
        )))
    }
}

impl<P: Lendable> Discipline<P> for PyDiscipline<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.arrived += 1;
        if self.idle() {
            self.inside.insert(self.arrived, packet);
            return;
        }
        Python::attach(|py| {
            let token = PyPacket::new(self.arrived, ctx.now, &packet, self.queue.clone());
            let result =
                self.call(py, ctx, Some(packet), |this, lent| this.enqueue.bind(py).call1((Py::new(py, token)?, lent)));
            let result = result.and_then(|given| self.nothing("enqueue", &given));
            self.outcome(py, "enqueue", result);
        });
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        if self.idle() {
            let first = self.inside.first()?;
            return self.inside.remove(first);
        }
        Python::attach(|py| {
            let result = self.call(py, ctx, None, |this, lent| this.dequeue.bind(py).call1((lent,)));
            let result = result.and_then(|given| self.departing(&given));
            self.outcome(py, "dequeue", result).flatten()
        })
    }

    fn next_wakeup(&self) -> Option<Time> {
        let hook = self.next_wakeup.as_ref().filter(|_| !self.idle())?;
        Python::attach(|py| {
            let result = hook.bind(py).call0().and_then(|given| self.wakeup(&given));
            self.outcome(py, "next_wakeup", result).flatten()
        })
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        self.now.set(ctx.now);
        if self.idle() {
            return;
        }
        Python::attach(|py| {
            let Some(wake) = self.wake.as_ref().map(|wake| wake.clone_ref(py)) else { return };
            let result = self.call(py, ctx, None, |_, lent| wake.bind(py).call1((lent,)));
            let result = result.and_then(|given| self.nothing("wake", &given));
            self.outcome(py, "wake", result);
        });
    }

    fn link_changed(&mut self, link: &Link, _ctx: &mut Ctx<'_, P>) {
        Python::attach(|py| self.ctx.borrow_mut(py).rate = link.rate);
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.inside
    }

    fn average(&self) -> Option<f64> {
        let hook = self.average.as_ref().filter(|_| !self.idle())?;
        Python::attach(|py| {
            let result = hook.bind(py).call0().and_then(|given| {
                given.extract::<Option<f64>>().map_err(|_| {
                    let (class, given) = (&self.queue.class, shown(&given));
                    PyTypeError::new_err(format!("{class}.average returned {given}: it must return None or a number"))
                })
            });
            self.outcome(py, "average", result).flatten()
        })
    }
}
