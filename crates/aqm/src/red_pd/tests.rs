use super::monitor::is_unresponsive;
use super::*;
use crate::FlowKey;
use crate::harness::{Harness, TestPacket};
use alloc::vec;
use alloc::vec::Vec;
use sluicegate_base::Size;
use sluicegate_base::{Link, Params, Rate, Stream};

fn params() -> RedPdParams {
    RedPdParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

fn harness(params: RedPdParams) -> Harness<RedPd<TestPacket>> {
    Harness::new(RedPd::new(params), 1)
}

/// RED has seen so many packets of 1000 bytes of each flow in this interval, and dropped so many; then the interval ends.
fn interval(harness: &mut Harness<RedPd<TestPacket>>, flows: &[(u64, u64, u64)]) {
    let mut rng = Stream::new(1, "unused");
    let monitor = &mut harness.discipline.monitor;
    for (flow, arrived, dropped) in flows {
        (0..*dropped).for_each(|_| {
            monitor.arrival(FlowKey(*flow), 1000, false, &mut rng);
            monitor.signal(FlowKey(*flow), 1000, &mut rng);
        });
        for _ in *dropped..*arrived {
            monitor.arrival(FlowKey(*flow), 1000, false, &mut rng);
        }
    }
    let next = monitor.timer.due();
    harness.wait(next.since(harness.now));
}

fn p(harness: &Harness<RedPd<TestPacket>>, flow: u64) -> Option<f64> {
    let flows = &harness.discipline.monitor.flows;
    flows[flows.find(FlowKey(flow))?].monitored.as_ref().map(|monitored| monitored.p)
}

fn close(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 1e-12)
}

/// monitoring.tcl by hand. In each interval 100 packets arrive, of which RED drops 10: p_now = p_avg = 0.1.
#[test]
fn replays_the_script() {
    let mut harness = harness(params());
    let usual = [(1, 40, 6), (2, 30, 2), (3, 30, 2)];
    // The first interval lasts 10·R = 400 ms; then (3/5)·40/√0.15 = 61.97 ms, at least 2·R = 80 ms.
    interval(&mut harness, &usual);
    assert_eq!(harness.now, Time(400_000_000));
    interval(&mut harness, &[(1, 90, 8), (2, 10, 2)]);
    assert_eq!(
        (harness.now, &harness.discipline.monitor.intervals),
        (Time(480_000_000), &[Span::from_millis(80); 2].into())
    );
    assert_eq!((p(&harness, 1), p(&harness, 2)), (None, None), "in two lists");
    // In the third list flows 1 and 2: drops of 20 and 6, 13 on average; 3 is in two. p_pre = 0.1·20/13 and 0.1·6/13.
    interval(&mut harness, &usual);
    assert!(
        close(p(&harness, 1), 0.1 * 20.0 / 13.0) && close(p(&harness, 2), 0.1 * 6.0 / 13.0) && p(&harness, 3).is_none()
    );
    // Four intervals and 0.4 s must pass before the next change: from 560 ms to 960 ms. Flow 3 is new meanwhile: it has
    // drops in three lists at 640 ms; 26, 8 and 6 of 40 are 13.33 on average.
    interval(&mut harness, &usual);
    assert!(close(p(&harness, 3), 0.1 * 6.0 / (40.0 / 3.0)) && close(p(&harness, 1), 0.1 * 20.0 / 13.0));
    let before = [1, 2].map(|flow| p(&harness, flow).unwrap());
    for _ in 0..4 {
        assert_eq!([1, 2].map(|flow| p(&harness, flow).unwrap()), before);
        interval(&mut harness, &usual);
    }
    // 960 ms: five usual lists. Drops of 30, 10, 10: p_pre = 0.1·30/(50/3) = 0.18 for flow 1, which is above p: doubled.
    // For flow 2 it is 0.06, above 0.046: doubled.
    assert_eq!(harness.now, Time(960_000_000));
    assert!(close(p(&harness, 1), 2.0 * before[0]) && close(p(&harness, 2), 2.0 * before[1]));
    // Flow 1 again after 0.4 s: 0.3077 is above 0.18, which is added; flow 2: 0.092 + 0.06.
    (0..5).for_each(|_| interval(&mut harness, &usual));
    assert!(close(p(&harness, 1), 2.0 * before[0] + 0.18) && close(p(&harness, 2), 2.0 * before[1] + 0.06));
}

