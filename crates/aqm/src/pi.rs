//! # PI
//!
//! A proportional-integral controller holds the queue at `q_ref`: at a fixed frequency it samples the queue and moves the
//! probability `p` by how far the queue stands from its target, now and one interval ago. Every arrival is dropped or marked
//! with `p`.
//!
//! ```text
//! w times in a second:   p ← p + a·(q − q_ref) − b·(q_old − q_ref), kept within 0 and 1;   q_old ← q
//!                                                          (Hollot, Misra, Towsley & Gong 2001, as ns-2 has it)
//! for each arrival:      with probability p:  (action = mark) mark it, if p ≤ mark_th and its transport is capable;  else drop it
//!                                                          (mode = byte:  p·length/max_packet; q is in packets of max_packet)
//! ```
//!
//! `a` and `b` fit one link and load: N flows with the round-trip time R on C packets per second. [`Gains::of`] derives them for
//! others (`sluicegate design pi`):
//!
//! ```text
//! z = 2N/(R²C),  K = z·|1 + jzR|·(2N)²/(RC)³,  a = K·(1/z + T/2),  b = K·(1/z − T/2),  T = 1/w
//! ```
//!
//! For the paper's N = 60, R = 0.246 s, C = 3750 and w = 170 these give 1.853e-5 and 1.847e-5, 1.7 % above the published constants.
//!
//! `p` moves slowly: with the published constants it rises by 1.02e-5·(q − q_ref) in a second, and takes half an hour to come down from 1 on an idle link. Runs must warm up
//! for minutes, or start with `p_0` near the value that it settles at. `state` shows `p`.
//!
#![doc = include_str!("pi.md")]

use crate::marking::Marking;
use crate::periodic_timer::PeriodicTimer;
use crate::prelude::*;
use crate::red::{Action, Mode};

discipline! {
    Pi: "pi", "PI",
    source("Hollot, Misra, Towsley & Gong 2001; ns-2, queue/pi.cc"),
    drops(Tail, Early),
    remembers(None),
    overload(Drops, "above `mark_th`"),

    /// Parameters of [`Pi`].
    pub struct PiParams {
        ..marking: Marking [action: Action::Drop, "ns-2, setbit_"];
        /// Target length of the queue.
        q_ref: Size = default(Size::Packets(50)), unit("packets"), range(Range::from(0.0)),
            source("Hollot et al. 2001; ns-2, qref_");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(800)), unit("packets"), range(Range::from(1.0)),
            source("Hollot et al. 2001, from memory");
        /// Gain of the queue now.
        a: f64 = default(1.822e-5), unit("per packet"), range(Range::POSITIVE), source("Hollot et al. 2001; ns-2, a_");
        /// Gain of the queue one interval ago.
        b: f64 = default(1.816e-5), unit("per packet"), range(Range::POSITIVE), source("Hollot et al. 2001; ns-2, b_");
        /// Samples of the queue per second.
        w: f64 = default(170.0), unit("Hz"), range(Range::above(0.0).to(1e9)), source("Hollot et al. 2001; ns-2, w_");
        /// The probability at the start.
        p_0: f64 = default(0.0), unit("1"), range(Range::from(0.0).to(1.0)), source("ns-2, prob_"), fixed(true);
        /// Measure the queue in packets, or in bytes with probabilities proportional to a packet's length.
        mode: Mode = default(Mode::Packet), source("ns-2, queue_in_bytes_ and bytes_");
        /// In byte mode, a packet of this length has the probability p; q and q_ref count packets of this length.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("B"),
            range(Range::from(1.0)), source("ns-2: mean_pktsize_");
    }
    rules {
        "a > b" [a, b] |p| p.a > p.b;
        "q_ref counts packets, unless mode is byte" [q_ref, mode]
            |p| p.mode == Mode::Byte || matches!(p.q_ref, Size::Packets(_));
        "max_packet is in bytes" [max_packet] |p| matches!(p.max_packet, Size::Bytes(_));
    }
}

