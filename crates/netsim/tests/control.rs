//! A run that is driven: where it stops changes nothing, and a change loses no packet.

use sluicegate_aqm::{DropReason, Proportional, all, build};
use sluicegate_base::params::Raw;
use sluicegate_base::{Link, Rate, Size, Span, Stream, Time};
use sluicegate_netsim::source::{EcnField, OnOffParams, Periods, PoissonParams, Sizes, UdpParams};
use sluicegate_netsim::{NetworkBuilder, Outcome, Plan, QueuedPacket, Sim};
use sluicegate_tcp::{Host, ProfileName, TcpParams};

const LINK: Link = Link { rate: Rate(2_000_000), packet: 1000 };

fn discipline(name: &str) -> Box<dyn sluicegate_aqm::Discipline<QueuedPacket>> {
    build(name, &mut |_| None, &LINK).unwrap().unwrap()
}

/// Four transfers and three sources without ears over a link of 2 Mbit/s.
fn plan(duration: Span, queue: &'static str, seed: u64) -> Plan {
    let mut network = NetworkBuilder::new();
    let link = network.link("out", LINK.rate, Span::from_millis(5)).discipline(queue, &[]).id();
    let back = network.line("back", Rate(10_000_000), Span::from_millis(5)).id();
    for _ in 0..4 {
        network.flow(Host::new(&TcpParams::of(ProfileName::Ns2))).path([link]).return_path([back]);
    }
    let (rate, packet_size) = (Rate(300_000), Size::Bytes(500));
    let (on_mean, off_mean) = (Span::from_millis(100), Span::from_millis(100));
    network.flow(UdpParams { ecn: EcnField::default(), rate, packet_size, jitter: 0.3 }).path([link]);
    network.flow(PoissonParams { ecn: EcnField::default(), rate, packet_size, sizes: Sizes::Exponential }).path([link]);
    let (distribution, shape) = (Periods::Pareto, 1.5);
    network
        .flow(OnOffParams { ecn: EcnField::default(), rate, packet_size, on_mean, off_mean, distribution, shape })
        .path([link]);
    let network = network.duration(duration).seed(seed).series(true).packets(1000).positions(1000);
    // A run may end before its measured window begins.
    Plan { warmup: Span::from_secs(2), ..network.build().unwrap() }
}

/// All that a run counts.
fn counted(outcome: Outcome) -> String {
    format!("{outcome:?}")
}

fn finished(mut sim: Sim) -> String {
    while sim.advance(1000) {}
    counted(sim.finish())
}

#[test]
fn where_it_stops_and_who_looks_changes_nothing() {
    let whole = Span::from_secs(6);
    let mut steps = Stream::new(1, "steps");
    let expected = finished(Sim::new(plan(whole, "red", 3)));
    let mut sim = Sim::new(plan(whole, "red", 3));
    while sim.now() < Time::ZERO + whole {
        let until = sim.now() + Span(steps.below(300_000_000));
        while sim.advance_until(until, 1 + steps.below(100)) {}
        assert_eq!(sim.now(), until.min(sim.end()));
        if steps.below(4) == 0 {
            let _ = sim.snapshot();
        }
    }
    assert!(!sim.advance_until(Time::ZERO, 1), "time does not run backwards");
    assert_eq!(finished(sim), expected);
}

#[test]
fn a_snapshot_is_what_a_shorter_run_leaves() {
    for (ms, queue) in [(500, "choke"), (2_000, "fq_codel"), (3_700, "priority"), (6_000, "red")] {
        let mut sim = Sim::new(plan(Span::from_secs(8), queue, 5));
        while sim.advance_until(Time(ms * 1_000_000), 500) {}
        let shorter = finished(Sim::new(plan(Span::from_millis(ms), queue, 5)));
        assert_eq!(counted(sim.snapshot()), shorter, "{queue} after {ms} ms");
    }
}

