//! A shaper beside a link of a dumbbell: where it stands, what it takes over, what is counted.

use crate::shared::scenarios::{self, assert_resolves_to_itself, read, refusal};
use sluicegate_netsim::{Hop, LinkPlan, Outcome, Plan, Sim};

/// An access line: 20 Mbit/s down and 8 up behind a modem that holds 250 kB.
const LINE: &str = r#"
[network]
rate = "20 Mbit/s"
delay = "10 ms"
framing = "docsis"

[network.reverse]
rate = "8 Mbit/s"

[queue]
discipline = "fq_codel"

[queue.drop_tail]
limit = "250000 B"

[[flows]]
name = "upload"
kind = "tcp"
direction = "reverse"

[[flows]]
name = "download"
kind = "tcp"

[[flows]]
name = "call"
kind = "udp"
rate = "100 kbit/s"
packet_size = "200 B"
direction = "reverse"

[run]
duration = "20 s"
warmup = "5 s"
"#;

const BOTH: [(&str, &str); 2] = [("network.shaper.rate", "95 %"), ("network.reverse.shaper.rate", "95 %")];

fn plan(sets: &[(&str, &str)]) -> Plan {
    read(LINE, sets).unwrap().plan().unwrap()
}

fn run(sets: &[(&str, &str)]) -> Outcome {
    scenarios::run(LINE, sets)
}

fn link<'a>(outcome: &'a Outcome, name: &str) -> &'a sluicegate_netsim::counters::LinkRow {
    outcome.links.iter().find(|link| link.name == name).unwrap()
}

/// The names of the links that a path crosses.
fn names(plan: &Plan, path: &[Hop]) -> Vec<String> {
    let name = |hop: &Hop| match *hop {
        Hop::Link(at) => Some(plan.links[at as usize].name.clone()),
        Hop::Line(_) => None,
    };
    path.iter().filter_map(name).collect()
}

#[test]
fn the_upload_meets_its_shaper_before_the_modem_and_the_download_behind_the_line() {
    let built = plan(&BOTH);
    let all: Vec<(&str, &str, u64, Option<u64>)> = built
        .links
        .iter()
        .map(|link: &LinkPlan| (&*link.name, &*link.discipline, link.rate.0, link.interface.map(|rate| rate.0)))
        .collect();
    let expected = [
        ("bottleneck", "drop_tail", 20_000_000, None),
        ("reverse", "drop_tail", 8_000_000, None),
        ("shaper", "fq_codel", 19_000_000, Some(190_000_000)),
        ("reverse_shaper", "fq_codel", 7_600_000, Some(76_000_000)),
    ];
    assert_eq!(all, expected);
    let [upload, download] = [&built.flows[0], &built.flows[1]];
    assert_eq!(names(&built, &upload.path), ["reverse_shaper", "reverse"]);
    assert_eq!(names(&built, &upload.return_path), ["bottleneck", "shaper"]);
    assert_eq!(names(&built, &download.path), ["bottleneck", "shaper"]);
    // The other way round where the table says so.
    let built =
        plan(&[BOTH[0], BOTH[1], ("network.shaper.position", "before"), ("network.reverse.shaper.position", "behind")]);
    assert_eq!(names(&built, &built.flows[0].path), ["reverse", "reverse_shaper"]);
    assert_eq!(names(&built, &built.flows[1].path), ["shaper", "bottleneck"]);
    // One way: before the link, and acknowledgements come back over its wire alone.
    let one = LINE.replace("[network.reverse]\nrate = \"8 Mbit/s\"\n", "").replace("direction = \"reverse\"\n", "");
    let built = read(&one, &BOTH[..1]).unwrap().plan().unwrap();
    assert_eq!(names(&built, &built.flows[0].path), ["shaper", "bottleneck"]);
    let lines = |path: &[Hop]| path.iter().filter(|hop| matches!(hop, Hop::Line(_))).count();
    assert_eq!(lines(&built.flows[0].return_path), 3, "its wire, and the access links on both sides");
}

