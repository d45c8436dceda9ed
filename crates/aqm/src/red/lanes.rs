//! RED's buffer: first in first out, or with short packets before all others.

use crate::discipline::Packet;
use crate::fifo::{Fifo, has_room};
use sluicegate_base::Size;

/// A first-in-first-out buffer, in which packets up to a length may have a lane of their own that is served first.
#[derive(Clone, Debug)]
pub(super) struct Lanes<P> {
    /// The longest packet of the short lane; 0 for no such lane.
    short: u64,
    first: Fifo<P>,
    others: Fifo<P>,
    limit: Size,
}

impl<P: Packet> Lanes<P> {
    pub(super) fn new(limit: Size, short: u64) -> Self {
        Lanes { short, first: Fifo::new(limit), others: Fifo::new(limit), limit }
    }

    /// Whether the limit, which is for both lanes, leaves room for `packet`.
    #[inline]
    pub(super) fn has_room(&self, packet: &P) -> bool {
        has_room(self.limit, self.packets(), self.bytes(), packet.bytes())
    }

    #[inline]
    pub(super) fn push(&mut self, packet: P) {
        if packet.bytes() <= self.short {
            self.first.push(packet);
        } else {
            self.others.push(packet);
        }
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<P> {
        if self.short > 0 {
            if let Some(packet) = self.first.pop() {
                return Some(packet);
            }
        }
        self.others.pop()
    }

    #[inline]
    pub(super) fn packets(&self) -> u64 {
        self.first.packets() + self.others.packets()
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.first.bytes() + self.others.bytes()
    }

    pub(super) fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.first.for_each(visit);
        self.others.for_each(visit);
    }
}
