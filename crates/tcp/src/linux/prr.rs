//! # PRR: how much goes out while the window falls
//!
//! Proportional rate reduction (RFC 6937bis, draft-ietf-tcpm-prr-rfc6937bis) as Linux has it (`tcp_cwnd_reduction`).
//!
//! ```text
//! delivered += newly delivered
//! in flight > ssthresh:  send = ⌈ssthresh · delivered / window before⌉ − out
//! else:                  send = max(delivered − out, newly delivered), one more if the acknowledgement is new and brings no loss,
//!                        at most ssthresh − in flight
//! at least 1 while nothing has gone out
//! cwnd = in flight + send
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | counts bytes | packets | Linux |
//! | RecoverFS is what was under way | the window before | Linux, prior_cwnd |

use super::cc::{Event, INFINITE, State};
use super::sender::Sender;

/// The state of one reduction, in packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    pub delivered: u32,
    pub out: u32,
}

impl Prr {
    /// How many packets may go out now.
    pub fn allowed(&mut self, in_flight: u32, ssthresh: u32, before: u32, newly: u32, restores: bool) -> u32 {
        self.delivered += newly;
        let send = if in_flight > ssthresh {
            let share = (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(before.max(1).into());
            (share as u32).saturating_sub(self.out)
        } else {
            let send = self.delivered.saturating_sub(self.out).max(newly) + u32::from(restores);
            send.min(ssthresh - in_flight)
        };
        send.max(u32::from(self.out == 0))
    }
}

impl Sender {
    /// A reduction begins: the controller says how far (tcp_init_cwnd_reduction).
    pub(super) fn begin_reduction(&mut self) {
        self.refresh();
        self.episode.high = self.window.nxt;
        self.probe = None;
        self.window.count = 0;
        self.window.prior_cwnd = self.window.cwnd;
        self.episode.prr = Prr::default();
        self.window.ssthresh = self.cc.ssthresh(&self.window);
        self.feedback.reduced();
    }

    /// An acknowledgement in a reduction delivers so many packets, of which so many more are lost (tcp_cwnd_reduction).
    pub(super) fn reduce(&mut self, newly: u32, lost: u32, advanced: bool) {
        if newly == 0 || self.window.prior_cwnd == 0 {
            return;
        }
        let (in_flight, restores) = (self.queue.in_flight(), advanced && lost == 0);
        let window = &mut self.window;
        let allowed = self.episode.prr.allowed(in_flight, window.ssthresh, window.prior_cwnd, newly, restores);
        window.cwnd = in_flight.saturating_add(allowed).max(1);
    }

    /// The reduction is over: the window is the threshold (tcp_end_cwnd_reduction).
    pub(super) fn end_reduction(&mut self) {
        if self.cc.governs() {
            return;
        }
        if self.window.ssthresh < INFINITE && (self.window.state == State::Cwr || self.episode.undo.marker.is_some()) {
            self.window.cwnd = self.window.ssthresh;
            self.cwnd_stamp = self.window.now;
        }
        self.refresh();
        self.cc.on_event(&mut self.window, Event::ReductionOver);
    }

    /// A mark begins a reduction (tcp_enter_cwr).
    pub(super) fn enter_cwr(&mut self) {
        self.episode.undo.prior_ssthresh = 0;
        if self.window.state < State::Cwr {
            self.episode.counters.mark_responses += 1;
            self.episode.undo.marker = None;
            self.begin_reduction();
            self.set_state(State::Cwr);
        }
    }

    /// The threshold that a window not reduced would have (tcp_current_ssthresh).
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.in_reduction() {
            return self.window.ssthresh;
        }
        self.window.ssthresh.max((self.window.cwnd >> 1) + (self.window.cwnd >> 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937, Sec. 4, by hand: a window of 10 with one lost goes to 5 while nine deliveries come.
    #[test]
    fn sends_in_proportion_and_ends_at_the_threshold() {
        let mut prr = Prr::default();
        let mut in_flight = 10;
        let mut sent = alloc::vec::Vec::new();
        for _ in 0..9 {
            in_flight -= 1;
            let send = prr.allowed(in_flight, 5, 10, 1, false);
            prr.out += send;
            in_flight += send;
            sent.push(send);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(in_flight, 5);
    }

    #[test]
    fn slow_starts_up_to_the_threshold_when_too_little_is_under_way() {
        let mut prr = Prr { delivered: 3, out: 3 };
        assert_eq!(prr.allowed(2, 5, 10, 1, true), 2, "one delivered and one more");
        prr.out += 2;
        assert_eq!(prr.allowed(5, 5, 10, 1, true), 0);
    }
}
