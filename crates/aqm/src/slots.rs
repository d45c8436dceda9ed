//! Slots in order, any of which can be emptied in place: what [`Ring`](crate::ring::Ring) keeps packets in.
//!
//! They lie in a block of a power of two of places that is used round and round, and nothing is allocated once it has grown to
//! what it holds at most. A `VecDeque<Option<P>>` does the same; here a packet that is taken is moved once, as a whole, which
//! there it is not, and a drawn slot is found without a comparison.

use alloc::vec::Vec;

/// Slots from a head to a tail.
#[derive(Clone, Debug)]
pub struct Slots<P> {
    /// A power of two of places, or none; empty but for `len` of them from `head` on.
    places: Vec<Option<P>>,
    head: usize,
    len: usize,
}

impl<P> Default for Slots<P> {
    fn default() -> Self {
        Slots { places: Vec::new(), head: 0, len: 0 }
    }
}

impl<P> Slots<P> {
    /// How many slots there are, the emptied ones included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The place of a slot, counted from the head.
    #[inline]
    fn place(&self, at: usize) -> usize {
        self.head.wrapping_add(at) & self.places.len().wrapping_sub(1)
    }

    /// A slot with this packet behind all others.
    #[inline]
    pub fn push_back(&mut self, packet: P) {
        if self.len == self.places.len() {
            return self.grow_and_push(packet);
        }
        let at = self.place(self.len);
        self.places[at] = Some(packet);
        self.len += 1;
    }

    /// The same where there is no place left: a call at the end, for which the caller saves no registers.
    #[cold]
    #[inline(never)]
    fn grow_and_push(&mut self, packet: P) {
        self.grow();
        self.push_back(packet);
    }

    /// Twice as many places, the head at the first.
    fn grow(&mut self) {
        self.places.rotate_left(self.head);
        self.places.resize_with((2 * self.len).max(4), || None);
        self.head = 0;
    }

    /// What the slot at the head holds.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<&P> {
        self.places.get(self.head)?.as_ref()
    }

    /// Takes the slot at the head away, and the emptied ones that follow it: what it held.
    #[inline]
    pub fn pop_front(&mut self) -> Option<P> {
        let at = self.head;
        self.len = self.len.checked_sub(1)?;
        self.head = self.place(1);
        self.skip();
        // At the end, so that the packet is moved once.
        self.places.get_mut(at)?.take()
    }

    /// The same where the slot behind it holds something; otherwise nothing happens.
    #[inline]
    pub fn pop_before_packet(&mut self) -> Option<P> {
        let next = self.place(1);
        self.places.get(next)?.as_ref()?;
        let at = self.head;
        self.len = self.len.checked_sub(1)?;
        self.head = next;
        self.places.get_mut(at)?.take()
    }

    /// Takes emptied slots at the head away.
    #[inline]
    pub fn skip(&mut self) {
        while self.len > 0 && self.front().is_none() {
            self.len -= 1;
            self.head = self.place(1);
        }
    }

    /// Takes the slot at the tail away: what it held.
    pub fn pop_back(&mut self) -> Option<P> {
        self.len = self.len.checked_sub(1)?;
        let at = self.place(self.len);
        self.places[at].take()
    }

    /// What the slot holds, if there is one and it holds anything.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&P> {
        if at < self.len { self.places.get(self.place(at))?.as_ref() } else { None }
    }

    /// Empties the slot: what it held.
    #[inline]
    pub fn take(&mut self, at: usize) -> Option<P> {
        if at >= self.len {
            return None;
        }
        let at = self.place(at);
        self.places[at].take()
    }

    /// Takes all emptied slots away.
    #[cold]
    pub fn close_gaps(&mut self) {
        self.places.rotate_left(self.head);
        let mut kept = 0;
        for at in 0..self.len {
            if self.places[at].is_some() {
                self.places.swap(kept, at);
                kept += 1;
            }
        }
        (self.head, self.len) = (0, kept);
    }

    /// The slots in order, as two runs.
    #[must_use]
    pub fn as_slices(&self) -> (&[Option<P>], &[Option<P>]) {
        let end = self.head + self.len;
        match end.checked_sub(self.places.len()) {
            None => (&self.places[self.head..end], &[]),
            Some(wrapped) => (&self.places[self.head..], &self.places[..wrapped]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use sluicegate_base::Stream;

    /// Against a plain deque, with random work.
    #[test]
    fn slots_do_what_a_deque_does() {
        let (mut slots, mut rng) = (Slots::default(), Stream::new(1, "slots"));
        let mut deque: VecDeque<Option<u64>> = VecDeque::new();
        let mut most = 0;
        for k in 0..30_000 {
            let at = rng.below(deque.len() as u64 + 2) as usize;
            match rng.below(9) {
                0..4 => {
                    slots.push_back(k);
                    deque.push_back(Some(k));
                }
                4 if matches!(deque.get(1), Some(Some(_))) => {
                    assert_eq!(slots.pop_before_packet(), deque.pop_front().flatten());
                }
                4 | 5 => {
                    assert!(matches!(deque.get(1), Some(Some(_))) || slots.pop_before_packet().is_none());
                    assert_eq!(slots.pop_front(), deque.pop_front().flatten());
                    while let Some(None) = deque.front() {
                        deque.pop_front();
                    }
                }
                6 => assert_eq!(slots.pop_back(), deque.pop_back().flatten()),
                7 => assert_eq!(slots.take(at), deque.get_mut(at).and_then(Option::take)),
                _ if k % 50 == 0 => {
                    slots.close_gaps();
                    deque.retain(Option::is_some);
                }
                _ => {}
            }
            assert_eq!(slots.get(at), deque.get(at).and_then(Option::as_ref));
            let (first, second) = slots.as_slices();
            assert!(first.iter().chain(second).eq(deque.iter()));
            assert_eq!((slots.len(), slots.is_empty()), (deque.len(), deque.is_empty()));
            most = most.max(deque.len());
        }
        assert!(most > 50, "{most}");
        assert_eq!(slots.places.len(), most.next_power_of_two());
    }
}
