//! COBALT, for one queue: CoDel's schedule of signals, which goes back step by step when the queue is no longer late,
//! and BLUE beside it, for flows that do not respond.
//!
//! Times are nanoseconds and the root is 32 bits, as in the kernel.

use sluicegate_base::{Span, Stream, Time};

/// What the queues of a tin have in common.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CobaltParams {
    pub interval: Span,
    pub target: Span,
    /// The time of the longest packet at the tin's rate.
    pub mtu_time: Span,
}

/// What BLUE's probability rises by when the queue loses a packet for want of room, and falls by when it is found
/// empty, in units of 2⁻³²; each at most once in a target.
const P_INC: u32 = 1 << 24;
const P_DEC: u32 = 1 << 20;

/// The state of one queue. A new one is at rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Cobalt {
    pub(super) count: u32,
    /// 1/√count in units of 2⁻³²; zero until the count first changes.
    pub(super) rec_inv_sqrt: u32,
    /// When the next signal is due; of a queue with count 0, until when it counts as active.
    pub(super) drop_next: Time,
    /// When BLUE's probability last moved, if ever.
    blue_timer: Option<Time>,
    /// BLUE's probability in units of 2⁻³².
    pub(super) p_drop: u32,
    pub(super) dropping: bool,
}

/// 1/√count for small counts, the kernel's numbers; that of 0 is that of 1, so that the first signal waits an interval.
const ROOTS: [u32; 16] = [
    4_294_967_295,
    4_294_967_295,
    3_037_000_500,
    2_479_700_525,
    2_147_483_647,
    1_920_767_767,
    1_753_413_056,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// One step of Newton's method from `root` towards 1/√count.
fn newton_step(root: u32, count: u32) -> u32 {
    let invsqrt = u64::from(root);
    let invsqrt2 = (invsqrt * invsqrt) >> 32;
    // C's unsigned arithmetic wraps while the root is far from the count.
    let val = (3u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(invsqrt2)) >> 2;
    (val.wrapping_mul(invsqrt) >> 31) as u32
}

impl Cobalt {
    /// Another count, and its root.
    fn set_count(&mut self, count: u32) {
        self.count = count;
        self.rec_inv_sqrt = match ROOTS.get(count as usize) {
            Some(root) => *root,
            None => newton_step(self.rec_inv_sqrt, count),
        };
    }

    /// The time of the next signal: interval/√count after `t`.
    fn control(&self, t: Time, interval: Span) -> Time {
        t + Span(((u128::from(interval.0) * u128::from(self.rec_inv_sqrt)) >> 32) as u64)
    }

    /// The count has changed: drop_next follows.
    fn step(&mut self, count: u32, interval: Span) {
        self.set_count(count);
        self.drop_next = self.control(self.drop_next, interval);
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    fn blue_may_move(&self, params: &CobaltParams, now: Time) -> bool {
        self.blue_timer.is_none_or(|moved| now.since(moved) > params.target)
    }

    /// The queue has lost a packet for want of room.
    pub fn queue_full(&mut self, params: &CobaltParams, now: Time) {
        if self.blue_may_move(params, now) {
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = Some(now);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was to send, and is empty. True when nothing is left to decay.
    pub fn queue_empty(&mut self, params: &CobaltParams, now: Time) -> bool {
        if self.p_drop > 0 && self.blue_may_move(params, now) {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = Some(now);
        }
        self.dropping = false;
        if self.is_due(now) {
            self.step(self.count - 1, params.interval);
        }
        self.p_drop == 0 && self.count == 0 && now >= self.drop_next
    }

    /// A packet that arrived at `arrived` is at the head: whether it is to be dropped. `mark` marks it, if that is
    /// possible.
    pub fn should_drop(
        &mut self,
        params: &CobaltParams,
        (arrived, now): (Time, Time),
        bulk_flows: u32,
        mark: impl FnOnce() -> bool,
        rng: &mut Stream,
    ) -> bool {
        let (sojourn, mtu_time) = (now.since(arrived), params.mtu_time.0);
        let over_target = sojourn > params.target
            && sojourn.0 > mtu_time.saturating_mul(2 * u64::from(bulk_flows))
            && sojourn.0 > mtu_time.saturating_mul(4);
        // What the schedule said before it changes here.
        let mut overdue = now > self.drop_next;
        let mut next_due = self.is_due(now);
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now, params.interval);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut drop = false;
        if next_due && self.dropping {
            drop = !mark();
            self.step(self.count.saturating_add(1), params.interval);
            overdue = now > self.drop_next;
        } else {
            while next_due {
                self.step(self.count - 1, params.interval);
                overdue = now > self.drop_next;
                next_due = self.is_due(now);
            }
        }
        // BLUE does not mark: who does not respond might not respond to marks.
        if self.p_drop > 0 && !drop {
            drop = ((rng.bits() >> 32) as u32) < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + params.interval;
        } else if overdue && !drop {
            self.drop_next = now;
        }
        drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_small_counts_are_exact() {
        for (count, root) in ROOTS.iter().enumerate().skip(1) {
            let exact = 4_294_967_296.0 / libm::sqrt(count as f64);
            assert!((f64::from(*root) - exact).abs() <= 1.0, "1/√{count}: {root}, not {exact}");
        }
        assert_eq!(ROOTS[0], u32::MAX);
    }

    /// Above the table the root follows the count, one step for each change.
    #[test]
    fn roots_of_large_counts_follow() {
        let mut cobalt = Cobalt::default();
        for count in (1..5000).chain((16..5000).rev()) {
            cobalt.set_count(count);
            let exact = 4_294_967_296.0 / libm::sqrt(f64::from(count));
            assert!((f64::from(cobalt.rec_inv_sqrt) / exact - 1.0).abs() < 0.002, "{count}");
        }
    }
}
