//! Which flows have a large share of the packets that a queue marked or dropped lately, and how likely that is by chance.
//!
//! A queue that chooses at random whom to mark or drop chooses a flow as often as the flow sends: a large share of the n
//! most recent marks means a large share of the bandwidth (Floyd & Jacobson 1993, Sec. X and Appendix). If a flow has the
//! part p of the bandwidth, the number S of its marks among the last n has the mean n·p, and
//!
//! ```text
//! Prob(S ≥ s·n) ≤ [(p/s)^s · ((1 − p)/(1 − s))^(1 − s)]^n ≤ exp(−2n(s − p)²)     for p ≤ s ≤ 1        (Hoeffding 1963)
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | "the gateway could easily keep a list of the n most recently marked packets" | the same: the flow of each, in a ring; shares are counted when they are asked for | constant work for each mark |
//! | Sec. X and Fig. 16 use the second bound, with s = c·p | the first of the same theorem; a test has the second, as Fig. 16 draws it | the second says little where shares are small: 12 of 100 marks with p = 0.03 are bounded by 0.2, and by 0.0003 with the first |
//! | each mark falls on flow i with probability exactly p_i, independently | the same, for the bound; whoever records leaves out drops that do not fall on flows in proportion to what they send | marks that come in clusters on one flow, as its packets do, are less independent; spaced by Method 2 they are less clustered than drops of a full queue |
//! | a share of the bandwidth | a share of the packets, or of the bytes where the probability of a mark is proportional to the length (RED in byte mode) | a flow is marked in proportion to that share; with packets of one length there is no difference |
//! | "a large fraction", without a value | the caller says what part of the bandwidth is fair, and how small a chance counts | both are policy |

use crate::discipline::FlowKey;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// The bound on the chance that a flow with the part `p` of the bandwidth has at least the part `share` of `n` marks: 1
/// when that is no more than p, 0 when it is more than all.
#[must_use]
pub fn chance_of_share(n: u64, share: f64, p: f64) -> f64 {
    if share > 1.0 || (p <= 0.0 && share > 0.0) {
        return 0.0;
    }
    if share <= p {
        return 1.0;
    }
    let rest = 1.0 - share;
    let others = if rest > 0.0 { rest * libm::log((1.0 - p) / rest) } else { 0.0 };
    libm::exp(n as f64 * (share * libm::log(p / share) + others).min(0.0))
}

/// The flows of the n most recent marks or drops.
#[derive(Clone, Debug)]
pub struct Recent {
    n: usize,
    flows: VecDeque<FlowKey>,
}

impl Recent {
    /// Remembers up to `n`, one at least.
    #[must_use]
    pub fn new(n: usize) -> Recent {
        Recent { n: n.max(1), flows: VecDeque::new() }
    }

