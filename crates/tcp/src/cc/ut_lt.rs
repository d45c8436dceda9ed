//! # UT/LT's window
//!
//! Gateways write on each packet how their queues stand to a lower and an upper threshold, the receiver copies the
//! greatest label into the acknowledgement, and the source follows it (Pingali, Tipper & Hammond 1990, after RED 1993,
//! Sec. II-B): it increases its window only if all queues on the path were below the lower thresholds, decreases it if any
//! was above its upper one, and otherwise leaves it as it is.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | "increases", "decreases", without numbers | by one segment in a round trip of light load, to 7/8 for congestion | chosen here: as DECbit's window, so that the two algorithms differ in their feedback alone |
//! | nothing on when a source decides | each acknowledgement moves the window by its own label; after a decrease those of what was sent before it are passed over | one label is enough to act on, and one congestion one decrease; an increase is 1/window for each acknowledgement |
//! | information "is added to each packet" | the label of the packet (`crates/aqm/src/ut_lt.rs`), of which the acknowledgement carries one bit, and another for congestion, which is ECN's echo | three values need two bits |
//! | nothing on other gateways | all packets may be marked; a mark counts as a queue above its upper threshold | what a mark says; without it a queue that only marks would seem light |
//! | nothing on labels that mean something else | CSFQ's and RIO's are taken for UT/LT's | the packet has one field; on such a path this host makes no sense |
//! | nothing on losses | a timeout or three duplicates close the window to one segment, as with DECbit's; it then grows by the rule above | the same recovery for both |
//! | nothing on the start | the host's `initial_window`; no slow start, never above the advertised window | as DECbit's. A connection that starts while queues stand between the thresholds stays at that: the rule gives the window to who came first |

use super::{Ack, CongestionControl, CongestionSignal};

/// What the window shrinks to.
const DECREASE: f64 = 0.875;

/// The state of the window.
#[derive(Clone, Debug)]
pub struct UtLt {
    cwnd: f64,
    /// The receiver's window, in segments.
    most: f64,
    /// Acknowledgements still to be passed over: those of what was sent before the last decrease.
    skip: u64,
}

impl UtLt {
    /// A window, and the most that it may become, in segments.
    #[must_use]
    pub fn new(initial_window: f64, most: f64) -> UtLt {
        UtLt { cwnd: initial_window.min(most), most, skip: 0 }
    }

    /// A new window, between one segment and the receiver's.
    fn change(&mut self, cwnd: f64) {
        self.cwnd = cwnd.min(self.most).max(1.0);
    }

    /// A smaller window: what was sent under the old one is passed over.
    fn shrink(&mut self, cwnd: f64) {
        self.skip = self.cwnd as u64;
        self.change(cwnd);
    }
}

impl CongestionControl for UtLt {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> f64 {
        1.0
    }

    /// The window follows the labels alone.
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_signal(&mut self, signal: CongestionSignal) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        match signal {
            CongestionSignal::Light => self.change(self.cwnd + 1.0 / self.cwnd),
            CongestionSignal::Between => {}
            CongestionSignal::Congested => self.shrink(self.cwnd * DECREASE),
        }
        signal == CongestionSignal::Congested
    }

    fn on_congestion(&mut self, _window: f64, least: f64) {
        self.shrink((self.cwnd * DECREASE).max(least));
    }

    fn on_timeout(&mut self, _window: f64, cut: bool) {
        self.shrink(1.0);
        if cut {
            // What was sent before is sent again: its acknowledgements belong to the new window.
            self.skip = 0;
        }
    }

    fn set_cwnd(&mut self, cwnd: f64) {
        self.change(cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Gives labels and notes the window after each.
    fn replay(window: &mut UtLt, labels: &[u32]) -> Vec<f64> {
        labels
            .iter()
            .map(|label| {
                window.on_signal(CongestionSignal::new(*label, false));
                window.cwnd()
            })
            .collect()
    }

    /// The rule by hand, from a window of 2.
    #[test]
    fn grows_below_lt_holds_between_and_shrinks_above_ut() {
        let mut window = UtLt::new(2.0, 64.0);
        // 2 + 1/2, 2.5 + 1/2.5, then two that hold it, then 7/8 of 2.9.
        assert_eq!(replay(&mut window, &[0, 0, 1, 1, 2]), [2.5, 2.9, 2.9, 2.9, 2.5375]);
        // Two were under way, whatever they met; the third speaks for the new window.
        assert_eq!(replay(&mut window, &[2, 0, 2]), [2.5375, 2.5375, 2.5375 * 0.875]);
        assert!(
            !window.on_signal(CongestionSignal::Congested) && !window.on_signal(CongestionSignal::Congested),
            "passed over"
        );
        assert!(window.on_signal(CongestionSignal::new(0, true)), "a mark is congestion, whatever the label says");
    }

    #[test]
    fn stays_between_one_segment_and_the_receivers_window() {
        let mut window = UtLt::new(2.0, 3.0);
        assert_eq!(replay(&mut window, &[0; 10])[9], 3.0);
        assert_eq!(replay(&mut window, &[2; 100])[99], 1.0);
        assert_eq!(UtLt::new(9.0, 3.0).cwnd(), 3.0);
    }

    #[test]
    fn a_loss_closes_it_to_one_segment_and_it_grows_by_the_same_rule() {
        let mut window = UtLt::new(10.0, 64.0);
        window.on_timeout(10.0, true);
        assert_eq!(replay(&mut window, &[0, 0, 1]), [2.0, 2.5, 2.5]);
    }
}
