//! # CHOKe
//!
//! Keeps RED's average. Between the thresholds each arrival is compared with `candidates` packets drawn at random from
//! the queue: those of its own flow are dropped, and the arrival with them; when none matches, RED decides. A flow that
//! fills the queue meets itself, so the queue's own contents stand in for state per flow.
//!
//! ```text
//! for each arrival:                                                   (Pan & Prabhakar 1999, Sec. 3 and 5)
//!     update avg as RED does
//!     if avg ≥ max_th:       drop
//!     else if avg ≥ min_th:  draw `candidates` queued packets, uniformly
//!                            those of the arrival's flow: drop them, and the arrival
//!                            none: drop the arrival with RED's probability, else queue it
//!     else:                  queue it
//! ```
//!
//! A victim is not unlinked: its slot is marked, and a marked slot is skipped when it reaches the head, as Sec. 3
//! proposes. To everything else (queue length, bytes, limit, average, draws, probes) it is gone at once.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | drawing "a random address"; nothing on marked victims | a marked slot that is drawn is drawn again: draws are uniform over the packets that will still be sent | a dead packet would let a flow escape; Linux tries three times, then takes the head |
//! | several candidates, nothing on drawing one twice | draws are independent; a packet drawn twice is dropped once | the simplest reading of "multiple victim candidates" |
//! | nothing on RED's `count` when a packet matches | `count` counts only arrivals that reach RED's own test | so in Linux |
//! | "greater than the maximum threshold, every arriving packet is dropped" | at avg ≥ max_th, without a comparison | as RED here; Linux compares there too (`choke_linux`) |
//! | nothing on the ring of marked slots | it is compacted when more than half of it, and 16 slots more, are marked | memory stays bounded by the limit, at constant cost per packet |
//! | nothing on a full buffer | an arrival that would be queued is lost with cause `tail` | a limit above max_th is rarely met |

use crate::discipline::{Cause, Ctx, Discipline, Packet};
use crate::fifo::has_room;
use crate::red::{RedParams, RedRule, Verdict, packets};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sluicegate_base::{About, Declared, Range, Size, Span, Stream, params};

params! {
    /// Parameters of [`Choke`].
    pub struct ChokeParams {
        /// Average below which every arrival is queued.
        min_th: Size = default(Size::Packets(30)), unit("packets"), range(Range::POSITIVE),
            source("CHOKe 1999, Sec. 4"), tc("min");
        /// Average from which every arrival is dropped.
        max_th: Size = default(Size::Packets(60)), unit("packets"), range(Range::POSITIVE),
            source("CHOKe 1999, Sec. 4"), tc("max");
        /// Packets drawn from the queue for each arrival: the report's "drop m" has m − 1.
        candidates: u64 = default(1), unit("packets"), range(Range::from(1.0).to(64.0)),
            source("CHOKe 1999, Sec. 3; several: Sec. 5");
        /// Queue weight: the weight of the present queue in the average.
        w_q: f64 = default(0.002), unit("1"), range(Range::above(0.0).to(1.0)),
            source("RED 1993, Sec. VI; not stated by CHOKe 1999"), tc("burst");
        /// RED's drop probability as the average reaches max_th.
        max_p: f64 = default(0.02), unit("1"), range(Range::above(0.0).to(1.0)),
            source("RED 1993, Fig. 3; not stated by CHOKe 1999"), tc("probability");
        /// Most that the queue holds, not counting the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0)),
            source("chosen here: not stated by CHOKe 1999"), tc("limit");
        /// Typical time to send a small packet, the unit of the average's idle decay.
        s: Span = derived("500 bytes at the link rate", |link| Span(link.rate.time_of(500).0.max(1))),
            range(Range::POSITIVE), source("RED 1993, Fig. 17; the length is ns-2's mean_pktsize"), tc("bandwidth");
    }
    rules {
        "min_th and max_th count packets" [min_th, max_th] |p| packets(p.min_th).is_some() && packets(p.max_th).is_some();
        "min_th < max_th" [min_th, max_th] |p| packets(p.min_th) < packets(p.max_th);
    }
}

/// The causes for which CHOKe gives up packets.
pub const CAUSES: &[Cause] = &[Cause::Tail, Cause::Early, Cause::Forced, Cause::Match];

/// A ring of packets in which any can be killed in place.
///
/// The slot at the head is always live, so that "empty" means what it says.
#[derive(Clone, Debug)]
struct Ring<P> {
    slots: VecDeque<Option<P>>,
    live: usize,
    bytes: u64,
}

impl<P: Packet> Ring<P> {
    fn push(&mut self, packet: P) {
        self.live += 1;
        self.bytes += packet.bytes();
        self.slots.push_back(Some(packet));
    }

    fn pop(&mut self) -> Option<P> {
        let packet = self.slots.pop_front()??;
        self.forget(&packet);
        self.purge();
        Some(packet)
    }

