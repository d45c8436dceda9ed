//! # RACK: a packet is lost if a later one has come and its own time is over
//!
//! Recent acknowledgement (RFC 8985) as Linux has it (net/ipv4/tcp_recovery.c).
//!
//! ```text
//! on each acknowledgement, for each packet that it delivers:
//!     skip it if it was sent again and came sooner than the least round trip (then the original came)
//!     RTT = now − when it was sent;  newest = the one sent last
//! for each packet under way that was sent before the newest, in order of sending:
//!     left = RTT + window − (now − when it was sent)
//!     left ≤ 0: it is lost;     else wait for the largest `left`
//! window = 0 while no reordering was seen, if in recovery or if DupThresh packets came out of order;
//!          else min(least RTT/4 · steps, SRTT)
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RFC 8985, Sec. 6.2, step 3: reordering is a packet never sent again that comes after a later one | the same, and its extent is kept (`tp->reordering`); DupThresh is then this number instead of 3 | Linux |
//! | step 4: `reo_wnd_mult` grows with each DSACK in a round | only once reordering was seen, and not for probes | Linux, tcp_rack_update_reo_wnd |
//! | Linux: a round begins at some count of delivered packets, and ends with the delivery of a packet that was sent at this count or a later one | it ends with the delivery of a packet that was sent when the round began or later | the same, but for two acknowledgements in one nanosecond |
//! | Sec. 6.3: at a timeout what was sent a round trip and the window ago is lost | a round trip ago | Linux, tcp_timeout_mark_lost |
//! | the reordering timer is exact | rounded up to ticks, 2 ms more | Linux, TCP_TIMEOUT_MIN_US |

use super::queue::{Packet, sent_after};
use sluicegate_base::{Span, Time};

/// Duplicates that show a loss, and the reordering expected at first (net.ipv4.tcp_reordering).
pub(super) const DUP_THRESH: u32 = 3;

/// For how many recoveries a wider window lasts (TCP_RACK_RECOVERY_THRESH).
const PERSIST: u8 = 16;

/// The most packets that reordering is taken to reach over (net.ipv4.tcp_max_reordering).
pub(super) const MAX_REORDERING: u64 = 300;

/// What a short timer waits at the least (TCP_TIMEOUT_MIN_US).
pub(super) const TIMER_SLACK: Span = Span::from_millis(2);

/// The state of one connection.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The packet sent last of those that have come: when, and its end.
    pub newest: (Time, u64),
    rtt: Span,
    pub advanced: bool,
    /// How many packets reordering reaches over (tp->reordering), and whether any was seen.
    pub reordering: u16,
    pub seen_reordering: bool,
    pub steps: u8,
    pub persist: u8,
    pub duplicate_seen: bool,
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
    pub fn left(&self, sent: Time, window: Span, now: Time) -> Option<Span> {
        let allowed = self.rtt + window;
        let waited = now.since(sent);
        (allowed > waited).then(|| Span(allowed.0 - waited.0))
    }

    /// An acknowledgement delivers something; `duplicate`: repeated data has come twice since the window was last widened.
    /// Whether it is widened (tcp_rack_update_reo_wnd).
    #[inline(always)]
    pub fn update_window(&mut self, duplicate: bool) -> bool {
        self.duplicate_seen = false;
        if duplicate {
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
        duplicate
    }

    /// A recovery was for nothing: the window stays for one more.
    pub fn persist_longer(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
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
        assert!(rack.update_window(true));
        assert_eq!((rack.steps, rack.persist, rack.duplicate_seen), (2, PERSIST, false));
        assert!(!rack.update_window(false));
        assert_eq!(rack.steps, 2, "for some recoveries");
        rack.persist = 0;
        rack.update_window(false);
        assert_eq!(rack.steps, 1);
    }
}
