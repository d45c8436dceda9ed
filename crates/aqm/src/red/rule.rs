//! RED's rule without a queue: the average, the law of gaps, and whether to mark or to drop. CHOKe and others build on it.

use super::shifts::Shifts;
use super::{Action, GapLaw, Mode, RedArithmetic, RedBlock, RedParams, RedSignal};
use crate::discipline::{DropReason, Packet};
use alloc::boxed::Box;
use sluicegate_base::{Size, Span, Stream, Time};

/// What RED's rule says of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Queue it.
    Pass,
    /// Signal congestion on it, by chance.
    Early,
    /// Signal congestion on it, for certain.
    Forced,
}

/// RED's average, its law of gaps and its action.
#[derive(Clone, Debug)]
pub struct RedRule {
    w_q: f64,
    pub(super) min_th: f64,
    pub(super) max_th: f64,
    max_p: f64,
    /// Fig. 17's C1: max_p over the distance of the thresholds.
    c_1: f64,
    s: Span,
    law: GapLaw,
    /// Whether gaps are geometric, each packet having p_b: Sec. VII's method 1.
    geometric: bool,
    /// With ns-2's wait, 1: what it takes off count·p_b.
    wait: f64,
    gentle: bool,
    /// In byte mode, the paper's MaximumPacketSize in bytes.
    max_packet: Option<f64>,
    signal: RedSignal,
    /// With arithmetic = shifts.
    shifts: Option<Box<Shifts>>,
    /// In packets, in byte mode in bytes.
    pub(super) avg: f64,
    /// Packets since the last signal; −1 below min_th. Incremented before use. After a signal in the band it is 0 in Figs. 2
    /// and 17 (the next packet sees 1) and −1 in Sec. VII (the next packet sees 0, for gaps from 1 to 1/p_b).
    pub(super) count: i64,
    /// With law = figure17, R: drawn once for each signal, above 0 and up to 1.
    pub(super) r: f64,
    /// Packets that the last arrival found in the queue.
    queued: u64,
    /// Whether the last arrival was in the band, as ns-2 counts it.
    in_band: bool,
    /// When the link last found the queue empty; none while it is busy.
    pub(super) q_time: Option<Time>,
}

impl RedRule {
    /// The paper's rule at rest, in packets: average zero, link idle since the start.
    #[must_use]
    pub fn new(red: &RedBlock, signal: &RedSignal) -> Self {
        let (min_th, max_th) = (red.min_th.amount() as f64, red.max_th.amount() as f64);
        RedRule {
            w_q: red.w_q,
            min_th,
            max_th,
            max_p: red.max_p,
            c_1: red.max_p / (max_th - min_th),
            s: red.s,
            law: GapLaw::Section7,
            geometric: false,
            wait: 0.0,
            gentle: false,
            max_packet: None,
            signal: signal.clone(),
            shifts: None,
            avg: 0.0,
            count: -1,
            r: 0.0,
            queued: 0,
            in_band: false,
            q_time: Some(Time::ZERO),
        }
    }

    /// The rule in any of its forms.
    pub(super) fn of(params: &RedParams) -> Self {
        let threshold = |size| Size::Packets(params.threshold(size).unwrap_or(u64::MAX));
        let (min_th, max_th) = (threshold(params.red.min_th), threshold(params.red.max_th));
        let mut rule = RedRule::new(&RedBlock { min_th, max_th, ..params.red.clone() }, &params.signal).with_gaps(
            params.law,
            params.wait,
            params.gentle,
        );
        rule.geometric = params.method == 1;
        rule.max_packet = (params.mode == Mode::Byte).then_some(params.max_packet.amount() as f64);
        if params.arithmetic == RedArithmetic::Shifts {
            rule.shifts = Some(Box::new(Shifts::new(rule.w_q, rule.c_1, rule.min_th, rule.s)));
        }
        rule
    }

    /// The same with another law of gaps.
    #[must_use]
    pub fn with_gaps(self, law: GapLaw, wait: bool, gentle: bool) -> Self {
        RedRule { law, wait: f64::from(u8::from(wait)), gentle, ..self }
    }

    /// The same at the point where another rule stands: parameters have been changed while the queue was in use.
    #[must_use]
    pub fn continuing(self, other: &RedRule) -> Self {
        let &RedRule { avg, r, queued, q_time, .. } = other;
        // Laws of gaps count differently.
        let (count, in_band) = if self.law == other.law { (other.count, other.in_band) } else { (-1, false) };
        let shifts = self.shifts.map(|shifts| Box::new(shifts.at(avg)));
        RedRule { shifts, avg, count, r, queued, in_band, q_time, ..self }
    }

    /// Changes max_p: ARED adapts it to the traffic.
    pub fn set_max_p(&mut self, max_p: f64) {
        (self.max_p, self.c_1) = (max_p, max_p / (self.max_th - self.min_th));
    }

    /// The average queue in packets; in byte mode, in packets of `max_packet` bytes.
    #[must_use]
    pub fn avg(&self) -> f64 {
        self.max_packet.map_or(self.avg, |max_packet| self.avg / max_packet)
    }

    /// Whether the average has reached `min_th`.
    #[inline]
    #[must_use]
    pub fn above_min_th(&self) -> bool {
        self.avg >= self.min_th
    }

    /// Whether the average is above the band, which ends at max_th, with `gentle` at twice that: every arrival is signalled on.
    #[inline]
    #[must_use]
    pub fn above_band(&self) -> bool {
        self.avg >= if self.gentle { 2.0 * self.max_th } else { self.max_th }
    }

