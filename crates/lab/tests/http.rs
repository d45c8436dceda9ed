//! Web users: exchanges by hand, connections that come and go, what depends on the queue and what does not.

use crate::shared::scenarios::{refusal, run, sim};
use sluicegate_base::Time;
use sluicegate_netsim::Outcome;
use sluicegate_netsim::workloads::exchanges::ExchangeRow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// One user on a link so fast that packets take no time to send, 100 ms away.
const IDLE: &str = r#"
[network]
rate = "100 Gbit/s"
access_rate = "100 Gbit/s"
[queue]
discipline = "drop_tail"
limit = 10000
[[flows]]
kind = "http"
profile = "dcn2004"
rtt = "100 ms"
spread = "0 s"
request_size = "constant(300 B)"
response_size = "constant(1448 B)"
embedded_size = "constant(1448 B)"
embedded_objects = "constant(0)"
pages_per_server = "constant(2)"
think_time = "constant(10 s)"
persistent = 0.0
[run]
duration = "100 s"
series = false
exchanges = true
"#;

/// Many users on a link of 10 Mbit/s, loaded both ways.
const BUSY: &str = r#"
[network]
rate = "10 Mbit/s"
access_rate = "100 Mbit/s"
[queue]
discipline = "drop_tail"
limit = 60
[[flows]]
kind = "http"
count = 900
profile = "dcn2004"
rtt = "10 ms"
rtt_max = "150 ms"
[[flows]]
kind = "http"
count = 700
profile = "dcn2004"
direction = "reverse"
rtt = "10 ms"
rtt_max = "150 ms"
persistent = 0.5
[run]
duration = "60 s"
warmup = "10 s"
exchanges = true
"#;

/// Response times in milliseconds, rounded: sending takes microseconds.
fn times(outcome: &Outcome) -> Vec<u64> {
    outcome.exchanges.iter().map(|row| (row.response_time.as_secs() * 1e3).round() as u64).collect()
}

/// A round trip opens the connection, and half of one takes the request there; the response comes in slow start from one
/// segment.
#[test]
fn an_exchange_on_an_idle_link_takes_the_round_trips_of_slow_start() {
    let cases = [
        // One segment: SYN and request, 2 round trips.
        ("constant(1448 B)", "100 ms", 200),
        ("constant(1 B)", "100 ms", 200),
        // 1 + 2 + 4 segments when each is acknowledged at once.
        ("constant(10136 B)", "0 s", 400),
        // The first is acknowledged after 100 ms; then 2 and 3, and what the acknowledgement of two lets out.
        ("constant(10136 B)", "100 ms", 600),
        // One byte more than 7 segments is not one round trip more: the window has room.
        ("constant(10137 B)", "100 ms", 600),
    ];
    for (size, delayed_ack, expected) in cases {
        let outcome = run(IDLE, &[("flows.0.response_size", size), ("flows.0.delayed_ack", delayed_ack)]);
        let times = times(&outcome);
        assert!(times.len() >= 9 && times.iter().all(|time| *time == expected), "{size}, {delayed_ack}: {times:?}");
    }
}

#[test]
fn requests_on_a_persistent_connection_save_its_opening() {
    let page = ("flows.0.embedded_objects", "constant(3)");
    let of_page = |persistent: &str, parallel: &str, keep_alive: &str| {
        let sets = [
            page,
            ("flows.0.persistent", persistent),
            ("flows.0.parallel", parallel),
            ("flows.0.persistent_parallel", parallel),
            ("flows.0.keep_alive", keep_alive),
        ];
        let outcome = run(IDLE, &sets);
        let row = &outcome.groups[0];
        let pages = row.totals.completed as f64 / 4.0;
        (times(&outcome)[..8].to_vec(), row.totals.opened as f64 / pages, row.most_open)
    };
    // A connection for each object: two round trips each. Those that are closing are there for one more.
    assert_eq!(of_page("0", "1", "0 s"), (vec![200; 8], 4.0, 2));
    assert_eq!(of_page("0", "2", "0 s"), (vec![200; 8], 4.0, 3));
    // One that stays: closed after each page, and after both pages of a server.
    assert_eq!(of_page("1", "1", "0 s"), (vec![200, 100, 100, 100, 200, 100, 100, 100], 1.0, 1));
    let (times, each, most) = of_page("1", "1", "15 s");
    assert_eq!((times, most), (vec![200, 100, 100, 100, 100, 100, 100, 100], 1));
    assert!((0.5..0.6).contains(&each), "{each}");
    // A second one is opened for the second object, and the third waits for the first that is free.
    assert_eq!(of_page("1", "2", "0 s"), (vec![200, 100, 200, 100, 200, 100, 200, 100], 2.0, 2));
}

