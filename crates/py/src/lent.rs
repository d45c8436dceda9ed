//! What a discipline written in Python is given, a token for each packet and a context, and where its errors are kept.
//!
//! A token says whether its packet is still inside. So the call that breaks conservation is the one that fails; and if Python
//! lets go of a token while its packet is inside, the discipline has forgotten the packet.

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyFrozenSet;
use sluicegate_aqm::DropReason;
use sluicegate_base::params::did_you_mean;
use sluicegate_base::{Ecn, Rate, Stream, Time};
use sluicegate_lab::replay::Packet;
use sluicegate_netsim::{End, Headers, QueuedPacket};
use sluicegate_tcp::segment::Options;
use sluicegate_tcp::{Flags, Segment};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pyo3::create_exception!(
    sluicegate,
    ConservationError,
    PyRuntimeError,
    "A discipline written in Python lost count of a packet; the message names the packet."
);

/// The first error of what is written in Python for one run; and what that is told of headers.
#[derive(Default)]
pub struct Faults {
    first: Mutex<Option<Fault>>,
    pub headers: Headers,
}

pub(crate) struct Fault {
    pub error: PyErr,
    /// Whether it says that Python let go of a packet. What is raised in the same call comes before it: it may be why.
    pub forgotten: bool,
}

impl Faults {
    /// Takes the error, if there is one.
    pub fn take(&self) -> Option<PyErr> {
        self.take_fault().map(|fault| fault.error)
    }

    pub(crate) fn take_fault(&self) -> Option<Fault> {
        self.first().take()
    }

    /// Whether there is one.
    pub fn any(&self) -> bool {
        self.first().is_some()
    }

    pub fn keep(&self, error: PyErr) {
        self.keep_fault(Fault { error, forgotten: false });
    }

    fn keep_fault(&self, fault: Fault) {
        let mut first = self.first();
        if first.is_none() {
            *first = Some(fault);
            return;
        }
        // An error that is not kept may hold the last reference to a token, whose end comes back here.
        drop(first);
        drop(fault);
    }

    fn first(&self) -> MutexGuard<'_, Option<Fault>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One queue: what its packets and its context have in common.
pub(crate) struct Queue {
    pub class: String,
    pub link: String,
    pub faults: Arc<Faults>,
    /// Whether it is there no more: another discipline has its packets, or the run is over.
    pub gone: AtomicBool,
}

impl Queue {
    /// A broken rule of conservation: kept, whatever Python does with it, and given for raising.
    pub fn violation(&self, py: Python<'_>, what: String) -> PyErr {
        let error = ConservationError::new_err(what);
        self.faults.keep(error.clone_ref(py));
        error
    }
}

/// Where a packet is: a code for the token.
const INSIDE: u8 = 0;
pub(crate) const DEPARTED: u8 = 1;
const DROPPED: u8 = 2; // and the number of the reason on top

/// A packet in the queue of a discipline written in Python.
///
/// Each packet passed to `enqueue` must later be returned by `dequeue` or passed to `ctx.drop`, exactly once.
#[pyclass(frozen, module = "sluicegate", name = "Packet")]
pub struct PyPacket {
    /// Its position in the order of arrival at this queue, from 1.
    #[pyo3(get)]
    pub(crate) number: u64,
    /// When it arrived at this queue, in nanoseconds.
    #[pyo3(get)]
    arrival_ns: u64,
    /// The number of its flow, as in results; of a group whose connections come and go, that of its connection, which
    /// no other has, nor a flow. Negative for what travels back to the flow's sender. In a replay the hash of its flow:
    /// the column `key`.
    #[pyo3(get)]
    flow: i64,
    /// Its length in bytes, IP header included.
    #[pyo3(get)]
    bytes: u32,
    ecn: AtomicU8,
    /// Whether this queue has marked it.
    marked: AtomicBool,
    place: AtomicU8,
    segment: Option<Segment>,
    queue: Arc<Queue>,
}

pub(crate) fn ecn_of(bits: u8) -> Ecn {
    [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::CongestionExperienced][usize::from(bits & 3)]
}

/// A packet that a discipline written in Python can be given.
pub(crate) trait Lendable: sluicegate_aqm::Packet + 'static {
    /// The number of its flow: two packets have the same if and only if a discipline in Rust finds the same key.
    fn number(&self) -> i64;
    /// Whether its queue has marked it.
    fn marked(&self) -> bool;
    /// Takes over what became of its mark in Python.
    fn take_mark(&mut self, ecn: Ecn, marked: bool);
    /// The segment of TCP that it carries, as it arrives, where that is known.
    fn segment(&self, _headers: &Headers) -> Option<Segment> {
        None
    }
}

