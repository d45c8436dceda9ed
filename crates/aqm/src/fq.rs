//! # Fair queueing
//!
//! A queue for each flow, served by deficit round robin: each flow with packets gets the same share of the link,
//! whatever the lengths of its packets. When the buffer is full, the longest queue drops a packet, so a flow that sends
//! too much harms no other.
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
//! A flow costs memory only while it has packets: there is at most one flow more than the buffer holds packets. Flows
//! are found by a keyed hash of the flow, exactly: two flows never share a queue.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | bit-by-bit round robin, emulated by finishing times (1989; CHOKe 1999, Sec. 1) | deficit round robin | the same shares of bytes, in constant time for a packet where the quantum is at least the longest packet; a flow may be ahead of the emulation by a quantum and a packet |
//! | a packet that arrives to a full buffer takes the place of the last one of the longest queue (1989, from memory) | the same: `drop` = tail; the arrival joins its queue first and may itself be that packet. `drop` = head takes the first one | ns-2's `drr.cc` drops at the head; Linux's SFQ and FQ-CoDel know both |
//! | the longest queue: by bytes or packets is left open | by bytes; of several longest, the one that changed last | ns-2's `drr.cc` goes by bytes too; there the first of several in the round loses |
//! | ns-2's `drr.cc` has `buckets_` hashed queues, keyed by source address, and `blimit_` bytes | one queue for each flow, `limit` in packets or bytes | the paper's; `sfq` here has hashed queues |
//! | a flow that becomes idle loses its deficit (1995) | the same; one that loses its last packet to a drop leaves the round at once too | the deficit as in ns-2. There a flow that loses its last packet to a drop keeps its turn, so that its next packet may get no new quantum; here it joins the round as a new flow, which gets one at its turn |
//! | the quantum is at least the longest packet (1995); 250 bytes in ns-2, the MTU in Linux's `drr` | the link's typical packet, or any from 64 bytes on | the paper's. The quantum changes the order of packets, hardly the shares: UDP of 2 Mbit/s beside 32 TCPs on 1 Mbit/s gets 3.7 % with 250, 1000 and 1514 bytes. With less, the link goes round the flows more than once for a packet: the shares are the same, but a packet takes more computing time |
//! | an arrival longer than the whole limit | is refused, and nothing else is dropped | no drop could make room for it |

use crate::fifo::KEPT;
use crate::flow_table::FlowTable;
use crate::longest::Longest;
use crate::prelude::*;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

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
    remembers(Queued, "a queue for each"),

    /// Parameters of [`Fq`].
    pub struct FqParams {
        /// How much a flow may send in a round.
        quantum: Size = derived("the link's typical packet, at least 64 B", |link| Size::Bytes(link.packet.max(64))),
            unit("B"), range(Range::from(64.0)),
            source("Shreedhar & Varghese 1995: at least the longest packet; ns-2, drr: quantum_ 250"), tc("quantum");
        /// Largest total length of all queues, without the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0).to(16_777_216.0)),
            source("chosen here, as for choke");
        /// Which packet of the longest queue is dropped when the buffer is full.
        drop: End = default(End::Tail), source("Demers, Keshav & Shenker 1989, as remembered; head: ns-2, drr.cc");
    }
    rules {
        "quantum is in bytes" [quantum] |p| matches!(p.quantum, Size::Bytes(_));
    }
}

/// A flow that has packets, or the place of one that had.
#[derive(Clone, Debug)]
struct Flow<P> {
    queue: VecDeque<P>,
    bytes: u64,
    deficit: u64,
    /// Whether its turn has begun and the quantum is added.
    served: bool,
    /// Its neighbours in the round.
    prev: u32,
    next: u32,
}

impl<P> Flow<P> {
    /// Without packets; when many flows are active, most have one.
    fn new() -> Self {
        Flow { queue: VecDeque::with_capacity(1), bytes: 0, deficit: 0, served: false, prev: 0, next: 0 }
    }
}

/// Puts a flow at the end of the round, its turn to come.
fn link<P>(flows: &mut [Flow<P>], at: u32) {
    let last = core::mem::replace(&mut flows[0].prev, at);
    flows[last as usize].next = at;
    let flow = &mut flows[at as usize];
    (flow.prev, flow.next, flow.served) = (last, 0, false);
}

