//! # CUBIC's window
//!
//! Above the threshold the window follows a cubic function of the time since the last loss, flat around the window at
//! which that happened (Ha, Rhee & Xu 2008; RFC 9438). Where Reno would be faster, the window is Reno's estimate.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 9438, Sec. 4.10: slow start may be HyStart++ | the plain slow start of RFC 5681 | RFC 9406 is a separate algorithm |
//! | RFC 9438, Sec. 4.6: ssthresh = flight · β, at least 2 | the window that could be under way, times β | as Reno here; the same for a greedy sender |
//! | RFC 9438, Sec. 4.9: what a spurious loss has taken away may come back | it does not, though links with `reordering` cause such losses | Linux's hosts have it |
//! | RFC 9438, Sec. 5.8: no growth while the application limits | as the host's `cwnd_validation` says; the time without growth does not count (Sec. 4.2) | Linux moves the epoch by the idle time alone |
//! | Linux scales time to 1/1024 s and takes integer cube roots | floating point | RFC 9438's formulas as they stand |

use super::{Ack, CongestionControl};
use sluicegate_base::{Span, Time};

/// RFC 9438, Sec. 5.1: the aggressiveness, in segments per second cubed.
const C: f64 = 0.4;
/// RFC 9438, Sec. 4.6: the factor of a decrease.
const BETA: f64 = 0.7;
/// RFC 9438, Sec. 4.3: with it the Reno estimate gets Reno's mean window.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state of the window. Names are RFC 9438's.
#[derive(Clone, Debug)]
pub struct Cubic {
    cwnd: f64,
    ssthresh: f64,
    w_max: f64,
    w_est: f64,
    /// The window just before the last decrease.
    cwnd_prior: f64,
    /// When the present stage of congestion avoidance began, and K: how long until the window is W_max again.
    epoch: Option<(Time, f64)>,
}

impl Cubic {
    /// A window and a threshold, in segments.
    #[must_use]
    pub fn new(initial_window: f64, initial_ssthresh: f64) -> Cubic {
        Cubic {
            cwnd: initial_window,
            ssthresh: initial_ssthresh,
            w_max: 0.0,
            w_est: 0.0,
            cwnd_prior: initial_window,
            epoch: None,
        }
    }

    fn decrease(&mut self, window: f64) {
        self.cwnd_prior = window;
        // Sec. 4.7, fast convergence: a flow that meets its limit earlier than last time leaves room for others.
        self.w_max = if window < self.w_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.ssthresh = (window * BETA).max(2.0);
        self.epoch = None;
    }
}

impl CongestionControl for Cubic {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn on_ack(&mut self, ack: &Ack) {
        if !ack.limited {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += ack.segments.min(1.0);
            return;
        }
        let (begun, k) = *self.epoch.get_or_insert_with(|| {
            self.w_est = self.cwnd;
            // Without a known W_max above the window the curve starts at its flat point.
            self.w_max = self.w_max.max(self.cwnd);
            (ack.now, libm::cbrt((self.w_max - self.cwnd) / C))
        });
        let (t, rtt) = (ack.now.since(begun).as_secs(), ack.srtt.as_secs());
        let w_cubic = |t: f64| C * (t - k) * (t - k) * (t - k) + self.w_max;
        let alpha = if self.w_est < self.cwnd_prior { ALPHA } else { 1.0 };
        self.w_est += alpha * ack.segments / self.cwnd;
        if w_cubic(t) < self.w_est {
            self.cwnd = self.cwnd.max(self.w_est);
        } else {
            let target = w_cubic(t + rtt).clamp(self.cwnd, 1.5 * self.cwnd);
            self.cwnd += (target - self.cwnd) * (ack.segments / self.cwnd).min(1.0);
        }
    }

    fn on_pause(&mut self, pause: Span) {
        if let Some((begun, _)) = &mut self.epoch {
            *begun += pause;
        }
    }

    fn on_congestion(&mut self, window: f64, least: f64) {
        self.decrease(window);
        self.cwnd = (window * BETA).max(least);
    }

    fn on_timeout(&mut self, window: f64, cut: bool) {
        if cut {
            self.decrease(window);
        }
        // Sec. 4.8: after a timeout the curve starts at its flat point, at the window of that moment.
        self.w_max = 0.0;
        self.epoch = None;
        self.cwnd = 1.0;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        if cwnd < self.cwnd {
            // From a smaller window another stage begins.
            self.epoch = None;
        }
        self.cwnd = cwnd.max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9438, eq. 1 and 2: from β·W_max back to W_max in K = ∛(W_max (1 − β)/C) seconds, along the cubic.
    #[test]
    fn follows_the_cubic_by_hand() {
        let mut cubic = Cubic::new(10.0, 10.0);
        cubic.on_congestion(1000.0, 2.0);
        assert_eq!((cubic.cwnd, cubic.ssthresh, cubic.w_max), (700.0, 700.0, 1000.0));
        let k = libm::cbrt(1000.0 * 0.3 / 0.4);
        // One acknowledgement of a whole window for each round trip of 100 ms reaches its target every time.
        let srtt = Span::from_millis(100);
        let mut now = Time::ZERO;
        while now.since(Time::ZERO).as_secs() < k {
            let segments = cubic.cwnd;
            cubic.on_ack(&Ack { segments, now, srtt, round: None, limited: true, rate: None });
            now += srtt;
            let t = now.since(Time::ZERO).as_secs();
            let expected = 0.4 * (t - k) * (t - k) * (t - k) + 1000.0;
            // At t = 0 both curves start at the window, and the Reno estimate is the first to rise.
            let error = if t < 0.15 { 10.0 } else { 1e-9 };
            assert!((cubic.cwnd - expected).abs() < error, "{t}: {} and {expected}", cubic.cwnd);
        }
        assert!((cubic.cwnd - 1000.0).abs() < 0.1);
    }

    #[test]
    fn is_as_fast_as_reno_where_reno_is_faster() {
        // A short round trip and a small window: eq. 4, W_est grows by α per window.
        let mut cubic = Cubic::new(10.0, 10.0);
        cubic.on_congestion(20.0, 2.0);
        for n in 0..14 {
            cubic.on_ack(&Ack {
                segments: 1.0,
                now: Time(n),
                srtt: Span::from_millis(1),
                round: None,
                limited: true,
                rate: None,
            });
        }
        assert!((cubic.cwnd - (14.0 + ALPHA)).abs() < 0.02, "{}", cubic.cwnd);
    }

    #[test]
    fn a_flow_that_meets_its_limit_earlier_makes_room() {
        let mut cubic = Cubic::new(10.0, 10.0);
        cubic.on_congestion(100.0, 2.0);
        cubic.on_congestion(80.0, 2.0);
        assert_eq!(cubic.w_max, 80.0 * 0.85);
        cubic.on_timeout(50.0, true);
        assert_eq!((cubic.cwnd, cubic.ssthresh), (1.0, 35.0));
        cubic.set_cwnd(35.0);
        cubic.on_ack(&Ack {
            segments: 1.0,
            now: Time::ZERO,
            srtt: Span::from_millis(100),
            round: None,
            limited: true,
            rate: None,
        });
        assert_eq!((cubic.w_max, cubic.epoch), (35.0, Some((Time::ZERO, 0.0))), "RFC 9438, Sec. 4.8: K = 0");
    }
}
