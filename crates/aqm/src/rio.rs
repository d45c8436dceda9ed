//! # RIO
//!
//! RED with In and Out tells packets within their sender's profile ("In") from those beyond it ("Out") and runs RED twice:
//! In packets are judged by the average number of In packets in the queue, Out packets by the average of all, with lower
//! thresholds and a higher probability. Out packets are dropped first and long before In packets.
//!
//! ```text
//! for each arrival:                                                                       (Clark & Fang 1998, Fig. 4)
//!     avg_total ← RED's average of the queue
//!     if it is In:   avg_in ← RED's average of the In packets in the queue
//!                    RED with avg_in, in_min_th, in_max_th, in_max_p
//!     else:          RED with avg_total, out_min_th, out_max_th, out_max_p
//! ```
//!
//! A packet is In or Out as its label says, which a meter at the edge has written (1 is In, 2 is Out; `rio_ps` writes them). A
//! packet without one is In if its priority is 0, the default of every flow, and Out otherwise. `state` shows `avg_in` and
//! `in_packets`; the discipline's own average is that of all packets.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | a tag, from profile meters at the edge | the label; without one, the priority | so that a scenario can make flows In or Out without a meter; labels of other disciplines (`ut_lt`) mean something else, and do not go with this one |
//! | avg_total moves at every arrival | the same | ns-2's `RED/RIO` moves it at In arrivals alone, which its own comments call a bug |
//! | nothing on the idle decay | both averages decay while the link is idle; avg_in then goes on to decay until the next In packet comes | no In packet can be in the queue before |
//! | the law of gaps is RED's | that of RED 1993, Sec. VII, for In and Out packets separately | as `red` here; ns-2 has its own, with `wait_` |
//! | thresholds are an operator's | In 15, 30, 1/50; Out 5, 15, 1/10 | ns-2's defaults (`in_thresh_` and so on; its Out takes `linterm_` 10, `out_linterm_` is not read) |
//! | nothing on a full buffer | what the rule lets pass is dropped with reason `tail`, In or Out | as `red` here; ns-2 too |
//! | nothing on marks | `action` and `above_max_th`, as `red` has them, each kind by its own average | ns-2: `setbit_`, below max_th |
//! | nothing on `gentle`, byte mode, other laws of gaps | none of `red`'s variants | the paper has plain RED |

use crate::prelude::*;
use crate::red::{Action, RedBlock, RedRule, RedSignal};

/// The label of a packet within its profile.
pub const IN: u32 = 1;
/// The label of one beyond it.
pub const OUT: u32 = 2;

discipline! {
    Rio: "rio", "RIO",
    source("Clark & Fang 1998; ns-2, queue/rio.cc"),
    drops(Tail, Early, Forced),
    // In and Out are not dropped alike.
    proportional(),
    remembers(None, "a bit in each packet, set at the edge"),
    overload(Drops, "at the `max_th` of the packet's kind and above, unless `above_max_th` = mark"),

    /// Parameters of [`Rio`].
    pub struct RioParams {
        ..signal: RedSignal [action: Action::Drop, "ns-2, setbit_"];
        /// Queue weight of both averages: the weight of the present queue.
        w_q: f64 = default(0.002), unit("1"), range(Range::above(0.0).to(1.0)), source("ns-2, q_weight_; RED 1993, Sec. VI");
        /// Average of In packets below which no In packet is dropped or marked.
        in_min_th: Size = default(Size::Packets(15)), unit("packets"), range(Range::POSITIVE), source("ns-2, in_thresh_");
        /// Average of In packets from which every In packet is dropped or marked.
        in_max_th: Size = default(Size::Packets(30)), unit("packets"), range(Range::POSITIVE),
            source("ns-2, in_maxthresh_");
        /// The probability for In packets as their average reaches in_max_th.
        in_max_p: f64 = default(0.02), unit("1"), range(Range::above(0.0).to(1.0)), source("ns-2, in_linterm_");
        /// Average of all packets below which no Out packet is dropped or marked.
        out_min_th: Size = default(Size::Packets(5)), unit("packets"), range(Range::POSITIVE), source("ns-2, out_thresh_");
        /// Average of all packets from which every Out packet is dropped or marked.
        out_max_th: Size = default(Size::Packets(15)), unit("packets"), range(Range::POSITIVE),
            source("ns-2, out_maxthresh_");
        /// The probability for Out packets as the average reaches out_max_th.
        out_max_p: f64 = default(0.1), unit("1"), range(Range::above(0.0).to(1.0)), source("ns-2, linterm_");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0)),
            source("chosen here: far above the thresholds, so that RED decides");
        /// Typical time to send a small packet, the unit of the idle decay.
        s: Span = derived("500 bytes at the link rate", |link| Span(link.rate.time_of(500).0.max(1))),
            range(Range::POSITIVE), source("RED 1993, Fig. 17; the length is ns-2's mean_pktsize");
    }
    rules {
        "thresholds count packets" [in_min_th, in_max_th, out_min_th, out_max_th]
            |p| [p.in_min_th, p.in_max_th, p.out_min_th, p.out_max_th].iter().all(|th| matches!(th, Size::Packets(_)));
        "in_min_th < in_max_th" [in_min_th, in_max_th] |p| p.in_min_th.amount() < p.in_max_th.amount();
        "out_min_th < out_max_th" [out_min_th, out_max_th] |p| p.out_min_th.amount() < p.out_max_th.amount();
    }
}

