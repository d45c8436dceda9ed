//! RED's buffer: first in first out, or with short packets before all others.

use crate::discipline::Packet;
use crate::fifo::{Limit, push_back};
use alloc::collections::VecDeque;
use sluicegate_base::Size;

/// A first-in-first-out buffer, in which packets up to a length may have a lane of their own that is served first.
#[derive(Clone, Debug)]
pub(super) struct Lanes<P> {
    /// The longest packet of the short lane; 0 for no such lane.
    short: u64,
    first: VecDeque<P>,
    others: VecDeque<P>,
    /// Of both lanes, as the limit is.
    bytes: u64,
    room: Limit,
}

impl<P: Packet> Lanes<P> {
    pub(super) fn new(limit: Size, short: u64) -> Self {
        Lanes { short, first: VecDeque::new(), others: VecDeque::new(), bytes: 0, room: Limit::of(limit) }
    }

    /// Whether the limit leaves room for `packet`.
    #[inline]
    pub(super) fn has_room(&self, packet: &P) -> bool {
        self.room.has(self.packets(), self.bytes, packet.bytes())
    }

    /// Whether no packet has a lane of its own.
    #[inline]
    pub(super) fn are_one(&self) -> bool {
        self.short == 0
    }

    /// Appends a packet to its lane; the caller has tested for room.
    pub(super) fn push(&mut self, packet: P) {
        if packet.bytes() <= self.short {
            return self.push_first(packet);
        }
        self.push_other(packet);
    }

    /// The same for a packet that is not short.
    #[inline]
    pub(super) fn push_other(&mut self, packet: P) {
        self.bytes += packet.bytes();
        push_back(&mut self.others, packet);
    }

    fn push_first(&mut self, packet: P) {
        self.bytes += packet.bytes();
        self.first.push_back(packet);
    }

    pub(super) fn pop(&mut self) -> Option<P> {
        if self.first.is_empty() { self.pop_other() } else { self.pop_first() }
    }

    /// Whether all packets that there are, and there are some, are in the lane of those that are not short.
    #[inline]
    pub(super) fn all_are_others(&self) -> bool {
        self.first.is_empty() && !self.others.is_empty()
    }

    /// Takes the first packet that is not short.
    #[inline]
    pub(super) fn pop_other(&mut self) -> Option<P> {
        self.bytes -= self.others.front()?.bytes();
        self.others.pop_front()
    }

    fn pop_first(&mut self) -> Option<P> {
        self.bytes -= self.first.front()?.bytes();
        self.first.pop_front()
    }

    #[inline]
    pub(super) fn packets(&self) -> u64 {
        (self.first.len() + self.others.len()) as u64
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.first.iter().chain(&self.others).for_each(visit);
    }
}
