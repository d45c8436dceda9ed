//! PIE without a queue: whether an arrival is to be signalled on, and how the probability moves. `pie` and `fq_pie` build on it.

use super::linux::Linux;
use crate::prelude::*;
use crate::red::{Action, Mode};
use core::ops::{Deref, DerefMut};
use sluicegate_base::params;

choices! {
    /// How PIE computes, and where the kernel's rules differ from the RFC's.
    pub enum PieArithmetic {
        /// The RFC's rules, in floating point.
        Rfc8033 = "rfc8033",
        /// The kernel's rules, in its whole numbers: parts of 2⁵⁶, ticks of 64 ns, gains in sixteenths.
        Linux = "linux",
    }
}

params! {
    /// PIE's parameters as other disciplines have them too.
    pub struct PieBlock {
        /// Queueing delay wanted.
        target: Span = default(Span::from_millis(15)), range(Range::POSITIVE), source("RFC 8033, QDELAY_REF"), tc("target");
        /// Time from one update of p to the next.
        t_update: Span = default(Span::from_millis(15)), range(Range::POSITIVE), source("RFC 8033, T_UPDATE"), tc("tupdate");
        /// Gain of the delay's distance from the target, per second.
        alpha: f64 = default(0.125), unit("Hz"), range(Range::from(0.0)), source("RFC 8033, Sec. 4.2"), tc("alpha");
        /// Gain of the delay's change, per second.
        beta: f64 = default(1.25), unit("Hz"), range(Range::from(0.0)), source("RFC 8033, Sec. 4.2"), tc("beta");
        /// Burst that is spared after a quiet time.
        max_burst: Span = default(Span::from_millis(150)), range(Range::from(0.0)), source("RFC 8033, Sec. 4.4: MAX_BURST");
        /// Queueing delay above which each update adds 0.02 to p.
        long_delay: Option<Span> = optional("no delay is so long"), range(Range::POSITIVE),
            source("Linux, net/sched/sch_pie.c: 250 ms");
        /// Drop, or mark the packets that can carry a mark and drop the others.
        action: Action = default(Action::Drop), source("RFC 8033, Sec. 5.1"), tc("ecn");
        /// Probability below which a marker marks; from it on it drops.
        mark_th: f64 = default(0.1), unit("1"), range(Range::from(0.0).to(1.0)), source("RFC 8033, Sec. 5.1: mark_ecnth");
        /// Space signals out: none before the probabilities of arrivals have added up to 0.85, one for certain at 8.5.
        derandomise: bool = default(true), source("RFC 8033, Sec. 5.4");
        /// Judge packets alike, or by their length.
        mode: Mode = default(Mode::Packet), source("Linux, net/sched/sch_pie.c"), tc("bytemode");
        /// Two packets of this length are never too many; in byte mode, the length for which the probability is p.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("packets"),
            range(Range::from(1.0)), source("RFC 8033, MEAN_PKTSIZE");
        /// The RFC's rules in floating point, or the kernel's in whole numbers.
        law: PieArithmetic = default(PieArithmetic::Rfc8033), source("RFC 8033; Linux, net/sched/sch_pie.c"), fixed(true);
    }
    rules {
        "max_packet is in bytes" [max_packet] |p| matches!(p.max_packet, Size::Bytes(_));
        "law = linux belongs to derandomise = true" [law, derandomise]
            |p| p.law == PieArithmetic::Rfc8033 || p.derandomise;
    }
}

/// One of PIE's laws, and where it stands for one queue.
pub(crate) trait Law {
    /// Whether an arrival of `bytes` is to be signalled on; `queued` bytes wait.
    fn drop_early(&mut self, params: &PieBlock, queued: u64, bytes: u64, rng: &mut Stream) -> bool;
    /// Whether p is low enough for marks.
    fn may_mark(&self, params: &PieBlock) -> bool;
    /// An arrival has been dropped, for whatever reason.
    fn dropped(&mut self);
    /// A packet that came at this time leaves now, and leaves the queue empty or not.
    fn departed(&mut self, came: Time, now: Time, empty: bool);
    /// The present queueing delay, where it is not that of the last departure.
    fn measured(&mut self, qdelay: Span);
    /// Every `t_update`: moves p.
    fn update(&mut self, params: &PieBlock, empty: bool);
    /// Whether updates change nothing that an arrival would find while the queue is empty.
    fn at_rest(&self, params: &PieBlock) -> bool;
    /// Parameters have been changed; the queue is empty now or not.
    fn adapt(&mut self, params: &PieBlock, empty: bool);
    /// The probability, the queueing delay by the last departure, and the burst allowance.
    fn shown(&self) -> (f64, Span, Span);
}

/// What PIE keeps of each queue.
#[derive(Clone, Debug)]
pub(crate) enum PieState {
    Rfc8033(Rfc8033),
    Linux(Linux),
}

impl PieState {
    /// At rest.
    pub(crate) fn new(params: &PieBlock) -> PieState {
        match params.law {
            PieArithmetic::Rfc8033 => PieState::Rfc8033(Rfc8033::new(params)),
            PieArithmetic::Linux => PieState::Linux(Linux::new(params)),
        }
    }

    /// Whether an arrival may join a queue of so many bytes, perhaps with a mark; otherwise it is to be dropped early.
    pub(crate) fn admits<P: Packet>(
        &mut self,
        packet: &mut P,
        queued: u64,
        params: &PieBlock,
        rng: &mut Stream,
    ) -> bool {
        if !self.drop_early(params, queued, packet.bytes(), rng) {
            return true;
        }
        let admitted = params.action == Action::Mark && self.may_mark(params) && packet.mark();
        if !admitted {
            self.dropped();
        }
        admitted
    }
}

impl Deref for PieState {
    type Target = dyn Law;
    fn deref(&self) -> &(dyn Law + 'static) {
        match self {
            PieState::Rfc8033(state) => state,
            PieState::Linux(state) => state,
        }
    }
}

impl DerefMut for PieState {
    fn deref_mut(&mut self) -> &mut (dyn Law + 'static) {
        match self {
            PieState::Rfc8033(state) => state,
            PieState::Linux(state) => state,
        }
    }
}

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
    fn new(params: &PieBlock) -> Self {
        Rfc8033 { p: 0.0, accu_p: 0.0, qdelay: Span::ZERO, qdelay_old: Span::ZERO, burst_allowance: params.max_burst }
    }
}

impl Law for Rfc8033 {
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
