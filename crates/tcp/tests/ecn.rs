//! Explicit congestion notification (RFC 3168) between two ends, round trip by round trip, by hand.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::host::{RtoConfig, VegasRules};
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, ProfileName, Segment, TcpParams};
use std::sync::Arc;

/// A window of 8 segments that grows by about one in a round trip.
fn ends(algorithm: Algorithm, ecn: bool) -> (Connection, Connection) {
    let params = TcpParams::of(ProfileName::Ns2);
    let host =
        Host { algorithm, ecn, initial_window: 8.0, initial_ssthresh: 8.0, window: 64 * 960, ..Host::new(&params) };
    // RFC 3168 as it stands, and a timer that nothing but its back-off changes.
    let rto = Arc::new(RtoConfig { min: Span::from_secs(1), ..*host.rto });
    let host = Arc::new(Host { ns2_rules: false, vegas_rules: VegasRules::Paper, rto, ..host });
    let mut sender = Connection::established(&host, Span::ZERO);
    sender.write(u64::MAX);
    (sender, Connection::established(&host, Span::ZERO))
}

/// Every algorithm that answers marks as RFC 3168 says; a fixed window answers nothing.
fn answering() -> impl Iterator<Item = Algorithm> {
    let without = [Algorithm::DecBit, Algorithm::UtLt, Algorithm::Fixed];
    Algorithm::of(ProfileName::Ns2).filter(move |algorithm| !without.contains(algorithm))
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
    for algorithm in answering() {
        let mut ends = ends(algorithm, true);
        let (data, acks) = round(&mut ends, 0, &[0, 5]);
        assert_eq!((data.len(), bearing(&data, Flags::ECT).len()), (8, 8), "{algorithm:?}");
        assert_eq!(bearing(&data, Flags::CWR), []);
        assert_eq!(bearing(&acks, Flags::ECE), [0, 1, 2, 3, 4, 5, 6, 7], "until the answer");
        assert_eq!(bearing(&acks, Flags::ECT), [], "a bare acknowledgement is not capable");
        assert_eq!(ends.0.counters().mark_responses, 1);
        // 8 are under way, and acknowledgements with an echo do not open the window: 8/2, or a quarter
        // less, as a loss costs Vegas.
        let cut = if algorithm == Algorithm::Vegas { 6.0 } else { 4.0 };
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

/// RFC 3168, Section 6.1.2: "the sending TCP MUST reset the retransmit timer on receiving the ECN-Echo packet when the
/// congestion window is one. The sending TCP will then be able to send a new packet only when the retransmit timer expires."
#[test]
fn marks_on_everything_cut_each_window_once_down_to_one_segment_which_waits_for_the_timer() {
    for algorithm in answering() {
        let mut ends = ends(algorithm, true);
        let everything: Vec<usize> = (0..64).collect();
        let mut n = 0;
        while ends.0.cwnd() >= 1.0 {
            let (data, acks) = round(&mut ends, n, &everything);
            assert!(!data.is_empty() && acks.len() == data.len(), "{algorithm:?}: never stands still");
            assert_eq!(bearing(&acks, Flags::ECE).len(), acks.len());
            assert_eq!(bearing(&data, Flags::CWR).len(), usize::from(n > 0));
            n += 1;
            assert_eq!(ends.0.counters().mark_responses, n, "{algorithm:?}");
        }
        // The window was one segment before: 8, 4, 2, 1, or by 0.7 or 0.75 down to 1.
        let cuts = match algorithm {
            Algorithm::Vegas => 9,
            _ => 4,
        };
        assert_eq!(n, cuts, "{algorithm:?}");
        let mut now = Time(n * 100_000_000);
        for wait in [1, 2, 4] {
            assert_eq!(ends.0.poll(now), None, "{algorithm:?}");
            let expiry = now + Span::from_secs(wait);
            assert_eq!(ends.0.next_timer(), Some(expiry), "{algorithm:?}: a further mark waits twice as long");
            ends.0.on_timer(expiry);
            let segment = ends.0.poll(expiry).unwrap();
            assert!(segment.flags.has(Flags::CWR.with(Flags::ECT)), "{algorithm:?}: new data");
            assert_eq!(ends.0.poll(expiry), None, "{algorithm:?}: one segment");
            now = expiry + Span::from_millis(100);
            ends.1.on_segment(&segment, true, now);
            ends.0.on_segment(&ends.1.poll(now).unwrap(), false, now);
        }
        assert_eq!((ends.0.counters().timeouts, ends.0.counters().retransmissions), (0, 0), "{algorithm:?}");
        // Without a further mark it goes on at once, and the next wait is not backed off.
        let expiry = now + Span::from_secs(8);
        ends.0.on_timer(expiry);
        let segment = ends.0.poll(expiry).unwrap();
        now = expiry + Span::from_millis(100);
        ends.1.on_segment(&segment, false, now);
        ends.0.on_segment(&ends.1.poll(now).unwrap(), false, now);
        // Vegas grows once it has measured a round trip, which a wait is not.
        let window = if algorithm == Algorithm::Vegas { 1 } else { 2 };
        assert_eq!(std::iter::from_fn(|| ends.0.poll(now)).count(), window, "{algorithm:?}");
        assert_eq!(ends.0.next_timer(), Some(now + Span::from_secs(1)), "{algorithm:?}");
    }
}

/// The echo lasts until new data says that the window was cut; a timeout sends everything again before that.
#[test]
fn a_timeout_answers_the_marks_before_it() {
    for algorithm in answering() {
        let mut ends = ends(algorithm, true);
        let data: Vec<_> = std::iter::from_fn(|| ends.0.poll(Time::ZERO)).collect();
        // The last of eight arrives, marked; its duplicate acknowledgement is lost too.
        ends.1.on_segment(&data[7], true, Time(50_000_000));
        let _lost = ends.1.poll(Time(50_000_000));
        let expiry = ends.0.next_timer().unwrap();
        ends.0.on_timer(expiry);
        let begin = expiry.0 / 100_000_000;
        let sent: Vec<usize> = (begin..begin + 3).map(|n| round(&mut ends, n, &[]).0.len()).collect();
        assert_eq!(ends.0.counters().mark_responses, 0, "{algorithm:?}");
        assert_eq!(sent, [1, 2, 4], "{algorithm:?}: slow start");
    }
}

/// As ns-2: what is sent again may be marked too and answers a mark.
#[test]
fn only_with_ns2s_rules_are_retransmissions_capable() {
    for ns2_rules in [false, true] {
        let params = TcpParams::of(ProfileName::Ns2);
        let mut sender =
            Connection::established(&Arc::new(Host { ecn: true, ns2_rules, ..Host::new(&params) }), Span::ZERO);
        sender.write(960);
        assert!(sender.poll(Time::ZERO).unwrap().flags.has(Flags::ECT));
        let expiry = sender.next_timer().unwrap();
        sender.on_timer(expiry);
        let again = sender.poll(expiry).unwrap().flags;
        assert_eq!((again.has(Flags::ECT), again.has(Flags::CWR)), (ns2_rules, ns2_rules));
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

/// RFC 3168, Section 6.1.2: new data may be marked; a bare FIN is none, and does not answer a mark either.
#[test]
fn a_bare_fin_may_not_be_marked() {
    for profile in [ProfileName::Dcn2004, ProfileName::FreeBsd45] {
        let params = TcpParams::of(profile);
        let mut sender = Connection::established(&Arc::new(Host { ecn: true, ..Host::new(&params) }), Span::ZERO);
        sender.write(100);
        assert!(sender.poll(Time::ZERO).unwrap().flags.has(Flags::ECT));
        sender.close();
        let acked = Segment { ack: 100, flags: Flags::ACK, ..Segment::default() };
        sender.on_segment(&acked, false, Time::ZERO);
        let fin = sender.poll(Time::ZERO).unwrap();
        assert!(fin.flags.has(Flags::FIN) && !fin.flags.has(Flags::ECT), "{profile:?}");
    }
}
