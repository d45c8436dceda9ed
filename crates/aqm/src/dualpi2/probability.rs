//! The base probability p' of PI2, as the RFC and as the kernel update it.

use super::{DualPi2Params, DualPi2Version};
use crate::l4s::OnOverload;
use sluicegate_base::Span;

/// The kernel's probabilities are parts of this, and its 1 is one less.
const PARTS: f64 = (1u64 << 32) as f64;

/// p', and the wait that the last update saw.
#[derive(Clone, Debug, Default)]
pub(super) struct BaseProbability {
    /// With `law` = linux a multiple of 2⁻³².
    pub p: f64,
    prevq: Span,
}

impl BaseProbability {
    /// p' in the kernel's parts.
    pub(super) fn parts(&self) -> u32 {
        (self.p * PARTS) as u32
    }

    /// Of the classic queue.
    pub(super) fn p_c(&self) -> f64 {
        self.p * self.p
    }

    /// Of the L queue, by its coupling.
    pub(super) fn p_cl(&self, params: &DualPi2Params) -> f64 {
        libm::fmin(params.coupling_factor * self.p, 1.0)
    }

    /// An update that sees this wait.
    pub(super) fn update(&mut self, curq: Span, params: &DualPi2Params) {
        (self.p, self.prevq) = (self.updated(curq, params), curq);
    }

    /// Whether updates of empty queues change nothing any more.
    pub(super) fn rests(&self, params: &DualPi2Params) -> bool {
        self.prevq == Span::ZERO && self.updated(Span::ZERO, params) == self.p
    }

    fn updated(&self, curq: Span, params: &DualPi2Params) -> f64 {
        match params.law {
            DualPi2Version::Rfc9332 => {
                let error = curq.as_secs() - params.target.as_secs();
                let growth = curq.as_secs() - self.prevq.as_secs();
                let p = (self.p + params.alpha() * error + params.beta() * growth).clamp(0.0, 1.0);
                if params.overload == OnOverload::Overflow { libm::fmin(p, 1.0 / params.coupling_factor) } else { p }
            }
            DualPi2Version::Linux => f64::from(self.updated_parts(curq, params)) / PARTS,
        }
    }

    /// In whole numbers of the kernel's widths: waits in nanoseconds, gains in parts for 64 of them.
    fn updated_parts(&self, curq: Span, params: &DualPi2Params) -> u32 {
        // tc cuts gains to 256ths of a Hz, and times to microseconds.
        let gain = |hz: f64| (((u64::from((hz * 256.0) as u32) * u64::from(u32::MAX)) >> 2) / 1_000_000_000) as i64;
        let target = params.target.0 / 1000 * 1000;
        let part = |hz: f64, before: u64| (curq.0 as i64).wrapping_sub(before as i64).wrapping_mul(gain(hz));
        let delta = part(params.alpha(), target).wrapping_add(part(params.beta(), self.prevq.0));
        let (parts, change) = (self.parts(), (delta.unsigned_abs() / 64) as u32);
        // The kernel takes a sum that has wrapped for one beyond its bound.
        let updated = if delta > 0 { parts.saturating_add(change) } else { parts.saturating_sub(change) };
        match params.overload {
            OnOverload::Drop => updated,
            OnOverload::Overflow => updated.min(u32::MAX / params.coupling_factor as u32),
        }
    }
}
