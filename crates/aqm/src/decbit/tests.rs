use super::*;
use crate::harness::{Harness, TestPacket};
use sluicegate_base::{Ecn, Link, Params, Rate};

fn params() -> DecbitParams {
    DecbitParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

fn harness(params: DecbitParams) -> Harness<Decbit<TestPacket>> {
    Harness::new(Decbit::new(params), 1)
}

/// An arrival, and the link asks at once, as it does when it is idle.
fn arrive_idle(harness: &mut Harness<Decbit<TestPacket>>) {
    harness.offer(1, 1000, Ecn::Capable0);
    assert!(harness.depart().is_some());
}

/// Two cycles by hand, in milliseconds. Busy from 10 to 14: q = 1, 2 from 11, 1 from 12 on; idle until 20.
/// Then busy: q = 1 at 20, 2 at 21, 3 at 22.
#[test]
fn averages_over_the_last_cycle_and_the_busy_period() {
    let mut harness = harness(params());
    let ms = Span::from_millis;
    let avg = |harness: &Harness<Decbit<TestPacket>>| harness.discipline.average().unwrap();
    harness.wait(ms(10));
    arrive_idle(&mut harness);
    assert_eq!(avg(&harness), 0.0, "nothing is known before the first packet");
    harness.wait(ms(1));
    harness.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&harness), 1.0, "1 ms with one packet");
    harness.wait(ms(1));
    assert!(harness.depart().is_some(), "the first is sent, the second goes to the transmitter");
    harness.wait(ms(2));
    assert_eq!(harness.depart(), None, "idle from 14 on");
    harness.wait(ms(6));
    arrive_idle(&mut harness);
    // Area 1 + 2 + 2 in 10 ms.
    assert_eq!(avg(&harness), 0.5, "the last cycle, and nothing of the busy period");
    harness.wait(ms(1));
    harness.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&harness), 6.0 / 11.0);
    harness.wait(ms(1));
    harness.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&harness), 8.0 / 12.0);
    // q = 3 for t ms: (8 + 3t)/(12 + t) exceeds 1 for t > 2. At 2 ms it is 1, and no bit is set.
    harness.wait(ms(2));
    harness.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&harness), 1.0);
    harness.wait(ms(1));
    harness.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&harness), 18.0 / 15.0);
    let ecn = [(); 4].map(|()| harness.depart().unwrap().ecn);
    assert_eq!(ecn, [Ecn::Capable0, Ecn::Capable0, Ecn::Capable0, Ecn::CongestionExperienced]);
    // The next cycle forgets the first: 15 ms of 20 … 25 remain, and 1 ms of idleness.
    assert_eq!(harness.depart(), None);
    harness.wait(ms(1));
    arrive_idle(&mut harness);
    assert_eq!(avg(&harness), 13.0 / 6.0);
    harness.assert_conserved();
}

/// A server with Poisson arrivals and exponential service at load ρ has ρ/(1 − ρ) packets on average, the one in service
/// included: 1 at a half, where the bit begins to be set.
#[test]
fn the_packet_in_transmission_counts() {
    use sluicegate_base::Stream;
    for (load, queue) in [(0.5, 1.0), (0.75, 3.0)] {
        let mut harness = harness(DecbitParams { limit: Size::Packets(1_000_000), ..params() });
        let mut rng = Stream::new(8, "M/M/1");
        let mut after = |now: Time, mean: f64| now + Span((mean * rng.exponential()) as u64);
        let (mut arrival, mut departure) = (after(Time::ZERO, 1e6 / load), None);
        let (mut area, mut length) = (0, 0);
        while harness.arrived < 400_000 {
            let next = departure.map_or(arrival, |departure: Time| departure.min(arrival));
            harness.wait(next.since(harness.now));
            if next == arrival {
                let before = harness.discipline.current;
                harness.arrive(1, 1000);
                if harness.discipline.current.length < before.length {
                    // A cycle is over: it has been counted up to this arrival.
                    area += harness.discipline.last.area;
                    length += harness.discipline.last.length.0;
                }
                arrival = after(next, 1e6 / load);
            }
            if departure.is_none_or(|departure| departure == next) {
                departure = harness.depart().map(|_| after(next, 1e6));
            }
        }
        let average = area as f64 / length as f64;
        assert!((average / queue - 1.0).abs() < 0.05, "load {load}: {average}");
    }
}

#[test]
fn drops_only_when_full_and_never_what_cannot_be_marked() {
    let mut harness = harness(DecbitParams { limit: Size::Packets(3), ..params() });
    arrive_idle(&mut harness);
    for _ in 0..5 {
        harness.wait(Span::from_millis(1));
        harness.arrive(2, 1000);
    }
    assert!(harness.discipline.average().unwrap() > 1.0);
    assert_eq!(harness.dropped_flows(), [(2, DropReason::Tail); 2]);
    assert!((0..3).all(|_| harness.depart().unwrap().ecn == Ecn::NotCapable));
}

/// Flow 1 sends twenty packets for each of flow 2, and the queue stands at three.
#[test]
fn selective_feedback_spares_who_uses_little() {
    let marks = |feedback| {
        let mut harness = harness(DecbitParams { feedback, ..params() });
        let mut marks = [0, 0];
        for k in 0..300 {
            harness.wait(Span::from_millis(8));
            (0..2).for_each(|_| harness.offer(1, 1000, Ecn::Capable0));
            if k % 10 == 0 {
                harness.offer(2, 1000, Ecn::Capable0);
            }
            while harness.discipline.packets() > 3 {
                let packet = harness.depart().unwrap();
                marks[packet.flow as usize - 1] += u64::from(packet.ecn == Ecn::CongestionExperienced);
            }
        }
        marks
    };
    let all = marks(Feedback::All);
    assert!(all[0] > 500 && all[1] >= 28, "{all:?}");
    assert_eq!(marks(Feedback::Selective), [all[0], 0]);
}
