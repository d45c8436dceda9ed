//! A first-in-first-out buffer with a limit.

pub use crate::discipline::Buffer;
use crate::discipline::{Ctx, DropReason, Packet};
use alloc::collections::VecDeque;
use sluicegate_base::Size;

/// An empty queue gives back memory beyond this many packets: few enough that 65,536 empty queues stay small, enough that a
/// sparse flow does not reallocate.
pub(crate) const KEPT: usize = 16;

/// The packets from which on a queue is long.
const LONG: usize = 1 << 12;

/// Packets in order, each with what its discipline notes of it (`Tag`), with their bytes counted and a limit.
#[derive(Clone, Debug)]
pub struct Fifo<P, Tag = ()> {
    queue: VecDeque<(P, Tag)>,
    bytes: u64,
    limit: Limit,
}

impl<P: Packet, Tag> Fifo<P, Tag> {
    /// An empty buffer.
    #[must_use]
    pub fn new(limit: Size) -> Self {
        Fifo { queue: VecDeque::new(), bytes: 0, limit: Limit::of(limit) }
    }

    /// Whether the limit leaves room for `packet`.
    #[inline]
    pub fn has_room(&self, packet: &P) -> bool {
        self.limit.has_room(self.packets(), self.bytes, packet.bytes())
    }

    /// Whether an empty buffer would have room for `packet`.
    #[inline]
    pub fn could_hold(&self, packet: &P) -> bool {
        self.limit.has_room(0, 0, packet.bytes())
    }

    /// How long it is, in the unit of this size.
    #[inline]
    #[must_use]
    pub fn length_in(&self, unit: Size) -> u64 {
        match unit {
            Size::Packets(_) => self.packets(),
            Size::Bytes(_) => self.bytes,
        }
    }

    /// Whether it holds more packets, or bytes, than this.
    #[inline]
    #[must_use]
    pub fn exceeds(&self, level: Size) -> bool {
        self.length_in(level) > level.amount()
    }

    /// Appends a packet with its tag; the caller has tested for room.
    #[inline]
    pub fn push_with(&mut self, packet: P, tag: Tag) {
        self.bytes += packet.bytes();
        if self.queue.len() == self.queue.capacity() {
            return self.push_growing(packet, tag);
        }
        self.queue.push_back((packet, tag));
    }

    /// Appends a packet with its tag, or drops it with reason `tail` where there is no room.
    #[inline]
    pub fn admit_with(&mut self, packet: P, tag: Tag, ctx: &mut Ctx<'_, P>) {
        if self.has_room(&packet) {
            self.push_with(packet, tag);
        } else {
            ctx.drop(packet, DropReason::Tail);
        }
    }

    /// The same as `push_with` where there is no memory left for it. That of a long queue is not doubled, which a limit would leave unused.
    #[cold]
    fn push_growing(&mut self, packet: P, tag: Tag) {
        if self.queue.len() >= LONG {
            self.queue.reserve_exact(self.queue.len() / 8);
        }
        self.queue.push_back((packet, tag));
    }

    /// Takes the packet at the head, with its tag.
    #[inline]
    pub fn pop_with(&mut self) -> Option<(P, Tag)> {
        let head = self.queue.pop_front()?;
        self.bytes -= head.0.bytes();
        Some(head)
    }

    /// What its discipline noted of the packet at the head.
    #[inline]
    pub fn head_tag(&self) -> Option<&Tag> {
        self.queue.front().map(|(_, tag)| tag)
    }

    /// Takes the packet at the tail, with its tag.
    pub fn pop_tail_with(&mut self) -> Option<(P, Tag)> {
        let (packet, tag) = self.queue.pop_back()?;
        self.bytes -= packet.bytes();
        Some((packet, tag))
    }

    /// The packets, from the head.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &P> + ExactSizeIterator {
        self.queue.iter().map(|(packet, _)| packet)
    }

    /// Takes the packet that so many are before, with its tag.
    pub(crate) fn remove(&mut self, at: usize) -> Option<(P, Tag)> {
        let (packet, tag) = self.queue.remove(at)?;
        self.bytes -= packet.bytes();
        Some((packet, tag))
    }

    /// Gives back memory, but for [`KEPT`] packets.
    pub(crate) fn shrink(&mut self) {
        self.queue.shrink_to(KEPT);
    }

    /// Another limit. What it leaves no room for comes out of [`pop_excess`](Fifo::pop_excess).
    pub fn set_limit(&mut self, limit: Size) {
        self.limit = Limit::of(limit);
    }

    /// Takes the packet at the tail while the limit is exceeded.
    pub fn pop_excess(&mut self) -> Option<(P, Tag)> {
        if self.limit.is_exceeded(self.packets(), self.bytes) { self.pop_tail_with() } else { None }
    }

    /// Another limit; what it leaves no room for is dropped, the last first.
    pub fn resize(&mut self, limit: Size, ctx: &mut Ctx<'_, P>) {
        self.set_limit(limit);
        while let Some((packet, _)) = self.pop_excess() {
            ctx.drop(packet, DropReason::Reconfigured);
        }
    }
}

impl<P: Packet> Fifo<P> {
    /// Appends a packet; the caller has tested for room.
    #[inline]
    pub fn push(&mut self, packet: P) {
        self.push_with(packet, ());
    }

    /// Appends a packet, or drops it with reason `tail` where there is no room.
    #[inline]
    pub fn admit(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.admit_with(packet, (), ctx);
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        self.pop_with().map(|(packet, ())| packet)
    }

    /// Inserts a packet so that `at` packets are before it; the caller has tested for room.
    pub fn insert(&mut self, at: usize, packet: P) {
        self.bytes += packet.bytes();
        self.queue.insert(at, (packet, ()));
    }
}

impl<P: Packet, Tag> Buffer<P> for Fifo<P, Tag> {
    #[inline]
    fn packets(&self) -> u64 {
        self.queue.len() as u64
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.queue.iter().for_each(|(packet, _)| visit(packet));
    }

    fn waiting(&self, place: usize) -> Option<&P> {
        self.queue.get(place).map(|(packet, _)| packet)
    }
}

/// A limit, as one on packets and one on bytes, of which only one can be reached.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    packets: u64,
    bytes: u64,
}

impl Limit {
    /// The limit of this size.
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
    pub fn has_room(self, packets: u64, bytes: u64, arriving: u64) -> bool {
        packets < self.packets && bytes + arriving <= self.bytes
    }

    /// Whether a queue of `packets` and `bytes` holds more than it may.
    #[inline]
    #[must_use]
    pub fn is_exceeded(self, packets: u64, bytes: u64) -> bool {
        packets > self.packets || bytes > self.bytes
    }
}
