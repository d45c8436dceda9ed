//! Which of many queues is the longest: a tournament tree.
//!
//! The lengths are its leaves, and above each group of leaves or nodes stands their maximum. A length that changes reaches
//! upwards only as far as it is, or was, a maximum: mostly no further than its own group, where a binary heap would exchange
//! entries through all its levels whenever the queues are of similar length.

use alloc::vec;
use alloc::vec::Vec;

/// How many have a maximum together.
const GROUP: usize = 16;

/// Which of several longest queues counts as the longest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tie {
    /// The one whose length changed last.
    #[default]
    Latest,
    /// The one with the lowest number.
    First,
}

/// The lengths of queues that are known by small numbers.
#[derive(Clone, Debug, Default)]
pub struct Longest {
    /// By number, a queue's length in the upper half and its rank among equals in the lower; 0 without a length. Then, level
    /// by level, the maximum of each group of the level before, until one group is left.
    levels: Vec<Vec<u128>>,
    tie: Tie,
    changes: u64,
}

/// The maximum of a group.
fn maximum(group: &[u128]) -> u128 {
    group.iter().copied().fold(0, u128::max)
}

impl Longest {
    /// No queues; of equals, the longest is the one that `tie` says.
    #[must_use]
    pub fn new(tie: Tie) -> Longest {
        Longest { tie, ..Longest::default() }
    }

    /// The longest queue, if any has a length.
    #[must_use]
    pub fn get(&self) -> Option<u32> {
        let longest = maximum(self.levels.last()?);
        let group = |at: usize| at * GROUP..(at + 1) * GROUP;
        let find = |at: usize, level: &Vec<u128>| {
            at * GROUP + level[group(at)].iter().position(|each| *each == longest).expect("the maximum of its group")
        };
        (longest > 0).then(|| self.levels.iter().rev().fold(0, find) as u32)
    }

    /// A queue's length is now this; with 0 it is forgotten.
    #[inline]
    pub fn set(&mut self, queue: u32, length: u64) {
        self.changes += 1;
        let rank = if self.tie == Tie::Latest { self.changes } else { u64::from(!queue) };
        let mut new = if length == 0 { 0 } else { u128::from(length) << 64 | u128::from(rank) };
        let mut at = queue as usize;
        if self.levels.first().is_none_or(|lengths| at >= lengths.len()) {
            self.grow(at + 1);
        }
        let mut old = core::mem::replace(&mut self.levels[0][at], new);
        for level in 1..self.levels.len() {
            let (below, above) = self.levels.split_at_mut(level);
            at /= GROUP;
            let above = &mut above[0][at];
            if new < *above {
                if old < *above {
                    break;
                }
                new = maximum(&below[level - 1][at * GROUP..(at + 1) * GROUP]);
            }
            old = core::mem::replace(above, new);
        }
    }

    /// Makes room for queues with numbers below `n`.
    #[cold]
    fn grow(&mut self, n: usize) {
        let mut lengths = self.levels.drain(..).next().unwrap_or_default();
        lengths.resize(n.next_power_of_two().max(GROUP), 0);
        self.levels = vec![lengths];
        while let Some(level) = self.levels.last().filter(|level| level.len() > GROUP) {
            let mut above: Vec<u128> = level.chunks(GROUP).map(maximum).collect();
            above.resize(above.len().max(GROUP), 0);
            self.levels.push(above);
        }
    }
}

/// The longest of many queues, for who asks seldom: their lengths are followed from a question until all are empty, so
/// that who never asks does not pay.
#[derive(Clone, Debug)]
pub struct LazyLongest {
    longest: Longest,
    follows: bool,
}

impl LazyLongest {
    /// Empty queues; of equals, the longest is the one that `tie` says.
    #[must_use]
    pub fn new(tie: Tie) -> LazyLongest {
        LazyLongest { longest: Longest::new(tie), follows: false }
    }

    /// A queue's length is now this.
    #[inline]
    pub fn set(&mut self, queue: u32, length: u64) {
        if self.follows {
            self.longest.set(queue, length);
        }
    }

    /// The longest queue, if any has a length; `lengths` are all that there are at present.
    pub fn get(&mut self, lengths: impl Iterator<Item = (u32, u64)>) -> Option<u32> {
        if !self.follows {
            self.follows = true;
            lengths.for_each(|(queue, length)| self.longest.set(queue, length));
        }
        self.longest.get()
    }

    /// All queues are empty.
    #[inline]
    pub fn rest(&mut self) {
        self.follows = false;
    }

    /// The longest queue while lengths are followed, for tests.
    #[cfg(test)]
    pub(crate) fn followed(&self) -> Option<Option<u32>> {
        self.follows.then(|| self.longest.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Stream;

    #[test]
    fn the_longest_is_found() {
        for tie in [Tie::Latest, Tie::First] {
            let (mut longest, mut rng) = (Longest::new(tie), Stream::new(1, "longest"));
            let mut plain = [(0, 0); 50];
            for k in 1..50_000 {
                let queue = rng.below(50);
                let length = rng.below(8);
                longest.set(queue as u32, length);
                plain[queue as usize] = (length, if tie == Tie::Latest { k } else { 50 - queue });
                let best = (0..50).max_by_key(|&at| plain[at]).filter(|&at| plain[at].0 > 0);
                assert_eq!(longest.get(), best.map(|at| at as u32));
            }
        }
    }
}
