//! Data out of order, and data that has come before.

use super::{MAX_QUICK, Receiver};
use crate::reassembly::Reassembly;
use crate::segment::{Flags, Segment};
use alloc::boxed::Box;
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
    fn new(next: u64) -> Gaps {
        let mut data = Reassembly::new(true);
        data.next = next;
        Gaps { data, deadline: Time::NEVER, compressed: 0, counted: (next, 0) }
    }
}

impl Receiver {
    /// Data is dropped for the age of its timestamp: an acknowledgement says what is known (tcp_send_dupack).
    pub fn drop_old(&mut self, segment: &Segment) {
        if segment.seq < self.next {
            self.repeated((segment.seq, segment.end().min(self.next)));
            self.enter_quick(MAX_QUICK);
        }
        self.answer_old();
    }

    /// What comes too late is answered; if no acknowledgement was due that is none of the quick ones (tcp_send_dupack).
    fn answer_old(&mut self) {
        self.quick += u8::from(self.quick > 0 && !self.due());
        self.send_now();
    }

    /// Whether an acknowledgement is due, now or later (inet_csk_ack_scheduled).
    pub(super) fn due(&self) -> bool {
        self.owed || self.deadline() != Time::NEVER
    }

    /// The same as [`on_data`](Receiver::on_data) for any data.
    #[inline(never)]
    pub(super) fn on_other_data(&mut self, segment: &Segment, ce: bool, now: Time) {
        let prior = self.next;
        if segment.flags.has(Flags::FIN) && self.fin == u64::MAX && segment.end() >= self.next {
            self.fin = segment.end();
        }
        let (start, end) = (segment.seq, segment.end().min(self.fin));
        if end <= self.next {
            // All of it came before.
            self.repeated((start, end));
            self.enter_quick(MAX_QUICK);
            return if end < self.acked { self.answer_old() } else { self.send_now() };
        }
        let in_order = start <= self.next;
        if start < self.next {
            self.repeated((start, self.next));
            self.enter_quick(MAX_QUICK);
        }
        let gaps = self.gaps.is_some();
        let known = self.gaps.as_ref().filter(|_| !in_order).and_then(|gaps| gaps.data.known(start, end));
        if let Some(known) = known {
            self.repeated(known);
        }
        self.insert(start, end);
        let urgency = self.echo_of(segment, ce, prior);
        if in_order {
            self.window.unread = self.window.memory_of(segment.len);
            self.on_arrival(segment, now);
            if gaps {
                self.join(end);
            }
        } else {
            self.measure(segment);
            if known != Some((start, end)) {
                self.grow(segment.len);
                self.window.held += self.window.memory_of(segment.len);
            }
            self.window.hold(self.beyond().unwrap_or(0));
        }
        // After the end of the stream an answer is likely to carry the acknowledgement (tcp_fin).
        self.interactive |= self.finished();
        let filled = gaps && self.gaps.is_none();
        self.check(urgency || filled, now);
        if in_order {
            self.hand_over(end, now);
        }
    }

    /// Data comes out of order, or joins what did.
    fn insert(&mut self, start: u64, end: u64) {
        if start <= self.next && self.gaps.is_none() {
            self.next = end;
            return;
        }
        let next = self.next;
        let gaps = self.gaps.get_or_insert_with(|| Box::new(Gaps::new(next)));
        gaps.data.insert(start, end);
        self.next = gaps.data.next();
        if !gaps.data.has_gaps() {
            self.gaps = None;
        }
    }

    /// How far what has come reaches beyond what is expected.
    pub(super) fn beyond(&self) -> Option<u64> {
        self.gaps.as_ref().and_then(|gaps| gaps.data.last()).map(|last| last - self.next)
    }

    /// What a packet up to `end` has joined leaves the queue of what is out of order, and waits to be read.
    fn join(&mut self, end: u64) {
        let joined = if self.gaps.is_some() {
            let packets = (self.next - end).div_ceil(self.mss.into()) as u32;
            (packets * self.window.memory(self.mss)).min(self.window.held)
        } else {
            self.window.held
        };
        self.window.held -= joined;
        self.window.unread += joined;
    }

    /// Something came twice.
    pub(super) fn repeated(&mut self, range: (u64, u64)) {
        self.told = false;
        if self.rare.duplicate.is_none() {
            self.rare.duplicate = Some(range);
        }
    }

    /// An acknowledgement out of order goes, or is held back for a while (tcp_comp_sack_…).
    pub(super) fn hold_back(&mut self, now: Time) {
        let (next, srtt, mut rtt) = (self.next, self.srtt(), self.window.rtt());
        let Some(gaps) = &mut self.gaps else { return };
        if gaps.counted.0 != next {
            gaps.counted = (next, 0);
        }
        if gaps.counted.1 < UNCOMPRESSED || gaps.compressed >= COMPRESSED {
            gaps.counted.1 = (gaps.counted.1 + 1).min(UNCOMPRESSED);
            return self.send_now();
        }
        gaps.compressed += 1;
        if gaps.deadline == Time::NEVER {
            if srtt > Span::ZERO && srtt < rtt {
                rtt = srtt;
            }
            gaps.deadline = now + Span(rtt.0 / 20).min(COMPRESS_MAX);
        }
    }
}
