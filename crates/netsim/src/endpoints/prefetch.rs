//! What events to come are about is fetched into the cache before they come.
//!
//! With many flows each packet finds its flow and its connection in memory that was last used a round trip ago. Fetched in
//! time they need not be waited for. It changes nothing of a run but its time.

use super::Endpoints;
use super::slot::Slot;
use crate::counters::FlowTotals;
use crate::engine::PacketEvent;
use crate::network::packet::{End, Header, NONE};
use prefetch_index::prefetch_index;
use sluicegate_tcp::Connection;
use std::mem::{offset_of, size_of};
use std::ops::Range;
use std::slice;

/// From how many flows on it pays.
pub const MANY: usize = 256;

/// How many places of a lane ahead packets are fetched, and what they are about.
const STEPS: [usize; 2] = [20, 8];

impl Endpoints {
    /// Fetches what follows in a lane of which a packet has just come.
    #[inline(always)]
    pub fn prefetch(&mut self, event: PacketEvent) {
        if !self.many {
            return;
        }
        let shared = &mut self.network.shared;
        let [packet, state] = STEPS.map(|step| shared.engine.following(event, step));
        if let Some(place) = packet {
            shared.packets.prefetch(place);
        }
        if let Some(place) = state {
            let header = shared.packets.get(place).header;
            match event {
                PacketEvent::Delivery => self.prefetch_end(&header),
                PacketEvent::Arrival => prefetch_index(&shared.flows, header.flow as usize),
                PacketEvent::Crossing => self.network.paths.prefetch(header.leg),
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
        let (place, slot, flow, end) = (packet.place, packet.slot, packet.flow, packet.to);
        self.network.shared.packets.prefetch(place);
        const { assert!(offset_of!(FlowTotals, sent) == 0) };
        prefetch(&self.network.shared.flows[flow as usize].sent[0], 0..offset_of!(FlowTotals, drops));
        if let Some(slot) = self.slots.of(slot) {
            slot.prefetch(end);
        }
    }

    /// Fetches one end of a connection.
    #[inline(always)]
    fn prefetch_end(&self, header: &Header) {
        if header.slot != NONE {
            if let Some(slot) = self.slots.of(header.slot) {
                slot.prefetch(header.to);
            }
        }
    }
}

impl Slot {
    /// Fetches what all packets need, and the half of one end that is mostly used.
    #[inline(always)]
    fn prefetch(&self, end: End) {
        let start = offset_of!(Slot, ends) + end as usize * size_of::<Connection>();
        let half = match end {
            End::Sender => start + Connection::SENDING..start + Connection::SENDING + 192,
            End::Receiver => start + 64..start + Connection::SENDING,
        };
        const { assert!(offset_of!(Slot, headers) == 0 && offset_of!(Header, flow) == 0) };
        let first = &self.headers[0].flow;
        prefetch(first, 0..128);
        prefetch(first, start..start + 1);
        prefetch(first, half);
    }
}

/// Fetches these bytes of the value that begins with `first`.
#[inline(always)]
fn prefetch<T>(first: &T, bytes: Range<usize>) {
    for at in bytes.step_by(64) {
        prefetch_index(slice::from_ref(first), at / size_of::<T>());
    }
}
