//! Two-way traffic, TELNET sessions and hosts that take their time, from scenarios.

use crate::shared::scenarios::{assert_resolves_to_itself, read, refusal, run, sim};
use serde_json::{Value as Json, json};
use sluicegate_lab::{ScenarioError, Simulation};
use sluicegate_netsim::End;
use sluicegate_netsim::Outcome;
use std::sync::{Arc, Mutex};

const DUMBBELL: &str = r#"
[network]
rate = "8 Mbit/s"
delay = "10 ms"
access_rate = "100 Mbit/s"

[[flows]]
kind = "tcp"
profile = "ns2"
count = 3
window = 20

[run]
duration = "20 s"
warmup = "4 s"
"#;

const BACK: &str =
    "[[flows]]\nkind = \"tcp\"\nprofile = \"ns2\"\ncount = 3\nwindow = 20\ndirection = \"reverse\"\n\n[run]";

fn both_ways() -> String {
    DUMBBELL.replace("[run]", BACK)
}

fn utilisation(outcome: &Outcome, link: usize) -> f64 {
    let link = &outcome.links[link];
    link.counters.departed_bytes as f64 * 8.0 / outcome.window.as_secs() / link.rate.0 as f64
}

/// A run with its changes, at its end.
fn with_changes(text: &str) -> Result<Simulation, ScenarioError> {
    let scenario = read(text, &[])?;
    let plan = scenario.plan()?;
    let mut run = Simulation::new(scenario, plan);
    let never = sluicegate_base::Time::NEVER;
    while run.advance(never, 1 << 20, &mut |foreign, _, _| Err(foreign.error(""))).unwrap_or_else(|_| panic!()) {}
    Ok(run)
}

/// The gaps in nanoseconds between acknowledgements of new data, flow by flow, as they leave the last link on their way to
/// the senders of the first three flows: `link` is its name.
fn ack_gaps(text: &str, link: &str) -> Vec<u64> {
    let mut sim = sim(text, &[]);
    let seen: Arc<Mutex<Vec<(u32, u64)>>> = Arc::default();
    let notes = Arc::clone(&seen);
    sim.observe(
        link,
        Box::new(move |time, packet, _| {
            if packet.to == End::Sender && packet.flow < 3 && time.as_secs() > 4.0 {
                notes.lock().unwrap().push((packet.flow, time.0));
            }
        }),
    );
    while sim.advance(1 << 20) {}
    drop(sim);
    let seen = seen.lock().unwrap();
    let mut last = [None; 3];
    seen.iter().filter_map(|(flow, time)| last[*flow as usize].replace(*time).map(|before| time - before)).collect()
}

#[test]
fn a_flow_in_reverse_makes_the_network_two_way_with_a_queue_for_each_direction() {
    let outcome = run(&both_ways(), &[("queue.discipline", "red")]);
    let links: Vec<(&str, &str)> = outcome.links.iter().map(|link| (link.name.as_str(), &*link.discipline)).collect();
    assert_eq!(links, [("bottleneck", "red"), ("reverse", "red")]);
    for link in 0..2 {
        assert!(utilisation(&outcome, link) > 0.7, "{link}: {}", utilisation(&outcome, link));
    }
    // Each queue holds both the data of one direction and the acknowledgements of the other.
    for (link, flows) in [(0, 0..3), (1, 3..6)] {
        let data: u64 = outcome.flows[flows].iter().map(|row| row.totals.delivered[0]).sum();
        let departures = outcome.links[link].counters.departures;
        assert!(departures > data + data / 2, "{departures} packets, {data} of data");
    }
    assert!(outcome.flows.iter().all(|row| row.base_rtt.map(|span| span.0) == Some(20_000_000)));
    let over: Vec<&str> = outcome.flows.iter().map(|row| outcome.link_name(row.link.unwrap())).collect();
    assert_eq!(over, ["bottleneck", "bottleneck", "bottleneck", "reverse", "reverse", "reverse"]);
    // One-way, as ever, nobody studies the way back.
    assert_eq!(run(DUMBBELL, &[]).links.len(), 1);
    let asked = run(DUMBBELL, &[("network.two_way", "true")]);
    assert_eq!(asked.links.len(), 2);
    assert_eq!(asked.links[1].counters.drops.iter().sum::<u64>(), 0);
    assert!(asked.links[1].counters.arrivals > 10_000, "acknowledgements cross it");
}

