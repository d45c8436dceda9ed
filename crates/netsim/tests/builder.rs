//! Networks from Rust: what the builder refuses, and sources and controllers of one's own in a run.

use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_base::{Rate, Size, Span, Stream, Time};
use sluicegate_netsim::source::{CustomSource, EcnField, Source, UdpParams};
use sluicegate_netsim::{HopId, NetworkBuilder, Sim};
use sluicegate_tcp::cc::{Ack, CongestionControl};
use sluicegate_tcp::{Host, ProfileName, TcpParams};
use std::sync::{Arc, Mutex};

#[path = "../examples/own_source_and_control.rs"]
#[allow(dead_code)]
mod example;

const RATE: Rate = Rate(1_000_000);
const DELAY: Span = Span::from_millis(5);

fn host() -> Host {
    Host::new(&TcpParams::of(ProfileName::Ns2))
}

fn udp() -> UdpParams {
    UdpParams { ecn: EcnField::default(), rate: Rate(100_000), packet_size: Size::Bytes(1000), jitter: 0.0 }
}

/// A valid network: a link, a line, a source and ten seconds.
fn network() -> (NetworkBuilder, HopId, HopId) {
    let mut network = NetworkBuilder::new();
    let link = network.link("out", RATE, DELAY).id();
    let line = network.line("back", RATE, DELAY).id();
    network.flow(udp()).path([link]);
    (network.duration(Span::from_secs(10)), link, line)
}

/// What `build` says of the valid network with a change.
fn said(change: impl FnOnce(NetworkBuilder, HopId, HopId) -> NetworkBuilder) -> String {
    let (network, link, line) = network();
    change(network, link, line).build().map_or_else(|error| error.to_string(), |_| String::new())
}

fn finished(network: NetworkBuilder) -> sluicegate_netsim::Outcome {
    let mut sim = Sim::new(network.build().unwrap());
    while sim.advance(1 << 20) {}
    sim.finish()
}

#[test]
fn errors_name_the_place_and_the_rule() {
    let seconds = Span::from_secs;
    assert_eq!(said(|network, _, _| network), "");
    let error = NetworkBuilder::new().build().err().unwrap();
    assert_eq!(error.to_string(), "network: it has no link: add one with link(name, rate, delay)");
    assert_eq!((error.place.as_str(), (&error as &dyn std::error::Error).source().is_none()), ("network", true));
    let mut empty = NetworkBuilder::new();
    empty.link("out", RATE, DELAY).id();
    assert_eq!(empty.build().err().unwrap().to_string(), "network: it has no flow: add one with flow(source)");

    assert_eq!(said(|network, _, _| network.duration(seconds(0))), "run: it has no length: say duration(…)");
    let rule = "run: warmup < duration: 10 s is not less than 10 s";
    assert_eq!(said(|network, _, _| network.warmup(seconds(10))), rule);
    assert_eq!(said(|network, _, _| network.sample(seconds(0))), "run: sample: must be above 0 s");
    let rule = "run: duration <= 10000000 samples: take one less often than every 999 ns";
    assert_eq!(said(|network, _, _| network.sample(Span(999))), rule);
}

#[test]
fn links_and_lines_have_names_and_rates() {
    let rule = "another link or line has this name: names must differ";
    let twice = |mut network: NetworkBuilder, name: &str| {
        network.line(name, RATE, DELAY).id();
        network
    };
    assert_eq!(said(|network, _, _| twice(network, "back")), format!("line \"back\": {rule}"));
    assert_eq!(said(|network, _, _| twice(network, "out")), format!("line \"out\": {rule}"));
    let still = |mut network: NetworkBuilder, _, _| {
        network.line("still", Rate(0), DELAY).id();
        network
    };
    assert_eq!(said(still), "line \"still\": rate: must be above 0 bit/s");
    let still = |mut network: NetworkBuilder, _, _| {
        network.link("still", Rate(0), DELAY).id();
        network
    };
    assert_eq!(said(still), "link \"still\": rate: must be above 0 bit/s");
}

