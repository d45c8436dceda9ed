//! What flows send, on its way through the simulator: against closed forms, and in order.

use sluicegate_aqm::Proportional;
use sluicegate_aqm::build;
use sluicegate_base::{Link, Params, Rate, Size, Span, Time, Value};
use sluicegate_netsim::source::{OnOffParams, Periods, PoissonParams, Sizes, SourcePlan, UdpParams};
use sluicegate_netsim::{FlowPlan, Hop, LinePlan, LinkPlan, Outcome, Plan, Sim};
use sluicegate_tcp::{Host, TcpParams};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };
const MS: u64 = 1_000_000;

/// A link of 5 ms with room for `limit` packets.
fn link(discipline: &'static str, rate: u64, limit: u64) -> LinkPlan {
    let fields = sluicegate_aqm::all().iter().find(|entry| entry.table.about.name == discipline).unwrap().table.fields;
    let mut given = |at: usize| (fields[at].name == "limit").then_some(Value::Size(Size::Packets(limit)));
    let queue = build(discipline, &mut given, &LINK).unwrap().unwrap();
    let (delay, name) = (Span::from_millis(5), "out".to_owned());
    LinkPlan {
        framing: 0,
        name,
        rate: Rate(rate),
        delay,
        discipline: discipline.into(),
        queue,
        monitored: true,
        tx_ring: None,
        proportional: Proportional::default(),
    }
}

/// A line of 10 Mbit/s and 5 ms.
fn line(name: &str, jitter: u64) -> LinePlan {
    LinePlan { name: name.into(), rate: Rate(10_000_000), delay: Span::from_millis(5), jitter: Span(jitter) }
}

/// A flow on the first link, with the first line back.
fn flow(source: SourcePlan) -> FlowPlan {
    let return_path = if matches!(source, SourcePlan::Tcp(_)) { vec![Hop::Line(0)] } else { vec![] };
    let path = vec![Hop::Link(0)];
    FlowPlan {
        group: 0,
        source,
        size: None,
        class: 0,
        priority: 0,
        path,
        return_path,
        start: Time::ZERO,
        stop: Time::NEVER,
    }
}

fn udp(rate: u64) -> SourcePlan {
    SourcePlan::Udp(UdpParams { rate: Rate(rate), packet_size: Size::Bytes(1000), jitter: 0.0 })
}

fn tcp(initial_window: f64) -> SourcePlan {
    let defaults = TcpParams::defaults(&LINK).unwrap();
    SourcePlan::Tcp(Host::new(&TcpParams { initial_window: Some(initial_window), ..defaults }).into())
}

fn on_off(rate: u64, on: Span, off: Span, distribution: Periods, bytes: u64) -> SourcePlan {
    let packet_size = Size::Bytes(bytes);
    SourcePlan::OnOff(OnOffParams {
        rate: Rate(rate),
        on_mean: on,
        off_mean: off,
        distribution,
        shape: 1.5,
        packet_size,
    })
}

fn sim(links: Vec<LinkPlan>, lines: Vec<LinePlan>, flows: Vec<FlowPlan>, times: (u64, u64), seed: u64) -> Sim {
    let (duration, warmup) = (Span::from_secs(times.0), Span::from_secs(times.1));
    Sim::new(Plan {
        links,
        lines,
        flows,
        seed,
        duration,
        warmup,
        sample: Span::from_secs(1),
        series: true,
        recent: 100,
        packets: 0,
        positions: 0,
    })
}

fn run(links: Vec<LinkPlan>, flows: Vec<FlowPlan>, seconds: u64) -> Outcome {
    let mut sim = sim(links, vec![line("back", 0)], flows, (seconds, 0), 1);
    while sim.advance(1 << 20) {}
    sim.finish()
}

#[test]
fn the_queue_of_an_on_off_source_is_the_fluid_models() {
    // One exponential on-off source of peak r into a server of rate c < r (Anick, Mitra & Sondhi 1982, with one source):
    // P(Q > x) = ρ exp(−z x), ρ = r/c · on/(on + off), z = 1/(on (r − c)) − 1/(off c), in bits. Packets of 100 bytes in
    // bursts of 2500 are nearly a fluid.
    let (r, c, on, off) = (2e6, 1e6, 1.0, 3.0);
    let rho = r / c * on / (on + off);
    let z = 1.0 / (on * (r - c)) - 1.0 / (off * c);
    let mean = |seed| {
        let source = on_off(r as u64, Span::from_secs_f64(on), Span::from_secs_f64(off), Periods::Exponential, 100);
        let mut sim = sim(vec![link("drop_tail", c as u64, 1 << 40)], vec![], vec![flow(source)], (20_000, 100), seed);
        while sim.advance(1 << 20) {}
        let outcome = sim.finish();
        outcome.links[0].counters.queueing.as_secs() / outcome.window.as_secs() * 800.0
    };
    let values: Vec<f64> = (1..=5).map(mean).collect();
    let queue = values.iter().sum::<f64>() / 5.0;
    let variance = values.iter().map(|x| (x - queue) * (x - queue)).sum::<f64>() / 4.0;
    // Student's t with 4 degrees of freedom: 4.6 standard errors hold 99 %. The packets add less than one of them.
    let error = 4.6 * (variance / 5.0).sqrt() + 800.0;
    let expected = rho / z;
    assert!((queue - expected).abs() < error && error < 0.15 * expected, "{queue} ± {error}, {expected}");
}

