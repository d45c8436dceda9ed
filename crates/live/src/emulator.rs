//! The network that real packets cross, in virtual time: links, lines, and the way of each packet over them.
//!
//! It does what the simulator's network does, with packets that have bytes. It has no clock: whoever drives it says what the
//! time is, and everything that is due happens at its own due time, however late it is asked for. So a driver that was held
//! up delays packets, but never changes the rate of a link.

use crate::fates::{Fate, Fates};
use crate::ledger::{Ledger, LinkMeter};
use crate::packet::Packet;
use sluicegate_aqm::{DropReason, FlowKey};
use sluicegate_base::{Ecn, Rate, Span, Stream, Time};
use sluicegate_lab::replay::packet::set_ecn;
use sluicegate_netsim::network::jitter::Jitter;
use sluicegate_netsim::network::wire::{Course, Wire};
use sluicegate_netsim::{Hop, LinePlan, LinkPlan};
use sluicegate_port::{Outcomes, Port, PortConfig};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A packet that enters: whose it is, and its way.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The row of its flow.
    pub flow: u32,
    /// Whether it carries what its flow sends, or comes back to the flow's sender.
    pub data: bool,
    /// The number of its way, as [`Emulator::add_way`] gave it.
    pub way: u32,
    /// What it is delayed before and after its way, on lines of its own.
    pub own: [Span; 2],
    /// What its queues see of it; the time, frame and marks are filled in.
    pub packet: Packet,
    /// Where its IP header begins, if it has one.
    pub ip: Option<usize>,
}

/// The bytes of a packet on its way, and where it is.
pub struct Frame {
    /// Its bytes.
    pub data: Vec<u8>,
    /// The number of its way: where it is to go at the end.
    pub way: u32,
    entry: Entry,
    hop: u32,
    entered: Time,
    /// Its number at the link that it is at.
    number: u64,
}

impl Frame {
    /// Where its IP header begins, if it has one.
    #[must_use]
    pub fn ip(&self) -> Option<usize> {
        self.entry.ip
    }
}

/// A link as it runs.
pub(crate) struct Link {
    pub name: String,
    pub discipline: Cow<'static, str>,
    pub port: Port<Packet>,
    delay: Span,
    wire: Option<Wire>,
    pub course: Option<Course>,
    fates: Fates,
    /// How many packets have reached it.
    arrivals: u64,
    /// Packets that wait for later ones to pass: how many more, and the frame.
    held: Vec<(u32, u32)>,
    pub meter: LinkMeter,
}

/// A line as it runs: see [`LinePlan`].
struct Line {
    rate: Rate,
    delay: Span,
    jitter: Option<Jitter>,
    free: Time,
    remainder: u64,
}

/// A frame reaches its next hop, or its end. At equal times the one that was sent first comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: Time,
    order: u64,
    frame: u32,
}

/// Packets between hops, and their frames.
#[derive(Default)]
pub(crate) struct Road {
    events: BinaryHeap<Reverse<Event>>,
    order: u64,
    frames: Vec<Frame>,
    free: Vec<u32>,
}

impl Road {
    /// Whose packet a frame is.
    pub(crate) fn entry(&self, frame: u32) -> &Entry {
        &self.frames[frame as usize].entry
    }

    fn reach(&mut self, frame: u32, time: Time) {
        self.order += 1;
        self.events.push(Reverse(Event { time, order: self.order, frame }));
    }

    fn keep(&mut self, data: &[u8], entry: Entry, entered: Time) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            let data = Vec::with_capacity(2048);
            self.frames.push(Frame { data, way: 0, entry, hop: 0, entered, number: 0 });
            self.frames.len() as u32 - 1
        });
        let frame = &mut self.frames[at as usize];
        frame.data.clear();
        frame.data.extend_from_slice(data);
        (frame.way, frame.entry, frame.hop, frame.entered) = (entry.way, entry, 0, entered);
        at
    }
}

/// Sees packets where links send or drop them: with the name of the link and, of one that was dropped or lost, why.
pub type Observer = Box<dyn FnMut(Time, &str, &Frame, Option<&'static str>) + Send>;

/// The network that real packets cross.
pub struct Emulator {
    pub(crate) links: Vec<Link>,
    lines: Vec<Line>,
    ways: Vec<Vec<Hop>>,
    pub(crate) road: Road,
    /// What has been counted.
    pub ledger: Ledger,
    /// Who looks at what links send and drop.
    pub observer: Option<Observer>,
}

/// What happens to packets of one link at one time.
struct Behind<'a> {
    name: &'a str,
    delay: Span,
    wire: &'a mut Option<Wire>,
    fates: &'a Fates,
    held: &'a mut Vec<(u32, u32)>,
    meter: &'a mut LinkMeter,
    road: &'a mut Road,
    ledger: &'a mut Ledger,
    observer: &'a mut Option<Observer>,
    now: Time,
}

