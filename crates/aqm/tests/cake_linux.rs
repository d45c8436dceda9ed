//! `cake` against a model of the kernel's CAKE, packet for packet.
//!
//! Both meet the same arrivals, departures and rests, use the same hashes and draw the same random numbers. After each
//! step all that can be seen must agree: what was dropped and why, what left and with which mark, until when the shaper
//! holds, and the contents in the order of their turns.

#[path = "kernel/cake.rs"]
mod kernel;

use kernel::{AtmMode, Counts, DST_IP, FLOWS, SRC_IP, Tc, TinMode};
use proptest::prelude::*;
use sluicegate_aqm::cake::{AckFilter, Atm, Cake, CakeParams, Diffserv, FlowMode};
use sluicegate_aqm::harness::{Harness, TestPacket};
use sluicegate_aqm::{Ack, Discipline, DropReason};
use sluicegate_base::{Ecn, Rate, Size, Span, Stream, Time};

/// The kernel's defaults.
const PLAIN: Tc = Tc {
    rate: 0,
    tin_mode: TinMode::Diffserv3,
    flow_mode: SRC_IP | DST_IP | FLOWS,
    interval: 100_000,
    target: 5000,
    overhead: 0,
    mpu: 0,
    atm: AtmMode::None,
    ack_filter: 0,
    ingress: false,
    wash: false,
    memlimit: 0,
    mtu: 1514,
};

/// What arrives.
#[derive(Clone, Copy, Debug)]
struct Traffic {
    /// How many flows there may be, and how many hosts at either end.
    flows: u64,
    hosts: u64,
    /// The part of them that are acknowledgements, and the part of packets that can be marked.
    acks: f64,
    capable: f64,
    /// The longest packet.
    longest: u64,
}

const MIXED: Traffic = Traffic { flows: 40, hosts: 7, acks: 0.0, capable: 0.5, longest: 1500 };

fn params(tc: &Tc) -> CakeParams {
    CakeParams {
        bandwidth: (tc.rate > 0).then_some(Rate(tc.rate * 8)),
        diffserv: match tc.tin_mode {
            TinMode::Besteffort => Diffserv::Besteffort,
            TinMode::Precedence => Diffserv::Precedence,
            TinMode::Diffserv8 => Diffserv::Diffserv8,
            TinMode::Diffserv4 => Diffserv::Diffserv4,
            TinMode::Diffserv3 => Diffserv::Diffserv3,
        },
        // Linux's numbers are bits: source, destination, flow.
        flowmode: FlowMode::ALL[usize::from(tc.flow_mode)],
        rtt: Span(u64::from(tc.interval) * 1000),
        target: Some(Span(u64::from(tc.target) * 1000)),
        ack_filter: AckFilter::ALL[usize::from(tc.ack_filter)],
        overhead: f64::from(tc.overhead),
        mpu: tc.mpu.into(),
        atm: match tc.atm {
            AtmMode::None => Atm::Noatm,
            AtmMode::Atm => Atm::Atm,
            AtmMode::Ptm => Atm::Ptm,
        },
        ingress: tc.ingress,
        nat: None,
        wash: tc.wash,
        memlimit: (tc.memlimit > 0).then_some(Size::Bytes(tc.memlimit.into())),
        limit: None,
        mtu: Size::Bytes(tc.mtu.into()),
    }
}

/// A packet of one of the flows, with hosts that the flow has for ever and a class that it has mostly.
fn packet(traffic: &Traffic, flow: u64, trace: &mut Stream, acknowledged: &mut [u32]) -> TestPacket {
    let hosts = Some(((flow % traffic.hosts) as u16, (flow * flow % traffic.hosts) as u16));
    let class = if trace.chance(0.1) { trace.below(80) } else { flow * 29 % 64 };
    let capable = [Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced][trace.below(3) as usize];
    let ecn = if trace.chance(traffic.capable) { capable } else { Ecn::NotCapable };
    let mut packet = TestPacket { flow, class: class as u8, ecn, hosts, ..TestPacket::default() };
    packet.bytes = 40 + trace.below(traffic.longest - 39);
    if trace.chance(traffic.acks) {
        let number = &mut acknowledged[flow as usize];
        // Forwards mostly, over the end of 32 bits too.
        *number = number.wrapping_add(trace.below(3) as u32 * 700_000_000).wrapping_sub(trace.below(2) as u32);
        let bare = trace.chance(0.9);
        let echo = trace.below(20).saturating_sub(17) as u8;
        packet.ack = Some(Ack { number: *number, bare, sacks: trace.chance(0.1), echo });
        packet.bytes = if bare { 40 + trace.below(20) } else { packet.bytes };
    }
    packet
}

