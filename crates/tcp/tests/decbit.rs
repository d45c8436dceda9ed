//! DECbit between two ends, round trip by round trip, by hand.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, ProfileName, Segment, TcpParams};
use std::sync::Arc;

fn ends(initial_window: f64, window: u64) -> (Connection, Connection) {
    let params = TcpParams::of(ProfileName::Ns2);
    let host = Host { algorithm: Algorithm::DecBit, initial_window, window: window * 960, ..Host::new(&params) };
    let host = Arc::new(host);
    let mut sender = Connection::established(&host, Span::ZERO);
    sender.write(u64::MAX);
    (sender, Connection::established(&host, Span::ZERO))
}

/// One round trip of 100 ms: everything that the window lets out goes over, those in `marks` (from 0) marked and the one
/// in `lost` not; then every acknowledgement comes back. Gives what was sent, and what came back.
fn round(
    ends: &mut (Connection, Connection),
    n: u64,
    marks: &[usize],
    lost: Option<usize>,
) -> (Vec<Segment>, Vec<Segment>) {
    let (sent, arrived) = (Time(n * 100_000_000), Time(n * 100_000_000 + 50_000_000));
    let data: Vec<_> = std::iter::from_fn(|| ends.0.poll(sent)).collect();
    let mut acks = Vec::new();
    for (k, segment) in data.iter().enumerate().filter(|(k, _)| Some(*k) != lost) {
        ends.1.on_segment(segment, marks.contains(&k), arrived);
        acks.extend(ends.1.poll(arrived));
    }
    for ack in &acks {
        ends.0.on_segment(ack, false, Time((n + 1) * 100_000_000));
    }
    (data, acks)
}

fn bits(acks: &[Segment]) -> Vec<bool> {
    acks.iter().map(|ack| ack.flags.has(Flags::ECE)).collect()
}

#[test]
fn each_acknowledgement_copies_the_bit_of_its_packet() {
    let mut ends = ends(6.0, 64);
    let (data, acks) = round(&mut ends, 0, &[1, 4], None);
    assert!(data.iter().all(|segment| segment.flags.has(Flags::ECT) && !segment.flags.has(Flags::CWR)));
    assert_eq!(bits(&acks), [false, true, false, false, true, false]);
}

/// The window in force in each round trip, by hand: the first window decides at once, because nothing was sent before it;
/// every other decision passes over one round trip and counts the next.
#[test]
fn the_window_follows_the_bits_of_every_second_round_trip() {
    let mut ends = ends(8.0, 64);
    let everything: Vec<usize> = (0..64).collect();
    // 3 of 8 are set: one segment more.
    assert_eq!((round(&mut ends, 0, &[0, 1, 2], None).0.len(), ends.0.cwnd()), (8, 9.0));
    // These 9 answer to the change: 8 are passed over, the last is the first of the next 9 that count.
    assert_eq!((round(&mut ends, 1, &everything, None).0.len(), ends.0.cwnd()), (9, 9.0));
    // With 4 of its first 8 that makes 5 of 9: 9 · 7/8. The ninth is passed over.
    assert_eq!((round(&mut ends, 2, &[0, 1, 2, 3], None).0.len(), ends.0.cwnd()), (9, 7.875));
    // 7 of 8 further ones are passed over, then 7 count: without bits, one segment more.
    assert_eq!(round(&mut ends, 3, &everything, None).0.len(), 7);
    assert_eq!(ends.0.cwnd(), 7.875);
    assert_eq!((round(&mut ends, 4, &[], None).0.len(), ends.0.cwnd()), (7, 7.875));
    assert_eq!((round(&mut ends, 5, &[], None).0.len(), ends.0.cwnd()), (7, 8.875));
    assert_eq!((ends.0.counters().mark_responses, ends.0.counters().retransmissions), (1, 0));
}

#[test]
fn the_window_never_exceeds_the_receivers() {
    let mut ends = ends(2.0, 4);
    let sent: Vec<usize> = (0..12).map(|n| round(&mut ends, n, &[], None).0.len()).collect();
    assert_eq!((sent[0], *sent.last().unwrap(), ends.0.cwnd()), (2, 4, 4.0));
}

#[test]
fn a_loss_closes_the_window_to_one_segment_and_the_bits_of_what_was_sent_before_do_not_count() {
    let mut ends = ends(8.0, 64);
    let (data, acks) = round(&mut ends, 0, &[1, 2, 3, 4, 5, 6, 7], Some(0));
    assert_eq!(acks.len(), 7, "a duplicate for each that arrived");
    let counters = ends.0.counters();
    assert_eq!((ends.0.cwnd(), counters.fast_retransmits, counters.mark_responses), (1.0, 1, 0));
    // The lost one goes again, capable; its acknowledgement covers all, and one clear bit decides: 2.
    let (again, _) = round(&mut ends, 1, &[], None);
    assert_eq!((again.len(), again[0].seq), (1, data[0].seq));
    assert!(again[0].flags.has(Flags::ECT));
    assert_eq!(ends.0.cwnd(), 2.0);
    let sent: Vec<usize> = (2..7).map(|n| round(&mut ends, n, &[], None).0.len()).collect();
    assert_eq!(sent, [2, 2, 3, 3, 4], "one segment in two round trips, no slow start");
}

#[test]
fn a_window_that_is_marked_throughout_falls_to_one_segment_and_goes_on() {
    let mut ends = ends(8.0, 64);
    let everything: Vec<usize> = (0..64).collect();
    for n in 0..60 {
        assert!(!round(&mut ends, n, &everything, None).0.is_empty(), "never stands still");
    }
    assert_eq!((ends.0.cwnd(), ends.0.counters().timeouts), (1.0, 0));
}
