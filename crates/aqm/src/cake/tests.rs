use super::cobalt::{Cobalt, CobaltParams};
use super::tin::{NEW, Set};
use super::*;
use crate::discipline::Ack;
use crate::harness::{Harness, TestPacket};
use alloc::vec;
use sluicegate_base::params::Raw;
use sluicegate_base::{Ecn, Link, Params};

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };
const MS: u64 = 1_000_000;

/// One tin for all, unlimited.
fn params() -> CakeParams {
    CakeParams { diffserv: Diffserv::Besteffort, ..CakeParams::defaults(&LINK).unwrap() }
}

/// At 8 Mbit/s a byte takes a microsecond; COBALT sleeps.
fn shaped() -> CakeParams {
    CakeParams { bandwidth: Some(Rate(8_000_000)), rtt: Span::from_secs(3600), ..params() }
}

fn harness(params: CakeParams) -> Harness<Cake<TestPacket>> {
    Harness::new(Cake::new(params), 1)
}

fn departures(harness: &mut Harness<Cake<TestPacket>>, n: usize) -> Vec<u64> {
    (0..n).map_while(|_| harness.depart().map(|packet| packet.flow)).collect()
}

/// Lets a packet go as soon as the shaper does; when, and whose it is.
fn next(harness: &mut Harness<Cake<TestPacket>>) -> (u64, u64) {
    loop {
        if let Some(packet) = harness.depart() {
            return (harness.now.0 / 1000, packet.flow);
        }
        let until = harness.discipline.next_wakeup().expect("the shaper holds");
        harness.wait(until.since(harness.now));
    }
}

/// The times of drops, in ms, when a packet is asked for every 10 ms.
fn drop_times(harness: &mut Harness<Cake<TestPacket>>, n: usize) -> Vec<u64> {
    let (mut times, start) = (Vec::new(), harness.now);
    for _ in 0..n {
        harness.wait(Span::from_millis(10));
        let before = harness.dropped.len();
        harness.depart();
        times.extend(harness.dropped[before..].iter().map(|_| harness.now.since(start).0 / MS));
    }
    times
}

/// By hand, target 5 ms and interval 100 ms. Late at 10 ms, when the root of the new queue is 0: drop_next = 10. Drop
/// at 20: count 2, drop_next = 10 + 100/√2 = 80.7; at 90: 80.7 + 100/√3 = 138.4; at 140: 188.4; at 190: 233.2; at 240:
/// 274.0.
#[test]
fn replays_cobalts_schedule() {
    let mut harness = harness(params());
    (0..100).for_each(|_| harness.arrive(1, 1000));
    assert_eq!(drop_times(&mut harness, 28), [20, 90, 140, 190, 240, 280]);
    // Not late any more, the count goes back by the same schedule: to 0 in less than 100/√7 + … + 100/√1 ms.
    while harness.depart().is_some() {}
    for _ in 0..70 {
        harness.arrive(1, 1000);
        harness.depart();
        harness.wait(Span::from_millis(10));
    }
    let cobalt = &harness.discipline.tins[0].flows.iter().find(|flow| flow.set != Set::None).unwrap().cobalt;
    assert_eq!((cobalt.count, cobalt.rec_inv_sqrt, cobalt.dropping), (0, u32::MAX, false));
    // Late again, at 10 ms: now it waits for an interval first. Then 110 + 70.7, + 57.7, + 50.
    (0..100).for_each(|_| harness.arrive(1, 1000));
    assert_eq!(drop_times(&mut harness, 30), [110, 190, 240, 290]);
    harness.assert_conserved();
}

#[test]
fn marks_take_the_place_of_drops() {
    let mut harness = harness(params());
    (0..100).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
    let mut marks = vec![];
    for at in 1..25 {
        harness.wait(Span::from_millis(10));
        let ecn = harness.depart().unwrap().ecn;
        marks.extend((ecn == Ecn::CongestionExperienced).then_some(10 * at));
    }
    assert_eq!((marks, harness.dropped.len()), (vec![20, 90, 140, 190, 240], 0));
}

/// The last packet of a queue may be marked and is not dropped.
#[test]
fn the_last_packet_is_sent() {
    let mut harness = harness(params());
    for _ in 0..50 {
        harness.arrive(1, 1000);
        harness.wait(Span::from_millis(200));
        assert!(harness.depart().is_some());
    }
    assert!(harness.dropped.is_empty());
}

