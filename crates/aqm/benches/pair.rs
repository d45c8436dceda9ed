//! One enqueue and one dequeue of a discipline through the trait object, many times: `pair NAME COUNT`, or the names alone
//! without arguments. A name may have words for some of the discipline's keys behind it, `red:law=figure17`, or a number of
//! flows, `fq@1000`. The queue holds 40 packets of 33 flows in turn; RED and CHOKe keep their average between their
//! thresholds of 30 and 60. With a number of flows it holds a packet of each, and at least 40, where the discipline lets it:
//! `limit` has room for twice as many, SFQ and CSFQ for a queue or a state of each (SFQ for 65,408), the others keep their
//! defaults. SFB stops at 400 packets, 25 in each of 16 bins. `tools/bench/bench.py` measures the time and the instructions
//! of the process and takes those of a smaller count away.

use sluicegate_aqm::rig::TestPacket;
use sluicegate_aqm::{Ctx, all, build};
use sluicegate_base::params::Kind;
use sluicegate_base::{Ecn, Link, Rate, Size, Span, Stream, Time, Value};
use std::hint::black_box;

/// Forms of a discipline that are measured beside the one with its defaults.
const FORMS: [&str; 3] = ["red:law=figure2", "red:law=figure17", "red:law=figure17:arithmetic=shifts"];

/// Disciplines with a state for flows or for hashes of them, measured with these numbers of active flows too.
const PER_FLOW: [&str; 11] = ["fred", "sred", "sfb", "red_pd", "csfq", "fq", "sfq", "fq_codel", "dcn", "afd", "rio_ps"];
const FLOWS: [u64; 3] = [1, 1000, 100_000];

fn list() {
    all().iter().map(|entry| entry.table.about.name).chain(FORMS).for_each(|name| println!("{name}"));
    for name in PER_FLOW {
        FLOWS.iter().for_each(|flows| println!("{name}@{flows}"));
    }
}

fn main() {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let (Some(name), Some(count)) = (arguments.next(), arguments.next()) else {
        return list();
    };
    let (name, flows) = name
        .split_once('@')
        .map_or((name.as_str(), None), |(name, flows)| (name, Some(flows.parse::<u64>().expect("a number of flows"))));
    let mut parts = name.split(':');
    let name = parts.next().expect("a name");
    let words: Vec<(&str, &str)> = parts.map(|part| part.split_once('=').expect("KEY=WORD")).collect();
    let count: u64 = count.parse().expect("a whole number");
    let link = Link { rate: Rate(1_000_000), packet: 1000 };
    let fields = all().iter().find(|entry| entry.table.about.name == name).expect("a known name").table.fields;
    let mut given = |at: usize| match fields[at].name {
        "min_th" => Some(Value::Size(Size::Packets(30))),
        "max_th" => Some(Value::Size(Size::Packets(60))),
        "limit" => flows.map(|flows| Value::Size(Size::Packets(2 * flows.max(40)))),
        "flows" if name == "sfq" => flows.map(|_| Value::Integer(65_408)),
        "flows" if name == "csfq" => flows.map(|flows| Value::Integer(flows.max(65_536))),
        "divisor" => flows.map(|_| Value::Integer(65_536)),
        key => match fields[at].kind {
            Kind::Choice(known) => {
                let (_, given) = words.iter().find(|(name, _)| *name == key)?;
                Some(Value::Choice(known.iter().find(|word| *word == given).expect("a known word")))
            }
            _ => None,
        },
    };
    let mut discipline = build::<TestPacket>(name, &mut given, &link).expect("a known name").expect("valid parameters");
    let (mut rng, mut lost, mut now) = (Stream::new(1, "bench"), Vec::new(), Time::ZERO);
    let (held, last) = (flows.unwrap_or(0).max(40), flows.unwrap_or(33) - 1);
    let mut flow = 0;
    for serial in 0..count {
        now += Span(8_000_000);
        flow = if flow >= last { 0 } else { flow + 1 };
        if discipline.next_wakeup().is_some_and(|at| at <= now) {
            discipline.wake(&mut Ctx::new(now, &mut rng, &mut lost));
        }
        let packet = TestPacket { flow, bytes: 1000, serial, ecn: Ecn::NotCapable, ..TestPacket::default() };
        discipline.enqueue(packet, &mut Ctx::new(now, &mut rng, &mut lost));
        lost.clear();
        if discipline.packets() > held {
            black_box(discipline.dequeue(&mut Ctx::new(now, &mut rng, &mut lost)));
        }
    }
}