#[test]
fn disciplines_are_read_by_name() {
    let link = |name: &str, parameters: &[(&str, &dyn std::fmt::Display)]| {
        said(|mut network, _, _| {
            network.link("in", RATE, DELAY).discipline(name, parameters).id();
            network
        })
    };
    for entry in sluicegate_aqm::all() {
        assert_eq!(link(entry.table.about.name, &[]), "");
    }
    assert_eq!(link("red", &[("min_th", &5), ("max_th", &Size::Packets(15)), ("limit", &"60"), ("gentle", &true)]), "");
    assert_eq!(link("chok", &[]), "link \"in\": no such discipline: \"chok\"; did you mean \"choke\"?");
    let rule = "link \"in\": red: no such parameter: \"minth\"; did you mean \"min_th\"?";
    assert_eq!(link("red", &[("minth", &5)]), rule);
    assert_eq!(link("red", &[("min_th", &20), ("max_th", &10)]), "link \"in\": red: min_th < max_th");
    let refused = link("red", &[("max_p", &1.5)]);
    assert!(refused.starts_with("link \"in\": red: max_p: must be "), "{refused}");
    // The first thing wrong is the one named.
    let first = said(|mut network, _, _| {
        network.link("a", RATE, DELAY).discipline("none", &[]).id();
        network.link("b", RATE, DELAY).discipline("neither", &[]).id();
        network
    });
    assert!(first.starts_with("link \"a\": no such discipline: \"none\""), "{first}");
}

/// What `build` says of the valid network with one more flow.
macro_rules! with_flow {
    ($network:ident, $link:pat, $line:pat => $flow:expr) => {
        said(|mut $network, $link, $line| {
            $flow;
            $network
        })
    };
}

#[test]
fn flows_have_ways_that_exist() {
    assert_eq!(with_flow!(network, link, line => network.flow(host()).path([link]).return_path([line])), "");
    let rule = "flow 1 (udp): it has no path: say path([…]) with the links and lines that its data crosses";
    assert_eq!(with_flow!(network, _, _ => network.flow(udp())), rule);
    let rule = "flow 1 (tcp): its acknowledgements have no return path: say return_path([…])";
    assert_eq!(with_flow!(network, link, _ => network.flow(host()).path([link])), rule);
    let rule = "flow 1 (udp): nothing comes back to it: leave return_path out";
    assert_eq!(with_flow!(network, link, line => network.flow(udp()).path([link]).return_path([line])), rule);
    let (_, foreign, _) = network();
    let rule = "flow 1: path: a link or line of another NetworkBuilder: use the ids that this one gave";
    assert_eq!(with_flow!(network, _, _ => network.flow(udp()).path([foreign])), rule);
    let rule = "flow 1: return_path: a link or line of another NetworkBuilder: use the ids that this one gave";
    assert_eq!(with_flow!(network, link, _ => network.flow(host()).path([link]).return_path([foreign])), rule);
}

#[test]
fn flows_have_sizes_and_times_that_make_sense() {
    let rule = "flow 1 (udp): only a TCP transfer has a size";
    assert_eq!(with_flow!(network, link, _ => network.flow(udp()).path([link]).size(1000)), rule);
    let rule = "flow 1 (tcp): size: must be at least 1 byte";
    assert_eq!(with_flow!(network, link, line => network.flow(host()).path([link]).return_path([line]).size(0)), rule);
    let rule = "flow 1 (udp): start < stop: 2 s is not before 2 s";
    let [at, later] = [2, 3].map(Span::from_secs);
    assert_eq!(with_flow!(network, link, _ => network.flow(udp()).path([link]).start(at).stop(at)), rule);
    assert_eq!(with_flow!(network, link, _ => network.flow(udp()).path([link]).start(at).stop(later)), "");
    let rule = "flow 1 (udp): the run and the delays of a path must take less than 146 years together";
    let century = Span::from_secs(100 * 365 * 86_400);
    let far = with_flow!(network, link, _ => {
        let far = network.line("far", RATE, century).id();
        network.flow(udp()).path([link, far, far])
    });
    let jittered = with_flow!(network, _, _ => {
        let far = network.line("far", RATE, century).jitter(Span(u64::MAX)).id();
        network.flow(udp()).path([far])
    });
    assert_eq!([far, jittered], [rule; 2]);
}

