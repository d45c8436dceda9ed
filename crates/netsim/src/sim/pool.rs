//! Connections that come and go, in places that are used again: memory follows how many there are at once.
//!
//! To a queue each connection is a flow of its own, by a number that no other one of the run has; results count it with
//! its group. A packet names both, and its connection's place: what arrives for a connection that is over is dropped by
//! its host, because the place's number is another one by then.

use super::Sim;
use super::population::Script;
use super::transport::BURST;
use crate::events::{End, Event};
use crate::packet::{Pooled, owner};
use crate::source::way::{Mile, Way};
use sluicegate_base::{Ecn, Span, Time};
use sluicegate_tcp::send::SendCounters;
use sluicegate_tcp::{Connection, Flags, Host};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// No place, or no number.
pub(super) const NONE: u32 = u32::MAX;

/// A connection as it runs. Its first end answers and its second end has opened it: what users wait for comes from the
/// sender to the receiver, as the data of any flow.
pub(super) struct Slot {
    /// What queues know it by; none when the place is free.
    pub id: u32,
    /// Its group, by the number of its flow.
    pub flow: u32,
    pub ends: [Connection; 2],
    armed: [Option<Time>; 2],
    /// Its ways to the shared links, by the end that they lead to.
    miles: [Mile; 2],
    header: u32,
    /// Whose application it serves: a user, or a script.
    pub owner: u32,
    /// The next open connection of the same user that waits for work.
    pub next: u32,
    /// The share of packets that its ways lose, in millionths, by the end that they lead to.
    losses: [u32; 2],
    /// What is asked for on it.
    pub pending: Pending,
    /// What its ends do, if nobody else says so.
    pub script: Option<Box<Script>>,
}

/// A request under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    /// When it was made.
    pub asked: Time,
    /// Its bytes, and where it ends in the stream of requests.
    pub request: u32,
    pub request_end: u64,
    /// Bytes of the response, and where it ends in the stream of responses.
    pub response: u32,
    pub response_end: u64,
    /// Whether the connection is closed after it.
    pub last: bool,
    /// Whether the request has come, and whether the response has.
    pub answered: bool,
    pub complete: bool,
}

/// The hosts and the way of a new connection.
pub(super) struct Opening<'a> {
    pub flow: u32,
    /// Of the end that answers, and of the one that opens.
    pub hosts: [&'a Host; 2],
    pub way: &'a Way,
    pub round_trip: Span,
    /// The share of packets that each of its ways loses, in millionths, by the end that it leads to.
    pub losses: [u32; 2],
    /// When ticks of the ends' clocks begin.
    pub phases: [Span; 2],
    pub owner: u32,
}

/// All connections of this kind.
pub(super) struct Pool {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// The place of each open connection, by its number.
    places: BTreeMap<u32, u32>,
    /// The number of the next connection, and the first that a connection may have.
    next_id: u32,
    first_id: u32,
}

impl Pool {
    /// No connections. Their numbers begin after those of the flows.
    pub fn new(flows: usize) -> Pool {
        let first_id = flows as u32;
        Pool { slots: Vec::new(), free: Vec::new(), places: BTreeMap::new(), next_id: first_id, first_id }
    }

    /// A new connection; its place.
    pub fn open(&mut self, opening: &Opening<'_>) -> u32 {
        let Opening { flow, hosts, way, round_trip, losses, phases, owner } = *opening;
        let id = self.next_id;
        self.next_id = if id + 1 == NONE { self.first_id } else { id + 1 };
        let mut ends = [Connection::listener(hosts[0], phases[0]), Connection::opener(hosts[1], phases[1])];
        // The applications say when.
        ends.iter_mut().for_each(Connection::close_alone);
        let slot = Slot {
            id,
            flow,
            ends,
            armed: [None; 2],
            miles: [Mile::new(way, round_trip), Mile::new(way, round_trip)],
            header: hosts[0].header,
            owner,
            losses,
            next: NONE,
            pending: Pending { complete: true, answered: true, ..Pending::default() },
            script: None,
        };
        let place = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        self.places.insert(id, place);
        place
    }

    pub fn get(&mut self, at: u32) -> &mut Slot {
        &mut self.slots[at as usize]
    }

    /// The place of the connection with this number.
    pub fn find(&self, id: u32) -> Option<u32> {
        self.places.get(&id).copied()
    }

    /// Gives the place of a connection up; what its first end has counted.
    fn close(&mut self, at: u32) -> SendCounters {
        let slot = &mut self.slots[at as usize];
        self.places.remove(&slot.id);
        slot.id = NONE;
        slot.armed = [None; 2];
        slot.script = None;
        self.free.push(at);
        slot.ends[0].counters()
    }

    /// How many there are, and how many places.
    pub fn size(&self) -> [usize; 2] {
        [self.slots.len() - self.free.len(), self.slots.len()]
    }

    /// What the first ends of a group's open connections have counted.
    pub fn counters(&self, flow: u32) -> impl Iterator<Item = SendCounters> + '_ {
        let of_group = self.slots.iter().filter(move |slot| slot.id != NONE && slot.flow == flow);
        of_group.map(|slot| slot.ends[0].counters())
    }
}

impl Slot {
    /// How long a packet is on its own way to the first shared link, sending not counted.
    pub fn delay(&self, to: End) -> Span {
        self.miles[to as usize].delay
    }
}

