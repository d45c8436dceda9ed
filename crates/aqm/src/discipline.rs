//! What a queue discipline is, what it needs to know of a packet, and what its driver provides.

use alloc::string::String;
use alloc::vec::Vec;
use sluicegate_base::params::{Raw, unknown};
use sluicegate_base::{Ecn, Link, Stream, Time, choices};

/// Which flow a packet belongs to: a flow number in the simulator, a keyed hash of the 5-tuple for real packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey(pub u64);

/// What a TCP segment acknowledges, as far as queues look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next byte that its sender expects, modulo 2³² as in the header.
    pub number: u32,
    /// Whether it carries nothing else: no data, no flag but those of ECN, and no option but timestamps, SACK and a signature.
    pub bare: bool,
    /// Whether it reports ranges: those received beyond the number (SACK), or one received twice (DSACK).
    pub sacks: bool,
    /// Its flags that echo congestion or answer an echo (ECN-Echo, Congestion Window Reduced), as bits in any order.
    pub echo: u8,
}

/// What a discipline may ask of a packet.
pub trait Packet: Send {
    /// The flow it belongs to.
    fn flow(&self) -> FlowKey;
    /// Its length in bytes, IP header included.
    fn bytes(&self) -> u64;
    /// Its ECN field.
    fn ecn(&self) -> Ecn {
        Ecn::NotCapable
    }
    /// Marks it; false when its transport is not capable, and the caller must then drop instead.
    fn mark(&mut self) -> bool {
        false
    }
    /// The class of traffic that its flow belongs to; of real packets the DSCP, but in a testbed. A discipline that knows traffic by its DSCP reads it as the code
    /// point, 0 to 63; what is above counts as 0, best effort.
    fn class(&self) -> u8 {
        0
    }
    /// Writes the class that queues after this one read; a packet may have no room for it.
    fn set_class(&mut self, _class: u8) {}
    /// The numbers of the hosts that it comes from and goes to. Where none are known, each flow has hosts of its own.
    fn hosts(&self) -> (u64, u64) {
        (self.flow().0, self.flow().0)
    }
    /// What it acknowledges, if it is a segment of TCP that acknowledges.
    fn ack(&self) -> Option<Ack> {
        None
    }
    /// How much it may be spared: 0 is essential; where packets have a preference, those with more are dropped first.
    fn priority(&self) -> u8 {
        0
    }
    /// What a queue before this one has written on it; 0 when none has.
    fn label(&self) -> u32 {
        0
    }
    /// Writes on it what queues after this one, and its receiver, can read; a packet may have no room for it.
    fn set_label(&mut self, _label: u32) {}
}

/// What waits in a queue.
pub trait Buffer<P> {
    /// How many packets are queued.
    fn packets(&self) -> u64;
    /// How many bytes are queued.
    fn bytes(&self) -> u64;
    /// Calls `visit` for every queued packet, from the head to the tail.
    fn for_each(&self, visit: &mut dyn FnMut(&P));
    /// The packet with so many others before it, where it is at hand: what it is about can be fetched into the cache.
    fn waiting(&self, _place: usize) -> Option<&P> {
        None
    }
}

choices! {
    /// Why a packet was dropped. The word is that of column names: `drops_<word>`.
    pub enum DropReason {
        /// The queue was full.
        Tail = "tail",
        /// An early drop, with the discipline's probability.
        Early = "early",
        /// A certain drop: the measure of congestion, or of its flow's share of the buffer, was at its upper bound.
        Forced = "forced",
        /// CHOKe: it was the arrival or the packet drawn from the queue, and both were of one flow. CAKE: it was an
        /// acknowledgement that a later one made redundant.
        Match = "match",
        /// It exceeded the limit to which its flow was restricted.
        Policed = "policed",
        /// The queue was changed during the run, and no longer had room for the packet.
        Reconfigured = "reconfigured",
    }
}

impl DropReason {
    /// How many there are.
    pub const COUNT: usize = DropReason::ALL.len();
}

/// What the driver provides for one call: the time, random numbers, and a list for dropped packets.
pub struct Ctx<'a, P> {
    /// The present.
    pub now: Time,
    /// The discipline's own random stream.
    pub rng: &'a mut Stream,
    /// Dropped packets, by value, with the reason.
    dropped: &'a mut Vec<(P, DropReason)>,
    /// Flows that are to be sent a source quench, where there is somebody who sends it.
    quenched: Option<&'a mut Vec<FlowKey>>,
}

impl<'a, P> Ctx<'a, P> {
    /// Provides these.
    pub fn new(now: Time, rng: &'a mut Stream, dropped: &'a mut Vec<(P, DropReason)>) -> Self {
        Ctx { now, rng, dropped, quenched: None }
    }

