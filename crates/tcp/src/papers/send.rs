//! The sender: what its application, its peer and its clock do to it, and what it sends.

mod jitter;

use super::cc::CongestionController;
use super::recovery::{LossRecovery, Recovery};
use super::rtt::Rtt;
use super::send_core::{CongestionState, Core, NONE, SendQuota};
use crate::cc::{CongestionControl, CongestionSignal};
use crate::connection::{Congestion, Counters, SendCounters};
use crate::host::Host;
use crate::segment::{Flags, Options, Plain, Segment};
use alloc::boxed::Box;
use core::fmt;
use core::mem::take;
use jitter::SendJitter;
use sluicegate_base::{Span, Stream, Time};

/// The sending half.
#[repr(C)]
pub struct Sender {
    core: Core,
    recovery: LossRecovery,
    jitter: Option<Box<SendJitter>>,
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = &self.core;
        f.debug_struct("Sender").field("una", &core.una).field("nxt", &core.nxt).field("max", &core.max).finish()
    }
}

impl Sender {
    /// A sender with nothing written. `phase` shifts its clock within a tick.
    #[must_use]
    pub fn new(host: &Host, phase: Span) -> Sender {
        let (cc, recovery) = (CongestionController::new(host), LossRecovery::new(host));
        let per_packet_feedback = host.per_packet_feedback();
        let core = Core {
            una: 0,
            nxt: 0,
            max: 0,
            wnd: host.window,
            written: 0,
            deadline: Time::NEVER,
            edge: 0,
            mss: host.mss,
            inflation: 0,
            dupacks: 0,
            quota: SendQuota::Nothing,
            predictable: matches!(cc, CongestionController::Reno(_)) && recovery.predictable() && !per_packet_feedback,
            straight: false,
            resend: false,
            announce_cut: false,
            ect: Flags::default().with_if(host.answers_marks() || per_packet_feedback, Flags::ECT),
            cc,
            timed_end: NONE,
            timed_sent: Time::ZERO,
            idle_since: Time::NEVER,
            segments: 0,
            rtt: Rtt::new(host.rto.clone(), phase),
            counters: Counters::NONE,
            state: CongestionState::Open,
            limited_transmit: host.limited_transmit,
            closed: false,
            ecn: host.answers_marks(),
            per_packet_feedback,
            ns2_rules: host.ns2_rules,
            timer_runs_on: host.vegas_of_ns2(),
            marked_at_one: false,
            recover: 0,
        };
        Sender { core, recovery, jitter: None }
    }

    /// From now on what the window lets out waits for a random time up to `most` (ns-2, `overhead_`).
    pub fn set_send_jitter(&mut self, most: Span, rng: Stream) {
        self.jitter = Some(Box::new(SendJitter::new(most, rng)));
        self.core.predictable = false;
    }

