//! Links as they are: losses and delays on the wire, framing, two directions that differ.

use crate::shared::scenarios::{assert_resolves_to_itself, overrides};
use sluicegate_lab::{Scenario, ScenarioError};
use sluicegate_netsim::Outcome;
use std::fs;
use std::path::PathBuf;

pub const UDP: &str = r#"
[network]
rate = "10 Mbit/s"
delay = "10 ms"

[queue]
limit = 50

[[flows]]
kind = "udp"
rate = "20 Mbit/s"
packet_size = "1500 B"
spread = "0 s"

[run]
duration = "10 s"
"#;

pub fn read(text: &str, name: &str, sets: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    Scenario::read(text, name, &overrides(sets))
}

pub fn outcome(text: &str, name: &str, sets: &[(&str, &str)]) -> Outcome {
    let scenario = read(text, name, sets).unwrap();
    let plan = scenario.plan().unwrap();
    let mut run = sluicegate_lab::Simulation::new(scenario, plan);
    let mut nothing = |_: &sluicegate_lab::Foreign, _: &str, _| -> Result<_, ScenarioError> { unreachable!() };
    while run.advance(sluicegate_base::Time::NEVER, 1 << 20, &mut nothing).unwrap() {}
    run.sim().snapshot()
}

fn run(sets: &[(&str, &str)]) -> Outcome {
    outcome(UDP, "links.toml", sets)
}

