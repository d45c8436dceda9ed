//! # PIE
//!
//! Proportional Integral controller Enhanced holds the queueing delay at `target`: every `t_update` it moves the probability
//! `p` by how far the delay stands from the target and how it has changed, in small steps while `p` is small. Arrivals are dropped
//! or marked with `p`; bursts of up to `max_burst` after a quiet time are spared.
//!
//! ```text
//! for each arrival:                                                               (RFC 8033, Secs. 4.1, 4.4, 5.1 and 5.4)
//!     if p = 0, and qdelay and qdelay_old are below target/2:  burst_allowance ← max_burst
//!     if burst_allowance > 0, or q ≤ 2 packets of max_packet, or (qdelay_old < target/2 and p < 0.2):  queue it
//!     else:  accu_p ← accu_p + p  (0 if p = 0);  if accu_p < 0.85: queue it
//!            with probability p, or for certain if accu_p ≥ 8.5:  accu_p ← 0 and signal
//!            signal:  (action = mark) mark it, if p < mark_th and its transport is capable;  else drop it
//! every t_update:                                                                       (RFC 8033, Secs. 4.2, 4.4 and 5.5)
//!     Δ ← alpha·(qdelay − target) + beta·(qdelay − qdelay_old)
//!     Δ ← Δ/2048 if p < 10⁻⁶, /512 if p < 10⁻⁵, /128 if p < 10⁻⁴, /32 if p < 10⁻³, /8 if p < 0.01, /2 if p < 0.1
//!     if p ≥ 0.1:  Δ ← min(Δ, 0.02);     if qdelay > long_delay:  Δ ← Δ + 0.02                        (long_delay: Linux)
//!     p ← p + Δ, kept within 0 and 1;     if qdelay = qdelay_old = 0:  p ← 0.98·p
//!     burst_allowance ← max(0, burst_allowance − t_update);     qdelay_old ← qdelay
//! ```
//!
//! `state` shows `p`, `qdelay_s` and `burst_allowance_s`.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | nothing on very long delays | none by default; with `long_delay`, delays above it add 0.02 to each step | Linux has it at 250 ms, `docsis_pie` (RFC 8034) at 200 ms |
//! | qdelay by Little's law from a measured departure rate (Sec. 5.2), or from timestamps (Sec. 4.3) | `delay` = timestamp (default): how long the packet that left last had waited; = length: the queue in bytes over the link's rate | Linux measures by timestamps too unless `dq_rate_estimator` is set. That estimator, of departures over spells of 16 kB, is not here: the rate of a link is known, and `length` is not another name for it |
//! | by timestamps the delay is that of the packet that left last, also if it left the queue empty (App. A) | it is 0 then | by the letter p would go on moving while the link is idle, up to 1 if the last packet had waited for longer than the target; Little's law gives 0. Linux and ns-3 have 0, FreeBSD from the next update on |
//! | safeguard: qdelay_old below half the target | of the last update | Linux looks at the delay of the last departure |
//! | safeguard: q ≤ 2·MEAN_PKTSIZE | so, with `max_packet` | Linux: q < 2·MTU |
//! | p decays by 0.98 while both delays are 0 (Sec. 4.2, App. A), or below target/2 (App. B) | while both are 0 | the RFC contradicts itself: Sec. 4.2 is its rule, and RFC 8034, Sec. 4.5, describes it as that of an empty buffer (`docsis_pie` decays below 5 ms). At a steady 5 ms p falls from 0.09 to 10⁻⁴ in 3.1 s, by App. B in 1.6 s. Linux: 1 − 1/64, both 0 and no packet queued |
//! | burst_allowance shrinks by t_update at each update, and returns with a packet that arrives while p = 0 and both delays are below target/2 (Sec. 4.4, App. A) | so; p moves meanwhile | Linux lowers it by the time between departures and returns it at updates, and ns-3 holds p at 0 meanwhile |
//! | App. B calls drop_early before it looks at burst_allowance, so that accu_p grows through a burst; App. A looks first | burst_allowance first | Sec. 4.4: what arrives during a burst bypasses the random drop. By App. B the first drop after a burst may come sooner. Linux looks first too |
//! | mark if p < mark_ecnth = 0.1, else drop (the pseudocode of Sec. 5.1 and App. B; the words of Sec. 5.1: drop if p exceeds it) | `mark_th` = 0.1, marks below it | the pseudocode. With `mark_th` = 1 all is marked while p < 1. Linux: p ≤ `MAX_PROB/10` |
//! | derandomisation (Sec. 5.4) is optional | `derandomise` = true; off, every arrival is judged by p alone | Linux always has it |
//! | accu_p is reset after a drop (Sec. 5.4), for want of room too, and after a mark (App. B) | so | Linux resets it for every loss, and for marks by chance |
//! | p may be scaled by the length of the packet, with a bound against bias (App. B) | `mode` = byte: p·length/max_packet, up to p | so in Linux: packets above its MTU have p |
//! | PIE becomes active only above a third of the buffer (Sec. 5.3, optional) | no | Linux neither |
//! | target 15 ms, t_update 15 ms, alpha 0.125, beta 1.25, max_burst 150 ms | so; alpha and beta per second of delay | Linux: `alpha 2` and `beta 20`, in sixteenths |
//! | alpha and beta change with t_update and target, and data centres have a target of 15 µs (Secs. 4.2 and 8) | they are constants | who sets `target` or `t_update` sets them too |
//! | p is a probability | kept within 0 and 1 | Linux's whole numbers have room up to 256, and a long overload carries p beyond 1; `state` shows 1 then |
//! | updates every T_UPDATE, in App. B from when PIE becomes active | at multiples of t_update from the start of the run, so that the first one after a packet that ends a rest comes within t_update, at once if it must | PIE is always active. Linux: half a second after the queue is set up, then every t_update |
//! | nothing on arithmetic | floating point; `law` = linux: the kernel's rules, where rows above tell them apart, in its whole numbers (parts of 2⁵⁶, ticks of 64 ns, gains in sixteenths) | with `law` = linux and Linux's values (`long_delay` = 250 ms) it agrees packet for packet with a model of the kernel's rules. By the RFC's law p is the same to 10⁻⁶ after every update while signals are marks; at 1.05 to 1.6 times the link's rate losses agree within 3 %, mean queues within 10 % (`tests/pie_linux.rs`) |
//! | nothing on idle links | when all is at rest (no packet, p = 0, both delays 0) no update is asked for | it would change nothing but the allowance, which the next arrival returns; an idle link needs no clock |

