//! # RED
//!
//! Random Early Detection keeps an exponentially weighted average of the queue. Below `min_th` every arrival is queued;
//! between the thresholds an arrival is dropped with a probability that grows with the average and with the number of
//! packets since the last drop; at `max_th` and above every arrival is dropped.
//!
//! ```text
//! for each arrival:                                         (Floyd & Jacobson 1993, Fig. 2, count as in Sec. VII)
//!     if the link is busy:   avg ← (1 − w_q)·avg + w_q·q
//!     else:                  avg ← (1 − w_q)^m·avg,  m = (time − q_time)/s
//!     if min_th ≤ avg < max_th:
//!         p_b ← max_p·(avg − min_th)/(max_th − min_th)
//!         p_a ← p_b/(1 − count·p_b)
//!         with probability p_a: drop, count ← 0;   else: count ← count + 1
//!     else if avg ≥ max_th:  drop, count ← 0
//!     else:                  count ← 0
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | Fig. 2 increments `count` before it is used; Sec. VII counts the unmarked packets since the last mark | Sec. VII: gaps are uniform on 1 … 1/p_b | the text derives this law; the figure taken literally never gives the gap 1/p_b |
//! | the text drops when avg "exceeds" max_th, Figs. 1 and 17 print ≤ | drop at avg ≥ max_th | as the figures |
//! | `f(t)`, a linear function of time, gives m | m is real, not rounded | the decay is then smooth in the length of the idle period; ns-2 truncates it and Linux tabulates it |
//! | `q_time` is when the queue becomes empty | the idle period starts when the link asks and finds nothing | the packet in transmission is not in our queue; so in ns-2 and Linux |
//! | nothing on a full buffer | an arrival that RED would queue is lost with cause `tail`; `count` still counts it as unmarked | the law of gaps is RED's own, whatever the buffer does |
//! | nothing | `wait`: gaps on 1/p_b … 2/p_b, as ns-2 has by default | about a third fewer early drops; for comparison with ns-2 |
//! | nothing | `gentle`: between max_th and 2·max_th the probability rises from max_p to 1 | Floyd's later recommendation, default of ns-2's later versions |
//! | ns-2 and Linux spare an arrival when fewer than two packets are queued, ns-2 also the first of the band | no exception | the paper has none |

use crate::discipline::{Cause, Ctx, Discipline, Packet};
use crate::fifo::Fifo;
use sluicegate_base::{About, Declared, Range, Size, Span, Stream, Time, params};

params! {
    /// Parameters of [`Red`].
    pub struct RedParams {
        /// Queue weight: the weight of the present queue in the average.
        w_q: f64 = default(0.002), unit("1"), range(Range::above(0.0).to(1.0)),
            source("RED 1993, Sec. VI and Fig. 3"), tc("burst");
        /// Average below which no packet is dropped early.
        min_th: Size = default(Size::Packets(5)), unit("packets"), range(Range::POSITIVE),
            source("RED 1993, Fig. 3"), tc("min");
        /// Average from which every arrival is dropped.
        max_th: Size = default(Size::Packets(15)), unit("packets"), range(Range::POSITIVE),
            source("RED 1993, Fig. 3: 3 times min_th"), tc("max");
        /// The drop probability p_b as the average reaches max_th.
        max_p: f64 = default(0.02), unit("1"), range(Range::above(0.0).to(1.0)),
            source("RED 1993, Fig. 3: 1/50"), tc("probability");
        /// Most that the queue holds, not counting the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0)),
            source("chosen here: far above max_th, so that RED decides"), tc("limit");
        /// Typical time to send a small packet, the unit of the idle decay.
        s: Span = derived("500 bytes at the link rate", |link| Span(link.rate.time_of(500).0.max(1))),
            range(Range::POSITIVE), source("RED 1993, Fig. 17; the length is ns-2's mean_pktsize"), tc("avpkt, bandwidth");
        /// Wait 1/p_b packets after a drop before the next may come: ns-2's law of gaps instead of Sec. VII's.
        wait: bool = default(false), source("ns-2, wait_");
        /// Raise the probability from max_p to 1 between max_th and 2·max_th, instead of dropping all.
        gentle: bool = default(false), source("ns-2, gentle_; Floyd 2000");
    }
    rules {
        "min_th and max_th count packets" [min_th, max_th] |p| packets(p.min_th).is_some() && packets(p.max_th).is_some();
        "min_th < max_th" [min_th, max_th] |p| packets(p.min_th) < packets(p.max_th);
    }
}

