//! The buffer below a first-in-first-out discipline: packets in order, with their bytes counted and a limit.

use crate::discipline::Packet;
use alloc::collections::VecDeque;
use sluicegate_base::Size;

/// A first-in-first-out buffer that knows its bytes and its limit.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    queue: VecDeque<P>,
    bytes: u64,
    room: Limit,
}

impl<P: Packet> Fifo<P> {
    /// An empty buffer.
    #[must_use]
    pub fn new(limit: Size) -> Self {
        Fifo { queue: VecDeque::new(), bytes: 0, room: Limit::of(limit) }
    }

    /// Whether the limit leaves room for `packet`.
    #[inline]
    pub fn has_room(&self, packet: &P) -> bool {
        self.room.has(self.packets(), self.bytes, packet.bytes())
    }

    /// Appends a packet; the caller has tested for room.
    #[inline]
    pub fn push(&mut self, packet: P) {
        self.bytes += packet.bytes();
        push_back(&mut self.queue, packet);
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        // Looked at where it lies and then moved once: a packet that is taken apart on the way is copied piece by piece.
        self.bytes -= self.queue.front()?.bytes();
        self.queue.pop_front()
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

/// Appends a packet. Growth is a call at the end, for which a caller need not save registers each time.
#[inline]
pub fn push_back<P>(queue: &mut VecDeque<P>, packet: P) {
    if queue.len() == queue.capacity() {
        return grow_and_push(queue, packet);
    }
    queue.push_back(packet);
}

#[cold]
#[inline(never)]
fn grow_and_push<P>(queue: &mut VecDeque<P>, packet: P) {
    queue.push_back(packet);
}

/// A limit, as one on packets and one on bytes, of which only one can be reached: a test without a case.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    packets: u64,
    bytes: u64,
}

impl Limit {
    /// What a limit leaves.
    #[must_use]
    pub fn of(limit: Size) -> Limit {
        match limit {
            Size::Packets(packets) => Limit { packets, bytes: u64::MAX },
            Size::Bytes(bytes) => Limit { packets: u64::MAX, bytes },
        }
    }

    /// Whether a queue of `packets` and `bytes` has room for one more packet of `arriving` bytes.
    #[inline]
    #[must_use]
    pub fn has(self, packets: u64, bytes: u64, arriving: u64) -> bool {
        packets < self.packets && bytes + arriving <= self.bytes
    }
}

/// The same for a limit as it is given.
#[inline]
#[must_use]
pub fn has_room(limit: Size, packets: u64, bytes: u64, arriving: u64) -> bool {
    Limit::of(limit).has(packets, bytes, arriving)
}
