//! A queue whose places are found without a branch: their number is a power of two.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// Numbers are of 31 bits, one after the other.
const NUMBERS: u32 = u32::MAX >> 1;

/// Items in order. Each has a number, which it keeps while others come and go.
#[derive(Clone, Debug, Default)]
pub(super) struct Ring<T> {
    places: Box<[T]>,
    /// The number of the first, and how many there are.
    first: u32,
    len: u32,
}

impl<T> Ring<T> {
    #[inline(always)]
    fn place(&self, index: usize) -> usize {
        (self.first as usize).wrapping_add(index) & self.places.len().wrapping_sub(1)
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// The number of an item.
    #[inline(always)]
    pub fn number(&self, index: usize) -> u32 {
        self.first.wrapping_add(index as u32) & NUMBERS
    }

    /// Where the item with this number is.
    #[inline(always)]
    pub fn index(&self, number: u32) -> usize {
        (number.wrapping_sub(self.first) & NUMBERS) as usize
    }

    /// The item with this number, which there must be.
    #[inline(always)]
    pub fn of(&mut self, number: u32) -> &mut T {
        debug_assert!(self.index(number) < self.len());
        // Numbers follow one another as places do.
        let place = number as usize & self.places.len().wrapping_sub(1);
        &mut self.places[place]
    }

    /// An item, if there is one.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&T> {
        if index < self.len() { self.places.get(self.place(index)) } else { None }
    }

    /// From here on to the last.
    pub fn range(&self, index: usize) -> impl Iterator<Item = &T> {
        (index..self.len()).map(|index| &self[index])
    }

    /// Takes the first away, which there must be.
    #[inline(always)]
    pub fn pop(&mut self) {
        self.first = self.number(1);
        self.len -= 1;
    }
}

impl<T: Copy + Default> Ring<T> {
    /// Adds an item.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        if self.len() == self.places.len() {
            self.grow();
        }
        let place = self.place(self.len());
        self.places[place] = item;
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let mut places = Vec::new();
        places.resize((2 * self.len()).max(4), T::default());
        let old = core::mem::replace(&mut self.places, places.into());
        for index in 0..self.len() {
            let place = self.place(index);
            self.places[place] = old[place & (old.len() - 1)];
        }
    }
}

impl<T> Index<usize> for Ring<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        debug_assert!(index < self.len());
        &self.places[self.place(index)]
    }
}

impl<T> IndexMut<usize> for Ring<T> {
    #[inline(always)]
    fn index_mut(&mut self, index: usize) -> &mut T {
        debug_assert!(index < self.len());
        let place = self.place(index);
        &mut self.places[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn is_a_queue_whose_numbers_stay(pushes in prop::collection::vec(any::<bool>(), 1..300), first in prop::num::u32::ANY) {
            let mut ring = Ring { first: first & NUMBERS, ..Ring::default() };
            let mut queue = VecDeque::new();
            for (at, push) in pushes.into_iter().enumerate() {
                if push || queue.is_empty() {
                    ring.push(at);
                    queue.push_back((at, ring.number(queue.len())));
                } else {
                    ring.pop();
                    queue.pop_front();
                }
                prop_assert_eq!(ring.range(0).copied().collect::<Vec<_>>(), queue.iter().map(|it| it.0).collect::<Vec<_>>());
                prop_assert!(queue.iter().enumerate().all(|(index, it)| ring.index(it.1) == index));
                prop_assert!(queue.iter().all(|it| *ring.of(it.1) == it.0));
                prop_assert!(ring.get(queue.len()).is_none());
            }
        }
    }
}
