//! `fq_codel` with `law` = linux against a model of the kernel's FQ-CoDel, packet for packet.
//!
//! Both meet the same arrivals, departures and rests and use the same hash. After each step all that can be seen must
//! agree: what was dropped, what left and with which mark, and the contents in the order of their turns.

#[path = "kernel/fq_codel.rs"]
mod kernel;

use crate::codel_linux::kernel as codel;
use kernel::{Counts, Tc};
use proptest::prelude::*;
use sluicegate_aqm::codel::CodelVersion;
use sluicegate_aqm::flow_hasher::FlowHasher;
use sluicegate_aqm::fq_codel::{FqCodel, FqCodelParams};
use sluicegate_aqm::harness::{Harness, TestPacket, any_ecn};
use sluicegate_aqm::l4s::Ect;
use sluicegate_aqm::{DropReason, FlowKey};
use sluicegate_base::{Size, Span, Stream};

/// The kernel's defaults.
const PLAIN: Tc = Tc {
    limit: 10_240,
    flows: 1024,
    target: 5000,
    interval: 100_000,
    ecn: true,
    ce_threshold: None,
    ect1: false,
    quantum: 1514,
    drop_batch: 64,
    mtu: 1514,
};

fn compare(tc: Tc, steps: u64, seed: u64) -> Counts {
    let params = FqCodelParams {
        target: Span(u64::from(tc.target) * 1000),
        interval: Span(u64::from(tc.interval) * 1000),
        flows: tc.flows as u64,
        quantum: Size::Bytes(tc.quantum as u64),
        limit: Size::Packets(tc.limit as u64),
        ecn: tc.ecn,
        ce_threshold: tc.ce_threshold.map(|us| Span(u64::from(us) * 1000)),
        ce_threshold_ect: if tc.ect1 { Ect::L4s } else { Ect::Any },
        drop_batch: tc.drop_batch as u64,
        max_packet: Size::Bytes(u64::from(tc.mtu)),
        law: CodelVersion::Linux,
    };
    let mut ours = Harness::new(FqCodel::new(params), seed);
    let hash = FlowHasher::new(&mut ours.rng.clone());
    let mut theirs = kernel::FqCodel::new(tc);
    let mut trace = Stream::new(seed, "trace");
    let (mut spell, mut load, mut flows, mut heavy, mut gap) = (0, 0.5, 1, 0.0, 1);
    for _ in 0..steps {
        if spell == 0 {
            spell = 1 + trace.below(1500);
            (load, flows, heavy) = (0.35 + 0.4 * trace.uniform(), 1 + trace.below(60), trace.uniform());
            gap = 1 + trace.below(2_000_000);
        }
        spell -= 1;
        ours.wait(Span(trace.below(gap)));
        assert!(ours.now.0 >> 10 < 1 << 31, "within the kernel's clock");
        if trace.chance(load) {
            let flow = if trace.chance(heavy) { trace.below(3) } else { trace.below(flows) };
            let (bytes, ecn) = (40 + trace.below(1461), any_ecn(&mut trace));
            let packet = TestPacket { flow, bytes, ecn, serial: ours.arrived, ..TestPacket::default() };
            ours.submit(packet);
            let dropped = theirs.enqueue(packet, hash.bucket(FlowKey(flow), tc.flows), ours.now.0);
            let dropped: Vec<_> = dropped.into_iter().map(|packet| (packet, DropReason::Tail)).collect();
            assert_eq!(ours.new_drops(), dropped);
        } else {
            let left = ours.depart();
            let (expected, dropped) = theirs.dequeue(ours.now.0);
            assert_eq!(left, expected);
            let dropped: Vec<_> = dropped.into_iter().map(|packet| (packet, DropReason::Early)).collect();
            assert_eq!(ours.new_drops(), dropped);
        }
        assert_eq!(ours.queued(), theirs.queued());
    }
    ours.assert_conserved();
    theirs.counts
}

#[test]
fn long_traces_agree() {
    let sets = [
        PLAIN,
        Tc { ecn: false, ..PLAIN },
        Tc { limit: 60, flows: 16, ..PLAIN },
        Tc { limit: 200, flows: 8, drop_batch: 4, ecn: false, ..PLAIN },
        Tc { target: 1000, interval: 10_000, quantum: 300, ecn: false, ..PLAIN },
        Tc { ce_threshold: Some(1000), ..PLAIN },
        Tc { ce_threshold: Some(0), ect1: true, ..PLAIN },
    ];
    let mut sum = [0; 7];
    for (seed, tc) in (1..).zip(sets) {
        let Counts { codel, marks, ce_marks, over, batches, turns, passed } = compare(tc, 30_000, seed);
        sum.iter_mut()
            .zip([codel, marks, ce_marks, over, batches, turns, passed])
            .for_each(|(sum, count)| *sum += count);
    }
    assert!(sum.iter().all(|&times| times >= 30), "each case many times: {sum:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_agree(
        limit in 1usize..300, flows in 1usize..40, target in 1u32..50_000, interval in 1u32..500_000, ecn: bool,
        ce_threshold in proptest::option::of(0u32..50_000), ect1: bool, quantum in 64i64..4000, drop_batch in 1usize..80,
        mtu in 0u32..3000, seed: u64,
    ) {
        compare(Tc { limit, flows, target, interval, ecn, ce_threshold, ect1, quantum, drop_batch, mtu }, 2000, seed);
    }
}
