//! # Early Random Drop
//!
//! A first-in-first-out queue that drops each arrival with a fixed probability while more than a fixed number of packets
//! wait. It looks at the queue as it is, not at an average; RED grew out of it.
//!
//! ```text
//! for each arrival:                                                            (Floyd & Jacobson 1993, Sec. II-A)
//!     if q > drop_level:  with probability drop_probability drop the arrival
//!     queue it, or drop it if the queue is full
//! ```
//!
//! The defaults are Zhang's: above half full, 0.02. Hashem's version is the same rule with both values left open.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | "if the queue length exceeds a certain drop level" (Hashem), "more than half full" (Zhang) | q > drop_level, where q is the queue that the arrival finds, without itself and without the packet in transmission | the words taken literally; for an odd limit 2 q > limit and q > ⌊limit/2⌋ are the same condition |
//! | Hashem's values are not given | the defaults are Zhang's: half of the limit, 0.02 | the only numbers in the paper |
//! | Hashem: level and probability "should be adjusted dynamically" in future | they are fixed | that future is RED |
//! | nothing on a full queue | an arrival that passes the draw is dropped with reason `tail` | early drops are meant to come before overflow, not instead of it |
//! | nothing on the unit of the level | that of the limit, packets or bytes | one queue has one measure |

use crate::prelude::*;

discipline! {
    EarlyRandomDrop: "early_random_drop", "Early Random Drop",
    source("Hashem 1989 and Zhang 1989, after Floyd & Jacobson 1993, Sec. II-A"),
    drops(Tail, Early),
    remembers(None),

    /// Parameters of [`EarlyRandomDrop`].
    pub struct EarlyRandomDropParams {
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(50)), unit("packets"), range(Range::from(0.0)),
            source("default: ns-2's queue limit"), tc("limit");
        /// Queue length above which arrivals are dropped early.
        drop_level: Option<Size> = optional("half of the limit"), unit("packets"), range(Range::from(0.0)),
            source("Hashem 1989, without a value; Zhang 1989: half full; both after RED 1993, Sec. II-A");
        /// Probability of dropping an arrival above the level.
        drop_probability: f64 = default(0.02), unit("1"), range(Range::from(0.0).to(1.0)),
            source("Zhang 1989, after RED 1993, Sec. II-A");
    }
    rules {
        "drop_level and limit are both in packets or both in bytes" [drop_level, limit]
            |p| p.level().is_like(p.limit);
    }
}

impl EarlyRandomDropParams {
    /// The drop level: as given, or half of the limit.
    fn level(&self) -> Size {
        self.drop_level.unwrap_or(self.limit.half())
    }
}

/// A first-in-first-out queue that drops at random above a level.
#[derive(Clone, Debug)]
pub struct EarlyRandomDrop<P> {
    fifo: Fifo<P>,
    params: EarlyRandomDropParams,
}

impl<P: Packet> EarlyRandomDrop<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: EarlyRandomDropParams) -> Self {
        EarlyRandomDrop { fifo: Fifo::new(params.limit), params }
    }
}

impl<P: Packet> Discipline<P> for EarlyRandomDrop<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        if self.fifo.exceeds(self.params.level()) && ctx.rng.chance(self.params.drop_probability) {
            ctx.drop(packet, DropReason::Early);
        } else {
            self.fifo.admit(packet, ctx);
        }
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }
}

impl<P: Packet> Configure<P> for EarlyRandomDrop<P> {
    fn configure(&mut self, params: EarlyRandomDropParams, ctx: &mut Ctx<'_, P>) {
        self.fifo.resize(params.limit, ctx);
        self.params = params;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};

    fn harness(limit: Size, drop_level: Option<Size>, drop_probability: f64) -> Harness<EarlyRandomDrop<TestPacket>> {
        Harness::new(EarlyRandomDrop::new(EarlyRandomDropParams { limit, drop_level, drop_probability }), 3)
    }

    /// Zhang's rule by hand: limit 5, so the level is 2; the draws of the stream say who is dropped.
    #[test]
    fn replays_zhangs_rule() {
        let mut harness = harness(Size::Packets(5), None, 0.5);
        let mut draws = harness.rng.clone();
        (1..=3).for_each(|flow| harness.arrive(flow, 1000));
        assert_eq!(harness.queued_flows(), [1, 2, 3], "they find 0, 1 and 2: none exceeds 2, and nothing is drawn");
        for flow in 4..30 {
            let (queued, dropped) = (harness.discipline.packets(), harness.dropped.len());
            harness.arrive(flow, 1000);
            let expected =
                if draws.chance(0.5) { Some(DropReason::Early) } else { (queued == 5).then_some(DropReason::Tail) };
            assert_eq!(harness.dropped.get(dropped).map(|(_, reason)| *reason), expected, "flow {flow}");
        }
        assert!(harness.dropped_flows().iter().any(|(_, reason)| *reason == DropReason::Tail), "the queue did fill");
        harness.assert_conserved();
    }

    #[test]
    fn certain_drops_hold_the_queue_one_above_the_level() {
        let mut harness = harness(Size::Packets(50), Some(Size::Packets(10)), 1.0);
        (0..40).for_each(|flow| harness.arrive(flow, 1000));
        assert_eq!(harness.discipline.packets(), 11);
        assert!(harness.dropped_flows().iter().all(|(_, reason)| *reason == DropReason::Early));
    }

    #[test]
    fn a_level_in_bytes_looks_at_the_length() {
        let mut harness = harness(Size::Bytes(4000), None, 1.0);
        harness.arrive(1, 2000);
        harness.arrive(2, 1);
        assert_eq!(harness.queued_flows(), [1, 2], "2000 bytes do not exceed 2000");
        harness.arrive(3, 1);
        assert_eq!(harness.dropped_flows(), [(3, DropReason::Early)]);
    }
}
