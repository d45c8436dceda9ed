//! The receiving half of a connection: what has come, and what to acknowledge.

use crate::cc::CongestionSignal;
use crate::host::Host;
use crate::reassembly::Reassembly;
use crate::segment::{Flags, Plain, SACK_BLOCKS, Segment};
use alloc::boxed::Box;
use sluicegate_base::{Span, Time};

/// The receiving half. Every second segment in order is acknowledged at once, as is every one out of order or that
/// fills a gap (RFC 5681, Section 4.2); the first of two waits for the delay, which is zero when each is acknowledged.
///
/// What every segment touches comes first; no time is [`Time::NEVER`] there.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Receiver {
    /// When an acknowledgement that is delayed must go.
    deadline: Time,
    /// Where the stream ends, once that is known.
    fin: u64,
    /// The next byte expected, and what has come beyond it, if anything has.
    next: u64,
    gaps: Option<Box<Reassembly>>,
    /// Acknowledgements to send now.
    owed: u32,
    /// Whether header prediction may be used at all.
    predictable: bool,
    /// The flags of acknowledgements: ECE while a mark has been seen that the sender has not answered yet (RFC 3168,
    /// Section 6.1.3), or with BETWEEN the signal of the last packet.
    reply: Flags,
    /// Whether ranges are reported.
    sack: bool,
    ns2_rules: bool,
    /// Whether the first data opens the connection.
    opened_by_data: bool,
    /// Whether each acknowledgement carries the signal of its packet (DECbit, UT/LT), instead of echoing until answered.
    per_packet_feedback: bool,
    /// Whether the segment whose acknowledgement waits was marked.
    waiting_marked: bool,
    delay: Span,
}

impl Receiver {
    /// A receiver that has nothing yet.
    #[must_use]
    pub fn new(host: &Host) -> Receiver {
        let per_packet_feedback = host.per_packet_feedback();
        Receiver {
            deadline: Time::NEVER,
            fin: u64::MAX,
            next: 0,
            gaps: None,
            owed: 0,
            predictable: host.delayed_ack == Span::ZERO && !per_packet_feedback,
            reply: Flags::ACK,
            sack: host.sack(),
            ns2_rules: host.ns2_rules,
            opened_by_data: host.vegas_of_ns2(),
            per_packet_feedback,
            waiting_marked: false,
            delay: host.delayed_ack,
        }
    }

    /// From now on every segment takes the general path.
    #[cfg(test)]
    pub(crate) fn predict_nothing(&mut self) {
        self.predictable = false;
    }

    /// Where what has come beyond a gap begins in memory, if anything has, and how many bytes of that most segments touch.
    #[inline(always)]
    #[must_use]
    pub fn behind(&self) -> Option<(&u64, usize)> {
        self.gaps.as_deref().map(|gaps| (&gaps.next, size_of::<u64>()))
    }

