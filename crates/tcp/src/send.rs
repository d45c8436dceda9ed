//! The sending half of a connection: which segment goes next, and when to send one again.

use crate::cc::{CongestionControl, DUP_THRESH, Event, Reaction};
use crate::host::Host;
use crate::rtt::Rtt;
use crate::segment::Segment;
use alloc::boxed::Box;
use core::fmt;
use sluicegate_base::{Span, Time};

/// What the last event lets out besides retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Permit {
    Nothing,
    /// One new segment, for a first or second duplicate acknowledgement (RFC 3042).
    One,
    /// Whatever the window allows.
    Window,
}

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
}

/// The sending half.
pub struct Sender {
    mss: u32,
    /// The receiver's window in bytes.
    window: u64,
    limited_transmit: bool,
    cc: Box<dyn CongestionControl>,
    rtt: Rtt,
    /// The first byte not acknowledged, the next to send, and the one after the highest ever sent.
    una: u64,
    nxt: u64,
    max: u64,
    /// The end of the stream as far as the application has written it.
    written: u64,
    dupacks: u32,
    permit: Permit,
    resend: bool,
    /// The end of the segment whose round trip is being measured, and when it was sent.
    timed: Option<(u64, Time)>,
    deadline: Option<Time>,
    counters: SendCounters,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("una", &self.una).field("nxt", &self.nxt).field("max", &self.max).finish()
    }
}

impl Sender {
    /// A sender with nothing written. `phase` shifts its clock within a tick.
    #[must_use]
    pub fn new(host: &Host, phase: Span) -> Sender {
        Sender {
            mss: host.mss,
            window: host.window,
            limited_transmit: host.limited_transmit,
            cc: host.congestion_control(),
            rtt: Rtt::new(host.rto, phase),
            una: 0,
            nxt: 0,
            max: 0,
            written: 0,
            dupacks: 0,
            permit: Permit::Nothing,
            resend: false,
            timed: None,
            deadline: None,
            counters: SendCounters::default(),
        }
    }

    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
        self.permit = Permit::Window;
    }

    /// The application writes no more: what was never sent is forgotten.
    pub fn stop(&mut self) {
        self.written = self.max;
    }

    /// An acknowledgement arrives.
    pub fn on_ack(&mut self, ack: u64, now: Time) {
        if ack > self.una && ack <= self.max {
            self.on_new_ack(ack, now);
        } else if ack == self.una && self.max > self.una {
            self.on_dup_ack(now);
        }
    }

    fn on_new_ack(&mut self, ack: u64, now: Time) {
        self.dupacks = 0;
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        if let Some((end, sent)) = self.timed.filter(|(end, _)| ack >= *end) {
            debug_assert!(end <= ack);
            self.timed = None;
            self.rtt.sample(sent, now);
        }
        self.deadline = (self.max > self.una).then(|| now + self.rtt.timeout());
        let reaction = self.cc.on_ack(&self.event());
        self.react(reaction, now);
        self.permit = Permit::Window;
    }

    fn on_dup_ack(&mut self, now: Time) {
        self.dupacks += 1;
        let reaction = self.cc.on_dup_ack(&self.event());
        self.react(reaction, now);
        self.permit = match self.dupacks {
            n if n >= DUP_THRESH => Permit::Window,
            _ if self.limited_transmit => Permit::One,
            _ => Permit::Nothing,
        };
    }

    fn react(&mut self, reaction: Reaction, now: Time) {
        if reaction == Reaction::Retransmit {
            self.counters.fast_retransmits += 1;
            self.resend = true;
            self.timed = None;
            self.deadline = Some(now + self.rtt.timeout());
        }
    }

    /// The retransmission timer may have expired: goes back to the first unacknowledged byte if so.
    pub fn on_timer(&mut self, now: Time) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.counters.timeouts += 1;
        self.dupacks = 0;
        self.cc.on_timeout(&self.event());
        self.rtt.back_off();
        self.deadline = Some(now + self.rtt.timeout());
        self.timed = None;
        self.resend = false;
        self.nxt = self.una;
        self.permit = Permit::Window;
    }

    /// The next segment to send now, if any. Call it after each event until it gives none.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        if self.resend {
            self.resend = false;
            return Some(self.emit(self.una, now));
        }
        let segments = match self.permit {
            Permit::Nothing => return None,
            Permit::Window => self.cc.cwnd() as u64 + self.cc.inflation(),
            Permit::One => {
                self.permit = Permit::Nothing;
                self.cc.cwnd() as u64 + u64::from(self.dupacks)
            }
        };
        let usable = segments.saturating_mul(u64::from(self.mss)).min(self.window);
        let len = self.length_at(self.nxt);
        if len == 0 || self.nxt + u64::from(len) > self.una.saturating_add(usable) {
            self.permit = Permit::Nothing;
            return None;
        }
        let segment = self.emit(self.nxt, now);
        self.nxt = segment.end();
        Some(segment)
    }

    /// A full segment, or what is left of the stream.
    fn length_at(&self, seq: u64) -> u32 {
        u64::from(self.mss).min(self.written - seq) as u32
    }

    fn emit(&mut self, seq: u64, now: Time) -> Segment {
        let segment = Segment { seq, len: self.length_at(seq), ack: 0 };
        let nothing_under_way = self.una == self.max;
        self.counters.segments += 1;
        if segment.end() > self.max {
            self.max = segment.end();
            self.timed.get_or_insert((segment.end(), now));
        } else {
            self.counters.retransmissions += 1;
        }
        if self.deadline.is_none() || nothing_under_way {
            self.deadline = Some(now + self.rtt.timeout());
        }
        segment
    }

    fn event(&self) -> Event {
        let wnd = self.window as f64 / f64::from(self.mss);
        Event { una: self.una, max: self.max, dupacks: self.dupacks, wnd }
    }

    /// When the retransmission timer expires.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// The congestion window in segments.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.cc.cwnd()
    }

    /// What it has counted.
    #[must_use]
    pub fn counters(&self) -> SendCounters {
        self.counters
    }

    /// The first byte not acknowledged.
    #[must_use]
    pub fn una(&self) -> u64 {
        self.una
    }
}
