//! What a port does, computed by hand.

use crate::driver::{Driver, Fate, Sample};
use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_aqm::fifo::{Buffer, Fifo};
use sluicegate_aqm::harness::TestPacket;
use sluicegate_aqm::source_quench::{SourceQuench, SourceQuenchParams};
use sluicegate_aqm::{Ctx, Discipline, DropReason};
use sluicegate_base::params::Raw;
use sluicegate_base::{Link, Rate, Size, Span, Time};
use sluicegate_port::PortConfig;
use std::sync::{Arc, Mutex};

use Fate::{Dropped, Quenched, Sent, Started};

const MBPS: u64 = 1_000_000;

fn config(rate: u64) -> PortConfig {
    PortConfig::new(Rate(rate))
}

fn drop_tail(limit: u64) -> Box<DropTail<Sample>> {
    Box::new(DropTail::new(DropTailParams { limit: Size::Packets(limit) }))
}

fn driver(config: PortConfig, limit: u64) -> Driver<Box<DropTail<Sample>>> {
    Driver::new(config, drop_tail(limit), 1)
}

#[test]
fn packets_leave_at_the_rate_with_framing_and_without_a_rounding_error() {
    // 1480 + 20 bytes at 7 Mbit/s take 1,714,285 5/7 ns; the bytes of the framing are not counted.
    let mut driver = driver(PortConfig { framing: 20.into(), ..config(7 * MBPS) }, 10);
    (0..7).for_each(|_| driver.arrive(0, 1480));
    driver.until(12_000_000);
    let expected: Vec<(u64, u64)> = (1..=7).map(|k| (k * 12_000_000 / 7, k - 1)).collect();
    assert_eq!(driver.sent(), expected);
    assert_eq!((driver.port.counters.departures, driver.port.counters.departed_bytes), (7, 7 * 1480));
    // It was idle: the next packet starts on a whole nanosecond.
    driver.arrive(12_000_001, 1480);
    driver.until(20_000_000);
    assert_eq!(driver.sent()[7], (12_000_001 + 1_714_285, 7));
}

#[test]
fn outcomes_come_as_they_happen_and_the_counters_agree() {
    let mut driver = driver(config(8 * MBPS), 1);
    (0..3).for_each(|_| driver.arrive(100, 1000)); // a millisecond each
    assert_eq!(driver.log, [(100, Started(0)), (100, Dropped(2, DropReason::Tail))]);
    assert_eq!((driver.port.holds(), driver.port.next_deadline()), ([1, 0, 1], Time(1_000_100)));
    driver.until(3_000_000);
    let expected = [(1_000_100, Sent(0)), (1_000_100, Started(1)), (2_000_100, Sent(1))];
    assert_eq!(driver.log[2..], expected);
    let counters = &driver.port.counters;
    assert_eq!((counters.arrivals, counters.found, counters.departures, counters.dropped()), (3, 1, 2, 1));
    assert_eq!((counters.max_packets, counters.queueing, counters.delay_sum), (1, Span(1_000_000), 1_000_000));
    assert_eq!((driver.port.holds(), driver.port.next_deadline()), ([0; 3], Time::NEVER));
}

#[test]
fn quenches_come_last() {
    let queue = SourceQuench::new(SourceQuenchParams { limit: Size::Packets(3), threshold: Some(Size::Packets(1)) });
    let mut driver = Driver::new(config(MBPS), Box::new(queue), 1);
    (0..5).for_each(|flow| driver.submit(TestPacket { flow, bytes: 1000, ..TestPacket::default() }));
    // The first goes to the transmitter; the third that is queued finds more than one.
    let fates: Vec<Fate> = driver.log.iter().map(|(_, fate)| *fate).collect();
    assert_eq!(fates, [Started(0), Quenched(3), Dropped(4, DropReason::Tail), Quenched(4)]);
}

