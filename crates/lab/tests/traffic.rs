//! Flows of a scenario: when they start, how far they are, what their access does, and what is refused.

use crate::shared::scenarios::{assert_resolves_to_itself, read, refusal, run};
use proptest::prelude::*;
use sluicegate_lab::Scenario;
use sluicegate_lab::results::{Cells, tables};
use sluicegate_netsim::Sim;

const DUMBBELL: &str = r#"
[network]
rate = "10 Mbit/s"
delay = "5 ms"
access_rate = "100 Mbit/s"
access_delay = "1 ms"

[[flows]]
kind = "tcp"

[run]
duration = "10 s"
"#;

const TOPOLOGY: &str = r#"
[[network.links]]
name = "out"
from = "a"
to = "b"
rate = "10 Mbit/s"
delay = "5 ms"

[[network.links]]
name = "home"
from = "b"
to = "a"
rate = "10 Mbit/s"
delay = "20 ms"

[[flows]]
kind = "tcp"
path = ["out"]

[run]
duration = "10 s"
"#;

/// The base round trips of the flows in milliseconds, as the results give them.
fn round_trips(text: &str, sets: &[(&str, &str)]) -> Vec<f64> {
    let short = [sets, &[("run.duration", "1 ns")]].concat();
    let tables = tables(&run(text, &short), &[]);
    let column = tables[0].columns.iter().find(|column| column.name == "base_rtt_ns").unwrap();
    let Cells::F64(cells) = &column.cells else { panic!("a column of numbers") };
    cells.iter().map(|ns| ns / 1e6).collect()
}

#[test]
fn a_base_round_trip_is_the_delays_of_all_links_unless_it_is_given() {
    // Two access links of 1 ms and the bottleneck's 5 ms, there and back.
    assert_eq!(round_trips(DUMBBELL, &[]), [14.0]);
    assert_eq!(round_trips(DUMBBELL, &[("flows.0.access_delay", "10 ms")]), [32.0]);
    assert_eq!(round_trips(DUMBBELL, &[("flows.0.rtt", "80 ms")]), [80.0]);
    // The shortest that the other links allow leaves no delay to the access link.
    assert_eq!(round_trips(DUMBBELL, &[("flows.0.rtt", "12 ms")]), [12.0]);
    let on_off = [("flows.0.kind", "on_off"), ("flows.0.rate", "1 Mbit/s"), ("flows.0.rtt", "80 ms")];
    assert_eq!(round_trips(DUMBBELL, &on_off), [80.0]);
}

#[test]
fn in_a_topology_the_way_back_counts_as_it_is() {
    let home = ("flows.0.return_path", "[\"home\"]");
    let access = ("flows.0.access_rate", "1 Gbit/s");
    assert_eq!(round_trips(TOPOLOGY, &[]), [10.0]);
    assert_eq!(round_trips(TOPOLOGY, &[home]), [25.0]);
    assert_eq!(round_trips(TOPOLOGY, &[home, access, ("flows.0.rtt", "100 ms")]), [100.0]);
    assert_eq!(round_trips(TOPOLOGY, &[access, ("flows.0.rtt", "100 ms")]), [100.0]);
    let udp = [home, access, ("flows.0.kind", "udp"), ("flows.0.rate", "1 Mbit/s"), ("flows.0.rtt", "25 ms")];
    assert_eq!(round_trips(TOPOLOGY, &udp), [25.0], "who hears nothing has no way back");
}

