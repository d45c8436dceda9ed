//! ns-2's Vegas, what it sends again and when, by hand.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::host::RtoConfig;
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, ProfileName, Segment, TcpParams};
use std::ops::RangeInclusive;
use std::sync::Arc;

const MSS: u64 = 960;

fn host() -> Host {
    let params = TcpParams::of(ProfileName::Ns2);
    // What is lost here waits for more than a second unless something shows it.
    let host = Host { algorithm: Algorithm::Vegas, window: 20 * MSS, ..Host::new(&params) };
    Host { rto: Arc::new(RtoConfig { min: Span::from_secs(2), ..*host.rto }), ..host }
}

/// A sender, and the packets that it has sent but that were not looked at.
struct Sender(Connection);

impl Sender {
    /// Segments 8 to 13 under way, sent at 400 ms after rounds of 100 ms; 0 to 7 are acknowledged.
    fn with_six_under_way() -> Sender {
        let mut sender = Sender(Connection::established(&Arc::new(host()), Span::ZERO));
        sender.0.write(u64::MAX / 8);
        assert_eq!(sender.sends(0), [0], "one segment of data opens");
        assert_eq!(sender.acks_in_turn(1..=1, 100), [1]);
        assert_eq!(sender.acks_in_turn(2..=2, 200), [2, 3, 4], "the initial window, and slow start");
        assert_eq!(sender.acks_in_turn(3..=5, 300), [5, 6, 7], "which rests for a round");
        assert_eq!(sender.acks_in_turn(6..=8, 400), [8, 9, 10, 11, 12, 13], "and doubles in the next");
        sender
    }

    /// What it sends at this millisecond.
    fn sends(&mut self, ms: u64) -> Vec<u64> {
        std::iter::from_fn(|| self.0.poll(Time(ms * 1_000_000))).map(|segment| segment.seq / MSS).collect()
    }

    /// One segment after another is acknowledged; what it sends.
    fn acks_in_turn(&mut self, numbers: RangeInclusive<u64>, ms: u64) -> Vec<u64> {
        let sends = numbers.flat_map(|n| {
            self.acks(n, ms);
            self.sends(ms)
        });
        sends.collect()
    }

    /// The first `n` segments are acknowledged.
    fn acks(&mut self, n: u64, ms: u64) {
        let ack = Segment { ack: n * MSS, flags: Flags::ACK, ..Segment::default() };
        self.0.on_segment(&ack, false, Time(ms * 1_000_000));
    }
}

/// 100 ms measured throughout leave a fine-grained timeout between 106.25 ms and 150 ms.
#[test]
fn a_first_duplicate_resends_what_has_been_under_way_for_longer_than_the_fine_grained_timeout() {
    for (ms, sent) in [(500, vec![]), (560, vec![8])] {
        let mut sender = Sender::with_six_under_way();
        sender.acks(8, ms);
        assert_eq!(sender.sends(ms), sent, "{ms} ms");
    }
}

#[test]
fn three_duplicates_resend_otherwise_and_limited_transmit_is_none() {
    let mut sender = Sender::with_six_under_way();
    assert_eq!(sender.0.cwnd(), 6.0);
    for (ms, sent) in [(500, vec![]), (501, vec![]), (502, vec![8, 14, 15])] {
        sender.acks(8, ms);
        assert_eq!(sender.sends(ms), sent, "{ms} ms");
    }
    // 6 − ⌊6/4⌋ = 5, and the three duplicates.
    assert_eq!(sender.0.cwnd(), 8.0);
    assert_eq!((sender.0.counters().fast_retransmits, sender.0.counters().timeouts), (1, 0));
    // Three leave the inflation in the window; a fourth takes it back at the end.
    sender.acks(14, 600);
    assert!(sender.0.cwnd() >= 8.0, "{}", sender.0.cwnd());
    let mut sender = Sender::with_six_under_way();
    (500..504).for_each(|ms| sender.acks(8, ms));
    assert_eq!((sender.0.cwnd(), sender.sends(504)), (9.0, vec![8, 14, 15, 16]));
    sender.acks(14, 600);
    assert!(sender.0.cwnd() < 6.0, "{}", sender.0.cwnd());
}

#[test]
fn the_next_acknowledgements_after_a_retransmission_look_for_what_else_has_expired() {
    let mut sender = Sender::with_six_under_way();
    (500..503).for_each(|ms| sender.acks(8, ms));
    assert_eq!(sender.sends(503), [8, 14, 15]);
    // 8 fills the gap up to 10, which went out with it and is long overdue.
    sender.acks(10, 603);
    assert_eq!(sender.sends(603), [10, 16, 17]);
    // All that was under way arrives: ns-2 takes the next segment, never sent, for overdue, and sends it twice.
    sender.acks(18, 703);
    assert_eq!(sender.sends(703)[..2], [18, 18]);
}

#[test]
fn a_timeout_restarts_at_two() {
    let mut sender = Sender::with_six_under_way();
    let expiry = sender.0.next_timer().unwrap();
    sender.0.on_timer(expiry);
    assert_eq!((sender.0.cwnd(), sender.0.counters().timeouts), (2.0, 1));
    assert_eq!(sender.sends(expiry.0 / 1_000_000), [8, 9]);
    // Duplicates of what was sent before it are no loss, but from the fourth they inflate, and the next acknowledgement
    // takes the window back to what the timeout has left of it: nothing.
    let ms = expiry.0 / 1_000_000 + 1;
    (0..4).for_each(|_| sender.acks(8, ms));
    assert_eq!((sender.0.cwnd(), sender.0.counters().fast_retransmits), (3.0, 0));
    sender.sends(ms);
    sender.acks(9, ms + 100);
    assert!(sender.0.cwnd() < 1.0, "{}", sender.0.cwnd());
    assert_eq!(sender.sends(ms + 100), []);
    let expiry = sender.0.next_timer().unwrap();
    sender.0.on_timer(expiry);
    assert_eq!(sender.sends(expiry.0 / 1_000_000), [9, 10]);
}

/// ns-2's timer expires when nothing is under way, too, and is backed off each time. Ours comes to the same when there is
/// something to send again.
#[test]
fn the_timer_runs_on_while_nothing_is_under_way() {
    let rto = Arc::new(RtoConfig { min: Span::from_millis(300), ..*host().rto });
    let host = Arc::new(Host { rto, ..host() });
    for (wrote, sent, deadline) in [(599, 3, 600), (601, 2, 1200), (1199, 2, 1200), (1201, 2, 2400)] {
        let mut sender = Sender(Connection::established(&host, Span::ZERO));
        sender.0.write(5 * MSS);
        sender.sends(0);
        for n in [1, 2, 5] {
            sender.acks(n, 100 * n.min(3));
            sender.sends(100 * n.min(3));
        }
        assert_eq!((sender.0.cwnd(), sender.0.next_timer()), (3.0, None));
        sender.0.write(50 * MSS);
        assert_eq!(sender.sends(wrote).len(), sent, "{wrote} ms");
        assert_eq!(sender.0.next_timer(), Some(Time(deadline * 1_000_000)), "{wrote} ms");
        assert_eq!((sender.0.cwnd(), sender.0.counters().timeouts), (sent as f64, 0));
    }
}
