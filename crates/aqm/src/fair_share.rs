//! The controller of a fair share, which AFD and DCN have in common: it moves the number of packets that each flow may send in
//! an interval so that the queue stays near a target.
//!
//! ```text
//! share ← share + a·(q_old − q_ref) − b·(q − q_ref)
//! ```
//!
//! Drops act on the queue at once. If the share grows by one packet, G more packets enter the queue until the next update.
//! So the loop is a sum of sums: with e = q − q_ref, a' = a·G and b' = b·G,
//!
//! ```text
//! e(k+1) = e(k) + r(k),   r(k) = r(k−1) + a'·e(k−1) − b'·e(k):     z² − (2 − b')·z + (1 − a') = 0
//! ```
//!
//! It is stable if 0 < a' < b' and a' + b' < 4; a' = b' − b'²/4 makes both roots 1 − b'/2: critical damping. [`Gains::of`] takes
//! b' as `gain`: the fraction of a sudden error that is gone one update later. At 2/9 the ratio of the gains is a/b = 17/18,
//! AFD's 1.7/1.8; the loop is stable up to 9.3 times the G that it was made for, and its phase margin is 69°. Half of an error
//! that has stood for two updates is gone after 14 more. Half of a burst is gone after 3, and the queue then falls short of its
//! target by 15 % of the burst, as with any sum of sums.
//!
//! TCP makes the loop faster below the frequency of its round trips, because windows shrink with the drops that the share
//! causes: at a drop probability p by a factor 1 + (1 − p)/(2p) at most. That is 5.5 at p = 10 %; where p is below 5.7 %, it is
//! more than the margin of 9.3. There stability requires round trips slower than the loop, which crosses an amplitude of 1 at
//! 0.22 radians an update: 36 radians a second with updates of 6.25 ms. Round trips of 28 ms or more are slower than that. A
//! gain above 0.3 leaves too little margin.

/// The gains of one update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Of the queue one update ago.
    pub a: f64,
    /// Of the queue now.
    pub b: f64,
}

impl Gains {
    /// The gains for a share of which one packet changes what enters the queue until the next update by `effect` packets,
    /// above 0. `gain`: the part of a sudden error of the queue that one update takes away by the next, above 0 and at most 1.
    ///
    /// ```
    /// # use sluicegate_aqm::fair_share::Gains;
    /// // DCN with 2000 flows in HB, updated 128 times in T_dec.
    /// let gains = Gains::of(2.0 / 9.0, 2000.0 / 128.0);
    /// assert!((gains.b - 0.0142).abs() < 1e-4 && (gains.a / gains.b - 1.7 / 1.8).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn of(gain: f64, effect: f64) -> Gains {
        let b = gain / effect;
        Gains { a: b * Gains::ratio(gain), b }
    }

    /// a/b at critical damping.
    #[must_use]
    pub fn ratio(gain: f64) -> f64 {
        1.0 - gain / 4.0
    }

    /// By how much the share moves, from what the queue is above its target, one update ago and now.
    #[must_use]
    pub fn step(self, before: f64, now: f64) -> f64 {
        self.a * before - self.b * now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The loop of the module comment with its effect `times` what the gains were made for, from an error of 100 packets.
    fn error_after(updates: u32, gain: f64, times: f64) -> f64 {
        let gains = Gains::of(gain, 1.0);
        let (mut before, mut now, mut excess) = (100.0, 100.0, 0.0);
        for _ in 0..updates {
            excess += times * gains.step(before, now);
            (before, now) = (now, now + excess);
        }
        now
    }

    #[test]
    fn a_standing_error_goes_without_overshoot() {
        for gain in [0.05, 2.0 / 9.0, 1.0] {
            let errors: Vec<f64> = (0..200).map(|k| error_after(k, gain, 1.0)).collect();
            assert!(errors.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9) && errors[199] < 5.0, "{gain}");
        }
    }

    /// From 0 to 1 at once: 2/9 of it are gone after an update, half after 3, and it falls short by 15 % after 16.
    #[test]
    fn a_burst_falls_short_once() {
        let gains = Gains::of(2.0 / 9.0, 1.0);
        let (mut errors, mut excess) = (alloc::vec![0.0, 1.0], 0.0);
        for k in 1..200 {
            excess += gains.step(errors[k - 1], errors[k]);
            errors.push(errors[k] + excess);
        }
        assert!((errors[2] - 7.0 / 9.0).abs() < 1e-12 && errors[3] > 0.5 && errors[4] < 0.5);
        let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
        assert!((least + 0.152).abs() < 0.001 && errors[17] == least);
        assert!(errors[17..].windows(2).all(|pair| pair[0] <= pair[1]), "and comes back");
    }

    /// a' + b' = 4 is the limit: 9.3 times the effect at 2/9.
    #[test]
    fn the_loop_is_stable_up_to_its_margin() {
        let gain = 2.0 / 9.0;
        let margin = 4.0 / (gain + gain * Gains::ratio(gain));
        assert!((margin - 9.26).abs() < 0.01);
        assert!(error_after(2000, gain, 0.98 * margin).abs() < 1.0);
        assert!(error_after(2000, gain, 1.02 * margin).abs() > 1e3);
    }
}
