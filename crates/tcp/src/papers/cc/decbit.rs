//! # DECbit's window
//!
//! The gateway sets a bit in the packets that meet congestion, the receiver copies it into the acknowledgement of each,
//! and the source decides from the bits of a whole window (Ramakrishnan & Jain 1990; RED 1993, Secs. II and IX): where
//! at least half of them are set the window shrinks to 7/8, otherwise it grows by one segment. The first window after a
//! change is not counted, because its packets were sent before the change could show; so it decides every two round
//! trips.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RED 1993: "decreased exponentially", "increased linearly" | × 0.875 and + 1 | Ramakrishnan & Jain 1990, by recollection: neither paper's text gives the numbers |
//! | a decision every two round trips | after as many acknowledgements as the old window and the new one hold, in whole segments | every packet is acknowledged by itself, so acknowledgements count packets |
//! | a bit of its own in the packet header | the ECN field of the IP packet: capable, and set by whatever marks | one way of marking for all disciplines |
//! | the receiver copies the bit of each packet; acknowledgements may cover several | each packet is acknowledged at once, with its own bit; `delayed_ack` must be 0 s | RFC 3168's echo, which lasts until it is answered, would count one mark many times |
//! | nothing on losses; the transport below was DNA or ISO TP4 | a timeout or three duplicates close the window to one segment and send on from the lost one, as Tahoe; it then grows by the rule above, without slow start | Jain's CUTE (1986), which DNA used with it, closes the window to one; waiting for timers alone would punish this transport for a recovery that is not its subject |
//! | the window starts at one packet and stays below the receiver's | at the host's `initial_window`; never above the advertised window | the other hosts' start; above it no decision would change what is sent |

use super::feedback::{Decision, FeedbackRule, FeedbackWindow};
use super::whole;
use crate::cc::CongestionSignal;

/// The share of set bits from which the window shrinks.
const SHARE: f64 = 0.5;

/// DECbit's window.
pub type DecBit = FeedbackWindow<MajorityOfBits>;

/// The bits of a window, as they come.
#[derive(Clone, Debug, Default)]
pub struct MajorityOfBits {
    /// Acknowledgements counted since the last change, and those with the bit set.
    counted: u64,
    set: u64,
}

impl FeedbackRule for MajorityOfBits {
    const INCREASES_SKIP: bool = true;

    fn decide(&mut self, signal: CongestionSignal, cwnd: f64) -> Decision {
        self.counted += 1;
        self.set += u64::from(signal == CongestionSignal::Congested);
        if (self.counted as f64) < whole(cwnd) {
            Decision::Hold
        } else if self.set as f64 >= SHARE * self.counted as f64 {
            Decision::Decrease
        } else {
            Decision::Increase(1.0)
        }
    }

    fn restart(&mut self) {
        *self = MajorityOfBits::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionControl;
    use alloc::vec::Vec;

    /// Gives bits (1 set, 0 clear) and notes the window after each.
    fn replay(window: &mut DecBit, bits: &[u8]) -> Vec<f64> {
        bits.iter()
            .map(|bit| {
                window.on_signal(CongestionSignal::new(0, *bit == 1));
                window.cwnd()
            })
            .collect()
    }

    /// The rule by hand: a window of 2 decides after 2 bits, then each decision takes the old window and the new one.
    #[test]
    fn decides_every_two_windows_by_the_bits_of_the_second() {
        let mut window = DecBit::new(2.0, 64.0);
        assert_eq!(replay(&mut window, &[0, 0]), [2.0, 3.0], "nothing was sent before the first window");
        // 2 passed over, bits set or not; then 1 of 3 set: less than half.
        assert_eq!(replay(&mut window, &[1, 1, 0, 1, 0]), [3.0, 3.0, 3.0, 3.0, 4.0]);
        // 3 passed over; then 2 of 4: half is enough.
        assert_eq!(replay(&mut window, &[0, 0, 0, 1, 0, 0, 1]), [4.0, 4.0, 4.0, 4.0, 4.0, 4.0, 3.5]);
        // 4 passed over; then 3 of a window of 3 whole segments.
        assert_eq!(replay(&mut window, &[0, 0, 0, 0, 1, 1, 1])[6], 3.0625);
        // 3 passed over; 1 of 3 set.
        assert_eq!(replay(&mut window, &[1, 1, 1, 0, 0, 1])[5], 4.0625);
    }

    #[test]
    fn stays_between_one_segment_and_the_receivers_window() {
        let mut window = DecBit::new(2.0, 3.0);
        replay(&mut window, &[0; 40]);
        assert_eq!(window.cwnd(), 3.0);
        replay(&mut window, &[1; 400]);
        assert_eq!(window.cwnd(), 1.0);
    }

    #[test]
    fn a_loss_closes_it_to_one_segment_and_it_grows_by_the_same_rule() {
        let mut window = DecBit::new(10.0, 64.0);
        replay(&mut window, &[0; 7]);
        window.on_timeout(10.0, true);
        // One bit decides at one segment, then 1 + 2, then 2 + 3.
        assert_eq!(replay(&mut window, &[0, 0, 0, 0, 0, 0, 0, 0, 0]), [2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0, 4.0]);
    }
}
