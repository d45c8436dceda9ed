//! Links and lines, and packets on their ways over them, in virtual time.
//!
//! A link is a [`Port`] with a propagation delay and a wire; a line is a transmitter whose buffer has no limit, or none at
//! all. Several ways may lead over the same ones. Whoever drives them says what the time is, and everything that is due
//! happens at its own due time, however late it is asked for: a driver that was held up delays packets, but never changes the
//! rate of a link. [`Path`](crate::Path) is the plain case of one way; a link for real packets drives many.

use crate::port::{Outcomes, Port, PortConfig, PortPacket};
use crate::wire::{Course, Passing, Wire, WirePlan};
use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::{Deref, DerefMut};
use sluicegate_aqm::{Ack, Discipline, DropReason, FlowKey, Packet};
use sluicegate_base::{Ecn, Rate, Span, Stream, Time, Transmitter};

/// What is longer than this counts as so long: sums of lengths stay far from the end of their numbers.
const LONGEST: u64 = u32::MAX as u64;

/// One step of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hop {
    /// The link with this index.
    Link(u32),
    /// The line with this index.
    Line(u32),
}

/// A packet on its way: what is carried, and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Transit<P> {
    /// What is carried.
    pub packet: P,
    /// When it reached the link that it is at.
    pub arrived: Time,
    /// Whether the queue of that link has marked it.
    pub marked: bool,
    /// Whether anything on its way has marked it.
    pub ever_marked: bool,
    /// The number of its way.
    pub way: u32,
    /// The hops that it has reached.
    hop: u32,
    /// Its number at the link that it is at.
    number: u64,
    /// What it is delayed behind its way.
    after: Span,
}

impl<P> Transit<P> {
    /// At the beginning of its way, at this time.
    pub fn new(packet: P, way: u32, now: Time) -> Transit<P> {
        Transit { packet, arrived: now, marked: false, ever_marked: false, way, hop: 0, number: 0, after: Span::ZERO }
    }
}

impl<P> Deref for Transit<P> {
    type Target = P;

    #[inline]
    fn deref(&self) -> &P {
        &self.packet
    }
}

impl<P> DerefMut for Transit<P> {
    #[inline]
    fn deref_mut(&mut self) -> &mut P {
        &mut self.packet
    }
}

