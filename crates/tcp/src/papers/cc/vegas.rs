//! # Vegas's window
//!
//! A packet that waits in a queue makes the round trip longer than the shortest one seen. Once for each round trip the
//! sender compares the rate that it would have without queues, Expected, with the Actual one; their difference times the
//! shortest round trip, Diff, is the number of its packets that wait. Below α of them the window grows by one segment in
//! the next round trip, above β it shrinks by one (Brakmo & Peterson 1995, Secs. III-B and III-C). In slow start it
//! doubles in every other round trip until Diff passes γ.
//!
//! Recovery is NewReno's. With `vegas_cut` = 0 a loss does not reduce the window: that is how Tang, Wang & Low 2004 (Sec. V-C)
//! changed ns-2's Vegas for queues that drop often. ns-2's own, with `vegas_rules` = ns2, is [`VegasNs2`](super::VegasNs2).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | Brakmo & Peterson: α and β, in packets: 1 and 3, or 2 and 4 | 1 and 3; γ = 1 | ns-2, `v_alpha_`, `v_beta_`, `v_gamma_` |
//! | WindowSize, and bytes sent while a "distinguished" segment is under way | segments under way just before its acknowledgement, and segments sent until then | the same for a full window; ns-2 takes it from sequence numbers, too |
//! | nothing on rounding | none | the paper's window moves by fractions, too |
//! | the window grows "linearly during the next RTT" | by 1/cwnd for each acknowledgement of it | ns-2, `v_incr_` |
//! | it "decreases linearly during the next RTT" | by one segment at once, not below two | ns-2 |
//! | slow start ends with a change to "linear increase/decrease mode" | and the window loses an eighth | ns-2: Diff was measured at a window that is already too large |
//! | a fast retransmit takes less than Reno's half of the window | `vegas_cut`, a quarter of it | ns-2; Tang, Wang & Low do not reduce the window |
//! | nothing on the window during recovery | at the end it is as the cut left it, NewReno's deflation undone | ns-2, `v_newcwnd_` |
//! | a first duplicate is enough for a retransmission when a fine-grained timeout has passed | three duplicates, then NewReno's recovery | Tang, Wang & Low: their second change, "which better handles losses" |
//! | every segment is timed; nothing on repeated ones | one segment for each round trip, none that was sent again, and not by an acknowledgement that ends a recovery | Tang, Wang & Low: their first change; only then is a sample a round trip; ns-2 takes the mean of all |
//! | BaseRTT is the shortest round trip | the same | ns-2 also takes a longer one when a single packet was under way, and then mistakes a standing queue for the path |
//! | a timeout as in Reno | the same: the window closes to one segment, the threshold to half | ns-2 starts again from two |

use super::whole;
use crate::cc::{Ack, CongestionControl, RoundTrip};
use sluicegate_base::{Span, choices};

choices! {
    /// Whose Vegas it is.
    pub enum VegasRules {
        /// Brakmo & Peterson's window, and with vegas_cut = 0 Tang, Wang & Low's, with NewReno's recovery.
        Paper = "paper",
        /// ns-2's window and recovery, with a time for every segment and a fine-grained timeout.
        Ns2 = "ns2",
    }
}

/// What Vegas keeps in queues, and what a loss costs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasParams {
    /// α: with fewer packets in queues the window grows.
    pub alpha: f64,
    /// β: with more it shrinks.
    pub beta: f64,
    /// γ: with more slow start ends.
    pub gamma: f64,
    /// The share of the window that a loss or a mark takes away.
    pub cut: f64,
}

/// The least window that Diff leaves, and the threshold that keeps slow start from coming back.
const LEAST: f64 = 2.0;

/// The state of the window.
#[derive(Clone, Debug)]
pub struct Vegas {
    params: VegasParams,
    cwnd: f64,
    ssthresh: f64,
    /// BaseRTT; none before the first measurement.
    base: Option<Span>,
    /// What each acknowledgement adds: 1 while slow start doubles, as until the first measurement; 1/cwnd of the last
    /// decision; or nothing.
    growth: f64,
    /// The window that a cut left, until recovery is over.
    kept: Option<f64>,
}

impl Vegas {
    /// A window and a threshold, in segments.
    #[must_use]
    pub fn new(initial_window: f64, initial_ssthresh: f64, params: VegasParams) -> Vegas {
        Vegas { params, cwnd: initial_window, ssthresh: initial_ssthresh, base: None, growth: 1.0, kept: None }
    }

