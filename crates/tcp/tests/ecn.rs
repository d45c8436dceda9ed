//! Explicit congestion notification (RFC 3168) between two ends, round trip by round trip, by hand.

use sluicegate_base::{Link, Params, Rate, Span, Time};
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, TcpParams};

const ALL: [Algorithm; 5] = [Algorithm::Tahoe, Algorithm::Reno, Algorithm::NewReno, Algorithm::Sack, Algorithm::Cubic];

/// A window of 8 segments that grows by about one in a round trip.
fn ends(algorithm: Algorithm, ecn: bool) -> (Connection, Connection) {
    let params = TcpParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
    let host =
        Host { algorithm, ecn, initial_window: 8.0, initial_ssthresh: 8.0, window: 64 * 960, ..Host::new(&params) };
    let mut sender = Connection::established(&host, Span::ZERO);
    sender.write(u64::MAX);
    (sender, Connection::established(&host, Span::ZERO))
}

/// One round trip of 100 ms: everything that the window lets out goes over, those in `marks` (from 0) marked; then every
/// acknowledgement comes back. Gives the data segments' and the acknowledgements' flags.
fn round(ends: &mut (Connection, Connection), n: u64, marks: &[usize]) -> (Vec<Flags>, Vec<Flags>) {
    let (sent, arrived) = (Time(n * 100_000_000), Time(n * 100_000_000 + 50_000_000));
    let data: Vec<_> = std::iter::from_fn(|| ends.0.poll(sent)).collect();
    let mut acks = Vec::new();
    for (k, segment) in data.iter().enumerate() {
        ends.1.on_segment(segment, marks.contains(&k), arrived);
        acks.extend(ends.1.poll(arrived));
    }
    for ack in &acks {
        ends.0.on_segment(ack, false, Time((n + 1) * 100_000_000));
    }
    (data.iter().map(|segment| segment.flags).collect(), acks.iter().map(|segment| segment.flags).collect())
}

/// Which of them bear the flag.
fn bearing(flags: &[Flags], flag: Flags) -> Vec<usize> {
    (0..flags.len()).filter(|&k| flags[k].has(flag)).collect()
}

#[test]
fn marks_in_one_window_cut_it_once_and_the_answer_ends_the_echo() {
    for algorithm in ALL {
        let mut ends = ends(algorithm, true);
        let (data, acks) = round(&mut ends, 0, &[0, 5]);
        assert_eq!((data.len(), bearing(&data, Flags::ECT).len()), (8, 8), "{algorithm:?}");
        assert_eq!(bearing(&data, Flags::CWR), []);
        assert_eq!(bearing(&acks, Flags::ECE), [0, 1, 2, 3, 4, 5, 6, 7], "until the answer");
        assert_eq!(bearing(&acks, Flags::ECT), [], "a bare acknowledgement is not capable");
        assert_eq!(ends.0.counters().mark_responses, 1);
        // 8 are under way, and acknowledgements with an echo do not open the window: 8/2, or RFC 9438's 0.7·8.
        let cut = if algorithm == Algorithm::Cubic { 5.6 } else { 4.0 };
        assert!((ends.0.cwnd() - cut).abs() < 1e-12, "{algorithm:?}: {}", ends.0.cwnd());

        let (data, acks) = round(&mut ends, 1, &[]);
        assert_eq!(data.len(), cut as usize);
        assert_eq!(bearing(&data, Flags::CWR), [0], "on the first new data, and on no other");
        assert_eq!(bearing(&acks, Flags::ECE), [], "the answer has been seen");
        assert!(ends.0.cwnd() > cut, "grows again");

        let (data, acks) = round(&mut ends, 2, &[1]);
        assert_eq!((bearing(&data, Flags::CWR), bearing(&acks, Flags::ECE)[0]), (vec![], 1));
        assert_eq!(ends.0.counters().mark_responses, 2, "another window, another cut");
        assert_eq!((ends.0.counters().retransmissions, ends.0.counters().timeouts), (0, 0));
    }
}

#[test]
fn marks_on_everything_cut_each_window_once() {
    for algorithm in ALL {
        let mut ends = ends(algorithm, true);
        let everything: Vec<usize> = (0..64).collect();
        for n in 0..6 {
            let (data, acks) = round(&mut ends, n, &everything);
            assert!(!data.is_empty() && acks.len() == data.len(), "{algorithm:?}: never stands still");
            assert_eq!(bearing(&acks, Flags::ECE).len(), acks.len());
            assert_eq!(bearing(&data, Flags::CWR).len(), usize::from(n > 0));
            assert_eq!(ends.0.counters().mark_responses, n + 1, "{algorithm:?}");
        }
    }
}

#[test]
fn without_ecn_nothing_is_capable_and_nothing_is_answered() {
    let mut ends = ends(Algorithm::Reno, false);
    let (data, _) = round(&mut ends, 0, &[]);
    assert_eq!((bearing(&data, Flags::ECT), bearing(&data, Flags::CWR)), (vec![], vec![]));
    let (_, _) = round(&mut ends, 1, &[0]);
    assert_eq!(ends.0.counters().mark_responses, 0, "an echo is no matter of a sender without ECN");
}
