//! The simulator against closed forms of queueing theory, and against conservation.

use sluicegate_aqm::all;
use sluicegate_base::{Rate, Size, Span, Time};
use sluicegate_netsim::counters::PacketFate;
use sluicegate_netsim::source::{EcnField, PoissonParams, Sizes, UdpParams};
use sluicegate_netsim::{HopId, NetworkBuilder, Outcome, Plan, Sim};
use sluicegate_tcp::{Host, ProfileName, TcpParams};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Adds a link of 5 ms with room for `limit` packets.
fn link(
    network: &mut NetworkBuilder,
    name: &str,
    discipline: &'static str,
    rate: u64,
    limit: u64,
    monitored: bool,
) -> HopId {
    let table = all().iter().find(|entry| entry.table.about.name == discipline).unwrap().table;
    // With drop or headdrop fq and sfq lose packets that have long been queued.
    let given: [(&str, &dyn Display); 3] = [("limit", &limit), ("drop", &"head"), ("headdrop", &true)];
    let given: Vec<_> = given.into_iter().filter(|(name, _)| table.position(name).is_some()).collect();
    let link = network.link(name, Rate(rate), Span::from_millis(5)).discipline(discipline, &given);
    link.monitored(monitored).id()
}

/// A network with a link to queue at, that of [`link`].
fn one_link(discipline: &'static str, limit: u64) -> (NetworkBuilder, HopId) {
    let mut network = NetworkBuilder::new();
    let out = link(&mut network, "out", discipline, 1_000_000, limit, true);
    (network, out)
}

fn udp(rate: u64, jitter: f64) -> UdpParams {
    UdpParams { ecn: EcnField::default(), rate: Rate(rate), packet_size: Size::Bytes(1000), jitter }
}

fn finished(mut sim: Sim) -> Outcome {
    while sim.advance(1 << 20) {}
    sim.finish()
}

/// One Poisson flow on a 1 Mbit/s link for 8,000 s, a packet of 1000 bytes being served in 8 ms.
fn poisson(load: f64, sizes: Sizes, limit: u64, seed: u64) -> Outcome {
    let (mut network, server) = one_link("drop_tail", limit);
    let rate = Rate((load * 1e6) as u64);
    network
        .flow(PoissonParams { ecn: EcnField::default(), rate, packet_size: Size::Bytes(1000), sizes })
        .path([server]);
    let network = network.duration(Span::from_secs(8_000)).warmup(Span::from_secs(100)).seed(seed);
    finished(Sim::new(network.sample(Span::from_secs(1000)).build().unwrap()))
}

/// The mean over seeds, and 4.6 standard errors of it.
fn over_seeds(measure: impl Fn(u64) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (1..=5).map(measure).collect();
    let mean = values.iter().sum::<f64>() / 5.0;
    let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 4.0;
    // Student's t with 4 degrees of freedom: 4.6 standard errors hold 99 %.
    (mean, 4.6 * (variance / 5.0).sqrt())
}

#[test]
fn waiting_in_m_d_1_is_pollaczek_khinchine() {
    for load in [0.5, 0.8] {
        let (wait, error) = over_seeds(|seed| {
            let totals = &poisson(load, Sizes::Fixed, 1_000_000, seed).links[0].counters;
            totals.delay_sum as f64 / totals.departures as f64 / 1e9
        });
        let expected = load / (2.0 * (1.0 - load)) * 0.008;
        assert!((wait - expected).abs() < error && error < 0.05 * expected, "{load}: {wait} ± {error}, {expected}");
    }
}

#[test]
fn loss_in_m_m_1_k_is_the_textbooks() {
    // K counts the packet in service: the queue's limit is K − 1.
    let (load, k) = (0.9f64, 10);
    let (loss, error) = over_seeds(|seed| {
        let totals = &poisson(load, Sizes::Exponential, k - 1, seed).links[0].counters;
        totals.drops[0] as f64 / totals.arrivals as f64
    });
    let power = |n: u64| (0..n).fold(1.0, |product, _| product * load);
    let expected = (1.0 - load) * power(k) / (1.0 - power(k + 1));
    assert!((loss - expected).abs() < error && error < 0.05 * expected, "{loss} ± {error}, {expected}");
}

