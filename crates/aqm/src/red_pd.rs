//! # RED-PD
//!
//! RED with preferential dropping. Each interval ends with a list of the flows that RED's drops hit most. Flows in most of
//! the last few lists are those with the highest rates, whatever other flows do; only they are monitored. A filter before
//! RED drops the packets of a monitored flow with a probability that grows while the flow is in enough lists, and falls
//! once it is in none.
//!
//! ```text
//! for each arrival of a monitored flow:                   (Mahajan, Floyd & Wetherall 2001, as ns-2 has it: red-pd.cc
//!     avg ≥ min_th and q > 1, or the flow is unresponsive?                      and tcl/ex/red-pd/monitoring.tcl)
//!         with probability p/(1 − count·p):  count ← 0, drop (policed);   else count ← count + 1
//! for each arrival that passes:  RED
//! after each interval:  p_now ← RED's drops/its arrivals, in bytes;  p_avg ← (p_now + p_avg)/2;  usable ← min of both
//!     the flows with RED drops, at most `list_flows`, become the newest of `lists` lists
//!     identified: in at least `identified` lists.  bytes_i: its drops in all lists;  p_pre ← usable·bytes_i/mean bytes
//!     p_now > 0.001:  each identified flow with a drop in this interval, unchanged for 4 intervals and 0.4 s:
//!         new:                 p ← min(p_pre, 2·usable, 0.5)
//!         monitored:           p ← p + min(p, p_pre);           beyond 1:  1 − p halves instead
//!         unresponsive:        p ← p + 2·min(p, p_pre);         beyond 1:  1 − p falls to a third instead
//!     each monitored flow in none of the lists, unchanged for 3 intervals (unresponsive: 5) and 0.4 s:
//!         p ≤ release (unresponsive: half of it)?  monitored no more
//!         else p ← p − step, but at most halved (unresponsive: cut to two thirds)
//!     the next interval is (identified/lists)·R/√(1.5·p_avg), from 2·R to 10·R
//! ```
//!
//! Memory is bounded: only flows with drops in the present interval or in a list, and monitored ones, have a state, at most
//! `flows`. They are found by a keyed hash. `state` shows `flows`, how many have a state, and how many are `monitored`. While
//! a link has neither drops nor arrivals, it needs no timer: its intervals of 10·R would change nothing.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the text of 2001 was not at hand | the rule is that of ns-2, by one of its authors, and DCN 2004, Sec. 2 | ns-2's code is the reference for what these texts leave open |
//! | lists start at 10.1 s in ns-2's scripts | the first interval starts at 0 and lasts 10·R | the scripts let the simulation settle |
//! | p is raised, then 1 ms later lowered | both at once | no flow is both raised and lowered |
//! | p, the probability that a flow's packet is dropped, doubles if p_pre > p and else rises by p_pre. p_pre is RED's drop rate times the flow's drops in the lists, divided by the mean of these drops over the identified flows | p + min(p, p_pre) | the same in one formula |
//! | unresponsive: of a flow's last five changes of p, ns-2 takes all pairs whose drop rates differ by less than ten times. A pair is bad if the flow's rate fell by less than the root of the drop rates' ratio. The flow is unresponsive with 3 or more bad pairs and no other pair, or with n other pairs and at least 4·n bad ones | the same; `unresponsive_test` switches it off | ns-2 |
//! | a flow's arrivals are counted from its first packet on | from its first drop on | a flow is identified by drops in three lists; only its count for the first of these intervals is incomplete |
//! | every flow has a state in ns-2's flow monitor | those with drops, at most `flows`; while so many have state, drops of other flows count only in RED's drop rate p_now | memory stays bounded whatever arrives |
//! | drops | drops and marks of RED | if RED marks, the history of a flow's drops consists of marks |
//! | monitored flows are dropped before RED, and those drops enter no list | the same; reason `policed` | ns-2 |
//! | the drop of an unresponsive flow may be spared when the queue is empty (`noidle_`) | never | ns-2's default |
//! | most of ns-2's runs have `gentle` on, and thresholds of 10 and 33 | `gentle` off, 5 and 15 | these are RED's defaults here, so that RED and RED-PD can be compared. With thresholds of 30 and 60 and with `gentle`, 2 Mbit/s of UDP beside 32 TCPs get 18 % of 1 Mbit/s, here and in ns-2 |

mod monitor;

use crate::prelude::*;
use crate::red::{GapLaw, RedBlock, RedRule, RedSignal, Verdict};
use monitor::Monitor;