    /// Also takes note of the flows that are to be sent a source quench.
    #[must_use]
    pub fn with_quenches(mut self, quenched: &'a mut Vec<FlowKey>) -> Self {
        self.quenched = Some(quenched);
        self
    }

    /// Drops a packet: the one that arrives, or any that was queued. Each packet passed to
    /// [`enqueue`](Discipline::enqueue) must later be returned by [`dequeue`](Discipline::dequeue) or passed to this,
    /// exactly once.
    #[inline(never)]
    pub fn drop(&mut self, packet: P, reason: DropReason) {
        self.dropped.push((packet, reason));
    }

    /// Asks for a source quench to the sender of this flow; nothing happens where nobody sends one.
    pub fn quench(&mut self, flow: FlowKey) {
        if let Some(quenched) = &mut self.quenched {
            quenched.push(flow);
        }
    }
}

/// A queue discipline.
///
/// The packet in transmission belongs to the link, not to the queue. The link calls [`dequeue`](Discipline::dequeue)
/// whenever its transmitter falls free, and again after each arrival and wake-up while it is idle. `None` tells the
/// discipline that its idle period begins if it holds nothing; while packets wait (a shaper, pacing) it means "not yet",
/// and [`next_wakeup`](Discipline::next_wakeup) says until when. Always: arrivals = departures + drops + queued.
///
/// # The order of calls
///
/// Time never runs backwards from one call to the next. A driver (a port, the test harness) asks for
/// [`next_wakeup`](Discipline::next_wakeup) at the start and after each call, and calls [`wake`](Discipline::wake) at
/// that time, neither before nor after, and before any other call at the same time. What happens at one time happens in
/// this order: wake-ups, departures, arrivals.
///
/// In return no call may leave a due wake-up: after each, `next_wakeup` is `None` or later than the time of the call. So a
/// discipline's periodic work is up to date whenever a packet comes or goes. A discipline that returned `None` is not woken;
/// it must catch up by itself at the next packet.
pub trait Discipline<P>: Send {
    /// A packet arrives. The discipline keeps it, or passes it (and perhaps others) to [`Ctx::drop`].
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>);

    /// The link can send: which packet leaves?
    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P>;

    /// The same in a class of a container: so many bytes wait for the link `elsewhere`, in other classes. For a discipline that
    /// counts them; a container hands them on with its own.
    fn dequeue_in_class(&mut self, _elsewhere: u64, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.dequeue(ctx)
    }

    /// What waits in the queue.
    fn buffer(&self) -> &dyn Buffer<P>;

    /// When the discipline next wants to act on its own, later than the last call; [`wake`](Discipline::wake) is called then.
    fn next_wakeup(&self) -> Option<Time> {
        None
    }

    /// Whether it ever names a time there; if not, it is not asked.
    fn wakes(&self) -> bool {
        true
    }

    /// The time that [`next_wakeup`](Discipline::next_wakeup) named has come. It is later, or none, afterwards.
    fn wake(&mut self, _ctx: &mut Ctx<'_, P>) {}

    /// Changes a parameter while the queue is in use; what a smaller limit leaves no room for is dropped with the reason
    /// `reconfigured`. A value is checked as at construction; the error is the rule that it breaks, and nothing has changed.
    ///
    /// Disciplines of the registry have this from [`Configure`](crate::Configure).
    fn set(&mut self, name: &str, _value: &Raw, _ctx: &mut Ctx<'_, P>) -> Result<(), String> {
        Err(unknown(name, &[]))
    }

    /// The link's rate or its typical packet has changed: parameters derived from it are computed anew.
    fn link_changed(&mut self, _link: &Link, _ctx: &mut Ctx<'_, P>) {}

    /// The discipline's own average of the queue, in packets, if it keeps one.
    fn average(&self) -> Option<f64> {
        None
    }

    /// What else the discipline has to show of itself: names and values, such as its drop probability, and for a flow that
    /// it tells apart the flow too. Samples of it make the table `state` of a run.
    fn state(&self, _visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {}

    /// Calls `visit` for the packets in the queue that the last arrival has been compared with, as far as they still wait: for
    /// those who watch. What was dropped with the arrival is not among them.
    fn compared(&self, _visit: &mut dyn FnMut(&P)) {}

    /// How many packets are queued.
    fn packets(&self) -> u64 {
        self.buffer().packets()
    }

    /// How many bytes are queued.
    fn bytes(&self) -> u64 {
        self.buffer().bytes()
    }

    /// Calls `visit` for every queued packet, from the head to the tail.
    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.buffer().for_each(visit);
    }
}
