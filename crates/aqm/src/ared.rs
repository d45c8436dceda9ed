//! # ARED
//!
//! Adaptive RED moves RED's `max_p` so that the average queue stays in the middle between the thresholds: every `interval` it
//! adds to `max_p` while the average is too high and multiplies it by `beta` while it is too low. Thresholds and queue weight
//! follow from the link and from a target delay.
//!
//! ```text
//! RED, gentle, for each arrival; and every `interval`:                          (Floyd, Gummadi & Shenker 2001, Fig. 1)
//!     target ← [min_th + 0.4·(max_th − min_th), min_th + 0.6·(max_th − min_th)]
//!     if avg > target and max_p < top:      max_p ← max_p + min(alpha, max_p/4)
//!     if avg < target and max_p > bottom:   max_p ← max_p·beta
//! w_q ← 1 − exp(−1/C),   min_th ← max(5, target_delay·C/2),   max_th ← 3·min_th,   with C packets per second
//! ```
//!
//! `state` shows `max_p`.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | every interval, by a timer | with the first arrival more than `interval` after the last change, as ns-2 has it (`adaptive_`) | only arrivals move avg. If max_p needs no change when the interval is over, ns-2 and this discipline check again at each arrival until it does |
//! | max_p within [0.01, 0.5] | `bottom` = 0.01, `top` = 0.5, tested before a change, so that the last step may lead slightly beyond | ns-2; its `bottom_` is lower on links above 8 Mbit/s (80000/rate) |
//! | w_q = 1 − exp(−1/C) | the same, unless it is given | ns-2 takes 1 − exp(−1/(10·R·C)) by default, R three times the link's delay, 0.1 s at least (`q_weight_` −1), and the paper's with `q_weight_` 0 |
//! | min_th = max(5, target_delay·C/2), max_th = 3·min_th, target_delay 5 ms | the same, rounded to whole packets, unless they are given | ns-2 does not round |
//! | nothing on round trips | a target delay far below them leaves a link idle | with 5 ms one CUBIC flow uses 73 % of 100 Mbit/s at a round trip of 40 ms, with 20 ms 97 % |
//! | C in packets | of `packet` bytes, the link's typical ones | ns-2: `mean_pktsize_`, 500 bytes |
//! | gentle RED | between max_th and 2·max_th from the present max_p to 1 | ns-2 keeps the slope of the first max_p there |
//! | RED's law of gaps | `law` and `wait`, as `red` has them; Sec. VII's of RED 1993 by default | `law` = ns2 and `wait` = true are ns-2's |
//! | marks | `action` and `above_max_th`, as `red` here | ns-2 marks while p_b ≤ `mark_p_` |

use crate::prelude::*;
use crate::red::{GapLaw, RedBlock, RedRule, RedSignal};

discipline! {
    Ared: "ared", "Adaptive RED",
    source("Floyd, Gummadi & Shenker 2001; ns-2, queue/red.cc"),
    tc("tc qdisc add dev DEV root red limit LIMIT_BYTES min MIN_BYTES max MAX_BYTES avpkt PACKET_BYTES \
        burst BURST_PACKETS probability MAX_P bandwidth RATE adaptative"),
    drops(Tail, Early, Forced),
    remembers(None),
    overload(Drops, "at `max_th` and above (`gentle`: twice that), unless `above_max_th` = mark"),

    /// Parameters of [`Ared`].
    pub struct AredParams {
        ..signal: RedSignal;
        /// Desired average queueing delay; thresholds follow from it.
        target_delay: Span = default(Span::from_millis(5)), range(Range::POSITIVE),
            source("Floyd, Gummadi & Shenker 2001; ns-2, targetdelay_");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = derived("300 packets, or what the link sends in 30 ms if that is more",
            |link| link.at_least(300, Span::from_millis(30))), unit("packets"), range(Range::from(1.0)),
            source("chosen here: four times the default max_th or more, so that RED decides"), tc("limit");
        /// Queue weight: the weight of the present queue in the average.
        w_q: Option<f64> = optional("1 − exp(−1/C)"), unit("1"), range(Range::above(0.0).to(1.0)),
            source("Floyd, Gummadi & Shenker 2001"), tc("burst");
        /// Average below which no packet is dropped or marked early.
        min_th: Option<Size> = optional("max(5, target_delay·C/2)"), unit("packets"), range(Range::POSITIVE),
            source("Floyd, Gummadi & Shenker 2001"), tc("min");
        /// Average at which the probability is max_p.
        max_th: Option<Size> = optional("3·min_th"), unit("packets"), range(Range::POSITIVE),
            source("Floyd, Gummadi & Shenker 2001"), tc("max");
        /// The initial probability p_b as the average reaches max_th.
        max_p: f64 = default(0.1), unit("1"), range(Range::above(0.0).to(1.0)), source("ns-2, linterm_"), tc("probability"), fixed(true);
        /// max_p is lowered only from values above this.
        bottom: f64 = default(0.01), unit("1"), range(Range::above(0.0).to(1.0)), source("Floyd, Gummadi & Shenker 2001");
        /// max_p is raised only from values below this.
        top: f64 = default(0.5), unit("1"), range(Range::above(0.0).to(1.0)), source("Floyd, Gummadi & Shenker 2001");
        /// The increment of max_p, at most a quarter of max_p.
        alpha: f64 = default(0.01), unit("1"), range(Range::from(0.0).to(1.0)), source("Floyd, Gummadi & Shenker 2001");
        /// The factor by which max_p is lowered.
        beta: f64 = default(0.9), unit("1"), range(Range::above(0.0).to(1.0)), source("Floyd, Gummadi & Shenker 2001");
        /// Shortest time from one change of max_p to the next.
        interval: Span = default(Span::from_millis(500)), range(Range::POSITIVE), source("Floyd, Gummadi & Shenker 2001");
        /// Raise the probability from max_p to 1 between max_th and 2·max_th, instead of signalling on every arrival.
        gentle: bool = default(true), source("Floyd, Gummadi & Shenker 2001");
        /// After a signal, wait 1/p_b packets before the next one: ns-2's law of gaps.
        wait: bool = default(false), source("ns-2, wait_");
        /// What `count` counts.
        law: GapLaw = default(GapLaw::Section7), source("RED 1993, Sec. VII; ns-2, red.cc");
        /// Typical time to send a small packet, the unit of the idle decay.
        s: Span = derived("500 bytes at the link rate", |link| Span(link.rate.time_of(500).0.max(1))),
            range(Range::POSITIVE), source("RED 1993, Fig. 17; the length is ns-2's mean_pktsize"), tc("avpkt, bandwidth");
        /// Length of the packets in C, the link's rate in packets per second.
        packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("B"),
            range(Range::from(1.0)), source("ns-2, mean_pktsize_");
        /// The rate of the link, from which C follows.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE), source("the link");
    }
    rules {
        "min_th and max_th count packets" [min_th, max_th]
            |p| ![p.min_th, p.max_th].iter().any(|th| matches!(th, Some(Size::Bytes(_))));
        "packet is in bytes" [packet] |p| matches!(p.packet, Size::Bytes(_));
        "min_th < max_th" [min_th, max_th] |p| { let [min_th, max_th] = p.thresholds(); min_th < max_th };
        "bottom < top" [bottom, top] |p| p.bottom < p.top;
        "law = figure17 goes without wait" [law, wait] |p| p.law != GapLaw::Figure17 || !p.wait;
    }
}