#[test]
fn connections_are_opened_closed_and_counted() {
    let outcome = run(BUSY, &[("run.warmup", "0 s")]);
    for (group, flow) in outcome.groups.iter().zip(&outcome.flows) {
        let totals = &group.totals;
        assert_eq!(totals.opened, totals.closed + u64::from(group.open));
        assert!(totals.asked >= totals.completed && totals.completed > 3000, "{}", totals.completed);
        assert!(group.open <= group.most_open);
        // All data delivered is that of responses, acknowledgements and openings aside.
        assert!(flow.totals.delivered[1] > totals.bytes[1]);
        assert_eq!(flow.base_rtt, None);
        let kept: Vec<&ExchangeRow> = outcome.exchanges.iter().filter(|row| row.group == group.group).collect();
        assert_eq!(kept.len() as u64, totals.completed);
        assert_eq!(kept.iter().map(|row| u64::from(row.response)).sum::<u64>(), totals.bytes[1]);
        assert_eq!(kept.iter().map(|row| u128::from(row.response_time.0)).sum::<u128>(), totals.response_time_sum);
        let cells = || totals.grid.iter();
        assert_eq!(cells().map(|(.., cell)| cell.exchanges).sum::<u64>(), totals.completed);
        assert_eq!(cells().map(|(.., cell)| cell.bytes).sum::<u64>(), totals.bytes[1]);
        let small = kept.iter().filter(|row| row.response <= 100_000).count() as u64;
        let of_grid = cells().filter(|(size, ..)| *size <= 100_000).map(|(.., cell)| cell.exchanges).sum::<u64>();
        assert_eq!(small, of_grid, "a class ends there");
        assert!(flow.retransmissions > 0 && flow.timeouts > 0);
    }
    // Where connections stay open there are fewer of them than requests.
    let [first, second] = [&outcome.groups[0].totals, &outcome.groups[1].totals];
    assert!((first.opened as f64) < first.asked as f64 && (second.opened as f64) < 0.8 * second.asked as f64);
}

#[test]
fn packets_are_conserved_and_the_window_counts_what_is_in_it() {
    let mut whole = sim(BUSY, &[("run.warmup", "0 s")]);
    while whole.advance(1 << 16) {}
    for link in whole.links() {
        let [queued, _, sending] = link.port.holds();
        let lost: u64 = link.port.counters.drops.iter().sum();
        assert_eq!(link.port.counters.arrivals, link.port.counters.departures + sending + queued + lost);
        assert!(lost > 0);
    }
    let (whole, late) = (whole.finish(), run(BUSY, &[]));
    let from = Time::ZERO + sluicegate_base::Span::from_secs(10);
    let counted = whole.exchanges.iter().filter(|row| row.time + row.response_time >= from);
    assert!(counted.eq(late.exchanges.iter()), "those whose response came in the window");
}

#[test]
fn a_seed_gives_the_same_run_in_any_slices() {
    let outcome = |seed: &str, budget| {
        let mut sim = sim(BUSY, &[("run.seed", seed), ("run.duration", "20 s")]);
        while sim.advance(budget) {}
        let outcome = sim.finish();
        let rows: Vec<ExchangeRow> = outcome.exchanges.iter().copied().collect();
        (rows, outcome.events, format!("{:?}", outcome.groups[1].totals))
    };
    let first = outcome("1", 1 << 20);
    assert_eq!(first, outcome("1", 77));
    assert_ne!(first.0, outcome("2", 1 << 20).0);
}

/// Users one by one, each a group, so that their exchanges can be told apart; each asks for one object at a time.
#[test]
fn what_users_do_does_not_depend_on_the_queue() {
    let entry = IDLE.split("[[flows]]").nth(1).unwrap().split("[run]").next().unwrap();
    let entry: String = entry
        .lines()
        .filter(|line| !["response_size", "embedded", "think", "pages"].iter().any(|key| line.starts_with(key)))
        .map(|line| format!("{line}\n"))
        .collect();
    let (head, tail) = IDLE.split_once("[[flows]]").unwrap();
    let run_table = &tail[tail.find("[run]").unwrap()..];
    let text = format!("{head}{}{run_table}", format!("[[flows]]{entry}parallel = 1\n").repeat(12));
    let responses = |rate: &str, limit: &str, discipline: &str| {
        let outcome = run(
            &text,
            &[
                ("network.rate", rate),
                ("queue.limit", limit),
                ("queue.discipline", discipline),
                ("run.duration", "400 s"),
            ],
        );
        let mut all: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        outcome.exchanges.iter().for_each(|row| all.entry(row.group).or_default().push(row.response));
        all
    };
    let (idle, busy) = (responses("1 Gbit/s", "1000", "drop_tail"), responses("200 kbit/s", "8", "random_drop"));
    let (mut compared, mut fewer) = (0, 0);
    for (group, idle) in &idle {
        let busy = busy.get(group).map_or(&[][..], |all| all);
        let common = idle.len().min(busy.len());
        assert_eq!(idle[..common], busy[..common], "group {group}");
        compared += common;
        fewer += idle.len() - common;
    }
    assert!(compared > 100 && fewer > 20, "{compared}, {fewer}");
}

