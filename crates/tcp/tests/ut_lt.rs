//! UT/LT between two ends, round trip by round trip, by hand.

use proptest::prelude::*;
use sluicegate_base::{Span, Time};
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, ProfileName, Segment, TcpParams};
use std::sync::Arc;

fn ends(algorithm: Algorithm, initial_window: f64, window: u64) -> (Connection, Connection) {
    let params = TcpParams::of(ProfileName::Ns2);
    let host = Host { algorithm, initial_window, handshake: false, window: window * 960, ..Host::new(&params) };
    let host = Arc::new(host);
    let mut sender = Connection::established(&host, Span::ZERO);
    sender.write(u64::MAX);
    (sender, Connection::established(&host, Span::ZERO))
}

/// One round trip of 100 ms: what the window lets out goes over with these labels, in turn; then every acknowledgement
/// comes back, on each of which the queues of the way back have written that they are congested. Gives what came back.
fn round(ends: &mut (Connection, Connection), n: u64, labels: &[u32]) -> Vec<Segment> {
    let (sent, arrived) = (Time(n * 100_000_000), Time(n * 100_000_000 + 50_000_000));
    let data: Vec<_> = std::iter::from_fn(|| ends.0.poll(sent)).collect();
    let mut acks = Vec::new();
    for (segment, label) in data.iter().zip(labels.iter().cycle()) {
        // Above UT the gateway marks what can be marked.
        let ce = *label == 2 && segment.flags.has(Flags::ECT);
        ends.1.on_labelled(segment, ce, *label, arrived);
        acks.extend(ends.1.poll(arrived));
    }
    for ack in &acks {
        ends.0.on_labelled(ack, false, 2, Time((n + 1) * 100_000_000));
    }
    acks
}

#[test]
fn each_acknowledgement_says_what_its_packet_has_met() {
    let mut ends = ends(Algorithm::UtLt, 6.0, 64);
    let told = |ack: &Segment| (ack.flags.has(Flags::BETWEEN), ack.flags.has(Flags::ECE));
    let (light, between, congested) = ((false, false), (true, false), (false, true));
    let acks = round(&mut ends, 0, &[1, 0, 2, 0, 1, 2]);
    assert_eq!(acks.iter().map(told).collect::<Vec<_>>(), [between, light, congested, light, between, congested]);
}

/// The window of each round trip, by hand: half a segment and less for each light acknowledgement, nothing between, 7/8
/// once for a congested round trip, whose rest is passed over.
#[test]
fn the_window_follows_the_labels() {
    let mut ends = ends(Algorithm::UtLt, 2.0, 64);
    assert_eq!(round(&mut ends, 0, &[0]).len(), 2);
    assert_eq!(ends.0.cwnd(), 2.9);
    round(&mut ends, 1, &[1]);
    assert_eq!(ends.0.cwnd(), 2.9);
    // 7/8 at the first of two acknowledgements; the second, and the first of the next round trip, are passed over.
    round(&mut ends, 2, &[2]);
    assert_eq!(ends.0.cwnd(), 2.5375);
    round(&mut ends, 3, &[2, 1]);
    assert_eq!((ends.0.cwnd(), ends.0.counters().mark_responses), (2.5375, 1));
    round(&mut ends, 4, &[0]);
    assert!((ends.0.cwnd() - (2.5375 + 1.0 / 2.5375 + 1.0 / (2.5375 + 1.0 / 2.5375))).abs() < 1e-12);
}

#[test]
fn hosts_of_other_kinds_say_nothing_of_labels() {
    for algorithm in Algorithm::of(ProfileName::Ns2).filter(|algorithm| !algorithm.per_packet_feedback()) {
        let mut ends = ends(algorithm, 4.0, 64);
        let acks = round(&mut ends, 0, &[1, 2]);
        assert!(acks.len() >= 4);
        assert!(!acks.iter().any(|ack| ack.flags.has(Flags::BETWEEN) || ack.flags.has(Flags::ECE)), "{algorithm:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
    /// Whatever the queues say, the window stays between one segment and the receiver's, moves up only if something was
    /// light and down only if something was congested, and never stands still for want of an answer.
    #[test]
    fn the_window_moves_only_as_it_is_told(
        rounds in proptest::collection::vec(proptest::collection::vec(0u32..3, 1..5), 1..60), window in 1u64..20,
    ) {
        let mut ends = ends(Algorithm::UtLt, 2.0, window);
        for (n, labels) in rounds.iter().enumerate() {
            let before = ends.0.cwnd();
            let sent = round(&mut ends, n as u64, labels).len();
            prop_assert!(sent > 0);
            let (met, after) = (&labels[..labels.len().min(sent)], ends.0.cwnd());
            prop_assert!((1.0..=window as f64).contains(&after));
            prop_assert!(after <= before || met.contains(&0), "{before} to {after} by {met:?}");
            prop_assert!(after >= before || met.contains(&2), "{before} to {after} by {met:?}");
        }
        let counters = ends.0.counters();
        prop_assert_eq!((counters.retransmissions, counters.timeouts), (0, 0));
    }
}
