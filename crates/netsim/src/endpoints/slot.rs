//! A connection as it runs, in a slot that is used again: memory follows how many there are at once.
//!
//! To a queue each connection is a flow of its own, with a number that no other connection of the run has: the index of its
//! flow or, for connections that come and go, the next number after those indices. Results count it with its flow. A packet
//! names flow, number and slot: what arrives for a connection that is over is dropped by its host, because the slot's
//! number is another one by then.

use crate::endpoints::preparation::Preparation;
use crate::network::access_link::AccessLink;
use crate::network::packet::{CONNECTIONS, End, Header, NONE};
use crate::source::Way;
use sluicegate_base::{Span, Time};
use sluicegate_tcp::connection::SendCounters;
use sluicegate_tcp::{Connection, Flags, Host, Plain};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A connection. The first end is its flow's sender; of connections that come and go it answers, and the second end has
/// opened it: what users wait for comes from the sender to the receiver, as the data of any flow.
#[repr(C, align(64))]
pub struct Slot {
    /// What its packets begin with, by the end that they lead to.
    pub headers: [Header; 2],
    /// What queues know it by; none when the slot is free.
    pub id: u32,
    /// Its flow.
    pub flow: u32,
    /// Bytes of IP and TCP header.
    pub header_bytes: u32,
    /// Deliveries to each end, and bursts of it, that wait as events.
    pub expected: [u32; 2],
    /// Whether what comes to each end may be evaluated as it leaves the network.
    pub early: [bool; 2],
    /// When each end will be looked at for its timer, at the latest; never, when it has none.
    pub armed: [Time; 2],
    /// When its sender stops; never, if it does not.
    pub stop: Time,
    /// How much data its receiver waits for; `u64::MAX` when that does not matter, or no more.
    pub awaited: u64,
    /// The time that the sender takes over each packet, if any.
    pub jitter: Option<Box<Preparation>>,
    /// What it has as one that comes and goes.
    pub transient: Option<Box<Transient>>,
    /// The sender, and the receiver.
    pub ends: [Connection; 2],
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Slot>() == 320, "each flow has one");

/// What connections that come and go have of their own.
pub struct Transient {
    /// Its ways to the shared links, by the end that they lead to.
    pub access: [AccessLink; 2],
    /// The share of packets that its ways lose, in millionths, by the end that they lead to.
    pub losses: [u32; 2],
}

/// The hosts and the way of a new connection that comes and goes.
pub struct Opening<'a> {
    /// Its flow.
    pub flow: u32,
    /// Of the end that answers, and of the one that opens.
    pub hosts: [&'a Arc<Host>; 2],
    /// Its way to the shared links.
    pub way: &'a Way,
    /// Its base round trip.
    pub round_trip: Span,
    /// The share of packets that each of its ways loses, in millionths, by the end that it leads to.
    pub losses: [u32; 2],
    /// When ticks of the ends' clocks begin.
    pub phases: [Span; 2],
}

impl Opening<'_> {
    /// The connection with this number, whose flow has these legs, class and priority.
    fn slot(&self, id: u32, headers: [Header; 2]) -> Slot {
        let [answers, opens] = self.hosts;
        let mut ends = [Connection::listener(answers, self.phases[0]), Connection::opener(opens, self.phases[1])];
        // The applications say when.
        ends.iter_mut().for_each(Connection::close_alone);
        let access = || AccessLink::new(self.way, self.round_trip);
        Slot {
            headers,
            id,
            flow: self.flow,
            header_bytes: answers.header,
            expected: [0; 2],
            early: [false; 2],
            armed: [Time::NEVER; 2],
            stop: Time::NEVER,
            awaited: u64::MAX,
            ends,
            jitter: None,
            transient: Some(Box::new(Transient { access: [access(), access()], losses: self.losses })),
        }
    }
}

/// All connections.
pub struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The slots of connections that come and go, by their numbers.
    by_number: BTreeMap<u32, u32>,
    /// The number of the next one, and the first that one may have.
    next_id: u32,
    first_id: u32,
    /// How many connections last as long as their flow.
    lasting: usize,
}

impl Slots {
    /// No connections. The numbers of those that come and go begin after those of so many flows.
    #[must_use]
    pub fn new(flows: usize) -> Slots {
        let first_id = flows as u32;
        let (slots, free, by_number) = (Vec::with_capacity(flows), Vec::new(), BTreeMap::new());
        Slots { slots, free, by_number, next_id: first_id, first_id, lasting: 0 }
    }

