//! A first-in-first-out buffer from whose middle packets can be removed.
//!
//! A victim is not unlinked. Its slot becomes a hole, and a hole is skipped when it reaches the head; to everything else
//! (queue length, bytes, limit, draws, probes) the victim is gone at once.

use crate::discipline::{Ctx, DropReason, Packet};
use crate::fifo::{Buffer, Limit};
use alloc::collections::VecDeque;
use sluicegate_base::{Size, Stream};

/// Slots in order, some of which are holes. The slot at the head always has a packet.
#[derive(Clone, Debug)]
pub struct Ring<P> {
    slots: VecDeque<Option<P>>,
    holes: usize,
    bytes: u64,
    limit: Limit,
}

impl<P: Packet> Ring<P> {
    /// An empty buffer.
    #[must_use]
    pub fn new(limit: Size) -> Self {
        Ring { slots: VecDeque::new(), holes: 0, bytes: 0, limit: Limit::of(limit) }
    }

    /// How many slots it spans, holes included.
    #[inline]
    #[must_use]
    pub fn span(&self) -> usize {
        self.slots.len()
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

    /// Whether it holds more packets, or bytes, than this.
    #[inline]
    #[must_use]
    pub fn exceeds(&self, level: Size) -> bool {
        Limit::of(level).is_exceeded(self.packets(), self.bytes)
    }

    /// Appends a packet; the caller has tested for room.
    #[inline]
    pub fn push(&mut self, packet: P) {
        self.bytes += packet.bytes();
        self.slots.push_back(Some(packet));
    }

    /// Appends a packet, or drops it with reason `tail` where there is no room.
    #[inline]
    pub fn admit(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        if self.has_room(&packet) {
            self.push(packet);
        } else {
            ctx.drop(packet, DropReason::Tail);
        }
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        let packet = self.slots.pop_front()??;
        self.bytes -= packet.bytes();
        self.skip_holes();
        Some(packet)
    }

    /// The packet in a slot, counted from the head, unless it is a hole.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: usize) -> Option<&P> {
        self.slots.get(slot)?.as_ref()
    }

    /// Draws a packet, each with the same probability, and gives it with its slot; none if there is no packet.
    ///
    /// A draw that hits a hole is repeated; [`compact`](Ring::compact) keeps holes to about half of the slots.
    #[inline]
    pub fn draw(&self, rng: &mut Stream) -> Option<(usize, &P)> {
        if self.packets() == 0 {
            return None;
        }
        loop {
            let slot = rng.below(self.slots.len() as u64) as usize;
            if let Some(packet) = self.get(slot) {
                return Some((slot, packet));
            }
        }
    }

    /// Removes the packet in a slot, which becomes a hole; none if it is one already. [`compact`](Ring::compact), or
    /// [`skip_holes`](Ring::skip_holes), must follow.
    pub fn remove(&mut self, slot: usize) -> Option<P> {
        let packet = self.slots.get_mut(slot)?.take()?;
        self.bytes -= packet.bytes();
        self.holes += 1;
        Some(packet)
    }

    /// Skips holes at the head.
    #[inline]
    pub fn skip_holes(&mut self) {
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.holes -= 1;
        }
    }

    /// Skips holes at the tail.
    pub fn trim_tail(&mut self) {
        while let Some(None) = self.slots.back() {
            self.slots.pop_back();
            self.holes -= 1;
        }
    }

    /// Skips holes at the head, and closes all when they exceed half of the slots by more than 8.
    #[inline]
    pub fn compact(&mut self) {
        self.skip_holes();
        if 2 * self.holes > self.slots.len() + 16 {
            self.close_holes();
        }
    }

    /// Closes all holes.
    pub fn close_holes(&mut self) {
        self.slots.retain(Option::is_some);
        self.holes = 0;
    }

    /// Another limit. What it leaves no room for comes out of [`pop_excess`](Ring::pop_excess).
    pub fn set_limit(&mut self, limit: Size) {
        self.limit = Limit::of(limit);
    }

    /// Takes the packet nearest to the tail while the limit is exceeded.
    pub fn pop_excess(&mut self) -> Option<P> {
        if !self.limit.is_exceeded(self.packets(), self.bytes) {
            return None;
        }
        self.close_holes();
        let packet = self.slots.pop_back()??;
        self.bytes -= packet.bytes();
        Some(packet)
    }

    /// Another limit; what it leaves no room for is dropped, the last first.
    pub fn resize(&mut self, limit: Size, ctx: &mut Ctx<'_, P>) {
        self.set_limit(limit);
        while let Some(packet) = self.pop_excess() {
            ctx.drop(packet, DropReason::Reconfigured);
        }
    }

    /// The packets with their slots, from the head.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, &P)> {
        self.slots.iter().enumerate().filter_map(|(slot, packet)| Some((slot, packet.as_ref()?)))
    }
}