/// A file of the test's own, and the name of a scenario beside it.
pub fn beside(file: &str, text: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("links-{}-{file}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(file), text).unwrap();
    folder.join("scenario.toml").to_string_lossy().into_owned()
}

pub fn mbps(outcome: &Outcome) -> f64 {
    outcome.flows[0].totals.delivered[1] as f64 * 8.0 / outcome.window.as_secs() / 1e6
}

#[test]
fn a_change_of_the_rate_comes_at_its_time() {
    let changes = "\n[[changes]]\ntime = \"4 s\"\nkey = \"network.rate\"\nvalue = \"5 Mbit/s\"\n";
    let outcome = outcome(&format!("{UDP}{changes}"), "changes.toml", &[]);
    assert!((mbps(&outcome) - 7.0).abs() < 0.04, "{}", mbps(&outcome));
    assert_eq!(outcome.links[0].rate.0, 7_000_000, "the mean");
    let rates = |outcome: &Outcome| outcome.queue.iter().map(|row| row.rate.0).collect::<Vec<u64>>();
    let expected = [vec![10_000_000; 40], vec![5_000_000; 59]].concat();
    assert_eq!(rates(&outcome)[..99], expected, "samples of 100 ms");
    let sets = [("run.sample", "3 s"), ("run.warmup", "5 s")];
    let coarse = self::outcome(&format!("{UDP}{changes}"), "changes.toml", &sets);
    assert_eq!(rates(&coarse), [10_000_000, 20_000_000 / 3, 5_000_000]);
    assert_eq!(coarse.links[0].rate.0, 5_000_000, "of the window");
    let traced = read(&format!("{UDP}{changes}"), "changes.toml", &[("network.trace", "lte")]).err().unwrap().0;
    assert!(traced.contains("the trace of \"bottleneck\" says it"), "{traced}");
}

#[test]
fn wires_lose_and_delay_what_was_sent() {
    let outcome = run(&[("network.loss", "0.1")]);
    let (row, link) = (&outcome.flows[0], &outcome.links[0]);
    let share = link.lost as f64 / link.counters.departures as f64;
    assert!((share - 0.1).abs() < 0.015, "{share}");
    assert_eq!((row.totals.lost, row.totals.drops_elsewhere), (link.lost, 0));
    let [arrivals, drops] = [row.totals.arrivals, row.totals.drops.iter().sum()];
    let waiting = arrivals - drops - link.counters.departures; // in the queue or being sent at the end
    let flying = arrivals - drops - waiting - link.lost - row.totals.delivered[0];
    assert!(waiting < 110 && flying < 12, "{waiting}, {flying}");
    let bursts = run(&[("network.burst_start", "0.01"), ("network.burst_end", "0.2")]);
    let share = bursts.links[0].lost as f64 / bursts.links[0].counters.departures as f64;
    assert!((share - 0.01 / 0.21).abs() < 0.02, "{share}");
    let delays = |jitter: &str| run(&[("network.jitter", jitter)]).flows[0].totals.delays.quantile(0.5);
    assert!(delays("40 ms") > delays("0 s") + 15e6, "40 ms of jitter, in order, add more than half of it");
}

/// What arrived before the window belongs to the whole run alone; each loss is an event of its packet.
#[test]
fn losses_count_in_the_window_and_in_the_whole_run() {
    let sets = [("network.loss", "0.2"), ("run.warmup", "5 s"), ("run.packets", "100000"), ("queue.limit", "1000")];
    let scenario = read(UDP, "links.toml", &sets).unwrap();
    let outcome = run(&sets);
    let cell = |table: &str, column: &str| {
        let tables = sluicegate_lab::results::tables(&outcome, &scenario.names());
        let table = tables.into_iter().find(|each| each.name == table).unwrap();
        let column = table.columns.into_iter().find(|each| each.name == column).unwrap();
        match column.cells {
            sluicegate_lab::results::Cells::F64(cells) => cells[0],
            sluicegate_lab::results::Cells::I64(cells) => cells[0] as f64,
            other => panic!("{other:?}"),
        }
    };
    let of = |what: &str| outcome.packets.iter().filter(|row| row.event.name() == what).count() as f64;
    let lost = of("lost");
    assert!((lost / of("departure") - 0.2).abs() < 0.02, "{lost}");
    let drops = outcome.packets.len() as f64 - of("arrival") - of("departure") - lost;
    for table in ["flows", "groups"] {
        let lost_later = cell(table, "lost_packets");
        let of_window = (cell(table, "drops_packets") + lost_later) / cell(table, "arrivals_packets");
        assert_eq!(cell(table, "loss_ratio"), of_window);
        assert!(lost_later < 0.6 * lost, "half of the run: {lost_later} of {lost}");
        let whole = (drops + lost) / of("arrival");
        assert!((cell(table, "whole_loss_ratio") - whole).abs() < 1e-12, "{whole}");
    }
    assert!(cell("flow_series", "lost_packets") > 0.0);
}

/// Packets that overtake each other are seen by TCP as duplicates: a transfer suffers where jitter may reorder. (Linux's learns
/// to wait for them, ns-2's does not.)
#[test]
fn reordering_reaches_the_hosts() {
    let text = UDP
        .replace("kind = \"udp\"\nrate = \"20 Mbit/s\"\npacket_size = \"1500 B\"", "kind = \"tcp\"\nprofile = \"ns2\"");
    let retransmissions = |sets: &[(&str, &str)]| outcome(&text, "tcp.toml", sets).flows[0].fast_retransmits;
    let limit = ("queue.limit", "1000");
    let window = ("flows.0.window", "20"); // the queue never overflows
    assert_eq!(retransmissions(&[limit, window]), 0);
    assert_eq!(retransmissions(&[limit, window, ("network.jitter", "8 ms")]), 0, "in order");
    let (jitter, reordering) = (("network.jitter", "8 ms"), ("network.reordering", "true"));
    assert!(retransmissions(&[limit, window, jitter, reordering]) > 5);
    // The same where nothing follows the link.
    let links = text.replace("rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n", "links = [{ name = \"a\", from = \"x\", to = \"y\", rate = \"10 Mbit/s\", delay = \"10 ms\", jitter = \"8 ms\", reordering = true }]\n");
    let path = ("flows.0.path", "[\"a\"]");
    let outcome = outcome(&links, "links.toml", &[limit, window, path]);
    assert!(outcome.flows[0].fast_retransmits > 5);
}

/// Two links in series; the first has these keys beside its rate.
fn series(keys: &str) -> String {
    let links = format!(
        r#"links = [
    {{ name = "a", from = "x", to = "y", rate = "10 Mbit/s", delay = "10 ms", {keys} }},
    {{ name = "b", from = "y", to = "z", rate = "10 Mbit/s", delay = "0 ms" }},
]"#
    );
    let text = UDP.replace("rate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n", &links).replace("20 Mbit/s", "8 Mbit/s");
    text.replace("[run]", "path = [\"a\", \"b\"]\n\n[run]").replace("1500 B", "1000 B")
}