/// A queue that keeps a record of its calls, and asks to be woken every 8 ms while it has packets.
struct Recorder {
    queue: Fifo<Sample>,
    next: Option<Time>,
    calls: Arc<Mutex<Vec<(u64, &'static str)>>>,
}

impl Discipline<Sample> for Recorder {
    fn enqueue(&mut self, packet: Sample, ctx: &mut Ctx<'_, Sample>) {
        self.calls.lock().unwrap().push((ctx.now.0, "arrival"));
        self.next = self.next.or(Some(ctx.now + Span::from_millis(8)));
        self.queue.push(packet);
    }
    fn dequeue(&mut self, ctx: &mut Ctx<'_, Sample>) -> Option<Sample> {
        self.calls.lock().unwrap().push((ctx.now.0, "departure"));
        self.queue.pop()
    }
    fn next_wakeup(&self) -> Option<Time> {
        self.next
    }
    fn wake(&mut self, ctx: &mut Ctx<'_, Sample>) {
        self.calls.lock().unwrap().push((ctx.now.0, "wake-up"));
        self.next = (self.queue.packets() > 0).then_some(ctx.now + Span::from_millis(8));
    }
    fn link_changed(&mut self, link: &Link, ctx: &mut Ctx<'_, Sample>) {
        assert_eq!(link.packet, 500);
        self.calls.lock().unwrap().push((ctx.now.0, "change"));
    }
    fn buffer(&self) -> &dyn Buffer<Sample> {
        &self.queue
    }
}

#[test]
fn at_one_time_come_wakeups_then_departures_then_arrivals() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let queue = Box::new(Recorder { queue: Fifo::new(Size::Packets(9)), next: None, calls: calls.clone() });
    let mut driver = Driver::new(PortConfig { packet: 500, ..config(MBPS) }, queue, 1);
    (0..4).for_each(|k| driver.arrive(k * 4_000_000, 1000)); // 8 ms each
    let at = |ms: u64| calls.lock().unwrap().iter().filter(|c| c.0 == ms * 1_000_000).map(|c| c.1).collect::<Vec<_>>();
    assert_eq!(
        (at(0), at(4), at(8)),
        (vec!["arrival", "departure"], vec!["arrival"], vec!["wake-up", "departure", "arrival"])
    );
    // The discipline hears of a new rate, but not that the link stands still.
    for rate in [2 * MBPS, 0, MBPS] {
        driver.wait(Span(1_000_000));
        driver.set_rate(Rate(rate));
    }
    assert_eq!((at(13), at(14), at(15)), (vec!["change"], vec![], vec!["change"]));
}

/// A shaper: it lets a packet go every 10 ms.
struct Shaper {
    queue: Fifo<Sample>,
    next: Time,
    held: Option<Time>,
}

impl Shaper {
    fn new() -> Box<Shaper> {
        Box::new(Shaper { queue: Fifo::new(Size::Packets(100)), next: Time::ZERO, held: None })
    }
}

impl Discipline<Sample> for Shaper {
    fn enqueue(&mut self, packet: Sample, _ctx: &mut Ctx<'_, Sample>) {
        self.queue.push(packet);
    }
    fn dequeue(&mut self, ctx: &mut Ctx<'_, Sample>) -> Option<Sample> {
        self.held = (ctx.now < self.next && self.queue.packets() > 0).then_some(self.next);
        if self.held.is_some() {
            return None;
        }
        let packet = self.queue.pop()?;
        self.next = ctx.now + Span::from_millis(10);
        Some(packet)
    }
    fn next_wakeup(&self) -> Option<Time> {
        self.held
    }
    fn wake(&mut self, _ctx: &mut Ctx<'_, Sample>) {
        self.held = None;
    }
    fn buffer(&self) -> &dyn Buffer<Sample> {
        &self.queue
    }
}

#[test]
fn a_discipline_that_holds_packets_back_is_asked_again_when_it_wakes() {
    for tx_ring in [None, Some(Size::Packets(4))] {
        let mut driver = Driver::new(PortConfig { tx_ring, ..config(100 * MBPS) }, Shaper::new(), 1);
        (0..5).for_each(|k| driver.arrive(k * 4_000_000, 1000)); // 80 us each
        assert_eq!(driver.port.holds(), [3, 0, 0]);
        driver.until(100_000_000);
        let times: Vec<u64> = driver.sent().iter().map(|(time, _)| *time).collect();
        assert_eq!(times, [80_000, 10_080_000, 20_080_000, 30_080_000, 40_080_000]);
    }
}

#[test]
fn a_ring_takes_packets_from_the_discipline_as_long_as_it_has_room() {
    let mut driver = driver(PortConfig { tx_ring: Some(Size::Packets(2)), ..config(8 * MBPS) }, 1);
    (0..6).for_each(|_| driver.arrive(0, 1000));
    // One in transmission, two in the ring, one queued, two too many.
    assert_eq!(driver.port.holds(), [1, 2, 1]);
    let tail = DropReason::Tail;
    let fates: Vec<Fate> = driver.log.drain(..).map(|(_, fate)| fate).collect();
    assert_eq!(fates, [Started(0), Started(1), Started(2), Dropped(4, tail), Dropped(5, tail)]);
    driver.until(1_000_000);
    assert_eq!(driver.log, [(1_000_000, Sent(0)), (1_000_000, Started(3))]);
    assert_eq!(driver.port.holds(), [0, 2, 1]);
    // The ring's time is not the queue's.
    assert_eq!(driver.port.counters.queueing, Span(1_000_000));
    driver.until(4_000_000);
    assert_eq!(driver.sent(), [(1_000_000, 0), (2_000_000, 1), (3_000_000, 2), (4_000_000, 3)]);
    assert_eq!(driver.port.holds(), [0; 3]);
}