impl Sim {
    /// A packet of a pooled connection has reached its end.
    pub(super) fn deliver_pooled(&mut self, place: u32, pooled: Pooled) {
        self.travelling.release(place);
        let packet = self.travelling.get(place);
        let slot = self.population.pool.get(pooled.place);
        if slot.id != pooled.id.get() {
            return;
        }
        let (to, opens) = (packet.to, packet.segment.flags.has(Flags::SYN));
        let marked = packet.ecn == Ecn::CongestionExperienced;
        slot.ends[to as usize].on_labelled(&packet.segment, marked, packet.label, self.now);
        if !opens {
            self.begin_script(pooled.place, to);
        }
        self.act(pooled.place, to);
        self.pump_pooled(pooled.place, to);
        self.retire(pooled.place);
    }

    /// Sends what one end of a pooled connection has to send, and sets its timer.
    pub(super) fn pump_pooled(&mut self, place: u32, end: End) {
        let to = if end == End::Sender { End::Receiver } else { End::Sender };
        for _ in 0..BURST {
            let slot = self.population.pool.get(place);
            let scripted = slot.script.is_some();
            let connection = &mut slot.ends[end as usize];
            let now = self.now;
            let put = self.travelling.put(|packet| connection.poll_into(now, &mut packet.segment));
            let Some(at) = put.map(|(at, _)| at) else {
                if scripted && connection.all_sent() && self.play(place, end) {
                    continue;
                }
                let slot = self.population.pool.get(place);
                let connection = &mut slot.ends[end as usize];
                if let Some(at) = connection.next_timer() {
                    let armed = &mut slot.armed[end as usize];
                    if armed.is_none_or(|time| at < time) {
                        *armed = Some(at);
                        self.events.push(at, Event::PoolTimer(place, end), owner(slot.id, end));
                    }
                }
                return;
            };
            self.work += 1;
            self.send_pooled(place, to, at);
        }
        let id = self.population.pool.get(place).id;
        self.events.push(self.now, Event::PoolBurst(place, end), owner(id, end));
    }

    /// Sends the packet in this place, whose segment is written.
    fn send_pooled(&mut self, place: u32, to: End, at: u32) {
        let slot = self.population.pool.get(place);
        let packet = self.travelling.get(at);
        packet.bytes = slot.header + packet.segment.option_bytes() + packet.segment.len;
        let sent = slot.miles[to as usize].cross(packet.bytes, self.now);
        (packet.flow, packet.pooled) = (slot.flow, NonZeroU32::new(slot.id).map(|id| Pooled { id, place }));
        let (flow, loss) = (slot.flow, slot.losses[to as usize]);
        let state = &mut self.flows[flow as usize];
        if to == End::Receiver {
            state.totals.sent[0] += 1;
            state.totals.sent[1] += u64::from(packet.bytes);
        }
        if loss > 0 && self.population.group(flow).losses(loss) {
            state.totals.drops_elsewhere += u64::from(to == End::Receiver);
            return self.travelling.release(at);
        }
        (packet.to, packet.leg) = (to, state.first[to as usize]);
        (packet.class, packet.priority, packet.label) = (state.class, state.priority, 0);
        packet.ecn = if packet.segment.flags.has(Flags::ECT) { Ecn::Capable0 } else { Ecn::NotCapable };
        packet.sent = self.now;
        self.launch(at, sent);
    }

    /// The timer of one end of a pooled connection may have expired. A connection that is over has none armed, and one
    /// that has taken its place arms its own, so an entry that is stale does no harm.
    pub(super) fn pool_timer(&mut self, place: u32, end: End) {
        let slot = self.population.pool.get(place);
        if slot.armed[end as usize].take_if(|at| *at <= self.now).is_some() {
            slot.ends[end as usize].on_timer(self.now);
            self.pump_pooled(place, end);
        }
    }

    /// Gives the place of a connection up once both its ends are closed.
    fn retire(&mut self, place: u32) {
        let slot = self.population.pool.get(place);
        if slot.ends.iter().all(Connection::closed) {
            let (flow, counters) = (slot.flow, self.population.pool.close(place));
            self.population.group(flow).closed(&counters);
        }
    }
}

/// The sum of two counts.
pub(super) fn sum(a: SendCounters, b: &SendCounters) -> SendCounters {
    SendCounters {
        segments: a.segments + b.segments,
        retransmissions: a.retransmissions + b.retransmissions,
        timeouts: a.timeouts + b.timeouts,
        fast_retransmits: a.fast_retransmits + b.fast_retransmits,
        mark_responses: a.mark_responses + b.mark_responses,
        quench_responses: a.quench_responses + b.quench_responses,
    }
}

/// A time within a tick of this length, from 32 random bits.
pub(super) fn phase(tick: Span, bits: u32) -> Span {
    Span(((u128::from(tick.0) * u128::from(bits)) >> 32) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::{Link, Params, Rate};
    use sluicegate_tcp::TcpParams;

    fn open(pool: &mut Pool) -> u32 {
        let host = Host::new(&TcpParams::defaults(&Link { rate: Rate(1), packet: 1 }).unwrap());
        let way = Way::fixed(Span::ZERO);
        let (hosts, phases) = ([&host, &host], [Span::ZERO; 2]);
        pool.open(&Opening { flow: 0, hosts, way: &way, round_trip: Span::ZERO, losses: [0; 2], phases, owner: 0 })
    }

    #[test]
    fn point_6_a_connection_is_found_while_it_is_open() {
        let mut pool = Pool::new(3);
        let [first, second] = [open(&mut pool), open(&mut pool)];
        assert_eq!([3, 4, 5].map(|id| pool.find(id)), [Some(first), Some(second), None]);
        pool.close(first);
        assert_eq!((open(&mut pool), [3, 4, 5].map(|id| pool.find(id))), (first, [None, Some(second), Some(first)]));
    }
}
