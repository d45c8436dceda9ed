//! Takes back a reduction that was [needless](super::undo).

use super::ack::Seen;
use super::cc::State;
use super::queue::Packet;
use super::sender::Sender;
use core::num::NonZeroU64;

impl Sender {
    /// An episode begins (tcp_init_undo).
    pub(super) fn begin_undo(&mut self) {
        self.episode.undo.marker = NonZeroU64::new(self.window.una + 1);
        let probes = u32::from(self.probe.is_some() && self.probe_resent);
        let resent = (self.queue.resent_out + probes) as i32;
        self.episode.undo.resent = if resent == 0 { -1 } else { resent };
    }

    /// Whether a packet that was sent again was acknowledged for its original (tcp_skb_spurious_retrans).
    pub(super) fn spurious(&self, packet: &Packet, seen: &Seen) -> bool {
        packet.has(Packet::EVER_RESENT) && seen.echoes_before(self.rtt.clock.stamp(packet.sent))
    }

    /// Whether what was taken for lost had only been late (tcp_packet_delayed).
    fn was_late(&self, seen: &Seen) -> bool {
        self.episode.undo.stamp == 0 || seen.echoes_before(self.episode.undo.stamp)
    }

    fn may_undo(&self, seen: &Seen) -> bool {
        self.episode.undo.marker.is_some() && (self.episode.undo.resent == 0 || self.was_late(seen))
    }

    /// Window and threshold go back (tcp_undo_cwnd_reduction). `found`: nothing is lost any more.
    fn undo_reduction(&mut self, found: bool) {
        if found {
            self.queue.find_all();
        }
        if self.episode.undo.prior_ssthresh != 0 {
            self.refresh();
            self.window.cwnd = self.cc.undo(&self.window).max(1);
            if self.episode.undo.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.episode.undo.prior_ssthresh;
                self.feedback.restored();
            }
        }
        self.cwnd_stamp = self.window.now;
        self.episode.undo.marker = None;
        // Losses are looked for again.
        self.rack.advanced = true;
    }

    /// All that the recovery was for is acknowledged (tcp_try_undo_recovery).
    pub(super) fn end_recovery_or_undo(&mut self, seen: &Seen) {
        if self.may_undo(seen) {
            self.undo_reduction(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        self.set_state(State::Open);
    }

    /// Every repetition came twice (tcp_try_undo_dsack).
    pub(super) fn undo_for_duplicates(&mut self) -> bool {
        let undo = self.episode.undo.marker.is_some() && self.episode.undo.resent == 0;
        if undo {
            self.rack.persist_longer();
            self.undo_reduction(false);
        }
        undo
    }

    /// Some of what the recovery is for is acknowledged: whether by a late original while repetitions are out, so that nothing
    /// more is to be sent again (tcp_try_undo_partial).
    pub(super) fn undo_in_part(&mut self, prior_una: u64, seen: &Seen) -> bool {
        if self.episode.undo.marker.is_none() || !self.was_late(seen) {
            return false;
        }
        self.note_reordering(prior_una);
        if self.queue.resent_out > 0 {
            return true;
        }
        if !self.queue.any_resent() {
            self.episode.undo.stamp = 0;
        }
        self.undo_reduction(true);
        self.keep_open();
        false
    }

    /// A timeout was for nothing, as F-RTO or a timestamp says (tcp_try_undo_loss).
    pub(super) fn undo_timeout(&mut self, spurious: bool, seen: &Seen) -> bool {
        let undo = spurious || self.may_undo(seen);
        if undo {
            self.undo_reduction(true);
            self.timed_out = false;
            self.set_state(State::Open);
        }
        undo
    }
}
