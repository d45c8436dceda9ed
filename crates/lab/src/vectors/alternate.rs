//! The alternate format: `S start exchanges n id` or `C start units units n id`, then a line for each unit. It has
//! `I` (initiator) or `A` (acceptor); the time since the last unit of the same end, and the time since that of the other end,
//! both in microseconds and at least one of them zero; and the bytes, zero if this end sends no more:
//!
//! ```text
//! I 0 0 245
//! A 0 51257 510
//! A 6304943 0 0
//! ```

use super::{Line, Reading, Rule, head};
use sluicegate_base::Span;
use sluicegate_netsim::source::connections::{Side, Unit, Vector};

/// Reads a line of a unit.
pub(super) fn unit(reading: &mut Reading, line: &Line<'_>) -> Result<(), Rule> {
    let side = match line.words[0] {
        "I" => Side::Initiator,
        "A" => Side::Acceptor,
        word => return Err(format!("a line begins with S, C, w, m, r, l, I or A, not {word:?}")),
    };
    line.exactly(4)?;
    let sent = line.micros(1, "the time after what was sent")?;
    let came = line.micros(2, "the time after what has come")?;
    let bytes: u32 = line.number(3, "the number of bytes")?;
    if sent > Span::ZERO && came > Span::ZERO {
        return Err("a unit waits for what was sent or for what has come, not for both".to_owned());
    }
    let vector = &mut reading.vector;
    if vector.concurrent && came > Span::ZERO {
        return Err("a unit of a concurrent connection waits for what was sent".to_owned());
    }
    let of_side = vector.units.iter().rev().find(|before| before.side == side);
    let before = if vector.concurrent { of_side } else { vector.units.last() };
    if before.is_some_and(|before| before.bytes == 0) {
        return Err("nothing comes after the end".to_owned());
    }
    // Where both times are zero the order of a sequential connection says what it waits for.
    let turn = !vector.concurrent && before.is_some_and(|before| before.side != side);
    let answers = came > Span::ZERO || (sent == Span::ZERO && turn);
    if answers != turn {
        return Err("a unit of a sequential connection waits for the unit before it".to_owned());
    }
    vector.units.push(Unit { side, wait: sent + came, answers, bytes });
    Ok(())
}

/// Writes a connection.
pub(super) fn write(vector: &Vector, text: &mut String) {
    head(vector, if vector.concurrent { "C" } else { "S" }, text);
    for unit in &vector.units {
        let letter = if unit.side == Side::Initiator { 'I' } else { 'A' };
        let micros = unit.wait.0 / 1000;
        let [sent, came] = if unit.answers { [0, micros.max(1)] } else { [micros, 0] };
        text.push_str(&format!("{letter} {sent} {came} {}\n", unit.bytes));
    }
}
