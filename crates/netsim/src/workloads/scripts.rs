//! Connections that come by themselves, and do what their vectors say.

use super::{Request, Workload, Workloads, phase};
use crate::endpoints::slot::Opening;
use crate::engine::Event;
use crate::network::packet::{End, NONE, owner};
use crate::source::connections::{Arrivals, ConnectionsPlan, Side, Unit, Vector};
use sluicegate_base::{Span, Stream, Time};
use sluicegate_tcp::Host;
use std::sync::Arc;

/// A group's connections as they come.
pub struct ArrivalProcess {
    pub plan: Arc<ConnectionsPlan>,
    arrivals: Arrivals,
    next: Option<Arc<Vector>>,
    /// For what vectors leave open: round trips, and when ticks of clocks begin.
    rng: Stream,
    count: u64,
}

impl ArrivalProcess {
    pub fn new(plan: &Arc<ConnectionsPlan>, seed: u64, flow: usize) -> ArrivalProcess {
        ArrivalProcess {
            arrivals: Arrivals::new(plan.vectors.clone(), seed, flow),
            plan: plan.clone(),
            next: None,
            rng: Stream::new(seed, &format!("flow/{flow}/connections/ends")),
            count: 0,
        }
    }
}

/// How far the ends of a connection have come with its vector.
pub struct Script {
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
fn host(plan: &Arc<Host>, vector: &Vector, side: Side) -> Arc<Host> {
    if vector.windows.is_none() && vector.segments.is_none() && u64::from(plan.mss) <= plan.window {
        return Arc::clone(plan);
    }
    let (own, other) = if side == Side::Initiator { (0, 1) } else { (1, 0) };
    let mut host = Host::clone(plan);
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
    Arc::new(host)
}

impl Workloads {
    /// The next of a group's connections opens, if it is time for one, and the one after it is waited for.
    pub(super) fn open_next(&mut self, flow: u32) {
        let (start, stop, now) = (self.plan(flow).start, self.plan(flow).stop, self.now());
        if now >= stop {
            return;
        }
        let Some(at) = self.position(flow) else { return };
        let Workload::Connections(arrivals) = &mut self.groups[at as usize].workload else { return };
        let due = arrivals.next.take();
        arrivals.next = arrivals.arrivals.next();
        if let Some(next) = &arrivals.next {
            let time = (start + next.start.since(Time::ZERO)).max(now);
            self.ends.network.engine.push(time, Event::Source(flow), flow.into());
        }
        let Some(vector) = due else { return };
        let plan = arrivals.plan.clone();
        let drawn = plan.way.round_trip.draw(arrivals.count, &mut arrivals.rng);
        arrivals.count += 1;
        let mut phases = [Span::ZERO; 2];
        phases.iter_mut().for_each(|it| *it = phase(&plan.host.rto, (arrivals.rng.bits() >> 32) as u32));
        let hosts = [Side::Acceptor, Side::Initiator].map(|side| host(&plan.host, &vector, side));
        let opening = Opening {
            flow,
            hosts: [&hosts[0], &hosts[1]],
            way: &plan.way,
            round_trip: vector.round_trip.unwrap_or(drawn),
            // What the initiator sends leads to the sender, and what the acceptor sends to the receiver.
            losses: vector.losses.unwrap_or_default(),
            phases,
        };
        let slot = self.open(at, &opening, NONE);
        self.applications[slot as usize].script = Some(Script::new(vector));
        // Its first unit may take a while, or be the other end's.
        self.ends.slots.get(slot).ends[End::Receiver as usize].write(0);
        self.play(slot, End::Receiver);
        self.pump(slot, End::Receiver);
    }

    /// One end of a connection does what its vector says, as far as it can now; whether it did anything.
    pub(super) fn play(&mut self, slot: u32, end: End) -> bool {
        let mut sent = false;
        loop {
            let Some(script) = &mut self.applications[slot as usize].script else { return sent };
            let Some(unit) = script.unit(end) else { break };
            let part = &mut script.sides[end as usize];
            let of_slot = self.ends.slots.get(slot);
            let connection = &of_slot.ends[end as usize];
            let ready = if unit.answers { connection.received() >= part.expects } else { connection.all_sent() };
            if part.timed || (!part.begun && end == End::Sender) || !ready {
                return sent;
            }
            if unit.wait > Span::ZERO {
                part.timed = true;
                let owner = owner(of_slot.id, end);
                let time = self.now() + unit.wait;
                self.ends.network.engine.push(time, Event::Act(slot, end), owner);
                return sent;
            }
            self.send_unit(slot, end, unit);
            sent = true;
        }
        let Some(script) = &mut self.applications[slot as usize].script else { return sent };
        let connection = &mut self.ends.slots.get(slot).ends[end as usize];
        if !script.sides[end as usize].closed && (script.closes(end) || connection.other_ended()) {
            script.sides[end as usize].closed = true;
            connection.close();
            sent = true;
        }
        sent
    }

    /// A segment that does not open the connection has come to one end: its first unit may count its time.
    pub(super) fn begin_script(&mut self, slot: u32, end: End) {
        if let Some(script) = &mut self.applications[slot as usize].script {
            script.sides[end as usize].begun = true;
        }
    }

    /// The time before an end's next unit is over.
    pub fn act(&mut self, slot: u32, end: End) {
        let Some(script) = &mut self.applications[slot as usize].script else { return };
        script.sides[end as usize].timed = false;
        let Some(unit) = script.unit(end) else { return };
        self.send_unit(slot, end, unit);
        self.play(slot, end);
        self.pump(slot, end);
    }

    fn send_unit(&mut self, slot: u32, end: End, unit: Unit) {
        let now = self.now();
        let application = &mut self.applications[slot as usize];
        let of_slot = self.ends.slots.get(slot);
        let Some(script) = &mut application.script else { return };
        let at = script.sides[end as usize].next as usize;
        if unit.bytes == 0 {
            script.sides[end as usize].closed = true;
            of_slot.ends[end as usize].close();
        } else {
            of_slot.ends[end as usize].write(u64::from(unit.bytes));
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
        application.request = Request {
            asked: now,
            bytes: unit.bytes,
            end: 0,
            response: answer.bytes,
            response_end: before - run + u64::from(answer.bytes),
            last: false,
            answered: true,
            complete: false,
        };
        let flow = of_slot.flow;
        self.group(flow).totals.asked += 1;
    }
}
