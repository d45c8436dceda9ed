//! # SFQ
//!
//! Stochastic fairness queueing hashes flows into queues that are served in turn, a quantum of bytes each, and changes the
//! hash now and then, so that two flows that share a queue do so for a while only. When the buffer is full, the longest
//! queue drops a packet.
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
//! Memory is fixed: `divisor` places, `flows` queues, `limit` packets. The perturbation is the key of the hash. The papers
//! of 1990 and 1991 were not at hand; the reference is Linux.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | queues are served packet by packet (1990) | by bytes, `quantum` for each turn | so in Linux, after Shreedhar & Varghese 1995; ns-2's `sfq.cc` sends one packet for each turn |
//! | the longest queue drops a packet | the longest by packets; of several, the one whose length changed last. If all have one packet, the one whose turn is next | so in Linux |
//! | ns-2: an arrival is dropped when its queue has half of what is left of `maxqueue_`, or its fair part of it when little is left | the longest queue loses, whoever arrives | so in the paper and Linux; ns-2 has the rule of its own, and neither perturbs nor hashes ports. 2 Mbit/s of UDP beside 32 TCPs on 1 Mbit/s get 3.6 % there and 3.7 % here |
//! | the hash is perturbed | every `perturb`, 10 s; 0 s: never | `tc`'s page advises 10 s; its default is never, which leaves two flows that collide together for ever |
//! | packets are requeued after a perturbation | queue by queue in the order of their slots; what exceeds `depth`, or finds no free queue, is dropped with reason `tail` | so in Linux |
//! | nothing on how a turn is counted | in bytes | Linux counts units of 8 bytes, `quantum` and packets rounded up, to fit 16 bits: where both are multiples of 8, it agrees packet for packet with a model of the kernel's rules, perturbations included (`tests/sfq_linux.rs`) |
//! | Linux: `depth` 127 | so; with a smaller `limit` it never binds | so in Linux |
//! | Linux: 128 queues, 127 packets, a quantum of the MTU with its link header (1514 bytes on Ethernet), no perturbation | so; the quantum is the link's typical packet where that is longer; 10 s | as in Linux. UDP of 2 Mbit/s beside 32 TCPs on 1 Mbit/s gets 3.9 % with 1000 bytes and with 1514 |
//! | Linux has RED in each queue (`redflowlimit`) | not built | of Linux alone |
//! | an arrival that meets `flows` queues in use | is dropped, though there may be room; not with the defaults, which hold fewer packets than queues | so in Linux |

use crate::flow_hasher::FlowHasher;
use crate::longest::Longest;
use crate::prelude::*;
use crate::slab::{List, Slab};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

discipline! {
    Sfq: "sfq", "SFQ",
    source("McKenney 1990; Linux, net/sched/sch_sfq.c"),
    tc("tc qdisc add dev DEV root sfq limit LIMIT_PACKETS flows FLOWS depth DEPTH divisor DIVISOR \
        quantum QUANTUM_BYTES perturb SECONDS [headdrop]"),
    drops(Tail),

    /// Parameters of [`Sfq`].
    pub struct SfqParams {
        /// Into how many values flows are hashed.
        divisor: u64 = default(1024), unit("1"), range(Range::from(1.0).to(65_536.0)),
            source("Linux, net/sched/sch_sfq.c"), tc("divisor"), fixed(true);
        /// Most queues that have packets at once.
        flows: u64 = default(128), unit("queues"), range(Range::from(1.0).to(65_408.0)),
            source("Linux, net/sched/sch_sfq.c"), tc("flows"), fixed(true);
        /// Most packets in one queue.
        depth: u64 = default(127), unit("packets"), range(Range::from(1.0).to(65_535.0)),
            source("Linux, net/sched/sch_sfq.c; there at most 127"), tc("depth");
        /// How much a queue may send in its turn.
        quantum: Size = derived("1514 B, or the link's typical packet if that is longer",
            |link| Size::Bytes(link.packet.max(1514))),
            unit("packets"), range(Range::from(64.0)), source("Linux, net/sched/sch_sfq.c: the MTU, 1514 bytes"), tc("quantum");
        /// Most packets that all queues together hold, not counting the packet in transmission.
        limit: Size = default(Size::Packets(127)), unit("packets"), range(Range::from(1.0).to(16_777_216.0)),
            source("Linux, net/sched/sch_sfq.c"), tc("limit");
        /// Time from one perturbation of the hash to the next; 0 s: it is never perturbed.
        perturb: Span = default(Span::from_secs(10)), range(Range::from(0.0)), source("tc-sfq(8): 10 s"), tc("perturb");
        /// Drop the first packet of the longest queue in place of its last.
        headdrop: bool = default(false), source("Linux, net/sched/sch_sfq.c"), tc("headdrop");
    }
    rules {
        "limit counts packets" [limit] |p| matches!(p.limit, Size::Packets(_));
        "quantum is in bytes" [quantum] |p| matches!(p.quantum, Size::Bytes(_));
    }
}