#[test]
fn every_connection_is_a_flow_of_its_own_to_queues() {
    let mut sim = sim(BUSY, &[("run.warmup", "0 s"), ("run.duration", "30 s")]);
    // For each connection when it was first and last seen, and how often its opening was answered.
    let seen: Arc<Mutex<BTreeMap<u32, u32>>> = Arc::default();
    let shared = seen.clone();
    let note = move |_: Time, packet: &sluicegate_netsim::SimPacket, _: &sluicegate_tcp::Segment| {
        assert_eq!(packet.key().0, u64::from(packet.connection) << 1 | packet.to as u64);
        let first = packet.segment.seq == 0 && packet.segment.len > 0 && packet.flow == 0;
        *shared.lock().unwrap().entry(packet.connection).or_default() += u32::from(first);
    };
    assert!(sim.observe("bottleneck", Box::new(note)));
    while sim.advance(1 << 16) {}
    let outcome = sim.finish();
    let opened: u64 = outcome.groups.iter().map(|group| group.totals.opened).sum();
    let seen = seen.lock().unwrap();
    let (least, most) = (*seen.keys().next().unwrap(), *seen.keys().last().unwrap());
    assert!(least == 2 && u64::from(most) < 2 + opened, "numbers follow those of the two flows");
    assert!(seen.len() as u64 > opened - 200, "nearly each has had a packet on the link: {} of {opened}", seen.len());
    // The first byte of a stream is sent once, and again only after a loss.
    let (once, all) = (seen.values().filter(|n| **n <= 1).count(), seen.len());
    assert!(once as f64 > 0.8 * all as f64, "{once} of {all}");
}

/// Ten times the run: ten times the connections, and no more places.
#[test]
fn places_follow_the_connections_that_there_are_at_once() {
    let places = |duration: &str| {
        let sets = [("run.duration", duration), ("network.rate", "1 Gbit/s"), ("run.warmup", "0 s")];
        let mut sim = sim(BUSY, &[&sets[..], &[("run.exchanges", "false")]].concat());
        while sim.advance(1 << 16) {}
        let [used, all] = sim.slots();
        let outcome = sim.finish();
        let (open, opened) = outcome.groups.iter().fold((0, 0), |sum, group| {
            assert!(all >= group.most_open as usize);
            (sum.0 + group.open as usize, sum.1 + group.totals.opened)
        });
        assert_eq!(used, open);
        let most: u32 = outcome.groups.iter().map(|group| group.most_open).sum();
        assert!(all <= most as usize, "no place is made while one is free");
        (all as f64, opened as f64)
    };
    let ((short, few), (long, many)) = (places("30 s"), places("300 s"));
    assert!((9.0..11.0).contains(&(many / few)), "{few} and {many} connections");
    assert!(long < 1.6 * short, "{short} and {long} places");
}

/// 10,000 users in one direction make 1602 requests/s and about 105 Mbit/s (DCN 2004, Table 1), from the start.
#[test]
fn users_make_the_requests_of_table_1_from_the_start() {
    for (duration, warmup) in [("40 s", "10 s"), ("140 s", "110 s")] {
        let sets = [
            ("network.rate", "1 Gbit/s"),
            ("run.duration", duration),
            ("run.warmup", warmup),
            ("flows.0.count", "4000"),
            ("run.exchanges", "false"),
        ];
        let outcome = run(BUSY, &sets);
        let rate = outcome.groups[0].totals.asked as f64 / 30.0 / 4000.0;
        // Pages of five or so objects: about 3800 of them, each with a deviation like its mean.
        assert!((rate - 0.160).abs() < 4.0 * 0.16 * 1.4 / 3800f64.sqrt(), "{warmup}: {rate}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_at_its_line() {
    for (key, value, rule) in [
        ("think_time", "exponential(mean = 3)", "3"),
        ("response_size", "weibull(mean = 3 kB)", "no such distribution"),
        ("closing", "false", "open and close"),
        ("send_jitter", "1 ms", "prepare"),
        ("access_jitter", "1 ms", "none"),
        ("size", "3", "no such key for kind http"),
    ] {
        let error = refusal(IDLE, &[(&format!("flows.0.{key}"), value)]);
        assert!(error.contains(rule) && error.contains(&format!("flows.0.{key}")), "{key}: {error}");
    }
    let wrong = IDLE.replace("constant(300 B)", "constant(300)");
    let error = refusal(&wrong, &[]);
    assert!(error.starts_with("test.toml:13: flows.0.request_size"), "{error}");
}
