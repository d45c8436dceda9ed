//! What holds for every discipline in the registry, whatever it is fed.

use proptest::prelude::*;
use sluicegate_aqm::harness::{Harness, TestPacket};
use sluicegate_aqm::{Discipline, DropReason, Entry, Overload, all, build};
use sluicegate_base::params::{Given, Kind, Problem, Raw, Table, given};
use sluicegate_base::{Ecn, Field, Link, Rate, Size, Span, Stream, Value};

pub const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

pub type AnyDiscipline = dyn Discipline<TestPacket>;

/// A harness with these values; `None` when they break a rule of the discipline, such as that its limit counts packets.
pub fn harness(name: &str, given: Given<'_>, seed: u64) -> Option<Harness<AnyDiscipline>> {
    match build(name, given, &LINK).expect("a known name") {
        Ok(discipline) => Some(Harness::boxed(discipline, seed)),
        Err(Problem::Broken(_)) => None,
        Err(problem) => panic!("{name}: {problem:?}"),
    }
}

pub fn defaults(name: &str, seed: u64) -> Harness<AnyDiscipline> {
    harness(name, &mut |_| None, seed).expect("defaults keep the rules")
}

/// A value for each word, switch and small count of a table, by the digits of `choice`; the rest by `sizes`.
pub fn any_value(table: &Table, choice: u64, sizes: impl Fn(&str) -> Option<Value>) -> impl Fn(usize) -> Option<Value> {
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
        for seed in 0..50 {
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
            let Some(mut harness) = harness(name, &mut given(&values), seed) else { continue };
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
