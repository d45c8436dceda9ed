//! RED's buffer: first in first out, or with short packets before all others.

use crate::discipline::Packet;
use crate::fifo::Room;
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
    room: Room,
}

impl<P: Packet> Lanes<P> {
    pub(super) fn new(limit: Size, short: u64) -> Self {
        Lanes { short, first: VecDeque::new(), others: VecDeque::new(), bytes: 0, room: Room::of(limit) }
    }

    /// Whether the limit leaves room for `packet`.
    #[inline]
    pub(super) fn has_room(&self, packet: &P) -> bool {
        self.room.has(self.packets(), self.bytes, packet.bytes())
    }

    #[inline]
    pub(super) fn push(&mut self, packet: P) {
        self.bytes += packet.bytes();
        if packet.bytes() <= self.short {
            return self.push_first(packet);
        }
        self.others.push_back(packet);
    }

    #[inline(never)]
    fn push_first(&mut self, packet: P) {
        self.first.push_back(packet);
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<P> {
        if !self.first.is_empty() {
            return self.pop_first();
        }
        self.bytes -= self.others.front()?.bytes();
        self.others.pop_front()
    }

    #[inline(never)]
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
