//! CoDel's rule without a queue: whether the packet at the head is to be dropped. `codel` and `fq_codel` build on it.

use super::CodelArithmetic;
use crate::discipline::{Ctx, DropReason, Packet};
use crate::fifo::{Buffer, Fifo};
use sluicegate_base::{Span, Time};

/// What one queue or many have in common.
#[derive(Clone, Debug)]
pub struct CodelRule {
    law: CodelArithmetic,
    target: u64,
    interval: u64,
    max_packet: u64,
    ecn: bool,
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
    pub fn new(law: CodelArithmetic, target: Span, interval: Span, max_packet: u64, ecn: bool) -> Self {
        let ticks = |span: Span| match law {
            CodelArithmetic::Rfc8289 => span.0,
            // tc counts in microseconds.
            CodelArithmetic::Linux => (span.0 / 1000 * 1000) >> 10,
        };
        CodelRule { law, target: ticks(target), interval: ticks(interval), max_packet, ecn }
    }

    fn ticks(&self, time: Time) -> u64 {
        match self.law {
            CodelArithmetic::Rfc8289 => time.0,
            CodelArithmetic::Linux => time.0 >> 10,
        }
    }

    /// The time of the next drop, a while after `t` that shortens with the root of the count of drops.
    fn control_law(&self, t: u64, state: &CodelState) -> u64 {
        t + match self.law {
            CodelArithmetic::Rfc8289 => (self.interval as f64 / libm::sqrt(f64::from(state.count))) as u64,
            CodelArithmetic::Linux => (self.interval * (u64::from(state.rec_inv_sqrt) << 16)) >> 32,
        }
    }

    /// Linux: one step of Newton's method towards 1/√count.
    pub(super) fn newton_step(&self, state: &mut CodelState) {
        if self.law == CodelArithmetic::Linux {
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
    ) -> (Option<P>, bool) {
        let Some((packet, arrived)) = fifo.pop_with() else {
            state.first_above_time = None;
            return (None, false);
        };
        let sojourn_time = now - self.ticks(arrived);
        if sojourn_time < self.target || fifo.bytes() + others <= self.max_packet {
            state.first_above_time = None;
            return (Some(packet), false);
        }
        let ok_to_drop = match state.first_above_time {
            None => {
                state.first_above_time = Some(now + self.interval);
                false
            }
            Some(first) if self.law == CodelArithmetic::Linux => now > first,
            Some(first) => now >= first,
        };
        (Some(packet), ok_to_drop)
    }

    /// Marks the packet, if it is to be marked and can be.
    fn mark<P: Packet>(&self, packet: &mut Option<P>) -> bool {
        self.ecn && packet.as_mut().is_some_and(Packet::mark)
    }

    /// The packet that leaves a queue, of which each has the time when it arrived; those that are dropped on the way go to
    /// `ctx`. The backlog is what is left in the queue, and so many bytes in others.
    pub fn dequeue<P: Packet>(
        &self,
        state: &mut CodelState,
        fifo: &mut Fifo<P, Time>,
        others: u64,
        ctx: &mut Ctx<'_, P>,
    ) -> Option<P> {
        let now = self.ticks(ctx.now);
        let (mut packet, mut ok_to_drop) = self.dodequeue(state, now, fifo, others);
        if state.dropping {
            if !ok_to_drop {
                state.dropping = false;
            }
            while state.dropping && now >= state.drop_next {
                state.count = state.count.wrapping_add(1);
                self.newton_step(state);
                if self.mark(&mut packet) {
                    state.drop_next = self.control_law(state.drop_next, state);
                    break;
                }
                if let Some(packet) = packet {
                    ctx.drop(packet, DropReason::Early);
                }
                (packet, ok_to_drop) = self.dodequeue(state, now, fifo, others);
                if ok_to_drop {
                    state.drop_next = self.control_law(state.drop_next, state);
                } else {
                    state.dropping = false;
                }
            }
        } else if ok_to_drop {
            if !self.mark(&mut packet) {
                if let Some(packet) = packet {
                    ctx.drop(packet, DropReason::Early);
                }
                (packet, _) = self.dodequeue(state, now, fifo, others);
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
        packet
    }
}
