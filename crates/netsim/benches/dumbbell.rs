//! Packets per second of a dumbbell under each discipline: 32 TCP Reno flows over a bottleneck of 10 Mbit/s for 20
//! simulated seconds, their acknowledgements on a way back of their own.
//!
//! The items counted are the packets that the bottleneck sends; each is one of four or so events (arrivals and departures
//! of data and acknowledgement).

use divan::Bencher;
use divan::counter::ItemsCount;
use sluicegate_aqm::{Proportional, all, build};
use sluicegate_base::{Link, Params, Rate, Size, Span, Time, Value};
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::{FlowPlan, Hop, LinkPlan, Plan, Sim};
use sluicegate_tcp::{Host, TcpParams};

const LINK: Link = Link { rate: Rate(10_000_000), packet: 1000 };

fn main() {
    divan::main();
}

fn names() -> impl Iterator<Item = &'static str> {
    all().iter().map(|entry| entry.table.about.name)
}

/// A link with thresholds of 30 and 60 packets, where its discipline has any.
fn link(name: &str, discipline: &str, monitored: bool) -> LinkPlan {
    let entry = all().iter().find(|entry| entry.table.about.name == discipline).expect("a known name");
    let mut given = |at: usize| match entry.table.fields[at].name {
        "min_th" => Some(Value::Size(Size::Packets(30))),
        "max_th" => Some(Value::Size(Size::Packets(60))),
        "limit" => Some(Value::Size(Size::Packets(300))),
        _ => None,
    };
    let queue = build(discipline, &mut given, &LINK).expect("a known name").expect("valid parameters");
    let discipline = entry.table.about.name.into();
    let delay = Span::from_millis(20);
    LinkPlan {
        framing: 0,
        name: name.into(),
        rate: LINK.rate,
        delay,
        discipline,
        queue,
        monitored,
        tx_ring: None,
        proportional: Proportional::default(),
    }
}

fn sim(discipline: &str) -> Sim {
    let host = Host::new(&TcpParams::defaults(&LINK).expect("valid parameters"));
    let flow = |k: u64| FlowPlan {
        group: 0,
        source: SourcePlan::Tcp(host.clone().into()),
        size: None,
        class: 0,
        priority: 0,
        path: vec![Hop::Link(0)],
        return_path: vec![Hop::Link(1)],
        start: Time(k * 30_000_000),
        stop: Time::NEVER,
    };
    Sim::new(Plan {
        links: vec![link("bottleneck", discipline, true), link("back", "drop_tail", false)],
        lines: vec![],
        flows: (0..32).map(flow).collect(),
        seed: 1,
        duration: Span::from_secs(20),
        warmup: Span::ZERO,
        sample: Span::from_secs(1),
        series: false,
        recent: 100,
        packets: 0,
        positions: 0,
    })
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
