//! How much more is acknowledged than the rate accounts for, where acknowledgements are aggregated
//! (bbr_update_ack_aggregation).

use super::{BW_SHIFT, micros};
use crate::linux::cc::{Sample, Window};
use sluicegate_base::Time;

/// Rounds of a window, the bound in time, and when counting starts anew.
const ROUNDS: u32 = 5;
const TIME_US: u64 = 100_000;
const RESET: u64 = 1 << 20;

/// What comes beyond the rate (extra_acked): the most of this window and of the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    most: [u64; 2],
    at: usize,
    rounds: u32,
    epoch: Time,
    acked: u64,
}

impl Aggregation {
    /// Counting starts anew.
    pub fn begin(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0);
    }

    /// A sample comes while the rate is this, perhaps with a new round.
    pub fn update(&mut self, window: &Window, sample: &Sample, rate: u64, round_start: bool) {
        if sample.acked_sacked == 0 || sample.prior_delivered.is_none() || sample.interval.0 == 0 {
            return;
        }
        if round_start {
            self.rounds = (self.rounds + 1).min(31);
            if self.rounds >= ROUNDS {
                self.rounds = 0;
                self.at = 1 - self.at;
                self.most[self.at] = 0;
            }
        }
        let time = micros(window.delivered_time.since(self.epoch));
        let mut expected = rate.saturating_mul(time) >> BW_SHIFT;
        if self.acked <= expected || self.acked + u64::from(sample.acked_sacked) >= RESET {
            self.begin(window.delivered_time);
            expected = 0;
        }
        self.acked = (self.acked + u64::from(sample.acked_sacked)).min(0xf_ffff);
        let beyond = self.acked.saturating_sub(expected).min(window.cwnd.into());
        let most = &mut self.most[self.at];
        *most = beyond.max(*most);
    }

    /// How much larger the window is for it.
    pub fn cwnd(&self, rate: u64) -> u32 {
        self.most[0].max(self.most[1]).min(rate.saturating_mul(TIME_US) >> BW_SHIFT) as u32
    }
}
