//! What is to happen to single packets of a link, by their number: for tests of hosts.
//!
//! Packets are numbered from 1 in the order in which they reach the link, and meet their fate behind its queue.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sluicegate_base::{Span, quantity};

/// What happens to a packet behind the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// It is lost.
    pub lost: bool,
    /// It is marked, if its transport is capable.
    pub marked: bool,
    /// It arrives later than it would.
    pub late: Option<Late>,
}

/// How much later a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// By so much; those behind it may overtake it.
    By(Span),
    /// Right after the last of so many later ones that arrive.
    Behind(u32),
}

/// The keys that name fates.
pub const KEYS: [&str; 4] = ["drop", "mark", "late", "behind"];

/// The fates of a link's packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fates {
    lost: Ranges<()>,
    marked: Ranges<()>,
    late: Ranges<Late>,
}

/// Ranges of numbers, first to last, with what holds for each: in order, and none overlaps another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ranges<T>(Vec<(u64, u64, T)>);

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Ranges(Vec::new())
    }
}

impl<T: Copy> Ranges<T> {
    fn get(&self, number: u64) -> Option<T> {
        let at = self.0.partition_point(|(first, ..)| *first <= number).checked_sub(1)?;
        let (_, last, what) = self.0[at];
        (number <= last).then_some(what)
    }

    /// Adds a range; the error is a number that another one has.
    fn add(&mut self, first: u64, last: u64, what: T) -> Result<(), u64> {
        let at = self.0.partition_point(|(_, before, _)| *before < first);
        match self.0.get(at) {
            Some((next, ..)) if *next <= last => Err(first.max(*next)),
            _ => {
                self.0.insert(at, (first, last, what));
                Ok(())
            }
        }
    }
}

impl Fates {
    /// The fate of packet number `number`: nothing for most.
    #[must_use]
    pub fn of(&self, number: u64) -> Fate {
        let (lost, marked) = (self.lost.get(number).is_some(), self.marked.get(number).is_some());
        Fate { lost, marked, late: self.late.get(number) }
    }

    /// Whether there are any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lost.0.is_empty() && self.marked.0.is_empty() && self.late.0.is_empty()
    }

    /// Whether packets may overtake each other by them.
    #[must_use]
    pub fn reorder(&self) -> bool {
        !self.late.0.is_empty()
    }

    /// Adds what one of [`KEYS`] says: of `drop` and `mark` the packets, as "5,8-10"; of `late` also by how much, as
    /// "7:30 ms"; of `behind` after how many later packets that arrive, as "7:3". The error is the rule that the value breaks.
    ///
    /// ```
    /// use sluicegate_port::Fates;
    ///
    /// let mut fates = Fates::default();
    /// fates.add("drop", "3,7")?;
    /// fates.add("mark", "12")?;
    /// fates.add("late", "9:5 ms")?;
    /// assert!(fates.of(7).lost && !fates.of(8).lost);
    /// # Ok::<(), String>(())
    /// ```
    pub fn add(&mut self, key: &str, value: &str) -> Result<(), String> {
        for part in value.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let again = |number: u64| match key {
                "drop" | "mark" => format!("{part:?}: packet {number} is named already"),
                _ => format!("{part:?}: packet {number} is late, or behind others, already"),
            };
            match key {
                "drop" | "mark" => {
                    let (first, last) = numbers(part)?;
                    let ranges = if key == "drop" { &mut self.lost } else { &mut self.marked };
                    ranges.add(first, last, ()).map_err(again)?;
                }
                "late" | "behind" => {
                    let (packets, what) = part.split_once(':').ok_or_else(|| {
                        format!("{part:?}: must be a packet's number, a colon, and by how much, such as 7:3")
                    })?;
                    let late = match key {
                        "late" => Late::By(quantity::span(what.trim()).map_err(|rule| format!("{part:?}: {rule}"))?),
                        _ => Late::Behind(u32::try_from(number(what)?).map_err(|_| format!("{part:?}: too many"))?),
                    };
                    let (first, last) = numbers(packets)?;
                    self.late.add(first, last, late).map_err(again)?;
                }
                _ => return Err(format!("{key:?}: no such key; known: {}", KEYS.join(", "))),
            }
        }
        Ok(())
    }
}

/// The first and the last of a range.
fn numbers(text: &str) -> Result<(u64, u64), String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (number(first)?, number(last)?);
    if first > last { Err(format!("{text:?}: the first must not be above the last")) } else { Ok((first, last)) }
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
        let said = [("drop", "5, 8-9"), ("mark", "5"), ("late", "7:30 ms"), ("behind", "8:3"), ("drop", "1-2")];
        for (key, value) in said {
            fates.add(key, value).unwrap();
        }
        assert_eq!(fates.of(5), Fate { lost: true, marked: true, late: None });
        assert_eq!(fates.of(7), Fate { late: Some(Late::By(Span::from_millis(30))), ..Fate::default() });
        assert_eq!(fates.of(8), Fate { lost: true, late: Some(Late::Behind(3)), ..Fate::default() });
        assert_eq!([0, 3, 4, 6, 10].map(|number| fates.of(number)), [Fate::default(); 5]);
        assert_eq!((1..=10).filter(|number| fates.of(*number).lost).collect::<Vec<u64>>(), [1, 2, 5, 8, 9]);
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for (key, value) in [
            ("drop", "0"),
            ("drop", "x"),
            ("drop", "9-7"),
            ("drop", "5-8,2-5"),
            ("drop", "5-8,6"),
            ("mark", "3,1-9"),
            ("late", "7"),
            ("late", "7:x"),
            ("late", "7:1 ms,7:2 ms"),
            ("behind", "7:0"),
            ("lost", "7"),
        ] {
            assert!(Fates::default().add(key, value).is_err(), "{key} {value}");
        }
        let mut fates = Fates::default();
        fates.add("late", "7:1 ms").unwrap();
        assert!(fates.add("behind", "5-9:3").unwrap_err().contains("packet 7 is late"));
    }
}
