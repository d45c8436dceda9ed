//! # PIE
//!
//! Proportional Integral controller Enhanced holds the queueing delay at `target`: every `t_update` it moves the probability
//! `p` by how far the delay stands from the target and how it has changed, in small steps while `p` is small. Arrivals are dropped
//! or marked with `p`; bursts of up to `max_burst` after a quiet time are spared.
//!
//! ```text
//! for each arrival:                                                               (RFC 8033, Secs. 4.1, 4.4, 5.1 and 5.4)
//!     if burst_allowance > 0, or q ≤ 2 packets of max_packet, or (qdelay_old < target/2 and p < 0.2):  queue it
//!     else:  accu_p ← accu_p + p  (0 if p = 0);  if accu_p < 0.85: queue it
//!            with probability p, or for certain if accu_p ≥ 8.5:  accu_p ← 0 and signal
//!            signal:  (action = mark) mark it, if p ≤ mark_th and its transport is capable;  else drop it
//! every t_update:                                                                       (RFC 8033, Secs. 4.2, 4.4 and 5.5)
//!     Δ ← alpha·(qdelay − target) + beta·(qdelay − qdelay_old)
//!     Δ ← Δ/2048 if p < 10⁻⁶, /512 if p < 10⁻⁵, /128 if p < 10⁻⁴, /32 if p < 10⁻³, /8 if p < 0.01, /2 if p < 0.1
//!     if p ≥ 0.1:  Δ ← min(Δ, 0.02);     if qdelay > long_delay:  Δ ← Δ + 0.02                        (long_delay: Linux)
//!     p ← p + Δ, kept within 0 and 1;     if qdelay = qdelay_old = 0:  p ← 0.98·p
//!     burst_allowance ← burst_allowance − t_update;  max_burst again if p = 0 and both delays are below target/2
//!     qdelay_old ← qdelay
//! ```
//!
//! `state` shows `p`, `qdelay_s` and `burst_allowance_s`.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the RFC's text | its rules as secondary sources have them: ns-3's `pie-queue-disc`, which names a section at each rule, FreeBSD's `dn_aqm_pie`, Linux's `sch_pie`, and the authors' first draft (draft-pan-aqm-pie-00) | the text itself could not be had; where these differ from each other a row below says so |
//! | nothing on very long delays: neither ns-3, FreeBSD nor the draft has such a rule | none by default; with `long_delay`, delays above it add 0.02 to each step | Linux has it at 250 ms, DOCSIS-PIE (RFC 8034, as retold) at 200 ms |
//! | qdelay by Little's law from a measured departure rate (Sec. 5.2), or from timestamps (Sec. 4.3) | `delay` = timestamp (default): how long the packet that left last had waited, 0 when it left the queue empty; = length: the queue in bytes over the link's rate | Linux measures by timestamps too unless `dq_rate_estimator` is set. That estimator, of departures over spells of 16 kB, is not here: the rate of a link is known and does not change, and `length` is not another name for it. A queue left empty has delay 0 in ns-3 and Linux; in FreeBSD, where the next update finds it empty |
//! | safeguard: qdelay_old below half the target | of the last update | Linux looks at the delay of the last departure |
//! | safeguard: q ≤ 2·MEAN_PKTSIZE | so, with `max_packet` | Linux: q < 2·MTU |
//! | the decay 0.98 when the delay is twice 0 | so | Linux: 1 − 1/64, and not while packets are queued |
//! | burst_allowance shrinks by t_update at each update, and returns when p = 0 and both delays are below target/2 (Sec. 4.4) | so, at updates; p moves meanwhile | FreeBSD looks for its return at arrivals, Linux lowers it by the time between departures, and ns-3 holds p at 0 meanwhile |
//! | mark if p is at most mark_ecnth = 0.1, else drop (Sec. 5.1) | `mark_th` = 0.1 | Linux too: `MAX_PROB/10` |
//! | derandomisation (Sec. 5.4) is optional | `derandomise` = true; off, every arrival is judged by p alone | Linux always has it |
//! | accu_p is reset when a packet is dropped; nothing on a full buffer | when it is signalled on, and when a full buffer drops it | Linux resets it for every loss, and for marks by chance |
//! | nothing on lengths in the sources above but ns-3's, which scales p by the length | `mode` = byte: p·length/max_packet, up to p | Linux: packets above its MTU have p |
//! | PIE becomes active only above a third of the buffer (Sec. 5.3, optional) | no | Linux neither |
//! | target 15 ms, t_update 15 ms, alpha 0.125, beta 1.25, max_burst 150 ms | so; alpha and beta per second of delay | Linux: `alpha 2` and `beta 20`, in sixteenths |
//! | p is a probability | kept within 0 and 1 | Linux's whole numbers have room up to 256, and a long overload carries p beyond 1 |
//! | nothing on when updates come | at multiples of t_update from the start of the run, so that the first one after a packet that ends a rest comes within t_update, at once if it must | Linux: half a second after the queue is set up, then every t_update |
//! | nothing on arithmetic | floating point | Linux: parts of 2⁵⁶ and ticks of 64 ns. Against a model of its rules p is the same to 10⁻⁶ after every update while signals are marks; at 1.05 to 1.6 times the link's rate losses agree within 3 %, mean queues within 10 % (`tests/pie_linux.rs`) |
//! | nothing on idle links | when all is at rest (no packet, p = 0, both delays 0, full burst allowance) nothing changes and no update is asked for | equal, and an idle link needs no clock |

