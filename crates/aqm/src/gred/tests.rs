//! The kernel's rules by hand, with W = 1/2, which follows from a burst of 2 and min_th = 2.

use super::*;
use crate::harness::{Harness, TestPacket};
use sluicegate_base::{Ecn, Link, Params, Value};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

/// Two queues with thresholds 2 and 4, scaled 4 and 8.
fn params(average: Averaging) -> GredParams {
    let th = Size::Packets;
    GredParams {
        queues: 2,
        average,
        min_th: th(2),
        max_th: th(4),
        max_p: 0.5,
        burst: Some(2),
        ..GredParams::defaults(&LINK).unwrap()
    }
}

type Gate = Harness<Gred<TestPacket>>;

fn harness(params: GredParams) -> Gate {
    Harness::new(Gred::new(params), 5)
}

/// A packet of this class arrives; how many have been dropped now.
fn arrive(harness: &mut Gate, class: u8) -> usize {
    let packet = TestPacket { flow: u64::from(class), bytes: 1000, ecn: Ecn::Capable0, class, ..TestPacket::default() };
    harness.submit(packet);
    harness.dropped.len()
}

fn averages(harness: &Gate) -> (f64, f64) {
    (harness.state("avg_0").unwrap(), harness.state("avg_1").unwrap())
}

/// qavg_0 ← qavg_0 + q_0 − (qavg_0 >> 1): 0, 1, 1 + 2 − 0 = 3, 3 + 3 − 1 = 5 of halves; the last is in the band, and draws qR_0.
fn with_four_of_class_0(average: Averaging) -> Gate {
    let mut harness = harness(params(average));
    for avg in [0.0, 0.5, 1.5, 2.5] {
        assert_eq!((arrive(&mut harness, 0), averages(&harness).0), (0, avg));
    }
    harness
}

#[test]
fn grio_adds_the_averages_of_the_queues_before() {
    let mut harness = with_four_of_class_0(Averaging::Grio);
    let mut draws = harness.rng.clone();
    // Class 1: its own average is 0, with queue 0's it is 5 halves: in the band, and qcount_1 = 0 draws qR_1 of 0 … 3.
    assert_eq!((arrive(&mut harness, 1), averages(&harness)), (0, (2.5, 0.0)));
    let q_r = (draws.bits() >> 32) / (1 << 30);
    assert_eq!(harness.discipline.queues[1].band.q_r, q_r);
    // Its second finds one of its own: 0 + 1 − 0 = 1, with queue 0's 6; the height (6 − 4) >> 1 = 1, qcount_1 = 1.
    let signal = usize::from(1 >= q_r);
    assert_eq!((arrive(&mut harness, 1), averages(&harness)), (signal, (2.5, 0.5)));
    // Queue 0 is not judged by queue 1: 5 + 4 − 2 = 7 is in the band, 7 + 4 − 3 = 8 or more is not.
    assert_eq!(harness.discipline.queues[0].band.qcount, 0);
    while averages(&harness).0 < 4.0 {
        arrive(&mut harness, 0);
    }
    assert_eq!(harness.dropped_flows().last(), Some(&(0, DropReason::Forced)));
    // When queue 0 has run empty, and is idle, it no longer counts.
    while harness.depart().is_some() {}
    let before = harness.dropped.len();
    (0..3).for_each(|_| assert_eq!(arrive(&mut harness, 1), before));
    assert!(averages(&harness).0 > 4.0 && averages(&harness).1 < 2.0, "{:?}", averages(&harness));
    // Until the next of its packets comes; 100 µs are too little for tc's table, and its average is what it was.
    harness.wait(Span(100_000));
    arrive(&mut harness, 0);
    assert_eq!(arrive(&mut harness, 1), before + 2);
    harness.assert_conserved();
}

#[test]
fn a_queue_may_be_judged_by_itself_or_all_by_one_average() {
    let mut own = with_four_of_class_0(Averaging::Own);
    assert_eq!((arrive(&mut own, 1), arrive(&mut own, 1), averages(&own)), (0, 0, (2.5, 0.5)));
    assert_eq!(own.discipline.queues[1].band.qcount, -1, "below min_th");
    assert_eq!(own.discipline.average(), None);
    // All packets count for one average: 5 + 4 − 2 = 7 in the band, 7 + 5 − 3 = 9 beyond it.
    let mut wred = with_four_of_class_0(Averaging::Wred);
    assert_eq!((arrive(&mut wred, 1), averages(&wred)), (0, (3.5, 3.5)));
    assert_eq!((arrive(&mut wred, 1), averages(&wred)), (1, (4.5, 4.5)));
    assert_eq!((wred.dropped_flows(), wred.discipline.average()), ([(1, DropReason::Forced)].into(), Some(4.5)));
}