/// No queue has this hash.
const EMPTY_SLOT: u32 = u32::MAX;

/// A queue.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    queue: List,
    packets: u64,
    allot: i64,
    hash: usize,
}

/// Hashed queues that are served in turn.
#[derive(Clone, Debug)]
pub struct Sfq<P> {
    pool: Slab<P>,
    slots: Vec<Slot>,
    /// Slots without packets, the next to be used last.
    free: Vec<u32>,
    /// The slot of each hash.
    ht: Vec<u32>,
    round: VecDeque<u32>,
    longest: Longest,
    perturbation: Option<FlowHasher>,
    perturb: Option<Span>,
    perturb_at: Option<Time>,
    quantum: i64,
    depth: u64,
    limit: u64,
    headdrop: bool,
    queued: u64,
    bytes: u64,
    /// Packets on their way from one perturbation to the next; kept to save allocations.
    moving: VecDeque<P>,
}

impl<P: Packet> Sfq<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(params: SfqParams) -> Self {
        let SfqParams { divisor, flows, depth, quantum, limit, perturb, headdrop } = params;
        Sfq {
            pool: Slab::default(),
            slots: vec![Slot::default(); flows as usize],
            free: (0..flows as u32).collect(),
            ht: vec![EMPTY_SLOT; divisor as usize],
            round: VecDeque::new(),
            longest: Longest::default(),
            perturbation: None,
            perturb: (perturb > Span::ZERO).then_some(perturb),
            perturb_at: None,
            quantum: i64::try_from(quantum.amount()).unwrap_or(i64::MAX / 2),
            depth,
            limit: limit.amount(),
            headdrop,
            queued: 0,
            bytes: 0,
            moving: VecDeque::new(),
        }
    }

    /// The slot for a packet, which is free before if no other has its hash; none if none is free.
    fn slot(&mut self, hash: usize) -> Option<u32> {
        match self.ht[hash] {
            EMPTY_SLOT => {
                let x = self.free.pop()?;
                self.ht[hash] = x;
                self.slots[x as usize] = Slot { hash, allot: self.quantum, ..Slot::default() };
                self.round.push_back(x);
                Some(x)
            }
            x => Some(x),
        }
    }

    fn push(&mut self, x: u32, packet: P) {
        let slot = &mut self.slots[x as usize];
        slot.packets += 1;
        self.queued += 1;
        self.bytes += packet.bytes();
        self.longest.set(x, slot.packets);
        self.pool.push_back(&mut slot.queue, packet);
    }

    /// Takes a packet from a slot; the caller sees to a slot that is empty then.
    fn take(&mut self, x: u32, first: bool) -> Option<P> {
        let slot = &mut self.slots[x as usize];
        let packet = if first { self.pool.pop_front(&mut slot.queue) } else { self.pool.pop_back(&mut slot.queue) }?;
        slot.packets -= 1;
        self.queued -= 1;
        self.bytes -= packet.bytes();
        self.longest.set(x, slot.packets);
        Some(packet)
    }

    /// The slot at the head of the round has no packets.
    fn leave(&mut self) {
        if let Some(x) = self.round.pop_front() {
            self.release(x);
        }
    }

    fn release(&mut self, x: u32) {
        self.ht[self.slots[x as usize].hash] = EMPTY_SLOT;
        self.free.push(x);
    }

    /// Puts a packet in the place of the first of a slot. Its length does not change, and so has not changed last.
    fn replace_first(&mut self, x: u32, packet: P) -> Option<P> {
        let slot = &mut self.slots[x as usize];
        self.bytes += packet.bytes();
        self.pool.push_back(&mut slot.queue, packet);
        let first = self.pool.pop_front(&mut slot.queue)?;
        self.bytes -= first.bytes();
        Some(first)
    }

    /// The buffer is too full by one packet.
    fn drop_one(&mut self) -> Option<P> {
        let longest = self.longest.get()?;
        if self.longest.length(longest) > 1 {
            return self.take(longest, self.headdrop);
        }
        // All have one packet.
        let x = *self.round.front()?;
        let packet = self.take(x, true);
        self.leave();
        packet
    }

    /// Hashes all packets anew.
    fn rehash(&mut self, hash: FlowHasher, ctx: &mut Ctx<'_, P>) {
        let mut moving = core::mem::take(&mut self.moving);
        // In the order of the slots, as Linux does; those without packets are not looked at.
        self.round.make_contiguous().sort_unstable();
        while let Some(x) = self.round.pop_front() {
            while let Some(packet) = self.take(x, true) {
                moving.push_back(packet);
            }
            self.release(x);
        }
        for packet in moving.drain(..) {
            match self.slot(hash.bucket(packet.flow(), self.ht.len())) {
                Some(x) if self.slots[x as usize].packets < self.depth => self.push(x, packet),
                _ => ctx.drop(packet, DropReason::Tail),
            }
        }
        self.moving = moving;
    }
}