#[test]
fn the_queue_is_in_the_shaper_and_the_modem_stays_empty() {
    let (alone, shaped) = (run(&[("queue.discipline", "drop_tail")]), run(&BOTH));
    let call = |outcome: &Outcome| outcome.flows[2].totals.delays.quantile(0.99) / 1e6;
    // 250 kB at 8 Mbit/s are 250 ms.
    assert!(call(&alone) > 200.0 && call(&shaped) < 30.0, "{} ms, {} ms", call(&alone), call(&shaped));
    let modem = link(&shaped, "reverse");
    // At most the burst of 1514 bytes and a packet come at once, 3 ms of the line.
    assert!(modem.delays.quantile(0.99) < 3.1e6 && modem.counters.dropped() == 0, "{:?}", modem.counters);
    assert!(link(&shaped, "reverse_shaper").counters.dropped() > 0);
    // What the line carries of a shaper of 95 %: packets of 1518 bytes with their framing.
    let sent = link(&shaped, "reverse_shaper").counters.departed_bytes as f64 * 8.0 / shaped.window.as_secs();
    assert!((0.97..=1.0).contains(&(sent / (7.6e6 * 1500.0 / 1518.0))), "{sent}");
    // A shaper that forgets the framing, 1.2 % of full packets, is too fast by 0.2 % at 99 %: the queue forms in the modem.
    let forgets = run(&[BOTH[0], ("network.reverse.shaper.rate", "99 %"), ("network.reverse.shaper.framing", "0 B")]);
    assert!(link(&forgets, "reverse").delays.quantile(0.99) > 10e6);
}

/// Whatever the discipline, and whatever its parameters are called: over any time at most the rate, the burst and a packet.
#[test]
fn no_discipline_sends_more_than_its_shaper() {
    const FLOOD: &str = r#"
        network = { rate = "20 Mbit/s", delay = "5 ms", shaper = { rate = "50 %" } }
        flows = [{ kind = "udp", rate = "30 Mbit/s" }]
        run = { duration = "4 s", warmup = "2 s" }
        "#;
    for each in sluicegate_aqm::all() {
        let name = each.table.about.name;
        let text = format!("queue = {{ discipline = \"{name}\" }}\n{FLOOD}");
        if sluicegate_aqm::is_container(name) {
            continue; // its classes would have to be said
        }
        let scenario = read(&text, &[]).unwrap();
        let mut sim = Sim::new(scenario.plan().unwrap());
        while sim.advance(1 << 16) {}
        let outcome = sim.finish();
        let sent = link(&outcome, "shaper").counters.departed_bytes as f64 * 8.0 / outcome.window.as_secs();
        // Two bursts of 1514 bytes, before and after the window's ends, and its packets: 0.02 Mbit/s over two seconds.
        assert!((4e6..=10.03e6).contains(&sent), "{name}: {sent}");
    }
}

#[test]
fn a_packet_is_one_arrival_of_its_flow_and_all_its_drops_count() {
    // A full bucket lets twenty packets go at once into a modem that holds three.
    let burst = [("network.reverse.shaper.burst", "30000 B"), ("network.reverse.shaper.buffer", "3")];
    let outcome = run(&[BOTH[0], BOTH[1], burst[0], burst[1], ("flows.0.count", "4"), ("run.warmup", "0 s")]);
    let (shaper, modem) = (link(&outcome, "reverse_shaper"), link(&outcome, "reverse"));
    assert!(shaper.counters.dropped() > 0 && modem.counters.dropped() > 0);
    // All that comes from the shaper reaches the modem, but for what is on its interface.
    assert!(shaper.counters.departures.abs_diff(modem.counters.arrivals) <= 1);
    for flow in [0, 5] {
        let totals = &outcome.flows[flow].totals;
        assert!(totals.arrivals.abs_diff(totals.sent[0]) <= 10, "{} of {}", totals.arrivals, totals.sent[0]);
    }
    let drops: u64 = outcome.flows.iter().map(|row| row.totals.drops.iter().sum::<u64>()).sum();
    let of_links: u64 = outcome.links.iter().map(|row| row.counters.dropped()).sum();
    assert!(drops > 0 && drops <= of_links, "{drops} of data, {of_links} with acknowledgements");
    assert!(outcome.flows.iter().all(|row| row.totals.drops_elsewhere == 0));
}

