//! # RED with penalty box
//!
//! RED, and in front of it a box for flows that take too much. RED's own drops and marks fall on flows in proportion to
//! what they send, so the history of drops names the flows with high rates without any state for the others. A flow that
//! fails a test is restricted to a small share of the link until it sends less.
//!
//! ```text
//! for each arrival of a flow in the box:             (Floyd & Fall 1997, as their code for ns-2 has it: tcl/rtmechanisms)
//!     if the box's share of the link has room for it:  on to RED;   else: drop
//! for each other arrival:  RED; if RED drops or marks it, it enters the history
//! every `interval`:
//!     for each flow in the box, with x what it sent per second and p_B the part of the box's packets dropped or marked:
//!         if it passes the test that it failed, by x and p_B:  out of the box
//!     n flows have drops in the history; p of the packets were dropped; λ bytes arrived per second
//!     i is the flow with the largest part of the drops;  x ← that part·λ
//!     tcp_friendly:       x > 1.2·1.22·B/(R·√p)                                        → into the box
//!     unresponsive:       p > 2·p' and x > 0.8·x'  for the least p' of i in the last 10 reports, and
//!                         in a later report both are at least 0.98 of this p and x     → into the box
//!     disproportionate:   x > ln(3n)/n·λ  and  x·√p > c                                → into the box
//!     begin a new history
//! ```
//!
//! The report of 1997 is reference 8 of CHOKe 1999. The source here is the authors' own code for its simulations, in ns-2:
//! `mechanisms.tcl`, `rtm_tests.tcl` and `rtm_link.tcl` of `tcl/rtmechanisms`. The texts of the report and of the paper of
//! 1999 that grew from it ("Promoting the use of end-to-end congestion control in the Internet") were not at hand.
//!
#![doc = include_str!("penalty_box.md")]

mod history;
mod restricted;

use crate::prelude::*;
use crate::red::{RedBlock, RedRule, RedSignal, Verdict};
use history::{FLOWBW_FACTOR, History, Report, Responses};
use restricted::{Reason, Restricted};

choices! {
    /// What puts a flow into the box.
    pub enum Test {
        /// It uses much more than the others.
        Disproportionate = "disproportionate",
        /// It sends more than a TCP would at this rate of drops.
        TcpFriendly = "tcp_friendly",
        /// It does not send less when more is dropped.
        Unresponsive = "unresponsive",
        /// One of the three.
        Any = "any",
    }
}

discipline! {
    PenaltyBox: "penalty_box", "RED with penalty box",
    source("Floyd & Fall 1997 (reference 8 of CHOKe 1999), by their code in ns-2, tcl/rtmechanisms"),
    drops(Tail, Early, Forced, Policed),
    remembers(Seen, "those with recent drops"),
    overload(Drops, "at `max_th` and above, unless `above_max_th` = mark; packets of restricted flows always"),

    /// Parameters of [`PenaltyBox`].
    pub struct PenaltyBoxParams {
        ..red: RedBlock;
        ..signal: RedSignal;
        /// What puts a flow into the box.
        test: Test = default(Test::Disproportionate), source("ns-2, tcl/rtmechanisms/rtm_tests.tcl; the default is chosen here");
        /// Time from one report to the next. Each evaluates RED's drops and marks since the previous one; restricted flows are
        /// examined at the same time.
        interval: Span = default(Span::from_secs(5)), range(Range::from(0.5)),
            source("ns-2, tcl/rtmechanisms: Detect_interval_ and Reward_interval_; the least is Mintime_");
        /// Largest number of flows in a history.
        flows: u64 = default(1000), unit("flows"), range(Range::from(1.0).to(1_000_000.0)), source("chosen here"), fixed(true);
        /// The test for disproportionate flows spares a flow if its rate times the square root of the drop rate is at most this.
        c: Rate = default(Rate(96_000)), range(Range::from(0.0)),
            source("ns-2, tcl/rtmechanisms: High_const_, 12,000 bytes/s");
        /// The round-trip time R of the TCP that flows are compared with (tcp_friendly).
        rtt: Span = default(Span::from_millis(50)), range(Range::POSITIVE), source("chosen here");
        /// The packet length B of the TCP that flows are compared with (tcp_friendly).
        packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("B"),
            range(Range::from(1.0)), source("ns-2, tcl/rtmechanisms: Mtu_, the largest packets in use");
        /// The share of the link that all restricted flows together may use.
        share: f64 = default(0.05), unit("1"), range(Range::from(0.0).to(1.0)), source("chosen here");
        /// How much restricted flows may send at once.
        depth: Size = derived("ten of the link's typical packets", |link| Size::Bytes(link.packet.max(1) * 10)),
            unit("B"), range(Range::from(1.0)), source("chosen here");
        /// The rate of the link, to which share refers.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE), source("the link");
    }
    rules {
        "min_th and max_th count packets" [min_th, max_th] |p| p.red.counts_packets();
        "min_th < max_th" [min_th, max_th] |p| p.red.is_a_band();
        "packet and depth are in bytes" [packet, depth]
            |p| matches!((p.packet, p.depth), (Size::Bytes(_), Size::Bytes(_)));
    }
}

