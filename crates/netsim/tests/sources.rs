//! What flows send, on its way through the simulator: against closed forms, and in order.

use sluicegate_aqm::all;
use sluicegate_base::{Rate, Size, Span, Time};
use sluicegate_netsim::source::{EcnField, OnOffParams, Periods, PoissonParams, Sizes, SourcePlan, UdpParams};
use sluicegate_netsim::{HopId, NetworkBuilder, Outcome, Plan, Sim};
use sluicegate_tcp::{Host, ProfileName, TcpParams};
use std::fmt::Display;

const MS: u64 = 1_000_000;
const DELAY: Span = Span::from_millis(5);

/// A network whose link takes 5 ms and has room for `limit` packets, and a line of 10 Mbit/s and 5 ms back.
fn network(discipline: &'static str, rate: u64, limit: u64) -> (NetworkBuilder, HopId, HopId) {
    let table = all().iter().find(|entry| entry.table.about.name == discipline).unwrap().table;
    let given: &[(&str, &dyn Display)] = if table.position("limit").is_some() { &[("limit", &limit)] } else { &[] };
    let mut network = NetworkBuilder::new();
    let link = network.link("out", Rate(rate), DELAY).discipline(discipline, given).id();
    let back = network.line("back", Rate(10_000_000), DELAY).id();
    (network, link, back)
}

fn udp(rate: u64) -> UdpParams {
    UdpParams { ecn: EcnField::default(), rate: Rate(rate), packet_size: Size::Bytes(1000), jitter: 0.0 }
}

fn tcp(initial_window: f64) -> Host {
    let defaults = TcpParams::of(ProfileName::Ns2);
    Host::new(&TcpParams { initial_window: Some(initial_window), ..defaults })
}

fn on_off(rate: u64, on_mean: Span, off_mean: Span, distribution: Periods, bytes: u64) -> OnOffParams {
    let (rate, packet_size) = (Rate(rate), Size::Bytes(bytes));
    OnOffParams { ecn: EcnField::default(), rate, on_mean, off_mean, distribution, shape: 1.5, packet_size }
}

/// The run of so many seconds, after a warmup.
fn plan(network: NetworkBuilder, (duration, warmup): (u64, u64), seed: u64) -> Plan {
    let network = network.duration(Span::from_secs(duration)).warmup(Span::from_secs(warmup)).seed(seed);
    network.sample(Span::from_secs(1)).series(true).build().unwrap()
}

fn finished(plan: Plan) -> Outcome {
    let mut sim = Sim::new(plan);
    while sim.advance(1 << 20) {}
    sim.finish()
}

fn run(network: NetworkBuilder, seconds: u64) -> Outcome {
    finished(plan(network, (seconds, 0), 1))
}

#[test]
fn the_queue_of_an_on_off_source_is_the_fluid_models() {
    // One exponential on-off source of peak r into a server of rate c < r (Anick, Mitra & Sondhi 1982, with one source):
    // P(Q > x) = ρ exp(−z x), ρ = r/c · on/(on + off), z = 1/(on (r − c)) − 1/(off c), in bits. Packets of 500 bytes in
    // bursts of 500 are nearly a fluid.
    let (r, c, on, off) = (2e6, 1e6, 1.0, 3.0);
    let rho = r / c * on / (on + off);
    let z = 1.0 / (on * (r - c)) - 1.0 / (off * c);
    let mean = |seed| {
        let source = on_off(r as u64, Span::from_secs_f64(on), Span::from_secs_f64(off), Periods::Exponential, 500);
        let (mut network, link, _) = network("drop_tail", c as u64, 1 << 40);
        network.flow(source).path([link]);
        let outcome = finished(plan(network, (20_000, 100), seed));
        outcome.links[0].counters.queueing.as_secs() / outcome.window.as_secs() * 4000.0
    };
    let values: Vec<f64> = (1..=5).map(mean).collect();
    let queue = values.iter().sum::<f64>() / 5.0;
    let variance = values.iter().map(|x| (x - queue) * (x - queue)).sum::<f64>() / 4.0;
    // Student's t with 4 degrees of freedom: 4.6 standard errors hold 99 %. The packets add less than one of them.
    let error = 4.6 * (variance / 5.0).sqrt() + 4000.0;
    let expected = rho / z;
    assert!((queue - expected).abs() < error && error < 0.15 * expected, "{queue} ± {error}, {expected}");
}

