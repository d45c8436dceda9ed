//! # Pacing, and bursts
//!
//! Linux gives its device bursts of about a millisecond of the pacing rate, and lets a small one wait for the acknowledgement
//! that makes it larger. If the controller paces, bursts are spaced out; otherwise the rate only sets their size
//! (net/ipv4/tcp_output.c: `tcp_tso_autosize`, `tcp_update_skb_after_send`; tcp_input.c: `tcp_update_pacing_rate`).
//!
//! | what Linux does | what we do | why |
//! |---|---|---|
//! | TSQ keeps about a millisecond of a connection's data in queues of the host | a host's own queue is empty: what is sent is in the network | a host's interface here is faster than what it feeds, so that TSQ never holds anything back, except through the size of bursts |
//! | a burst is one buffer, whose packets leave at the speed of the interface | its packets leave at once | the same |

use super::cc::{Controller, Window};
use sluicegate_base::{Rate, Span, Time};

/// The share of a second that a burst takes is 1/2¹⁰ (sk_pacing_shift), and its least packets (tcp_min_tso_segs).
const BURST_SHIFT: u32 = 10;
const MIN_BURST: u32 = 2;
/// The bytes of the largest buffer: 64 KiB less room for headers (gso_max_size, sk_dst_gso_max_size; MAX_TCP_HEADER is 320).
pub(super) const LARGEST: u64 = 65_536 - (320 + 1);
/// What short round trips add to a burst (tcp_tso_rtt_log).
const RTT_SHIFT: u32 = 9;
/// With so many packets sent the pace begins.
const UNPACED: u8 = 10;

/// The state of one connection.
#[derive(Clone, Debug)]
pub(super) struct Pacing {
    pub on: bool,
    /// When the next burst may begin (tcp_wstamp_ns).
    next: Time,
    /// When what waits for it is to be asked for; never: nothing waits.
    pub release: Time,
    /// The burst under way: when it began, how many packets it has, and how many of them are still to come. A burst has no more
    /// packets than [`LARGEST`] has bytes.
    begun: Time,
    size: u16,
    left: u16,
    /// Whether the device segments, and how many packets were sent, up to UNPACED.
    gso: bool,
    sent: u8,
}

impl Pacing {
    /// Whether the controller paces, and whether the device segments.
    pub fn new(on: bool, gso: bool) -> Pacing {
        Pacing { on, next: Time::ZERO, release: Time::NEVER, begun: Time::NEVER, size: 0, left: 0, gso, sent: 0 }
    }

    /// The most packets of a burst (gso_max_segs).
    pub fn most(&self) -> u32 {
        if self.gso { LARGEST as u32 } else { 1 }
    }

    /// Twice the window in a round trip in slow start's first half, 1.2 times after that (tcp_update_pacing_rate). For a
    /// controller that paces by itself it stays as it is.
    #[inline]
    pub fn update(&mut self, window: &mut Window) {
        let srtt = window.srtt.0;
        if self.on || srtt == 0 {
            return;
        }
        let percent = if window.cwnd < window.ssthresh / 2 { 200 } else { 120 };
        let packets = u64::from(window.cwnd.max(window.packets_out));
        let bits = packets * u64::from(window.mss) * 8 * percent / 100;
        let rate = bits
            .checked_mul(1_000_000_000)
            .map_or_else(|| (u128::from(bits) * 1_000_000_000 / u128::from(srtt)) as u64, |scaled| scaled / srtt);
        window.pacing_rate = Rate(rate);
    }

    /// The packets of a burst (tcp_tso_segs).
    #[inline(always)]
    pub fn burst(&self, cc: &dyn Controller, window: &Window) -> u32 {
        let mut bytes = (window.pacing_rate.0 / 8) >> BURST_SHIFT;
        let shift = window.min_rtt().map_or(u32::MAX, |least| ((least.0 / 1000) >> RTT_SHIFT).min(32) as u32);
        if shift < 32 {
            bytes += LARGEST >> shift;
        }
        let packets = (bytes.min(LARGEST) / u64::from(window.mss)) as u32;
        packets.max(cc.burst(window).unwrap_or(MIN_BURST)).min(self.most())
    }

    /// Whether a burst that began now goes on.
    #[inline(always)]
    pub fn in_burst(&self, now: Time) -> bool {
        self.begun == now && self.left > 0
    }

    /// Whether the pace lets a packet out now; if not, it is asked again in time.
    pub fn may_send(&mut self, now: Time) -> bool {
        if !self.on || self.next <= now || self.in_burst(now) {
            return true;
        }
        self.release = self.next;
        false
    }

    /// Whether something waits for it that may not go yet.
    pub fn is_waiting(&self, now: Time) -> bool {
        self.release == self.next && self.next > now && !self.in_burst(now)
    }

    /// Whether what waited may go.
    pub fn release(&mut self, now: Time) -> bool {
        let due = self.release <= now;
        if due {
            self.release = Time::NEVER;
        }
        due
    }

    /// How long it is since what was sent last had passed the pace (tcp_wstamp_ns).
    pub fn since_last(&self, now: Time) -> Span {
        Span(now.0.saturating_sub(self.next.0))
    }

    /// Whether the packet that has just gone out is the last of a burst of several.
    pub fn ends_burst(&self) -> bool {
        self.size > 1 && self.left == 0
    }

    /// A burst of so many packets begins, the first with so many bytes of the stream.
    #[inline(always)]
    pub fn begin(&mut self, window: &Window, packets: u32, bytes: u32, now: Time) {
        (self.begun, self.size, self.left) = (now, packets as u16, packets as u16);
        self.sent = packets.saturating_add(self.sent.into()).min(UNPACED.into()) as u8;
        if self.next < now {
            // What the clock was late by is made up for, up to half of the burst.
            let late = if self.on { self.takes(window, bytes).0.saturating_mul(packets.into()) / 2 } else { 0 };
            self.next = self.next.max(Time(now.0.saturating_sub(late)));
        }
    }

    /// A packet with so many bytes of the stream goes out; what no burst was begun for goes alone.
    #[inline(always)]
    pub fn on_sent(&mut self, window: &Window, bytes: u32, now: Time) {
        if !self.in_burst(now) {
            self.begin(window, 1, bytes, now);
        }
        self.left -= 1;
        if self.on {
            self.next += self.takes(window, bytes);
        }
    }

    /// How long the pace takes for so many bytes.
    fn takes(&self, window: &Window, bytes: u32) -> Span {
        if self.sent >= UNPACED { Self::time(window.pacing_rate, bytes) } else { Span::ZERO }
    }

    fn time(rate: Rate, bytes: u32) -> Span {
        (u64::from(bytes) * 8_000_000_000).checked_div(rate.0).map_or(Span::ZERO, Span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tcp_retransmit_skb of a timeout, and a probe: one packet, which opens no burst for others to follow at once.
    #[test]
    fn a_packet_without_a_burst_goes_alone() {
        let mut pacing = Pacing::new(true, true);
        let window = Window { pacing_rate: Rate(10_000_000), ..Window::new(10, 10, 1448) };
        let now = Time(1_000_000_000);
        pacing.sent = UNPACED;
        pacing.on_sent(&window, 1448, now);
        assert!(!pacing.in_burst(now) && !pacing.ends_burst() && !pacing.may_send(now));
    }
}
