//! A tin: flows in queues, the rotations in which they are served, and how far the tin is within its rate.

use super::cobalt::{Cobalt, CobaltParams};
use super::diffserv::Share;
use super::hosts::{FlowMode, Hosts};
use super::set_association::{Found, QUEUES, associate};
use super::shaper::ByteTime;
use crate::discipline::Packet;
use crate::fifo::{Buffer, Fifo};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use sluicegate_base::{Size, Span, Stream, Time};

/// What a queued packet is noted with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub arrived: Time,
    pub adjusted_len: u64,
}

/// What a flow counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// Not active.
    None,
    /// Within its first quantum.
    Sparse,
    /// Sparse, but in the rotation of bulk flows until its deficit is made up.
    SparseWait,
    /// With a backlog.
    Bulk,
    /// Without packets, until its COBALT is at rest.
    Decaying,
}

/// One flow's queue.
#[derive(Clone, Debug)]
pub(super) struct Flow<P> {
    pub queue: Fifo<P, Tag>,
    pub deficit: i64,
    pub cobalt: Cobalt,
    pub set: Set,
    pub hosts: [u16; 2],
}

/// The rotations, in the order in which they are looked at once a first look has been at those that decay.
pub(super) const NEW: usize = 0;
pub(super) const OLD: usize = 1;
pub(super) const DECAYING: usize = 2;

/// A tin.
#[derive(Clone, Debug)]
pub(super) struct Tin<P> {
    pub flows: Vec<Flow<P>>,
    tags: Vec<u32>,
    hosts: Hosts,
    pub lists: [VecDeque<u16>; 3],
    pub sparse_flow_count: u32,
    pub bulk_flow_count: u32,
    pub backlog: u64,
    pub cobalt: CobaltParams,
    flow_quantum: u32,
    byte_time: ByteTime,
    /// From when on it is within its rate again.
    pub time_next_packet: Time,
    pub tin_quantum: i64,
    pub tin_deficit: i64,
}

impl<P: Packet> Tin<P> {
    /// An empty tin; `tune` gives it a rate.
    pub fn new() -> Self {
        // The limits are those of all tins together.
        let flow = |_| Flow {
            queue: Fifo::new(Size::Packets(u64::MAX)),
            deficit: 0,
            cobalt: Cobalt::default(),
            set: Set::None,
            hosts: [0; 2],
        };
        Tin {
            flows: (0..QUEUES).map(flow).collect(),
            tags: vec![0; QUEUES],
            hosts: Hosts::new(),
            lists: Default::default(),
            sparse_flow_count: 0,
            bulk_flow_count: 0,
            backlog: 0,
            cobalt: CobaltParams::default(),
            flow_quantum: 0,
            byte_time: ByteTime::default(),
            time_next_packet: Time::ZERO,
            tin_quantum: 0,
            tin_deficit: 0,
        }
    }

    /// Its share, and what follows from the rate: the time that bytes take, a quantum of 1/4096 s, and a target and an
    /// interval that a slow link can keep.
    pub fn tune(&mut self, Share { rate, quantum }: Share, mtu: u64, target: Span, rtt: Span) {
        self.byte_time = ByteTime::at(rate);
        self.flow_quantum = if rate == 0 { 1514 } else { (rate >> 12).clamp(300, 1514) as u32 };
        self.tin_quantum = quantum.into();
        let mtu_time = self.byte_time.of(mtu);
        let longest = Span(mtu_time.0.saturating_mul(3) / 2).max(target);
        let interval = (rtt + (longest - target)).max(Span(longest.0.saturating_mul(2)));
        self.cobalt = CobaltParams { interval, target: longest, mtu_time };
    }

    /// Whether it may have something to send.
    pub fn is_active(&self) -> bool {
        self.sparse_flow_count + self.bulk_flow_count > 0
    }

    /// The queue of the flow with this hash, which is its own from now on; `hash_hosts` gives the hashes of its hosts.
    pub fn find(&mut self, hash: u32, hash_hosts: impl FnOnce() -> [u32; 2], mode: FlowMode) -> usize {
        if mode == FlowMode::Flowblind {
            return 0;
        }
        let (at, found) = associate(&mut self.tags, hash, |k| self.flows[k].set == Set::None);
        let Flow { set, hosts, .. } = &mut self.flows[at];
        if found == Found::Collision && *set == Set::Bulk {
            self.hosts.remove_bulk(*hosts, mode);
        }
        if found != Found::Tagged || *set == Set::None {
            self.hosts.find(hash_hosts(), hosts, mode);
            if *set == Set::Bulk {
                self.hosts.add_bulk(*hosts, mode);
            }
        }
        at
    }

