//! Connections that come by themselves, and do what their vectors say.

use super::super::pool::{Opening, Pending, phase};
use super::{Sim, Uses};
use crate::events::{End, Event};
use crate::packet::owner;
use crate::source::connections::{Arrivals, ConnectionsPlan, Side, Unit, Vector};
use sluicegate_base::{Span, Stream, Time};
use sluicegate_tcp::Host;
use std::sync::Arc;

/// A group's connections as they come.
pub(super) struct Coming {
    pub plan: Arc<ConnectionsPlan>,
    arrivals: Arrivals,
    next: Option<Arc<Vector>>,
    /// For what vectors leave open: round trips, and when ticks of clocks begin.
    rng: Stream,
    count: u64,
}

impl Coming {
    pub fn new(plan: &Arc<ConnectionsPlan>, seed: u64, flow: usize) -> Coming {
        Coming {
            arrivals: Arrivals::new(plan.vectors.clone(), seed, flow),
            plan: plan.clone(),
            next: None,
            rng: Stream::new(seed, &format!("flow/{flow}/connections/ends")),
            count: 0,
        }
    }
}

/// How far the ends of a connection have come with its vector.
pub(in super::super) struct Script {
    vector: Arc<Vector>,
    sides: [Part; 2],
}

/// One end's part.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// The index of its next unit, or of what comes after the last unit of all.
    next: u32,
    /// Whether its time runs already.
    timed: bool,
    /// Whether the connection is open at this end.
    begun: bool,
    /// Bytes that it has been sent by all units of the other end before its next one.
    expects: u64,
    closed: bool,
}

impl Script {
    fn new(vector: Arc<Vector>) -> Box<Script> {
        let mut script = Script { vector, sides: [Part::default(); 2] };
        for end in [End::Sender, End::Receiver] {
            script.seek(end, 0);
        }
        Box::new(script)
    }

    /// Goes on to the next unit of an end, from this index on.
    fn seek(&mut self, end: End, from: usize) {
        let part = &mut self.sides[end as usize];
        let units = &self.vector.units;
        let mut at = from;
        while at < units.len() && end_of(units[at].side) != end {
            part.expects += u64::from(units[at].bytes);
            at += 1;
        }
        part.next = at as u32;
    }

    fn unit(&self, end: End) -> Option<Unit> {
        self.vector.units.get(self.sides[end as usize].next as usize).copied()
    }

    /// Whether an end that has nothing more to send ends its stream: the one with the last unit, and either of two that
    /// do not wait for each other.
    fn closes(&self, end: End) -> bool {
        self.vector.concurrent || self.vector.units.last().is_some_and(|unit| end_of(unit.side) == end)
    }
}

/// The acceptor is the sender: what it sends crosses the path of the group.
fn end_of(side: Side) -> End {
    if side == Side::Acceptor { End::Sender } else { End::Receiver }
}

/// The host at one end: the other's window limits what it sends, and its own segments their length.
fn host(plan: &Host, vector: &Vector, side: Side) -> Host {
    let (own, other) = if side == Side::Initiator { (0, 1) } else { (1, 0) };
    let mut host = plan.clone();
    if let Some(windows) = vector.windows {
        host.window = u64::from(windows[other]);
    }
    if let Some(segments) = vector.segments {
        host.mss = host.mss.min(segments[own]);
    }
    host.mss = u64::from(host.mss).min(host.window) as u32;
    if vector.windows.is_some() || vector.segments.is_some() {
        let full = host.window as f64 / f64::from(host.mss);
        host.initial_ssthresh = full.max(full.min(2.0));
    }
    host
}