#[test]
fn a_ring_of_bytes_takes_the_packet_that_fills_it_whole() {
    let mut driver = driver(PortConfig { tx_ring: Some(Size::Bytes(1500)), ..config(8 * MBPS) }, 10);
    [1000, 500, 999, 1500, 40].into_iter().for_each(|bytes| driver.arrive(0, bytes));
    // 1000 in transmission; 500 and 999 leave a byte, which lets the 1500 in.
    assert_eq!(driver.port.holds(), [1, 3, 1]);
    driver.until(1_000_000); // 500 in transmission; 2499 wait
    assert_eq!(driver.port.holds(), [1, 2, 1]);
    driver.until(1_500_000); // 999; 1500 wait, which fills it
    assert_eq!(driver.port.holds(), [1, 1, 1]);
    driver.until(2_499_000); // 1500
    assert_eq!(driver.port.holds(), [0, 1, 1]);
    driver.until(10_000_000);
    assert_eq!(driver.sent().len(), 5);
}

#[test]
fn a_rate_that_changes_in_mid_packet_takes_the_rest_of_it_along() {
    // 1500 bytes are 12,000 bits.
    let mut driver = driver(config(7 * MBPS), 10);
    driver.arrive(0, 1500);
    driver.arrive(0, 1500);
    driver.until(1_000_000); // 7000 bits
    driver.set_rate(Rate(MBPS));
    assert_eq!((driver.port.next_departure(), driver.port.rate()), (Time(6_000_000), Rate(MBPS)));
    driver.until(3_000_001); // 2000.001 bits more
    driver.set_rate(Rate(3 * MBPS)); // 2999.999: 999,999 2/3 ns
    assert_eq!(driver.port.next_departure(), Time(4_000_000));
    driver.until(4_000_000);
    // The third of a nanosecond that is over belongs to the first packet.
    assert_eq!(driver.port.next_departure(), Time(8_000_000));
}

#[test]
fn at_a_rate_of_zero_everything_stands_still() {
    let mut driver = driver(config(8 * MBPS), 10);
    driver.arrive(0, 1000);
    driver.until(250_000);
    driver.set_rate(Rate(0));
    assert_eq!(driver.port.next_deadline(), Time::NEVER);
    driver.arrive(9_000_000, 1000);
    assert_eq!(driver.port.holds(), [1, 0, 1]);
    driver.until(10_000_000);
    driver.set_rate(Rate(16 * MBPS));
    driver.until(20_000_000);
    // 6000 bits, then 8000, at 16 Mbit/s.
    assert_eq!(driver.sent(), [(10_375_000, 0), (10_875_000, 1)]);
    // What begins at a rate of zero is sent later, too.
    driver.set_rate(Rate(0));
    driver.arrive(20_000_000, 1000);
    driver.until(30_000_000);
    driver.set_rate(Rate(8 * MBPS));
    assert_eq!(driver.port.next_deadline(), Time(31_000_000));
}

#[test]
fn a_smaller_limit_drops_what_it_has_no_room_for() {
    let mut driver: Driver = Driver::new(config(8 * MBPS), registry("drop_tail", None), 1);
    (0..5).for_each(|_| driver.arrive(0, 1000));
    driver.log.clear();
    driver.call(|port, now, mut out| port.set("limit", &Raw::Integer(2), now, &mut out)).unwrap();
    let gone = DropReason::Reconfigured;
    // The last first, as of all drops of one call.
    assert_eq!(driver.log, [(0, Dropped(3, gone)), (0, Dropped(4, gone))]);
    assert_eq!((driver.port.len(), driver.port.counters.drops[gone as usize]), (2, 2));
    let refused = driver.call(|port, now, mut out| port.set("limt", &Raw::Integer(2), now, &mut out));
    assert!(refused.unwrap_err().contains("limit"), "says the nearest name");
}

fn registry(name: &str, limit: Option<u64>) -> Box<dyn Discipline<Sample>> {
    let entry = sluicegate_aqm::all().iter().find(|entry| entry.table.about.name == name).unwrap();
    let fields = entry.table.fields;
    let mut given = |at: usize| {
        let size = limit.filter(|_| fields[at].name == "limit").map(Size::Packets);
        size.map(sluicegate_base::Value::Size)
    };
    let link = Link { rate: Rate(8 * MBPS), packet: 1000 };
    sluicegate_aqm::build(name, &mut given, &link).unwrap().unwrap()
}

