//! What a token bucket lets go, computed by hand and bounded for any traffic.

use crate::driver::{Driver, Fate, Sample};
use proptest::prelude::*;
use sluicegate_aqm::Discipline;
use sluicegate_aqm::codel::{Codel, CodelParams};
use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_base::{Link, Params, Rate, Size, Span, Time};
use sluicegate_port::{Cells, Framing, PortConfig, TokenBucket};

const RATE: Rate = Rate(8_000_000); // 1000 bytes take a millisecond
const AT_ONCE: Option<Rate> = Some(Rate(8_000_000_000_000_000));

fn shaper(queue: Box<dyn Discipline<Sample>>, framing: Framing, burst: u64) -> Driver {
    let config = PortConfig { interface: AT_ONCE, ..PortConfig::new(RATE) };
    Driver::new(config, Box::new(TokenBucket::new(queue, RATE, framing, burst)), 1)
}

fn drop_tail() -> Box<dyn Discipline<Sample>> {
    Box::new(DropTail::new(DropTailParams { limit: Size::Packets(1000) }))
}

fn times(driver: &Driver) -> Vec<u64> {
    driver.sent().iter().map(|(time, _)| *time).collect()
}

#[test]
fn after_a_pause_packets_leave_until_more_than_the_burst_has_gone() {
    let mut driver = shaper(drop_tail(), Framing::default(), 2500);
    (0..6).for_each(|_| driver.arrive(0, 1000));
    driver.until(9_000_000);
    // Of 2.5 ms of tokens 1.5 and 0.5 are left, then half a millisecond is owed; from then on one packet each millisecond.
    assert_eq!(times(&driver), [0, 0, 0, 500_000, 1_500_000, 2_500_000]);
    // From 2.5 ms on, when a millisecond was owed, 6.5 ms have passed: the bucket is full and holds no more than the burst.
    (0..4).for_each(|_| driver.arrive(9_000_000, 1000));
    driver.until(20_000_000);
    assert_eq!(times(&driver)[6..], [9_000_000, 9_000_000, 9_000_000, 9_500_000]);
    assert_eq!((driver.port.rate(), driver.port.holds()), (RATE, [0; 3]));
}

/// As htb does: tokens of zero let a packet go, so that a burst of one frame is two frames back to back.
#[test]
fn a_burst_of_one_frame_sends_two() {
    let mut driver = shaper(drop_tail(), Framing::default(), 1000);
    (0..4).for_each(|_| driver.arrive(0, 1000));
    driver.until(9_000_000);
    assert_eq!(times(&driver), [0, 0, 1_000_000, 2_000_000]);
}

#[test]
fn the_framing_of_the_line_is_counted_and_not_its_bytes() {
    // 960 bytes and 40 around them are 21 cells of 53 bytes, 1.113 ms.
    let atm = Framing { bytes: 40, least: 0, cells: Cells::Atm };
    let mut driver = shaper(drop_tail(), atm, 1);
    (0..4).for_each(|_| driver.arrive(0, 960));
    driver.until(9_000_000);
    // A byte of burst is a microsecond.
    assert_eq!(times(&driver), [0, 1_112_000, 2_225_000, 3_338_000]);
    assert_eq!(driver.port.counters.departed_bytes, 4 * 960);
}

#[test]
fn the_rate_is_exact_over_any_number_of_packets() {
    let config = PortConfig { interface: AT_ONCE, ..PortConfig::new(Rate(7_000_000)) };
    let queue = TokenBucket::new(drop_tail(), Rate(7_000_000), Framing::default(), 1);
    let mut driver: Driver = Driver::new(config, Box::new(queue), 1);
    (0..701).for_each(|_| driver.arrive(0, 1000));
    driver.until(1_000_000_000);
    // 700 packets of 8/7 ms, less the byte of the burst: 1142 ns.
    assert_eq!(times(&driver)[700], 800_000_000 - 1142);
}

/// The discipline sees the wait: CoDel drops behind the bucket as it does on a link of the rate.
#[test]
fn the_queue_stands_before_the_bucket() {
    let params = CodelParams::defaults(&Link { rate: RATE, packet: 1000 }).unwrap();
    let drops = |shaped: bool| {
        let queue: Box<dyn Discipline<Sample>> = Box::new(Codel::new(params.clone()));
        let mut driver = match shaped {
            true => shaper(queue, Framing::default(), 1000),
            false => Driver::new(PortConfig::new(RATE), queue, 1),
        };
        (0..1000u64).for_each(|at| driver.arrive(at * 900_000, 1000));
        driver.until(3_000_000_000);
        driver.log.iter().filter(|(_, fate)| matches!(fate, Fate::Dropped(..))).count()
    };
    let (shaped, plain) = (drops(true), drops(false));
    assert!(plain > 5 && shaped.abs_diff(plain) <= 1, "{shaped} behind the bucket, {plain} on the link");
}

#[test]
fn another_rate_holds_from_then_on() {
    let mut driver = shaper(drop_tail(), Framing::default(), 1);
    (0..4).for_each(|_| driver.arrive(0, 1000));
    driver.until(1_000_000);
    driver.set_rate(Rate(4_000_000));
    assert_eq!(driver.port.rate(), Rate(4_000_000));
    driver.until(9_000_000);
    assert_eq!(times(&driver), [0, 999_000, 1_999_000, 3_999_000]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Over any time no more leaves than the rate, the burst and one packet; and never less than the rate while packets wait.
    #[test]
    fn what_leaves_is_bounded(
        arrivals in proptest::collection::vec((0u64..3_000_000, 40u64..1500), 1..200), burst in 1u64..20_000,
    ) {
        let mut driver = shaper(drop_tail(), Framing::default(), burst);
        let mut now = 0;
        let mut lengths = Vec::new();
        for (gap, bytes) in &arrivals {
            now += gap;
            driver.arrive(now, *bytes);
            lengths.push(*bytes);
        }
        driver.until(now + 1_000_000_000);
        let sent = driver.sent();
        prop_assert_eq!(sent.len(), arrivals.len());
        // Bytes take a microsecond each.
        for from in 0..sent.len() {
            let mut bytes = 0;
            for (time, serial) in &sent[from..] {
                // The last one may be owed, and so may the one before the first.
                prop_assert!(bytes <= (time - sent[from].0) / 1000 + burst + 1, "{} bytes", bytes);
                bytes += lengths[*serial as usize];
            }
        }
        let mut idle = Time::ZERO;
        for ((time, serial), at) in sent.iter().zip(arrivals.iter().scan(0, |sum, (gap, _)| { *sum += gap; Some(*sum) })) {
            let free = idle.max(Time(at));
            prop_assert!(Time(*time) <= free, "packet {} waits without need", serial);
            idle = free + Span(lengths[*serial as usize] * 1000);
        }
    }
}