impl PiParams {
    /// Time between samples.
    fn period(&self) -> Span {
        Span::from_secs_f64(1.0 / self.w)
    }
}

/// The gains of a controller for a link and its load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Of the queue now, per packet.
    pub a: f64,
    /// Of the queue one interval ago, per packet.
    pub b: f64,
}

impl Gains {
    /// The gains for so many long TCP flows, at least, with this round-trip time in seconds, at most, on a link of so many
    /// packets per second, sampled `w` times in a second (Hollot et al. 2001). All must be above 0.
    ///
    /// ```
    /// let gains = sluicegate_aqm::pi::Gains::of(60.0, 0.246, 3750.0, 170.0);
    /// assert!((gains.a / 1.822e-5 - 1.0).abs() < 0.02 && (gains.b / 1.816e-5 - 1.0).abs() < 0.02);
    /// ```
    #[must_use]
    pub fn of(n: f64, r: f64, c: f64, w: f64) -> Gains {
        let z = 2.0 * n / (r * r * c);
        let rc = r * c;
        let k = z * libm::sqrt(1.0 + z * r * z * r) * (2.0 * n) * (2.0 * n) / (rc * rc * rc);
        let half = 0.5 / w;
        Gains { a: k * (1.0 / z + half), b: k * (1.0 / z - half) }
    }
}

/// A first-in-first-out queue under a proportional-integral controller.
#[derive(Clone, Debug)]
pub struct Pi<P> {
    params: PiParams,
    fifo: Fifo<P>,
    samples: PeriodicTimer,
    p: f64,
    q_old: f64,
}

impl<P: Packet> Pi<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: PiParams) -> Self {
        Pi {
            fifo: Fifo::new(params.limit),
            samples: PeriodicTimer::new(params.period()),
            p: params.p_0,
            q_old: 0.0,
            params,
        }
    }

    #[inline]
    fn move_p(&mut self, by: f64) {
        self.p = (self.p + by).clamp(0.0, 1.0);
    }

    /// Samples that passed unasked were of an empty queue.
    fn make_up(&mut self, now: Time) {
        let missed = self.samples.skip_missed(now);
        self.move_p(
            -(missed as f64) * (self.params.a - self.params.b) * self.params.q_ref.in_packets(self.params.max_packet),
        );
    }

    fn sample(&mut self) {
        let PiParams { a, b, mode, .. } = self.params;
        let q = match mode {
            Mode::Packet => self.fifo.packets() as f64,
            Mode::Byte => Size::Bytes(self.fifo.bytes()).in_packets(self.params.max_packet),
        };
        let q_ref = self.params.q_ref.in_packets(self.params.max_packet);
        self.move_p(a * (q - q_ref) - b * (self.q_old - q_ref));
        self.q_old = q;
    }
}

impl<P: Packet> Discipline<P> for Pi<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        self.make_up(ctx.now);
        if !self.fifo.has_room(&packet) {
            return ctx.drop(packet, DropReason::Tail);
        }
        let p = match self.params.mode {
            Mode::Packet => self.p,
            Mode::Byte => self.p * packet.bytes() as f64 / self.params.max_packet.amount() as f64,
        };
        if ctx.rng.chance(p) && self.params.marking.drops(self.p, &mut packet) {
            return ctx.drop(packet, DropReason::Early);
        }
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    /// None while all that samples would do is to lower p by the same amount each time.
    fn next_wakeup(&self) -> Option<Time> {
        let quiet = self.fifo.packets() == 0 && self.q_old == 0.0;
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
        visit(None, "p", self.p);
    }
}

impl<P: Packet> Configure<P> for Pi<P> {
    fn configure(&mut self, params: PiParams, ctx: &mut Ctx<'_, P>) {
        self.make_up(ctx.now);
        self.samples.set_period(ctx.now, params.period());
        self.fifo.resize(params.limit, ctx);
        self.params = params;
    }
}

#[cfg(test)]
mod tests;
