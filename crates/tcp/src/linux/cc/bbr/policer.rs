//! Whether a policer holds the rate: two intervals that end with losses, with a fifth lost, at nearly one rate
//! (bbr_lt_bw_sampling).

use super::{BW_SHIFT, UNIT, paced};
use crate::linux::cc::{Sample, Window};
use sluicegate_base::Time;

/// Rounds in an interval, the share that is lost in 1/256, and how many rounds the rate is held.
const ROUNDS: u32 = 4;
const LOSS: u64 = 50;
const MOST_ROUNDS: u32 = 48;

/// What is known of a policer (lt_…).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    in_use: bool,
    rate: u64,
    rounds: u32,
    since: Time,
    delivered: u64,
    lost: u64,
}

/// What a sample has changed.
pub(super) enum Verdict {
    /// Nothing.
    Same,
    /// A policer is found: its rate holds from now on.
    Found,
    /// Its rate has been held long enough.
    Over,
}

impl Policer {
    /// Its rate, while it holds.
    #[inline]
    pub fn rate(&self) -> Option<u64> {
        self.in_use.then_some(self.rate)
    }

    fn restart_interval(&mut self, window: &Window) {
        self.since = window.delivered_time;
        (self.delivered, self.lost, self.rounds) = (window.delivered, window.lost, 0);
    }

    /// Nothing is known any more.
    pub fn reset(&mut self, window: &Window) {
        *self = Policer::default();
        self.restart_interval(window);
    }

    /// A sample comes, perhaps with a new round; `cycling`: BBR is in ProbeBw.
    pub fn sample(&mut self, window: &Window, sample: &Sample, round_start: bool, cycling: bool) -> Verdict {
        if self.in_use {
            if cycling && round_start {
                self.rounds += 1;
                if self.rounds >= MOST_ROUNDS {
                    self.reset(window);
                    return Verdict::Over;
                }
            }
            return Verdict::Same;
        }
        if !self.sampling {
            if sample.losses == 0 {
                return Verdict::Same;
            }
            self.restart_interval(window);
            self.sampling = true;
        }
        if sample.is_app_limited {
            self.reset(window);
            return Verdict::Same;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < ROUNDS {
            return Verdict::Same;
        }
        if self.rounds > 4 * ROUNDS {
            self.reset(window);
            return Verdict::Same;
        }
        if sample.losses == 0 {
            return Verdict::Same;
        }
        let lost = window.lost.saturating_sub(self.lost);
        let delivered = window.delivered.saturating_sub(self.delivered);
        if delivered == 0 || (lost << 8) < LOSS * delivered {
            return Verdict::Same;
        }
        let ms = window.delivered_time.since(self.since).0 / 1_000_000;
        if ms < 1 {
            return Verdict::Same;
        }
        if ms >= u64::from(u32::MAX) / 1000 {
            self.reset(window);
            return Verdict::Same;
        }
        self.end_interval(window, (delivered << BW_SHIFT) / (ms * 1000))
    }

    fn end_interval(&mut self, window: &Window, rate: u64) -> Verdict {
        let before = self.rate;
        if before > 0 {
            let apart = rate.abs_diff(before);
            let bytes = paced(apart, UNIT, window.mss).0 / 8;
            if apart.saturating_mul(UNIT) <= before.saturating_mul(32) || bytes <= 500 {
                self.rate = (rate + before) / 2;
                (self.in_use, self.rounds) = (true, 0);
                return Verdict::Found;
            }
        }
        self.rate = rate;
        self.restart_interval(window);
        Verdict::Same
    }
}