use crate::periodic_timer::PeriodicTimer;
use crate::prelude::*;
use crate::red::{Action, Mode};

choices! {
    /// What the queueing delay is taken from.
    pub enum Delay {
        /// How long the packet that left last had waited.
        Timestamp = "timestamp",
        /// The bytes in the queue, over the link's rate.
        Length = "length",
    }
}

discipline! {
    Pie: "pie", "PIE",
    source("RFC 8033 (Pan, Natarajan, Baker & White 2017); Linux, net/sched/sch_pie.c"),
    tc("tc qdisc add dev DEV root pie limit LIMIT target TARGET tupdate T_UPDATE alpha ALPHA_16THS beta BETA_16THS"),
    drops(Tail, Early),
    remembers(None),

    /// Parameters of [`Pie`].
    pub struct PieParams {
        /// Queueing delay wanted.
        target: Span = default(Span::from_millis(15)), range(Range::POSITIVE), source("RFC 8033, QDELAY_REF"), tc("target");
        /// Most that the queue holds, not counting the packet in transmission.
        limit: Size = default(Size::Packets(1000)), unit("packets"), range(Range::from(1.0)), source("Linux, sch_pie"),
            tc("limit");
        /// Time from one update of p to the next.
        t_update: Span = default(Span::from_millis(15)), range(Range::POSITIVE), source("RFC 8033, T_UPDATE"), tc("tupdate");
        /// Gain of the delay's distance from the target, per second.
        alpha: f64 = default(0.125), unit("Hz"), range(Range::from(0.0)), source("RFC 8033, Sec. 4.2"), tc("alpha");
        /// Gain of the delay's change, per second.
        beta: f64 = default(1.25), unit("Hz"), range(Range::from(0.0)), source("RFC 8033, Sec. 4.2"), tc("beta");
        /// Burst that is spared after a quiet time.
        max_burst: Span = default(Span::from_millis(150)), range(Range::from(0.0)), source("RFC 8033, Sec. 4.4: MAX_BURST");
        /// Queueing delay above which each update adds 0.02 to p.
        long_delay: Option<Span> = optional("no delay is so long"), range(Range::POSITIVE),
            source("Linux, net/sched/sch_pie.c: 250 ms");
        /// Drop, or mark the packets that can carry a mark and drop the others.
        action: Action = default(Action::Drop), source("RFC 8033, Sec. 5.1"), tc("ecn");
        /// Probability up to which a marker marks; above it drops.
        mark_th: f64 = default(0.1), unit("1"), range(Range::from(0.0).to(1.0)), source("RFC 8033, Sec. 5.1: mark_ecnth");
        /// Space signals out: none before the probabilities of arrivals have added up to 0.85, one for certain at 8.5.
        derandomise: bool = default(true), source("RFC 8033, Sec. 5.4");
        /// Take the delay from timestamps, or from the length of the queue.
        delay: Delay = default(Delay::Timestamp), source("RFC 8033, Secs. 4.3 and 5.2");
        /// Judge packets alike, or by their length.
        mode: Mode = default(Mode::Packet), source("Linux, net/sched/sch_pie.c"), tc("bytemode");
        /// Two packets of this length are never too many; in byte mode, the length for which the probability is p.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("packets"),
            range(Range::from(1.0)), source("RFC 8033, MEAN_PKTSIZE");
        /// The rate of the link, for the delay by length.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE), source("the link");
    }
    rules {
        "max_packet is in bytes" [max_packet] |p| matches!(p.max_packet, Size::Bytes(_));
    }
}

/// Below each probability, the divisor of the change.
const SCALES: [(f64, f64); 6] = [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0)];
/// A signal is not due before the probabilities have added up to the first, and certain from the second on.
const ACCUMULATED: [f64; 2] = [0.85, 8.5];
/// The largest step up of a large p, and what a delay above `long_delay` adds.
const STEP: f64 = 0.02;

/// A first-in-first-out queue under PIE.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    params: PieParams,
    /// Packets, and when each came.
    fifo: Fifo<P, Time>,
    updates: PeriodicTimer,
    p: f64,
    accu_p: f64,
    /// By the last departure.
    qdelay: Span,
    qdelay_old: Span,
    burst_allowance: Span,
}