#[test]
fn no_packet_is_lost_count_of_when_disciplines_change() {
    let mut sim = Sim::new(plan(Span::from_secs(100), "drop_tail", 7));
    let (mut at, mut refused) = (Time::ZERO, false);
    // Twice, and all of them in between small queues that refuse most of what a long one held.
    for entry in all().iter().chain(all()) {
        let name = entry.table.about.name;
        at += Span::from_millis(1_300);
        while sim.advance_until(at, 10_000) {}
        let before = sim.links()[0].port.len();
        sim.replace_queue("out", discipline(name), name.into(), Proportional::Queue(entry.proportional)).unwrap();
        assert!(sim.links()[0].port.len() <= before);
        while sim.advance_until(at + Span::from_millis(100), 10_000) {}
        sim.replace_queue("out", discipline("drop_tail"), "drop_tail".into(), Proportional::default()).unwrap();
        sim.set_queue("out", "limit", &Raw::Integer(3)).unwrap();
        let totals = &sim.links()[0].port.counters;
        refused |= totals.drops[DropReason::Reconfigured as usize] > 0;
        assert!(sim.links()[0].port.len() <= 3, "{name}");
        sim.set_queue("out", "limit", &Raw::Integer(60)).unwrap();
    }
    assert!(refused);
    let mut sim = Sim::new(Plan { warmup: Span::ZERO, ..plan(Span::from_secs(5), "choke", 7) });
    for (at, name) in [(1, "codel"), (2, "fq"), (3, "dcn"), (4, "red_pd")] {
        while sim.advance_until(Time(at * 1_000_000_000), 10_000) {}
        sim.replace_queue("out", discipline(name), name.into(), Proportional::default()).unwrap();
        let (link, totals) = (&sim.links()[0], &sim.links()[0].port.counters);
        let [queued, _, sending] = link.port.holds();
        assert_eq!(totals.arrivals, totals.departures + totals.drops.iter().sum::<u64>() + queued + sending, "{name}");
        assert_eq!(link.discipline, name);
    }
}

#[test]
fn a_clocked_source_changes_with_its_next_packet() {
    let mut sim = Sim::new(Plan { warmup: Span::ZERO, ..plan(Span::from_secs(40), "drop_tail", 9) });
    let sent = |sim: &Sim| sim.snapshot().flows[4..].iter().map(|flow| flow.totals.sent).collect::<Vec<_>>();
    while sim.advance_until(Time(20_000_000_000), 10_000) {}
    let before = sent(&sim);
    for flow in 4..7 {
        sim.set_source(flow, "rate", &Raw::Text("600 kbit/s".into())).unwrap();
        sim.set_source(flow, "packet_size", &Raw::Text("1000 B".into())).unwrap();
    }
    let refused = |sim: &mut Sim, flow, name: &str, value| sim.set_source(flow, name, &value).unwrap_err();
    assert_eq!(refused(&mut sim, 4, "rat", Raw::Integer(1)), "no such parameter: \"rat\"; did you mean \"rate\"?");
    assert_eq!(refused(&mut sim, 5, "rate", Raw::Text("0 bit/s".into())), "must be above 0 bit/s");
    assert_eq!(refused(&mut sim, 6, "on_mean", Raw::Text("1 ms".into())), "packet_size / rate <= on_mean");
    assert_eq!(refused(&mut sim, 0, "window", Raw::Integer(9)), "cannot change while it is in use");
    assert_eq!(refused(&mut sim, 7, "rate", Raw::Integer(9)), "no such flow: 7");
    assert_eq!(sim.set_queue("in", "limit", &Raw::Integer(9)).unwrap_err(), "no such link: \"in\"");
    while sim.advance(10_000) {}
    for (before, after) in before.iter().zip(sent(&sim)) {
        // Twice the bytes in packets twice as long, within a quarter for the random ones.
        let ratio = |at: usize| (after[at] - before[at]) as f64 / before[at] as f64;
        assert!((ratio(0) - 1.0).abs() < 0.25 && (ratio(1) - 2.0).abs() < 0.5, "{before:?} {after:?}");
    }
}