    /// How many it remembers at the most.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.n
    }

    /// A packet of this flow was marked or dropped.
    #[inline]
    pub fn record(&mut self, flow: FlowKey) {
        if self.flows.len() == self.n {
            self.flows.pop_front();
        }
        self.flows.push_back(flow);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.flows.clear();
    }

    /// How many are remembered.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.flows.len() as u64
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Every flow among them, by its key, with its share.
    #[must_use]
    pub fn shares(&self) -> Vec<(FlowKey, f64)> {
        let mut counts = BTreeMap::new();
        self.flows.iter().for_each(|flow| *counts.entry(*flow).or_insert(0u64) += 1);
        counts.into_iter().map(|(flow, count)| (flow, count as f64 / self.flows.len() as f64)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::Discipline;
    use crate::harness::Harness;
    use crate::red::{Red, RedBlock, RedParams};
    use sluicegate_base::{Link, Params, Rate, Size, Stream};

    /// The bound of Fig. 16 on the chance of at least `c` times as many of `n` marks as are expected: exp(−2n(c − 1)²p²), 0
    /// when that is more than all.
    fn chance_of_multiple(n: u64, c: f64, p: f64) -> f64 {
        if c * p > 1.0 {
            return 0.0;
        }
        let t = libm::fmax(c - 1.0, 0.0) * p;
        libm::exp(-2.0 * n as f64 * t * t)
    }

    /// Fig. 16, n = 100: at C = 2 the bound is exp(−200·p²), at C = 4 exp(−1800·p²).
    #[test]
    fn the_bound_is_that_of_figure_16() {
        for p in [0.0, 0.02, 0.05, 0.1, 0.2, 0.25] {
            let close = |c, expected: f64| assert!((chance_of_multiple(100, c, p) - expected).abs() < 1e-12, "{p}");
            close(1.0, 1.0);
            close(2.0, libm::exp(-200.0 * p * p));
            close(4.0, libm::exp(-1800.0 * p * p));
        }
        assert_eq!(chance_of_multiple(100, 6.0, 0.2), 0.0, "more than all");
    }

    /// Both bounds of the theorem, by hand: all of n marks has p^n; the first is never above the second.
    #[test]
    fn the_first_bound_is_the_tighter_one() {
        assert_eq!([chance_of_share(100, 0.1, 0.2), chance_of_share(100, 1.1, 0.2)], [1.0, 0.0]);
        assert_eq!([chance_of_share(9, 0.1, 0.0), chance_of_share(9, 0.0, 0.0)], [0.0, 1.0]);
        assert!((chance_of_share(7, 1.0, 0.5) - 1.0 / 128.0).abs() < 1e-15);
        // [(0.2/0.4)^0.4 · (0.8/0.6)^0.6]^10 = 2^-4 · (4/3)^6
        assert!((chance_of_share(10, 0.4, 0.2) - 256.0 / 729.0).abs() < 1e-12);
        for p in [0.01, 0.1, 0.3, 0.5, 0.9] {
            for c in [1.0, 1.1, 1.5, 2.0, 4.0] {
                assert!(chance_of_share(100, c * p, p) <= chance_of_multiple(100, c, p) + 1e-12, "{p} {c}");
            }
        }
    }

    /// Draws of 50 marks with p = 0.1, 0.3 and 0.5: no number of them is exceeded more often than the bound allows.
    #[test]
    fn the_bound_holds_for_random_marks() {
        let mut rng = Stream::new(1, "Hoeffding");
        let (n, runs) = (50, 20_000);
        for p in [0.1, 0.3, 0.5] {
            let mut at_least = [0.0; 52];
            for _ in 0..runs {
                let marks = (0..n).filter(|_| rng.chance(p)).count();
                at_least[..=marks].iter_mut().for_each(|count| *count += 1.0);
            }
            for (marks, count) in at_least.iter().enumerate() {
                // Four standard errors of a frequency are at most 0.0142.
                let bound = chance_of_share(n, marks as f64 / n as f64, p);
                assert!(count / f64::from(runs) <= bound + 0.0142, "p {p}, {marks} marks");
            }
        }
    }

    #[test]
    fn the_most_recent_count() {
        let mut recent = Recent::new(4);
        assert!(recent.is_empty() && recent.shares().is_empty());
        [9, 9, 9, 1, 2, 1].iter().for_each(|flow| recent.record(FlowKey(*flow)));
        assert_eq!(recent.shares(), [(FlowKey(1), 0.5), (FlowKey(2), 0.25), (FlowKey(9), 0.25)]);
        recent.clear();
        assert_eq!(recent.len(), 0);
    }

    /// Ten flows at a queue under RED, one of which sends half of the packets: among 100 marks it stands out, alone.
    #[test]
    fn red_finds_the_flow_with_half_of_the_bandwidth() {
        let params = RedParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        let params =
            RedParams { red: RedBlock { w_q: 0.02, limit: Size::Packets(100), ..params.red.clone() }, ..params };
        let (mut harness, mut recent) = (Harness::new(Red::new(params), 3), Recent::new(100));
        let mut order = Stream::new(4, "order");
        let mut seen = 0;
        while seen < 1000 {
            let flow = order.below(18).saturating_sub(8);
            harness.arrive(flow, 1000);
            if harness.discipline.packets() > 10 {
                harness.depart();
            }
            harness.dropped[seen..].iter().for_each(|(packet, _)| recent.record(FlowKey(packet.flow)));
            seen = harness.dropped.len();
        }
        let chance = |share| chance_of_share(recent.len(), share, 0.1);
        let suspects: Vec<_> = recent.shares().into_iter().filter(|(_, share)| chance(*share) <= 1e-3).collect();
        assert!(matches!(suspects[..], [(FlowKey(0), _)]), "{suspects:?}");
    }
}
