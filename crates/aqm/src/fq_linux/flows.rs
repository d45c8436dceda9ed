//! The flows that `fq_linux` knows: found by their key, remembered for a while without packets.

use crate::discipline::FlowKey;
use crate::fifo::KEPT;
use crate::flow_table::FlowTable;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};
use sluicegate_base::{Span, Stream, Time};

/// For how long, and how many, flows are remembered that are detached.
const GC_AGE: Span = Span::from_secs(3);
pub(super) const DETACHED: usize = 65_536;

/// A flow.
#[derive(Clone, Debug)]
pub(super) struct Flow<P> {
    key: FlowKey,
    /// Packets, and when each came.
    pub(super) queue: VecDeque<(P, Time)>,
    pub(super) credit: i64,
    /// The band of its last packet.
    pub(super) band: usize,
    pub(super) time_next_packet: Option<Time>,
    /// Since when it is in no list, if it is in none.
    pub(super) detached: Option<Time>,
}

/// The flows, each in a place of its own while it is known.
#[derive(Clone, Debug)]
pub(super) struct Flows<P> {
    pub(super) places: Vec<Flow<P>>,
    /// Places of forgotten flows, which serve again.
    free: Vec<u32>,
    index: FlowTable<u32>,
    /// Flows by the time when they were detached; some of them may have come back since.
    detached: VecDeque<(Time, u32)>,
}

impl<P> Flows<P> {
    /// None is known.
    pub(super) fn new() -> Self {
        // What is queued bounds them, and what is remembered of the others.
        Flows { places: Vec::new(), free: Vec::new(), index: FlowTable::new(usize::MAX), detached: VecDeque::new() }
    }

    /// How many are known.
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    /// The place of a flow, which is known afterwards, a new one with this credit: fq_classify.
    pub(super) fn classify(&mut self, key: FlowKey, credit: i64, now: Time, rng: &mut Stream) -> u32 {
        let new = || {
            let queue = VecDeque::new();
            let flow = Flow { key, queue, credit, band: 0, time_next_packet: None, detached: Some(now) };
            let at = self.free.pop().unwrap_or(self.places.len() as u32);
            match self.places.get_mut(at as usize) {
                Some(place) => *place = flow,
                None => self.places.push(flow),
            }
            at
        };
        let place = self.index.find_or_insert(key, rng, new).expect("no bound but the buffer");
        self.index[place]
    }

    /// A flow without packets has left the lists.
    pub(super) fn detach(&mut self, at: u32, now: Time) {
        let flow = &mut self[at];
        flow.detached = Some(now);
        flow.queue.shrink_to(KEPT);
        self.detached.push_back((now, at));
    }

    /// Forgets flows that have been detached for long, and the oldest when they are too many: fq_gc.
    pub(super) fn forget(&mut self, now: Time) {
        while let Some(&(since, at)) = self.detached.front() {
            if now.since(since) <= GC_AGE && self.detached.len() <= DETACHED {
                break;
            }
            self.detached.pop_front();
            if self[at].detached == Some(since) {
                self[at].detached = None;
                self.index.remove_at(self.index.find(self[at].key).expect("a flow that is known"));
                self.free.push(at);
            }
        }
    }
}

impl<P> Index<u32> for Flows<P> {
    type Output = Flow<P>;
    fn index(&self, at: u32) -> &Flow<P> {
        &self.places[at as usize]
    }
}

impl<P> IndexMut<u32> for Flows<P> {
    fn index_mut(&mut self, at: u32) -> &mut Flow<P> {
        &mut self.places[at as usize]
    }
}
