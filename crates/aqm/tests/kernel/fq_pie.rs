//! A slow and obvious model of Linux's FQ-PIE, as an oracle for `fq_pie` with `law` = linux.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_fq_pie.c` (Linux 5.6 to 6), sharing no code with `fq_pie`; each queue
//! is the model of the kernel's PIE. Hash and timer are the test's. `memory_limit` is counted in the kernel, and nothing else:
//! it is not modelled.

use super::pie::{self, Pie};
use sluicegate_aqm::DropReason;
use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::Stream;

/// What `tc qdisc add … fq_pie` is given; of `pie`, all but the limit.
#[derive(Clone, Copy, Debug)]
pub struct Tc {
    pub pie: pie::Tc,
    pub limit: usize,
    pub flows: usize,
    pub quantum: i64,
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub dropped: u64,
    pub marked: u64,
    pub overlimit: u64,
    pub turns: u64,
    pub passed: u64,
}

struct Flow {
    pie: Pie,
    deficit: i64,
}

/// The queue.
pub struct FqPie {
    tc: Tc,
    flows: Vec<Flow>,
    new_flows: Vec<usize>,
    old_flows: Vec<usize>,
    turns: u64,
    passed: u64,
}

impl FqPie {
    pub fn new(tc: Tc) -> FqPie {
        let one = pie::Tc { limit: usize::MAX, ..tc.pie };
        let flows = (0..tc.flows).map(|_| Flow { pie: Pie::new(one), deficit: 0 }).collect();
        FqPie { tc, flows, new_flows: vec![], old_flows: vec![], turns: 0, passed: 0 }
    }

    pub fn counts(&self) -> Counts {
        let sum = |count: fn(&pie::Counts) -> u64| self.flows.iter().map(|flow| count(&flow.pie.counts)).sum();
        Counts {
            dropped: sum(|counts| counts.dropped),
            marked: sum(|counts| counts.marked),
            overlimit: sum(|counts| counts.overlimit),
            turns: self.turns,
            passed: self.passed,
        }
    }

    /// The packets, queue by queue: the new ones, then the old ones.
    pub fn queued(&self) -> Vec<TestPacket> {
        self.new_flows.iter().chain(&self.old_flows).flat_map(|at| self.flows[*at].pie.queued()).collect()
    }

    /// The highest probability of all queues.
    pub fn highest(&self) -> f64 {
        self.flows.iter().map(|flow| flow.pie.p()).fold(0.0, f64::max)
    }

    /// An arrival for this queue: why it is dropped, if it is.
    pub fn enqueue(&mut self, packet: TestPacket, at: usize, now: u64, random: &mut Stream) -> Option<DropReason> {
        if self.queued().len() >= self.tc.limit {
            self.flows[at].pie.refuse();
            return Some(DropReason::Tail);
        }
        if !self.flows[at].pie.enqueue(packet, now, random) {
            return Some(DropReason::Early);
        }
        if !self.new_flows.contains(&at) && !self.old_flows.contains(&at) {
            self.new_flows.push(at);
            self.flows[at].deficit = self.tc.quantum;
        }
        None
    }

    /// The link asks for a packet.
    pub fn dequeue(&mut self, now: u64) -> Option<TestPacket> {
        loop {
            let new = !self.new_flows.is_empty();
            let list = if new { &mut self.new_flows } else { &mut self.old_flows };
            let at = *list.first()?;
            let flow = &mut self.flows[at];
            if flow.deficit <= 0 {
                self.turns += 1;
                flow.deficit += self.tc.quantum;
                list.remove(0);
                self.old_flows.push(at);
                continue;
            }
            if let Some(packet) = flow.pie.dequeue(now) {
                flow.deficit -= packet.bytes as i64;
                return Some(packet);
            }
            list.remove(0);
            if new && !self.old_flows.is_empty() {
                self.passed += 1;
                self.old_flows.push(at);
            }
        }
    }

    /// Every tupdate. (The kernel does 2048 queues at a time.)
    pub fn update(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.pie.update());
    }
}
