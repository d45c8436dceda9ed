//! What an acknowledgement does (net/ipv4/tcp_input.c, `tcp_ack`).

use super::cc::State;
use super::ecn::Marked;
use super::queue::{Packet, sent_after};
use super::rack::DUP_THRESH;
use super::sender::{Phase, Sender};
use crate::segment::{Options, Segment};
use sluicegate_base::{Span, Time};

/// What an acknowledgement is and does (FLAG_… in tcp_input.c).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// The timestamp that the other end echoes; zero: none.
    pub echo: u32,
    pub data: bool,
    pub window: bool,
    pub acked: bool,
    pub resent_acked: bool,
    pub sacked: bool,
    pub ece: bool,
    pub advanced: bool,
    pub duplicate: bool,
    pub duplicate_of_probe: bool,
    pub original_acked: bool,
    pub set_timer: bool,
    pub lost_repair: bool,
    pub maybe_delayed: bool,
    pub duplicates: u32,
    /// The byte from which the lowest packet begins that came after later ones.
    pub reordered: Option<u64>,
    /// When the first and the last packet were sent that SACK reports for the first time.
    pub first_sack: Option<Time>,
    pub last_sack: Option<Time>,
    /// Of the packets that come for the first time, the one sent last: when, and its end.
    pub newest: Option<(Time, u64)>,
}

impl Seen {
    /// Whether the echoed timestamp is from before this one (tcp_tsopt_ecr_before).
    pub fn echoes_before(&self, stamp: u32) -> bool {
        self.echo != 0 && self.echo < stamp
    }

    /// FLAG_NOT_DUP.
    pub fn not_duplicate(&self) -> bool {
        self.data || self.window || self.acked
    }
}

/// What is to be sent after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rexmit {
    None,
    Lost,
    New,
}

impl Sender {
    /// A round trip by sequence numbers or timestamps, and that of the packet sent last of those acknowledged.
    #[inline(always)]
    pub(super) fn measured(&mut self, rtt: Span, latest: Span) {
        self.rtt.note_least(latest, &mut self.window);
        self.rtt.sample(rtt, self.window.una, self.window.nxt);
        self.window.srtt = self.rtt.srtt();
    }

    /// A packet has come for the first time, of those that an acknowledgement covers or reports.
    #[inline]
    pub(super) fn deliver(&mut self, index: usize, packet: &Packet, seen: &mut Seen) {
        let sent = (packet.sent, packet.end());
        if packet.has(Packet::SAMPLED) || seen.newest.is_some_and(|newest| !sent_after(sent, newest)) {
            return;
        }
        seen.newest = Some(sent);
        if let Some(rate) = &mut self.rate {
            rate.on_delivered(index, packet, &self.window);
        }
    }

    /// A segment with an acknowledgement arrives (tcp_ack, and tcp_data_snd_check after it).
    #[inline(always)]
    pub fn on_ack(&mut self, segment: &Segment, now: Time) {
        self.window.now = now;
        if segment.ack <= self.window.nxt && !self.on_predicted_ack(segment) {
            self.on_any_ack(segment);
        }
    }

    #[inline(never)]
    fn on_any_ack(&mut self, segment: &Segment) {
        let (ack, prior_una) = (segment.ack, self.window.una);
        let echo = if segment.options.has(Options::STAMPED) { segment.options.echo } else { 0 };
        let mut seen = Seen { echo, data: segment.occupies(), ..Seen::default() };
        if let Some(rate) = &mut self.rate {
            rate.begin(self.queue.in_flight());
        }
        let (delivered, lost) = (self.window.delivered, self.window.lost);
        let reports = segment.options.has_any(Options::SACKS | Options::DUPLICATE);
        if ack < prior_una {
            if reports {
                self.on_old_ack(segment, &mut seen, prior_una);
            }
            return self.push();
        }
        if ack > prior_una {
            seen.advanced = true;
            self.timed_out = false;
        }
        let prior_highest = self.queue.highest(prior_una);
        let prior_packets = self.queue.len();
        self.update_window(segment, &mut seen);
        self.window.una = ack;
        let marked = self.feedback.on_ack(segment, self.window.mss);
        seen.ece = marked != Marked::NONE;
        if reports {
            self.on_sacks(segment, prior_una, &mut seen);
        }
        if prior_packets == 0 {
            if seen.duplicate {
                self.alert(prior_una, &mut seen);
            }
            if self.probe.is_some() {
                self.on_probe_acked(ack, &seen);
            }
            return self.push();
        }
        self.clean_queue(prior_highest, prior_una, &mut seen);
        let newly = (self.window.delivered - delivered) as u32;
        let marked = marked.of(newly);
        self.window.delivered_ce += u64::from(marked);
        self.cc.on_ack(&mut self.window, seen.ece);
        if let Some((sent, _)) = seen.newest {
            self.update_reordering_window(sent);
        }
        if self.probe.is_some() {
            self.on_probe_acked(ack, &seen);
        }
        let mut rexmit = Rexmit::None;
        let dubious =
            !seen.not_duplicate() || seen.sacked || seen.ece || seen.duplicate || self.window.state != State::Open;
        if dubious {
            seen.duplicates = u32::from(!seen.advanced && !seen.not_duplicate() && !seen.duplicate);
            rexmit = self.alert(prior_una, &mut seen);
        }
        if seen.set_timer {
            self.set_timer();
        }
        self.refresh();
        let newly_lost = (self.window.lost - lost) as u32;
        if let Some(rate) = &mut self.rate {
            rate.sample.newly_ce = marked;
            rate.sample.is_ack_delayed = seen.maybe_delayed;
            rate.sample.is_ece = seen.ece;
            rate.finish(&mut self.window, newly, newly_lost);
        }
        self.control(newly, newly_lost, &seen);
        self.phase = match rexmit {
            Rexmit::New => Phase::NewFirst,
            _ if self.waits_for_pace() => Phase::Idle,
            Rexmit::Lost => Phase::Lost { push: true },
            Rexmit::None => Phase::New,
        };
        (self.sent_now, self.head_resent) = (false, false);
    }