impl PenaltyBoxParams {
    /// The share of the link for restricted flows, full at this time.
    fn bucket(&self, filled: Time) -> Bucket {
        let depth = self.depth.amount() as f64;
        Bucket { rate: self.share * self.bandwidth.0 as f64 / 8e9, depth, tokens: depth, filled }
    }
}

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

/// A TCP's rate is this times B/(R·√p): ns-2, `tcp_ref_bw`; 1.5·√(2/3) rounded.
const TCP_CONSTANT: f64 = 1.22;
/// A flow is not TCP-friendly above this times a TCP's rate: ns-2, `Safety_factor_`.
const SAFETY_FACTOR: f64 = 1.2;

/// A first-in-first-out queue under RED, with a penalty box before it.
#[derive(Clone, Debug)]
pub struct PenaltyBox<P> {
    rule: RedRule,
    fifo: Fifo<P>,
    history: History,
    restricted: Restricted,
    responses: Responses,
    bucket: Bucket,
    params: PenaltyBoxParams,
    /// When the next report is due.
    due: Time,
}

impl<P: Packet> PenaltyBox<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: PenaltyBoxParams) -> Self {
        PenaltyBox {
            rule: RedRule::new(&params.red, &params.signal),
            fifo: Fifo::new(params.red.limit),
            history: History::new(params.flows),
            restricted: Restricted::default(),
            responses: Responses::new(),
            bucket: params.bucket(Time::ZERO),
            due: Time::ZERO + params.interval,
            params,
        }
    }

    /// Whether a report would say nothing and change nothing.
    fn quiet(&self) -> bool {
        self.history.is_empty() && self.restricted.is_empty()
    }

    /// Passes over the reports that were not asked for while nothing arrived: there may be very many of them.
    #[cold]
    fn resume(&mut self, now: Time) {
        let missed = now.since(self.due).0 / self.params.interval.0.max(1);
        let since = self.due + Span(missed * self.params.interval.0);
        self.history.begin(since);
        self.restricted.begin(since);
        self.due = since + self.params.interval;
    }

    fn uses(&self, test: Test) -> bool {
        self.params.test == test || self.params.test == Test::Any
    }

    /// Whether a flow sends more than a TCP would with so many of its packets dropped.
    fn unfriendly(&self, x: f64, p: f64) -> bool {
        let b_r = self.params.packet.amount() as f64 / self.params.rtt.as_secs();
        p > 0.0 && x > SAFETY_FACTOR * TCP_CONSTANT * b_r / libm::sqrt(p)
    }

    /// Whether a flow uses a disproportionate part of λ, among n flows.
    fn high(&self, x: f64, p: f64, n: f64, lambda: f64) -> bool {
        x > libm::log(3.0 * n) / n * lambda && x * libm::sqrt(p) > self.params.c.0 as f64 / 8.0
    }

    /// The test that the top flow of a report fails, if any.
    fn detect(&mut self, report: &Report) -> Option<Reason> {
        let (flow, x) = report.top?;
        if self.uses(Test::TcpFriendly) && self.unfriendly(x, report.p) {
            return Some(Reason::Unfriendly);
        }
        if self.uses(Test::Unresponsive) && self.responses.unresponsive(flow, report.p, x) {
            return Some(Reason::Unresponsive(x));
        }
        let high = self.uses(Test::Disproportionate) && self.high(x, report.p, report.n, report.lambda);
        high.then_some(Reason::High)
    }

    /// Whether a restricted flow stays so.
    fn stays(&self, report: &Report, reason: Reason, x: f64, p_b: f64) -> bool {
        match reason {
            Reason::Unfriendly => self.unfriendly(x, p_b),
            Reason::Unresponsive(before) => x > FLOWBW_FACTOR * before,
            Reason::High => {
                let high = report.lambda > 0.0 && self.high(x, p_b, report.n.max(1.0), report.lambda);
                high || (self.params.test == Test::Any && self.unfriendly(x, p_b))
            }
        }
    }
}

