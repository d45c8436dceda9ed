//! One end of a connection as Linux has it: the opening with its timers, and both halves.

use super::ecn::Feedback;
use super::receive::Receiver;
use super::rtt::doubled;
use super::sender::{Episode, Opened, Sender};
use crate::connection::{Congestion, SendCounters};
use crate::host::Host;
use crate::segment::{Flags, Options, Segment};
use alloc::boxed::Box;
use alloc::sync::Arc;
use sluicegate_base::{Span, Time};

/// What an idle connection holds at an end that has written: the end, and its sender, which it has from its first write on.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<End>() + size_of::<Sender>() <= 700, "the most that an idle connection may take");

/// How far the opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The opener, before it has anything to say.
    Idle,
    /// The opener: a SYN is to go out.
    Calling,
    /// The opener: a SYN is out.
    Called,
    /// The other end, before the SYN.
    Listening,
    /// The other end: its answer is to go out; it is out, and what comes then ends the opening.
    Answering,
    Answered,
    /// Open.
    Established,
    /// Closed before it was ever opened.
    NeverOpened,
}

/// An opening.
#[derive(Debug)]
enum Opening {
    UnderWay(Call),
    /// It is over: what the sender begins with.
    Over(Opened),
}

/// An opening under way.
#[derive(Debug)]
struct Call {
    /// When the SYN, or its answer, first went out, when it goes out again, and how often it has.
    first: Time,
    deadline: Time,
    tries: u32,
    /// How long an answer is waited for.
    timeout: Span,
    /// The timestamp of the other end's opening.
    stamp: u32,
}

/// The opening, while it is under way.
fn under_way(opening: &mut Option<Box<Opening>>) -> Option<&mut Call> {
    match opening.as_deref_mut() {
        Some(Opening::UnderWay(call)) => Some(call),
        _ => None,
    }
}

/// How it went, once it is over.
fn opened(opening: &Option<Box<Opening>>) -> Option<&Opened> {
    match opening.as_deref() {
        Some(Opening::Over(opened)) => Some(opened),
        _ => None,
    }
}

/// One end of a connection of a Linux host.
#[derive(Debug)]
pub struct End {
    state: State,
    receives: bool,
    follows: bool,
    /// Until the connection is open, and the sending half has heard of it.
    opening: Option<Box<Opening>>,
    receiver: Receiver,
    /// The sending half, from the first write or the end of its stream on: many an end never has one.
    sender: Option<Box<Sender>>,
    host: Arc<Host>,
}

impl End {
    /// Bytes beside itself of one that has written, but for its controller and its queues: its sender is made at the first write.
    pub const SENDER: usize = size_of::<Sender>() + size_of::<Episode>();

    /// The end that opens a connection when its application first writes, the one that waits for it, or one that is open.
    #[must_use]
    pub fn new(host: &Arc<Host>, phase: Span, opens: bool, open: bool) -> End {
        let state = match opens {
            _ if open => State::Established,
            true => State::Idle,
            false => State::Listening,
        };
        let call = Call { first: Time::ZERO, deadline: Time::NEVER, tries: 0, timeout: host.rto.initial, stamp: 0 };
        End {
            state,
            receives: false,
            follows: true,
            opening: (!open).then(|| Box::new(Opening::UnderWay(call))),
            receiver: Receiver::new(host, phase),
            sender: None,
            host: Arc::clone(host),
        }
    }

