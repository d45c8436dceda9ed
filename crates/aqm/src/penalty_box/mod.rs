//! # RED with penalty box
//!
//! RED, and in front of it a box for flows that take too much. RED's own drops and marks fall on flows in proportion to
//! what they send, so the history of drops names the flows with high rates without any state for the others. A flow that
//! fails the test is restricted to a small share of the link until it sends less.
//!
//! ```text
//! for each arrival of a flow in the box:                        (Floyd & Fall 1997, 1999; what is chosen here: below)
//!     if the box's share of the link has room for it:  on to RED;   else: drop
//! for each other arrival:  RED; if RED drops or marks it, it enters the history
//! when the history has `drops` entries, of n flows; p of the packets were dropped, and λ is what arrived per second:
//!     for each flow i:  x_i ← (its part of the entries)·λ
//!         disproportionate:   x_i > ln(3n)/n·λ  and  x_i > c/√p               → into the box
//!         tcp_friendly:       x_i > 1.45·B/(R·√p)                             → into the box
//!     begin a new history
//! every `interval` for each flow in the box:
//!     if it sent less per second than what it was put in for (tcp_friendly: 1.22·B/(R·√p)):  out of the box
//! ```
//!
//! The report of 1997 is reference 8 of CHOKe 1999. Its text, and that of the paper of 1999 that grew from it ("Promoting
//! the use of end-to-end congestion control in the Internet"), were not at hand: the tests and their constants are given
//! as remembered, and whatever else the rule needs is chosen here.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | three tests: not TCP-friendly, unresponsive, disproportionate bandwidth | `test`: the third (default), the first, or either | the second compares a flow's rate under two levels of drops, and so needs a history for each flow over several reports |
//! | disproportionate: more than ln(3n)/n of the bandwidth, and more than c/√p with c = 12,000 bytes/s | both must hold; n counts the flows of the history | as remembered |
//! | nothing on several equal flows that starve all others | they escape the disproportionate test: five such flows have a fifth each, and ln(15)/5 is 0.54; `tcp_friendly` and `either` catch them | the test's own limit; they are not the default because they need the path's round-trip time in `rtt`: one that is too long restricts TCP flows with shorter ones |
//! | not TCP-friendly: more than 1.45·B/(R·√p), free again below 1.22·B/(R·√p) | so, with p of the report that put the flow in | as remembered; the paper takes the drop rate of the time. Once a flow is restricted the drops cease, and no bound would be left |
//! | a flow's arrival rate is estimated from its part of the drops | its part of all drops and marks by RED (causes `early`, `forced`, `tail`), times the arrivals in bytes | in packet mode drops count packets; for flows of unlike packet lengths the estimate is off by that ratio |
//! | reports at intervals | a report is due after `drops` entries, 100 | chosen here: the standard error of a part of one half is then 0.05 |
//! | nothing on when a disproportionate flow is free | when its own arrivals, counted while it is restricted, fall below what it was put in for, over an `interval` of 5 s | chosen here: while the flow is restricted the congestion, and with it c/√p, says nothing of its rate |
//! | restricted flows get a limited share, by class-based queueing | a token bucket before RED: `share` of the link for all restricted flows together, 5 %, and `depth`; what exceeds it is lost with cause `policed` | chosen here: one queue, as in the other disciplines here; share = 0 drops all. Restricted packets that pass do not enter the history |
//! | R is the round-trip time, at least twice the propagation delay of the link | `rtt`: 50 ms | chosen here: a queue does not know the delay of its link |

mod history;

use crate::discipline::{Cause, Ctx, Discipline, FlowKey, Packet};
use crate::fifo::Fifo;
use crate::red::{Action, Law, Mode, RedParams, RedRule, Verdict};
use history::{History, Restricted, Traffic};
use sluicegate_base::{About, Declared, Range, Rate, Size, Span, Time, choices, params};

choices! {
    /// What puts a flow into the box.
    pub enum Test {
        /// It uses much more than the others.
        Disproportionate = "disproportionate",
        /// It sends more than a TCP would at this rate of drops.
        TcpFriendly = "tcp_friendly",
        /// One of both.
        Either = "either",
    }
}

