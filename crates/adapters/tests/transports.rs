//! Other people's transports over our links: they arrive, share as their congestion control says, and repeat.

#[expect(dead_code)] // its main function, which writes more of the same table
#[path = "../examples/quic_beside_tcp.rs"]
mod example;

use sluicegate_adapters::beside::{Part, pairs, parts, rows, run, run_for};
use sluicegate_adapters::quic::{self, Control};
use sluicegate_adapters::small_tcp;
use sluicegate_adapters::sockets::drive;
use sluicegate_base::{Rate, Span, Stream};
use sluicegate_netsim::counters::PacketRow;
use sluicegate_netsim::{EndpointPair, NetworkBuilder, Outcome, Sim};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The page with the table of the example.
const PAGE: &str = include_str!("../../../docs/own-endpoint.md");

/// The pair and Linux's CUBIC, which have their rows in the page.
fn beside(discipline: &str, pair: EndpointPair) -> [Part; 2] {
    let parts: [Part; 2] = parts(&run(discipline, pair, 1).unwrap()).try_into().unwrap();
    let rows = rows(discipline, &parts);
    assert!(PAGE.contains(&rows), "docs/own-endpoint.md has not:\n{rows}");
    parts
}

/// CAKE serves flows in turn, so that each has half, less where a sender leaves its queue empty for a while after a cut (CUBIC
/// goes down to 0.7 of its window, and with as short a queue as here loses up to a tenth of its time's capacity by that).
#[test]
fn under_cake_each_has_its_half_in_the_example_and_on_its_page() {
    let mut said = Vec::new();
    example::table(&["cake"], &mut said).unwrap();
    let said = String::from_utf8(said).unwrap();
    let (head, rows) = said.split_once('\n').unwrap();
    assert!(PAGE.contains(head) && PAGE.contains(rows), "docs/own-endpoint.md has not:\n{said}");
    let shares: Vec<f64> = rows.lines().map(|row| row.split_whitespace().nth(2).unwrap().parse().unwrap()).collect();
    assert!(shares.len() == 6 && shares.iter().all(|share| (45.0..55.0).contains(share)), "{said}");
}

/// At one queue for all, two flows of the same law and round trip have equal parts in the long run. A minute has some ten cuts of
/// each, whose number varies by a third (1/√10), and so does the share: two of these are the bound. Queueing is what the
/// discipline aims at: 5 ms for CoDel, 15 ms for DualPI2, and not twice that.
#[test]
fn cubic_shares_with_cubic_and_the_queue_keeps_to_its_target() {
    let received = quic::Received::default();
    for (discipline, target) in [("codel", 5.0), ("dualpi2", 15.0)] {
        for pair in [quic::download(Control::Cubic, u64::MAX, &received), small_tcp::download(u64::MAX, &received)] {
            let [own, tcp] = beside(discipline, pair);
            let ratio = own.share / tcp.share;
            assert!((0.33..3.0).contains(&ratio), "{own:?} {tcp:?}");
            for part in [own, tcp] {
                let queueing = part.delay_ms - 20.0;
                assert!(queueing > 0.2 * target && queueing < 2.0 * target, "{part:?}");
                assert!(part.loss < 1.0, "CUBIC at 10 Mbit/s and 40 ms needs less: {part:?}");
            }
        }
    }
}

/// quinn's BBR is of the first version, which does not heed losses: where one queue drops from both, CUBIC yields to it.
#[test]
fn bbr_takes_a_queue_that_only_drops() {
    let received = quic::Received::default();
    for discipline in ["codel", "dualpi2"] {
        let [own, tcp] = beside(discipline, quic::download(Control::Bbr, u64::MAX, &received));
        assert!(own.share > 0.9 && own.loss > 5.0 && tcp.loss > 5.0, "{own:?} {tcp:?}");
    }
}

/// The same ends without the simulator: over the machine's own loopback, by the clock.
#[test]
fn a_download_arrives_over_sockets() {
    let (received, bytes) = (quic::Received::default(), 3_000_000);
    let sockets = [0; 2].map(|_| UdpSocket::bind(("127.0.0.1", 0)).unwrap());
    let [server, client] = sockets;
    let (address, over) = (server.local_addr().unwrap(), AtomicBool::new(false));
    let seed = |name| Stream::new(1, name);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut end = quic::End::server(Control::Cubic, bytes, seed("server")).unwrap();
            drive(&mut end, &server, None, || over.load(Ordering::Relaxed)).unwrap();
        });
        let mut end = quic::End::client(Control::Cubic, seed("client"), &received).unwrap();
        let begun = Instant::now();
        // Mostly it takes a tenth of a second; on a machine that does much else it may take long.
        let done = || received.load(Ordering::Relaxed) >= bytes || begun.elapsed() > Duration::from_secs(60);
        drive(&mut end, &client, Some(address), done).unwrap();
        over.store(true, Ordering::Relaxed);
    });
    assert_eq!(received.load(Ordering::Relaxed), bytes);
}

/// What every packet did, and when.
fn packets(outcome: &Outcome) -> String {
    let row = |row: &PacketRow| format!("{:?}", (row.time, row.flow, row.to, row.event, row.bytes, row.packets));
    outcome.packets.iter().map(row).collect()
}

/// TLS draws its keys from the system: no length, and so no time, depends on them.
#[test]
fn the_same_seed_gives_the_same_packets() {
    for pair in pairs() {
        let once = |seed| packets(&run_for(6, "dualpi2", pair.clone(), seed).unwrap());
        assert!(once(1) == once(1), "{pair:?}");
    }
}

#[test]
fn a_download_arrives_whole_through_a_small_buffer() {
    let (received, bytes) = (quic::Received::default(), 3_000_000);
    for pair in [
        quic::download(Control::Cubic, bytes, &received),
        quic::download(Control::Bbr, bytes, &received),
        small_tcp::download(bytes, &received),
    ] {
        let mut network = NetworkBuilder::new();
        let link =
            network.link("out", Rate(10_000_000), Span::from_millis(10)).discipline("drop_tail", &[("limit", &20)]);
        let link = link.id();
        let back = network.line("back", Rate(10_000_000), Span::from_millis(10)).id();
        network.flow(pair).path([link]).return_path([back]);
        let mut sim = Sim::new(network.duration(Span::from_secs(10)).build().unwrap());
        while sim.advance(100_000) {}
        let outcome = sim.finish();
        assert_eq!(received.load(Ordering::Relaxed), bytes, "{}", outcome.flows[0].kind);
        assert!(outcome.flows[0].totals.drops.iter().sum::<u64>() > 0, "so small that some are lost");
    }
}
