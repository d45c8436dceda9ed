//! # F-RTO: whether a timeout was spurious
//!
//! After a timeout the first packet goes out again; if its acknowledgement moves on, new data goes out instead of the rest.
//! What is then acknowledged or reported and was never sent again shows that nothing had been lost (RFC 5682, the version
//! with SACK; Linux, `tcp_process_loss`).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 5682, Sec. 3.1: no F-RTO if a loss recovery was under way when the timer expired | the same, but a second timeout in that recovery does use F-RTO | Linux, tcp_enter_loss |
//! | Sec. 3.1, step 1: the SACK scoreboard is reset | what was reported counts | Linux, tcp_timeout_mark_lost: unless the receiver has dropped the first of the reported data, which no receiver here does |
//! | the response to a spurious timeout is left open | the window from before the timeout is restored | Linux; RFC 4015 |

use super::ack::{Rexmit, Seen};
use super::cc::State;
use super::rack::DUP_THRESH;
use super::sender::Sender;

impl Sender {
    /// An acknowledgement after a timeout (tcp_process_loss): what is to be sent.
    pub(super) fn on_ack_after_timeout(&mut self, seen: &Seen) -> Rexmit {
        let recovered = self.window.una >= self.episode.high;
        if seen.advanced && self.undo_timeout(false, seen) {
            return Rexmit::None;
        }
        if self.frto {
            // Step 3.b: what was never sent again has come.
            if seen.original_acked && self.undo_timeout(true, seen) {
                return Rexmit::None;
            }
            if self.window.nxt > self.episode.high {
                if seen.sacked || seen.duplicates > 0 {
                    // Step 3.a: it was a loss.
                    self.frto = false;
                }
            } else if seen.advanced && !recovered {
                self.episode.high = self.window.nxt;
                // Step 2.b: new data, if there is any.
                if self.sendable(self.window.nxt) && self.wnd_end() > self.window.nxt {
                    return Rexmit::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.end_recovery_or_undo(seen);
            return Rexmit::None;
        }
        Rexmit::Lost
    }

    /// The retransmission timer has expired: all may be lost (tcp_enter_loss).
    pub(super) fn enter_loss(&mut self) {
        let state = self.window.state;
        let new_recovery = state < State::Recovery;
        self.lose_after_timeout();
        if state <= State::Disorder || self.episode.high <= self.window.una || (state == State::Loss && !self.timed_out)
        {
            self.episode.undo.prior_ssthresh = self.current_ssthresh();
            self.refresh();
            self.window.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.cc.ssthresh(&self.window);
            self.cc.on_event(&mut self.window, super::cc::Event::Timeout);
            self.begin_undo();
        }
        self.window.cwnd = self.queue.in_flight() + 1;
        self.window.count = 0;
        self.cwnd_stamp = self.window.now;
        if state <= State::Disorder && self.queue.sacked_out() >= DUP_THRESH {
            self.rack.reordering = self.rack.reordering.min(DUP_THRESH as u16);
        }
        self.set_state(State::Loss);
        self.episode.high = self.window.nxt;
        self.probe = None;
        self.feedback.reduced();
        self.frto = new_recovery || self.timed_out;
    }
}