impl<P: Packet> Buffer<P> for Ring<P> {
    #[inline]
    fn packets(&self) -> u64 {
        (self.slots.len() - self.holes) as u64
    }

    #[inline]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        self.slots.iter().flatten().for_each(visit);
    }

    fn waiting(&self, place: usize) -> Option<&P> {
        self.get(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::TestPacket;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;

    fn packet(flow: u64) -> TestPacket {
        TestPacket { flow, bytes: 100 + flow, ..TestPacket::default() }
    }

    fn ring(flows: &[u64]) -> Ring<TestPacket> {
        let mut ring = Ring::new(Size::Packets(1000));
        flows.iter().for_each(|&flow| ring.push(packet(flow)));
        ring
    }

    #[test]
    fn draws_are_uniform_over_the_packets() {
        let mut ring = ring(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        for slot in [2, 3, 7] {
            ring.remove(slot);
        }
        let (mut counts, mut rng) = ([0.0f64; 10], Stream::new(5, "ring"));
        (0..70_000).for_each(|_| counts[ring.draw(&mut rng).unwrap().0] += 1.0);
        let left = [0, 1, 4, 5, 6, 8, 9];
        let chi2: f64 = left.iter().map(|&k| (counts[k] - 1e4) * (counts[k] - 1e4) / 1e4).sum();
        // 6 degrees of freedom: 22.46 is exceeded once in a thousand.
        assert!(chi2 < 22.46 && counts[2] + counts[3] + counts[7] == 0.0, "chi-square {chi2}");
    }

    /// Random work, beside a plain deque of the packets that are left.
    #[test]
    fn holes_are_counted_nowhere() {
        let (mut ring, mut rng) = (ring(&[]), Stream::new(1, "ring"));
        let mut plain: VecDeque<TestPacket> = VecDeque::new();
        for flow in 0..30_000 {
            match rng.below(8) {
                0..4 => {
                    ring.push(packet(flow));
                    plain.push_back(packet(flow));
                }
                4 | 5 => assert_eq!(ring.pop(), plain.pop_front()),
                _ => {
                    if let Some(slot) = ring.draw(&mut rng).map(|(slot, _)| slot) {
                        let at = ring.iter().position(|(other, _)| other == slot).unwrap();
                        assert_eq!(ring.remove(slot), plain.remove(at));
                        assert!(ring.remove(slot).is_none(), "a packet is removed once");
                        ring.compact();
                    }
                }
            }
            assert!(ring.iter().map(|(_, packet)| packet).eq(&plain));
            let bytes: u64 = plain.iter().map(|packet| packet.bytes).sum();
            assert_eq!((ring.packets(), ring.bytes()), (plain.len() as u64, bytes));
            assert!(ring.get(0).is_some() || plain.is_empty(), "the head has a packet");
            assert!(2 * (ring.span() - plain.len()) <= ring.span() + 16, "memory is bounded");
        }
    }

    #[test]
    fn a_smaller_limit_pushes_out_the_last_packets() {
        let mut ring = ring(&[1, 2, 3, 4, 5]);
        ring.remove(3);
        ring.set_limit(Size::Packets(2));
        let out: Vec<u64> = core::iter::from_fn(|| ring.pop_excess()).map(|packet| packet.flow).collect();
        assert_eq!((out, ring.packets(), ring.bytes()), ([5, 3].into(), 2, 203));
    }
}
