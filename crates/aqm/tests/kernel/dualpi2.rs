//! A slow and obvious model of Linux's DualPI2, as an oracle for `dualpi2` with `law` = linux.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_dualpi2.c` (Linux 6.17 to 7), sharing no code with `dualpi2`:
//! one list of packets that each know their queue, probabilities as 32 bits, sums that wrap as C's do. Random numbers are
//! lent by the test, and its timer is the test's. Filters, aggregated packets and `memlimit` are not modelled.

use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::{Ecn, Stream};

/// From where on the queue counts as too long for a packet of L.
#[derive(Clone, Copy, Debug)]
pub enum Threshold {
    Us(u32),
    Packets(u32),
}

/// What `tc qdisc add … dualpi2` gives the kernel, and the device's MTU.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    pub limit: usize,
    /// In µs.
    pub target: u32,
    pub tupdate: u32,
    /// In 256ths of a Hz.
    pub alpha: u32,
    pub beta: u32,
    pub step: Threshold,
    pub min_qlen_step: u32,
    pub coupling: u8,
    pub drop_overload: bool,
    pub drop_early: bool,
    /// In percent.
    pub c_protection: i32,
    /// 1: ECT(1) and CE go to L; 3: ECT(0) too.
    pub ecn_mask: u8,
    pub mtu: u32,
}

/// The kernel's counters, and how often something rare was met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub overlimit: u64,
    pub classic_drops: u64,
    pub classic_marks: u64,
    pub coupled_marks: u64,
    pub step_marks: u64,
    /// In overload: of packets that could have been marked, or were.
    pub overload_drops: u64,
    pub overload_marks: u64,
    /// Packets of C that went while others waited in L, and the reverse.
    pub c_turns: u64,
    pub l_turns: u64,
    /// Updates in which p' came to a bound.
    pub at_most: u64,
    pub at_least: u64,
}

#[derive(Clone, Copy, Debug)]
struct Skb {
    packet: TestPacket,
    ts: u64,
    l4s: bool,
    apply_step: bool,
}

/// The queues. Times are in nanoseconds.
pub struct DualPi2 {
    tc: Tc,
    skbs: Vec<Skb>,
    prob: u32,
    last_qdelay: u64,
    credit: i32,
    pub counts: Counts,
}

const MAX_PROB: u32 = u32::MAX;

fn us(us: u32) -> u32 {
    (u64::from(us) * 1000).min(u64::from(u32::MAX)) as u32
}

impl DualPi2 {
    pub fn new(tc: Tc) -> DualPi2 {
        let mut queue = DualPi2 { tc, skbs: vec![], prob: 0, last_qdelay: 0, credit: 0, counts: Counts::default() };
        queue.reset_credit();
        queue
    }

    /// Times between updates, in ns.
    pub fn tupdate(&self) -> u64 {
        u64::from(us(self.tc.tupdate))
    }

    /// p', as a number.
    pub fn p(&self) -> f64 {
        f64::from(self.prob) / 4_294_967_296.0
    }

    /// Other options.
    pub fn change(&mut self, tc: Tc) {
        let protection = self.tc.c_protection;
        self.tc = tc;
        if tc.c_protection != protection {
            self.reset_credit();
        }
    }

    /// The packets: those of L, then those of C.
    pub fn queued(&self) -> Vec<TestPacket> {
        let of = |l4s| self.skbs.iter().filter(move |skb| skb.l4s == l4s).map(|skb| skb.packet);
        of(true).chain(of(false)).collect()
    }

    fn reset_credit(&mut self) {
        self.credit = self.tc.mtu as i32 * (2 * self.tc.c_protection - 100);
    }

    fn len(&self, l4s: bool) -> usize {
        self.skbs.iter().filter(|skb| skb.l4s == l4s).count()
    }

    fn backlog(&self) -> u64 {
        self.skbs.iter().map(|skb| skb.packet.bytes).sum()
    }

    fn rolls(random: &mut Stream, prob: u32) -> bool {
        let u32_random = (random.bits() >> 32) as u32;
        u32_random <= prob
    }

