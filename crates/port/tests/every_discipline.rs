//! What holds for a port whatever its discipline, and whatever happens to it.

use crate::driver::{Driver, Fate, Sample};
use proptest::prelude::*;
use sluicegate_aqm::harness::TestPacket;
use sluicegate_aqm::{Discipline, all, build};
use sluicegate_base::params::Raw;
use sluicegate_base::{Ecn, Link, Rate, Size, Span, Time, Value};
use sluicegate_port::{PortConfig, TokenBucket};

const RATES: [u64; 5] = [0, 7_000, 1_000_000, 3_000_001, 1_000_000_000];

fn queue(name: &str, limit: u64) -> Box<dyn Discipline<Sample>> {
    let entry = all().iter().find(|entry| entry.table.about.name == name).expect("a known name");
    let fields = entry.table.fields;
    let mut given = |at: usize| (fields[at].name == "limit").then_some(Value::Size(Size::Packets(limit)));
    let link = Link { rate: Rate(1_000_000), packet: 1000 };
    build(name, &mut given, &link).expect("a known name").expect("good values")
}

#[derive(Clone, Debug)]
enum Step {
    Arrive {
        flow: u64,
        bytes: u64,
        ecn: Ecn,
        sort: u8,
    },
    Wait(u64),
    SetRate(usize),
    SetLimit(u64),
    /// Another discipline, by its place in the registry.
    Replace(usize),
}

fn arrivals() -> impl Strategy<Value = Step> {
    let ecn = prop_oneof![Just(Ecn::NotCapable), Just(Ecn::Capable0), Just(Ecn::CongestionExperienced)];
    (0u64..6, 40u64..1500, ecn, 0u8..8).prop_map(|(flow, bytes, ecn, sort)| Step::Arrive { flow, bytes, ecn, sort })
}

/// Arrivals and pauses.
fn traffic() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![6 => arrivals(), 3 => (0u64..40_000_000).prop_map(Step::Wait)];
    proptest::collection::vec(step, 0..400)
}

/// With changes of all sorts.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        60 => arrivals(),
        20 => (0u64..40_000_000).prop_map(Step::Wait),
        1 => (0u64..3_000_000_000).prop_map(Step::Wait),
        4 => (0..RATES.len()).prop_map(Step::SetRate),
        2 => (1u64..40).prop_map(Step::SetLimit),
        2 => (0..all().len()).prop_map(Step::Replace),
    ];
    proptest::collection::vec(step, 0..400)
}

fn rings() -> impl Strategy<Value = Option<Size>> {
    prop_oneof![
        Just(None),
        (0u64..5).prop_map(|n| Some(Size::Packets(n))),
        (0u64..5000).prop_map(|n| Some(Size::Bytes(n)))
    ]
}

/// The bytes of a token bucket in front of the port, where one stands there.
fn bursts() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), (1u64..10_000).prop_map(Some)]
}

/// Panics unless arrivals = sent + dropped + held, by what came out, by the counters and by what the discipline says.
fn assert_conserved(driver: &Driver) {
    let (port, log) = (&driver.port, &driver.log);
    let count = |which: fn(&Fate) -> bool| log.iter().filter(|(_, fate)| which(fate)).count() as u64;
    let sent = count(|fate| matches!(fate, Fate::Sent(_)));
    let dropped = count(|fate| matches!(fate, Fate::Dropped(..)));
    let started = count(|fate| matches!(fate, Fate::Started(_)));
    let [queued, ring, sending] = port.holds();
    assert_eq!(driver.arrived, sent + dropped + queued + ring + sending);
    assert_eq!(started, sent + ring + sending);
    assert_eq!((queued, queued), (port.queue().packets(), port.len()));
    let counters = &port.counters;
    assert_eq!([counters.arrivals, counters.departures, counters.dropped()], [driver.arrived, sent, dropped]);
}

impl Driver {
    fn step(&mut self, step: &Step) {
        match *step {
            Step::Arrive { flow, bytes, ecn, sort } => {
                self.submit(TestPacket {
                    flow,
                    bytes,
                    ecn,
                    class: sort / 2,
                    priority: sort % 2,
                    ..TestPacket::default()
                });
            }
            Step::Wait(span) => self.wait(Span(span)),
            Step::SetRate(at) => self.set_rate(Rate(RATES[at])),
            Step::SetLimit(limit) => {
                let limit = Raw::Integer(limit as i64);
                let _ = self.call(|port, now, mut out| port.set("limit", &limit, now, &mut out));
            }
            Step::Replace(at) => {
                let queue = queue(all()[at].table.about.name, 20);
                self.call(|port, now, mut out| drop(port.replace(queue, now, &mut out)));
            }
        }
        // What is due now comes before the next step.
        self.until(self.now.0);
    }
}

fn play(driver: &mut Driver, steps: &[Step]) {
    for step in steps {
        driver.step(step);
        assert_conserved(driver);
    }
}

