//! The original format: `SEQ start exchanges n id` or `CONC start units units n id`, then, for sequential connections,
//!
//! ```text
//! > 245          the initiator sends 245 bytes
//! t 51257        51257 us until what follows
//! < 510          the acceptor sends 510 bytes
//! t 6304943      and this long until what follows, or until the end
//! ```
//!
//! and, for concurrent ones, `c> bytes`, `t> us`, `c< bytes`, `t< us`, where each time is that of its own side. A time
//! stands between two units of a sequential connection, and between two units of the same end of a concurrent one.

use super::{Line, Reading, Rule, closing, head};
use sluicegate_base::Span;
use sluicegate_netsim::source::connections::{Side, Unit, Vector};

/// Reads a line of a unit or of a time.
pub(super) fn unit(reading: &mut Reading, line: &Line<'_>) -> Result<(), Rule> {
    let concurrent = reading.vector.concurrent;
    let side = match (line.words[0], concurrent) {
        (">", false) | ("c>" | "t>", true) => Side::Initiator,
        ("<", false) | ("c<" | "t<", true) => Side::Acceptor,
        ("t", false) => match reading.vector.units.last() {
            Some(unit) => unit.side,
            None => return Err("a time comes after what was sent".to_owned()),
        },
        (word, false) => return Err(format!("a sequential connection has >, < and t, not {word:?}")),
        (word, true) => return Err(format!("a concurrent connection has c>, t>, c< and t<, not {word:?}")),
    };
    line.exactly(2)?;
    // Of a sequential connection there is one time, whoever was the last to send.
    let at = if concurrent { side as usize } else { 0 };
    let before = reading.vector.units.iter().rev().find(|before| !concurrent || before.side == side).copied();
    if before.is_some_and(|before| before.bytes == 0) {
        return Err("nothing comes after the end".to_owned());
    }
    if line.words[0].starts_with('t') {
        let wait = line.micros(1, "the time")?;
        if reading.waits[at].replace(wait).is_some() {
            return Err("two times follow one another".to_owned());
        }
        return Ok(());
    }
    let bytes: u32 = line.number(1, "the number of bytes")?;
    let wait = match (reading.waits[at].take(), before) {
        (Some(wait), _) => wait,
        (None, Some(_)) if concurrent => return Err("there must be a time between two units of one end".to_owned()),
        (None, Some(_)) => return Err("there must be a time between two units".to_owned()),
        (None, None) => Span::ZERO,
    };
    let answers = before.is_some_and(|before| before.side != side);
    reading.vector.units.push(Unit { side, wait, answers, bytes });
    Ok(())
}

/// A last time is that until the end.
pub(super) fn end(reading: &mut Reading) {
    for (at, wait) in reading.waits.iter_mut().enumerate() {
        let Some(wait) = wait.take() else { continue };
        let last = reading.vector.units.last().map(|unit| unit.side);
        let side = match (reading.vector.concurrent, at) {
            (false, _) => last.unwrap_or(Side::Initiator),
            (true, 0) => Side::Initiator,
            (true, _) => Side::Acceptor,
        };
        reading.vector.units.push(closing(side, wait));
    }
}

/// Writes a connection.
pub(super) fn write(vector: &Vector, text: &mut String) -> Result<(), Rule> {
    head(vector, if vector.concurrent { "CONC" } else { "SEQ" }, text);
    for (at, unit) in vector.units.iter().enumerate() {
        let arrow = if unit.side == Side::Initiator { '>' } else { '<' };
        let prefix = if vector.concurrent { "c" } else { "" };
        let time = if vector.concurrent { format!("t{arrow}") } else { "t".to_owned() };
        let before = vector.units[..at].iter().rev().find(|before| !vector.concurrent || before.side == unit.side);
        let timed = before.is_some() || unit.wait > Span::ZERO;
        if before.is_none() && timed && !vector.concurrent {
            let micros = unit.wait.0 / 1000;
            return Err(format!("waits {micros} us before its first unit, which the original format cannot say"));
        }
        if timed {
            text.push_str(&format!("{time} {}\n", unit.wait.0 / 1000));
        }
        // A time with nothing after it is that until its own end closes; what else closes says so by sending nothing.
        let closes = unit.bytes == 0 && timed && before.is_none_or(|before| before.side == unit.side);
        if !closes {
            text.push_str(&format!("{prefix}{arrow} {}\n", unit.bytes));
        }
    }
    Ok(())
}
