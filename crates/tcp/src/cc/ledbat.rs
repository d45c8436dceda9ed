//! # LEDBAT's window
//!
//! For transfers that are to give way to all others: the sender keeps its queueing delay at a target, and backs off as soon as
//! others fill the queue beyond it (RFC 6817, Sec. 2.4.2).
//!
//! ```text
//! for each acknowledgement:   queuing_delay = current delay − base delay
//!                             off_target = (TARGET − queuing_delay)/TARGET
//!                             cwnd ← cwnd + GAIN·off_target·segments acknowledged/cwnd,  not below MIN_CWND
//! a loss or a mark:           cwnd ← max(cwnd/2, MIN_CWND), once for each round trip; a mark down to 1
//! a timeout:                  cwnd ← 1 segment
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | one-way delays, from a timestamp in each packet | round trips, by one segment at a time | the ends have no timestamps; in a dumbbell without traffic on the way back the two differ by a constant, which the base takes away. A queue on the way back counts too, and makes LEDBAT give way to it; so does a receiver that delays acknowledgements, where TARGET is short: `delayed_ack` switches it off |
//! | the least of some of the latest delays, at most those of a round trip | the latest | one is measured for each round trip |
//! | the base delay is the least of the last BASE_HISTORY = 10 minutes, kept by the minute | so | a changed route is noticed; a standing queue of its own for ten minutes counts as the path, as the RFC warns |
//! | TARGET at most 100 ms | `ledbat_target` = 100 ms | Sec. 2.5 |
//! | GAIN at most 1 | 1: never faster than Reno | Sec. 2.5 |
//! | cwnd stays within the flight and ALLOWED_INCREASE | it grows only while it limits the sender | to the same end |
//! | cwnd starts at INIT_CWND = 2 and stays at MIN_CWND = 2 at least; slow start is neither asked for nor forbidden | the profile's initial window; 2; no slow start | a sender that gives way has no hurry |
//! | nothing on marks | as a loss, down to one segment | RFC 3168, Sec. 6.1.2 |
//! | a loss halves cwnd once for each round trip; recovery is the transport's | SACK's recovery, which halves once for what was under way | uTP, LEDBAT's first user, has selective acknowledgements |

use super::{Ack, CongestionControl};
use sluicegate_base::{Span, Time};

/// The least window that delay and losses leave, in segments.
const MIN_CWND: f64 = 2.0;

/// Minutes over which the least delay is sought.
const BASE_HISTORY: usize = 10;

const MINUTE: Span = Span::from_secs(60);

/// The state of the window.
#[derive(Clone, Debug)]
pub struct Ledbat {
    target: Span,
    cwnd: f64,
    /// The least delay of each of the last minutes, the present one first.
    bases: [Span; BASE_HISTORY],
    /// When the present minute began; none before the first measurement.
    minute: Option<Time>,
    /// What the last round trip said; zero before the first.
    off_target: f64,
}

impl Ledbat {
    /// A window in segments, and the queueing delay that it is to keep, above zero.
    #[must_use]
    pub fn new(initial_window: f64, target: Span) -> Ledbat {
        let none = Span(u64::MAX);
        Ledbat { target, cwnd: initial_window, bases: [none; BASE_HISTORY], minute: None, off_target: 0.0 }
    }

    fn measure(&mut self, delay: Span, now: Time) {
        let begun = *self.minute.get_or_insert(now);
        let minutes = now.since(begun).0 / MINUTE.0;
        if minutes > 0 {
            self.bases.rotate_right((minutes as usize).min(BASE_HISTORY));
            self.bases[..(minutes as usize).min(BASE_HISTORY)].fill(Span(u64::MAX));
            self.minute = Some(begun + Span(minutes * MINUTE.0));
        }
        self.bases[0] = self.bases[0].min(delay);
        let base = self.bases.iter().copied().min().expect("ten minutes");
        let queuing_delay = delay.0 - base.0;
        self.off_target = 1.0 - queuing_delay as f64 / self.target.0 as f64;
    }
}

impl CongestionControl for Ledbat {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    /// None that matters: there is no slow start.
    fn ssthresh(&self) -> f64 {
        MIN_CWND
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(round) = ack.round {
            self.measure(round.rtt, ack.now);
        }
        let change = self.off_target * ack.segments / self.cwnd;
        if ack.limited || change < 0.0 {
            self.cwnd = (self.cwnd + change).max(MIN_CWND);
        }
    }

    fn on_congestion(&mut self, window: f64, least: f64) {
        self.cwnd = (self.cwnd.min(window) / 2.0).max(least);
    }

