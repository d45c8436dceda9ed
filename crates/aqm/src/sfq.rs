//! # SFQ
//!
//! Stochastic fairness queueing hashes flows into queues that are served in turn, a quantum of bytes each, and changes
//! the hash now and then, so that two flows share a queue only for a while. When the buffer is full, the longest queue
//! drops a packet.
//!
//! ```text
//! for each arrival:  x is the queue of hash(flow, perturbation) mod divisor;       (McKenney 1990; net/sched/sch_sfq.c)
//!     no queue has that hash?  a free one gets it, x to the end of the round, allot_x ← quantum; none is free?  drop
//!     x has `depth` packets?  drop the arrival (headdrop: the first of x, and queue the arrival)
//!     queue it;  more than `limit` packets?  drop the last (headdrop: the first) of the longest queue
//! the link can send, and x is the head of the round:
//!     allot_x ≤ 0?  allot_x ← allot_x + quantum, x to the end of the round, and on with the next
//!     send its first packet;  is x empty?  x leaves the round and is free;   else allot_x ← allot_x − its length
//! every `perturb`:  a new perturbation; all packets are queued anew, so that no flow is reordered
//! ```
//!
//! Memory is bounded: `divisor` places, and `flows` queues, each with room for the most packets that it has held since
//! it was last empty. The perturbation is the key of the hash. The papers of 1990 and 1991 were not at hand; the reference is
//! Linux.
//!
#![doc = include_str!("sfq.md")]

use crate::fifo::KEPT;
use crate::flow_hasher::FlowHasher;
use crate::longest::Longest;
use crate::prelude::*;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

discipline! {
    Sfq: "sfq", "SFQ",
    source("McKenney 1990; Linux, net/sched/sch_sfq.c"),
    tc("tc qdisc add dev DEV root sfq limit LIMIT_PACKETS flows FLOWS depth DEPTH divisor DIVISOR \
        quantum QUANTUM_BYTES perturb SECONDS [headdrop]"),
    drops(Tail),
    remembers(Queued, "128 queues at most"),

    /// Parameters of [`Sfq`].
    pub struct SfqParams {
        /// Number of hash values for flows.
        divisor: u64 = default(1024), unit("1"), range(Range::from(1.0).to(65_536.0)),
            source("Linux, net/sched/sch_sfq.c"), tc("divisor"), fixed(true);
        /// Largest number of queues with packets at the same time.
        flows: u64 = default(128), unit("queues"), range(Range::from(1.0).to(65_408.0)),
            source("Linux, net/sched/sch_sfq.c"), tc("flows"), fixed(true);
        /// Most packets in one queue.
        depth: u64 = default(127), unit("packets"), range(Range::from(1.0).to(65_535.0)),
            source("Linux, net/sched/sch_sfq.c; there at most 127"), tc("depth");
        /// How much a queue may send in its turn.
        quantum: Size = derived("1514 B, or the link's typical packet if that is longer",
            |link| Size::Bytes(link.packet.max(1514))),
            unit("B"), range(Range::from(64.0)), source("Linux, net/sched/sch_sfq.c: the MTU, 1514 bytes"), tc("quantum");
        /// Largest total number of packets in all queues, without the packet in transmission.
        limit: Size = default(Size::Packets(127)), unit("packets"), range(Range::from(1.0).to(16_777_216.0)),
            source("Linux, net/sched/sch_sfq.c"), tc("limit");
        /// Time from one perturbation of the hash to the next; 0 s: never.
        perturb: Span = default(Span::from_secs(10)), range(Range::from(0.0)), source("tc-sfq(8): 10 s"), tc("perturb");
        /// Drop the first packet of the longest queue instead of the last.
        headdrop: bool = default(false), source("Linux, net/sched/sch_sfq.c"), tc("headdrop");
    }
    rules {
        "limit counts packets" [limit] |p| matches!(p.limit, Size::Packets(_));
        "quantum is in bytes" [quantum] |p| matches!(p.quantum, Size::Bytes(_));
    }
}

impl SfqParams {
    fn quantum(&self) -> i64 {
        i64::try_from(self.quantum.amount()).unwrap_or(i64::MAX / 2)
    }

    fn perturb_at(&self, now: Time) -> Option<Time> {
        (self.perturb > Span::ZERO).then(|| now + self.perturb)
    }
}

/// No queue has this hash.
const EMPTY_SLOT: u32 = u32::MAX;

/// A queue.
#[derive(Clone, Debug)]
struct Slot<P> {
    queue: VecDeque<P>,
    allot: i64,
    hash: usize,
}

/// Hashed queues that are served in turn.
#[derive(Clone, Debug)]
pub struct Sfq<P> {
    params: SfqParams,
    slots: Vec<Slot<P>>,
    /// Slots without packets, the next to be used last.
    free: Vec<u32>,
    /// The slot of each hash.
    ht: Vec<u32>,
    round: VecDeque<u32>,
    longest: Longest,
    perturbation: Option<FlowHasher>,
    perturb_at: Option<Time>,
    packets: u64,
    bytes: u64,
}

