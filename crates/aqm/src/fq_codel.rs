//! # FQ-CoDel
//!
//! Flows are hashed into a fixed number of queues, each under CoDel, served by deficit round robin; a queue that was empty
//! goes before the others for its first quantum, so that sparse flows hardly wait.
//!
//! ```text
//! for each arrival:  to the end of its queue i;                                              (RFC 8290, Sec. 4)
//!     in neither list?  i to the end of new_queues, credits_i ← quantum
//!     more is queued than `limit`?  half of the bytes of the queue with the most, at most drop_batch packets, are
//!         dropped at its head
//! the link can send, and i is the head of new_queues, or else of old_queues:
//!     credits_i ≤ 0?  credits_i ← credits_i + quantum, i to the end of old_queues, and on
//!     CoDel gives a packet of queue i?  credits_i ← credits_i − its length, send it
//!     else:  i from new_queues to the end of old_queues; from old_queues it leaves
//! ```
//!
//! The queues are fixed in number, and so is their memory, beside that of the packets; an idle queue keeps room for a few.
//! Where a flow goes is a keyed hash. What the RFC leaves open follows `net/sched/sch_fq_codel.c`.
//!
#![doc = include_str!("fq_codel.md")]

use crate::codel::{CodelRule, CodelState, CodelVersion};
use crate::hashed_queues::{HashedQueue, HashedQueues};
use crate::l4s::Ect;
use crate::longest::{LazyLongest, Tie};
use crate::prelude::*;

discipline! {
    FqCodel: "fq_codel", "FQ-CoDel",
    source("Hoeiland-Joergensen, McKenney, Taht, Gettys & Dumazet 2018, RFC 8290; Linux, net/sched/sch_fq_codel.c"),
    tc("tc qdisc add dev DEV root fq_codel limit LIMIT_PACKETS flows FLOWS target TARGET interval INTERVAL \
        quantum QUANTUM_BYTES drop_batch DROP_BATCH [ecn|noecn] [ce_threshold CE_THRESHOLD \
        [ce_threshold_selector 0x1/0x3]]"),
    drops(Tail, Early),
    // Each flow has a queue of its own.
    proportional(),
    remembers(Queued, "1024 queues"),
    overload(Marks, "RFC 8290, Sec. 5.2.6, leaves misbehaved flows to the scheduler and the full buffer"),

    /// Parameters of [`FqCodel`].
    pub struct FqCodelParams {
        /// Acceptable delay of a standing queue.
        target: Span = default(Span::from_millis(5)), range(Range::above(0.0).to(3600.0)),
            source("RFC 8290, Sec. 5.2.2: 5 ms"), tc("target");
        /// How long the delay must be above target before the first signal; of the order of the longest round-trip
        /// time.
        interval: Span = default(Span::from_millis(100)), range(Range::above(0.0).to(3600.0)),
            source("RFC 8290, Sec. 5.2.1: 100 ms"), tc("interval");
        /// Number of queues for hashed flows.
        flows: u64 = default(1024), unit("queues"), range(Range::from(1.0).to(65_536.0)),
            source("RFC 8290, Sec. 5.2.5; the bound is Linux's"), tc("flows"), fixed(true);
        /// How much a queue may send in a round.
        quantum: Size = derived("1514 B, or the link's typical packet if that is longer",
            |link| Size::Bytes(link.packet.max(1514))),
            unit("B"), range(Range::from(64.0)), source("RFC 8290, Sec. 5.2.4: the MTU, 1514 bytes"), tc("quantum");
        /// Largest total length of all queues, without the packet in transmission.
        limit: Size = default(Size::Packets(10_240)), unit("packets"), range(Range::from(1.0).to(16_777_216.0)),
            source("RFC 8290, Sec. 5.2.3"), tc("limit");
        /// Mark ECN-capable packets where CoDel would drop them.
        ecn: bool = default(true), source("RFC 8290, Sec. 5.2.6"), tc("ecn");
        /// A packet that has waited longer is marked when it leaves, if it is ECN-capable, even if `ecn` is off.
        ce_threshold: Option<Span> = optional("none"), range(Range::from(0.0).to(3600.0)),
            source("RFC 8290, Sec. 5.2.7: CE_THRESHOLD"), tc("ce_threshold");
        /// Which packets are marked above `ce_threshold`.
        ce_threshold_ect: Ect = default(Ect::Any),
            source("Linux, net/sched/sch_fq_codel.c: none, or 0x1/0x3"), tc("ce_threshold_selector");
        /// Largest number of packets dropped at once when the limit is exceeded.
        drop_batch: u64 = default(64), unit("packets"), range(Range::from(1.0)),
            source("RFC 8290, Sec. 4.1; Linux, net/sched/sch_fq_codel.c"), tc("drop_batch");
        /// The longest packet of the link. CoDel does not act while at most this many bytes wait.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("B"),
            range(Range::from(0.0)), source("RFC 8289, Sec. 5.3: maxpacket; Linux: the MTU");
        /// The RFC's arithmetic, or the kernel's.
        law: CodelVersion = default(CodelVersion::Rfc8289),
            source("RFC 8289, Sec. 5; Linux, include/net/codel_impl.h"), fixed(true);
    }
    rules {
        "quantum and max_packet are in bytes" [quantum, max_packet]
            |p| matches!((p.quantum, p.max_packet), (Size::Bytes(_), Size::Bytes(_)));
    }
}

