//! One end of a connection as Linux has it: the opening with its timers, and both halves.

use super::receive::Receiver;
use super::sender::Sender;
use crate::host::Host;
use crate::segment::{Flags, Options, Segment};
use sluicegate_base::{Span, Time};

/// A flow has two ends. The goal is 700: two thirds are the sender, which an end that only receives has, too.
const _: () = assert!(core::mem::size_of::<End>() <= 1184);

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

/// One end of a connection of a Linux host.
#[derive(Debug)]
pub struct End {
    state: State,
    /// When the SYN, or its answer, first went out, when it goes out again, and how often it has.
    first: Time,
    deadline: Time,
    tries: u32,
    /// What is waited for an answer, and how many repetitions of a SYN wait no longer than the one before.
    timeout: Span,
    linear: u64,
    /// The timestamp of the other end's opening.
    stamp: u32,
    sends: bool,
    receives: bool,
    closing: bool,
    follows: bool,
    ecn: bool,
    receiver: Receiver,
    sender: Sender,
}

impl End {
    /// The end that opens a connection when its application first writes, the one that waits for it, or one that is open.
    #[must_use]
    pub fn new(host: &Host, phase: Span, opens: bool, open: bool) -> End {
        let state = match opens {
            _ if open => State::Established,
            true => State::Idle,
            false => State::Listening,
        };
        End {
            state,
            first: Time::ZERO,
            deadline: Time::NEVER,
            tries: 0,
            timeout: host.rto.initial,
            linear: host.rto.syn_linear,
            stamp: 0,
            sends: false,
            receives: false,
            closing: host.closing,
            follows: true,
            ecn: host.answers_marks(),
            receiver: Receiver::new(host, phase),
            sender: Sender::new(host, phase),
        }
    }

    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        match self.state {
            State::NeverOpened => return,
            State::Idle => self.state = State::Calling,
            _ => {}
        }
        self.sends = true;
        self.sender.write(bytes);
    }

    /// The application writes no more: what was never sent is forgotten.
    pub fn stop(&mut self) {
        self.sender.stop();
    }

    /// The application writes no more, and the stream ends where this host ends streams.
    pub fn close(&mut self) {
        match self.state {
            _ if !self.closing => {}
            State::Idle => self.state = State::NeverOpened,
            State::NeverOpened => {}
            _ => self.finish(),
        }
    }

    /// From now on it does not close by itself after the other end.
    pub fn close_alone(&mut self) {
        self.follows = false;
    }

    /// From now on no header is predicted.
    #[cfg(test)]
    pub(super) fn predict_nothing(&mut self) {
        self.sender.predict_nothing();
    }

    fn finish(&mut self) {
        self.sends = true;
        self.sender.close();
    }

    /// A segment of the other end arrives; `ce`: its packet was marked on the way.
    pub fn on_segment(&mut self, segment: &Segment, ce: bool, now: Time) {
        if segment.flags.has(Flags::SYN) {
            return self.on_syn(segment, now);
        }
        let age = self.receiver.age(segment);
        match self.state {
            State::Established if age > 1 && self.is_too_old(segment, age) => {
                if segment.occupies() {
                    self.receiver.drop_old(segment);
                }
                return;
            }
            State::Established => {}
            State::Answering | State::Answered => self.answered(segment, now),
            _ => return,
        }
        self.receiver.on_stamp(segment, age);
        self.receiver.on_echo(segment, now);
        if segment.flags.has(Flags::ACK) && self.sends {
            self.sender.on_ack(segment, now);
            self.receiver.set_srtt(self.sender.srtt());
        }
        if segment.occupies() {
            self.receives = true;
            let ended = self.receiver.finished();
            self.receiver.on_data(segment, ce, now);
            if self.sender.closed && !ended && self.receiver.finished() {
                // Both streams have ended: nothing will carry the acknowledgement (tcp_fin).
                self.receiver.owe();
            }
            if self.follows && self.receiver.finished() && self.sender.done() {
                self.finish();
            }
        }
    }

    /// Whether a segment is dropped for the age of its timestamp (tcp_paws_discard). An acknowledgement that repeats the last
    /// one may come a timeout late (tcp_disordered_ack).
    #[cold]
    fn is_too_old(&self, segment: &Segment, age: u32) -> bool {
        let repeats = segment.ack == self.sender.window.una && u64::from(segment.options.window) <= self.sender.wnd;
        segment.occupies() || !repeats || Span::from_millis(age.into()).0 > self.sender.rtt.rto().0 / 5 * 6
    }

    /// What the opener says after the answer has come: the connection is open here, too.
    fn answered(&mut self, segment: &Segment, now: Time) {
        self.state = State::Established;
        self.deadline = Time::NEVER;
        let rtt = self.opening_rtt(segment, now);
        let window = segment.options.window.into();
        self.sender.opened(rtt, self.tries, window, now);
        self.receiver.set_srtt(self.sender.srtt());
        self.receiver.begin(now);
    }

    /// How long the opening took: by the clock if it was sent once, else by the echoed timestamp.
    fn opening_rtt(&self, segment: &Segment, now: Time) -> Option<Span> {
        if self.tries == 1 {
            return Some(now.since(self.first));
        }
        let echo = segment.options.echo;
        (echo != 0).then(|| Span::from_millis(self.sender.rtt.clock.stamp(now).wrapping_sub(echo).max(1).into()))
    }

    fn on_syn(&mut self, segment: &Segment, now: Time) {
        let answer = segment.flags.has(Flags::ACK);
        match self.state {
            State::Listening | State::Answered if !answer => {
                // A SYN that comes again changes nothing: its answer echoes the first (tcp_check_req).
                if self.state == State::Listening {
                    self.stamp = segment.options.stamp;
                    self.receiver.on_stamp(segment, self.receiver.age(segment));
                }
                self.sender.set_window(segment.options.window.into());
                self.state = State::Answering;
            }
            State::Called if answer => {
                self.state = State::Established;
                self.deadline = Time::NEVER;
                self.receiver.on_stamp(segment, self.receiver.age(segment));
                let rtt = self.opening_rtt(segment, now);
                self.sender.opened(rtt, self.tries, segment.options.window.into(), now);
                self.receiver.begin(now);
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
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.deadline {
            self.deadline = Time::NEVER;
            self.state = match self.state {
                State::Called => State::Calling,
                State::Answered => State::Answering,
                other => other,
            };
            // The first repetitions of a SYN wait as long as the first (tcp_syn_linear_timeouts).
            if u64::from(self.tries) > self.linear || self.state == State::Answering {
                self.timeout = self.sender.rtt.doubled(self.timeout);
            }
        }
        self.sender.on_timer(now);
        self.receiver.on_timer(now);
    }

    /// The next segment to send is written over `segment`, if there is one. Call it after each event until there is none.
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        if self.state != State::Established {
            return self.poll_opening(now, segment);
        }
        // Acknowledgements go first: an opening's last, or one that could not wait for the data.
        if self.receives && self.receiver.poll_into(now, segment) {
            return true;
        }
        if self.sends && self.sender.poll_into(now, segment) {
            self.receiver.fill(now, segment);
            return true;
        }
        false
    }

    fn poll_opening(&mut self, now: Time, segment: &mut Segment) -> bool {
        let flags = match self.state {
            State::Calling => {
                self.state = State::Called;
                Flags::SYN.with_if(self.ecn, Flags::ECE.with(Flags::CWR)).with(self.sender.feedback.of_opening())
            }
            State::Answering => {
                self.state = State::Answered;
                Flags::SYN.with(Flags::ACK).with_if(self.ecn, Flags::ECE).with(self.sender.feedback.of_opening())
            }
            _ => return false,
        };
        if self.tries == 0 {
            self.first = now;
        }
        self.tries += 1;
        self.deadline = self.sender.rtt.expiry(now, self.timeout);
        segment.set(0, 0, flags);
        segment.options.kinds = Options::STAMPED;
        (segment.options.stamp, segment.options.echo) = (self.sender.rtt.clock.stamp(now), self.stamp);
        segment.options.window = self.receiver.first_window();
        true
    }

    /// Whether [`poll_into`](End::poll_into) may give a segment; if not, it would change nothing either.
    #[must_use]
    pub fn may_send(&self) -> bool {
        match self.state {
            State::Established => (self.sends && self.sender.may_send()) || (self.receives && self.receiver.owes()),
            State::Calling | State::Answering => true,
            _ => false,
        }
    }

    /// When it next wants [`on_timer`](End::on_timer).
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        self.next_timer_before(Time::NEVER)
    }

    /// The same if that is before `time`: it is not worked out if it is far away.
    #[inline]
    #[must_use]
    pub fn next_timer_before(&self, time: Time) -> Option<Time> {
        let mut next = self.deadline;
        if self.receives {
            next = next.min(self.receiver.deadline());
        }
        if self.sends && self.state == State::Established {
            next = next.min(self.sender.deadline_before(next.min(time)).unwrap_or(next));
        }
        Some(next).filter(|next| *next < time)
    }

    /// Whether it is open and sends nothing but acknowledgements.
    #[inline]
    #[must_use]
    pub fn only_receives(&self) -> bool {
        !self.sends && self.is_open()
    }

    /// Whether no timer expires up to `time`.
    #[inline]
    #[must_use]
    pub fn is_quiet_until(&self, time: Time) -> bool {
        self.next_timer_before(Time(time.0.saturating_add(1))).is_none()
    }

    /// Whether the connection is open here.
    #[inline]
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state == State::Established
    }

    /// The sending half.
    #[must_use]
    pub fn sender(&self) -> &Sender {
        &self.sender
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
        self.state == State::NeverOpened || (self.sender.finished() && self.receiver.finished())
    }
}
