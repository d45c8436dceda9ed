//! The port: what arrives waits under a discipline, and a transmitter of some rate sends what the discipline gives it.

use crate::counters::Counters;
use crate::framing::Framing;
use crate::ring::Ring;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::ops::DerefMut;
use sluicegate_aqm::{Ctx, Discipline, DropReason, FlowKey, Packet};
use sluicegate_base::params::Raw;
use sluicegate_base::{ETHERNET, Link, Rate, Size, Stream, Time, Transmitter};

/// What a port asks of a packet, beyond what disciplines ask.
pub trait PortPacket: Packet {
    /// When it arrived at the port.
    fn arrived(&self) -> Time;
    /// Whether the queue of this port has marked it.
    fn marked(&self) -> bool;
}

/// How a port is made.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// The rate of its transmitter.
    pub rate: Rate,
    /// That of the interface instead, where the discipline itself keeps to `rate`: a shaper, such as a
    /// [`TokenBucket`](crate::TokenBucket).
    pub interface: Option<Rate>,
    /// What it sends around each packet: the time of that counts, its bytes do not.
    pub framing: Framing,
    /// How much of what the discipline has given up may wait for the transmitter, the packet in transmission not counted;
    /// where there is no ring, the discipline is asked when the transmitter falls free.
    pub tx_ring: Option<Size>,
    /// The length of a typical packet in bytes, for parameters that follow the link when its rate changes.
    pub packet: u64,
    /// The name of the discipline, for messages.
    pub name: Cow<'static, str>,
}

impl PortConfig {
    /// A port of this rate without framing and ring, for packets of Ethernet.
    #[must_use]
    pub fn new(rate: Rate) -> PortConfig {
        PortConfig {
            rate,
            interface: None,
            framing: Framing::default(),
            tx_ring: None,
            packet: ETHERNET,
            name: Cow::Borrowed("the discipline"),
        }
    }
}

/// What happens to a packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<'a, P> {
    /// The discipline has given it to the transmitter, or to the transmit ring: its queueing delay ends.
    /// [`PortPacket::marked`] tells whether it has been marked.
    Started(&'a P),
    /// Its last bit is out.
    Sent(P),
    /// The discipline has dropped it.
    Dropped(P, DropReason),
    /// The discipline asks for a source quench to the sender of this flow.
    Quenched(FlowKey),
}

/// Who is told what happens to packets: a closure that takes each [`Outcome`], or a type with a method for each.
pub trait Outcomes<P> {
    /// See [`Outcome::Started`].
    fn started(&mut self, packet: &P);
    /// See [`Outcome::Sent`].
    fn sent(&mut self, packet: P);
    /// See [`Outcome::Dropped`].
    fn dropped(&mut self, packet: P, reason: DropReason);
    /// See [`Outcome::Quenched`].
    fn quenched(&mut self, flow: FlowKey);
}

impl<P, F: FnMut(Outcome<'_, P>)> Outcomes<P> for F {
    #[inline]
    fn started(&mut self, packet: &P) {
        self(Outcome::Started(packet));
    }

    #[inline]
    fn sent(&mut self, packet: P) {
        self(Outcome::Sent(packet));
    }

    #[inline]
    fn dropped(&mut self, packet: P, reason: DropReason) {
        self(Outcome::Dropped(packet, reason));
    }

    #[inline]
    fn quenched(&mut self, flow: FlowKey) {
        self(Outcome::Quenched(flow));
    }
}

/// A queue with a transmitter. The caller keeps the time: he hands over each packet that arrives, and calls
/// [`advance`](Port::advance) at each [`next_deadline`](Port::next_deadline). The fate of each packet goes to `out`.
///
/// The order of what happens at one time is that of the trait [`Discipline`]: wake-ups, departures, then arrivals and
/// changes. Of one call first comes what is sent, then what starts, then what is dropped, the last drop first, then the
/// source quenches.
pub struct Port<P, Q = Box<dyn Discipline<P>>> {
    /// What it has counted.
    pub counters: Counters,
    queue: Q,
    /// When the packet in transmission departs; never, if there is none.
    departs: Time,
    /// When the discipline is woken; never, if it has not asked.
    wakes: Time,
    /// How many packets the queue holds, by what it has been given and has given back.
    held: u64,
    transmitter: Transmitter,
    /// The rate that the discipline keeps to by itself.
    shaped: Option<Rate>,
    framing: Framing,
    /// Whether the framing is more than bytes around each packet.
    uneven: bool,
    sending: Option<P>,
    ring: Option<Box<Ring<P>>>,
    rng: Stream,
    dropped: Vec<(P, DropReason)>,
    quenched: Vec<FlowKey>,
    packet: u64,
    /// Whether the discipline ever asks to be woken.
    asks: bool,
    name: Cow<'static, str>,
}