#[test]
fn a_plan_is_what_was_said() {
    let mut network = NetworkBuilder::new();
    let queue = Box::new(DropTail::new(DropTailParams { limit: Size::Packets(7) }));
    let link = network
        .link("out", RATE, DELAY)
        .queue("seven", queue)
        .framing(38u32)
        .tx_ring(Size::Packets(2))
        .monitored(false)
        .id();
    let line = network.line("in", Rate(5), Span(6)).jitter(Span(7)).id();
    assert_eq!((link.index(), line.index(), link == line), (0, 0, false));
    network.flow(host()).path([line, link]).return_path([line]).size(960).class(3).priority(4).group(5);
    network.flow(udp()).path([line]).start(Span(8)).stop(Span(9));
    let network = network.duration(Span(100)).warmup(Span(10)).seed(2).sample(Span(20)).series(true);
    let plan = network.recent(11).packets(12).positions(13).build().unwrap();
    let [link] = &plan.links[..] else { panic!("one link") };
    assert_eq!((link.name.as_str(), link.rate, link.delay, link.framing), ("out", RATE, DELAY, 38.into()));
    assert_eq!((&*link.discipline, link.monitored, link.tx_ring), ("seven", false, Some(Size::Packets(2))));
    assert_eq!(
        format!("{:?}", plan.lines),
        r#"[LinePlan { name: Given("in"), rate: Rate(5), delay: Span(6), jitter: Span(7) }]"#
    );
    let [tcp, udp] = &plan.flows[..] else { panic!("two flows") };
    assert_eq!((tcp.size, tcp.class, tcp.priority, tcp.group), (Some(960), 3, 4, 5));
    assert_eq!((udp.start, udp.stop, tcp.start, tcp.stop), (Time(8), Time(9), Time::ZERO, Time::NEVER));
    assert_eq!(format!("{:?} {:?}", tcp.path, tcp.return_path), "[Line(0), Link(0)] [Line(0)]");
    assert_eq!((plan.seed, plan.duration, plan.warmup, plan.sample), (2, Span(100), Span(10), Span(20)));
    assert_eq!((plan.series, plan.recent, plan.packets, plan.positions), (true, 11, 12, 13));
}

/// Lengths 100, 200, … with gaps of 1, 2, … ms and a random part, after a silence of 3 ms.
struct Growing {
    rng: Stream,
    sent: u32,
}

impl Source for Growing {
    fn first(&mut self) -> Span {
        Span::from_millis(3)
    }

    fn next(&mut self) -> (u32, Span) {
        self.sent += 1;
        (100 * self.sent, Span::from_millis(self.sent.into()) + Span(self.rng.below(1000)))
    }
}

#[test]
fn a_source_of_ones_own_sends_what_it_says() {
    let mut network = NetworkBuilder::new();
    // The line takes no time, so that what it shows has been sent then.
    let tap = network.line("tap", Rate(u64::MAX), Span::ZERO).id();
    let link = network.link("out", Rate(100_000_000), DELAY).id();
    let growing = CustomSource::new("growing", |rng| Growing { rng, sent: 0 });
    network.flow(growing).path([tap, link]).start(Span::from_millis(10)).stop(Span::from_millis(61));
    let plan = network.duration(Span::from_secs(1)).seed(5).build().unwrap();
    let mut sim = Sim::new(plan);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    assert!(sim.observe("tap", Box::new(move |time, packet, _| noted.lock().unwrap().push((time, packet.bytes)))));
    while sim.advance(10) {}
    let outcome = sim.finish();
    let mut own = Growing { rng: Stream::new(5, "flow/0/packets"), sent: 0 };
    let (mut time, mut expected) = (Time(10_000_000) + own.first(), Vec::new());
    while time < Time(61_000_000) {
        let (bytes, gap) = own.next();
        expected.push((time, bytes));
        time += gap;
    }
    assert_eq!(*seen.lock().unwrap(), expected);
    let bytes = expected.iter().map(|(_, bytes)| u64::from(*bytes)).sum::<u64>();
    let row = &outcome.flows[0];
    assert_eq!((row.kind, row.totals.sent, row.totals.delivered), ("growing", [10, bytes], [10, bytes]));
}