impl Emulator {
    /// A network of these links, with the fates of each one's packets, and lines.
    #[must_use]
    pub fn new(links: Vec<(LinkPlan<Packet>, Fates)>, lines: &[LinePlan], seed: u64, ledger: Ledger) -> Emulator {
        let link = |(plan, fates): (LinkPlan<Packet>, Fates)| {
            let wire = Wire::new(&plan.wire, &plan.name, seed);
            let course = plan.wire.rates.map(Course::new);
            let rate = course.as_ref().map_or(plan.rate, Course::rate);
            let rng = Stream::new(seed, &format!("link/{}/discipline", plan.name));
            let config = PortConfig {
                interface: plan.interface,
                framing: plan.framing,
                tx_ring: plan.tx_ring,
                packet: plan.packet,
                name: plan.discipline.clone(),
                ..PortConfig::new(rate)
            };
            Link {
                name: plan.name,
                discipline: plan.discipline,
                port: Port::new(config, plan.queue, rng),
                delay: plan.delay,
                wire,
                course,
                fates,
                arrivals: 0,
                held: Vec::new(),
                meter: LinkMeter::new(plan.monitored, plan.counted),
            }
        };
        let line = |plan: &LinePlan| Line {
            rate: plan.rate,
            delay: plan.delay,
            jitter: Jitter::new(plan.jitter, || Stream::new(seed, &format!("link/{}/jitter", plan.name))),
            free: Time::ZERO,
            remainder: 0,
        };
        Emulator {
            links: links.into_iter().map(link).collect(),
            lines: lines.iter().map(line).collect(),
            ways: Vec::new(),
            road: Road::default(),
            ledger,
            observer: None,
        }
    }

    /// A network of these links, with a way over all of each series in its order.
    #[must_use]
    pub fn in_series<const N: usize>(
        series: [Vec<(LinkPlan<Packet>, Fates)>; N],
        seed: u64,
        ledger: Ledger,
    ) -> Emulator {
        let mut links = 0..;
        let ways = series.each_ref().map(|way| links.by_ref().take(way.len()).map(Hop::Link).collect::<Vec<Hop>>());
        let mut emulator = Emulator::new(series.into_iter().flatten().collect(), &[], seed, ledger);
        emulator.ways.extend(ways);
        emulator
    }

    /// Packets may take this way: its number.
    pub fn add_way(&mut self, hops: &[Hop]) -> u32 {
        self.ways.push(hops.to_vec());
        self.ways.len() as u32 - 1
    }

    /// A packet enters now. Everything due before must have been done: [`advance`](Emulator::advance).
    pub fn enter(&mut self, data: &[u8], entry: Entry, now: Time) {
        self.ledger.enter(&entry);
        let frame = self.road.keep(data, entry, now);
        match entry.own[0] {
            Span::ZERO => self.step(frame, now),
            own => self.road.reach(frame, now + own),
        }
    }

    /// When something is due next; never, if nothing is.
    #[must_use]
    pub fn next(&self) -> Time {
        let links = self.links.iter().map(|link| link.port.next_deadline().min(link.changes()));
        let event = self.road.events.peek().map_or(Time::NEVER, |event| event.0.time);
        links.fold(event, Time::min)
    }

    /// Does all that is due until now, at its time. Packets that come to the end of their way go to `out` with the time at
    /// which they were due there.
    pub fn advance(&mut self, now: Time, out: &mut impl FnMut(&mut Frame, Time)) {
        loop {
            let mut due = (self.road.events.peek().map_or(Time::NEVER, |event| event.0.time), None, false);
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
                    self.at(at, time, |port, behind| port.set_rate(rate, false, time, behind));
                }
                Some(at) => self.at(at, time, |port, behind| port.advance(time, behind)),
                None => {
                    let event = self.road.events.pop().expect("one is due").0;
                    self.arrive(event.frame, event.time, out);
                }
            }
        }
    }

    fn arrive(&mut self, frame: u32, time: Time, out: &mut impl FnMut(&mut Frame, Time)) {
        let Frame { way, hop, entry, .. } = &self.road.frames[frame as usize];
        let (hop, hops) = (*hop as usize, self.ways[*way as usize].len());
        if hop < hops || (hop == hops && entry.own[1] > Span::ZERO) {
            return self.step(frame, time);
        }
        let packet = &mut self.road.frames[frame as usize];
        self.ledger.deliver(&packet.entry, time.since(packet.entered));
        out(packet, time);
        self.road.free.push(frame);
    }

    /// A frame reaches its next hop now.
    fn step(&mut self, frame: u32, now: Time) {
        let (hop, own, bytes) = {
            let Frame { way, hop, entry, .. } = &mut self.road.frames[frame as usize];
            let next = self.ways[*way as usize].get(*hop as usize).copied();
            *hop += 1;
            (next, entry.own[1], entry.packet.bytes)
        };
        match hop {
            None => self.road.reach(frame, now + own),
            Some(Hop::Line(at)) => {
                let arrival = self.lines[at as usize].cross(bytes, now);
                self.road.reach(frame, arrival);
            }
            Some(Hop::Link(at)) => {
                let link = &mut self.links[at as usize];
                link.arrivals += 1;
                let packet = &mut self.road.frames[frame as usize];
                packet.number = link.arrivals;
                let Entry { packet: seen, .. } = &mut packet.entry;
                (seen.frame, seen.arrived, seen.marked) = (frame, now, false);
                let seen = *seen;
                self.ledger.reach(&packet.entry, at, &link.meter);
                self.at(at as usize, now, |port, behind| port.arrive(seen, now, behind));
            }
        }
    }

    /// Lets a link's port do something now.
    fn at<T>(&mut self, at: usize, now: Time, work: impl FnOnce(&mut Port<Packet>, &mut Behind<'_>) -> T) -> T {
        let Link { name, port, delay, wire, fates, held, meter, .. } = &mut self.links[at];
        let Emulator { road, ledger, observer, .. } = self;
        work(port, &mut Behind { name, delay: *delay, wire, fates, held, meter, road, ledger, observer, now })
    }

    /// How many packets are on their way: between hops, and in each link's queue, ring and transmitter.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        (self.road.frames.len() - self.road.free.len()) as u64
    }
}

