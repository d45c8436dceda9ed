//! General TCP: both formats of connection vectors, replayed by hand, and drawn.

use crate::shared::scenarios::{self, finished, refusal, sim};
use proptest::prelude::*;
use proptest::{collection, option};
use sluicegate_base::{Span, Time};
use sluicegate_lab::vectors::{Format, read, write};
use sluicegate_netsim::Outcome;
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::source::connections::{Arrivals, Side, Unit, Vector};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const ORIGINAL: &str = "\
# two connections, out of order
CONC 3000000 2 1 17 18
w 16384 65535
r 100000
c> 600
t> 500000
c< 100
c> 700
SEQ 1000000 2 9 11
w 16384 16384
m 1448 536
r 100000
l 0.010000 0.000000
> 300
t 50000
< 1448
t 2000000
> 300
t 10000
< 500
t 100000
";

const ALTERNATE: &str = "\
S 1000000 2 11 11
w 16384 16384
m 1448 536
r 100000
l 0.010000 0.000000
I 0 0 300
A 0 50000 1448
I 0 2000000 300
A 0 10000 500
A 100000 0 0
C 3000000 2 1 18 18
w 16384 65535
r 100000
I 0 0 600
A 0 0 100
I 500000 0 700
";

#[test]
fn both_formats_say_the_same() {
    let (first, second) = (read(ORIGINAL, "a").unwrap(), read(ALTERNATE, "b").unwrap());
    assert_eq!(first.len(), 2);
    assert_eq!(first[0], second[0]);
    let sides = |vector: &Vector, side| {
        let units = vector.units.iter().filter(move |unit| unit.side == side).copied();
        units.collect::<Vec<_>>()
    };
    for side in [Side::Initiator, Side::Acceptor] {
        assert_eq!(sides(&first[1], side), sides(&second[1], side), "whatever the order between them");
    }
    let vector = &first[0];
    assert_eq!((vector.id, vector.start, vector.concurrent), (11, Time(1_000_000_000), false));
    assert_eq!((vector.windows, vector.segments), (Some([16_384; 2]), Some([1448, 536])));
    assert_eq!((vector.round_trip, vector.losses), (Some(Span::from_millis(100)), Some([10_000, 0])));
    let units: Vec<(u32, u64, bool)> = vector.units.iter().map(|u| (u.bytes, u.wait.0 / 1000, u.answers)).collect();
    let expected =
        [(300, 0, false), (1448, 50_000, true), (300, 2_000_000, true), (500, 10_000, true), (0, 100_000, false)];
    assert_eq!(units, expected);
}

fn drawn(sets: &[(&str, &str)]) -> Vec<Vector> {
    let plan = scenarios::read(DRAWN, sets).unwrap().plan().unwrap();
    let SourcePlan::Connections(group) = &*plan.flows[0].source else { panic!("connections") };
    Arrivals::new(group.vectors.clone(), plan.seed, 0).take(2000).map(|vector| (*vector).clone()).collect()
}

#[test]
fn what_is_written_is_read_again_the_same() {
    let drawn = drawn(&[("flows.0.concurrent", "0.5")]);
    for vectors in [read(ORIGINAL, "a").unwrap(), read(ALTERNATE, "b").unwrap(), drawn] {
        for format in [Format::Original, Format::Alternate] {
            let text = write(&vectors, format).unwrap();
            assert_eq!(read(&text, "again").unwrap(), vectors, "{text:.300}");
        }
    }
}

/// Exchanges are counted as in the vectors that come with ns-2: in one an end that speaks first, then unanswered requests,
/// in another answers in a row.
#[test]
fn the_number_of_exchanges_is_that_of_the_format() {
    for (units, exchanges) in [
        ("><", 1),
        (">", 1),
        ("<", 1),
        (">><<", 3),
        ("><<<", 3),
        ("<><><", 3),
        ("<><>", 3),
        ("<><>><", 4),
        ("><>><><<", 5),
    ] {
        let lines: Vec<String> = units.chars().map(|side| format!("{side} 5\n")).collect();
        let text = format!("SEQ 0 {exchanges} 1 1\n{}", lines.join("t 3\n"));
        let vectors = read(&text, "a").unwrap();
        assert_eq!(vectors[0].units.len(), units.len());
        assert_eq!(write(&vectors, Format::Original).unwrap(), text);
        assert!(write(&vectors, Format::Alternate).unwrap().starts_with(&format!("S 0 {exchanges} 1 1\n")));
    }
}