impl Lendable for QueuedPacket {
    /// From 1, as in results, and above the flows those of pooled connections; negative on the way back.
    fn number(&self) -> i64 {
        let number = i64::from(self.connection()) + 1;
        if self.to == End::Receiver { number } else { -number }
    }
    fn marked(&self) -> bool {
        self.marked
    }
    fn take_mark(&mut self, ecn: Ecn, marked: bool) {
        (self.ecn, self.marked) = (ecn, marked);
    }
    fn segment(&self, headers: &Headers) -> Option<Segment> {
        headers.of(self)
    }
}

/// A real packet: its flow is a hash, which a table of results has as `key`.
impl Lendable for Packet {
    fn number(&self) -> i64 {
        self.key as i64
    }
    fn marked(&self) -> bool {
        self.marked
    }
    fn take_mark(&mut self, ecn: Ecn, marked: bool) {
        (self.ecn, self.marked) = (ecn, marked);
    }
}

impl PyPacket {
    /// The token for a packet that arrives at this time.
    pub(crate) fn new(number: u64, arrival: Time, packet: &impl Lendable, queue: Arc<Queue>) -> PyPacket {
        PyPacket {
            number,
            arrival_ns: arrival.0,
            flow: packet.number(),
            bytes: packet.bytes() as u32,
            ecn: AtomicU8::new(packet.ecn() as u8),
            marked: AtomicBool::new(packet.marked()),
            place: AtomicU8::new(INSIDE),
            segment: packet.segment(&queue.faults.headers),
            queue,
        }
    }

    pub(crate) fn ecn(&self) -> Ecn {
        ecn_of(self.ecn.load(Ordering::Relaxed))
    }

    pub(crate) fn marked(&self) -> bool {
        self.marked.load(Ordering::Relaxed)
    }

    /// Moves it out of the queue; an error when it is not there, or is no packet of this queue.
    pub(crate) fn leave(&self, py: Python<'_>, queue: &Arc<Queue>, to: u8, how: &str) -> PyResult<()> {
        if !Arc::ptr_eq(&self.queue, queue) {
            let Queue { class, link, .. } = &*self.queue;
            return Err(queue.violation(py, format!("{self} {how}, but it belongs to the {class} of link {link:?}")));
        }
        match self.place.compare_exchange(INSIDE, to, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Err(queue.violation(py, format!("{self} {how}, but {}", self.gone()))),
        }
    }

    /// What became of a packet that is not inside.
    fn gone(&self) -> String {
        match self.place.load(Ordering::Relaxed) {
            DEPARTED => "it had been returned from dequeue already".to_owned(),
            place => {
                let dropped = DropReason::ALL.get(usize::from(place.wrapping_sub(DROPPED)));
                format!("it had been dropped already ({})", dropped.map_or("", |reason| reason.word()))
            }
        }
    }
}

impl std::fmt::Display for PyPacket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&named(self.number, self.flow))
    }
}

pub(crate) fn named(number: u64, flow: i64) -> String {
    format!("packet {number} of flow {flow}")
}

#[pymethods]
impl PyPacket {
    /// Its ECN field as in the IP header: 0 not capable, 1 and 2 capable, 3 marked.
    #[getter(ecn)]
    fn ecn_bits(&self) -> u8 {
        self.ecn.load(Ordering::Relaxed)
    }

    /// What the header of its segment of TCP says; none for any other packet, and where that is not known.
    #[getter]
    fn header(&self) -> Option<PyHeader> {
        self.segment.map(PyHeader)
    }

    /// Marks it; false when its transport is not capable, and the caller must then drop it instead.
    fn mark(&self, py: Python<'_>) -> PyResult<bool> {
        if self.place.load(Ordering::Relaxed) != INSIDE {
            return Err(self.queue.violation(py, format!("{self} was to be marked, but {}", self.gone())));
        }
        let mut ecn = self.ecn();
        let marked = ecn.mark();
        self.ecn.store(ecn as u8, Ordering::Relaxed);
        self.marked.store(marked, Ordering::Relaxed);
        Ok(marked)
    }

    fn __repr__(&self) -> String {
        format!("<{self}, {} bytes>", self.bytes)
    }
}

/// The header of a segment of TCP.
#[pyclass(frozen, module = "sluicegate", name = "Header")]
pub struct PyHeader(Segment);

#[pymethods]
impl PyHeader {
    /// Its sequence number, which counts the bytes of the stream from 0 and does not wrap.
    #[getter]
    fn first_byte(&self) -> u64 {
        self.0.seq
    }

    /// How many bytes of the stream it carries.
    #[getter]
    fn data_bytes(&self) -> u32 {
        self.0.len
    }

    /// Its acknowledgement number: the next byte that its sender expects; none without the flag ACK.
    #[getter]
    fn ack_byte(&self) -> Option<u64> {
        self.0.flags.has(Flags::ACK).then_some(self.0.ack)
    }

    /// The ranges that it reports beyond that, a duplicate first.
    #[getter]
    fn sack(&self) -> Vec<(u64, u64)> {
        self.0.duplicate().into_iter().chain(self.0.ranges()).collect()
    }