    fn on_timeout(&mut self, _window: f64, _cut: bool) {
        self.cwnd = 1.0;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd.max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::RoundTrip;
    use super::*;
    use proptest::prelude::*;

    const TARGET: Span = Span::from_millis(100);

    fn ack(now_s: u64, rtt_ms: Option<u64>) -> Ack {
        let round = rtt_ms.map(|ms| RoundTrip { rtt: Span::from_millis(ms), sent: 4.0, flight: 4.0 });
        let now = Time::ZERO + Span::from_secs(now_s);
        Ack { segments: 1.0, now, srtt: Span::ZERO, round, limited: true, rate: None }
    }

    /// Base 50 ms. 50 ms: off_target 1, cwnd 4 + 1/4. 100 ms: half of it, 4.25 + 1/8.5. 150 ms: 0. 250 ms: −1.
    #[test]
    fn follows_the_rule_by_hand() {
        let mut ledbat = Ledbat::new(4.0, TARGET);
        ledbat.on_ack(&ack(0, None));
        assert_eq!(ledbat.cwnd(), 4.0, "nothing is known of the path");
        for (rtt, expected) in [(50, 4.25), (100, 4.25 + 0.5 / 4.25), (150, 4.25 + 0.5 / 4.25)] {
            ledbat.on_ack(&ack(1, Some(rtt)));
            assert!((ledbat.cwnd() - expected).abs() < 1e-12, "{rtt}");
        }
        let before = ledbat.cwnd();
        ledbat.on_ack(&ack(2, Some(250)));
        ledbat.on_ack(&ack(2, None));
        let first = before - 1.0 / before;
        assert!((ledbat.cwnd() - (first - 1.0 / first)).abs() < 1e-12, "each acknowledgement counts");
        ledbat.on_congestion(9.0, MIN_CWND);
        assert_eq!(ledbat.cwnd(), MIN_CWND, "half would be less");
        ledbat.on_timeout(2.0, true);
        assert_eq!(ledbat.cwnd(), 1.0);
        ledbat.on_ack(&ack(2, None));
        assert_eq!(ledbat.cwnd(), MIN_CWND, "one acknowledgement ends what the timeout left");
    }

    #[test]
    fn a_window_that_is_not_the_limit_only_shrinks() {
        let mut ledbat = Ledbat::new(8.0, TARGET);
        ledbat.on_ack(&Ack { limited: false, ..ack(0, Some(50)) });
        assert_eq!(ledbat.cwnd(), 8.0);
        ledbat.on_ack(&Ack { limited: false, ..ack(1, Some(250)) });
        assert_eq!(ledbat.cwnd(), 7.875);
    }

    /// The 50 ms of the first minute count until ten more have passed.
    #[test]
    fn the_base_is_forgotten_after_ten_minutes() {
        let mut ledbat = Ledbat::new(4.0, TARGET);
        ledbat.on_ack(&ack(0, Some(50)));
        for (second, off_target) in [(59, 0.0), (300, 0.0), (599, 0.0), (601, 1.0)] {
            ledbat.on_ack(&ack(second, Some(150)));
            assert_eq!(ledbat.off_target, off_target, "at {second} s");
        }
        ledbat.on_ack(&ack(100_000, Some(400)));
        assert_eq!(ledbat.off_target, 1.0, "a long silence forgets all");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// Alone on a path it ends with TARGET in the queue, give or take a segment.
        #[test]
        fn keeps_the_target_in_the_queue(pipe in 5.0f64..100.0, base_ms in 20u64..200, start in 2.0f64..150.0) {
            let mut ledbat = Ledbat::new(start, TARGET);
            ledbat.measure(Span::from_millis(base_ms), Time::ZERO);
            let base = base_ms as f64;
            for round in 0..4000 {
                let rtt = (base * (ledbat.cwnd / pipe).max(1.0) * 1e6) as u64;
                let round_trip = RoundTrip { rtt: Span(rtt), sent: ledbat.cwnd, flight: ledbat.cwnd };
                // Within the minutes that the base is remembered for.
                let first = Ack { round: Some(round_trip), ..ack(round / 8, None) };
                ledbat.on_ack(&first);
                (1..ledbat.cwnd as u64).for_each(|_| ledbat.on_ack(&ack(round / 8, None)));
            }
            let queued_ms = base * (ledbat.cwnd / pipe - 1.0);
            prop_assert!((queued_ms - 100.0).abs() < 1.5 * base / pipe + 1.0, "{queued_ms}");
        }

        #[test]
        fn stays_a_window(events in proptest::collection::vec((0u8..5, 1u64..10_000, 0.0f64..50.0), 1..200)) {
            let mut ledbat = Ledbat::new(2.0, Span(1));
            for (at, (kind, ms, x)) in events.into_iter().enumerate() {
                match kind {
                    0 => ledbat.on_congestion(x.max(1.0), 1.0),
                    1 => ledbat.on_timeout(x.max(1.0), true),
                    2 => ledbat.set_cwnd(x),
                    3 => ledbat.on_ack(&ack(at as u64 * ms, None)),
                    _ => ledbat.on_ack(&ack(at as u64 * 40, Some(ms))),
                }
                prop_assert!(ledbat.cwnd.is_finite() && ledbat.cwnd >= 1.0, "{ledbat:?}");
            }
        }
    }
}
