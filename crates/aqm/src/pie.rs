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
#![doc = include_str!("pie.md")]

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
    tc("tc qdisc add dev DEV root pie limit LIMIT target TARGET tupdate T_UPDATE alpha ALPHA_16THS beta BETA_16THS \
        [ecn|noecn] [bytemode|nobytemode]"),
    drops(Tail, Early),
    remembers(None),
    overload(Drops, "from `mark_th` on"),

    /// Parameters of [`Pie`].
    pub struct PieParams {
        ..pie: PieBlock;
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(1000)), unit("packets"), range(Range::from(1.0)), source("Linux, sch_pie"),
            tc("limit");
        /// Take the delay from timestamps, or from the length of the queue.
        delay: Delay = default(Delay::Timestamp), source("RFC 8033, Secs. 4.3 and 5.2");
        /// The rate of the link, for the delay by length.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE), source("the link");
    }
    rules {
        "law = linux needs delay = timestamp" [law, delay]
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