impl<P: Packet> Packet for Transit<P> {
    #[inline]
    fn flow(&self) -> FlowKey {
        self.packet.flow()
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.packet.bytes().min(LONGEST)
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn mark(&mut self) -> bool {
        self.marked = self.packet.mark();
        self.ever_marked |= self.marked;
        self.marked
    }
    fn class(&self) -> u8 {
        self.packet.class()
    }
    fn set_class(&mut self, class: u8) {
        self.packet.set_class(class);
    }
    fn hosts(&self) -> (u64, u64) {
        self.packet.hosts()
    }
    fn ack(&self) -> Option<Ack> {
        self.packet.ack()
    }
    fn priority(&self) -> u8 {
        self.packet.priority()
    }
    fn label(&self) -> u32 {
        self.packet.label()
    }
    fn set_label(&mut self, label: u32) {
        self.packet.set_label(label);
    }
}

impl<P: Packet> PortPacket for Transit<P> {
    #[inline]
    fn arrived(&self) -> Time {
        self.arrived
    }
    #[inline]
    fn marked(&self) -> bool {
        self.marked
    }
}

/// How a link is made.
pub struct LinkConfig<P> {
    /// Its port; the rates of the wire, if there are any, take the place of the rate.
    pub port: PortConfig,
    /// Its queue.
    pub queue: Box<dyn Discipline<Transit<P>>>,
    /// Its propagation delay.
    pub delay: Span,
    /// What its wire does.
    pub wire: WirePlan,
}

/// A link as it runs.
pub struct Link<P> {
    /// Its queue and transmitter.
    pub port: Port<Transit<P>>,
    /// Its rate over time, where that changes by itself.
    pub course: Option<Course>,
    delay: Span,
    wire: Option<Wire>,
    /// How many packets have reached it.
    arrivals: u64,
}

/// A line as it runs.
struct Line {
    transmitter: Option<Transmitter>,
    free: Time,
    delay: Span,
    wire: Option<Wire>,
    arrivals: u64,
}

/// Who is told what happens to packets.
pub trait Watch<P> {
    /// A packet has reached the queue of a link.
    fn reached(&mut self, _link: u32, _packet: &Transit<P>, _now: Time) {}
    /// The discipline of a link has given it to the transmitter; [`Transit::marked`] tells whether it has marked it.
    fn started(&mut self, _link: u32, _packet: &Transit<P>, _now: Time) {}
    /// Its last bit is out.
    fn sent(&mut self, _link: u32, _packet: &Transit<P>, _now: Time) {}
    /// It has been marked on a wire, by its fate.
    fn marked(&mut self, _at: Hop, _packet: &Transit<P>, _now: Time) {}
    /// It is not lost on a wire, and goes on.
    fn passed(&mut self, _at: Hop, _packet: &Transit<P>, _now: Time) {}
    /// It is lost on a wire.
    fn lost(&mut self, _at: Hop, packet: Transit<P>, now: Time);
    /// The discipline of a link has dropped it.
    fn dropped(&mut self, link: u32, packet: Transit<P>, reason: DropReason, now: Time);
    /// It is at the end of its way.
    fn delivered(&mut self, packet: Transit<P>, now: Time);
    /// The discipline of a link asks for a source quench; no host of today heeds one.
    fn quenched(&mut self, _link: u32, _flow: FlowKey, _now: Time) {}
}

/// A packet reaches its next hop, or its end. At equal times the one that was sent first comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    time: Time,
    order: u64,
    slot: u32,
}

/// Packets between hops. Their memory is used again.
struct Road<P> {
    due: BinaryHeap<Reverse<Due>>,
    order: u64,
    slots: Vec<Option<Transit<P>>>,
    free: Vec<u32>,
}

impl<P> Road<P> {
    fn next(&self) -> Time {
        self.due.peek().map_or(Time::NEVER, |due| due.0.time)
    }

    fn keep(&mut self, packet: Transit<P>) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(packet);
                slot
            }
            None => {
                self.slots.push(Some(packet));
                self.slots.len() as u32 - 1
            }
        }
    }

    fn get(&mut self, slot: u32) -> &mut Transit<P> {
        self.slots[slot as usize].as_mut().expect("a slot in use")
    }

    fn take(&mut self, slot: u32) -> Transit<P> {
        self.free.push(slot);
        self.slots[slot as usize].take().expect("a slot in use")
    }

    fn reach(&mut self, slot: u32, time: Time) {
        self.order += 1;
        self.due.push(Reverse(Due { time, order: self.order, slot }));
    }
}

/// Links and lines, and the packets on their ways over them.
pub struct Paths<P> {
    /// The links.
    pub links: Vec<Link<P>>,
    lines: Vec<Line>,
    ways: Vec<Vec<Hop>>,
    road: Road<P>,
    seed: u64,
}

impl<P: Packet> Paths<P> {
    /// Nothing yet. The seed is that of every random stream.
    #[must_use]
    pub fn new(seed: u64) -> Paths<P> {
        let road = Road { due: BinaryHeap::new(), order: 0, slots: Vec::new(), free: Vec::new() };
        Paths { links: Vec::new(), lines: Vec::new(), ways: Vec::new(), road, seed }
    }

    /// Adds a link, whose name keys its random streams.
    pub fn add_link(&mut self, name: &str, config: LinkConfig<P>) -> Hop {
        let rng = Stream::new(self.seed, &format!("link/{name}/discipline"));
        self.add_link_with(name, config, rng)
    }

