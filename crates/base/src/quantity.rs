//! How a person writes a quantity: a number, a space if you like, and a unit.
//!
//! | kind | units |
//! |---|---|
//! | time | `ns` `us` (or `µs`) `ms` `s` `min` `h` |
//! | rate | `bit/s` `kbit/s` `Mbit/s` `Gbit/s` (or `bps` `kbps` `Mbps` `Gbps`) |
//! | size | `packets` (or `packet`, or a bare whole number), `B` `kB` `MB` (thousands), `KiB` `MiB` (1024s) |
//!
//! Decimal prefixes are powers of a thousand, as the field writes rates. A value is rounded to the nearest nanosecond,
//! bit per second or byte.

use crate::units::{NANOS, Rate, Size, Span};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The units of a time: names, and nanoseconds.
pub const TIMES: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
/// The units of a rate: names, and bits per second.
pub const RATES: &[(&str, f64)] = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("bps", 1.0),
    ("kbps", 1e3),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
];
/// The units of a size in bytes: names, and bytes.
pub const SIZES: &[(&str, f64)] =
    &[("B", 1.0), ("kB", 1e3), ("KB", 1e3), ("MB", 1e6), ("KiB", 1024.0), ("MiB", 1_048_576.0)];

/// Reads a time such as `"10 ms"`. The error says what was expected.
pub fn span(text: &str) -> Result<Span, String> {
    // A century is far beyond any run and far below the range of the integer.
    scaled(text, TIMES, "a time with its unit, such as \"10 ms\"", 100.0 * 365.25 * 86400.0 * NANOS as f64).map(Span)
}

/// Reads a rate such as `"1 Mbit/s"`.
pub fn rate(text: &str) -> Result<Rate, String> {
    scaled(text, RATES, "a rate with its unit, such as \"1 Mbit/s\"", 1e15).map(Rate)
}

/// Reads a size such as `"64 kB"` or `"30 packets"`; a bare whole number counts packets.
pub fn size(text: &str) -> Result<Size, String> {
    let expected = "a number of packets, or a size with its unit, such as \"64 kB\"";
    let (number, unit) = split(text);
    match unit {
        "" | "packet" | "packets" => number.parse().map(Size::Packets).map_err(|_| format!("must be {expected}")),
        _ => scaled(text, SIZES, expected, 1e15).map(Size::Bytes),
    }
}

/// Splits a quantity into its number and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let is_unit = |(at, c): (usize, char)| {
        let exponent = matches!(c, 'e' | 'E')
            && text[at + 1..].starts_with(|next: char| next.is_ascii_digit() || next == '-' || next == '+');
        (c.is_alphabetic() || c == 'µ') && !exponent
    };
    let at = text.char_indices().find(|&found| is_unit(found)).map_or(text.len(), |(at, _)| at);
    (text[..at].trim_end(), &text[at..])
}

fn scaled(text: &str, units: &[(&str, f64)], expected: &str, max: f64) -> Result<u64, String> {
    let (number, unit) = split(text);
    let value: f64 = number.parse().map_err(|_| format!("must be {expected}"))?;
    let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
        let known = units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(if unit.is_empty() {
            format!("must be {expected}")
        } else {
            format!("\"{unit}\" is not a unit here: use one of {known}")
        });
    };
    let scaled = libm::round(value * factor);
    if !(0.0..=max).contains(&scaled) {
        let (largest, factor) =
            units.iter().copied().fold(units[0], |one, other| if other.1 > one.1 { other } else { one });
        return Err(format!("must be {expected}, from 0 to {} {largest}", max / factor));
    }
    Ok(scaled as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(span("10 ms"), Ok(Span::from_millis(10)));
        assert_eq!(span("1.5s"), Ok(Span::from_millis(1500)));
        assert_eq!(span("2 min"), Ok(Span::from_secs(120)));
        assert_eq!(span("3 µs"), Ok(Span(3000)));
        assert_eq!(span("1e-3 s"), Ok(Span::from_millis(1)));
        assert_eq!(rate("1 Mbit/s"), Ok(Rate(1_000_000)));
        assert_eq!(rate("2.5Mbps"), Ok(Rate(2_500_000)));
        assert_eq!(rate("1e3 kbit/s"), Ok(Rate(1_000_000)));
        assert_eq!(size("30"), Ok(Size::Packets(30)));
        assert_eq!(size("30 packets"), Ok(Size::Packets(30)));
        assert_eq!(size("64 kB"), Ok(Size::Bytes(64_000)));
        assert_eq!(size("1 KiB"), Ok(Size::Bytes(1024)));
    }

    #[test]
    fn refuses_what_has_no_meaning() {
        for text in ["10", "", "ms", "ten ms", "-1 s", "1e30 s", "nan s", "inf s", "1 e s", "1 Mbit/s"] {
            assert!(span(text).is_err(), "{text}");
        }
        assert!(span("10 sec").unwrap_err().contains("ns, us"));
        assert!(rate("1 Mb").unwrap_err().contains("Mbit/s"));
        for text in ["1.5", "-3", "3.2 packets", "4 apples"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        for ns in [1, 999, 1_000, 1_500_000, 60 * NANOS, 3_600 * NANOS + 1] {
            assert_eq!(span(&Span(ns).to_string()), Ok(Span(ns)));
        }
        for bps in [0, 1, 56_000, 1_000_000, 10_000_000_000] {
            assert_eq!(rate(&Rate(bps).to_string()), Ok(Rate(bps)));
        }
        for shown in [Size::Packets(7), Size::Bytes(1500)] {
            assert_eq!(size(&shown.to_string()), Ok(shown));
        }
    }
}
