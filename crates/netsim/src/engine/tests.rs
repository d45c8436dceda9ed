use super::*;
use crate::network::packet::WAITED;
use sluicegate_base::Stream;

#[test]
fn ties_break_by_class_then_by_lot_among_owners_and_then_by_number() {
    let lot = |owner| drawn(owner, 5);
    let (first, second) = if lot(4) < lot(9) { (4, 9) } else { (9, 4) };
    for (bucket, reach) in [(1, 0), (4, 1 << 40), (1 << 20, 1)] {
        let mut engine = Engine::new(5, Span(bucket), Span(reach), false);
        engine.push(Time(5), Event::Sample, 0);
        engine.push(Time(5), Event::Source(1), 1);
        for (packet, owner) in [(5, first | WAITED), (2, second), (7, first), (6, second)] {
            engine.push_packet(Time(5), PacketEvent::Arrival, packet, owner);
        }
        engine.push_packet(Time(5), PacketEvent::Crossing, 1, 3);
        engine.push_packet(Time(5), PacketEvent::Delivery, 8, 9);
        engine.push(Time(5), Event::Window, 0);
        engine.push(Time(5), Event::Timer(0, End::Sender), 100);
        engine.set_port(4, Time(5));
        engine.set_port(3, Time(5));
        engine.push(Time(4), Event::Sample, 0);
        engine.push(Time(9), Event::Sample, 0);
        let mut order = Vec::new();
        while let Some(next) = engine.pop(Time(5)) {
            order.push(match next {
                Next::Port => {
                    let port = engine.port();
                    engine.set_port(port, Time::NEVER);
                    format!("port {port}")
                }
                Next::Packet(event) => format!("{event:?} {}", engine.take(event)),
                Next::Event(Event::Packet(event, packet)) => format!("{event:?} {packet}"),
                Next::Event(event) => format!("{event:?}"),
            });
        }
        let expected = [
            "Sample",
            "Window",
            "port 3",
            "port 4",
            "Timer(0, Sender)",
            "Delivery 8",
            "Arrival 7",
            "Arrival 2",
            "Arrival 6",
            "Arrival 5",
            "Crossing 1",
            "Source(1)",
            "Sample",
        ];
        assert_eq!(order, expected);
        assert_eq!((engine.pop(Time(9)), engine.now()), (Some(Next::Event(Event::Sample)), Time(9)));
        assert_eq!(engine.count(), 14);
    }
}

/// Times as they are where a link is as fast as its access links: multiples of what a packet takes.
#[test]
fn no_owner_is_mostly_first() {
    let hosts = |count: u32| (0..count).map(|host| 2 * host).collect::<Vec<_>>();
    for step in [1, 80_000, 83_333, 1 << 20, 12_000_000] {
        for owners in
            [vec![0, 1], vec![6, 8], vec![14, 200], vec![1000, 2_000_000], hosts(3), hosts(5), hosts(9), hosts(100)]
        {
            let mut first = vec![0_u32; owners.len()];
            for time in 1..=20_000 {
                let order = (0..owners.len()).min_by_key(|at| drawn(owners[*at], time * step)).unwrap();
                first[order] += 1;
            }
            // Four and a half standard deviations of so many draws: beyond them is one of 150,000.
            let mean = 20_000.0 / owners.len() as f64;
            let allowed = 4.5 * (mean * (1.0 - 1.0 / owners.len() as f64)).sqrt();
            let even = first.iter().all(|count| (f64::from(*count) - mean).abs() <= allowed);
            assert!(even, "of {owners:?} at steps of {step} ns: {first:?}");
        }
    }
}

/// Takes the next event, no later than `until`, as a number.
fn take(engine: &mut Engine, until: Time) -> Option<u32> {
    Some(match engine.pop(until)? {
        Next::Packet(event) => engine.take(event),
        Next::Event(Event::Packet(_, id) | Event::Source(id)) => id,
        other => unreachable!("{other:?}"),
    })
}

/// Against a sorted list, with events of the present, the next buckets and far beyond the wheel's turn, of kinds that
/// wait in lanes and of such that do not, in order and out of it.
#[test]
fn gives_the_same_order_as_sorting() {
    let packets = [PacketEvent::Delivery, PacketEvent::Arrival, PacketEvent::Crossing];
    for (bucket, reach, seed, count) in
        [(1, 1, 1, 40_000), (64, 1 << 20, 2, 400_000), (4096, u64::MAX, 3, 40_000), (1 << 40, 0, 4, 40_000)]
    {
        let mut engine = Engine::new(1, Span(bucket), Span(reach), seed % 2 == 0);
        let mut rng = Stream::new(seed, "events");
        let mut expected: Vec<(Time, usize, u32, u32)> = Vec::new();
        let check = |engine: &mut Engine, (time, _, _, id): (Time, usize, u32, u32)| {
            if time > Time::ZERO {
                assert_eq!(take(engine, Time(time.0 - 1)), None, "not before its time");
            }
            assert_eq!((take(engine, time), engine.now()), (Some(id), time));
        };
        for id in 0..count {
            let kind = rng.below(4) as usize;
            // A constant time for each kind, about that, or any.
            let after = match rng.below(10) {
                0 | 1 => {
                    let reach = [1, 100, 10_000, 100_000_000, 10_000_000_000][rng.below(5) as usize];
                    rng.below(reach)
                }
                2 => [80, 1000, 5000, 40_000][kind] + rng.below(20),
                _ => [80, 1000, 5000, 40_000][kind],
            };
            // The same owner's events of one time keep their order, which the list has from their numbers.
            let (time, owner) = (engine.now() + Span(after), id % 50);
            match packets.get(kind) {
                Some(event) => engine.push_packet(time, *event, id, owner),
                None => engine.push(time, Event::Source(id), owner.into()),
            }
            let turn = if kind < packets.len() { drawn(owner, time.0) } else { owner };
            expected.push((time, kind, turn, id));
            if rng.below(3) == 0 {
                let (at, &first) = expected.iter().enumerate().min_by_key(|(_, entry)| **entry).unwrap();
                expected.swap_remove(at);
                check(&mut engine, first);
            }
            if expected.len() > 200 {
                expected.sort_unstable();
                for first in expected.drain(..150) {
                    check(&mut engine, first);
                }
            }
        }
        expected.sort_unstable();
        for first in expected {
            check(&mut engine, first);
        }
        assert_eq!(engine.pop(Time(1 << 61)), None);
    }
}

/// Events that never come are of no account to the others.
#[test]
fn what_never_comes_hides_nothing() {
    let mut engine = Engine::new(1, Span(64), Span(1 << 20), true);
    engine.push_packet(Time(5), PacketEvent::Arrival, 0, 0);
    (1..5).for_each(|packet| engine.push_packet(Time::NEVER, PacketEvent::Arrival, packet, 0));
    engine.push(Time::NEVER, Event::Sample, 0);
    assert_eq!(take(&mut engine, Time(9)), Some(0));
    (5..9).for_each(|packet| engine.push_packet(Time(u64::from(packet)), PacketEvent::Arrival, packet, 0));
    for packet in 5..9 {
        assert_eq!(take(&mut engine, Time(9)), Some(packet));
    }
    assert_eq!(engine.pop(Time(9)), None);
}
