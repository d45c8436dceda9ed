//! The least round trip: how long an estimate holds, and how a new one is measured.

use super::{AckPhase, Bbr3, Mode};
use crate::linux::cc::bbr::{LEAST_CWND, MIN_RTT_AGE, PROBE_RTT_TIME, UNIT, bdp};
use crate::linux::cc::{Sample, Window};
use sluicegate_base::Span;

/// How old it may be before it is looked for.
const PROBE_RTT_EVERY: Span = Span::from_millis(5_000);

impl Bbr3 {
    /// The least round trip, and going to look for it (BBRUpdateMinRTT, BBRCheckProbeRTT).
    pub(super) fn update_min_rtt(&mut self, window: &mut Window, sample: &Sample) {
        let expired = window.now > self.probe_rtt_stamp + PROBE_RTT_EVERY;
        if let Some(rtt) = sample.rtt {
            if expired || self.probe_rtt_min.is_none_or(|least| rtt < least) {
                (self.probe_rtt_min, self.probe_rtt_stamp) = (Some(rtt), window.now);
            }
        }
        let old = window.now > self.min_rtt_stamp + MIN_RTT_AGE;
        if old || self.min_rtt.is_none_or(|least| self.probe_rtt_min.is_some_and(|rtt| rtt < least)) {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min, self.probe_rtt_stamp);
        }
        if self.mode != Mode::ProbeRtt && expired && !self.idle_restart {
            self.recovery.save(window, false);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round(window);
        }
        if self.mode == Mode::ProbeRtt {
            self.in_probe_rtt(window);
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Little is under way for a while and a round (BBRHandleProbeRTT).
    fn in_probe_rtt(&mut self, window: &mut Window) {
        window.app_limited = (window.delivered + u64::from(window.in_flight)).max(1);
        let Some(done) = self.probe_rtt_done else {
            if window.in_flight <= self.probe_rtt_cwnd(window) {
                self.probe_rtt_done = Some(window.now + PROBE_RTT_TIME);
                self.probe_rtt_round = false;
                self.start_round(window);
            }
            return;
        };
        self.probe_rtt_round |= self.round_start;
        if self.probe_rtt_round && window.now > done {
            self.probe_rtt_stamp = window.now;
            window.cwnd = window.cwnd.max(self.recovery.prior_cwnd);
            self.reset_shortterm();
            if self.full_bw_reached {
                self.start_down(window);
                self.mode = Mode::Cruise;
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    /// The window meanwhile (BBRProbeRTTCwnd).
    pub(super) fn probe_rtt_cwnd(&self, window: &Window) -> u32 {
        bdp(window, self.min_rtt, self.bw(), UNIT / 2).max(LEAST_CWND)
    }
}