/// What one format or the other says of a connection: everything but the order between the ends of a concurrent one.
fn meaning(vector: &Vector) -> (Vector, [Vec<Unit>; 2]) {
    let of = |side| vector.units.iter().copied().filter(|unit| unit.side == side).collect();
    let units = if vector.concurrent { Vec::new() } else { vector.units.clone() };
    (Vector { units, ..vector.clone() }, [of(Side::Initiator), of(Side::Acceptor)])
}

/// Any connection that can be said in both formats: its units as (side, us to wait, bytes), and who closes, if anybody.
fn any_vector() -> impl Strategy<Value = Vector> {
    let units = collection::vec((any::<bool>(), 0..3_000_000u64, 1..100_000u32), 1..12);
    let closes = option::of((any::<bool>(), 1..9_000_000u64));
    let known = (option::of(any::<[u16; 2]>()), option::of(any::<[u16; 2]>()), option::of(0..9_000_000u64));
    let losses = option::of((0..=1_000_000u32, 0..=1_000_000u32));
    (any::<bool>(), any::<u32>(), 0..10_000_000u64, units, closes, known, losses).prop_map(
        |(concurrent, id, start, units, closes, (windows, segments, round_trip), losses)| {
            let side = |acceptor| if acceptor { Side::Acceptor } else { Side::Initiator };
            let all = units.into_iter().chain(closes.map(|(who, wait)| (who, wait, 0)));
            let mut vector = Vector {
                id: id.into(),
                start: Time(start * 1000),
                concurrent,
                windows: windows.map(|both| both.map(|window| u32::from(window) + 1)),
                segments: segments.map(|both| both.map(|segment| u32::from(segment) + 1)),
                round_trip: round_trip.map(|micros| Span(micros * 1000)),
                losses: losses.map(|(a, b)| [a, b]),
                units: Vec::new(),
            };
            for (who, wait, bytes) in all {
                let last = vector.units.last().filter(|_| !concurrent).map(|unit: &Unit| unit.side);
                let answers = last.is_some_and(|last| last != side(who));
                let first = !concurrent && last.is_none();
                // Written in the alternate format, an answer after nothing at all comes after 1 us.
                let wait = if first { 0 } else { wait.max(u64::from(answers)) };
                vector.units.push(Unit { side: side(who), wait: Span(wait * 1000), answers, bytes });
            }
            vector
        },
    )
}

proptest! {
    #[test]
    fn any_connection_goes_from_format_to_format_unchanged(mut vectors in collection::vec(any_vector(), 1..6)) {
        vectors.sort_by_key(|vector| vector.start);
        for [there, back] in [[Format::Original, Format::Alternate], [Format::Alternate, Format::Original]] {
            let text = write(&vectors, there).unwrap();
            prop_assert_eq!(Format::of(&text), Some(there));
            let once = read(&text, "once").unwrap();
            let twice = read(&write(&once, back).unwrap(), "twice").unwrap();
            for (vector, read) in vectors.iter().zip(&once).chain(vectors.iter().zip(&twice)) {
                prop_assert_eq!(meaning(vector), meaning(read), "{}", text);
            }
        }
    }
}

