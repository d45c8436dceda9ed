//! # SRED
//!
//! Stabilised RED keeps a list of flows seen recently, the zombie list, and compares each arrival with one of them. How
//! often they agree tells how many flows there are, without a state for any; the probability of a drop follows from
//! that number and from the queue, so that the queue settles at a level that hardly depends on the number of flows.
//!
//! ```text
//! for each arrival of flow i:                                            (Ott, Lakshman & Wong 1999, as remembered)
//!     the list is not full?  i joins it, hit ← 0
//!     else draw one of its `zombies` flows:  is it i?  hit ← 1
//!         else hit ← 0, and with probability `overwrite` i replaces it
//!     P ← (1 − α)·P + α·hit                                       (1/P is about the number of flows)
//!     p_sred ← max_p if q ≥ limit/3, max_p/4 if limit/6 ≤ q < limit/3, 0 if q < limit/6
//!     p_zap ← p_sred·min(1, 1/(256·P)²)·(1 + hit/P)
//!     with probability p_zap:  (action = mark) mark it, if p_zap ≤ mark_th and its transport is capable;
//!                            else drop it                                                                       (early)
//!     queue it, or drop it if the queue is full                                                             (tail)
//! ```
//!
//! Memory is fixed: `zombies` flows. They are compared and never hashed, so that chosen ids gain nothing.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the text of 1999 was not at hand | the rule is that of DCN 2004, Sec. 2, of CHOKe 1999, Sec. 1, and of memory | M = 1000, p = 0.25, α = p/M, p_max = 0.15 and 256 are remembered |
//! | α = p/M | `alpha`: overwrite/zombies, or as given | the paper's |
//! | simple SRED has no hits in p_zap, full SRED has 1 + hit/P | `hits` | the second is what acts against unresponsive flows; it is the default |
//! | a zombie has a count of hits and a time stamp, to tell which flows misbehave | neither | they do not enter the drop |
//! | while the list fills, flows join it | the same; hit is 0 meanwhile, and P stays 0: p_zap is p_sred | as if there were very many flows |
//! | P = 0 | hit/P is 0 when hit is; else P is at least α | P is updated before it is used |
//! | q and B in bytes or packets | as `limit` is written | one queue has one measure |
//! | unresponsive flows have more drops | true while they are a small part of the traffic: hits raise P, which lowers p_zap by its square. A flow with most of the packets makes SRED a Drop Tail queue: 2 Mbit/s of UDP beside 32 TCPs take all of 1 Mbit/s | the rule's own limit |
//! | ECN is not known | `action` = mark; above `mark_th` = 0.1 it drops: if the queue is at a third of the limit or above, with more than 209 flows, and for hits with 35 flows or more | RFC 3168, Secs. 5 and 7; RFC 7567, Sec. 4.2.1. One flow with most of the packets keeps p_zap near 0, so that neither marks nor drops restrict it (see the row above) |

use crate::marking::Marking;
use crate::prelude::*;
use crate::red::Action;
use alloc::vec::Vec;

discipline! {
    Sred: "sred", "SRED",
    source("Ott, Lakshman & Wong 1999; DCN 2004, Sec. 2"),
    drops(Tail, Early),
    // A hit counts against the flow that is hit.
    proportional(),
    remembers(Table, "1000 zombies"),
    overload(Drops, "above `mark_th`, which p_zap passes with more than 209 flows"),

    /// Parameters of [`Sred`].
    pub struct SredParams {
        ..marking: Marking [action: Action::Drop, "RFC 3168, Sec. 5; not in Ott, Lakshman & Wong 1999"];
        /// Flows in the zombie list.
        zombies: u64 = default(1000), unit("flows"), range(Range::from(1.0).to(10_000_000.0)),
            source("Ott, Lakshman & Wong 1999, as remembered: M"), fixed(true);
        /// Probability that an arrival without a hit replaces the flow that it was compared with.
        overwrite: f64 = default(0.25), unit("1"), range(Range::above(0.0).to(1.0)),
            source("Ott, Lakshman & Wong 1999, as remembered: p");
        /// Weight of the present hit in the average frequency of hits.
        alpha: Option<f64> = optional("overwrite/zombies"), unit("1"), range(Range::above(0.0).to(1.0)),
            source("Ott, Lakshman & Wong 1999, as remembered");
        /// Probability of a drop with many flows and a queue above a third of the limit.
        max_p: f64 = default(0.15), unit("1"), range(Range::above(0.0).to(1.0)),
            source("Ott, Lakshman & Wong 1999, as remembered: p_max");
        /// Whether a hit raises the probability.
        hits: bool = default(true), source("Ott, Lakshman & Wong 1999, as remembered: full SRED");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0)),
            source("chosen here, as for choke");
    }
}

