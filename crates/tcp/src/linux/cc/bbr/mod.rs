//! BBR: what its first version (`v1`) and its third (`v3`) have in common, from Linux's net/ipv4/tcp_bbr.c and draft-ietf-ccwg-bbr.

mod aggregation;
mod max_filter;
mod policer;
mod v1;
mod v3;

pub use v1::Bbr;
pub use v3::Bbr3;

use super::{Sample, State, Window};
use sluicegate_base::{Rate, Span};

/// A gain of 1, and a rate of one packet in a microsecond, as powers of two.
const UNIT: u64 = 256;
const BW_SHIFT: u32 = 24;
const MIN_RTT_AGE: Span = Span::from_millis(10_000);
const PROBE_RTT_TIME: Span = Span::from_millis(200);
const LEAST_CWND: u32 = 4;
/// Below this rate a burst is one packet.
const ONE_PACKET_RATE: u64 = 1_200_000;

/// The window in and after a recovery.
#[derive(Clone, Copy, Debug, Default)]
struct RecoveryWindow {
    /// The state at the acknowledgement before.
    previous: State,
    /// The window before, which comes back.
    prior_cwnd: u32,
    /// Whether no more is sent than what is delivered: in its first round.
    conserve: bool,
}

impl RecoveryWindow {
    /// Keeps the window for later (bbr_save_cwnd, BBRSaveCwnd); `probes_rtt`: it has been lowered to look for the least round trip.
    fn save(&mut self, window: &Window, probes_rtt: bool) {
        let good = self.previous < State::Recovery && !probes_rtt;
        self.prior_cwnd = if good { window.cwnd } else { self.prior_cwnd.max(window.cwnd) };
    }

    /// The window at an acknowledgement, before it grows; while packets are [conserved](RecoveryWindow::conserve) it does not
    /// (bbr_set_cwnd_to_recover_or_restore, BBRModulateCwndForRecovery). With a recovery a round begins.
    #[inline]
    fn cwnd(&mut self, window: &Window, sample: &Sample, next_round: &mut u64) -> u32 {
        let (before, state) = (self.previous, window.state);
        let under_way = window.in_flight.saturating_add(sample.acked_sacked);
        let mut cwnd = window.cwnd.saturating_sub(sample.losses).max(1);
        if state == State::Recovery && before != State::Recovery {
            self.conserve = true;
            *next_round = window.delivered;
            cwnd = under_way;
        } else if before >= State::Recovery && state < State::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserve = false;
        }
        self.previous = state;
        if self.conserve { cwnd.max(under_way) } else { cwnd }
    }
}

/// A rate with a gain, as the sender paces (bbr_bw_to_pacing_rate): at most 8.8 Tbit/s.
#[inline]
fn paced(rate: u64, gain: u64, mss: u32) -> Rate {
    let scaled = rate.saturating_mul(u64::from(mss) * gain) / UNIT;
    Rate((scaled.saturating_mul(1_000_000 / 100 * 99) >> BW_SHIFT) * 8)
}

/// The pace before a rate is known: the window in a round trip, which is 1 ms before it is measured.
fn first_pace(window: &Window, gain: u64) -> Rate {
    let rtt = if window.srtt > Span::ZERO { micros(window.srtt).max(1) } else { 1000 };
    paced((u64::from(window.cwnd) << BW_SHIFT) / rtt, gain, window.mss)
}

/// The packets of a burst (bbr_tso_segs_goal).
#[inline]
fn burst_goal(window: &Window) -> u32 {
    let packets = ((window.pacing_rate.0 / 8) >> 10).min(64_000) / u64::from(window.mss.max(1));
    (packets as u32).max(least_burst(window)).min(127)
}

/// Two packets, or one where they take 10 ms each (bbr_min_tso_segs).
#[inline]
fn least_burst(window: &Window) -> u32 {
    if window.pacing_rate.0 < ONE_PACKET_RATE { 1 } else { 2 }
}

/// Rate times least round trip, with a gain (bbr_bdp, BBRBDPMultiple).
#[inline]
fn bdp(window: &Window, min_rtt: Option<Span>, rate: u64, gain: u64) -> u32 {
    let Some(rtt) = min_rtt else { return window.initial };
    let scaled = rate.saturating_mul(micros(rtt) * gain) / UNIT;
    u32::try_from(scaled.div_ceil(1 << BW_SHIFT)).unwrap_or(u32::MAX / 4)
}

#[inline]
fn micros(span: Span) -> u64 {
    span.0 / 1000
}

#[cfg(test)]
mod tests;