#[test]
fn a_marker_marks_above_max_th_too_unless_told_to_drop() {
    for (above_max_th, reasons) in [(Action::Mark, 0), (Action::Drop, 2)] {
        let signal = RedSignal { action: Action::Mark, above_max_th };
        let mut harness = harness(GredParams { signal, ..params(Averaging::Wred) });
        for _ in 0..5 {
            arrive(&mut harness, 0);
        }
        harness.dropped.clear();
        harness.arrived = harness.discipline.packets();
        assert_eq!((arrive(&mut harness, 0), arrive(&mut harness, 1)), (reasons / 2, reasons));
        assert!(harness.dropped_flows().iter().all(|(_, reason)| *reason == DropReason::Forced));
        harness.arrive(0, 1000);
        assert_eq!(harness.dropped.len(), reasons + 1, "it is not capable");
    }
}

/// The third queue of three has the last values, the second those in the middle.
#[test]
fn values_go_in_equal_steps_from_the_first_queue_to_the_last() {
    let defaults = GredParams::defaults(&LINK).unwrap();
    assert_eq!([0, 1, 2].map(|at| (defaults.band(at), defaults.max_p(at))), [((15, 45), 0.02); 3]);
    let steps = GredParams {
        last_min_th: Some(Size::Packets(4)),
        last_max_th: Some(Size::Packets(60)),
        last_max_p: Some(0.06),
        ..defaults
    };
    assert_eq!([0, 1, 2].map(|at| steps.band(at)), [(15, 45), (9, 52), (4, 60)]);
    assert_eq!([0, 2].map(|at| steps.max_p(at)), [0.02, 0.06]);
    assert!((steps.max_p(1) - 0.04).abs() < 1e-15);
    let one = GredParams { queues: 1, ..steps };
    assert_eq!((one.band(0), one.max_p(0)), ((15, 45), 0.02), "a single queue is the first");
}

#[test]
fn what_has_no_sense_is_refused() {
    let build = |changes: &[(&str, Value)]| {
        let value = |name| changes.iter().find(|(key, _)| *key == name).map(|(_, value)| value.clone());
        GredParams::build(&mut |at| value(GredParams::FIELDS[at].name), &LINK).is_ok()
    };
    let packets = |n| Value::Size(Size::Packets(n));
    assert!(build(&[]) && build(&[("last_min_th", packets(44))]));
    assert!(!build(&[("last_min_th", packets(45))]), "as high as its max_th");
    assert!(!build(&[("last_max_th", Value::Size(Size::Bytes(60_000)))]), "another unit");
    assert!(!build(&[("default_queue", Value::Integer(3))]) && build(&[("default_queue", Value::Integer(2))]));
    assert!(!build(&[("burst", Value::Integer(14))]), "less than min_th");
    assert!(build(&[("last_max_th", packets((1 << 27) - 1))]), "W = 1/16 leaves 27 bits");
    assert!(!build(&[("last_max_th", packets(1 << 27))]));
    // In bytes, min_th is 15,000 over avpkt packets.
    let bytes = |n| Value::Size(Size::Bytes(n));
    let given = [("min_th", bytes(15_000)), ("max_th", bytes(45_000)), ("burst", Value::Integer(20))];
    assert!(build(&given));
    assert!(!build(&[given.as_slice(), &[("avpkt", bytes(500))]].concat()), "30 packets of 500 bytes");
}

/// A class without a queue goes to the default one; each queue has room for 3 and all together for 5.
#[test]
fn each_queue_has_a_limit_and_all_together_have_one() {
    let high = (Size::Packets(50), Size::Packets(100));
    let params = GredParams {
        queues: 3,
        default_queue: Some(1),
        min_th: high.0,
        max_th: high.1,
        burst: Some(60),
        queue_limit: Some(Size::Packets(3)),
        limit: Size::Packets(5),
        ..params(Averaging::Own)
    };
    let mut harness = harness(params);
    let drops = [9, 1, 9, 1, 2, 2, 2, 0].map(|class| arrive(&mut harness, class));
    assert_eq!(drops, [0, 0, 0, 1, 1, 1, 2, 3]);
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Tail), (2, DropReason::Tail), (0, DropReason::Tail)]);
    assert_eq!(harness.queued_flows(), [9, 1, 9, 2, 2], "one queue, in order of arrival");
    harness.assert_conserved();
}

/// Two queues in grio are RIO: at 1.5 times the link's rate the first class, a third of it, all but passes, and the
/// second makes room.
#[test]
fn the_last_class_is_dropped_first() {
    let mut drops = [0, 0];
    let mut harness = harness(GredParams { queues: 2, ..GredParams::defaults(&LINK).unwrap() });
    for _ in 0..20_000 {
        for class in [0, 1, 1] {
            arrive(&mut harness, class);
        }
        assert!(harness.depart().is_some() && harness.depart().is_some());
    }
    harness.dropped.iter().for_each(|(packet, _)| drops[packet.flow as usize] += 1);
    assert!(drops[0] < 400 && drops[1] > 19_500, "{drops:?}");
}
