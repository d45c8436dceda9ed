//! # RED
//!
//! Random Early Detection keeps an exponentially weighted average of the queue. Below `min_th` every arrival is queued;
//! between the thresholds an arrival is dropped or marked with a probability that grows with the average and with the
//! number of packets since the last drop or mark; at `max_th` and above every arrival is dropped or marked.
//!
//! ```text
//! for each arrival:                                         (Floyd & Jacobson 1993, Fig. 2, count as in Sec. VII)
//!     if the link is busy:   avg ← (1 − w_q)·avg + w_q·q
//!     else:                  avg ← (1 − w_q)^m·avg,  m = (time − q_time)/s
//!     if min_th ≤ avg < max_th:
//!         count ← count + 1
//!         p_b ← max_p·(avg − min_th)/(max_th − min_th)
//!         p_b ← p_b·PacketSize/max_packet                   (mode = byte: q, avg and the thresholds are in bytes)
//!         p_a ← p_b/(1 − count·p_b)                         (method = 2; p_a ← p_b in method 1)
//!         with probability p_a: signal, count ← −1          (0 with law = figure2, figure17 and ns2)
//!     else if avg ≥ max_th:  signal, count ← −1                        (0 with law = figure2 and ns2)
//!     else:                  count ← −1
//! signal:  drop the arrival; or (action = mark) mark it and queue it, if its transport is capable
//! ```
//!
#![doc = include_str!("red.md")]

pub(crate) mod linux;
mod rule;
mod shifts;

use crate::prelude::*;
pub use rule::{RedRule, Verdict};

use sluicegate_base::params;

choices! {
    /// What RED measures.
    pub enum Mode {
        /// The queue in packets; every packet is as likely to be dropped as another.
        Packet = "packet",
        /// The queue in bytes; a packet is dropped with a probability proportional to its length.
        Byte = "byte",
    }
}

choices! {
    /// How congestion is signalled.
    pub enum Action {
        /// By a loss.
        Drop = "drop",
        /// By a mark, where the packet's transport is capable; else by a loss.
        Mark = "mark",
    }
}

choices! {
    /// What `count` counts when a packet is judged, and so the law of the gaps between signals.
    pub enum GapLaw {
        /// Packets in the band since the last signal that were not signalled on: gaps are uniform on 1 … 1/p_b.
        Section7 = "section7",
        /// The arrival too, as Fig. 2 prints it: gaps are uniform on 1 … 1/p_b − 1.
        Figure2 = "figure2",
        /// As Fig. 2, but an arrival that finds fewer than two packets, or is the first in the band, is spared.
        Ns2 = "ns2",
        /// As Sec. VII, but by one random number for each signal; the first packet of the band is spared (Fig. 17).
        Figure17 = "figure17",
    }
}

choices! {
    /// How RED computes.
    pub enum RedArithmetic {
        /// In floating point, with the values as they are given.
        Float = "float",
        /// In whole numbers, by shifts and a table: w_q and max_p/(max_th − min_th) are the nearest powers of two.
        Shifts = "shifts",
    }
}

params! {
    /// RED's parameters as other disciplines have them too: the average, the band and the limit.
    pub struct RedBlock {
        /// Queue weight: the weight of the present queue in the average.
        w_q: f64 = default(0.002), unit("1"), range(Range::above(0.0).to(1.0)),
            source("RED 1993, Sec. VI and Fig. 3"), tc("burst");
        /// Average below which no packet is dropped or marked early.
        min_th: Size = default(Size::Packets(5)), unit("packets"), range(Range::POSITIVE),
            source("RED 1993, Fig. 3"), tc("min");
        /// Average from which RED drops or marks every arrival; in fred each flow may still have two packets queued.
        max_th: Size = default(Size::Packets(15)), unit("packets"), range(Range::POSITIVE),
            source("RED 1993, Fig. 3: 3 times min_th"), tc("max");
        /// The probability p_b as the average reaches max_th.
        max_p: f64 = default(0.02), unit("1"), range(Range::above(0.0).to(1.0)),
            source("RED 1993, Fig. 3: 1/50"), tc("probability");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0)),
            source("chosen here: far above max_th, so that RED decides"), tc("limit");
        /// Typical time to send a small packet, the unit of the idle decay.
        s: Span = derived("500 bytes at the link rate", |link| Span(link.rate.time_of(500).0.max(1))),
            range(Range::POSITIVE), source("RED 1993, Fig. 17; the length is ns-2's mean_pktsize"), tc("avpkt, bandwidth");
    }
}

