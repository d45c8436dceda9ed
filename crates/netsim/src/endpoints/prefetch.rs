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

    /// Fetches what the packet now in transmission is about: it is often delivered as it departs.
    #[inline(always)]
    pub fn prefetch_sending(&mut self, link: u32) {
        if !self.many {
            return;
        }
        let Some(packet) = self.network.links[link as usize].port.sending() else { return };
        let (place, slot, flow) = (packet.place, packet.slot, packet.flow);
        self.network.shared.packets.prefetch(place);
        const { assert!(offset_of!(FlowTotals, sent) == 0) };
        prefetch(&self.network.shared.flows[flow as usize].sent[0], 0..offset_of!(FlowTotals, drops));
        self.slots.prefetch(slot);
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
