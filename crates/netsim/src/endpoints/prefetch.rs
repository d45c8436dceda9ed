//! What events to come are about is fetched into the cache before they come.
//!
//! With many flows each packet finds its flow and its connection in memory that was last used a round trip ago. Fetched in
//! time they need not be waited for. It changes nothing of a run but its time.

use super::Endpoints;
use super::slot::{Slot, Slots};
use crate::counters::FlowTotals;
use crate::engine::PacketEvent;
use crate::network::packet::Header;
use prefetch_index::prefetch_index;
use std::mem::{offset_of, size_of};
use std::ops::Range;
use std::slice;

/// How many places of a lane ahead packets are fetched, then what they are about, and at last what that refers to.
const STEPS: [usize; 3] = [20, 14, 8];

/// At which places of a queue what packets are about is fetched, and what that refers to.
const WAITING: [usize; 2] = [3, 1];

impl Endpoints {
    /// Fetches what follows in a lane of which a packet has just come.
    #[inline(always)]
    pub fn prefetch(&mut self, event: PacketEvent) {
        if !self.many {
            return;
        }
        let shared = &mut self.network.shared;
        let [packet, state, half] = STEPS.map(|step| shared.engine.following(event, step));
        if let Some(place) = packet {
            shared.packets.prefetch(place);
        }
        if let Some(place) = state {
            let header = &shared.packets.get(place).header;
            match event {
                PacketEvent::Delivery => self.slots.prefetch(header.slot),
                PacketEvent::Arrival => prefetch_index(&shared.flows, header.flow as usize),
                PacketEvent::Crossing => self.network.paths.prefetch(header.leg),
            }
        }
        if let (PacketEvent::Delivery, Some(place)) = (event, half) {
            let header = &shared.packets.get(place).header;
            let sender = self.slots.of(header.slot).and_then(|slot| slot.ends[header.to as usize].half());
            if let Some(first) = sender {
                prefetch(first, 0..192);
            }
        }
    }

    /// Fetches what the next packets of a link are about: they are often delivered as they depart.
    #[inline(always)]
    pub fn prefetch_sending(&mut self, link: u32) {
        if !self.many {
            return;
        }
        let port = &self.network.links[link as usize].port;
        let [state, half] = WAITING.map(|place| port.queue().buffer().waiting(place));
        if let Some(packet) = state.or(port.sending()) {
            self.network.shared.packets.prefetch(packet.place);
            const { assert!(offset_of!(FlowTotals, sent) == 0) };
            let totals = &self.network.shared.flows[packet.flow as usize];
            prefetch(&totals.sent[0], 0..offset_of!(FlowTotals, drops));
            self.slots.prefetch(packet.slot);
        }
        if let Some(slot) = half.and_then(|packet| self.slots.of(packet.slot)) {
            for header in &slot.headers {
                self.network.paths.prefetch(header.leg);
            }
            if let Some(first) = slot.ends[0].half() {
                prefetch(first, 0..192);
            }
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
}

/// Fetches these bytes of the value that begins with `first`.
#[inline(always)]
fn prefetch<T>(first: &T, bytes: Range<usize>) {
    for at in bytes.step_by(64) {
        prefetch_index(slice::from_ref(first), at / size_of::<T>());
    }
}
