//! Which packets are lost, by [RACK](super::rack) and by timeouts (net/ipv4/tcp_recovery.c).

use super::cc::State;
use super::queue::{Packet, sent_after};
use super::rack::{MAX_REORDERING, TIMER_SLACK};
use super::sender::{Phase, Sender, Timer};
use alloc::vec::Vec;
use sluicegate_base::{Span, Time};

impl Sender {
    /// How long reordering is allowed to take (tcp_rack_reo_wnd).
    fn reordering_window(&self) -> Span {
        if !self.rack.seen_reordering
            && (self.window.state >= State::Recovery || self.queue.sacked_out() >= self.rack.reordering.into())
        {
            return Span::ZERO;
        }
        let quarter = self.window.min_rtt().map_or(u64::MAX, |least| least.0 / 4);
        Span(quarter.saturating_mul(self.rack.steps.into()).min(self.rtt.srtt().0))
    }

    /// Where repeated data came twice the window is too small: it is widened once in a round (tcp_rack_update_reo_wnd). `sent`:
    /// when the last was sent of the packets that come now.
    #[inline(always)]
    pub(super) fn update_reordering_window(&mut self, sent: Time) {
        let duplicate = self.rack.duplicate_seen && sent >= self.episode.widened;
        if self.rack.update_window(duplicate) {
            self.episode.widened = self.window.now;
        }
    }

    /// Takes for lost what has had its time; how long the rest has (tcp_rack_detect_loss).
    #[inline(always)]
    fn detect_losses(&mut self) -> Option<Span> {
        let (window, now) = (self.reordering_window(), self.window.now);
        let mut wait = None;
        let mut next = self.queue.first_sent();
        while let Some(index) = next {
            let packet = self.queue.at(index);
            if packet.may_be_lost() {
                if !sent_after(self.rack.newest, (packet.sent, packet.end())) {
                    break;
                }
                match self.rack.left(packet.sent, window, now) {
                    None => self.lose(index),
                    Some(left) => wait = wait.max(Some(left)),
                }
            }
            next = self.queue.sent_after(index);
        }
        wait
    }

    /// Takes a packet for lost, or what repaired it.
    pub(super) fn lose(&mut self, index: usize) {
        self.window.lost += u64::from(self.queue.lose(index));
    }

    /// An acknowledgement may show losses. Whether the timer now waits for the rest (tcp_rack_mark_lost).
    pub(super) fn mark_lost(&mut self) -> bool {
        if !core::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let wait = self.detect_losses();
        if let Some(wait) = wait {
            self.arm(Timer::Reordering, wait + TIMER_SLACK);
        }
        wait.is_some()
    }

    /// What reordering was allowed is over (tcp_rack_reo_timeout).
    #[cold]
    pub(super) fn on_reordering_timeout(&mut self) {
        self.timer = None;
        let (in_flight, lost) = (self.queue.in_flight(), self.window.lost);
        self.detect_losses();
        if self.queue.in_flight() != in_flight {
            if self.window.state != State::Recovery {
                self.enter_recovery(false);
                if !self.cc.governs() {
                    self.reduce(1, (self.window.lost - lost) as u32, false);
                }
            }
            self.phase = Phase::Lost { push: false };
        }
        if self.timer.is_none() {
            self.rearm_after_reordering();
        }
    }

    /// The timeout goes on from when the queue's head was sent.
    fn rearm_after_reordering(&mut self) {
        if !self.queue.is_empty() {
            let span = self.until_timeout().max(Span(1));
            self.arm(Timer::Retransmission, span);
        }
    }

    /// A packet never sent again came after later ones (tcp_check_sack_reordering).
    pub(super) fn note_reordering(&mut self, start: u64) {
        let highest = self.queue.highest(self.window.una);
        let Some(extent) = highest.checked_sub(start).filter(|extent| *extent > 0) else { return };
        let packets = extent.div_ceil(self.window.mss.into());
        if packets > self.rack.reordering.into() {
            self.rack.reordering = packets.min(MAX_REORDERING) as u16;
        }
        self.rack.seen_reordering = true;
    }

    /// Takes for lost what a timeout says: all that is under way, but what was sent less than a round trip ago
    /// (tcp_timeout_mark_lost).
    pub(super) fn lose_after_timeout(&mut self) {
        let now = self.window.now;
        let recent = |packet: &Packet| self.rack.left(packet.sent, Span::ZERO, now).is_some();
        let lost = |(index, packet)| (index == 0 || !recent(packet)).then_some(index);
        let lost = self.queue.iter().enumerate().filter_map(lost).collect::<Vec<_>>();
        lost.into_iter().for_each(|index| self.lose(index));
    }
}