    /// How far the average stands between the thresholds: 0 at min_th, 1 at max_th.
    #[inline]
    #[must_use]
    pub fn height(&self) -> f64 {
        (self.avg - self.min_th) / (self.max_th - self.min_th)
    }

    /// A packet arrives to a queue of so many packets and bytes: calculates the new average queue size avg.
    #[inline]
    pub fn update_avg(&mut self, packets: u64, bytes: u64, now: Time) {
        self.queued = packets;
        let q = if self.max_packet.is_some() { bytes } else { packets };
        // Fig. 2's "if the queue is nonempty" is a link that is busy, though nothing may wait: q_time is none. An arrival ends
        // the idle period, queued or not.
        let idle = self.q_time.take().map(|q_time| now.since(q_time));
        self.avg = match (&mut self.shifts, idle) {
            (None, None) => (1.0 - self.w_q) * self.avg + self.w_q * q as f64,
            // The link has fallen free at this very time: m is zero, and the power one.
            (None, Some(Span::ZERO)) => self.avg,
            (None, Some(idle)) => {
                let m = idle.0 as f64 / self.s.0 as f64;
                self.avg * libm::pow(1.0 - self.w_q, m)
            }
            (Some(shifts), None) => shifts.average(q),
            (Some(shifts), Some(idle)) => shifts.decay(idle),
        };
    }

    /// The link asked for a packet and found none.
    #[inline]
    pub fn idle(&mut self, now: Time) {
        self.q_time.get_or_insert(now);
    }

    /// Judges an arrival of so many bytes by the average.
    #[inline(always)]
    pub fn judge(&mut self, bytes: u64, rng: &mut Stream) -> Verdict {
        if self.law == GapLaw::Ns2 && self.ns2_spares() {
            return Verdict::Pass;
        }
        let verdict = if self.above_min_th() && !self.above_band() {
            self.count += 1;
            let signal = match self.law {
                GapLaw::Section7 | GapLaw::Figure2 | GapLaw::Ns2 => rng.uniform() < self.p_a(bytes),
                // Fig. 17: count > 0 and count ≥ R/p_b, without the division.
                GapLaw::Figure17 => self.count > 0 && self.count as f64 * self.p_b() >= self.r,
            };
            if signal { Verdict::Early } else { Verdict::Pass }
        } else if self.above_min_th() {
            Verdict::Forced
        } else {
            self.count = -1;
            return Verdict::Pass;
        };
        match (verdict, self.law) {
            (Verdict::Pass, _) => {}
            (_, GapLaw::Section7) | (Verdict::Forced, GapLaw::Figure17) => self.count = -1,
            (_, GapLaw::Figure2 | GapLaw::Ns2 | GapLaw::Figure17) => self.count = 0,
        }
        // Fig. 17: if count = 0, R ← Random[0, 1].
        if self.law == GapLaw::Figure17 && self.count == 0 {
            self.r = 1.0 - rng.uniform();
        }
        verdict
    }

    /// ns-2 spares an arrival that finds fewer than two packets, and the first of the band.
    fn ns2_spares(&mut self) -> bool {
        if !self.above_min_th() || self.queued < 2 {
            (self.count, self.in_band) = (-1, false);
            return true;
        }
        let first = !core::mem::replace(&mut self.in_band, true);
        if first {
            self.count = 1;
        }
        first
    }

    /// The queue had no room for an arrival that the rule let pass.
    #[inline]
    pub fn refused(&mut self) {
        if self.law == GapLaw::Ns2 {
            self.count = 0;
        }
    }

    /// Carries a verdict out: marks the packet if that is the action and it takes the mark. Otherwise gives the reason
    /// for which it is to be dropped.
    #[inline]
    pub fn carry_out<P: Packet>(&self, verdict: Verdict, packet: &mut P) -> Option<DropReason> {
        let reason = match verdict {
            Verdict::Pass => return None,
            Verdict::Early => DropReason::Early,
            Verdict::Forced => DropReason::Forced,
        };
        let marks =
            self.signal.action == Action::Mark && (self.avg < self.max_th || self.signal.above_max_th == Action::Mark);
        (!(marks && packet.mark())).then_some(reason)
    }

    /// The probability for a packet of so many bytes, between the thresholds.
    #[inline]
    fn p_a(&self, bytes: u64) -> f64 {
        let p_b = match self.max_packet {
            Some(max_packet) => self.p_b() * (bytes as f64 / max_packet),
            None => self.p_b(),
        };
        if self.geometric { p_b } else { uniform_gaps(p_b, self.count as f64 * p_b - self.wait) }
    }

    /// The probability before the corrections for the packet's length and for `count`.
    #[inline]
    pub(super) fn p_b(&self) -> f64 {
        match &self.shifts {
            Some(shifts) => shifts.p_b(),
            None if self.gentle && self.avg >= self.max_th => {
                self.max_p + (1.0 - self.max_p) * (self.avg - self.max_th) / self.max_th
            }
            None => self.c_1 * (self.avg - self.min_th),
        }
    }
}

/// Sec. VII: p_b/(1 − count·p_b), where `x` is count·p_b; certain where that exceeds 1, and 0 where the wait of ns-2, which
/// takes 1 off `x`, is not over.
#[inline]
fn uniform_gaps(p_b: f64, x: f64) -> f64 {
    if x < 0.0 {
        0.0
    } else if x < 1.0 {
        p_b / (1.0 - x)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests;
