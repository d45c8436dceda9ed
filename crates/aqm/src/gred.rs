//! # GRED
//!
//! Generic RED, as the kernel's `sch_gred` has it: one first-in-first-out queue, and in it up to 16 virtual queues, one for each
//! class of traffic, each with thresholds and a probability of its own. In `grio` a class is judged by its own average and
//! by those of all classes before it, so that the last are dropped first, as in RIO; in `wred` all are judged by one average.
//!
//! ```text
//! for each arrival, of virtual queue i:               (net/sched/sch_gred.c, include/net/red.h; qavg = avg·2^Wlog, all whole)
//!     average = own, grio:   queue i idle: qavg_i ← decay(qavg_i, idle time);  else: qavg_i ← qavg_i + q_i − (qavg_i >> Wlog)
//!     average = wred:        the same with one qavg, and the length q of the whole queue
//!     a ← qavg_i;   grio:  a ← a + Σ qavg_j over the queues j < i that are not idle
//!     a < min_i·2^Wlog:      qcount_i ← −1
//!     a ≥ max_i·2^Wlog:      qcount_i ← −1;  signal                                                              (forced)
//!     else:                  qcount_i ← qcount_i + 1;   0: draw qR_i,   as in `choke_linux`
//!                            ((a − min_i·2^Wlog) >> Wlog)·qcount_i ≥ qR_i:  qcount_i ← 0, draw qR_i;  signal      (early)
//!     queue it if q_i (wred: q) leaves room for it within queue_limit, and all together within limit; else drop it  (tail)
//! a packet leaves, and queue i (wred: the queue) is empty then:  it is idle
//! signal:  (action = mark) mark it if its transport is capable, at max_i and above unless above_max_th = drop;  else drop it
//! ```
//!
//! A packet is of the virtual queue that its class names: the first is queue 0. What is declared for the first queue holds for
//! all, unless the last one has values of its own (`last_min_th`, `last_max_th`, `last_max_p`): those between have values in
//! equal steps. Three queues with `max_p` = 0.02 and `last_max_p` = 0.06 are the three drop precedences of iproute2's example for
//! assured forwarding (RFC 2597); two queues in `grio` are RIO. `state` shows each queue's average, `avg_0` and so on, in the
//! thresholds' unit. There is no paper: the reference is the kernel. In bytes, with its values, this agrees packet for packet
//! with a model of its rules (`crates/aqm/tests/gred_linux.rs`).
//!
#![doc = include_str!("gred.md")]

use crate::prelude::*;
use crate::red::linux::{self, Average, Band, Filter};
use crate::red::{Action, RedSignal};
use alloc::vec::Vec;

choices! {
    /// By which average a virtual queue is judged.
    pub enum Averaging {
        /// Its own.
        Own = "own",
        /// Its own, and those of all queues before it that are not idle.
        Grio = "grio",
        /// One of all packets.
        Wred = "wred",
    }
}

