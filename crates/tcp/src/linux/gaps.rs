//! What has come beyond a gap, and the acknowledgements that are held back there (tcp_input.c: `__tcp_ack_snd_check`).

use crate::reassembly::Reassembly;
use sluicegate_base::{Span, Time};

/// Acknowledgements out of order that are not held back, and the most that are, and how long (tcp_comp_sack_…).
const UNCOMPRESSED: u32 = 3;
const COMPRESSED: u32 = 44;
const COMPRESS_MAX: Span = Span::from_millis(1);

/// What has come beyond a gap, while there is one.
#[derive(Clone, Debug)]
pub(super) struct Gaps {
    pub data: Reassembly,
    /// When the acknowledgements must go that are held back, and how many are.
    pub deadline: Time,
    pub compressed: u32,
    /// What was expected when acknowledgements out of order began to count, and how many there were.
    counted: (u64, u32),
}

impl Gaps {
    pub fn new(next: u64) -> Gaps {
        let mut data = Reassembly::new(true);
        data.next = next;
        Gaps { data, deadline: Time::NEVER, compressed: 0, counted: (next, 0) }
    }

    /// Whether an acknowledgement of `next` is held back; round trips take `rtt`.
    pub fn holds_back(&mut self, next: u64, rtt: Span, now: Time) -> bool {
        if self.counted.0 != next {
            self.counted = (next, 0);
        }
        if self.counted.1 < UNCOMPRESSED || self.compressed >= COMPRESSED {
            self.counted.1 = (self.counted.1 + 1).min(UNCOMPRESSED);
            return false;
        }
        self.compressed += 1;
        if self.deadline == Time::NEVER {
            self.deadline = now + Span(rtt.0 / 20).min(COMPRESS_MAX);
        }
        true
    }
}
