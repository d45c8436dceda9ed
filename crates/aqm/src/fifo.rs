//! The buffer below a first-in-first-out discipline: packets in order, with their bytes counted and a limit.

use crate::discipline::Packet;
use alloc::collections::VecDeque;
use sluicegate_base::Size;

/// A first-in-first-out buffer that knows its bytes and its limit.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    queue: VecDeque<P>,
    bytes: u64,
    limit: Size,
}

impl<P: Packet> Fifo<P> {
    /// An empty buffer.
    #[must_use]
    pub fn new(limit: Size) -> Self {
        Fifo { queue: VecDeque::new(), bytes: 0, limit }
    }

    /// Whether the limit leaves room for `packet`.
    #[inline]
    pub fn has_room(&self, packet: &P) -> bool {
        has_room(self.limit, self.queue.len() as u64, self.bytes, packet.bytes())
    }

    /// Appends a packet; the caller has tested for room.
    #[inline]
    pub fn push(&mut self, packet: P) {
        self.bytes += packet.bytes();
        self.queue.push_back(packet);
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let packet = self.queue.pop_front()?;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// How many packets it holds.
    #[inline]
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.queue.len() as u64
    }

    /// How many bytes it holds.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Visits the packets from head to tail.
    pub fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.queue.iter().for_each(visit);
    }
}

/// Whether a queue of `packets` and `bytes` has room below `limit` for one more packet of `arriving` bytes.
#[inline]
#[must_use]
pub fn has_room(limit: Size, packets: u64, bytes: u64, arriving: u64) -> bool {
    match limit {
        Size::Packets(n) => packets < n,
        Size::Bytes(n) => bytes + arriving <= n,
    }
}