#[test]
fn quantiles_of_waiting_in_m_m_1_are_the_textbooks() {
    // P(W > t) = ρ exp(−(1 − ρ) t / s), with s the mean service time of 8 ms.
    let load = 0.8f64;
    let runs: Vec<Outcome> = (1..=5).map(|seed| poisson(load, Sizes::Exponential, 1_000_000, seed)).collect();
    for q in [0.5, 0.99] {
        let (wait, error) = over_seeds(|seed| runs[seed as usize - 1].links[0].delays.quantile(q) / 1e9);
        let expected = libm::log(load / (1.0 - q)) / (1.0 - load) * 0.008;
        // The histogram's two digits add up to one per cent.
        assert!(
            (wait - expected).abs() < error + 0.01 * expected && error < 0.1 * expected,
            "{wait} ± {error}, {expected}"
        );
    }
}

#[test]
fn the_mean_queue_obeys_littles_law() {
    let outcome = poisson(0.8, Sizes::Fixed, 1_000_000, 1);
    let totals = &outcome.links[0].counters;
    let mean_queue = totals.queueing.as_secs() / outcome.window.as_secs();
    let by_little = totals.delay_sum as f64 / 1e9 / outcome.window.as_secs();
    assert!((mean_queue - by_little).abs() < 1e-3 * mean_queue, "{mean_queue} and {by_little}");
}

fn mixed(discipline: &'static str, seed: u64, warmup: u64) -> Sim {
    let (mut network, out) = one_link(discipline, 60);
    let back = link(&mut network, "back", "drop_tail", 10_000_000, 1000, false);
    let host = Host::new(&TcpParams::of(ProfileName::Ns2));
    for k in 0..8 {
        network.flow(host.clone()).path([out]).return_path([back]).start(Span::from_millis(100 * k));
    }
    network.flow(udp(600_000, 0.5)).path([out]);
    let plan = network.duration(Span::from_secs(60)).seed(seed).series(true).build().unwrap();
    // The measured window may begin after the end.
    Sim::new(Plan { warmup: Span::from_secs(warmup), ..plan })
}

#[test]
fn packets_are_conserved_on_every_link() {
    for entry in all() {
        let mut sim = mixed(entry.table.about.name, 3, 61);
        while sim.advance(1000) {
            for link in sim.links() {
                let [queued, _, sending] = link.port.holds();
                let totals = &link.port.counters;
                let accounted = totals.departures + totals.drops.iter().sum::<u64>() + queued + sending;
                assert_eq!(totals.arrivals, accounted, "{} under {}", link.name, link.discipline);
            }
        }
        assert!(sim.links()[0].port.counters.departures > 5000);
    }
}

#[test]
fn a_seed_gives_the_same_run_in_any_slices() {
    let run = |slice, seed| {
        let mut sim = mixed("choke", seed, 10);
        while sim.advance(slice) {}
        format!("{:?}", sim.finish())
    };
    assert_eq!(run(1, 7), run(1 << 20, 7));
    assert_ne!(run(1 << 20, 7), run(1 << 20, 8));
}

#[test]
fn flows_and_link_tell_the_same_story() {
    let mut sim = mixed("red", 5, 10);
    while sim.advance(1 << 20) {}
    let outcome = sim.finish();
    let totals = &outcome.links[0].counters;
    let sum =
        |measure: fn(&sluicegate_netsim::counters::FlowRow) -> u64| outcome.flows.iter().map(measure).sum::<u64>();
    assert_eq!(sum(|flow| flow.totals.arrivals), totals.arrivals);
    assert_eq!(sum(|flow| flow.totals.drops.iter().sum()), totals.drops.iter().sum::<u64>());
    assert_eq!(outcome.flows.iter().map(|flow| flow.totals.queueing.0).sum::<u64>(), totals.queueing.0);
    let utilisation = totals.departed_bytes as f64 * 8.0 / 1e6 / outcome.window.as_secs();
    assert!(utilisation > 0.9 && utilisation <= 1.0001, "{utilisation}");
    assert!(outcome.flows.iter().all(|flow| flow.totals.delivered[0] > 0));
}

