//! What every discipline declares of itself is so: its parameters, their defaults, and which of them may change.

use sluicegate_aqm::harness::TestPacket;
use sluicegate_aqm::{DropReason, all, build};
use sluicegate_base::params::{DefaultValue, Kind, Raw};
use sluicegate_base::{Link, Params, Rate, Size, Span, Value};

use crate::every_discipline::{LINK, any_value, defaults, harness};

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
