//! # CHOKe
//!
//! Keeps RED's average. Between the thresholds each arrival is compared with `candidates` packets drawn from the queue:
//! those of its own flow are dropped, and the arrival with them; when none matches, RED decides. A flow that fills the
//! queue meets itself, so the queue's own contents stand in for state per flow.
//!
//! ```text
//! for each arrival:                                                   (Pan & Prabhakar 1999, Sec. 3 and 5)
//!     update avg as RED does
//!     if avg ≥ max_th:       drop
//!     else if avg ≥ min_th:  draw `candidates` packets of the queue at random
//!                            those of the arrival's flow: drop them, and the arrival
//!                            none: drop or mark the arrival with RED's probability, else queue it
//!     else:                  queue it
//! ```
//!
//! With one candidate, the default, this is Sec. 3; with m − 1 it is Sec. 5's "drop m". Not in the report: `draw` = front compares
//! with the first packets of the queue, back with the last ones; geometric (gCHOKe) draws one more after each match, until one
//! does not match or `candidates` do; `regions` = k makes it 2·i candidates in the i-th of k equal parts of [min_th, max_th).
//!
//! A victim is not unlinked. Where the report sets a bit in its header, here its slot becomes a hole, which is skipped when it
//! reaches the head; to everything else (queue length, bytes, limit, average, draws, probes) it is gone at once.
//!
#![doc = include_str!("choke.md")]

use crate::prelude::*;
use crate::red::{Action, RedBlock, RedRule, RedSignal};
use crate::ring::Ring;
use alloc::vec::Vec;

choices! {
    /// Which packets of the queue an arrival is compared with.
    pub enum Draw {
        /// Any, with equal probability.
        Random = "random",
        /// Those at the head.
        Front = "front",
        /// Those at the tail.
        Back = "back",
        /// Any, one after another while they match.
        Geometric = "geometric",
    }
}

discipline! {
    Choke: "choke", "CHOKe",
    source("Pan & Prabhakar 1999, Sec. 3 and 5"),
    tc("tc qdisc add dev DEV root choke limit LIMIT_PACKETS min MIN_PACKETS max MAX_PACKETS burst BURST_PACKETS \
        probability MAX_P bandwidth RATE"),
    drops(Tail, Early, Forced, Match),
    remembers(None, "looks into the queue"),
    overload(Drops, "at `max_th` and above, unless `above_max_th` = mark; matches always"),

    /// Parameters of [`Choke`].
    pub struct ChokeParams {
        ..red: RedBlock [
            w_q: 0.002, "RED 1993, Sec. VI; not stated by CHOKe 1999";
            min_th: Size::Packets(30), "CHOKe 1999, Sec. 4";
            max_th: Size::Packets(60), "CHOKe 1999, Sec. 4";
            max_p: 0.02, "RED 1993, Fig. 3; not stated by CHOKe 1999";
            limit: Size::Packets(300), "chosen here: not stated by CHOKe 1999"
        ];
        ..signal: RedSignal [
            action: Action::Drop, "RFC 3168, Sec. 5; not in CHOKe 1999";
            above_max_th: Action::Drop, "RFC 3168, Sec. 7; CHOKe 1999 knows drops only", tc("")
        ];
        /// Packets drawn from the queue for each arrival; with draw = geometric, at most this many. The paper's
        /// "drop m" draws m − 1.
        candidates: u64 = default(1), unit("packets"), range(Range::from(1.0).to(64.0)),
            source("CHOKe 1999, Sec. 3; several: Sec. 5");
        /// Where the candidates are drawn: anywhere, at the head (Front CHOKe), at the tail (Back CHOKe), or anywhere while
        /// they match (gCHOKe).
        draw: Draw = default(Draw::Random),
            source("CHOKe 1999, Sec. 3; front and back: Tang, Wang & Low 2004, Sec. VI; geometric: Eshete & Jiang 2012");
        /// Self-adjusting CHOKe: the number of equal parts of [min_th, max_th). In the i-th part 2·i packets are drawn,
        /// and candidates is ignored. 0: not self-adjusting.
        regions: u64 = default(0), unit("1"), range(Range::from(0.0).to(64.0)),
            source("from memory: Pan, Prabhakar & Psounis 2000, with 8 parts; not in CHOKe 1999");
    }
    rules {
        "min_th and max_th count packets" [min_th, max_th] |p| p.red.counts_packets();
        "min_th < max_th" [min_th, max_th] |p| p.red.is_a_band();
    }
}

