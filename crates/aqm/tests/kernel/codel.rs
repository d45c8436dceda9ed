//! A slow and obvious model of Linux's CoDel, as an oracle for `codel` with `law` = linux.
//!
//! Written from the algorithm of the kernel's `include/net/codel.h`, `include/net/codel_impl.h` and
//! `net/sched/sch_codel.c` (Linux 6), sharing no code with `codel`: times are 32 bits of units of 1024 ns that wrap and
//! are compared as signed differences, the root is 16 bits, zero stands for no time.

use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::Ecn;

/// What `tc qdisc add … codel` is given, and the device's MTU.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    pub limit: usize,
    /// In µs.
    pub target: u32,
    /// In µs.
    pub interval: u32,
    pub ecn: bool,
    /// In µs; none is the kernel's largest number.
    pub ce_threshold: Option<u32>,
    /// Of FQ-CoDel: the selector 0x1/0x3.
    pub ect1: bool,
    pub mtu: u32,
}

/// The kernel's counters, and how often something rare was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub drop_count: u64,
    pub ecn_mark: u64,
    pub ce_mark: u64,
    pub drop_overlimit: u64,
    /// Entries into the dropping state with a new count, and with that of the last cycle.
    pub anew: u64,
    pub resumed: u64,
    /// Calls in which more than one was dropped.
    pub several: u64,
}

/// The queue.
pub struct Codel {
    tc: Tc,
    queue: Vec<(TestPacket, u32)>,
    /// Bytes: the queue's own, or with `share` those of all queues that share it.
    backlog: u32,
    count: u32,
    lastcount: u32,
    dropping: bool,
    rec_inv_sqrt: u16,
    first_above_time: u32,
    drop_next: u32,
    ldelay: u32,
    pub counts: Counts,
}

fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

fn clock(ns: u64) -> u32 {
    (ns >> 10) as u32
}

impl Codel {
    pub fn new(tc: Tc) -> Codel {
        Codel {
            tc,
            queue: Vec::new(),
            backlog: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            rec_inv_sqrt: 0,
            first_above_time: 0,
            drop_next: 0,
            ldelay: 0,
            counts: Counts::default(),
        }
    }

    fn target(&self) -> u32 {
        ((u64::from(self.tc.target) * 1000) >> 10) as u32
    }

    fn interval(&self) -> u32 {
        ((u64::from(self.tc.interval) * 1000) >> 10) as u32
    }

    fn above_ce_threshold(&self) -> bool {
        let threshold = self.tc.ce_threshold.map_or(i32::MAX as u32, |us| ((u64::from(us) * 1000) >> 10) as u32);
        before(threshold, self.ldelay)
    }

    /// The queue from head to tail.
    pub fn queued(&self) -> Vec<TestPacket> {
        self.queue.iter().map(|(packet, _)| *packet).collect()
    }

    /// The queue's bytes, where it is one of several under FQ-CoDel: the backlog is theirs together.
    #[allow(dead_code)]
    pub fn own_bytes(&self) -> u32 {
        self.queue.iter().map(|(packet, _)| packet.bytes as u32).sum()
    }

    /// What all queues hold, before and after a step of this one.
    #[allow(dead_code)]
    pub fn share(&mut self, backlog: u32) {
        self.backlog = backlog;
    }

    #[allow(dead_code)]
    pub fn shared(&self) -> u32 {
        self.backlog
    }

    /// FQ-CoDel, too full: the head of this queue goes, and counts as a drop.
    #[allow(dead_code)]
    pub fn lose_head(&mut self) -> Option<TestPacket> {
        let dropped = self.take();
        self.count = self.count.wrapping_add(u32::from(dropped.is_some()));
        dropped.map(|(packet, _)| packet)
    }

    /// False when it is refused.
    pub fn enqueue(&mut self, packet: TestPacket, now: u64) -> bool {
        if self.queue.len() >= self.tc.limit {
            self.counts.drop_overlimit += 1;
            return false;
        }
        self.backlog += packet.bytes as u32;
        self.queue.push((packet, clock(now)));
        true
    }