discipline! {
    Gred: "gred", "GRED",
    source("Linux, net/sched/sch_gred.c and include/net/red.h; iproute2, tc/q_gred.c"),
    tc("tc qdisc add dev DEV root gred setup DPs QUEUES default DEFAULT_QUEUE [grio] [ecn] [harddrop]; \
        tc qdisc change dev DEV root gred DP N prio N limit LIMIT_BYTES min MIN_BYTES max MAX_BYTES avpkt PACKET_BYTES \
        burst BURST_PACKETS probability MAX_P bandwidth RATE"),
    drops(Tail, Early, Forced),
    // Classes are not dropped alike.
    proportional(),
    remembers(None, "a class in each packet"),
    overload(Marks, "at `max_th` and above too, as the kernel does, unless `above_max_th` = drop"),

    /// Parameters of [`Gred`].
    pub struct GredParams {
        ..signal: RedSignal
            [above_max_th: Action::Mark, "Linux, net/sched/sch_gred.c: mark, unless harddrop is set", tc("harddrop")];
        /// How many virtual queues there are, for packets of class 0, 1, ….
        queues: u64 = default(3), unit("queues"), range(Range::from(1.0).to(16.0)),
            source("iproute2, examples/diffserv: 3 drop precedences; the bound is the kernel's"), tc("DPs"), fixed(true);
        /// The queue for packets whose class has no queue, counted from 0.
        default_queue: Option<u64> = optional("the last"), unit("1"), range(Range::from(0.0).to(15.0)),
            source("iproute2, examples/diffserv"), tc("default");
        /// Which average decides for a queue: its own; the sum of its own and those before it; or one of all packets.
        average: Averaging = default(Averaging::Grio), source("iproute2, examples/diffserv: grio"), tc("grio");
        /// Average below which no packet of the first queue (of any queue, unless last_min_th is given) is dropped or marked
        /// early.
        min_th: Size = default(Size::Packets(15)), unit("packets"), range(Range::POSITIVE),
            source("iproute2, examples/diffserv: 15 kB of packets of 1000 bytes"), tc("min");
        /// Average from which every packet of the first queue (of any queue, unless last_max_th is given) is dropped or marked.
        max_th: Size = default(Size::Packets(45)), unit("packets"), range(Range::POSITIVE),
            source("iproute2, examples/diffserv: 45 kB of packets of 1000 bytes"), tc("max");
        /// The probability as the average of the first queue (of any queue, unless last_max_p is given) reaches max_th.
        max_p: f64 = default(0.02), unit("1"), range(Range::from(1e-9).below(1.0)),
            source("iproute2, tc/q_gred.c"), tc("probability");
        /// min_th of the last queue.
        last_min_th: Option<Size> = optional("min_th"), unit("packets"), range(Range::POSITIVE), source("Sluicegate"), tc("min");
        /// max_th of the last queue.
        last_max_th: Option<Size> = optional("max_th"), unit("packets"), range(Range::POSITIVE), source("Sluicegate"), tc("max");
        /// max_p of the last queue.
        last_max_p: Option<f64> = optional("max_p"), unit("1"), range(Range::from(1e-9).below(1.0)),
            source("iproute2, examples/diffserv: 0.02 more for each drop precedence"), tc("probability");
        /// Largest length of one virtual queue; with average = wred, of all of them together.
        queue_limit: Option<Size> = optional("limit"), unit("packets"), range(Range::from(1.0)),
            source("Linux, net/sched/sch_gred.c"), tc("limit");
        /// Largest total length of all queues, without the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0)),
            source("chosen here, as for choke; tc requires one for each queue");
        /// Largest burst to admit; tc computes the queue weight from it.
        burst: Option<u64> = optional("(2·min_th + max_th)/3, in packets"), unit("packets"), range(Range::from(1.0)),
            source("iproute2, tc/q_choke.c; tc/q_gred.c requires it"), tc("burst");
        /// Length of a typical packet: for the decay while a queue is idle and, where thresholds are in bytes, for the weight.
        avpkt: Size = default(Size::Bytes(1000)), unit("B"), range(Range::from(1.0)),
            source("iproute2, examples/diffserv"), tc("avpkt");
        /// Rate of the link, for the decay while a queue is idle.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE),
            source("iproute2, tc/q_gred.c: 10 Mbit/s unless given"), tc("bandwidth");
    }
    rules {
        "thresholds are all in packets or all in bytes" [min_th, max_th, last_min_th, last_max_th]
            |p| [Some(p.max_th), p.last_min_th, p.last_max_th].iter().flatten().all(|th| th.is_like(p.min_th));
        "min_th < max_th, and so for the last queue" [min_th, max_th, last_min_th, last_max_th]
            |p| [0, p.queues - 1].iter().all(|&at| p.band(at).0 < p.band(at).1);
        "default_queue < queues" [default_queue, queues] |p| p.default_queue.is_none_or(|at| at < p.queues);
        "avpkt is in bytes" [avpkt] |p| matches!(p.avpkt, Size::Bytes(_));
        "some W = 1/2, 1/4 … has 1 <= burst + 1 - min_th <= (1 - (1 - W)^burst)/W, and thresholds below 2^31·W"
            [burst, min_th, max_th, last_min_th, last_max_th] |p| p.wlog().is_some();
    }
}

