//! # fq (Linux)
//!
//! The kernel's `fq`: a queue for each flow, deficit round robin in three bands of priority, and pacing: with `maxrate`
//! a flow that has sent its quantum waits until that rate allows more, while others send. Without further parameters
//! `fq` is plain fair queueing here.
//!
//! ```text
//! for each arrival of flow f, of band b:                                          (Linux 6.18, net/sched/sch_fq.c)
//!     more than `limit` with it?  drop it
//!     no maxrate, no flow that is not throttled has packets, and the fast path has fewer than 8?  to the end of the fast path
//!     f is not known?  credit_f ← initial_quantum, band_f ← 0          (forgotten when it has been detached for 3 s)
//!     f has flow_limit packets?  drop it
//!     f is detached?  to the end of the new flows of band_f;  for longer than refill_delay?  credit_f ← max(credit_f, quantum)
//!     to the end of f's queue, band_f ← b
//! the link can send:  the first packet of the fast path, if it has one, and otherwise
//!     the band's credit is above 0 and it has a flow?  f is the first of its new flows, or else of its old flows
//!     else: the next band, credit ← min(credit + weight, weight);   all three with credit and without flows?  nothing to send
//!     credit_f ≤ 0?  credit_f ← credit_f + quantum, to the end of the old flows, and on
//!     no packet?  from the new flows to the end of the old ones, from the old ones it leaves (detached);  and on
//!     time_next_packet_f > now?  throttled until then, when it goes to the end of the old flows;  and on
//!     send its first packet;  credit_f and the band's credit ← less its length
//!     it waited for longer than ce_threshold since it might have been sent?  mark it, if its transport is capable
//!     maxrate:  plen ← its length;  maxrate ≤ low_rate_threshold?  credit_f ← 0
//!               else:  plen ← max(plen, quantum);  and if credit_f > 0 that is all
//!               len ← min(plen/maxrate, 1 s), less what the packet was late, at most half
//!               time_next_packet_f ← now + len
//! ```
//!
//! `state` shows how many flows are known and how many of them are throttled. Memory is bounded by what is queued and by 131,072
//! flows that are remembered without packets. There is no paper: the reference is the kernel. This agrees packet for packet
//! with a model of the kernel's rules, throttled flows and their times included (`crates/aqm/tests/fq_linux.rs`).
//!
#![doc = include_str!("fq_linux.md")]

mod flows;

use crate::prelude::*;
use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;
use core::iter;
use flows::{DETACHED, Flow, Flows};