impl Link {
    /// When its rate changes by itself; never, if it lasts.
    fn changes(&self) -> Time {
        self.course.as_ref().and_then(Course::next).unwrap_or(Time::NEVER)
    }
}

impl Line {
    fn cross(&mut self, bytes: u32, now: Time) -> Time {
        if self.free < now {
            (self.free, self.remainder) = (now, 0);
        }
        self.free += self.rate.time_to_send(bytes.into(), &mut self.remainder);
        let arrival = self.free + self.delay;
        self.jitter.as_mut().map_or(arrival, |jitter| jitter.delay(arrival))
    }
}

impl Behind<'_> {
    fn see(&mut self, frame: u32, why: Option<&'static str>) {
        if let Some(observer) = self.observer {
            observer(self.now, self.name, &self.road.frames[frame as usize], why);
        }
    }

    fn lose(&mut self, frame: u32) {
        self.ledger.lose(&self.road.frames[frame as usize].entry, self.meter);
        self.see(frame, Some("lost"));
        self.road.free.push(frame);
    }

    fn go(&mut self, frame: u32, arrival: Time) {
        self.see(frame, None);
        self.road.reach(frame, arrival);
    }

    /// What the fates of a packet say: when it would arrive, if it does and when that is known.
    fn decide(&mut self, frame: u32, mut time: Time) -> Option<Time> {
        let number = self.road.frames[frame as usize].number;
        for fate in self.fates.of(number) {
            match *fate {
                Fate::Lost => {
                    self.lose(frame);
                    return None;
                }
                Fate::Marked => {
                    let Frame { data, entry, .. } = &mut self.road.frames[frame as usize];
                    if let Some(at) = entry.ip.filter(|_| entry.packet.ecn.mark()) {
                        set_ecn(data, at, Ecn::CongestionExperienced);
                    }
                }
                Fate::Late(span) => time += span,
                Fate::Behind(packets) => {
                    self.held.push((packets, frame));
                    return None;
                }
            }
        }
        Some(time)
    }
}

impl Outcomes<Packet> for Behind<'_> {
    fn started(&mut self, packet: &Packet) {
        let entry = self.road.frames[packet.frame as usize].entry;
        self.ledger.start(&entry, packet, self.meter, self.now);
    }

    fn sent(&mut self, packet: Packet) {
        let frame = packet.frame;
        let kept = &mut self.road.frames[frame as usize];
        (kept.entry.packet.ecn, kept.entry.packet.label) = (packet.ecn, packet.label);
        if let (true, Some(at)) = (packet.marked, kept.entry.ip) {
            set_ecn(&mut kept.data, at, packet.ecn);
        }
        let time = self.now + self.delay;
        let arrival = match self.wire {
            None => Some(time),
            Some(wire) => wire.pass(time),
        };
        let Some(arrival) = arrival else { return self.lose(frame) };
        if self.fates.is_empty() {
            return self.go(frame, arrival);
        }
        let waiting = std::mem::take(self.held);
        if let Some(arrival) = self.decide(frame, arrival) {
            self.go(frame, arrival);
        }
        // Those that wait arrive right after the last of the packets that they let pass.
        for (left, held) in waiting {
            match left {
                0 | 1 => self.go(held, arrival),
                _ => self.held.push((left - 1, held)),
            }
        }
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let entry = self.road.frames[packet.frame as usize].entry;
        self.ledger.drop(&entry, &packet, reason, self.now);
        self.see(packet.frame, Some(reason.word()));
        self.road.free.push(packet.frame);
    }

    fn quenched(&mut self, _: FlowKey) {
        // No host of today heeds one.
    }
}
