//! Changes while a scenario runs: how they are read, what is refused and where, and that what was recorded repeats a run.

use serde_json::{Value as Json, json};
use sluicegate_base::{Span, Time};
use sluicegate_lab::results::Cells;
use sluicegate_lab::simulation::Refusal;
use sluicegate_lab::{Foreign, Scenario, ScenarioError, Simulation};

const SMALL: &str = r#"
[network]
rate = "1 Mbit/s"

[queue]
discipline = "choke"
limit = 100

[queue.choke]
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
count = 2

[run]
duration = "6 s"
warmup = "1 s"
"#;

type Built = (String, Box<dyn sluicegate_aqm::Discipline<sluicegate_netsim::QueuedPacket>>);

fn none(_: &Foreign, _: &str, _: sluicegate_base::Rate) -> Result<Built, ()> {
    Err(())
}

fn begin(text: &str) -> Simulation {
    let scenario = Scenario::read(text, "small.toml", &[]).unwrap();
    let plan = scenario.plan().unwrap();
    Simulation::new(scenario, plan)
}

fn advance(simulation: &mut Simulation, ms: u64) {
    while simulation.advance(Time(ms * 1_000_000), 1000, &mut none).unwrap() {}
}

/// The run to its end: its resolved scenario, and all that it has measured.
fn finished(mut simulation: Simulation) -> (Json, String) {
    advance(&mut simulation, u64::MAX / 1_000_000);
    assert!(simulation.is_done());
    let (summary, tables) = simulation.finish();
    (summary["scenario"].clone(), format!("{:?} {tables:?}", summary["totals"]))
}

fn refusal(simulation: &mut Simulation, key: &str, value: &str) -> String {
    match simulation.set(key, value, &mut none).unwrap_err() {
        Refusal::Scenario(ScenarioError(text)) => text,
        Refusal::Build(()) => "not built".to_owned(),
    }
}