/// What ns-2 makes of the files: its alternate format cannot say that an answer follows at once, its delay box knows `l`
/// alone, and its original format cannot say that a connection waits before its first unit.
#[test]
fn what_is_written_means_the_same_to_ns_2() {
    let vectors = read("SEQ 0 1 1 1\nl 0.5 0.25\n> 5\nt 0\n< 6\n", "a").unwrap();
    let text = write(&vectors, Format::Alternate).unwrap();
    assert_eq!(text, "S 0 1 1 1\nl 0.500000 0.250000\nI 0 0 5\nA 0 1 6\n");
    let vectors = read("S 0 1 1 8\nI 7 0 5\n", "a").unwrap();
    let error = write(&vectors, Format::Original).unwrap_err().0;
    assert_eq!(error, "connection 8: waits 7 us before its first unit, which the original format cannot say");
    // The end that was not the last to send closes; an end sends nothing, and closes at once.
    for text in ["S 0 1 1 1\nI 0 0 5\nA 0 3 6\nI 0 9 0\n", "C 0 1 0 1 1\nI 0 0 5\nA 0 0 0\n"] {
        let vectors = read(text, "a").unwrap();
        let original = write(&vectors, Format::Original).unwrap();
        assert_eq!(read(&original, "b").unwrap(), vectors, "{original}");
        assert_eq!(write(&vectors, Format::Alternate).unwrap(), text);
    }
}

#[test]
fn a_bad_line_is_named_with_its_number_and_rule() {
    let cases = [
        ("hello", 1, "begins with SEQ"),
        ("SEQ 1 1 1", 1, "takes 4 values"),
        ("SEQ x 1 1 1\n> 5", 1, "the start must be a whole number"),
        ("SEQ 0 1 1 1\n> 5\n> 6", 3, "there must be a time between two units"),
        ("SEQ 0 1 1 1\nt 5", 2, "after what was sent"),
        ("SEQ 0 1 1 1\n> 5\nt 1\nt 1", 4, "two times"),
        ("SEQ 0 1 1 1\n> -5", 2, "whole number"),
        ("SEQ 0 1 1 1\n> 5000000000", 2, "whole number"),
        ("SEQ 0 1 1 1\nc> 5", 2, ">, < and t"),
        ("# a comment\n\nSEQ 0 2 1 1\n> 5\nt 1\n< 4", 3, "promises 2 exchanges, and 1 follow"),
        ("SEQ 0 2 1 1\n> 5\nt 1\n> 6\nt 1\n< 4\nt 1\n< 4", 1, "promises 2 exchanges, and 3 follow"),
        ("C 0 2 1 1 1\nI 0 0 3\nA 0 0 4", 1, "promises 2 and 1 units, and 1 and 1 follow"),
        ("SEQ 0 1 1 1\nw 0 5\n> 3", 2, "above zero"),
        ("SEQ 0 1 1 1\n> 3\nw 5 5", 3, "\"w\" comes before the units"),
        ("SEQ 0 1 1 1\nw 5 5\nw 6 5\n> 3", 3, "\"w\" is given twice"),
        ("CONC 0 1 0 1 1\nt> 3\nm 5 5\nc> 3", 3, "\"m\" comes before the units"),
        ("S 0 1 1 1\nr 5\nI 0 0 3\nr 5", 4, "\"r\" is given twice"),
        ("S 0 1 1 1\nI 0 0 3\nr 5", 3, "\"r\" comes before the units"),
        ("C 0 1 0 1 1\nl 0 0\nL 0 0\nI 0 0 3", 3, "\"L\" is given twice"),
        ("SEQ 0 1 1 1\nl 2 0\n> 3", 2, "from 0 to 1"),
        ("SEQ 0 1 1 1\nr 99999999999999999\n> 3", 2, "absurdly long"),
        ("SEQ 0 1 1 1\n> 5\nS 0 1 1 1", 3, "other format"),
        ("CONC 0 1 1 1 1\n> 5", 2, "c>, t>"),
        ("CONC 0 2 1 1 1\nc> 5\nc> 6\nc< 3", 3, "there must be a time between two units of one end"),
        ("CONC 0 1 2 1 1\nc< 5\nc> 6\nt> 7\nc< 3", 5, "there must be a time between two units of one end"),
        ("CONC 0 1 1 1 1\nc> 5\nt> 1\nc> 0\nt> 3\nc< 3", 5, "nothing comes after the end"),
        ("SEQ 0 1 1 1\n> 5\nt 1\n> 0\nt 3", 5, "nothing comes after the end"),
        ("S 0 1 1 1\nI 0 0", 2, "takes 3 values"),
        ("S 0 1 1 1\nI 1 1 5", 2, "not for both"),
        ("S 0 1 1 1\nX 1 1 5", 2, "not \"X\""),
        ("S 0 1 1 1\nI 0 0 0", 1, "sends nothing"),
        ("S 0 2 1 1\nI 0 0 5\nI 0 7 5", 3, "waits for the unit before it"),
        ("C 0 1 1 1 1\nI 0 5 5", 2, "waits for what was sent"),
        ("S 0 1 1 1\nI 0 0 5\nI 0 0 0\nA 0 1 5", 4, "nothing comes after the end"),
    ];
    for (text, line, rule) in cases {
        let error = read(text, "some.cvec").unwrap_err().0;
        assert!(error.starts_with(&format!("some.cvec:{line}: ")) && error.contains(rule), "{text:?}: {error}");
    }
    assert!(read("# nothing\n", "some.cvec").unwrap_err().0.contains("no connection vectors"));
}

