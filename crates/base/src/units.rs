//! Integers with a meaning: an instant, a span, a rate, a size.
//!
//! Times are whole nanoseconds, rates whole bits per second, sizes whole bytes or packets. A `u64` of nanoseconds reaches
//! 584 years, so additions of simulated times do not overflow; subtractions saturate at zero, because a negative time
//! has no meaning here. What takes longer than that takes for ever, and so does sending at a rate of zero.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// Nanoseconds in a second.
pub const NANOS: u64 = 1_000_000_000;

/// An instant: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

/// How much a queue holds, in packets or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// A number of packets, whatever their length.
    Packets(u64),
    /// A number of bytes.
    Bytes(u64),
}

impl Size {
    /// The number, whatever its unit.
    #[must_use]
    pub fn amount(self) -> u64 {
        match self {
            Size::Packets(n) | Size::Bytes(n) => n,
        }
    }

    /// As a number of packets; bytes count as packets of `length`.
    #[must_use]
    pub fn in_packets(self, length: Size) -> f64 {
        match self {
            Size::Packets(n) => n as f64,
            Size::Bytes(n) => n as f64 / length.amount() as f64,
        }
    }

    /// Half of it, in the same unit.
    #[must_use]
    pub fn half(self) -> Size {
        match self {
            Size::Packets(n) => Size::Packets(n / 2),
            Size::Bytes(n) => Size::Bytes(n / 2),
        }
    }

    /// Whether both are in packets or both in bytes.
    #[must_use]
    pub fn is_like(self, other: Size) -> bool {
        matches!((self, other), (Size::Packets(_), Size::Packets(_)) | (Size::Bytes(_), Size::Bytes(_)))
    }
}

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event.
    pub const NEVER: Time = Time(u64::MAX);

    /// The span since `earlier`, or zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since the start, for output.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of whole milliseconds.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * 1_000_000)
    }

    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(s: u64) -> Span {
        Span(s * NANOS)
    }

    /// The nearest span to a number of seconds; negative and undefined numbers give zero.
    #[must_use]
    pub fn from_secs_f64(s: f64) -> Span {
        Span(libm::round(s * NANOS as f64) as u64)
    }

    /// `factor` times this span, to the nearest nanosecond; negative and undefined factors give zero.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Span {
        Span((self.0 as f64 * factor + 0.5) as u64)
    }

    /// The length in seconds.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS as f64
    }
}

impl Rate {
    /// The time to send `bytes`, with what a whole number of nanoseconds leaves over.
    ///
    /// `remainder` is what earlier calls left, in units of `1/rate` nanoseconds; it is brought up to date, so that a
    /// long series of packets takes exactly as long as the rate says. At a rate of zero it takes for ever.
    #[inline]
    #[must_use]
    pub fn time_to_send(self, bytes: u64, remainder: &mut u64) -> Span {
        let exact = bytes.checked_mul(8 * NANOS).and_then(|exact| exact.checked_add(*remainder));
        match exact {
            Some(exact) if self.0 > 0 => {
                *remainder = exact % self.0;
                Span(exact / self.0)
            }
            _ => self.long_time_to_send(bytes, remainder),
        }
    }

    /// The same above 2.3 GB, where 64 bits do not hold the product, and at a rate of zero.
    #[cold]
    fn long_time_to_send(self, bytes: u64, remainder: &mut u64) -> Span {
        let exact = u128::from(bytes) * 8 * u128::from(NANOS) + u128::from(*remainder);
        let rate = u128::from(self.0);
        *remainder = exact.checked_rem(rate).unwrap_or(0) as u64;
        Span(exact.checked_div(rate).and_then(|time| time.try_into().ok()).unwrap_or(u64::MAX))
    }

    /// The time to send `bytes`, rounded down to a nanosecond.
    #[must_use]
    pub fn time_of(self, bytes: u64) -> Span {
        self.time_to_send(bytes, &mut 0)
    }
}

/// How long packets take at a rate. Most have the length of the one before, and a division takes long.
#[derive(Clone, Debug)]
pub struct SendTime {
    rate: Rate,
    /// How long a byte takes, if that is a whole number of nanoseconds; else zero.
    byte: u64,
    /// The length of the last packet that began on a whole nanosecond, the time that it took and what that left over.
    bytes: u64,
    time: Span,
    remainder: u64,
}

impl SendTime {
    /// At this rate.
    #[must_use]
    pub fn new(rate: Rate) -> SendTime {
        let mut left = 0;
        let byte = rate.time_to_send(1, &mut left).0;
        let byte = if left == 0 && rate.0 > 0 { byte } else { 0 };
        SendTime { rate, byte, bytes: 0, time: rate.time_of(0), remainder: 0 }
    }