impl RedBlock {
    /// Whether both thresholds count packets.
    pub(crate) fn counts_packets(&self) -> bool {
        matches!((self.min_th, self.max_th), (Size::Packets(_), Size::Packets(_)))
    }

    /// Whether min_th is below max_th, both in the same unit.
    pub(crate) fn is_a_band(&self) -> bool {
        self.min_th.amount() < self.max_th.amount()
    }
}

params! {
    /// How RED signals congestion, as other disciplines do too.
    pub struct RedSignal {
        /// Drop packets; or mark ECN-capable packets and drop the others.
        action: Action = default(Action::Drop), source("RED 1993, Sec. IV; RFC 3168, Sec. 5"), tc("ecn");
        /// What happens to ECN-capable packets while the average is at max_th or above, if the action is mark.
        above_max_th: Action = default(Action::Drop),
            source("RFC 3168, Sec. 7: drop; RED 1993, Fig. 1: mark"), tc("harddrop");
    }
}

discipline! {
    Red: "red", "RED",
    source("Floyd & Jacobson 1993, Fig. 2 and Sec. VII"),
    tc("tc qdisc add dev DEV root red limit LIMIT_BYTES min MIN_BYTES max MAX_BYTES avpkt PACKET_BYTES \
        burst BURST_PACKETS probability MAX_P bandwidth RATE"),
    drops(Tail, Early, Forced),
    remembers(None),
    overload(Drops, "at `max_th` and above, unless `above_max_th` = mark"),

    /// Parameters of [`Red`].
    pub struct RedParams {
        ..red: RedBlock;
        ..signal: RedSignal;
        /// After a signal, wait 1/p_b packets before the next one: ns-2's law of gaps instead of Sec. VII's.
        wait: bool = default(false), source("ns-2, wait_");
        /// Raise the probability from max_p to 1 between max_th and 2·max_th, instead of signalling on every arrival.
        gentle: bool = default(false), source("ns-2, gentle_; Floyd 2000");
        /// Law of the gaps between signals: 1 is geometric, each packet with p_b; 2 is uniform, with p_a.
        method: u64 = default(2), unit("1"), range(Range::from(1.0).to(2.0)), source("RED 1993, Sec. VII");
        /// What method 2 counts: unmarked packets (Sec. VII; Fig. 17), or the arrival too (Fig. 2; ns-2, which also spares some
        /// arrivals).
        law: GapLaw = default(GapLaw::Section7), source("RED 1993, Sec. VII, Figs. 2 and 17; ns-2, red.cc");
        /// Compute in floating point, or by shifts and a table with w_q and the slope of p_b rounded to powers of two.
        arithmetic: RedArithmetic = default(RedArithmetic::Float), source("RED 1993, Sec. XI and Fig. 17"), fixed(true);
        /// Measure the queue in packets, or in bytes with probabilities proportional to a packet's length.
        mode: Mode = default(Mode::Packet), source("RED 1993, Sec. IV; ns-2, queue_in_bytes_ and bytes_"), fixed(true);
        /// In byte mode, the length for which the probability is p_b, and the length of a packet in min_th and max_th.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("B"),
            range(Range::from(1.0)), source("RED 1993, Sec. IV: MaximumPacketSize; ns-2: mean_pktsize_"), tc("avpkt");
        /// Length up to which packets are sent before all longer ones, such as "64 B" for acknowledgements.
        short_first: Option<Size> = optional("first in, first out"), unit("B"), range(Range::from(1.0)),
            source("RED 1993, Sec. XII: priority service for short control packets"), fixed(true);
    }
    rules {
        "min_th and max_th count packets, unless mode is byte" [min_th, max_th, mode]
            |p| p.threshold(p.red.min_th).is_some() && p.threshold(p.red.max_th).is_some();
        "min_th < max_th" [min_th, max_th] |p| p.threshold(p.red.min_th) < p.threshold(p.red.max_th);
        "max_packet is in bytes" [max_packet] |p| matches!(p.max_packet, Size::Bytes(_));
        "wait belongs to method 2" [wait, method] |p| !p.wait || p.method == 2;
        "law = figure2 belongs to method 2" [law, method] |p| p.law != GapLaw::Figure2 || p.method == 2;
        "law = figure17 belongs to method 2 and mode packet, without wait" [law, method, mode, wait]
            |p| p.law != GapLaw::Figure17 || (p.method == 2 && p.mode == Mode::Packet && !p.wait);
        "arithmetic = shifts belongs to law = figure17, without gentle" [arithmetic, law, gentle]
            |p| p.arithmetic == RedArithmetic::Float || (p.law == GapLaw::Figure17 && !p.gentle);
        "w_q is at least 1/65536 with arithmetic = shifts" [w_q, arithmetic]
            |p| p.arithmetic == RedArithmetic::Float || p.red.w_q >= 1.0 / 65_536.0;
        "short_first is in bytes" [short_first] |p| !matches!(p.short_first, Some(Size::Packets(_)));
    }
}

