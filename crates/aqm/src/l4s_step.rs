//! # L4S step marker
//!
//! A first-in-first-out queue that marks each packet of a scalable sender (Prague; with `ect` = any_ect also DCTCP)
//! whose wait has passed a threshold when it leaves: the immediate signal at a short queue that such senders expect.
//! CoDel without marks decides on the drops: it is the Classic AQM of all other packets, and it drops those of scalable
//! senders as well when their marks do not hold the queue. There is no second queue to protect the others from them;
//! `dualpi2` has one.
//!
//! ```text
//! for each arrival:    the queue has no room?  drop it;  else queue it
//! the link can send:   take the head, or drop it and take the next if CoDel says so         (RFC 8289, Sec. 5.5, as `codel`)
//!     wait ← now − its arrival                                       (Linux, include/net/codel_impl.h, ce_threshold)
//!     wait > step_thresh, and its ECN field is one that `ect` takes?  mark it
//!     (with step_thresh_packets: if more than so many are left behind it)             (Linux, net/sched/sch_dualpi2.c)
//! overload = overflow: without CoDel
//! ```
//!
#![doc = include_str!("l4s_step.md")]

use crate::codel::{CodelRule, CodelState, CodelVersion};
use crate::l4s::{Ect, OnOverload};
use crate::prelude::*;

discipline! {
    L4sStep: "l4s_step", "L4S step marker",
    source("RFC 9331, Sec. 5.1; RFC 9332, App. A.1; RFC 8289; Linux, include/net/codel_impl.h, ce_threshold; RFC 8257, Sec. 3.1"),
    drops(Tail, Early),
    // The queue of the moment decides.
    proportional(),
    remembers(None, "a time in each packet"),
    marks(always),
    overload(Drops, "by CoDel, unless `overload` = overflow"),

    /// Parameters of [`L4sStep`].
    pub struct L4sStepParams {
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(1000)), unit("packets"), range(Range::from(1.0)), source("as `codel`");
        /// A packet that has waited longer is marked.
        step_thresh: Span = default(Span::from_millis(1)), range(Range::from(0.0).to(3600.0)),
            source("Linux, net/sched/sch_dualpi2.c: 1 ms");
        /// If given, a packet is marked if it leaves more than this many packets behind, whatever its delay.
        step_thresh_packets: Option<u64> = optional("the packet's delay decides"), unit("packets"), range(Range::from(0.0)),
            source("Linux, net/sched/sch_dualpi2.c; RFC 8257, Sec. 3.1: K");
        /// Which packets are marked.
        ect: Ect = default(Ect::L4s), source("RFC 9331, Sec. 5.1; any_ect: RFC 8257, Sec. 3.1");
        /// CoDel's target: the acceptable delay of a standing queue.
        target: Span = default(Span::from_millis(5)), range(Range::above(0.0).to(3600.0)), source("RFC 8289, Sec. 4.3: 5 ms");
        /// CoDel's interval: how long the delay must be above target before the first drop.
        interval: Span = default(Span::from_millis(100)), range(Range::above(0.0).to(3600.0)),
            source("RFC 8289, Sec. 4.2: 100 ms");
        /// The longest packet of the link. CoDel does not act while at most this many bytes wait.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("B"),
            range(Range::from(0.0)), source("RFC 8289, Sec. 5.3");
        /// What happens when marks alone do not hold the queue: drops by CoDel, or a full buffer.
        overload: OnOverload = default(OnOverload::Drop), source("RFC 9331, Sec. 5.1");
    }
    rules {
        "max_packet is in bytes" [max_packet] |p| matches!(p.max_packet, Size::Bytes(_));
        "step_thresh < target, unless overload = overflow" [step_thresh, target, overload]
            |p| p.overload == OnOverload::Overflow || p.step_thresh_packets.is_some() || p.step_thresh < p.target;
    }
}

impl L4sStepParams {
    /// CoDel as the Classic AQM, and its threshold as the step.
    fn rule(&self) -> CodelRule {
        let target = match self.overload {
            OnOverload::Drop => self.target,
            OnOverload::Overflow => Span(u64::MAX), // no wait is so long
        };
        let step = if self.step_thresh_packets.is_none() { Some(self.step_thresh) } else { None };
        CodelRule::new(CodelVersion::Rfc8289, target, self.interval, self.max_packet.amount(), false)
            .with_ce_threshold(step, self.ect)
    }
}

/// A first-in-first-out queue that marks above a threshold.
#[derive(Clone, Debug)]
pub struct L4sStep<P> {
    params: L4sStepParams,
    rule: CodelRule,
    state: CodelState,
    /// Packets, and when each came.
    fifo: Fifo<P, Time>,
}

impl<P: Packet> L4sStep<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: L4sStepParams) -> Self {
        L4sStep { rule: params.rule(), state: CodelState::default(), fifo: Fifo::new(params.limit), params }
    }
}

