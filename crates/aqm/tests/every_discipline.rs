//! What holds for every discipline in the registry, whatever it is fed.

use proptest::prelude::*;
use sluicegate_aqm::harness::{Harness, TestPacket};
use sluicegate_aqm::{Discipline, DropReason, Entry, Overload, all, build};
use sluicegate_base::params::{DefaultValue, Given, Kind, Problem, Raw, Table};
use sluicegate_base::{Ecn, Field, Link, Params, Rate, Size, Span, Stream, Value};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

type AnyDiscipline = dyn Discipline<TestPacket>;

/// A harness with these values; `None` when they break a rule of the discipline, such as that its limit counts packets.
fn harness(name: &str, given: Given<'_>, seed: u64) -> Option<Harness<AnyDiscipline>> {
    match build(name, given, &LINK).expect("a known name") {
        Ok(discipline) => Some(Harness::boxed(discipline, seed)),
        Err(Problem::Broken(_)) => None,
        Err(problem) => panic!("{name}: {problem:?}"),
    }
}

fn defaults(name: &str, seed: u64) -> Harness<AnyDiscipline> {
    harness(name, &mut |_| None, seed).expect("defaults keep the rules")
}

/// A value for each word, switch and small count of a table, by the digits of `choice`; the rest by `sizes`.
fn any_value(table: &Table, choice: u64, sizes: impl Fn(&str) -> Option<Value>) -> impl Fn(usize) -> Option<Value> {
    let mut values = Vec::new();
    let mut digits = choice;
    for field in table.fields {
        let mut digit = |n: u64| {
            let digit = digits % n;
            digits /= n;
            digit
        };
        values.push(sizes(field.name).or_else(|| match field.kind {
            Kind::Choice(words) => Some(Value::Choice(words[digit(words.len() as u64) as usize])),
            Kind::Switch => Some(Value::Switch(digit(2) == 1)),
            Kind::Integer => {
                let n = digit(9);
                field.range.holds(n as f64).then_some(Value::Integer(n))
            }
            _ => None,
        }));
    }
    move |at| values[at].clone()
}

/// A value for this field as a document writes it, valid or not.
fn raw_value(field: &Field, choice: u64) -> Raw {
    match field.kind {
        Kind::Choice(words) => Raw::Text(words[choice as usize % words.len()].into()),
        Kind::Switch => Raw::Switch(choice % 2 == 1),
        Kind::Integer | Kind::Size => Raw::Integer((choice % 40) as i64),
        Kind::Number => Raw::Number((choice % 1000) as f64 / 500.0),
        Kind::Time => Raw::Text(format!("{} ms", choice % 300)),
        Kind::Rate => Raw::Text(format!("{} kbit/s", choice % 3000)),
        Kind::Text | Kind::Texts | Kind::Times => unreachable!("no discipline has one"),
    }
}

#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u64, bytes: u64, ecn: Ecn, sort: u8 },
    Depart,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ecn =
        prop_oneof![Just(Ecn::NotCapable), Just(Ecn::Capable0), Just(Ecn::Capable1), Just(Ecn::CongestionExperienced)];
    let step = prop_oneof![
        5 => (0u64..6, 40u64..1500, ecn, 0u8..8)
            .prop_map(|(flow, bytes, ecn, sort)| Step::Arrive { flow, bytes, ecn, sort }),
        3 => Just(Step::Depart),
        1 => (0u64..200_000_000).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..600)
}

/// An arrival of one of four classes, essential or optional.
fn offer(harness: &mut Harness<AnyDiscipline>, flow: u64, bytes: u64, ecn: Ecn, sort: u8) {
    harness.submit(TestPacket { flow, bytes, ecn, class: sort / 2, priority: sort % 2, ..TestPacket::default() });
}

