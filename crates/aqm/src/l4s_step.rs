//! # L4S step marker
//!
//! A first-in-first-out queue that marks each ECN-capable packet whose wait has passed a threshold when it leaves, and
//! otherwise only drops what finds no room. It is the immediate, shallow marking that scalable senders (DCTCP, Prague) are
//! made for, without the second queue that protects others from them.
//!
//! ```text
//! for each arrival:    the queue has no room?  drop it;  else queue it
//! the link can send:   take the head;  wait ← now − its arrival      (Linux, include/net/codel_impl.h, ce_threshold)
//!     wait > step_thresh, and its ECN field is one that `ect` takes?  mark it
//!     (with step_thresh_packets: if more than so many are left behind it)             (Linux, net/sched/sch_dualpi2.c)
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 9332, App. A.1: the native AQM of the L queue is a ramp, from 800 µs to 1.2 ms, which may be made a step | a step at 1 ms | Linux's `dualpi2`; its middle is the same. `dualpi2` has the ramp |
//! | RFC 9332: a packet is not marked while the queue is of one packet, which a slow link takes long to send | marked whenever its wait has passed | so in Linux; give a threshold that suits the link |
//! | DCTCP (RFC 8257, Sec. 3.1): an arrival that finds more than K is marked | a packet that leaves more than `step_thresh_packets` behind is marked | so in Linux's `dualpi2`; a sender hears of the queue earlier by the time that it takes to leave |
//! | RFC 9331, Sec. 5: L4S packets are known by ECT(1), and a marked one stays one | `ect` = any_ect by default: everything capable is marked; = l4s_ect: ECT(1) alone | DCTCP sends ECT(0). The first is Linux's `ce_threshold`, the second that with the selector 0x1/0x3 |
//! | Linux's `dualpi2` drops a packet of the L queue that is over the threshold and cannot carry a mark | it is left alone | so with `ce_threshold`; it waits among the others and was not classified as L4S |
//! | nothing on the limit | `limit`, counted without the packet in transmission; an arrival beyond it is dropped with reason `tail` | as for `codel` |
//! | `tc` has no such queue | no `tc` line | near it: `fq_codel` with `flows 1`, `ce_threshold` and a `target` that is never met |

use crate::prelude::*;
use sluicegate_base::Ecn;

choices! {
    /// Which ECN fields a threshold, or a queue, is for.
    pub enum Ect {
        /// ECT(1), the identifier of L4S, and CE, which it may have been.
        L4s = "l4s_ect",
        /// All but Not-ECT.
        Any = "any_ect",
    }
}

impl Ect {
    /// Whether a packet with this field is meant.
    #[inline]
    #[must_use]
    pub fn takes(self, ecn: Ecn) -> bool {
        match self {
            Ect::L4s => matches!(ecn, Ecn::Capable1 | Ecn::CongestionExperienced),
            Ect::Any => ecn != Ecn::NotCapable,
        }
    }
}

discipline! {
    L4sStep: "l4s_step", "L4S step marker",
    source("RFC 9332, App. A.1; Linux, include/net/codel_impl.h, ce_threshold; RFC 8257, Sec. 3.1"),
    drops(Tail),
    // The queue of the moment decides.
    proportional(),
    remembers(None, "a time in each packet"),
    marks(always),

    /// Parameters of [`L4sStep`].
    pub struct L4sStepParams {
        /// Most that the queue holds, not counting the packet in transmission.
        limit: Size = default(Size::Packets(1000)), unit("packets"), range(Range::from(1.0)), source("as `codel`");
        /// A packet that has waited longer is marked.
        step_thresh: Span = default(Span::from_millis(1)), range(Range::from(0.0).to(3600.0)),
            source("Linux, net/sched/sch_dualpi2.c: 1 ms");
        /// Instead of by its wait, a packet is marked by how many it leaves behind: if they are more.
        step_thresh_packets: Option<u64> = optional("its wait decides"), unit("packets"), range(Range::from(0.0)),
            source("Linux, net/sched/sch_dualpi2.c; RFC 8257, Sec. 3.1: K");
        /// Which packets are marked.
        ect: Ect = default(Ect::Any), source("Linux, net/sched/sch_fq_codel.c, ce_threshold_selector");
    }
}

/// A first-in-first-out queue that marks above a threshold.
#[derive(Clone, Debug)]
pub struct L4sStep<P> {
    params: L4sStepParams,
    /// Packets, and when each came.
    fifo: Fifo<P, Time>,
}

impl<P: Packet> L4sStep<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: L4sStepParams) -> Self {
        L4sStep { fifo: Fifo::new(params.limit), params }
    }
}

impl<P: Packet> Discipline<P> for L4sStep<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        if self.fifo.has_room(&packet) {
            self.fifo.push_with(packet, ctx.now);
        } else {
            ctx.drop(packet, DropReason::Tail);
        }
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let (mut packet, came) = self.fifo.pop_with()?;
        let above = match self.params.step_thresh_packets {
            Some(most) => self.fifo.packets() > most,
            None => ctx.now.since(came) > self.params.step_thresh,
        };
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
        self.params = params;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};
    use Ecn::{Capable0, Capable1, CongestionExperienced, NotCapable};
    use alloc::vec::Vec;
    use sluicegate_base::{Link, Params};

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
        let marked = [NotCapable, CongestionExperienced, CongestionExperienced, CongestionExperienced];
        assert_eq!(left(params(), Span(1_000_001)), marked);
    }

    #[test]
    fn ect_1_alone_may_be_meant() {
        let marked = left(L4sStepParams { ect: Ect::L4s, ..params() }, Span::from_millis(2));
        assert_eq!(marked, [NotCapable, CongestionExperienced, Capable0, CongestionExperienced]);
    }

    /// The three packets behind the first, then two, one and none.
    #[test]
    fn a_threshold_in_packets_counts_those_left_behind() {
        for (most, marks) in [(0, [true, true, true, false]), (1, [true, true, false, false]), (3, [false; 4])] {
            let mut harness =
                Harness::new(L4sStep::new(L4sStepParams { step_thresh_packets: Some(most), ..params() }), 1);
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