/// A first-in-first-out queue with RED for In and for Out packets.
#[derive(Clone, Debug)]
pub struct Rio<P> {
    /// Packets, and whether each is In.
    fifo: Fifo<P, bool>,
    in_packets: u64,
    in_rule: RedRule,
    out_rule: RedRule,
}

/// RED's rule for In and for Out packets.
fn rules(params: &RioParams) -> [RedRule; 2] {
    let &RioParams { w_q, limit, s, .. } = params;
    let rule = |min_th, max_th, max_p| RedRule::new(&RedBlock { w_q, min_th, max_th, max_p, limit, s }, &params.signal);
    [
        rule(params.in_min_th, params.in_max_th, params.in_max_p),
        rule(params.out_min_th, params.out_max_th, params.out_max_p),
    ]
}

impl<P: Packet> Rio<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: RioParams) -> Self {
        let [in_rule, out_rule] = rules(&params);
        Rio { fifo: Fifo::new(params.limit), in_packets: 0, in_rule, out_rule }
    }

    /// A packet arrives that is In, or Out.
    #[inline]
    pub(crate) fn enqueue_as(&mut self, mut packet: P, is_in: bool, ctx: &mut Ctx<'_, P>) {
        self.out_rule.update_avg(self.fifo.packets(), self.fifo.bytes(), ctx.now);
        let rule = if is_in {
            self.in_rule.update_avg(self.in_packets, 0, ctx.now);
            &mut self.in_rule
        } else {
            &mut self.out_rule
        };
        let verdict = rule.judge(packet.bytes(), ctx.rng);
        if let Some(reason) = rule.carry_out(verdict, &mut packet) {
            return ctx.drop(packet, reason);
        }
        if !self.fifo.has_room(&packet) {
            return ctx.drop(packet, DropReason::Tail);
        }
        self.fifo.push_with(packet, is_in);
        self.in_packets += u64::from(is_in);
    }
}

impl<P: Packet> Discipline<P> for Rio<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        let is_in = match packet.label() {
            IN => true,
            OUT => false,
            _ => packet.priority() == 0,
        };
        self.enqueue_as(packet, is_in, ctx);
    }

    #[inline]
    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let Some((packet, is_in)) = self.fifo.pop_with() else {
            self.in_rule.idle(ctx.now);
            self.out_rule.idle(ctx.now);
            return None;
        };
        self.in_packets -= u64::from(is_in);
        Some(packet)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn average(&self) -> Option<f64> {
        Some(self.out_rule.avg())
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "avg_in", self.in_rule.avg());
        visit(None, "in_packets", self.in_packets as f64);
    }
}

