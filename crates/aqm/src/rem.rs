//! # REM
//!
//! Random Exponential Marking keeps a price of the link that rises while more arrives than the link can send or the queue is
//! above its target, and falls otherwise. An arrival is dropped or marked with a probability exponential in the price, so that
//! the probabilities of several links on a path add up as their prices do.
//!
//! ```text
//! every t_update, with `in` the arrivals since the last update and c what the link sends in that time, in packets:
//!     in_avg ← (1 − inw)·in_avg + inw·in                         (Athuraliya, Li, Low & Yin 2001, as ns-2 has it)
//!     price ← max(0, price + gamma·(in_avg + alpha·(q − b_ref) − c))
//!     p ← 1 − phi^(−price)
//! for each arrival:      with probability p:  (action = mark) mark it, if p ≤ mark_th and its transport is capable;  else drop it
//!                                               (mode = byte:  p·length/max_packet; q and in are in packets of max_packet)
//! ```
//!
//! `state` shows `price` and `p`.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the price law in its published form | that of ns-2's code, by two of the paper's authors: alpha is a constant 0.1 there and a parameter here | the paper was not at hand |
//! | gamma 0.001, phi 1.001, b* 20 packets, updates every 2 ms | the same, whatever the link | ns-2's defaults; `b_ref` is ns-2's `pbo_` |
//! | nothing on slow links and small packets | the same values | on 1 Mbit/s a packet takes as long to send as six updates, the price swings, and one CUBIC flow uses 65 % (93 % with `t_update` = 20 ms). With mode = packet, packets shorter than `max_packet` look like an overload and are dropped on a link that is not full |
//! | packets of one length | `max_packet` bytes, the link's typical packet | ns-2: `mean_pktsize_` 1000; the rate c is in packets of this length |
//! | marks | at the arrival, and what cannot carry a mark is dropped | ns-2 with `markpkts_` marks at the departure, and then drops nothing early |
//! | marks whatever p is: the prices of a path add up in its marks | with p above `mark_th` = 0.1, a packet is dropped instead of marked; `mark_th` = 1 is the paper's | RFC 3168, Sec. 7, and RFC 7567, Sec. 4.2.1: against senders that ignore marks |
//! | nothing on a full buffer | `limit` packets are held, and an arrival at a full buffer is dropped with reason `tail`, without a random draw | ns-2 holds one less |
//! | nothing on idle links | updates go on until the price is 0 and would stay there | the result is the same, and an idle link needs no timer |

use crate::marking::Marking;
use crate::periodic_timer::PeriodicTimer;
use crate::prelude::*;
use crate::red::{Action, Mode};

discipline! {
    Rem: "rem", "REM",
    source("Athuraliya, Li, Low & Yin 2001; ns-2, queue/rem.cc"),
    drops(Tail, Early),
    remembers(None),
    overload(Drops, "above `mark_th`"),

    /// Parameters of [`Rem`].
    pub struct RemParams {
        ..marking: Marking [action: Action::Drop, "ns-2, markpkts_"];
        /// Target length of the queue, b*.
        b_ref: Size = default(Size::Packets(20)), unit("packets"), range(Range::from(0.0)), source("ns-2, pbo_");
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(300)), unit("packets"), range(Range::from(1.0)),
            source("chosen here: far above b_ref");
        /// Step of the price.
        gamma: f64 = default(0.001), unit("per packet"), range(Range::POSITIVE), source("ns-2, gamma_");
        /// Base of the probability: p = 1 − phi^(−price).
        phi: f64 = default(1.001), unit("1"), range(Range::above(1.0)), source("ns-2, phi_");
        /// Weight of the queue's distance from its target, relative to the rates.
        alpha: f64 = default(0.1), unit("1"), range(Range::from(0.0)), source("ns-2, rem.cc");
        /// Weight of the present arrivals in their average.
        inw: f64 = default(1.0), unit("1"), range(Range::above(0.0).to(1.0)), source("ns-2, inw_");
        /// Time from one update of the price to the next.
        t_update: Span = default(Span::from_millis(2)), range(Range::POSITIVE), source("ns-2, pupdtime_");
        /// Count packets, or bytes with probabilities proportional to a packet's length.
        mode: Mode = default(Mode::Packet), source("ns-2, qib_");
        /// Length of the packets in which c, what the link sends in t_update, is counted; in byte mode also q, b_ref and the
        /// arrivals.
        max_packet: Size = derived("the link's typical packet", |link| Size::Bytes(link.packet.max(1))), unit("B"),
            range(Range::from(1.0)), source("ns-2, mean_pktsize_");
        /// The rate of the link, from which c follows.
        bandwidth: Rate = derived("the link's rate", |link| link.rate), range(Range::POSITIVE), source("the link");
    }
    rules {
        "b_ref counts packets, unless mode is byte" [b_ref, mode]
            |p| p.mode == Mode::Byte || matches!(p.b_ref, Size::Packets(_));
        "max_packet is in bytes" [max_packet] |p| matches!(p.max_packet, Size::Bytes(_));
    }
}

