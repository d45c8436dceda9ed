use super::*;
use crate::rig::{Rig, TestPacket};
use sluicegate_base::{Ecn, Link, Params, Rate};

fn params() -> DecbitParams {
    DecbitParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap()
}

fn rig(params: DecbitParams) -> Rig<Decbit<TestPacket>> {
    Rig::new(Decbit::new(params), 1)
}

/// An arrival, and the link asks at once, as it does when it is idle.
fn arrive_idle(rig: &mut Rig<Decbit<TestPacket>>) {
    rig.offer(1, 1000, Ecn::Capable0);
    assert!(rig.depart().is_some());
}

/// Two cycles by hand, in milliseconds. Busy from 10 to 14: q = 1, 2 from 11, 1 from 12 on; idle until 20.
/// Then busy: q = 1 at 20, 2 at 21, 3 at 22.
#[test]
fn averages_over_the_last_cycle_and_the_busy_period() {
    let mut rig = rig(params());
    let ms = Span::from_millis;
    let avg = |rig: &Rig<Decbit<TestPacket>>| rig.discipline.average().unwrap();
    rig.wait(ms(10));
    arrive_idle(&mut rig);
    assert_eq!(avg(&rig), 0.0, "nothing is known before the first packet");
    rig.wait(ms(1));
    rig.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&rig), 1.0, "1 ms with one packet");
    rig.wait(ms(1));
    assert!(rig.depart().is_some(), "the first is sent, the second goes to the transmitter");
    rig.wait(ms(2));
    assert_eq!(rig.depart(), None, "idle from 14 on");
    rig.wait(ms(6));
    arrive_idle(&mut rig);
    // Area 1 + 2 + 2 in 10 ms.
    assert_eq!(avg(&rig), 0.5, "the last cycle, and nothing of the busy period");
    rig.wait(ms(1));
    rig.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&rig), 6.0 / 11.0);
    rig.wait(ms(1));
    rig.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&rig), 8.0 / 12.0);
    // q = 3 for t ms: (8 + 3t)/(12 + t) exceeds 1 for t > 2. At 2 ms it is 1, and no bit is set.
    rig.wait(ms(2));
    rig.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&rig), 1.0);
    rig.wait(ms(1));
    rig.offer(1, 1000, Ecn::Capable0);
    assert_eq!(avg(&rig), 18.0 / 15.0);
    let ecn = [(); 4].map(|()| rig.depart().unwrap().ecn);
    assert_eq!(ecn, [Ecn::Capable0, Ecn::Capable0, Ecn::Capable0, Ecn::CongestionExperienced]);
    // The next cycle forgets the first: 15 ms of 20 … 25 remain, and 1 ms of idleness.
    assert_eq!(rig.depart(), None);
    rig.wait(ms(1));
    arrive_idle(&mut rig);
    assert_eq!(avg(&rig), 13.0 / 6.0);
    rig.assert_conserved();
}

/// A server with Poisson arrivals and exponential service at load ρ has ρ/(1 − ρ) packets on average, the one in service
/// included: 1 at a half, where the bit begins to be set.
#[test]
fn the_packet_in_transmission_counts() {
    use sluicegate_base::Stream;
    for (load, queue) in [(0.5, 1.0), (0.75, 3.0)] {
        let mut rig = rig(DecbitParams { limit: Size::Packets(1_000_000), ..params() });
        let mut rng = Stream::new(8, "M/M/1");
        let mut after = |now: Time, mean: f64| now + Span((mean * rng.exponential()) as u64);
        let (mut arrival, mut departure) = (after(Time::ZERO, 1e6 / load), None);
        let (mut area, mut length) = (0, 0);
        while rig.arrived < 400_000 {
            let next = departure.map_or(arrival, |departure: Time| departure.min(arrival));
            rig.wait(next.since(rig.now));
            if next == arrival {
                let before = rig.discipline.current;
                rig.arrive(1, 1000);
                if rig.discipline.current.length < before.length {
                    // A cycle is over: it has been counted up to this arrival.
                    area += rig.discipline.last.area;
                    length += rig.discipline.last.length.0;
                }
                arrival = after(next, 1e6 / load);
            }
            if departure.is_none_or(|departure| departure == next) {
                departure = rig.depart().map(|_| after(next, 1e6));
            }
        }
        let average = area as f64 / length as f64;
        assert!((average / queue - 1.0).abs() < 0.05, "load {load}: {average}");
    }
}

#[test]
fn drops_only_when_full_and_never_what_cannot_be_marked() {
    let mut rig = rig(DecbitParams { limit: Size::Packets(3), ..params() });
    arrive_idle(&mut rig);
    for _ in 0..5 {
        rig.wait(Span::from_millis(1));
        rig.arrive(2, 1000);
    }
    assert!(rig.discipline.average().unwrap() > 1.0);
    assert_eq!(rig.lost_flows(), [(2, Cause::Tail); 2]);
    assert!((0..3).all(|_| rig.depart().unwrap().ecn == Ecn::NotCapable));
}

/// Flow 1 sends twenty packets for each of flow 2, and the queue stands at three.
#[test]
fn selective_feedback_spares_who_uses_little() {
    let marks = |feedback| {
        let mut rig = rig(DecbitParams { feedback, ..params() });
        let mut marks = [0, 0];
        for k in 0..300 {
            rig.wait(Span::from_millis(8));
            (0..2).for_each(|_| rig.offer(1, 1000, Ecn::Capable0));
            if k % 10 == 0 {
                rig.offer(2, 1000, Ecn::Capable0);
            }
            while rig.discipline.packets() > 3 {
                let packet = rig.depart().unwrap();
                marks[packet.flow as usize - 1] += u64::from(packet.ecn == Ecn::CongestionExperienced);
            }
        }
        marks
    };
    let all = marks(Feedback::All);
    assert!(all[0] > 500 && all[1] >= 28, "{all:?}");
    assert_eq!(marks(Feedback::Selective), [all[0], 0]);
}
