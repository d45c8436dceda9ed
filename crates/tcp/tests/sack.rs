//! A SACK sender fed by hand, segment by segment.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, ProfileName, Segment, TcpParams};
use std::sync::Arc;

const MSS: u64 = 960;

fn sender(ns2_rules: bool) -> Connection {
    let params = TcpParams::of(ProfileName::Ns2);
    let (algorithm, initial_window, initial_ssthresh) = (Algorithm::Sack, 10.0, 10.0);
    let host = Host::new(&params);
    let host = Host { algorithm, initial_window, initial_ssthresh, ecn: true, ns2_rules, ..host };
    let host = Arc::new(Host { limited_transmit: false, window: 64 * MSS, ..host });
    let mut sender = Connection::established(&host, Span::ZERO);
    sender.write(u64::MAX);
    sender
}

fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// An acknowledgement of so many segments that reports ranges of segments; what goes out for it.
fn ack(sender: &mut Connection, now: Time, segments: u64, ranges: &[(u64, u64)], echo: bool) -> Vec<u64> {
    let flags = Flags::ACK.with_if(echo, Flags::ECE);
    let mut segment = Segment { ack: segments * MSS, flags, ..Segment::default() };
    ranges.iter().for_each(|&(start, end)| segment.report((start * MSS, end * MSS)));
    sender.on_segment(&segment, false, now);
    drain(sender, now)
}

fn drain(sender: &mut Connection, now: Time) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll(now)).map(|segment| segment.seq / MSS).collect()
}

/// Karn's rule: segment 11 is new during a recovery, lost, and sent again in the same recovery.
#[test]
fn a_new_segment_that_recovery_sends_again_is_not_measured() {
    let mut sender = sender(false);
    assert_eq!(drain(&mut sender, Time::ZERO).len(), 10);
    ack(&mut sender, ms(100), 1, &[], false);
    let mut sent = Vec::new();
    for end in 3..=11 {
        sent.extend(ack(&mut sender, ms(100), 1, &[(2, end)], false));
    }
    assert_eq!((sent[0], sent[1]), (1, 11), "{sent:?}");
    let last = *sent.iter().max().unwrap();
    let mut again = Vec::new();
    for end in (13..=last + 1).chain([last + 1; 6]) {
        again.extend(ack(&mut sender, ms(200), 1, &[(12, end), (2, 11)], false));
    }
    assert!(again.contains(&11), "{again:?}");
    let under_way = *again.iter().max().unwrap();
    ack(&mut sender, ms(300), under_way, &[], false);
    // Every measurement is of 100 ms, segment 0's and that of one sent at 200 ms: 10 + 4·15/4 ticks.
    // The 200 ms since segment 11 was first sent would make it 36.
    assert_eq!(sender.next_timer(), Some(ms(550)));
}

/// After a timeout the next segment to send lies behind the last one sent; a recovery there sends each hole once.
#[test]
fn holes_beyond_the_next_segment_are_sent_once() {
    let mut sender = sender(true);
    assert_eq!(drain(&mut sender, Time::ZERO).len(), 10);
    let timeout = sender.next_timer().unwrap();
    sender.on_timer(timeout);
    assert_eq!(drain(&mut sender, timeout), [0]);
    assert_eq!(ack(&mut sender, ms(3100), 1, &[], false), [1, 2]);
    assert_eq!(ack(&mut sender, ms(3200), 2, &[], false), [3, 4]);
    assert_eq!(ack(&mut sender, ms(3200), 3, &[], false), [5, 6]);
    // A mark cuts the window to two segments and lets duplicates of what was sent before the timeout begin a recovery.
    assert_eq!(ack(&mut sender, ms(3300), 4, &[], true), []);
    let mut sent = ack(&mut sender, ms(3300), 4, &[(9, 10)], false);
    sent.extend(ack(&mut sender, ms(3300), 4, &[(5, 6), (9, 10)], false));
    for _ in 0..6 {
        sent.extend(ack(&mut sender, ms(3300), 4, &[(5, 7), (9, 10)], false));
    }
    // What follows the last hole goes again as after any timeout, although 9 is held already.
    assert_eq!(sent[..5], [4, 7, 8, 9, 10], "fast retransmit, each hole once: {sent:?}");
}

/// RFC 3168, Sec. 6.1.2: the acknowledgement that ends a recovery may bring a mark of what was sent during it. That cuts the
/// window again, but the recovery has ended: the next acknowledgement opens the window. To ns-2's Sack1 it goes on.
#[test]
fn a_mark_with_the_end_of_a_recovery_does_not_prolong_it() {
    for ns2_rules in [false, true] {
        let mut sender = sender(ns2_rules);
        drain(&mut sender, Time::ZERO);
        ack(&mut sender, ms(100), 1, &[], false);
        let sent: Vec<u64> = (3..=11).flat_map(|end| ack(&mut sender, ms(100), 1, &[(2, end)], false)).collect();
        // Segments 1 to 10 were under way; 11 and later are new.
        let last = *sent.iter().max().unwrap();
        assert!(sent[0] == 1 && last > 12, "{sent:?}");
        let halved = sender.cwnd();
        let responses = sender.counters().mark_responses;
        ack(&mut sender, ms(200), 12, &[], true);
        assert_eq!((sender.counters().mark_responses, sender.cwnd()), (responses + 1, halved / 2.0));
        ack(&mut sender, ms(200), 13, &[], false);
        let opened = sender.cwnd() > halved / 2.0;
        assert_eq!(opened, !ns2_rules);
        // Another mark of the same window of data does not cut it again.
        let window = sender.cwnd();
        ack(&mut sender, ms(200), last + 1, &[], true);
        assert_eq!((sender.counters().mark_responses, sender.cwnd()), (responses + 1, window));
    }
}
