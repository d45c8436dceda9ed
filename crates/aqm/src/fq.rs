//! # Fair queueing
//!
//! A queue for each flow, served by deficit round robin: each flow with packets gets the same share of the link, whatever
//! the lengths of its packets. When the buffer is full, the longest queue drops a packet, so that who sends too much
//! harms nobody else.
//!
//! ```text
//! for each arrival of flow i:  to the end of queue i;                  (Demers, Keshav & Shenker 1989, for the drop;
//!     was it empty?  i to the end of the round, deficit_i ← 0           Shreedhar & Varghese 1995, for the round)
//!     while more is queued than `limit`:  drop from the queue with the most bytes, at its end
//! the link can send, and i is the flow at the head of the round:
//!     its turn begins?  deficit_i ← deficit_i + quantum
//!     its first packet is no longer than deficit_i?  deficit_i ← deficit_i − its length, send it;
//!         queue i is empty now?  i leaves the round and is forgotten
//!     else:  i to the end of the round, and on with the next
//! ```
//!
//! A flow costs memory only while it has packets: there are never more flows than the buffer holds packets, and one. They
//! are found by a keyed hash of the flow, exactly: two flows never share a queue.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | bit-by-bit round robin, emulated by finishing times (1989; CHOKe 1999, Sec. 1) | deficit round robin | the same shares of bytes, in constant time for a packet where the quantum is at least the longest packet; a flow may be ahead of the emulation by a quantum and a packet |
//! | a packet that arrives to a full buffer takes the place of the last one of the longest queue (1989, as remembered) | so: `drop` = tail; the arrival joins its queue first and may itself be that packet. `drop` = head takes the first one | ns-2's `drr.cc` drops at the head; Linux's SFQ and FQ-CoDel know both |
//! | the longest queue: by bytes or packets is left open | by bytes; of several longest, the one that changed last | so in ns-2's `drr.cc`, by bytes, where the first of several in the round loses |
//! | ns-2's `drr.cc` has `buckets_` hashed queues, keyed by source address, and `blimit_` bytes | one queue for each flow, `limit` in packets or bytes | the paper's; `sfq` here has hashed queues |
//! | a flow that becomes idle loses its deficit (1995) | so; one that loses its last packet to a drop leaves the round at once too | as ns-2. In ns-2 it keeps its turn, so that its next packet may find no quantum added; here a new flow begins with its turn to come |
//! | the quantum is at least the longest packet (1995); 250 bytes in ns-2, the MTU in Linux's `drr` | the link's typical packet, or any from 64 bytes on | the paper's. It moves the order, hardly the shares: UDP of 2 Mbit/s beside 32 TCPs on 1 Mbit/s gets 3.7 % with 250, 1000 and 1514 bytes. With less, the link goes round the flows more than once for a packet: the shares are the same, the time is not |
//! | an arrival longer than the whole limit | is refused, and nothing else is dropped | no drop could make room for it |

use crate::flow_table::FlowTable;
use crate::longest::Longest;
use crate::prelude::*;
use crate::slab::{List, Slab};

choices! {
    /// Which packet of the longest queue is dropped.
    pub enum End {
        /// The last one.
        Tail = "tail",
        /// The first one.
        Head = "head",
    }
}

discipline! {
    Fq: "fq", "Fair queueing",
    source("Demers, Keshav & Shenker 1989; Shreedhar & Varghese 1995; CHOKe 1999, Sec. 1"),
    drops(Tail),

    /// Parameters of [`Fq`].
    pub struct FqParams {
        /// How much a flow may send in a round.
        quantum: Size = derived("the link's typical packet, at least 64 B", |link| Size::Bytes(link.packet.max(64))),
            unit("packets"), range(Range::from(64.0)),
            source("Shreedhar & Varghese 1995: at least the longest packet; ns-2, drr: quantum_ 250"), tc("quantum");
        /// Most that all queues together hold, not counting the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0).to(16_777_216.0)),
            source("chosen here, as for choke");
        /// Which packet of the longest queue is dropped when the buffer is full.
        drop: End = default(End::Tail), source("Demers, Keshav & Shenker 1989, as remembered; head: ns-2, drr.cc");
    }
    rules {
        "quantum is in bytes" [quantum] |p| matches!(p.quantum, Size::Bytes(_));
    }
}

