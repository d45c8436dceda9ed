//! A slow and obvious model of Linux's GRED, as an oracle for `gred`.
//!
//! Written from the algorithm of the kernel's `net/sched/sch_gred.c` (Linux 6), on the model of `include/net/red.h` and of `tc`
//! beside this one, and sharing no code with `gred`. Whether averages are coupled or shared follows from `grio` and the
//! priorities of the queues, as in the kernel. The weight and the table for idle times are those of the first queue, for all.

use super::red::{self, Decay, Reciprocal, Sent};
use sluicegate_aqm::DropReason;
use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::Stream;

/// What `tc qdisc change … gred DP` is given for one queue.
#[derive(Clone, Copy, Debug)]
pub struct Dp {
    pub limit: u32,
    pub min: u32,
    pub max: u32,
    pub probability: f64,
    pub prio: u8,
}

/// What `tc` is given for all.
#[derive(Clone, Debug)]
pub struct Tc {
    pub dps: Vec<Dp>,
    pub default: usize,
    pub grio: bool,
    pub ecn: bool,
    pub harddrop: bool,
    pub burst: u32,
    pub avpkt: u32,
    pub bandwidth: u64,
}

impl Tc {
    /// What goes to the kernel, if every threshold has room in it.
    pub fn sent(&self) -> Option<Sent> {
        let min = f64::from(self.dps[0].min) / f64::from(self.avpkt);
        red::sent(min, self.dps.iter().map(|dp| dp.max).max()?, self.burst, self.avpkt, self.bandwidth)
    }
}

/// How often each thing happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub prob_drop: u64,
    pub prob_mark: u64,
    pub forced_drop: u64,
    pub forced_mark: u64,
    pub pdrop: u64,
    /// Averages of other queues that were added.
    pub coupled: u64,
    pub shifted: u64,
    pub linear: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Vars {
    qcount: i32,
    q_r: u32,
    qavg: u64,
    qidlestart: Option<u64>,
}

struct Vq {
    dp: Dp,
    reciprocal: Reciprocal,
    backlog: u32,
    vars: Vars,
}

/// The queue.
pub struct Gred {
    tc: Tc,
    sent: Sent,
    tab: Vec<Vq>,
    wred_set: Vars,
    queue: Vec<(TestPacket, usize)>,
    pub counts: Counts,
}

impl Gred {
    pub fn new(tc: Tc) -> Option<Gred> {
        let sent = tc.sent()?;
        let vq = |dp: &Dp| {
            let reciprocal = red::max_p_reciprocal(dp.probability, dp.max - dp.min);
            Vq { dp: *dp, reciprocal, backlog: 0, vars: Vars { qcount: -1, ..Vars::default() } }
        };
        let tab = tc.dps.iter().map(vq).collect();
        Some(Gred { tc, sent, tab, wred_set: Vars::default(), queue: vec![], counts: Counts::default() })
    }

    fn wred_mode(&self) -> bool {
        let mut prios: Vec<u8> = self.tc.dps.iter().map(|dp| dp.prio).collect();
        prios.sort_unstable();
        prios.dedup();
        self.tc.grio && prios.len() < self.tc.dps.len()
    }

    fn backlog(&self, dp: usize) -> u32 {
        let all = || self.queue.iter().map(|(packet, _)| packet.bytes as u32).sum();
        if self.wred_mode() { all() } else { self.tab[dp].backlog }
    }

    /// The average by which a queue is judged, in bytes, without those of others.
    pub fn average(&self, dp: usize) -> f64 {
        let vars = if self.wred_mode() { &self.wred_set } else { &self.tab[dp].vars };
        vars.qavg as f64 / libm::pow(2.0, f64::from(self.sent.wlog))
    }

    pub fn queued(&self) -> Vec<TestPacket> {
        self.queue.iter().map(|(packet, _)| *packet).collect()
    }

    /// An arrival of this `tc_index`: what is dropped, and why.
    pub fn enqueue(
        &mut self,
        mut packet: TestPacket,
        tc_index: usize,
        now: u64,
        random: &mut Stream,
    ) -> Option<(TestPacket, DropReason)> {
        let mut dp = tc_index & 15;
        if dp >= self.tab.len() {
            dp = self.tc.default;
        }
        let wred = self.wred_mode();
        let mut others = 0;
        if self.tc.grio && !wred {
            for vq in &self.tab {
                if vq.dp.prio < self.tab[dp].dp.prio && vq.vars.qidlestart.is_none() {
                    others += vq.vars.qavg;
                }
            }
        }
        self.counts.coupled += u64::from(others > 0);
        if wred {
            self.tab[dp].vars.qavg = self.wred_set.qavg;
            self.tab[dp].vars.qidlestart = self.wred_set.qidlestart;
        }
        let backlog = self.backlog(dp);
        let Vq { dp: Dp { limit, min, max, .. }, reciprocal, vars, .. } = &mut self.tab[dp];
        vars.qavg = match vars.qidlestart.take() {
            None => red::moved(&self.sent, vars.qavg, backlog),
            Some(start) => {
                let (qavg, how) = red::decayed(&self.sent, vars.qavg, now - start);
                self.counts.shifted += u64::from(how == Decay::Shifted);
                self.counts.linear += u64::from(how == Decay::Linear);
                qavg
            }
        };
        if wred {
            self.wred_set = *vars;
        }
        let (qavg, wlog) = (vars.qavg + others, self.sent.wlog);
        if qavg < u64::from(*min) << wlog {
            vars.qcount = -1;
        } else if qavg >= u64::from(*max) << wlog {
            vars.qcount = -1;
            if self.tc.harddrop || !self.tc.ecn || !red::mark(&mut packet) {
                self.counts.forced_drop += 1;
                return Some((packet, DropReason::Forced));
            }
            self.counts.forced_mark += 1;
        } else {
            vars.qcount += 1;
            let height = (qavg - (u64::from(*min) << wlog)) >> wlog;
            if vars.qcount == 0 {
                vars.q_r = red::red_random(*reciprocal, random);
            } else if height.wrapping_mul(vars.qcount as u64) >= u64::from(vars.q_r) {
                vars.qcount = 0;
                vars.q_r = red::red_random(*reciprocal, random);
                if !self.tc.ecn || !red::mark(&mut packet) {
                    self.counts.prob_drop += 1;
                    return Some((packet, DropReason::Early));
                }
                self.counts.prob_mark += 1;
            }
        }
        if u64::from(backlog) + packet.bytes > u64::from(*limit) {
            self.counts.pdrop += 1;
            return Some((packet, DropReason::Tail));
        }
        self.tab[dp].backlog += packet.bytes as u32;
        self.queue.push((packet, dp));
        None
    }

    /// The link asks for a packet.
    pub fn dequeue(&mut self, now: u64) -> Option<TestPacket> {
        if self.queue.is_empty() {
            return None;
        }
        let (packet, dp) = self.queue.remove(0);
        self.tab[dp].backlog -= packet.bytes as u32;
        if self.wred_mode() {
            if self.queue.is_empty() {
                self.wred_set.qidlestart = Some(now);
            }
        } else if self.tab[dp].backlog == 0 {
            self.tab[dp].vars.qidlestart = Some(now);
        }
        Some(packet)
    }
}