/// A window without end and a pace.
struct Steady(Rate);

impl CongestionControl for Steady {
    fn cwnd(&self) -> f64 {
        1000.0
    }
    fn ssthresh(&self) -> f64 {
        1000.0
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.0)
    }
    fn on_ack(&mut self, _ack: &Ack) {}
    fn on_congestion(&mut self, _window: f64, _least: f64) {}
    fn on_timeout(&mut self, _window: f64, _cut: bool) {}
    fn set_cwnd(&mut self, _cwnd: f64) {}
}

/// 1448 bytes of the stream at 579.2 kbit/s: a packet every 20 ms over the link, which could send one every 12 ms.
#[test]
fn a_paced_flow_keeps_its_pace_over_a_link() {
    let host = Host::new(&TcpParams { gso: false, ..TcpParams::of(ProfileName::Linux) });
    let steady = host.with_controller("steady", Arc::new(|_: &Host| Box::new(Steady(Rate(579_200))))).unwrap();
    let mut network = NetworkBuilder::new();
    let link = network.link("out", RATE, DELAY).id();
    let back = network.line("back", RATE, DELAY).id();
    network.flow(steady).path([link]).return_path([back]);
    let mut sim = Sim::new(network.duration(Span::from_secs(20)).warmup(Span::from_secs(1)).build().unwrap());
    let times = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&times);
    assert!(sim.observe(
        "out",
        Box::new(move |time, packet, _| noted.lock().unwrap().extend((packet.segment.len == 1448).then_some(time)))
    ));
    while sim.advance(1000) {}
    let times = times.lock().unwrap();
    // Ten packets go out before the first is paced.
    let paced = &times[times.partition_point(|time| time.0 < 1_000_000_000)..];
    assert!(paced.len() > 940, "{}", paced.len());
    assert!(paced.windows(2).all(|two| two[1].since(two[0]) == Span::from_millis(20)), "{:?}", &paced[..5]);
    let counters = &sim.finish().links[0].counters;
    assert_eq!((counters.max_packets, counters.drops.iter().sum::<u64>()), (0, 0), "nothing ever waits");
}

#[test]
fn a_seed_and_nothing_else_keys_a_run() {
    let run = |seed| {
        let (mut network, link, line) = network();
        network.flow(host()).path([link]).return_path([line]);
        network.flow(UdpParams { jitter: 0.5, ..udp() }).path([link]);
        format!("{:?}", finished(network.seed(seed).series(true)))
    };
    assert_eq!(run(1), run(1), "though another builder made it");
    assert_ne!(run(1), run(2));
}

/// The page of the manual shows the example piece by piece, and what it prints.
#[test]
fn the_manual_shows_the_example_as_it_is() {
    let page = include_str!("../../../docs/rust-library.md");
    let source = include_str!("../examples/own_source_and_control.rs");
    let mut shown = 0;
    for block in page.split("```rust\n").skip(1) {
        let block = block.split("```").next().unwrap();
        assert!(source.contains(block), "this is not in the example:\n{block}");
        shown += block.lines().filter(|line| !line.is_empty()).count();
    }
    let written = source.lines().filter(|line| !line.is_empty()).count();
    assert!(shown * 10 > written * 9, "{shown} of {written} lines are shown");
    let printed = example::table().unwrap();
    assert!(page.contains(&printed), "it prints:\n{printed}");
}
