//! What is to happen to single packets of a link, by their number: for tests of hosts.
//!
//! Packets are numbered from 1 in the order in which they reach the link, and meet their fate behind its queue.

use sluicegate_base::{Span, quantity};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What happens to a packet behind the queue; of several, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// It is lost.
    Lost,
    /// It is marked, if its transport is capable.
    Marked,
    /// It arrives so much later, and those behind it may overtake it.
    Late(Span),
    /// It arrives right after the last of so many later ones that arrive.
    Behind(u32),
}

/// The keys that name fates, each with what it takes.
pub const KEYS: [(&str, &str); 4] = [
    ("drop", "numbers of packets that are lost, such as 5,8-10"),
    ("mark", "numbers of packets that are marked, such as 5,8-10"),
    ("late", "packets that are delayed, and by how much, such as 7:30 ms,9:5 ms"),
    ("behind", "packets that arrive after later ones, and after how many that arrive, such as 7:3"),
];

/// The fates of a link's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fates(BTreeMap<u64, Vec<Fate>>);

/// The most packets that one key may name.
const MOST: u64 = 1_000_000;

impl Fates {
    /// The fates of packet number `number`; none for most.
    #[must_use]
    pub fn of(&self, number: u64) -> &[Fate] {
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Whether there are any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what one of [`KEYS`] says. The error is the rule that the value breaks.
    pub fn add(&mut self, key: &str, value: &str) -> Result<(), String> {
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (numbers, fate) = match key {
                "drop" => (numbers(part)?, Fate::Lost),
                "mark" => (numbers(part)?, Fate::Marked),
                _ => {
                    let (packet, what) = part.split_once(':').ok_or_else(|| {
                        format!("{part:?}: must be a packet's number, a colon, and by how much, such as 7:3")
                    })?;
                    let fate = match key {
                        "late" => Fate::Late(quantity::span(what.trim()).map_err(|rule| format!("{part:?}: {rule}"))?),
                        _ => Fate::Behind(u32::try_from(number(what)?).map_err(|_| format!("{part:?}: too many"))?),
                    };
                    (numbers(packet)?, fate)
                }
            };
            if numbers.end() - numbers.start() >= MOST {
                return Err(format!("{part:?}: more than {MOST} packets"));
            }
            for number in numbers {
                let fates = self.0.entry(number).or_default();
                let ends = |fate: &Fate| matches!(fate, Fate::Late(_) | Fate::Behind(_));
                if ends(&fate) && fates.iter().any(ends) {
                    return Err(format!("{part:?}: packet {number} is late, or behind others, already"));
                }
                fates.push(fate);
                fates.sort();
            }
        }
        Ok(())
    }
}

fn numbers(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    if first > last { Err(format!("{text:?}: the first must not be above the last")) } else { Ok(first..=last) }
}

fn number(text: &str) -> Result<u64, String> {
    let number = text.trim().parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| format!("{text:?}: must be a whole number from 1 on"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fates_are_read_as_they_are_written() {
        let mut fates = Fates::default();
        for (key, value) in [("drop", "5, 8-9"), ("mark", "5"), ("late", "7:30 ms"), ("behind", "8:3")] {
            fates.add(key, value).unwrap();
        }
        assert_eq!(fates.of(5), [Fate::Lost, Fate::Marked]);
        assert_eq!(fates.of(7), [Fate::Late(Span::from_millis(30))]);
        assert_eq!(fates.of(8), [Fate::Lost, Fate::Behind(3)]);
        assert!(fates.of(6).is_empty());
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (key, value) in [
            ("drop", "0"),
            ("drop", "x"),
            ("drop", "9-7"),
            ("late", "7"),
            ("late", "7:x"),
            ("drop", "1-9999999"),
            ("late", "7:1 ms,7:2 ms"),
        ] {
            assert!(Fates::default().add(key, value).is_err(), "{key} {value}");
        }
    }
}