fn play(harness: &mut Harness<AnyDiscipline>, steps: &[Step]) -> Vec<(u64, Option<u64>)> {
    let mut departures = Vec::new();
    for step in steps {
        match *step {
            Step::Arrive { flow, bytes, ecn, sort } => offer(harness, flow, bytes, ecn, sort),
            Step::Depart => departures.push((harness.now.0, harness.depart().map(|packet| packet.serial))),
            Step::Wait(ns) => harness.wait(Span(ns)),
        }
        harness.assert_conserved();
    }
    departures
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Conservation, and a packet departs or is dropped at most once; reasons are the declared ones. Whatever the words,
    /// switches and counts of the discipline say.
    #[test]
    fn packets_are_conserved(
        steps in steps(), seed: u64, choice: u64, limit in 1u64..80, min in 1u64..30, width in 1u64..30,
    ) {
        for entry in all() {
            let table = &entry.table;
            let sizes = |name: &str| match name {
                "limit" => Some(Value::Size(Size::Packets(limit))),
                "min_th" => Some(Value::Size(Size::Packets(min))),
                "max_th" => Some(Value::Size(Size::Packets(min + width))),
                "w_q" => Some(Value::Number(0.25)),
                "burst" => Some(Value::Integer(min + width)),
                _ => None,
            };
            let given = any_value(table, choice, sizes);
            let Some(mut harness) = harness(table.about.name, &mut |at| given(at), seed) else { continue };
            let departures = play(&mut harness, &steps);
            prop_assert!(harness.discipline.packets() <= limit);
            let mut serials: Vec<u64> = departures.iter().filter_map(|(_, serial)| *serial).collect();
            serials.extend(harness.dropped.iter().map(|(packet, _)| packet.serial));
            serials.sort_unstable();
            let before = serials.len();
            serials.dedup();
            prop_assert_eq!(serials.len(), before, "{} used a packet twice", table.about.name);
            for (_, reason) in &harness.dropped {
                prop_assert!(entry.reasons.contains(reason), "{}: undeclared reason {reason:?}", table.about.name);
            }
        }
    }

    /// A limit in bytes is kept too.
    #[test]
    fn a_limit_in_bytes_is_kept(steps in steps(), seed: u64, limit in 1500u64..20_000) {
        for entry in all() {
            let fields = entry.table.fields;
            let mut given = |at: usize| (fields[at].name == "limit").then_some(Value::Size(Size::Bytes(limit)));
            let Some(mut harness) = harness(entry.table.about.name, &mut given, seed) else { continue };
            play(&mut harness, &steps);
            prop_assert!(harness.discipline.bytes() <= limit);
        }
    }

    /// A packet keeps its ECN field, unless it is marked; one that is not capable is never marked.
    #[test]
    fn only_capable_packets_leave_with_a_mark(steps in steps(), seed: u64, choice: u64) {
        for entry in all() {
            let given = any_value(&entry.table, choice, |name| (name == "w_q").then_some(Value::Number(0.25)));
            let Some(mut harness) = harness(entry.table.about.name, &mut |at| given(at), seed) else { continue };
            let mut offered = Vec::new();
            for step in &steps {
                match *step {
                    Step::Arrive { flow, bytes, ecn, sort } => {
                        offered.push(ecn);
                        offer(&mut harness, flow, bytes, ecn, sort);
                    }
                    Step::Wait(ns) => harness.wait(Span(ns)),
                    Step::Depart => {
                        if let Some(packet) = harness.depart() {
                            let before = offered[packet.serial as usize];
                            let marked = packet.ecn == Ecn::CongestionExperienced && before != Ecn::NotCapable;
                            prop_assert!(packet.ecn == before || marked, "{}", entry.table.about.name);
                        }
                    }
                }
            }
        }
    }

    /// A discipline that is told to mark drops no capable packet early, and one that is told to mark above max_th too
    /// drops none there; only a full buffer does. Each packet has a flow of its own, so that none matches.
    #[test]
    fn markers_do_not_drop_what_they_can_mark(steps in steps(), seed: u64, above: bool) {
        for entry in all() {
            let fields = entry.table.fields;
            let has = |name: &str| fields.iter().any(|field| field.name == name);
            if !(has("action") || has("ecn")) {
                continue;
            }
            let mut given = |at: usize| match fields[at].name {
                "action" => Some(Value::Choice("mark")),
                "ecn" => Some(Value::Switch(true)),
                "gentle" => Some(Value::Switch(false)),
                "mark_th" => Some(Value::Number(1.0)),
                // SFB's bins are short queues of their own: none is to be full.
                "bin_max" => Some(Value::Integer(1 << 32)),
                "above_max_th" => Some(Value::Choice(if above { "mark" } else { "drop" })),
                "min_th" => Some(Value::Size(Size::Packets(2))),
                "max_th" => Some(Value::Size(Size::Packets(8))),
                "w_q" => Some(Value::Number(0.25)),
                "max_p" => Some(Value::Number(0.5)),
                _ => None,
            };
            let mut harness = harness(entry.table.about.name, &mut given, seed).expect("these keep the rules");
            // A mark_th of 1 is for any p below it (RFC 8033, Sec. 5.1).
            let mut above_mark_th = false;
            for (flow, step) in (0u64..).zip(&steps) {
                match *step {
                    Step::Arrive { bytes, .. } => harness.offer(flow, bytes, Ecn::Capable0),
                    Step::Wait(ns) => harness.wait(Span(ns)),
                    Step::Depart => drop(harness.depart()),
                }
                above_mark_th |= has("mark_th") && harness.state("p") >= Some(1.0);
            }
            let forced = has("above_max_th") && !above;
            for (packet, reason) in &harness.dropped {
                let full = *reason == DropReason::Tail;
                prop_assert!(full || above_mark_th || (forced && *reason == DropReason::Forced), "{}: {packet:?} {reason:?}", entry.table.about.name);
            }
        }
    }

    /// Any parameter, but the fixed ones, may change while the queue is in use: packets are conserved, a refused value changes
    /// nothing, and what a smaller limit leaves no room for is dropped with a reason of its own.
    #[test]
    fn parameters_change_in_mid_run(steps in steps(), seed: u64, choices in proptest::collection::vec(any::<u64>(), 8)) {
        for entry in all() {
            let (name, fields) = (entry.table.about.name, entry.table.fields);
            let mut harness = defaults(name, seed);
            for (part, choice) in steps.chunks(steps.len() / choices.len() + 1).zip(&choices) {
                play(&mut harness, part);
                let field = &fields[(*choice % fields.len() as u64) as usize];
                let (before, held) = (harness.dropped.len(), harness.discipline.packets());
                let changed = harness.set(field.name, &raw_value(field, choice >> 8));
                prop_assert!(!(field.fixed && changed.is_ok()), "{name}.{} is fixed", field.name);
                let gone = &harness.dropped[before..];
                prop_assert!(gone.iter().all(|(_, reason)| *reason == DropReason::Reconfigured), "{name}.{}", field.name);
                prop_assert!(changed.is_ok() || gone.is_empty(), "{name}.{}", field.name);
                prop_assert_eq!(harness.discipline.packets(), held - gone.len() as u64);
                harness.assert_conserved();
            }
        }
    }

    /// The same seed and the same arrivals give the same departures and drops.
    #[test]
    fn runs_are_repeatable(steps in steps(), seed: u64) {
        for entry in all() {
            let mut first = defaults(entry.table.about.name, seed);
            let mut second = defaults(entry.table.about.name, seed);
            prop_assert_eq!(play(&mut first, &steps), play(&mut second, &steps));
            prop_assert_eq!(&first.dropped, &second.dropped);
        }
    }

    /// The average lies between zero and the longest queue, as that of a filter must; the packet in transmission may be
    /// counted in both.
    #[test]
    fn averages_stay_within_the_queue(steps in steps(), seed: u64) {
        for entry in all() {
            let mut harness = defaults(entry.table.about.name, seed);
            let (mut longest, mut sending) = (0, 0);
            for step in &steps {
                let departures = play(&mut harness, std::slice::from_ref(step));
                sending = departures.first().map_or(sending, |(_, packet)| u64::from(packet.is_some()));
                longest = longest.max(harness.discipline.packets() + sending);
                if let Some(average) = harness.discipline.average() {
                    prop_assert!((0.0..=longest as f64).contains(&average));
                }
            }
        }
    }
}

