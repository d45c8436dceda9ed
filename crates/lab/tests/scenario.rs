//! Scenarios: what is read, what is refused and where, and that no text makes the reader panic.

#[path = "shared/processor.rs"]
mod processor;

use crate::shared::scenarios::{assert_resolves_to_itself, read, refusal, sim};
use processor::processor_time;
use proptest::prelude::*;
use sluicegate_lab::results::{Cells, summary, tables};
use sluicegate_lab::{Scenario, ScenarioError};
use sluicegate_netsim::Sim;

const SMALL: &str = r#"
[network]
rate = "1 Mbit/s"

[queue]
discipline = "choke"
min_th = 10
max_th = 30

[queue.red]
min_th = 20
max_th = 80

[[flows]]
kind = "tcp"
count = 2

[[flows]]
kind = "udp"
rate = "2 Mbit/s"
packet_size = "500 B"

[run]
duration = "4 s"
warmup = "1 s"
"#;

#[test]
fn defaults_are_filled_in_and_those_of_the_queue_derive_from_the_link() {
    let resolved = |sets| read(SMALL, sets).unwrap().resolved;
    let slow = resolved(&[]);
    assert_eq!(slow["queue"]["candidates"], 1);
    assert_eq!(slow["flows"][0]["algorithm"], "cubic");
    assert_eq!(slow["network"]["access_rate"], "10 Mbit/s");
    assert_eq!(resolved(&[("network.rate", "20 Mbit/s")])["flows"][0]["access_rate"], "200 Mbit/s");
    // The idle decay's s is the time that a small packet takes at the link's rate.
    let fast = resolved(&[("network.rate", "100 Mbit/s")]);
    assert_ne!(slow["queue"]["s"], fast["queue"]["s"]);
}

#[test]
fn a_resolved_scenario_resolves_to_itself() {
    let first = read(SMALL, &[]).unwrap().resolved;
    assert_resolves_to_itself(&first);
    // Vegas brings ns-2's hosts along.
    let first = read(SMALL, &[("flows.0.algorithm", "vegas")]).unwrap().resolved;
    assert_eq!((&first["flows"][0]["profile"], &first["flows"][0]["window"]), (&"ns2".into(), &20.into()));
    assert_resolves_to_itself(&first);
}

#[test]
fn a_resolved_scenario_shows_every_value_in_force() {
    let resolved = read(SMALL, &[("flows.0.min_rto", "1 s")]).unwrap().resolved;
    let tcp = &resolved["flows"][0];
    assert_eq!(tcp["min_rto"], "1 s", "a given value beats the profile");
    for profile in sluicegate_tcp::profiles::PROFILES.iter().filter(|profile| tcp["profile"] == profile.name) {
        for value in profile.values {
            assert!(!tcp[value.field].is_null(), "{}", value.field);
        }
    }
    let of_today = (&"16777216 B".into(), &10.0.into(), &"120 s".into());
    assert_eq!((&tcp["window"], &tcp["initial_window"], &tcp["max_rto"]), of_today);
    let of_ns2 = &read(SMALL, &[("flows.0.profile", "ns2")]).unwrap().resolved["flows"][0];
    assert_eq!((&of_ns2["window"], &of_ns2["initial_window"]), (&20.into(), &2.0.into()));
    assert_eq!((&tcp["access_rate"], &tcp["access_delay"]), (&"10 Mbit/s".into(), &"0 s".into()));
    assert_eq!(resolved["run"]["sample"], "100 ms");
    let long = read(SMALL, &[("run.duration", "1000 s"), ("network.access_delay", "3 ms")]).unwrap().resolved;
    assert_eq!(long["run"]["sample"], "500 ms");
    assert_eq!(long["flows"][1]["access_delay"], "3 ms");
    assert!(long["flows"][1]["min_rto"].is_null(), "UDP has no profile");
}

#[test]
fn shared_keys_serve_every_discipline_and_its_own_table_wins() {
    let thresholds = |discipline| {
        let queue = read(SMALL, &[("queue.discipline", discipline)]).unwrap().resolved["queue"].clone();
        (queue["min_th"].clone(), queue["max_th"].clone())
    };
    assert_eq!(thresholds("choke"), (10.into(), 30.into()));
    assert_eq!(thresholds("red"), (20.into(), 80.into()));
}

