//! A queue of entries that were added in the order in which they come.

use super::wheel::Entry;

/// A ring of entries. The standard library's queue does as much, for eight more instructions for each event of the dumbbell
/// in `tools/bench`: its length need not be a power of two.
#[derive(Debug)]
pub struct Lane {
    /// As many places as a power of two.
    ring: Vec<Entry>,
    /// The place of the first entry, counted on and on, and how many there are.
    first: usize,
    count: usize,
}

impl Default for Lane {
    fn default() -> Lane {
        Lane { ring: vec![Entry::NONE], first: 0, count: 0 }
    }
}

impl Lane {
    #[inline(always)]
    fn at(&self, place: usize) -> usize {
        self.first.wrapping_add(place) & (self.ring.len() - 1)
    }

    /// Adds the last entry.
    #[inline(always)]
    pub fn push(&mut self, entry: Entry) {
        if self.count == self.ring.len() {
            self.grow();
        }
        let at = self.at(self.count);
        self.ring[at] = entry;
        self.count += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let first = self.at(0);
        self.ring.rotate_left(first);
        self.ring.resize(2 * self.ring.len(), Entry::NONE);
        self.first = 0;
    }

    /// Takes the first entry; [`Entry::NONE`] when there is none.
    #[inline(always)]
    pub fn pop(&mut self) -> Entry {
        if self.count == 0 {
            return Entry::NONE;
        }
        let at = self.at(0);
        self.first = self.first.wrapping_add(1);
        self.count -= 1;
        self.ring[at]
    }

    /// The entry that has so many before it.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<&Entry> {
        if place < self.count { self.ring.get(self.at(place)) } else { None }
    }

    /// The last entry.
    pub fn last(&self) -> Option<&Entry> {
        self.get(self.count.wrapping_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::Event;
    use sluicegate_base::{Stream, Time};
    use std::collections::VecDeque;

    #[test]
    fn holds_what_the_standard_library_s_queue_holds() {
        let (mut lane, mut expected, mut rng) = (Lane::default(), VecDeque::new(), Stream::new(1, "lane"));
        for number in 0..100_000 {
            // It grows for a while, and then shrinks.
            if rng.below(100) < if number % 20_000 < 10_000 { 60 } else { 40 } {
                lane.push(Entry { time: Time(number), order: number, added: 0, event: Event::Sample });
                expected.push_back(number);
            } else {
                assert_eq!(lane.pop().order, expected.pop_front().unwrap_or(u64::MAX));
            }
            let place = rng.below(50) as usize;
            assert_eq!(lane.get(place).map(|entry| entry.order), expected.get(place).copied());
            assert_eq!(lane.last().map(|entry| entry.order), expected.back().copied());
        }
    }
}
