//! # Tail loss probes
//!
//! After two round trips without an acknowledgement the last packet goes out again, or a new one. Its acknowledgement
//! shows losses sooner than a timeout would (RFC 8985, Sec. 7; Linux, `tcp_send_loss_probe`).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 8985, Sec. 7.2: PTO = 2·SRTT; with one packet out, plus the longest time that its acknowledgement may be delayed | 2·SRTT + 2 ms; with one packet out 2·SRTT + the minimum of the timeout's deviation (200 ms); never after the timeout | Linux, tcp_schedule_loss_probe |
//! | Sec. 7.3: no probe unless a round trip was measured since the last one | it is enough that no other is under way | Linux, tcp_send_loss_probe |
//! | Sec. 7.4.2: a probe that repaired a loss brings a response equivalent to a fast recovery | the window falls at once to the threshold | Linux, tcp_process_tlp_ack |

use super::ack::Seen;
use super::cc::State;
use super::rack::TIMER_SLACK;
use super::sender::{NEVER, Phase, Sender, Timer};
use core::num::NonZeroU64;
use sluicegate_base::Span;

impl Sender {
    /// Whether the state allows probes.
    pub(super) fn may_probe(&self) -> bool {
        matches!(self.window.state, State::Open | State::Cwr)
    }

    /// Sets the timer for a probe, if one is called for (tcp_schedule_loss_probe). `anew`: the timeout counts from now.
    pub(super) fn schedule_probe(&mut self, anew: bool) -> bool {
        if self.queue.is_empty() || !self.may_probe() {
            return false;
        }
        let srtt = self.rtt.srtt();
        let mut wait = Span::from_millis(1000);
        if srtt > Span::ZERO {
            let slack = if self.queue.len() == 1 { self.rtt.floor() } else { TIMER_SLACK };
            wait = Span(2 * srtt.0) + slack;
        }
        let timeout = if anew { self.rtt.rto() } else { self.until_timeout() };
        if timeout > Span::ZERO {
            wait = wait.min(timeout);
        }
        self.arm(Timer::Probe, wait);
        true
    }

    /// The time for a probe has come (tcp_send_loss_probe).
    pub(super) fn on_probe_timeout(&mut self) {
        if self.queue.is_empty() {
            self.timer = None;
            return;
        }
        if self.probe.is_some() {
            return self.rearm();
        }
        self.probe_resent = false;
        let fits = self.window.nxt + u64::from(self.window.mss) <= self.wnd_end();
        let new = self.sendable(self.window.nxt) && fits;
        self.phase = if new { Phase::Probe } else { Phase::Forced { repair: false } };
        // Until it is polled nothing is set: what is sent sets the timer.
        self.timer = Some(Timer::Probe);
        self.timer_span = NEVER;
    }

    /// The probe has gone out: the timeout starts from now.
    pub(super) fn probe_sent(&mut self, again: bool) {
        self.probe_resent = again;
        self.probe = NonZeroU64::new(self.window.nxt);
        self.arm(Timer::Retransmission, self.rtt.rto());
    }

    /// A probe is under way, and an acknowledgement came (tcp_process_tlp_ack).
    pub(super) fn on_probe_acked(&mut self, ack: u64, seen: &Seen) {
        if self.probe.is_none_or(|probe| ack < probe.get()) {
            return;
        }
        if !self.probe_resent || seen.duplicate_of_probe {
            self.probe = None;
        } else if self.probe.is_some_and(|probe| ack > probe.get()) {
            // It repaired a loss.
            self.begin_reduction();
            self.set_state(State::Cwr);
            self.end_reduction();
            self.keep_open();
        } else if !seen.advanced && !seen.not_duplicate() && !seen.sacked {
            self.probe = None;
        }
    }
}