#[test]
fn a_key_that_only_another_discipline_has_is_refused_in_the_shared_table() {
    let message = refusal(SMALL, &[("queue.arithmetic", "float")]);
    assert_eq!(message, "sets: queue.arithmetic: only red has it, not choke: write it as queue.red.arithmetic");
    assert!(read(SMALL, &[("queue.red.arithmetic", "float")]).is_ok());
    assert!(read(SMALL, &[("queue.arithmetic", "float"), ("queue.discipline", "red")]).is_ok());
    // red and choke share the thresholds; Drop Tail has none.
    assert!(read(SMALL, &[("queue.discipline", "drop_tail")]).is_ok());
    // One symbol, two meanings: a time to RED, a number of packets to AFD. What fits neither is refused whoever runs.
    assert!(read(SMALL, &[("queue.discipline", "red"), ("queue.s", "4 ms")]).is_ok());
    assert!(read(SMALL, &[("queue.discipline", "afd"), ("queue.s", "4")]).is_ok());
    let message = refusal(SMALL, &[("queue.discipline", "afd"), ("queue.s", "4 ms")]);
    assert_eq!(message, "sets: queue.s = \"4 ms\": must be a number");
    assert!(refusal(SMALL, &[("queue.s", "soon")]).starts_with("sets: queue.s = \"soon\": must be"));
}

/// `max_th` under `[queue]` with a discipline that has none did nothing without a word.
#[test]
fn a_shared_key_that_the_discipline_does_not_have_is_noted() {
    let unused = |text: &str, sets: &[(&str, &str)]| {
        let noted = read(text, sets).unwrap().unused;
        noted.into_iter().map(|key| (key.place, key.discipline, key.hint)).collect::<Vec<_>>()
    };
    let drop_tail = SMALL.replace("\"choke\"", "\"drop_tail\"");
    let note = |place: &str, discipline, hint: &str| (place.to_owned(), discipline, hint.to_owned());
    let both =
        [note("test.toml:7: queue.min_th: ", "drop_tail", ""), note("test.toml:8: queue.max_th: ", "drop_tail", "")];
    assert_eq!(unused(&drop_tail, &[]), both);
    let target = [note("sets: queue.target: ", "choke", "")];
    assert_eq!(unused(SMALL, &[("queue.target", "5 ms")]), target);
    let flows = [note("sets: queue.interval: ", "pi", "")];
    assert_eq!(unused(SMALL, &[("queue.interval", "5 ms"), ("queue.discipline", "pi")]), flows);
    // The file serves several disciplines: what an override chooses takes what it has.
    assert_eq!(unused(SMALL, &[("queue.discipline", "drop_tail")]), []);
    assert_eq!(unused(SMALL, &[]), []);
    assert_eq!(unused(SMALL, &[("queue.discipline", "mine.py:Mine"), ("queue.target", "5 ms")]), []);
    let classes = SMALL
        .replace("[queue.red]", "[[queue.classes]]\ndiscipline = \"drop_tail\"\nlimit = 9\nmax_th = 9\n\n[queue.red]");
    let inside = [note("test.toml:13: queue.classes.0.max_th: ", "drop_tail", "")];
    assert_eq!(unused(&classes, &[("queue.discipline", "drr")]), inside);
}

#[test]
fn a_broken_rule_is_told_at_the_key_that_was_written() {
    let shared = SMALL.replace("min_th = 10", "min_th = 70");
    assert_eq!(
        refusal(&shared, &[]),
        "test.toml:7: queue.min_th = 70 packets: breaks the rule min_th < max_th (min_th is 70 packets, max_th is 30 packets)"
    );
    let own = SMALL.replace("min_th = 20", "min_th = 90");
    assert!(refusal(&own, &[]).starts_with("test.toml:11: queue.red.min_th = 90 packets: breaks the rule"));
    assert!(refusal(SMALL, &[("queue.max_th", "5")]).contains("min_th < max_th"));
    assert!(refusal(SMALL, &[("run.sample", "1 ns")]).contains("duration <= 10000000 samples"));
}