impl<P: Packet> Discipline<P> for Sfq<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        if self.perturbation.is_none() {
            self.perturb_at = self.perturb.map(|perturb| ctx.now + perturb);
        }
        let hash = *self.perturbation.get_or_insert_with(|| FlowHasher::new(ctx.rng));
        let Some(x) = self.slot(hash.bucket(packet.flow(), self.ht.len())) else {
            return ctx.drop(packet, DropReason::Tail);
        };
        if self.slots[x as usize].packets >= self.depth {
            let lost = if self.headdrop { self.replace_first(x, packet) } else { Some(packet) };
            if let Some(lost) = lost {
                ctx.drop(lost, DropReason::Tail);
            }
            return;
        }
        self.push(x, packet);
        if self.queued > self.limit {
            if let Some(victim) = self.drop_one() {
                ctx.drop(victim, DropReason::Tail);
            }
        }
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        loop {
            let x = *self.round.front()?;
            let slot = &mut self.slots[x as usize];
            if slot.allot <= 0 {
                slot.allot += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            let packet = self.take(x, true)?;
            let slot = &mut self.slots[x as usize];
            if slot.packets == 0 {
                self.leave();
            } else {
                slot.allot -= packet.bytes() as i64;
            }
            return Some(packet);
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.perturb_at
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        if self.perturb_at.is_some_and(|at| at <= ctx.now) {
            let hash = FlowHasher::new(ctx.rng);
            self.perturbation = Some(hash);
            self.perturb_at = self.perturb.map(|perturb| ctx.now + perturb);
            self.rehash(hash, ctx);
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        self
    }
}

impl<P: Packet> Buffer<P> for Sfq<P> {
    fn packets(&self) -> u64 {
        self.queued
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        for x in &self.round {
            self.pool.iter(self.slots[*x as usize].queue).for_each(&mut *visit);
        }
    }
}

impl<P: Packet> Configure<P> for Sfq<P> {
    fn configure(&mut self, params: SfqParams, ctx: &mut Ctx<'_, P>) {
        let SfqParams { depth, quantum, limit, perturb, headdrop, .. } = params;
        self.quantum = i64::try_from(quantum.amount()).unwrap_or(i64::MAX / 2);
        (self.depth, self.limit, self.headdrop) = (depth, limit.amount(), headdrop);
        self.perturb = (perturb > Span::ZERO).then_some(perturb);
        self.perturb_at = self.perturbation.and(self.perturb).map(|perturb| ctx.now + perturb);
        while self.queued > self.limit {
            let Some(victim) = self.drop_one() else { break };
            ctx.drop(victim, DropReason::Reconfigured);
        }
    }
}

#[cfg(test)]
mod tests;
