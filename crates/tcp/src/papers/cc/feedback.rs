//! The window of a sender to which the acknowledgement of each packet carries its own [`CongestionSignal`]: DECbit's and
//! UT/LT's. What was sent before a change cannot show its effect, so its acknowledgements are skipped.

use crate::cc::{Ack, CongestionControl, CongestionSignal};

/// What a decrease leaves of the window.
const DECREASE: f64 = 0.875;

/// What a rule makes of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// It stays.
    Hold,
    /// It grows by so many segments.
    Increase(f64),
    /// It shrinks to 7/8.
    Decrease,
}

/// How signals become decisions.
pub trait FeedbackRule: Default + Send {
    /// Whether what was sent before an increase is skipped, too.
    const INCREASES_SKIP: bool;

    /// A signal of a packet that was sent with this window.
    fn decide(&mut self, signal: CongestionSignal, cwnd: f64) -> Decision;

    /// The window has changed: what was counted is forgotten.
    fn restart(&mut self);
}

/// The state of the window.
#[derive(Clone, Debug)]
pub struct FeedbackWindow<R> {
    cwnd: f64,
    /// The receiver's window, in segments.
    max: f64,
    /// Acknowledgements still to be skipped: those of what was sent before the last change.
    skip: u64,
    rule: R,
}

impl<R: FeedbackRule> FeedbackWindow<R> {
    /// A window, and the most that it may become, in segments.
    #[must_use]
    pub fn new(initial_window: f64, max: f64) -> FeedbackWindow<R> {
        FeedbackWindow { cwnd: initial_window.min(max), max, skip: 0, rule: R::default() }
    }

    /// A new window, between one segment and the receiver's.
    fn change(&mut self, cwnd: f64, skips: bool) {
        if skips {
            self.skip = self.cwnd as u64;
        }
        self.rule.restart();
        self.cwnd = cwnd.clamp(1.0, self.max.max(1.0));
    }
}

impl<R: FeedbackRule> CongestionControl for FeedbackWindow<R> {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        1.0
    }

    /// The window follows the signals alone.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_signal(&mut self, signal: CongestionSignal) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        let decision = self.rule.decide(signal, self.cwnd);
        match decision {
            Decision::Hold => {}
            Decision::Increase(segments) => self.change(self.cwnd + segments, R::INCREASES_SKIP),
            Decision::Decrease => self.change(self.cwnd * DECREASE, true),
        }
        decision == Decision::Decrease
    }

    fn on_congestion(&mut self, _window: f64, least: f64) {
        self.change((self.cwnd * DECREASE).max(least), true);
    }

    fn on_timeout(&mut self, _window: f64, cut: bool) {
        self.change(1.0, true);
        if cut {
            // What was sent before is sent again: its acknowledgements belong to the new window.
            self.skip = 0;
        }
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.change(cwnd, R::INCREASES_SKIP);
    }
}
