//! The engine: simulated time, and what happens next.
//!
//! At equal times a canonical key decides: first the class of the event, then the number of the link, flow or connection
//! that it belongs to (for packets, a pseudo-random number made from that number and the time). Only events of the
//! same link, flow or connection happen in the order in which they were added. So neither the order in which things are
//! evaluated nor what else happens in a run can change a result.
//!
//! What must happen in the order of time waits here. Many deliveries and crossings of shared lines do not wait: they are
//! evaluated as soon as it is known that nothing can come before them (`network/ahead.rs`). There are four kinds of waiting:
//!
//! | what | where it waits |
//! |---|---|
//! | a port's next departure or wake-up | one field for each port, the earliest at the root of a tree (`deadlines`) |
//! | packets on their way, mostly for a time that is the same for all of a kind | lanes (`lane`) for each kind, sorted as packets are added |
//! | sources, timers about to expire, and packets that would be far from the end of their lane | a wheel of buckets (`wheel`) |
//! | timers of connections, most of which move before they expire | lists of those to look at (`timers`) |

mod deadlines;
mod lane;
mod timers;
mod wheel;

use crate::network::packet::End;
use deadlines::Deadlines;
use lane::{Blocks, Lanes, drawn};
use sluicegate_base::{Span, Time};
use timers::Timers;
use wheel::{Entry, Wheel};

/// What can happen beside ports. Numbers are indices of links, packets, flows, slots of connections and users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The measured window begins.
    Window,
    /// A packet is somewhere.
    Packet(PacketEvent, u32),
    /// A source quench leaves this link for one end of this connection.
    QuenchSent(u32, u32, End),
    /// A source quench reaches one end of this connection.
    Quench(u32, End),
    /// The timer of one end of the connection in this slot may have expired.
    Timer(u32, End),
    /// Timers may expire soon: see [`Engine::take_timer`].
    Timers,
    /// One end of the connection in this slot goes on with what it sends at one time.
    Burst(u32, End),
    /// One end of this pair is to be woken.
    Wake(u32, End),
    /// One end of this pair goes on with what it sends at one time.
    Transmit(u32, End),
    /// What one end of the connection in this slot does by itself is due.
    Act(u32, End),
    /// A flow's source starts, or sends.
    Source(u32),
    /// A user of a group has thought.
    User(u32),
    /// The rate of this link changes by itself.
    Rate(u32),
    /// Packets that have waited on the wire of this link for others go on.
    Released(u32),
    /// The probes take a sample.
    Sample,
}

/// Packets on their way wait in lanes, some for each of the first classes of events after the ports'.
const LANES: usize = 3;

/// The kinds of packets' events; the order is that of their classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PacketEvent {
    /// It reaches its end.
    Delivery = 0,
    /// It reaches the next link of its path.
    Arrival = 1,
    /// It reaches a delay line that several paths share.
    Crossing = 2,
}

/// Where the next event waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A port's discipline wakes up, or its transmitter has sent a packet's last bit: see [`Engine::port`].
    Port,
    /// A packet is somewhere: see [`Engine::take`].
    Packet(PacketEvent),
    /// Anything else.
    Event(Event),
}

impl Event {
    /// The order of what happens at one time: the measured window begins, then ports; then timers, which in ns-2 expire before
    /// what comes at that time, as they were set before it was sent; then deliveries, so that what a receiver answers meets the
    /// others' arrivals of that time in the same order, whenever it was evaluated; then other packets, and the
    /// sources; then rates that change; probes come last.
    fn class(self) -> u64 {
        match self {
            Event::Window | Event::Timers => 0,
            // Before what may happen to them at this time.
            Event::Timer(..) | Event::Wake(..) | Event::Released(_) => TIMERS,
            Event::Packet(event, _) => class_at(1 + event as u64),
            Event::QuenchSent(..) | Event::Quench(..) => 6,
            Event::Burst(..) | Event::Transmit(..) => 7,
            Event::Act(..) => 8,
            Event::Source(_) => 9,
            Event::User(_) => 10,
            Event::Rate(_) => 11,
            Event::Sample => 12,
        }
    }
}

