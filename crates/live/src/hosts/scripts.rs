//! Connections that come by themselves and do what their vectors say, as those of `netsim::workloads` do, but on real sockets.

use super::connection::Role;
use super::{Driver, RECEIVES, SENDS, Task};
use sluicegate_base::{Span, Time};
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::source::connections::{Side, Unit, Vector};
use std::sync::Arc;

/// How far the ends of a connection have come with its vector.
#[derive(Debug)]
pub struct Script {
    vector: Arc<Vector>,
    /// By side.
    sides: [Part; 2],
    /// When its last request went, and its bytes.
    request: Option<(Time, u64)>,
    /// Bytes of responses that have been counted.
    answered: u64,
}

/// One end's part.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// The index of its next unit, or of what comes after the last unit of all.
    next: usize,
    /// Whether its time runs already.
    timed: bool,
    /// Bytes that it has been sent by all units of the other end before its next one.
    expects: u64,
}

impl Script {
    fn new(vector: Arc<Vector>) -> Script {
        let mut script = Script { vector, sides: [Part::default(); 2], request: None, answered: 0 };
        script.seek(SENDS, 0);
        script.seek(RECEIVES, 0);
        script
    }

    fn seek(&mut self, side: usize, from: usize) {
        let units = &self.vector.units;
        let part = &mut self.sides[side];
        let mut at = from;
        while at < units.len() && side_of(units[at].side) != side {
            part.expects += u64::from(units[at].bytes);
            at += 1;
        }
        (part.next, part.timed) = (at, false);
    }

    fn unit(&self, side: usize) -> Option<Unit> {
        self.vector.units.get(self.sides[side].next).copied()
    }

    /// Whether an end that has nothing more to send ends its stream by itself.
    fn closes(&self, side: usize) -> bool {
        self.vector.concurrent || self.vector.units.last().is_some_and(|unit| side_of(unit.side) == side)
    }
}

/// The acceptor is the sender: what it sends crosses the path of the group.
fn side_of(side: Side) -> usize {
    if side == Side::Acceptor { SENDS } else { RECEIVES }
}

impl Driver {
    /// Those of a group's connections open that are due, and the next one is waited for.
    pub(super) fn open_next(&mut self, flow: u32) -> Result<(), String> {
        loop {
            let now = self.clock.now();
            let state = &mut self.flows[flow as usize];
            let SourcePlan::Connections(plan) = &*state.plan.source else { return Ok(()) };
            let (plan, start, stop) = (plan.clone(), state.plan.start, state.plan.stop);
            let Some(arrivals) = &mut state.arrivals else { return Ok(()) };
            let Some(next) = arrivals.peek() else { return Ok(()) };
            let due = start + next.start.since(Time::ZERO);
            if due >= stop {
                return Ok(());
            }
            if due > now {
                self.at(due, Task::Open(flow));
                return Ok(());
            }
            let Some(vector) = arrivals.next() else { return Ok(()) };
            let drawn = plan.way.round_trip.draw(state.opened, &mut state.rng);
            state.opened += 1;
            let round_trip = vector.round_trip.unwrap_or(drawn);
            let own = Span(round_trip.0.saturating_sub(plan.way.shared.0) / 2);
            let pool = state.pool.expect("connections are a pool");
            let number = self.next_script;
            self.next_script += 1;
            self.scripts.insert(number, Script::new(vector));
            let slot = self.connect(flow, RECEIVES, Role::Script(number), own)?;
            self.opened(pool);
            self.go_on(slot)?;
        }
    }

    /// One end goes on with what its vector says, as far as it can now.
    pub(super) fn go_on(&mut self, slot: u32) -> Result<(), String> {
        loop {
            let generation = self.ends.generation(slot);
            let end = self.ends.get(slot);
            let (side, flow, received, ended) = (end.side, end.flow, end.received, end.ended);
            let Role::Script(number) = end.role else { return Ok(()) };
            let Some(script) = self.scripts.get_mut(&number) else { return Ok(()) };
            let complete = received >= script.sides[side].expects;
            if side == RECEIVES && complete && received > 0 {
                let response = received - std::mem::replace(&mut script.answered, received);
                if let Some((asked, bytes)) = script.request.take_if(|_| response > 0) {
                    self.exchanged(flow, bytes, response, asked);
                    continue;
                }
            }
            let Some(unit) = script.unit(side) else {
                if script.closes(side) || ended {
                    self.ends.get(slot).closing = true;
                }
                self.write(slot);
                return Ok(());
            };
            let part = &mut script.sides[side];
            if part.timed || (unit.answers && !complete) {
                return Ok(());
            }
            part.timed = true;
            if unit.wait > Span::ZERO {
                self.at(self.clock.now() + unit.wait, Task::Write(slot, generation));
                return Ok(());
            }
            self.send_unit(slot, number, unit);
        }
    }

    /// The time has come for an end's next unit.
    pub(super) fn write_unit(&mut self, slot: u32, generation: u32) -> Result<(), String> {
        if !self.ends.is_there(slot) || self.ends.generation(slot) != generation {
            return Ok(());
        }
        let end = self.ends.get(slot);
        let (side, Role::Script(number)) = (end.side, &end.role) else { return Ok(()) };
        let number = *number;
        let Some(unit) = self.scripts.get(&number).and_then(|script| script.unit(side)) else { return Ok(()) };
        self.send_unit(slot, number, unit);
        self.go_on(slot)?;
        self.settle(slot)
    }

    fn send_unit(&mut self, slot: u32, number: u64, unit: Unit) {
        let now = self.clock.now();
        let end = self.ends.get(slot);
        let (side, flow) = (end.side, end.flow);
        end.to_write += u64::from(unit.bytes);
        end.closing |= unit.bytes == 0;
        self.write(slot);
        let Some(script) = self.scripts.get_mut(&number) else { return };
        let next = script.sides[side].next + 1;
        script.seek(side, next);
        if side == RECEIVES && unit.bytes > 0 {
            script.request = Some((now, unit.bytes.into()));
            if let Some(pool) = self.flows[flow as usize].pool {
                self.pools[pool].totals.asked += 1;
            }
        }
    }
}