    /// Bytes of the stream received in order.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.next - u64::from(self.finished())
    }

    /// Whether the whole stream and its end have come.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.next >= self.fin
    }

    /// Data arrives, and is to be acknowledged, if it is as predicted. False, and nothing is done, if not.
    #[inline(always)]
    pub(crate) fn on_predicted_data(&mut self, segment: &Plain) -> bool {
        let predicted = self.takes_predicted(segment);
        self.owed += u32::from(predicted);
        predicted
    }

    /// Data arrives, if it is as predicted (header prediction, Jacobson 1990): each segment is acknowledged at once, and it is
    /// the next of the stream, or while one is missing the next after all that has come. False, and nothing is done, if not.
    #[inline(always)]
    pub(crate) fn takes_predicted(&mut self, segment: &Plain) -> bool {
        if !self.predictable || self.fin != u64::MAX || segment.flags.has_any(Flags::CWR.with(Flags::FIN)) {
            return false;
        }
        match &mut self.gaps {
            None if segment.seq == self.next => self.next += u64::from(segment.len),
            // With SACK the range is to be reported first.
            Some(gaps) if !self.sack => {
                if !gaps.extend(segment.seq, segment.len) {
                    return false;
                }
            }
            _ => return false,
        }
        true
    }

    /// A segment with data, or with the end of the stream, arrives; `ce`: its packet was marked; `label`: what queues have
    /// written on it.
    pub fn on_data(&mut self, segment: &Plain, ce: bool, label: u32, now: Time) {
        let mut echo = self.reply.has(Flags::ECE);
        if segment.flags.has(Flags::CWR) {
            // In ns-2 a sender's answer does not cover a mark that the same acknowledgement reports.
            echo = self.ns2_rules && self.deadline != Time::NEVER && self.waiting_marked;
        }
        let mut between = false;
        if self.per_packet_feedback {
            let signal = CongestionSignal::new(label, ce);
            (echo, between) = (signal == CongestionSignal::Congested, signal == CongestionSignal::Between);
        } else {
            echo |= ce;
        }
        self.reply = Flags::ACK.with_if(echo, Flags::ECE).with_if(between, Flags::BETWEEN);
        let end = segment.end().min(self.fin);
        if segment.flags.has(Flags::FIN)
            && self.gaps.as_ref().and_then(|gaps| gaps.last()).is_none_or(|last| last <= end)
            && end >= self.next
        {
            self.fin = if self.fin == u64::MAX { end } else { self.fin };
        }
        // ns-2 lets the acknowledgement of a repeated segment wait too, if that was the last one in order.
        let in_order = segment.seq <= self.next && (end > self.next || (self.ns2_rules && end == self.next));
        let gaps = self.gaps.is_some();
        self.insert(segment.seq.min(end), end);
        let opening = self.opened_by_data && segment.seq == 0;
        let wait = in_order
            && !opening
            && !gaps
            && self.deadline == Time::NEVER
            && !self.finished()
            && self.delay > Span::ZERO;
        if wait {
            self.deadline = now + self.delay;
            self.waiting_marked = ce;
        } else {
            self.owed += 1;
            self.deadline = Time::NEVER;
        }
    }

    /// These bytes come.
    fn insert(&mut self, start: u64, end: u64) {
        if self.gaps.is_none() && start <= self.next {
            self.next = self.next.max(end);
            return;
        }
        let gaps = self.gaps.get_or_insert_with(|| Box::new(Reassembly::new(self.sack)));
        gaps.next = self.next;
        gaps.insert(start, end);
        self.next = gaps.next();
        if !gaps.has_gaps() {
            self.gaps = None;
        }
    }

    /// The delay of an acknowledgement may be over.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.deadline {
            self.deadline = Time::NEVER;
            self.owed += 1;
        }
    }

    /// When a delayed acknowledgement must go.
    #[must_use]
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Whether any acknowledgement is owed.
    #[inline]
    #[must_use]
    pub fn owes(&self) -> bool {
        self.owed > 0
    }

    /// Writes one acknowledgement that is owed over `plain` and, with ranges, the whole of it, if there is any.
    #[inline]
    pub fn poll_into<'a>(&mut self, plain: &mut Plain, whole: impl FnOnce() -> &'a mut Segment) -> bool {
        let owed = self.owed > 0;
        if owed {
            self.owed -= 1;
            plain.set(0, 0, Flags::default());
            self.fill(plain, whole);
        }
        owed
    }

    /// Writes the acknowledgement of [predicted data](Receiver::takes_predicted) over `plain`: it reports no ranges.
    #[inline(always)]
    pub(crate) fn answer(&self, plain: &mut Plain) {
        plain.set(0, 0, self.reply);
        plain.ack = self.next;
    }

    /// Puts the acknowledgement onto a segment, and the ranges beyond it onto the whole of it.
    #[inline(always)]
    pub fn fill<'a>(&self, plain: &mut Plain, whole: impl FnOnce() -> &'a mut Segment) {
        plain.ack = self.next;
        plain.flags = plain.flags.with(self.reply);
        if let (true, Some(gaps)) = (self.sack, &self.gaps) {
            report(gaps, plain, whole());
        }
    }

    /// A segment that carries the acknowledgement leaves: nothing is owed any more.
    #[inline]
    pub fn acknowledged(&mut self) {
        self.owed = 0;
        self.deadline = Time::NEVER;
    }

    /// One acknowledgement is owed although no data has come.
    pub fn owe(&mut self) {
        self.owed += 1;
    }
}

