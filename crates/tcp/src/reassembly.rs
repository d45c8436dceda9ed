//! What has come of a stream: up to where without a gap, and the ranges beyond (RFC 2018).

use crate::segment::{SACK_BLOCKS, Segment};
use alloc::vec::Vec;

/// What has come. What every segment touches comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Reassembly {
    /// The next byte expected.
    pub next: u64,
    /// Ranges received beyond `next`, disjoint, in order.
    pub ranges: Vec<(u64, u64)>,
    pub sack: bool,
    /// The ranges that changed last, the latest first (RFC 2018, Section 4), if they are reported.
    pub recents: u8,
    recent: [(u64, u64); SACK_BLOCKS],
}

impl Reassembly {
    /// Nothing yet; whether ranges are reported.
    pub fn new(sack: bool) -> Reassembly {
        Reassembly { next: 0, ranges: Vec::new(), sack, recents: 0, recent: [(0, 0); SACK_BLOCKS] }
    }

    /// The next byte expected.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether anything has come beyond a gap.
    #[inline]
    pub fn has_gaps(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The end of what has come beyond a gap.
    pub fn last(&self) -> Option<u64> {
        self.ranges.last().map(|&(_, end)| end)
    }

    /// What of these bytes has come beyond a gap, if any: the first range of it.
    pub fn known(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if self.last().is_none_or(|last| last <= start) {
            return None;
        }
        let first = self.ranges.partition_point(|&(_, e)| e <= start);
        let &(s, e) = self.ranges.get(first).filter(|&&(s, _)| s < end)?;
        Some((s.max(start), e.min(end)))
    }

    /// So many bytes come from here on, if they are the next after all that has come beyond a gap.
    #[inline]
    pub fn extend(&mut self, start: u64, len: u32) -> bool {
        let Some((_, end)) = self.ranges.last_mut().filter(|(_, end)| *end == start) else { return false };
        *end += u64::from(len);
        true
    }

    /// These bytes come.
    #[inline(always)]
    pub fn insert(&mut self, mut start: u64, mut end: u64) {
        if start > self.next {
            match self.ranges.last_mut() {
                // Most go on where the last has ended, which is the one that changed last, or behind it.
                Some(last) if last.1 == start && self.recents > 0 && self.recent[0] == *last => {
                    (last.1, self.recent[0].1) = (end, end);
                    return;
                }
                Some(last) if last.1 == start => (last.1, start) = (end, last.0),
                Some(last) if last.1 > start => {
                    // Merge with every range that it touches; there are few, because a window is.
                    let first = self.ranges.partition_point(|&(_, e)| e < start);
                    let last = self.ranges.partition_point(|&(s, _)| s <= end);
                    if first < last {
                        start = start.min(self.ranges[first].0);
                        end = end.max(self.ranges[last - 1].1);
                    }
                    self.ranges.splice(first..last, [(start, end)]);
                }
                _ => self.ranges.push((start, end)),
            }
            if self.sack {
                self.remember((start, end));
            }
            return;
        }
        self.next = self.next.max(end);
        let reached = self.ranges.partition_point(|&(s, _)| s <= self.next);
        if reached > 0 {
            self.next = self.next.max(self.ranges[reached - 1].1);
            self.ranges.drain(..reached);
        }
        self.forget((0, self.next));
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