#[test]
fn cake_shapes_by_itself_with_the_framing_and_counts_drops_behind_the_line() {
    let sets = [BOTH[0], BOTH[1], ("queue.discipline", "cake")];
    let outcome = run(&sets);
    for (name, rate, behind) in [("shaper", 19e6, true), ("reverse_shaper", 7.6e6, false)] {
        let shaper = link(&outcome, name);
        assert_eq!((&*shaper.discipline, shaper.rate.0 as f64), ("cake", rate));
        let sent = shaper.counters.departed_bytes as f64 * 8.0 / outcome.window.as_secs();
        // Behind the line what is dropped counts against the rate.
        let least = if behind { 0.90 } else { 0.97 };
        assert!((least..=1.0).contains(&(sent / (rate * 1500.0 / 1518.0))), "{name}: {sent}");
    }
    assert!(link(&outcome, "reverse").counters.max_packets <= 2, "no burst reaches the modem");
    let told = refusal(LINE, &[sets[0], sets[2], ("queue.cake.bandwidth", "18 Mbit/s")]);
    assert_eq!(told, "sets: queue.cake.bandwidth: the shaper of the network says the rate: leave one of them out");
    // What the file says of it counts.
    let forgets =
        run(&[sets[0], sets[1], sets[2], ("queue.cake.overhead", "0"), ("network.reverse.shaper.rate", "99 %")]);
    assert!(link(&forgets, "reverse").counters.max_packets > 5);
}

#[test]
fn what_a_shaper_has_by_default_and_what_is_refused() {
    let resolved = read(LINE, &BOTH).unwrap().resolved;
    let of = |pointer: &str| resolved.pointer(pointer).unwrap().to_string();
    let upload = "/network/reverse/shaper";
    let expected = [
        ("rate", "\"7600 kbit/s\""),
        ("framing", "\"18 B\""),
        ("frame_min", "\"64 B\""),
        ("cells", "\"none\""),
        ("burst", "\"1514 B\""),
        ("position", "\"before\""),
        ("buffer", "\"250000 B\""),
    ];
    for (key, value) in expected {
        assert_eq!(of(&format!("{upload}/{key}")), value, "{key}");
    }
    // A millisecond of 19 Mbit/s.
    assert_eq!([of("/network/shaper/burst"), of("/network/shaper/position")], ["\"2375 B\"", "\"behind\""]);
    assert_resolves_to_itself(&resolved);
    // Without a limit of Drop Tail the buffer has its default.
    let plain = read(&LINE.replace("[queue.drop_tail]\nlimit = \"250000 B\"\n", ""), &BOTH).unwrap().resolved;
    assert_eq!(plain.pointer("/network/shaper/buffer").unwrap(), 1000);
    for (value, told) in
        [("120 %", "up to 100 %"), ("0 %", "up to 100 %"), ("fast", "up to 100 %"), ("0 bit/s", "up to 100 %")]
    {
        let said = refusal(LINE, &[("network.shaper.rate", value)]);
        assert!(
            said.starts_with("sets: network.shaper.rate: must be a rate")
                && said.ends_with(&format!("{told}: \"95 %\"")),
            "{said}"
        );
    }
    let told = refusal(&LINE.replace("[queue]\n", "[network.shaper]\nbuffr = 3\n\n[queue]\n"), &[]);
    assert_eq!(told, "test.toml:11: network.shaper.buffr: no such key; did you mean \"buffer\"?");
    let told = refusal(LINE, &[("network.shaper", "3")]);
    assert_eq!(told, "sets: network.shaper: must be a table: [network.shaper]");
    let told = refusal(LINE, &[BOTH[0], ("network.shaper.burst", "3")]);
    assert!(told.contains("burst is in bytes"), "{told}");
}

/// Discipline and parameters change in the shaper, not in the modem; and the same again with the same seed.
#[test]
fn what_changes_during_a_run_is_the_shapers_queue() {
    let change = "[[changes]]\ntime = \"8 s\"\nkey = \"queue.discipline\"\nvalue = \"cake\"\n";
    let text = format!("{LINE}{change}");
    let play = || {
        let scenario = read(&text, &BOTH).unwrap();
        let plan = scenario.plan().unwrap();
        let mut run = sluicegate_lab::Simulation::new(scenario, plan);
        let end = sluicegate_base::Time::NEVER;
        while run.advance(end, 1 << 20, &mut |foreign, _, _| Err(foreign.error(""))).unwrap_or_else(|_| panic!()) {}
        let names: Vec<String> = run.sim().links().iter().map(|link| link.discipline.to_string()).collect();
        (names, run.finish().0.to_string())
    };
    let (names, summary) = play();
    assert_eq!(names, ["drop_tail", "drop_tail", "cake", "cake"]);
    assert_eq!(summary, play().1);
}