/// Queue weight: its bytes, plus 1 if it is not empty, so that zero-byte packets still outweigh an empty queue.
fn weight<P: Packet>(queue: &HashedQueue<P, CodelState>) -> u64 {
    queue.fifo.bytes() + u64::from(queue.fifo.packets() > 0)
}

impl FqCodelParams {
    fn rule(&self) -> CodelRule {
        CodelRule::new(self.law, self.target, self.interval, self.max_packet.amount(), self.ecn)
            .with_ce_threshold(self.ce_threshold, self.ce_threshold_ect)
    }
}

/// Hashed queues under CoDel and deficit round robin.
#[derive(Clone, Debug)]
pub struct FqCodel<P> {
    params: FqCodelParams,
    rule: CodelRule,
    queues: HashedQueues<P, CodelState>,
    /// The queues by weight, for drops for want of room.
    fattest: LazyLongest,
}

impl<P: Packet> FqCodel<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(params: FqCodelParams) -> Self {
        FqCodel {
            rule: params.rule(),
            queues: HashedQueues::new(params.flows, &CodelState::default(), params.law == CodelVersion::Linux),
            fattest: LazyLongest::new(Tie::First),
            params,
        }
    }

    /// Drops from the fattest queue while the limit is exceeded.
    fn drop_excess(&mut self, reason: DropReason, ctx: &mut Ctx<'_, P>) {
        while Limit::of(self.params.limit).is_exceeded(self.queues.packets(), self.queues.bytes()) {
            self.drop_from_the_fattest(reason, ctx);
        }
    }

    /// Drops half of the bytes of the fattest queue, at its head; for a smaller limit no more than it must.
    fn drop_from_the_fattest(&mut self, reason: DropReason, ctx: &mut Ctx<'_, P>) {
        let weights = self.queues.listed().map(|at| (at, weight(&self.queues.queues[at as usize])));
        let at = self.fattest.get(weights).expect("more is queued than the limit");
        let batch = if reason == DropReason::Tail { self.params.drop_batch } else { 1 };
        let half = self.queues.queues[at as usize].fifo.bytes() / 2;
        let (mut packets, mut bytes) = (0, 0);
        while packets == 0 || (packets < batch && bytes < half) {
            let Some(packet) = self.queues.pop(at) else { break };
            packets += 1;
            bytes += packet.bytes();
            ctx.drop(packet, reason);
        }
        let queue = &mut self.queues.queues[at as usize];
        if reason == DropReason::Tail && self.params.law == CodelVersion::Linux {
            queue.aqm.count = queue.aqm.count.wrapping_add(packets as u32);
        }
        self.fattest.set(at, weight(queue));
    }
}

impl<P: Packet> Discipline<P> for FqCodel<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        if !Limit::of(self.params.limit).has_room(0, 0, packet.bytes()) {
            return ctx.drop(packet, DropReason::Tail);
        }
        let at = self.queues.find(packet.flow(), ctx.rng);
        self.queues.push(at, packet, self.params.quantum, ctx.now);
        self.fattest.set(at, weight(&self.queues.queues[at as usize]));
        self.drop_excess(DropReason::Tail, ctx);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.dequeue_in_class(0, ctx)
    }

    fn dequeue_in_class(&mut self, elsewhere: u64, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let packet = self.queues.dequeue(self.params.quantum, |at, queue, others| {
            let packet = self.rule.dequeue(&mut queue.aqm, &mut queue.fifo, others, elsewhere, ctx);
            self.fattest.set(at, weight(queue));
            packet
        });
        if packet.is_none() {
            self.fattest.rest();
        }
        packet
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.queues
    }

    fn wakes(&self) -> bool {
        false
    }
}

impl<P: Packet> Configure<P> for FqCodel<P> {
    fn configure(&mut self, params: FqCodelParams, ctx: &mut Ctx<'_, P>) {
        (self.rule, self.params) = (params.rule(), params);
        self.drop_excess(DropReason::Reconfigured, ctx);
    }
}

#[cfg(test)]
mod tests;