mod linux;
mod rfc8033;
mod rule;
mod state;

use crate::periodic_timer::PeriodicTimer;
use crate::prelude::*;
pub(crate) use rfc8033::{ACCUMULATED, SCALES, STEP};
pub use rule::{PieBlock, PieVersion};
pub(crate) use state::PieState;

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
    overload(Drops, "from `mark_th` on"),

    /// Parameters of [`Pie`].
    pub struct PieParams {
        ..pie: PieBlock;
        /// Most that the queue holds, not counting the packet in transmission.
        limit: Size = default(Size::Packets(1000)), unit("packets"), range(Range::from(1.0)), source("Linux, sch_pie"),
            tc("limit");
        /// Take the delay from timestamps, or from the length of the queue.
        delay: Delay = default(Delay::Timestamp), source("RFC 8033, Secs. 4.3 and 5.2");
        /// The rate of the link, for the delay by length.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE), source("the link");
    }
    rules {
        "law = linux belongs to delay = timestamp" [law, delay]
            |p| p.pie.law == PieVersion::Rfc8033 || p.delay == Delay::Timestamp;
    }
}

/// A first-in-first-out queue under PIE.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    params: PieParams,
    /// Packets, and when each came.
    fifo: Fifo<P, Time>,
    updates: PeriodicTimer,
    state: PieState,
}

impl<P: Packet> Pie<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: PieParams) -> Self {
        Pie {
            fifo: Fifo::new(params.limit),
            updates: PeriodicTimer::new(params.pie.t_update),
            state: PieState::new(&params.pie),
            params,
        }
    }

    /// The present queueing delay, unless it is that of the last departure.
    fn qdelay_by_length(&self) -> Option<Span> {
        (self.params.delay == Delay::Length).then(|| self.params.bandwidth.time_of(self.fifo.bytes()))
    }

    /// Tells the law of it.
    fn measure(&mut self) {
        if let Some(qdelay) = self.qdelay_by_length() {
            self.state.controller_mut().measured(qdelay);
        }
    }
}

impl<P: Packet> Discipline<P> for Pie<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        // Updates that passed unasked changed nothing.
        self.updates.skip_missed(ctx.now);
        if !self.fifo.has_room(&packet) {
            self.state.controller_mut().dropped();
            return ctx.drop(packet, DropReason::Tail);
        }
        self.measure();
        if !self.state.admits(&mut packet, self.fifo.bytes(), &self.params.pie, ctx.rng) {
            return ctx.drop(packet, DropReason::Early);
        }
        self.fifo.push_with(packet, ctx.now);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        let (packet, came) = self.fifo.pop_with()?;
        if self.params.delay == Delay::Timestamp {
            self.state.controller_mut().departed(came, ctx.now, self.fifo.packets() == 0);
        }
        Some(packet)
    }

    /// None while updates would change nothing.
    fn next_wakeup(&self) -> Option<Time> {
        let quiet = self.fifo.packets() == 0 && self.state.controller().at_rest(&self.params.pie);
        (!quiet).then(|| self.updates.due())
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        while self.updates.tick(ctx.now) {
            self.measure();
            self.state.controller_mut().update(&self.params.pie, self.fifo.packets() == 0);
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        let (p, qdelay, burst_allowance) = self.state.controller().shown();
        visit(None, "p", p);
        visit(None, "qdelay_s", self.qdelay_by_length().unwrap_or(qdelay).as_secs());
        visit(None, "burst_allowance_s", burst_allowance.as_secs());
    }
}

impl<P: Packet> Configure<P> for Pie<P> {
    fn configure(&mut self, params: PieParams, ctx: &mut Ctx<'_, P>) {
        self.updates.skip_missed(ctx.now);
        self.updates.set_period(ctx.now, params.pie.t_update);
        self.fifo.resize(params.limit, ctx);
        self.state.controller_mut().adapt(&params.pie, self.fifo.packets() == 0);
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