impl<P: PortPacket, Q: DerefMut<Target: Discipline<P>>> Port<P, Q> {
    /// An idle port. `rng` is the discipline's random stream.
    ///
    /// # Panics
    ///
    /// When the discipline has a wake-up that is due at the start.
    #[must_use]
    pub fn new(config: PortConfig, queue: Q, rng: Stream) -> Self {
        let PortConfig { rate, interface, framing, tx_ring, packet, name } = config;
        let asks = queue.wakes();
        let mut port = Port {
            counters: Counters::default(),
            queue,
            departs: Time::NEVER,
            wakes: Time::NEVER,
            held: 0,
            transmitter: Transmitter::new(interface.unwrap_or(rate)),
            shaped: interface.map(|_| rate),
            framing,
            uneven: framing.is_uneven(),
            sending: None,
            ring: tx_ring.map(|limit| Box::new(Ring::new(limit))),
            rng,
            dropped: Vec::new(),
            quenched: Vec::new(),
            packet,
            asks,
            name,
        };
        port.arm(Time::ZERO);
        port
    }

    /// A packet arrives.
    #[inline(always)]
    pub fn arrive(&mut self, packet: P, now: Time, out: &mut impl Outcomes<P>) {
        self.check(now);
        let ctx = Ctx::new(now, &mut self.rng, &mut self.dropped);
        self.queue.enqueue(packet, &mut ctx.with_quenches(&mut self.quenched));
        self.counters.arrive(self.held);
        self.held += 1;
        if self.sending.is_none() {
            self.start(now, out);
        } else if self.ring.is_some() {
            self.fill(now, out);
        }
        self.hand_out(now, out);
        self.counters.hold(self.held);
        self.arm(now);
    }

    /// Does what is due now: a wake-up, then a departure. [`next_deadline`](Port::next_deadline) is now again when the
    /// next packet takes no time to send.
    ///
    /// # Panics
    ///
    /// When the discipline leaves a wake-up due: time would stand still, or run backwards.
    #[inline]
    pub fn advance(&mut self, now: Time, out: &mut impl Outcomes<P>) {
        debug_assert!(self.next_deadline() >= now, "{} has been passed by time", self.name);
        if self.wakes <= now {
            self.wake(now, out);
        }
        if self.departs <= now {
            self.depart(now, out);
        }
    }

    /// When [`advance`](Port::advance) is to be called next; never, if nothing is to come.
    #[inline]
    #[must_use]
    pub fn next_deadline(&self) -> Time {
        self.wakes.min(self.departs)
    }

    /// When the packet in transmission departs; never, if there is none or the rate is zero.
    #[inline]
    #[must_use]
    pub fn next_departure(&self) -> Time {
        self.departs
    }

    /// When the discipline acts on its own; never, if it has not asked.
    #[inline]
    #[must_use]
    pub fn next_wakeup(&self) -> Time {
        self.wakes
    }

    #[inline(always)]
    fn depart(&mut self, now: Time, out: &mut impl Outcomes<P>) {
        self.check(now);
        if let Some(packet) = self.sending.take() {
            self.counters.depart(packet.bytes());
            out.sent(packet);
        }
        self.start(now, out);
        self.hand_out(now, out);
        self.arm(now);
    }

    #[inline(never)]
    fn wake(&mut self, now: Time, out: &mut impl Outcomes<P>) {
        self.call(now, |queue, ctx| queue.wake(ctx));
        self.changed(now, out);
    }

