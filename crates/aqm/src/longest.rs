//! Which of many queues is the longest: a binary heap that knows where each queue stands in it.

use alloc::vec::Vec;

/// Not in the heap.
const NONE: u32 = u32::MAX;

/// The lengths of queues that are known by small numbers. Of several longest, the one whose length changed last.
#[derive(Clone, Debug, Default)]
pub struct Longest {
    /// Numbers of queues; none is longer than its parent.
    heap: Vec<u32>,
    /// By number: the place in the heap, the length and when it was set.
    queues: Vec<(u32, u64, u64)>,
    changes: u64,
}

impl Longest {
    /// The longest queue, if any has a length.
    #[inline]
    #[must_use]
    pub fn get(&self) -> Option<u32> {
        self.heap.first().copied()
    }

    /// The length of a queue.
    #[inline]
    #[must_use]
    pub fn length(&self, queue: u32) -> u64 {
        self.queues.get(queue as usize).map_or(0, |queue| queue.1)
    }

    /// A queue's length is now this; with 0 it is forgotten.
    #[inline]
    pub fn set(&mut self, queue: u32, length: u64) {
        if self.queues.len() <= queue as usize {
            self.queues.resize(queue as usize + 1, (NONE, 0, 0));
        }
        self.changes += 1;
        let (place, old, _) = self.queues[queue as usize];
        self.queues[queue as usize] = (place, length, self.changes);
        match (place, length) {
            (NONE, 0) => {}
            (NONE, _) => {
                self.heap.push(queue);
                self.sift_up(self.heap.len() - 1);
            }
            (place, 0) => {
                self.heap.swap_remove(place as usize);
                self.queues[queue as usize].0 = NONE;
                if (place as usize) < self.heap.len() {
                    self.sift_down(place as usize);
                    self.sift_up(place as usize);
                }
            }
            (place, _) if length >= old => self.sift_up(place as usize),
            (place, _) => self.sift_down(place as usize),
        }
    }

    fn key(&self, place: usize) -> (u64, u64) {
        let (_, length, changed) = self.queues[self.heap[place] as usize];
        (length, changed)
    }

    fn settle(&mut self, place: usize) {
        self.queues[self.heap[place] as usize].0 = place as u32;
    }

    fn sift_up(&mut self, mut place: usize) {
        while place > 0 && self.key(place) > self.key((place - 1) / 2) {
            self.heap.swap(place, (place - 1) / 2);
            self.settle(place);
            place = (place - 1) / 2;
        }
        self.settle(place);
    }

    fn sift_down(&mut self, mut place: usize) {
        loop {
            let children = (2 * place + 1..2 * place + 3).filter(|child| *child < self.heap.len());
            let Some(child) = children.max_by_key(|child| self.key(*child)) else { break };
            if self.key(child) <= self.key(place) {
                break;
            }
            self.heap.swap(place, child);
            self.settle(place);
            place = child;
        }
        self.settle(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Stream;

    #[test]
    fn the_longest_is_found() {
        let (mut longest, mut rng) = (Longest::default(), Stream::new(1, "longest"));
        let mut plain = [(0, 0); 50];
        for k in 1..50_000 {
            let queue = rng.below(50);
            let length = rng.below(8);
            longest.set(queue as u32, length);
            plain[queue as usize] = (length, k);
            let best = (0..50).max_by_key(|&at| plain[at]).filter(|&at| plain[at].0 > 0);
            assert_eq!(longest.get(), best.map(|at| at as u32));
            assert_eq!(longest.length(queue as u32), length);
        }
    }
}
