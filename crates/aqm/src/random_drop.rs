//! # Random Drop
//!
//! A first-in-first-out queue that, when it is full, drops a packet drawn at random from the queue and admits the
//! arrival. The drops of a flow are in proportion to its share of the queue, not to how often it happens to find it full.
//!
//! ```text
//! for each arrival:                                                    (Floyd & Jacobson 1993, Sec. II, footnote 2)
//!     while the queue has no room:  drop a packet drawn uniformly from the queue
//!     queue the arrival
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the gateway "randomly chooses a packet from the gateway queue to drop" | the arrival is not in the draw: it is always admitted | the text draws from the queue; descriptions that include the arrival draw from n + 1 packets instead of n |
//! | nothing on a limit in bytes | packets are drawn until there is room; an arrival larger than the limit is itself refused with reason `forced`, and nobody is drawn for it | the same rule for packets of any length |
//! | nothing on the packet in transmission | it is not in the queue: it neither counts towards the limit nor can be drawn | so in ns-2 and Linux |
//! | nothing on how a packet leaves the middle of a queue | its slot is emptied and skipped later; draws are uniform over the packets still queued | constant cost per packet |

use crate::prelude::*;
use crate::ring::Ring;

discipline! {
    RandomDrop: "random_drop", "Random Drop",
    source("Floyd & Jacobson 1993, Sec. II, footnote 2"),
    drops(Tail, Forced),
    // A victim is drawn: a flow as often as it has packets in the queue.
    proportional(Tail),
    remembers(None),

    /// Parameters of [`RandomDrop`].
    pub struct RandomDropParams {
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(50)), unit("packets"), range(Range::from(0.0)),
            source("default: ns-2's queue limit"), tc("limit");
    }
}

/// A first-in-first-out queue that drops at random when it is full.
#[derive(Clone, Debug)]
pub struct RandomDrop<P> {
    ring: Ring<P>,
}

impl<P: Packet> RandomDrop<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: RandomDropParams) -> Self {
        RandomDrop { ring: Ring::new(params.limit) }
    }
}

impl<P: Packet> Discipline<P> for RandomDrop<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        if !self.ring.could_hold(&packet) {
            return ctx.drop(packet, DropReason::Forced);
        }
        while !self.ring.has_room(&packet) {
            let slot = self.ring.draw(ctx.rng).map(|(slot, _)| slot);
            let Some(victim) = slot.and_then(|slot| self.ring.remove(slot)) else { break };
            ctx.drop(victim, DropReason::Tail);
            self.ring.compact();
        }
        self.ring.push(packet);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        let packet = self.ring.pop();
        self.ring.compact();
        packet
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.ring
    }
}

impl<P: Packet> Configure<P> for RandomDrop<P> {
    fn configure(&mut self, params: RandomDropParams, ctx: &mut Ctx<'_, P>) {
        self.ring.resize(params.limit, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};

    fn harness(limit: Size, seed: u64) -> Harness<RandomDrop<TestPacket>> {
        Harness::new(RandomDrop::new(RandomDropParams { limit }), seed)
    }

    /// The rule by hand: with 1 2 3 queued and full, the draw says who goes, and 4 comes in behind the rest.
    #[test]
    fn replays_the_papers_sentence() {
        for seed in 0..20 {
            let mut harness = harness(Size::Packets(3), seed);
            (1..=3).for_each(|flow| harness.arrive(flow, 1000));
            assert!(harness.dropped.is_empty(), "not full yet");
            let drawn = harness.rng.clone().below(3) as usize;
            harness.arrive(4, 1000);
            let mut left = vec![1, 2, 3];
            let victim = left.remove(drawn);
            left.push(4);
            assert_eq!((harness.dropped_flows(), harness.queued_flows()), (vec![(victim, DropReason::Tail)], left));
            harness.assert_conserved();
        }
    }

    #[test]
    fn the_victim_is_uniform_over_the_queue_and_never_the_arrival() {
        let mut counts = [0.0f64; 5];
        for seed in 0..20_000 {
            let mut harness = harness(Size::Packets(5), seed);
            (0..6).for_each(|flow| harness.arrive(flow, 1000));
            let flow = harness.dropped[0].0.flow;
            assert_ne!(flow, 5);
            counts[flow as usize] += 1.0;
        }
        let chi2: f64 = counts.iter().map(|c| (c - 4e3) * (c - 4e3) / 4e3).sum();
        assert!(chi2 < 18.47, "chi-square with 4 degrees of freedom: {chi2}");
    }

    #[test]
    fn a_limit_in_bytes_evicts_until_there_is_room() {
        let mut harness = harness(Size::Bytes(3000), 1);
        (1..=3).for_each(|flow| harness.arrive(flow, 1000));
        harness.arrive(4, 1500);
        assert_eq!((harness.dropped.len(), harness.discipline.bytes()), (2, 2500));
        harness.arrive(5, 3001);
        assert_eq!(harness.dropped_flows()[2..], [(5, DropReason::Forced)], "no eviction could make room for it");
        harness.assert_conserved();
    }

    use alloc::vec;
}