#[test]
fn a_source_sends_from_its_start_until_its_stop() {
    let (mut network, link, _) = network("drop_tail", 10_000_000, 100);
    network.flow(udp(1_000_000)).path([link]).start(Span::from_secs(1)).stop(Span::from_secs(3));
    let outcome = run(network, 5);
    // A packet every 8 ms from 1 s on, the last at 2.992 s: 250. At 3 s it sends no more.
    assert_eq!(outcome.flows[0].totals.sent, [250, 250_000]);
    let seconds: Vec<f64> = outcome.flow_series.iter().map(|sample| sample.throughput_bps).collect();
    assert_eq!(seconds[0], 0.0);
    assert!(seconds[1] > 0.99e6 && seconds[2] > 0.99e6 && seconds[3] < 0.02e6, "{seconds:?}");
}

#[test]
fn a_source_whose_start_was_drawn_after_its_stop_sends_nothing() {
    let (mut network, link, _) = network("drop_tail", 10_000_000, 100);
    network.flow(udp(1_000_000)).path([link]).start(Span::from_secs(2));
    let mut plan = plan(network, (5, 0), 1);
    plan.flows[0].stop = Time(1500 * MS);
    assert_eq!(finished(plan).flows[0].totals.sent, [0, 0]);
}

#[test]
fn point_9_a_link_of_rate_zero_sends_nothing() {
    // No builder makes one, but a rate may become zero in mid-run.
    let (mut still, link, _) = network("drop_tail", 1_000_000, 5);
    still.flow(udp(1_000_000)).path([link]);
    let mut still = plan(still, (1, 0), 1);
    still.links[0].rate = Rate(0);
    let outcome = finished(still);
    let totals = &outcome.links[0].counters;
    // One is in transmission for ever and five are queued, of a packet every 8 ms from 0 on.
    assert_eq!((totals.arrivals, totals.departures, totals.drops), (126, 0, [120, 0, 0, 0, 0, 0]));
    // A line of rate zero keeps what it gets.
    let (mut still, link, line) = network("drop_tail", 1_000_000, 5);
    still.flow(udp(1_000_000)).path([line, link]);
    let mut still = plan(still, (1, 0), 1);
    still.lines[0].rate = Rate(0);
    assert_eq!(finished(still).links[0].counters.arrivals, 0);
}

#[test]
fn an_on_off_source_begins_with_a_silence_and_stops_when_told() {
    let always = Span::from_secs(1_000_000);
    let source = on_off(1_000_000, always, Span::from_millis(1), Periods::Pareto, 1000);
    let (mut network, link, _) = network("drop_tail", 10_000_000, 100);
    network.flow(source).path([link]).start(Span::from_secs(1)).stop(Span::from_secs(2));
    let outcome = run(network, 3);
    // One burst, after a silence of a few milliseconds.
    let sent = outcome.flows[0].totals.sent[0];
    assert!((120..=125).contains(&sent), "{sent}");
}

#[test]
fn a_limited_transfer_takes_as_long_as_its_packets() {
    // The initial window holds them all, so each further packet adds its time on the link, and what opens the connection
    // adds the same to both.
    let completion = |size: u64| {
        let (mut network, link, back) = network("drop_tail", 1_000_000, 60);
        network.flow(tcp(20.0)).path([link]).return_path([back]).start(Span::from_millis(7)).size(size);
        let outcome = run(network, 20);
        assert_eq!(outcome.flows[0].retransmissions, 0);
        (outcome.flows[0].completion.unwrap().0, outcome.flows[0].totals.sent)
    };
    let ((one, _), (ten, sent)) = (completion(960), completion(9600));
    assert_eq!(ten - one, 9 * 8 * MS);
    assert!(one >= 13 * MS, "8 ms to send and 5 ms on the way: {one}");
    // A byte more is a packet more, of 41 bytes: 0.328 ms.
    let (more, more_sent) = completion(9601);
    assert_eq!((more - ten, more_sent[0] - sent[0], more_sent[1] - sent[1]), (328_000, 1, 41));
}

