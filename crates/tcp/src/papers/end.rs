//! One end of a connection of the papers' hosts: how it opens and closes, and a sending and a receiving half that share
//! acknowledgements.

#[cfg(test)]
mod prediction;

use super::receive::Receiver;
use super::send::Sender;
use crate::host::Host;
use crate::segment::{Flags, Plain, Segment};
use alloc::boxed::Box;
use sluicegate_base::{Span, Stream, Time};

/// How far the connection has come. The tag comes first in [`End`] and is as wide as any there, so that it tells which end a
/// [`Connection`](crate::Connection) has, too, and one look at it is enough for both. No time is [`Time::NEVER`].
#[derive(Clone, Copy, Debug)]
#[repr(u32)]
enum State {
    /// Open.
    Open,
    /// The opener, before it has anything to say.
    Idle,
    /// The opener: the SYN is to be sent, again if the timer has expired then.
    Calling { tries: u32, expired: Time },
    /// The opener: the SYN went out, a timeout before the deadline if for the first time, and is sent again then.
    Called { tries: u32, deadline: Time },
    /// The other end, before the SYN.
    Listening,
    /// The other end, after the SYN: its answer is to be sent, for the first time or again; when it went out, if once.
    Answering { again: bool, sent: Time },
    /// The other end: the answer went out then, or more than once, and nothing has acknowledged it yet.
    Answered { sent: Time },
    /// The opener, closed before it had anything to say: there never was a connection.
    NeverOpened,
}

/// One end of a connection.
#[derive(Debug)]
#[repr(C, align(32))]
pub struct End {
    state: State,
    /// Whether the receiving half has ever had anything to do.
    receives: bool,
    /// Whether it closes by itself after the other end.
    follows: bool,
    closing: bool,
    ecn: bool,
    heeds_quench: bool,
    receiver: Receiver,
    /// The sending half, once it has ever had anything to do, and until then. One that only receives has none.
    sender: Option<Box<Sender>>,
    waiting: Option<Box<Sender>>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<End>() == 96, "each flow has two");

impl End {
    /// The end that opens a connection when its application first writes, the one that waits for it, or one that is open.
    #[must_use]
    pub fn new(host: &Host, phase: Span, opens: bool, open: bool) -> End {
        let state = match opens {
            _ if open => State::Open,
            true => State::Idle,
            false => State::Listening,
        };
        End { state, waiting: Some(Box::new(Sender::new(host, phase))), ..End::receiving(host) }
    }

    /// One that waits for the other to open, if hosts do, and sends nothing but acknowledgements: it has no sending half.
    #[must_use]
    pub fn receiving(host: &Host) -> End {
        End {
            state: if host.opens() { State::Listening } else { State::Open },
            ecn: host.answers_marks(),
            closing: host.closing,
            follows: true,
            heeds_quench: host.source_quench,
            receives: false,
            receiver: Receiver::new(host),
            sender: None,
            waiting: None,
        }
    }

    /// The sending half, which has something to do.
    fn sending(&mut self) -> Option<&mut Sender> {
        if self.sender.is_none() {
            self.sender = self.waiting.take();
        }
        self.sender.as_deref_mut()
    }

    /// The sending half, be there anything to do or not.
    fn half(&mut self) -> Option<&mut Sender> {
        self.sender.as_deref_mut().or(self.waiting.as_deref_mut())
    }

    /// The timeout as it stands.
    fn timeout(&mut self) -> Span {
        self.half().map_or(Span::ZERO, |sender| sender.timeout())
    }

    /// From now on what it sends as its window allows waits for a random time up to `most`, as in ns-2; what does not wait
    /// there does not wait here.
    pub fn set_send_jitter(&mut self, most: Span, rng: Stream) {
        if let Some(sender) = self.half() {
            sender.set_send_jitter(most, rng);
        }
    }

