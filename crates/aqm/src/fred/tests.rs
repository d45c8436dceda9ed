use super::*;
use crate::harness::{Harness, TestPacket};
use sluicegate_base::Span;
use sluicegate_base::{Ecn, Params, Rate};

/// w_q = 1, so that the average is the queue that an arrival found, or that a departure left.
fn params(min_th: u64, max_th: u64) -> FredParams {
    let defaults = FredParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
    FredParams {
        red: RedBlock {
            min_th: Size::Packets(min_th),
            max_th: Size::Packets(max_th),
            w_q: 1.0,
            max_p: 1e-12,
            ..defaults.red.clone()
        },
        ..defaults
    }
}

fn arrive(harness: &mut Harness<Fred<TestPacket>>, flows: &[u64]) {
    flows.iter().for_each(|flow| harness.arrive(*flow, 1000));
}

/// The pseudocode by hand, with min_th = 4 and max_th = 8.
#[test]
fn replays_the_pseudocode() {
    let mut harness = Harness::new(Fred::new(params(4, 8)), 1);
    // Flow 1 queues four packets, finding 0, 1, 2, 3: avg = 3, avgcq = 3. A fifth would be more than max_q = 4: a strike.
    arrive(&mut harness, &[1, 1, 1, 1, 1]);
    assert_eq!(harness.dropped_flows(), [(1, DropReason::Policed)]);
    assert_eq!((harness.discipline.avg, harness.discipline.avgcq), (3.0, 3.0));
    // A second strike; then two packets leave: avg = 2, qlen = 2 and avgcq = 2. Two strikes: 2 ≥ 2, dropped.
    arrive(&mut harness, &[1]);
    harness.depart();
    harness.depart();
    arrive(&mut harness, &[1]);
    assert_eq!((harness.dropped.len(), harness.discipline.flows[0].strike), (3, 3));
    // Flow 2 comes in: 2 packets of 1, then avg = 2, and with two flows avgcq = 1.
    arrive(&mut harness, &[2]);
    assert_eq!((harness.discipline.avg, harness.discipline.avgcq), (2.0, 1.0));
    // Flow 2 has no strikes: it may have four.
    arrive(&mut harness, &[2, 2, 2]);
    assert_eq!((harness.dropped.len(), harness.discipline.avg), (3, 5.0));
    // Flows 3, 4, 5 take the queue to 9, so that the last found 8 = max_th.
    arrive(&mut harness, &[3, 4, 5]);
    assert_eq!((harness.discipline.avg, harness.discipline.packets()), (8.0, 9));
    // Now max_q = 2. Flow 3 has one packet: 8/5 = 1.6 = avgcq, and it gets in; not so with two.
    assert_eq!(harness.discipline.avgcq, 8.0 / 5.0);
    arrive(&mut harness, &[3, 3, 2]);
    assert_eq!(harness.dropped_flows()[3..], [(3, DropReason::Policed), (2, DropReason::Policed)]);
    // Flow 1's packets leave, and its strikes are forgotten.
    harness.depart();
    harness.depart();
    assert!(harness.discipline.flows.find(crate::FlowKey(1)).is_none());
    harness.assert_conserved();
}

/// RED's chance: avg at the middle of the band, max_p = 1, so that p_b = 1/2. A flow with fewer than max(min_q, avgcq)
/// packets is spared, but counted; a certain mark follows for one with more.
#[test]
fn only_flows_with_their_share_are_dropped_by_chance() {
    let mut harness = Harness::new(
        Fred::new(FredParams { red: RedBlock { max_p: 1.0, ..params(4, 8).red.clone() }, ..params(4, 8) }),
        1,
    );
    arrive(&mut harness, &[1, 1, 2, 2, 3, 4, 5]);
    // avg = 6, p_b = 1/2; count rose with those that found avg in the band: −1, 0 at avg 4 and 1 at avg 5.
    assert_eq!((harness.discipline.avg, harness.discipline.count, harness.dropped.len()), (6.0, 1, 0));
    arrive(&mut harness, &[6]);
    assert_eq!((harness.dropped.len(), harness.discipline.count), (0, 2));
    // Flow 1 has 2 ≥ max(2, 7/6): count = 3, p_a = 1.
    arrive(&mut harness, &[1]);
    assert_eq!((harness.dropped_flows(), harness.discipline.count), ([(1, DropReason::Early)].into(), 0));
    let mut harness = Harness::new(
        Fred::new(FredParams { red: RedBlock { max_p: 1.0, ..params(4, 8).red.clone() }, ecn: true, ..params(4, 8) }),
        1,
    );
    [1, 1, 2, 2, 3, 4, 5, 6, 1].iter().for_each(|flow| harness.offer(*flow, 1000, Ecn::Capable1));
    assert!(harness.dropped.is_empty());
    let departed: alloc::vec::Vec<Ecn> = core::iter::from_fn(|| harness.depart()).map(|packet| packet.ecn).collect();
    assert_eq!((departed[7], departed[8]), (Ecn::Capable1, Ecn::CongestionExperienced));
}

#[test]
fn the_average_decays_while_the_link_is_idle() {
    let mut harness = Harness::new(
        Fred::new(FredParams { red: RedBlock { w_q: 0.5, ..params(100, 200).red.clone() }, ..params(100, 200) }),
        1,
    );
    arrive(&mut harness, &[1, 2, 3, 4, 5]);
    while harness.depart().is_some() {}
    let before = harness.discipline.avg;
    harness.wait(Span::from_millis(10));
    // 10 ms are 2.5 small packets of 4 ms; then the update with an empty queue.
    arrive(&mut harness, &[1]);
    assert!((harness.discipline.avg - before * libm::pow(0.5, 3.5)).abs() < 1e-12);
}

/// A million ids that a plain modulus would put into one bucket.
#[test]
fn a_million_flows_cost_what_the_buffer_holds() {
    let mut harness = Harness::new(
        Fred::new(FredParams {
            red: RedBlock { limit: Size::Packets(300), ..params(100, 200).red.clone() },
            ..params(100, 200)
        }),
        1,
    );
    for k in 0..1_000_000u64 {
        harness.arrive(k << 44, 100);
        if k % 3 == 0 {
            harness.depart();
        }
    }
    let flows = &harness.discipline.flows;
    assert!(flows.len() == 299 && flows.allocated() < 1024, "{} of {}", flows.len(), flows.allocated());
    harness.assert_conserved();
}