impl RedParams {
    /// A threshold in the unit of the mode; in byte mode a number of packets counts `max_packet` bytes each.
    fn threshold(&self, size: Size) -> Option<u64> {
        match (self.mode, size, self.max_packet) {
            (Mode::Packet, Size::Packets(n), _) | (Mode::Byte, Size::Bytes(n), _) => Some(n),
            (Mode::Byte, Size::Packets(n), Size::Bytes(length)) => Some(n.saturating_mul(length)),
            _ => None,
        }
    }
}

/// A queue with Random Early Detection, first in first out unless short packets go first.
#[derive(Clone, Debug)]
pub struct Red<P> {
    rule: RedRule,
    fifo: Fifo<P>,
    /// The longest packet that goes first; 0 for none.
    short: u64,
    /// How many packets at the head of the queue are short.
    first: usize,
}

impl<P: Packet> Red<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: RedParams) -> Self {
        let short = params.short_first.map_or(0, Size::amount);
        Red { rule: RedRule::of(&params), fifo: Fifo::new(params.red.limit), short, first: 0 }
    }

    fn push(&mut self, packet: P) {
        if packet.bytes() > self.short {
            return self.fifo.push(packet);
        }
        self.fifo.insert(self.first, packet);
        self.first += 1;
    }
}

impl<P: Packet> Discipline<P> for Red<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        self.rule.update_avg(self.fifo.packets(), self.fifo.bytes(), ctx.now);
        let verdict = self.rule.judge(packet.bytes(), ctx.rng);
        match self.rule.carry_out(verdict, &mut packet) {
            Some(reason) => ctx.drop(packet, reason),
            None if self.fifo.has_room(&packet) => self.push(packet),
            None => {
                self.rule.refused();
                ctx.drop(packet, DropReason::Tail);
            }
        }
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        if self.fifo.packets() == 0 {
            self.rule.idle(ctx.now);
        }
        self.first = self.first.saturating_sub(1);
        self.fifo.pop()
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn wakes(&self) -> bool {
        false
    }

    fn average(&self) -> Option<f64> {
        Some(self.rule.avg())
    }
}