impl Sim {
    /// The next of a group's connections opens, if it is time for one, and the one after it is waited for.
    pub(super) fn come(&mut self, flow: u32) {
        let (start, stop) = (self.flows[flow as usize].plan.start, self.flows[flow as usize].plan.stop);
        if self.now >= stop {
            return;
        }
        let Some(at) = self.population.position(flow) else { return };
        let Uses::Connections(coming) = &mut self.population.groups[at as usize].uses else { return };
        let due = coming.next.take();
        coming.next = coming.arrivals.next();
        if let Some(next) = &coming.next {
            self.events.push((start + next.start.since(Time::ZERO)).max(self.now), Event::Source(flow), flow.into());
        }
        let Some(vector) = due else { return };
        let plan = coming.plan.clone();
        let drawn = plan.way.round_trip.draw(coming.count, &mut coming.rng);
        coming.count += 1;
        let mut phases = [Span::ZERO; 2];
        phases.iter_mut().for_each(|it| *it = phase(plan.host.rto.tick, (coming.rng.bits() >> 32) as u32));
        let hosts = [Side::Acceptor, Side::Initiator].map(|side| host(&plan.host, &vector, side));
        let opening = Opening {
            flow,
            hosts: [&hosts[0], &hosts[1]],
            way: &plan.way,
            round_trip: vector.round_trip.unwrap_or(drawn),
            // What the initiator sends leads to the sender, and what the acceptor sends to the receiver.
            losses: vector.losses.unwrap_or_default(),
            phases,
            owner: 0,
        };
        let place = self.population.open(at, &opening);
        let slot = self.population.pool.get(place);
        slot.script = Some(Script::new(vector));
        // Its first unit may take a while, or be the other end's.
        slot.ends[End::Receiver as usize].write(0);
        self.play(place, End::Receiver);
        self.pump_pooled(place, End::Receiver);
    }

    /// One end of a connection does what its vector says, as far as it can now; whether it did anything.
    pub(in super::super) fn play(&mut self, place: u32, end: End) -> bool {
        let mut sent = false;
        loop {
            let slot = self.population.pool.get(place);
            let Some(script) = &slot.script else { return sent };
            let Some(unit) = script.unit(end) else { break };
            let part = script.sides[end as usize];
            let connection = &slot.ends[end as usize];
            let ready = if unit.answers { connection.received() >= part.expects } else { connection.all_sent() };
            if part.timed || (!part.begun && end == End::Sender) || !ready {
                return sent;
            }
            if unit.wait > Span::ZERO {
                let slot = self.population.pool.get(place);
                if let Some(script) = &mut slot.script {
                    script.sides[end as usize].timed = true;
                }
                let owner = owner(slot.id, end);
                self.events.push(self.now + unit.wait, Event::Act(place, end), owner);
                return sent;
            }
            self.send_unit(place, end, unit);
            sent = true;
        }
        let slot = self.population.pool.get(place);
        let Some(script) = &mut slot.script else { return sent };
        let connection = &mut slot.ends[end as usize];
        if !script.sides[end as usize].closed && (script.closes(end) || connection.other_ended()) {
            script.sides[end as usize].closed = true;
            connection.close();
            sent = true;
        }
        sent
    }

    /// A segment that does not open the connection has come to one end: its first unit may count its time.
    pub(in super::super) fn begin_script(&mut self, place: u32, end: End) {
        if let Some(script) = &mut self.population.pool.get(place).script {
            script.sides[end as usize].begun = true;
        }
    }

    /// The time before an end's next unit is over.
    pub(in super::super) fn act_in_time(&mut self, place: u32, end: End) {
        let slot = self.population.pool.get(place);
        let Some(script) = &mut slot.script else { return };
        script.sides[end as usize].timed = false;
        let Some(unit) = script.unit(end) else { return };
        self.send_unit(place, end, unit);
        self.play(place, end);
        self.pump_pooled(place, end);
    }

    fn send_unit(&mut self, place: u32, end: End, unit: Unit) {
        let now = self.now;
        let slot = self.population.pool.get(place);
        let Some(script) = &mut slot.script else { return };
        let at = script.sides[end as usize].next as usize;
        if unit.bytes == 0 {
            script.sides[end as usize].closed = true;
            slot.ends[end as usize].close();
        } else {
            slot.ends[end as usize].write(u64::from(unit.bytes));
        }
        let answer = script.vector.units.get(at + 1).copied();
        script.seek(end, at + 1);
        let answer = answer.filter(|answer| answer.answers && answer.bytes > 0 && end_of(answer.side) == End::Sender);
        let Some(answer) = answer.filter(|_| end == End::Receiver) else { return };
        let before = script.sides[end as usize].expects;
        // What the initiator expects before its next unit ends with a run of the acceptor's; the first is the response.
        let run: u64 = script.vector.units[at + 1..script.sides[end as usize].next as usize]
            .iter()
            .map(|unit| u64::from(unit.bytes))
            .sum();
        slot.pending = Pending {
            asked: now,
            request: unit.bytes,
            request_end: 0,
            response: answer.bytes,
            response_end: before - run + u64::from(answer.bytes),
            last: false,
            answered: true,
            complete: false,
        };
        let flow = slot.flow;
        self.population.group(flow).totals.asked += 1;
    }
}