/// A first-in-first-out queue under Random Exponential Marking.
#[derive(Clone, Debug)]
pub struct Rem<P> {
    params: RemParams,
    fifo: Fifo<P>,
    updates: PeriodicTimer,
    price: f64,
    /// Of the present price.
    p: f64,
    /// Arrivals since the last update, in packets, and their average.
    arrived: f64,
    in_avg: f64,
}

impl<P: Packet> Rem<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: RemParams) -> Self {
        Rem {
            fifo: Fifo::new(params.limit),
            updates: PeriodicTimer::new(params.t_update),
            price: 0.0,
            p: 0.0,
            arrived: 0.0,
            in_avg: 0.0,
            params,
        }
    }

    /// A number of packets, or of bytes in byte mode, as a number of packets.
    #[inline]
    fn measure(&self, packets: u64, bytes: u64) -> f64 {
        match self.params.mode {
            Mode::Packet => packets as f64,
            Mode::Byte => Size::Bytes(bytes).in_packets(self.params.max_packet),
        }
    }

    /// What the price would change by, over gamma, with so long a queue.
    fn excess(&self, q: f64) -> f64 {
        let RemParams { alpha, b_ref, max_packet, t_update, bandwidth, .. } = self.params;
        // What the link sends between two updates, in packets.
        let c = t_update.as_secs() * bandwidth.0 as f64 / (8.0 * max_packet.amount() as f64);
        self.in_avg + alpha * (q - b_ref.in_packets(max_packet)) - c
    }

    /// Updates that passed unasked found no arrivals, and a price of 0.
    fn make_up(&mut self, now: Time) {
        let missed = self.updates.skip_missed(now);
        if missed > 0 {
            self.in_avg *= libm::pow(1.0 - self.params.inw, missed as f64);
        }
    }

    fn update(&mut self) {
        let RemParams { gamma, inw, .. } = self.params;
        let q = self.measure(self.fifo.packets(), self.fifo.bytes());
        self.in_avg = (1.0 - inw) * self.in_avg + inw * core::mem::take(&mut self.arrived);
        self.price = libm::fmax(self.price + gamma * self.excess(q), 0.0);
    }

    /// 1 − phi^(−price).
    fn probability(&self) -> f64 {
        1.0 - libm::exp(-libm::log(self.params.phi) * self.price)
    }
}

impl<P: Packet> Discipline<P> for Rem<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        self.make_up(ctx.now);
        let part = self.measure(1, packet.bytes());
        self.arrived += part;
        if !self.fifo.has_room(&packet) {
            return ctx.drop(packet, DropReason::Tail);
        }
        if ctx.rng.chance(self.p * part) && self.params.marking.drops(self.p, &mut packet) {
            return ctx.drop(packet, DropReason::Early);
        }
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.fifo.pop()
    }

    /// None while the price is 0 and stays so if nothing arrives: in_avg only falls.
    fn next_wakeup(&self) -> Option<Time> {
        let quiet = self.fifo.packets() == 0 && self.arrived == 0.0 && self.price == 0.0 && self.excess(0.0) <= 0.0;
        (!quiet).then(|| self.updates.due())
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        while self.updates.tick(ctx.now) {
            self.update();
        }
        self.p = self.probability();
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        visit(None, "price", self.price);
        visit(None, "p", self.p);
    }
}

impl<P: Packet> Configure<P> for Rem<P> {
    fn configure(&mut self, params: RemParams, ctx: &mut Ctx<'_, P>) {
        self.make_up(ctx.now);
        self.updates.set_period(ctx.now, params.t_update);
        self.fifo.resize(params.limit, ctx);
        self.params = params;
        self.p = self.probability();
    }
}

#[cfg(test)]
mod tests;
