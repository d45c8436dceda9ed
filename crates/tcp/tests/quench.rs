//! Source quenches, by hand.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::ProfileName;
use sluicegate_tcp::host::VegasRules;
use sluicegate_tcp::{Algorithm, Connection, Host, TcpParams};
use std::sync::Arc;

fn host(source_quench: Option<bool>, profile: ProfileName) -> Host {
    Host::new(&TcpParams { source_quench, ..TcpParams::of(profile) })
}

/// Sends what the window lets out and acknowledges it, a round trip of 100 ms; how many segments that was.
fn round(ends: &mut (Connection, Connection), n: u64) -> usize {
    let now = Time(n * 100_000_000);
    let data: Vec<_> = std::iter::from_fn(|| ends.0.poll(now)).collect();
    for segment in &data {
        ends.1.on_segment(segment, false, now);
        while let Some(ack) = ends.1.poll(now) {
            ends.0.on_segment(&ack, false, Time((n + 1) * 100_000_000));
        }
    }
    data.len()
}

/// 4.3BSD: the window closes to one segment, and slow start opens it up to the threshold, which stays.
#[test]
fn a_quench_closes_the_window_and_slow_start_opens_it_again() {
    let without = [Algorithm::DecBit, Algorithm::UtLt, Algorithm::Fixed];
    for algorithm in Algorithm::of(ProfileName::Ns2).filter(|algorithm| !without.contains(algorithm)) {
        let host = Host {
            algorithm,
            vegas_rules: VegasRules::Paper,
            initial_window: 16.0,
            initial_ssthresh: 8.0,
            window: 64 * 960,
            ..host(Some(true), ProfileName::Ns2)
        };
        let host = Arc::new(host);
        let mut ends = (Connection::established(&host, Span::ZERO), Connection::established(&host, Span::ZERO));
        ends.0.write(u64::MAX);
        assert_eq!(round(&mut ends, 0), 16, "{algorithm:?}");
        ends.0.on_quench();
        assert_eq!((ends.0.cwnd(), ends.0.counters().quench_responses), (1.0, 1), "{algorithm:?}");
        // Vegas doubles in every other round trip.
        let each = if algorithm == Algorithm::Vegas { 2 } else { 1 };
        let sent: Vec<usize> = (1..1 + 5 * each).map(|n| round(&mut ends, n)).step_by(each as usize).collect();
        assert_eq!(sent[..4], [1, 2, 4, 8], "{algorithm:?}");
        assert!((8..=12).contains(&sent[4]), "{algorithm:?}: past the threshold slowly: {sent:?}");
        assert_eq!(ends.0.counters().retransmissions, 0, "nothing was lost");
    }
}

#[test]
fn only_the_hosts_of_bsd_heed_a_quench_unless_they_are_told() {
    use ProfileName::{Bsd43Tahoe, FreeBsd45, Linux, Ns2, Red1993};
    let heeds = |source_quench, profile| {
        let host = Arc::new(Host { handshake: false, ..host(source_quench, profile) });
        let mut sender = Connection::established(&host, Span::ZERO);
        sender.on_quench();
        sender.counters().quench_responses == 1
    };
    assert_eq!(
        [Ns2, Bsd43Tahoe, Red1993, FreeBsd45, Linux].map(|profile| heeds(None, profile)),
        [false, true, false, true, false]
    );
    assert!(heeds(Some(true), Ns2) && !heeds(Some(false), Bsd43Tahoe));
}

#[test]
fn before_the_connection_is_open_there_is_no_window_to_close() {
    let mut sender = Connection::opener(&Arc::new(host(Some(true), ProfileName::Ns2)), Span::ZERO);
    sender.write(960);
    assert!(sender.poll(Time::ZERO).is_some(), "the SYN");
    sender.on_quench();
    assert_eq!(sender.counters().quench_responses, 0);
}