    fn newton(&mut self) {
        let invsqrt = u32::from(self.rec_inv_sqrt) << 16;
        let invsqrt2 = ((u64::from(invsqrt) * u64::from(invsqrt)) >> 32) as u32;
        let mut val = 0x3_0000_0000u64.wrapping_sub(u64::from(self.count).wrapping_mul(u64::from(invsqrt2)));
        val >>= 2;
        val = val.wrapping_mul(u64::from(invsqrt)) >> (32 - 2 + 1);
        self.rec_inv_sqrt = (val >> 16) as u16;
    }

    fn control_law(&self, t: u32) -> u32 {
        let root = u32::from(self.rec_inv_sqrt) << 16;
        t.wrapping_add(((u64::from(self.interval()) * u64::from(root)) >> 32) as u32)
    }

    fn take(&mut self) -> Option<(TestPacket, u32)> {
        if self.queue.is_empty() {
            return None;
        }
        let (packet, arrived) = self.queue.remove(0);
        self.backlog -= packet.bytes as u32;
        Some((packet, arrived))
    }

    fn should_drop(&mut self, head: &Option<(TestPacket, u32)>, now: u32) -> bool {
        let Some((_, arrived)) = head else {
            self.first_above_time = 0;
            return false;
        };
        self.ldelay = now.wrapping_sub(*arrived);
        if before(self.ldelay, self.target()) || self.backlog <= self.tc.mtu {
            self.first_above_time = 0;
            return false;
        }
        if self.first_above_time == 0 {
            self.first_above_time = now.wrapping_add(self.interval());
            return false;
        }
        before(self.first_above_time, now)
    }

    /// The link asks for a packet: the one that leaves, and those that are dropped.
    pub fn dequeue(&mut self, now: u64) -> (Option<TestPacket>, Vec<TestPacket>) {
        let now = clock(now);
        let mut dropped = Vec::new();
        let mut head = self.take();
        if head.is_none() {
            // Before March 2026 kernels clear `dropping` alone here, which shows where several queues share a backlog.
            self.dropping = false;
            self.first_above_time = 0;
            return (None, dropped);
        }
        let mut drop = self.should_drop(&head, now);
        if self.dropping {
            if !drop {
                self.dropping = false;
            } else if !before(now, self.drop_next) {
                while self.dropping && !before(now, self.drop_next) {
                    self.count = self.count.wrapping_add(1);
                    self.newton();
                    if self.tc.ecn && mark(&mut head) {
                        self.counts.ecn_mark += 1;
                        self.drop_next = self.control_law(self.drop_next);
                        break;
                    }
                    dropped.extend(head.map(|(packet, _)| packet));
                    head = self.take();
                    if self.should_drop(&head, now) {
                        self.drop_next = self.control_law(self.drop_next);
                    } else {
                        self.dropping = false;
                    }
                }
            }
        } else if drop {
            if self.tc.ecn && mark(&mut head) {
                self.counts.ecn_mark += 1;
            } else {
                dropped.extend(head.map(|(packet, _)| packet));
                head = self.take();
                drop = self.should_drop(&head, now);
                let _ = drop;
            }
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            if delta > 1 && before(now.wrapping_sub(self.drop_next), self.interval().wrapping_mul(16)) {
                self.counts.resumed += 1;
                self.count = delta;
                self.newton();
            } else {
                self.counts.anew += 1;
                self.count = 1;
                self.rec_inv_sqrt = u16::MAX;
            }
            self.lastcount = self.count;
            self.drop_next = self.control_law(now);
        }
        self.counts.drop_count += dropped.len() as u64;
        self.counts.several += u64::from(dropped.len() > 1);
        if self.above_ce_threshold() {
            let selected = |packet: &TestPacket| !self.tc.ect1 || packet.ecn == Ecn::Capable1;
            if head.is_some_and(|(packet, _)| selected(&packet)) && mark(&mut head) {
                self.counts.ce_mark += 1;
            }
        }
        (head.map(|(packet, _)| packet), dropped)
    }
}

/// `INET_ECN_set_ce`.
fn mark(head: &mut Option<(TestPacket, u32)>) -> bool {
    match head {
        Some((packet, _)) if packet.ecn != Ecn::NotCapable => {
            packet.ecn = Ecn::CongestionExperienced;
            true
        }
        _ => false,
    }
}