fn compare(tc: Tc, traffic: Traffic, steps: u64, seed: u64) -> Counts {
    let mut ours = Harness::new(Cake::new(params(&tc)), seed);
    let mut theirs = kernel::Cake::new(tc, ours.rng.clone());
    if !theirs.is_defined() {
        return Counts::default();
    }
    let mut trace = Stream::new(seed, "trace");
    let mut acknowledged = vec![u32::MAX - 1; traffic.flows as usize];
    let (mut spell, mut load, mut flows, mut heavy, mut gap) = (0, 0.5, 1, 0.0, 1);
    // What a packet takes at the rate.
    let mean = (40 + traffic.longest) / 2;
    let turn = (mean * 1_000_000_000).checked_div(tc.rate).unwrap_or(1_000_000);
    for _ in 0..steps {
        if spell == 0 {
            spell = 1 + trace.below(1500);
            (load, flows, heavy) = (0.35 + 0.4 * trace.uniform(), 1 + trace.below(traffic.flows), trace.uniform());
            gap = 1 + trace.below(2 * turn + 1);
        }
        spell -= 1;
        ours.wait(Span(trace.below(gap)));
        if trace.chance(load) {
            let flow = if trace.chance(heavy) { trace.below(flows.min(3)) } else { trace.below(flows) };
            let packet = packet(&traffic, flow, &mut trace, &mut acknowledged);
            let packet = TestPacket { serial: ours.arrived, ..packet };
            ours.submit(packet);
            let now = ours.now.0;
            let mine = ours.new_drops();
            let victims = mine.iter().filter(|(_, reason)| *reason == DropReason::Tail);
            let dropped = theirs.enqueue(packet, now, victims.map(|(packet, _)| *packet));
            assert_eq!(mine, dropped);
        } else {
            let left = ours.depart();
            let (expected, dropped) = theirs.dequeue(ours.now.0);
            assert_eq!(left, expected);
            let dropped: Vec<_> = dropped.into_iter().map(|packet| (packet, DropReason::Early)).collect();
            assert_eq!(ours.new_drops(), dropped);
            if let Some(until) = theirs.watchdog.take() {
                assert_eq!(ours.discipline.next_wakeup(), Some(Time(until as u64)), "the shaper");
                // Now and then the link sends at the first moment when it can.
                if trace.chance(0.3) {
                    ours.wait(Time(until as u64).since(ours.now));
                    assert_eq!(ours.discipline.next_wakeup(), None);
                    spell += 1;
                    gap = gap.min(turn);
                }
            }
        }
        assert_eq!([ours.state("sparse_flows"), ours.state("bulk_flows")], theirs.active().map(Some));
        assert_eq!(ours.queued(), theirs.queued());
    }
    ours.assert_conserved();
    theirs.counts
}

fn add(sum: &mut Counts, more: Counts) {
    let Counts { direct, other_way, miss, collision, mark, codel, blue, spared, overlimit, ack, held, .. } = more;
    let Counts { waits, decays, shared_host, borrows, tins, .. } = more;
    sum.direct += direct;
    sum.other_way += other_way;
    sum.miss += miss;
    sum.collision += collision;
    sum.mark += mark;
    sum.codel += codel;
    sum.blue += blue;
    sum.spared += spared;
    sum.overlimit += overlimit;
    sum.ack += ack;
    sum.held += held;
    sum.waits += waits;
    sum.decays += decays;
    sum.shared_host += shared_host;
    sum.borrows += borrows;
    sum.tins.iter_mut().zip(tins).for_each(|(sum, more)| *sum += more);
}

