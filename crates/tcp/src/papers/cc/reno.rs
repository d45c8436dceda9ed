//! # Reno's window
//!
//! Slow start, then one segment more for each round trip; half after a loss (Jacobson 1988; RFC 5681). Tahoe, Reno,
//! NewReno and SACK share it.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 5681: ssthresh = max(flight/2, 2) | half of the window that could be under way, in whole segments, at least 2; cwnd becomes this half with its fraction, but not less than `least`, which the sender passes to `on_congestion` | ns-2, `slowdown` with `precisionReduce_`; the same for a greedy sender |
//! | RFC 5681 allows counting acknowledged bytes (RFC 3465) | each acknowledgement counts once | ns-2, `opencwnd`; RFC 5681 permits it |
//! | RFC 5681: cwnd need not grow past the receiver's window | it grows on | ns-2; the sender takes the smaller |

use super::whole;
use crate::cc::{Ack, CongestionControl};

/// The state of the window.
#[derive(Clone, Debug)]
pub struct Reno {
    cwnd: f64,
    ssthresh: f64,
}

impl Reno {
    /// A window and a threshold, in segments.
    #[must_use]
    pub fn new(initial_window: f64, initial_ssthresh: f64) -> Reno {
        Reno { cwnd: initial_window, ssthresh: whole(initial_ssthresh) }
    }

    /// The whole segments that the window holds.
    #[inline]
    pub(crate) fn segments(&self) -> u32 {
        self.cwnd as u32
    }

    /// An acknowledgement lets the window grow.
    #[inline]
    pub(crate) fn grow(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if ack.limited {
            self.grow();
        }
    }

    fn on_congestion(&mut self, window: f64, least: f64) {
        self.ssthresh = whole(window / 2.0).max(2.0);
        self.cwnd = (window / 2.0).max(least);
    }

    fn on_timeout(&mut self, window: f64, cut: bool) {
        if cut {
            self.ssthresh = whole(window / 2.0).max(2.0);
        }
        self.cwnd = 1.0;
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = cwnd.max(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::{Span, Time};

    const ACK: Ack = Ack { segments: 1.0, now: Time::ZERO, srtt: Span::ZERO, round: None, limited: true, rate: None };

    /// RFC 5681 by hand.
    #[test]
    fn grows_by_one_for_each_acknowledgement_then_for_each_window() {
        let mut reno = Reno::new(2.0, 4.0);
        reno.on_ack(&ACK);
        reno.on_ack(&ACK);
        assert_eq!(reno.cwnd, 4.0, "slow start");
        reno.on_ack(&ACK);
        assert_eq!(reno.cwnd, 4.25, "congestion avoidance: 1/cwnd");
        reno.on_congestion(4.25, 2.0);
        assert_eq!((reno.cwnd, reno.ssthresh), (2.125, 2.0));
        reno.on_congestion(2.5, 2.0);
        assert_eq!((reno.cwnd, reno.ssthresh), (2.0, 2.0));
        reno.on_congestion(1.0, 0.0);
        assert_eq!((reno.cwnd, reno.ssthresh), (0.5, 2.0));
    }

    #[test]
    fn a_timeout_closes_the_window_to_one() {
        let mut reno = Reno::new(10.0, 5.0);
        reno.on_timeout(10.0, true);
        assert_eq!((reno.cwnd, reno.ssthresh), (1.0, 5.0));
        reno.on_timeout(1.0, true);
        assert_eq!((reno.cwnd, reno.ssthresh), (1.0, 2.0), "never below two segments");
        reno.on_timeout(100.0, false);
        assert_eq!(reno.ssthresh, 2.0, "once for each window");
    }
}
