//! # Vegas's window as ns-2 has it
//!
//! [Vegas](super::Vegas) after `tcp-vegas.cc` of ns-2.35, with the measurements and the recovery of
//! [`crate::recovery::VegasNs2`]; together they give every acknowledgement when ns-2 has it
//! (`crates/netsim/tests/ns2_traces.rs`).
//!
//! | what the paper says | what ns-2 does, and we with it |
//! |---|---|
//! | Brakmo & Peterson: Diff is compared with α, β and γ | Diff is rounded first |
//! | the round trip of one segment | the mean over all segments of the round that were sent once |
//! | BaseRTT is the shortest round trip | or that of a round with a single segment, even if longer |
//! | slow start doubles in every other round trip | and ends for γ only after a round in which it doubled |
//! | the window grows by 1/cwnd for each acknowledgement | not while it is more than two segments ahead of what is under way |
//! | a timeout closes the window to one segment | to two; what the last round decided goes on |
//! | nothing on marks | a mark halves window and threshold; ns-2's Vegas lets no packet be marked, ours with `ecn` |

use super::{CongestionControl, TimedAck, TimedRound, VegasLaw, whole};
use crate::cc::Ack;

/// The least window that Diff leaves, the window after a timeout, and the threshold that keeps slow start from coming back.
const LEAST: f64 = 2.0;

/// The state of the window.
#[derive(Clone, Debug)]
pub struct VegasNs2 {
    law: VegasLaw,
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
    pub fn new(initial_window: f64, initial_ssthresh: f64, law: VegasLaw) -> VegasNs2 {
        VegasNs2 { law, cwnd: initial_window, ssthresh: whole(initial_ssthresh), growth: 0.0, doubles: true }
    }

    /// The decision of one round.
    fn decide(&mut self, round: TimedRound, flight: f64) {
        // (Expected − Actual) · BaseRTT, with Expected = flight/BaseRTT and Actual = sent/RTT; the whole part towards zero.
        let diff = (flight - round.sent * (round.base.0 as f64 / round.rtt.0 as f64) + 0.5) as i64 as f64;
        if self.cwnd < self.ssthresh {
            self.doubles = !self.doubles;
            self.growth = f64::from(u8::from(self.doubles && diff <= self.law.gamma));
            if self.doubles && diff > self.law.gamma {
                self.ssthresh = LEAST;
                self.cwnd = (self.cwnd * 7.0 / 8.0).max(LEAST);
            }
        } else if diff > self.law.beta {
            self.growth = 0.0;
            self.cwnd = (self.cwnd - 1.0).max(LEAST);
        } else {
            self.growth = if diff < self.law.alpha { 1.0 / self.cwnd } else { 0.0 };
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
