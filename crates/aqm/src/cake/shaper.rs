//! The shaper: no tokens and no burst, only the time from which on the next packet may leave.
//!
//! Each packet moves that time on by its own length at the rate, from where it stood and not from the present: a link
//! that asks late makes up for it. `failsafe_next_packet` bounds how far packets that are dropped behind the shaper can
//! hold it back in ingress mode: it counts, at two thirds of the rate, only what is sent.

use sluicegate_base::units::NANOS;
use sluicegate_base::{Span, Time};

/// The time that a byte takes: `rate_ns` / 2^`rate_shft` nanoseconds, or none at all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ByteTime {
    rate_ns: u64,
    rate_shft: u32,
}

impl ByteTime {
    /// At a rate in bytes per second, where 0 is no limit; rates below 64 count as 64, so that no packet blocks the
    /// link for long.
    pub fn at(rate: u64) -> ByteTime {
        if rate == 0 {
            return ByteTime::default();
        }
        let (mut rate_ns, mut rate_shft) = (u128::from(NANOS << 34) / u128::from(rate.max(64)), 34);
        while rate_ns >> 34 > 0 {
            rate_ns >>= 1;
            rate_shft -= 1;
        }
        ByteTime { rate_ns: rate_ns as u64, rate_shft }
    }

    /// Whether bytes take no time.
    pub fn is_zero(&self) -> bool {
        self.rate_ns == 0
    }

    /// The time of so many bytes.
    pub fn of(&self, bytes: u64) -> Span {
        let exact = (u128::from(bytes) * u128::from(self.rate_ns)) >> self.rate_shft;
        Span(u64::try_from(exact).unwrap_or(u64::MAX))
    }
}

/// When the next packet may leave.
#[derive(Clone, Debug, Default)]
pub(super) struct Shaper {
    pub byte_time: ByteTime,
    time_next_packet: Time,
    failsafe_next_packet: Time,
}

impl Shaper {
    /// Until when it holds packets back at `now`, if it does.
    pub fn holds(&self, now: Time) -> Option<Time> {
        Some(self.time_next_packet.min(self.failsafe_next_packet)).filter(|next| *next > now)
    }

    /// A packet arrives where none was: time that has passed is no credit.
    pub fn restart(&mut self, now: Time) {
        if self.time_next_packet < now {
            self.time_next_packet = now;
            self.failsafe_next_packet = now;
        }
    }

    /// Counts a packet of this length that has left, or that was dropped.
    pub fn advance(&mut self, adjusted_len: u64, dropped: bool) {
        let time = self.byte_time.of(adjusted_len);
        self.time_next_packet += time;
        if !dropped {
            self.failsafe_next_packet += time + Span(time.0 / 2);
        }
    }
}