/// Lets everything go that can.
fn drain(driver: &mut Driver) {
    if driver.port.rate() == Rate(0) {
        driver.set_rate(Rate(1_000_000));
    }
    while driver.port.holds() != [0; 3] && driver.port.next_deadline() < Time::NEVER {
        driver.until(driver.port.next_deadline().0);
    }
    assert_conserved(driver);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each packet is dropped, or starts and then is sent, once; nothing is left when all can go; in order of time; and the same
    /// again with the same seed.
    #[test]
    fn packets_are_conserved(
        steps in steps(), tx_ring in rings(), framing in 0u32..100, burst in bursts(), seed: u64,
    ) {
        for entry in all() {
            let name = entry.table.about.name;
            let interface = burst.map(|_| Rate(10_000_000));
            let config = PortConfig {
                tx_ring, interface, framing: framing.into(), name: name.into(), ..PortConfig::new(Rate(1_000_000))
            };
            let run = || {
                let queue = queue(name, 20);
                let queue = match burst {
                    Some(burst) => Box::new(TokenBucket::new(queue, Rate(1_000_000), framing.into(), burst)),
                    None => queue,
                };
                let mut driver: Driver = Driver::new(config.clone(), queue, seed);
                play(&mut driver, &steps);
                drain(&mut driver);
                driver
            };
            let driver = run();
            prop_assert_eq!(driver.port.holds(), [0; 3], "{} keeps packets back", name);
            let (mut started, mut ended) = (vec![0; driver.arrived as usize], vec![0; driver.arrived as usize]);
            for (_, fate) in &driver.log {
                match *fate {
                    Fate::Started(serial) => started[serial as usize] += 1,
                    Fate::Sent(serial) => {
                        prop_assert_eq!(started[serial as usize], 1);
                        ended[serial as usize] += 1;
                    }
                    Fate::Dropped(serial, _) => {
                        prop_assert_eq!(started[serial as usize], 0);
                        ended[serial as usize] += 1;
                    }
                    Fate::Quenched(_) => {}
                }
            }
            prop_assert!(ended.iter().all(|n| *n == 1));
            prop_assert!(driver.log.is_sorted_by_key(|(time, _)| *time));
            // The transmitter and the ring are first in, first out.
            let order = |which: fn(&Fate) -> Option<u64>| driver.log.iter().filter_map(move |(_, fate)| which(fate));
            let started = order(|fate| if let Fate::Started(serial) = fate { Some(*serial) } else { None });
            let sent = order(|fate| if let Fate::Sent(serial) = fate { Some(*serial) } else { None });
            prop_assert!(started.eq(sent));
            prop_assert_eq!(&driver.log, &run().log);
        }
    }

    /// A ring without room is none.
    #[test]
    fn a_ring_of_zero_changes_nothing(steps in steps(), seed: u64) {
        for entry in all() {
            let name = entry.table.about.name;
            let run = |tx_ring| {
                let config = PortConfig { tx_ring, ..PortConfig::new(Rate(1_000_000)) };
                let mut driver: Driver = Driver::new(config, queue(name, 20), seed);
                play(&mut driver, &steps);
                driver.log
            };
            prop_assert_eq!(run(None), run(Some(Size::Packets(0))), "{}", name);
        }
    }

    /// Under a first-in-first-out queue, packets leave when the rate, however it changes, has sent their bits and those
    /// before them: to the nanosecond, and in sum.
    #[test]
    fn the_transmitter_sends_what_the_rate_allows(
        changes in proptest::collection::vec((0u64..3_000_000, 0..RATES.len()), 1..40),
        lengths in proptest::collection::vec(1u64..3000, 1..20),
    ) {
        let mut driver: Driver = Driver::new(PortConfig::new(Rate(1_000_000)), queue("drop_tail", 100), 1);
        lengths.iter().for_each(|bytes| driver.arrive(0, *bytes));
        // Bits times 10⁹ that could be sent until the times of the changes, and the rates from there on.
        let (mut spans, mut rate) = (Vec::new(), 1_000_000);
        for (span, at) in changes {
            driver.wait(Span(span));
            spans.push((u128::from(span), rate));
            rate = RATES[at];
            driver.set_rate(Rate(rate));
        }
        let last = rate.max(1);
        driver.set_rate(Rate(last));
        spans.push((u128::MAX >> 64, last));
        drain(&mut driver);
        let mut work = 0;
        for ((time, _), bytes) in driver.sent().into_iter().zip(&lengths) {
            work += u128::from(*bytes) * 8_000_000_000;
            let (mut left, mut due) = (work, 0);
            for &(span, rate) in &spans {
                let could = span * u128::from(rate);
                if rate > 0 && left < could {
                    due += left / u128::from(rate);
                    break;
                }
                left -= could.min(left);
                due += span;
            }
            prop_assert_eq!(u128::from(time), due);
        }
        prop_assert_eq!(driver.sent().len(), lengths.len());
    }

    /// The counters of a run in two windows are those of a run in one, but for marks and drops of packets from before.
    #[test]
    fn windows_add_up(first in traffic(), second in traffic(), seed: u64) {
        for entry in all() {
            let name = entry.table.about.name;
            let run = |windows: bool| {
                let mut driver: Driver = Driver::new(PortConfig::new(Rate(1_000_000)), queue(name, 20), seed);
                first.iter().for_each(|step| driver.step(step));
                let before = driver.port.counters_until(driver.now);
                if windows {
                    driver.port.counters.begin_window(driver.now);
                }
                second.iter().for_each(|step| driver.step(step));
                (before, driver.port.counters_until(driver.now))
            };
            let ((before, after), (_, whole)) = (run(true), run(false));
            prop_assert_eq!(before.arrivals + after.arrivals, whole.arrivals);
            prop_assert_eq!(before.found + after.found, whole.found);
            prop_assert_eq!(before.departures + after.departures, whole.departures);
            prop_assert_eq!(before.departed_bytes + after.departed_bytes, whole.departed_bytes);
            prop_assert_eq!(before.delay_sum + after.delay_sum, whole.delay_sum);
            prop_assert_eq!(before.queueing + after.queueing, whole.queueing, "{}", name);
            prop_assert!(before.marked + after.marked <= whole.marked);
            prop_assert!(before.dropped() + after.dropped() <= whole.dropped());
        }
    }
}
