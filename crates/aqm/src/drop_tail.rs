//! # Drop Tail
//!
//! A first-in-first-out queue that refuses an arrival when it is full. The queue that every other discipline is compared
//! with.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | nothing on how many packets a limit allows | `limit` packets are held; the next one is refused | so in Linux; ns-2's `DropTail` refuses the packet that would fill its limit, and holds one less |
//! | RED 1993 and CHOKe 1999 count the buffer in packets | packets or bytes, as the limit is written | Linux has both: `pfifo` and `bfifo` |
//! | nothing on the packet in transmission | it does not count towards the limit | so in ns-2 and Linux |
//! | nothing on a packet larger than the room left in bytes | refused, the queue is left as it is | so in `bfifo`; a smaller packet behind it may still enter |

use crate::prelude::*;

discipline! {
    DropTail: "drop_tail", "Drop Tail",
    source("Floyd & Jacobson 1993, Sec. III"),
    tc("tc qdisc add dev DEV root pfifo limit LIMIT"),
    drops(Tail),
    remembers(None),

    /// Parameters of [`DropTail`].
    pub struct DropTailParams {
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(1000)), unit("packets"), range(Range::from(0.0)),
            source("Linux, pfifo: the interface's txqueuelen, 1000 for Ethernet"), tc("limit");
    }
}

/// A first-in-first-out queue with a limit.
#[derive(Clone, Debug)]
pub struct DropTail<P> {
    fifo: Fifo<P>,
}

impl<P: Packet> DropTail<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: DropTailParams) -> Self {
        DropTail { fifo: Fifo::new(params.limit) }
    }
}

impl<P: Packet> Discipline<P> for DropTail<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.fifo.admit(packet, ctx);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn wakes(&self) -> bool {
        false
    }
}

impl<P: Packet> Configure<P> for DropTail<P> {
    fn configure(&mut self, params: DropTailParams, ctx: &mut Ctx<'_, P>) {
        self.fifo.resize(params.limit, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Harness;

    #[test]
    fn refuses_the_arrival_when_full() {
        let mut harness = Harness::new(DropTail::new(DropTailParams { limit: Size::Packets(2) }), 1);
        for flow in 1..=3 {
            harness.arrive(flow, 1000);
        }
        assert_eq!(harness.dropped_flows(), [(3, DropReason::Tail)]);
        assert_eq!(harness.queued_flows(), [1, 2]);
        assert_eq!(harness.depart().map(|p| p.flow), Some(1));
        harness.arrive(4, 1000);
        assert_eq!(harness.queued_flows(), [2, 4]);
    }

    #[test]
    fn a_limit_in_bytes_looks_at_the_length() {
        let mut harness = Harness::new(DropTail::new(DropTailParams { limit: Size::Bytes(1500) }), 1);
        harness.arrive(1, 1000);
        harness.arrive(2, 501);
        harness.arrive(3, 500);
        assert_eq!(harness.dropped_flows(), [(2, DropReason::Tail)]);
        assert_eq!(harness.queued_flows(), [1, 3]);
    }
}
