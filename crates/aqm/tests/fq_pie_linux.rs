//! `fq_pie` with `law` = linux against a model of the kernel's FQ-PIE, packet for packet.
//!
//! Both meet the same arrivals, departures and rests, use the same hash and draw from copies of one stream. After each step all
//! that can be seen must agree: what was dropped and why, what left and with which mark, the contents in the order of their turns,
//! and the highest p. The kernel's timer strikes every `T_UPDATE`, whether ours asks for it or not.

#[path = "kernel/fq_pie.rs"]
mod kernel;

use crate::pie_linux::kernel as pie;
use kernel::{Counts, Tc};
use pie::ONE;
use proptest::prelude::*;
use sluicegate_aqm::FlowKey;
use sluicegate_aqm::flow_hasher::FlowHasher;
use sluicegate_aqm::fq_pie::{FqPie, FqPieParams};
use sluicegate_aqm::harness::{Harness, TestPacket, any_ecn};
use sluicegate_aqm::pie::{PieBlock, PieVersion};
use sluicegate_aqm::red::{Action, Mode};
use sluicegate_base::{Size, Span, Stream};

/// The kernel's defaults, but with marks.
const PLAIN: Tc = Tc {
    pie: pie::Tc {
        limit: usize::MAX,
        target: 15_000,
        alpha: 2,
        beta: 20,
        ecn: true,
        mark_up_to: ONE / 100 * 10,
        bytemode: false,
        mtu: 1514,
    },
    limit: 10_240,
    flows: 1024,
    quantum: 1514,
};
const T_UPDATE: Span = Span::from_millis(15);

fn compare(tc: Tc, steps: u64, seed: u64) -> Counts {
    let params = FqPieParams {
        pie: PieBlock {
            target: Span(tc.pie.target * 1000),
            t_update: T_UPDATE,
            alpha: tc.pie.alpha as f64 / 16.0,
            beta: tc.pie.beta as f64 / 16.0,
            max_burst: Span::from_millis(150),
            long_delay: Some(Span::from_millis(250)),
            action: if tc.pie.ecn { Action::Mark } else { Action::Drop },
            mark_th: (tc.pie.mark_up_to / (ONE / 100)) as f64 / 100.0,
            derandomise: true,
            mode: if tc.pie.bytemode { Mode::Byte } else { Mode::Packet },
            max_packet: Size::Bytes(tc.pie.mtu),
            law: PieVersion::Linux,
        },
        flows: tc.flows as u64,
        quantum: Size::Bytes(tc.quantum as u64),
        limit: Size::Packets(tc.limit as u64),
    };
    let mut ours = Harness::new(FqPie::new(params), seed);
    let (mut random, mut theirs) = (ours.rng.clone(), kernel::FqPie::new(tc));
    let hash = FlowHasher::new(&mut random);
    let (mut trace, mut next) = (Stream::new(seed, "trace"), T_UPDATE.0);
    let (mut spell, mut load, mut flows, mut heavy, mut gap) = (0, 0.5, 1, 0.0, 1);
    for _ in 0..steps {
        if spell == 0 {
            spell = 1 + trace.below(1500);
            (load, flows, heavy) = (0.35 + 0.4 * trace.uniform(), 1 + trace.below(30), trace.uniform());
            let long = trace.chance(0.2);
            gap = 1 + trace.below(if long { 1_000_000_000 } else { 3_000_000 });
        }
        spell -= 1;
        // The key is drawn with the first packet, before which nothing can differ.
        ours.wait(Span(trace.below(gap)));
        while next <= ours.now.0 {
            theirs.update();
            next += T_UPDATE.0;
        }
        if ours.arrived == 0 || trace.chance(load) {
            let flow = if trace.chance(heavy) { trace.below(3) } else { trace.below(flows) };
            let (bytes, ecn) = (40 + trace.below(1600), any_ecn(&mut trace));
            let packet = TestPacket { flow, bytes, ecn, serial: ours.arrived, ..TestPacket::default() };
            ours.submit(packet);
            let reason = theirs.enqueue(packet, hash.bucket(FlowKey(flow), tc.flows), ours.now.0, &mut random);
            let dropped: Vec<_> = reason.map(|reason| (packet, reason)).into_iter().collect();
            assert_eq!(ours.new_drops(), dropped);
        } else {
            assert_eq!(ours.depart(), theirs.dequeue(ours.now.0));
        }
        assert_eq!(ours.queued(), theirs.queued());
        assert_eq!(ours.state("p"), Some(theirs.highest().min(1.0)));
    }
    assert_eq!(ours.rng.bits(), random.bits(), "as many random numbers were drawn");
    ours.assert_conserved();
    theirs.counts()
}

#[test]
fn long_traces_agree() {
    let few = Tc { flows: 16, ..PLAIN };
    let sets = [
        few,
        PLAIN,
        Tc { pie: pie::Tc { ecn: false, ..PLAIN.pie }, ..few },
        Tc { limit: 60, pie: pie::Tc { bytemode: true, ..PLAIN.pie }, ..few },
        Tc { limit: 200, flows: 4, quantum: 300, pie: pie::Tc { mark_up_to: ONE, ..PLAIN.pie } },
        Tc { pie: pie::Tc { target: 1000, alpha: 32, beta: 32, ..PLAIN.pie }, ..few },
    ];
    let mut sum = [0; 5];
    for (seed, tc) in (1..).zip(sets) {
        let steps = if tc.flows == 1024 { 5000 } else { 30_000 };
        let Counts { dropped, marked, overlimit, turns, passed } = compare(tc, steps, seed);
        sum.iter_mut().zip([dropped, marked, overlimit, turns, passed]).for_each(|(sum, count)| *sum += count);
    }
    assert!(sum.iter().all(|&times| times >= 100), "each case many times: {sum:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_agree(
        limit in 1usize..300, flows in 1usize..40, quantum in 64i64..4000, target in 1u64..60_000, alpha in 0u64..33,
        beta in 0u64..33, ecn: bool, percent in 0u64..101, bytemode: bool, mtu in 1u64..3000, seed: u64,
    ) {
        let pie = pie::Tc { target, alpha, beta, ecn, mark_up_to: ONE / 100 * percent, bytemode, mtu, ..PLAIN.pie };
        compare(Tc { pie, limit, flows, quantum }, 2000, seed);
    }
}