/// What comes in 8 ms, in which the link sends one packet: of one flow, and how often one of so many others besides.
const FLOODS: [(u64, u64, u64); 3] = [(1, 32, 17), (2, 2, 17), (0, 1, 1000)];

/// Told to mark, with room for 300 packets and its defaults otherwise, under a flood of capable packets: how many were dropped
/// although the buffer was not full and they met none of their own flow, and how many left with a mark.
fn flooded(entry: &Entry, ecn: Ecn, (of_one, every, others): (u64, u64, u64)) -> (usize, usize) {
    let (name, fields) = (entry.table.about.name, entry.table.fields);
    let mut given = |at: usize| match fields[at].name {
        "action" => Some(Value::Choice("mark")),
        "ecn" => Some(Value::Switch(true)),
        "ce_threshold" if name == "fq_linux" => Some(Value::Time(Span::from_millis(1))),
        "limit" => Some(Value::Size(Size::Packets(300))),
        _ => None,
    };
    let mut harness = harness(name, &mut given, 1).expect("these keep the rules");
    let mut marked = 0;
    for k in 0..10_000u64 {
        (0..of_one).for_each(|_| harness.offer(0, 1000, ecn));
        harness.wait(Span::from_millis(4));
        if k % every == 0 {
            harness.offer(1 + k % others, 1000, ecn);
            harness.offer(1 + (k + 1) % others, 1000, ecn);
        }
        harness.wait(Span::from_millis(4));
        let left = harness.depart();
        marked += usize::from(left.is_some_and(|packet| packet.ecn == Ecn::CongestionExperienced));
    }
    harness.assert_conserved();
    let early = |reason: &DropReason| !matches!(reason, DropReason::Tail | DropReason::Match);
    (harness.dropped.iter().filter(|(_, reason)| early(reason)).count(), marked)
}