    /// Appends a packet to a queue.
    pub fn push(&mut self, at: usize, packet: P, tag: Tag) {
        self.backlog += packet.bytes();
        self.flows[at].queue.push_with(packet, tag);
    }

    /// Takes the packet of a queue that so many are before.
    pub fn take(&mut self, at: usize, place: usize) -> Option<(P, Tag)> {
        let queue = &mut self.flows[at].queue;
        let taken = if place == 0 { queue.pop_with() } else { queue.remove(place) }?;
        self.backlog -= taken.0.bytes();
        Some(taken)
    }

    /// What the longest queue has most of: bytes, and 1 for any packets, so that one whose packets have no bytes is
    /// still longer than those that are empty.
    pub fn weight(&self, at: usize) -> u64 {
        let queue = &self.flows[at].queue;
        queue.bytes() + u64::from(queue.packets() > 0)
    }

    /// A quantum, divided by the number of busy flows of the flow's host; the random part makes up for what rounding
    /// takes.
    fn quantum(&self, at: usize, mode: FlowMode, rng: &mut Stream) -> i64 {
        let divided = 65_535 / u32::from(self.hosts.load(self.flows[at].hosts, mode));
        ((self.flow_quantum * divided + (rng.bits() >> 48) as u32) >> 16).into()
    }

    /// A flow counts as bulk from now on.
    fn become_bulk(&mut self, at: usize, mode: FlowMode) {
        let flow = &mut self.flows[at];
        flow.set = Set::Bulk;
        self.sparse_flow_count -= 1;
        self.bulk_flow_count += 1;
        self.hosts.add_bulk(flow.hosts, mode);
    }

    /// A packet has come to a flow: one that was not active becomes sparse, and one that has had its quantum bulk.
    pub fn arrived(&mut self, at: usize, mode: FlowMode, rng: &mut Stream) {
        match self.flows[at].set {
            Set::Sparse | Set::Bulk => return,
            Set::SparseWait => return self.become_bulk(at, mode),
            Set::Decaying => self.lists[DECAYING].retain(|other| usize::from(*other) != at),
            Set::None => {}
        }
        self.lists[NEW].push_back(at as u16);
        self.sparse_flow_count += 1;
        self.flows[at].set = Set::Sparse;
        self.flows[at].deficit = self.quantum(at, mode, rng);
    }

    /// The flow to serve next, and the rotation at whose head it is. Those that decay come before the others at the
    /// first look of a call, and after them later.
    pub fn head(&self, first_look: bool) -> Option<(usize, usize)> {
        let head = |list: usize| self.lists[list].front().map(|at| (list, usize::from(*at)));
        let decaying = if first_look { head(DECAYING) } else { None };
        decaying.or_else(|| [NEW, OLD, DECAYING].into_iter().find_map(head))
    }

    /// The flow at the head of a rotation has used up its deficit: it waits for the next round.
    pub fn next_round(&mut self, (list, at): (usize, usize), mode: FlowMode, rng: &mut Stream) {
        if self.flows[at].set == Set::Sparse {
            if self.flows[at].queue.packets() > 0 {
                self.become_bulk(at, mode);
            } else {
                self.flows[at].set = Set::SparseWait;
            }
        }
        self.flows[at].deficit += self.quantum(at, mode, rng);
        self.lists[list].pop_front();
        self.lists[OLD].push_back(at as u16);
    }

    /// The flow at the head of a rotation has no packets: it decays, or is not active any more.
    pub fn found_empty(&mut self, (list, at): (usize, usize), mode: FlowMode, now: Time) {
        let flow = &mut self.flows[at];
        let at_rest = flow.cobalt.queue_empty(&self.cobalt, now);
        match flow.set {
            Set::Bulk => {
                self.bulk_flow_count -= 1;
                self.hosts.remove_bulk(flow.hosts, mode);
            }
            Set::Sparse | Set::SparseWait => self.sparse_flow_count -= 1,
            Set::Decaying | Set::None => {}
        }
        self.lists[list].pop_front();
        if at_rest {
            flow.set = Set::None;
            flow.queue.shrink();
        } else {
            flow.set = Set::Decaying;
            self.lists[DECAYING].push_back(at as u16);
        }
    }

    /// Counts a packet of this length against the tin's rate. A tin that exceeds it, for want of others, is never more
    /// than this packet behind.
    pub fn advance(&mut self, adjusted_len: u64, now: Time) {
        let time = self.byte_time.of(adjusted_len);
        if self.time_next_packet < now {
            self.time_next_packet += time;
        } else {
            self.time_next_packet = self.time_next_packet.max(now + time);
        }
    }
}
