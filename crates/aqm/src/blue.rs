//! # BLUE
//!
//! A probability `p` is raised when the buffer overflows and lowered when the link is idle, each at most once in `freeze_time`;
//! every arrival is dropped or marked with `p`. Neither the length of the queue nor an average of it matters.
//!
//! ```text
//! when a full buffer drops an arrival, or (with `level`) an arrival finds more than `level` in the queue:
//!     if now − last_update > freeze_time:   p ← p + d1;  last_update ← now     (Feng, Kandlur, Saha & Shin 1999; ToN 2002)
//! when the link is idle:
//!     if now − last_update > freeze_time:   p ← p − d2;  last_update ← now
//! for each arrival that finds room:  with probability p:
//!     (action = mark) mark it, if p ≤ mark_th and its transport is capable;  else drop it
//! ```
//!
//! `state` shows `p`.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the values: d1 much larger than d2, freeze_time long enough for a change to take effect | d1 = 0.02, d2 = 0.002, freeze_time = 100 ms | from memory of the paper's experiments, which vary them from 0.0025 and 0.00025 up, at 10 ms and 100 ms; the paper was not at hand, and neither ns-2 2.35 nor Linux has BLUE alone (Linux's `sfb` has it in each bin) |
//! | nothing on few and fast flows | the same values on all links | a drop probability of 0.02, one step, suits windows of about nine packets. One CUBIC flow, at a round trip of 40 ms, uses 42 % of 100 Mbit/s, and 79 % with d1 = 0.0002 and d2 = 0.00002 |
//! | "upon link idle event" | when the link asks and finds nothing, and once more after each freeze_time that it stays idle | the event goes on as long as the idleness, as in the authors' code for ns (from memory); what falls due while nothing arrives is made up for with the next arrival |
//! | "upon packet loss (or q > L) event" | when a full buffer drops an arrival; `level` is off by default | packet loss is the paper's event, q > L its alternative |
//! | marks or drops with p | drops by default, `action` = mark marks what can carry a mark | the paper has both |
//! | marks whatever p is | with p above `mark_th` = 0.1, a packet is dropped instead of marked; `mark_th` = 1 is the paper's | RFC 3168, Sec. 7, and RFC 7567, Sec. 4.2.1: against senders that ignore marks |
//! | early drops are packet loss too | they do not raise p | p would raise itself |
//! | nothing on the order of tests | the full buffer first, then p | as in ns |
//! | nothing on p beyond 0 and 1 | p is cut to [0, 1]; a change that is cut still starts a freeze_time | p is a probability |
//! | nothing on the buffer | `limit` = 50 packets | ns-2's queue limit |

use crate::marking::Marking;
use crate::prelude::*;
use crate::red::Action;

discipline! {
    Blue: "blue", "BLUE",
    source("Feng, Kandlur, Saha & Shin 1999"),
    drops(Tail, Early),
    remembers(None),
    overload(Drops, "above `mark_th`"),

    /// Parameters of [`Blue`].
    pub struct BlueParams {
        ..marking: Marking [action: Action::Drop, "BLUE 2002"];
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(50)), unit("packets"), range(Range::from(0.0)),
            source("default: ns-2's queue limit");
        /// The increment of p at a drop from a full buffer.
        d1: f64 = default(0.02), unit("1"), range(Range::from(0.0).to(1.0)), source("BLUE 2002, from memory");
        /// The decrement of p when the link is idle.
        d2: f64 = default(0.002), unit("1"), range(Range::from(0.0).to(1.0)), source("BLUE 2002, from memory");
        /// Shortest time between two changes of p.
        freeze_time: Span = default(Span::from_millis(100)), range(Range::POSITIVE), source("BLUE 2002, from memory");
        /// Queue length above which an arrival raises p like a drop at a full buffer.
        level: Option<Size> = optional("only drops at a full buffer raise p"), unit("packets"), range(Range::from(0.0)),
            source("BLUE 2002: L");
    }
}

/// A first-in-first-out queue under BLUE.
#[derive(Clone, Debug)]
pub struct Blue<P> {
    params: BlueParams,
    fifo: Fifo<P>,
    p: f64,
    last_update: Time,
    idle: bool,
}

impl<P: Packet> Blue<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: BlueParams) -> Self {
        Blue { fifo: Fifo::new(params.limit), p: 0.0, last_update: Time::ZERO, idle: true, params }
    }

    /// How often now − last_update > freeze_time holds, if each time moves last_update by freeze_time.
    #[inline]
    fn thawed(&self, now: Time) -> u64 {
        now.since(self.last_update).0.saturating_sub(1) / self.params.freeze_time.0
    }

    #[inline]
    fn move_p(&mut self, by: f64) {
        self.p = (self.p + by).clamp(0.0, 1.0);
    }

    /// A packet was dropped, or the queue is long.
    fn congested(&mut self, now: Time) {
        if self.thawed(now) > 0 {
            self.move_p(self.params.d1);
            self.last_update = now;
        }
    }

    /// The idle period is over: what it would still have changed.
    #[inline]
    fn busy_again(&mut self, now: Time) {
        if core::mem::take(&mut self.idle) {
            let times = self.thawed(now);
            self.move_p(-(times as f64) * self.params.d2);
            self.last_update += Span(times.saturating_mul(self.params.freeze_time.0));
        }
    }
}