    /// The time to send `bytes` after others that have left so much over, and what is left over then: see
    /// [`Rate::time_to_send`].
    #[inline(always)]
    pub fn after(&mut self, remainder: u64, bytes: u64) -> (Span, u64) {
        if self.byte > 0 {
            // What was left over is less than a nanosecond, and stays.
            return (Span(bytes.saturating_mul(self.byte)), remainder);
        }
        if remainder != 0 || bytes != self.bytes {
            return self.divide(remainder, bytes);
        }
        (self.time, self.remainder)
    }

    #[inline(never)]
    fn divide(&mut self, before: u64, bytes: u64) -> (Span, u64) {
        let mut remainder = before;
        let time = self.rate.time_to_send(bytes, &mut remainder);
        if before == 0 {
            (self.bytes, self.time, self.remainder) = (bytes, time, remainder);
        }
        (time, remainder)
    }
}

/// What sends packets at a rate, one after the other, exact over any number of them.
#[derive(Clone, Debug)]
pub struct Transmitter {
    sending: SendTime,
    remainder: u64,
    /// What is left of a packet that stands still, at a rate of zero: bits times 10⁹.
    stalled: u128,
}

impl Transmitter {
    /// A transmitter at rest.
    #[must_use]
    pub fn new(rate: Rate) -> Transmitter {
        Transmitter { sending: SendTime::new(rate), remainder: 0, stalled: 0 }
    }

