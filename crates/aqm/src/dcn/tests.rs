//! The rule by hand: p_ref is held still by equal bounds where it is not the subject.

use super::*;
use crate::harness::{Harness, TestPacket};
use crate::red::Action;
use alloc::vec::Vec;
use sluicegate_base::{Ecn, Link, Params, Rate};

fn defaults() -> DcnParams {
    DcnParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

/// A harness with p_ref = 4 and threshold 2.
fn harness(params: DcnParams) -> Harness<Dcn<TestPacket>> {
    Harness::new(Dcn::new(DcnParams { p_ref_min: 4.0, p_ref_max: Some(4.0), threshold: 2, ..params }), 1)
}

/// The link takes all packets but one, for a packet that finds the queue empty is not judged.
fn leave_one(harness: &mut Harness<Dcn<TestPacket>>) {
    while harness.discipline.packets() > 1 {
        harness.depart();
    }
}

fn pktcounts(harness: &Harness<Dcn<TestPacket>>) -> Vec<(u64, f64)> {
    let mut counts: Vec<_> = harness.discipline.tables.hb.iter().map(|(flow, count)| (flow.0, *count)).collect();
    counts.sort_by_key(|entry| entry.0);
    counts
}

/// The paper's pseudocode by hand, forwarded packets counted.
#[test]
fn replays_the_papers_rule() {
    let mut harness = harness(defaults());
    // Packets 1, 2 and 3 count in SB; with the third, 3 > 2, flow 1 moves to HB.
    harness.arrive(1, 1000);
    let mut draws = harness.rng.clone();
    harness.arrive(1, 1000);
    assert_eq!((pktcounts(&harness), harness.state("sb_flows")), (Vec::new(), Some(1.0)));
    harness.arrive(1, 1000);
    assert_eq!((pktcounts(&harness), harness.state("sb_flows")), ([(1, 3.0)].to_vec(), Some(0.0)));
    // Packet 4 finds pktcount 3 and packet 5 finds 4: 1 − 4/3 and 1 − 4/4 are not above 0. Packet 6 finds 5: 0.2.
    for (pktcount, p) in [(3.0, 0.0), (4.0, 0.0), (5.0, 0.2)] {
        assert_eq!(pktcounts(&harness), [(1, pktcount)]);
        harness.arrive(1, 1000);
        assert_eq!(!harness.dropped.is_empty(), draws.uniform() < p);
    }
    // From here on by the rule alone: flow 2 is never judged, flow 1 always.
    let (mut pktcount, mut lost) = (6.0 - harness.dropped.len() as f64, harness.dropped.len());
    for _ in 0..200 {
        harness.arrive(1, 1000);
        let dropped = draws.uniform() < 1.0 - 4.0 / pktcount;
        pktcount += f64::from(u8::from(!dropped));
        lost += usize::from(dropped);
        assert_eq!((harness.dropped.len(), pktcounts(&harness)), (lost, [(1, pktcount)].to_vec()));
    }
    harness.arrive(2, 1000);
    assert!(
        harness.dropped.len() == lost
            && lost > 100
            && harness.dropped.iter().all(|(_, reason)| *reason == DropReason::Early)
    );
    // T_dec: pktcount − 4 each time, until nothing is left.
    for k in 1..=libm::ceil(pktcount / 4.0) as u64 {
        harness.wait(Span::from_millis(800));
        let left = pktcount - 4.0 * k as f64;
        assert_eq!(pktcounts(&harness), if left > 0.0 { [(1, left)].to_vec() } else { Vec::new() });
    }
    assert_eq!((harness.state("hb_entries"), harness.state("hb_exits")), (Some(1.0), Some(1.0)));
    harness.assert_conserved();
}

/// With arrivals the count grows with dropped packets too, and the arrival counts before it is judged.
#[test]
fn arrivals_can_be_counted_instead() {
    let mut harness = harness(DcnParams { count: Count::Arrived, ..defaults() });
    harness.arrive(1, 1000);
    let mut draws = harness.rng.clone();
    (0..2).for_each(|_| harness.arrive(1, 1000));
    let mut lost = 0;
    for arrived in 4..100 {
        harness.arrive(1, 1000);
        lost += usize::from(draws.uniform() < 1.0 - 4.0 / f64::from(arrived));
        assert_eq!((harness.dropped.len(), pktcounts(&harness)), (lost, [(1, f64::from(arrived))].to_vec()));
    }
    assert!(lost > 70);
}

/// The two readings at equilibrium: ten times p_ref arrive in each T_dec. Counting what is forwarded lets about p_ref of them
/// through, counting arrivals ever fewer.
#[test]
fn an_unresponsive_flow_gets_its_fair_share_if_forwarded_packets_count() {
    for (count, low, high) in [(Count::Forwarded, 0.095, 0.115), (Count::Arrived, 0.0, 0.02)] {
        let fixed = DcnParams { p_ref_min: 20.0, p_ref_max: Some(20.0), count, ..defaults() };
        let mut harness = Harness::new(Dcn::new(fixed), 3);
        harness.arrive(2, 1000);
        let mut dropped = 0;
        for k in 0..100_000 {
            if k == 20_000 {
                dropped = harness.dropped.len();
            }
            harness.arrive(1, 1000);
            leave_one(&mut harness);
            harness.wait(Span::from_millis(4));
        }
        let share = 1.0 - (harness.dropped.len() - dropped) as f64 / 80_000.0;
        assert!((low..high).contains(&share), "{}: {share}", count.word());
    }
}

#[test]
fn a_silent_clearing_interval_starts_the_count_anew() {
    for (silence, classified) in [(500, true), (501, false)] {
        let mut harness = harness(defaults());
        (0..2).for_each(|_| harness.arrive(1, 1000));
        harness.wait(Span::from_millis(silence));
        harness.arrive(1, 1000);
        assert_eq!(!pktcounts(&harness).is_empty(), classified, "{silence} ms");
    }
    // A count is not cleared by the clock: twice 400 ms between three packets are no silence.
    let mut harness = harness(defaults());
    for _ in 0..3 {
        harness.arrive(1, 1000);
        harness.wait(Span::from_millis(400));
    }
    assert_eq!(harness.state("hb_entries"), Some(1.0));
}

#[test]
fn a_collision_in_the_scoreboard_overwrites() {
    let mut harness = harness(DcnParams { sb_entries: 1, ..defaults() });
    for flow in [1, 1, 2, 1, 1] {
        harness.arrive(flow, 1000);
        assert_eq!(harness.state("sb_flows"), Some(1.0));
    }
    assert!(pktcounts(&harness).is_empty());
    harness.arrive(1, 1000);
    assert_eq!(pktcounts(&harness), [(1, 3.0)]);
}

/// Room for three: of three the middle one leaves, then one takes its place.
#[test]
fn a_flow_that_leaves_makes_room_for_another() {
    let mut harness = harness(DcnParams { hb_flows: 3, limit: Size::Packets(5), ..defaults() });
    for (flow, packets) in [(1, 5), (2, 3), (3, 5)] {
        (0..packets).for_each(|_| harness.arrive(flow, 1000));
        while harness.depart().is_some() {}
    }
    assert_eq!(pktcounts(&harness), [(1, 5.0), (2, 3.0), (3, 5.0)]);
    (0..9).for_each(|_| harness.arrive(4, 1000));
    assert_eq!(
        (pktcounts(&harness).len(), harness.dropped_flows()),
        (3, [(4, DropReason::Tail); 4].to_vec()),
        "full: flow 4 is not judged"
    );
    harness.wait(Span::from_millis(800));
    assert_eq!(pktcounts(&harness), [(1, 1.0), (3, 1.0)]);
    while harness.depart().is_some() {}
    (0..3).for_each(|_| harness.arrive(4, 1000));
    assert_eq!(pktcounts(&harness), [(1, 1.0), (3, 1.0), (4, 3.0)], "after its silence of 800 ms it is counted anew");
    harness.assert_conserved();
}

/// a = 1, b = 2, q_ref = 3, from 100. Queue 5, then 7: corrected p_ref ← 100 + 1·(0 − 3) − 2·(5 − 3) = 93, then
/// 93 + (5 − 3) − 2·(7 − 3) = 87. Printed: 100 + (5 − 3) − 2·(0 − 3) → 108, cut to 100; then 100 + (7 − 3) − 2·(5 − 3) = 100.
#[test]
fn the_fair_share_follows_the_queue() {
    for (law, expected) in [(ControlLaw::Corrected, [93.0, 87.0]), (ControlLaw::Printed, [100.0, 100.0])] {
        let params = DcnParams {
            a: Some(1.0),
            b: Some(2.0),
            q_ref: Size::Packets(3),
            p_ref_max: Some(100.0),
            law,
            ..defaults()
        };
        let mut harness = Harness::new(Dcn::new(params), 1);
        for (k, arrivals) in [5, 2].into_iter().enumerate() {
            (0..arrivals).for_each(|flow| harness.arrive(flow, 1000));
            assert_eq!(harness.discipline.next_wakeup(), Some(Time((k as u64 + 1) * 6_250_000)));
            harness.wait(Span(6_250_000));
            assert_eq!(harness.state("p_ref"), Some(expected[k]), "{}", law.word());
        }
    }
}

/// Gains that are not given follow the flows in HB: 128 updates in T_dec, and b = gain·128/N.
#[test]
fn the_gains_follow_the_flows_in_hb() {
    let params = DcnParams { gain: 0.5, ..defaults() };
    assert_eq!(params.gains(0), params.gains(1));
    assert_eq!(params.gains(64), Gains { a: 0.875, b: 1.0 });
    assert_eq!(params.gains(640).b, 0.1);
    assert_eq!(DcnParams { b: Some(2.0), ..params.clone() }.gains(640), Gains { a: 1.75, b: 2.0 });
    // In the queue: two flows in HB, and 10 packets above a target of 0. p_ref moves by −b·10, then by (a − b)·10.
    let params = DcnParams { q_ref: Size::Packets(0), threshold: 0, p_ref_max: Some(1000.0), ..params };
    let mut harness = Harness::new(Dcn::new(params.clone()), 1);
    (0..5).for_each(|_| [1, 2].iter().for_each(|flow| harness.arrive(*flow, 1000)));
    let Gains { a, b } = params.gains(2);
    for moved in [10.0 * b, 10.0 * (2.0 * b - a)] {
        harness.wait(params.t_update);
        assert_eq!(harness.state("p_ref"), Some(1000.0 - moved));
    }
}

/// An idle link asks for nothing, and p_ref is then what the clock would have made of it: 3 a tick, from 40.
#[test]
fn an_idle_link_is_quiet() {
    let params =
        DcnParams { a: Some(1.0), b: Some(2.0), q_ref: Size::Packets(3), p_ref_max: Some(100.0), ..defaults() };
    let mut harness = Harness::new(Dcn::new(params), 1);
    assert_eq!(harness.discipline.next_wakeup(), None);
    harness.wait(Span::from_secs(3_155_760_000));
    (0..23).for_each(|flow| harness.arrive(flow, 1000));
    harness.wait(Span(6_250_000));
    // 100 + (0 − 3) − 2·20.
    assert_eq!(harness.state("p_ref"), Some(57.0));
    while harness.depart().is_some() {}
    harness.wait(Span(6_250_000));
    // 57 + 20 + 2·3 = 83, and the last sample was of an empty queue.
    assert_eq!((harness.state("p_ref"), harness.discipline.next_wakeup()), (Some(83.0), None));
    harness.wait(Span(20_000_000));
    harness.arrive(1, 1000);
    assert_eq!(
        (harness.state("p_ref"), harness.now),
        (Some(92.0), Time(3_155_760_000_032_500_000)),
        "three ticks of 3"
    );
    assert_eq!(harness.discipline.next_wakeup(), Some(Time(3_155_760_000_037_500_000)));
}

#[test]
fn marks_count_as_forwarded() {
    let mut harness = harness(DcnParams { marking: Marking { action: Action::Mark, mark_th: 1.0 }, ..defaults() });
    (0..100).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
    assert_eq!((harness.dropped.len(), pktcounts(&harness)), (0, [(1, 100.0)].to_vec()));
    let marked =
        core::iter::from_fn(|| harness.depart()).filter(|packet| packet.ecn == Ecn::CongestionExperienced).count();
    assert!(marked > 70, "{marked}");
    (0..100).for_each(|_| harness.arrive(1, 1000));
    assert!(harness.dropped.len() > 90, "what cannot carry a mark is dropped");
    assert!(harness.dropped.iter().all(|(_, reason)| *reason == DropReason::Early));
}

/// What the probe shows of the flows in SB: those of the last clearing interval, and no more than 1024.
#[test]
fn the_probe_shows_the_scoreboard() {
    let scores = |harness: &Harness<Dcn<TestPacket>>| {
        let mut scores = Vec::new();
        harness.discipline.state(&mut |flow, name, value| {
            if name == "sb_count" {
                scores.push((flow.unwrap().0, value));
            }
        });
        scores.sort_by_key(|score| score.0);
        scores
    };
    let mut harness = harness(DcnParams { threshold: 6, ..defaults() });
    harness.discipline.tables = Tables::new(&DcnParams { threshold: 6, ..defaults() });
    [1, 1, 2].iter().for_each(|flow| harness.arrive(*flow, 1000));
    assert_eq!(scores(&harness), [(1, 2.0), (2, 1.0)]);
    harness.wait(Span::from_millis(501));
    (0..5).for_each(|_| harness.arrive(3, 1000));
    assert_eq!(scores(&harness), [(3, 5.0)], "1 and 2 have been silent");
    (0..2).for_each(|_| harness.arrive(3, 1000));
    assert_eq!((scores(&harness), pktcounts(&harness)), (Vec::new(), [(3, 7.0)].to_vec()), "3 has moved to HB");
    (10..5000).for_each(|flow| harness.arrive(flow, 40));
    assert_eq!(scores(&harness).len(), SB_SHOWN);
}

/// A fast flow that comes when HB is full is not judged; when a sweep has made room it is.
#[test]
fn a_fast_flow_waits_for_room_among_the_fast_ones() {
    let mut harness = Harness::new(Dcn::new(DcnParams { threshold: 1, p_ref_max: Some(1.0), ..defaults() }), 1);
    for k in 1..=8192 {
        (0..2).for_each(|_| harness.arrive(k * 16_384, 40));
        while harness.depart().is_some() {}
    }
    assert_eq!(harness.state("hb_flows"), Some(8192.0));
    for _ in 0..1000 {
        harness.arrive(7, 1000);
        leave_one(&mut harness);
    }
    assert!(harness.dropped.is_empty());
    // Two sweeps at p_ref = 1, the second at 1.6 s, take the others out, who have sent two packets each.
    for _ in 0..2399 {
        harness.wait(Span::from_millis(1));
        harness.arrive(7, 1000);
        leave_one(&mut harness);
    }
    assert_eq!(harness.state("hb_flows"), Some(1.0));
    assert!(
        harness.dropped_flows().len() > 700
            && harness.dropped_flows().iter().all(|loss| *loss == (7, DropReason::Early))
    );
}

/// With so many packets of ever new flows between two of its own a fast flow is found, or is not.
#[test]
fn a_flood_of_ids_can_hide_a_fast_flow() {
    for (flood, found) in [(1000, true), (100_000, false)] {
        let mut harness = Harness::new(Dcn::new(defaults()), 1);
        let mut id = 1u64 << 32;
        for _ in 0..60 {
            harness.arrive(7, 1000);
            for _ in 0..flood {
                id += 4096;
                harness.arrive(id, 40);
                harness.depart();
            }
        }
        assert_eq!(harness.state("hb_flows"), Some(if found { 1.0 } else { 0.0 }), "{flood}");
        let tables = &harness.discipline.tables;
        assert!(tables.sb_len() == 16_384 && tables.hb.allocated() < 8, "{}", tables.hb.allocated());
    }
}

/// A million flows whose numbers an attacker has chosen, each fast enough to be classified: memory stays what the module
/// comment says, and a fast flow that was there first is still judged.
#[test]
fn a_million_chosen_flows_take_no_more_memory() {
    let mut harness = Harness::new(Dcn::new(DcnParams { threshold: 1, p_ref_max: Some(1.0), ..defaults() }), 1);
    (0..9).for_each(|_| harness.arrive(7, 1000));
    for k in 1..=1_000_000 {
        (0..2).for_each(|_| harness.arrive(k * 16_384, 40));
        while harness.depart().is_some() {}
    }
    let tables = &harness.discipline.tables;
    assert_eq!((tables.sb_len(), harness.state("hb_flows")), (16_384, Some(8192.0)));
    assert!(tables.hb.allocated() < 2 * 8192, "{}", tables.hb.allocated());
    let before = harness.dropped.len();
    (0..1000).for_each(|_| harness.arrive(7, 1000));
    assert!(harness.dropped[before..].iter().filter(|(packet, _)| packet.flow == 7).count() > 900);
}

/// With T_update = 1 s and T_dec = 10 ms: sweeps that fell into a silence are not made up for, so that a flow that enters HB
/// after half a second without packets is there until the next sweep.
#[test]
fn point_7_sweeps_of_a_silence_are_not_made_up_for() {
    let params = DcnParams { t_update: Span::from_secs(1), t_dec: Span::from_millis(10), threshold: 3, ..defaults() };
    let mut harness = Harness::new(Dcn::new(params), 1);
    harness.wait(Span::from_millis(500) + Span(1));
    (0..6).for_each(|_| harness.arrive(1, 1000));
    let next = harness.discipline.next_wakeup();
    assert_eq!((harness.state("hb_flows"), next), (Some(1.0), Some(Time::ZERO + Span::from_millis(510))));
    harness.wait(Span::from_millis(9));
    assert_eq!(harness.state("hb_flows"), Some(1.0));
    harness.wait(Span::from_millis(1));
    assert_eq!(harness.state("hb_flows"), Some(0.0), "p_ref is far above its count at first");
}

/// A flow alone below the link's rate finds the queue empty: whatever p_ref is, none of its packets is dropped.
#[test]
fn an_empty_queue_drops_nothing() {
    let mut harness = Harness::new(Dcn::new(DcnParams { p_ref_max: Some(1.0), ..defaults() }), 1);
    for _ in 0..10_000 {
        harness.arrive(1, 64);
        harness.depart();
        harness.wait(Span(100_000));
    }
    assert_eq!((harness.dropped.len(), harness.state("p_ref")), (0, Some(1.0)));
}

/// p_ref has no value until a queue above q_ref has stood for 100 ms. It is then the largest pktcount, so that the controller
/// has it where drops begin at once, however long the link was idle before.
#[test]
fn p_ref_does_not_wind_up() {
    let mut harness = Harness::new(Dcn::new(defaults()), 1);
    harness.wait(Span::from_secs(1_000_000));
    (0..50).for_each(|_| harness.arrive(1, 1000));
    harness.wait(Span(15 * 6_250_000));
    assert_eq!((harness.state("p_ref"), pktcounts(&harness)), (None, [(1, 50.0)].to_vec()));
    harness.wait(Span(2 * 6_250_000));
    let p_ref = harness.state("p_ref").expect("the queue has stood for 100 ms");
    // From 50 one step of b·gain/4 for each of the 26 packets above q_ref.
    assert!((p_ref - (50.0 - 128.0 * (2.0 / 9.0) / 18.0 * 26.0)).abs() < 1e-9, "{p_ref}");
    // A burst that has left before is none.
    let mut harness = Harness::new(Dcn::new(defaults()), 1);
    for _ in 0..20 {
        (0..50).for_each(|_| harness.arrive(1, 1000));
        harness.wait(Span(6_250_000));
        while harness.depart().is_some() {}
        harness.wait(Span(6_250_000));
    }
    assert_eq!((harness.state("p_ref"), harness.dropped.len()), (None, 0));
}
