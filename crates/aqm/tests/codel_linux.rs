//! `codel` with `law` = linux against a model of the kernel's CoDel, packet for packet.
//!
//! Both meet the same arrivals, departures and rests. After each step all that can be seen must agree: what was dropped,
//! what left and with which mark, and the queue's contents. Traces end before the kernel's 32 bits of time wrap (73
//! minutes). And `law` = rfc8289 on the same traces: its counts of drops, which differ by the kernel's rounding of the root.

#[path = "kernel/codel.rs"]
pub mod kernel;

use kernel::{Counts, Tc};
use proptest::prelude::*;
use sluicegate_aqm::codel::{Codel, CodelParams, CodelVersion};
use sluicegate_aqm::harness::{Harness, TestPacket, any_ecn};
use sluicegate_aqm::{Discipline, DropReason};
use sluicegate_base::{Ecn, Size, Span, Stream};

const PLAIN: Tc =
    Tc { limit: 1000, target: 5000, interval: 100_000, ecn: false, ce_threshold: None, ect1: false, mtu: 1514 };

fn ours(tc: &Tc, law: CodelVersion) -> Harness<Codel<TestPacket>> {
    let params = CodelParams {
        target: Span(u64::from(tc.target) * 1000),
        interval: Span(u64::from(tc.interval) * 1000),
        limit: Size::Packets(tc.limit as u64),
        ecn: tc.ecn,
        ce_threshold: tc.ce_threshold.map(|us| Span(u64::from(us) * 1000)),
        max_packet: Size::Bytes(u64::from(tc.mtu)),
        law,
    };
    Harness::new(Codel::new(params), 1)
}

/// Random steps: spells of arrivals faster or slower than the link, with rests in which the queue runs empty.
/// `work` gets the time to wait and then a packet, or asks for a departure.
fn trace(steps: u64, seed: u64, mut work: impl FnMut(Span, Option<(u64, u64, Ecn)>)) {
    let mut trace = Stream::new(seed, "trace");
    let (mut spell, mut load, mut gap) = (0, 0.5, 1_000_000);
    for _ in 0..steps {
        let mut wait = Span(trace.below(gap));
        if spell == 0 {
            spell = 1 + trace.below(2000);
            load = 0.3 + 0.4 * trace.uniform();
            gap = 1 + trace.below(2_000_000);
            if trace.chance(0.3) {
                (0..1200).for_each(|_| work(Span(10_000), None));
                // From microseconds to seconds.
                wait = Span(libm::pow(10.0, 3.0 + 6.5 * trace.uniform()) as u64);
            }
        }
        spell -= 1;
        let packet = (trace.below(40), 40 + trace.below(1461), any_ecn(&mut trace));
        work(wait, trace.chance(load).then_some(packet));
    }
}

fn compare(tc: Tc, steps: u64, seed: u64) -> Counts {
    let (mut ours, mut kernels) = (ours(&tc, CodelVersion::Linux), kernel::Codel::new(tc));
    trace(steps, seed, |wait, packet| {
        ours.wait(wait);
        assert!(ours.now.0 >> 10 < 1 << 31, "within the kernel's clock");
        let (left, dropped): (_, Vec<(TestPacket, DropReason)>) = if let Some((flow, bytes, ecn)) = packet {
            let packet = TestPacket { flow, bytes, ecn, serial: ours.arrived, ..TestPacket::default() };
            let queued = kernels.enqueue(packet, ours.now.0);
            ours.submit(packet);
            (None, if queued { vec![] } else { vec![(packet, DropReason::Tail)] })
        } else {
            let (left, dropped) = kernels.dequeue(ours.now.0);
            assert_eq!(ours.depart(), left);
            (left, dropped.into_iter().map(|packet| (packet, DropReason::Early)).collect())
        };
        assert_eq!(ours.new_drops(), dropped, "beside {left:?}");
        assert_eq!(ours.discipline.packets(), kernels.queued().len() as u64);
    });
    assert_eq!(ours.queued(), kernels.queued());
    ours.assert_conserved();
    kernels.counts
}

#[test]
fn long_traces_agree() {
    let sets = [
        PLAIN,
        Tc { ecn: true, ..PLAIN },
        Tc { target: 1000, interval: 10_000, ..PLAIN },
        Tc { target: 20_000, interval: 400_000, ecn: true, ..PLAIN },
        Tc { limit: 60, ..PLAIN },
        Tc { ce_threshold: Some(1000), ..PLAIN },
    ];
    let mut sum = [0; 7];
    for (seed, tc) in (1..).zip(sets) {
        let Counts { drop_count, ecn_mark, ce_mark, drop_overlimit, anew, resumed, several } =
            compare(tc, 200_000, seed);
        let counts = [drop_count, ecn_mark, ce_mark, drop_overlimit, anew, resumed, several];
        sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    assert!(sum.iter().all(|&times| times >= 30), "each case many times: {sum:?}");
}

/// The RFC's law drops as many as the kernel's, to within the lag of its root: a tenth here.
#[test]
fn the_rfcs_law_drops_about_as_many() {
    let drops = |law| {
        let mut harness = ours(&PLAIN, law);
        trace(300_000, 9, |wait, packet| {
            harness.wait(wait);
            match packet {
                Some((flow, bytes, ecn)) => harness.offer(flow, bytes, ecn),
                None => drop(harness.depart()),
            }
        });
        harness.dropped.iter().filter(|(_, reason)| *reason == DropReason::Early).count() as f64
    };
    let (rfc, linux) = (drops(CodelVersion::Rfc8289), drops(CodelVersion::Linux));
    assert!(rfc > 500.0 && (rfc / linux - 1.0).abs() < 0.1, "RFC {rfc}, Linux {linux}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_agree(
        limit in 1usize..300, target in 1u32..50_000, interval in 1u32..500_000, ecn: bool, mtu in 0u32..3000,
        ce_threshold in proptest::option::of(0u32..50_000), seed: u64,
    ) {
        compare(Tc { limit, target, interval, ecn, ce_threshold, ect1: false, mtu }, 3000, seed);
    }
}
