//! Containers with any discipline in their classes, containers too.

use proptest::prelude::*;
use sluicegate_aqm::harness::{Harness, TestPacket};
use sluicegate_aqm::{Class, ClassParams, Discipline, DropReason, all, build, contain, is_container};
use sluicegate_base::{Link, Params, Rate, Size, Span, Value};

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

/// RFC 8289, Sec. 4.4: CoDel in a class counts what all classes hold for the link, through containers in containers. In Linux a
/// class knows its own backlog only.
#[test]
fn codel_in_a_class_looks_at_all_queues_of_the_link() {
    let class = |at, queue| Class::new(at, &ClassParams::defaults(&LINK).unwrap(), queue);
    let tail = || build("drop_tail", &mut |_| None, &LINK).unwrap().unwrap();
    let codel = |name: &str, law| {
        let fields = all().iter().find(|entry| entry.table.about.name == name).unwrap().table.fields;
        let mut given = |at: usize| (fields[at].name == "law").then_some(Value::Choice(law));
        build(name, &mut given, &LINK).unwrap().unwrap()
    };
    for (outer, name) in containers().flat_map(|outer| [(outer, "codel"), (outer, "fq_codel")]) {
        for (law, nested, dropped) in
            [("rfc8289", false, true), ("rfc8289", true, true), ("linux", false, false), ("linux", true, false)]
        {
            let mut child = codel(name, law);
            if nested {
                child = contain(outer, &mut |_| None, &LINK, vec![class(0, child)]).unwrap().unwrap();
            }
            let classes = vec![class(0, child), class(1, tail())];
            let mut harness = Harness::boxed(contain(outer, &mut |_| None, &LINK, classes).unwrap().unwrap(), 1);
            for _ in 0..500 {
                while harness.discipline.packets() < 40 {
                    harness.submit(TestPacket { flow: 1, bytes: 1000, class: 1, ..TestPacket::default() });
                }
                if !harness.queued_flows().contains(&0) {
                    harness.submit(TestPacket { flow: 0, bytes: 1000, ..TestPacket::default() });
                }
                harness.wait(Span::from_millis(20));
                harness.depart();
            }
            let lost = harness.dropped_flows();
            assert_eq!(
                lost.contains(&(0, DropReason::Early)),
                dropped,
                "{name}, law = {law}, in {outer}, nested: {nested}"
            );
        }
    }
}
