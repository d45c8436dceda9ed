//! Traces of the kernel's code by hand, and what `tc` (iproute2 6.1.0) sent to the kernel, recorded from its messages.

use super::*;
use crate::harness::{Harness, TestPacket};
use alloc::vec::Vec;
use sluicegate_base::{Ecn, Link, Params};

fn params() -> ChokeLinuxParams {
    ChokeLinuxParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

fn thresholds(min_th: u64, max_th: u64, burst: u64) -> ChokeLinuxParams {
    let (min_th, max_th) = (Size::Packets(min_th), Size::Packets(max_th));
    ChokeLinuxParams { min_th, max_th, burst: Some(burst), ..params() }
}

fn harness(params: ChokeLinuxParams) -> Harness<ChokeLinux<TestPacket>> {
    Harness::new(ChokeLinux::new(params), 5)
}

/// Wlog, Scell_log, the first cells of Stab with the values 1, 2, 3 …, and its sum, as `tc qdisc add … choke` sent them
/// for (min, max, burst, avpkt, bandwidth).
#[test]
fn the_numbers_are_those_that_tc_sends() {
    type Given = (u64, u64, u64, u64, u64);
    let recorded: [(Given, u32, u32, &[usize], u32); 6] = [
        ((30, 60, 40, 1000, 1_000_000), 4, 17, &[15, 30, 45, 60, 74, 89, 104, 119, 133, 148, 163, 178, 193], 2097),
        ((25, 75, 41, 1000, 10_000_000), 5, 15, &[13, 25, 37, 49, 61, 73, 85, 97, 109, 121, 133, 145, 157], 2593),
        ((83, 250, 200, 1500, 100_000_000), 8, 15, &[15, 30, 44, 59, 74, 88, 103, 117, 132, 147, 161, 176], 2121),
        ((30, 60, 40, 1000, 64_000), 4, 21, &[15, 29, 44, 58, 73, 87, 102, 116, 130, 145, 159, 174, 188], 2149),
        // A packet takes less than 1 µs: no table.
        ((5, 15, 5, 500, 10_000_000_000), 1, 0, &[], 31),
        ((30, 60, 40, 1000, 1_000_000), 4, 17, &[15, 30], 2097),
    ];
    for ((min_th, max_th, burst, avpkt, rate), wlog, scell_log, firsts, sum) in recorded {
        let params = thresholds(min_th, max_th, burst);
        assert_eq!(params.wlog(), Some(wlog), "{params:?}");
        let idle = Filter::new(wlog, avpkt, Rate(rate));
        let first = |k| idle.stab.iter().position(|&cell| usize::from(cell) == k + 1);
        let ours: Vec<usize> = (0..firsts.len()).filter_map(first).collect();
        assert_eq!((idle.scell_log, ours.as_slice()), (scell_log, firsts), "{params:?}");
        assert_eq!(idle.stab.iter().map(|&cell| u32::from(cell)).sum::<u32>(), sum, "{params:?}");
    }
    // tc's default burst for 25 and 75, and the sizes of max_P for 0.02.
    let queue = ChokeLinux::<TestPacket>::new(ChokeLinuxParams { burst: None, ..thresholds(25, 75, 0) });
    assert_eq!((queue.filter.wlog, queue.band.max_p_delta), (5, 0x051e_b851 / 50));
}

#[test]
fn what_tc_refuses_is_refused() {
    let link = Link { rate: Rate(1_000_000), packet: 1000 };
    let build = |min_th: u64, max_th: u64, burst: u64| {
        let mut given = |at: usize| match ChokeLinuxParams::FIELDS[at].name {
            "min_th" => Some(sluicegate_base::Value::Size(Size::Packets(min_th))),
            "max_th" => Some(sluicegate_base::Value::Size(Size::Packets(max_th))),
            "burst" => Some(sluicegate_base::Value::Integer(burst)),
            _ => None,
        };
        ChokeLinuxParams::build(&mut given, &link)
    };
    assert!(build(30, 60, 30).is_ok());
    assert!(build(30, 60, 29).is_err(), "tc: burst 29 is too small");
    assert!(build(1, 15, 5).is_err(), "tc: failed to calculate EWMA constant");
    assert!(build(30, 60, 40_000).is_ok(), "Wlog = 25, and 60 << 25 is below 2^31");
    assert!(build(30, 60, 80_000).is_err(), "Wlog = 27: the kernel refuses 60 << 27");
}

/// red.h by hand: min 1, max 2, Wlog = 1, and nothing departs. (burst 2: 2 + 1 − 1 ≤ (1 − 1/4)·2 fails for min = 1, so
/// the weight is that of min 2, max 4, burst 2: 1 ≤ 1.5.)
#[test]
fn replays_the_kernels_code() {
    let mut harness = harness(ChokeLinuxParams { max_p: 0.5, ..thresholds(2, 4, 2) });
    let ChokeLinux { filter, band, .. } = &*harness.discipline;
    assert_eq!((filter.wlog, band.qth_min, band.qth_max), (1, 4, 8));
    // qavg ← qavg + qlen − (qavg >> 1): 0, 1, 1 + 2 − 0 = 3, 3 + 3 − 1 = 5.
    for (flow, qavg) in [(1, 0), (2, 1), (3, 3)] {
        harness.arrive(flow, 1000);
        assert_eq!((harness.discipline.average.qavg, harness.discipline.band.qcount), (qavg, -1));
    }
    // Flow 4 finds qavg = 5 > 4: one draw from three slots, no match; qcount = 0: a random number, and no test.
    let mut draws = harness.rng.clone();
    harness.arrive(4, 1000);
    let at = draws.below(3);
    assert!(at < 3 && harness.dropped.is_empty());
    // ⌊2³¹/2⌋ = 2³⁰ for each packet of height: qR is 0 … 3.
    let q_r = (draws.bits() >> 32) / (1 << 30);
    let ChokeLinux { average, band, .. } = &*harness.discipline;
    assert_eq!((average.qavg, band.qcount, band.q_r), (5, 0, q_r));
    // Flow 5: qavg = 5 + 4 − 2 = 7; height (7 − 4) >> 1 = 1, qcount = 1: marked if 1 ≥ qR.
    harness.arrive(5, 1000);
    draws.below(4);
    assert_eq!(harness.discipline.average.qavg, 7);
    assert_eq!(harness.dropped_flows(), if 1 >= q_r { Vec::from([(5, DropReason::Early)]) } else { Vec::new() });
    // Flow 1 again: qavg = 7 + (4 or 5) − 3 ≥ 8. At 8 it is not above max; the next arrivals are.
    while harness.discipline.average.qavg <= 8 {
        harness.arrive(6, 1000);
    }
    let before = harness.dropped.len();
    harness.arrive(7, 1000);
    assert_eq!(
        (harness.dropped_flows()[before..].to_vec(), harness.discipline.band.qcount),
        (Vec::from([(7, DropReason::Forced)]), -1)
    );
    harness.assert_conserved();
}

#[test]
fn it_compares_above_max_too() {
    let mut harness = harness(thresholds(2, 4, 2));
    (0..30).for_each(|_| harness.arrive(1, 1000));
    assert!(harness.dropped_flows().iter().all(|lost| *lost == (1, DropReason::Match)) && !harness.dropped.is_empty());
    // Another flow fills the queue far above max, then meets itself there.
    harness.discipline.average.qavg = 100;
    let before = harness.dropped.len();
    harness.arrive(1, 1000);
    assert_eq!(harness.dropped_flows()[before..], [(1, DropReason::Match), (1, DropReason::Match)]);
    harness.assert_conserved();
}

#[test]
fn three_empty_slots_give_the_head() {
    let mut harness = harness(thresholds(2, 60, 2));
    (0..50).for_each(|flow| {
        harness.discipline.ring.push(TestPacket {
            flow,
            bytes: 1,
            serial: 0,
            ecn: Ecn::NotCapable,
            ..TestPacket::default()
        })
    });
    (1..49).for_each(|at| {
        harness.discipline.ring.remove(at);
    });
    // Two of fifty slots are live: head with 1/50 for each try and (48/50)³ at the end, 49 with the rest.
    let head =
        (0..100_000).filter(|_| harness.discipline.peek_random(&mut harness.rng).unwrap().0 == 0).count() as f64 / 1e5;
    let miss: f64 = 0.96;
    let expected = 0.02 * (1.0 + miss + miss * miss) + miss * miss * miss;
    assert!((head - expected).abs() < 0.003, "{head} against {expected}");
}

/// The idle decay for tc's table of min 30, max 60, burst 40, avpkt 1000 at 1 Mbit/s: Scell_log 17, Stab[15] = 1.
#[test]
fn the_average_decays_by_the_table() {
    let idle = Filter::new(4, 1000, Rate(1_000_000));
    let after = |us: u64| idle.decay(1600, Span(us * 1000 + 999));
    assert_eq!(after(0), 1600);
    assert_eq!(after(20_000), 1600 - ((1600 * 20_000) >> 17), "linear at first: 244 less");
    assert_eq!(after(65_536), 800, "never less than half while the table has 0");
    assert_eq!(after(14 << 17), 800);
    assert_eq!(idle.decay(7, Span(65_536_000)), 3, "half of an odd average is cut");
    assert_eq!(after(15 << 17), 800, "one shift");
    assert_eq!(after(30 << 17), 400);
    assert_eq!(after(60_000_000), 0, "255 cells: 31 shifts");
}

#[test]
fn an_idle_period_starts_when_nothing_is_found() {
    let mut harness = harness(thresholds(2, 4, 2));
    (0..5).for_each(|flow| harness.arrive(flow, 1000));
    let mut qavg = harness.discipline.average.qavg;
    while harness.depart().is_some() {}
    harness.wait(Span::from_secs(5));
    harness.depart();
    harness.arrive(9, 1000);
    qavg = harness.discipline.filter.decay(qavg, Span::from_secs(5));
    assert_eq!(harness.discipline.average.qavg, qavg, "the second empty dequeue does not start it anew");
}

#[test]
fn with_ecn_it_marks_above_max() {
    let mut harness = harness(ChokeLinuxParams { ecn: true, ..thresholds(2, 4, 2) });
    harness.discipline.average.qavg = 100;
    harness.offer(1, 1000, Ecn::Capable0);
    harness.offer(2, 1000, Ecn::NotCapable);
    assert_eq!(harness.dropped_flows(), [(2, DropReason::Forced)]);
    assert_eq!(harness.depart().map(|packet| packet.ecn), Some(Ecn::CongestionExperienced));
    harness.discipline.ring.push(TestPacket {
        flow: 3,
        bytes: 1000,
        serial: 9,
        ecn: Ecn::Capable0,
        ..TestPacket::default()
    });
    harness.discipline.average.qavg = 100;
    harness.offer(3, 1000, Ecn::Capable0);
    assert_eq!(
        harness.dropped_flows()[1..],
        [(3, DropReason::Match), (3, DropReason::Match)],
        "matches are dropped, capable or not"
    );
}

#[test]
fn the_ring_never_outgrows_the_kernels() {
    let mut harness = harness(ChokeLinuxParams { limit: Size::Packets(20), ..thresholds(2, 4, 2) });
    for k in 0..10_000 {
        harness.arrive(k % 3, 1000);
        assert!(harness.discipline.ring.span() <= 31);
    }
    harness.assert_conserved();
}
