//! # AFD
//!
//! Approximate Fairness through Differential dropping estimates each flow's rate from a shadow buffer: a sample of the packets
//! that arrived lately. A flow with more than the fair number `m_fair` of them has its packets dropped in proportion to the
//! excess, and `m_fair` moves so that the queue stays near `q_ref`.
//!
//! ```text
//! for each arrival of flow i, of which the shadow buffer holds m_i packets:     (Pan, Breslau, Prabhakar & Shenker 2003)
//!     with probability p = max(0, 1 − m_fair/m_i):
//!         (action = mark) mark it, if p ≤ mark_th and its transport is capable;  else drop it
//!     with probability 1/s:  i takes a random place of the shadow buffer
//! w times in a second:  m_fair ← m_fair + α·(q_old − q_ref) − β·(q − q_ref), kept within 0 and b;   q_old ← q
//!                       (unless given:  β = gain·b/(N·n) for the b packets of N flows in the buffer and n arrivals in 1/w,  α = β·(1 − gain/4))
//! ```
//!
//! Memory is bounded: 8 bytes for each of the b places and some 50 for each flow among them, which is found by a hash with a
//! secret key. `state` shows `m_fair` and `flows`, how many different flows the shadow buffer holds.
//!
#![doc = include_str!("afd.md")]

use crate::fair_share::Gains;
use crate::flow_table::FlowTable;
use crate::marking::Marking;
use crate::periodic_timer::PeriodicTimer;
use crate::prelude::*;
use crate::red::Action;
use alloc::vec::Vec;
use sluicegate_base::Link;

discipline! {
    Afd: "afd", "AFD",
    source("Pan, Breslau, Prabhakar & Shenker 2003, after DCN 2004"),
    drops(Tail, Early),
    // Each flow is judged by its own share.
    proportional(),
    remembers(Table, "the flows in a buffer of 500 packets or more"),
    overload(Drops, "packets of flows above `mark_th`"),

    /// Parameters of [`Afd`].
    pub struct AfdParams {
        ..marking: Marking [
            action: Action::Drop, "DCN 2004, Sec. 5";
            mark_th: 0.5, "a flow at twice its share; the value is that of SFB, Linux, net/sched/sch_sfb.c", tc("")
        ];
        /// Target length of the queue.
        q_ref: Size = derived("240 packets, or what the link sends in 28.8 ms if that is more",
            |link| link.at_least(240, Span(28_800_000))), unit("packets"), range(Range::from(0.0)),
            source("DCN 2004, Sec. 5: 240 packets on 100 Mbit/s");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = derived("1000 packets, or what the link sends in 120 ms if that is more",
            |link| link.at_least(1000, Span::from_millis(120))), unit("packets"), range(Range::from(1.0)),
            source("chosen here: large enough for no tail drops, as DCN 2004, Sec. 5, asks");
        /// Packets in the shadow buffer.
        b: u64 = derived("a fifth of the typical packets that the link sends in 2 s, from 500 to 65536", |link| AfdParams::samples(link)), unit("packets"),
            range(Range::from(1.0).to(65_536.0)), source("derived here; AFD 2003, from memory: 500"), fixed(true);
        /// On average, one of this many arrivals enters the shadow buffer.
        s: f64 = default(5.0), unit("packets"), range(Range::from(1.0)), source("AFD 2003, from memory");
        /// Gain of the queue one interval ago.
        alpha: Option<f64> = optional("beta·(1 − gain/4)"), unit("1"), range(Range::POSITIVE),
            source("derived here; AFD 2003 has 1.7");
        /// Gain of the queue now.
        beta: Option<f64> = optional("gain·b/(N·n), b packets of N flows in the shadow buffer, n arrivals in 1/w"), unit("1"),
            range(Range::POSITIVE), source("derived here; AFD 2003 has 1.8");
        /// Fraction of a sudden queue error that is gone one sample later, if alpha or beta is not given.
        gain: f64 = default(2.0 / 9.0), unit("1"), range(Range::above(0.0).to(1.0)),
            source("derived here: alpha/beta is then AFD's 1.7/1.8 (2003)");
        /// Samples of the queue per second.
        w: f64 = default(160.0), unit("Hz"), range(Range::above(0.0).to(1e9)), source("AFD 2003");
    }
    rules {
        "q_ref counts packets" [q_ref] |p| matches!(p.q_ref, Size::Packets(_));
        "alpha needs beta" [alpha, beta] |p| p.alpha.is_none() || p.beta.is_some();
        "alpha < beta" [alpha, beta] |p| p.alpha.zip(p.beta).is_none_or(|(alpha, beta)| alpha < beta);
    }
}

impl AfdParams {
    /// How many packets the shadow buffer holds on this link, unless `b` is given.
    #[must_use]
    pub fn samples(link: &Link) -> u64 {
        (link.packets_in(Span::from_secs(2)) / 5).clamp(500, 65_536)
    }

    /// The gains with so many packets of so many flows in the shadow buffer, and arrivals between samples.
    fn gains(&self, packets: usize, flows: usize, arrivals: f64) -> Gains {
        let derived = Gains::of(self.gain, flows.max(1) as f64 * arrivals.max(1.0) / packets.max(1) as f64);
        let b = self.beta.unwrap_or(derived.b);
        Gains { a: self.alpha.unwrap_or(b * Gains::ratio(self.gain)), b }
    }

