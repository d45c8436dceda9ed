//! # Vegas's window as ns-2 has it
//!
//! [Vegas](super::Vegas) after `tcp-vegas.cc` of ns-2.35, with the measurements and the recovery of
//! [`crate::papers::recovery::VegasNs2`]; together they produce every acknowledgement at ns-2's time
//! (`crates/netsim/tests/ns2_traces.rs`).
//!
//! | what the paper says | what ns-2 does, and we with it |
//! |---|---|
//! | Brakmo & Peterson: Diff is compared with α, β and γ | Diff is rounded first |
//! | the round trip of one segment | the mean over all segments of the round that were sent once |
//! | BaseRTT is the shortest round trip | or that of a round with a single segment, even if longer |
//! | slow start doubles in every other round trip | and ends for γ only after a round in which it doubled |
//! | the window grows by 1/cwnd for each acknowledgement | not while it is more than two segments ahead of what is under way |
//! | a timeout closes the window to one segment | to two; the growth for each acknowledgement stays as the last round decided |
//! | nothing on marks | a mark halves window and threshold; ns-2's Vegas never sends ECN-capable packets, ours does so with `ecn` |

use super::{VegasParams, whole};
use crate::cc::{Ack, CongestionControl, TimedAck, TimedRound};

/// The least window that Diff leaves, the window after a timeout, and the threshold that keeps slow start from coming back.
const LEAST: f64 = 2.0;

/// The state of the window.
#[derive(Clone, Debug)]
pub struct VegasNs2 {
    params: VegasParams,
    cwnd: f64,
    ssthresh: f64,
    /// What each acknowledgement adds (`v_incr_`).
    growth: f64,
    /// Whether slow start doubles in this round (`v_inc_flag_`).
    doubles: bool,
}

impl VegasNs2 {
    /// A window and a threshold, in segments.
    #[must_use]
    pub fn new(initial_window: f64, initial_ssthresh: f64, params: VegasParams) -> VegasNs2 {
        VegasNs2 { params, cwnd: initial_window, ssthresh: whole(initial_ssthresh), growth: 0.0, doubles: true }
    }

    /// The decision of one round.
    fn decide(&mut self, round: TimedRound, flight: f64) {
        // (Expected − Actual) · BaseRTT, with Expected = flight/BaseRTT and Actual = sent/RTT; the whole part towards zero.
        let diff = (flight - round.sent * (round.base.0 as f64 / round.rtt.0 as f64) + 0.5) as i64 as f64;
        if self.cwnd < self.ssthresh {
            self.doubles = !self.doubles;
            self.growth = f64::from(u8::from(self.doubles && diff <= self.params.gamma));
            if self.doubles && diff > self.params.gamma {
                self.ssthresh = LEAST;
                self.cwnd = (self.cwnd * 7.0 / 8.0).max(LEAST);
            }
        } else if diff > self.params.beta {
            self.growth = 0.0;
            self.cwnd = (self.cwnd - 1.0).max(LEAST);
        } else {
            self.growth = if diff < self.params.alpha { 1.0 / self.cwnd } else { 0.0 };
        }
    }
}

