//! Packets per second over a path: a link under CoDel at 0.8 to 1.2 times its rate, and a delay with jitter and losses.
//!
//! The items counted are packets sent.

use divan::Bencher;
use divan::counter::ItemsCount;
use sluicegate_aqm::harness::TestPacket;
use sluicegate_base::{Link, Rate, Span, Stream, Time};
use sluicegate_port::{LinkConfig, Loss, Path, PortConfig, WirePlan};
use std::hint::black_box;

const LINK: Link = Link { rate: Rate(8_000_000), packet: 1000 };
const PACKETS: u64 = 100_000;

fn main() {
    divan::main();
}

fn path(wires: bool) -> Path<TestPacket> {
    let queue = sluicegate_aqm::build("codel", &mut |_| None, &LINK).expect("a known name").expect("good values");
    let (port, delay) = (PortConfig::new(LINK.rate), Span::from_millis(10));
    let path = Path::new(1).link(LinkConfig { port, queue, delay, wire: WirePlan::default() }).expect("a good wire");
    if !wires {
        return path;
    }
    let loss = Some(Loss { good: 0.01, ..Loss::default() });
    let wire = WirePlan { loss, jitter: Span::from_millis(3), reordering: true, ..WirePlan::default() };
    path.delay(delay, &wire).expect("a good wire")
}

#[divan::bench(args = [false, true], sample_count = 10)]
fn packets(bencher: Bencher<'_, '_>, wires: bool) {
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(|| path(wires)).bench_values(run);
}

fn run(mut path: Path<TestPacket>) -> u64 {
    let (mut rng, mut at, mut ended) = (Stream::new(2, "arrivals"), Time::ZERO, 0);
    for serial in 0..PACKETS {
        // A millisecond is a packet's time; the load changes every thousand packets.
        let gap = if serial / 1000 % 2 == 0 { 1_250_000 } else { 833_333 };
        at += Span(rng.below(2 * gap));
        while let Some(now) = path.next_deadline().filter(|now| *now <= at) {
            ended += path.advance(now).count() as u64;
        }
        path.send(TestPacket { flow: serial % 40, bytes: 1000, serial, ..TestPacket::default() }, at);
    }
    black_box(ended)
}