/// A first-in-first-out queue under SRED.
#[derive(Clone, Debug)]
pub struct Sred<P> {
    fifo: Fifo<P>,
    params: SredParams,
    zombies: Vec<FlowKey>,
    /// The frequency of hits: P in the paper.
    frequency: f64,
}

impl<P: Packet> Sred<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: SredParams) -> Self {
        Sred {
            fifo: Fifo::new(params.limit),
            zombies: Vec::with_capacity(params.zombies as usize),
            frequency: 0.0,
            params,
        }
    }

    /// Compares a flow with a zombie.
    fn hit(&mut self, flow: FlowKey, rng: &mut Stream) -> bool {
        if self.zombies.len() < self.params.zombies as usize {
            self.zombies.push(flow);
            return false;
        }
        let zombie = &mut self.zombies[rng.below(self.params.zombies) as usize];
        let hit = *zombie == flow;
        if !hit && rng.chance(self.params.overwrite) {
            *zombie = flow;
        }
        hit
    }

    fn p_sred(&self) -> f64 {
        let limit = self.params.limit;
        match (self.fifo.length_in(limit) as f64, limit.amount() as f64) {
            (q, limit) if q >= limit / 3.0 => self.params.max_p,
            (q, limit) if q >= limit / 6.0 => self.params.max_p / 4.0,
            _ => 0.0,
        }
    }

    fn p_zap(&self, hit: bool) -> f64 {
        let few = 1.0 / (256.0 * self.frequency);
        let boost = if hit && self.params.hits { 1.0 / self.frequency } else { 0.0 };
        self.p_sred() * (few * few).min(1.0) * (1.0 + boost)
    }
}

impl<P: Packet> Discipline<P> for Sred<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        let hit = self.hit(packet.flow(), ctx.rng);
        let alpha = self.params.alpha.unwrap_or(self.params.overwrite / self.params.zombies as f64);
        self.frequency += alpha * (f64::from(u8::from(hit)) - self.frequency);
        let p_zap = self.p_zap(hit);
        if ctx.rng.chance(p_zap) && self.params.marking.drops(p_zap, &mut packet) {
            return ctx.drop(packet, DropReason::Early);
        }
        self.fifo.admit(packet, ctx);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }
}