#[test]
fn long_traces_agree() {
    let all_marks = Traffic { capable: 1.0, ..MIXED };
    let many = Traffic { flows: 6000, hosts: 900, ..MIXED };
    let acks = Traffic { acks: 0.8, flows: 5, ..MIXED };
    let slow = Tc { rate: 125_000, ..PLAIN };
    let sets = [
        (PLAIN, MIXED),
        (Tc { rate: 1_250_000, ..PLAIN }, MIXED),
        (Tc { tin_mode: TinMode::Besteffort, flow_mode: FLOWS, ..slow }, all_marks),
        (Tc { tin_mode: TinMode::Precedence, flow_mode: SRC_IP | FLOWS, ..slow }, MIXED),
        (Tc { tin_mode: TinMode::Precedence, flow_mode: DST_IP | FLOWS, ..PLAIN }, MIXED),
        (Tc { tin_mode: TinMode::Diffserv8, flow_mode: SRC_IP, ..slow }, MIXED),
        (Tc { tin_mode: TinMode::Diffserv8, flow_mode: DST_IP, ..PLAIN }, MIXED),
        (Tc { tin_mode: TinMode::Diffserv4, flow_mode: SRC_IP | DST_IP, ..slow }, MIXED),
        (Tc { tin_mode: TinMode::Diffserv4, flow_mode: 0, ingress: true, ..slow }, MIXED),
        (Tc { tin_mode: TinMode::Besteffort, memlimit: 90_000, ..slow }, many),
        (Tc { memlimit: 20_000, ..PLAIN }, MIXED),
        (Tc { memlimit: 30_000, ingress: true, interval: 20_000, target: 1000, ..slow }, MIXED),
        (Tc { ack_filter: 1, atm: AtmMode::Atm, overhead: 10, ..slow }, acks),
        (Tc { ack_filter: 2, atm: AtmMode::Ptm, overhead: 30, ingress: true, ..slow }, acks),
        (Tc { ack_filter: 2, wash: true, mpu: 84, overhead: -14, ..PLAIN }, acks),
        (Tc { rate: 20_000, interval: 30_000, target: 1500, ..PLAIN }, MIXED),
    ];
    let mut sum = Counts::default();
    for (seed, (tc, traffic)) in (1..).zip(sets) {
        let counts = compare(tc, traffic, 15_000, seed);
        assert_ne!(counts, Counts::default(), "{tc:?}");
        add(&mut sum, counts);
    }
    let Counts { direct, other_way, miss, collision, mark, codel, blue, spared, overlimit, ack, held, .. } = sum;
    let ways = [direct, other_way, miss, collision];
    let cases = [mark, codel, blue, spared, overlimit, ack, held, sum.waits, sum.decays, sum.shared_host, sum.borrows];
    let met = ways.iter().chain(&cases).chain(&sum.tins);
    assert!(met.clone().all(|&times| times >= 50), "each case many times: {sum:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_parameters_agree(
        rate in prop_oneof![Just(0u64), 1u64..10_000_000, 1u64..50_000], tin_mode in 0usize..5, flow_mode in 0u8..8,
        interval in 1u32..2_000_000, target in 1u32..500_000,
        overhead in -40i32..256, mpu in 0u32..256, atm in 0usize..3,
        ack_filter in 0u8..3, ingress: bool, wash: bool, memlimit in prop_oneof![Just(0u32), 1u32..200_000],
        mtu in 64u32..9000, flows in 1u64..500, hosts in 1u64..60, acks in 0.0f64..1.0, capable in 0.0f64..1.0,
        longest in 40u64..9000, seed: u64,
    ) {
        use TinMode::{Besteffort, Diffserv3, Diffserv4, Diffserv8, Precedence};
        let tin_mode = [Besteffort, Precedence, Diffserv3, Diffserv4, Diffserv8][tin_mode];
        let atm = [AtmMode::None, AtmMode::Atm, AtmMode::Ptm][atm];
        let tc = Tc {
            rate, tin_mode, flow_mode, interval, target, overhead, mpu, atm, ack_filter, ingress, wash, memlimit, mtu,
        };
        compare(tc, Traffic { flows, hosts, acks, capable, longest }, 1500, seed);
    }
}