/// p_drop rises by 1/256 at a drop for want of room, and falls by 1/4096 when the queue is found empty, once in a
/// target.
#[test]
fn blue_learns_from_a_full_buffer() {
    let mut cobalt = Cobalt::default();
    let params = CobaltParams { interval: Span::from_millis(100), target: Span::from_millis(5), mtu_time: Span::ZERO };
    let full = [100, 103, 106, 112].map(|ms| {
        cobalt.queue_full(&params, Time(ms * MS));
        cobalt.p_drop >> 20
    });
    let empty = [114, 118, 122, 124].map(|ms| (cobalt.queue_empty(&params, Time(ms * MS)), cobalt.p_drop >> 20));
    assert_eq!((full, empty), ([16, 16, 32, 48], [(false, 48), (false, 47), (false, 47), (false, 46)]));
    assert_eq!(
        (1..=46).filter(|k| cobalt.queue_empty(&params, Time((200 + 6 * k) * MS))).count(),
        1,
        "at rest at last"
    );
}

/// The longest queue loses its first packets; those that are dropped anyway later say so to COBALT.
#[test]
fn a_full_buffer_costs_the_longest_queue() {
    let mut harness = harness(CakeParams { memlimit: Some(Size::Bytes(10_000)), ..params() });
    harness.wait(Span::from_millis(100));
    (0..4).for_each(|flow| harness.arrive(flow, 500));
    (0..20).for_each(|_| harness.arrive(9, 1000));
    let dropped: Vec<_> = harness.dropped.iter().map(|(packet, reason)| (packet.serial, *reason)).collect();
    assert_eq!(dropped, (4..16).map(|serial| (serial, DropReason::Tail)).collect::<Vec<_>>());
    let flows = &harness.discipline.tins[0].flows;
    assert_eq!(flows.iter().map(|flow| flow.cobalt.p_drop).filter(|p| *p > 0).collect::<Vec<_>>(), [1 << 24]);
    harness.assert_conserved();
}

/// Packets of 1000 bytes take a millisecond each; what the link did not ask for in time it may have later, and none of
/// what it could not have asked for.
#[test]
fn replays_the_shapers_times() {
    let mut harness = harness(shaped());
    (0..12).for_each(|_| harness.arrive(1, 1000));
    assert_eq!([(); 3].map(|()| next(&mut harness).0), [0, 1000, 2000]);
    assert_eq!((harness.depart(), harness.discipline.next_wakeup()), (None, Some(Time(3 * MS))));
    // Asked at 5.5 ms, it gives the packets of 3, 4 and 5 ms at once.
    harness.wait(Span(3_500_000));
    assert_eq!((departures(&mut harness, 9).len(), harness.discipline.next_wakeup()), (3, Some(Time(6 * MS))));
    assert_eq!([(); 6].map(|()| next(&mut harness).0), [6000, 7000, 8000, 9000, 10_000, 11_000]);
    assert_eq!((harness.depart(), harness.discipline.next_wakeup()), (None, None));
    // Idle time is no credit; a packet that comes too soon waits until 12 ms.
    harness.wait(Span(500_000));
    harness.arrive(1, 100);
    assert_eq!(next(&mut harness).0, 12_000);
    harness.wait(Span::from_millis(50));
    (0..3).for_each(|_| harness.arrive(1, 100));
    assert_eq!([(); 3].map(|()| next(&mut harness).0), [62_000, 62_100, 62_200]);
}

/// In ingress mode what is dropped counts, but the failsafe lets packets go at two thirds of the rate at least.
#[test]
fn drops_count_behind_the_slow_link() {
    let sent = |ingress| {
        let mut harness = harness(CakeParams { ingress, limit: Some(Size::Packets(4)), ..shaped() });
        (0..12).for_each(|_| harness.arrive(1, 1000));
        [(); 4].map(|()| next(&mut harness).0)
    };
    assert_eq!(sent(false), [0, 1000, 2000, 3000]);
    // Eight drops: time_next is 8 ms and more, failsafe_next 0, 1.5, 3 and 4.5.
    assert_eq!(sent(true), [0, 1500, 3000, 4500]);
}

