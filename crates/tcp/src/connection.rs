//! One end of a connection: how it opens and closes, and a sending and a receiving half that share acknowledgements.

#[cfg(test)]
mod prediction;

use crate::host::Host;
use crate::linux;
use crate::receive::Receiver;
use crate::segment::{Flags, Segment};
use crate::send::{Congestion, SendCounters, Sender};
use alloc::boxed::Box;
use core::mem::offset_of;
use sluicegate_base::{Span, Stream, Time};

/// How far the opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The opener, before it has anything to say.
    Idle,
    /// The opener: the SYN is to be sent, again if the timer has expired then.
    Calling { tries: u32, expired: Option<Time> },
    /// The opener: the SYN went out then, and is sent again at the deadline.
    Called { sent: Time, deadline: Time, tries: u32 },
    /// The other end, before the SYN.
    Listening,
    /// The other end, after the SYN: its answer is to be sent, for the first time or again; when it went out, if once.
    Answering { again: bool, sent: Option<Time> },
    /// The other end: the answer went out then, or more than once, and nothing has acknowledged it yet.
    Answered { sent: Option<Time> },
    /// Open.
    Established,
    /// The opener, closed before it had anything to say: there never was a connection.
    NeverOpened,
    /// A Linux host's end, which has states of its own.
    Linux,
}

/// One end of a connection. Its fields lie in this order, for the sake of ends that only send or only receive: one half
/// of those is never looked at.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    state: State,
    /// Whether the sending half has ever had anything to do, and the receiving half.
    sends: bool,
    receives: bool,
    /// Whether it closes by itself after the other end.
    follows: bool,
    closing: bool,
    ecn: bool,
    heeds_quench: bool,
    receiver: Receiver,
    sender: Sender,
    /// A Linux host's end, which then is all of it.
    linux: Option<Box<linux::End>>,
}

impl Connection {
    /// Where its sending half begins in memory; its state and its receiving half come before.
    pub const SENDING: usize = offset_of!(Connection, sender);

    /// An established end of a connection. `phase` shifts the retransmission clock within a tick.
    #[must_use]
    pub fn established(host: &Host, phase: Span) -> Connection {
        Connection::new(host, phase, State::Established)
    }

    /// The end that opens a connection when its application first writes, or the same as `established` for a host
    /// without handshakes.
    #[must_use]
    pub fn opener(host: &Host, phase: Span) -> Connection {
        Connection::new(host, phase, if host.opens() { State::Idle } else { State::Established })
    }

    /// The end that waits for the other to open.
    #[must_use]
    pub fn listener(host: &Host, phase: Span) -> Connection {
        Connection::new(host, phase, if host.opens() { State::Listening } else { State::Established })
    }

    fn new(host: &Host, phase: Span, state: State) -> Connection {
        let end = || Box::new(linux::End::new(host, phase, state == State::Idle, state == State::Established));
        let linux = host.is_linux().then(end);
        Connection {
            state: if linux.is_some() { State::Linux } else { state },
            ecn: host.answers_marks(),
            closing: host.closing,
            follows: true,
            heeds_quench: host.source_quench,
            sends: false,
            receives: false,
            sender: Sender::new(host, phase),
            receiver: Receiver::new(host),
            linux,
        }
    }