#[test]
fn what_an_inline_value_holds_was_written_by_set() {
    let queue = refusal(SMALL, &[("queue", "{ discipline = 'choke', min_th = 70 }")]);
    assert!(queue.starts_with("sets: queue.min_th = 70 packets: breaks the rule"), "{queue}");
    let flows = refusal(SMALL, &[("flows", "[{ kind = 'udp' }, { kind = 'udp', rate = 3 }]")]);
    assert!(flows.starts_with("sets: flows.0.rate: must be given"), "{flows}");
    let run = refusal(SMALL, &[("run", "{ duration = '1 s', warmup = '2 s' }")]);
    assert!(run.starts_with("sets: run.warmup = 2 s: breaks the rule"), "{run}");
}

#[test]
fn messages_show_what_was_written() {
    let told = |key: &str, value: &str, part: &str| {
        let message = refusal(SMALL, &[(key, value)]);
        assert!(message.contains(part), "{key}={value}: {message}");
    };
    told("run.seed", "18446744073709551615", "run.seed = 18446744073709551615: must be at most 9223372036854775807");
    told("run.seed", "-9223372036854775809", "must not be negative");
    told("queue.min_th", "30.0", "queue.min_th = 30.0: must be a number of packets");
    told("queue.min_th", "[1, 2]", "queue.min_th = [1, 2]: must be a number of packets");
    told("run.duration", "1979-05-27", "run.duration = 1979-05-27: must be a time");
    told("flows", "[]", "sets: flows: must be tables: at least one [[flows]]");
    told("network.links", "[]", "sets: network.links: a network has either the keys of a dumbbell");
    told("network.links.0.name", "x", "sets: network.links: a network has either the keys of a dumbbell");
    told("network", "{ links = [] }", "must be tables: at least one [[network.links]]");
    told("flows.1.kind", "tcp", "flows.1.rate: no such key for kind tcp");
    told("flows.0.min_rto", "200 s", "min_rto <= max_rto (min_rto is 200 s, max_rto is 120 s)");
    told("flows.0.name", "", "from 1 to 60 characters");
    told("flows.0.name", "\"a\\nb\"", "none of them a control character");
}

/// The names of the groups of a scenario whose `[[flows]]` these are, each an inline table.
fn names(flows: &str) -> Vec<String> {
    let (network, run) = ("network = { rate = \"1 Mbit/s\" }", "run = { duration = \"1 s\" }");
    let text = format!("{network}\nflows = [{flows}]\n{run}\n");
    read(&text, &[]).unwrap().names()
}

#[test]
fn groups_without_a_name_get_one_that_tells_them_apart() {
    let (reno, cubic) = ("{ kind = \"tcp\", algorithm = \"reno\" }", "{ kind = \"tcp\", algorithm = \"cubic\" }");
    let udp = "{ kind = \"udp\", rate = \"1 kbit/s\" }";
    assert_eq!(names(&format!("{reno}, {udp}")), ["tcp", "udp"]);
    assert_eq!(names(&format!("{reno}, {cubic}, {udp}")), ["tcp_reno", "tcp_cubic", "udp"]);
    assert_eq!(names(&format!("{reno}, {reno}")), ["tcp_1", "tcp_2"]);
    let named = |name: &str| format!("{{ kind = \"udp\", rate = \"1 kbit/s\", name = \"{name}\" }}");
    assert_eq!(
        names(&[named("voip"), named("voip"), named("udp"), udp.to_owned()].join(", ")),
        ["voip", "voip", "udp", "udp_1"]
    );
    assert_eq!(names(&[named("udp_1"), udp.to_owned(), udp.to_owned()].join(", ")), ["udp_1", "udp_2", "udp_3"]);
}