discipline! {
    FqLinux: "fq_linux", "fq (Linux)",
    source("Linux, net/sched/sch_fq.c; tc-fq(8)"),
    tc("tc qdisc add dev DEV root fq limit LIMIT_PACKETS flow_limit FLOW_LIMIT quantum QUANTUM_BYTES \
        initial_quantum INITIAL_QUANTUM_BYTES maxrate MAXRATE refill_delay REFILL_DELAY \
        low_rate_threshold LOW_RATE_THRESHOLD ce_threshold CE_THRESHOLD weights WEIGHT_0 WEIGHT_1 WEIGHT_2"),
    drops(Tail),
    remembers(Seen, "for 3 s"),
    overload(Marks, "the kernel has no rule; only the queue of a flow that sends too much grows, up to `flow_limit`"),

    /// Parameters of [`FqLinux`].
    pub struct FqLinuxParams {
        /// Largest total length of all queues, without the packet in transmission.
        limit: Size = default(Size::Packets(10_000)), unit("packets"), range(Range::from(1.0).to(16_777_216.0)),
            source("tc-fq(8)"), tc("limit");
        /// Most packets of one flow.
        flow_limit: u64 = default(100), unit("packets"), range(Range::from(1.0)), source("tc-fq(8)"), tc("flow_limit");
        /// How much a flow may send in a round. With maxrate above low_rate_threshold, pacing lets it send this much at a time.
        quantum: Size = derived("3028 B, or two of the link's typical packet if that is more",
            |link| Size::Bytes(2 * link.packet.clamp(1514, 1 << 19))),
            unit("B"), range(Range::from(256.0).to(1_048_576.0)),
            source("tc-fq(8): 2 MTUs; the bounds are Linux's"), tc("quantum");
        /// How much a new flow may send in its first round.
        initial_quantum: Size = derived("15140 B, or ten of the link's typical packet if that is more",
            |link| Size::Bytes((10 * link.packet.clamp(1514, 1 << 20)).min(1 << 20))),
            unit("B"), range(Range::from(0.0).to(1_048_576.0)),
            source("tc-fq(8): 10 MTUs; the bound is Linux's"), tc("initial_quantum");
        /// The rate up to which each flow may send.
        maxrate: Option<Rate> = optional("flows are not paced"), range(Range::POSITIVE), source("tc-fq(8)"), tc("maxrate");
        /// After a longer time without packets a flow gets a new quantum.
        refill_delay: Span = default(Span::from_millis(40)), range(Range::from(0.0)),
            source("Linux, net/sched/sch_fq.c: 40 ms"), tc("refill_delay");
        /// With a maxrate up to this, flows are paced packet by packet.
        low_rate_threshold: Rate = default(Rate(550_000)), range(Range::from(0.0)),
            source("Linux, net/sched/sch_fq.c: 550 kbit/s"), tc("low_rate_threshold");
        /// Packets are marked if they waited longer than this since they could have been sent.
        ce_threshold: Option<Span> = optional("none is marked"), range(Range::from(0.0)),
            source("Linux, net/sched/sch_fq.c: 4294 s, as good as none"), tc("ce_threshold");
        /// How many bytes the band of class 0 may send in its turn.
        weight_0: u64 = default(589_824), unit("bytes"), range(Range::from(16_384.0).to(2_147_483_647.0)),
            source("Linux, net/sched/sch_fq.c: 9·2^16; the bounds are the kernel's"), tc("weights");
        /// How many bytes the band of class 1 may send in its turn.
        weight_1: u64 = default(196_608), unit("bytes"), range(Range::from(16_384.0).to(2_147_483_647.0)),
            source("Linux, net/sched/sch_fq.c: 3·2^16"), tc("weights");
        /// How many bytes the band of all other classes may send in its turn.
        weight_2: u64 = default(65_536), unit("bytes"), range(Range::from(16_384.0).to(2_147_483_647.0)),
            source("Linux, net/sched/sch_fq.c: 2^16"), tc("weights");
    }
    rules {
        "quantum and initial_quantum are in bytes" [quantum, initial_quantum]
            |p| matches!((p.quantum, p.initial_quantum), (Size::Bytes(_), Size::Bytes(_)));
    }
}

const BANDS: usize = 3;
/// Most packets of the fast path.
const FAST_PATH: usize = 8;

/// The flows of a band that may send.
#[derive(Clone, Debug, Default)]
struct Band {
    new_flows: VecDeque<u32>,
    old_flows: VecDeque<u32>,
    credit: i64,
}

/// A queue for each flow, in bands, with pacing.
#[derive(Clone, Debug)]
pub struct FqLinux<P> {
    params: FqLinuxParams,
    fast_path: VecDeque<P>,
    flows: Flows<P>,
    bands: [Band; BANDS],
    /// The band that sends.
    band_nr: usize,
    /// Throttled flows, all with packets, by the time until when, and then in the order in which they were throttled.
    delayed: BinaryHeap<Reverse<(Time, u64, u32)>>,
    throttles: u64,
    /// Flows that have packets and are not throttled.
    eligible: u64,
    packets: u64,
    bytes: u64,
}