    /// The same with a random stream for its discipline.
    pub fn add_link_with(&mut self, name: &str, config: LinkConfig<P>, rng: Stream) -> Hop {
        let LinkConfig { mut port, queue, delay, wire } = config;
        let running = Wire::new(&wire, name, self.seed);
        let course = wire.rates.map(Course::new);
        port.rate = course.as_ref().map_or(port.rate, Course::rate);
        let port = Port::new(port, queue, rng);
        self.links.push(Link { port, course, delay, wire: running, arrivals: 0 });
        Hop::Link(self.links.len() as u32 - 1)
    }

    /// Adds a line of this rate, or one on which packets take no time to be sent, with this delay and wire.
    pub fn add_line(&mut self, rate: Option<Rate>, delay: Span, wire: Option<Wire>) -> Hop {
        let transmitter = rate.map(Transmitter::new);
        self.lines.push(Line { transmitter, free: Time::ZERO, delay, wire, arrivals: 0 });
        Hop::Line(self.lines.len() as u32 - 1)
    }

    /// Packets may take this way: its number.
    pub fn add_way(&mut self, hops: &[Hop]) -> u32 {
        self.ways.push(hops.to_vec());
        self.ways.len() as u32 - 1
    }

    /// Adds a hop to a way.
    pub fn lengthen(&mut self, way: u32, hop: Hop) {
        self.ways[way as usize].push(hop);
    }

    /// The seed of every random stream.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A packet enters now, and is delayed by so much before and after its way. Everything due before must have been done:
    /// [`advance`](Paths::advance).
    pub fn enter(&mut self, packet: P, way: u32, [before, after]: [Span; 2], now: Time, watch: &mut impl Watch<P>) {
        let packet = Transit { after, ..Transit::new(packet, way, now) };
        if before > Span::ZERO {
            let slot = self.road.keep(packet);
            return self.road.reach(slot, now + before);
        }
        self.step(packet, now, watch);
    }

    /// When something is due next; never, if nothing is.
    #[must_use]
    pub fn next_deadline(&self) -> Time {
        let links = self.links.iter().map(|link| link.port.next_deadline().min(link.changes()));
        links.fold(self.road.next(), Time::min)
    }

    /// Does all that is due until now, at its time.
    pub fn advance(&mut self, now: Time, watch: &mut impl Watch<P>) {
        loop {
            let mut due = (self.road.next(), None, false);
            for (at, link) in self.links.iter().enumerate() {
                // At equal times ports go first, as the trait `Discipline` says.
                let deadline = link.port.next_deadline();
                if deadline <= due.0 && deadline < Time::NEVER {
                    due = (deadline, Some(at), false);
                }
                if link.changes() < due.0 {
                    due = (link.changes(), Some(at), true);
                }
            }
            let (time, link, changes) = due;
            if time > now || time == Time::NEVER {
                return;
            }
            match link {
                Some(at) if changes => {
                    let rate = self.links[at].course.as_mut().expect("it changes").step(time);
                    self.at(at, time, watch, |port, behind| port.set_rate(rate, false, time, behind));
                }
                Some(at) => self.at(at, time, watch, |port, behind| port.advance(time, behind)),
                None => {
                    let Reverse(due) = self.road.due.pop().expect("one is due");
                    let packet = self.road.take(due.slot);
                    self.arrive(packet, time, watch);
                }
            }
        }
    }

    /// A packet is at its next hop, or at its end.
    fn arrive(&mut self, packet: Transit<P>, now: Time, watch: &mut impl Watch<P>) {
        let (hop, hops) = (packet.hop as usize, self.ways[packet.way as usize].len());
        if hop < hops || (hop == hops && packet.after > Span::ZERO) {
            return self.step(packet, now, watch);
        }
        watch.delivered(packet, now);
    }