/// RFC 3168, Sec. 7, and RFC 7567, Sec. 4.2.1: each discipline that can mark declares whether it drops capable packets too while
/// marks do not hold the queue, and so it is, for ECT(0) and ECT(1).
#[test]
fn point_7_what_is_declared_of_overload_is_so() {
    let mut drop = Vec::new();
    for entry in all() {
        let name = entry.table.about.name;
        let told = entry.table.fields.iter().any(|field| ["action", "ecn", "ce_threshold"].contains(&field.name));
        let can_mark = told || entry.marks == "always";
        assert_eq!(can_mark, entry.overload != Overload::None, "{name}");
        assert_eq!(can_mark, !entry.overload_rule.is_empty(), "{name}");
        if !can_mark {
            continue;
        }
        let mut all_marked = 0;
        for ecn in [Ecn::Capable0, Ecn::Capable1] {
            let seen = FLOODS.map(|flood| flooded(entry, ecn, flood));
            let drops = seen.iter().any(|(dropped, _)| *dropped > 0);
            assert_eq!(drops, entry.overload == Overload::Drops, "{name}: {seen:?} of {ecn:?}");
            all_marked += seen.iter().map(|(_, marked)| marked).sum::<usize>();
        }
        assert!(all_marked > 0, "{name} marks");
        drop.extend((entry.overload == Overload::Drops).then_some(name));
    }
    assert!(drop.len() > 15, "{drop:?}");
}

