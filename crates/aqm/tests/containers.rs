//! Containers with any discipline in their classes, containers too.

use proptest::prelude::*;
use sluicegate_aqm::harness::{Harness, TestPacket};
use sluicegate_aqm::{Class, ClassParams, Discipline, all, build, contain, is_container};
use sluicegate_base::{Link, Rate, Size, Span, Value};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

type AnyDiscipline = dyn Discipline<TestPacket>;

/// The discipline of this name with a short queue and a nervous RED.
fn child(name: &str) -> Box<AnyDiscipline> {
    let fields = all().iter().find(|entry| entry.table.about.name == name).expect("a known name").table.fields;
    let mut given = |at: usize| match fields[at].name {
        "limit" => Some(Value::Size(Size::Packets(12))),
        "min_th" => Some(Value::Size(Size::Packets(2))),
        "max_th" => Some(Value::Size(Size::Packets(6))),
        "w_q" => Some(Value::Number(0.25)),
        _ => None,
    };
    build(name, &mut given, &LINK)
        .expect("a known name")
        .or_else(|_| build(name, &mut |_| None, &LINK).expect("a known name"))
        .expect("defaults keep the rules")
}

fn containers() -> impl Iterator<Item = &'static str> {
    all().iter().map(|entry| entry.table.about.name).filter(|name| is_container(name))
}

fn harness(outer: &str, names: &[&str], seed: u64) -> Harness<AnyDiscipline> {
    let class = |(at, name): (usize, &&str)| {
        let params = ClassParams {
            class: None,
            max_length: (at == 0).then_some(Size::Bytes(200)),
            quantum: Some(Size::Bytes(400 * (at as u64 + 1))),
        };
        Class::new(at, &params, child(name))
    };
    let classes = names.iter().enumerate().map(class).collect();
    let built = contain(outer, &mut |_| None, &LINK, classes).expect("a container").expect("defaults keep the rules");
    Harness::boxed(built, seed)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Conservation; while anything is queued the link gets a packet; and the same seed gives the same run.
    #[test]
    fn packets_are_conserved_in_every_class(
        steps in proptest::collection::vec((0u8..10, 40u64..1500, 0u8..4, 0u64..6), 0..400), seed: u64, choice: u64,
    ) {
        let names: Vec<&str> = all().iter().map(|entry| entry.table.about.name).collect();
        let pick = |k: u64| names[((choice >> (8 * k)) % names.len() as u64) as usize];
        for outer in containers() {
            let inside = [pick(0), pick(1), pick(2)];
            let run = || {
                let mut harness = harness(outer, &inside, seed);
                let mut sent = Vec::new();
                for &(what, bytes, class, flow) in &steps {
                    match what {
                        0..5 => harness.submit(TestPacket { flow, bytes, class, priority: class % 2, ..TestPacket::default() }),
                        5..9 => {
                            let queued = harness.discipline.packets();
                            let packet = harness.depart();
                            assert!(packet.is_some() || queued == 0, "{inside:?} in {outer}: {queued} queued, none sent");
                            sent.push(packet);
                        }
                        _ => harness.wait(Span(bytes * 5_000_000)),
                    }
                    harness.assert_conserved();
                }
                (sent, harness.dropped)
            };
            prop_assert_eq!(run(), run());
        }
    }
}

#[test]
fn there_are_containers_and_no_other_can_hold_classes() {
    assert_eq!(containers().collect::<Vec<_>>(), ["priority", "drr"]);
    assert!(contain::<TestPacket>("red", &mut |_| None, &LINK, Vec::new()).is_none());
}
