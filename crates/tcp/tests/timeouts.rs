//! Timeouts of a sender that is fed by hand.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::ProfileName;
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, Segment, TcpParams};
use std::sync::Arc;

/// A sender with a window of 20 segments, all of them under way, and the length of one.
fn sender(profile: ProfileName, algorithm: Algorithm) -> (Connection, u64) {
    let params = TcpParams { algorithm: Some(algorithm), initial_window: Some(20.0), ..TcpParams::of(profile) };
    let host = Host::new(&params);
    let mss = u64::from(host.mss);
    let mut sender = Connection::established(&Arc::new(Host { window: 20 * mss, ..host }), Span::ZERO);
    sender.write(u64::MAX);
    assert_eq!(sent(&mut sender, Time::ZERO).len(), 20);
    (sender, mss)
}

fn sent(sender: &mut Connection, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll(now)).map(|segment| segment.seq).collect()
}

/// The timer expires, and the first segment goes again.
fn expire(sender: &mut Connection) -> Time {
    let now = sender.next_timer().unwrap();
    sender.on_timer(now);
    assert_eq!(sent(sender, now), [0]);
    now
}

/// 4.3BSD, FreeBSD 4.5 and ns-2: a window of 20 leaves a threshold of 10, and the second timeout of the segment one of 2.
#[test]
fn each_timeout_of_a_segment_lowers_the_threshold() {
    let windows = |profile, timeouts| {
        let (mut sender, mss) = sender(profile, Algorithm::Sack);
        let now = (0..timeouts).map(|_| expire(&mut sender)).last().unwrap();
        let grown = (1..=12).map(|segments| {
            let ack = Segment { ack: segments * mss, flags: Flags::ACK, ..Segment::default() };
            sender.on_segment(&ack, false, now);
            sent(&mut sender, now);
            sender.cwnd()
        });
        grown.collect::<Vec<_>>()
    };
    let slow_start = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 10.1];
    for &profile in ProfileName::ALL.iter().filter(|profile| **profile != ProfileName::Linux) {
        assert_eq!(windows(profile, 1)[..10], slow_start, "{profile:?}");
        assert_eq!(windows(profile, 2)[..3], [2.0, 2.5, 2.9], "{profile:?}");
    }
}

/// RFC 6582, Sec. 3.2: duplicates that do not cover `recover` are of what the timeout has sent again. ns-2 (`bugfix_ss_`)
/// makes an exception while nothing has been acknowledged.
#[test]
fn duplicates_before_the_first_acknowledgement_bring_a_fast_retransmit_after_a_timeout_only_in_ns2() {
    for algorithm in [Algorithm::Tahoe, Algorithm::Reno, Algorithm::NewReno, Algorithm::Sack] {
        for (profile, expected) in [(ProfileName::Ns2, 1), (ProfileName::FreeBsd45, 0)] {
            let (mut sender, mss) = sender(profile, algorithm);
            let now = expire(&mut sender);
            for n in 1..=3 {
                let mut duplicate = Segment { flags: Flags::ACK, ..Segment::default() };
                duplicate.report((mss, (1 + n) * mss));
                sender.on_segment(&duplicate, false, now);
                sent(&mut sender, now);
            }
            // To a SACK sender duplicates mean nothing between a timeout and the next acknowledgement.
            let expected = if algorithm == Algorithm::Sack { 0 } else { expected };
            assert_eq!(sender.counters().fast_retransmits, expected, "{profile:?}, {algorithm:?}");
        }
    }
}

/// A SYN that is never answered: FreeBSD 4 repeats it every 3 s four times before the wait doubles, as Linux does every second;
/// 4.3BSD doubles it at once.
#[test]
fn the_first_repetitions_of_a_syn_wait_as_long_as_the_profile_says() {
    let waits = |profile| {
        let mut opener = Connection::opener(&Arc::new(Host::new(&TcpParams::of(profile))), Span::ZERO);
        opener.write(1000);
        let mut now = Time::ZERO;
        let mut wait = || {
            assert!(opener.poll(now).unwrap().flags.has(Flags::SYN));
            let before = now;
            now = opener.next_timer().unwrap();
            opener.on_timer(now);
            now.since(before).0 / 1_000_000_000
        };
        (0..8).map(|_| wait()).collect::<Vec<_>>()
    };
    for profile in [ProfileName::FreeBsd45, ProfileName::Dcn2004] {
        assert_eq!(waits(profile), [3, 3, 3, 3, 3, 6, 12, 24]);
    }
    assert_eq!(waits(ProfileName::Linux), [1, 1, 1, 1, 1, 2, 4, 8]);
    assert_eq!(waits(ProfileName::Bsd43Tahoe), [6, 12, 24, 48, 64, 64, 64, 64]);
}