#[test]
fn round_trips_are_drawn_for_each_flow_from_the_seed_alone() {
    let many = ("flows.0.count", "2000");
    let uniform = [many, ("flows.0.rtt", "20 ms"), ("flows.0.rtt_max", "150 ms")];
    let drawn = round_trips(DUMBBELL, &uniform);
    // Four standard errors of the mean of 2000: 4 · 130/√12/√2000 = 3.4 ms.
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    assert!((mean(&drawn) - 85.0).abs() < 3.4, "{}", mean(&drawn));
    assert!(drawn.iter().all(|rtt| (20.0 - 1e-6..=150.0).contains(rtt)));
    let exponential = [many, ("flows.0.rtt", "20 ms"), ("flows.0.rtt_mean", "60 ms")];
    let drawn_exp = round_trips(DUMBBELL, &exponential);
    assert!((mean(&drawn_exp) - 60.0).abs() < 3.6 && drawn_exp.iter().all(|rtt| *rtt >= 20.0 - 1e-6));
    // Neither the discipline nor the sources of the group change what is drawn; the seed does.
    for set in
        [("queue.discipline", "red"), ("flows.0.algorithm", "reno"), ("flows.0.size", "3"), ("network.delay", "9 ms")]
    {
        assert_eq!(round_trips(DUMBBELL, &[&uniform[..], &[set]].concat()), drawn, "{set:?}");
    }
    assert_ne!(round_trips(DUMBBELL, &[&uniform[..], &[("run.seed", "2")]].concat()), drawn);
    // A group starts its list anew.
    let group = "[[flows]]\nkind = \"udp\"\nrate = \"1 Mbit/s\"\ncount = 2\nrtts = [\"70 ms\", \"30 ms\"]\n\n[run]";
    let listed = [("flows.0.count", "5"), ("flows.0.rtts", "[\"20 ms\", \"40 ms\", \"60 ms\"]")];
    let text = DUMBBELL.replace("[run]", group);
    assert_eq!(round_trips(&text, &listed), [20.0, 40.0, 60.0, 20.0, 40.0, 70.0, 30.0]);
}

#[test]
fn what_packets_meet_is_the_round_trip_that_was_asked_for() {
    // A transfer of one packet: the connection's way there takes half the round trip and 0.08 + 0.8 + 0.08 ms to send.
    let sets = [("flows.0.size", "1"), ("flows.0.rtt", "100 ms"), ("network.access_delay", "3 ms")];
    let outcome = run(DUMBBELL, &sets);
    let longest = outcome.flows[0].totals.delays.quantile(1.0);
    assert!((longest - 50.96e6).abs() < 0.6e6, "to two digits: {longest}");
    assert!(outcome.flows[0].completion.unwrap().0 >= 50_960_000);
}

#[test]
fn starts_are_spread_uniformly_and_shown() {
    let sets =
        [("flows.0.count", "4000"), ("flows.0.start", "3 s"), ("flows.0.spread", "2 s"), ("run.duration", "1 ns")];
    let outcome = run(DUMBBELL, &sets);
    let starts: Vec<f64> = outcome.flows.iter().map(|row| row.start.as_secs()).collect();
    assert!(starts.iter().all(|start| (3.0..=5.0).contains(start)));
    for quarter in 1..4 {
        let p = f64::from(quarter) / 4.0;
        let share = starts.iter().filter(|start| **start < 3.0 + 2.0 * p).count() as f64 / 4000.0;
        // Four standard errors.
        assert!((share - p).abs() < 4.0 * (p * (1.0 - p) / 4000.0).sqrt(), "{share} before {p}");
    }
    let together = run(DUMBBELL, &[("flows.0.count", "9"), ("flows.0.start", "3 s"), ("flows.0.spread", "0 s")]);
    assert!(together.flows.iter().all(|row| row.start.as_secs() == 3.0));
}

#[test]
fn the_slowest_link_of_the_way_sets_the_rate() {
    let udp = [("flows.0.kind", "udp"), ("flows.0.rate", "20 Mbit/s"), ("flows.0.spread", "0 s")];
    let rate = |more: &[(&str, &str)]| {
        let outcome = run(DUMBBELL, &[&udp[..], &[("run.warmup", "1 s")], more].concat());
        outcome.flows[0].totals.delivered[1] as f64 * 8.0 / outcome.window.as_secs()
    };
    let near = |rate: f64, expected: f64| (rate - expected).abs() < 0.001 * expected;
    assert!(near(rate(&[]), 10e6), "the bottleneck");
    assert!(near(rate(&[("flows.0.access_rate", "3 Mbit/s")]), 3e6), "the flow's own access link");
    // The receivers' side keeps the rate of the network.
    let far = [("flows.0.access_rate", "50 Mbit/s"), ("network.access_rate", "2 Mbit/s")];
    assert!(near(rate(&far), 2e6), "the far access link");
    let topology = [&udp[..], &[("flows.0.access_rate", "4 Mbit/s")]].concat();
    let outcome = run(TOPOLOGY, &topology);
    assert!(near(outcome.flows[0].totals.delivered[1] as f64 * 8.0 / 10.0, 4e6));
}