/// The causes for which RED gives up packets.
pub const CAUSES: &[Cause] = &[Cause::Tail, Cause::Early, Cause::Forced];

pub(crate) fn packets(size: Size) -> Option<u64> {
    match size {
        Size::Packets(n) => Some(n),
        Size::Bytes(_) => None,
    }
}

/// What RED's rule says of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Queue it.
    Pass,
    /// Drop it, by chance.
    Early,
    /// Drop it, for certain.
    Forced,
}

/// RED's rule without a queue: the average and the law of gaps. CHOKe and others build on it.
#[derive(Clone, Debug)]
pub struct RedRule {
    w_q: f64,
    min_th: f64,
    max_th: f64,
    max_p: f64,
    s: Span,
    wait: bool,
    gentle: bool,
    avg: f64,
    /// Unmarked packets in the band since the last mark.
    count: u64,
    /// When the link last found the queue empty; none while it is busy.
    q_time: Option<Time>,
}

impl RedRule {
    /// The rule at rest: average zero, link idle since the start.
    #[must_use]
    pub fn new(params: &RedParams) -> Self {
        let threshold = |size| packets(size).unwrap_or(u64::MAX) as f64;
        RedRule {
            w_q: params.w_q,
            min_th: threshold(params.min_th),
            max_th: threshold(params.max_th),
            max_p: params.max_p,
            s: params.s,
            wait: params.wait,
            gentle: params.gentle,
            avg: 0.0,
            count: 0,
            q_time: Some(Time::ZERO),
        }
    }

    /// The average queue in packets.
    #[must_use]
    pub fn avg(&self) -> f64 {
        self.avg
    }

    /// Whether the average has reached `min_th`.
    #[inline]
    #[must_use]
    pub fn congested(&self) -> bool {
        self.avg >= self.min_th
    }

    /// Whether every arrival is to be dropped.
    #[inline]
    #[must_use]
    pub fn saturated(&self) -> bool {
        self.avg >= if self.gentle { 2.0 * self.max_th } else { self.max_th }
    }

    /// A packet arrives to a queue of `q` packets: brings the average up to date.
    #[inline]
    pub fn arrival(&mut self, q: u64, now: Time) {
        match self.q_time.take() {
            None => self.avg = (1.0 - self.w_q) * self.avg + self.w_q * q as f64,
            Some(q_time) => {
                let m = now.since(q_time).0 as f64 / self.s.0 as f64;
                self.avg *= libm::pow(1.0 - self.w_q, m);
            }
        }
    }

    /// The link asked for a packet and found none.
    #[inline]
    pub fn idle(&mut self, now: Time) {
        self.q_time.get_or_insert(now);
    }

    /// Judges the arrival by the average.
    #[inline]
    pub fn judge(&mut self, rng: &mut Stream) -> Verdict {
        if !self.congested() {
            self.count = 0;
            return Verdict::Pass;
        }
        if self.saturated() {
            self.count = 0;
            return Verdict::Forced;
        }
        let p_b = self.p_b();
        let count_p = self.count as f64 * p_b;
        let p_a = match (self.wait, count_p) {
            (false, x) if x < 1.0 => p_b / (1.0 - x),
            (true, x) if x < 1.0 => 0.0,
            (true, x) if x < 2.0 => p_b / (2.0 - x),
            _ => 1.0,
        };
        if rng.chance(p_a) {
            self.count = 0;
            Verdict::Early
        } else {
            self.count += 1;
            Verdict::Pass
        }
    }

    /// The probability before the correction for `count`.
    #[inline]
    fn p_b(&self) -> f64 {
        if self.avg < self.max_th {
            self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th)
        } else {
            self.max_p + (1.0 - self.max_p) * (self.avg - self.max_th) / self.max_th
        }
    }
}

