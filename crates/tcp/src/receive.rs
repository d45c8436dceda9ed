//! The receiving half of a connection: what has come, and what to acknowledge.

use crate::segment::Segment;
use alloc::vec::Vec;

/// The receiving half. It acknowledges every data segment at once with the next byte that it expects.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    next: u64,
    /// Ranges received beyond `next`, disjoint, in order.
    beyond: Vec<(u64, u64)>,
    owed: u64,
}

impl Receiver {
    /// The next byte that it expects.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// A data segment arrives.
    pub fn on_data(&mut self, segment: &Segment) {
        self.owed += 1;
        let (mut start, mut end) = (segment.seq, segment.end());
        if start > self.next {
            // Merge with every range that it touches; there are few, because a window is.
            let first = self.beyond.partition_point(|&(_, e)| e < start);
            let last = self.beyond.partition_point(|&(s, _)| s <= end);
            if first < last {
                start = start.min(self.beyond[first].0);
                end = end.max(self.beyond[last - 1].1);
            }
            self.beyond.splice(first..last, [(start, end)]);
            return;
        }
        self.next = self.next.max(end);
        let reached = self.beyond.partition_point(|&(s, _)| s <= self.next);
        if reached > 0 {
            self.next = self.next.max(self.beyond[reached - 1].1);
            self.beyond.drain(..reached);
        }
    }

    /// Takes one acknowledgement that is owed, if there is any.
    pub fn poll(&mut self) -> Option<Segment> {
        self.owed = self.owed.checked_sub(1)?;
        Some(Segment { ack: self.next, ..Segment::default() })
    }

    /// A segment that carries the acknowledgement leaves: nothing is owed any more.
    pub fn acknowledged(&mut self) {
        self.owed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(seq: u64, len: u32) -> Segment {
        Segment { seq, len, ack: 0 }
    }

    #[test]
    fn acknowledges_the_first_gap_and_then_past_it() {
        let mut receiver = Receiver::default();
        let mut acks = Vec::new();
        for seq in [0, 2, 3, 5, 1, 4] {
            receiver.on_data(&data(seq * 100, 100));
            acks.push(receiver.poll().unwrap().ack / 100);
        }
        assert_eq!(acks, [1, 1, 1, 1, 4, 6]);
        assert_eq!(receiver.poll(), None);
        assert!(receiver.beyond.is_empty());
    }

    #[test]
    fn old_and_overlapping_data_do_no_harm() {
        let mut receiver = Receiver::default();
        for (seq, len) in [(0, 100), (300, 100), (350, 100), (250, 60), (0, 50), (100, 150)] {
            receiver.on_data(&data(seq, len));
        }
        assert_eq!(receiver.next(), 450);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
        /// In whatever order the pieces come, the next byte expected is the end of the first unbroken run.
        #[test]
        fn agrees_with_a_bitmap(pieces in proptest::collection::vec((0u64..60, 1u32..10), 0..60)) {
            let mut receiver = Receiver::default();
            let mut seen = [false; 80];
            for (seq, len) in pieces {
                receiver.on_data(&data(seq, len));
                (seq..seq + u64::from(len)).for_each(|byte| seen[byte as usize] = true);
                let expected = seen.iter().position(|&got| !got).unwrap() as u64;
                proptest::prop_assert_eq!(receiver.next(), expected);
                proptest::prop_assert!(receiver.beyond.windows(2).all(|w| w[0].1 < w[1].0));
            }
        }
    }
}