/// Zhang, Shenker & Clark 1991: acknowledgements that wait behind data of the other direction leave the queue together.
/// A data packet of 1000 bytes takes 1 ms here, an acknowledgement of 40 bytes 0.04 ms.
#[test]
fn two_way_traffic_compresses_acknowledgements() {
    let one_way = ack_gaps(&DUMBBELL.replace("delay = \"10 ms\"", "delay = \"10 ms\"\ntwo_way = true"), "reverse");
    let shortest = *one_way.iter().min().unwrap();
    assert!(one_way.len() > 10_000 && shortest >= 999_000, "spaced as the data was served: {shortest} ns");
    let two_way = ack_gaps(&both_ways(), "reverse");
    let shortest = *two_way.iter().min().unwrap();
    let compressed = two_way.iter().filter(|gap| **gap < 500_000).count() as f64 / two_way.len() as f64;
    assert_eq!(shortest, 40_000, "back to back");
    assert!(compressed > 0.25, "{compressed} of the gaps are below half of a packet's service time");
}

#[test]
fn directions_that_make_no_sense_are_refused_where_they_stand() {
    let told = refusal(&both_ways(), &[("network.two_way", "false")]);
    assert_eq!(told, "test.toml:18: flows.1.direction: network.two_way is false: leave it out");
    let told = refusal(DUMBBELL, &[("flows.0.direction", "revers")]);
    assert!(told.contains("did you mean \"reverse\"?"), "{told}");
    let links = "[[network.links]]\nname = \"out\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbit/s\"\n[[flows]]\nkind = \"tcp\"\n\
                 path = [\"out\"]\ndirection = \"reverse\"\n[run]\nduration = \"1 s\"\n";
    let told = refusal(links, &[]);
    assert!(told.starts_with("test.toml:9: flows.0.direction: only a dumbbell has directions"), "{told}");
    // A resolved scenario resolves to itself.
    for text in [both_ways(), DUMBBELL.replace("[run]", "[[flows]]\nkind = \"telnet\"\nmessages = 4\n\n[run]")] {
        let first = read(&text, &[]).unwrap().resolved;
        assert_resolves_to_itself(&first);
    }
}

const OWN: &str = r#"
[queue]
discipline = "drop_tail"
limit = 50

[network.reverse.queue]
discipline = "red"

[network.reverse.queue.red]
min_th = 7
max_th = 33
"#;

#[test]
fn the_opposite_direction_may_have_a_queue_of_its_own() {
    let text = format!("{}{OWN}", both_ways());
    let disciplines = |sets: &[(&str, &str)]| -> Vec<String> {
        run(&text, sets).links.iter().map(|link| link.discipline.to_string()).collect()
    };
    assert_eq!(disciplines(&[]), ["drop_tail", "red"]);
    assert_eq!(disciplines(&[("queue.discipline", "codel")]), ["codel", "red"]);
    assert_eq!(disciplines(&[("network.reverse.queue.discipline", "pie")]), ["drop_tail", "pie"]);
    // It has the values of its own table, and those alone: nothing of [queue], whose limit is 50.
    let resolved = read(&text, &[]).unwrap().resolved;
    let own = &resolved["network"]["reverse"]["queue"];
    assert_eq!((&own["min_th"], &own["max_th"], &resolved["queue"]["limit"]), (&7.into(), &33.into(), &50.into()));
    assert_ne!(own["limit"], 50);
    assert_resolves_to_itself(&resolved);
    // A dumbbell of one direction becomes one of two by it.
    assert_eq!(run(DUMBBELL, &[("network.reverse.queue.discipline", "pie")]).links.len(), 2);
}

#[test]
fn the_opposite_direction_may_have_a_buffer_of_its_own() {
    let queue = "[queue.drop_tail]\nlimit = 50\n";
    let text = format!("{}{queue}[network.reverse]\nrate = \"1 Mbit/s\"\nbuffer = \"120 ms\"\n", both_ways());
    let limits = |sets: &[(&str, &str)]| -> [Json; 2] {
        let resolved = read(&text, sets).unwrap().resolved;
        assert_resolves_to_itself(&resolved);
        [resolved["queue"]["limit"].clone(), resolved["network"]["reverse"]["queue"]["limit"].clone()]
    };
    assert_eq!(limits(&[]), [json!(50), json!("15000 B")]);
    assert_eq!(limits(&[("queue.drop_tail.limit", "20"), ("network.reverse.buffer", "9")]), [json!(20), json!(9)]);
    // It is the line's: another discipline has the values of [queue], and a queue of its own its own.
    assert_eq!(limits(&[("queue.discipline", "codel")])[1], Json::Null);
    assert_eq!(limits(&[("network.reverse.queue.discipline", "drop_tail")])[1], 1000);
    // Beside a shaper it is the modem's, and the shaper's queue is that of [queue].
    let shaped = read(&text, &[("network.reverse.shaper.rate", "90 %")]).unwrap().resolved;
    assert_eq!(shaped["network"]["reverse"]["shaper"]["buffer"], "15000 B");
    assert_eq!(shaped["network"]["reverse"].get("queue"), None);
    // The queue holds what it says.
    let longest = |sets: &[(&str, &str)]| {
        let links = run(&text, sets).links;
        (links[0].counters.max_packets, links[1].counters.max_packets)
    };
    let (forward, back) = longest(&[("network.reverse.buffer", "9")]);
    assert_eq!(longest(&[("network.reverse.buffer", "8")]), (forward, back - 1));
    assert!(back <= 9 && forward > 9, "{forward} {back}");
    let change = "[[changes]]\ntime = \"1 ms\"\nkey = \"queue.drop_tail.limit\"\nvalue = 3\n";
    let mut changed = with_changes(&format!("{text}{change}")).unwrap();
    let longest: Vec<u64> = changed.sim().links().iter().map(|link| link.port.counters.max_packets).collect();
    assert!(longest[0] == 3 && longest[1] > 3, "{longest:?}");
    assert_eq!(
        refusal(&format!("{text}\n[network.reverse.queue]\ndiscipline = \"red\"\n"), &[]),
        "test.toml:27: network.reverse.buffer: the direction's own queue says its limit: leave one of them out"
    );
}