const REPLAYED: &str = r#"
[network]
rate = "100 Gbit/s"
access_rate = "100 Gbit/s"
[queue]
discipline = "drop_tail"
limit = 10000
[[flows]]
kind = "connections"
profile = "dcn2004"
delayed_ack = "0 s"
rtt = "40 ms"
[run]
duration = "20 s"
series = false
exchanges = true
"#;

const DRAWN: &str = r#"
[network]
rate = "10 Mbit/s"
access_rate = "100 Mbit/s"
[queue]
discipline = "drop_tail"
limit = 60
[[flows]]
kind = "connections"
profile = "dcn2004"
arrivals = 40
concurrent = 0.3
rtt = "10 ms"
rtt_max = "150 ms"
[[flows]]
kind = "connections"
profile = "dcn2004"
arrivals = 30
direction = "reverse"
rtt = "10 ms"
rtt_max = "150 ms"
[run]
duration = "60 s"
exchanges = true
"#;

fn replayed(vectors: &str) -> Outcome {
    scenarios::run(REPLAYED, &[("flows.0.vectors", &file(vectors))])
}

/// The path of a new file with this text.
fn file(text: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = format!("{}/{number}.cvec", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, text).unwrap();
    path
}

/// When exchanges begin and how long they take, in milliseconds.
fn exchanges(outcome: &Outcome) -> Vec<(u64, u64, u32)> {
    let ms = |s: f64| (s * 1e3).round() as u64;
    let row = |row: &sluicegate_netsim::workloads::exchanges::ExchangeRow| {
        (ms(row.time.as_secs()), ms(row.response_time.as_secs()), row.response)
    };
    outcome.exchanges.iter().map(row).collect()
}

/// A round trip of 100 ms, which the vector has, opens the connection; each exchange takes one and the time to answer. The
/// acceptor's segments have 536 bytes, so its first response takes three, one before two: a round trip more.
#[test]
fn a_sequential_connection_by_hand() {
    let outcome = replayed(ORIGINAL);
    assert_eq!(exchanges(&outcome), [(1000, 350, 1448), (3350, 110, 500)]);
    let group = &outcome.groups[0];
    assert_eq!((group.totals.opened, group.totals.closed, group.open, group.users), (2, 2, 0, None));
    assert_eq!((group.totals.asked, group.totals.completed, group.totals.bytes), (2, 2, [600, 1948]));
    // Without its own round trip it has the group's.
    let outcome = replayed("SEQ 0 1 1 1\n> 300\nt 50000\n< 100\n");
    assert_eq!(exchanges(&outcome), [(0, 130, 100)]);
}