/// Packets come each millisecond.
#[test]
fn single_packets_meet_their_fate() {
    let text = series(r#"drop = "3,5", late = "6:2500 us", behind = "8:2", mark = 2"#);
    let scenario = read(&text, "fates.toml", &[("run.duration", "100 ms")]).unwrap();
    let mut sim = sluicegate_netsim::Sim::new(scenario.plan().unwrap());
    let seen = ["a", "b"].map(|link| {
        let (seen, sees) = std::sync::mpsc::channel();
        assert!(sim.observe_arrivals(link, Box::new(move |_, packet, _| seen.send(packet.sent).unwrap())));
        sees
    });
    while sim.advance_until(sluicegate_base::Time::NEVER, 1 << 20) {}
    let [there, behind] = seen.map(|sees| sees.try_iter().collect::<Vec<sluicegate_base::Time>>());
    let number = |sent: &sluicegate_base::Time| 1 + there.iter().position(|other| other == sent).unwrap();
    let numbers: Vec<usize> = behind.iter().map(number).take(10).collect();
    assert_eq!(numbers, [1, 2, 4, 7, 6, 9, 10, 8, 11, 12], "3 and 5 are lost, 6 is late, 8 is behind 10");
    assert_eq!(sim.snapshot().links[0].lost, 2);
}

/// What is marked behind the queue reaches the sender, as a mark of the queue does.
#[test]
fn a_mark_by_fate_reaches_the_sender() {
    let text = UDP.replace("kind = \"udp\"\nrate = \"20 Mbit/s\"\npacket_size = \"1500 B\"", "kind = \"tcp\"");
    let sets = [("queue.limit", "1000"), ("flows.0.window", "20"), ("flows.0.ecn", "true")]; // the queue never overflows
    let responses = |more: &[(&str, &str)]| {
        let flow = &outcome(&text, "tcp.toml", &[&sets[..], more].concat()).flows[0];
        (flow.mark_responses, flow.retransmissions)
    };
    assert_eq!(responses(&[]), (0, 0));
    assert_eq!(responses(&[("network.mark", "100,900-905")]), (2, 0), "once for each window");
    assert_eq!(responses(&[("network.drop", "100")]), (0, 1));
}

#[test]
fn fates_that_make_no_sense_are_refused_and_are_of_one_direction() {
    let rule = |sets: &[(&str, &str)]| read(UDP, "x.toml", sets).err().unwrap().0;
    let error = rule(&[("network.drop", "5,8-10,9")]);
    assert!(error.contains("network.drop") && error.contains("packet 9 is named already"), "{error}");
    assert!(rule(&[("network.late", "5")]).contains("such as 7:3"));
    assert!(rule(&[("network.behind", "5:0")]).contains("a whole number from 1 on"));
    let both = read(UDP, "x.toml", &[("network.drop", "5"), ("network.two_way", "true")]).unwrap().resolved;
    assert_eq!(both["network"]["drop"], "5");
    assert!(both["network"]["reverse"].get("drop").is_none());
}

#[test]
fn framings_have_names() {
    let resolved = |framing: &str| {
        let network = &read(UDP, "x.toml", &[("network.framing", framing)]).unwrap().resolved["network"];
        ["framing", "frame_min", "cells"].map(|key| network[key].as_str().unwrap().to_owned())
    };
    assert_eq!(resolved("ethernet"), ["38 B", "84 B", "none"]);
    assert_eq!(resolved("atm"), ["40 B", "0 B", "atm"]);
    assert_eq!(resolved("38 B"), ["38 B", "0 B", "none"]);
    // A packet of 1500 bytes takes 33 cells of 53 on ATM, and 1538 bytes on Ethernet.
    for (framing, bytes) in
        [("ethernet", 1538.0), ("pppoe", 1546.0), ("docsis", 1518.0), ("ptm", 1554.0), ("atm", 1749.0)]
    {
        let got = mbps(&run(&[("network.framing", framing)]));
        assert!((got - 10.0 * 1500.0 / bytes).abs() < 0.03, "{framing}: {got}");
    }
    let error = read(UDP, "x.toml", &[("network.framing", "pppoa")]).err().unwrap().0;
    assert!(error.contains("must be bytes up to 1000") && error.contains("pppoe"), "{error}");
}

#[test]
fn the_two_directions_of_a_dumbbell_may_differ() {
    let text = UDP.replace("spread", "direction = \"reverse\"\nspread");
    let slow = [("network.reverse.rate", "2 Mbit/s"), ("network.reverse.delay", "40 ms")];
    let outcome = outcome(&text, "two.toml", &slow);
    assert!((mbps(&outcome) - 2.0).abs() < 0.02, "{}", mbps(&outcome));
    assert_eq!([outcome.links[0].rate.0, outcome.links[1].rate.0], [10_000_000, 2_000_000]);
    assert_eq!(outcome.flows[0].base_rtt.unwrap().0, 2 * 40_000_000, "UDP hears nothing: twice there");
    let own = [("network.loss", "0.1"), ("network.framing", "atm"), ("network.reverse.loss", "0")];
    let outcome = outcome_of_both(&text, &own);
    assert!(outcome.links[1].lost == 0 && outcome.links[0].lost > 0, "{:?}", [0, 1].map(|at| outcome.links[at].lost));
    let resolved = read(&text, "two.toml", &[own[1], ("network.reverse.framing", "ethernet")]).unwrap().resolved;
    let cells = |table: &serde_json::Value| ["framing", "frame_min", "cells"].map(|key| table[key].clone());
    assert_eq!(cells(&resolved["network"]), ["40 B", "0 B", "atm"]);
    assert_eq!(cells(&resolved["network"]["reverse"]), ["38 B", "84 B", "none"]);
    assert_eq!(resolved["network"]["reverse"]["rate"], "10 Mbit/s");
    let error = read(&text, "two.toml", &[("network.reverse.rat", "1 Mbit/s")]).err().unwrap().0;
    assert!(error.contains("network.reverse.rat: no such key; did you mean \"rate\"?"), "{error}");
    let one_way = [slow[0], ("network.two_way", "false")];
    let error = read(UDP, "one.toml", &one_way).err().unwrap().0;
    assert!(error.contains("reverse: two_way is false"), "{error}");
}

/// Both directions are full.
fn outcome_of_both(text: &str, sets: &[(&str, &str)]) -> Outcome {
    let forward = "[[flows]]\nkind = \"udp\"\nrate = \"20 Mbit/s\"\npacket_size = \"1500 B\"\n\n[run]";
    outcome(&text.replace("[run]", forward), "both.toml", sets)
}

#[test]
fn each_direction_changes_its_rate_by_itself() {
    let text = UDP.replace("spread", "direction = \"reverse\"\nspread");
    for (key, means) in [("network.rate", [7_500_000, 10_000_000]), ("network.reverse.rate", [10_000_000, 7_500_000])] {
        let changes = format!("{text}\n[[changes]]\ntime = \"5 s\"\nkey = \"{key}\"\nvalue = \"5 Mbit/s\"\n");
        let outcome = outcome_of_both(&changes, &[]);
        assert_eq!([0, 1].map(|at| outcome.links[at].rate.0), means, "{key}");
        let resolved = read(&changes, "two.toml", &[]).unwrap().resolved;
        assert_resolves_to_itself(&resolved);
    }
    let change = "\n[[changes]]\ntime = \"5 s\"\nkey = \"network.reverse.rate\"\nvalue = \"5 Mbit/s\"\n";
    let error = read(&format!("{UDP}{change}"), "one.toml", &[]).err().unwrap().0;
    assert!(error.contains("no flow goes in reverse"), "{error}");
}

#[test]
fn bursts_that_cannot_come_are_refused() {
    for (key, value, rule) in
        [("burst_loss", "0.5", "burst_loss needs burst_start"), ("burst_end", "0.5", "burst_end needs burst_start")]
    {
        let error = read(UDP, "x.toml", &[(&format!("network.{key}"), value)]).err().unwrap().0;
        assert!(error.contains(rule), "{error}");
    }
    let resolved = |sets: &[(&str, &str)]| read(UDP, "x.toml", sets).unwrap().resolved["network"]["burst_loss"].clone();
    assert_eq!(resolved(&[("network.burst_start", "0.1")]), 1.0);
    assert_eq!(resolved(&[("network.burst_start", "0.1"), ("network.burst_loss", "0")]), 0.0);
    assert_eq!(resolved(&[]), 0.0);
}

/// What the application gets, and the whole run beside the measured window, by hand.
#[test]
fn goodput_leaves_out_headers_and_what_came_before_the_window() {
    let sets =
        [("flows.0.rate", "1200 kbit/s"), ("run.duration", "10 s"), ("run.warmup", "5 s"), ("flows.0.start", "2 s")];
    let scenario = read(UDP, "links.toml", &sets).unwrap();
    let outcome = run(&sets);
    let tables = sluicegate_lab::results::tables(&outcome, &scenario.names());
    let cell = |name: &str| {
        let column = tables[0].columns.iter().find(|column| column.name == name).unwrap();
        let sluicegate_lab::results::Cells::F64(cells) = &column.cells else { panic!("numbers") };
        cells[0]
    };
    // 100 packets a second, from 2 s on, each with 1472 bytes of data; 10 ms and some on the way.
    let near =
        |value: f64, expected: f64| assert!((value - expected).abs() < 0.005 * expected, "{value}, not {expected}");
    near(cell("throughput_bps"), 1.2e6);
    near(cell("goodput_bps"), 1.2e6 * 1472.0 / 1500.0);
    near(cell("whole_throughput_bps"), 0.8 * 1.2e6);
    near(cell("whole_goodput_bps"), 0.8 * 1.2e6 * 1472.0 / 1500.0);
    assert_eq!(cell("whole_loss_ratio"), 0.0);
}

/// What a queue of this scenario has been resolved to.
fn queue_of(sets: &[(&str, &str)]) -> serde_json::Value {
    read(UDP, "links.toml", sets).unwrap().resolved["queue"].clone()
}

#[test]
fn a_buffer_given_as_a_time_holds_what_the_link_sends_in_it() {
    // 250 ms of 10 Mbit/s are 312,500 bytes.
    let bytes = queue_of(&[("queue.limit", "250 ms")]);
    assert_eq!(bytes["limit"], "312500 B");
    let same = [("queue.limit", "312500 B")];
    let drops = |sets: &[(&str, &str)]| run(sets).links[0].counters.drops;
    assert_eq!(drops(&[("queue.limit", "250 ms")]), drops(&same));
    // A rule that wants the unit of another value gets packets, of 1500 bytes here; so do bounds.
    let red = [("queue.discipline", "early_random_drop"), ("queue.drop_level", "20"), ("queue.limit", "250 ms")];
    assert_eq!(queue_of(&red)["limit"], 208);
    let choke = [("queue.discipline", "choke_linux"), ("queue.limit", "250 ms")];
    assert_eq!(queue_of(&choke)["limit"], 208);
    // A packet at the least; and a class's queue as any other.
    assert_eq!(queue_of(&[("queue.limit", "1 us")])["limit"], "1500 B");
    let classes = [("queue.discipline", "drr"), ("queue.classes", "[{discipline = \"codel\", limit = \"10 ms\"}]")];
    assert_eq!(queue_of(&classes)["classes"][0]["limit"], "12500 B");
}

#[test]
fn each_link_holds_the_time_at_its_own_rate() {
    // Of a trace it is the mean rate: 3 packets in 10 ms are 3.6 Mbit/s.
    let name = beside("cell.trace", "2\n2\n10\n");
    let trace = r#"
[[network.links]]
name = "trace"
from = "a"
to = "b"
trace = "cell.trace"
tx_ring = "10 ms"
[[network.links]]
name = "plain"
from = "b"
to = "c"
rate = "8 Mbit/s"
managed = false
limit = "20 ms"
[queue]
limit = "100 ms"
[[flows]]
kind = "udp"
rate = "1 Mbit/s"
path = ["trace", "plain"]
[run]
duration = "1 s"
"#;
    let resolved = read(trace, &name, &[]).unwrap().resolved;
    assert_eq!(resolved["queue"]["limit"], "45000 B");
    assert_eq!(resolved["network"]["links"][0]["tx_ring"], "4500 B");
    assert_eq!(resolved["network"]["links"][1]["limit"], "20000 B");
    // Each link that the queue manages shows its own bytes, and is as it was when what is shown is read again.
    let both = read(&trace.replace("managed = false\nlimit = \"20 ms\"\n", ""), &name, &[]).unwrap().resolved;
    assert_eq!(both["queue"]["limit"], "45000 B");
    assert_eq!(both["network"]["links"][1]["queue"]["limit"], "100000 B");
    let again = Scenario::read(&toml::to_string(&both).unwrap(), &name, &[]).unwrap().resolved;
    assert_eq!(again, both);
    // Both directions are full: 50 ms of 10 and of 1 Mbit/s.
    let ways = [
        ("queue.limit", "50 ms"),
        ("network.reverse.rate", "1 Mbit/s"),
        (
            "flows",
            r#"[{kind = "udp", rate = "20 Mbit/s", packet_size = "500 B"},
                {kind = "udp", rate = "2 Mbit/s", packet_size = "500 B", direction = "reverse"}]"#,
        ),
    ];
    let outcome = run(&ways);
    let most: Vec<u64> = outcome.links.iter().map(|link| link.counters.max_packets).collect();
    assert_eq!(most, [62_500 / 500, 6_250 / 500]);
}

#[test]
fn a_time_is_refused_where_no_buffer_is_meant_or_it_holds_too_much() {
    let error = |sets: &[(&str, &str)]| read(UDP, "links.toml", sets).err().expect("refused").to_string();
    let told = error(&[("queue.limit", "5 parsec")]);
    assert!(told.contains("use one of B, kB, KB, MB, KiB, MiB, or a time such as \"250 ms\""), "{told}");
    assert!(error(&[("queue.discipline", "red"), ("queue.min_th", "5 ms")]).contains("\"ms\" is not a unit here"));
    let told = error(&[("queue.discipline", "fq_codel"), ("queue.limit", "10 h")]);
    assert!(told.contains("queue.limit = 36000 s: 30000000 packets at 10 Mbit/s, must be at least 1"), "{told}");
    let change = r#"[{time = "1 s", key = "queue.limit", value = "20 ms"}]"#;
    assert!(error(&[("changes", change)]).contains("give packets or bytes"));
}
