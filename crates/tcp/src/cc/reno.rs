//! # Reno
//!
//! Slow start, congestion avoidance, fast retransmit and fast recovery (Jacobson 1990; RFC 2581), as ns-2's
//! `Agent/TCP/Reno` runs them.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 5681: ssthresh = max(flight/2, 2) | half of min(cwnd + inflation, wnd), whole segments, at least 2; cwnd takes the half with its fraction | ns-2, `slowdown` with `precisionReduce_` |
//! | RFC 5681: cwnd = ssthresh + 3 on entry, deflated to ssthresh on exit | cwnd is the half, the inflation is counted apart and dropped at the first new acknowledgement | the same window; ns-2's `dupwnd_` |
//! | nothing on several losses in a window | no second halving until an acknowledgement passes the highest byte sent at the last one | ns-2, `bug_fix_`; RFC 6582's "recover" |
//! | a window below the receiver's | cwnd grows on, even when the receiver's window limits | ns-2; the sender takes the smaller |

use super::{CongestionControl, DUP_THRESH, Event, Reaction};

/// The state of a Reno sender.
#[derive(Clone, Debug)]
pub struct Reno {
    cwnd: f64,
    ssthresh: f64,
    /// Segments that duplicate acknowledgements have added during fast recovery.
    inflation: u64,
    /// Whether a fast retransmit is being recovered from.
    recovering: bool,
    /// The byte that an acknowledgement must pass before the next fast retransmit.
    recover: Option<u64>,
}

impl Reno {
    /// A sender with this window and threshold, in segments.
    #[must_use]
    pub fn new(initial_window: f64, initial_ssthresh: f64) -> Reno {
        let ssthresh = whole(initial_ssthresh);
        Reno { cwnd: initial_window, ssthresh, inflation: 0, recovering: false, recover: None }
    }

    fn halve(&mut self, wnd: f64) -> f64 {
        let half = (self.cwnd + self.inflation as f64).min(wnd) / 2.0;
        self.ssthresh = whole(half).max(2.0);
        half
    }
}

/// The whole part; windows are far below 2⁵³.
fn whole(x: f64) -> f64 {
    x as u64 as f64
}

impl CongestionControl for Reno {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        self.ssthresh
    }

    fn inflation(&self) -> u64 {
        self.inflation
    }

    fn on_ack(&mut self, _event: &Event) -> Reaction {
        self.recovering = false;
        self.inflation = 0;
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
        Reaction::Nothing
    }

    fn on_dup_ack(&mut self, event: &Event) -> Reaction {
        if event.dupacks > DUP_THRESH && self.recovering {
            self.inflation += 1;
        } else if event.dupacks == DUP_THRESH && self.recover.is_none_or(|recover| event.una > recover) {
            self.recover = Some(event.max);
            self.recovering = true;
            self.cwnd = self.halve(event.wnd).max(1.0);
            self.inflation = u64::from(DUP_THRESH);
            return Reaction::Retransmit;
        }
        Reaction::Nothing
    }

    fn on_timeout(&mut self, event: &Event) {
        self.inflation = 0;
        self.recovering = false;
        self.recover = Some(event.max);
        self.halve(event.wnd);
        self.cwnd = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(una: u64, max: u64, dupacks: u32) -> Event {
        Event { una, max, dupacks, wnd: 100.0 }
    }

    /// RFC 2581 by hand: slow start to the threshold, one segment per round trip above it, halving, inflation, deflation.
    #[test]
    fn replays_fast_recovery() {
        let mut reno = Reno::new(2.0, 4.0);
        reno.on_ack(&event(1, 4, 0));
        reno.on_ack(&event(2, 6, 0));
        assert_eq!((reno.cwnd, reno.ssthresh), (4.0, 4.0), "slow start: one segment per acknowledgement");
        reno.on_ack(&event(3, 7, 0));
        assert_eq!(reno.cwnd, 4.25, "congestion avoidance: 1/cwnd");
        for dup in 1..3 {
            assert_eq!(reno.on_dup_ack(&event(3, 7, dup)), Reaction::Nothing);
        }
        assert_eq!(reno.on_dup_ack(&event(3, 7, 3)), Reaction::Retransmit);
        assert_eq!((reno.cwnd, reno.ssthresh, reno.inflation), (2.125, 2.0, 3));
        reno.on_dup_ack(&event(3, 7, 4));
        assert_eq!(reno.inflation, 4, "each further duplicate stands for a packet that has left");
        reno.on_ack(&event(7, 8, 0));
        assert_eq!((reno.inflation, reno.cwnd), (0, 2.125 + 1.0 / 2.125), "deflated at the first new acknowledgement");
    }

    #[test]
    fn one_halving_per_window() {
        let mut reno = Reno::new(10.0, 5.0);
        assert_eq!(reno.on_dup_ack(&event(10, 20, 3)), Reaction::Retransmit);
        reno.on_ack(&event(15, 22, 0));
        assert_eq!(reno.on_dup_ack(&event(15, 22, 3)), Reaction::Nothing, "15 has not passed 20");
        assert_eq!(reno.on_dup_ack(&event(20, 25, 3)), Reaction::Nothing, "nor has 20");
        assert_eq!(reno.on_dup_ack(&event(21, 26, 3)), Reaction::Retransmit);
    }

    #[test]
    fn a_timeout_closes_the_window_to_one() {
        let mut reno = Reno::new(10.0, 5.0);
        reno.on_timeout(&event(10, 20, 0));
        assert_eq!((reno.cwnd, reno.ssthresh), (1.0, 5.0));
        reno.on_timeout(&event(10, 20, 0));
        assert_eq!((reno.cwnd, reno.ssthresh), (1.0, 2.0), "never below two segments");
    }
}