/// No call leaves a wake-up that is due (the harness looks after each), whatever the ratios of the intervals, through bursts and
/// through silences of all lengths. What has a clock has been woken, and some of it has slept.
#[test]
fn point_7_no_call_leaves_a_wakeup_that_is_due() {
    let millis = [1, 7, 10, 333, 1000, 2000].map(|ms| Value::Time(Span::from_millis(ms)));
    let mut with_a_clock = 0;
    for entry in all() {
        let (name, fields) = (entry.table.about.name, entry.table.fields);
        let (mut rng, mut runs, mut slept, mut asked) = (Stream::new(1, name), 0, false, false);
        for seed in 0..100 {
            let values: Vec<Option<Value>> = fields
                .iter()
                .map(|field| match (field.kind, field.name) {
                    (Kind::Time, _) => Some(millis[rng.below(millis.len() as u64) as usize].clone()),
                    // Of PI and AFD, samples in a second.
                    (Kind::Number, "w") => Some(Value::Number([0.7, 170.0, 1000.0][rng.below(3) as usize])),
                    (Kind::Size, "limit") => Some(Value::Size(Size::Packets(20))),
                    // DCN and its like are to find their flows.
                    (Kind::Integer, "threshold") => Some(Value::Integer(3)),
                    _ => None,
                })
                .collect();
            let Some(mut harness) = harness(name, &mut |at| values[at].clone(), seed) else { continue };
            runs += 1;
            for _ in 0..300 {
                match rng.below(8) {
                    0..4 => harness.arrive(rng.below(3), 1000),
                    4..7 => drop(harness.depart()),
                    _ => {
                        let longest = [100, 8_000_000, 500_000_000, 20_000_000_000][rng.below(4) as usize];
                        harness.wait(Span(rng.below(longest)));
                    }
                }
                let next = harness.discipline.next_wakeup();
                (slept, asked) = (slept || (asked && next.is_none()), asked || next.is_some());
            }
        }
        assert!(runs > 10, "{name}: {runs} runs");
        with_a_clock += u32::from(asked);
        // SFQ hashes anew without end.
        assert!(slept || !asked || name == "sfq", "{name} never sleeps");
    }
    assert!(with_a_clock >= 8, "{with_a_clock}");
}

#[test]
fn unknown_names_are_refused() {
    assert!(build::<TestPacket>("no_such_discipline", &mut |_| None, &LINK).is_none());
}

#[test]
fn every_declaration_is_complete() {
    for entry in all() {
        let about = entry.table.about;
        assert!(!about.summary().is_empty(), "{}: no summary in the module comment", about.name);
        assert!(!about.deviations().is_empty(), "{}: no table of deviations", about.name);
        assert!(!entry.reasons.is_empty() && (about.tc.is_empty() || about.tc.starts_with("tc ")), "{}", about.name);
        for field in entry.table.fields {
            assert!(!field.doc.trim().is_empty() && !field.source.is_empty(), "{}.{}", about.name, field.name);
            let unit_needed = matches!(field.kind, Kind::Number | Kind::Integer | Kind::Size);
            assert!(!unit_needed || !field.unit.is_empty(), "{}.{} has no unit", about.name, field.name);
            assert!(!matches!(field.default, DefaultValue::Required), "{}.{}", about.name, field.name);
        }
    }
}

#[test]
fn every_reason_has_its_position() {
    for (at, reason) in DropReason::ALL.iter().enumerate() {
        assert_eq!(*reason as usize, at);
    }
}

#[test]
fn defaults_are_valid_on_any_link() {
    for rate in [1, 56_000, 1_000_000, 400_000_000_000] {
        let link = Link { rate: Rate(rate), packet: 1000 };
        for entry in all() {
            assert!((entry.table.resolve)(&mut |_| None, &link).is_ok(), "{} at {rate} bit/s", entry.table.about.name);
        }
        assert!(sluicegate_aqm::red::RedParams::defaults(&link).is_ok());
    }
}