impl<P: Packet> Configure<P> for Rio<P> {
    fn configure(&mut self, params: RioParams, ctx: &mut Ctx<'_, P>) {
        let [in_rule, out_rule] = rules(&params);
        (self.in_rule, self.out_rule) = (in_rule.continuing(&self.in_rule), out_rule.continuing(&self.out_rule));
        self.fifo.set_limit(params.limit);
        while let Some((packet, is_in)) = self.fifo.pop_excess() {
            self.in_packets -= u64::from(is_in);
            ctx.drop(packet, DropReason::Reconfigured);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};
    use sluicegate_base::{Ecn, Link, Params, Rate};

    /// w_q = 1/2; In between 1 and 4, Out between 1 and 3, both with max_p = 1.
    fn params() -> RioParams {
        let defaults = RioParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        let th = Size::Packets;
        RioParams {
            w_q: 0.5,
            in_min_th: th(1),
            in_max_th: th(4),
            in_max_p: 1.0,
            out_min_th: th(1),
            out_max_th: th(3),
            out_max_p: 1.0,
            ..defaults
        }
    }

    fn averages(harness: &Harness<Rio<TestPacket>>) -> (f64, f64) {
        (harness.state("avg_in").unwrap(), harness.discipline.average().unwrap())
    }

    fn submit(harness: &mut Harness<Rio<TestPacket>>, label: u32, priority: u8) -> usize {
        harness.submit(TestPacket { flow: u64::from(label), bytes: 1000, label, priority, ..TestPacket::default() });
        harness.dropped.len()
    }

    /// Fig. 4 by hand: avg_in moves with In packets and counts them alone, avg_total with all.
    #[test]
    fn replays_the_papers_rule() {
        let mut harness = Harness::new(Rio::new(params()), 1);
        let mut draws = harness.rng.clone();
        harness.depart();
        // In, In: the second finds one In packet, avg_in = avg_total = 1/2.
        assert_eq!((submit(&mut harness, IN, 0), submit(&mut harness, IN, 0), averages(&harness)), (0, 0, (0.5, 0.5)));
        // Out finds two: avg_total = 1.25, p_b = 0.125 with count 0. avg_in stays.
        let drops = usize::from(draws.uniform() < 0.125);
        assert_eq!((submit(&mut harness, OUT, 0), averages(&harness)), (drops, (0.5, 1.25)));
        assert_eq!(drops, 0, "this seed queues it");
        // Out finds three: avg_total = 2.125, p_b = 0.5625; with count 1, p_a is 0.5625/0.4375: certain.
        assert_eq!((submit(&mut harness, OUT, 0), averages(&harness)), (1, (0.5, 2.125)));
        draws.uniform();
        // In finds three of which two are In: avg_in = 1.25, p_b = 0.25/3; avg_total = 2.5625.
        let drops = 1 + usize::from(draws.uniform() < 0.25 / 3.0);
        assert_eq!((submit(&mut harness, IN, 0), averages(&harness)), (drops, (1.25, 2.5625)));
        assert_eq!(drops, 1, "this seed queues it");
        // Out finds four: avg_total = 3.28, above 3: forced. In is still between its thresholds.
        assert_eq!((submit(&mut harness, OUT, 0), averages(&harness)), (2, (1.25, 3.28125)));
        assert_eq!(harness.dropped_flows(), [(2, DropReason::Early), (2, DropReason::Forced)]);
        // Head first: In, In, Out, In.
        assert_eq!(harness.state("in_packets"), Some(3.0));
        [2.0, 1.0, 1.0, 0.0].iter().for_each(|left| {
            harness.depart();
            assert_eq!(harness.state("in_packets"), Some(*left));
        });
        // Idle for 8 ms, two small packets of 4 ms: an Out arrival decays avg_total alone, In follows when one comes.
        harness.depart();
        harness.wait(Span::from_millis(8));
        submit(&mut harness, OUT, 0);
        assert_eq!(averages(&harness), (1.25, 3.28125 / 4.0));
        harness.wait(Span::from_millis(4));
        submit(&mut harness, IN, 0);
        assert_eq!(averages(&harness), (1.25 / 8.0, 3.28125 / 8.0 + 0.5));
        harness.assert_conserved();
    }

    #[test]
    fn without_a_label_the_priority_counts() {
        for (label, priority, is_in) in [(0, 0, true), (0, 1, false), (IN, 1, true), (OUT, 0, false)] {
            let mut harness = Harness::new(Rio::new(params()), 1);
            submit(&mut harness, label, priority);
            assert_eq!(harness.state("in_packets"), Some(f64::from(u8::from(is_in))), "{label}, {priority}");
        }
    }

    /// Twice the link's rate, half of it In: In packets pass, Out packets make room.
    #[test]
    fn out_packets_are_dropped_first() {
        let defaults = RioParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        let mut harness = Harness::new(Rio::new(defaults), 1);
        let mut drops = [0u64; 2];
        for _ in 0..20_000 {
            submit(&mut harness, IN, 0);
            submit(&mut harness, OUT, 0);
            submit(&mut harness, OUT, 0);
            for _ in 0..2 {
                let _ = harness.depart();
            }
        }
        harness.dropped.iter().for_each(|(packet, _)| drops[packet.flow as usize - 1] += 1);
        assert!(drops[0] == 0 && (19_900..20_100).contains(&drops[1]), "{drops:?}");
    }

    #[test]
    fn each_kind_is_marked_below_its_own_max_th() {
        let marker =
            RioParams { signal: RedSignal { action: Action::Mark, ..params().signal.clone() }, w_q: 1.0, ..params() };
        let mut harness = Harness::new(Rio::new(marker), 1);
        let mut offer = |label| {
            let packet = TestPacket { flow: 1, bytes: 1000, label, ecn: Ecn::Capable0, ..TestPacket::default() };
            harness.submit(packet);
            harness.dropped_flows()
        };
        // The third and later In packets find 2, 3: marked or passed. Out then finds 4: forced, and dropped.
        (0..4).for_each(|_| assert!(offer(IN).is_empty()));
        assert_eq!(offer(OUT), [(1, DropReason::Forced)]);
    }
}