    /// From now on every segment takes the general path.
    #[cfg(test)]
    pub(crate) fn predict_nothing(&mut self) {
        self.core.predictable = false;
    }

    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        if !self.core.closed {
            // Far from the end of the number range, so that sums of positions and lengths do not overflow.
            self.core.written = self.core.written.saturating_add(bytes).min(u64::MAX / 4);
        }
        self.core.quota = SendQuota::Window;
    }

    /// The application writes no more: what was never sent is forgotten.
    pub fn stop(&mut self) {
        self.core.written = self.core.written.min(self.core.max);
        self.core.straight = false;
    }

    /// The application writes no more and the stream ends after what it has written.
    pub fn close(&mut self) {
        self.core.closed = true;
        self.core.quota = SendQuota::Window;
    }

    /// The peer answered this end's SYN or acknowledged its SYN-ACK, which was sent then; `None`: more than once.
    pub fn opened(&mut self, sent: Option<Time>, now: Time) {
        match sent {
            Some(sent) => self.core.rtt.sample(sent, now),
            // RFC 5681, Section 3.1: after a lost SYN or SYN-ACK the window starts at one segment.
            None => {
                self.core.cc.set_cwnd(1.0);
                self.core.rtt.fall_back();
            }
        }
        self.core.quota = SendQuota::Window;
    }

    /// A segment with an acknowledgement arrives, and the whole of it.
    #[inline(always)]
    pub fn on_ack<'a>(&mut self, segment: &Plain, whole: impl FnOnce() -> &'a Segment, now: Time) {
        if segment.flags.has(Flags::ECE) || !self.core.on_predicted_ack(segment.ack, now) {
            if segment.kinds & Options::SACKS != 0 {
                self.recovery.note(whole());
            }
            self.on_any_ack(segment, now);
        }
    }

    #[inline(never)]
    fn on_any_ack(&mut self, segment: &Plain, now: Time) {
        let (core, ack, ece) = (&mut self.core, segment.ack, segment.flags.has(Flags::ECE));
        core.straight = false;
        if ack < core.una || ack > core.max {
            return;
        }
        if core.ecn && ece {
            core.on_mark(ack);
        } else if ack > core.una {
            core.marked_at_one = false;
        }
        if core.per_packet_feedback {
            // Duplicates in recovery answer what was sent before the loss, and data that repeats an acknowledgement no packet.
            let again = segment.occupies() || ack < core.recover;
            if ack > core.una || !again {
                let signal = CongestionSignal::new(u32::from(segment.flags.has(Flags::BETWEEN)), ece);
                core.counters.mark_responses += u32::from(core.cc.on_signal(signal));
            }
        }
        if ack > core.una {
            self.recovery.on_new_ack(core, segment, now);
        } else if (core.max > core.una || (core.ns2_rules && core.sendable(core.nxt))) && !segment.occupies() {
            // Only a segment without data can be a duplicate acknowledgement, and only while data is under way (RFC 5681,
            // Section 2). To ns-2 it is one always, and ends the wait of a window below one segment.
            self.recovery.on_dup_ack(core, segment, now);
        }
    }

    /// What waited may go, and the retransmission timer may have expired: goes back to the first unacknowledged byte if so.
    pub fn on_timer(&mut self, now: Time) {
        self.core.straight = false;
        if let Some(jitter) = self.jitter.as_mut().filter(|jitter| jitter.release <= now) {
            jitter.release = Time::NEVER;
            self.core.quota = SendQuota::Delayed;
        }
        let core = &mut self.core;
        if now < core.deadline {
            return;
        }
        let window = core.window(0).max(1.0);
        let marked_under_way = core.ns2_rules || core.una + 1 < core.recover;
        let idle = core.una == core.max;
        if idle && !core.timer_runs_on {
            // Nothing was lost: a window below one segment has waited long enough.
            core.cc.set_cwnd(1.0);
            core.restart_timer(now);
            core.deadline = Time::NEVER;
        } else {
            core.counters.timeouts += u32::from(!idle);
            core.cc.on_timeout(window, !(core.state == CongestionState::Cwr && marked_under_way));
            core.rtt.back_off();
            core.restart_timer(now);
            if idle {
                // What else it does while nothing is under way is seen when there is something to send.
                (core.deadline, core.idle_since) = (Time::NEVER, now);
            }
        }
        core.recover = core.max + 1;
        core.state = CongestionState::Loss;
        core.resend = false;
        core.announce_cut = true;
        core.nxt = core.una;
        core.quota = SendQuota::Window;
        self.recovery.on_timeout(core, now);
    }

    /// Whether [`poll_into`](Sender::poll_into) may give a segment; if not, it would change nothing either.
    #[inline]
    #[must_use]
    pub fn may_send(&self) -> bool {
        let core = &self.core;
        core.straight || core.quota != SendQuota::Nothing || core.resend || core.idle_since != Time::NEVER
    }

    /// Writes the next segment to send now over `segment`, if there is any. Call it after each event until there is none.
    #[inline(always)]
    pub fn poll_into(&mut self, now: Time, segment: &mut Plain) -> bool {
        if self.core.straight {
            self.core.emit_predicted(now, segment);
            return true;
        }
        self.poll_any_into(now, segment)
    }

    #[inline(never)]
    fn poll_any_into(&mut self, now: Time, segment: &mut Plain) -> bool {
        self.core.straight = false;
        let resend = take(&mut self.core.resend);
        let at = match resend {
            true => self.core.una,
            false => {
                if self.core.idle_since != Time::NEVER {
                    self.after_idling(now);
                }
                if self.jitter.is_some() && self.waits(now) {
                    return false;
                }
                let Some(at) = self.recovery.next(&mut self.core) else { return false };
                at
            }
        };
        if let LossRecovery::VegasNs2(vegas) = &mut self.recovery {
            vegas.on_send(&self.core, at, resend, now);
        }
        self.core.emit(at, now, segment);
        true
    }

    /// Nothing has been under way. RFC 5681, Section 4.1: after an idle timeout the window starts anew. A timer that runs
    /// on has expired once or more.
    #[cold]
    fn after_idling(&mut self, now: Time) {
        if !self.core.timer_runs_on {
            return self.core.restart_if_idle(now);
        }
        if !self.core.sendable(self.core.nxt) {
            return;
        }
        while self.core.idle_since != Time::NEVER {
            let expiry = self.core.idle_since + self.core.rtt.timeout();
            self.core.deadline = expiry;
            if expiry >= now {
                break;
            }
            self.on_timer(expiry);
        }
    }

    /// Whether what the window would let out now waits for the host; it goes when [`on_timer`](Sender::on_timer) is due.
    #[cold]
    fn waits(&mut self, now: Time) -> bool {
        if !matches!(self.core.quota, SendQuota::Window | SendQuota::Burst(_)) {
            return false;
        }
        self.core.quota = SendQuota::Nothing;
        if self.recovery.open(&self.core) {
            self.hold(now);
        }
        true
    }

    fn hold(&mut self, now: Time) {
        // What waits already takes the rest along.
        if let Some(jitter) = self.jitter.as_mut().filter(|jitter| jitter.release == Time::NEVER) {
            jitter.release = now + jitter.draw();
        }
    }

    /// Whether the opening of the connection may go out, which waits as data does.
    pub fn may_call(&mut self, now: Time) -> bool {
        let ready = self.jitter.is_none() || self.core.quota == SendQuota::Delayed;
        self.core.quota = SendQuota::Nothing;
        if !ready {
            self.hold(now);
        }
        ready
    }

    /// A gateway asks for less: slow start from one segment, up to the threshold as it is.
    pub fn on_quench(&mut self) {
        self.core.straight = false;
        // One below a segment waits for the timer already.
        if self.core.cc.cwnd() > 1.0 {
            self.core.cc.on_timeout(self.core.cc.cwnd(), false);
        }
        self.core.counters.quench_responses += 1;
    }

    /// When it next wants [`on_timer`](Sender::on_timer): the retransmission timer expires, or what waits may go.
    #[must_use]
    #[inline]
    pub fn deadline(&self) -> Time {
        let deadline = self.core.deadline;
        // A sender with jitter is never predictable; that of others, which lies far from the rest, need not be read.
        match &self.jitter {
            _ if self.core.predictable => deadline,
            None => deadline,
            Some(jitter) => jitter.release.min(deadline),
        }
    }

    /// The timeout as it stands.
    #[must_use]
    pub fn timeout(&self) -> Span {
        self.core.rtt.timeout()
    }

    /// The opening of the connection was sent this many times and not answered.
    pub fn back_off(&mut self, tries: u64) {
        if self.core.ns2_rules {
            self.core.cc.on_timeout(self.core.cc.cwnd(), true);
        }
        self.core.rtt.back_off_opening(tries);
    }

    /// What it has first in memory.
    #[must_use]
    pub fn first(&self) -> &u64 {
        &self.core.una
    }

    /// The congestion window in segments.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.core.cc.cwnd()
    }

    /// What those look at who debug congestion control.
    #[must_use]
    pub fn congestion(&self) -> Congestion {
        let core = &self.core;
        Congestion {
            cwnd: core.cc.cwnd(),
            ssthresh: core.cc.ssthresh(),
            srtt: core.rtt.srtt(),
            in_flight: core.nxt.saturating_sub(core.una),
        }
    }

    /// What it has counted.
    #[must_use]
    pub fn counters(&self) -> SendCounters {
        self.core.counters.with_segments(self.core.segments)
    }

    /// Whether everything written has been acknowledged, the end of the stream included if it was closed.
    #[must_use]
    pub fn done(&self) -> bool {
        self.core.una >= self.core.written + u64::from(self.core.closed)
    }

    /// Whether everything written has been sent at least once.
    #[must_use]
    pub fn all_sent(&self) -> bool {
        self.core.max >= self.core.written
    }

    /// Whether the stream is closed and its end acknowledged.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.core.closed && self.done()
    }

    /// Whether the application has anything for the other end.
    #[must_use]
    pub fn wants(&self) -> bool {
        self.core.written > 0 || self.core.closed
    }
}