impl<P: Packet> Discipline<P> for Blue<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        self.busy_again(ctx.now);
        let full = !self.fifo.has_room(&packet);
        if full || self.params.level.is_some_and(|level| self.fifo.exceeds(level)) {
            self.congested(ctx.now);
        }
        if full {
            return ctx.drop(packet, DropReason::Tail);
        }
        if ctx.rng.chance(self.p) && self.params.marking.drops(self.p, &mut packet) {
            return ctx.drop(packet, DropReason::Early);
        }
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let packet = self.fifo.pop();
        if packet.is_none() && !self.idle {
            self.idle = true;
            if self.thawed(ctx.now) > 0 {
                self.move_p(-self.params.d2);
                self.last_update = ctx.now;
            }
        }
        packet
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "p", self.p);
    }
}

impl<P: Packet> Configure<P> for Blue<P> {
    fn configure(&mut self, params: BlueParams, ctx: &mut Ctx<'_, P>) {
        // An idle period so far counts with d2 and freeze_time as they were.
        let idle = self.idle;
        self.busy_again(ctx.now);
        self.idle = idle;
        self.fifo.resize(params.limit, ctx);
        self.params = params;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};
    use crate::red::Action;
    use sluicegate_base::{Ecn, Link, Params, Rate};

    /// d1 = 1/4, d2 = 1/16, freeze_time = 1 s, a buffer of two.
    fn params() -> BlueParams {
        let defaults = BlueParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        BlueParams { limit: Size::Packets(2), d1: 0.25, d2: 0.0625, freeze_time: Span::from_secs(1), ..defaults }
    }

    fn p(harness: &Harness<Blue<TestPacket>>) -> f64 {
        harness.state("p").unwrap()
    }

    /// The paper's rule by hand.
    #[test]
    fn replays_the_papers_rule() {
        let mut harness = Harness::new(Blue::new(params()), 1);
        (0..2).for_each(|_| harness.arrive(1, 1000));
        // The third is dropped: at 0 s and at 1 s that is too early, a nanosecond later it is not, and then not again at once.
        for (wait, expected) in [(0, 0.0), (1_000_000_000, 0.0), (1, 0.25), (1_000_000_000, 0.25), (1, 0.5)] {
            harness.wait(Span(wait));
            harness.arrive(1, 1000);
            assert_eq!(p(&harness), expected);
        }
        assert_eq!(harness.dropped_flows(), [(1, DropReason::Tail); 5]);
        // Idle half a second later: too early. At 1 s + 1 ns and 2 s + 1 ns it counts, seen by the arrival at 2.6 s.
        harness.wait(Span::from_millis(500));
        while harness.depart().is_some() {}
        assert_eq!(p(&harness), 0.5);
        harness.wait(Span::from_millis(2100));
        let mut draws = harness.rng.clone();
        harness.arrive(1, 1000);
        assert_eq!((p(&harness), harness.dropped.len()), (0.375, 5 + usize::from(draws.uniform() < 0.375)));
        // The second change was 2 s after the drop: idle at 3.1 s counts at once.
        harness.wait(Span::from_millis(500));
        while harness.depart().is_some() {}
        assert_eq!(p(&harness), 0.3125);
        // After a century p is 0.
        harness.wait(Span::from_secs(3_155_760_000));
        harness.arrive(1, 1000);
        assert_eq!((p(&harness), harness.discipline.packets()), (0.0, 1));
        harness.assert_conserved();
    }

    #[test]
    fn a_long_queue_can_count_as_a_loss() {
        let level = BlueParams { level: Some(Size::Packets(1)), limit: Size::Packets(100), ..params() };
        let mut harness = Harness::new(Blue::new(level), 1);
        for (wait, expected) in [(0, 0.0), (2, 0.0), (2, 0.25)] {
            harness.wait(Span::from_secs(wait));
            harness.arrive(1, 1000);
            assert_eq!(p(&harness), expected, "{wait}");
        }
    }

    #[test]
    fn a_marker_marks_what_it_can() {
        let marker = BlueParams {
            limit: Size::Packets(100),
            marking: Marking { action: Action::Mark, mark_th: 1.0 },
            ..params()
        };
        let mut harness = Harness::new(Blue::new(marker), 1);
        harness.discipline.p = 1.0;
        [Ecn::Capable0, Ecn::NotCapable].into_iter().for_each(|ecn| harness.offer(1, 1000, ecn));
        assert_eq!(harness.dropped_flows(), [(1, DropReason::Early)]);
        assert_eq!(harness.depart().unwrap().ecn, Ecn::CongestionExperienced);
    }
}