/// The random values of the property tests do reach every word and switch of every discipline.
#[test]
fn every_word_and_switch_is_tried() {
    for entry in all() {
        for (at, field) in entry.table.fields.iter().enumerate() {
            let wanted: Vec<Value> = match field.kind {
                Kind::Choice(words) => words.iter().map(|word| Value::Choice(word)).collect(),
                Kind::Switch => vec![Value::Switch(false), Value::Switch(true)],
                _ => continue,
            };
            for value in wanted {
                // CAKE has 25,920 combinations, more than any other.
                let found = (0..25_920).any(|choice| {
                    let given = any_value(&entry.table, choice, |_| None);
                    given(at).as_ref() == Some(&value)
                        && harness(entry.table.about.name, &mut |at| given(at), 1).is_some()
                });
                assert!(found, "{}.{} = {value}", entry.table.about.name, field.name);
            }
        }
    }
}

/// A smaller limit takes effect at once, for many flows and for one, and pushes out no more than it must.
#[test]
fn a_limit_may_change() {
    for entry in all() {
        let name = entry.table.about.name;
        for flows in [1000, 1] {
            let mut harness = defaults(name, 1);
            harness.set("limit", &Raw::Integer(40)).unwrap_or_else(|rule| panic!("{name}: {rule}"));
            (0..2000).for_each(|k| harness.arrive(k % flows, 1000));
            let held = harness.discipline.packets();
            assert!((2..=40).contains(&held), "{name} holds {held}");
            harness.set("limit", &Raw::Integer(held as i64 - 1)).unwrap_or_else(|rule| panic!("{name}: {rule}"));
            let gone = harness.dropped.iter().filter(|(_, reason)| *reason == DropReason::Reconfigured).count();
            assert_eq!((harness.discipline.packets(), gone), (held - 1, 1), "{name}, {flows} flows");
            harness.assert_conserved();
        }
    }
}

/// Every field that is not fixed takes its own default again, and nothing happens.
#[test]
fn a_value_may_be_set_to_what_it_is() {
    for entry in all() {
        let mut harness = defaults(entry.table.about.name, 1);
        (0..20).for_each(|k| harness.arrive(k, 1000));
        let held = harness.discipline.packets();
        for field in entry.table.fields.iter().filter(|field| !field.fixed) {
            let raw = match field.default_for(&LINK) {
                Some(Value::Number(x)) => Raw::Number(x),
                Some(Value::Integer(n) | Value::Size(Size::Packets(n))) => Raw::Integer(n as i64),
                Some(Value::Switch(on)) => Raw::Switch(on),
                Some(value) => Raw::Text(value.to_string()),
                None => continue,
            };
            assert_eq!(harness.set(field.name, &raw), Ok(()), "{}.{}", entry.table.about.name, field.name);
        }
        assert_eq!(harness.discipline.packets(), held);
    }
}

/// A link whose rate changes every millisecond does not stop the clocks: what is done by the clock is done as often.
#[test]
fn notices_of_the_link_leave_the_clocks_alone() {
    for entry in all() {
        let name = entry.table.about.name;
        let wakes = |notices: bool| {
            let (mut harness, mut times) = (defaults(name, 1), Vec::new());
            for k in 0..3000u64 {
                harness.arrive(k % 7, 1000);
                if k > 10 {
                    let _ = harness.depart();
                }
                if notices {
                    harness.link_changed(&Link { rate: Rate(1_000_000 + k % 2), packet: 1000 });
                }
                let next = harness.discipline.next_wakeup();
                harness.wait(Span::from_millis(1));
                times.extend(next.filter(|at| *at <= harness.now));
            }
            times
        };
        assert_eq!(wakes(true), wakes(false), "{name}");
    }
}