#[test]
fn replays_the_cells_of_atm() {
    let adjusted = |overhead, mpu, atm, len| Framing { overhead, mpu, atm }.adjusted_len(len);
    assert_eq!([48, 49, 96, 97, 1500].map(|len| adjusted(0, 0, Atm::Atm, len)), [53, 106, 106, 159, 1696]);
    // PPPoE over ADSL: 40 + 40 bytes are two cells, 1492 + 40 are 32.
    assert_eq!([40, 1492].map(|len| adjusted(40, 0, Atm::Atm, len)), [106, 1696]);
    // VDSL2: 1530 bytes in 24 blocks.
    assert_eq!([34, 1500].map(|len| adjusted(30, 0, Atm::Ptm, len)), [65, 1554]);
    // DOCSIS, and what is left of a packet that is shorter than what is taken off.
    assert_eq!([40, 100].map(|len| adjusted(18, 64, Atm::Noatm, len)), [64, 118]);
    assert_eq!([40, 100].map(|len| adjusted(-64, 0, Atm::Noatm, len)), [0, 36]);
    // It counts for the shaper: 1166 bytes for 1000.
    let mut harness = harness(CakeParams { overhead: 10.0, atm: Atm::Atm, ..shaped() });
    (0..3).for_each(|_| harness.arrive(1, 1000));
    assert_eq!([(); 3].map(|()| next(&mut harness).0), [0, 1166, 2332]);
}

/// The tins of the best-known code points: best effort, CS1, AF11, AF21, AF41, CS4, VA, EF, CS6, LE, and classes that
/// are none.
#[test]
fn code_points_have_their_tins() {
    let tins = |diffserv: Diffserv| [0, 8, 10, 18, 34, 32, 44, 46, 48, 1, 64, 255].map(|class| diffserv.tin(class));
    assert_eq!(tins(Diffserv::Besteffort), [0; 12]);
    assert_eq!(tins(Diffserv::Precedence), [0, 1, 1, 2, 4, 4, 5, 5, 6, 0, 0, 0]);
    assert_eq!(tins(Diffserv::Diffserv8), [2, 1, 1, 4, 3, 6, 6, 6, 7, 0, 2, 2]);
    assert_eq!(tins(Diffserv::Diffserv4), [0, 1, 0, 2, 2, 3, 3, 3, 3, 1, 0, 0]);
    assert_eq!(tins(Diffserv::Diffserv3), [0, 1, 0, 0, 0, 0, 2, 2, 2, 1, 0, 0]);
    let rates = |diffserv: Diffserv| diffserv.shares(1600).into_iter().map(|share| share.rate).collect::<Vec<_>>();
    assert_eq!(
        (rates(Diffserv::Diffserv3), rates(Diffserv::Diffserv4)),
        (vec![1600, 100, 400], vec![1600, 100, 800, 400])
    );
    assert_eq!(rates(Diffserv::Diffserv8), [1600, 1400, 1225, 1071, 937, 819, 716, 626]);
}

/// Voice (EF) has a quarter of the rate before all others, and what is left over; without a rate a share of 1 to 4.
#[test]
fn tins_have_priority_within_their_rates() {
    let filled = |bandwidth| {
        let mut harness = harness(CakeParams { bandwidth, diffserv: Diffserv::Diffserv4, ..shaped() });
        for (flow, class) in [(0, 0), (46, 46)] {
            (0..500).for_each(|_| harness.submit(TestPacket { flow, class, bytes: 1000, ..TestPacket::default() }));
        }
        harness
    };
    let mut harness = filled(Some(Rate(8_000_000)));
    assert_eq!([(); 9].map(|()| next(&mut harness).1), [46, 0, 0, 0, 46, 0, 0, 0, 46]);
    let mut harness = filled(None);
    let voice = departures(&mut harness, 500).iter().filter(|flow| **flow == 46).count();
    assert!((98..=102).contains(&voice), "{voice}");
    // Alone it has all.
    let mut harness = Harness::new(Cake::new(CakeParams { diffserv: Diffserv::Diffserv4, ..shaped() }), 1);
    (0..9).for_each(|_| harness.submit(TestPacket { class: 46, bytes: 1000, ..TestPacket::default() }));
    assert_eq!([(); 4].map(|()| next(&mut harness).0), [0, 1000, 2000, 3000]);
}

