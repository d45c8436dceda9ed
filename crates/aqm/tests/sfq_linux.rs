//! `sfq` against a model of the kernel's SFQ, packet for packet.
//!
//! Both meet the same arrivals, departures and perturbations and use the same hash. After each step all that can be seen
//! must agree: what was dropped, what left, and the contents in the order of their turns. Lengths and quantum are multiples of
//! 8 bytes, which is how the kernel counts.

#[path = "kernel/sfq.rs"]
mod kernel;

use kernel::{Counts, Tc};
use proptest::prelude::*;
use sluicegate_aqm::flow_hasher::FlowHasher;
use sluicegate_aqm::harness::{Harness, TestPacket};
use sluicegate_aqm::sfq::{Sfq, SfqParams};
use sluicegate_aqm::{Discipline, DropReason, FlowKey};
use sluicegate_base::{Size, Span, Stream};

/// The kernel's defaults, but for the quantum: 1514 is no multiple of 8.
const PLAIN: Tc = Tc { limit: 127, flows: 128, depth: 127, divisor: 1024, quantum: 1512, headdrop: false };
const PERTURB: Span = Span::from_secs(10);

fn compare(tc: Tc, steps: u64, seed: u64) -> Counts {
    let params = SfqParams {
        divisor: tc.divisor as u64,
        flows: tc.flows as u64,
        depth: tc.depth as u64,
        quantum: Size::Bytes(tc.quantum),
        limit: Size::Packets(tc.limit as u64),
        perturb: PERTURB,
        headdrop: tc.headdrop,
    };
    let mut ours = Harness::new(Sfq::new(params), seed);
    let mut random = ours.rng.clone();
    let mut hash = FlowHasher::new(&mut random);
    let mut theirs = kernel::Sfq::new(tc);
    let mut trace = Stream::new(seed, "trace");
    let (mut spell, mut load, mut flows, mut heavy) = (0, 0.5, 1, 0.0);
    for _ in 0..steps {
        if spell == 0 {
            spell = 1 + trace.below(1000);
            (load, flows, heavy) = (0.3 + 0.5 * trace.uniform(), 1 + trace.below(400), trace.uniform());
        }
        spell -= 1;
        // The first perturbation comes `perturb` after the first packet.
        let wait = Span(if ours.arrived == 0 { 0 } else { trace.below(2 * PERTURB.0 / 1000) });
        let due = ours.discipline.next_wakeup().filter(|at| *at <= ours.now + wait);
        ours.wait(wait);
        if due.is_some() {
            hash = FlowHasher::new(&mut random);
            let dropped = theirs.perturb(|flow| hash.bucket(FlowKey(flow), tc.divisor));
            let mine: Vec<TestPacket> = ours.new_drops().iter().map(|(packet, _)| *packet).collect();
            assert_eq!(mine, dropped, "by a perturbation");
        }
        if ours.arrived > 0 && !trace.chance(load) {
            assert_eq!(ours.depart(), theirs.dequeue());
            continue;
        }
        let flow = if trace.chance(heavy) { trace.below(3) } else { trace.below(flows) };
        let bytes = 8 * (5 + trace.below(183));
        let packet = TestPacket { flow, bytes, serial: ours.arrived, ..TestPacket::default() };
        ours.submit(packet);
        let dropped = theirs.enqueue(packet, hash.bucket(FlowKey(flow), tc.divisor));
        let expected: Vec<_> = dropped.into_iter().map(|packet| (packet, DropReason::Tail)).collect();
        assert_eq!(ours.new_drops(), expected);
        assert_eq!(ours.queued(), theirs.queued());
    }
    ours.assert_conserved();
    theirs.counts
}

#[test]
fn long_traces_agree() {
    let sets = [
        PLAIN,
        Tc { headdrop: true, ..PLAIN },
        Tc { limit: 500, depth: 20, ..PLAIN },
        Tc { limit: 500, depth: 20, headdrop: true, ..PLAIN },
        Tc { limit: 300, flows: 30, divisor: 64, ..PLAIN },
        Tc { limit: 40, quantum: 64, ..PLAIN },
        Tc { limit: 10, ..PLAIN },
    ];
    let mut sum = [0; 6];
    for (seed, tc) in (1..).zip(sets) {
        let Counts { no_slot, depth, longest, all_of_one, turns, rehash_dropped } = compare(tc, 30_000, seed);
        let counts = [no_slot, depth, longest, all_of_one, turns, rehash_dropped];
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(sum.iter().all(|&times| times >= 30), "each case many times: {sum:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_agree(
        limit in 1usize..300, flows in 1usize..150, depth in 1usize..127, divisor in 1usize..300, quantum in 8u64..400,
        headdrop: bool, seed: u64,
    ) {
        compare(Tc { limit, flows, depth, divisor, quantum: 8 * quantum, headdrop }, 2000, seed);
    }
}