impl CongestionControl for VegasNs2 {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    /// Its recovery gives every acknowledgement with its times.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_timed_ack(&mut self, ack: &TimedAck) {
        if ack.recovered {
            self.ssthresh = LEAST;
        }
        if let Some(round) = ack.round {
            self.decide(round, ack.flight);
        }
        if self.growth == 1.0 && self.cwnd >= self.ssthresh {
            self.growth = 0.0;
        }
        if self.growth > 0.0 && self.cwnd - ack.flight <= 2.0 {
            self.cwnd += self.growth;
        }
    }

    fn on_congestion(&mut self, window: f64, least: f64) {
        self.ssthresh = whole(window / 2.0).max(LEAST);
        self.cwnd = (window / 2.0).max(least);
    }

    fn on_timeout(&mut self, window: f64, cut: bool) {
        if cut {
            self.ssthresh = whole(window / 2.0).max(LEAST);
        }
        self.cwnd = LEAST;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sluicegate_base::Span;

    const PARAMS: VegasParams = VegasParams { alpha: 1.0, beta: 3.0, gamma: 1.0, cut: 0.25 };

    /// A round of so many milliseconds with a full window, above a shortest one of 100 ms.
    fn round(vegas: &mut VegasNs2, ms: u64) {
        let flight = whole(vegas.cwnd);
        let round = TimedRound { rtt: Span::from_millis(ms), base: Span::from_millis(100), sent: flight };
        vegas.on_timed_ack(&TimedAck { flight, round: Some(round), recovered: false });
        for _ in 1..flight as u64 {
            vegas.on_timed_ack(&TimedAck { flight: whole(vegas.cwnd), round: None, recovered: false });
        }
    }

    #[test]
    fn follows_the_rule_by_hand() {
        let mut vegas = VegasNs2::new(2.0, 64.5, PARAMS);
        assert_eq!(vegas.ssthresh, 64.0);
        // The first round rests, every other one doubles.
        let windows = [100, 100, 100, 100].map(|ms| {
            round(&mut vegas, ms);
            vegas.cwnd
        });
        assert_eq!(windows, [2.0, 4.0, 4.0, 8.0]);
        // 8 segments in 145 ms: 8 − 8/1.45 + ½ = 2.98, Diff = 2 > γ; but this round was not to double.
        round(&mut vegas, 145);
        assert_eq!((vegas.cwnd, vegas.ssthresh), (8.0, 64.0));
        // In 123 ms: 8 − 8/1.23 + ½ = 1.996, Diff = 1, not above γ: it doubles.
        round(&mut vegas, 123);
        assert_eq!((vegas.cwnd, vegas.ssthresh), (16.0, 64.0));
        round(&mut vegas, 100);
        // 16 in 111 ms: 16 − 16/1.11 + ½ = 2.09, Diff = 2: the end of slow start, less an eighth.
        round(&mut vegas, 111);
        assert_eq!((vegas.cwnd, vegas.ssthresh), (14.0, 2.0));
        // 14 in 133 ms: 3.97, Diff = 3, not above β. In 134 ms: 4.05, Diff = 4: one less.
        round(&mut vegas, 133);
        assert_eq!(vegas.cwnd, 14.0);
        round(&mut vegas, 134);
        assert_eq!(vegas.cwnd, 13.0);
        // 13 in 104 ms: 1 exactly, Diff = 1, not below α. In 103 ms: 0.88, Diff = 0: 1/13 for each acknowledgement.
        round(&mut vegas, 104);
        assert_eq!(vegas.cwnd, 13.0);
        round(&mut vegas, 103);
        assert!((vegas.cwnd - 14.0).abs() < 1e-12, "{}", vegas.cwnd);
        vegas.on_timeout(14.0, true);
        assert_eq!((vegas.cwnd, vegas.ssthresh, vegas.growth), (2.0, 7.0, 1.0 / 13.0), "what was decided goes on");
        vegas.on_timed_ack(&TimedAck { flight: 2.0, round: None, recovered: true });
        assert_eq!((vegas.cwnd, vegas.ssthresh), (2.0 + 1.0 / 13.0, 2.0), "a recovery ends slow start");
    }

    #[test]
    fn does_not_grow_far_beyond_what_is_under_way() {
        let mut vegas = VegasNs2::new(8.0, 2.0, PARAMS);
        vegas.growth = 0.5;
        for flight in [5.0, 6.0] {
            vegas.on_timed_ack(&TimedAck { flight, round: None, recovered: false });
        }
        assert_eq!(vegas.cwnd, 8.5);
        let mut slow = VegasNs2::new(8.0, 9.0, PARAMS);
        slow.growth = 1.0;
        (0..3).for_each(|_| slow.on_timed_ack(&TimedAck { flight: 8.0, round: None, recovered: false }));
        assert_eq!((slow.cwnd, slow.growth), (9.0, 0.0), "slow start stops at its threshold");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// Alone on a path of `pipe` packets, from whatever window, it ends with α − ½ to β + ½ packets in the queue, give or
        /// take the segment by which a decision moves, and stays there.
        #[test]
        fn keeps_alpha_to_beta_packets_in_the_queue(
            pipe in 3.0f64..200.0, alpha in 1u32..20, more in 1u32..5, start in 2.0f64..400.0, slow in any::<bool>(),
        ) {
            let (alpha, beta) = (f64::from(alpha), f64::from(alpha + more));
            let params = VegasParams { alpha, beta, ..PARAMS };
            let mut vegas = VegasNs2::new(start, if slow { 1e9 } else { 2.0 }, params);
            for n in 0..900 {
                let ms = 100.0 * (whole(vegas.cwnd) / pipe).max(1.0);
                round(&mut vegas, ms as u64);
                let queue = vegas.cwnd - pipe;
                // The round trip in whole milliseconds is up to a hundredth too short, and Diff with it.
                let off = 1.5 + vegas.cwnd / 100.0;
                if n > 800 {
                    prop_assert!((alpha - off..=beta + off).contains(&queue), "{queue}");
                }
            }
        }

        /// Whatever comes, the window is a number, and two segments at the least unless it was set to less.
        #[test]
        fn stays_a_window(events in proptest::collection::vec((0u8..4, 1u64..10_000, 1.0f64..50.0), 1..200)) {
            let mut vegas = VegasNs2::new(2.0, 20.0, PARAMS);
            for (kind, ms, x) in events {
                let round = TimedRound { rtt: Span::from_millis(ms), base: Span::from_millis(ms.min(50)), sent: x };
                match kind {
                    0 => vegas.on_timeout(x, true),
                    1 => vegas.set_cwnd(x.max(2.0)),
                    2 => vegas.on_timed_ack(&TimedAck { flight: x, round: None, recovered: false }),
                    _ => vegas.on_timed_ack(&TimedAck { flight: x, round: Some(round), recovered: false }),
                }
                prop_assert!(vegas.cwnd.is_finite() && vegas.cwnd >= 2.0 && vegas.ssthresh >= 2.0, "{vegas:?}");
            }
        }
    }
}
