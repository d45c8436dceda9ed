//! One end of a connection, of Linux's hosts or of the papers'.

use crate::host::Host;
use crate::segment::{Flags, Options, Plain, Segment};
use crate::{linux, papers};
use alloc::boxed::Box;
use alloc::sync::Arc;
use sluicegate_base::{Span, Stream, Time};

/// What a sender has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendCounters {
    /// Segments sent, retransmissions included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Windows cut for a mark.
    pub mark_responses: u64,
    /// Windows closed for a source quench.
    pub quench_responses: u64,
}

/// What a sender counts beside segments. Each is far rarer than those: 32 bits hold it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub retransmissions: u32,
    pub timeouts: u32,
    pub fast_retransmits: u32,
    pub mark_responses: u32,
    pub quench_responses: u32,
}

impl Counters {
    /// None yet.
    pub const NONE: Counters =
        Counters { retransmissions: 0, timeouts: 0, fast_retransmits: 0, mark_responses: 0, quench_responses: 0 };

    /// As whoever asks sees them, with so many segments.
    pub fn with_segments(self, segments: u64) -> SendCounters {
        SendCounters {
            segments,
            retransmissions: self.retransmissions.into(),
            timeouts: self.timeouts.into(),
            fast_retransmits: self.fast_retransmits.into(),
            mark_responses: self.mark_responses.into(),
            quench_responses: self.quench_responses.into(),
        }
    }
}

/// What those look at who debug congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Congestion {
    /// The congestion window in segments.
    pub cwnd: f64,
    /// The slow-start threshold in segments.
    pub ssthresh: f64,
    /// The smoothed round-trip time; zero before the first measurement.
    pub srtt: Span,
    /// Bytes sent and not acknowledged, lost ones included until they are sent again.
    pub in_flight: u64,
}

/// One end of a connection.
#[derive(Debug)]
pub enum Connection {
    /// Of the papers' hosts.
    Papers(papers::End),
    /// Of Linux's.
    Linux(Box<linux::End>),
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Connection>() == size_of::<papers::End>(), "an end's first tag tells the kind, too");

macro_rules! of_each {
    ($self:ident, $end:ident => $what:expr) => {
        match $self {
            Connection::Papers($end) => $what,
            Connection::Linux($end) => $what,
        }
    };
}

impl Connection {
    /// Bytes beside itself of an end of this host that has written, but for its controller and its queues.
    #[must_use]
    pub fn beside(host: &Host) -> usize {
        match host.is_linux() {
            true => size_of::<linux::End>() + linux::End::SENDER,
            false => size_of::<papers::Sender>(),
        }
    }

    /// An established end of a connection. `phase` shifts the retransmission clock within a tick.
    #[must_use]
    pub fn established(host: &Arc<Host>, phase: Span) -> Connection {
        Connection::new(host, phase, false, true)
    }

    /// The end that opens a connection when its application first writes, or the same as `established` for a host
    /// without handshakes.
    #[must_use]
    pub fn opener(host: &Arc<Host>, phase: Span) -> Connection {
        Connection::new(host, phase, true, !host.opens())
    }

    /// The end that waits for the other to open.
    #[must_use]
    pub fn listener(host: &Arc<Host>, phase: Span) -> Connection {
        Connection::new(host, phase, false, !host.opens())
    }

    /// The same of an end whose application never writes.
    #[must_use]
    pub fn receiver(host: &Arc<Host>, phase: Span) -> Connection {
        match host.is_linux() || host.closing {
            true => Connection::listener(host, phase),
            false => Connection::Papers(papers::End::receiving(host)),
        }
    }

    fn new(host: &Arc<Host>, phase: Span, opens: bool, open: bool) -> Connection {
        match host.is_linux() {
            true => Connection::Linux(Box::new(linux::End::new(host, phase, opens && !open, open))),
            false => Connection::Papers(papers::End::new(host, phase, opens, open)),
        }
    }