    /// Adds a connection that lasts as long as its flow, whose number it has; its slot.
    pub fn add(&mut self, mut slot: Slot) -> u32 {
        let at = self.slots.len() as u32;
        slot.headers.iter_mut().for_each(|header| header.slot = at);
        self.slots.push(slot);
        self.lasting += 1;
        at
    }

    /// A new connection that comes and goes; its slot.
    pub fn open(&mut self, opening: &Opening<'_>, headers: [Header; 2]) -> u32 {
        let id = self.next_id;
        self.next_id = if id + 1 == CONNECTIONS { self.first_id } else { id + 1 };
        let slot = self.free.last().copied().unwrap_or(self.slots.len() as u32);
        let slot = opening.slot(id, headers.map(|header| Header { connection: id, slot, ..header }));
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.by_number.insert(id, at);
        at
    }

    /// The connection in this slot.
    #[inline(always)]
    pub fn get(&mut self, at: u32) -> &mut Slot {
        &mut self.slots[at as usize]
    }

    /// The same to look at.
    #[must_use]
    pub fn of(&self, at: u32) -> Option<&Slot> {
        self.slots.get(at as usize)
    }

    /// The slot of the connection that comes and goes with this number.
    #[must_use]
    pub fn find(&self, id: u32) -> Option<u32> {
        self.by_number.get(&id).copied()
    }

    /// Gives the slot of a connection up; what its first end has counted.
    pub fn close(&mut self, at: u32) -> SendCounters {
        let slot = &mut self.slots[at as usize];
        self.by_number.remove(&slot.id);
        slot.id = NONE;
        slot.armed = [Time::NEVER; 2];
        self.free.push(at);
        slot.ends[0].counters()
    }

    /// How many connections that come and go there are, and how many slots for them.
    #[must_use]
    pub fn size(&self) -> [usize; 2] {
        let slots = self.slots.len() - self.lasting;
        [slots - self.free.len(), slots]
    }

    /// What the first ends of a flow's open connections have counted.
    pub fn counters(&self, flow: u32) -> impl Iterator<Item = SendCounters> + '_ {
        let of_flow = self.slots.iter().filter(move |slot| slot.id != NONE && slot.flow == flow);
        of_flow.map(|slot| slot.ends[0].counters())
    }
}

/// Whether an end hears of a segment before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hears {
    /// It does.
    Next,
    /// When timers of its own have expired, the first of them then.
    AfterTimers(Time),
    /// That is not known yet.
    Later,
}

impl Slot {
    /// How long a packet is on its own way to the first shared link, sending not counted.
    #[must_use]
    pub fn access_delay(&self, to: End) -> Span {
        self.transient.as_ref().map_or(Span::ZERO, |transient| transient.access[to as usize].delay)
    }

    /// Whether an end hears of this segment at `time`, which is no later than `horizon`, before anything happens to it but that
    /// its timers expire, and then only of that. If that is not known, the segment is expected there.
    #[inline(always)]
    #[must_use]
    pub fn hears_next(&mut self, end: End, segment: &Plain, time: Time, horizon: Time) -> Hears {
        if !self.early[end as usize] {
            return Hears::Later;
        }
        let [sender, receiver] = &self.ends;
        // What opens a connection finds a receiver that only receives; the sender then sends more than it answers.
        let rare = Flags::FIN.with_if(end == End::Sender, Flags::SYN);
        if time <= horizon
            && !segment.flags.has_any(rare)
            && self.expected[end as usize] == 0
            && match end {
                End::Receiver => receiver.only_receives(),
                End::Sender => time < self.stop && sender.will_only_send(time),
            }
        {
            return self.ends[end as usize].timer_until(time).map_or(Hears::Next, Hears::AfterTimers);
        }
        self.expected[end as usize] += 1;
        Hears::Later
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use sluicegate_tcp::{ProfileName, TcpParams};

    fn open(slots: &mut Slots) -> u32 {
        let host = Arc::new(Host::new(&TcpParams::of(ProfileName::Ns2)));
        let way = Way::fixed(Span::ZERO);
        let (hosts, phases) = ([&host, &host], [Span::ZERO; 2]);
        let opening = Opening { flow: 0, hosts, way: &way, round_trip: Span::ZERO, losses: [0; 2], phases };
        slots.open(&opening, [Header::default(); 2])
    }

    #[test]
    fn point_6_a_connection_is_found_while_it_is_open() {
        let mut slots = Slots::new(3);
        let [first, second] = [open(&mut slots), open(&mut slots)];
        assert_eq!([3, 4, 5].map(|id| slots.find(id)), [Some(first), Some(second), None]);
        slots.close(first);
        assert_eq!((open(&mut slots), [3, 4, 5].map(|id| slots.find(id))), (first, [None, Some(second), Some(first)]));
    }
}