    /// The slot of a packet drawn uniformly from the live ones, if there is any.
    #[inline]
    fn draw(&self, rng: &mut Stream) -> Option<usize> {
        if self.live == 0 {
            return None;
        }
        // At most half of the slots (and 16) are dead, so this takes two tries on average at the most.
        loop {
            let at = rng.below(self.slots.len() as u64) as usize;
            if self.slots[at].is_some() {
                return Some(at);
            }
        }
    }

    /// Marks the slot dead and gives its packet, unless that has happened already.
    fn kill(&mut self, at: usize) -> Option<P> {
        let packet = self.slots[at].take()?;
        self.forget(&packet);
        Some(packet)
    }

    fn forget(&mut self, packet: &P) {
        self.live -= 1;
        self.bytes -= packet.bytes();
    }

    /// Skips dead slots at the head, and closes the gaps when they are too many.
    fn purge(&mut self) {
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
        }
        if self.slots.len() > 2 * self.live + 16 {
            self.slots.retain(Option::is_some);
        }
    }
}

/// A first-in-first-out queue under CHOKe.
#[derive(Clone, Debug)]
pub struct Choke<P> {
    rule: RedRule,
    ring: Ring<P>,
    candidates: u64,
    limit: Size,
    /// Slots drawn for the present arrival that hold its flow; kept to save allocations.
    matches: Vec<usize>,
}

impl<P> Declared for Choke<P> {
    type Params = ChokeParams;
    const ABOUT: About = About {
        name: "choke",
        class: "Choke",
        title: "CHOKe",
        source: "Pan & Prabhakar 1999, Sec. 3 and 5",
        tc: "tc qdisc add dev DEV root choke limit LIMIT_PACKETS min MIN_PACKETS max MAX_PACKETS burst BURST_PACKETS \
             probability MAX_P bandwidth RATE",
        module: include_str!("choke.rs"),
    };
}

impl<P: Packet> Choke<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: ChokeParams) -> Self {
        let ChokeParams { min_th, max_th, candidates, w_q, max_p, limit, s } = params;
        let red = RedParams { w_q, min_th, max_th, max_p, limit, s, wait: false, gentle: false };
        Choke {
            rule: RedRule::new(&red),
            ring: Ring { slots: VecDeque::new(), live: 0, bytes: 0 },
            candidates,
            limit,
            matches: Vec::new(),
        }
    }

    /// Draws the candidates and drops those of the arrival's flow. Returns whether there was any.
    fn drop_matches(&mut self, arrival: &P, ctx: &mut Ctx<'_, P>) -> bool {
        self.matches.clear();
        for _ in 0..self.candidates {
            let Some(at) = self.ring.draw(ctx.rng) else { break };
            if self.ring.slots[at].as_ref().is_some_and(|candidate| candidate.flow() == arrival.flow()) {
                self.matches.push(at);
            }
        }
        for &at in &self.matches {
            if let Some(victim) = self.ring.kill(at) {
                ctx.lost(victim, Cause::Match);
            }
        }
        if !self.matches.is_empty() {
            self.ring.purge();
        }
        !self.matches.is_empty()
    }
}