/// The classes of ports and timers; those of packets follow.
const PORTS: u64 = 1;
const TIMERS: u64 = 2;

/// The class of what comes first at a port (0) or in a lane (from 1 on).
#[inline(always)]
fn class_at(head: u64) -> u64 {
    if head == 0 { PORTS } else { TIMERS + head }
}

/// A time and one of the first four classes as one number that orders events: times below 2^62 ns, which is 146 years.
#[inline(always)]
fn key(time: u64, class: usize) -> u64 {
    time << CLASS_BITS | class as u64
}

const CLASS_BITS: u32 = 2;

/// A time that a lane does not take.
const FAR: u64 = 1 << (64 - CLASS_BITS);

/// A class and an owner as one number that orders events of one time.
#[inline(always)]
fn order(class: u64, owner: u64) -> u64 {
    class << 60 | owner
}

/// The clock, and the events to come.
#[derive(Debug)]
pub struct Engine {
    now: Time,
    /// What comes first at a port and in each lane: the [`key`] of its time and class.
    heads: [u64; 1 + LANES],
    ports: Deadlines,
    lanes: [Lanes; LANES],
    blocks: Blocks,
    wheel: Wheel,
    timers: Timers,
    /// Nothing in the wheel or of timers comes before this.
    aside: u64,
    /// Up to when nothing may be evaluated ahead at shared lines.
    held: Time,
    /// How many packets are on their way to receivers that open connections.
    opening: u32,
    added: u64,
    /// Events and other work so far, and the other work.
    spent: u64,
    worked: u64,
}

impl Engine {
    /// Time zero, so many ports, none of which waits for anything, and no events. The wheel's buckets are of about this length;
    /// what lies no further ahead than `reach` should find its place there, for which buckets are made longer if need be.
    /// Packets may be those of `many` flows.
    #[must_use]
    pub fn new(ports: usize, bucket: Span, reach: Span, many: bool) -> Engine {
        let mut blocks = Blocks::default();
        Engine {
            now: Time::ZERO,
            heads: core::array::from_fn(|class| key(u64::MAX, class)),
            ports: Deadlines::new(ports),
            lanes: core::array::from_fn(|_| Lanes::new(many, &mut blocks)),
            blocks,
            wheel: Wheel::new(bucket, reach),
            timers: Timers::new(),
            aside: u64::MAX,
            held: Time::ZERO,
            opening: 0,
            added: 0,
            spent: 0,
            worked: 0,
        }
    }

    /// The present.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// An event to come has been evaluated before its time: it counts as any other.
    #[inline(always)]
    pub fn evaluated(&mut self) {
        self.spent += 1;
    }

    /// The present event had nothing to do, a timer that has been put off: it does not count, as there may be more or fewer of
    /// them by where a run stops.
    pub fn passed_over(&mut self) {
        self.worked += 1;
    }

    /// Does as much work as so many events beside the present one.
    #[inline(always)]
    pub fn work(&mut self, events: u64) {
        self.spent += events;
        self.worked += events;
    }