impl<P: Packet> Pie<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: PieParams) -> Self {
        Pie {
            fifo: Fifo::new(params.limit),
            updates: PeriodicTimer::new(params.t_update),
            p: 0.0,
            accu_p: 0.0,
            qdelay: Span::ZERO,
            qdelay_old: Span::ZERO,
            burst_allowance: params.max_burst,
            params,
        }
    }

    fn current_qdelay(&self) -> Span {
        match self.params.delay {
            Delay::Timestamp => self.qdelay,
            Delay::Length => self.params.bandwidth.time_of(self.fifo.bytes()),
        }
    }

    /// Whether this arrival is to be signalled on.
    fn drop_early(&mut self, bytes: u64, rng: &mut Stream) -> bool {
        let (short, max_packet) = (Span(self.params.target.0 / 2), self.params.max_packet.amount());
        if self.burst_allowance.0 > 0
            || (self.qdelay_old < short && self.p < 0.2)
            || self.fifo.bytes() <= 2 * max_packet
        {
            return false;
        }
        let p = match self.params.mode {
            Mode::Byte if bytes <= max_packet => self.p * bytes as f64 / max_packet as f64,
            _ => self.p,
        };
        if self.params.derandomise {
            self.accu_p = if p == 0.0 { 0.0 } else { self.accu_p + p };
            if self.accu_p < ACCUMULATED[0] {
                return false;
            }
        }
        let certain = self.params.derandomise && self.accu_p >= ACCUMULATED[1];
        let signal = certain || rng.chance(p);
        if signal {
            self.accu_p = 0.0;
        }
        signal
    }

    /// calculate_drop_prob.
    fn update(&mut self) {
        let qdelay = self.current_qdelay();
        let (delay, old) = (qdelay.as_secs(), self.qdelay_old.as_secs());
        let mut change = self.params.alpha * (delay - self.params.target.as_secs()) + self.params.beta * (delay - old);
        if let Some((_, divisor)) = SCALES.iter().find(|(below, _)| self.p < *below) {
            change /= divisor;
        } else {
            change = libm::fmin(change, STEP);
        }
        if self.params.long_delay.is_some_and(|long| qdelay > long) {
            change += STEP;
        }
        self.p = (self.p + change).clamp(0.0, 1.0);
        if qdelay.0 == 0 && self.qdelay_old.0 == 0 {
            self.p *= 0.98;
        }
        self.burst_allowance = self.burst_allowance - self.params.t_update;
        let short = Span(self.params.target.0 / 2);
        if self.p == 0.0 && qdelay < short && self.qdelay_old < short {
            self.burst_allowance = self.params.max_burst;
        }
        self.qdelay_old = qdelay;
    }
}

impl<P: Packet> Discipline<P> for Pie<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        // Updates that passed unasked changed nothing.
        self.updates.skip_missed(ctx.now);
        if !self.fifo.has_room(&packet) {
            self.accu_p = 0.0;
            return ctx.drop(packet, DropReason::Tail);
        }
        if self.drop_early(packet.bytes(), ctx.rng) {
            let marks = self.params.action == Action::Mark && self.p <= self.params.mark_th;
            if !(marks && packet.mark()) {
                return ctx.drop(packet, DropReason::Early);
            }
        }
        self.fifo.push_with(packet, ctx.now);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let (packet, came) = self.fifo.pop_with()?;
        self.qdelay = if self.fifo.packets() == 0 { Span::ZERO } else { ctx.now.since(came) };
        Some(packet)
    }

    /// None while updates would change nothing.
    fn next_wakeup(&self) -> Option<Time> {
        let delays = self.qdelay.0 == 0 && self.qdelay_old.0 == 0;
        let allowance = self.burst_allowance == self.params.max_burst;
        let quiet = self.fifo.packets() == 0 && self.p == 0.0 && delays && allowance;
        (!quiet).then(|| self.updates.due())
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        while self.updates.tick(ctx.now) {
            self.update();
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "p", self.p);
        visit(None, "qdelay_s", self.current_qdelay().as_secs());
        visit(None, "burst_allowance_s", self.burst_allowance.as_secs());
    }
}

impl<P: Packet> Configure<P> for Pie<P> {
    fn configure(&mut self, params: PieParams, ctx: &mut Ctx<'_, P>) {
        self.updates.skip_missed(ctx.now);
        self.updates.set_period(ctx.now, params.t_update);
        self.burst_allowance = self.burst_allowance.min(params.max_burst);
        self.fifo.resize(params.limit, ctx);
        if self.fifo.packets() == 0 {
            self.qdelay = Span::ZERO;
        }
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