impl<P: Packet> Sfq<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(params: SfqParams) -> Self {
        let slot = |_| Slot { queue: VecDeque::new(), allot: 0, hash: 0 };
        Sfq {
            slots: (0..params.flows).map(slot).collect(),
            free: (0..params.flows as u32).collect(),
            ht: vec![EMPTY_SLOT; params.divisor as usize],
            round: VecDeque::new(),
            longest: Longest::default(),
            perturbation: None,
            perturb_at: None,
            packets: 0,
            bytes: 0,
            params,
        }
    }

    /// The slot for a packet, which is free before if no other has its hash; none if none is free.
    fn slot(&mut self, hash: usize) -> Option<u32> {
        if self.ht[hash] == EMPTY_SLOT {
            let x = self.free.pop()?;
            self.ht[hash] = x;
            let slot = &mut self.slots[x as usize];
            (slot.hash, slot.allot) = (hash, self.params.quantum());
            self.round.push_back(x);
        }
        Some(self.ht[hash])
    }

    fn is_full(&self, x: u32) -> bool {
        self.slots[x as usize].queue.len() as u64 >= self.params.depth
    }

    fn push(&mut self, x: u32, packet: P) {
        let slot = &mut self.slots[x as usize];
        self.packets += 1;
        self.bytes += packet.bytes();
        slot.queue.push_back(packet);
        self.longest.set(x, slot.queue.len() as u64);
    }

    /// Takes a packet from a slot; the caller sees to a slot that is empty then.
    fn take(&mut self, x: u32, first: bool) -> Option<P> {
        let queue = &mut self.slots[x as usize].queue;
        let packet = if first { queue.pop_front() } else { queue.pop_back() }?;
        self.packets -= 1;
        self.bytes -= packet.bytes();
        self.longest.set(x, queue.len() as u64);
        Some(packet)
    }

    /// The slot at the head of the round has no packets.
    fn leave(&mut self) {
        if let Some(x) = self.round.pop_front() {
            let slot = &mut self.slots[x as usize];
            slot.queue.shrink_to(KEPT);
            self.ht[slot.hash] = EMPTY_SLOT;
            self.free.push(x);
        }
    }

    /// Puts a packet in the place of the first of a slot. Its length does not change, and so has not changed last.
    fn replace_first(&mut self, x: u32, packet: P) -> P {
        let queue = &mut self.slots[x as usize].queue;
        self.bytes += packet.bytes();
        queue.push_back(packet);
        let first = queue.pop_front().expect("a packet has joined it");
        self.bytes -= first.bytes();
        first
    }

    /// Drops a packet of the longest queue while the limit is exceeded.
    fn drop_excess(&mut self, reason: DropReason, ctx: &mut Ctx<'_, P>) {
        while self.packets > self.params.limit.amount() {
            let longest = self.longest.get().expect("more is queued than the limit");
            let victim = if self.slots[longest as usize].queue.len() > 1 {
                self.take(longest, self.params.headdrop)
            } else {
                // All have one packet.
                let victim = self.take(self.round[0], true);
                self.leave();
                victim
            };
            ctx.drop(victim.expect("a slot of the round has packets"), reason);
        }
    }

    /// Draws another hash, and queues all packets anew.
    fn perturb(&mut self, ctx: &mut Ctx<'_, P>) -> FlowHasher {
        let hash = FlowHasher::new(ctx.rng);
        (self.perturbation, self.perturb_at) = (Some(hash), self.params.perturb_at(ctx.now));
        let mut moving = Vec::new();
        // In the order of the slots, as Linux does; those without packets are not looked at.
        self.round.make_contiguous().sort_unstable();
        while let Some(&x) = self.round.front() {
            while let Some(packet) = self.take(x, true) {
                moving.push(packet);
            }
            self.leave();
        }
        for packet in moving {
            match self.slot(hash.bucket(packet.flow(), self.ht.len())) {
                Some(x) if !self.is_full(x) => self.push(x, packet),
                _ => ctx.drop(packet, DropReason::Tail),
            }
        }
        hash
    }
}

impl<P: Packet> Discipline<P> for Sfq<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        let hash = self.perturbation.unwrap_or_else(|| self.perturb(ctx));
        let Some(x) = self.slot(hash.bucket(packet.flow(), self.ht.len())) else {
            return ctx.drop(packet, DropReason::Tail);
        };
        if self.is_full(x) {
            let lost = if self.params.headdrop { self.replace_first(x, packet) } else { packet };
            return ctx.drop(lost, DropReason::Tail);
        }
        self.push(x, packet);
        self.drop_excess(DropReason::Tail, ctx);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        loop {
            let x = *self.round.front()?;
            let slot = &mut self.slots[x as usize];
            if slot.allot <= 0 {
                slot.allot += self.params.quantum();
                self.round.rotate_left(1);
                continue;
            }
            let packet = self.take(x, true)?;
            let slot = &mut self.slots[x as usize];
            slot.allot -= packet.bytes() as i64;
            if slot.queue.is_empty() {
                self.leave();
            }
            return Some(packet);
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.perturb_at
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        if self.perturb_at.is_some_and(|at| at <= ctx.now) {
            self.perturb(ctx);
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        self
    }
}

impl<P: Packet> Buffer<P> for Sfq<P> {
    fn packets(&self) -> u64 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.round.iter().flat_map(|x| &self.slots[*x as usize].queue).for_each(visit);
    }
}

impl<P: Packet> Configure<P> for Sfq<P> {
    fn configure(&mut self, params: SfqParams, ctx: &mut Ctx<'_, P>) {
        self.perturb_at = self.perturbation.and_then(|_| params.perturb_at(ctx.now));
        self.params = params;
        self.drop_excess(DropReason::Reconfigured, ctx);
    }
}

#[cfg(test)]
mod tests;
