//! One QUIC download by quinn, on sockets behind `sluicegate shell` and in the simulator:
//!
//! ```text
//! quic_on_sockets server BYTES [CONTROL]                 serves one client, on port 4433
//! quic_on_sockets client ADDRESS BYTES [CONTROL]         fetches from there, and prints how long that took
//! quic_on_sockets simulate BYTES DISCIPLINE [CONTROL]    the same in the simulator: 20 Mbit/s and 20 ms each way
//! ```
//!
//! CONTROL is the server's: cubic, bbr or newreno.

use sluicegate_adapters::beside::RATE;
use sluicegate_adapters::quic::{Control, End, Received, download};
use sluicegate_adapters::sockets::drive;
use sluicegate_base::{Span, Stream};
use sluicegate_netsim::{NetworkBuilder, Sim};
use std::error::Error;
use std::net::UdpSocket;
use std::sync::atomic::Ordering;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (received, seed) = (Received::default(), Stream::new(1, "quic"));
    match *words {
        ["server", bytes] => serve(bytes.parse()?, Control::Cubic, seed),
        ["server", bytes, control] => serve(bytes.parse()?, controlled(control)?, seed),
        ["client", address, bytes, ref control @ ..] => {
            let control = control.first().map_or(Ok(Control::Cubic), |word| controlled(word))?;
            let (socket, bytes) = (UdpSocket::bind(("0.0.0.0", 0))?, bytes.parse()?);
            let peer = (address.parse::<std::net::Ipv4Addr>()?, 4433).into();
            let mut client = End::client(control, seed, &received)?;
            let took = drive(&mut client, &socket, Some(peer), || received.load(Ordering::Relaxed) >= bytes)?;
            print(bytes, took.as_secs_f64());
            Ok(())
        }
        ["simulate", bytes, discipline] => simulate(bytes.parse()?, discipline, Control::Cubic, &received),
        ["simulate", bytes, discipline, control] => {
            simulate(bytes.parse()?, discipline, controlled(control)?, &received)
        }
        _ => Err(
            "say: server BYTES, client ADDRESS BYTES or simulate BYTES DISCIPLINE, and perhaps cubic, bbr or newreno"
                .into(),
        ),
    }
}

fn controlled(word: &str) -> Result<Control, String> {
    match word {
        "cubic" => Ok(Control::Cubic),
        "bbr" => Ok(Control::Bbr),
        "newreno" => Ok(Control::NewReno),
        _ => Err(format!("no such control: {word:?}; cubic, bbr or newreno")),
    }
}

fn print(bytes: u64, seconds: f64) {
    println!("{bytes} bytes in {seconds:.2} s: {:.2} Mbit/s", bytes as f64 * 8e-6 / seconds);
}

/// Serves until somebody ends the process.
fn serve(bytes: u64, control: Control, seed: Stream) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(("0.0.0.0", 4433))?;
    drive(&mut End::server(control, bytes, seed)?, &socket, None, || false)?;
    Ok(())
}

fn simulate(bytes: u64, discipline: &str, control: Control, received: &Received) -> Result<(), Box<dyn Error>> {
    let mut network = NetworkBuilder::new();
    let mut link = |name| network.link(name, RATE, Span::from_millis(20)).discipline(discipline, &[]).id();
    let (down, up) = (link("down"), link("up"));
    network.flow(download(control, bytes, received)).path([down]).return_path([up]);
    let mut sim = Sim::new(network.duration(Span::from_secs(600)).build()?);
    while received.load(Ordering::Relaxed) < bytes {
        if !sim.advance(1) {
            return Err("600 s were not enough".into());
        }
    }
    print(bytes, sim.now().0 as f64 * 1e-9);
    Ok(())
}
