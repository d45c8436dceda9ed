//! The kernel's COBALT, with times that are signed and a table of roots.

use super::Queued;
use sluicegate_base::{Ecn, Stream};

/// The table of roots of counts below 16.
const INV_SQRT: [u32; 16] = [
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

#[derive(Clone, Copy, Default)]
pub(super) struct CobaltParams {
    pub interval: u64,
    pub target: u64,
    pub mtu_time: u64,
}

#[derive(Clone, Default)]
pub(super) struct Cobalt {
    pub count: u32,
    root: u32,
    pub drop_next: i64,
    blue_timer: i64,
    pub p_drop: u32,
    dropping: bool,
}

/// For how long the kernel has been up, in nanoseconds, as its clock begins with it: BLUE's timer has never been set.
const BOOTED: i64 = 1 << 45;

impl Cobalt {
    fn follow_count(&mut self) {
        if self.count < 16 {
            self.root = INV_SQRT[self.count as usize];
            return;
        }
        let root = u64::from(self.root);
        let square = (root * root) >> 32;
        let bracket = 0x3_0000_0000u64.wrapping_sub(u64::from(self.count).wrapping_mul(square));
        self.root = ((bracket >> 2).wrapping_mul(root) >> 31) as u32;
    }

    /// `reciprocal_scale` takes 32 bits of the interval.
    fn after(&self, time: i64, params: &CobaltParams) -> i64 {
        time + ((u64::from(params.interval as u32) * u64::from(self.root)) >> 32) as i64
    }

    pub fn full(&mut self, params: &CobaltParams, now: i64) {
        if (now + BOOTED - self.blue_timer) as u64 > params.target {
            let raised = self.p_drop.wrapping_add(0x0100_0000);
            self.p_drop = if raised < 0x0100_0000 { u32::MAX } else { raised };
            self.blue_timer = now + BOOTED;
        }
        (self.dropping, self.drop_next) = (true, now);
        if self.count == 0 {
            self.count = 1;
        }
    }

    pub fn empty(&mut self, params: &CobaltParams, now: i64) {
        if self.p_drop != 0 && (now + BOOTED - self.blue_timer) as u64 > params.target {
            self.p_drop = self.p_drop.saturating_sub(0x0010_0000);
            self.blue_timer = now + BOOTED;
        }
        self.dropping = false;
        if self.count != 0 && now - self.drop_next >= 0 {
            self.count -= 1;
            self.follow_count();
            self.drop_next = self.after(self.drop_next, params);
        }
    }

    /// Whether CoDel drops, BLUE drops, and the packet has been marked.
    pub fn judge(
        &mut self,
        params: &CobaltParams,
        now: i64,
        queued: &mut Queued,
        bulk_flows: u32,
        random: &mut Stream,
    ) -> [bool; 3] {
        let sojourn = (now - queued.enqueue_time) as u64;
        let mut schedule = now - self.drop_next;
        let late = sojourn > params.target
            && sojourn > params.mtu_time * u64::from(bulk_flows) * 2
            && sojourn > params.mtu_time * 4;
        let mut next_due = self.count != 0 && schedule >= 0;
        if late {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.after(now, params);
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else if self.dropping {
            self.dropping = false;
        }
        let (mut codel, mut marked) = (false, false);
        if next_due && self.dropping {
            marked = queued.packet.ecn != Ecn::NotCapable;
            if marked {
                queued.packet.ecn = Ecn::CongestionExperienced;
            }
            codel = !marked;
            self.count = if self.count == u32::MAX { u32::MAX } else { self.count + 1 };
            self.follow_count();
            self.drop_next = self.after(self.drop_next, params);
            schedule = now - self.drop_next;
        } else {
            while next_due {
                self.count -= 1;
                self.follow_count();
                self.drop_next = self.after(self.drop_next, params);
                schedule = now - self.drop_next;
                next_due = self.count != 0 && schedule >= 0;
            }
        }
        let blue = self.p_drop != 0 && !codel && ((random.bits() >> 32) as u32) < self.p_drop;
        if self.count == 0 {
            self.drop_next = now + params.interval as i64;
        } else if schedule > 0 && !codel && !blue {
            self.drop_next = now;
        }
        [codel, blue, marked]
    }
}