#[test]
fn limited_transfers_complete_through_losses_and_others_do_not() {
    let (mut network, link, back) = network("drop_tail", 1_000_000, 20);
    let transfer = |network: &mut NetworkBuilder, size: Option<u64>, stop| {
        let flow = network.flow(tcp(2.0)).path([link]).return_path([back]).stop(stop);
        size.map(|size| flow.size(size));
    };
    let end = Span::from_secs(120);
    for _ in 0..20 {
        transfer(&mut network, Some(50 * 960), end);
    }
    transfer(&mut network, None, end);
    transfer(&mut network, Some(50_000_000), end);
    transfer(&mut network, Some(5_000_000), Span::from_secs(3));
    let outcome = run(network, 120);
    assert!(outcome.links[0].counters.drops[0] > 100, "the queue overflows");
    for row in &outcome.flows[..20] {
        let time = row.completion.expect("it completes");
        assert!(time > Span::from_millis(400 + 5), "50 packets take 400 ms: {time}");
        assert!(row.totals.delivered[0] >= 50 && row.totals.delivered[0] < 100, "{}", row.totals.delivered[0]);
    }
    let ends: Vec<_> = outcome.flows[20..].iter().map(|row| row.completion).collect();
    assert_eq!(ends, [None; 3], "greedy, too large for the run, stopped");
}

#[test]
fn jitter_delays_and_never_reorders() {
    let over_a_line = |source: SourcePlan, seconds| {
        let (mut network, _, _) = network("drop_tail", 1_000_000, 1);
        let [there, back] = ["jittered", "jittered back"]
            .map(|name| network.line(name, Rate(10_000_000), DELAY).jitter(Span(40 * MS)).id());
        let hears = source.host().is_some();
        network.flow(source).path([there]).return_path(hears.then_some(back));
        run(network, seconds)
    };
    // A packet every 80 ms: 0.8 ms to send, 5 ms on the way, 20 ms of jitter on average (±4 standard errors).
    let outcome = over_a_line(udp(100_000).into(), 2000);
    let totals = &outcome.flows[0].totals;
    let mean = totals.delay_sum as f64 / totals.delivered[0] as f64 / 1e6;
    let error = 4.0 * 40.0 / 12f64.sqrt() / (totals.delivered[0] as f64).sqrt();
    assert!((mean - 25.8).abs() < error, "{mean} ± {error}");
    let (least, most) = (totals.delays.quantile(0.0), totals.delays.quantile(1.0));
    assert!(least > 5.7e6 && most < 46.5e6, "{least} {most}");
    // A window of packets at once, all within the jitter: an overtaking packet would make duplicate acknowledgements.
    let outcome = over_a_line(tcp(2.0).into(), 60);
    let row = &outcome.flows[0];
    assert!(row.totals.delivered[0] > 10_000, "{}", row.totals.delivered[0]);
    assert_eq!((row.retransmissions, row.fast_retransmits), (0, 0));
}

