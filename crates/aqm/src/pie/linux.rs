//! PIE by the kernel's rules, in its whole numbers (`net/sched/sch_pie.c`, `include/net/pie.h`; delays by timestamps).

use super::rule::{Controller, PieBlock};
use crate::prelude::*;
use crate::red::Mode;

/// A probability of 1.
const MAX_PROB: u64 = (1 << 56) - 1;
const TICKS_PER_SECOND: u64 = 15_625_000;

/// Ticks of 64 ns; `tc` counts in microseconds.
fn ticks(span: Span) -> u64 {
    (span.0 / 1000 * 1000) >> 6
}

/// A gain, for each tick of delay; `tc` has it in sixteenths.
fn gain(per_second: f64) -> u64 {
    (libm::round(per_second * 16.0) as u64).wrapping_mul(MAX_PROB / TICKS_PER_SECOND) >> 4
}

/// The kernel's rules.
#[derive(Clone, Debug)]
pub(crate) struct Linux {
    /// Parts of 2⁵⁶; a long overload carries it beyond 1, up to 256.
    prob: u64,
    accu_prob: u64,
    /// In ticks, by the last departure.
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    /// When a packet last left, in ticks, unless the measurement has begun anew since.
    dq_tstamp: Option<u64>,
}

impl Linux {
    pub(super) fn new(params: &PieBlock) -> Self {
        let burst_time = ticks(params.max_burst);
        Linux { prob: 0, accu_prob: 0, qdelay: 0, qdelay_old: 0, burst_time, dq_tstamp: None }
    }
}

impl Controller for Linux {
    fn drop_early(&mut self, params: &PieBlock, queued: u64, bytes: u64, rng: &mut Stream) -> bool {
        let mtu = params.max_packet.amount();
        let calm = self.qdelay < ticks(params.target) / 2 && self.prob < MAX_PROB / 5;
        if self.burst_time > 0 || calm || queued < mtu.saturating_mul(2) {
            return false;
        }
        let local_prob = match params.mode {
            Mode::Byte if bytes <= mtu => bytes * (self.prob / mtu),
            _ => self.prob,
        };
        self.accu_prob = if local_prob == 0 { 0 } else { self.accu_prob.wrapping_add(local_prob) };
        if self.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        // By chance it starts anew; a certain signal that becomes a mark leaves it.
        if self.accu_prob >= MAX_PROB / 2 * 17 {
            return true;
        }
        let signal = rng.bits() >> 8 < local_prob;
        if signal {
            self.accu_prob = 0;
        }
        signal
    }

    fn may_mark(&self, params: &PieBlock) -> bool {
        // fq_pie has a whole number of percent.
        self.prob <= MAX_PROB / 100 * libm::round(params.mark_th * 100.0) as u64
    }

    fn dropped(&mut self) {
        self.accu_prob = 0;
    }

    fn departed(&mut self, came: Time, now: Time, empty: bool) {
        let now = now.0 >> 6;
        self.qdelay = if empty { 0 } else { now - (came.0 >> 6) };
        // The kernel keeps 32 bits of it, 275 s.
        let dtime = self.dq_tstamp.map_or(0, |last| (now - last) as u32);
        self.dq_tstamp = Some(now);
        self.burst_time = self.burst_time.saturating_sub(u64::from(dtime));
    }

    fn measured(&mut self, qdelay: Span) {
        self.qdelay = ticks(qdelay);
    }

    fn update(&mut self, params: &PieBlock, empty: bool) {
        let (qdelay, old, target) = (self.qdelay, self.qdelay_old, ticks(params.target));
        let (mut alpha, mut beta) = (gain(params.alpha), gain(params.beta));
        if self.prob < MAX_PROB / 10 {
            let below = [10, 100, 1000, 10_000, 100_000, 1_000_000].iter().filter(|part| self.prob < MAX_PROB / **part);
            let shift = 2 * below.count() - 1;
            (alpha, beta) = (alpha >> shift, beta >> shift);
        }
        let weighted = |gain: u64, from: u64| gain.wrapping_mul(qdelay.wrapping_sub(from)) as i64;
        let mut delta = weighted(alpha, target).wrapping_add(weighted(beta, old));
        if delta > (MAX_PROB / 50) as i64 && self.prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2) as i64;
        }
        if params.long_delay.is_some_and(|long| qdelay > ticks(long)) {
            delta = delta.wrapping_add((MAX_PROB / 50) as i64);
        }
        self.prob = match delta {
            1.. => self.prob.checked_add(delta.unsigned_abs()).unwrap_or(MAX_PROB),
            _ => self.prob.saturating_sub(delta.unsigned_abs()),
        };
        if qdelay == 0 && old == 0 && empty {
            self.prob -= self.prob / 64;
        }
        if qdelay < target / 2 && old < target / 2 && self.prob == 0 {
            *self = Linux { qdelay, qdelay_old: qdelay, ..Linux::new(params) };
        }
        self.qdelay_old = qdelay;
    }

    fn at_rest(&self, params: &PieBlock) -> bool {
        let delays = self.qdelay == 0 && self.qdelay_old == 0;
        let burst = self.burst_time == ticks(params.max_burst);
        self.prob == 0 && delays && burst && self.dq_tstamp.is_none()
    }

    fn adapt(&mut self, params: &PieBlock, empty: bool) {
        self.burst_time = self.burst_time.min(ticks(params.max_burst));
        if empty {
            self.qdelay = 0;
        }
    }

    fn shown(&self) -> (f64, Span, Span) {
        ((self.prob as f64 / MAX_PROB as f64).min(1.0), Span(self.qdelay << 6), Span(self.burst_time << 6))
    }
}