#[test]
fn a_source_sends_from_its_start_until_its_stop() {
    let mut limited = flow(udp(1_000_000));
    (limited.start, limited.stop) = (Time(1000 * MS), Time(3000 * MS));
    let outcome = run(vec![link("drop_tail", 10_000_000, 100)], vec![limited], 5);
    // A packet every 8 ms from 1 s on, the last at 2.992 s: 250. At 3 s it sends no more.
    assert_eq!(outcome.flows[0].totals.sent, [250, 250_000]);
    let seconds: Vec<f64> = outcome.flow_series.iter().map(|sample| sample.throughput_bps).collect();
    assert_eq!(seconds[0], 0.0);
    assert!(seconds[1] > 0.99e6 && seconds[2] > 0.99e6 && seconds[3] < 0.02e6, "{seconds:?}");
    // A stop before the start that was drawn: nothing at all.
    let mut never = flow(udp(1_000_000));
    (never.start, never.stop) = (Time(2000 * MS), Time(1500 * MS));
    let outcome = run(vec![link("drop_tail", 10_000_000, 100)], vec![never], 5);
    assert_eq!(outcome.flows[0].totals.sent, [0, 0]);
}

#[test]
fn point_9_a_link_of_rate_zero_sends_nothing() {
    let outcome = run(vec![link("drop_tail", 0, 5)], vec![flow(udp(1_000_000))], 1);
    let totals = &outcome.links[0].counters;
    // One is in transmission for ever and five are queued, of a packet every 8 ms from 0 on.
    assert_eq!((totals.arrivals, totals.departures, totals.drops), (126, 0, [120, 0, 0, 0, 0, 0]));
    // A line of rate zero keeps what it gets.
    let mut still = flow(udp(1_000_000));
    still.path = vec![Hop::Line(1), Hop::Link(0)];
    let lines = vec![line("back", 0), LinePlan { rate: Rate(0), ..line("still", 0) }];
    let mut sim = sim(vec![link("drop_tail", 1_000_000, 5)], lines, vec![still], (1, 0), 1);
    while sim.advance(1 << 20) {}
    assert_eq!(sim.finish().links[0].counters.arrivals, 0);
}

#[test]
fn an_on_off_source_begins_with_a_silence_and_stops_when_told() {
    let always = Span::from_secs(1_000_000);
    let mut source = flow(on_off(1_000_000, always, Span::from_millis(1), Periods::Pareto, 1000));
    (source.start, source.stop) = (Time(1000 * MS), Time(2000 * MS));
    let outcome = run(vec![link("drop_tail", 10_000_000, 100)], vec![source], 3);
    // One burst, after a silence of a few milliseconds.
    let sent = outcome.flows[0].totals.sent[0];
    assert!((120..=125).contains(&sent), "{sent}");
}

