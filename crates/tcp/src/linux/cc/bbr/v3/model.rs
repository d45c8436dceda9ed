//! What BBR knows of its path: rates, and how much fits, as acknowledgements and losses tell.

use super::{AckPhase, Bbr3, FULL_LOSSES, LOSS_THRESH, Mode, NONE};
use crate::linux::cc::bbr::{BW_SHIFT, UNIT, bdp, micros};
use crate::linux::cc::{Sample, State, Window};

impl Bbr3 {
    /// Rounds and rates (BBRUpdateLatestDeliverySignals, BBRUpdateMaxBw, BBRUpdateCongestionSignals).
    pub(super) fn update_model(&mut self, window: &Window, sample: &Sample) {
        (self.round_start, self.loss_round_start) = (false, false);
        self.losses_in_round = self.losses_in_round.saturating_add(u32::from(sample.losses > 0));
        self.loss_in_round |= sample.losses > 0;
        let Some(prior) = sample.prior_delivered.filter(|_| sample.interval.0 > 0) else { return };
        let bw = (u128::from(sample.delivered) << BW_SHIFT) / u128::from(micros(sample.interval).max(1));
        let bw = u64::try_from(bw).unwrap_or(u64::MAX);
        self.bw_latest = self.bw_latest.max(bw);
        self.inflight_latest = self.inflight_latest.max(u32::try_from(sample.delivered).unwrap_or(NONE));
        if prior >= self.next_round {
            self.start_round(window);
            self.round_start = true;
            self.rounds_since_probe = self.rounds_since_probe.saturating_add(1);
            self.recovery.conserve = false;
        }
        if prior >= self.loss_round_delivered {
            self.loss_round_delivered = window.delivered;
            self.loss_round_start = true;
        }
        if bw >= self.max_bw() || !sample.is_app_limited {
            self.max_bw[0] = self.max_bw[0].max(bw);
        }
        self.check_startup(window, sample, bw);
        if self.loss_round_start {
            if self.loss_in_round && !self.probing() {
                self.lower_bounds(window);
            }
            self.loss_in_round = false;
        }
    }

    /// A round with a loss: the short-term bounds fall (BBRAdaptLowerBoundsFromCongestion).
    fn lower_bounds(&mut self, window: &Window) {
        let (bw, inflight) = (self.bw_shortterm.min(self.max_bw()), self.inflight_shortterm.min(window.cwnd));
        self.bw_shortterm = self.bw_latest.max((bw as f64 * 0.7) as u64);
        self.inflight_shortterm = self.inflight_latest.max((f64::from(inflight) * 0.7) as u32);
    }

    /// Whether the rate stays (BBRCheckFullBWReached), or too much is lost (BBRCheckStartupHighLoss).
    fn check_startup(&mut self, window: &Window, sample: &Sample, bw: u64) {
        if self.round_start && !self.full_bw_now && !sample.is_app_limited {
            if bw >= self.full_bw.saturating_mul(5) / 4 {
                self.reset_full_bw();
                self.full_bw = bw;
            } else {
                self.full_bw_count += 1;
                self.full_bw_now = self.full_bw_count >= 3;
                self.full_bw_reached |= self.full_bw_now;
            }
        }
        if self.loss_round_start {
            let lost = window.lost.saturating_sub(self.round_lost) as f64;
            let delivered = window.delivered.saturating_sub(self.round_delivered_before) as f64;
            let high = lost > LOSS_THRESH * (delivered + lost) && self.losses_in_round >= FULL_LOSSES;
            if self.mode == Mode::Startup && window.state == State::Recovery && high && !self.full_bw_reached {
                self.full_bw_reached = true;
                self.inflight_longterm = bdp(window, self.min_rtt, self.max_bw(), UNIT).max(self.inflight_latest);
            }
            (self.round_lost, self.round_delivered_before) = (window.lost, window.delivered);
            self.losses_in_round = 0;
        }
    }

    /// What fits grows twice as fast each round (BBRRaiseInflightLongtermSlope).
    pub(super) fn raise_slope(&mut self, window: &Window) {
        let growth = 1 << self.probe_up_rounds;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(30);
        self.probe_up_count = (window.cwnd / growth).max(1);
    }

    /// How much fits (BBRAdaptLongTermModel).
    pub(super) fn adapt_longterm(&mut self, window: &mut Window, sample: &Sample) {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.ack_phase = AckPhase::Init;
            if self.in_probe_bw() && !sample.is_app_limited {
                // The next cycle of the filter.
                self.max_bw = [0, self.max_bw[0]];
                self.max_bw[0] = self.bw_latest;
            }
        }
        let lost = window.lost.saturating_sub(sample.prior_lost) as f64;
        let too_high = sample.prior_delivered.is_some() && lost > f64::from(sample.tx_in_flight) * LOSS_THRESH;
        if too_high {
            if self.probe_samples {
                self.on_too_high(window, sample);
            }
            return;
        }
        if self.inflight_longterm == NONE {
            return;
        }
        self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
        if self.mode == Mode::Up && window.is_limited() && window.cwnd >= self.inflight_longterm {
            self.probe_up_acks = self.probe_up_acks.saturating_add(sample.acked_sacked);
            let more = self.probe_up_acks / self.probe_up_count;
            self.probe_up_acks %= self.probe_up_count;
            self.inflight_longterm = self.inflight_longterm.saturating_add(more).min(NONE - 1);
            if self.round_start {
                self.raise_slope(window);
            }
        }
    }

    /// More than 2 % of what was under way is lost (BBRHandleInflightTooHigh).
    fn on_too_high(&mut self, window: &Window, sample: &Sample) {
        self.probe_samples = false;
        if !sample.is_app_limited {
            let target = bdp(window, self.min_rtt, self.bw(), UNIT).min(window.cwnd);
            self.inflight_longterm = sample.tx_in_flight.max((f64::from(target) * 0.7) as u32).max(1);
        }
        if self.mode == Mode::Up {
            self.start_down(window);
        }
    }
}
