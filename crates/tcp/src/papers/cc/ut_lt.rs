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
//! | nothing on when a source decides | each acknowledgement moves the window by its own label; after a decrease those of what was sent before it are passed over | one label is enough to act on, and one congestion should cause one decrease; an increase is 1/window for each acknowledgement |
//! | information "is added to each packet" | the label of the packet (`crates/aqm/src/ut_lt.rs`); the acknowledgement has two bits for it: ECN's echo for congestion, and one for a queue between the thresholds | three values need two bits |
//! | nothing on other gateways | all packets may be marked; a mark counts as a queue above its upper threshold | what a mark says; without it a queue that only marks would seem light |
//! | nothing on labels that mean something else | CSFQ's and RIO's are taken for UT/LT's | the packet has one field; on such a path this host makes no sense |
//! | nothing on losses | a timeout or three duplicates close the window to one segment, as with DECbit's; it then grows by the rule above | the same recovery for both |
//! | nothing on the start | the host's `initial_window`; no slow start, never above the advertised window | as DECbit's. A connection that starts while queues stand between the thresholds keeps its initial window: the rule favours connections that came first |

use super::feedback::{Decision, FeedbackRule, FeedbackWindow};
use crate::cc::CongestionSignal;

/// UT/LT's window.
pub type UtLt = FeedbackWindow<EachLabel>;

/// Every label decides by itself.
#[derive(Clone, Debug, Default)]
pub struct EachLabel;

impl FeedbackRule for EachLabel {
    const INCREASES_SKIP: bool = false;

    fn decide(&mut self, signal: CongestionSignal, cwnd: f64) -> Decision {
        match signal {
            CongestionSignal::Light => Decision::Increase(1.0 / cwnd),
            CongestionSignal::Between => Decision::Hold,
            CongestionSignal::Congested => Decision::Decrease,
        }
    }

    fn restart(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
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
