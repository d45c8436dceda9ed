//! Reductions of the window: how they begin, what goes out meanwhile ([PRR](super::prr)), how they end.

use super::cc::{Event, INFINITE, State};
use super::prr::Prr;
use super::sender::Sender;

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