    /// From now on what it sends as its window allows waits for a random time up to `most`, as in ns-2; what does not wait
    /// there does not wait here.
    pub fn set_send_jitter(&mut self, most: Span, rng: Stream) {
        self.sender.set_send_jitter(most, rng);
    }

    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        if let Some(linux) = &mut self.linux {
            return linux.write(bytes);
        }
        match self.state {
            State::NeverOpened => return,
            State::Idle => self.state = State::Calling { tries: 0, expired: None },
            _ => {}
        }
        self.sends = true;
        self.sender.write(bytes);
    }

    /// The application writes no more: what was never sent is forgotten.
    pub fn stop(&mut self) {
        if let Some(linux) = &mut self.linux {
            return linux.stop();
        }
        self.sender.stop();
    }

    /// The application writes no more. A host that closes connections then ends the stream after what was written, and
    /// the other end does too. An opener that was never written to has nothing to end: it sends nothing, now or later
    /// (RFC 9293, Sec. 3.10.4: there is no connection to close).
    pub fn close(&mut self) {
        if let Some(linux) = &mut self.linux {
            return linux.close();
        }
        match self.state {
            _ if !self.closing => {}
            State::Idle => self.state = State::NeverOpened,
            State::NeverOpened => {}
            _ => self.end(),
        }
    }

    /// From now on it does not close by itself after the other end: its application says when.
    pub fn close_alone(&mut self) {
        if let Some(linux) = &mut self.linux {
            return linux.close_alone();
        }
        self.follows = false;
    }

    /// The stream ends after what was written.
    fn end(&mut self) {
        self.sends = true;
        self.sender.close();
    }

    /// A segment of the other end arrives; `ce`: its packet was marked on the way.
    #[inline]
    pub fn on_segment(&mut self, segment: &Segment, ce: bool, now: Time) {
        self.on_labelled(segment, ce, 0, now);
    }

    /// The same of a packet on which queues have written `label`; 0 when none has.
    #[inline(always)]
    pub fn on_labelled(&mut self, segment: &Segment, ce: bool, label: u32, now: Time) {
        if segment.flags.has(Flags::SYN) {
            return self.on_syn(segment, ce, now);
        }
        if !self.is_established() && !self.completes_opening(segment, ce, now) {
            return;
        }
        if segment.occupies() {
            self.receives = true;
            if ce || !self.receiver.on_predicted_data(segment) {
                self.on_data(segment, ce, label, now);
            }
        }
        if self.sends && segment.flags.has(Flags::ACK) {
            self.sender.on_ack(segment, now);
        }
    }

    #[inline(never)]
    fn on_data(&mut self, segment: &Segment, ce: bool, label: u32, now: Time) {
        self.receiver.on_data(segment, ce, label, now);
        if self.follows && self.receiver.finished() && self.sender.done() {
            self.end();
        }
    }

    /// Whether a segment that comes before the connection is established is valid: without the SYN there is no connection,
    /// and before its answer nothing of the other end's is valid. The acknowledgement of the answer ends the opening and
    /// times it, unless the answer went out more than once (RFC 6298, Sec. 2.2 and 3).
    #[inline(never)]
    fn completes_opening(&mut self, segment: &Segment, ce: bool, now: Time) -> bool {
        let sent = match self.state {
            State::Answered { sent } | State::Answering { again: true, sent } => sent,
            _ => {
                self.on_linux_segment(segment, ce, now);
                return false;
            }
        };
        if segment.flags.has(Flags::ACK) {
            self.state = State::Established;
            self.sender.opened(sent, now);
        }
        true
    }

    fn on_linux_segment(&mut self, segment: &Segment, ce: bool, now: Time) {
        if let Some(linux) = &mut self.linux {
            linux.on_segment(segment, ce, now);
            self.receiver.note_received(linux.received());
        }
    }

    #[cold]
    fn on_syn(&mut self, segment: &Segment, ce: bool, now: Time) {
        self.on_linux_segment(segment, ce, now);
        let answer = segment.flags.has(Flags::ACK);
        match self.state {
            State::Listening if !answer => self.state = State::Answering { again: false, sent: None },
            // The answer was lost, or is late.
            State::Answered { sent } if !answer => self.state = State::Answering { again: true, sent },
            State::Called { sent, tries, .. } if answer => {
                self.state = State::Established;
                self.sender.opened((tries == 1).then_some(sent), now);
                if !self.sender.wants() {
                    self.receives = true;
                    self.receiver.owe();
                }
            }
            _ => {}
        }
    }

    /// A source quench for what this end sends arrives (RFC 792). A host that heeds it closes its window to one segment, as
    /// 4.3BSD does; before the connection is open there is no window to close.
    pub fn on_quench(&mut self) {
        if self.heeds_quench && matches!(self.state, State::Established | State::Answered { .. }) {
            self.sender.on_quench();
        }
    }

    /// The time that [`next_timer`](Connection::next_timer) named has come. Too early does no harm.
    pub fn on_timer(&mut self, now: Time) {
        if let Some(linux) = &mut self.linux {
            return linux.on_timer(now);
        }
        if let State::Called { deadline, tries, .. } = self.state {
            if now >= deadline {
                self.sender.back_off(tries.into());
                self.state = State::Calling { tries, expired: Some(now) };
            }
        }
        self.sender.on_timer(now);
        self.receiver.on_timer(now);
    }

    /// The next segment to send, if any. Call it after each event until it gives none.
    #[inline]
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        let mut segment = Segment::default();
        self.poll_into(now, &mut segment).then_some(segment)
    }

    /// The same, written over `segment` where it is to be; false, and nothing that counts there, when there is none.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Time, segment: &mut Segment) -> bool {
        if !self.is_established() {
            return self.poll_opening(now, segment);
        }
        self.poll_open(now, segment)
    }

    #[inline(always)]
    fn poll_open(&mut self, now: Time, segment: &mut Segment) -> bool {
        if self.sends && self.sender.poll_into(now, segment) {
            if self.receives {
                self.receiver.acknowledged();
                self.receiver.fill(segment);
            } else {
                segment.flags = segment.flags.with(Flags::ACK);
            }
            return true;
        }
        self.receives && self.receiver.poll_into(segment)
    }

    /// Whether it has nothing to send but acknowledgements: then its one timer is that of a delayed acknowledgement.
    #[inline]
    #[must_use]
    pub fn only_receives(&self) -> bool {
        !self.sends && self.is_established()
    }

    /// Whether it has nothing to receive but acknowledgements: then its one timer is the sender's.
    #[inline]
    #[must_use]
    pub fn only_sends(&self) -> bool {
        !self.receives && self.is_established()
    }

    /// Whether [`poll_into`](Connection::poll_into) may give a segment; if not, it would change nothing either.
    #[inline(always)]
    #[must_use]
    pub fn may_send(&self) -> bool {
        if !self.is_established() {
            return self.may_send_otherwise();
        }
        (self.sends && self.sender.may_send()) || (self.receives && self.receiver.owes())
    }

    /// The same while the connection opens, or where it is a Linux host's.
    #[inline(never)]
    fn may_send_otherwise(&self) -> bool {
        self.linux.as_ref().is_none_or(|linux| linux.may_send())
    }

    #[inline(always)]
    fn is_established(&self) -> bool {
        matches!(self.state, State::Established)
    }

    /// The same while the connection opens, or where it is a Linux host's.
    #[inline(never)]
    fn poll_opening(&mut self, now: Time, segment: &mut Segment) -> bool {
        if let Some(linux) = &mut self.linux {
            return linux.poll_into(now, segment);
        }
        // RFC 3168, Section 6.1.1: both flags ask for ECN.
        let flags = match self.state {
            State::Calling { .. } if !self.sender.may_call(now) => return false,
            State::Calling { tries, expired } => {
                // The timer runs from its expiry on, also where the host waits before it sends.
                let deadline = expired.unwrap_or(now) + self.sender.timeout();
                self.state = State::Called { sent: now, deadline, tries: tries + 1 };
                Flags::SYN.with_if(self.ecn, Flags::ECE.with(Flags::CWR))
            }
            State::Answering { again, .. } => {
                self.state = State::Answered { sent: (!again).then_some(now) };
                Flags::SYN.with(Flags::ACK).with_if(self.ecn, Flags::ECE)
            }
            State::Answered { .. } => return self.poll_open(now, segment),
            _ => return false,
        };
        segment.set(0, 0, flags);
        true
    }

    /// When it next wants [`on_timer`](Connection::on_timer).
    #[must_use]
    #[inline(always)]
    pub fn next_timer(&self) -> Option<Time> {
        let mut next = if self.sends { self.sender.deadline() } else { Time::NEVER };
        if self.receives {
            next = next.min(self.receiver.deadline());
        }
        match self.state {
            State::Called { deadline, .. } => next = next.min(deadline),
            State::Linux => return self.linux.as_ref().and_then(|linux| linux.next_timer()),
            _ => {}
        }
        (next != Time::NEVER).then_some(next)
    }

    /// The congestion window in segments.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.linux.as_ref().map_or_else(|| self.sender.cwnd(), |linux| linux.sender().cwnd())
    }

    /// What those look at who debug congestion control.
    #[must_use]
    pub fn congestion(&self) -> Congestion {
        self.linux.as_ref().map_or_else(|| self.sender.congestion(), |linux| linux.sender().congestion())
    }

    /// What the sending half has counted.
    #[must_use]
    pub fn counters(&self) -> SendCounters {
        self.linux.as_ref().map_or_else(|| self.sender.counters(), |linux| linux.sender().counters())
    }

    /// Bytes of the other end's stream received in order.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.receiver.received()
    }

    /// Whether everything written has been acknowledged, the end of the stream included if it was closed.
    #[must_use]
    pub fn done(&self) -> bool {
        self.linux.as_ref().map_or_else(|| self.sender.done(), |linux| linux.sender().done())
    }

    /// Whether the other end's stream has come to its end.
    #[must_use]
    pub fn other_ended(&self) -> bool {
        self.linux.as_ref().map_or_else(|| self.receiver.finished(), |linux| linux.other_ended())
    }

    /// Whether all that was written has gone out at least once.
    #[must_use]
    pub fn all_sent(&self) -> bool {
        self.linux.as_ref().map_or_else(|| self.sender.all_sent(), |linux| linux.sender().all_sent())
    }

    /// Whether both streams have ended and both ends know, or the connection was closed before it was ever opened.
    #[must_use]
    pub fn closed(&self) -> bool {
        if let Some(linux) = &self.linux {
            return linux.closed();
        }
        self.state == State::NeverOpened || (self.sender.finished() && self.receiver.finished())
    }
}