impl<P: Packet> Discipline<P> for PenaltyBox<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        let (flow, bytes) = (packet.flow(), packet.bytes());
        if ctx.now >= self.due && self.quiet() {
            self.resume(ctx.now);
        }
        let restricted = self.restricted.arrival(flow, bytes);
        if restricted && !self.bucket.admits(bytes, ctx.now) {
            self.restricted.signal();
            return ctx.drop(packet, DropReason::Policed);
        }
        self.rule.update_avg(self.fifo.packets(), self.fifo.bytes(), ctx.now);
        let verdict = self.rule.judge(bytes, ctx.rng);
        let reason = self.rule.carry_out(verdict, &mut packet);
        let reason = reason.or_else(|| (!self.fifo.has_room(&packet)).then_some(DropReason::Tail));
        match reason {
            Some(reason) => ctx.drop(packet, reason),
            None => self.fifo.push(packet),
        }
        let signal = verdict != Verdict::Pass || reason.is_some();
        if !restricted {
            self.history.arrival(bytes);
        }
        match (signal, restricted) {
            (true, true) => self.restricted.signal(),
            (true, false) => self.history.signal(flow, bytes, ctx.rng),
            (false, _) => {}
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
        (!self.quiet()).then_some(self.due)
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        let Some(report) = self.history.report(ctx.now).filter(|_| ctx.now >= self.due) else { return };
        let mut restricted = core::mem::take(&mut self.restricted);
        restricted.look(ctx.now, |reason, x, p_b| self.stays(&report, reason, x, p_b));
        if let (Some(reason), Some((flow, _))) = (self.detect(&report), report.top) {
            restricted.restrict(flow, reason);
            self.responses.forget(flow);
        }
        self.restricted = restricted;
        self.history.begin(ctx.now);
        self.due = ctx.now + self.params.interval;
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn average(&self) -> Option<f64> {
        Some(self.rule.avg())
    }
}

impl<P: Packet> Configure<P> for PenaltyBox<P> {
    fn configure(&mut self, params: PenaltyBoxParams, ctx: &mut Ctx<'_, P>) {
        // What the bucket has gained so far came at the old rate.
        self.bucket.admits(0, ctx.now);
        let bucket = params.bucket(ctx.now);
        self.bucket = Bucket { tokens: self.bucket.tokens.min(bucket.depth), ..bucket };
        self.rule = RedRule::new(&params.red, &params.signal).continuing(&self.rule);
        self.fifo.resize(params.red.limit, ctx);
        if params.interval != self.params.interval {
            self.due = ctx.now + params.interval;
        }
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