#[test]
fn access_jitter_delays_data_and_acknowledgements() {
    let times = |jitter: &str| {
        let outcome = run(
            DUMBBELL,
            &[
                ("flows.0.access_jitter", jitter),
                ("flows.0.window", "1"),
                ("flows.0.initial_window", "1"),
                ("flows.0.initial_ssthresh", "2"),
            ],
        );
        let row = &outcome.flows[0];
        assert_eq!(
            (row.retransmissions, row.base_rtt),
            (0, Some(sluicegate_base::Span::from_millis(14))),
            "jitter is not in the base round trip"
        );
        (10.0 - row.start.as_secs()) / row.totals.delivered[0] as f64 * 1e3
    };
    // With a window of one packet every packet takes a round trip: 10 ms of jitter adds 5 ms on average each way.
    let (without, with) = (times("0 s"), times("10 ms"));
    assert!((with - without - 10.0).abs() < 1.0, "{without} and {with}");
}

#[test]
fn a_size_is_in_packets_or_bytes_and_is_refused_where_it_means_nothing() {
    let data = |size: &str| {
        let [packets, bytes] =
            run(DUMBBELL, &[("flows.0.size", size), ("flows.0.profile", "ns2")]).flows[0].totals.delivered;
        bytes - 40 * packets
    };
    assert_eq!((data("12"), data("10 kB")), (12 * 960, 10_000));
    assert!(refusal(DUMBBELL, &[("flows.0.size", "0")]).contains("flows.0.size = 0: must be at least 1"));
    let udp = [("flows.0.kind", "udp"), ("flows.0.rate", "1 Mbit/s"), ("flows.0.size", "9")];
    assert!(refusal(DUMBBELL, &udp).starts_with("sets: flows.0.size: no such key"));
}

#[test]
fn rules_between_keys_are_told_with_their_values() {
    let text = |keys: &str| DUMBBELL.replace("kind = \"tcp\"\n", &format!("kind = \"tcp\"\n{keys}\n"));
    let cases = [
        (
            "rtt_max = \"20 ms\"\nrtt = \"50 ms\"",
            "test.toml:10: flows.0.rtt_max = 20 ms: breaks the rule rtt <= rtt_max (rtt_max is 20 ms, rtt is 50 ms)",
        ),
        (
            "rtt = \"50 ms\"\nrtt_mean = \"20 ms\"",
            "test.toml:11: flows.0.rtt_mean = 20 ms: breaks the rule rtt <= rtt_mean",
        ),
        ("rtt_max = \"20 ms\"", "test.toml:10: flows.0.rtt_max = 20 ms: breaks the rule rtt_max and rtt_mean need rtt"),
        (
            "rtt = \"20 ms\"\nrtt_max = \"30 ms\"\nrtt_mean = \"25 ms\"",
            "test.toml:11: flows.0.rtt_max = 30 ms: breaks the rule rtt_max or rtt_mean, not both",
        ),
        (
            "rtt = \"20 ms\"\nrtts = [\"30 ms\"]",
            "test.toml:11: flows.0.rtts = [30 ms]: breaks the rule rtt or rtts, not both",
        ),
        ("rtts = []", "test.toml:10: flows.0.rtts = []: breaks the rule rtts names at least one"),
        (
            "rtts = [\"30 ms\", \"4 parsec\"]",
            "test.toml:10: flows.0.rtts = [\"30 ms\", \"4 parsec\"]: \"4 parsec\": \"parsec\" is not a unit here",
        ),
        ("rtts = [30]", "test.toml:10: flows.0.rtts = [30]: must be a list of times"),
        (
            "rtt = \"20 ms\"\naccess_delay = \"1 ms\"",
            "test.toml:11: flows.0.access_delay = 1 ms: breaks the rule access_delay or a round trip, not both",
        ),
        (
            "rtt = \"11 ms\"",
            "test.toml:10: flows.0.rtt: 11 ms is too short: the other links of the path take 12 ms there and back",
        ),
        ("rtts = [\"30 ms\", \"1 us\"]", "test.toml:10: flows.0.rtts: 1 us is too short"),
        ("start = \"2 s\"\nstop = \"2 s\"", "test.toml:10: flows.0.start = 2 s: breaks the rule start < stop"),
    ];
    for (keys, expected) in cases {
        let told = refusal(&text(keys), &[]);
        assert!(told.starts_with(expected), "{told}\n{expected}");
    }
    let on_off =
        |key, value| refusal(DUMBBELL, &[("flows.0.kind", "on_off"), ("flows.0.rate", "64 kbit/s"), (key, value)]);
    assert!(on_off("flows.0.shape", "1").contains("must be at least 1.01 and at most 100"));
    assert!(on_off("flows.0.distribution", "paretto").contains("did you mean \"pareto\"?"));
    assert!(on_off("flows.0.on_mean", "100 ms").contains("packet_size / rate <= on_mean"), "a packet takes 125 ms");
    for key in ["access_delay", "access_jitter", "rtt"] {
        let told = refusal(TOPOLOGY, &[(&format!("flows.0.{key}"), "90 ms")]);
        assert_eq!(told, format!("test.toml:16: flows.0.access_rate: must be given with {key}"));
    }
}