    /// The decision of one round trip.
    fn decide(&mut self, round: RoundTrip) {
        let base = self.base.map_or(round.rtt, |base| base.min(round.rtt));
        self.base = Some(base);
        // (Expected − Actual) · BaseRTT, with Expected = flight/BaseRTT and Actual = sent/RTT.
        let diff = round.flight - round.sent * base.as_secs() / round.rtt.as_secs().max(1e-9);
        if self.cwnd < self.ssthresh {
            self.growth = if self.growth > 0.0 { 0.0 } else { 1.0 };
            if diff > self.params.gamma {
                self.ssthresh = LEAST;
                self.growth = 0.0;
                self.shrink_to(self.cwnd * 7.0 / 8.0);
            }
        } else if diff > self.params.beta {
            self.growth = 0.0;
            self.shrink_to(self.cwnd - 1.0);
        } else {
            self.growth = if diff < self.params.alpha { 1.0 / self.cwnd.max(1.0) } else { 0.0 };
        }
    }

    /// A smaller window, two segments at the least; one that a timeout has left smaller stays.
    fn shrink_to(&mut self, cwnd: f64) {
        self.cwnd = cwnd.max(LEAST.min(self.cwnd));
    }
}

impl CongestionControl for Vegas {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(kept) = self.kept.take() {
            self.cwnd = kept;
        }
        if let Some(round) = ack.round {
            self.decide(round);
        }
        if ack.limited {
            self.cwnd += self.growth;
        }
    }

    fn on_congestion(&mut self, window: f64, least: f64) {
        self.cwnd = (self.cwnd.min(window) * (1.0 - self.params.cut)).max(least);
        self.kept = Some(self.cwnd);
        // ns-2: a loss ends slow start, too.
        self.ssthresh = LEAST;
        self.growth = 0.0;
    }

    fn on_timeout(&mut self, window: f64, cut: bool) {
        if cut {
            self.ssthresh = whole(window / 2.0).max(LEAST);
        }
        self.kept = None;
        self.growth = 1.0;
        self.cwnd = 1.0;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd.max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sluicegate_base::Time;

    const PARAMS: VegasParams = VegasParams { alpha: 1.0, beta: 3.0, gamma: 1.0, cut: 0.25 };

    fn ack(round: Option<RoundTrip>) -> Ack {
        Ack { segments: 1.0, now: Time::ZERO, srtt: Span::ZERO, round, limited: true, rate: None }
    }

    /// A round trip of so many milliseconds with a full window: its first acknowledgement ends the measurement.
    fn round(vegas: &mut Vegas, ms: u64) {
        let window = whole(vegas.cwnd);
        vegas.on_ack(&ack(Some(RoundTrip { rtt: Span::from_millis(ms), sent: window, flight: window })));
        for _ in 1..window as u64 {
            vegas.on_ack(&ack(None));
        }
    }

    /// By hand, BaseRTT 100 ms throughout.
    #[test]
    fn follows_the_rule_by_hand() {
        let mut vegas = Vegas::new(2.0, 64.0, PARAMS);
        // Without a delay slow start doubles in every other round trip: the first one of which is the initial doubling,
        // before anything was measured.
        vegas.on_ack(&ack(None));
        vegas.on_ack(&ack(None));
        assert_eq!(vegas.cwnd, 4.0);
        round(&mut vegas, 100);
        assert_eq!(vegas.cwnd, 4.0, "the window rests, so that the rates can be compared");
        round(&mut vegas, 100);
        assert_eq!(vegas.cwnd, 8.0);
        round(&mut vegas, 100);
        // 8 segments in 125 ms: Diff = 8 − 8·100/125 = 1.6 > γ. Slow start ends, and an eighth goes.
        round(&mut vegas, 125);
        assert_eq!((vegas.cwnd, vegas.ssthresh), (7.0, 2.0));
        // 7 in 112 ms: 7 − 7·100/112 = 0.75 < α: 1/7 for each of the 7 acknowledgements.
        round(&mut vegas, 112);
        assert!((vegas.cwnd - 8.0).abs() < 1e-12, "{}", vegas.cwnd);
        vegas.cwnd = 8.0;
        // 8 in 128 ms: 1.75, between α and β. Then in 200 ms: 4 > β.
        round(&mut vegas, 128);
        assert_eq!(vegas.cwnd, 8.0);
        round(&mut vegas, 200);
        assert_eq!(vegas.cwnd, 7.0);
        // A loss takes a quarter; what recovery deflates comes back, and slow start does not.
        vegas.on_congestion(7.0, 2.0);
        assert_eq!((vegas.cwnd, vegas.ssthresh), (5.25, 2.0));
        vegas.set_cwnd(3.25);
        vegas.on_ack(&ack(None));
        assert_eq!(vegas.cwnd, 5.25);
        vegas.on_timeout(5.25, true);
        assert_eq!((vegas.cwnd, vegas.ssthresh), (1.0, 2.0));
        vegas.on_ack(&ack(None));
        assert_eq!(vegas.cwnd, 2.0);
    }

    /// A window that is not the limit is still measured by: it does not grow, but it shrinks.
    #[test]
    fn a_window_that_is_not_the_limit_only_shrinks() {
        let mut vegas = Vegas::new(8.0, 2.0, PARAMS);
        let unlimited = |round| Ack { limited: false, ..ack(round) };
        let trip = |ms| Some(RoundTrip { rtt: Span::from_millis(ms), sent: 8.0, flight: 8.0 });
        vegas.on_ack(&unlimited(trip(100)));
        assert_eq!((vegas.cwnd, vegas.base), (8.0, Some(Span::from_millis(100))), "0 packets wait: it would grow");
        vegas.on_ack(&unlimited(trip(200)));
        assert_eq!(vegas.cwnd, 7.0, "4 packets wait");
    }

    /// Tang, Wang & Low 2004: "it does not halve the sending window when there is a loss".
    #[test]
    fn a_loss_may_cost_nothing() {
        let mut vegas = Vegas::new(9.5, 2.0, VegasParams { cut: 0.0, ..PARAMS });
        vegas.on_congestion(9.5, 2.0);
        vegas.set_cwnd(4.0);
        vegas.on_ack(&ack(None));
        assert_eq!(vegas.cwnd, 9.5);
    }

    #[test]
    fn the_window_of_a_standing_queue_stops_at_two() {
        let mut vegas = Vegas::new(4.0, 2.0, VegasParams { beta: 1.0, ..PARAMS });
        round(&mut vegas, 1);
        (0..9).for_each(|_| round(&mut vegas, 1000));
        assert_eq!(vegas.cwnd, 2.0, "2 − 2/1000 is above β");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// Alone on a path of `pipe` packets, whatever window it starts from, it ends with α to β packets in the queue,
        /// give or take the segment by which a decision moves, and stays there.
        #[test]
        fn keeps_alpha_to_beta_packets_in_the_queue(
            pipe in 3.0f64..200.0, alpha in 1.0f64..20.0, more in 1.0f64..5.0, start in 2.0f64..400.0, slow in any::<bool>(),
        ) {
            let params = VegasParams { alpha, beta: alpha + more, gamma: 1.0, cut: 0.25 };
            let mut vegas = Vegas::new(start, if slow { 1e9 } else { 2.0 }, params);
            vegas.base = Some(Span(100_000_000));
            for n in 0..900 {
                let window = whole(vegas.cwnd);
                let rtt = Span((1e8 * (window / pipe).max(1.0)) as u64);
                vegas.on_ack(&ack(Some(RoundTrip { rtt, sent: window, flight: window })));
                (1..window as u64).for_each(|_| vegas.on_ack(&ack(None)));
                let queue = vegas.cwnd - pipe;
                if n > 800 {
                    prop_assert!((alpha - 1.0..=alpha + more + 1.0).contains(&queue), "{queue}");
                }
            }
        }

        /// Whatever comes, the window is a number of at least one segment, BaseRTT the shortest round trip.
        #[test]
        fn stays_a_window(events in proptest::collection::vec((0u8..5, 1u64..10_000, 0.0f64..50.0), 1..200)) {
            let mut vegas = Vegas::new(2.0, 20.0, PARAMS);
            let mut shortest = None;
            for (kind, ms, x) in events {
                let rtt = Span::from_millis(ms);
                match kind {
                    0 => vegas.on_congestion(x.max(1.0), 1.0),
                    1 => vegas.on_timeout(x.max(1.0), true),
                    2 => vegas.set_cwnd(x),
                    3 => vegas.on_ack(&ack(None)),
                    _ => {
                        vegas.on_ack(&ack(Some(RoundTrip { rtt, sent: 1.0 + x, flight: 1.0 + x })));
                        shortest = Some(shortest.map_or(rtt, |least: Span| least.min(rtt)));
                    }
                }
                prop_assert!(vegas.cwnd.is_finite() && vegas.cwnd >= 1.0 && vegas.ssthresh >= 2.0, "{vegas:?}");
                prop_assert_eq!(vegas.base, shortest);
            }
        }
    }
}