discipline! {
    RedPd: "red_pd", "RED-PD",
    source("Mahajan, Floyd & Wetherall 2001; ns-2, queue/red-pd.cc and tcl/ex/red-pd"),
    drops(Tail, Early, Forced, Policed),
    remembers(Seen, "those with recent drops"),
    overload(Drops, "at `max_th` and above, unless `above_max_th` = mark; monitored flows with their own probability"),

    /// Parameters of [`RedPd`].
    pub struct RedPdParams {
        ..red: RedBlock;
        ..signal: RedSignal;
        /// RED: raise the probability from max_p to 1 between max_th and 2·max_th, instead of signalling on every
        /// arrival.
        gentle: bool = default(false), source("ns-2, gentle_; tcl/ex/red-pd/topology.tcl");
        /// Look for flows that do not send less when more is dropped, and drop more of their packets.
        unresponsive_test: bool = default(true), source("ns-2, tcl/ex/red-pd/red-pd.tcl: unresponsive_test_");
        /// Flows are identified if they send more than a TCP with this round-trip time at RED's drop rate.
        r: Span = default(Span::from_millis(40)), range(Range::from(0.0001).to(60.0)),
            source("ns-2, tcl/ex/red-pd/red-pd.tcl: target_rtt_");
        /// Number of drop lists that are kept.
        lists: u64 = default(5), unit("lists"), range(Range::from(1.0).to(16.0)),
            source("ns-2, tcl/ex/red-pd/helper.tcl: MaxHighDRFlowHist_"), fixed(true);
        /// A flow is identified if it is in this many lists.
        identified: u64 = default(3), unit("lists"), range(Range::from(1.0).to(16.0)),
            source("ns-2, tcl/ex/red-pd/helper.tcl: XinRegular_");
        /// Number of flows in a list: those with the most drops.
        list_flows: u64 = default(50), unit("flows"), range(Range::from(1.0).to(1_000_000.0)),
            source("ns-2, tcl/ex/red-pd/helper.tcl: MaxDropList_");
        /// Largest single decrease of a monitored flow's probability.
        step: f64 = default(0.05), unit("1"), range(Range::above(0.0).to(1.0)),
            source("ns-2, tcl/ex/red-pd/helper.tcl: maxPReduction_");
        /// A flow is no longer monitored below this probability.
        release: f64 = default(0.005), unit("1"), range(Range::from(0.0).to(1.0)),
            source("ns-2, tcl/ex/red-pd/monitoring.tcl: 1 - 0.995");
        /// Largest number of flows with state.
        flows: u64 = default(1000), unit("flows"), range(Range::from(1.0).to(1_000_000.0)), source("chosen here"), fixed(true);
    }
    rules {
        "min_th and max_th count packets" [min_th, max_th] |p| p.red.counts_packets();
        "min_th < max_th" [min_th, max_th] |p| p.red.is_a_band();
        "identified <= lists" [identified, lists] |p| p.identified <= p.lists;
    }
}

fn rule(params: &RedPdParams) -> RedRule {
    RedRule::new(&params.red, &params.signal).with_gaps(GapLaw::Section7, false, params.gentle)
}

/// A first-in-first-out queue under RED, with a filter for the flows that have the most drops.
#[derive(Clone, Debug)]
pub struct RedPd<P> {
    rule: RedRule,
    fifo: Fifo<P>,
    monitor: Monitor,
}

impl<P: Packet> RedPd<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: RedPdParams) -> Self {
        RedPd { rule: rule(&params), fifo: Fifo::new(params.red.limit), monitor: Monitor::new(&params) }
    }
}

impl<P: Packet> Discipline<P> for RedPd<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        // Intervals that passed unasked changed nothing.
        self.monitor.timer.skip_missed(ctx.now);
        let (flow, bytes) = (packet.flow(), packet.bytes());
        let may = self.rule.above_min_th() && self.fifo.packets() > 1;
        if self.monitor.arrival(flow, bytes, may, ctx.rng) {
            return ctx.drop(packet, DropReason::Policed);
        }
        self.rule.update_avg(self.fifo.packets(), self.fifo.bytes(), ctx.now);
        let verdict = self.rule.judge(bytes, ctx.rng);
        let reason = self.rule.carry_out(verdict, &mut packet);
        let reason = reason.or_else(|| (!self.fifo.has_room(&packet)).then_some(DropReason::Tail));
        if verdict != Verdict::Pass || reason.is_some() {
            self.monitor.signal(flow, bytes, ctx.rng);
        }
        match reason {
            Some(reason) => ctx.drop(packet, reason),
            None => self.fifo.push(packet),
        }
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let packet = self.fifo.pop();
        if packet.is_none() {
            self.rule.idle(ctx.now);
        }
        packet
    }

    fn next_wakeup(&self) -> Option<Time> {
        (!self.monitor.quiet()).then(|| self.monitor.timer.due())
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        if self.monitor.timer.tick(ctx.now) {
            self.monitor.interval(ctx.now);
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn average(&self) -> Option<f64> {
        Some(self.rule.avg())
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        let (flows, monitored) = self.monitor.counts();
        visit(None, "flows", flows as f64);
        visit(None, "monitored", monitored as f64);
    }
}

impl<P: Packet> Configure<P> for RedPd<P> {
    fn configure(&mut self, params: RedPdParams, ctx: &mut Ctx<'_, P>) {
        self.rule = rule(&params).continuing(&self.rule);
        self.fifo.resize(params.red.limit, ctx);
        self.monitor.configure(params);
    }
}

#[cfg(test)]
mod tests;