impl AredParams {
    /// C, in packets per second.
    fn c(&self) -> f64 {
        self.bandwidth.0 as f64 / (8.0 * self.packet.amount() as f64)
    }

    /// min_th and max_th, in packets.
    fn thresholds(&self) -> [u64; 2] {
        let half = libm::round(self.target_delay.as_secs() * self.c() / 2.0) as u64;
        let min_th = self.min_th.map_or(half.max(5), Size::amount);
        [min_th, self.max_th.map_or(min_th.saturating_mul(3), Size::amount)]
    }

    /// The averages between which max_p stays as it is.
    fn target(&self) -> [f64; 2] {
        let [min_th, max_th] = self.thresholds();
        [0.4, 0.6].map(|part| min_th as f64 + part * (max_th - min_th) as f64)
    }

    /// RED with this max_p.
    fn rule(&self, max_p: f64) -> RedRule {
        let [min_th, max_th] = self.thresholds().map(Size::Packets);
        let w_q = self.w_q.unwrap_or_else(|| 1.0 - libm::exp(-1.0 / self.c()));
        let red = RedBlock { w_q, min_th, max_th, max_p, limit: self.limit, s: self.s };
        RedRule::new(&red, &self.signal).with_gaps(self.law, self.wait, self.gentle)
    }
}

/// A first-in-first-out queue under RED with a max_p that follows the traffic.
#[derive(Clone, Debug)]
pub struct Ared<P> {
    params: AredParams,
    rule: RedRule,
    fifo: Fifo<P>,
    max_p: f64,
    target: [f64; 2],
    /// When max_p was changed last.
    changed: Time,
}

impl<P: Packet> Ared<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: AredParams) -> Self {
        Ared {
            rule: params.rule(params.max_p),
            fifo: Fifo::new(params.limit),
            max_p: params.max_p,
            target: params.target(),
            changed: Time::ZERO,
            params,
        }
    }

    /// Moves max_p, if it is time and the average is not where it should be.
    fn adapt(&mut self, now: Time) {
        if now <= self.changed + self.params.interval {
            return;
        }
        let AredParams { bottom, top, alpha, beta, .. } = self.params;
        let ([low, high], avg) = (self.target, self.rule.avg());
        if avg < low && self.max_p > bottom {
            self.max_p *= beta;
        } else if avg > high && self.max_p < top {
            self.max_p = libm::fmin(self.max_p + libm::fmin(alpha, self.max_p / 4.0), 1.0);
        } else {
            return;
        }
        self.changed = now;
        self.rule.set_max_p(self.max_p);
    }
}