/// Takes a flow out of the round.
fn unlink<P>(flows: &mut [Flow<P>], at: u32) {
    let Flow { prev, next, .. } = flows[at as usize];
    flows[prev as usize].next = next;
    flows[next as usize].prev = prev;
}

/// A queue for each flow under deficit round robin.
#[derive(Clone, Debug)]
pub struct Fq<P> {
    params: FqParams,
    /// The first is none: it closes the ring of those that are in the round. A flow may leave the ring anywhere, since it
    /// may lose its last packet to a drop.
    flows: Vec<Flow<P>>,
    /// Places of flows that had packets, which serve again.
    free: Vec<u32>,
    index: FlowTable<u32>,
    longest: Longest,
    packets: u64,
    bytes: u64,
}

impl<P: Packet> Fq<P> {
    /// Empty queues.
    #[must_use]
    pub fn new(params: FqParams) -> Self {
        Fq {
            params,
            flows: vec![Flow::new()],
            free: Vec::new(),
            // The buffer bounds them.
            index: FlowTable::new(usize::MAX),
            longest: Longest::default(),
            packets: 0,
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
        let flow = &mut self.flows[at as usize];
        let packet = match end {
            End::Tail => flow.queue.pop_back(),
            End::Head => flow.queue.pop_front(),
        }?;
        flow.bytes -= packet.bytes();
        self.packets -= 1;
        self.bytes -= packet.bytes();
        self.longest.set(at, flow.bytes);
        if flow.queue.is_empty() {
            self.index.remove_at(self.index.find(packet.flow()).expect("a flow that has packets"));
            flow.queue.shrink_to(KEPT);
            flow.deficit = 0;
            unlink(&mut self.flows, at);
            self.free.push(at);
        }
        Some(packet)
    }

    /// Drops packets of the longest queue while the limit is exceeded.
    fn drop_excess(&mut self, reason: DropReason, ctx: &mut Ctx<'_, P>) {
        while Limit::of(self.params.limit).is_exceeded(self.packets, self.bytes) {
            let Some(victim) = self.longest.get().and_then(|at| self.take(at, self.params.drop)) else { break };
            ctx.drop(victim, reason);
        }
    }
}

impl<P: Packet> Discipline<P> for Fq<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        if !Limit::of(self.params.limit).has_room(0, 0, packet.bytes()) {
            return ctx.drop(packet, DropReason::Tail);
        }
        let new = || {
            let at = self.free.pop().unwrap_or_else(|| {
                self.flows.push(Flow::new());
                self.flows.len() as u32 - 1
            });
            link(&mut self.flows, at);
            at
        };
        let place = self.index.find_or_insert(packet.flow(), ctx.rng, new).expect("no bound but the buffer");
        let at = self.index[place];
        let flow = &mut self.flows[at as usize];
        flow.bytes += packet.bytes();
        self.packets += 1;
        self.bytes += packet.bytes();
        self.longest.set(at, flow.bytes);
        flow.queue.push_back(packet);
        self.drop_excess(DropReason::Tail, ctx);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        loop {
            let at = self.flows[0].next;
            let flow = &mut self.flows[at as usize];
            // An empty round gives the first of all flows, which never has a packet.
            let first = flow.queue.front()?.bytes();
            if !flow.served {
                flow.deficit += self.params.quantum.amount();
                flow.served = true;
            }
            if first <= flow.deficit {
                flow.deficit -= first;
                return self.take(at, End::Head);
            }
            unlink(&mut self.flows, at);
            link(&mut self.flows, at);
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        self
    }
}

impl<P: Packet> Buffer<P> for Fq<P> {
    fn packets(&self) -> u64 {
        self.packets
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        let mut flow = &self.flows[self.flows[0].next as usize];
        while !flow.queue.is_empty() {
            flow.queue.iter().for_each(&mut *visit);
            flow = &self.flows[flow.next as usize];
        }
    }
}

impl<P: Packet> Configure<P> for Fq<P> {
    fn configure(&mut self, params: FqParams, ctx: &mut Ctx<'_, P>) {
        self.params = params;
        self.drop_excess(DropReason::Reconfigured, ctx);
    }
}

#[cfg(test)]
mod tests;
