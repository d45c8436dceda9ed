//! # Source Quench
//!
//! A first-in-first-out queue that sends an ICMP Source Quench to the sender of each packet that it drops, and perhaps,
//! before it is full, to every sender whose packet finds the queue above a threshold. How the sender reacts is up to
//! the sender.
//!
//! ```text
//! for each arrival:                                                    (Floyd & Jacobson 1993, Sec. II-B; RFC 792)
//!     if q > threshold:  source quench to its sender                   (only with a threshold)
//!     queue it, or if the queue is full drop it, with a source quench to its sender
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | gateways "could send Source Quench messages … before the buffer space at the gateway reaches capacity", "when the queue size exceeds a certain threshold" (RFC 1016), without a value | `threshold`; none by default: then one message for each packet that is dropped | RFC 792: "the gateway may send a source quench message for every message that it discards" |
//! | near the maximum the gateway "could discard arriving packets other than ICMP packets" | not done | all packets here carry data or acknowledgements; a quench does not wait in the queue that it speaks of |
//! | nothing on two reasons at once | an arrival causes one message at most | its sender learns the same from both |
//! | nothing on the queue that is compared | what the arrival finds, without itself and without the packet in transmission | as in Early Random Drop |
//! | nothing on a rate for the messages | the discipline asks for one at each such arrival; what sends them may send fewer | RFC 1812, Sec. 4.3.3.3, says not to send quenches; the bandwidth that they take is one of its reasons |

use crate::prelude::*;

discipline! {
    SourceQuench: "source_quench", "Source Quench",
    source("RFC 792 and RFC 1016, after Floyd & Jacobson 1993, Sec. II-B"),
    drops(Tail),
    remembers(None),

    /// Parameters of [`SourceQuench`].
    pub struct SourceQuenchParams {
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(50)), unit("packets"), range(Range::from(0.0)),
            source("default: ns-2's queue limit");
        /// Queue length above which the sender of each arrival gets a source quench.
        threshold: Option<Size> = optional("a source quench only for drops"), unit("packets"),
            range(Range::from(0.0)), source("RED 1993, Sec. II-B, after RFC 1016, without a value");
    }
    rules {
        "threshold and limit are both in packets or both in bytes" [threshold, limit]
            |p| p.threshold.is_none_or(|threshold| threshold.is_like(p.limit));
    }
}

/// A first-in-first-out queue that asks for source quenches.
#[derive(Clone, Debug)]
pub struct SourceQuench<P> {
    fifo: Fifo<P>,
    threshold: Option<Size>,
}

impl<P: Packet> SourceQuench<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: SourceQuenchParams) -> Self {
        SourceQuench { fifo: Fifo::new(params.limit), threshold: params.threshold }
    }
}

impl<P: Packet> Discipline<P> for SourceQuench<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        let above = self.threshold.is_some_and(|threshold| self.fifo.exceeds(threshold));
        let admitted = self.fifo.has_room(&packet);
        if above || !admitted {
            ctx.quench(packet.flow());
        }
        if admitted {
            self.fifo.push(packet);
        } else {
            ctx.drop(packet, DropReason::Tail);
        }
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }
}

impl<P: Packet> Configure<P> for SourceQuench<P> {
    fn configure(&mut self, params: SourceQuenchParams, ctx: &mut Ctx<'_, P>) {
        self.threshold = params.threshold;
        self.fifo.resize(params.limit, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::FlowKey;
    use crate::harness::Harness;

    fn quenched(limit: Size, threshold: Option<Size>, lengths: &[u64]) -> [u64; 2] {
        let mut harness = Harness::new(SourceQuench::new(SourceQuenchParams { limit, threshold }), 1);
        (1..).zip(lengths).for_each(|(flow, bytes)| harness.arrive(flow, *bytes));
        harness.assert_conserved();
        let sum = harness.quenched.iter().fold(0, |sum, FlowKey(flow)| sum * 10 + flow);
        [sum, harness.dropped.len() as u64]
    }

    #[test]
    fn a_drop_is_answered_with_a_quench() {
        assert_eq!(quenched(Size::Packets(2), None, &[1000; 4]), [34, 2]);
    }

    /// With 3 packets and a threshold of 1, arrivals find 0, 1, 2, 3 and 3: from the third on they are answered, once each.
    #[test]
    fn above_the_threshold_every_arrival_is_answered() {
        assert_eq!(quenched(Size::Packets(3), Some(Size::Packets(1)), &[1000; 5]), [345, 2]);
        assert_eq!(quenched(Size::Bytes(3000), Some(Size::Bytes(900)), &[900, 1, 1000, 2000]), [34, 1]);
    }
}