/// A first-in-first-out queue under CHOKe.
#[derive(Clone, Debug)]
pub struct Choke<P> {
    rule: RedRule,
    ring: Ring<P>,
    candidates: u64,
    draw: Draw,
    regions: u64,
    /// Slots of the candidates that the last arrival was compared with, and of those that matched.
    drawn: Vec<usize>,
    matches: Vec<usize>,
}

impl<P: Packet> Choke<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: ChokeParams) -> Self {
        let ChokeParams { red, signal, candidates, draw, regions } = params;
        let rule = RedRule::new(&red, &signal);
        Choke { rule, ring: Ring::new(red.limit), candidates, draw, regions, drawn: Vec::new(), matches: Vec::new() }
    }

    /// With how many packets an arrival is compared, between the thresholds.
    fn number_to_draw(&self) -> u64 {
        if self.regions == 0 {
            return self.candidates;
        }
        let below = (self.rule.height() * self.regions as f64) as u64;
        2 * (below + 1).min(self.regions)
    }

    /// Draws the candidates, and keeps their slots, and of these the slots of those that are of this flow.
    fn draw_candidates(&mut self, flow: FlowKey, rng: &mut Stream) {
        let (n, ring, drawn) = (self.number_to_draw() as usize, &self.ring, &mut self.drawn);
        self.matches.clear();
        let mut matching = |(slot, candidate): (usize, &P)| {
            drawn.push(slot);
            (candidate.flow() == flow).then_some(slot)
        };
        match self.draw {
            Draw::Random => (0..n).for_each(|_| self.matches.extend(ring.draw(rng).and_then(&mut matching))),
            Draw::Front => self.matches.extend(ring.iter().take(n).filter_map(matching)),
            Draw::Back => self.matches.extend(ring.iter().rev().take(n).filter_map(matching)),
            Draw::Geometric => {
                while (self.matches.len() as u64) < ring.packets().min(n as u64) {
                    match ring.draw(rng).and_then(&mut matching) {
                        // Gone already: it is drawn again.
                        Some(slot) if self.matches.contains(&slot) => {}
                        Some(slot) => self.matches.push(slot),
                        None => break,
                    }
                }
            }
        }
    }

    /// Drops the candidates that match.
    fn drop_matches(&mut self, ctx: &mut Ctx<'_, P>) {
        for &slot in &self.matches {
            // None where it has been drawn twice.
            if let Some(candidate) = self.ring.remove(slot) {
                ctx.drop(candidate, DropReason::Match);
            }
        }
        // Back compares with the tail: holes there would be walked over at each arrival.
        if self.draw == Draw::Back {
            self.ring.trim_tail();
        }
        let span = self.ring.span();
        self.ring.compact();
        if self.ring.span() != span {
            self.drawn.clear(); // the slots have others now
        }
    }
}

impl<P: Packet> Discipline<P> for Choke<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        self.rule.update_avg(self.ring.packets(), self.ring.bytes(), ctx.now);
        self.drawn.clear();
        // min_th ≤ avg < max_th: packets of one flow that meet are both dropped.
        if self.rule.above_min_th() && !self.rule.above_band() {
            self.draw_candidates(packet.flow(), ctx.rng);
            if !self.matches.is_empty() {
                self.drop_matches(ctx);
                return ctx.drop(packet, DropReason::Match);
            }
        }
        // As in RED: below min_th it is queued, from max_th on dropped, between them dropped with probability p_a.
        let verdict = self.rule.judge(packet.bytes(), ctx.rng);
        match self.rule.carry_out(verdict, &mut packet) {
            Some(reason) => ctx.drop(packet, reason),
            None => self.ring.admit(packet, ctx),
        }
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let packet = self.ring.pop();
        self.drawn.clear();
        if packet.is_none() {
            self.rule.idle(ctx.now);
        }
        self.ring.compact();
        packet
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.ring
    }

    fn wakes(&self) -> bool {
        false
    }

    fn average(&self) -> Option<f64> {
        Some(self.rule.avg())
    }

    fn compared(&self, visit: &mut dyn FnMut(&P)) {
        self.drawn.iter().filter_map(|slot| self.ring.get(*slot)).for_each(visit);
    }
}