    /// Events and other work so far.
    #[inline(always)]
    #[must_use]
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Events so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.spent - self.worked
    }

    /// A port's next departure or wake-up; `Time::NEVER` for none.
    #[inline(always)]
    pub fn set_port(&mut self, port: u32, deadline: Time) {
        // A time that is too far off for a key never comes.
        self.heads[0] = key(self.ports.set(port, deadline.0.min(FAR - 1)), 0);
    }

    /// A packet whose flow and direction have this number will be somewhere at `time`.
    #[inline(always)]
    pub fn push_packet(&mut self, time: Time, event: PacketEvent, packet: u32, owner: u32) {
        self.added += 1;
        let entry = lane::Entry { time: time.0, owner, packet, added: self.added as u32 };
        if time.0 >= FAR || !self.lanes[event as usize].append(entry, &mut self.blocks) {
            self.push_packet_aside(event, entry);
        }
    }

    /// The same of one that is not the last of the first lane, or the first.
    #[inline(never)]
    fn push_packet_aside(&mut self, event: PacketEvent, entry: lane::Entry) {
        let (lane, time) = (event as usize, entry.time);
        if time < FAR && !self.waits(event) {
            self.lanes[lane].start(entry);
            self.heads[1 + lane] = key(time, 1 + lane);
            return;
        }
        if time < FAR && self.lanes[lane].push(entry, &mut self.blocks) {
            self.heads[1 + lane] = key(self.lanes[lane].head(), 1 + lane);
            return;
        }
        self.push_packet_between(Time(time), event, entry.packet, entry.owner);
    }

    /// The same of one that comes before many that wait already, anywhere among them.
    #[inline(never)]
    pub fn push_packet_between(&mut self, time: Time, event: PacketEvent, packet: u32, owner: u32) {
        if event == PacketEvent::Crossing {
            self.hold(time);
        }
        let class = class_at(1 + event as u64);
        self.put(time, order(class, drawn(owner, time.0).into()), Event::Packet(event, packet));
    }

    /// Adds any event but a port's, of this flow, user or end of a connection.
    pub fn push(&mut self, time: Time, event: Event, owner: u64) {
        self.push_aside(time, event, owner);
    }

    fn push_aside(&mut self, time: Time, event: Event, owner: u64) {
        self.put(time, order(event.class(), owner), event);
    }

    /// Adds an event to the wheel.
    #[inline(always)]
    fn put(&mut self, time: Time, order: u64, event: Event) {
        self.added += 1;
        self.wheel.put(Entry::new(time.0, order, self.added, event));
        self.aside = self.aside.min(self.wheel.bound());
    }

    /// The timer of an end of the connection in this slot, with this number, expires at `time` or later: when the end will be
    /// looked at, which is no later.
    pub fn push_timer(&mut self, time: Time, slot: u32, end: End, owner: u64) -> Time {
        let turn = self.timers.add(slot, end, time.0, self.now.0);
        match turn {
            Some(turn) => self.aside = self.aside.min(turn),
            None => self.push_aside(time, Event::Timer(slot, end), owner),
        }
        turn.map_or(time, Time)
    }

    /// An end that is to be looked at now for its timer, as [`Event::Timers`] says; `None` when all have been.
    pub fn take_timer(&mut self) -> Option<(u32, End)> {
        let due = self.timers.take();
        if due.is_none() {
            self.find_aside();
        }
        due
    }

    /// Finds out before when nothing in the wheel or of timers comes.
    #[inline(always)]
    fn find_aside(&mut self) {
        self.aside = self.wheel.bound().min(self.timers.begins());
    }

    /// Goes on to the next event, if it is no later than `until`.
    #[inline(always)]
    pub fn pop(&mut self, until: Time) -> Option<Next> {
        let [a, b, c, d] = self.heads;
        let first = a.min(b).min(c.min(d));
        let time = first >> CLASS_BITS;
        if self.aside <= time {
            if let Some(event) = self.pop_aside(first, until) {
                return Some(Next::Event(event));
            }
        }
        if time > until.0 {
            return None;
        }
        self.now = Time(time);
        self.spent += 1;
        Some(match first % (1 << CLASS_BITS) {
            0 => Next::Port,
            1 => Next::Packet(PacketEvent::Delivery),
            2 => Next::Packet(PacketEvent::Arrival),
            _ => Next::Packet(PacketEvent::Crossing),
        })
    }

    /// No event is to come before this time.
    #[must_use]
    pub fn next(&self) -> Time {
        let [a, b, c, d] = self.heads;
        Time((a.min(b).min(c.min(d)) >> CLASS_BITS).min(self.aside))
    }

    /// The port whose turn it is.
    #[inline(always)]
    #[must_use]
    pub fn port(&self) -> u32 {
        self.ports.first_at()
    }

    /// The packet whose turn it is.
    #[inline(always)]
    pub fn take(&mut self, event: PacketEvent) -> u32 {
        let lane = event as usize;
        let (packet, next) = self.lanes[lane].pop(&mut self.blocks);
        self.heads[1 + lane] = key(next, 1 + lane);
        packet
    }

    /// The time of the first packet in the lane of these events; later than any run for none.
    #[inline(always)]
    #[must_use]
    pub fn head(&self, event: PacketEvent) -> Time {
        Time(self.heads[1 + event as usize] >> CLASS_BITS)
    }

    /// Whether there is one.
    #[inline(always)]
    #[must_use]
    pub fn waits(&self, event: PacketEvent) -> bool {
        self.heads[1 + event as usize] < key(u64::MAX, 0)
    }

    /// Up to `time` an event may send a packet to a shared line before those that are known: they wait for their time.
    #[inline(always)]
    pub fn hold(&mut self, time: Time) {
        self.held = self.held.max(time);
    }

    /// Whether that is over.
    #[inline(always)]
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.held < self.now
    }

    /// A packet that opens a connection is on its way to the receiver.
    pub fn begin_opening(&mut self) {
        self.opening += 1;
    }

    /// It is no more.
    pub fn end_opening(&mut self) {
        self.opening -= 1;
    }

    /// Whether there is any.
    #[must_use]
    pub fn is_opening(&self) -> bool {
        self.opening > 0
    }

    /// A packet that follows in the lane of these events, so many places on.
    #[inline(always)]
    #[must_use]
    pub fn following(&self, event: PacketEvent, places: usize) -> Option<u32> {
        self.lanes[event as usize].get(places, &self.blocks)
    }

    /// Fetches what the lane of these events has so many places on.
    #[inline(always)]
    pub fn prefetch(&self, event: PacketEvent, places: usize) {
        self.lanes[event as usize].prefetch(places, &self.blocks);
    }

    /// The end of a connection that is looked at after so many others for its timer, if that is in the same turn.
    #[must_use]
    pub fn following_timer(&self, others: usize) -> Option<(u32, End)> {
        self.timers.following(others)
    }

    /// The next event of the wheel or for timers, if it comes before the first one elsewhere and no later than `until`.
    #[inline(never)]
    fn pop_aside(&mut self, first: u64, until: Time) -> Option<Event> {
        let (time, at) = (first >> CLASS_BITS, (first % (1 << CLASS_BITS)) as usize);
        let (last, turn) = (time.min(until.0), self.timers.begins());
        if !self.wheel.reaches(last.min(turn - 1)) {
            self.find_aside();
            if turn > last {
                return None;
            }
            self.now = Time(turn);
            self.spent += 1;
            return Some(Event::Timers);
        }
        let first_aside = self.wheel.bound();
        if first_aside == time && self.is_before_aside(at) {
            self.find_aside();
            return None;
        }
        self.now = Time(first_aside);
        self.spent += 1;
        let event = self.wheel.pop();
        self.find_aside();
        Some(event)
    }

    /// Whether what comes first at a port or in a lane comes before the wheel's first event, which has the same time.
    #[cold]
    fn is_before_aside(&self, at: usize) -> bool {
        let first = match at {
            0 => order(PORTS, self.ports.first_at().into()),
            _ => order(class_at(at as u64), self.lanes[at - 1].turn()),
        };
        let is_older = |added| at > 0 && self.lanes[at - 1].is_older(added);
        self.wheel.head().is_some_and(|head| first < head.order || (first == head.order && is_older(head.added)))
    }

    /// Nothing more happens before `time`: that is the present.
    pub fn advance_to(&mut self, time: Time) {
        self.now = self.now.max(time);
    }
}

#[cfg(test)]
mod tests;
