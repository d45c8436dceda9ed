//! What `cake` needs to know of simulated packets: their hosts, their classes and what they acknowledge; and its shaper
//! on a link.

use sluicegate_aqm::DropReason;
use sluicegate_base::{Link, Rate, Size, Span};
use sluicegate_netsim::source::{EcnField, UdpParams};
use sluicegate_netsim::{NetworkBuilder, Outcome, Sim};
use sluicegate_tcp::params::Algorithm;
use sluicegate_tcp::{Host, ProfileName, TcpParams};
use std::fmt::Display;

const LINK: Link = Link { rate: Rate(1_000_000), packet: 1000 };

fn udp(rate: u64) -> UdpParams {
    UdpParams { ecn: EcnField::default(), rate: Rate(rate), packet_size: Size::Bytes(1000), jitter: 0.1 }
}

fn finished(network: NetworkBuilder) -> Outcome {
    let network = network.duration(Span::from_secs(60)).warmup(Span::from_secs(10)).sample(Span::from_secs(1));
    let mut sim = Sim::new(network.build().unwrap());
    while sim.advance(1 << 20) {}
    sim.finish()
}

/// Five flows of 0.5 Mbit/s over 1 Mbit/s, of which the first four may have one host: what each gets, in packets per
/// second.
fn shares(flowmode: &str, host: Option<u32>) -> Vec<f64> {
    let mut network = NetworkBuilder::new();
    // A full buffer drops alone: COBALT would empty queues at random.
    let given: [(&str, &dyn Display); 3] = [("flowmode", &flowmode), ("rtt", &"3600 s"), ("limit", &300)];
    let link = network.link("out", LINK.rate, Span::from_millis(5)).discipline("cake", &given).id();
    for k in 0..5 {
        let flow = network.flow(udp(500_000)).path([link]);
        if let Some(host) = host.filter(|_| k < 4) {
            let _ = flow.host(host);
        }
    }
    finished(network).flows.iter().map(|flow| flow.totals.delivered[0] as f64 / 50.0).collect()
}

#[test]
fn flows_of_one_host_share_its_part() {
    for (flowmode, host, last) in [
        ("triple_isolate", None, 25.0),
        ("triple_isolate", Some(7), 62.5),
        ("dual_srchost", Some(7), 62.5),
        ("dual_dsthost", Some(7), 25.0),
        ("flows", Some(7), 25.0),
    ] {
        let shares = shares(flowmode, host);
        assert!((shares[4] - last).abs() < 1.0, "{flowmode}, host {host:?}: {shares:?}");
        let others = (125.0 - last) / 4.0;
        assert!(shares[..4].iter().all(|share| (share - others).abs() < 1.0), "{flowmode}, host {host:?}: {shares:?}");
    }
}

/// The class of a flow is its DSCP: EF has a quarter of what is shaped to, and CS1 what the others leave.
#[test]
fn classes_have_tins() {
    let mut network = NetworkBuilder::new();
    let given: [(&str, &dyn Display); 1] = [("bandwidth", &"1 Mbit/s")];
    let link = network.link("out", Rate(10_000_000), Span::from_millis(5)).discipline("cake", &given).id();
    for class in [0, 8, 46] {
        network.flow(udp(2_000_000)).path([link]).class(class);
    }
    let outcome = finished(network);
    let shares: Vec<f64> = outcome.flows.iter().map(|flow| flow.totals.delivered[0] as f64 / 50.0).collect();
    // In packets per second: 1/4, 1/16 and the rest of 125, and no more than that in all.
    let expected = [125.0 * 11.0 / 16.0, 125.0 / 16.0, 125.0 / 4.0];
    assert!(shares.iter().zip(expected).all(|(share, expected)| (share - expected).abs() < 1.0), "{shares:?}");
    assert!((shares.iter().sum::<f64>() - 125.0).abs() < 0.1, "{shares:?}");
}

/// A transfer of 10 Mbit/s whose acknowledgements have 100 kbit/s: its packets per second, and the acknowledgements
/// that the queue there has dropped as redundant.
fn asymmetric(ack_filter: &str, host: &TcpParams) -> (f64, u64) {
    let mut network = NetworkBuilder::new();
    let out = network.link("out", Rate(10_000_000), Span::from_millis(10)).discipline("cake", &[]).id();
    let given: [(&str, &dyn Display); 1] = [("ack_filter", &ack_filter)];
    let back = network.link("back", Rate(100_000), Span::from_millis(10)).discipline("cake", &given).id();
    network.flow(Host::new(host)).path([out]).return_path([back]);
    let outcome = finished(network);
    let drops = outcome.links[1].counters.drops[DropReason::Match as usize];
    (outcome.flows[0].totals.delivered[0] as f64 / 50.0, drops)
}

#[test]
fn acknowledgements_are_filtered() {
    let host = TcpParams::of(ProfileName::Ns2);
    let [(plain, none), (filtered, some), (most, more)] =
        ["disabled", "enabled", "aggressive"].map(|filter| asymmetric(filter, &host));
    assert_eq!(none, 0);
    assert!(some > 1000 && more > 1000, "{some} {more}");
    assert!(filtered > 1.1 * plain && most > 1.15 * plain, "{plain} {filtered} {most}");
    // Linux's filter does not know Accurate ECN's option, and keeps what has it.
    let prague = TcpParams { algorithm: Some(Algorithm::Prague), ..TcpParams::of(ProfileName::Linux) };
    assert_eq!(asymmetric("aggressive", &prague).1, 0);
}
