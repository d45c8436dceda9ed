//! A transfer of 2000 segments between two ends under each congestion control: without losses, and with one of 100 data
//! segments lost at random. What is measured is the hosts' own work: the path is a queue for each way.
//!
//! The path sends a data segment each 0.8 ms, whatever its length, delays it by 50 ms, and keeps the order; the receiver's
//! window of 100 packets bounds what is under way.

use divan::Bencher;
use divan::counter::ItemsCount;
use sluicegate_base::{Size, Span, Stream, Time};
use sluicegate_tcp::host::VegasRules;
use sluicegate_tcp::{Algorithm, Connection, Host, ProfileName, Segment, TcpParams};
use std::collections::VecDeque;
use std::sync::Arc;

const SEGMENTS: u64 = 2000;
const DELAY: Span = Span::from_millis(50);
const GAP: Span = Span(800_000);

fn main() {
    divan::main();
}

/// The hosts of a paper that have it, or else Linux's.
fn host(algorithm: &str) -> Host {
    let algorithm = Algorithm::ALL[Algorithm::WORDS.iter().position(|word| *word == algorithm).expect("one of them")];
    let of_papers = algorithm.runs_on(ProfileName::Ns2);
    host_of(algorithm, if of_papers { ProfileName::Ns2 } else { ProfileName::Linux })
}

fn host_of(algorithm: Algorithm, profile: ProfileName) -> Host {
    let window = Some(Size::Packets(100));
    Host::new(&TcpParams { algorithm: Some(algorithm), window, ..TcpParams::of(profile) })
}

/// What is under way in one direction: when it arrives, in order.
type Wire = VecDeque<(Time, Segment)>;

/// Moves all data from one end to the other; gives how many segments that took.
fn transfer(host: &Host, loss: f64) -> u64 {
    let host = Arc::new(host.clone());
    let ends = &mut [Connection::opener(&host, Span::ZERO), Connection::listener(&host, Span::ZERO)];
    let wires: &mut [Wire; 2] = &mut Default::default();
    let (mut rng, mut now, mut free) = (Stream::new(1, "bench"), Time::ZERO, Time::ZERO);
    ends[0].write(SEGMENTS * u64::from(host.mss));
    while !ends[0].done() {
        while let Some(segment) = ends[0].poll(now) {
            free = free.max(now) + GAP;
            if segment.len == 0 || rng.uniform() >= loss {
                wires[0].push_back((free + DELAY, segment));
            }
        }
        while let Some(segment) = ends[1].poll(now) {
            wires[1].push_back((now + DELAY, segment));
        }
        let arrival = |wire: &Wire| wire.front().map_or(Time::NEVER, |(at, _)| *at);
        let timer = ends.iter().filter_map(Connection::next_timer).min().unwrap_or(Time::NEVER);
        let way = usize::from(arrival(&wires[1]) < arrival(&wires[0]));
        if arrival(&wires[way]) <= timer {
            let (at, segment) = wires[way].pop_front().expect("one is under way, or a timer is set");
            now = at;
            ends[1 - way].on_segment(&segment, false, now);
        } else {
            now = timer;
            ends.iter_mut().for_each(|end| end.on_timer(now));
        }
    }
    assert_eq!(ends[1].received(), SEGMENTS * u64::from(host.mss));
    ends[0].counters().segments
}

fn bench(bencher: Bencher, host: &Host, loss: f64) {
    let segments = transfer(host, loss);
    bencher.counter(ItemsCount::new(segments)).bench_local(|| transfer(divan::black_box(host), loss));
}

#[divan::bench(args = Algorithm::WORDS)]
fn lossless(bencher: Bencher, algorithm: &str) {
    bench(bencher, &host(algorithm), 0.0);
}

#[divan::bench(args = Algorithm::WORDS)]
fn lossy(bencher: Bencher, algorithm: &str) {
    bench(bencher, &host(algorithm), 0.01);
}

/// What the papers' hosts and Linux's both have.
#[divan::bench(args = [Algorithm::Reno])]
fn linux_lossless(bencher: Bencher, algorithm: Algorithm) {
    bench(bencher, &host_of(algorithm, ProfileName::Linux), 0.0);
}

#[divan::bench(args = [Algorithm::Reno])]
fn linux_lossy(bencher: Bencher, algorithm: Algorithm) {
    bench(bencher, &host_of(algorithm, ProfileName::Linux), 0.01);
}

/// The profile's Vegas is ns-2's.
#[divan::bench(args = [0.0, 0.01])]
fn vegas_of_the_paper(bencher: Bencher, loss: f64) {
    bench(bencher, &Host { vegas_rules: VegasRules::Paper, ..host("vegas") }, loss);
}