#[test]
fn a_queue_of_the_opposite_direction_changes_alone() {
    let change = |key: &str, value: &str| {
        let text = format!("{}{OWN}[[changes]]\ntime = \"2 s\"\nkey = \"{key}\"\nvalue = {value}\n", both_ways());
        let mut run = with_changes(&text)?;
        let names: Vec<String> = run.sim().links().iter().map(|link| link.discipline.to_string()).collect();
        let (summary, _) = run.finish();
        Ok::<_, ScenarioError>((names, summary["scenario"]["changes"][0].clone()))
    };
    let (names, _) = change("queue.discipline", "\"codel\"").unwrap();
    assert_eq!(names, ["codel", "red"]);
    let (names, resolved) = change("network.reverse.queue.discipline", "\"codel\"").unwrap();
    assert_eq!(names, ["drop_tail", "codel"]);
    assert_eq!(resolved["key"], "network.reverse.queue");
    let (_, resolved) = change("network.reverse.queue.red.max_th", "20").unwrap();
    assert_eq!((&resolved["key"], &resolved["value"]), (&"network.reverse.queue.max_th".into(), &20.into()));
    let told = change("network.reverse.queue.pie.target", "\"20 ms\"").err().unwrap().0;
    assert!(
        told.ends_with("while the discipline is red: switch with network.reverse.queue.discipline first"),
        "{told}"
    );
}

#[test]
fn a_queue_of_the_opposite_direction_is_refused_where_it_stands() {
    let with = |lines: &str| refusal(&format!("{}{lines}", both_ways()), &[]);
    let told = with("[network.reverse.queue]\nmin_th = 7\n");
    assert_eq!(
        told,
        "test.toml:23: network.reverse.queue.discipline: must be given: nothing of [queue] is taken over here"
    );
    let told = with("[network.reverse.queue]\ndiscipline = \"rd\"\n");
    assert_eq!(
        told,
        "test.toml:24: network.reverse.queue.discipline: no such discipline: \"rd\"; did you mean \"red\"?"
    );
    let told = with("[network.reverse.queue]\ndiscipline = \"red\"\nmin_th = 50\nmax_th = 20\n");
    assert!(told.starts_with("test.toml:25: network.reverse.queue.min_th = 50 packets: breaks the rule"), "{told}");
    assert_eq!(
        with("[network.reverse]\nqueue = 3\n"),
        "test.toml:24: network.reverse.queue: must be a table: [network.reverse.queue]"
    );
    let told = refusal(DUMBBELL, &[("network.two_way", "false"), ("network.reverse.queue.discipline", "red")]);
    assert_eq!(told, "sets: network.reverse: two_way is false: leave one of them out");
    let changes =
        format!("{DUMBBELL}[[changes]]\ntime = \"2 s\"\nkey = \"network.reverse.queue.discipline\"\nvalue = \"red\"\n");
    let told = refusal(&changes, &[]);
    assert_eq!(told, "test.toml:19: network.reverse.queue.discipline: no flow goes in reverse: say two_way = true");
}