const CHANGES: &[(u64, &str, &str)] = &[
    (1_500, "queue.choke.candidates", "4"),
    (1_500, "queue.limit", "20"),
    (2_250, "flows.1.rate", "500 kbit/s"),
    (2_250, "queue.discipline", "codel"),
    (3_001, "queue", r#"{discipline = "red", red = {min_th = 5, max_th = 15, max_p = 0.1}}"#),
    (4_000, "queue.red.max_p", "0.5"),
    (4_500, "queue.discipline", "priority"),
    (
        5_000,
        "queue",
        r#"{discipline = "drr", classes = [{discipline = "red", red = {max_p = 0.5}}, {discipline = "codel"}]}"#,
    ),
    (5_500, "queue.classes.0.red.max_p", "0.9"),
    (5_600, "queue.classes.1.limit", "7"),
];

/// The run with these changes made by hand.
fn driven() -> Simulation {
    let mut simulation = begin(SMALL);
    for (ms, key, value) in CHANGES {
        advance(&mut simulation, *ms);
        simulation.set(key, value, &mut none).unwrap();
        let _ = simulation.results();
    }
    simulation
}

#[test]
fn what_was_recorded_repeats_the_run() {
    let (resolved, measured) = finished(driven());
    assert_eq!(resolved["changes"].as_array().unwrap().len(), CHANGES.len());
    assert_eq!(resolved["changes"][0], json!({"time": "1500 ms", "key": "queue.candidates", "value": 4}));
    assert_eq!(resolved["changes"][4]["value"]["max_p"], 0.1);
    assert_eq!(resolved["changes"][3]["value"]["limit"], 20, "what was changed before");
    let again = finished(begin(&toml::to_string(&resolved).unwrap()));
    assert_eq!(again, (resolved, measured.clone()));
    assert_ne!(finished(begin(SMALL)).1, measured);
    // As they were given, on top of the same scenario.
    let changes = driven().changes();
    assert_eq!(changes[0], json!({"time": "1500 ms", "key": "queue.choke.candidates", "value": 4}));
    let text = toml::to_string(&json!({ "changes": changes })).unwrap();
    assert_eq!(finished(begin(&format!("{SMALL}{text}"))).1, measured);
}

#[test]
fn a_scenario_without_changes_says_nothing_of_them() {
    assert!(finished(begin(SMALL)).0.get("changes").is_none());
}

#[test]
fn the_discipline_and_its_drops_are_those_of_the_change() {
    let mut simulation = begin(SMALL);
    advance(&mut simulation, 3_000);
    let column = |simulation: &Simulation, name: &str| {
        let (_, tables) = simulation.results();
        let links = tables.iter().find(|table| table.name == "links").unwrap();
        let cells = &links.columns.iter().find(|column| column.name == name).unwrap().cells;
        match cells {
            Cells::Str(texts) => texts.names[0].clone(),
            Cells::I64(counts) => counts[0].to_string(),
            Cells::F64(numbers) => numbers[0].to_string(),
        }
    };
    assert_eq!(
        (column(&simulation, "discipline"), column(&simulation, "drops_reconfigured")),
        ("choke".into(), "0".into())
    );
    simulation.set("queue", r#"{discipline = "drop_tail", limit = 2}"#, &mut none).unwrap();
    assert_eq!(column(&simulation, "discipline"), "drop_tail");
    assert_ne!(column(&simulation, "drops_reconfigured"), "0");
}

#[test]
fn what_is_refused_says_why_and_changes_nothing() {
    let expected = finished(begin(SMALL)).1;
    let mut simulation = begin(SMALL);
    advance(&mut simulation, 2_000);
    let can = "what can are queue.discipline, parameters of the queue, rates of links, counts of flows without end, and parameters of udp, poisson and on_off sources";
    for (key, value, rule) in [
        ("queue.choke.candidate", "4", "queue.choke.candidate: no such key; did you mean \"candidates\"?"),
        ("queue.choke.candidates", "99", "queue.choke.candidates = 99: must be at least 1 and at most 64 packets"),
        (
            "queue.choke.min_th",
            "30",
            "queue.choke.min_th = 30 packets: breaks the rule min_th < max_th (min_th is 30 packets, max_th is 30 packets)",
        ),
        ("queue.min_th", "20", "queue.min_th: changes nothing: queue.choke.min_th is given too, and counts"),
        (
            "queue.red.max_p",
            "0.1",
            "queue.red.max_p: changes nothing while the discipline is choke: switch with queue.discipline first",
        ),
        ("queue.discipline", "coddel", "queue.discipline: no such discipline: \"coddel\"; did you mean \"codel\"?"),
        ("queue.discipline", "mine.py:Mine", "not built"),
        (
            "flows.1.rate",
            "2 Mb",
            "flows.1.rate = \"2 Mb\": \"Mb\" is not a unit here: use one of bit/s, kbit/s, Mbit/s, Gbit/s, bps, kbps, Mbps, Gbps",
        ),
        ("flows.1.rat", "2 Mbit/s", "flows.1.rat: no such key for kind udp; did you mean \"rate\"?"),
        ("flows.1.count", "3", "flows.1.count: must be at most 2: a run has the flows that it began with"),
        ("flows.0.window", "3", &format!("flows.0.window: cannot change during a run: {can}")),
        ("flows.2.rate", "3", "flows.2.rate: flows must be followed by the number of an entry, 0 to 1"),
        ("network.delay", "2 ms", &format!("network.delay: cannot change during a run: {can}")),
        ("flow.1.rate", "2 Mbit/s", "flow: no such key; did you mean \"flows\"?"),
        ("queue.red", "{}", &format!("queue.red: cannot change during a run: {can}")),
    ] {
        assert_eq!(refusal(&mut simulation, key, value), rule);
    }
    assert_eq!(simulation.changes(), json!([]));
    assert_eq!(finished(simulation).1, expected);
    let mut over = begin(SMALL);
    advance(&mut over, 6_000);
    assert_eq!(refusal(&mut over, "queue.limit", "3"), "queue.limit: cannot change: the run is over");
}

/// What each flow has sent in packets, and the congestion windows where there are some.
fn sent(simulation: &mut Simulation) -> Vec<u64> {
    simulation.sim().network().flows.iter().map(|totals| totals.sent[0]).collect()
}

#[test]
fn flows_rest_and_go_on() {
    let mut simulation = begin(SMALL);
    advance(&mut simulation, 2_000);
    simulation.set("flows.0.count", "1", &mut none).unwrap();
    simulation.set("flows.1.count", "1", &mut none).unwrap();
    // What is on its way still arrives, and what is lost of it is repaired: a packet or two after a second.
    advance(&mut simulation, 3_000);
    let before = sent(&mut simulation);
    advance(&mut simulation, 4_000);
    let resting = sent(&mut simulation);
    assert!(resting[1] <= before[1] + 3 && resting[3] == before[3], "they rest");
    assert!(resting[0] > before[0] && resting[2] == before[2] + 500, "the others do not: 2 Mbit/s are 500 packets");
    simulation.set("flows.0.count", "2", &mut none).unwrap();
    simulation.set("flows.1.count", "2", &mut none).unwrap();
    advance(&mut simulation, 5_000);
    let after = sent(&mut simulation);
    assert!(after[1] > resting[1] + 10 && after[3] == resting[3] + 500, "they go on");
    let changes = simulation.changes();
    let (resolved, measured) = finished(simulation);
    assert_eq!(changes[0]["key"], "flows.0.count");
    // What was recorded repeats the run.
    let entry = |change: &Json| {
        format!("[[changes]]\ntime = {}\nkey = {}\nvalue = {}\n", change["time"], change["key"], change["value"])
    };
    let entries: String = resolved["changes"].as_array().unwrap().iter().map(entry).collect();
    assert_eq!(finished(begin(&format!("{SMALL}{entries}"))).1, measured);
    // A flow that rests before it starts begins when it is told to.
    let mut later = begin(&SMALL.replace("count = 2", "count = 2\nstart = \"1 s\"\nspread = \"0 s\""));
    later.set("flows.0.count", "1", &mut none).unwrap();
    advance(&mut later, 2_000);
    assert_eq!(sent(&mut later)[1], 0);
    later.set("flows.0.count", "2", &mut none).unwrap();
    advance(&mut later, 6_000);
    assert!(sent(&mut later)[1] > 10, "{:?}", sent(&mut later));
    let mut ending = begin(&SMALL.replacen("count = 2", "count = 2\nsize = 9", 1));
    let rule = "flows.0.count: cannot change during a run: its transfers end by themselves";
    assert_eq!(refusal(&mut ending, "flows.0.count", "1"), rule);
}

#[test]
fn changes_in_a_file_are_checked_before_the_run_and_name_their_line() {
    let refused =
        |changes: &str| Scenario::read(&format!("{SMALL}{changes}"), "small.toml", &[]).err().expect("it is refused").0;
    let change = |rest: &str| format!("[[changes]]\ntime = \"2 s\"\n{rest}\n");
    for (rest, said) in [
        (
            "key = \"queue.choke.candidates\"\nvalue = 99",
            "small.toml:33: queue.choke.candidates = 99: must be at least 1 and at most 64 packets",
        ),
        (
            "key = \"queue.red.max_p\"\nvalue = 0.5",
            "small.toml:33: queue.red.max_p: changes nothing while the discipline is choke: switch with queue.discipline first",
        ),
        (
            "key = \"run.seed\"\nvalue = 5",
            "small.toml:33: run.seed: cannot change during a run: what can are queue.discipline, parameters of the queue, rates of links, counts of flows without end, and parameters of udp, poisson and on_off sources",
        ),
        ("key = \"queue.limit\"", "small.toml:30: changes.0.value: must be given"),
        ("value = 3", "small.toml:30: changes.0.key: must be given"),
        (
            "key = \"queue.limit\"\nvalue = 3\nvalues = 4",
            "small.toml:34: changes.0.values: no such key; did you mean \"value\"?",
        ),
    ] {
        assert_eq!(refused(&change(rest)), said);
    }
    let first = Scenario::read(&format!("changes = 3\n{SMALL}"), "small.toml", &[]).err().unwrap().0;
    assert_eq!(first, "small.toml:1: changes: must be tables: [[changes]]");
    // What comes first makes what comes next possible, in the order of times, whatever that of the file.
    let later = "[[changes]]\ntime = \"3 s\"\nkey = \"queue.red.max_p\"\nvalue = 0.5\n";
    let first = "[[changes]]\ntime = \"2 s\"\nkey = \"queue.discipline\"\nvalue = \"red\"\n";
    let (resolved, measured) = finished(begin(&format!("{SMALL}{later}{first}")));
    assert_eq!(resolved["changes"][0]["value"]["discipline"], "red");
    let mut simulation = begin(SMALL);
    for (ms, key, value) in [(2_000, "queue.discipline", "red"), (3_000, "queue.red.max_p", "0.5")] {
        advance(&mut simulation, ms);
        simulation.set(key, value, &mut none).unwrap();
    }
    assert_eq!(finished(simulation).1, measured);
}

#[test]
fn what_is_planned_for_the_end_or_later_never_comes() {
    let expected = finished(begin(SMALL)).1;
    for time in ["6 s", "1 h"] {
        let text = format!("{SMALL}[[changes]]\ntime = \"{time}\"\nkey = \"queue.limit\"\nvalue = 1\n");
        assert_eq!(finished(begin(&text)).1, expected);
    }
    assert_eq!(begin(SMALL).duration(), Span::from_secs(6));
}