    /// From now on what it sends as its window allows waits for a random time up to `most`, as in ns-2; what does not wait
    /// there does not wait here. Linux's hosts have none.
    pub fn set_send_jitter(&mut self, most: Span, rng: Stream) {
        if let Connection::Papers(end) = self {
            end.set_send_jitter(most, rng);
        }
    }

    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        of_each!(self, end => end.write(bytes));
    }

    /// The application writes no more: what was never sent is forgotten.
    pub fn stop(&mut self) {
        of_each!(self, end => end.stop());
    }

    /// The application writes no more. A host that closes connections then ends the stream after what was written, and
    /// the other end does too. An opener that was never written to has nothing to end: it sends nothing, now or later
    /// (RFC 9293, Sec. 3.10.4: there is no connection to close).
    pub fn close(&mut self) {
        of_each!(self, end => end.close());
    }

    /// From now on it does not close by itself after the other end: its application says when.
    pub fn close_alone(&mut self) {
        of_each!(self, end => end.close_alone());
    }

    /// A segment of the other end arrives; `ce`: its packet was marked on the way.
    #[inline]
    pub fn on_segment(&mut self, segment: &Segment, ce: bool, now: Time) {
        self.on_labelled(segment, ce, 0, now);
    }

    /// The same of a packet on which queues have written `label`; 0 when none has.
    pub fn on_labelled(&mut self, segment: &Segment, ce: bool, label: u32, now: Time) {
        self.on_plain(&segment.plain(), || segment, ce, label, now);
    }

    /// The same of a segment whose rest is asked for where it matters.
    #[inline(always)]
    pub fn on_plain<'a>(
        &mut self,
        plain: &Plain,
        whole: impl FnOnce() -> &'a Segment,
        ce: bool,
        label: u32,
        now: Time,
    ) {
        match self {
            Connection::Papers(end) if end.is_open() && !plain.flags.has(Flags::SYN) => {
                end.on_open_segment(plain, whole, ce, label, now);
            }
            Connection::Papers(end) => end.on_segment(plain, whole, ce, label, now),
            Connection::Linux(end) => end.on_segment(whole(), ce, now),
        }
    }

    /// A segment arrives unmarked at an end that [only receives](Connection::only_receives): its acknowledgement is
    /// written over it, if both are as predicted. False, and nothing is done, if not.
    #[inline(always)]
    pub fn answer_predicted(&mut self, segment: &mut Plain) -> bool {
        match self {
            Connection::Papers(end) if end.is_open() => end.answer_predicted(segment),
            _ => false,
        }
    }

    /// A source quench for what this end sends arrives (RFC 792). A host that heeds it closes its window to one segment, as
    /// 4.3BSD does; before the connection is open there is no window to close. Linux's heed none.
    pub fn on_quench(&mut self) {
        if let Connection::Papers(end) = self {
            end.on_quench();
        }
    }

    /// The time that [`next_timer`](Connection::next_timer) named has come. Too early does no harm.
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time) {
        of_each!(self, end => end.on_timer(now));
    }

    /// The next segment to send, if any. Call it after each event until it gives none.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_into(now, &mut segment).then_some(segment)
    }

    /// The same, written over `segment`; false, and nothing that counts there, when there is none.
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        let mut plain = Plain::default();
        let sent = self.poll_plain(now, &mut plain, || segment);
        if sent && plain.kinds == Options::NONE {
            *segment = plain.into();
        }
        sent
    }

    /// The same: what every segment has is written over `plain`, and the whole, if it has more, where `whole` says.
    #[inline(always)]
    pub fn poll_plain<'a>(&mut self, now: Time, plain: &mut Plain, whole: impl FnOnce() -> &'a mut Segment) -> bool {
        match self {
            Connection::Papers(end) if end.is_open() => end.poll_open(now, plain, whole),
            Connection::Papers(end) => end.poll_opening(now, plain, whole),
            Connection::Linux(end) => {
                let segment = whole();
                let sent = end.poll_into(now, segment);
                if sent {
                    *plain = segment.plain();
                }
                sent
            }
        }
    }

    /// Whether it has nothing to send but acknowledgements and, to another end of its kind, the answer to what opens the connection;
    /// a Linux host's is open, too.
    #[inline]
    #[must_use]
    pub fn only_receives(&self) -> bool {
        of_each!(self, end => end.only_receives())
    }

    /// Whether a segment that comes at `time`, before any other, finds it open with nothing to receive but acknowledgements, and
    /// no timer that expires until then but those that [`timer_until`](Connection::timer_until) tells; of Linux's ends the
    /// caller knows that the other end sends nothing else.
    #[inline(always)]
    #[must_use]
    pub fn will_only_send(&self, time: Time) -> bool {
        match self {
            Connection::Papers(end) => end.only_sends() && time < end.open_timer(),
            Connection::Linux(end) => end.is_open(),
        }
    }

    /// The timer of a Linux host's end that expires first, if one does up to `time`.
    #[inline(always)]
    #[must_use]
    pub fn timer_until(&self, time: Time) -> Option<Time> {
        match self {
            Connection::Papers(_) => None,
            Connection::Linux(end) => end.next_timer_before(Time(time.0.saturating_add(1))),
        }
    }

    /// Whether [`poll_into`](Connection::poll_into) may give a segment; if not, it would change nothing either.
    #[inline(always)]
    #[must_use]
    pub fn may_send(&self) -> bool {
        match self {
            Connection::Papers(end) if end.is_open() => end.open_may_send(),
            // What an opening has to say is asked for.
            Connection::Papers(_) => true,
            Connection::Linux(end) => end.may_send(),
        }
    }

    /// When it next wants [`on_timer`](Connection::on_timer).
    #[must_use]
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        self.next_timer_before(Time::NEVER)
    }

    /// The same if it is before `time`.
    #[must_use]
    #[inline(always)]
    pub fn next_timer_before(&self, time: Time) -> Option<Time> {
        let next = match self {
            Connection::Papers(end) if end.is_open() => end.open_timer(),
            Connection::Papers(end) => end.timer(),
            Connection::Linux(end) => return end.next_timer_before(time),
        };
        (next < time).then_some(next)
    }

    /// Where in memory that begins which a papers' end refers to and needs for a segment, if there is anything, and how many bytes
    /// it takes: what is fetched ahead depends on it, nothing else.
    #[inline(always)]
    #[must_use]
    pub fn behind(&self) -> Option<(&u64, usize)> {
        match self {
            Connection::Papers(end) => end.behind(),
            Connection::Linux(_) => None,
        }
    }

    /// The congestion window in segments.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.congestion().cwnd
    }

    /// What those look at who debug congestion control.
    #[must_use]
    pub fn congestion(&self) -> Congestion {
        match self {
            Connection::Papers(end) => end.sender().map(papers::Sender::congestion).unwrap_or_default(),
            Connection::Linux(end) => end.congestion(),
        }
    }

    /// What the sending half has counted.
    #[must_use]
    pub fn counters(&self) -> SendCounters {
        match self {
            Connection::Papers(end) => end.sender().map(papers::Sender::counters).unwrap_or_default(),
            Connection::Linux(end) => end.counters(),
        }
    }

    /// Bytes of the other end's stream received in order.
    #[must_use]
    pub fn received(&self) -> u64 {
        of_each!(self, end => end.received())
    }

    /// Whether everything written has been acknowledged, the end of the stream included if it was closed.
    #[must_use]
    pub fn done(&self) -> bool {
        match self {
            Connection::Papers(end) => end.sender().is_none_or(papers::Sender::done),
            Connection::Linux(end) => end.done(),
        }
    }

    /// Whether the other end's stream has come to its end.
    #[must_use]
    pub fn other_ended(&self) -> bool {
        of_each!(self, end => end.other_ended())
    }

    /// Whether all that was written has gone out at least once.
    #[must_use]
    pub fn all_sent(&self) -> bool {
        match self {
            Connection::Papers(end) => end.sender().is_none_or(papers::Sender::all_sent),
            Connection::Linux(end) => end.all_sent(),
        }
    }

    /// Whether both streams have ended and both ends know, or the connection was closed before it was ever opened.
    #[must_use]
    pub fn closed(&self) -> bool {
        of_each!(self, end => end.closed())
    }
}