/// A first-in-first-out queue with Random Early Detection.
#[derive(Clone, Debug)]
pub struct Red<P> {
    rule: RedRule,
    fifo: Fifo<P>,
}

impl<P> Declared for Red<P> {
    type Params = RedParams;
    const ABOUT: About = About {
        name: "red",
        class: "Red",
        title: "RED",
        source: "Floyd & Jacobson 1993, Fig. 2 and Sec. VII",
        tc: "tc qdisc add dev DEV root red limit LIMIT_BYTES min MIN_BYTES max MAX_BYTES avpkt PACKET_BYTES \
             burst BURST_PACKETS probability MAX_P bandwidth RATE",
        module: include_str!("red.rs"),
    };
}

impl<P: Packet> Red<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: RedParams) -> Self {
        Red { rule: RedRule::new(&params), fifo: Fifo::new(params.limit) }
    }
}

impl<P: Packet> Discipline<P> for Red<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.rule.arrival(self.fifo.packets(), ctx.now);
        match self.rule.judge(ctx.rng) {
            Verdict::Early => ctx.lost(packet, Cause::Early),
            Verdict::Forced => ctx.lost(packet, Cause::Forced),
            Verdict::Pass if self.fifo.has_room(&packet) => self.fifo.push(packet),
            Verdict::Pass => ctx.lost(packet, Cause::Tail),
        }
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let packet = self.fifo.pop();
        if packet.is_none() {
            self.rule.idle(ctx.now);
        }
        packet
    }

    fn packets(&self) -> u64 {
        self.fifo.packets()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.fifo.for_each(visit);
    }

    fn average(&self) -> Option<f64> {
        Some(self.rule.avg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;
    use alloc::vec;
    use alloc::vec::Vec;
    use sluicegate_base::{Link, Params, Rate};

    /// Defaults for 1 Mbit/s, where s = 500 · 8 / 10⁶ = 4 ms.
    fn params() -> RedParams {
        RedParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
    }

    fn thresholds(min_th: u64, max_th: u64) -> RedParams {
        RedParams { min_th: Size::Packets(min_th), max_th: Size::Packets(max_th), ..params() }
    }

    /// The paper's pseudocode by hand: w_q = 1/2, min_th = 1, max_th = 3, max_p = 1/2, five arrivals and no departure.
    #[test]
    fn replays_the_papers_pseudocode() {
        let mut rig = Rig::new(Red::new(RedParams { w_q: 0.5, max_p: 0.5, ..thresholds(1, 3) }), 5);
        let mut draws = rig.rng.clone();
        assert_eq!(rig.depart(), None);
        // Arrival 1: the link is idle, avg stays 0. Arrivals 2, 3 and 4 find q = 1, 2, 3: avg = 1/2, 5/4, …
        for _ in 0..2 {
            rig.arrive(1, 1000);
        }
        assert_eq!((rig.discipline.rule.avg, rig.discipline.rule.count), (0.5 * 1.0, 0));
        // Arrival 3: avg = 0.5·0.5 + 0.5·2 = 1.25, p_b = 0.5·0.25/2 = 0.0625, count = 0, p_a = 0.0625.
        rig.arrive(1, 1000);
        assert_eq!(rig.discipline.rule.avg, 1.25);
        let third_lost = draws.uniform() < 0.0625;
        assert_eq!(rig.lost.len(), usize::from(third_lost));
        // Arrival 4 with the third queued: avg = 0.625 + 1.5 = 2.125, p_b = 0.5·1.125/2 = 0.28125, count = 1,
        // p_a = 0.28125/(1 − 0.28125) = 0.391304…
        assert!(!third_lost, "this seed queues the third packet");
        rig.arrive(1, 1000);
        assert_eq!((rig.discipline.rule.avg, rig.discipline.rule.p_b()), (2.125, 0.28125));
        let fourth_lost = draws.uniform() < 0.28125 / 0.71875;
        assert_eq!(rig.lost.len(), usize::from(fourth_lost));
        // Arrival 5: with the fourth queued, avg = 1.0625 + 2 = 3.0625 ≥ max_th: lost for certain, count = 0.
        assert!(!fourth_lost, "this seed queues the fourth packet");
        rig.arrive(1, 1000);
        assert_eq!(rig.discipline.rule.avg, 3.0625);
        assert_eq!((rig.lost_flows(), rig.discipline.rule.count), (vec![(1, Cause::Forced)], 0));
        rig.assert_conserved();
    }

    #[test]
    fn the_average_decays_while_the_link_is_idle() {
        let mut rig = Rig::new(Red::new(RedParams { w_q: 0.5, ..thresholds(100, 200) }), 1);
        for _ in 0..5 {
            rig.arrive(1, 1000);
        }
        while rig.depart().is_some() {}
        let before = rig.discipline.rule.avg;
        // 10 ms idle is m = 2.5 small packets of 4 ms.
        rig.wait(Span::from_millis(10));
        rig.arrive(1, 1000);
        let expected = before * libm::pow(0.5, 2.5);
        assert!((rig.discipline.rule.avg - expected).abs() < 1e-12);
    }

    #[test]
    fn the_idle_period_starts_when_the_link_first_finds_nothing() {
        let mut rule = RedRule::new(&RedParams { w_q: 0.5, ..params() });
        rule.arrival(0, Time::ZERO);
        rule.arrival(8, Time::ZERO);
        rule.idle(Time(4_000_000));
        rule.idle(Time(8_000_000));
        rule.arrival(0, Time(12_000_000));
        assert_eq!(rule.avg, 4.0 * 0.25, "two small packets since 4 ms");
    }

    /// Gaps between drops with the average held still, and the law of Sec. VII: uniform on 1, 2, …, 1/p_b.
    fn gaps(params: &RedParams, avg: f64, n: usize) -> Vec<u64> {
        let mut rule = RedRule { avg, ..RedRule::new(params) };
        let mut rng = Stream::new(11, "gaps");
        (0..n)
            .map(|_| {
                let mut gap = 1;
                while rule.judge(&mut rng) == Verdict::Pass {
                    gap += 1;
                }
                gap
            })
            .collect()
    }

    #[test]
    fn gaps_are_uniform_as_section_vii_derives() {
        // avg half-way, max_p = 0.2: p_b = 0.1, gaps uniform on 1 … 10.
        let gaps = gaps(&RedParams { max_p: 0.2, ..thresholds(10, 30) }, 20.0, 50_000);
        let mut counts = [0.0f64; 10];
        gaps.iter().for_each(|&gap| counts[gap as usize - 1] += 1.0);
        let chi2: f64 = counts.iter().map(|c| (c - 5000.0) * (c - 5000.0) / 5000.0).sum();
        assert!(chi2 < 27.88, "chi-square with 9 degrees of freedom: {chi2}");
    }

    #[test]
    fn wait_moves_the_gaps_to_between_one_and_two_over_p() {
        let gaps = gaps(&RedParams { max_p: 0.2, wait: true, ..thresholds(10, 30) }, 20.0, 50_000);
        assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&11), Some(&20)));
        let mean = gaps.iter().sum::<u64>() as f64 / 50_000.0;
        // Uniform on 11 … 20: mean 15.5, and 4 standard errors are 4·2.87/√50000 = 0.05.
        assert!((mean - 15.5).abs() < 0.052, "mean {mean}");
    }

    #[test]
    fn gentle_rises_to_one_at_twice_max_th() {
        let params = RedParams { gentle: true, max_p: 0.1, ..thresholds(10, 30) };
        let at = |avg| RedRule { avg, ..RedRule::new(&params) };
        assert!((at(45.0).p_b() - 0.55).abs() < 1e-12, "half-way between max_p and 1");
        assert!(!at(59.9).saturated() && at(60.0).saturated());
        let steep = RedParams { gentle: false, ..params };
        assert!(RedRule { avg: 30.0, ..RedRule::new(&steep) }.saturated());
    }

    #[test]
    fn a_full_buffer_loses_the_tail() {
        let mut rig = Rig::new(Red::new(RedParams { limit: Size::Packets(2), ..params() }), 1);
        (0..3).for_each(|_| rig.arrive(1, 1000));
        assert_eq!(rig.lost_flows(), [(1, Cause::Tail)]);
    }
}