    /// Its rate.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.sending.rate
    }

    /// The time to send `bytes`.
    #[inline]
    pub fn send(&mut self, bytes: u64) -> Span {
        if self.rate().0 == 0 {
            return self.stall(bytes);
        }
        let (time, remainder) = self.sending.after(self.remainder, bytes);
        self.remainder = remainder;
        time
    }

    #[cold]
    fn stall(&mut self, bytes: u64) -> Span {
        self.resume(u128::from(bytes) * 8 * u128::from(NANOS) + u128::from(self.remainder))
    }

    /// The rate changes while the packet in transmission, which at the old rate would take `left` more, is being sent: the
    /// time that what is left of it takes at the new rate.
    pub fn change_rate(&mut self, rate: Rate, left: Span) -> Span {
        let work = match self.rate().0 {
            0 => self.stalled,
            old => u128::from(left.0) * u128::from(old) + u128::from(self.remainder),
        };
        self.sending = SendTime::new(rate);
        self.resume(work)
    }

    /// The time for so many bits times 10⁹.
    fn resume(&mut self, work: u128) -> Span {
        let rate = u128::from(self.rate().0);
        self.remainder = work.checked_rem(rate).unwrap_or(0) as u64;
        self.stalled = if rate == 0 { work } else { 0 };
        Span(work.checked_div(rate).and_then(|time| time.try_into().ok()).unwrap_or(u64::MAX))
    }

    /// The rate changes while nothing is being sent.
    pub fn set_rate(&mut self, rate: Rate) {
        *self = Transmitter::new(rate);
    }

    /// It has nothing to send: the next packet starts on a whole nanosecond.
    #[inline]
    pub fn rest(&mut self) {
        self.remainder = 0;
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = match self.0 {
            ns if ns % NANOS == 0 => (NANOS, "s"),
            ns if ns % 1_000_000 == 0 => (1_000_000, "ms"),
            ns if ns % 1_000 == 0 => (1_000, "us"),
            _ => (1, "ns"),
        };
        write!(f, "{} {unit}", self.0 / divisor)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = match self.0 {
            0 => (1, "bit/s"),
            bps if bps % NANOS == 0 => (NANOS, "Gbit/s"),
            bps if bps % 1_000_000 == 0 => (1_000_000, "Mbit/s"),
            bps if bps % 1_000 == 0 => (1_000, "kbit/s"),
            _ => (1, "bit/s"),
        };
        write!(f, "{} {unit}", self.0 / divisor)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Packets(n) => write!(f, "{n} packets"),
            Size::Bytes(n) => write!(f, "{n} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn remainders_add_up_to_the_exact_time() {
        // 1500 bytes at 7 Mbit/s take 1 714 285 5/7 ns: seven of them exactly 12 ms.
        let mut left = 0;
        let total: u64 = (0..7).map(|_| Rate(7_000_000).time_to_send(1500, &mut left).0).sum();
        assert_eq!(Span(total), Span::from_millis(12));
        assert_eq!(left, 0);
    }

    #[test]
    fn a_transmitter_takes_the_same_times() {
        for rate in [7_000_000, 8_000_000, 1_000_000_000, 1, 16_000_000_000, u64::MAX].map(Rate) {
            let (mut transmitter, mut left) = (Transmitter::new(rate), 0);
            for bytes in [1500, 1500, 40, 1500, 40, 40, 1, 65535, 65535, 3_000_000_000, u64::MAX] {
                assert_eq!(transmitter.send(bytes), rate.time_to_send(bytes, &mut left), "{rate}: {bytes}");
            }
            transmitter.rest();
            assert_eq!(transmitter.send(1500), rate.time_of(1500));
        }
    }

    /// 8·10⁹ times 2.3 GB is 2⁶⁴.
    #[test]
    fn point_9_many_bytes_take_as_long_as_the_rate_says() {
        let (rate, mut left) = (Rate(7_000_000_000), 6_999_999_999);
        // 8·10⁹·10¹¹ + 6,999,999,999 = 114,285,714,286·7·10⁹ + 4,999,999,999.
        assert_eq!(rate.time_to_send(100_000_000_000, &mut left), Span(114_285_714_286));
        assert_eq!(left, 4_999_999_999);
        assert_eq!(Rate(8).time_of(u64::MAX / NANOS), Span(u64::MAX / NANOS * NANOS));
        for bytes in [2_305_843_009, 2_305_843_010, 3_000_000_000] {
            let exact = u128::from(bytes) * 8_000_000_000 / 1_000_000;
            assert_eq!(Rate(1_000_000).time_of(bytes), Span(exact as u64), "{bytes}");
        }
        assert_eq!(Rate(1).time_of(u64::MAX), Span(u64::MAX), "for ever");
        let mut transmitter = Transmitter::new(Rate(u64::MAX));
        let total: u64 = (0..1000).map(|_| transmitter.send(u64::MAX / 1000).0).sum();
        // 1000 times 2⁶⁴/1000 bytes at 2⁶⁴ bit/s: 8 s.
        assert_eq!(total, 8 * NANOS - 1);
    }

    #[test]
    fn point_9_nothing_is_ever_sent_at_a_rate_of_zero() {
        let never = Time(5) + Rate(0).time_of(1);
        assert_eq!((Rate(0).time_of(0), never), (Span(u64::MAX), Time::NEVER));
        let mut transmitter = Transmitter::new(Rate(0));
        assert_eq!([40, 1500, 1500].map(|bytes| transmitter.send(bytes)), [Span(u64::MAX); 3]);
    }

    /// 1500 bytes are 12,000 bits: a third of them at 7 Mbit/s, a pause, the rest at 3 Mbit/s and then at 11.
    #[test]
    fn a_rate_that_changes_loses_no_bit() {
        let mut transmitter = Transmitter::new(Rate(7_000_000));
        assert_eq!(transmitter.send(1500), Span(1_714_285), "and 5/7 ns");
        // After 571,428 ns, 12,000 − 3999.996 bits are left.
        assert_eq!(transmitter.change_rate(Rate(0), Span(1_714_285 - 571_428)), Span(u64::MAX));
        assert_eq!(transmitter.change_rate(Rate(0), Span(u64::MAX)), Span(u64::MAX));
        assert_eq!(transmitter.change_rate(Rate(3_000_000), Span(u64::MAX)), Span(2_666_668), "8000.004 bits");
        // After 1 ms, 5000.004 bits: 454,545 9/11 ns.
        assert_eq!(transmitter.change_rate(Rate(11_000_000), Span(1_666_668)), Span(454_545));
        // The next packet has the 9/11 ns before it: 1,090,909 1/11 + 9/11.
        assert_eq!(transmitter.send(1500), Span(1_090_909));
        assert_eq!(transmitter.send(1500), Span(1_090_910), "10/11 + 1/11 = 1");
    }

    #[test]
    fn what_begins_at_a_rate_of_zero_is_sent_whole_later() {
        let mut transmitter = Transmitter::new(Rate(7_000_000));
        let _ = transmitter.send(1500);
        let _ = transmitter.change_rate(Rate(0), Span(0));
        assert_eq!(transmitter.change_rate(Rate(7_000_000), Span(u64::MAX)), Span(0), "5/7 ns");
        transmitter.set_rate(Rate(0));
        assert_eq!(transmitter.send(1500), Span(u64::MAX));
        assert_eq!(transmitter.change_rate(Rate(8_000_000), Span(u64::MAX)), Span(1_500_000));
    }

    #[test]
    fn times_are_shown_in_the_largest_whole_unit() {
        assert_eq!(Span(1_500_000).to_string(), "1500 us");
        assert_eq!(Span::from_secs(3).to_string(), "3 s");
        assert_eq!(Rate(1_500_000).to_string(), "1500 kbit/s");
        assert_eq!(Size::Packets(30).to_string(), "30 packets");
    }

    #[test]
    fn a_time_before_the_start_is_the_start() {
        assert_eq!(Time(3).since(Time(5)), Span::ZERO);
        assert_eq!(Time(5).since(Time(3)), Span(2));
    }
}