#[test]
fn a_telnet_session_sends_small_packets_at_its_interval_and_ends_after_its_messages() {
    let telnet = |sets: &[(&str, &str)]| {
        let base = [("flows.0.kind", "telnet"), ("run.duration", "2000 s"), ("run.series", "false")];
        run(DUMBBELL, &[&base[..], sets].concat())
    };
    let outcome = telnet(&[("flows.0.count", "10")]);
    assert!(outcome.flows.iter().all(|row| (row.kind, row.algorithm) == ("telnet", "reno")));
    // Ten sessions of 1996 s with gaps of 1.1 s; four standard errors of a Poisson count.
    let packets: u64 = outcome.flows.iter().map(|row| row.totals.delivered[0]).sum();
    let expected = 10.0 * 1996.0 / 1.1;
    assert!((packets as f64 - expected).abs() < 4.0 * f64::sqrt(expected), "{packets}, {expected}");
    assert!(outcome.flows.iter().all(|row| row.totals.delivered[1] == 41 * row.totals.delivered[0]), "a byte each");
    let limited = telnet(&[("flows.0.messages", "40"), ("flows.0.message_size", "100 B"), ("run.warmup", "0 s")]);
    for row in &limited.flows {
        let [packets, bytes] = row.totals.delivered;
        // The opening takes a packet; messages that meet in the sender share one.
        assert_eq!(bytes, 40 * packets + 40 * 100);
        let seconds = row.completion.expect("it ends").as_secs();
        assert!((20.0..90.0).contains(&seconds), "39 gaps of 1.1 s: {seconds}");
    }
    let stopped = telnet(&[("flows.0.stop", "500 s"), ("run.warmup", "500 s")]);
    assert!(stopped.flows.iter().all(|row| row.totals.sent[0] <= 1), "nothing is typed after the stop");
}

/// RED 1993, Sec. V: up to the service time for each packet. At half of it on average a host keeps up with the link.
#[test]
fn preparation_delays_data_and_keeps_the_throughput() {
    let alone = |send_jitter: &str, window: &str| {
        let sets = [("flows.0.send_jitter", send_jitter), ("flows.0.count", "1"), ("flows.0.window", window)];
        run(DUMBBELL, &sets)
    };
    // With one packet under way each takes a round trip: 1 ms of send jitter adds 0.5 ms.
    let round_trip = |send_jitter| 16.0 / alone(send_jitter, "1").flows[0].totals.delivered[0] as f64 * 1e3;
    let added = round_trip("1 ms") - round_trip("0 s");
    assert!((added - 0.5).abs() < 0.05, "{added} ms");
    // A window of 30 packets fills 20 ms of the link; the packet's delay counts from when the host has it ready.
    let throughput = |send_jitter| utilisation(&alone(send_jitter, "30"), 0);
    assert!(throughput("1 ms") > 0.97 && throughput("0 s") > 0.97, "{}", throughput("1 ms"));
    let delays = alone("20 ms", "1").flows[0].totals.delays.quantile(1.0);
    assert!(delays < 12e6, "preparation is no part of the delay: {delays}");
}

/// Floyd & Jacobson 1992: where senders are synchronised with a Drop Tail queue, two milliseconds of round trip decide whose packets are dropped.
/// Two connections on their network (0.8 Mbit/s, so 10 ms for a packet): with a random time of up to 10 ms over each packet
/// the shares no longer hang on it.
#[test]
fn preparation_avoids_traffic_phase_effects() {
    let network = "[network]\nrate = \"0.8 Mbit/s\"\ndelay = \"100 ms\"\naccess_rate = \"8 Mbit/s\"\n\
                   [queue]\ndiscipline = \"drop_tail\"\nlimit = 15\n\
                   [run]\nduration = \"200 s\"\nwarmup = \"50 s\"\nseries = false\n";
    let flow = |rtt: u32, start: u32, send_jitter: &str| {
        format!(
            "[[flows]]\nkind = \"tcp\"\nprofile = \"red1993\"\nwindow = 32\nspread = \"0 s\"\nstart = \"{start} s\"\n\
             rtt = \"{rtt} ms\"\nsend_jitter = \"{send_jitter}\"\n"
        )
    };
    // The second connection's share of what is delivered, mean over three seeds.
    let share = |rtt, send_jitter| {
        let text = format!("{}{}{network}", flow(230, 0, send_jitter), flow(rtt, 1, send_jitter));
        let of = |seed| {
            let outcome = run(&text, &[("run.seed", seed)]);
            let delivered = |k: usize| outcome.flows[k].totals.delivered[0] as f64;
            delivered(1) / (delivered(0) + delivered(1))
        };
        ["1", "2", "3"].map(of).iter().sum::<f64>() / 3.0
    };
    let jump = |send_jitter| (share(249, send_jitter) - share(251, send_jitter)).abs();
    let (in_step, prepared) = (jump("0 s"), jump("10 ms"));
    assert!(in_step > 0.3, "a round trip longer by 2 ms moves the share by {in_step}");
    assert!(prepared < 0.1, "with preparation by {prepared}");
}

#[test]
fn decbit_with_delayed_acknowledgements_is_refused() {
    let told = refusal(DUMBBELL, &[("flows.0.algorithm", "decbit"), ("flows.0.profile", "freebsd45")]);
    assert!(told.contains("decbit and ut_lt acknowledge every packet at once: delayed_ack = 0 s"), "{told}");
    let sets = [("flows.0.algorithm", "decbit"), ("flows.0.profile", "freebsd45"), ("flows.0.delayed_ack", "0 s")];
    assert!(read(DUMBBELL, &sets).is_ok());
}
