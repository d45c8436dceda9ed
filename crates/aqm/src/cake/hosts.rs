//! Isolation: what a flow is, and between which hosts the link is shared before it is shared between their flows.

use super::set_association::{QUEUES, associate};
use crate::discipline::{FlowKey, Packet};
use crate::flow_hasher::FlowHasher;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use sluicegate_base::{Stream, choices};

choices! {
    /// Among whom the link is shared.
    pub enum FlowMode {
        /// Nobody: each tin is one queue.
        Flowblind = "flowblind",
        /// Sources: what comes from one host is a flow.
        Srchost = "srchost",
        /// Destinations: what goes to one host is a flow.
        Dsthost = "dsthost",
        /// Pairs of hosts: what goes from one to another is a flow.
        Hosts = "hosts",
        /// Flows.
        Flows = "flows",
        /// Sources, and then the flows of each.
        DualSrchost = "dual_srchost",
        /// Destinations, and then the flows of each.
        DualDsthost = "dual_dsthost",
        /// Sources and destinations both, and then flows.
        TripleIsolate = "triple_isolate",
    }
}

/// Keys for the hashes of flows, sources and destinations: a host that is both has two hashes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    flows: FlowHasher,
    sources: FlowHasher,
    destinations: FlowHasher,
}

impl Keys {
    pub fn new(rng: &mut Stream) -> Keys {
        let (flows, sources) = (FlowHasher::new(rng), FlowHasher::new(rng));
        Keys { flows, sources, destinations: FlowHasher::new(rng) }
    }

    /// The hashes of the hosts that a packet comes from and goes to; all hosts at the `translated` end are one.
    pub fn hash_hosts(&self, packet: &impl Packet, translated: Option<usize>) -> [u32; 2] {
        let (from, to) = packet.hosts();
        let mut hashes = [hash(&self.sources, from), hash(&self.destinations, to)];
        if let Some(end) = translated {
            hashes[end] = 0;
        }
        hashes
    }

    /// The hash of what counts as a packet's flow.
    pub fn hash_flow(&self, packet: &impl Packet, mode: FlowMode, translated: Option<usize>) -> u32 {
        match mode {
            FlowMode::Flowblind => 0,
            FlowMode::Srchost => self.hash_hosts(packet, translated)[0],
            FlowMode::Dsthost => self.hash_hosts(packet, translated)[1],
            FlowMode::Hosts => {
                let [source, destination] = self.hash_hosts(packet, translated);
                source ^ destination
            }
            FlowMode::Flows | FlowMode::DualSrchost | FlowMode::DualDsthost | FlowMode::TripleIsolate => {
                hash(&self.flows, packet.flow().0)
            }
        }
    }
}

fn hash(key: &FlowHasher, id: u64) -> u32 {
    (key.hash(FlowKey(id)) >> 32) as u32
}

impl FlowMode {
    /// The ends, source (0) and destination (1), between whose hosts flows are shared.
    fn isolates(self) -> Range<usize> {
        match self {
            FlowMode::DualSrchost => 0..1,
            FlowMode::DualDsthost => 1..2,
            FlowMode::TripleIsolate => 0..2,
            FlowMode::Flowblind | FlowMode::Srchost | FlowMode::Dsthost | FlowMode::Hosts | FlowMode::Flows => 0..0,
        }
    }
}

/// The hosts at one end, and how many of their flows have a backlog.
#[derive(Clone, Debug)]
struct End {
    tags: Vec<u32>,
    bulk_flow_count: Vec<u16>,
}

/// The hosts of a tin. A flow knows its own by their places.
#[derive(Clone, Debug)]
pub(super) struct Hosts([End; 2]);

impl Hosts {
    pub fn new() -> Hosts {
        Hosts([(); 2].map(|()| End { tags: vec![0; QUEUES], bulk_flow_count: vec![0; QUEUES] }))
    }

    /// Finds the places of a flow's hosts, whose hashes these are.
    pub fn find(&mut self, hashes: [u32; 2], places: &mut [u16; 2], mode: FlowMode) {
        for end in mode.isolates() {
            let End { tags, bulk_flow_count } = &mut self.0[end];
            places[end] = associate(tags, hashes[end], |k| bulk_flow_count[k] == 0).0 as u16;
        }
    }

    /// A flow of these hosts has a backlog from now on.
    pub fn add_bulk(&mut self, places: [u16; 2], mode: FlowMode) {
        for end in mode.isolates() {
            let count = &mut self.0[end].bulk_flow_count[usize::from(places[end])];
            *count = (*count + 1).min(QUEUES as u16);
        }
    }

    /// It has none any more.
    pub fn remove_bulk(&mut self, places: [u16; 2], mode: FlowMode) {
        for end in mode.isolates() {
            let count = &mut self.0[end].bulk_flow_count[usize::from(places[end])];
            *count = count.saturating_sub(1);
        }
    }

    /// How many flows with a backlog the busier of a flow's hosts has, one at least.
    pub fn load(&self, places: [u16; 2], mode: FlowMode) -> u16 {
        mode.isolates().fold(1, |load, end| load.max(self.0[end].bulk_flow_count[usize::from(places[end])]))
    }
}