    /// Time between samples.
    fn period(&self) -> Span {
        Span::from_secs_f64(1.0 / self.w)
    }
}

/// The sample of recent arrivals.
#[derive(Clone, Debug)]
struct Shadow {
    flows: Vec<FlowKey>,
    /// How many packets of each flow it holds.
    counts: FlowTable<u32>,
    b: usize,
}

impl Shadow {
    fn new(b: usize) -> Shadow {
        // One more than places, for a flow that comes before another goes.
        Shadow { flows: Vec::new(), counts: FlowTable::new(b + 1), b }
    }

    /// The most packets that one flow has in it.
    fn largest(&self) -> u32 {
        self.counts.iter().map(|(_, count)| *count).max().unwrap_or(0)
    }

    /// A packet of this flow, which is counted `at`, takes a random place.
    fn sample(&mut self, flow: FlowKey, at: Option<usize>, rng: &mut Stream) {
        let at = at.or_else(|| self.counts.find_or_insert(flow, rng, || 0)).expect("room for one more");
        self.counts[at] += 1;
        if self.flows.len() < self.b {
            return self.flows.push(flow);
        }
        let place = rng.below(self.b as u64) as usize;
        let old = core::mem::replace(&mut self.flows[place], flow);
        let at = self.counts.find(old).expect("every flow in the buffer is counted");
        self.counts[at] -= 1;
        if self.counts[at] == 0 {
            self.counts.remove_at(at);
        }
    }
}

/// A first-in-first-out queue with approximate fairness through differential dropping.
#[derive(Clone, Debug)]
pub struct Afd<P> {
    params: AfdParams,
    fifo: Fifo<P>,
    shadow: Shadow,
    samples: PeriodicTimer,
    m_fair: f64,
    q_old: u64,
    /// Arrivals since the last sample.
    arrivals: u64,
    /// Arrivals between samples, on average over the last second in which the queue was sampled.
    arrivals_mean: f64,
}

impl<P: Packet> Afd<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: AfdParams) -> Self {
        Afd {
            fifo: Fifo::new(params.limit),
            shadow: Shadow::new(params.b as usize),
            samples: PeriodicTimer::new(params.period()),
            m_fair: params.b as f64,
            q_old: 0,
            arrivals: 0,
            arrivals_mean: 0.0,
            params,
        }
    }

    fn move_m_fair(&mut self, by: f64) {
        self.m_fair = (self.m_fair + by).clamp(0.0, self.shadow.b as f64);
    }

    /// Samples that passed unasked were of an empty queue.
    fn make_up(&mut self, now: Time) {
        let missed = self.samples.skip_missed(now);
        if missed > 0 {
            let q_ref = self.params.q_ref.amount() as f64;
            self.move_m_fair(missed as f64 * self.gains().step(-q_ref, -q_ref));
        }
    }

    fn gains(&self) -> Gains {
        self.params.gains(self.shadow.flows.len(), self.shadow.counts.len(), self.arrivals_mean)
    }

    fn sample(&mut self) {
        let arrivals = core::mem::take(&mut self.arrivals) as f64;
        let weight = if self.arrivals_mean == 0.0 { 1.0 } else { (1.0 / self.params.w).min(1.0) };
        self.arrivals_mean += weight * (arrivals - self.arrivals_mean);
        let (q, q_ref) = (self.fifo.packets(), self.params.q_ref.amount() as f64);
        if q as f64 > q_ref {
            self.m_fair = self.m_fair.min(f64::from(self.shadow.largest()));
        }
        self.move_m_fair(self.gains().step(self.q_old as f64 - q_ref, q as f64 - q_ref));
        self.q_old = q;
    }
}

impl<P: Packet> Discipline<P> for Afd<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        self.make_up(ctx.now);
        self.arrivals += 1;
        let at = self.shadow.counts.find(packet.flow());
        let m_i = at.map_or(0.0, |at| f64::from(self.shadow.counts[at]));
        let p = 1.0 - self.m_fair / m_i;
        let signal = m_i > self.m_fair && ctx.rng.chance(p);
        if ctx.rng.chance(1.0 / self.params.s) {
            self.shadow.sample(packet.flow(), at, ctx.rng);
        }
        if signal && self.params.marking.drops(p, &mut packet) {
            ctx.drop(packet, DropReason::Early);
        } else {
            self.fifo.admit(packet, ctx);
        }
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    /// None while all that samples would do is to raise m_fair by the same amount each time.
    fn next_wakeup(&self) -> Option<Time> {
        let quiet = self.fifo.packets() == 0 && self.q_old == 0;
        (!quiet).then(|| self.samples.due())
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        while self.samples.tick(ctx.now) {
            self.sample();
        }
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "m_fair", self.m_fair);
        visit(None, "flows", self.shadow.counts.len() as f64);
    }
}

impl<P: Packet> Configure<P> for Afd<P> {
    fn configure(&mut self, params: AfdParams, ctx: &mut Ctx<'_, P>) {
        self.make_up(ctx.now);
        self.samples.set_period(ctx.now, params.period());
        self.fifo.resize(params.limit, ctx);
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