    /// The window that it offers; none where hosts do not change theirs.
    #[getter]
    fn window_bytes(&self) -> Option<u32> {
        let options = self.0.options;
        options.has(Options::STAMPED).then_some(options.window)
    }

    /// The names of its flags.
    #[getter]
    fn flags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        PyFrozenSet::new(py, self.0.names())
    }

    fn __repr__(&self) -> String {
        let Segment { seq, len, ack, .. } = self.0;
        let flags = self.0.names().collect::<Vec<_>>().join(" ");
        format!("<header {flags}, first_byte {seq}, data_bytes {len}, ack_byte {ack}>")
    }
}

impl Drop for PyPacket {
    fn drop(&mut self) {
        if *self.place.get_mut() == INSIDE && !self.queue.gone.load(Ordering::Relaxed) {
            let class = &self.queue.class;
            let what =
                format!("{self} was forgotten: {class} neither kept it, nor returned it, nor passed it to ctx.drop");
            self.queue.faults.keep_fault(Fault { error: ConservationError::new_err(what), forgotten: true });
        }
    }
}

/// What the simulator provides to a discipline during one call.
#[pyclass(module = "sluicegate", name = "Ctx")]
pub struct PyCtx {
    /// Whether a call is under way.
    pub(crate) open: bool,
    pub(crate) now: Time,
    pub(crate) rng: Stream,
    /// That of the link, as the settings have it.
    pub(crate) rate: Rate,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// The number of the packet that arrives in this call: it is not among `packets` and `bytes`.
    pub(crate) arriving: u64,
    pub(crate) dropped: Vec<(u64, DropReason)>,
    queue: Arc<Queue>,
}

impl PyCtx {
    /// A context outside of any call.
    pub(crate) fn new(queue: Arc<Queue>, rate: Rate) -> PyCtx {
        let rng = Stream::new(0, ""); // the link's own takes its place at every call
        PyCtx { open: false, now: Time::ZERO, rng, rate, packets: 0, bytes: 0, arriving: 0, dropped: Vec::new(), queue }
    }

    fn lent(&mut self) -> PyResult<&mut Self> {
        if self.open {
            return Ok(self);
        }
        Err(PyRuntimeError::new_err("ctx is valid only during a call to enqueue, dequeue or wake"))
    }
}

#[pymethods]
impl PyCtx {
    /// The simulated time in nanoseconds since the start of the run.
    #[getter]
    fn now_ns(&mut self) -> PyResult<u64> {
        Ok(self.lent()?.now.0)
    }

    /// The link's rate in bit/s; a change of the settings changes it, a trace does not.
    #[getter]
    fn rate_bps(&mut self) -> PyResult<u64> {
        Ok(self.lent()?.rate.0)
    }

    /// How many packets are queued, without the arriving one.
    #[getter]
    fn packets(&mut self) -> PyResult<u64> {
        Ok(self.lent()?.packets)
    }

    /// How many bytes are queued, without the arriving packet.
    #[getter]
    fn bytes(&mut self) -> PyResult<u64> {
        Ok(self.lent()?.bytes)
    }

    /// Uniform on [0, 1), from the discipline's own random stream.
    fn random(&mut self) -> PyResult<f64> {
        Ok(self.lent()?.rng.uniform())
    }

    /// Uniform on 0, 1, …, n − 1, from the same stream.
    fn below(&mut self, n: u64) -> PyResult<u64> {
        if n == 0 {
            return Err(PyValueError::new_err("ctx.below(0): n must be at least 1"));
        }
        Ok(self.lent()?.rng.below(n))
    }

    /// x to the power y, with the same bits on every machine (`**` and `math` have the machine's own last bit).
    fn pow(&self, x: f64, y: f64) -> f64 {
        libm::pow(x, y)
    }

    /// Drops a packet, the one that arrives or any that is queued, for a reason: tail, early, …
    fn drop(&mut self, py: Python<'_>, packet: &Bound<'_, PyAny>, reason: &str) -> PyResult<()> {
        self.lent()?;
        let Ok(packet) = packet.cast::<PyPacket>() else {
            return Err(PyTypeError::new_err(format!("ctx.drop: expected a packet, not {}", shown(packet))));
        };
        let Some(reason) = DropReason::ALL.iter().copied().find(|known| known.word() == reason) else {
            let near = did_you_mean(reason, DropReason::WORDS);
            let all = DropReason::WORDS.join(", ");
            return Err(PyValueError::new_err(format!("ctx.drop: no such reason: {reason:?}; one of {all}{near}")));
        };
        let packet = packet.get();
        packet.leave(py, &self.queue, DROPPED + reason as u8, "was passed to ctx.drop")?;
        if packet.number != self.arriving {
            self.packets -= 1;
            self.bytes -= u64::from(packet.bytes);
        }
        self.dropped.push((packet.number, reason));
        Ok(())
    }
}

/// A Python value in a message: its repr, or its type when it has none.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| value.get_type().to_string(), |repr| repr.to_string())
}