    /// Whether the packet, which is not queued, must go; it may be marked instead.
    fn must_drop(&mut self, packet: &mut TestPacket, l4s: bool, random: &mut Stream) -> bool {
        if self.backlog() < 2 * u64::from(self.tc.mtu) {
            return false;
        }
        let prob = self.prob;
        let l_prob = u64::from(prob) * u64::from(self.tc.coupling);
        let overload = l_prob > u64::from(MAX_PROB);
        if l4s {
            if overload {
                if self.tc.drop_overload && Self::rolls(random, prob) && Self::rolls(random, prob) {
                    self.counts.overload_drops += 1;
                    return true;
                }
                self.counts.overload_marks += 1;
                packet.ecn = Ecn::CongestionExperienced;
            } else if Self::rolls(random, l_prob as u32) {
                self.counts.coupled_marks += 1;
                packet.ecn = Ecn::CongestionExperienced;
            }
        } else if Self::rolls(random, prob) && Self::rolls(random, prob) {
            if packet.ecn == Ecn::NotCapable {
                self.counts.classic_drops += 1;
                return true;
            }
            if overload {
                self.counts.overload_drops += 1;
                return true;
            }
            self.counts.classic_marks += 1;
            packet.ecn = Ecn::CongestionExperienced;
        }
        false
    }

    /// An arrival: whether it is refused, for want of room (true) or by must_drop (false).
    pub fn enqueue(&mut self, mut packet: TestPacket, now: u64, random: &mut Stream) -> Option<bool> {
        let l4s = packet.ecn as u8 & self.tc.ecn_mask != 0;
        if self.skbs.len() >= self.tc.limit {
            self.counts.overlimit += 1;
            return Some(true);
        }
        if self.tc.drop_early && self.must_drop(&mut packet, l4s, random) {
            return Some(false);
        }
        let apply_step = l4s && self.len(true) as u64 >= u64::from(self.tc.min_qlen_step);
        self.skbs.push(Skb { packet, ts: now, l4s, apply_step });
        None
    }

    fn take(&mut self, l4s: bool) -> Skb {
        let first = self.skbs.iter().position(|skb| skb.l4s == l4s).expect("it is not empty");
        self.skbs.remove(first)
    }

    /// The link asks for a packet: the one that leaves, and those that are dropped on the way.
    pub fn dequeue(&mut self, now: u64, random: &mut Stream) -> (Option<TestPacket>, Vec<TestPacket>) {
        let mut dropped = vec![];
        loop {
            let (l_len, c_len) = (self.len(true), self.len(false));
            let l4s = l_len > 0 && (c_len == 0 || self.credit <= 0);
            if !l4s && c_len == 0 {
                self.reset_credit();
                return (None, dropped);
            }
            let mut skb = self.take(l4s);
            let mut credit_change = 0;
            if l4s && c_len > 0 {
                credit_change = self.tc.c_protection;
            } else if !l4s && l_len > 0 {
                credit_change = -(100 - self.tc.c_protection);
            }
            credit_change *= skb.packet.bytes as i32;
            let came = skb.packet;
            if !self.tc.drop_early && self.must_drop(&mut skb.packet, l4s, random) {
                dropped.push(came);
                continue;
            }
            if skb.apply_step {
                let above = match self.tc.step {
                    Threshold::Us(threshold) => now - skb.ts > u64::from(us(threshold)),
                    Threshold::Packets(threshold) => self.len(true) as u64 > u64::from(threshold),
                };
                if above {
                    self.counts.step_marks += u64::from(skb.packet.ecn != Ecn::CongestionExperienced);
                    skb.packet.ecn = Ecn::CongestionExperienced;
                }
            }
            self.counts.l_turns += u64::from(l4s && c_len > 0);
            self.counts.c_turns += u64::from(!l4s && l_len > 0);
            self.credit += credit_change;
            return (Some(skb.packet), dropped);
        }
    }

    fn gain(param: u32) -> i64 {
        ((u64::from(param) * u64::from(MAX_PROB)) / 4 / 1_000_000_000) as i64
    }

    /// Every tupdate.
    pub fn update(&mut self, now: u64) {
        let head = |l4s| self.skbs.iter().find(|skb| skb.l4s == l4s).map_or(0, |skb| now - skb.ts);
        let qdelay = head(true).max(head(false));
        let target = u64::from(self.tc.target) * 1000;
        let mut delta = (qdelay as i64 - target as i64).wrapping_mul(Self::gain(self.tc.alpha));
        delta = delta.wrapping_add((qdelay as i64 - self.last_qdelay as i64).wrapping_mul(Self::gain(self.tc.beta)));
        self.last_qdelay = qdelay;
        let old = self.prob;
        if delta > 0 {
            self.prob = (delta as u64 / 64).wrapping_add(u64::from(old)) as u32;
            if self.prob < old {
                self.prob = MAX_PROB;
                self.counts.at_most += 1;
            }
        } else {
            self.prob = u64::from(old).wrapping_sub(delta.wrapping_neg() as u64 / 64) as u32;
            if self.prob > old {
                self.prob = 0;
                self.counts.at_least += 1;
            }
        }
        if !self.tc.drop_overload {
            self.prob = self.prob.min(MAX_PROB / u32::from(self.tc.coupling));
        }
    }
}