/// A container's classes have their own parameters: `classes.1.limit`.
#[test]
fn parameters_of_a_class_change_too() {
    for name in ["priority", "drr"] {
        let mut harness = defaults(name, 1);
        (0..30).for_each(|_| harness.submit(TestPacket { bytes: 1000, class: 1, ..TestPacket::default() }));
        assert_eq!(harness.set("classes.1.limit", &Raw::Integer(10)), Ok(()));
        assert_eq!((harness.discipline.packets(), harness.dropped.len()), (10, 20), "{name}");
        assert_eq!(harness.set("classes.1.class", &Raw::Integer(2)).unwrap_err(), "cannot change while it is in use");
        assert!(harness.set("classes.7.limit", &Raw::Integer(2)).unwrap_err().starts_with("no such parameter"));
        harness.assert_conserved();
    }
}

/// What was derived from the link's rate follows it, and what was given stays: RED's average decays by s in an idle period.
#[test]
fn derived_parameters_follow_the_link() {
    let table = all().iter().find(|entry| entry.table.about.name == "red").unwrap().table;
    let average = |given_s: Option<Span>, rate: u64| {
        let mut given = |at: usize| match table.fields[at].name {
            "s" => given_s.map(Value::Time),
            "w_q" => Some(Value::Number(0.5)),
            "min_th" | "max_th" => Some(Value::Size(Size::Packets(100 + at as u64))),
            _ => None,
        };
        let mut harness = harness("red", &mut given, 1).unwrap();
        harness.link_changed(&Link { rate: Rate(rate), packet: 1000 });
        (0..10).for_each(|_| harness.arrive(1, 1000));
        while harness.depart().is_some() {}
        let before = harness.discipline.average().unwrap();
        harness.wait(Span::from_millis(8));
        harness.arrive(1, 1000);
        harness.discipline.average().unwrap() / before
    };
    // 8 ms are two times of 500 bytes at 1 Mbit/s, and four at 2 Mbit/s.
    assert_eq!(average(None, 1_000_000), 0.25);
    assert_eq!(average(None, 2_000_000), 0.0625);
    assert_eq!(average(Some(Span::from_millis(4)), 2_000_000), 0.25, "it was given");
}

/// Numbers of packets that a paper gives for its own link are as much time on faster ones, and FRED's thresholds are a round
/// trip's packets, a quarter of the buffer at most.
#[test]
fn numbers_of_packets_follow_the_link() {
    let default = |name: &str, field: &str, rate: u64| {
        let fields = all().iter().find(|entry| entry.table.about.name == name).expect("a known name").table.fields;
        let link = Link { rate: Rate(rate), packet: 1500 };
        match fields.iter().find(|each| each.name == field).and_then(|each| each.default_for(&link)) {
            Some(Value::Size(Size::Packets(packets))) => packets,
            other => panic!("{name}.{field} = {other:?}"),
        }
    };
    for (name, field, expected) in [
        ("dcn", "q_ref", [24, 24, 24, 240]),
        ("dcn", "limit", [1000, 1000, 1000, 10_000]),
        ("afd", "q_ref", [240, 240, 240, 2400]),
        ("afd", "limit", [1000, 1000, 1000, 10_000]),
        ("fred", "min_th", [8, 75, 75, 75]),
        ("fred", "max_th", [16, 150, 150, 150]),
        ("ared", "limit", [300, 300, 300, 2500]),
    ] {
        let rates = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
        assert_eq!(rates.map(|rate| default(name, field, rate)), expected, "{name}.{field}");
    }
}

#[test]
fn what_cannot_change_says_why() {
    let mut harness = defaults("choke", 1);
    let mut refused = |name: &str, value| harness.set(name, &value).unwrap_err();
    assert_eq!(refused("candidate", Raw::Integer(2)), "no such parameter: \"candidate\"; did you mean \"candidates\"?");
    assert_eq!(refused("candidates", Raw::Integer(0)), "must be at least 1 and at most 64 packets");
    assert_eq!(refused("min_th", Raw::Integer(60)), "min_th < max_th");
    assert_eq!(defaults("dcn", 1).set("hb_flows", &Raw::Integer(9)).unwrap_err(), "cannot change while it is in use");
}
