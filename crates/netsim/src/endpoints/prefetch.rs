//! Fetches into the cache what coming events will need.
//!
//! With many flows each packet finds its flow and its connection in memory that was last used a round trip ago. If they
//! are fetched in time, the processor need not wait for them. Prefetching changes only how long a run takes.

use super::Endpoints;
use super::slot::{Slot, Slots};
use crate::counters::FlowTotals;
use crate::engine::PacketEvent;
use crate::network::packet::{End, Header};
use prefetch_index::prefetch_index;
use sluicegate_base::Time;
use std::mem::{offset_of, size_of};
use std::ops::Range;
use std::slice;

/// How many places of a lane ahead its entries are fetched.
const LANE: usize = 40;

/// How many places of a lane ahead packets are fetched, then what they are about, and at last what that refers to.
const STEPS: [usize; 3] = [20, 14, 8];

/// At which places of a queue what packets are about is fetched, and what that refers to.
const WAITING: [usize; 2] = [6, 3];

/// How many ends ahead connections are fetched whose timers are looked at, and what they refer to.
const TIMERS: [usize; 2] = [8, 4];

impl Endpoints {
    /// Fetches what follows in a lane of which a packet has just come.
    #[inline(always)]
    pub fn prefetch(&mut self, event: PacketEvent) {
        if !self.many {
            return;
        }
        let shared = &mut self.network.shared;
        shared.engine.prefetch(event, LANE);
        let [packet, state, half] = STEPS;
        if let Some(place) = shared.engine.following(event, packet) {
            shared.packets.prefetch(place);
        }
        if let Some(place) = shared.engine.following(event, state) {
            let header = &shared.packets.get(place).header;
            match event {
                PacketEvent::Delivery => self.slots.prefetch(header.slot),
                PacketEvent::Arrival => prefetch_index(&shared.flows, header.flow as usize),
                PacketEvent::Crossing => {
                    self.network.paths.prefetch(header.leg);
                    self.slots.prefetch(header.slot);
                }
            }
        }
        if event == PacketEvent::Arrival {
            return;
        }
        if let Some(place) = shared.engine.following(event, half) {
            let header = &shared.packets.get(place).header;
            self.slots.prefetch_behind(header.slot, header.to);
        }
    }

    /// Fetches what the next packets of a link are about: they are often delivered as they depart. The last one has its next event at
    /// `arrives`, if that is known, and the next ones about then.
    #[inline(always)]
    pub fn prefetch_sending(&mut self, link: u32, arrives: Option<Time>) {
        if !self.many {
            return;
        }
        let port = &self.network.links[link as usize].port;
        let (queue, [state, half]) = (port.queue().buffer(), WAITING);
        if let Some(packet) = queue.waiting(state).or(port.sending()) {
            self.network.shared.packets.prefetch(packet.place);
            const { assert!(offset_of!(FlowTotals, sent) == 0) };
            let totals = &self.network.shared.flows[packet.flow as usize];
            prefetch(&totals.sent[0], 0..offset_of!(FlowTotals, drops));
            self.slots.prefetch(packet.slot);
        }
        let Some(packet) = queue.waiting(half) else { return };
        if let Some(arrives) = arrives {
            let delay = arrives.since(self.network.shared.packets.get(packet.place).sent);
            if let Some(count) = self.network.shared.flows[packet.flow as usize].delays.place(delay.0) {
                prefetch(count, 0..1);
            }
        }
        if let Some(slot) = self.slots.of(packet.slot) {
            for header in &slot.headers {
                self.network.paths.prefetch(header.leg);
            }
        }
        self.slots.prefetch_behind(packet.slot, End::Sender);
        self.slots.prefetch_behind(packet.slot, End::Receiver);
    }

    /// Fetches the ends whose timers are looked at next.
    #[inline(always)]
    pub fn prefetch_timers(&mut self) {
        if !self.many {
            return;
        }
        let (engine, [state, half]) = (&self.network.engine, TIMERS);
        if let Some((slot, _)) = engine.following_timer(state) {
            self.slots.prefetch(slot);
        }
        if let Some((slot, end)) = engine.following_timer(half) {
            self.slots.prefetch_behind(slot, end);
        }
    }
}

impl Slots {
    /// Fetches the connection in this slot, if there is one.
    #[inline(always)]
    fn prefetch(&self, slot: u32) {
        if let Some(slot) = self.of(slot) {
            const { assert!(offset_of!(Slot, headers) == 0 && offset_of!(Header, flow) == 0) };
            prefetch(&slot.headers[0].flow, 0..size_of::<Slot>());
        }
    }

    /// Fetches what one end of the connection in this slot refers to.
    #[inline(always)]
    fn prefetch_behind(&self, slot: u32, end: End) {
        if let Some((first, bytes)) = self.of(slot).and_then(|slot| slot.ends[end as usize].behind()) {
            prefetch(first, 0..bytes);
        }
    }
}

/// Fetches these bytes of the value that begins with `first`.
#[inline(always)]
fn prefetch<T>(first: &T, bytes: Range<usize>) {
    for at in bytes.step_by(64) {
        prefetch_index(slice::from_ref(first), at / size_of::<T>());
    }
}
