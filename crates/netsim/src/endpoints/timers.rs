//! Timers of connections: as a turn of the engine begins, the ends whose timers might expire in it are looked at, and a
//! timer that is still due in that turn becomes an event (`engine/timers.rs`).

use super::Endpoints;
use super::slot::Slot;
use crate::engine::Engine;
use crate::network::packet::{End, owner};
use sluicegate_base::Time;

impl Endpoints {
    /// Looks at ends whose timers may expire soon; most have been put off.
    pub fn look_at_timers(&mut self) {
        self.network.shared.engine.passed_over();
        while let Some((at, end)) = self.network.shared.engine.take_timer() {
            self.prefetch_timers();
            let engine = &mut self.network.shared.engine;
            let slot = self.slots.get(at);
            if slot.armed[end as usize] == engine.now() {
                slot.armed[end as usize] = Time::NEVER;
                arm(engine, slot, at, end);
            }
            engine.work(1);
        }
    }

    /// Handles a timer event of one end of a connection. Returns false for a stale event: the timer has moved since, or it
    /// belongs to an earlier connection in this slot.
    pub fn timer(&mut self, at: u32, end: End) -> bool {
        let now = self.now();
        let slot = self.slots.get(at);
        if slot.armed[end as usize] > now {
            self.network.shared.engine.passed_over();
            return false;
        }
        slot.armed[end as usize] = Time::NEVER;
        let connection = &mut slot.ends[end as usize];
        if connection.next_timer_before(Time(now.0 + 1)).is_none() {
            self.network.shared.engine.passed_over();
            arm(&mut self.network.shared.engine, slot, at, end);
            return false;
        }
        connection.on_timer(now);
        true
    }
}

/// The timer of one end of the connection in slot `at` will be looked at in time, if it expires before it will be anyway.
#[inline(always)]
pub(super) fn arm(engine: &mut Engine, slot: &mut Slot, at: u32, end: End) {
    let armed = slot.armed[end as usize];
    if let Some(time) = slot.ends[end as usize].next_timer_before(armed) {
        let looked_at = engine.push_timer(time, at, end, owner(slot.id, end));
        slot.armed[end as usize] = looked_at;
        if end == End::Receiver {
            engine.hold(looked_at);
        }
    }
}
