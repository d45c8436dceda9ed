//! One enqueue and one dequeue of each discipline through the trait object, at a steady occupancy of 40 packets.
//!
//! The queue is filled with 33 flows in turn; RED and CHOKe hold the average between their thresholds (30 and 60).

use divan::Bencher;
use sluicegate_aqm::rig::TestPacket;
use sluicegate_aqm::{Ctx, Discipline, all, build};
use sluicegate_base::{Ecn, Link, Rate, Size, Span, Stream, Time, Value};

fn main() {
    divan::main();
}

fn names() -> impl Iterator<Item = &'static str> {
    all().iter().map(|entry| entry.table.about.name)
}

#[divan::bench(args = names())]
fn enqueue_dequeue(bencher: Bencher, name: &str) {
    let link = Link { rate: Rate(1_000_000), packet: 1000 };
    let fields = all().iter().find(|entry| entry.table.about.name == name).expect("a known name").table.fields;
    let mut given = |at: usize| match fields[at].name {
        "min_th" => Some(Value::Size(Size::Packets(30))),
        "max_th" => Some(Value::Size(Size::Packets(60))),
        _ => None,
    };
    let mut discipline = build::<TestPacket>(name, &mut given, &link).expect("a known name").expect("valid parameters");
    let (mut rng, mut lost, mut now, mut serial) = (Stream::new(1, "bench"), Vec::new(), Time::ZERO, 0u64);
    let mut turn = move |discipline: &mut Box<dyn Discipline<TestPacket>>| {
        now += Span(8_000_000);
        serial += 1;
        let packet = TestPacket { flow: serial % 33, bytes: 1000, serial, ecn: Ecn::NotCapable };
        discipline.enqueue(packet, &mut Ctx::new(now, &mut rng, &mut lost));
        lost.clear();
        let departs = discipline.packets() > 40;
        departs.then(|| discipline.dequeue(&mut Ctx::new(now, &mut rng, &mut lost)))
    };
    for _ in 0..10_000 {
        turn(&mut discipline);
    }
    bencher.bench_local(move || turn(&mut discipline));
}