#[test]
fn entries_of_one_name_are_one_group_of_the_results() {
    let text =
        SMALL.replacen("[[flows]]", "[[flows]]\nkind = \"udp\"\nrate = \"100 kbit/s\"\nname = \"all\"\n\n[[flows]]", 1);
    let text =
        text.replacen("kind = \"udp\"\nrate = \"2 Mbit/s\"", "kind = \"udp\"\nname = \"all\"\nrate = \"2 Mbit/s\"", 1);
    let scenario = read(&text, &[]).unwrap();
    let mut sim = Sim::new(scenario.plan().unwrap());
    while sim.advance(1 << 16) {}
    let outcome = sim.finish();
    let found = tables(&outcome, &scenario.names());
    let column = |table: &str, column: &str| {
        let table = found.iter().find(|each| each.name == table).unwrap();
        table.columns.iter().find(|each| each.name == column).unwrap().cells.clone()
    };
    let Cells::Str(names) = column("groups", "name") else { panic!("texts") };
    assert_eq!(names.rows().collect::<Vec<_>>(), ["all", "tcp"]);
    let Cells::Str(names) = column("flows", "name") else { panic!("texts") };
    assert_eq!(names.rows().collect::<Vec<_>>(), ["all", "tcp", "tcp", "all"]);
    let (Cells::I64(groups), Cells::I64(flows)) =
        (column("groups", "arrivals_packets"), column("flows", "arrivals_packets"))
    else {
        panic!("counts")
    };
    assert_eq!(groups, [flows[0] + flows[3], flows[1] + flows[2]]);
    let (Cells::F64(longest), Cells::F64(each)) = (column("groups", "delay_p99_ns"), column("flows", "delay_p99_ns"))
    else {
        panic!("times")
    };
    assert!(each[0].min(each[3]) <= longest[0] && longest[0] <= each[0].max(each[3]), "{longest:?} of {each:?}");
}

#[test]
fn a_text_that_nobody_sees_has_no_lines() {
    let refused = |text: &str| Scenario::read(text, "<python>", &[]).err().unwrap().0;
    let message = refused(&SMALL.replace("min_th = 10", "min_th = 70"));
    assert!(message.starts_with("<python>: queue.min_th = 70 packets: breaks the rule"), "{message}");
    assert!(refused("[network").starts_with("<python>: not valid TOML"));
}

#[test]
fn a_set_gives_one_value() {
    assert_eq!(refusal(SMALL, &[("queue.limit", "1\nevil=2")]), "sets: queue.limit: must be one value");
    assert_eq!(refusal(SMALL, &[("queue.limit", "1\n[run]")]), "sets: queue.limit: must be one value");
}

#[test]
fn long_texts_are_answered_at_once() {
    let begun = processor_time();
    let deep = vec!["a"; 1_000_000].join(".");
    assert!(refusal(SMALL, &[(&deep, "1")]).ends_with("must have at most 80 parts, not 1000000"));
    let long = "a".repeat(1_000_000);
    assert!(refusal(SMALL, &[("queue.discipline", &long)]).contains("no such discipline"));
    let keys: String = (0..50_000).map(|n| format!("a{n} = 1\n")).collect();
    let place = format!("test.toml:{}: run.a0: no such key", SMALL.lines().count() + 1);
    assert!(refusal(&format!("{SMALL}{keys}"), &[]).starts_with(&place));
    let taken = processor_time() - begun;
    assert!(taken.as_secs_f64() < 1.0, "{taken:?}");
}

/// What brings the papers' hosts along, where Linux's are asked for.
#[test]
fn a_rule_between_hosts_names_what_was_given() {
    let told = |key: &str, value: &str, other: (&str, &str)| {
        let sets = [(format!("flows.0.{key}"), value), (format!("flows.0.{}", other.0), other.1)];
        refusal(SMALL, &sets.each_ref().map(|(key, value)| (key.as_str(), *value)))
    };
    let (cubic, linux) = (("algorithm", "cubic"), ("profile", "linux"));
    let fix = "use a paper's profile, such as ns2, and an algorithm of its hosts";
    for (key, value) in [("send_jitter", "1 ms"), ("ns2_rules", "true")] {
        let given = told(key, value, cubic);
        assert!(given.starts_with(&format!("sets: flows.0.{key} = ")), "{given}");
        assert!(given.ends_with(&format!("{key} is of the papers' hosts: {fix} ({key} is {value})")), "{given}");
        assert!(told(key, value, linux).ends_with(&format!("({key} is {value}, profile is linux)")));
    }
    let given = told("limited_transmit", "true", linux);
    assert!(given.ends_with("(limited_transmit is true, profile is linux)"), "{given}");
    let given = told("profile", "ns2", cubic);
    assert!(
        given.contains("of Linux's hosts: leave profile out, or say linux (algorithm is cubic, profile is ns2)"),
        "{given}"
    );
    assert!(read(SMALL, &[("flows.0.ns2_rules", "false"), ("flows.0.profile", "linux")]).is_ok(), "true of Linux's");
}