/// The window limits what is under way: 10 segments of 1000 bytes with a window of 2000 take 5 round trips after the opening.
#[test]
fn windows_are_the_vectors_own() {
    let text = |windows: &str| format!("SEQ 0 1 1 1\nw {windows}\nm 1000 1000\nr 100000\n> 300\nt 0\n< 10000\n");
    // 1 + 2 + 2 + 2 + 2 + 1 segments.
    assert_eq!(exchanges(&replayed(&text("2000 65535"))), [(0, 700, 10_000)]);
    // 1 + 2 + 4 + 3.
    assert_eq!(exchanges(&replayed(&text("65535 2000"))), [(0, 500, 10_000)]);
    // Below a segment: as many of them as it takes.
    assert_eq!(exchanges(&replayed(&text("500 65535"))), [(0, 2100, 10_000)]);
}

/// Each packet is lost with the probability of its direction: shares within 4.5 standard errors. The acceptors' data are what
/// `flows` counts; the initiators have nothing but requests and acknowledgements to lose.
#[test]
fn point_6_losses_of_vectors_are_drawn_packet_by_packet() {
    let vector =
        |at: u32, losses: &str| format!("SEQ {} 1 1 {at}\nr 100000\nl {losses}\n> 300\nt 0\n< 100000\n", at * 10_000);
    let text = |losses: &str| (0..100).map(|at| vector(at, losses)).collect::<String>();
    let run = |losses: &str, sets: &[(&str, &str)]| {
        let name = file(&text(losses));
        scenarios::run(REPLAYED, &[&[("flows.0.vectors", &*name)], sets].concat())
    };
    let counts = |outcome: &Outcome| {
        let totals = &outcome.flows[0].totals;
        let retransmissions = outcome.flows[0].retransmissions;
        (totals.sent[0] as f64, totals.drops_elsewhere as f64, totals.arrivals as f64, retransmissions)
    };
    let (sent, lost, arrived, retransmissions) = counts(&run("0.0 0.02", &[]));
    assert!((lost / sent - 0.02).abs() < 4.5 * (0.02 * 0.98 / sent).sqrt(), "{lost} of {sent}");
    assert_eq!(sent, arrived + lost, "what is lost on the way does not reach the shared link");
    assert!(retransmissions as f64 >= lost * 0.9, "{retransmissions} for {lost}");
    let (_, lost, ..) = counts(&run("0.05 0.0", &[]));
    assert_eq!(lost, 0.0, "no data are lost");
    let whole = run("0.0 0.0", &[]);
    assert!(counts(&run("0.05 0.0", &[])) != counts(&whole), "acknowledgements are");
    // Switched off, it is the run without losses.
    assert_eq!(counts(&run("0.05 0.02", &[("flows.0.lossless", "true")])), counts(&whole));
    assert_eq!(counts(&run("0.05 0.02", &[])), counts(&run("0.05 0.02", &[])), "the same again");
}

/// Ends that do not wait for each other, units of one end in a row, an acceptor that speaks first: all is delivered, all
/// closes.
#[test]
fn all_that_vectors_say_is_sent() {
    let text = "\
CONC 0 3 2 1 1\nc> 600\nt> 500000\nc< 50000\nt< 3000000\nc> 700\nt> 10\nc> 7000\nc< 9\n\
SEQ 1000 2 1 2\n> 10\nt 400\n> 20\nt 100\n< 500\n\
SEQ 2000 2 1 3\n< 4000\nt 5\n> 3\nt 100000\n\
CONC 5000 0 1 1 4\nt< 20000\nc< 77\n";
    let vectors = read(text, "t").unwrap();
    let bytes = |side| {
        vectors.iter().flat_map(|v| &v.units).filter(|u| u.side == side).map(|u| u64::from(u.bytes)).sum::<u64>()
    };
    let sums = |name: &'static str| {
        let mut sim = sim(REPLAYED, &[("flows.0.vectors", &file(text))]);
        let sum = Arc::new(AtomicU64::new(0));
        let shared = sum.clone();
        let note = move |_: Time, packet: &sluicegate_netsim::SimPacket, _: &sluicegate_tcp::Segment| {
            shared.fetch_add(u64::from(packet.segment.len), Ordering::Relaxed);
        };
        assert!(sim.observe(name, Box::new(note)));
        let outcome = finished(sim);
        let group = &outcome.groups[0];
        assert_eq!((group.totals.opened, group.totals.closed), (4, 4), "{name}");
        assert_eq!(group.totals.completed, 1, "the two requests in a row, of which the second is answered");
        sum.load(Ordering::Relaxed)
    };
    assert_eq!(sums("bottleneck"), bytes(Side::Acceptor));
    assert_eq!(sums("bottleneck/back"), bytes(Side::Initiator));
}