#[test]
fn a_resolved_scenario_with_all_of_it_resolves_to_itself() {
    for text in [DUMBBELL, TOPOLOGY] {
        let sets = [
            ("flows.0.size", "64 kB"),
            ("flows.0.access_rate", "1 Gbit/s"),
            ("flows.0.rtts", "[\"60 ms\", \"90 ms\"]"),
        ];
        for sets in [&sets[..], &[]] {
            let first = read(text, sets).unwrap().resolved;
            assert_resolves_to_itself(&first);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_accepted_can_be_planned_and_begun(
        kind in 0usize..4, text in 0usize..2, spans in prop::collection::vec("[0-9]{1,4} (us|ms|s|h)", 7),
        picked in prop::collection::vec(any::<bool>(), 7), rate in 1u64..2_000_000_000_000_000, size in 1u64..u64::MAX,
        shape in 1.0f64..120.0, packet in 1u64..70_000,
    ) {
        let kind = ["tcp", "udp", "poisson", "on_off"][kind];
        let keys = match kind {
            "on_off" => ["access_delay", "access_jitter", "rtt", "rtt_max", "rtt_mean", "on_mean", "off_mean"],
            _ => ["access_delay", "access_jitter", "rtt", "rtt_max", "rtt_mean", "spread", "stop"],
        };
        let mut sets = vec![("flows.0.kind".to_owned(), kind.to_owned())];
        for ((key, span), _) in keys.iter().zip(&spans).zip(&picked).filter(|(_, picked)| **picked) {
            sets.push((format!("flows.0.{key}"), span.clone()));
        }
        if kind == "tcp" {
            sets.push(("flows.0.size".to_owned(), size.to_string()));
        } else {
            sets.push(("flows.0.rate".to_owned(), format!("{rate} bit/s")));
        }
        if kind == "on_off" {
            sets.push(("flows.0.shape".to_owned(), shape.to_string()));
            sets.push(("flows.0.distribution".to_owned(), "pareto".to_owned()));
        }
        sets.push(("flows.0.packet_size".to_owned(), format!("{packet} B")));
        sets.push(("flows.0.access_rate".to_owned(), "1 Gbit/s".to_owned()));
        let text = [DUMBBELL, TOPOLOGY][text];
        match Scenario::read(text, "test.toml", &sets) {
            Ok(scenario) => {
                Sim::new(scenario.plan().unwrap()).advance(2000);
            }
            Err(error) => prop_assert!(error.0.starts_with("sets: ") || error.0.starts_with("test.toml:"), "{error}"),
        }
    }
}