#[test]
fn what_would_not_fit_into_memory_is_refused_at_its_group() {
    let many = refusal(SMALL, &[("flows.0.count", "999999"), ("flows.1.count", "900000"), ("run.series", "false")]);
    assert!(many.starts_with("sets: flows.0.count: more than") || many.contains("flows.1.count"), "{many}");
    let windows =
        refusal(SMALL, &[("flows.0.count", "500000"), ("flows.0.initial_window", "1000"), ("flows.0.window", "1000")]);
    assert!(windows.starts_with("sets: flows.0.count: these 500000 flows need about"), "{windows}");
    assert!(windows.ends_with(": lower window, or the limits of queues"), "{windows}");
    let users = SMALL.replace("kind = \"tcp\"", "kind = \"http\"");
    let users = refusal(&users, &[("flows.0.count", "900000"), ("run.exchanges", "true"), ("run.duration", "1000 s")]);
    assert!(users.ends_with("; have fewer of them"), "{users}");
    let fast = refusal(SMALL, &[("flows.1.rate", "1e15 bit/s")]);
    assert!(fast.contains("flows.1.count: ") && fast.contains("wait at its own access link"), "{fast}");
    // 10 Mbit/s for 100,000 s on their way over one link: 125 million packets.
    let far = [("network.rate", "10 Mbit/s"), ("flows.1.rate", "10 Mbit/s"), ("run.duration", "200000 s")];
    let long = [far[0], far[1], far[2], ("network.delay", "100000 s")];
    assert!(refusal(SMALL, &long).contains("be on their way"));
    assert!(read(SMALL, &[far[0], far[1], far[2], ("network.delay", "1 s")]).is_ok());
    let series = [("flows.0.count", "200000"), ("run.sample", "1 ms")];
    assert!(refusal(SMALL, &series).contains("set run.series = false"));
    assert!(read(SMALL, &[series[0], series[1], ("run.series", "false")]).is_ok());
    assert!(read(SMALL, &[("flows.1.rate", "1 Gbit/s")]).is_ok());
}

#[test]
fn without_a_queue_the_link_drops_at_the_tail() {
    let text = SMALL.split("[queue]").next().unwrap().to_owned() + &SMALL[SMALL.find("[[flows]]").unwrap()..];
    assert_eq!(read(&text, &[]).unwrap().resolved["queue"]["discipline"], "drop_tail");
}

fn rows_of(cells: &Cells) -> usize {
    match cells {
        Cells::F64(cells) => cells.len(),
        Cells::I64(cells) => cells.len(),
        Cells::Str(cells) => cells.codes.len(),
    }
}

#[test]
fn every_table_of_results_is_whole() {
    // With users among the flows, so that no table is empty; DCN shows more of itself than CHOKe.
    let users = "[[flows]]\nkind = \"http\"\ncount = 30\n";
    let text = SMALL.replacen("[[flows]]", &format!("{users}[[flows]]"), 1);
    let kept = ["run.packets", "run.segments", "run.positions"].map(|key| (key, "1000"));
    let sets = [&kept[..], &[("run.exchanges", "true"), ("queue.discipline", "dcn")]].concat();
    let scenario = read(&text, &sets).unwrap();
    let mut sim = Sim::new(scenario.plan().unwrap());
    while sim.advance(1 << 16) {}
    let outcome = sim.finish();
    let tables = tables(&outcome, &scenario.names());
    for table in &tables {
        let rows = rows_of(&table.columns[0].cells);
        assert!(rows > 0, "{}", table.name);
        for column in &table.columns {
            assert_eq!(rows_of(&column.cells), rows, "{}.{}", table.name, column.name);
        }
    }
    let summary = summary(&scenario, &outcome);
    assert_eq!(summary["scenario"], scenario.resolved);
    assert_eq!(summary["seed"], 1);
}

