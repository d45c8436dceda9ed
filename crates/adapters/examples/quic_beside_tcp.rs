//! A QUIC download by quinn, and one by smoltcp's TCP, beside Linux's CUBIC: shares, delays, losses.

use sluicegate_adapters::beside::{HEAD, pairs, parts, rows, run};
use std::error::Error;
use std::io::{Write, stdout};

fn main() -> Result<(), Box<dyn Error>> {
    table(&["codel", "cake", "dualpi2"], &mut stdout())
}

/// Writes the rows of these disciplines, each as soon as its run has ended.
pub fn table(disciplines: &[&str], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    write!(out, "{HEAD}")?;
    for discipline in disciplines {
        for pair in pairs() {
            write!(out, "{}", rows(discipline, &parts(&run(discipline, pair, 1)?)))?;
        }
    }
    Ok(())
}