impl<P: Packet> Discipline<P> for Ared<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        self.rule.update_avg(self.fifo.packets(), self.fifo.bytes(), ctx.now);
        self.adapt(ctx.now);
        let verdict = self.rule.judge(packet.bytes(), ctx.rng);
        match self.rule.carry_out(verdict, &mut packet) {
            Some(reason) => ctx.drop(packet, reason),
            None if self.fifo.has_room(&packet) => self.fifo.push(packet),
            None => {
                self.rule.refused();
                ctx.drop(packet, DropReason::Tail);
            }
        }
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let packet = self.fifo.pop();
        if packet.is_none() {
            self.rule.idle(ctx.now);
        }
        packet
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn average(&self) -> Option<f64> {
        Some(self.rule.avg())
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "max_p", self.max_p);
    }
}

impl<P: Packet> Configure<P> for Ared<P> {
    fn configure(&mut self, params: AredParams, ctx: &mut Ctx<'_, P>) {
        self.rule = params.rule(self.max_p).continuing(&self.rule);
        self.target = params.target();
        self.fifo.resize(params.limit, ctx);
        self.params = params;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Harness, TestPacket};
    use sluicegate_base::{Link, Params};

    fn params(rate: u64) -> AredParams {
        AredParams::defaults(&Link { rate: Rate(rate), packet: 1000 }).unwrap()
    }

    /// 1 Mbit/s: 5 ms are 0.6 packets, so 5 and 15; C = 125 and w_q = 0.00797. 100 Mbit/s: 62.5/2 = 31 packets.
    #[test]
    fn parameters_follow_from_the_link() {
        assert_eq!(params(1_000_000).thresholds(), [5, 15]);
        assert_eq!(params(100_000_000).thresholds(), [31, 93]);
        let given = AredParams { min_th: Some(Size::Packets(20)), ..params(1_000_000) };
        assert_eq!(given.thresholds(), [20, 60]);
        let mut harness = Harness::new(Ared::new(params(1_000_000)), 1);
        harness.depart();
        (0..2).for_each(|_| harness.arrive(1, 1000));
        assert!((harness.discipline.average().unwrap() - 0.007968).abs() < 1e-6);
    }

    /// Fig. 1 by hand with w_q = 1 and thresholds 5 and 15, so that the target is 9 to 11: an arrival per half second and a bit.
    #[test]
    fn replays_the_papers_rule() {
        let adaptive = AredParams { w_q: Some(1.0), max_p: 0.02, ..params(1_000_000) };
        let mut harness = Harness::new(Ared::new(adaptive), 1);
        let step = |harness: &mut Harness<Ared<TestPacket>>, q: u64, wait: u64, expected: f64| {
            harness.wait(Span(wait));
            while harness.discipline.packets() > q {
                harness.depart();
            }
            while harness.discipline.packets() < q {
                harness.discipline.fifo.push(TestPacket { bytes: 1000, ..TestPacket::default() });
            }
            harness.arrive(1, 1000);
            let max_p = harness.state("max_p").unwrap();
            assert!((max_p - expected).abs() < 1e-15, "q = {q}: {max_p} for {expected}");
        };
        let due = 500_000_001;
        step(&mut harness, 0, 0, 0.02);
        // Half a second is not more than half a second.
        step(&mut harness, 3, 500_000_000, 0.02);
        step(&mut harness, 3, 1, 0.018);
        // In the target nothing moves, at its ends too; then max_p/4 is less than 0.01.
        step(&mut harness, 9, due, 0.018);
        step(&mut harness, 11, due, 0.018);
        step(&mut harness, 12, 0, 0.0225);
        step(&mut harness, 12, due, 0.028125);
        step(&mut harness, 12, due, 0.03515625);
        step(&mut harness, 12, due, 0.0439453125);
        step(&mut harness, 12, due, 0.0539453125);
        // And down, until it is not above 0.01.
        let mut max_p = 0.0539453125;
        for _ in 0..30 {
            max_p = if max_p > 0.01 { max_p * 0.9 } else { max_p };
            step(&mut harness, 2, due, max_p);
        }
        assert!((0.009..0.01).contains(&max_p));
    }

    /// The new max_p is what RED uses: at avg = 10, half of it.
    #[test]
    fn red_uses_the_present_max_p() {
        let mut harness = Harness::new(Ared::new(AredParams { max_p: 0.02, ..params(1_000_000) }), 1);
        harness.discipline.rule.set_max_p(0.4);
        harness.arrive(1, 1000);
        let mut drops = 0;
        let (w_q, n) = (AredParams { w_q: Some(1.0), max_p: 0.4, ..params(1_000_000) }, 50_000);
        let mut harness = Harness::new(Ared::new(w_q), 1);
        harness.arrive(1, 1000);
        for _ in 0..n {
            while harness.discipline.packets() > 10 {
                harness.depart();
            }
            while harness.discipline.packets() < 10 {
                harness.discipline.fifo.push(TestPacket { bytes: 1000, ..TestPacket::default() });
            }
            let before = harness.dropped.len();
            harness.arrive(1, 1000);
            drops += harness.dropped.len() - before;
        }
        // p_b = 0.2: gaps uniform on 1 … 5, mean 3.
        assert!((drops as f64 / f64::from(n) - 1.0 / 3.0).abs() < 0.01, "{drops}");
    }
}