#[test]
fn another_discipline_is_offered_what_waits_in_the_order_of_arrival() {
    // Fair queueing keeps the packets of each flow together.
    let mut driver: Driver = Driver::new(config(8 * MBPS), registry("sfq", None), 1);
    for (time, flow) in [(0, 1), (10, 1), (20, 1), (30, 2), (40, 1), (50, 2)] {
        driver.until(time);
        driver.submit(TestPacket { flow, bytes: 1000, ..TestPacket::default() });
    }
    driver.until(60);
    driver.log.clear();
    let old = driver.call(|port, now, mut out| port.replace(registry("drop_tail", Some(3)), now, &mut out));
    assert_eq!(old.packets(), 5);
    let gone = DropReason::Reconfigured;
    assert_eq!(driver.log, [(60, Dropped(5, gone)), (60, Dropped(4, gone))]);
    assert_eq!(driver.port.holds(), [3, 0, 1]);
    driver.until(10_000_000);
    assert_eq!(driver.sent(), [(1_000_000, 0), (2_000_000, 1), (3_000_000, 2), (4_000_000, 3)]);
    // Since their arrival, in whatever queue: 1, 2 and 3 ms, less the 10, 20 and 30 ns before they came, and 10 + 20 of the two
    // that were refused.
    assert_eq!(driver.port.counters.queueing, Span(6_000_000 - 60 + 30));
}

#[test]
fn what_a_shaper_held_back_goes_at_once_under_another_discipline() {
    let mut driver: Driver = Driver::new(config(100 * MBPS), Shaper::new(), 1);
    driver.arrive(0, 1000);
    driver.arrive(1_000_000, 1000);
    driver.until(2_000_000);
    assert_eq!(driver.port.holds(), [1, 0, 0]);
    driver.call(|port, now, mut out| drop(port.replace(registry("drop_tail", None), now, &mut out)));
    assert_eq!((driver.port.next_deadline(), driver.port.holds()), (Time(2_080_000), [0, 0, 1]));
}

/// PIE samples its queue every 15 ms from the start, while there is something to sample.
#[test]
fn a_discipline_that_takes_over_late_has_its_clock_up_to_date() {
    let (mut late, mut early): (Driver, Driver) = (
        Driver::new(config(8 * MBPS), registry("drop_tail", None), 1),
        Driver::new(config(8 * MBPS), registry("pie", None), 1),
    );
    for driver in [&mut late, &mut early] {
        driver.until(1_000_000_007);
    }
    late.call(|port, now, mut out| drop(port.replace(registry("pie", None), now, &mut out)));
    for driver in [&mut late, &mut early] {
        driver.arrive(1_000_000_007, 1000);
        driver.arrive(1_000_000_007, 1000);
    }
    assert_eq!(late.port.next_wakeup(), early.port.next_wakeup());
    assert!(late.port.next_wakeup() < Time::NEVER);
}

#[test]
fn a_window_counts_anew() {
    let mut driver = driver(config(8 * MBPS), 2);
    (0..4).for_each(|_| driver.arrive(0, 1000));
    driver.until(500_000);
    driver.port.counters.begin_window(Time(500_000));
    driver.until(10_000_000);
    let counters = &driver.port.counters;
    assert_eq!((counters.arrivals, counters.departures, counters.dropped(), counters.max_packets), (0, 3, 0, 0));
    // Two waited until 1 and 2 ms, from the window's begin on.
    assert_eq!((counters.queueing, counters.delay_sum), (Span(500_000 + 1_500_000), 3_000_000));
}

/// A discipline that is never done.
struct Late(Fifo<Sample>);

impl Discipline<Sample> for Late {
    fn enqueue(&mut self, packet: Sample, _ctx: &mut Ctx<'_, Sample>) {
        self.0.push(packet);
    }
    fn dequeue(&mut self, _ctx: &mut Ctx<'_, Sample>) -> Option<Sample> {
        self.0.pop()
    }
    fn next_wakeup(&self) -> Option<Time> {
        Some(Time(5))
    }
    fn buffer(&self) -> &dyn Buffer<Sample> {
        &self.0
    }
}

#[test]
#[should_panic(expected = "Late has a wake-up due after a call")]
fn a_wakeup_that_is_left_due_is_an_error_of_the_discipline() {
    let config = PortConfig { name: "Late".into(), ..config(MBPS) };
    Driver::new(config, Box::new(Late(Fifo::new(Size::Packets(1)))), 1).until(5);
}
