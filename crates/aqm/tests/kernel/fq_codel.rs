//! A slow and obvious model of Linux's FQ-CoDel, as an oracle for `fq_codel` with `law` = linux.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_fq_codel.c` (Linux 5 to 7), sharing no code with `fq_codel`; each
//! queue is the model of the kernel's CoDel, which sees the backlog of all. The hash is lent by the test. `memory_limit`
//! is not modelled: packets have no memory here.

use super::codel::{self, Codel};
use sluicegate_aqm::harness::TestPacket;

/// What `tc qdisc add … fq_codel` is given, and the device's MTU.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    pub limit: usize,
    pub flows: usize,
    /// In µs.
    pub target: u32,
    /// In µs.
    pub interval: u32,
    pub ecn: bool,
    /// In µs.
    pub ce_threshold: Option<u32>,
    /// The selector 0x1/0x3.
    pub ect1: bool,
    pub quantum: i64,
    pub drop_batch: usize,
    pub mtu: u32,
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub codel: u64,
    pub marks: u64,
    pub ce_marks: u64,
    pub over: u64,
    pub batches: u64,
    pub turns: u64,
    pub passed: u64,
}

struct Flow {
    codel: Codel,
    deficit: i64,
}

/// The queue.
pub struct FqCodel {
    tc: Tc,
    flows: Vec<Flow>,
    new_flows: Vec<usize>,
    old_flows: Vec<usize>,
    backlog: u32,
    pub counts: Counts,
}

impl FqCodel {
    pub fn new(tc: Tc) -> FqCodel {
        let Tc { target, interval, ecn, ce_threshold, ect1, mtu, .. } = tc;
        let one = codel::Tc { limit: usize::MAX, target, interval, ecn, ce_threshold, ect1, mtu };
        let flows = (0..tc.flows).map(|_| Flow { codel: Codel::new(one), deficit: 0 }).collect();
        FqCodel { tc, flows, new_flows: vec![], old_flows: vec![], backlog: 0, counts: Counts::default() }
    }

    /// The packets, queue by queue: the new ones, then the old ones.
    pub fn queued(&self) -> Vec<TestPacket> {
        self.new_flows.iter().chain(&self.old_flows).flat_map(|at| self.flows[*at].codel.queued()).collect()
    }

    /// Works on one queue, which sees the backlog of all.
    fn on<T>(&mut self, at: usize, work: impl FnOnce(&mut Codel) -> T) -> T {
        let codel = &mut self.flows[at].codel;
        codel.share(self.backlog);
        let result = work(codel);
        self.backlog = codel.shared();
        result
    }

    /// An arrival for this queue: what is dropped.
    pub fn enqueue(&mut self, packet: TestPacket, at: usize, now: u64) -> Vec<TestPacket> {
        self.on(at, |codel| codel.enqueue(packet, now));
        if !self.new_flows.contains(&at) && !self.old_flows.contains(&at) {
            self.new_flows.push(at);
            self.flows[at].deficit = self.tc.quantum;
        }
        if self.queued().len() <= self.tc.limit {
            return vec![];
        }
        self.counts.over += 1;
        let bytes: Vec<u32> = self.flows.iter().map(|flow| flow.codel.own_bytes()).collect();
        let most = *bytes.iter().max().expect("there are flows");
        let fattest = bytes.iter().position(|each| *each == most).expect("one has the most");
        let (mut dropped, mut gone) = (vec![], 0);
        loop {
            let packet = self.on(fattest, Codel::lose_head).expect("it holds packets");
            gone += packet.bytes as u32;
            dropped.push(packet);
            if dropped.len() >= self.tc.drop_batch || gone >= most >> 1 {
                break;
            }
        }
        self.counts.batches += u64::from(dropped.len() > 1);
        dropped
    }

    /// The link asks for a packet: the one that leaves, and those that CoDel drops.
    pub fn dequeue(&mut self, now: u64) -> (Option<TestPacket>, Vec<TestPacket>) {
        let mut lost = vec![];
        loop {
            let new = !self.new_flows.is_empty();
            let Some(&at) = self.new_flows.first().or(self.old_flows.first()) else {
                return (None, lost);
            };
            let leave = |this: &mut FqCodel| if new { this.new_flows.remove(0) } else { this.old_flows.remove(0) };
            if self.flows[at].deficit <= 0 {
                self.counts.turns += 1;
                self.flows[at].deficit += self.tc.quantum;
                leave(self);
                self.old_flows.push(at);
                continue;
            }
            let before = self.flows[at].codel.counts;
            let (packet, dropped) = self.on(at, |codel| codel.dequeue(now));
            let after = self.flows[at].codel.counts;
            self.counts.marks += after.ecn_mark - before.ecn_mark;
            self.counts.ce_marks += after.ce_mark - before.ce_mark;
            self.counts.codel += dropped.len() as u64;
            lost.extend(dropped);
            if let Some(packet) = packet {
                self.flows[at].deficit -= packet.bytes as i64;
                return (Some(packet), lost);
            }
            leave(self);
            if new && !self.old_flows.is_empty() {
                self.counts.passed += 1;
                self.old_flows.push(at);
            }
        }
    }
}
