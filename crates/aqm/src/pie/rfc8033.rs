//! PIE by the RFC's rules, in floating point.

use super::rule::{Controller, PieBlock};
use crate::prelude::*;
use crate::red::Mode;

/// Below each probability, the divisor of the change.
pub(crate) const SCALES: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
/// A signal is not due before the probabilities have added up to the first, and certain from the second on.
pub(crate) const ACCUMULATED: [f64; 2] = [0.85, 8.5];
/// The largest step up of a large p, and what a delay above `long_delay` adds.
pub(crate) const STEP: f64 = 0.02;

/// The RFC's rules.
#[derive(Clone, Debug)]
pub(crate) struct Rfc8033 {
    pub(super) p: f64,
    accu_p: f64,
    qdelay: Span,
    pub(super) qdelay_old: Span,
    pub(super) burst_allowance: Span,
}

impl Rfc8033 {
    pub(super) fn new(params: &PieBlock) -> Self {
        Rfc8033 { p: 0.0, accu_p: 0.0, qdelay: Span::ZERO, qdelay_old: Span::ZERO, burst_allowance: params.max_burst }
    }
}

impl Controller for Rfc8033 {
    fn drop_early(&mut self, params: &PieBlock, queued: u64, bytes: u64, rng: &mut Stream) -> bool {
        let (short, max_packet) = (Span(params.target.0 / 2), params.max_packet.amount());
        if self.p == 0.0 && self.qdelay < short && self.qdelay_old < short {
            self.burst_allowance = params.max_burst;
        }
        if self.burst_allowance.0 > 0 || (self.qdelay_old < short && self.p < 0.2) || queued <= 2 * max_packet {
            return false;
        }
        let p = match params.mode {
            Mode::Byte if bytes <= max_packet => self.p * bytes as f64 / max_packet as f64,
            _ => self.p,
        };
        if params.derandomise {
            self.accu_p = if p == 0.0 { 0.0 } else { self.accu_p + p };
            if self.accu_p < ACCUMULATED[0] {
                return false;
            }
        }
        let certain = params.derandomise && self.accu_p >= ACCUMULATED[1];
        let signal = certain || rng.chance(p);
        if signal {
            self.accu_p = 0.0;
        }
        signal
    }

    fn may_mark(&self, params: &PieBlock) -> bool {
        self.p < params.mark_th
    }

    fn dropped(&mut self) {
        self.accu_p = 0.0;
    }

    fn departed(&mut self, came: Time, now: Time, empty: bool) {
        self.qdelay = if empty { Span::ZERO } else { now.since(came) };
    }

    fn measured(&mut self, qdelay: Span) {
        self.qdelay = qdelay;
    }

    /// calculate_drop_prob.
    fn update(&mut self, params: &PieBlock, _empty: bool) {
        let (delay, old) = (self.qdelay.as_secs(), self.qdelay_old.as_secs());
        let mut change = params.alpha * (delay - params.target.as_secs()) + params.beta * (delay - old);
        if let Some((_, divisor)) = SCALES.iter().find(|(below, _)| self.p < *below) {
            change /= divisor;
        } else {
            change = libm::fmin(change, STEP);
        }
        if params.long_delay.is_some_and(|long| self.qdelay > long) {
            change += STEP;
        }
        self.p = (self.p + change).clamp(0.0, 1.0);
        if self.qdelay.0 == 0 && self.qdelay_old.0 == 0 {
            self.p *= 0.98;
        }
        self.burst_allowance = self.burst_allowance - params.t_update;
        self.qdelay_old = self.qdelay;
    }

    /// The allowance is not looked at: the next arrival restores it.
    fn at_rest(&self, _params: &PieBlock) -> bool {
        self.p == 0.0 && self.qdelay.0 == 0 && self.qdelay_old.0 == 0
    }

    fn adapt(&mut self, params: &PieBlock, empty: bool) {
        self.burst_allowance = self.burst_allowance.min(params.max_burst);
        if empty {
            self.qdelay = Span::ZERO;
        }
    }

    fn shown(&self) -> (f64, Span, Span) {
        (self.p, self.qdelay, self.burst_allowance)
    }
}