#[test]
fn a_limited_transfer_takes_as_long_as_its_packets() {
    // The initial window holds them all, so each further packet adds its time on the link, and what opens the connection
    // adds the same to both.
    let completion = |size: u64| {
        let transfer = FlowPlan { size: Some(size), start: Time(7 * MS), ..flow(tcp(20.0)) };
        let links = vec![link("drop_tail", 1_000_000, 60)];
        let outcome = run(links, vec![transfer], 20);
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
    let mut flows: Vec<FlowPlan> = (0..20).map(|_| FlowPlan { size: Some(50 * 960), ..flow(tcp(2.0)) }).collect();
    flows.push(flow(tcp(2.0)));
    flows.push(FlowPlan { size: Some(50_000_000), ..flow(tcp(2.0)) });
    flows.push(FlowPlan { size: Some(5_000_000), stop: Time(3000 * MS), ..flow(tcp(2.0)) });
    let links = vec![link("drop_tail", 1_000_000, 20)];
    let outcome = run(links, flows, 120);
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
    let over_a_line = |source, seconds| {
        let (path, back) = (vec![Hop::Line(0)], vec![Hop::Line(1)]);
        let return_path = if matches!(source, SourcePlan::Tcp(_)) { back } else { vec![] };
        let flow = FlowPlan { path, return_path, ..flow(source) };
        let mut sim = sim(vec![], vec![line("there", 40 * MS), line("back", 40 * MS)], vec![flow], (seconds, 0), 1);
        while sim.advance(1 << 20) {}
        sim.finish()
    };
    // A packet every 80 ms: 0.8 ms to send, 5 ms on the way, 20 ms of jitter on average (±4 standard errors).
    let outcome = over_a_line(udp(100_000), 2000);
    let totals = &outcome.flows[0].totals;
    let mean = totals.delay_sum as f64 / totals.delivered[0] as f64 / 1e6;
    let error = 4.0 * 40.0 / 12f64.sqrt() / (totals.delivered[0] as f64).sqrt();
    assert!((mean - 25.8).abs() < error, "{mean} ± {error}");
    let (least, most) = (totals.delays.quantile(0.0), totals.delays.quantile(1.0));
    assert!(least > 5.7e6 && most < 46.5e6, "{least} {most}");
    // A window of packets at once, all within the jitter: an overtaking packet would make duplicate acknowledgements.
    let outcome = over_a_line(tcp(2.0), 60);
    let row = &outcome.flows[0];
    assert!(row.totals.delivered[0] > 10_000, "{}", row.totals.delivered[0]);
    assert_eq!((row.retransmissions, row.fast_retransmits), (0, 0));
}

/// Every kind of source that hears nothing, two transfers, and jitter.
fn all_kinds(discipline: &'static str) -> (Vec<LinkPlan>, Vec<LinePlan>, Vec<FlowPlan>) {
    let spans = (Span::from_millis(50), Span::from_millis(100));
    let poisson = PoissonParams { rate: Rate(200_000), packet_size: Size::Bytes(500), sizes: Sizes::Exponential };
    // The transfers share a jittered line to the link, and another back.
    let transfer = || FlowPlan { path: vec![Hop::Line(1), Hop::Link(0)], ..flow(tcp(2.0)) };
    let flows = vec![
        flow(on_off(1_000_000, spans.0, spans.1, Periods::Exponential, 1000)),
        flow(on_off(1_000_000, spans.0, spans.1, Periods::Pareto, 300)),
        flow(SourcePlan::Poisson(poisson)),
        flow(SourcePlan::Udp(UdpParams { rate: Rate(300_000), packet_size: Size::Bytes(700), jitter: 0.5 })),
        transfer(),
        FlowPlan { size: Some(100_000), start: Time(5000 * MS), ..transfer() },
    ];
    (vec![link(discipline, 1_000_000, 50)], vec![line("back", MS), line("in", 10 * MS)], flows)
}

#[test]
fn a_seed_gives_the_same_run_in_any_slices() {
    let run = |slice, seed| {
        let (links, lines, flows) = all_kinds("red");
        let mut sim = sim(links, lines, flows, (30, 5), seed);
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
        let lines = (0..=600).map(|k| LinePlan { delay: Span(k * 7_919_003 % 90_000_000), ..line(&format!("{k}"), 0) });
        let flows = (0..300).map(|k| FlowPlan {
            path: vec![Hop::Line(2 * k), Hop::Link(0)],
            return_path: vec![Hop::Line(2 * k + 1)],
            start: Time(u64::from(k) * MS),
            ..flow(tcp(2.0))
        });
        let mut sim = sim(vec![link("red", 20_000_000, 300)], lines.collect(), flows.collect(), (200, 5), 3);
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
        ..TcpParams::defaults(&LINK).unwrap()
    };
    let flows = vec![flow(SourcePlan::Tcp(Host::new(&large).into()))];
    let mut sim = sim(vec![link("drop_tail", 10_000_000, 100)], vec![line("back", 0)], flows, (20, 0), 1);
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
        let (links, lines, flows) = all_kinds(discipline);
        let mut sim = sim(links, lines, flows, (30, 5), 3);
        while sim.advance(1 << 20) {}
        let outcome = sim.finish();
        let deaf = outcome.flows.iter().take(4).map(|row| (row.totals.sent, row.totals.arrivals)).collect::<Vec<_>>();
        (deaf, outcome.links[0].counters.drops.iter().sum::<u64>())
    };
    let (first, mut losses) = (offered("drop_tail").0, Vec::new());
    for entry in sluicegate_aqm::all() {
        let (traffic, lost) = offered(entry.table.about.name);
        assert_eq!(traffic, first, "{}", entry.table.about.name);
        losses.push(lost);
    }
    losses.dedup();
    assert!(losses.len() > 1, "the disciplines do differ: {losses:?}");
}