    /// Whether it is open. The methods named for that are for an end that is, the others for any.
    #[inline(always)]
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }

    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        match self.state {
            State::NeverOpened => return,
            State::Idle => self.state = State::Calling { tries: 0, expired: Time::NEVER },
            _ => {}
        }
        if let Some(sender) = self.sending() {
            sender.write(bytes);
        }
    }

    /// The application writes no more: what was never sent is forgotten.
    pub fn stop(&mut self) {
        if let Some(sender) = &mut self.sender {
            sender.stop();
        }
    }

    /// The application writes no more. A host that closes connections then ends the stream after what was written, and
    /// the other end does too. An opener that was never written to has nothing to end: it sends nothing, now or later
    /// (RFC 9293, Sec. 3.10.4: there is no connection to close).
    pub fn close(&mut self) {
        match self.state {
            _ if !self.closing => {}
            State::Idle => self.state = State::NeverOpened,
            State::NeverOpened => {}
            _ => self.end(),
        }
    }

    /// From now on it does not close by itself after the other end: its application says when.
    pub fn close_alone(&mut self) {
        self.follows = false;
    }

    /// The stream ends after what was written.
    fn end(&mut self) {
        if let Some(sender) = self.sending() {
            sender.close();
        }
    }

    /// A segment of the other end arrives, with the whole of it; `ce`: its packet was marked on the way; `label`: what queues
    /// have written on it.
    #[inline(never)]
    pub fn on_segment<'a>(
        &mut self,
        segment: &Plain,
        whole: impl FnOnce() -> &'a Segment,
        ce: bool,
        label: u32,
        now: Time,
    ) {
        if segment.flags.has(Flags::SYN) {
            return self.on_syn(segment, now);
        }
        if self.is_open() || self.completes_opening(segment, now) {
            self.on_open_segment(segment, whole, ce, label, now);
        }
    }

    /// The same of an end that is open, and of a segment without SYN.
    #[inline(always)]
    pub fn on_open_segment<'a>(
        &mut self,
        segment: &Plain,
        whole: impl FnOnce() -> &'a Segment,
        ce: bool,
        label: u32,
        now: Time,
    ) {
        if segment.occupies() {
            self.receives = true;
            if ce || !self.receiver.on_predicted_data(segment) {
                self.on_data(segment, ce, label, now);
            }
        }
        if let (Some(sender), true) = (&mut self.sender, segment.flags.has(Flags::ACK)) {
            sender.on_ack(segment, whole, now);
        }
    }

    /// A segment arrives unmarked at an open end that [only receives](End::only_receives): its acknowledgement is written over it, if both are as predicted. False, and nothing is done, if not.
    #[inline(always)]
    pub fn answer_predicted(&mut self, segment: &mut Plain) -> bool {
        let predicted = segment.len > 0 && !self.receiver.owes() && self.receiver.takes_predicted(segment);
        if predicted {
            self.receives = true;
            self.receiver.answer(segment);
        }
        predicted
    }

    #[inline(never)]
    fn on_data(&mut self, segment: &Plain, ce: bool, label: u32, now: Time) {
        self.receiver.on_data(segment, ce, label, now);
        if self.follows && self.receiver.finished() && self.sender.as_ref().is_none_or(|sender| sender.done()) {
            self.end();
        }
    }

    /// Whether a segment that comes before the connection is established is valid: without the SYN there is no connection,
    /// and before its answer nothing of the other end's is valid. The acknowledgement of the answer ends the opening and
    /// times it, unless the answer went out more than once (RFC 6298, Sec. 2.2 and 3).
    #[inline(never)]
    fn completes_opening(&mut self, segment: &Plain, now: Time) -> bool {
        let sent = match self.state {
            State::Answered { sent } | State::Answering { again: true, sent } => sent,
            _ => return false,
        };
        if segment.flags.has(Flags::ACK) {
            self.state = State::Open;
            if let Some(sender) = self.half() {
                sender.opened((sent != Time::NEVER).then_some(sent), now);
            }
        }
        true
    }

    #[cold]
    fn on_syn(&mut self, segment: &Plain, now: Time) {
        let answer = segment.flags.has(Flags::ACK);
        match self.state {
            State::Listening if !answer => self.state = State::Answering { again: false, sent: Time::NEVER },
            // The answer was lost, or is late.
            State::Answered { sent } if !answer => self.state = State::Answering { again: true, sent },
            State::Called { tries, deadline } if answer => {
                self.state = State::Open;
                let sent = Time(deadline.0.saturating_sub(self.timeout().0));
                if let Some(sender) = self.half() {
                    sender.opened((tries == 1).then_some(sent), now);
                    if !sender.wants() {
                        self.receives = true;
                        self.receiver.owe();
                    }
                }
            }
            _ => {}
        }
    }

    /// A source quench for what this end sends arrives (RFC 792). A host that heeds it closes its window to one segment, as
    /// 4.3BSD does; before the connection is open there is no window to close.
    pub fn on_quench(&mut self) {
        if self.heeds_quench && matches!(self.state, State::Open | State::Answered { .. }) {
            if let Some(sender) = self.half() {
                sender.on_quench();
            }
        }
    }

    /// The time that [`timer`](End::timer) named has come. Too early does no harm.
    pub fn on_timer(&mut self, now: Time) {
        if let State::Called { deadline, tries, .. } = self.state {
            if now >= deadline {
                if let Some(sender) = self.half() {
                    sender.back_off(tries.into());
                }
                self.state = State::Calling { tries, expired: now };
            }
        }
        if let Some(sender) = &mut self.sender {
            sender.on_timer(now);
        }
        self.receiver.on_timer(now);
    }

    /// The next segment to send is written over `segment` and, with ranges, the whole of it, if there is one. Call it after each
    /// event until there is none.
    #[inline(always)]
    pub fn poll_open<'a>(&mut self, now: Time, segment: &mut Plain, whole: impl FnOnce() -> &'a mut Segment) -> bool {
        if self.sender.as_mut().is_some_and(|sender| sender.poll_into(now, segment)) {
            if self.receives {
                self.receiver.acknowledged();
                self.receiver.fill(segment, whole);
            } else {
                segment.flags = segment.flags.with(Flags::ACK);
            }
            return true;
        }
        self.receives && self.receiver.poll_into(segment, whole)
    }

    /// Whether it has nothing to send but acknowledgements, and the answer to what opens the connection: then its one timer is
    /// that of a delayed acknowledgement.
    #[inline]
    #[must_use]
    pub fn only_receives(&self) -> bool {
        self.sender.is_none()
    }

    /// Whether it has nothing to receive but acknowledgements: then its one timer is the sender's.
    #[inline]
    #[must_use]
    pub fn only_sends(&self) -> bool {
        !self.receives && self.is_open()
    }

    /// Whether [`poll_open`](End::poll_open) may give a segment; if not, it would change nothing either.
    #[inline(always)]
    #[must_use]
    pub fn open_may_send(&self) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.may_send()) || (self.receives && self.receiver.owes())
    }

    /// The next segment to send while the connection opens.
    #[inline(never)]
    pub fn poll_opening<'a>(
        &mut self,
        now: Time,
        segment: &mut Plain,
        whole: impl FnOnce() -> &'a mut Segment,
    ) -> bool {
        // RFC 3168, Section 6.1.1: both flags ask for ECN.
        let flags = match self.state {
            State::Calling { tries, expired } => {
                if !self.half().is_some_and(|sender| sender.may_call(now)) {
                    return false;
                }
                // The timer runs from its expiry on, also where the host waits before it sends.
                let since = if expired == Time::NEVER { now } else { expired };
                self.state = State::Called { tries: tries + 1, deadline: since + self.timeout() };
                Flags::SYN.with_if(self.ecn, Flags::ECE.with(Flags::CWR))
            }
            State::Answering { again, .. } => {
                self.state = State::Answered { sent: if again { Time::NEVER } else { now } };
                Flags::SYN.with(Flags::ACK).with_if(self.ecn, Flags::ECE)
            }
            State::Answered { .. } => return self.poll_open(now, segment, whole),
            _ => return false,
        };
        segment.set(0, 0, flags);
        true
    }

    /// When an open one next wants [`on_timer`](End::on_timer); [`Time::NEVER`] if it does not.
    #[must_use]
    #[inline(always)]
    pub fn open_timer(&self) -> Time {
        let mut next = self.sender.as_ref().map_or(Time::NEVER, |sender| sender.deadline());
        if self.receives {
            next = next.min(self.receiver.deadline());
        }
        next
    }

    /// The same of any.
    #[inline(never)]
    #[must_use]
    pub fn timer(&self) -> Time {
        match self.state {
            State::Called { deadline, .. } => self.open_timer().min(deadline),
            _ => self.open_timer(),
        }
    }

    /// The sending half, if it has one.
    #[must_use]
    pub fn sender(&self) -> Option<&Sender> {
        self.sender.as_deref().or(self.waiting.as_deref())
    }

    /// Where the sending half begins in memory if it has ever had anything to do, or else what has come beyond a gap, and how many
    /// bytes that takes.
    #[inline(always)]
    #[must_use]
    pub fn behind(&self) -> Option<(&u64, usize)> {
        match &self.sender {
            Some(sender) => Some((sender.first(), size_of::<Sender>())),
            None => self.receiver.behind(),
        }
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
        let ended = || self.sender.as_ref().is_some_and(|sender| sender.finished()) && self.receiver.finished();
        matches!(self.state, State::NeverOpened) || ended()
    }
}