params! {
    /// Parameters of [`PenaltyBox`].
    pub struct PenaltyBoxParams {
        /// Queue weight: the weight of the present queue in the average.
        w_q: f64 = default(0.002), unit("1"), range(Range::above(0.0).to(1.0)),
            source("RED 1993, Sec. VI and Fig. 3");
        /// Average below which no packet is dropped or marked early.
        min_th: Size = default(Size::Packets(5)), unit("packets"), range(Range::POSITIVE), source("RED 1993, Fig. 3");
        /// Average from which every arrival is dropped or marked.
        max_th: Size = default(Size::Packets(15)), unit("packets"), range(Range::POSITIVE),
            source("RED 1993, Fig. 3: 3 times min_th");
        /// The probability p_b as the average reaches max_th.
        max_p: f64 = default(0.02), unit("1"), range(Range::above(0.0).to(1.0)), source("RED 1993, Fig. 3: 1/50");
        /// Most that the queue holds, not counting the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0)),
            source("chosen here: far above max_th, so that RED decides");
        /// Typical time to send a small packet, the unit of the idle decay.
        s: Span = derived("500 bytes at the link rate", |link| Span(link.rate.time_of(500).0.max(1))),
            range(Range::POSITIVE), source("RED 1993, Fig. 17; the length is ns-2's mean_pktsize");
        /// How RED signals: drop, or mark the packets that can carry a mark and drop the others.
        action: Action = default(Action::Drop), source("RED 1993, Sec. IV; RFC 3168, Sec. 5");
        /// What a marker does with a packet that can carry a mark while the average is at max_th or above.
        above_max_th: Action = default(Action::Drop), source("RFC 3168, Sec. 7: drop; RED 1993, Fig. 1: mark");
        /// What puts a flow into the box.
        test: Test = default(Test::Disproportionate), source("Floyd & Fall 1999, as remembered");
        /// Drops and marks in a history; the flows are tested when it is full.
        drops: u64 = default(100), unit("packets"), range(Range::from(1.0).to(100_000.0)), source("chosen here");
        /// The rate that no flow is restricted below, times the square root of the drop rate (disproportionate).
        c: Rate = default(Rate(96_000)), range(Range::from(0.0)),
            source("Floyd & Fall 1999, as remembered: 12,000 bytes/s");
        /// The round-trip time R of the TCP that flows are compared with (tcp_friendly).
        rtt: Span = default(Span::from_millis(50)), range(Range::POSITIVE), source("chosen here");
        /// The packet length B of the TCP that flows are compared with (tcp_friendly).
        packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("packets"),
            range(Range::from(1.0)), source("Floyd & Fall 1999, as remembered: the largest packets in use");
        /// The part of the link that all restricted flows together may use.
        share: f64 = default(0.05), unit("1"), range(Range::from(0.0).to(1.0)), source("chosen here");
        /// How much restricted flows may send at once.
        depth: Size = derived("ten of the link's typical packets", |link| Size::Bytes(link.packet.max(1) * 10)),
            unit("packets"), range(Range::from(1.0)), source("chosen here");
        /// The rate of the link, of which share is a part.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE), source("the link");
        /// Time over which a restricted flow must send less to be free again.
        interval: Span = default(Span::from_secs(5)), range(Range::POSITIVE), source("chosen here");
    }
    rules {
        "min_th and max_th count packets" [min_th, max_th]
            |p| matches!((p.min_th, p.max_th), (Size::Packets(_), Size::Packets(_)));
        "min_th < max_th" [min_th, max_th] |p| amount(p.min_th) < amount(p.max_th);
        "packet and depth are in bytes" [packet, depth]
            |p| matches!((p.packet, p.depth), (Size::Bytes(_), Size::Bytes(_)));
    }
}

fn amount(size: Size) -> u64 {
    match size {
        Size::Packets(n) | Size::Bytes(n) => n,
    }
}

/// The causes for which it gives up packets.
pub const CAUSES: &[Cause] = &[Cause::Tail, Cause::Early, Cause::Forced, Cause::Policed];

/// The share of the link for restricted flows.
#[derive(Clone, Debug)]
struct Bucket {
    /// Bytes per nanosecond.
    rate: f64,
    depth: f64,
    tokens: f64,
    filled: Time,
}

impl Bucket {
    /// Whether it has room for so many bytes now; takes them if so.
    fn admits(&mut self, bytes: u64, now: Time) -> bool {
        let gained = self.rate * now.since(self.filled).0 as f64;
        (self.tokens, self.filled) = ((self.tokens + gained).min(self.depth), now);
        let admitted = self.rate > 0.0 && self.tokens >= bytes as f64;
        if admitted {
            self.tokens -= bytes as f64;
        }
        admitted
    }
}

