//! What all loss recoveries share of a sender: sequence numbers, timer, round trip, window, what may be sent.

mod prediction;

use super::cc::CongestionController;
use super::rtt::Rtt;
use crate::cc::{Ack, CongestionControl, RoundTrip};
use crate::connection::Counters;
use crate::segment::{Flags, Plain};
use core::mem;
use sluicegate_base::Time;

/// Duplicate acknowledgements that show a loss (RFC 5681, Section 3.2).
pub const DUP_THRESH: u32 = 3;

/// What the last event allows to be sent besides retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendQuota {
    /// Nothing.
    Nothing,
    /// One new segment, for a first or second duplicate acknowledgement (RFC 3042).
    One,
    /// Whatever the window allows, up to so many segments.
    Burst(u8),
    /// Whatever the window allows.
    Window,
    /// The same, after the host's random delay where ns-2's rules have one.
    Delayed,
}

impl SendQuota {
    /// What a duplicate acknowledgement lets out under Reno.
    #[must_use]
    pub fn after_dup(core: &Core) -> SendQuota {
        match core.dupacks {
            n if n >= DUP_THRESH => SendQuota::Window,
            _ if core.limited_transmit => SendQuota::One,
            _ => SendQuota::Nothing,
        }
    }
}

/// Why the window was last reduced, until that is over; the names are those of Linux's `tcp_ca_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionState {
    /// It was not, or the recovery is over.
    Open,
    /// For duplicate acknowledgements.
    Recovery,
    /// For a mark (RFC 3168).
    Cwr,
    /// For a timeout.
    Loss,
}

/// Beyond every byte of a stream: none.
pub(crate) const NONE: u64 = u64::MAX;

/// What all loss recoveries share: sequence numbers, timer, round trip, window. What every segment touches comes first, so
/// that it lies together; there no time is [`Time::NEVER`] and no byte [`NONE`].
#[repr(C)]
pub struct Core {
    /// The first byte not acknowledged.
    pub una: u64,
    /// The next byte to send.
    pub nxt: u64,
    /// The byte after the highest ever sent.
    pub max: u64,
    /// The receiver's window in bytes.
    pub wnd: u64,
    /// The end of the stream as far as the application has written it.
    pub(crate) written: u64,
    /// When the retransmission timer expires.
    pub(crate) deadline: Time,
    /// The right edge of the window after a predicted acknowledgement.
    pub(crate) edge: u64,
    /// Bytes of a full segment.
    pub mss: u32,
    /// Segments that fast recovery allows beyond the congestion window; zero outside.
    pub inflation: u32,
    /// Duplicate acknowledgements in a row.
    pub dupacks: u32,
    /// What may be sent now.
    pub quota: SendQuota,
    /// Whether header prediction may be used at all.
    pub(crate) predictable: bool,
    /// Whether the next segment is predicted: after a predicted acknowledgement, new, full and in the window.
    pub(crate) straight: bool,
    /// Whether the first segment not acknowledged is to be sent again before anything else.
    pub resend: bool,
    /// Whether the next new segment says that the window was reduced.
    pub(crate) announce_cut: bool,
    /// The flags of data that may be marked: ECT, or none.
    pub(crate) ect: Flags,
    /// Why the window was last reduced.
    pub state: CongestionState,
    /// Whether the application writes no more.
    pub(crate) closed: bool,
    /// Whether marks are answered as RFC 3168 says.
    pub(crate) ecn: bool,
    /// Whether the last mark came at a window of one segment: the next one there backs the timer off.
    pub(crate) marked_at_one: bool,
    /// The congestion window.
    pub cc: CongestionController,
    /// The end of the segment whose round trip is being measured, and when it was sent.
    pub(crate) timed_end: u64,
    pub(crate) timed_sent: Time,
    /// Since when nothing has been under way, once something was.
    pub(crate) idle_since: Time,
    /// Segments sent.
    pub(crate) segments: u64,
    pub(crate) rtt: Rtt,
    /// What else has been counted.
    pub(crate) counters: Counters,
    /// Whether the first two duplicate acknowledgements let a new segment out.
    pub limited_transmit: bool,
    /// Whether the acknowledgement of each packet carries its own signal (DECbit, UT/LT).
    pub(crate) per_packet_feedback: bool,
    /// Whether ns-2 is followed where it departs from the RFCs.
    pub ns2_rules: bool,
    /// Whether the timer goes on while nothing is under way, as that of ns-2's Vegas.
    pub(crate) timer_runs_on: bool,
    /// How far acknowledgements must come before the window is reduced again: beyond what had been sent at the last time; zero
    /// before the first.
    pub recover: u64,
}

/// What an acknowledgement of new data says: the bytes that it covers, and the round trip that it ends.
pub struct Acked {
    pub(crate) bytes: u64,
    pub(crate) round: Option<RoundTrip>,
}

impl Core {
    /// The most that could be under way with so much inflation, in segments, as windows are cut from.
    #[must_use]
    pub fn window(&self, inflation: u32) -> f64 {
        (self.cc.cwnd() + f64::from(inflation)).min(self.wnd as f64 / f64::from(self.mss))
    }

