//! Packets per second through a port under each discipline: 40 flows at 0.8 to 1.2 times the link's rate, queues of up to 300
//! packets, thresholds of 30 and 60.
//!
//! The items counted are arrivals; most of them also depart.

use divan::Bencher;
use divan::counter::ItemsCount;
use sluicegate_aqm::harness::TestPacket;
use sluicegate_aqm::{Discipline, all, build};
use sluicegate_base::{Link, Rate, Size, Span, Stream, Time, Value};
use sluicegate_port::{Outcome, Port, PortConfig, Transit};
use std::hint::black_box;

type Sample = Transit<TestPacket>;

const LINK: Link = Link { rate: Rate(8_000_000), packet: 1000 };
const PACKETS: u64 = 100_000;

fn main() {
    divan::main();
}

fn names() -> impl Iterator<Item = &'static str> {
    all().iter().map(|entry| entry.table.about.name)
}

fn queue(name: &str) -> Box<dyn Discipline<Sample>> {
    let entry = all().iter().find(|entry| entry.table.about.name == name).expect("a known name");
    let mut given = |at: usize| match entry.table.fields[at].name {
        "min_th" => Some(Value::Size(Size::Packets(30))),
        "max_th" => Some(Value::Size(Size::Packets(60))),
        "limit" => Some(Value::Size(Size::Packets(300))),
        _ => None,
    };
    build(name, &mut given, &LINK).expect("a known name").expect("good values")
}

#[divan::bench(args = names(), sample_count = 10)]
fn arrivals(bencher: Bencher<'_, '_>, name: &str) {
    let port = || Port::new(PortConfig::new(LINK.rate), queue(name), Stream::new(1, "queue"));
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(port).bench_values(run);
}

fn run(mut port: Port<Sample>) -> u64 {
    let (mut rng, mut at, mut waited) = (Stream::new(2, "arrivals"), Time::ZERO, 0);
    for serial in 0..PACKETS {
        // A millisecond is a packet's time; the load changes every thousand packets.
        let gap = if serial / 1000 % 2 == 0 { 1_250_000 } else { 833_333 };
        at += Span(rng.below(2 * gap));
        while port.next_deadline() <= at {
            let now = port.next_deadline();
            port.advance(now, &mut |outcome: Outcome<'_, Sample>| count(&outcome, now, &mut waited));
        }
        let packet = TestPacket { flow: serial % 40, bytes: 1000, serial, ..TestPacket::default() };
        port.arrive(Transit::new(packet, 0, at), at, &mut |outcome: Outcome<'_, Sample>| {
            count(&outcome, at, &mut waited)
        });
    }
    black_box(waited)
}

#[inline]
fn count(outcome: &Outcome<'_, Sample>, now: Time, waited: &mut u64) {
    if let Outcome::Started(packet) = outcome {
        *waited += now.since(packet.arrived).0;
    }
}