/// A flow that has packets.
#[derive(Clone, Debug)]
struct Flow {
    key: FlowKey,
    queue: List,
    bytes: u64,
    deficit: u64,
    /// Whether its turn has begun and the quantum is added.
    served: bool,
}

/// A queue for each flow under deficit round robin.
#[derive(Clone, Debug)]
pub struct Fq<P> {
    packets: Slab<P>,
    flows: Slab<Flow>,
    round: List,
    index: FlowTable<u32>,
    longest: Longest,
    quantum: u64,
    limit: Limit,
    drop: End,
    queued: u64,
    bytes: u64,
}

impl<P: Packet> Fq<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(params: FqParams) -> Self {
        Fq {
            packets: Slab::default(),
            flows: Slab::default(),
            round: List::default(),
            // The buffer bounds them.
            index: FlowTable::new(usize::MAX),
            longest: Longest::default(),
            quantum: params.quantum.amount(),
            limit: Limit::of(params.limit),
            drop: params.drop,
            queued: 0,
            bytes: 0,
        }
    }

    /// How many flows have packets.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.index.len()
    }

    /// Takes a packet from a flow; one without packets is forgotten.
    fn take(&mut self, at: u32, end: End) -> Option<P> {
        let flow = self.flows.get_mut(at)?;
        let packet = match end {
            End::Tail => self.packets.pop_back(&mut flow.queue),
            End::Head => self.packets.pop_front(&mut flow.queue),
        }?;
        flow.bytes -= packet.bytes();
        self.queued -= 1;
        self.bytes -= packet.bytes();
        self.longest.set(at, flow.bytes);
        if flow.queue.is_empty() {
            self.index.remove_at(self.index.find(flow.key).expect("a flow that has packets"));
            self.flows.remove(&mut self.round, at);
        }
        Some(packet)
    }

    /// Drops packets of the longest queue while the limit is exceeded.
    fn drop_excess(&mut self, reason: DropReason, ctx: &mut Ctx<'_, P>) {
        while self.limit.is_exceeded(self.queued, self.bytes) {
            let Some(victim) = self.longest.get().and_then(|at| self.take(at, self.drop)) else { break };
            ctx.drop(victim, reason);
        }
    }
}

impl<P: Packet> Discipline<P> for Fq<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        if !self.limit.has_room(0, 0, packet.bytes()) {
            return ctx.drop(packet, DropReason::Tail);
        }
        let key = packet.flow();
        let new = || {
            let flow = Flow { key, queue: List::default(), bytes: 0, deficit: 0, served: false };
            self.flows.push_back(&mut self.round, flow)
        };
        let place = self.index.find_or_insert(key, ctx.rng, new).expect("no bound but the buffer");
        let at = self.index[place];
        let flow = self.flows.get_mut(at).expect("the index names flows that have packets");
        flow.bytes += packet.bytes();
        self.queued += 1;
        self.bytes += packet.bytes();
        self.longest.set(at, flow.bytes);
        self.packets.push_back(&mut flow.queue, packet);
        self.drop_excess(DropReason::Tail, ctx);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        loop {
            let at = self.round.front()?;
            let flow = self.flows.get_mut(at)?;
            if !flow.served {
                flow.deficit += self.quantum;
                flow.served = true;
            }
            let first = self.packets.get(flow.queue.front()?)?.bytes();
            if first <= flow.deficit {
                flow.deficit -= first;
                return self.take(at, End::Head);
            }
            flow.served = false;
            self.flows.rotate(&mut self.round);
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        self
    }
}

impl<P: Packet> Buffer<P> for Fq<P> {
    fn packets(&self) -> u64 {
        self.queued
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        for flow in self.flows.iter(self.round) {
            self.packets.iter(flow.queue).for_each(&mut *visit);
        }
    }
}

impl<P: Packet> Configure<P> for Fq<P> {
    fn configure(&mut self, params: FqParams, ctx: &mut Ctx<'_, P>) {
        (self.quantum, self.limit, self.drop) = (params.quantum.amount(), Limit::of(params.limit), params.drop);
        self.drop_excess(DropReason::Reconfigured, ctx);
    }
}

#[cfg(test)]
mod tests;