impl<P: Packet> Configure<P> for Choke<P> {
    fn configure(&mut self, params: ChokeParams, ctx: &mut Ctx<'_, P>) {
        let ChokeParams { red, signal, candidates, draw, regions } = params;
        self.rule = RedRule::new(&red, &signal).continuing(&self.rule);
        (self.candidates, self.draw, self.regions) = (candidates, draw, regions);
        self.ring.resize(red.limit, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};
    use alloc::vec;
    use sluicegate_base::{Ecn, Link, Params, Rate};

    /// w_q = 1, so that the average is the queue that the arrival finds.
    fn params(min_th: u64, max_th: u64) -> ChokeParams {
        let defaults = ChokeParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        ChokeParams {
            red: RedBlock {
                min_th: Size::Packets(min_th),
                max_th: Size::Packets(max_th),
                w_q: 1.0,
                max_p: 1e-12,
                ..defaults.red.clone()
            },
            ..defaults
        }
    }

    fn harness(params: ChokeParams, queued: &[u64]) -> Harness<Choke<TestPacket>> {
        let mut harness = Harness::new(Choke::new(params), 5);
        queued.iter().for_each(|&flow| {
            let packet = TestPacket {
                flow,
                bytes: 1000,
                serial: harness.arrived,
                ecn: Ecn::NotCapable,
                ..TestPacket::default()
            };
            harness.arrived += 1;
            harness.discipline.ring.push(packet);
        });
        harness.discipline.rule.update_avg(0, 0, harness.now); // the link is busy
        harness
    }

    /// The report's rule by hand, on a queue of flows 1 2 1 3 with min_th = 2, max_th = 5.
    #[test]
    fn replays_the_reports_rule() {
        let mut harness = harness(params(2, 5), &[1, 2, 1, 3]);
        let queue = [1, 2, 1, 3];
        // Arrival of flow 1: avg = 4, between the thresholds. One draw decides.
        let drawn = harness.rng.clone().below(4) as usize;
        harness.arrive(1, 1000);
        assert_eq!(harness.discipline.rule.avg(), 4.0);
        assert_eq!(queue[drawn], 1, "this seed draws a packet of flow 1");
        assert_eq!(
            harness.dropped_flows(),
            [(1, DropReason::Match), (1, DropReason::Match)],
            "the victim, then the arrival"
        );
        let mut left = queue.to_vec();
        left.remove(drawn);
        assert_eq!(harness.queued_flows(), left);
        // Arrival of flow 9: nothing of its flow to meet, and max_p ~ 0: queued.
        harness.arrive(9, 1000);
        assert_eq!(harness.queued_flows().last(), Some(&9));
        // One more of a new flow brings the queue to 5; at avg = 5 ≥ max_th an arrival is dropped without a comparison.
        harness.arrive(10, 1000);
        assert_eq!(harness.queued_flows().len(), 5);
        harness.arrive(9, 1000);
        assert_eq!(harness.dropped_flows()[2..], [(9, DropReason::Forced)]);
        harness.assert_conserved();
    }

    #[test]
    fn below_min_th_nothing_is_compared() {
        let mut harness = harness(params(3, 5), &[]);
        (0..3).for_each(|_| harness.arrive(1, 1000));
        assert!(harness.dropped.is_empty());
        // q = 3 = min_th, and every queued packet is of flow 1: a certain match.
        harness.arrive(1, 1000);
        assert_eq!(harness.dropped_flows(), [(1, DropReason::Match), (1, DropReason::Match)]);
        assert_eq!(harness.queued_flows(), [1, 1]);
    }

    #[test]
    fn those_who_watch_see_with_whom_an_arrival_was_compared() {
        let compared = |harness: &Harness<Choke<TestPacket>>| {
            let mut flows = vec![];
            harness.discipline.compared(&mut |packet| flows.push(packet.flow));
            flows
        };
        let mut harness = harness(ChokeParams { candidates: 3, draw: Draw::Front, ..params(2, 9) }, &[1, 2, 3, 4]);
        harness.arrive(9, 1000);
        assert_eq!(compared(&harness), [1, 2, 3]);
        harness.arrive(2, 1000);
        assert_eq!(harness.dropped.len(), 2);
        assert_eq!(compared(&harness), [1, 3], "the match is gone, and seen as a drop");
        harness.depart().unwrap();
        assert!(compared(&harness).is_empty(), "that was another arrival's");
    }

    #[test]
    fn several_candidates_drop_every_match_once() {
        // With 64 draws from 4 packets every packet is drawn (missing one: 4·0.75⁶⁴ < 10⁻⁷), each many times.
        let mut harness = harness(ChokeParams { candidates: 64, ..params(2, 9) }, &[1, 2, 1, 3]);
        harness.arrive(1, 1000);
        assert_eq!(harness.dropped.len(), 3, "two victims and the arrival");
        assert_eq!(harness.queued_flows(), [2, 3]);
        harness.assert_conserved();
    }

    #[test]
    fn holes_are_invisible() {
        let mut harness = harness(params(1, 1000), &[7; 3]);
        harness.discipline.ring.push(TestPacket {
            flow: 8,
            bytes: 500,
            serial: 99,
            ecn: Ecn::NotCapable,
            ..TestPacket::default()
        });
        harness.arrived += 1;
        // Flow 7 meets itself again and again; whatever holes there are, nothing shows them.
        while harness.discipline.packets() > 1 {
            harness.arrive(7, 1000);
            harness.assert_conserved();
        }
        assert_eq!((harness.discipline.packets(), harness.discipline.bytes()), (1, 500));
        assert_eq!(harness.queued_flows(), [8]);
        assert_eq!(harness.depart().map(|p| p.flow), Some(8), "holes before it are skipped");
        assert_eq!(harness.depart(), None);
    }

    #[test]
    fn the_ring_stays_bounded_when_nothing_departs() {
        // One flow fills and kills for ever while the link is stuck on another packet.
        let mut harness = harness(params(2, 1000), &[]);
        harness.arrive(1, 1000);
        for k in 0..100_000 {
            harness.arrive(2 + k % 2, 1000);
        }
        assert!(harness.discipline.ring.span() as u64 <= 2 * harness.discipline.packets() + 17);
        harness.assert_conserved();
    }

    #[test]
    fn front_compares_with_the_head_and_back_with_the_tail() {
        for (draw, caught, left) in [(Draw::Front, 1, [2, 3]), (Draw::Back, 3, [1, 2])] {
            let mut harness = harness(ChokeParams { draw, ..params(2, 9) }, &[1, 2, 3]);
            harness.arrive(2, 1000);
            harness.depart().unwrap();
            harness.arrive(1, 1000);
            assert!(harness.dropped.is_empty(), "2 stands in the middle, 1 has left");
            let mut harness = self::harness(ChokeParams { draw, ..params(2, 9) }, &[1, 2, 3]);
            harness.arrive(caught, 1000);
            assert_eq!(harness.dropped_flows(), [(caught, DropReason::Match), (caught, DropReason::Match)]);
            assert_eq!(harness.queued_flows(), left);
            harness.assert_conserved();
        }
    }

    /// Back CHOKe, as Tang, Wang & Low describe it: of a burst, all packets are lost but the last of an odd number.
    #[test]
    fn back_choke_leaves_one_of_an_odd_burst() {
        for burst in 1..20 {
            let mut harness = harness(ChokeParams { draw: Draw::Back, ..params(2, 1000) }, &[1, 2, 3]);
            (0..burst).for_each(|_| harness.arrive(9, 1000));
            let left = if burst % 2 == 1 { vec![1, 2, 3, 9] } else { vec![1, 2, 3] };
            assert_eq!(harness.queued_flows(), left, "a burst of {burst}");
            assert_eq!(harness.discipline.ring.span() as u64, harness.discipline.packets(), "no holes at the tail");
        }
    }

    #[test]
    fn several_candidates_at_an_end_are_different_packets() {
        let mut harness = harness(ChokeParams { draw: Draw::Front, candidates: 3, ..params(2, 9) }, &[1, 2, 1, 1]);
        harness.arrive(1, 1000);
        assert_eq!(
            (harness.dropped.len(), harness.queued_flows()),
            (3, vec![2, 1]),
            "two of the first three, and the arrival"
        );
        harness.assert_conserved();
    }

    /// Drawn by hand from a queue of flows 1 1 2 1, no packet twice, until one of flow 2 comes or three match.
    #[test]
    fn geometric_draws_while_packets_match() {
        let mut seen = [0; 4];
        for seed in 0..200 {
            let params = ChokeParams { draw: Draw::Geometric, candidates: 3, ..params(2, 9) };
            let mut harness = harness(params, &[1, 1, 2, 1]);
            harness.rng = Stream::new(seed, "geometric");
            let (mut draws, mut matched) = (harness.rng.clone(), vec![]);
            while matched.len() < 3 {
                match draws.below(4) {
                    2 => break,
                    at if matched.contains(&at) => {}
                    at => matched.push(at),
                }
            }
            harness.arrive(1, 1000);
            let lost: Vec<u64> = harness.dropped.iter().map(|(packet, _)| packet.serial).collect();
            if matched.is_empty() {
                assert!(lost.is_empty(), "RED decides, and lets it in");
            } else {
                assert_eq!(lost, [matched.as_slice(), &[4]].concat(), "the matches as drawn, then the arrival");
            }
            seen[matched.len()] += 1;
            harness.assert_conserved();
        }
        // 1/4 none, 3/4·1/3 one, 3/4·2/3·1/2 two, as many three: 50 of 200 each, standard deviation 6.
        assert!(seen.iter().all(|times| (26..=74).contains(times)), "{seen:?}");
    }

    /// A queue of the arrival's own flow alone ends the drawing.
    #[test]
    fn geometric_ends_with_the_queue() {
        let params = ChokeParams { draw: Draw::Geometric, candidates: 64, ..params(2, 9) };
        let mut harness = harness(params, &[1, 1, 1]);
        harness.arrive(1, 1000);
        assert_eq!((harness.dropped.len(), harness.queued_flows()), (4, vec![]));
    }

    #[test]
    fn the_number_of_candidates_follows_the_region() {
        let mut harness = harness(ChokeParams { regions: 8, ..params(16, 32) }, &[]);
        // w_q = 1: the average is the queue. Regions of two packets: 16 and 17 draw 2, 18 and 19 draw 4, … 31 draws 16.
        for (q, candidates) in [(16, 2), (17, 2), (18, 4), (24, 10), (30, 16), (31, 16)] {
            harness.discipline.rule.update_avg(q, 0, harness.now);
            assert_eq!(harness.discipline.number_to_draw(), candidates, "at {q}");
        }
        let plain = self::harness(ChokeParams { candidates: 3, ..params(16, 32) }, &[]);
        assert_eq!(plain.discipline.number_to_draw(), 3);
    }

    #[test]
    fn red_marks_and_matches_are_dropped() {
        let marker = ChokeParams {
            red: RedBlock { max_p: 1.0, ..params(2, 4).red.clone() },
            signal: RedSignal { action: Action::Mark, ..params(2, 4).signal.clone() },
            ..params(2, 4)
        };
        let mut harness = harness(marker, &[1, 1, 1]);
        harness.offer(1, 1000, Ecn::Capable0);
        assert_eq!(
            harness.dropped_flows(),
            [(1, DropReason::Match), (1, DropReason::Match)],
            "capable, and dropped all the same"
        );
        // avg = 2, p_b = 0; then avg = 3, p_b = 1/2, and count = 1 makes it certain.
        harness.offer(2, 1000, Ecn::Capable0);
        harness.offer(3, 1000, Ecn::Capable0);
        assert_eq!(harness.dropped.len(), 2);
        // avg = 4 = max_th.
        harness.offer(4, 1000, Ecn::Capable0);
        assert_eq!(harness.dropped_flows()[2..], [(4, DropReason::Forced)]);
        let departed: Vec<_> =
            core::iter::from_fn(|| harness.depart()).map(|packet| (packet.flow, packet.ecn)).collect();
        assert_eq!(departed[2..], [(2, Ecn::Capable0), (3, Ecn::CongestionExperienced)]);
    }
}