impl GredParams {
    /// The thresholds of a queue.
    fn band(&self, at: u64) -> (u64, u64) {
        let steps = i128::from(self.queues) - 1;
        let step = |first: Size, last: Option<Size>| {
            let [first, last] = [first, last.unwrap_or(first)].map(|th| i128::from(th.amount()));
            (first + ((last - first) * i128::from(at)).div_euclid(steps.max(1))) as u64
        };
        (step(self.min_th, self.last_min_th), step(self.max_th, self.last_max_th))
    }

    /// The probability of a queue at its upper threshold.
    fn max_p(&self, at: u64) -> f64 {
        let step = (self.last_max_p.unwrap_or(self.max_p) - self.max_p) / (self.queues.max(2) - 1) as f64;
        self.max_p + step * at as f64
    }

    /// The exponent of the weight W = 2^−Wlog, if there is one for which the kernel has room.
    fn wlog(&self) -> Option<u32> {
        let (min, max) = (self.min_th.in_packets(self.avpkt), self.max_th.in_packets(self.avpkt));
        let wlog = linux::wlog(min, self.burst.unwrap_or(((2.0 * min + max) / 3.0) as u64))?;
        let highest = self.band(0).1.max(self.band(self.queues - 1).1);
        linux::has_room(highest, wlog).then_some(wlog)
    }
}

/// A virtual queue.
#[derive(Clone, Debug)]
struct Virtual {
    band: Band,
    average: Average,
    packets: u64,
    bytes: u64,
}

/// One queue, with RED for each of the virtual queues in it.
#[derive(Clone, Debug)]
pub struct Gred<P> {
    params: GredParams,
    filter: Filter,
    queues: Vec<Virtual>,
    /// With average = wred.
    average: Average,
    /// Packets, and the virtual queue of each.
    fifo: Fifo<P, u8>,
}

impl<P: Packet> Gred<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: GredParams) -> Self {
        let wlog = params.wlog().unwrap_or(1);
        let queue = |at| {
            let (min, max) = params.band(at);
            let band = Band::new(min, max, params.max_p(at), wlog);
            Virtual { band, average: Average::default(), packets: 0, bytes: 0 }
        };
        Gred {
            filter: Filter::new(wlog, params.avpkt.amount(), params.bandwidth),
            queues: (0..params.queues).map(queue).collect(),
            average: Average::default(),
            fifo: Fifo::new(params.limit),
            params,
        }
    }

    /// How much is queued, as it counts for a virtual queue: packets and bytes.
    fn backlog(&self, at: usize) -> (u64, u64) {
        match self.params.average {
            Averaging::Wred => (self.fifo.packets(), self.fifo.bytes()),
            Averaging::Own | Averaging::Grio => (self.queues[at].packets, self.queues[at].bytes),
        }
    }

    /// The average by which an arrival of a virtual queue is judged, brought up to date.
    fn update_average(&mut self, at: usize, now: Time) -> u64 {
        let (packets, bytes) = self.backlog(at);
        let backlog = if matches!(self.params.min_th, Size::Packets(_)) { packets } else { bytes };
        let average = match self.params.average {
            Averaging::Wred => &mut self.average,
            Averaging::Own | Averaging::Grio => &mut self.queues[at].average,
        };
        self.filter.update(average, backlog, now);
        let own = average.qavg;
        let busy = |queue: &&Virtual| self.params.average == Averaging::Grio && queue.average.qidlestart.is_none();
        self.queues[..at].iter().filter(busy).fold(own, |sum, queue| sum.saturating_add(queue.average.qavg))
    }

    /// A packet has left the queue: what is empty now is idle.
    fn left(&mut self, at: u8, packet: &P, now: Time) {
        let queue = &mut self.queues[usize::from(at)];
        queue.packets -= 1;
        queue.bytes -= packet.bytes();
        if queue.packets == 0 {
            queue.average.qidlestart = Some(now);
        }
        if self.fifo.packets() == 0 {
            self.average.qidlestart = Some(now);
        }
    }
}

