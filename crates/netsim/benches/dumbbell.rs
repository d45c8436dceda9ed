//! Packets per second of a dumbbell under each discipline: 32 TCP Reno flows over a bottleneck of 10 Mbit/s for 20
//! simulated seconds, their acknowledgements on a way back of their own.
//!
//! The items counted are the packets that the bottleneck sends; each is one of four or so events (arrivals and departures
//! of data and acknowledgement).

use divan::Bencher;
use divan::counter::ItemsCount;
use sluicegate_aqm::all;
use sluicegate_base::{Link, Rate, Span};
use sluicegate_netsim::{NetworkBuilder, Sim};
use sluicegate_tcp::{Host, ProfileName, TcpParams};
use std::fmt::Display;
use std::sync::Arc;

const LINK: Link = Link { rate: Rate(10_000_000), packet: 1000 };

fn main() {
    divan::main();
}

fn names() -> impl Iterator<Item = &'static str> {
    all().iter().map(|entry| entry.table.about.name)
}

/// With thresholds of 30 and 60 packets, where the discipline has any.
fn sim(discipline: &str) -> Sim {
    let entry = all().iter().find(|entry| entry.table.about.name == discipline).expect("a known name");
    let given: [(&str, &dyn Display); 3] = [("min_th", &30), ("max_th", &60), ("limit", &300)];
    let given = given.map(|(name, value)| entry.table.position(name).map(|_| (name, value)));
    let given: Vec<_> = given.into_iter().flatten().collect();
    let mut network = NetworkBuilder::new();
    let delay = Span::from_millis(20);
    let bottleneck = network.link("bottleneck", LINK.rate, delay).discipline(discipline, &given).id();
    let back = network.link("back", LINK.rate, delay).discipline("drop_tail", &[("limit", &300)]).monitored(false).id();
    let host = Arc::new(Host::new(&TcpParams::of(ProfileName::Ns2)));
    for k in 0..32 {
        network.flow(host.clone()).path([bottleneck]).return_path([back]).start(Span::from_millis(30 * k));
    }
    let network = network.duration(Span::from_secs(20)).sample(Span::from_secs(1));
    Sim::new(network.build().expect("a valid network"))
}

fn run(mut sim: Sim) -> Sim {
    while sim.advance(1 << 20) {}
    sim
}

#[divan::bench(args = names())]
fn tcp_32(bencher: Bencher, discipline: &str) {
    let packets = run(sim(discipline)).links()[0].port.counters.departures;
    bencher.counter(ItemsCount::new(packets)).with_inputs(|| sim(discipline)).bench_local_values(run);
}
