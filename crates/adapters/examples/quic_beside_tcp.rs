//! A QUIC download by quinn, and one by smoltcp's TCP, beside Linux's CUBIC: shares, delays, losses.

use sluicegate_adapters::beside::{HEAD, parts, rows, run};
use sluicegate_adapters::quic::{self, Control};
use sluicegate_adapters::small_tcp;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{HEAD}");
    let received = quic::Received::default();
    for discipline in ["codel", "cake", "dualpi2"] {
        for pair in [
            quic::download(Control::Cubic, u64::MAX, &received),
            quic::download(Control::Bbr, u64::MAX, &received),
            small_tcp::download(u64::MAX, &received),
        ] {
            print!("{}", rows(discipline, &parts(&run(discipline, pair, 1)?)));
        }
    }
    Ok(())
}