impl<P: Packet> Configure<P> for Sred<P> {
    fn configure(&mut self, params: SredParams, ctx: &mut Ctx<'_, P>) {
        self.fifo.resize(params.limit, ctx);
        self.params = params;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Harness;
    use crate::red::Action;
    use sluicegate_base::{Ecn, Link, Params, Rate};

    fn params() -> SredParams {
        SredParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
    }

    /// By hand: two zombies, α = 1/2, always overwritten; a limit of 6, so that p_sred is 0 below 1, max_p/4 at 1, and
    /// max_p = 1 from 2 on.
    #[test]
    fn replays_the_rule() {
        let small = SredParams {
            zombies: 2,
            overwrite: 1.0,
            alpha: Some(0.5),
            max_p: 1.0,
            limit: Size::Packets(6),
            ..params()
        };
        let mut harness = Harness::new(Sred::new(small), 1);
        // Flows 1 and 1 fill the list. The first finds q = 0, the second q = 1: P = 0 and p_zap = 1/4.
        let second = {
            let mut rng = harness.rng.clone();
            rng.bits();
            rng.uniform()
        };
        harness.arrive(1, 100);
        harness.arrive(1, 100);
        assert_eq!((harness.discipline.zombies.len(), harness.dropped.len()), (2, usize::from(second < 0.25)));
        while harness.discipline.packets() > 0 {
            harness.depart();
        }
        // Both zombies are flow 1: a hit. P = 1/2; q = 0, so it is queued whatever P is.
        harness.arrive(1, 100);
        assert_eq!((harness.discipline.frequency, harness.discipline.packets()), (0.5, 1));
        // Flow 2 is no hit, and replaces a zombie. P = 1/4; q = 1: p_zap = 1/4·(1/64)² = 6·10⁻⁵.
        harness.arrive(2, 100);
        assert_eq!((harness.discipline.frequency, harness.discipline.packets()), (0.25, 2));
        assert!(harness.discipline.zombies.contains(&FlowKey(2)) && harness.discipline.zombies.contains(&FlowKey(1)));
        assert_eq!(harness.discipline.p_zap(false), 1.0 / 4096.0, "at q = 2, p_sred = 1");
        assert_eq!(harness.discipline.p_zap(true), 5.0 / 4096.0);
        harness.assert_conserved();
    }

    /// 1/P estimates the number of flows with equal rates.
    #[test]
    fn hits_count_the_flows() {
        for n in [5u64, 50] {
            let mut harness = Harness::new(Sred::new(params()), 1);
            let mut order = Stream::new(n, "order");
            let (mut sum, mut looks) = (0.0, 0.0);
            for k in 0..200_000 {
                harness.arrive(order.below(n), 100);
                harness.depart();
                if k > 50_000 {
                    sum += harness.discipline.frequency;
                    looks += 1.0;
                }
            }
            let flows = looks / sum;
            assert!((flows / n as f64 - 1.0).abs() < 0.1, "{flows} of {n}");
        }
    }

    /// One flow with a twentieth of the packets among 500 others: P = 0.05² + 0.95²/500 = 0.0043, so that p_zap is
    /// 0.15·0.825 = 0.124 without a hit and 1 with one. The flow hits with 0.05, the others with 0.002.
    #[test]
    fn a_flow_that_is_often_hit_has_more_drops() {
        let mut harness = Harness::new(Sred::new(params()), 1);
        let mut order = Stream::new(2, "order");
        let (mut offered, mut drops) = ([0.0; 2], [0.0; 2]);
        for _ in 0..300_000 {
            let flow = if order.chance(0.05) { 0 } else { 1 + order.below(500) };
            offered[usize::from(flow > 0)] += 1.0;
            harness.arrive(flow, 100);
            if harness.discipline.packets() > 150 {
                harness.depart();
            }
        }
        harness.dropped.iter().for_each(|(packet, _)| drops[usize::from(packet.flow > 0)] += 1.0);
        let [heavy, light] = [drops[0] / offered[0], drops[1] / offered[1]];
        let expected = |hits: f64| 0.124 + hits * (1.0 - 0.124);
        assert!((heavy - expected(0.05)).abs() < 0.02 && (light - expected(0.002)).abs() < 0.02, "{heavy} {light}");
        assert!(heavy > 1.15 * light);
    }

    /// A million ids that a plain modulus would put into one bucket: the list stays as long as it is, each is as likely to be
    /// in it as any, and the flow that was there first is gone.
    #[test]
    fn a_million_flows_take_no_more_memory() {
        let mut harness = Harness::new(Sred::new(params()), 1);
        let capacity = params().zombies as usize;
        (0..capacity).for_each(|_| {
            harness.arrive(7, 100);
            harness.depart();
        });
        let taken = harness.discipline.zombies.capacity();
        for k in 1..=1_000_000u64 {
            harness.arrive(k << 44, 100);
            harness.depart();
        }
        let zombies = &harness.discipline.zombies;
        assert_eq!((zombies.len(), zombies.capacity()), (capacity, taken));
        assert!(taken < 2 * capacity && !zombies.contains(&FlowKey(7)) && harness.discipline.frequency < 1e-6);
        harness.assert_conserved();
    }

    #[test]
    fn marks_in_place_of_drops() {
        let mut harness = Harness::new(
            Sred::new(SredParams { max_p: 1.0, marking: Marking { action: Action::Mark, mark_th: 1.0 }, ..params() }),
            1,
        );
        (0..150).for_each(|flow| harness.offer(flow, 100, Ecn::Capable0));
        assert!(harness.dropped.is_empty());
        let marked = core::iter::from_fn(|| harness.depart()).filter(|packet| packet.ecn == Ecn::CongestionExperienced);
        // From q = 100 on all 50; from 50 to 99 a quarter of 50: four standard errors are 12.
        assert!((51..75).contains(&marked.count()));
    }
}