    /// A packet reaches its next hop now.
    fn step(&mut self, mut packet: Transit<P>, now: Time, watch: &mut impl Watch<P>) {
        let hop = self.ways[packet.way as usize].get(packet.hop as usize).copied();
        packet.hop += 1;
        match hop {
            None => {
                let time = now + packet.after;
                let slot = self.road.keep(packet);
                self.road.reach(slot, time);
            }
            Some(hop @ Hop::Line(at)) => {
                let line = &mut self.lines[at as usize];
                let arrival = line.cross(packet.bytes(), now);
                line.arrivals += 1;
                packet.number = line.arrivals;
                pass(&mut line.wire, &mut self.road, packet, (hop, arrival, now), watch);
            }
            Some(Hop::Link(at)) => {
                let link = &mut self.links[at as usize];
                link.arrivals += 1;
                (packet.number, packet.arrived, packet.marked) = (link.arrivals, now, false);
                watch.reached(at, &packet, now);
                self.at(at as usize, now, watch, |port, behind| port.arrive(packet, now, behind));
            }
        }
    }

    /// Lets a link's port do something now.
    fn at<W: Watch<P>, T>(
        &mut self,
        at: usize,
        now: Time,
        watch: &mut W,
        work: impl FnOnce(&mut Port<Transit<P>>, &mut Behind<'_, P, W>) -> T,
    ) -> T {
        let Link { port, delay, wire, .. } = &mut self.links[at];
        work(port, &mut Behind { link: at as u32, delay: *delay, wire, road: &mut self.road, watch, now })
    }
}

impl<P> Link<P> {
    /// When its rate changes by itself; never, if it lasts.
    fn changes(&self) -> Time {
        self.course.as_ref().and_then(Course::next).unwrap_or(Time::NEVER)
    }
}

impl Line {
    /// A packet enters now: when it would arrive but for its wire.
    fn cross(&mut self, bytes: u64, now: Time) -> Time {
        let Some(transmitter) = &mut self.transmitter else { return now + self.delay };
        if self.free < now {
            self.free = now;
            transmitter.rest();
        }
        self.free += transmitter.send(bytes);
        self.free + self.delay
    }
}

/// A packet that would arrive at `arrival` meets what a wire does.
fn pass<P: Packet>(
    wire: &mut Option<Wire>,
    road: &mut Road<P>,
    packet: Transit<P>,
    (at, arrival, now): (Hop, Time, Time),
    watch: &mut impl Watch<P>,
) {
    let (number, slot) = (packet.number, road.keep(packet));
    let mut each = |slot, passing| match passing {
        Passing::Lost => watch.lost(at, road.take(slot), now),
        Passing::Marked => {
            let packet = road.get(slot);
            if packet.packet.mark() {
                packet.ever_marked = true;
                watch.marked(at, packet, now);
            }
        }
        Passing::Arrives(time) => {
            watch.passed(at, road.get(slot), now);
            road.reach(slot, time);
        }
    };
    match wire {
        None => each(slot, Passing::Arrives(arrival)),
        Some(wire) => wire.pass(slot, number, arrival, &mut each),
    }
}

/// What happens to packets of one link at one time.
struct Behind<'a, P, W> {
    link: u32,
    delay: Span,
    wire: &'a mut Option<Wire>,
    road: &'a mut Road<P>,
    watch: &'a mut W,
    now: Time,
}

impl<P: Packet, W: Watch<P>> Outcomes<Transit<P>> for Behind<'_, P, W> {
    fn started(&mut self, packet: &Transit<P>) {
        self.watch.started(self.link, packet, self.now);
    }

    fn sent(&mut self, packet: Transit<P>) {
        self.watch.sent(self.link, &packet, self.now);
        let when = (Hop::Link(self.link), self.now + self.delay, self.now);
        pass(self.wire, self.road, packet, when, self.watch);
    }

    fn dropped(&mut self, packet: Transit<P>, reason: DropReason) {
        self.watch.dropped(self.link, packet, reason, self.now);
    }

    fn quenched(&mut self, flow: FlowKey) {
        self.watch.quenched(self.link, flow, self.now);
    }
}
