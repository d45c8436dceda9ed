//! A download over somebody's transport beside one of Linux's CUBIC, at one bottleneck.

use crate::quic::{self, Control, Received};
use crate::small_tcp;
use sluicegate_base::{Rate, Span};
use sluicegate_netsim::{EndpointPair, NetworkBuilder, Outcome, Sim};
use sluicegate_tcp::{Host, ProfileName, TcpParams};
use std::error::Error;

/// What one flow had of the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its kind.
    pub kind: &'static str,
    /// Its part of what the link delivered.
    pub share: f64,
    /// The mean one-way delay of its packets in milliseconds, of which 20 are propagation.
    pub delay_ms: f64,
    /// The parts of its packets that were dropped and marked at the queue, in percent.
    pub loss: f64,
    #[allow(missing_docs)]
    pub marked: f64,
}

/// The rate of the bottleneck: a home's download.
pub const RATE: Rate = Rate(20_000_000);

/// Runs the pair beside a TCP flow for a minute.
pub fn run(discipline: &str, pair: EndpointPair, seed: u64) -> Result<Outcome, Box<dyn Error>> {
    run_for(60, discipline, pair, seed)
}

/// Runs the pair beside a TCP flow for so many seconds, the first sixth not counted: 20 Mbit/s with 20 ms each way, under this
/// discipline with its defaults.
pub fn run_for(seconds: u64, discipline: &str, pair: EndpointPair, seed: u64) -> Result<Outcome, Box<dyn Error>> {
    let mut network = NetworkBuilder::new();
    let delay = Span::from_millis(20);
    let link = network.link("bottleneck", RATE, delay).discipline(discipline, &[]).id();
    let back = network.line("back", Rate(1_000_000_000), delay).id();
    network.flow(pair).path([link]).return_path([back]);
    network.flow(Host::new(&TcpParams::of(ProfileName::Linux))).path([link]).return_path([back]);
    let network = network.duration(Span::from_secs(seconds)).warmup(Span::from_secs(seconds / 6));
    let mut sim = Sim::new(network.seed(seed).packets(400_000).build()?);
    while sim.advance(100_000) {}
    Ok(sim.finish())
}

/// A download without an end over each transport: quinn's with CUBIC and with BBR, and smoltcp's.
#[must_use]
pub fn pairs() -> [EndpointPair; 3] {
    let received = Received::default();
    let quinn = |control| quic::download(control, u64::MAX, &received);
    [quinn(Control::Cubic), quinn(Control::Bbr), small_tcp::download(u64::MAX, &received)]
}

/// What each flow had.
#[must_use]
pub fn parts(outcome: &Outcome) -> Vec<Part> {
    let all: u64 = outcome.flows.iter().map(|flow| flow.totals.delivered[1]).sum();
    let part = |flow: &sluicegate_netsim::counters::FlowRow| {
        let totals = &flow.totals;
        let [packets, bytes] = totals.delivered;
        let of_arrivals = |packets: u64| 100.0 * packets as f64 / totals.arrivals.max(1) as f64;
        Part {
            kind: if flow.algorithm.is_empty() { flow.kind } else { flow.algorithm },
            share: bytes as f64 / all.max(1) as f64,
            delay_ms: totals.delay_sum as f64 * 1e-6 / packets.max(1) as f64,
            loss: of_arrivals(totals.drops.iter().sum()),
            marked: of_arrivals(totals.marked),
        }
    };
    outcome.flows.iter().map(part).collect()
}

/// Rows of a table, under [`HEAD`].
#[must_use]
pub fn rows(discipline: &str, parts: &[Part]) -> String {
    let row = |part: &Part| {
        let Part { kind, share, delay_ms, loss, marked } = part;
        format!("{discipline:<10} {kind:<13} {:>7.1} {delay_ms:>9.1} {loss:>7.2} {marked:>9.2}\n", share * 100.0)
    };
    parts.iter().map(row).collect()
}

/// Above [`rows`].
pub const HEAD: &str = "discipline flow          share %  delay ms  loss %  marked %\n";