impl<P: Packet> Discipline<P> for Gred<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        let (class, last) = (u64::from(packet.class()), self.params.queues - 1);
        let at = if class <= last { class } else { self.params.default_queue.unwrap_or(last) } as usize;
        let average = self.update_average(at, ctx.now);
        let band = &mut self.queues[at].band;
        let reason = if average < band.qth_min {
            band.leave();
            None
        } else if average >= band.qth_max {
            band.leave();
            Some(DropReason::Forced)
        } else {
            band.signals(average, ctx.rng).then_some(DropReason::Early)
        };
        if let Some(reason) = reason {
            let RedSignal { action, above_max_th } = self.params.signal;
            let marks = action == Action::Mark && (reason == DropReason::Early || above_max_th == Action::Mark);
            if !(marks && packet.mark()) {
                return ctx.drop(packet, reason);
            }
        }
        let (packets, bytes) = self.backlog(at);
        let limit = Limit::of(self.params.queue_limit.unwrap_or(self.params.limit));
        if !(limit.has_room(packets, bytes, packet.bytes()) && self.fifo.has_room(&packet)) {
            return ctx.drop(packet, DropReason::Tail);
        }
        let queue = &mut self.queues[at];
        queue.packets += 1;
        queue.bytes += packet.bytes();
        self.fifo.push_with(packet, at as u8);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let (packet, at) = self.fifo.pop_with()?;
        self.left(at, &packet, ctx.now);
        Some(packet)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    /// With average = wred.
    fn average(&self) -> Option<f64> {
        let average = self.filter.value(&self.average);
        let length = if matches!(self.params.min_th, Size::Packets(_)) { 1 } else { self.params.avpkt.amount() };
        (self.params.average == Averaging::Wred).then(|| average / length as f64)
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        const NAMES: [&str; 16] = [
            "avg_0", "avg_1", "avg_2", "avg_3", "avg_4", "avg_5", "avg_6", "avg_7", "avg_8", "avg_9", "avg_10",
            "avg_11", "avg_12", "avg_13", "avg_14", "avg_15",
        ];
        for (name, queue) in NAMES.into_iter().zip(&self.queues) {
            let shared = self.params.average == Averaging::Wred;
            visit(None, name, self.filter.value(if shared { &self.average } else { &queue.average }));
        }
    }
}

impl<P: Packet> Configure<P> for Gred<P> {
    fn configure(&mut self, params: GredParams, ctx: &mut Ctx<'_, P>) {
        let old = core::mem::replace(self, Gred::new(params));
        let goes_on = old.params.min_th.is_like(self.params.min_th) && old.params.average == self.params.average;
        let take_over = |average| if goes_on { self.filter.rescaled(average, &old.filter) } else { Average::default() };
        self.average = take_over(old.average);
        for (queue, old) in self.queues.iter_mut().zip(&old.queues) {
            *queue = Virtual { band: queue.band.clone(), average: take_over(old.average), ..*old };
        }
        self.fifo = old.fifo;
        self.fifo.set_limit(self.params.limit);
        while let Some((packet, at)) = self.fifo.pop_excess() {
            self.left(at, &packet, ctx.now);
            ctx.drop(packet, DropReason::Reconfigured);
        }
    }
}

#[cfg(test)]
mod tests;