/// Nine flows whose hashes all point at place 16: eight find a place of their own in its set, and the ninth shares it.
#[test]
fn replays_the_set_association() {
    let (mut tin, mut rng) = (Tin::<TestPacket>::new(), Stream::new(1, "cake"));
    let hash = |k: u32| 16 + 1024 * k;
    let mut find = |tin: &mut Tin<TestPacket>, k| {
        let at = tin.find(hash(k), || [7, 7], FlowMode::Flows);
        tin.arrived(at, FlowMode::Flows, &mut rng);
        at
    };
    assert_eq!((1..=9).map(|k| find(&mut tin, k)).collect::<Vec<_>>(), [16, 17, 18, 19, 20, 21, 22, 23, 16]);
    // The ninth has taken over the tag of the first, which now shares the place in turn; the second is where it was.
    assert_eq!([1, 2, 9].map(|k| find(&mut tin, k)), [16, 17, 16]);
    // One is over: its place is the next one's, whatever it points at.
    tin.flows[20].set = Set::None;
    tin.lists[NEW].retain(|at| *at != 20);
    tin.sparse_flow_count -= 1;
    assert_eq!([10, 4].map(|k| find(&mut tin, k)), [20, 19]);
    // Places wrap within the set.
    let mut tin = Tin::<TestPacket>::new();
    let mut wrapped = |k: u32| {
        let at = tin.find(23 + 1024 * k, || [7, 7], FlowMode::Flows);
        tin.flows[at].set = Set::Bulk;
        at
    };
    assert_eq!([1, 2, 3].map(&mut wrapped), [23, 16, 17]);
}

/// By hand, quantum 1514, packets of 1000 bytes. Both new: 1514 → 514 → −486, then 1028 and to the old ones; a third
/// flow comes before them.
#[test]
fn replays_the_rotations() {
    let mut harness = harness(params());
    for flow in [1, 1, 1, 1, 2, 2, 2, 2] {
        harness.arrive(flow, 1000);
    }
    assert_eq!(departures(&mut harness, 4), [1, 1, 2, 2]);
    harness.arrive(3, 1000);
    let active = |harness: &Harness<Cake<TestPacket>>| {
        [harness.state("sparse_flows"), harness.state("bulk_flows")].map(Option::unwrap)
    };
    assert_eq!((departures(&mut harness, 1), active(&harness)), (vec![3], [1.0, 2.0]));
    // The third is empty, and decays.
    assert_eq!((departures(&mut harness, 1), active(&harness)), (vec![1], [0.0, 2.0]));
    assert_eq!(departures(&mut harness, 9), [1, 2, 2]);
    harness.assert_conserved();
}

/// Host 1 has eight flows to as many hosts, host 2 has one: that one's part of 900 packets.
#[test]
fn hosts_share_before_flows() {
    let part = |flowmode, turned: bool| {
        let mut harness = harness(CakeParams { flowmode, ..params() });
        for k in 0..9 * 600 {
            let flow = k % 9;
            let hosts = (if flow < 8 { 1 } else { 2 }, 10 + flow as u16);
            let hosts = Some(if turned { (hosts.1, hosts.0) } else { hosts });
            harness.submit(TestPacket { flow, bytes: 1000, hosts, ..TestPacket::default() });
        }
        departures(&mut harness, 900).iter().filter(|flow| **flow == 8).count()
    };
    let expected = [(100, 100), (450, 100), (100, 450), (100, 100), (100, 100), (450, 100), (100, 450), (450, 450)];
    for (mode, (plain, turned)) in FlowMode::ALL.iter().zip(expected) {
        let parts = (part(*mode, false), part(*mode, true));
        assert!(parts.0.abs_diff(plain) <= 8 && parts.1.abs_diff(turned) <= 8, "{}: {parts:?}", mode.word());
    }
}

#[test]
fn without_nat_the_hosts_of_a_home_are_one() {
    // Host 1 has eight flows, host 2 one: half of 900 packets with nat, a ninth without. Coming in they are destinations.
    let part = |nat, ingress| {
        let mode = if ingress { FlowMode::DualDsthost } else { FlowMode::DualSrchost };
        let mut harness = harness(CakeParams { flowmode: mode, nat, ingress, ..params() });
        for k in 0..9 * 600 {
            let (flow, inside) = (k % 9, if k % 9 < 8 { 1 } else { 2 });
            let outside = 10 + flow as u16;
            let hosts = Some(if ingress { (outside, inside) } else { (inside, outside) });
            harness.submit(TestPacket { flow, bytes: 1000, hosts, ..TestPacket::default() });
        }
        departures(&mut harness, 900).iter().filter(|flow| **flow == 8).count()
    };
    for ingress in [false, true] {
        let parts = [None, Some(true), Some(false)].map(|nat| part(nat, ingress));
        assert!(parts[0] == parts[1] && parts[0].abs_diff(450) <= 8 && parts[2].abs_diff(100) <= 8, "{parts:?}");
    }
}