#[test]
fn drawn_connections_are_conserved_pooled_and_the_same_again() {
    let run = |seed: &str, budget: u64| {
        let mut sim = sim(DRAWN, &[("run.seed", seed)]);
        while sim.advance(budget) {}
        for link in sim.links() {
            let [queued, _, sending] = link.port.holds();
            assert_eq!(
                link.port.counters.arrivals,
                link.port.counters.departures + sending + queued + link.port.counters.drops.iter().sum::<u64>()
            );
        }
        let [_, places] = sim.slots();
        let outcome = sim.finish();
        for group in &outcome.groups {
            assert_eq!(group.totals.opened, group.totals.closed + u64::from(group.open));
            assert!(group.totals.closed > 800 && places < group.totals.opened as usize);
        }
        (exchanges(&outcome), outcome.events)
    };
    let first = run("1", 1 << 20);
    assert!(first.0.len() > 5000);
    assert_eq!(first, run("1", 99));
    assert_ne!(first, run("2", 1 << 20));
}

/// Drawn, written, read and replayed: the same connections as drawn in the run.
#[test]
fn a_file_of_drawn_connections_is_the_drawn_group() {
    let sets = [("flows.0.arrivals", "5"), ("network.rate", "1 Gbit/s")];
    let all = drawn(&sets);
    let direct = scenarios::run(DRAWN, &sets);
    let file = file(&write(&all, Format::Original).unwrap());
    let text = DRAWN.replacen("arrivals = 40\nconcurrent = 0.3\n", &format!("vectors = {file:?}\n"), 1);
    let again = scenarios::run(&text, &sets[1..]);
    let of_first =
        |outcome: &Outcome| outcome.exchanges.iter().filter(|row| row.group == 0).copied().collect::<Vec<_>>();
    assert!(of_first(&direct).len() > 500);
    assert_eq!(of_first(&direct), of_first(&again));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refused = |key: &str, value: &str| refusal(REPLAYED, &[(&format!("flows.0.{key}"), value)]);
    assert!(refused("count", "3").contains("arrivals says how many"));
    assert!(refused("vectors", "no/such.cvec").contains("cannot be read"));
    assert!(refused("vectors", "/dev/zero").contains("must be a file"));
    assert!(refused("lossless", "true").contains("lossless goes with vectors"));
    assert!(refused("exchanges", "constant(2 s)").contains("flows.0.exchanges"));
    let infinite = refused("request_size", "bounded_pareto(shape = 1e-18, low = 1 B, high = 1 MB)");
    assert!(infinite.contains("flows.0.request_size") && infinite.contains("shape must be from 0.01"), "{infinite}");
    let path = file("SEQ 0 1 1 1\n> 5\n");
    let named = |arrivals| scenarios::read(REPLAYED, &[("flows.0.vectors", &path), ("flows.0.arrivals", arrivals)]);
    assert!(named("10").is_ok(), "the default, as the classes of Python write it");
    assert!(named("11").err().unwrap().0.contains("leave one of the two out"));
    let path = file("SEQ 0 1 1 1\nnonsense\n");
    assert!(refused("vectors", &path).starts_with(&format!("{path}:2: ")));
    let both = refusal(REPLAYED, &[("flows.0.vectors", &path), ("flows.0.arrivals", "3")]);
    assert!(both.contains("leave one of the two out"));
}
