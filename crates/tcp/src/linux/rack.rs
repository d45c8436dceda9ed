//! # RACK: what was sent before something that has come is lost, if it has had its time
//!
//! Recent acknowledgement (RFC 8985) as Linux has it (net/ipv4/tcp_recovery.c).
//!
//! ```text
//! on each acknowledgement, for each packet that it delivers:
//!     skip it if it was sent again and came sooner than the least round trip (then the original came)
//!     RTT = now − when it was sent;  newest = the one sent last
//! for each packet under way that was sent before the newest, in order of sending:
//!     left = RTT + window − (now − when it was sent)
//!     left ≤ 0: it is lost;     else wait for the most of `left`
//! window = 0 in recovery, or once DupThresh packets came out of order, until reordering is seen;
//!          else min(least RTT/4 · steps, SRTT)
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 8985, Sec. 6.2, step 3: reordering is a packet never sent again that comes after a later one | the same, and its extent is kept (`tp->reordering`), which is then what counts as out of order instead of 3 | Linux |
//! | step 4: `reo_wnd_mult` grows with each DSACK in a round | only once reordering was seen, and not for probes | Linux, tcp_rack_update_reo_wnd |
//! | Sec. 6.3: at a timeout what was sent a round trip and the window ago is lost | a round trip ago | Linux, tcp_timeout_mark_lost |
//! | the reordering timer is exact | rounded up to ticks, 2 ms more | Linux, TCP_TIMEOUT_MIN_US |

use super::cc::State;
use super::queue::{Packet, sent_after};
use super::sender::{DUP_THRESH, Phase, Sender, Timer};
use alloc::vec::Vec;
use sluicegate_base::{Span, Time};

/// For how many recoveries a wider window lasts (TCP_RACK_RECOVERY_THRESH).
const PERSIST: u8 = 16;

/// The most packets that reordering is taken to reach over (net.ipv4.tcp_max_reordering).
const MAX_REORDERING: u64 = 300;

/// What a short timer waits at the least (TCP_TIMEOUT_MIN_US).
pub(super) const TIMER_SLACK: Span = Span::from_millis(2);

/// The state of one connection.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The packet sent last of those that have come: when, and its end.
    newest: (Time, u64),
    rtt: Span,
    pub advanced: bool,
    /// How many packets reordering reaches over (tp->reordering), and whether any was seen.
    pub reordering: u16,
    pub seen_reordering: bool,
    steps: u8,
    pub persist: u8,
    pub duplicate_seen: bool,
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Rack {
        Rack {
            newest: (Time::ZERO, 0),
            rtt: Span::ZERO,
            advanced: false,
            reordering: DUP_THRESH as u16,
            seen_reordering: false,
            steps: 1,
            persist: 0,
            duplicate_seen: false,
            last_delivered: 0,
        }
    }
}

impl Rack {
    /// A packet has come (tcp_rack_advance).
    pub fn advance(&mut self, packet: &Packet, now: Time, least: Option<Span>) {
        let rtt = now.since(packet.sent);
        if packet.has(Packet::EVER_RESENT) && least.is_some_and(|least| rtt < least) {
            return;
        }
        self.arrived(packet.sent, packet.end(), now);
    }

    /// The same of a packet that was sent once.
    #[inline(always)]
    pub fn arrived(&mut self, sent: Time, end: u64, now: Time) {
        self.advanced = true;
        self.rtt = now.since(sent);
        if sent_after((sent, end), self.newest) {
            self.newest = (sent, end);
        }
    }

    /// How much time a packet has left that was sent then, if reordering may take so long; `None` when it is over.
    fn left(&self, sent: Time, window: Span, now: Time) -> Option<Span> {
        let allowed = self.rtt + window;
        let waited = now.since(sent);
        (allowed > waited).then(|| Span(allowed.0 - waited.0))
    }

    /// Repeated data came twice: the window may be too small (tcp_rack_update_reo_wnd). `prior`: packets delivered when the
    /// last of those that have come was sent.
    pub fn update_window(&mut self, prior: u64, delivered: u64) {
        if prior == 0 {
            return;
        }
        if prior < self.last_delivered {
            self.duplicate_seen = false;
        }
        if self.duplicate_seen {
            self.steps = self.steps.saturating_add(1);
            self.duplicate_seen = false;
            self.last_delivered = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery was for nothing: the window stays for one more.
    pub fn persist_longer(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }
}

impl Sender {
    /// How long reordering is allowed to take (tcp_rack_reo_wnd).
    fn reordering_window(&self) -> Span {
        if !self.rack.seen_reordering
            && (self.window.state >= State::Recovery || self.queue.sacked_out >= self.rack.reordering.into())
        {
            return Span::ZERO;
        }
        let quarter = self.rtt.least().map_or(u64::MAX, |least| least.0 / 4);
        Span(quarter.saturating_mul(self.rack.steps.into()).min(self.rtt.srtt().0))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sent_ms: u64, end: u64, again: bool) -> Packet {
        let (sent, tags) = (Time::ZERO + Span::from_millis(sent_ms), if again { Packet::EVER_RESENT } else { 0 });
        Packet { start: end, sent, tags, ..Packet::default() }
    }

    /// RFC 8985, Sec. 6.2 by hand: a packet of 10 ms is delivered at 50 ms; one sent at 9 ms has had its time, with a window of
    /// 10 ms it has 9 ms left.
    #[test]
    fn gives_each_packet_a_round_trip_and_the_window() {
        let (mut rack, ms) = (Rack::default(), Span::from_millis);
        let now = Time::ZERO + ms(50);
        rack.advance(&packet(10, 2000, false), now, None);
        assert_eq!((rack.rtt, rack.newest, rack.advanced), (ms(40), (Time::ZERO + ms(10), 2000), true));
        assert_eq!(rack.left(Time::ZERO + ms(9), Span::ZERO, now), None);
        assert_eq!(rack.left(Time::ZERO + ms(9), ms(10), now), Some(ms(9)));
        rack.advanced = false;
        rack.advance(&packet(40, 1000, true), now, Some(ms(20)));
        assert!(!rack.advanced, "sent again, and too soon: it was the original that came");
    }

    #[test]
    fn the_window_widens_with_duplicates_and_comes_back() {
        let mut rack = Rack { duplicate_seen: true, ..Rack::default() };
        rack.update_window(10, 20);
        assert_eq!((rack.steps, rack.persist), (2, PERSIST));
        rack.duplicate_seen = true;
        rack.update_window(10, 21);
        assert_eq!(rack.steps, 2, "once in a round");
        rack.persist = 0;
        rack.update_window(30, 40);
        assert_eq!(rack.steps, 1);
    }
}