    /// The discipline has acted without an arrival or departure. A shaper may have packets, and let the next one go.
    fn changed(&mut self, now: Time, out: &mut impl Outcomes<P>) {
        let asks = self.sending.is_none() || self.ring.is_some();
        if asks && self.held > self.dropped.len() as u64 {
            self.start(now, out);
        }
        self.hand_out(now, out);
        self.arm(now);
    }

    /// Calls the discipline.
    #[inline(always)]
    fn call<T>(&mut self, now: Time, work: impl FnOnce(&mut Q::Target, &mut Ctx<'_, P>) -> T) -> T {
        let ctx = Ctx::new(now, &mut self.rng, &mut self.dropped);
        work(&mut self.queue, &mut ctx.with_quenches(&mut self.quenched))
    }

    /// Asks the discipline for a packet to send. There is none in transmission, or there is a ring.
    #[inline(always)]
    fn start(&mut self, now: Time, out: &mut impl Outcomes<P>) {
        if self.ring.is_some() {
            return self.fill(now, out);
        }
        let ctx = Ctx::new(now, &mut self.rng, &mut self.dropped);
        self.sending = self.queue.dequeue(&mut ctx.with_quenches(&mut self.quenched));
        let Some(packet) = &self.sending else { return self.rest() };
        self.held -= 1;
        let bytes = packet.bytes();
        let bytes = if self.uneven { self.framing.on_wire(bytes) } else { bytes + u64::from(self.framing.bytes) };
        self.departs = now + self.transmitter.send(bytes);
        self.counters.start(packet.arrived(), packet.marked(), now);
        out.started(packet);
    }

    /// There is nothing to send.
    #[inline(always)]
    fn rest(&mut self) {
        self.departs = Time::NEVER;
        self.transmitter.rest();
    }

    /// Sends from the ring, and asks the discipline for packets as long as it has room.
    #[cold]
    fn fill(&mut self, now: Time, out: &mut impl Outcomes<P>) {
        while let Some(ring) = &mut self.ring {
            if self.sending.is_none() {
                if let Some(packet) = ring.pop() {
                    self.send(packet, now);
                    continue;
                }
            } else if !ring.has_room() {
                return;
            }
            let Some(packet) = self.call(now, |queue, ctx| queue.dequeue(ctx)) else {
                if self.sending.is_none() {
                    self.rest();
                }
                return;
            };
            self.held -= 1;
            self.counters.start(packet.arrived(), packet.marked(), now);
            out.started(&packet);
            match &mut self.ring {
                Some(ring) if self.sending.is_some() => ring.push(packet),
                _ => self.send(packet, now),
            }
        }
    }

    fn send(&mut self, packet: P, now: Time) {
        self.departs = now + self.transmitter.send(self.framing.on_wire(packet.bytes()));
        self.sending = Some(packet);
    }

    /// Hands out what the discipline has dropped, and the quenches that it has asked for.
    #[inline(always)]
    fn hand_out(&mut self, now: Time, out: &mut impl Outcomes<P>) {
        if !self.dropped.is_empty() || !self.quenched.is_empty() {
            self.hand_out_all(now, out);
        }
    }

    #[inline(never)]
    fn hand_out_all(&mut self, now: Time, out: &mut impl Outcomes<P>) {
        while let Some((packet, reason)) = self.dropped.pop() {
            self.held -= 1;
            self.counters.drop(packet.arrived(), reason, now);
            out.dropped(packet, reason);
        }
        while let Some(flow) = self.quenched.pop() {
            out.quenched(flow);
        }
    }

    /// Asks when the discipline is to be woken.
    #[inline(always)]
    fn arm(&mut self, now: Time) {
        if !self.asks {
            return debug_assert!(self.queue.next_wakeup().is_none(), "{} is never woken, but asks", self.name);
        }
        match self.queue.next_wakeup() {
            None => self.wakes = Time::NEVER,
            Some(at) if at <= now => self.due(),
            Some(at) => self.wakes = at,
        }
    }

    #[cold]
    fn due(&self) -> ! {
        panic!("{} has a wake-up due after a call: see the trait Discipline", self.name);
    }

    /// Whether the caller has kept the order of calls.
    #[inline(always)]
    fn check(&self, now: Time) {
        debug_assert!(self.wakes > now && self.departs >= now, "{} has been passed by time", self.name);
    }

    /// The rate changes. What is left of the packet in transmission goes at the new rate, to the nanosecond; at a rate of
    /// zero it stands still; of a shaper that of the discipline changes alone. The discipline hears of it if it is `told`, but not of a rate of zero: what follows a rate has no
    /// value then.
    pub fn set_rate(&mut self, rate: Rate, told: bool, now: Time, out: &mut impl Outcomes<P>) {
        self.check(now);
        if let Some(shaped) = &mut self.shaped {
            *shaped = rate;
        } else if self.sending.is_some() {
            self.departs = now + self.transmitter.change_rate(rate, self.departs.since(now));
        } else {
            self.transmitter.set_rate(rate);
        }
        if told && rate > Rate(0) {
            let link = Link { rate, packet: self.packet };
            self.call(now, |queue, ctx| queue.link_changed(&link, ctx));
            self.changed(now, out);
        }
    }

    /// Changes a parameter of the discipline; what a smaller limit leaves no room for is dropped. The error is the rule that
    /// the value breaks, and nothing has changed.
    pub fn set(&mut self, name: &str, value: &Raw, now: Time, out: &mut impl Outcomes<P>) -> Result<(), String> {
        self.check(now);
        let result = self.call(now, |queue, ctx| queue.set(name, value, ctx));
        self.changed(now, out);
        result
    }

    /// Another discipline takes over, built for this port and empty. It is offered the packets that wait, in the order of
    /// their arrival; what it refuses is dropped as reconfigured, whatever its own reason. What has gone to the transmitter
    /// or the ring stays there. Gives the old discipline as it was.
    ///
    /// The new one has been idle since the start of time: it is woken until now as often as it asks, so that this costs what
    /// that would have cost.
    ///
    /// # Panics
    ///
    /// When one of the two leaves a wake-up due.
    pub fn replace(&mut self, queue: Q, now: Time, out: &mut impl Outcomes<P>) -> Q
    where
        P: Clone,
    {
        self.check(now);
        let mut waiting = Vec::new();
        self.queue.for_each(&mut |packet| waiting.push(packet.clone()));
        waiting.sort_by_key(P::arrived);
        let old = mem::replace(&mut self.queue, queue);
        (self.asks, self.wakes) = (self.queue.wakes(), Time::NEVER);
        self.arm(Time::ZERO);
        while self.wakes <= now {
            let due = self.wakes;
            self.call(due, |queue, ctx| queue.wake(ctx));
            self.arm(due);
        }
        for packet in waiting {
            self.call(now, |queue, ctx| queue.enqueue(packet, ctx));
        }
        self.dropped.iter_mut().for_each(|(_, reason)| *reason = DropReason::Reconfigured);
        self.changed(now, out);
        old
    }

    /// The discipline.
    #[must_use]
    pub fn queue(&self) -> &Q::Target {
        &self.queue
    }

    /// How many packets the queue holds, the ring and the transmitter not counted.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        self.held
    }

    /// Whether the queue holds no packet.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// How many packets the port holds: in the queue, in the ring, in transmission.
    #[must_use]
    pub fn holds(&self) -> [u64; 3] {
        [self.held, self.ring.as_ref().map_or(0, |ring| ring.len()), u64::from(self.sending.is_some())]
    }

    /// The packet in transmission.
    #[must_use]
    pub fn sending(&self) -> Option<&P> {
        self.sending.as_ref()
    }

    /// The rate of the transmitter, or of the shaper before it.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.shaped.unwrap_or_else(|| self.transmitter.rate())
    }

    /// The discipline's own average of the queue, in packets, if it keeps one.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        self.queue.average()
    }

    /// What the discipline has to show of itself.
    pub fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        self.queue.state(visit);
    }

    /// What it has counted until now, with the time that those in the queue have spent there.
    #[must_use]
    pub fn counters_until(&self, now: Time) -> Counters {
        let mut counters = self.counters.clone();
        self.for_each(&mut |packet| counters.leave(packet.arrived(), now));
        counters
    }

    /// Calls `visit` for every packet in the queue, from the head to the tail.
    pub fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.queue.for_each(visit);
    }
}
