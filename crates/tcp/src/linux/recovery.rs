//! What an unusual acknowledgement does to the sender's state: into recovery, on in it, and out again (net/ipv4/tcp_input.c,
//! `tcp_fastretrans_alert`).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 6675: three duplicates, or that much data reported, begin a recovery | a packet that RACK takes for lost does | Linux since 4.18 |
//! | RFC 6675, Sec. 5: a recovery ends when everything sent before it has been acknowledged | the same; the window is then the threshold | Linux |
//! | RFC 2018: reported data may be forgotten by the receiver | it never is | our receivers keep what they reported |

use super::ack::{Rexmit, Seen};
use super::cc::State;
use super::sender::Sender;

impl Sender {
    /// An acknowledgement that is no plain one. What is to be sent after it.
    pub(super) fn alert(&mut self, prior_una: u64, seen: &mut Seen) -> Rexmit {
        if seen.ece {
            self.episode.undo.prior_ssthresh = 0;
        }
        if self.window.state == State::Open {
            self.episode.undo.stamp = 0;
        } else if self.window.una >= self.episode.high {
            match self.window.state {
                State::Cwr if self.window.una != self.episode.high => {
                    self.end_reduction();
                    self.set_state(State::Open);
                }
                State::Recovery => {
                    // The window before, or else the threshold.
                    self.end_recovery_or_undo(seen);
                    self.end_reduction();
                }
                _ => {}
            }
        }
        match self.window.state {
            State::Recovery => {
                if seen.advanced && self.undo_in_part(prior_una, seen) {
                    return Rexmit::None;
                }
                if self.undo_for_duplicates() {
                    self.try_to_open(seen);
                }
                self.identify_losses(seen);
                if self.window.state != State::Recovery {
                    if self.queue.lost_out == 0 {
                        return Rexmit::None;
                    }
                    // The losses are real, whatever was undone.
                    self.enter_recovery(seen.ece);
                }
            }
            State::Loss => {
                let rexmit = self.on_ack_after_timeout(seen);
                self.identify_losses(seen);
                if self.window.state != State::Open && !seen.lost_repair {
                    return rexmit;
                }
                return self.other_state(seen).unwrap_or(rexmit);
            }
            _ => return self.other_state(seen).unwrap_or(Rexmit::None),
        }
        Rexmit::Lost
    }

    /// Outside recovery: it begins if anything is lost.
    fn other_state(&mut self, seen: &mut Seen) -> Option<Rexmit> {
        if self.window.state <= State::Disorder {
            self.undo_for_duplicates();
        }
        self.identify_losses(seen);
        if self.queue.lost_out == 0 {
            self.try_to_open(seen);
            return None;
        }
        self.enter_recovery(seen.ece);
        Some(Rexmit::Lost)
    }

    /// Losses that the acknowledgement shows (tcp_identify_packet_loss).
    #[inline(always)]
    fn identify_losses(&mut self, seen: &mut Seen) {
        if self.queue.is_empty() {
            return;
        }
        let resent = self.queue.resent_out;
        if self.mark_lost() {
            seen.set_timer = false;
        }
        seen.lost_repair |= resent > self.queue.resent_out;
    }

    /// A recovery begins (tcp_enter_recovery).
    pub(super) fn enter_recovery(&mut self, marked: bool) {
        self.episode.counters.fast_retransmits += 1;
        self.episode.undo.prior_ssthresh = 0;
        self.begin_undo();
        if !self.in_reduction() {
            if !marked {
                self.episode.undo.prior_ssthresh = self.current_ssthresh();
            }
            self.begin_reduction();
        }
        self.set_state(State::Recovery);
    }

    /// Nothing is lost: a mark may begin a reduction (tcp_try_to_open).
    fn try_to_open(&mut self, seen: &Seen) {
        if !self.queue.any_resent() {
            self.episode.undo.stamp = 0;
        }
        if seen.ece && !self.cc.answers_marks() {
            self.enter_cwr();
        }
        if self.window.state != State::Cwr {
            self.keep_open();
        }
    }

    /// Open, or Disorder while something is out of order or was sent again (tcp_try_keep_open).
    pub(super) fn keep_open(&mut self) {
        let disorder = self.queue.sacked_out() + self.queue.lost_out > 0 || self.queue.any_resent();
        let state = if disorder { State::Disorder } else { State::Open };
        if state != self.window.state {
            self.set_state(state);
            self.episode.high = self.window.nxt;
        }
    }
}