/// Puts the ranges that have come onto a segment.
#[inline(never)]
fn report(gaps: &Reassembly, plain: &mut Plain, whole: &mut Segment) {
    *whole = (*plain).into();
    gaps.report(whole, SACK_BLOCKS);
    *plain = whole.plain();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::TcpParams;
    use crate::profiles::ProfileName;
    use alloc::vec::Vec;

    fn receiver() -> Receiver {
        let params = TcpParams::of(ProfileName::Ns2);
        Receiver { sack: true, ..Receiver::new(&Host::new(&params)) }
    }

    fn data(seq: u64, len: u32) -> Plain {
        Plain { seq, len, ..Plain::default() }
    }

    fn poll(receiver: &mut Receiver) -> Option<Plain> {
        let (mut plain, mut segment) = (Plain::default(), Segment::default());
        receiver.poll_into(&mut plain, || &mut segment).then_some(plain)
    }

    fn acknowledgement(receiver: &Receiver) -> Segment {
        let (mut plain, mut segment) = (Plain::default(), Segment::default());
        receiver.fill(&mut plain, || &mut segment);
        if segment.ranges().next().is_some() { segment } else { plain.into() }
    }

    fn give(receiver: &mut Receiver, segment: &Plain) {
        receiver.on_data(segment, false, 0, Time::ZERO);
    }

    #[test]
    fn acknowledges_the_first_gap_and_then_past_it() {
        let mut receiver = receiver();
        let mut acks = Vec::new();
        for seq in [0, 2, 3, 5, 1, 4] {
            give(&mut receiver, &data(seq * 100, 100));
            acks.push(poll(&mut receiver).unwrap().ack / 100);
        }
        assert_eq!(acks, [1, 1, 1, 1, 4, 6]);
        assert_eq!(poll(&mut receiver), None);
        assert!(receiver.gaps.is_none());
    }

    /// RFC 2018, Section 7, the third case of the second example: every other segment of eight is lost.
    #[test]
    fn reports_the_latest_range_first_and_then_earlier_ones() {
        let mut receiver = receiver();
        give(&mut receiver, &data(0, 500));
        let mut reports = Vec::new();
        for seq in [1000, 2000, 3000, 4000, 1500] {
            give(&mut receiver, &data(seq, 500));
            let ack = acknowledgement(&receiver);
            reports.push(ack.ranges().map(|(start, end)| (start / 500, end / 500)).collect::<Vec<_>>());
        }
        assert_eq!(reports[0], [(2, 3)]);
        assert_eq!(reports[1], [(4, 5), (2, 3)]);
        assert_eq!(reports[2], [(6, 7), (4, 5), (2, 3)]);
        assert_eq!(reports[3], [(8, 9), (6, 7), (4, 5)]);
        assert_eq!(reports[4], [(2, 5), (8, 9), (6, 7)], "joined with the ranges on both its sides");
        assert_eq!(acknowledgement(&receiver).option_bytes(), 28);
    }

    #[test]
    fn delays_the_first_of_two_and_nothing_out_of_order() {
        let mut receiver = Receiver { delay: Span::from_millis(100), ..receiver() };
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        receiver.on_data(&data(0, 100), false, 0, at(0));
        assert_eq!((poll(&mut receiver), receiver.deadline()), (None, at(100)));
        receiver.on_data(&data(100, 100), false, 0, at(1));
        assert_eq!(poll(&mut receiver).unwrap().ack, 200);
        receiver.on_data(&data(200, 100), false, 0, at(2));
        receiver.on_timer(at(101));
        assert_eq!(poll(&mut receiver), None);
        receiver.on_timer(at(102));
        assert_eq!(poll(&mut receiver).unwrap().ack, 300);
        for (seq, ack) in [(400, 300), (500, 300), (300, 600)] {
            receiver.on_data(&data(seq, 100), false, 0, at(3));
            assert_eq!(poll(&mut receiver).unwrap().ack, ack, "at once: out of order, or into a gap");
        }
    }

    #[test]
    fn echoes_a_mark_until_the_sender_has_answered() {
        let mut receiver = receiver();
        let echoes = |receiver: &Receiver| acknowledgement(receiver).flags.has(Flags::ECE);
        receiver.on_data(&data(0, 100), true, 0, Time::ZERO);
        receiver.on_data(&data(100, 100), false, 0, Time::ZERO);
        assert!(echoes(&receiver));
        receiver.on_data(&Plain { flags: Flags::CWR, ..data(200, 100) }, false, 0, Time::ZERO);
        assert!(!echoes(&receiver));
    }

    #[test]
    fn ns2_lets_a_repeated_segment_wait_and_reports_a_mark_beside_an_answer() {
        for ns2_rules in [false, true] {
            let mut receiver = Receiver { delay: Span::from_millis(100), ns2_rules, ..receiver() };
            give(&mut receiver, &data(0, 100));
            give(&mut receiver, &data(100, 100));
            assert_eq!(poll(&mut receiver).unwrap().ack, 200);
            give(&mut receiver, &data(100, 100));
            assert_eq!((poll(&mut receiver).is_none(), receiver.deadline() != Time::NEVER), (ns2_rules, ns2_rules));
            receiver.on_timer(Time(100_000_000));
            receiver.acknowledged();
            receiver.on_data(&data(200, 100), true, 0, Time::ZERO);
            receiver.on_data(&Plain { flags: Flags::CWR, ..data(300, 100) }, false, 0, Time::ZERO);
            assert_eq!(poll(&mut receiver).unwrap().flags.has(Flags::ECE), ns2_rules);
        }
    }

    #[test]
    fn the_end_of_the_stream_counts_once_everything_before_it_has_come() {
        let mut receiver = receiver();
        give(&mut receiver, &Plain { flags: Flags::FIN, ..data(100, 50) });
        assert!(!receiver.finished());
        give(&mut receiver, &data(0, 100));
        assert!(receiver.finished());
        assert_eq!((receiver.next, receiver.received()), (151, 150));
    }

    #[test]
    fn old_and_overlapping_data_do_no_harm() {
        let mut receiver = receiver();
        for (seq, len) in [(0, 100), (300, 100), (350, 100), (250, 60), (0, 50), (100, 150)] {
            give(&mut receiver, &data(seq, len));
        }
        assert_eq!(receiver.next, 450);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
        /// In whatever order the pieces come, the next byte expected is the end of the first unbroken run, and what is
        /// reported has been received.
        #[test]
        fn agrees_with_a_bitmap(pieces in proptest::collection::vec((0u64..60, 1u32..10), 0..60)) {
            let mut receiver = receiver();
            let mut seen = [false; 80];
            for (seq, len) in pieces {
                give(&mut receiver, &data(seq, len));
                (seq..seq + u64::from(len)).for_each(|byte| seen[byte as usize] = true);
                let expected = seen.iter().position(|&got| !got).unwrap() as u64;
                proptest::prop_assert_eq!(receiver.next, expected);
                let ranges = receiver.gaps.iter().flat_map(|gaps| gaps.ranges()).collect::<Vec<_>>();
                proptest::prop_assert!(ranges.windows(2).all(|w| w[0].1 < w[1].0));
                let ack = acknowledgement(&receiver);
                for (start, end) in ack.ranges() {
                    proptest::prop_assert!(start > expected && end > start);
                    proptest::prop_assert!((start..end).all(|byte| seen[byte as usize]));
                }
            }
        }
    }
}