impl<P: Packet> Discipline<P> for Choke<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.rule.arrival(self.ring.live as u64, ctx.now);
        if self.rule.congested() && !self.rule.saturated() && self.drop_matches(&packet, ctx) {
            return ctx.lost(packet, Cause::Match);
        }
        match self.rule.judge(ctx.rng) {
            Verdict::Early => ctx.lost(packet, Cause::Early),
            Verdict::Forced => ctx.lost(packet, Cause::Forced),
            Verdict::Pass if has_room(self.limit, self.ring.live as u64, self.ring.bytes, packet.bytes()) => {
                self.ring.push(packet);
            }
            Verdict::Pass => ctx.lost(packet, Cause::Tail),
        }
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let packet = self.ring.pop();
        if packet.is_none() {
            self.rule.idle(ctx.now);
        }
        packet
    }

    fn packets(&self) -> u64 {
        self.ring.live as u64
    }

    fn bytes(&self) -> u64 {
        self.ring.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.ring.slots.iter().flatten().for_each(visit);
    }

    fn average(&self) -> Option<f64> {
        Some(self.rule.avg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, TestPacket};
    use sluicegate_base::{Link, Params, Rate};

    /// w_q = 1, so that the average is the queue that the arrival finds.
    fn params(min_th: u64, max_th: u64) -> ChokeParams {
        let defaults = ChokeParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        ChokeParams { min_th: Size::Packets(min_th), max_th: Size::Packets(max_th), w_q: 1.0, max_p: 1e-12, ..defaults }
    }

    fn rig(params: ChokeParams, queued: &[u64]) -> Rig<Choke<TestPacket>> {
        let mut rig = Rig::new(Choke::new(params), 5);
        queued.iter().for_each(|&flow| {
            let packet = TestPacket { flow, bytes: 1000, serial: rig.arrived, ecn: sluicegate_base::Ecn::NotCapable };
            rig.arrived += 1;
            rig.discipline.ring.push(packet);
        });
        rig.discipline.rule.arrival(0, rig.now);
        rig
    }

    /// The report's rule by hand, on a queue of flows 1 2 1 3 with min_th = 2, max_th = 5.
    #[test]
    fn replays_the_reports_rule() {
        let mut rig = rig(params(2, 5), &[1, 2, 1, 3]);
        let queue = [1, 2, 1, 3];
        // Arrival of flow 1: avg = 4, between the thresholds. One draw decides.
        let drawn = rig.rng.clone().below(4) as usize;
        rig.arrive(1, 1000);
        assert_eq!(rig.discipline.rule.avg(), 4.0);
        assert_eq!(queue[drawn], 1, "this seed draws a packet of flow 1");
        assert_eq!(rig.lost_flows(), [(1, Cause::Match), (1, Cause::Match)], "the victim, then the arrival");
        let mut left = queue.to_vec();
        left.remove(drawn);
        assert_eq!(rig.queued_flows(), left);
        // Arrival of flow 9: nothing of its flow to meet, and max_p ~ 0: queued.
        rig.arrive(9, 1000);
        assert_eq!(rig.queued_flows().last(), Some(&9));
        // Two more of new flows bring the queue to 6; avg = 5 ≥ max_th is dropped without a comparison.
        rig.arrive(10, 1000);
        assert_eq!(rig.queued_flows().len(), 5);
        rig.arrive(9, 1000);
        assert_eq!(rig.lost_flows()[2..], [(9, Cause::Forced)]);
        rig.assert_conserved();
    }

    #[test]
    fn below_min_th_nothing_is_compared() {
        let mut rig = rig(params(3, 5), &[]);
        (0..3).for_each(|_| rig.arrive(1, 1000));
        assert!(rig.lost.is_empty());
        // q = 3 = min_th, and every queued packet is of flow 1: a certain match.
        rig.arrive(1, 1000);
        assert_eq!(rig.lost_flows(), [(1, Cause::Match), (1, Cause::Match)]);
        assert_eq!(rig.queued_flows(), [1, 1]);
    }

    #[test]
    fn several_candidates_drop_every_match_once() {
        // With 64 draws from 4 packets every packet is drawn (missing one: 4·0.75⁶⁴ < 10⁻⁷), each many times.
        let mut rig = rig(ChokeParams { candidates: 64, ..params(2, 9) }, &[1, 2, 1, 3]);
        rig.arrive(1, 1000);
        assert_eq!(rig.lost.len(), 3, "two victims and the arrival");
        assert_eq!(rig.queued_flows(), [2, 3]);
        rig.assert_conserved();
    }

    #[test]
    fn dead_packets_are_invisible() {
        let mut rig = rig(params(1, 1000), &[7; 3]);
        rig.discipline.ring.push(TestPacket { flow: 8, bytes: 500, serial: 99, ecn: sluicegate_base::Ecn::NotCapable });
        rig.arrived += 1;
        // Flow 7 kills itself one by one; whatever slots stay dead, nothing shows them.
        while rig.discipline.packets() > 1 {
            rig.arrive(7, 1000);
            rig.assert_conserved();
        }
        assert_eq!((rig.discipline.packets(), rig.discipline.bytes()), (1, 500));
        assert_eq!(rig.queued_flows(), [8]);
        assert_eq!(rig.depart().map(|p| p.flow), Some(8), "dead slots before it are skipped");
        assert_eq!(rig.depart(), None);
    }

    #[test]
    fn draws_are_uniform_over_the_live() {
        let mut rig = rig(params(1, 1000), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        for at in [2, 3, 7] {
            rig.discipline.ring.kill(at);
        }
        let mut counts = [0.0f64; 10];
        (0..70_000).for_each(|_| counts[rig.discipline.ring.draw(&mut rig.rng).unwrap()] += 1.0);
        let live = [0, 1, 4, 5, 6, 8, 9];
        let chi2: f64 = live.iter().map(|&k| (counts[k] - 1e4) * (counts[k] - 1e4) / 1e4).sum();
        // 6 degrees of freedom: 22.46 is exceeded once in a thousand.
        assert!(chi2 < 22.46 && counts[2] + counts[3] + counts[7] == 0.0, "chi-square {chi2}");
    }

    #[test]
    fn the_ring_stays_bounded_when_nothing_departs() {
        // One flow fills and kills for ever while the link is stuck on another packet.
        let mut rig = rig(params(2, 1000), &[]);
        rig.arrive(1, 1000);
        for k in 0..100_000 {
            rig.arrive(2 + k % 2, 1000);
        }
        assert!(rig.discipline.ring.slots.len() <= 2 * rig.discipline.ring.live + 17);
        rig.assert_conserved();
    }
}
