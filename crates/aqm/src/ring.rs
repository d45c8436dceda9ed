//! A buffer from whose middle packets can be taken: slots in order, some of them empty.
//!
//! A victim is not unlinked. Its slot is emptied, and an empty slot is skipped when it reaches the head; to everything
//! else (queue length, bytes, limit, draws, probes) the victim is gone at once.

use crate::discipline::Packet;
use crate::fifo::Limit;
use crate::slots::Slots;
use sluicegate_base::{Size, Stream};

/// A ring of packets in which any can be killed in place.
///
/// The slot at the head is always live, so that "empty" means what it says.
#[derive(Clone, Debug)]
pub struct Ring<P> {
    slots: Slots<P>,
    /// How many slots are empty.
    gaps: usize,
    room: Limit,
    bytes: u64,
}

impl<P: Packet> Ring<P> {
    /// An empty buffer.
    #[must_use]
    pub fn new(limit: Size) -> Self {
        Ring { slots: Slots::default(), gaps: 0, room: Limit::of(limit), bytes: 0 }
    }

    /// How many packets it holds.
    #[inline]
    #[must_use]
    pub fn packets(&self) -> u64 {
        (self.slots.len() - self.gaps) as u64
    }

    /// How many bytes it holds.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many slots it spans, the empty ones included.
    #[inline]
    #[must_use]
    pub fn span(&self) -> usize {
        self.slots.len()
    }

    /// Whether the limit leaves room for `packet`.
    #[inline]
    pub fn has_room(&self, packet: &P) -> bool {
        self.room.has(self.packets(), self.bytes, packet.bytes())
    }