/// What a flow's arrival rate must not exceed, and what it must fall below to be free again.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    into: f64,
    out: f64,
}

/// A first-in-first-out queue under RED, with a penalty box before it.
#[derive(Clone, Debug)]
pub struct PenaltyBox<P> {
    rule: RedRule,
    fifo: Fifo<P>,
    history: History,
    restricted: Restricted,
    bucket: Bucket,
    test: Test,
    drops: u64,
    /// In bytes per second.
    c: f64,
    /// B/R, in bytes per second.
    b_r: f64,
    interval: Span,
}

impl<P> Declared for PenaltyBox<P> {
    type Params = PenaltyBoxParams;
    const ABOUT: About = About {
        name: "penalty_box",
        class: "PenaltyBox",
        title: "RED with penalty box",
        source: "Floyd & Fall 1997 (reference 8 of CHOKe 1999) and 1999",
        tc: "",
        module: include_str!("mod.rs"),
    };
}

impl<P: Packet> PenaltyBox<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: PenaltyBoxParams) -> Self {
        let PenaltyBoxParams { w_q, min_th, max_th, max_p, limit, s, action, above_max_th, .. } = params;
        let red = RedParams {
            w_q,
            min_th,
            max_th,
            max_p,
            limit,
            s,
            wait: false,
            gentle: false,
            method: 2,
            law: Law::Section7,
            mode: Mode::Packet,
            max_packet: Size::Bytes(1),
            action,
            above_max_th,
        };
        let depth = amount(params.depth) as f64;
        PenaltyBox {
            rule: RedRule::new(&red),
            fifo: Fifo::new(limit),
            history: History::new(params.drops),
            restricted: Restricted::new(),
            bucket: Bucket {
                rate: params.share * params.bandwidth.0 as f64 / 8e9,
                depth,
                tokens: depth,
                filled: Time::ZERO,
            },
            test: params.test,
            drops: params.drops,
            c: params.c.0 as f64 / 8.0,
            b_r: amount(params.packet) as f64 / params.rtt.as_secs(),
            interval: params.interval,
        }
    }

    /// RED has dropped or marked a packet of an unrestricted flow.
    fn signal(&mut self, flow: FlowKey, now: Time) {
        self.history.signal(flow);
        if self.history.signals() < self.drops {
            return;
        }
        if let Some(traffic) = self.history.traffic(now) {
            let bounds = self.bounds(traffic);
            for (flow, share) in self.history.shares() {
                let x = share * traffic.rate;
                let exceeded = bounds.iter().flatten().filter(|bound| x > bound.into);
                if let Some(out) = exceeded.map(|bound| bound.out).reduce(f64::min) {
                    self.restricted.restrict(flow, out, now);
                }
            }
        }
        self.history.begin(now);
    }

    /// The bounds of the tests in use.
    fn bounds(&self, Traffic { n, p, rate }: Traffic) -> [Option<Bounds>; 2] {
        let root = libm::sqrt(p);
        let disproportionate = (libm::log(3.0 * n) / n * rate).max(self.c / root);
        let tcp = self.b_r / root;
        [
            (self.test != Test::TcpFriendly).then_some(Bounds { into: disproportionate, out: disproportionate }),
            (self.test != Test::Disproportionate).then_some(Bounds { into: 1.45 * tcp, out: 1.22 * tcp }),
        ]
    }
}

impl<P: Packet> Discipline<P> for PenaltyBox<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        let (flow, bytes) = (packet.flow(), packet.bytes());
        let restricted = self.restricted.arrival(flow, bytes);
        if restricted && !self.bucket.admits(bytes, ctx.now) {
            return ctx.lost(packet, Cause::Policed);
        }
        self.rule.arrival(self.fifo.packets(), self.fifo.bytes(), ctx.now);
        let verdict = self.rule.judge(bytes, ctx.rng);
        let cause = self.rule.carry_out(verdict, &mut packet);
        let cause = cause.or_else(|| (!self.fifo.has_room(&packet)).then_some(Cause::Tail));
        match cause {
            Some(cause) => ctx.lost(packet, cause),
            None => self.fifo.push(packet),
        }
        if !restricted {
            self.history.arrival(bytes);
            if verdict != Verdict::Pass || cause.is_some() {
                self.signal(flow, ctx.now);
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

    fn next_wakeup(&self) -> Option<Time> {
        self.restricted.next_look(self.interval)
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        self.restricted.look(self.interval, ctx.now);
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
mod tests;