/// What is lost in the measured window may have arrived before it, and was counted with the losses
/// of the window's arrivals: "loss 107.8 %".
#[test]
fn arrivals_of_the_measured_window_are_sent_or_lost_and_nothing_else_is_counted_as_lost() {
    let mut earlier = Vec::new();
    for entry in all() {
        let name = entry.table.about.name;
        // Samples are taken then, and departures, every 8 ms, fall between.
        for (seed, begins) in [(1, 5_001), (2, 5_003), (3, 5_042)] {
            // UDP of 4 Mbit/s in all on 1 Mbit/s, until shortly after the window begins; then the queue runs empty.
            let (mut network, out) = one_link(name, 60);
            for k in 0..4 {
                let flow = network.flow(udp(1_000_000, 0.5)).path([out]).start(Span::from_millis(k));
                flow.stop(Span::from_millis(5_100));
            }
            let warmup = Span::from_millis(begins);
            let network = network.duration(Span::from_secs(7)).warmup(warmup).sample(Span::from_millis(1)).seed(seed);
            let mut sim = Sim::new(network.series(true).packets(1_000_000).build().unwrap());
            // The path has no line before the link: a packet arrives when it is sent.
            let (counted, begin) = (Arc::new(AtomicU64::new(0)), Time::ZERO + warmup);
            let sent = Arc::clone(&counted);
            assert!(sim.observe(
                "out",
                Box::new(move |_, packet, _| {
                    sent.fetch_add(u64::from(packet.sent >= begin), Ordering::Relaxed);
                })
            ));
            while sim.advance(1 << 20) {}
            let outcome = sim.finish();
            let (totals, sent) = (&outcome.links[0].counters, counted.load(Ordering::Relaxed));
            let lost: u64 = totals.drops.iter().sum();
            assert!(lost <= totals.arrivals && totals.arrivals > 0, "{name}: {lost} of {}", totals.arrivals);
            assert_eq!(totals.arrivals, sent + lost, "{name}: sent {sent}, lost {lost}");
            let of_flows: u64 = outcome.flows.iter().flat_map(|flow| flow.totals.drops).sum();
            assert_eq!(of_flows, lost, "{name}");
            let events = outcome.packets.iter().filter(|row| row.time >= begin);
            let losses = events.filter(|row| matches!(row.event, PacketFate::Drop(_))).count() as u64;
            // A series tells when a packet was lost, whenever it arrived.
            let series = outcome.flow_series.iter().filter(|row| row.time > begin).map(|row| u64::from(row.drops));
            assert_eq!(series.sum::<u64>(), losses, "{name}");
            earlier.push((name, losses - lost));
        }
    }
    for name in ["random_drop", "choke", "fq", "sfq", "fq_codel"] {
        let of_name: u64 = earlier.iter().filter(|(each, _)| *each == name).map(|(_, lost)| lost).sum();
        assert!(of_name > 0, "{name} loses packets that arrived before the window: {earlier:?}");
    }
}

#[test]
fn a_flow_stops_when_told() {
    let (mut network, out) = one_link("drop_tail", 60);
    let back = link(&mut network, "back", "drop_tail", 10_000_000, 9, false);
    let host = Host::new(&TcpParams::of(ProfileName::Ns2));
    network.flow(host).path([out]).return_path([back]).stop(Span::from_secs(10));
    let plan = network.duration(Span::from_secs(60)).warmup(Span::from_secs(12)).build().unwrap();
    let row = &finished(Sim::new(plan)).flows[0];
    assert_eq!(row.totals.delivered[0], 0, "nothing is left to deliver two seconds later");
}

#[test]
fn a_window_that_is_sent_at_once_uses_up_the_budget() {
    let params = TcpParams {
        window: Some(Size::Packets(50_000)),
        initial_window: Some(5e4),
        handshake: Some(false),
        ..TcpParams::of(ProfileName::Ns2)
    };
    let (mut network, there) = one_link("drop_tail", 100_000);
    let back = link(&mut network, "back", "drop_tail", 1_000_000, 100, false);
    for _ in 0..10 {
        network.flow(Host::new(&params)).path([there]).return_path([back]);
    }
    let mut sim = Sim::new(network.duration(Span::from_secs(10)).series(true).build().unwrap());
    assert!(sim.advance(4096));
    assert_eq!(
        sim.events(),
        2,
        "the measured window has begun; one flow has sent its own, the others wait for the next call"
    );
    assert!(sim.advance(4096));
    assert_eq!(sim.events(), 2 + 4096, "its packets reach the queue one by one");
}

#[test]
fn a_link_that_nobody_watches_keeps_no_histogram() {
    let mut network = NetworkBuilder::new();
    let path = [("access", false), ("there", true)]
        .map(|(name, monitored)| link(&mut network, name, "drop_tail", 1_000_000, 100, monitored));
    network.flow(udp(500_000, 0.0)).path(path);
    let mut sim = Sim::new(network.duration(Span::from_secs(2)).warmup(Span::from_secs(1)).build().unwrap());
    while sim.advance(4096) {}
    let kept: Vec<bool> = sim.links().iter().map(|link| !link.monitor.delays.quantile(0.5).is_nan()).collect();
    assert_eq!(kept, [false, true]);
    assert!(sim.links().iter().all(|link| link.port.counters.departures > 60));
}
