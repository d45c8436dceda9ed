//! CoDel's rule without a queue: whether the packet at the head is to be dropped. `codel` and `fq_codel` build on it.

use super::CodelVersion;
use crate::discipline::{Buffer, Ctx, DropReason, Packet};
use crate::fifo::Fifo;
use crate::l4s::Ect;
use sluicegate_base::{Span, Time};

impl CodelVersion {
    fn ticks(self, time: Time) -> u64 {
        match self {
            CodelVersion::Rfc8289 => time.0,
            CodelVersion::Linux => time.0 >> 10,
        }
    }

    fn ticks_of(self, span: Span) -> u64 {
        match self {
            CodelVersion::Rfc8289 => span.0,
            // tc counts in microseconds.
            CodelVersion::Linux => (span.0 / 1000 * 1000) >> 10,
        }
    }
}

/// A packet, and how long it has waited.
type Head<P> = Option<(P, u64)>;

/// What one queue or many have in common.
#[derive(Clone, Debug)]
pub struct CodelRule {
    law: CodelVersion,
    target: u64,
    interval: u64,
    max_packet: u64,
    ecn: bool,
    /// A packet that has waited longer is marked when it leaves, if it is one of these.
    ce_threshold: Option<(u64, Ect)>,
}

/// What each queue has of its own; times in nanoseconds, with `law` = linux in units of 1024 of them.
#[derive(Clone, Debug, Default)]
pub struct CodelState {
    pub(super) first_above_time: Option<u64>,
    pub(super) drop_next: u64,
    pub(crate) count: u32,
    pub(super) lastcount: u32,
    /// With `law` = linux, 1/√count as a fraction of 2¹⁶.
    pub(super) rec_inv_sqrt: u16,
    pub(super) dropping: bool,
}

impl CodelRule {
    /// The rule with these values.
    #[must_use]
    pub fn new(law: CodelVersion, target: Span, interval: Span, max_packet: u64, ecn: bool) -> Self {
        let (target, interval) = (law.ticks_of(target), law.ticks_of(interval));
        CodelRule { law, target, interval, max_packet, ecn, ce_threshold: None }
    }

    /// The same with a threshold above which a packet is marked whatever CoDel says, if it is one of these.
    #[must_use]
    pub fn with_ce_threshold(self, ce_threshold: Option<Span>, ect: Ect) -> Self {
        let law = self.law;
        CodelRule { ce_threshold: ce_threshold.map(|threshold| (law.ticks_of(threshold), ect)), ..self }
    }

    /// The time of the next drop, a while after `t` that shortens with the root of the count of drops.
    fn control_law(&self, t: u64, state: &CodelState) -> u64 {
        t + match self.law {
            CodelVersion::Rfc8289 => (self.interval as f64 / libm::sqrt(f64::from(state.count))) as u64,
            CodelVersion::Linux => (self.interval * (u64::from(state.rec_inv_sqrt) << 16)) >> 32,
        }
    }

    /// Linux: one step of Newton's method towards 1/√count.
    pub(super) fn newton_step(&self, state: &mut CodelState) {
        if self.law == CodelVersion::Linux {
            let invsqrt = u64::from(state.rec_inv_sqrt) << 16;
            let invsqrt2 = (invsqrt * invsqrt) >> 32;
            // C's unsigned arithmetic wraps while the count is far from what the root was made for.
            let val = (3u64 << 32).wrapping_sub(u64::from(state.count).wrapping_mul(invsqrt2)) >> 2;
            state.rec_inv_sqrt = ((val.wrapping_mul(invsqrt) >> 31) >> 16) as u16;
        }
    }

    /// Takes the head and says whether it may be dropped: the sojourn time has been above target for an interval.
    fn dodequeue<P: Packet>(
        &self,
        state: &mut CodelState,
        now: u64,
        fifo: &mut Fifo<P, Time>,
        others: u64,
    ) -> (Head<P>, bool) {
        let Some((packet, arrived)) = fifo.pop_with() else {
            state.first_above_time = None;
            return (None, false);
        };
        let sojourn_time = now - self.law.ticks(arrived);
        if sojourn_time < self.target || fifo.bytes() + others <= self.max_packet {
            state.first_above_time = None;
            return (Some((packet, sojourn_time)), false);
        }
        let ok_to_drop = match state.first_above_time {
            None => {
                state.first_above_time = Some(now + self.interval);
                false
            }
            Some(first) if self.law == CodelVersion::Linux => now > first,
            Some(first) => now >= first,
        };
        (Some((packet, sojourn_time)), ok_to_drop)
    }

    /// Marks the packet, if it is to be marked and can be.
    fn mark<P: Packet>(&self, head: &mut Head<P>) -> bool {
        self.ecn && head.as_mut().is_some_and(|(packet, _)| packet.mark())
    }

    /// The packet that leaves a queue, of which each has the time when it arrived; those that are dropped on the way go to
    /// `ctx`. The backlog is what is left in the queue and so many bytes in the discipline's `others`; by the RFC also those that
    /// wait for the link `elsewhere`, of which the kernel's disciplines know nothing.
    pub fn dequeue<P: Packet>(
        &self,
        state: &mut CodelState,
        fifo: &mut Fifo<P, Time>,
        others: u64,
        elsewhere: u64,
        ctx: &mut Ctx<'_, P>,
    ) -> Option<P> {
        let now = self.law.ticks(ctx.now);
        let others = others + if self.law == CodelVersion::Rfc8289 { elsewhere } else { 0 };
        let (mut head, mut ok_to_drop) = self.dodequeue(state, now, fifo, others);
        if state.dropping {
            if !ok_to_drop {
                state.dropping = false;
            }
            while state.dropping && now >= state.drop_next {
                state.count = state.count.wrapping_add(1);
                self.newton_step(state);
                if self.mark(&mut head) {
                    state.drop_next = self.control_law(state.drop_next, state);
                    break;
                }
                if let Some((packet, _)) = head {
                    ctx.drop(packet, DropReason::Early);
                }
                (head, ok_to_drop) = self.dodequeue(state, now, fifo, others);
                if ok_to_drop {
                    state.drop_next = self.control_law(state.drop_next, state);
                } else {
                    state.dropping = false;
                }
            }
        } else if ok_to_drop {
            if !self.mark(&mut head) {
                if let Some((packet, _)) = head {
                    ctx.drop(packet, DropReason::Early);
                }
                (head, _) = self.dodequeue(state, now, fifo, others);
            }
            state.dropping = true;
            // Was it in the dropping state a short while ago? Then its rate of drops is a good one to start with.
            let delta = state.count.wrapping_sub(state.lastcount);
            let since = now.wrapping_sub(state.drop_next) as i64;
            if delta > 1 && since < 16 * self.interval as i64 {
                state.count = delta;
                self.newton_step(state);
            } else {
                state.count = 1;
                state.rec_inv_sqrt = u16::MAX;
            }
            state.lastcount = state.count;
            state.drop_next = self.control_law(now, state);
        }
        let (mut packet, sojourn_time) = head?;
        if self.ce_threshold.is_some_and(|(threshold, ect)| sojourn_time > threshold && ect.takes(packet.ecn())) {
            packet.mark();
        }
        Some(packet)
    }
}