    /// One that acknowledges less than another did may report more (old_ack).
    #[cold]
    fn on_old_ack(&mut self, segment: &Segment, seen: &mut Seen, prior_una: u64) {
        self.on_sacks(segment, prior_una, seen);
        if self.alert(prior_una, seen) != Rexmit::None {
            self.phase = Phase::Lost { push: true };
        }
    }

    /// The other end's window (tcp_ack_update_window).
    fn update_window(&mut self, segment: &Segment, seen: &mut Seen) {
        if !segment.options.has(Options::STAMPED) {
            return;
        }
        let wnd = segment.options.window;
        if segment.ack > self.window.una || wnd > self.wnd {
            seen.window = true;
            self.wnd = wnd;
            self.wnd_most = self.wnd_most.max(wnd);
        }
    }

    /// Takes off the queue what is acknowledged (tcp_clean_rtx_queue).
    fn clean_queue(&mut self, prior_highest: u64, prior_una: u64, seen: &mut Seen) {
        let (mut first, mut last, mut reordered) = (None, None, u64::MAX);
        let mut acked = 0;
        let prior_sacked = self.queue.sacked_out();
        while let Some(packet) = self.queue.pop(self.window.una) {
            let sacked = packet.has(Packet::SACKED);
            if packet.has(Packet::EVER_RESENT) {
                seen.resent_acked = true;
            } else if !sacked {
                first = first.or(Some(packet.sent));
                last = Some(packet.sent);
                reordered = reordered.min(packet.start);
                seen.original_acked |= packet.end() <= self.episode.high;
            }
            if !sacked {
                self.window.delivered += 1;
                if !self.spurious(&packet, seen) {
                    self.rack.advance(&packet, self.window.now, self.window.min_rtt());
                }
            }
            self.deliver(0, &packet, seen);
            if let Some(rate) = &mut self.rate {
                rate.pop();
            }
            seen.acked = true;
            acked += 1;
        }
        let partial = self.queue.front().is_some_and(|packet| packet.start < self.window.una);
        if partial {
            self.queue.trim(self.window.una);
            seen.acked = true;
        }
        if self.window.una > prior_una {
            self.probe_of_window_answered();
        }
        let since = |sent: Time| self.window.now.since(sent);
        let (mut by_sequence, mut latest) = (None, None);
        if let (Some(first), Some(last), false) = (first, last, seen.resent_acked) {
            (by_sequence, latest) = (Some(since(first)), Some(since(last)));
            let little = self.window.una - prior_una < u64::from(self.window.mss);
            seen.maybe_delayed = acked == 1 && !partial && prior_sacked == 0 && little
                || acked == 1 && first == last && prior_sacked == 0;
        }
        let by_sack = seen.first_sack.map(since);
        if let Some(last) = seen.last_sack {
            latest = Some(since(last));
        }
        let (measured, latest) = self.update_rtt(by_sequence.or(by_sack), latest, seen);
        if seen.acked {
            seen.set_timer = true;
            if reordered < prior_highest {
                self.note_reordering(reordered);
            }
        } else if let (true, Some(by_sack), Some(head)) = (measured, by_sack, self.queue.front()) {
            // What was sent since the head went out has come: only then may the timer move.
            seen.set_timer |= by_sack > self.window.now.since(head.sent);
        }
        self.refresh();
        self.cc.on_acked(&mut self.window, acked, latest);
    }

    /// A round trip for the estimate: by the packets, by SACK, or by the echoed timestamp (tcp_ack_update_rtt).
    /// Whether there is one, and that of the packet sent last.
    fn update_rtt(
        &mut self,
        mut measured: Option<Span>,
        mut latest: Option<Span>,
        seen: &Seen,
    ) -> (bool, Option<Span>) {
        if measured.is_none() && seen.echo != 0 && seen.acked {
            let ms = self.rtt.clock.stamp(self.window.now).wrapping_sub(seen.echo).max(1);
            measured = Some(Span::from_millis(ms.into())).filter(|_| ms < 1 << 24);
            latest = measured;
        }
        if let Some(rate) = &mut self.rate {
            rate.sample.rtt = latest;
        }
        if let Some(rtt) = measured {
            self.measured(rtt, latest.unwrap_or(rtt));
        }
        (measured.is_some(), latest)
    }

    /// The window grows, or falls as PRR says, or is the controller's own (tcp_cong_control).
    fn control(&mut self, delivered: u32, lost: u32, seen: &Seen) {
        if self.cc.governs() {
            if let Some(rate) = &self.rate {
                self.cc.govern(&mut self.window, &rate.sample);
            }
            return;
        }
        let may_grow = seen.acked || (u32::from(self.rack.reordering) > DUP_THRESH && seen.sacked);
        if self.in_reduction() {
            self.reduce(delivered, lost, seen.advanced);
        } else if may_grow {
            self.cc.grow(&mut self.window, delivered);
            self.cwnd_stamp = self.window.now;
        }
        self.pacing.update(&mut self.window);
    }
}
