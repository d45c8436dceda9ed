//! A sender alone on a link below its rate: under no discipline does it lose packets, but for rules that say so.

use sluicegate_aqm::harness::Harness;
use sluicegate_aqm::{DropReason, all, build};
use sluicegate_base::{Link, Rate, Span};

/// A flow alone on a link: `burst` packets of so many bytes at once, again and again, so that they take `load` of the link. Gives
/// what the discipline dropped of 4000 packets.
fn dropped_of_a_lone_flow(name: &str, rate: u64, bytes: u64, burst: u64, load: f64) -> Vec<(u64, DropReason)> {
    let link = Link { rate: Rate(rate), packet: 1000 };
    let mut harness = Harness::boxed(build(name, &mut |_| None, &link).expect("a known name").expect("defaults"), 1);
    let packet_time = link.rate.time_of(bytes);
    let gap = Span((burst as f64 * packet_time.0 as f64 / load) as u64);
    let mut busy_until = None;
    for _ in 0..4000 / burst {
        for _ in 0..burst {
            harness.arrive(1, bytes);
            if busy_until.is_none() {
                busy_until = harness.depart().map(|_| harness.now + packet_time);
            }
        }
        let next = harness.now + gap;
        while let Some(end) = busy_until.filter(|end| *end <= next) {
            harness.wait(end.since(harness.now));
            busy_until = harness.depart().map(|_| end + packet_time);
        }
        harness.wait(next.since(harness.now));
    }
    harness.dropped.iter().map(|(packet, reason)| (packet.serial, *reason)).collect()
}

/// One sender below the link's rate loses nothing, whether it sends evenly or in short bursts: at any rate, with packets of any
/// length. A default that is a number of packets must not throttle a link for which it was not chosen.
#[test]
fn a_lone_sender_below_the_rate_loses_nothing() {
    type Case = (u64, u64, u64);
    type Rule = (&'static str, fn(Case) -> bool, &'static str);
    // Whose rule drops from such a sender after all: at which (rate, bytes, burst), and why.
    const RULES: [Rule; 3] = [
        (
            "rem",
            |(_, bytes, _)| bytes < 1000,
            "it compares packets with what the link sends of 1000 bytes, unless mode = byte",
        ),
        (
            "cake",
            |case| case == (1_000_000, 1500, 4),
            "without bandwidth its target is 5 ms, and the burst waits for 36 ms",
        ),
        (
            "dualpi2",
            |case| case == (1_000_000, 1500, 4),
            "its target is 15 ms, and the burst, which is more than two MTU, waits for 36 ms",
        ),
    ];
    let mut needed = [false; RULES.len()];
    for entry in all() {
        let name = entry.table.about.name;
        for rate in [1_000_000, 10_000_000, 100_000_000, 1_000_000_000] {
            for bytes in [64, 500, 1500] {
                for (burst, load) in [(1, 0.1), (1, 0.5), (1, 0.99), (2, 0.5), (4, 0.5)] {
                    let dropped = dropped_of_a_lone_flow(name, rate, bytes, burst, load);
                    let rule = RULES.iter().position(|(of, at, _)| *of == name && at((rate, bytes, burst)));
                    match rule {
                        Some(rule) => needed[rule] |= !dropped.is_empty(),
                        None => assert_eq!(dropped, [], "{name}: {burst} of {bytes} B, {load} of {rate} bit/s"),
                    }
                }
            }
        }
    }
    assert_eq!(needed, [true; RULES.len()], "a rule that drops nothing is no exception");
}

/// When an empty queue dropped last from a lone sender that comes after a flood. The flood of so many flows sends twice the link's
/// rate for ten seconds. The sender takes half of the link, in bursts of two packets, for half a minute.
fn last_drop_after_a_flood(name: &str, rate: u64, flows: u64) -> Option<Span> {
    let link = Link { rate: Rate(rate), packet: 1000 };
    let mut harness = Harness::boxed(build(name, &mut |_| None, &link).expect("a known name").expect("defaults"), 1);
    let packet_time = link.rate.time_of(1000);
    for arrivals in 0..Span::from_secs(10).0 / packet_time.0 {
        harness.arrive(2 + 2 * arrivals % flows, 1000);
        harness.arrive(2 + (2 * arrivals + 1) % flows, 1000);
        harness.depart();
        harness.wait(packet_time);
    }
    while harness.depart().is_some() {
        harness.wait(packet_time);
    }
    let (begin, mut seen, mut last) = (harness.now, harness.dropped.len(), None);
    for _ in 0..Span::from_secs(30).0 / (4 * packet_time.0) {
        harness.arrive(1, 1000);
        harness.arrive(1, 1000);
        harness.depart();
        harness.wait(packet_time);
        harness.depart();
        harness.wait(Span(3 * packet_time.0));
        if harness.dropped.len() > seen {
            (seen, last) = (harness.dropped.len(), Some(harness.now.since(begin)));
        }
    }
    last
}

/// What a discipline has learnt from a flood does not throttle a lone sender for long: within ten seconds no packet is dropped any
/// more. Averages fall within some hundred packets; AFD's shadow buffer takes longest to forget, 9.8 s at 100 Mbit/s.
#[test]
fn a_lone_sender_after_a_flood_loses_nothing_before_long() {
    // Whose rule remembers a flood for longer, and why.
    const RULES: [(&str, &str); 3] = [
        ("blue", "p comes down by d2 = 0.002 in each 100 ms: from 1/2 in 25 s, from 1 in 50 s"),
        ("pi", "p comes down by (a − b)·q_ref·w = 0.0005 in a second, with the published gains"),
        ("rem", "the price of p = 1/2 is 693, and falls by 1 or 2 in a second at 10 Mbit/s, with ns-2's gamma"),
    ];
    for entry in all() {
        let name = entry.table.about.name;
        let cases = [1_000_000, 10_000_000, 100_000_000].into_iter().flat_map(|rate| [(rate, 1), (rate, 32)]);
        let last: Vec<_> = cases.map(|(rate, flows)| last_drop_after_a_flood(name, rate, flows)).collect();
        let long = last.iter().flatten().any(|last| *last > Span::from_secs(10));
        assert_eq!(long, RULES.iter().any(|(of, _)| *of == name), "{name}: {last:?}");
    }
}