/// A flow that is in no list any more: its p falls by 0.05, below 0.1 by half, and at 0.005 or less it is let go.
#[test]
fn what_is_in_no_list_is_let_go() {
    let mut harness = harness(params());
    (0..3).for_each(|_| interval(&mut harness, &[(1, 50, 10), (2, 50, 10)]));
    assert!(close(p(&harness, 1), 0.2));
    // Flow 1 has no drops. For four more intervals it is in some list; without drops nothing is raised, either.
    let mut seen = vec![0.2];
    for _ in 0..200 {
        interval(&mut harness, &[(1, 50, 0), (2, 50, 10)]);
        if p(&harness, 1) != seen.last().copied() {
            seen.extend(p(&harness, 1));
        }
    }
    let expected = [0.2, 0.15, 0.1, 0.05, 0.025, 0.0125, 0.00625, 0.003125];
    assert!(seen.len() == 8 && seen.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{seen:?}");
    assert_eq!((p(&harness, 1), harness.discipline.monitor.flows.len()), (None, 1));
    // Nobody drops anything: intervals of 10·R, and every state goes in the end, though flow 2 was found unresponsive.
    (0..300).for_each(|_| interval(&mut harness, &[]));
    assert_eq!(harness.discipline.monitor.flows.len(), 0);
}

/// The rate must fall with the root of the drop rate: of (rate, p), (1, 1 %) and (1, 4 %) a TCP would have halved.
#[test]
fn unresponsive_flows_are_told_by_pairs() {
    let history = |samples: &[(f64, f64)]| is_unresponsive(&samples.iter().copied().collect());
    let steady = [(1.0, 0.01), (1.0, 0.02), (1.0, 0.04), (1.0, 0.08)];
    assert!(history(&steady) && history(&steady[..3]) && !history(&steady[..2]));
    let tcp = [(1.0, 0.01), (0.7, 0.02), (0.49, 0.04), (0.35, 0.08)];
    assert!(!history(&tcp));
    // Six pairs of which one is good: with the flow's rate at 4 % once.
    assert!(history(&[(1.0, 0.01), (1.0, 0.02), (1.0, 0.04), (0.7, 0.08)]));
    assert!(!history(&[(1.0, 0.01), (0.6, 0.02), (1.0, 0.04), (0.7, 0.08)]), "two good of six");
    assert!(!history(&[(1.0, 0.001), (1.0, 0.02), (1.0, 0.2)]), "more than ten times apart");
}

/// An unresponsive flow is found, and its p rises until the flow has no more drops in RED than others.
#[test]
fn an_unresponsive_flow_is_held_down() {
    // 1 Mbit/s; flow 0 sends 2 Mbit/s, ten others 80 kbit/s each.
    let mut harness = harness(RedPdParams {
        red: RedBlock { w_q: 0.02, max_p: 0.1, ..params().red.clone() },
        gentle: true,
        ..params()
    });
    let (mut order, mut sent) = (Stream::new(1, "order"), [0u64; 11]);
    for step in 0..50_000u64 {
        // Steps of 4 ms: the link sends in every second one.
        harness.wait(Span::from_millis(4));
        harness.arrive(0, 1000);
        for flow in 1..11 {
            if order.chance(0.04) {
                harness.arrive(flow, 1000);
            }
        }
        if step % 2 == 0 {
            if let Some(packet) = harness.depart().filter(|_| step > 15_000) {
                sent[packet.flow as usize] += 1;
            }
        }
    }
    let total: u64 = sent.iter().sum();
    let share = sent[0] as f64 / total as f64;
    let p_0 = p(&harness, 0).unwrap();
    // The others' 800 kbit/s fit beside a tenth of flow 0: under RED alone it would have 71 %.
    assert!(share < 0.35 && p_0 > 0.7, "share {share}, p {p_0}");
    let monitored = (1..11).filter(|flow| p(&harness, *flow).is_some()).count();
    assert!(monitored <= 4, "{monitored} of the others");
    harness.assert_conserved();
}

/// The filter acts only from min_th on with more than a packet queued, unless the flow is unresponsive.
#[test]
fn the_filter_waits_for_congestion() {
    let mut harness = harness(params());
    (0..3).for_each(|_| interval(&mut harness, &[(1, 50, 10), (2, 50, 10)]));
    let mut rng = Stream::new(3, "filter");
    let mut drops = |harness: &mut Harness<RedPd<TestPacket>>, may| {
        let monitor = &mut harness.discipline.monitor;
        (0..10_000).filter(|_| monitor.arrival(FlowKey(1), 1, may, &mut rng)).count()
    };
    assert_eq!(drops(&mut harness, false), 0);
    // p = 0.2: gaps uniform on 1 … 5, so that a third is dropped; four standard errors are 120.
    let n = drops(&mut harness, true);
    assert!(n.abs_diff(3333) < 150, "{n}");
}

/// A million ids that a plain modulus would put into one bucket, all of them dropped.
#[test]
fn a_million_flows_cost_what_is_declared() {
    let mut harness = harness(RedPdParams {
        red: RedBlock { w_q: 1.0, limit: Size::Packets(20), ..params().red.clone() },
        ..params()
    });
    for k in 0..1_000_000u64 {
        harness.arrive(k << 44, 100);
        harness.wait(Span(100_000));
    }
    assert!(harness.dropped.len() > 900_000);
    let flows = &harness.discipline.monitor.flows;
    let (flows, allocated) = (flows.len(), flows.allocated());
    assert!(flows <= 1000 && (1000..2000).contains(&allocated), "{flows} {allocated}");
    let names: Vec<u64> = harness.queued_flows();
    assert!(names.len() <= 20);
}

/// Without arrivals, flows or drops nothing changes: no clock is asked for, and later intervals stand where they would.
#[test]
fn an_idle_link_is_quiet() {
    let mut harness = harness(params());
    assert_eq!(harness.discipline.next_wakeup(), Some(Time(400_000_000)), "the first interval ends");
    harness.wait(Span::from_secs(1));
    assert_eq!(harness.discipline.next_wakeup(), None);
    harness.wait(Span(100_000_000));
    harness.arrive(1, 1000);
    assert_eq!(harness.discipline.next_wakeup(), Some(Time(1_200_000_000)));
    harness.wait(Span::from_secs(86_400));
    assert_eq!((harness.discipline.next_wakeup(), harness.discipline.monitor.counts()), (None, (0, 0)));
    harness.arrive(1, 1000);
    // 86,401.1 s are 216,002.75 intervals.
    assert_eq!(harness.discipline.next_wakeup(), Some(Time(86_401_200_000_000)));
    harness.assert_conserved();
}
