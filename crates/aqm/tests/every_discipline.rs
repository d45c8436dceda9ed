//! What holds for every discipline in the registry, whatever it is fed.

use proptest::prelude::*;
use sluicegate_aqm::rig::{Rig, TestPacket};
use sluicegate_aqm::{Cause, Ctx, Discipline, all, build};
use sluicegate_base::params::{DefaultValue, Given, Kind};
use sluicegate_base::{Link, Params, Rate, Size, Span, Value};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

/// A boxed discipline as one that the rig can hold.
struct Boxed(Box<dyn Discipline<TestPacket>>);

impl Discipline<TestPacket> for Boxed {
    fn enqueue(&mut self, packet: TestPacket, ctx: &mut Ctx<'_, TestPacket>) {
        self.0.enqueue(packet, ctx);
    }
    fn dequeue(&mut self, ctx: &mut Ctx<'_, TestPacket>) -> Option<TestPacket> {
        self.0.dequeue(ctx)
    }
    fn next_wakeup(&self) -> Option<sluicegate_base::Time> {
        self.0.next_wakeup()
    }
    fn wake(&mut self, ctx: &mut Ctx<'_, TestPacket>) {
        self.0.wake(ctx);
    }
    fn packets(&self) -> u64 {
        self.0.packets()
    }
    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
    fn for_each(&self, visit: &mut dyn FnMut(&TestPacket)) {
        self.0.for_each(visit);
    }
    fn average(&self) -> Option<f64> {
        self.0.average()
    }
}

fn rig(name: &str, given: Given<'_>, seed: u64) -> Rig<Boxed> {
    Rig::new(Boxed(build(name, given, &LINK).expect("a known name").expect("valid parameters")), seed)
}

#[derive(Clone, Debug)]
enum Step {
    Arrive { flow: u64, bytes: u64 },
    Depart,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        5 => (0u64..6, 40u64..1500).prop_map(|(flow, bytes)| Step::Arrive { flow, bytes }),
        3 => Just(Step::Depart),
        1 => (0u64..200_000_000).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..600)
}

fn play(rig: &mut Rig<Boxed>, steps: &[Step]) -> Vec<(u64, Option<u64>)> {
    let mut departures = Vec::new();
    for step in steps {
        match *step {
            Step::Arrive { flow, bytes } => rig.arrive(flow, bytes),
            Step::Depart => departures.push((rig.now.0, rig.depart().map(|packet| packet.serial))),
            Step::Wait(ns) => rig.wait(Span(ns)),
        }
        rig.assert_conserved();
    }
    departures
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Conservation, and a packet departs or is lost at most once; causes are the declared ones.
    #[test]
    fn packets_are_conserved(steps in steps(), seed: u64, limit in 1u64..80, min in 1u64..30, width in 1u64..30) {
        for entry in all() {
            let table = &entry.table;
            let mut given = |at: usize| match table.fields[at].name {
                "limit" => Some(Value::Size(Size::Packets(limit))),
                "min_th" => Some(Value::Size(Size::Packets(min))),
                "max_th" => Some(Value::Size(Size::Packets(min + width))),
                "w_q" => Some(Value::Number(0.25)),
                _ => None,
            };
            let mut rig = rig(table.about.name, &mut given, seed);
            let departures = play(&mut rig, &steps);
            prop_assert!(rig.discipline.packets() <= limit);
            let mut serials: Vec<u64> = departures.iter().filter_map(|(_, serial)| *serial).collect();
            serials.extend(rig.lost.iter().map(|(packet, _)| packet.serial));
            serials.sort_unstable();
            let before = serials.len();
            serials.dedup();
            prop_assert_eq!(serials.len(), before, "{} used a packet twice", table.about.name);
            for (_, cause) in &rig.lost {
                prop_assert!(entry.causes.contains(cause), "{}: undeclared cause {cause:?}", table.about.name);
            }
        }
    }

    /// A limit in bytes is kept too.
    #[test]
    fn a_limit_in_bytes_is_kept(steps in steps(), seed: u64, limit in 1500u64..20_000) {
        for entry in all() {
            let fields = entry.table.fields;
            let mut given = |at: usize| (fields[at].name == "limit").then_some(Value::Size(Size::Bytes(limit)));
            let mut rig = rig(entry.table.about.name, &mut given, seed);
            play(&mut rig, &steps);
            prop_assert!(rig.discipline.bytes() <= limit);
        }
    }

    /// The same seed and the same arrivals give the same departures and losses.
    #[test]
    fn runs_are_repeatable(steps in steps(), seed: u64) {
        for entry in all() {
            let mut first = rig(entry.table.about.name, &mut |_| None, seed);
            let mut second = rig(entry.table.about.name, &mut |_| None, seed);
            prop_assert_eq!(play(&mut first, &steps), play(&mut second, &steps));
            prop_assert_eq!(&first.lost, &second.lost);
        }
    }

    /// The average lies between zero and the longest queue, as that of a filter must.
    #[test]
    fn averages_stay_within_the_queue(steps in steps(), seed: u64) {
        for entry in all() {
            let mut rig = rig(entry.table.about.name, &mut |_| None, seed);
            let mut longest = 0;
            for step in &steps {
                play(&mut rig, std::slice::from_ref(step));
                longest = longest.max(rig.discipline.packets());
                if let Some(average) = rig.discipline.average() {
                    prop_assert!((0.0..=longest as f64).contains(&average));
                }
            }
        }
    }
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
        assert!(!entry.causes.is_empty() && about.tc.starts_with("tc "), "{}", about.name);
        for field in entry.table.fields {
            assert!(!field.doc.trim().is_empty() && !field.source.is_empty(), "{}.{}", about.name, field.name);
            let unit_needed = matches!(field.kind, Kind::Number | Kind::Integer | Kind::Size);
            assert!(!unit_needed || !field.unit.is_empty(), "{}.{} has no unit", about.name, field.name);
            assert!(!matches!(field.default, DefaultValue::Required), "{}.{}", about.name, field.name);
        }
    }
}

#[test]
fn every_cause_has_its_place() {
    for (at, cause) in Cause::ALL.iter().enumerate() {
        assert_eq!(*cause as usize, at);
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