/// Every kind of source that hears nothing, two transfers, and jitter.
fn all_kinds(discipline: &'static str, seed: u64) -> Sim {
    let (mut network, link, _) = network(discipline, 1_000_000, 50);
    let (on, off) = (Span::from_millis(50), Span::from_millis(100));
    network.flow(on_off(1_000_000, on, off, Periods::Exponential, 1000)).path([link]);
    network.flow(on_off(1_000_000, on, off, Periods::Pareto, 300)).path([link]);
    let (rate, packet_size) = (Rate(200_000), Size::Bytes(500));
    network.flow(PoissonParams { ecn: EcnField::default(), rate, packet_size, sizes: Sizes::Exponential }).path([link]);
    network
        .flow(UdpParams { ecn: EcnField::default(), rate: Rate(300_000), packet_size: Size::Bytes(700), jitter: 0.5 })
        .path([link]);
    // The transfers share a jittered line to the link, and another back.
    let back = network.line("jittered back", Rate(10_000_000), DELAY).jitter(Span(MS)).id();
    let near = network.line("in", Rate(10_000_000), DELAY).jitter(Span(10 * MS)).id();
    network.flow(tcp(2.0)).path([near, link]).return_path([back]);
    network.flow(tcp(2.0)).path([near, link]).return_path([back]).size(100_000).start(Span::from_secs(5));
    Sim::new(plan(network, (30, 5), seed))
}

#[test]
fn a_seed_gives_the_same_run_in_any_slices() {
    let run = |slice, seed| {
        let mut sim = all_kinds("red", seed);
        while sim.advance(slice) {}
        format!("{:?}", sim.finish())
    };
    assert_eq!(run(1, 7), run(1 << 20, 7));
    assert_eq!(run(1013, 7), run(1 << 20, 7));
    assert_ne!(run(1 << 20, 7), run(1 << 20, 8));
}

/// Many flows, whose packets and events are fetched before they come, on lines with as many delays: too many events for the
/// lanes of the event queue find no place there, so that they are closed, and opened again, at other events for other slices.
#[test]
fn many_delays_give_the_same_run_in_any_slices() {
    let run = |slice| {
        let (mut network, link, _) = network("red", 20_000_000, 300);
        for k in 0..300 {
            let [there, back] = [2 * k, 2 * k + 1]
                .map(|at| network.line(at.to_string(), Rate(10_000_000), Span(at * 7_919_003 % 90_000_000)).id());
            network.flow(tcp(2.0)).path([there, link]).return_path([back]).start(Span::from_millis(k));
        }
        let mut sim = Sim::new(plan(network, (200, 5), 3));
        while sim.advance(slice) {}
        (sim.events(), format!("{:?}", sim.finish()))
    };
    let whole = run(1 << 20);
    assert!(whole.0 > 16 << 16, "{}: enough to open the lanes again", whole.0);
    assert!(run(1013) == whole);
    assert!(run(70_001) == whole);
}

#[test]
fn no_call_takes_long_however_much_a_window_lets_out_at_once() {
    let large = TcpParams {
        initial_window: Some(50_000.0),
        window: Some(Size::Packets(50_000)),
        ..TcpParams::of(ProfileName::Ns2)
    };
    let (mut network, link, back) = network("drop_tail", 10_000_000, 100);
    network.flow(Host::new(&large)).path([link]).return_path([back]);
    let mut sim = Sim::new(plan(network, (20, 0), 1));
    let (budget, burst) = (1000, 4096);
    let mut seen = 0;
    while sim.advance(budget) {
        let arrivals = sim.links()[0].port.counters.arrivals;
        assert!(arrivals - seen <= budget + burst, "{} at {:?}", arrivals - seen, sim.now());
        seen = arrivals;
    }
    assert!(seen > 50_000, "{seen}");
}

#[test]
fn every_discipline_meets_the_same_traffic() {
    let offered = |discipline| {
        let mut sim = all_kinds(discipline, 3);
        while sim.advance(1 << 20) {}
        let outcome = sim.finish();
        let deaf = outcome.flows.iter().take(4).map(|row| (row.totals.sent, row.totals.arrivals)).collect::<Vec<_>>();
        (deaf, outcome.links[0].counters.drops.iter().sum::<u64>())
    };
    let (first, mut losses) = (offered("drop_tail").0, Vec::new());
    for entry in all() {
        let (traffic, lost) = offered(entry.table.about.name);
        assert_eq!(traffic, first, "{}", entry.table.about.name);
        losses.push(lost);
    }
    losses.dedup();
    assert!(losses.len() > 1, "the disciplines do differ: {losses:?}");
}