impl<P: Packet> FqLinux<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(params: FqLinuxParams) -> Self {
        FqLinux {
            params,
            fast_path: VecDeque::new(),
            flows: Flows::new(),
            bands: Default::default(),
            band_nr: 0,
            delayed: BinaryHeap::new(),
            throttles: 0,
            eligible: 0,
            packets: 0,
            bytes: 0,
        }
    }

    /// Detaches all old flows without packets, when too many are known that have none.
    fn tidy(&mut self, now: Time) {
        if (self.flows.len() as u64) <= self.packets + 2 * DETACHED as u64 {
            return;
        }
        for band in &mut self.bands {
            band.old_flows.retain(|at| {
                let stays = !self.flows[*at].queue.is_empty();
                if !stays {
                    self.flows.detach(*at, now);
                }
                stays
            });
        }
    }

    /// The flow whose turn it is, and whether it is new: fq_pband_head_select.
    fn head(&self) -> Option<(bool, u32)> {
        let band = &self.bands[self.band_nr];
        let new = band.new_flows.front().map(|at| (true, *at));
        new.or(band.old_flows.front().map(|at| (false, *at))).filter(|_| band.credit > 0)
    }

    /// Takes the flow whose turn it is out of its list.
    fn leave(&mut self, new: bool) {
        let band = &mut self.bands[self.band_nr];
        let list = if new { &mut band.new_flows } else { &mut band.old_flows };
        list.pop_front();
    }

    /// The turn of the next band; whether it may send.
    fn next_band(&mut self) -> bool {
        self.band_nr = (self.band_nr + 1) % BANDS;
        let FqLinuxParams { weight_0, weight_1, weight_2, .. } = self.params;
        let weight = [weight_0, weight_1, weight_2][self.band_nr] as i64;
        let credit = &mut self.bands[self.band_nr].credit;
        *credit = (*credit + weight).min(weight);
        *credit > 0
    }

    /// A packet of `plen` bytes has left: when may the next one?
    fn pace(&mut self, at: u32, plen: u64, now: Time) {
        let Some(rate) = self.params.maxrate else { return };
        let flow = &mut self.flows[at];
        let plen = if rate <= self.params.low_rate_threshold {
            flow.credit = 0;
            plen
        } else if flow.credit > 0 {
            return;
        } else {
            plen.max(self.params.quantum.amount())
        };
        let len = rate.time_of(plen).min(Span::from_secs(1));
        let late = flow.time_next_packet.map_or(Span::ZERO, |time| now.since(time));
        flow.time_next_packet = Some(now + (len - late.min(Span(len.0 / 2))));
    }

    /// Flows that may send, with or without packets.
    fn listed(&self) -> impl Iterator<Item = &Flow<P>> {
        let lists = self.bands.iter().flat_map(|band| band.new_flows.iter().chain(&band.old_flows));
        lists.map(|at| &self.flows[*at])
    }

    /// Drops packets of one flow after another, each from its end, while the limit is exceeded.
    fn drop_excess(&mut self, ctx: &mut Ctx<'_, P>) {
        let of_flows = self.flows.places.iter_mut().rev().flat_map(|flow| iter::from_fn(|| flow.queue.pop_back()));
        let mut queued = of_flows.map(|(packet, _)| packet).chain(iter::from_fn(|| self.fast_path.pop_back()));
        while Limit::of(self.params.limit).is_exceeded(self.packets, self.bytes) {
            let Some(packet) = queued.next() else { break };
            self.packets -= 1;
            self.bytes -= packet.bytes();
            ctx.drop(packet, DropReason::Reconfigured);
        }
        drop(queued);
        self.delayed.retain(|Reverse((_, _, at))| {
            let flow = &self.flows[*at];
            if flow.queue.is_empty() {
                self.bands[flow.band].old_flows.push_back(*at);
            }
            !flow.queue.is_empty()
        });
        self.eligible = self.listed().filter(|flow| !flow.queue.is_empty()).count() as u64;
    }
}

