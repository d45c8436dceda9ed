use super::*;
use crate::FlowKey;
use crate::harness::{Harness, TestPacket};
use sluicegate_base::{Ecn, Link, Params, Rate};

fn params() -> SfbParams {
    SfbParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

fn harness(params: SfbParams) -> Harness<Sfb<TestPacket>> {
    Harness::new(Sfb::new(params), 1)
}

fn p(harness: &Harness<Sfb<TestPacket>>, flow: u64) -> f64 {
    harness.discipline.probability(FlowKey(flow)).unwrap()
}

/// By hand, with bins of 2 to 4 packets, steps of a quarter, and flows 1 and 2 that share no bin of all levels: p of flow 1
/// rises from its third packet on.
#[test]
fn replays_the_rule() {
    let small = SfbParams { bin_size: 2, bin_max: 4, increment: 0.25, decrement: 0.125, ..params() };
    let mut harness = harness(small);
    // Packets 1 and 2 find 0 and 1: p stays 0. Packet 3 finds 2: p = 1/4, and r decides.
    (0..2).for_each(|_| harness.arrive(1, 100));
    assert_eq!((p(&harness, 1), harness.discipline.packets()), (0.0, 2));
    let r = (harness.rng.clone().bits() >> 48) as u32;
    harness.arrive(1, 100);
    let step = 16384.0 / 65535.0;
    assert_eq!(p(&harness, 1), step);
    assert_eq!(harness.dropped_flows().len() as u64, u64::from(r < 16384));
    // Whatever r said, the bins rise by a quarter with each further arrival, to 1; packets that enter stop at 4.
    (0..3).for_each(|_| harness.arrive(1, 100));
    assert_eq!(p(&harness, 1), 1.0, "4 times 16384 is 65536, cut at 65535");
    // At p = 1 it has the tokens of a burst, as far as bin_max lets it.
    while harness.discipline.packets() < 4 {
        harness.arrive(1, 100);
    }
    harness.arrive(1, 100);
    assert_eq!(harness.dropped_flows().last(), Some(&(1, DropReason::Forced)), "its bins are full");
    // Another flow is not touched.
    assert_eq!(p(&harness, 2), 0.0);
    // Its bins empty, p falls by an eighth with an arrival.
    while harness.depart().is_some() {}
    harness.arrive(1, 100);
    assert_eq!(p(&harness, 1), (65535.0 - 8192.0) / 65535.0);
    harness.assert_conserved();
}

/// A flow at p = 1 gets its burst and then its rate. By the kernel's count it gets its burst, and what the first look
/// at an empty count finds, after 0.2 s: two. One packet came before p was 1, and one is left in the queue.
#[test]
fn unresponsive_flows_get_the_penalty_rate() {
    for (tokens, expected) in [(Tokens::Bucket, 20 + 100), (Tokens::Linux, 20 + 2)] {
        let mut harness = harness(SfbParams { bin_size: 1, increment: 1.0, tokens, ..params() });
        harness.arrive(1, 100);
        harness.arrive(1, 100);
        let before = harness.departed;
        // 1000 packets in 10 s.
        for _ in 0..1000 {
            harness.wait(Span::from_millis(10));
            harness.arrive(1, 100);
            // One is always left, so that the bins are never empty.
            if harness.discipline.packets() > 1 {
                harness.depart();
            }
        }
        let passed = harness.departed - before;
        assert!(passed.abs_diff(expected) <= 1, "{tokens:?}: {passed}");
        assert!(harness.dropped_flows()[1..].iter().all(|drop| *drop == (1, DropReason::Policed)));
    }
}

/// Far above 1/2 packets are dropped although they could be marked; below they are marked.
#[test]
fn marks_give_way_to_drops() {
    for (increment, action) in [(0.4, Action::Mark), (0.4, Action::Drop), (0.95, Action::Mark)] {
        let (mut marked, mut dropped) = (0, 0);
        for seed in 0..200 {
            let mut harness = Harness::new(Sfb::new(SfbParams { bin_size: 1, increment, action, ..params() }), seed);
            harness.offer(1, 100, Ecn::Capable0);
            harness.offer(1, 100, Ecn::Capable0);
            harness.depart();
            marked += i32::from(harness.depart().is_some_and(|packet| packet.ecn == Ecn::CongestionExperienced));
            dropped += harness.dropped.len();
        }
        match (increment < 0.5, action) {
            // 0.4 of 200: four standard errors are 28.
            (true, Action::Mark) => assert!((52..108).contains(&marked) && dropped == 0, "{marked} {dropped}"),
            (true, Action::Drop) => assert!((52..108).contains(&dropped) && marked == 0, "{marked} {dropped}"),
            // r < 0.95, of which r < 0.9 is dropped: 180 of 200 dropped, 10 marked.
            _ => assert!((163..197).contains(&dropped) && (1..23).contains(&marked), "{marked} {dropped}"),
        }
    }
}

#[test]
fn a_new_hash_takes_over_with_what_it_was_warmed_up_with() {
    let mut harness = harness(SfbParams { bin_size: 1, increment: 1.0, ..params() });
    // The bins are never empty, so that flow 1 stays at p = 1.
    harness.arrive(1, 100);
    (0..2).for_each(|_| harness.arrive(1, 100));
    harness.wait(Span::from_secs(539));
    harness.arrive(1, 100);
    let other =
        |harness: &Harness<Sfb<TestPacket>>| harness.discipline.filters[1].bins.iter().map(|bin| bin.qlen).sum::<u64>();
    assert_eq!(other(&harness), 0, "no warm-up yet");
    harness.wait(Span::from_secs(2));
    (0..3).for_each(|_| harness.arrive(1, 100));
    assert_eq!(other(&harness), 3 * 8, "counted in both filters");
    harness.wait(Span::from_secs(60));
    harness.arrive(2, 100);
    assert_eq!((harness.discipline.slot, p(&harness, 1)), (1, 1.0), "and so known at once under the new hash");
    while harness.depart().is_some() {}
    assert!(harness.discipline.filters.iter().all(|filter| filter.bins.iter().all(|bin| bin.qlen == 0)));
    harness.assert_conserved();
}

/// Ids that a plain modulus would put into the same bins: under the keyed hash they fill all alike, and the memory is the
/// same for one flow and for a million.
#[test]
fn a_million_chosen_ids_share_the_bins_evenly() {
    let mut harness = harness(SfbParams { bin_size: 2000, bin_max: 100_000, limit: Size::Packets(20_000), ..params() });
    for k in 0..1_000_000u64 {
        harness.arrive(k << 44, 100);
        if harness.discipline.packets() > 16_000 {
            harness.depart();
        }
    }
    let filter = &harness.discipline.filters[0];
    assert_eq!(filter.bins.len(), 128);
    // 1000 packets for each bin: five standard deviations are 153.
    assert!(filter.bins.iter().all(|bin| bin.qlen.abs_diff(1000) < 160));
    assert!(harness.dropped.is_empty());
}
