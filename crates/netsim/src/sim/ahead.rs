//! What the events to come are about is fetched into the cache before they come.
//!
//! With thousands of flows each packet finds its flow, its connection and the lines of its path in memory that was last used
//! a round trip ago. Fetched in time, step by step, they need not be waited for. It changes nothing of a run but its time.

use super::paths::Paths;
use super::{FlowState, Sim};
use crate::ends::Ends;
use crate::events::{End, Event};
use crate::packet::Travelling;
use crate::probe::FlowTotals;
use prefetch_index::prefetch_index;
use sluicegate_base::Time;
use std::mem::{offset_of, size_of};
use std::ops::RangeTo;
use std::slice;

/// From how many flows on it pays.
pub(super) const MANY: usize = 256;

/// How many places of a lane ahead packets, flows and connections are fetched.
const STEPS: [usize; 3] = [24, 16, 8];

impl Sim {
    /// Fetches what follows the present event.
    #[inline(always)]
    pub(super) fn fetch(&mut self) {
        if self.events.bucket() != self.fetched {
            self.fetch_buckets();
        }
        let [packet, flow, ends] = self.events.following(STEPS);
        if let Some(place) = packet.and_then(|(_, event)| event.packet()) {
            self.travelling.fetch(place);
        }
        if let Some((_, event)) = flow {
            fetch_state(event, &mut self.travelling, &self.flows, &self.paths);
        }
        if let Some((time, Event::Delivery(place))) = ends {
            self.fetch_ends(time, place);
        }
    }

    /// Fetches what the present and the next bucket of the wheel are about: flows, and packets.
    #[inline(never)]
    fn fetch_buckets(&mut self) {
        self.fetched = self.events.bucket();
        for place in self.events.next_bucket().filter_map(Event::packet) {
            self.travelling.fetch(place);
        }
        for event in self.events.present() {
            fetch_state(event, &mut self.travelling, &self.flows, &self.paths);
        }
    }

    /// Fetches the end of the connection that a packet reaches, and the leg of what that sends.
    #[inline(always)]
    fn fetch_ends(&mut self, time: Time, place: u32) {
        let packet = self.travelling.get(place);
        let flow = &self.flows[packet.flow as usize];
        if packet.to == End::Receiver {
            flow.totals.delays.fetch(time.since(packet.sent).0);
        }
        if let Ends::Tcp(tcp) = &flow.ends {
            tcp.fetch(packet.to);
            self.paths.fetch(flow.first[if packet.to == End::Sender { End::Receiver } else { End::Sender } as usize]);
        }
    }
}

/// Fetches what an event changes of a packet's flow or path.
#[inline(always)]
fn fetch_state(event: Event, travelling: &mut Travelling, flows: &[FlowState], paths: &Paths) {
    match event {
        Event::Arrival(place) => flows[travelling.get(place).flow as usize].fetch(..64),
        Event::Crossing(place) => paths.fetch(travelling.get(place).leg),
        Event::Delivery(place) => flows[travelling.get(place).flow as usize].fetch(..offset_of!(FlowState, completed)),
        _ => {}
    }
}

impl FlowState {
    /// Fetches its first bytes.
    #[inline(always)]
    fn fetch(&self, bytes: RangeTo<usize>) {
        const { assert!(offset_of!(FlowState, totals) == 0 && offset_of!(FlowTotals, sent) == 0) };
        let first = slice::from_ref(&self.totals.sent);
        for at in (0..bytes.end).step_by(64) {
            prefetch_index(first, at / size_of::<[u64; 2]>());
        }
    }
}