impl<P: Packet> Discipline<P> for FqLinux<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        if !Limit::of(self.params.limit).has_room(self.packets, self.bytes, packet.bytes()) {
            return ctx.drop(packet, DropReason::Tail);
        }
        if self.eligible == 0 && self.fast_path.len() < FAST_PATH && self.params.maxrate.is_none() {
            self.packets += 1;
            self.bytes += packet.bytes();
            return self.fast_path.push_back(packet);
        }
        self.tidy(ctx.now);
        self.flows.forget(ctx.now);
        let credit = self.params.initial_quantum.amount() as i64;
        let at = self.flows.classify(packet.flow(), credit, ctx.now, ctx.rng);
        let flow = &mut self.flows[at];
        if flow.queue.len() as u64 >= self.params.flow_limit {
            return ctx.drop(packet, DropReason::Tail);
        }
        if let Some(since) = flow.detached.take() {
            self.bands[flow.band].new_flows.push_back(at);
            if ctx.now.since(since) > self.params.refill_delay {
                flow.credit = flow.credit.max(self.params.quantum.amount() as i64);
            }
        }
        flow.band = usize::from(packet.class()).min(BANDS - 1);
        self.eligible += u64::from(flow.queue.is_empty());
        self.packets += 1;
        self.bytes += packet.bytes();
        flow.queue.push_back((packet, ctx.now));
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let mut idle_bands = 0;
        while self.packets > 0 {
            if let Some(packet) = self.fast_path.pop_front() {
                self.packets -= 1;
                self.bytes -= packet.bytes();
                return Some(packet);
            }
            let Some((new, at)) = self.head() else {
                if idle_bands == BANDS {
                    return None;
                }
                idle_bands = if self.next_band() { idle_bands + 1 } else { 0 };
                continue;
            };
            idle_bands = 0;
            let flow = &mut self.flows[at];
            if flow.credit <= 0 {
                flow.credit += self.params.quantum.amount() as i64;
                self.bands[flow.band].old_flows.push_back(at);
                self.leave(new);
                continue;
            }
            let earliest = flow.time_next_packet.unwrap_or(Time::ZERO);
            if !flow.queue.is_empty() && earliest > ctx.now {
                self.delayed.push(Reverse((earliest, self.throttles, at)));
                self.throttles += 1;
                self.eligible -= 1;
                self.leave(new);
                continue;
            }
            let Some((mut packet, came)) = flow.queue.pop_front() else {
                if new {
                    self.bands[flow.band].old_flows.push_back(at);
                } else {
                    self.flows.detach(at, ctx.now);
                }
                self.leave(new);
                continue;
            };
            if self.params.ce_threshold.is_some_and(|longest| ctx.now.since(came.max(earliest)) > longest) {
                packet.mark();
            }
            self.eligible -= u64::from(flow.queue.is_empty());
            flow.credit -= packet.bytes() as i64;
            self.bands[self.band_nr].credit -= packet.bytes() as i64;
            self.packets -= 1;
            self.bytes -= packet.bytes();
            self.pace(at, packet.bytes(), ctx.now);
            return Some(packet);
        }
        None
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        self
    }

    /// Until when the first of the throttled flows is.
    fn next_wakeup(&self) -> Option<Time> {
        self.delayed.peek().map(|Reverse((time, ..))| *time)
    }

    /// fq_check_throttled.
    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        while let Some(&Reverse((_, _, at))) = self.delayed.peek().filter(|Reverse((time, ..))| *time <= ctx.now) {
            self.delayed.pop();
            self.eligible += 1;
            self.bands[self.flows[at].band].old_flows.push_back(at);
        }
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "flows", self.flows.len() as f64);
        visit(None, "throttled_flows", self.delayed.len() as f64);
    }
}

impl<P: Packet> Buffer<P> for FqLinux<P> {
    fn packets(&self) -> u64 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.fast_path.iter().for_each(&mut *visit);
        let throttled = self.delayed.iter().map(|Reverse((_, _, at))| &self.flows[*at]);
        self.listed().chain(throttled).flat_map(|flow| &flow.queue).for_each(|(packet, _)| visit(packet));
    }
}

impl<P: Packet> Configure<P> for FqLinux<P> {
    fn configure(&mut self, params: FqLinuxParams, ctx: &mut Ctx<'_, P>) {
        self.params = params;
        self.drop_excess(ctx);
    }
}

#[cfg(test)]
mod tests;