impl<P: Packet> Configure<P> for Red<P> {
    fn configure(&mut self, params: RedParams, ctx: &mut Ctx<'_, P>) {
        self.rule = RedRule::of(&params).continuing(&self.rule);
        self.fifo.resize(params.red.limit, ctx);
        self.first = self.first.min(self.fifo.packets() as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::Harness;
    use alloc::vec;
    use sluicegate_base::{Ecn, Link, Params, Rate, Stream};

    /// Defaults for 1 Mbit/s, where s = 500 · 8 / 10⁶ = 4 ms.
    pub(super) fn params() -> RedParams {
        RedParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
    }

    pub(super) fn thresholds(min_th: u64, max_th: u64) -> RedParams {
        RedParams {
            red: RedBlock { min_th: Size::Packets(min_th), max_th: Size::Packets(max_th), ..params().red.clone() },
            ..params()
        }
    }

    /// The paper's pseudocode by hand: w_q = 1/2, min_th = 1, max_th = 3, max_p = 1/2, five arrivals and no departure.
    #[test]
    fn replays_the_papers_pseudocode() {
        let mut harness = Harness::new(
            Red::new(RedParams {
                red: RedBlock { w_q: 0.5, max_p: 0.5, ..thresholds(1, 3).red.clone() },
                ..thresholds(1, 3)
            }),
            5,
        );
        let mut draws = harness.rng.clone();
        assert_eq!(harness.depart(), None);
        // Arrival 1: the link is idle, avg stays 0. Arrivals 2, 3 and 4 find q = 1, 2, 3: avg = 1/2, 5/4, …
        for _ in 0..2 {
            harness.arrive(1, 1000);
        }
        assert_eq!((harness.discipline.rule.avg, harness.discipline.rule.count), (0.5 * 1.0, -1));
        // Arrival 3: avg = 0.5·0.5 + 0.5·2 = 1.25, p_b = 0.5·0.25/2 = 0.0625, count = 0, p_a = 0.0625.
        harness.arrive(1, 1000);
        assert_eq!(harness.discipline.rule.avg, 1.25);
        let third_lost = draws.uniform() < 0.0625;
        assert_eq!(harness.dropped.len(), usize::from(third_lost));
        // Arrival 4 with the third queued: avg = 0.625 + 1.5 = 2.125, p_b = 0.5·1.125/2 = 0.28125, count = 1,
        // p_a = 0.28125/(1 − 0.28125) = 0.391304…
        assert!(!third_lost, "this seed queues the third packet");
        harness.arrive(1, 1000);
        assert_eq!((harness.discipline.rule.avg, harness.discipline.rule.p_b()), (2.125, 0.28125));
        let fourth_lost = draws.uniform() < 0.28125 / 0.71875;
        assert_eq!(harness.dropped.len(), usize::from(fourth_lost));
        // Arrival 5: with the fourth queued, avg = 1.0625 + 2 = 3.0625 ≥ max_th: lost for certain, count = −1.
        assert!(!fourth_lost, "this seed queues the fourth packet");
        harness.arrive(1, 1000);
        assert_eq!(harness.discipline.rule.avg, 3.0625);
        assert_eq!((harness.dropped_flows(), harness.discipline.rule.count), (vec![(1, DropReason::Forced)], -1));
        harness.assert_conserved();
    }

    #[test]
    fn the_average_decays_while_the_link_is_idle() {
        let mut harness = Harness::new(
            Red::new(RedParams {
                red: RedBlock { w_q: 0.5, ..thresholds(100, 200).red.clone() },
                ..thresholds(100, 200)
            }),
            1,
        );
        for _ in 0..5 {
            harness.arrive(1, 1000);
        }
        while harness.depart().is_some() {}
        let before = harness.discipline.rule.avg;
        // 10 ms idle is m = 2.5 small packets of 4 ms.
        harness.wait(Span::from_millis(10));
        harness.arrive(1, 1000);
        let expected = before * libm::pow(0.5, 2.5);
        assert!((harness.discipline.rule.avg - expected).abs() < 1e-12);
    }

    #[test]
    fn a_full_buffer_loses_the_tail() {
        let mut harness = Harness::new(
            Red::new(RedParams { red: RedBlock { limit: Size::Packets(2), ..params().red.clone() }, ..params() }),
            1,
        );
        (0..3).for_each(|_| harness.arrive(1, 1000));
        assert_eq!(harness.dropped_flows(), [(1, DropReason::Tail)]);
    }

    /// w_q = 1, so that the average is the queue that the arrival finds; max_p = 1, so that p_b is 1/2 at 2 packets.
    #[test]
    fn marked_packets_are_queued_and_depart_with_the_mark() {
        let marker = RedParams {
            red: RedBlock { w_q: 1.0, max_p: 1.0, ..thresholds(1, 3).red.clone() },
            signal: RedSignal { action: Action::Mark, ..thresholds(1, 3).signal.clone() },
            ..thresholds(1, 3)
        };
        let mut harness = Harness::new(Red::new(marker), 7);
        // Arrival 1 finds the link idle, 2 finds avg = 1 and p_b = 0, 3 finds p_b = 1/2 and count = 1: p_a = 1.
        (0..3).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
        assert_eq!(harness.discipline.packets(), 3, "a mark loses nothing");
        // avg = 3 = max_th: dropped although it is capable, as RFC 3168 asks.
        harness.offer(1, 1000, Ecn::Capable0);
        assert_eq!(harness.dropped_flows(), [(1, DropReason::Forced)]);
        let departed = [(); 3].map(|()| harness.depart().unwrap().ecn);
        assert_eq!(departed, [Ecn::Capable0, Ecn::Capable0, Ecn::CongestionExperienced]);
        harness.assert_conserved();
    }

    /// The part of 1000-byte and of 40-byte packets, arriving in random order, that RED in byte mode marks while its average
    /// is 20 packets of 1000 bytes: p_b = 0.1 for the large ones. And how many of the small were marked.
    fn marked(method: u64) -> ([f64; 2], f64) {
        let action = Action::Mark;
        let byte = RedParams {
            red: RedBlock { max_p: 0.2, w_q: 1e-12, ..thresholds(10, 30).red.clone() },
            signal: RedSignal { action, ..thresholds(10, 30).signal.clone() },
            mode: Mode::Byte,
            method,
            ..thresholds(10, 30)
        };
        let mut harness = Harness::new(Red::new(byte), 4);
        let mut order = Stream::new(6, "order");
        harness.arrive(0, 1000);
        harness.discipline.rule.avg = 20_000.0;
        let (mut offered, mut marked) = ([0.0; 2], [0.0; 2]);
        while harness.arrived < 500_000 {
            let small = order.below(2);
            harness.offer(small, [1000, 40][small as usize], Ecn::Capable0);
            offered[small as usize] += 1.0;
            if let Some(packet) = harness.depart().filter(|packet| packet.ecn == Ecn::CongestionExperienced) {
                marked[packet.flow as usize] += 1.0;
            }
        }
        ([marked[0] / offered[0], marked[1] / offered[1]], marked[1])
    }

    /// A large FTP packet is marked more often than a small TELNET packet: with method 1 exactly in proportion, 25 times
    /// as often. Method 2 counts packets of any length against the p_b of the one that arrives, so that a large packet
    /// after many others is nearly certain to be marked: with h(k) = p_b/(1 − k·p_b) for both and the chance to come so
    /// far it is 65 times.
    #[test]
    fn in_byte_mode_large_packets_are_marked_more_often_than_small_ones() {
        let hazard = |p_b: f64, k: f64| if k * p_b < 1.0 { (p_b / (1.0 - k * p_b)).min(1.0) } else { 1.0 };
        let (mut large, mut small, mut unmarked) = (0.0, 0.0, 1.0);
        for k in 0..1000 {
            let (l, s) = (hazard(0.1, f64::from(k)), hazard(0.004, f64::from(k)));
            large += unmarked * l;
            small += unmarked * s;
            unmarked *= 1.0 - (l + s) / 2.0;
        }
        for (method, expected) in [(1, 25.0), (2, large / small)] {
            let ([large, small], n) = marked(method);
            // Four standard errors of the number of small packets that are marked, the rarer kind.
            let (ratio, error) = (large / small, 4.0 / libm::sqrt(n));
            assert!((ratio / expected - 1.0).abs() < error && error < 0.15, "{method}: {ratio} for {expected}, {n}");
        }
        assert!((large / small - 64.58).abs() < 0.01, "{}", large / small);
    }

    /// Short packets overtake the others; the limit and RED count both.
    #[test]
    fn short_packets_go_first() {
        let params = RedParams {
            red: RedBlock { limit: Size::Packets(4), ..params().red.clone() },
            short_first: Some(Size::Bytes(64)),
            ..params()
        };
        let mut harness = Harness::new(Red::new(params), 1);
        for (flow, bytes) in [(1, 1000), (2, 1000), (3, 64), (4, 65), (5, 40)] {
            harness.arrive(flow, bytes);
        }
        assert_eq!((harness.queued_flows(), harness.dropped_flows()), (vec![3, 1, 2, 4], vec![(5, DropReason::Tail)]));
        let w_q = 0.002;
        let mut avg = 0.0;
        [0.0, 1.0, 2.0, 3.0, 4.0].iter().for_each(|q| avg = (1.0 - w_q) * avg + w_q * q);
        assert_eq!(harness.discipline.average(), Some(avg), "the queue is all that waits");
        assert_eq!(harness.depart().map(|packet| packet.flow), Some(3));
        harness.arrive(6, 40);
        assert_eq!([(); 4].map(|()| harness.depart().unwrap().flow), [6, 1, 2, 4]);
        harness.assert_conserved();
    }

    /// With the parameters of powers of two both arithmetics give the same signals, as long as they draw the same numbers.
    #[test]
    fn shifts_agree_with_floating_point() {
        let float = RedParams {
            red: RedBlock { w_q: 1.0 / 16.0, max_p: 0.25, ..thresholds(2, 10).red.clone() },
            law: GapLaw::Figure17,
            ..thresholds(2, 10)
        };
        let shifts = RedParams { arithmetic: RedArithmetic::Shifts, ..float.clone() };
        let mut rigs = [float, shifts].map(|params| Harness::new(Red::new(params), 9));
        let mut load = Stream::new(3, "load");
        for _ in 0..20_000 {
            let (arrivals, idle) = (load.below(3), load.below(40) == 0);
            for harness in &mut rigs {
                (0..arrivals).for_each(|_| harness.arrive(1, 1000));
                let _ = harness.depart();
                while idle && harness.depart().is_some() {}
                harness.wait(Span::from_millis(8));
            }
        }
        assert!(rigs[0].dropped.len() > 500);
        assert_eq!(rigs[0].dropped, rigs[1].dropped);
    }
}
