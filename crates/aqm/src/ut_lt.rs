//! # UT/LT
//!
//! A first-in-first-out queue that writes into every packet how the queue's length compares with two thresholds: below
//! the lower one, LT, the load is light; above the upper one, UT, there is congestion. A sender increases its window
//! only if all queues on the path were below LT, and decreases it if any was above UT.
//!
//! ```text
//! for each arrival, which finds a queue of q:            (Pingali, Tipper & Hammond 1990, after RED 1993, Sec. II-B)
//!     level ← 0 if q < LT,  2 if q > UT,  1 otherwise
//!     label ← the greater of label and level;  if level = 2: mark
//!     queue it, or drop it if the queue is full
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | "information about the queue sizes at the gateways is added to each packet" | the packet's label: 0, 1 or 2, the greatest on its path | all that the sender's rule asks for |
//! | nothing on hosts that know one bit | above UT a packet whose transport is capable is marked too | "the source node decreases its window": what a mark means to any transport; hosts with `algorithm` = ut_lt read the label too |
//! | the gateway reports the load, and drops only when the queue is full | the same, whatever the overload | the scheme is older than ECN. RFC 3168, Sec. 7, and RFC 7567, Sec. 4.2.1, recommend drops under overload; RFC 3168, Sec. 5.1, recommends marks by the average queue, not by that of the moment |
//! | nothing on the thresholds | `lt` = 5, `ut` = 15 | chosen here: those of RED in Fig. 3, so that the two can be compared |
//! | the network "responds to the instantaneous queue lengths" | q is what the arrival finds, without itself and without the packet in transmission | as in Early Random Drop |
//! | nothing on a full queue | the arrival is dropped | the buffer is finite |

use crate::prelude::*;

discipline! {
    UtLt: "ut_lt", "UT/LT",
    source("Pingali, Tipper & Hammond 1990, after Floyd & Jacobson 1993, Sec. II-B"),
    drops(Tail),
    // The queue that a burst finds is mostly its own.
    proportional(),
    remembers(None, "marks in headers"),
    marks(always),
    overload(Marks, "the paper has no rule"),

    /// Parameters of [`UtLt`].
    pub struct UtLtParams {
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(50)), unit("packets"), range(Range::from(0.0)),
            source("default: ns-2's queue limit");
        /// Lower threshold: below it the load is light.
        lt: Size = default(Size::Packets(5)), unit("packets"), range(Range::from(0.0)),
            source("chosen here: RED's min_th in RED 1993, Fig. 3");
        /// Upper threshold: above it there is congestion.
        ut: Size = default(Size::Packets(15)), unit("packets"), range(Range::from(0.0)),
            source("chosen here: RED's max_th in RED 1993, Fig. 3");
    }
    rules {
        "lt and ut are both in packets or both in bytes, and lt <= ut" [lt, ut]
            |p| p.lt.is_like(p.ut) && p.lt.amount() <= p.ut.amount();
    }
}

/// The label of a packet that has met light loads only.
pub const LIGHT: u32 = 0;
/// The label of one that has met a queue between the thresholds, and none above.
pub const BETWEEN: u32 = 1;
/// The label of one that has met congestion.
pub const CONGESTED: u32 = 2;

/// A first-in-first-out queue that labels packets by two thresholds.
#[derive(Clone, Debug)]
pub struct UtLt<P> {
    fifo: Fifo<P>,
    params: UtLtParams,
}

impl<P: Packet> UtLt<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: UtLtParams) -> Self {
        UtLt { fifo: Fifo::new(params.limit), params }
    }
}

impl<P: Packet> Discipline<P> for UtLt<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        if !self.fifo.has_room(&packet) {
            return ctx.drop(packet, DropReason::Tail);
        }
        let level = match self.fifo.length_in(self.params.lt) {
            q if q < self.params.lt.amount() => LIGHT,
            q if q > self.params.ut.amount() => CONGESTED,
            _ => BETWEEN,
        };
        packet.set_label(packet.label().max(level));
        if level == CONGESTED {
            packet.mark();
        }
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }
}

impl<P: Packet> Configure<P> for UtLt<P> {
    fn configure(&mut self, params: UtLtParams, ctx: &mut Ctx<'_, P>) {
        self.fifo.resize(params.limit, ctx);
        self.params = params;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};
    use alloc::vec::Vec;
    use sluicegate_base::Ecn;

    fn labels(harness: &mut Harness<UtLt<TestPacket>>) -> Vec<u32> {
        core::iter::from_fn(|| harness.depart()).map(|packet| packet.label).collect()
    }

    /// LT = 2, UT = 3: arrivals find 0 … 5, of which 0 and 1 are below LT and 4 and 5 above UT.
    #[test]
    fn labels_say_how_the_queue_stands() {
        let [limit, lt, ut] = [6, 2, 3].map(Size::Packets);
        let mut harness = Harness::new(UtLt::new(UtLtParams { limit, lt, ut }), 1);
        (0..7).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
        assert_eq!(harness.dropped_flows(), [(1, DropReason::Tail)]);
        let mut marked = 0;
        harness.discipline.for_each(&mut |packet| marked += u64::from(packet.ecn == Ecn::CongestionExperienced));
        assert_eq!((labels(&mut harness), marked), ([0, 0, 1, 1, 2, 2].to_vec(), 2));
    }

    #[test]
    fn the_worst_queue_of_the_path_counts() {
        let (limit, lt, ut) = (Size::Packets(9), Size::Bytes(100), Size::Bytes(1000));
        let mut harness = Harness::new(UtLt::new(UtLtParams { limit, lt, ut }), 1);
        for label in [CONGESTED, LIGHT, BETWEEN] {
            harness.submit(TestPacket { bytes: 50, label, ..TestPacket::default() });
        }
        harness.submit(TestPacket { bytes: 1000, label: LIGHT, ..TestPacket::default() });
        harness.submit(TestPacket { bytes: 1, label: LIGHT, ..TestPacket::default() });
        assert_eq!(labels(&mut harness), [2, 0, 1, 1, 2]);
    }
}