    /// The sending half, made now if there is none.
    fn sending(&mut self) -> &mut Sender {
        self.sender.get_or_insert_with(|| {
            let mut sender = Box::new(Sender::new(&self.host, self.receiver.clock.phase()));
            #[cfg(test)]
            (sender.predicts &= self.receiver.predicts());
            if let Some(opened) = opened(&self.opening) {
                sender.opened(*opened);
                self.opening = None;
            }
            sender
        })
    }

    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        match self.state {
            State::NeverOpened => return,
            State::Idle => self.state = State::Calling,
            _ => {}
        }
        self.sending().write(bytes);
    }

    /// The application writes no more: what was never sent is forgotten.
    pub fn stop(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.stop();
        }
    }

    /// The application writes no more, and the stream ends where this host ends streams.
    pub fn close(&mut self) {
        match self.state {
            _ if !self.host.closing => {}
            State::Idle => self.state = State::NeverOpened,
            State::NeverOpened => {}
            _ => self.sending().close(),
        }
    }

    /// From now on it does not close by itself after the other end.
    pub fn close_alone(&mut self) {
        self.follows = false;
    }

    /// From now on no acknowledgement is predicted, and none is told from the last.
    #[cfg(test)]
    pub(super) fn predict_nothing(&mut self) {
        self.receiver.predict_nothing();
    }

    /// A segment of the other end arrives; `ce`: its packet was marked on the way.
    #[inline(never)]
    pub fn on_segment(&mut self, segment: &Segment, ce: bool, now: Time) {
        let opens = !self.is_open();
        if (opens || segment.flags.has(Flags::SYN)) && !self.completes_opening(segment, now) {
            return;
        }
        if segment.options.has(Options::STAMPED) {
            let age = self.receiver.age(segment);
            if age > 1 && !opens && self.is_too_old(segment, age) {
                if segment.occupies() {
                    self.receiver.drop_old(segment);
                }
                return;
            }
            if !opens {
                self.receiver.on_echo(segment, now);
            }
            self.receiver.on_stamp(segment, age);
        }
        if let (true, Some(sender)) = (segment.flags.has(Flags::ACK), &mut self.sender) {
            sender.on_ack(segment, now);
        }
        if segment.occupies() {
            if let Some(sender) = &self.sender {
                self.receiver.set_round_trip(sender.rtt.srtt_us(), sender.rtt.rto());
            }
            self.receives = true;
            let ended = self.receiver.finished();
            self.receiver.on_data(segment, ce, now);
            if self.receiver.finished() {
                self.on_end(ended);
            }
        }
    }

    /// The other end's stream has ended, now or before.
    fn on_end(&mut self, before: bool) {
        if !before && self.sender.as_ref().is_some_and(|sender| sender.closed) {
            // Both streams have ended: nothing will carry the acknowledgement (tcp_fin).
            self.receiver.owe();
        }
        if self.follows && self.done() {
            self.sending().close();
        }
    }

    /// Whether a segment is dropped for the age of its timestamp (tcp_paws_discard). An acknowledgement that repeats the last
    /// one may come a timeout late (tcp_disordered_ack).
    #[cold]
    fn is_too_old(&self, segment: &Segment, age: u32) -> bool {
        let phase = self.receiver.clock.phase();
        let (una, (wnd, rto)) = match &self.sender {
            Some(sender) => (sender.window.una, (sender.wnd, sender.rtt.rto())),
            None => (0, self.host.unwritten_window_and_timeout(phase, opened(&self.opening))),
        };
        let repeats = segment.ack == una && segment.options.window <= wnd;
        segment.occupies() || !repeats || Span::from_millis(age.into()).0 > rto.0 / 5 * 6
    }

    /// A segment of the opening, or the first after it. Whether it has more to say.
    #[cold]
    fn completes_opening(&mut self, segment: &Segment, now: Time) -> bool {
        if segment.flags.has(Flags::SYN) {
            self.on_syn(segment, now);
            return false;
        }
        let answered = matches!(self.state, State::Answering | State::Answered);
        if answered {
            self.answered(segment, now);
        }
        answered
    }

    /// The other end has answered: the connection is open here, too.
    fn answered(&mut self, segment: &Segment, now: Time) {
        self.state = State::Established;
        let Some(&mut Call { first, tries, .. }) = under_way(&mut self.opening) else { return };
        // By the clock if the opening was sent once, else by the echoed timestamp.
        let echo = segment.options.echo;
        let by_stamp = || Span::from_millis(self.receiver.clock.stamp(now).wrapping_sub(echo).max(1).into());
        let rtt = if tries == 1 { Some(now.since(first)) } else { (echo != 0).then(by_stamp) };
        let opened = Opened { now, rtt, tries, wnd: segment.options.window };
        let (_, rto) = self.host.unwritten_window_and_timeout(self.receiver.clock.phase(), Some(&opened));
        self.opening = match &mut self.sender {
            Some(sender) => {
                sender.opened(opened);
                None
            }
            None => Some(Box::new(Opening::Over(opened))),
        };
        self.receiver.set_round_trip((self.congestion().srtt.0 / 1000) as u32, rto);
        self.receiver.begin(now);
    }

    fn on_syn(&mut self, segment: &Segment, now: Time) {
        let answer = segment.flags.has(Flags::ACK);
        match self.state {
            State::Listening | State::Answered if !answer => {
                // A SYN that comes again changes nothing: its answer echoes the first (tcp_check_req).
                if let (State::Listening, Some(call)) = (self.state, under_way(&mut self.opening)) {
                    call.stamp = segment.options.stamp;
                    self.receiver.on_stamp(segment, self.receiver.age(segment));
                }
                self.state = State::Answering;
            }
            State::Called if answer => {
                self.receiver.on_stamp(segment, self.receiver.age(segment));
                self.answered(segment, now);
                // The third segment of the opening is one of its own; data follows it (tcp_rcv_synsent_state_process).
                self.receives = true;
                self.receiver.owe();
            }
            // The answer came again: what was said to it is lost.
            State::Established if answer => {
                self.receives = true;
                self.receiver.owe();
            }
            _ => {}
        }
    }

    /// The time that [`next_timer`](End::next_timer) named has come. Too early does no harm.
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time) {
        if !self.is_open() {
            self.call_again(now);
        }
        if let Some(sender) = &mut self.sender {
            sender.on_timer(now);
        }
        self.receiver.on_timer(now);
    }

    /// The time to repeat the opening may have come.
    #[cold]
    fn call_again(&mut self, now: Time) {
        let (rto, call) = (&self.host.rto, under_way(&mut self.opening));
        let Some(call) = call.filter(|call| now >= call.deadline) else { return };
        call.deadline = Time::NEVER;
        self.state = match self.state {
            State::Called => State::Calling,
            State::Answered => State::Answering,
            other => other,
        };
        // The first repetitions of a SYN wait as long as the first (tcp_syn_linear_timeouts).
        if u64::from(call.tries) > rto.syn_linear || self.state == State::Answering {
            call.timeout = doubled(call.timeout, rto.max);
        }
    }

    /// The next segment to send is written over `segment`, if there is one. Call it after each event until there is none.
    #[inline(never)]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        if self.state != State::Established {
            return self.poll_opening(now, segment);
        }
        // Acknowledgements go first: an opening's last, or one that could not wait for the data.
        if self.receives && self.receiver.poll_into(now, segment) {
            return true;
        }
        let sent = self.sender.as_mut().is_some_and(|sender| sender.poll_into(now, segment));
        if sent {
            self.receiver.fill(now, segment);
        }
        sent
    }

    fn poll_opening(&mut self, now: Time, segment: &mut Segment) -> bool {
        let Some(call) = under_way(&mut self.opening) else { return false };
        let ecn = self.host.answers_marks();
        let (state, flags) = match self.state {
            State::Calling => (State::Called, Flags::SYN.with_if(ecn, Flags::ECE.with(Flags::CWR))),
            State::Answering => (State::Answered, Flags::SYN.with(Flags::ACK).with_if(ecn, Flags::ECE)),
            _ => return false,
        };
        self.state = state;
        if call.tries == 0 {
            call.first = now;
        }
        call.tries += 1;
        call.deadline = self.receiver.clock.timer(now, call.timeout);
        segment.set(0, 0, flags.with(Feedback::of_sender(&self.host).of_opening()));
        segment.options.kinds = Options::STAMPED;
        (segment.options.stamp, segment.options.echo) = (self.receiver.clock.stamp(now), call.stamp);
        segment.options.window = self.receiver.first_window();
        true
    }

    /// Whether [`poll_into`](End::poll_into) may give a segment; if not, it would change nothing either.
    #[inline(always)]
    #[must_use]
    pub fn may_send(&self) -> bool {
        if !self.is_open() {
            return self.opening_may_send();
        }
        (self.receives && self.receiver.owes()) || self.sender.as_ref().is_some_and(|sender| sender.may_send())
    }

    #[cold]
    fn opening_may_send(&self) -> bool {
        matches!(self.state, State::Calling | State::Answering)
    }

    /// When it next wants [`on_timer`](End::on_timer).
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        self.next_timer_before(Time::NEVER)
    }

    /// The same if that is before `time`: it is not worked out if it is far away.
    #[inline(always)]
    #[must_use]
    pub fn next_timer_before(&self, time: Time) -> Option<Time> {
        let mut next = self.receiver.deadline();
        match &self.sender {
            _ if !self.is_open() => next = next.min(self.opening_deadline()),
            Some(sender) => next = sender.deadline_before(next.min(time)).unwrap_or(next),
            None => {}
        }
        (next < time).then_some(next)
    }

    #[cold]
    fn opening_deadline(&self) -> Time {
        match self.opening.as_deref() {
            Some(Opening::UnderWay(call)) => call.deadline,
            _ => Time::NEVER,
        }
    }

    /// Whether it is open and sends nothing but acknowledgements.
    #[inline]
    #[must_use]
    pub fn only_receives(&self) -> bool {
        self.sender.is_none() && self.is_open()
    }

    /// Whether the connection is open here.
    #[inline]
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == State::Established
    }

    /// What those look at who debug congestion control.
    #[must_use]
    pub fn congestion(&self) -> Congestion {
        let unwritten = || self.host.unwritten(opened(&self.opening));
        self.sender.as_ref().map_or_else(unwritten, |sender| sender.congestion())
    }

    /// What the sending half has counted.
    #[must_use]
    pub fn counters(&self) -> SendCounters {
        self.sender.as_ref().map_or_else(SendCounters::default, |sender| sender.counters())
    }

    /// Whether everything written has been acknowledged, the end of the stream included if it was closed.
    #[must_use]
    pub fn done(&self) -> bool {
        self.sender.as_ref().is_none_or(|sender| sender.done())
    }

    /// Whether everything written has been sent at least once.
    #[must_use]
    pub fn all_sent(&self) -> bool {
        self.sender.as_ref().is_none_or(|sender| sender.all_sent())
    }

    /// Bytes of the other end's stream received in order.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// Whether the other end's stream has come to its end.
    #[must_use]
    pub fn other_ended(&self) -> bool {
        self.receiver.finished()
    }

    /// Whether both streams have ended and both ends know, or the connection was closed before it was ever opened.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.state == State::NeverOpened
            || (self.receiver.finished() && self.sender.as_ref().is_some_and(|sender| sender.finished()))
    }
}