/// The acknowledgements that are dropped, by their place, when these come one after the other to one queue.
fn filtered(ack_filter: AckFilter, acks: &[(u64, Ack)]) -> Vec<u64> {
    let mut harness = harness(CakeParams { ack_filter, flowmode: FlowMode::Flowblind, ..params() });
    for &(flow, ack) in acks {
        harness.submit(TestPacket { flow, bytes: 40, ack: Some(ack), ..TestPacket::default() });
    }
    harness.assert_conserved();
    assert!(harness.dropped.iter().all(|(_, reason)| *reason == DropReason::Match));
    harness.dropped.iter().map(|(packet, _)| packet.serial).collect()
}

#[test]
fn replays_the_ack_filter() {
    let of_flow = |flow, number| (flow, Ack { number, bare: true, sacks: false, echo: 0 });
    let ack = |number| of_flow(1, number);
    let sacks = |number| (1, Ack { sacks: true, ..ack(number).1 });
    let echo = |number| (1, Ack { echo: 1, ..ack(number).1 });
    let data = |number| (1, Ack { bare: false, ..ack(number).1 });
    use AckFilter::{Aggressive, Disabled, Enabled};
    // One stays beside the latest, or none.
    let plain = [ack(1), ack(2), ack(3), ack(4)];
    assert_eq!(
        [Disabled, Enabled, Aggressive].map(|filter| filtered(filter, &plain)),
        [vec![], vec![0, 1], vec![0, 1, 2]]
    );
    // An echo of congestion goes through, and so does what was before it.
    assert_eq!(filtered(Aggressive, &[ack(1), echo(2), echo(3), ack(4)]), [1]);
    // Ranges are not given up, and a duplicate is not redundant; unless what comes has ranges and it has none.
    assert_eq!(filtered(Aggressive, &[sacks(1), ack(2), ack(2), sacks(2), ack(3)]), [1]);
    // Data stays, and acknowledges; the number may have come around, and what is older replaces nothing.
    assert_eq!(filtered(Aggressive, &[ack(1), data(2), ack(3), ack(2)]), [0]);
    assert_eq!(filtered(Aggressive, &[ack(u32::MAX), ack(3)]), [0]);
    // Another flow in the same queue is none of its business, but it stands between.
    let two = [of_flow(1, 1), of_flow(2, 9), of_flow(1, 2), of_flow(2, 10), of_flow(1, 3)];
    assert_eq!([Enabled, Aggressive].map(|filter| filtered(filter, &two)), [vec![0], vec![0]]);
}

#[test]
fn a_washed_packet_has_its_tin_still() {
    let mut harness = harness(CakeParams { wash: true, diffserv: Diffserv::Diffserv3, ..params() });
    harness.submit(TestPacket { class: 46, bytes: 1000, ..TestPacket::default() });
    assert_eq!(harness.discipline.tins[2].backlog, 1000);
    assert_eq!(harness.depart().map(|packet| packet.class), Some(0));
}

#[test]
fn memory_follows_the_rate() {
    // 4 MiB; 4 · 25 MB/s · 100 ms; and 10,240 packets of 1514 bytes.
    for (mbit, most) in [(Some(1), 4_194_304), (Some(200), 10_000_000), (Some(1000), 15_503_360), (None, 15_503_360)] {
        let params = CakeParams { bandwidth: mbit.map(|mbit| Rate(mbit * 1_000_000)), ..params() };
        let exceeded = [most, most + 1].map(|bytes| params.limits().iter().any(|limit| limit.is_exceeded(1, bytes)));
        assert_eq!(exceeded, [false, true], "{mbit:?}");
    }
}

/// What was in tins that are no more is dropped, and the others go on.
#[test]
fn tins_may_change() {
    let mut harness = Harness::boxed(crate::build::<TestPacket>("cake", &mut |_| None, &LINK).unwrap().unwrap(), 1);
    for class in [0, 8, 46, 0] {
        harness.submit(TestPacket { class, flow: class.into(), bytes: 1000, ..TestPacket::default() });
    }
    harness.set("diffserv", &Raw::Text("besteffort".into())).unwrap();
    assert_eq!(harness.dropped_flows(), [(8, DropReason::Reconfigured), (46, DropReason::Reconfigured)]);
    harness.set("diffserv", &Raw::Text("diffserv8".into())).unwrap();
    assert!(harness.depart().is_some() && harness.depart().is_some() && harness.depart().is_none());
    assert!(harness.set("overhead", &Raw::Number(0.5)).unwrap_err().contains("whole"));
    harness.assert_conserved();
}
