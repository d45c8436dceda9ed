//! What has arrived of a stream: up to which byte without a gap, and the ranges beyond (RFC 2018).

use crate::segment::{SACK_BLOCKS, Segment};
use alloc::vec::Vec;

/// What has come. What every segment touches comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Reassembly {
    /// The next byte expected.
    pub next: u64,
    /// The last range received beyond `next`, which most segments behind a gap extend; [`NONE`] if there is none.
    last: (u64, u64),
    /// The ranges before it, disjoint, in order. Mostly there are none, and they have no memory.
    before: Vec<(u64, u64)>,
    pub sack: bool,
    /// The ranges that changed last, the latest first (RFC 2018, Section 4), if they are reported.
    pub recents: u8,
    recent: [(u64, u64); SACK_BLOCKS],
}

/// No range.
const NONE: (u64, u64) = (0, 0);

/// Enters a range among disjoint ones in order, merged with every one that it touches: the range that it is in then.
pub(crate) fn merge(ranges: &mut Vec<(u64, u64)>, mut start: u64, mut end: u64) -> (u64, u64) {
    let first = ranges.partition_point(|&(_, e)| e < start);
    let last = ranges.partition_point(|&(s, _)| s <= end);
    if first < last {
        start = start.min(ranges[first].0);
        end = end.max(ranges[last - 1].1);
    }
    ranges.splice(first..last, [(start, end)]);
    (start, end)
}

impl Reassembly {
    /// Nothing yet; whether ranges are reported.
    pub fn new(sack: bool) -> Reassembly {
        Reassembly { next: 0, last: NONE, before: Vec::new(), sack, recents: 0, recent: [(0, 0); SACK_BLOCKS] }
    }

    /// The next byte expected.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether anything has come beyond a gap.
    #[inline]
    pub fn has_gaps(&self) -> bool {
        self.last.1 > 0
    }

    /// The end of what has come beyond a gap.
    pub fn last(&self) -> Option<u64> {
        self.has_gaps().then_some(self.last.1)
    }

    /// The ranges received beyond `next`, in order.
    #[cfg(test)]
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.before.iter().copied().chain(self.has_gaps().then_some(self.last))
    }

    /// What of these bytes has come beyond a gap, if any: the first range of it.
    pub fn known(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if self.last.1 <= start {
            return None;
        }
        let first = self.before.partition_point(|&(_, e)| e <= start);
        let (s, e) = self.before.get(first).copied().unwrap_or(self.last);
        (s < end).then(|| (s.max(start), e.min(end)))
    }

    /// So many bytes come from here on, if they are the next after all that has come beyond a gap.
    #[inline]
    pub fn extend(&mut self, start: u64, len: u32) -> bool {
        let extends = self.has_gaps() && self.last.1 == start;
        if extends {
            self.last.1 += u64::from(len);
        }
        extends
    }

    /// These bytes come.
    #[inline(always)]
    pub fn insert(&mut self, mut start: u64, mut end: u64) {
        if start > self.next {
            // Most go on where the last has ended, which is the one that changed last, or behind it.
            if self.last.1 == start {
                if self.recents > 0 && self.recent[0] == self.last {
                    (self.last.1, self.recent[0].1) = (end, end);
                    return;
                }
                (self.last.1, start) = (end, self.last.0);
            } else if self.last.1 > start {
                (start, end) = self.merge(start, end);
            } else {
                if self.has_gaps() {
                    self.before.push(self.last);
                }
                self.last = (start, end);
            }
            if self.sack {
                self.remember((start, end));
            }
            return;
        }
        self.next = self.next.max(end);
        let reached = self.before.partition_point(|&(s, _)| s <= self.next);
        if reached > 0 {
            self.next = self.next.max(self.before[reached - 1].1);
            self.before.drain(..reached);
        }
        if self.before.is_empty() && self.last.0 <= self.next {
            self.next = self.next.max(self.last.1);
            self.last = NONE;
        }
        self.forget((0, self.next));
    }

    /// Merges bytes that begin before the last range ends with every range that they touch: the range that they are in then. There
    /// are few, because a window is.
    #[inline(never)]
    fn merge(&mut self, start: u64, end: u64) -> (u64, u64) {
        self.before.push(self.last);
        let merged = merge(&mut self.before, start, end);
        self.last = self.before.pop().unwrap_or(NONE);
        merged
    }

    /// Puts a range in front of those that it does not cover.
    fn remember(&mut self, range: (u64, u64)) {
        self.forget(range);
        self.recent = [range, self.recent[0], self.recent[1]];
        self.recents = (self.recents + 1).min(SACK_BLOCKS as u8);
    }

    fn forget(&mut self, (start, end): (u64, u64)) {
        let mut kept = 0;
        for at in 0..usize::from(self.recents) {
            let (s, e) = self.recent[at];
            if !(start <= s && e <= end) {
                self.recent[kept] = (s, e);
                kept += 1;
            }
        }
        self.recents = kept as u8;
    }

    /// Reports the ranges that changed last on a segment, up to so many.
    #[inline(always)]
    pub fn report(&self, segment: &mut Segment, most: usize) {
        for &range in self.recent[..usize::from(self.recents)].iter().take(most) {
            segment.report(range);
        }
    }
}