    /// The packet in a slot, if the slot is live.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&P> {
        self.slots.get(at)
    }

    /// Appends a packet; the caller has tested for room.
    #[inline]
    pub fn push(&mut self, packet: P) {
        self.bytes += packet.bytes();
        self.slots.push_back(packet);
    }

    /// Takes the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<P> {
        if self.slots.get(1).is_some() { self.pop_smooth() } else { self.pop_and_skip() }
    }

    #[inline(never)]
    fn pop_and_skip(&mut self) -> Option<P> {
        self.bytes -= self.slots.front()?.bytes();
        let slots = self.slots.len() - 1;
        let packet = self.slots.pop_front();
        self.gaps -= slots - self.slots.len();
        packet
    }

    /// Whether [`pop_tidy`](Ring::pop_tidy) has nothing to tidy up: a packet is behind the head, and gaps are few.
    #[inline]
    #[must_use]
    pub fn is_smooth(&self) -> bool {
        // One slot less: only then can the gaps be too many.
        2 * self.gaps < self.slots.len() + 16 && self.slots.get(1).is_some()
    }

    /// Takes the packet at the head of a [smooth](Ring::is_smooth) ring, or of any with a packet in the second slot.
    #[inline]
    pub fn pop_smooth(&mut self) -> Option<P> {
        self.bytes -= self.slots.front()?.bytes();
        self.slots.pop_before_packet()
    }

    /// Takes the packet at the head, and keeps the ring [`tidy`](Ring::tidy).
    #[inline]
    pub fn pop_tidy(&mut self) -> Option<P> {
        if self.is_smooth() { self.pop_smooth() } else { self.pop_and_tidy() }
    }

    #[inline(never)]
    fn pop_and_tidy(&mut self) -> Option<P> {
        let packet = self.pop();
        self.tidy();
        packet
    }

    /// Whether a packet drawn as [`draw`](Ring::draw) draws it can be had by one number, and fits. Otherwise nothing is drawn.
    #[inline]
    pub fn draws(&self, rng: &mut Stream, fits: impl FnOnce(&P) -> bool) -> bool {
        let mut next = rng.clone();
        let drawn = next.below_by_one(self.slots.len() as u64).and_then(|at| self.slots.get(at as usize));
        let drawn = drawn.is_some_and(fits);
        if drawn {
            *rng = next;
        }
        drawn
    }

    /// A packet drawn uniformly from the live ones, with its slot, if there is any.
    ///
    /// A draw that hits an empty slot is repeated: at most two tries on average while the ring is kept
    /// [`tidy`](Ring::tidy).
    #[inline]
    pub fn draw(&self, rng: &mut Stream) -> Option<(usize, &P)> {
        if self.packets() == 0 {
            return None;
        }
        self.try_to_draw(rng).or_else(|| self.draw_again(rng))
    }

    #[inline]
    fn try_to_draw(&self, rng: &mut Stream) -> Option<(usize, &P)> {
        let at = rng.below(self.slots.len() as u64) as usize;
        Some((at, self.slots.get(at)?))
    }

    #[cold]
    fn draw_again(&self, rng: &mut Stream) -> Option<(usize, &P)> {
        loop {
            let drawn = self.try_to_draw(rng);
            if drawn.is_some() {
                return drawn;
            }
        }
    }

    /// The live slots with their packets, from the head.
    pub fn live(&self) -> impl DoubleEndedIterator<Item = (usize, &P)> {
        (0..self.slots.len()).filter_map(|at| Some((at, self.slots.get(at)?)))
    }

    /// Empties the slot and gives its packet, unless that has happened already.
    pub fn kill(&mut self, at: usize) -> Option<P> {
        self.bytes -= self.slots.get(at)?.bytes();
        self.gaps += 1;
        self.slots.take(at)
    }

    /// Skips empty slots at the head; to be called after [`kill`](Ring::kill).
    #[inline]
    pub fn skip(&mut self) {
        let slots = self.slots.len();
        self.slots.skip();
        self.gaps -= slots - self.slots.len();
    }

    /// Forgets empty slots at the tail.
    pub fn trim(&mut self) {
        while self.gaps > 0 && self.slots.get(self.slots.len() - 1).is_none() {
            self.slots.pop_back();
            self.gaps -= 1;
        }
    }

    /// Skips empty slots at the head, and closes the gaps when more than half of the slots, and 8 more, are empty.
    #[inline]
    pub fn tidy(&mut self) {
        self.skip();
        if 2 * self.gaps > self.slots.len() + 16 {
            self.close_gaps();
        }
    }

    /// Closes all gaps.
    pub fn close_gaps(&mut self) {
        self.slots.close_gaps();
        self.gaps = 0;
    }

    /// Visits the packets from head to tail.
    pub fn for_each(&self, visit: &mut dyn FnMut(&P)) {
        // Two plain slices: a chained iterator costs twice as much for each slot.
        let (first, second) = self.slots.as_slices();
        for slots in [first, second] {
            for packet in slots.iter().flatten() {
                visit(packet);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::TestPacket;

    fn ring(flows: &[u64]) -> Ring<TestPacket> {
        let mut ring = Ring::new(Size::Packets(1000));
        for (serial, &flow) in (0..).zip(flows) {
            ring.push(TestPacket {
                flow,
                bytes: 100 + flow,
                serial,
                ecn: sluicegate_base::Ecn::NotCapable,
                ..TestPacket::default()
            });
        }
        ring
    }

    #[test]
    fn draws_are_uniform_over_the_live() {
        let mut ring = ring(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        for at in [2, 3, 7] {
            ring.kill(at);
        }
        let (mut counts, mut rng) = ([0.0f64; 10], Stream::new(5, "ring"));
        (0..70_000).for_each(|_| counts[ring.draw(&mut rng).unwrap().0] += 1.0);
        let live = [0, 1, 4, 5, 6, 8, 9];
        let chi2: f64 = live.iter().map(|&k| (counts[k] - 1e4) * (counts[k] - 1e4) / 1e4).sum();
        // 6 degrees of freedom: 22.46 is exceeded once in a thousand.
        assert!(chi2 < 22.46 && counts[2] + counts[3] + counts[7] == 0.0, "chi-square {chi2}");
    }

    #[test]
    fn the_dead_are_skipped_and_counted_nowhere() {
        let mut ring = ring(&[1, 2, 3, 4, 5]);
        assert_eq!(ring.kill(0).map(|packet| packet.flow), Some(1));
        assert!(ring.kill(0).is_none(), "a packet dies once");
        ring.kill(1);
        ring.kill(4);
        ring.skip();
        assert_eq!((ring.packets(), ring.bytes(), ring.span()), (2, 207, 3), "3 and 4, and a gap behind them");
        assert_eq!(ring.live().map(|(_, packet)| packet.flow).next_back(), Some(4));
        ring.trim();
        assert_eq!((ring.span(), ring.pop().map(|packet| packet.flow)), (2, Some(3)));
    }

    #[test]
    fn gaps_are_closed_when_they_are_too_many() {
        let mut ring = ring(&[7; 40]);
        (1..40).for_each(|at| {
            ring.kill(at);
        });
        ring.tidy();
        assert_eq!((ring.span(), ring.packets()), (1, 1));
    }
}