impl<P: Packet> Discipline<P> for L4sStep<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.fifo.admit_with(packet, ctx.now, ctx);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.dequeue_in_class(0, ctx)
    }

    fn dequeue_in_class(&mut self, elsewhere: u64, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let mut packet = self.rule.dequeue(&mut self.state, &mut self.fifo, 0, elsewhere, ctx)?;
        let above = self.params.step_thresh_packets.is_some_and(|most| self.fifo.packets() > most);
        if above && self.params.ect.takes(packet.ecn()) {
            packet.mark();
        }
        Some(packet)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }
}

impl<P: Packet> Configure<P> for L4sStep<P> {
    fn configure(&mut self, params: L4sStepParams, ctx: &mut Ctx<'_, P>) {
        self.fifo.resize(params.limit, ctx);
        self.rule = params.rule();
        self.params = params;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};
    use Ecn::{Capable0, Capable1, CongestionExperienced, NotCapable};
    use alloc::vec::Vec;
    use sluicegate_base::{Ecn, Link, Params};

    fn params() -> L4sStepParams {
        L4sStepParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
    }

    /// A packet with each ECN field came at 0; with which does each leave?
    fn left(params: L4sStepParams, after: Span) -> Vec<Ecn> {
        let mut harness = Harness::new(L4sStep::new(params), 1);
        for ecn in [NotCapable, Capable1, Capable0, CongestionExperienced] {
            harness.offer(1, 1000, ecn);
        }
        harness.wait(after);
        let left = core::iter::from_fn(|| harness.depart()).map(|packet: TestPacket| packet.ecn).collect();
        assert!(harness.dropped.is_empty());
        harness.assert_conserved();
        left
    }

    #[test]
    fn a_wait_above_the_threshold_is_marked() {
        let unmarked = [NotCapable, Capable1, Capable0, CongestionExperienced];
        assert_eq!(left(params(), Span::from_millis(1)), unmarked, "the threshold is not passed yet");
        let marked = [NotCapable, CongestionExperienced, Capable0, CongestionExperienced];
        assert_eq!(left(params(), Span(1_000_001)), marked);
        let marked = [NotCapable, CongestionExperienced, CongestionExperienced, CongestionExperienced];
        assert_eq!(left(L4sStepParams { ect: Ect::Any, ..params() }, Span(1_000_001)), marked, "any_ect");
    }

    /// RFC 9331, Sec. 5.1: a queue that stays above `target` for an `interval` drops all alike, and it is CoDel that does.
    #[test]
    fn point_7_drops_begin_under_persistent_overload() {
        let flood = |overload, ecn| {
            let mut harness = Harness::new(L4sStep::new(L4sStepParams { overload, ..params() }), 1);
            let mut marks = 0;
            for _ in 0..2000 {
                // Two packets come for each that leaves.
                (0..2).for_each(|flow| harness.offer(flow, 1000, ecn));
                harness.wait(Span::from_millis(8));
                marks += u32::from(harness.depart().unwrap().ecn == CongestionExperienced);
            }
            let early = harness.dropped.iter().filter(|(_, reason)| *reason == DropReason::Early).count();
            (early, marks)
        };
        let codel = flood(OnOverload::Drop, NotCapable).0;
        assert!(codel > 100, "{codel}");
        for ecn in [Capable0, Capable1] {
            let (early, marks) = flood(OnOverload::Drop, ecn);
            assert_eq!(early, codel, "the same drops for {ecn:?}");
            assert_eq!(marks > 1900, ecn == Capable1, "{marks} marks");
            assert_eq!(flood(OnOverload::Overflow, ecn).0, 0, "a full buffer alone");
        }
    }

    #[test]
    fn point_7_a_short_overload_drops_nothing() {
        let mut harness = Harness::new(L4sStep::new(params()), 1);
        (0..10).for_each(|flow| harness.offer(flow, 1000, Capable1));
        harness.wait(Span::from_millis(20));
        (0..10).for_each(|_| {
            harness.wait(Span::from_millis(8));
            harness.depart();
        });
        assert!(harness.dropped.is_empty());
    }

    /// The three packets behind the first, then two, one and none.
    #[test]
    fn a_threshold_in_packets_counts_those_left_behind() {
        for (most, marks) in [(0, [true, true, true, false]), (1, [true, true, false, false]), (3, [false; 4])] {
            let mut harness = Harness::new(
                L4sStep::new(L4sStepParams { step_thresh_packets: Some(most), ect: Ect::Any, ..params() }),
                1,
            );
            (0..4).for_each(|flow| harness.offer(flow, 1000, Capable0));
            harness.wait(Span::from_secs(1));
            let left: Vec<bool> =
                core::iter::from_fn(|| harness.depart()).map(|packet| packet.ecn == CongestionExperienced).collect();
            assert_eq!(left, marks, "most = {most}");
        }
    }

    #[test]
    fn the_limit_is_kept() {
        let mut harness = Harness::new(L4sStep::new(L4sStepParams { limit: Size::Bytes(2500), ..params() }), 1);
        (0..3).for_each(|flow| harness.offer(flow, 1000, Capable1));
        assert_eq!(harness.dropped_flows(), [(2, DropReason::Tail)]);
        assert_eq!(harness.queued_flows(), [0, 1]);
    }
}