    /// Whether duplicate acknowledgements may cut the window: everything sent before the last cut has been acknowledged,
    /// or nothing at all has (ns-2, `bugfix_ss_`: the first segment was lost).
    #[must_use]
    pub fn recovered(&self) -> bool {
        (self.ns2_rules && self.una == 0) || self.una >= self.recover
    }

    /// New data is acknowledged: the round trip, the timer, the position in the stream.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, now: Time) -> Acked {
        self.dupacks = 0;
        let flight = self.max - self.una;
        let mut acked = Acked { bytes: ack - self.una, round: None };
        self.advance(ack);
        if ack >= self.timed_end {
            let (end, sent) = self.end_measurement(now);
            let mss = f64::from(self.mss);
            let since = (self.max - end) as f64 / mss + 1.0;
            acked.round = Some(RoundTrip { rtt: now.since(sent), sent: since, flight: flight as f64 / mss });
        }
        self.set_timer(now);
        acked
    }

    /// The segment that was timed is acknowledged: its end, and when it was sent.
    fn end_measurement(&mut self, now: Time) -> (u64, Time) {
        let (end, sent) = (mem::replace(&mut self.timed_end, NONE), self.timed_sent);
        self.rtt.sample(sent, now);
        if !self.marked_at_one {
            self.rtt.end_back_off();
        }
        (end, sent)
    }

    /// New data was acknowledged: the timer starts anew, or stops when nothing is under way. A window below one segment
    /// waits for it even then.
    #[inline(always)]
    fn set_timer(&mut self, now: Time) {
        self.deadline = now + self.rtt.timeout();
        self.idle_since = Time::NEVER;
        if self.max <= self.una {
            self.idle_since = now;
            if self.cc.cwnd() >= 1.0 {
                self.deadline = Time::NEVER;
            }
        }
    }

    /// The position in the stream alone.
    #[inline]
    pub fn advance(&mut self, ack: u64) {
        self.una = ack;
        self.nxt = self.nxt.max(ack);
    }

    /// The window grows by an acknowledgement, unless that reports a mark or the window was not what limited the sender.
    #[inline]
    pub fn grow(&mut self, segment: &Plain, acked: Acked, now: Time) {
        // The timeout has answered the marks before it, but no new data has gone out yet to say so.
        let answered = self.state == CongestionState::Loss && segment.ack < self.recover;
        if !(self.ecn && segment.flags.has(Flags::ECE)) || (answered && !self.ns2_rules) {
            let segments = acked.bytes as f64 / f64::from(self.mss);
            let (srtt, round) = (self.rtt.srtt(), acked.round);
            self.cc.on_ack(&Ack { segments, now, srtt, round, limited: true, rate: None });
        }
    }

    /// Fast retransmit: the lost segment goes again, and the window is halved if it has not been for these data.
    pub fn enter(&mut self, halve: bool, now: Time) {
        if halve {
            self.recover = self.max + 1;
            // RFC 5681, eq. 4: two segments at the least.
            let least = if self.ns2_rules { 0.0 } else { 2.0 };
            let window = self.window(self.inflation);
            self.cc.on_congestion(window, least);
            self.announce_cut = true;
        }
        self.state = CongestionState::Recovery;
        self.counters.fast_retransmits += 1;
        self.resend = true;
        self.restart_timer(now);
    }

    /// The next new segment announces the reduction to the receiver (RFC 3168, CWR).
    pub fn announce_cut(&mut self) {
        self.announce_cut = true;
    }

    /// The timer starts anew, and what was being measured is not (Karn's rule: it may be sent again).
    pub fn restart_timer(&mut self, now: Time) {
        self.timed_end = NONE;
        self.restart_timer_only(now);
    }

    /// The timer alone.
    pub fn restart_timer_only(&mut self, now: Time) {
        self.deadline = now + self.rtt.timeout();
    }

    /// A measurement that this acknowledgement ends counts for the back-off, not for the estimate.
    pub fn forget_sample(&mut self, ack: u64) {
        if ack >= self.timed_end {
            self.timed_end = NONE;
            self.rtt.end_back_off();
        }
    }

    /// The next timeout is twice as long.
    pub fn back_off(&mut self) {
        self.rtt.back_off();
    }

    /// New data got through: the timer is no longer backed off.
    pub fn end_back_off(&mut self) {
        self.rtt.end_back_off();
    }

    /// Whether there is a next byte that the window lets out, given what recovery adds to it.
    #[must_use]
    #[inline(always)]
    pub fn fits(&self, inflation: u32) -> bool {
        // Far fewer segments than 2^32 fill the receiver's window.
        let segments = u64::from(self.cc.cwnd() as u32) + u64::from(inflation);
        let usable = segments.saturating_mul(u64::from(self.mss)).min(self.wnd);
        let end = self.nxt + u64::from(self.length_at(self.nxt));
        self.sendable(self.nxt) && end <= self.una.saturating_add(usable)
    }

    /// Segments beyond the congestion window that the quota allows.
    #[inline(always)]
    fn allowance(&self) -> u32 {
        if self.quota == SendQuota::One { self.dupacks } else { self.inflation }
    }

    /// Nothing may be sent if the window holds no more. After idling that is not known yet.
    #[inline]
    pub fn close_full_window(&mut self) {
        if self.quota != SendQuota::Nothing && self.idle_since == Time::NEVER && !self.fits(self.allowance()) {
            self.quota = SendQuota::Nothing;
        }
    }

    /// The next byte that the window lets out, given what recovery adds to it.
    #[inline(always)]
    pub fn next_in_window(&mut self) -> Option<u64> {
        if self.quota == SendQuota::Nothing {
            return None;
        }
        if !self.fits(self.allowance()) {
            self.quota = SendQuota::Nothing;
            return None;
        }
        self.quota = match self.quota {
            SendQuota::Burst(n) if n > 1 => SendQuota::Burst(n - 1),
            SendQuota::Burst(_) | SendQuota::One => SendQuota::Nothing,
            all => all,
        };
        let at = self.nxt;
        self.nxt = self.end_of(at);
        Some(at)
    }

    /// Whether there is anything to send at this byte: data, or the end of the stream.
    #[must_use]
    #[inline]
    pub fn sendable(&self, at: u64) -> bool {
        at < self.written || (self.closed && at == self.written)
    }

    #[inline]
    fn ends_at(&self, end: u64) -> bool {
        self.closed && end == self.written
    }

    /// A full segment, or what is left of the stream.
    #[must_use]
    #[inline]
    pub fn length_at(&self, at: u64) -> u32 {
        u64::from(self.mss).min(self.written.saturating_sub(at)) as u32
    }

    /// What follows the segment that would be sent at this byte.
    #[must_use]
    #[inline]
    pub fn end_of(&self, at: u64) -> u64 {
        let end = at + u64::from(self.length_at(at));
        end + u64::from(self.ends_at(end))
    }

    /// The window starts anew from one segment after an idle timeout, once there is something to send.
    #[cold]
    pub(crate) fn restart_if_idle(&mut self, now: Time) {
        // None is later than now.
        if now.since(self.idle_since) > self.rtt.timeout() && self.sendable(self.nxt) {
            self.end_idle(now);
            self.cc.set_cwnd(self.cc.cwnd().min(1.0));
        }
    }

    #[inline]
    fn end_idle(&mut self, now: Time) {
        if self.idle_since != Time::NEVER {
            self.cc.on_pause(now.since(self.idle_since));
            self.idle_since = Time::NEVER;
        }
    }

    #[inline(always)]
    pub(crate) fn emit(&mut self, seq: u64, now: Time, segment: &mut Plain) {
        let len = self.length_at(seq);
        let fin = self.ends_at(seq + u64::from(len));
        let end = seq + u64::from(len) + u64::from(fin);
        let mut flags = Flags::default().with_if(fin, Flags::FIN);
        let nothing_under_way = self.una == self.max;
        self.segments += 1;
        if end > self.max {
            self.max = end;
            if self.timed_end == NONE {
                (self.timed_end, self.timed_sent) = (end, now);
            }
            if len > 0 || self.per_packet_feedback {
                flags = self.label(flags);
            }
        } else {
            self.counters.retransmissions += 1;
            if self.ns2_rules || self.per_packet_feedback {
                flags = self.label(flags);
            }
            if !self.ns2_rules {
                // Karn's rule: what is sent again is not measured.
                if seq < self.timed_end && self.timed_end <= end {
                    self.timed_end = NONE;
                }
            }
        }
        if self.deadline == Time::NEVER || (nothing_under_way && !self.timer_runs_on) {
            self.deadline = now + self.rtt.timeout();
        }
        self.end_idle(now);
        segment.set(seq, len, flags);
    }

    /// RFC 3168, Sec. 6.1.2 and 6.1.5: only new data answers a mark, and only new data may be marked.
    #[inline]
    fn label(&mut self, flags: Flags) -> Flags {
        let answer = mem::take(&mut self.announce_cut) && self.ecn;
        flags.with(self.ect).with_if(answer, Flags::CWR)
    }

    /// RFC 3168, Section 6.1.2: a mark halves the window, once for each window of data.
    pub(crate) fn on_mark(&mut self, ack: u64) {
        // Nothing recovered from is byte 0 to ns-2: marks wait for the first data to be acknowledged.
        let recover = self.recover.max(u64::from(self.ns2_rules));
        // A timeout has answered what was sent before it; ns-2 answers that again.
        if ack >= recover || (self.ns2_rules && self.state == CongestionState::Loss) {
            self.recover = self.max + 1;
            self.state = CongestionState::Cwr;
            // A window of one segment waits for the timer, for twice as long at each further mark.
            let at_one = self.cc.cwnd() <= 1.0;
            if at_one && self.marked_at_one {
                self.rtt.back_off();
            }
            self.marked_at_one = at_one;
            let least = if self.ns2_rules || at_one { 0.0 } else { 1.0 };
            let window = self.window(self.inflation);
            self.cc.on_congestion(window, least);
            self.announce_cut = true;
            self.counters.mark_responses += 1;
        }
    }
}