#[test]
fn losses_at_links_that_are_not_under_study_are_counted_too() {
    let text = r#"
[[network.links]]
name = "first"
from = "a"
to = "b"
rate = "1 Mbit/s"
managed = false
limit = 3

[[network.links]]
name = "second"
from = "b"
to = "c"
rate = "500 kbit/s"

[queue]
limit = 5

[[flows]]
kind = "udp"
rate = "2 Mbit/s"
path = ["first", "second"]
stop = "3 s"

[run]
duration = "20 s"
"#;
    let mut sim = sim(text, &[]);
    while sim.advance(1 << 16) {}
    let flow = sim.finish().flows.remove(0).totals;
    let lost: u64 = flow.drops.iter().sum();
    assert!(lost > 100 && flow.drops_elsewhere > 100, "{lost} {}", flow.drops_elsewhere);
    assert_eq!(flow.sent[0], flow.arrivals + flow.drops_elsewhere);
    assert_eq!(flow.arrivals, flow.delivered[0] + lost);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_panic(text in "[\\[\\]a-z_.=\"0-9 \n#-]{0,300}") {
        let _ = read(&text, &[]);
    }

    #[test]
    fn no_change_of_a_scenario_makes_the_reader_panic(
        at in 0..SMALL.len(), cut in 0usize..30, put in "[\\PC\n]{0,12}", key in "[a-z0-9_.]{0,20}", value in "\\PC{0,12}",
    ) {
        let end = (at + cut).min(SMALL.len());
        let text = format!("{}{put}{}", &SMALL[..at], &SMALL[end..]);
        if let Err(error) = read(&text, &[]) {
            prop_assert!(error.0.starts_with("test.toml:"), "{error}");
        }
        if let Err(error) = read(SMALL, &[(&key, &value)]) {
            prop_assert!(error.0.starts_with("sets: ") || error.0.starts_with("test.toml:"), "{error}");
        }
    }

    #[test]
    fn whatever_is_accepted_can_be_planned(count in 0u64..5, rate in 0u64..1u64 << 62, th in 0u64..100, warmup in 0u64..9) {
        let sets = [
            ("flows.0.count", count.to_string()), ("flows.1.rate", format!("{rate} bit/s")),
            ("queue.min_th", th.to_string()), ("run.warmup", format!("{warmup} s")),
        ];
        let sets: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (*key, value.as_str())).collect();
        if let Ok(scenario) = read(SMALL, &sets) {
            let mut sim = Sim::new(scenario.plan().unwrap());
            sim.advance(2000);
        }
    }
}

#[test]
fn a_discipline_written_elsewhere_is_named_with_its_values_and_built_by_the_caller() {
    let text = SMALL.replace("\"choke\"", "\"mine.py:Mine\"") + "\n[queue.python]\nlevel = 3\nnames = [\"a\"]\n";
    let scenario = read(&text, &[]).unwrap();
    let queue = &scenario.resolved["queue"];
    assert_eq!((&queue["discipline"], &queue["min_th"]), (&"mine.py:Mine".into(), &10.into()));
    assert_eq!(queue["python"], serde_json::json!({"level": 3, "names": ["a"]}));
    assert_resolves_to_itself(&scenario.resolved);
    // The registry has no such thing, so it is the caller who builds it, or refuses to.
    let refused = scenario.plan().err().unwrap().0;
    assert!(refused.starts_with("test.toml:6: queue.discipline = \"mine.py:Mine\": is written elsewhere"), "{refused}");
    let mut asked = Vec::new();
    let plan = scenario.plan_with(&mut |foreign, link, rate| {
        asked.push((foreign.reference.clone(), foreign.overridden, link.to_owned(), rate.0));
        assert_eq!((foreign.given.len(), foreign.shared.len()), (2, 2));
        let tail = sluicegate_aqm::drop_tail::DropTailParams { limit: sluicegate_base::Size::Packets(5) };
        Ok::<_, ScenarioError>(("Mine".to_owned(), Box::new(sluicegate_aqm::DropTail::new(tail)) as Box<_>))
    });
    let plan = plan.unwrap();
    assert_eq!((plan.links[0].discipline.as_ref(), plan.links[0].monitored), ("Mine", true));
    assert_eq!(asked, [("mine.py:Mine".to_owned(), false, "bottleneck".to_owned(), 1_000_000)]);
    // Its table is read whether or not it is used, and an override is its own place.
    assert!(read(&text, &[("queue.discipline", "red")]).unwrap().plan().is_ok());
    let wrong = SMALL.to_owned() + "\n[queue.python]\nlevels = [3]\n";
    assert!(refusal(&wrong, &[]).contains("queue.python.levels: must be a number, a text"));
    let set = read(SMALL, &[("queue.discipline", "mine.py:Mine")]).unwrap().plan().err().unwrap().0;
    assert!(set.starts_with("sets: queue.discipline = \"mine.py:Mine\": "), "{set}");
}
