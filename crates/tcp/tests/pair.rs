//! Two ends of a connection over a path that delays, and loses what the test says.

use proptest::prelude::*;
use sluicegate_base::{Span, Time};
use sluicegate_tcp::ProfileName;
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, Segment, TcpParams};
use std::sync::Arc;

fn host() -> Host {
    let params = TcpParams::of(ProfileName::Ns2);
    Host { initial_ssthresh: 64.0, window: 64 * 960, handshake: false, ..Host::new(&params) }
}

/// Whether the k-th data segment (from 0, retransmissions counted) is lost.
type Loses = Box<dyn FnMut(u64, &Segment) -> bool>;

/// Virtual time moves to the next arrival or wake-up.
struct Pair {
    sender: Connection,
    receiver: Connection,
    now: Time,
    delay: Span,
    /// Segments under way: arrival, order, whether they go to the receiver.
    wire: Vec<(Time, u64, bool, Segment)>,
    sent: u64,
    loses: Loses,
    /// Time and value of every acknowledgement that reached the sender.
    acks: Vec<(Time, u64)>,
    /// Every data segment, in packets: time and number.
    data: Vec<(Time, u64)>,
}

impl Pair {
    fn new(host: &Host, loses: impl FnMut(u64, &Segment) -> bool + 'static) -> Pair {
        let host = Arc::new(host.clone());
        Pair {
            sender: Connection::opener(&host, Span::ZERO),
            receiver: Connection::listener(&host, Span::ZERO),
            now: Time::ZERO,
            delay: Span::from_millis(50),
            wire: Vec::new(),
            sent: 0,
            loses: Box::new(loses),
            acks: Vec::new(),
            data: Vec::new(),
        }
    }

    fn drain(&mut self) {
        while let Some(segment) = self.sender.poll(self.now) {
            self.data.push((self.now, segment.seq / 960));
            if !(self.loses)(self.data.len() as u64 - 1, &segment) {
                // Data goes out one packet each 100 µs, so that arrivals are in order and apart.
                self.sent += 1;
                let arrival = self.now + self.delay + Span(self.sent * 1000);
                self.wire.push((arrival, self.sent, true, segment));
            }
        }
        while let Some(segment) = self.receiver.poll(self.now) {
            self.sent += 1;
            self.wire.push((self.now + self.delay, self.sent, false, segment));
        }
    }

    /// Runs until `until`, or until nothing more can happen.
    fn run(&mut self, until: Time) {
        self.drain();
        loop {
            let next = self.wire.iter().enumerate().min_by_key(|(_, (at, order, ..))| (*at, *order));
            let arrival = next.map_or(Time::NEVER, |(_, (at, ..))| *at);
            let timers = [self.sender.next_timer(), self.receiver.next_timer()];
            let timer = timers.into_iter().flatten().min().unwrap_or(Time::NEVER);
            if arrival.min(timer) > until {
                return;
            }
            if arrival <= timer {
                let (at, _, to_receiver, segment) = self.wire.remove(next.unwrap().0);
                self.now = at;
                if to_receiver {
                    self.receiver.on_segment(&segment, false, at);
                } else {
                    self.acks.push((at, segment.ack / 960));
                    self.sender.on_segment(&segment, false, at);
                }
            } else {
                self.now = timer;
                self.sender.on_timer(timer);
                self.receiver.on_timer(timer);
            }
            self.drain();
        }
    }
}

#[test]
fn slow_start_doubles_each_round_trip() {
    let mut pair = Pair::new(&host(), |_, _| false);
    pair.sender.write(u64::MAX);
    pair.run(Time(299_000_000));
    let in_round = |n: u64| pair.data.iter().filter(|(at, _)| at.0 / 100_000_000 == n).count();
    assert_eq!((in_round(0), in_round(1), in_round(2)), (2, 4, 8));
}

#[test]
fn one_loss_is_recovered_without_a_timeout() {
    let mut pair = Pair::new(&host(), |k, _| k == 10);
    pair.sender.write(200 * 960);
    pair.run(Time(20_000_000_000));
    let counters = pair.sender.counters();
    assert_eq!((counters.fast_retransmits, counters.retransmissions, counters.timeouts), (1, 1, 0));
    assert_eq!(pair.receiver.received(), 200 * 960);
}

#[test]
fn two_losses_in_a_window_defeat_renos_fast_recovery() {
    // The partial acknowledgement deflates the window; too few duplicates follow for a second fast retransmit.
    let mut pair = Pair::new(&host(), |k, _| k == 8 || k == 10);
    pair.sender.write(200 * 960);
    pair.run(Time(60_000_000_000));
    let counters = pair.sender.counters();
    assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 1));
    assert_eq!(pair.receiver.received(), 200 * 960);
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    let mut pair = Pair::new(&host(), |k, _| k == 1);
    pair.sender.write(2 * 960);
    pair.run(Time(60_000_000_000));
    assert_eq!(pair.sender.counters().timeouts, 1);
    assert_eq!(pair.receiver.received(), 2 * 960);
    // The first packet gave a sample of 100 ms, 10 ticks: the timeout is 300 ms after its acknowledgement at 100.001 ms.
    assert_eq!(pair.data[2], (Time(400_001_000), 1));
}

#[test]
fn limited_transmit_sends_new_data_for_two_duplicates() {
    let after_loss = |limited_transmit| {
        let mut pair = Pair::new(&Host { limited_transmit, ..host() }, |k, _| k == 2);
        pair.sender.write(u64::MAX);
        pair.run(Time(205_000_000));
        pair.data.iter().filter(|(at, _)| at.0 >= 200_000_000).map(|(_, n)| *n).collect::<Vec<_>>()
    };
    // Packets 2–5 go out in the second round and 2 is lost: three duplicates come back.
    assert_eq!(after_loss(true)[..3], [6, 7, 2]);
    assert_eq!(after_loss(false)[0], 2);
}

#[test]
fn the_receivers_window_bounds_what_is_under_way() {
    let host = Host { window: 5 * 960, ..host() };
    let mut pair = Pair::new(&host, |_, _| false);
    pair.sender.write(u64::MAX);
    pair.run(Time(2_000_000_000));
    let (sent, acked) = (pair.data.last().unwrap().1 + 1, pair.acks.last().unwrap().1);
    assert!(sent - acked <= 5);
    assert!(pair.sender.cwnd() > 5.0);
}

#[test]
fn data_flows_both_ways_with_acknowledgements_on_board() {
    let mut pair = Pair::new(&host(), |_, _| false);
    pair.sender.write(50 * 960);
    pair.receiver.write(30 * 960);
    pair.run(Time(20_000_000_000));
    assert_eq!((pair.receiver.received(), pair.sender.received()), (50 * 960, 30 * 960));
}

#[test]
fn closing_before_writing_opens_nothing() {
    for handshake in [true, false] {
        let mut pair = Pair::new(&Host { handshake, closing: true, ..host() }, |_, _| false);
        pair.sender.close();
        if handshake {
            pair.sender.write(960);
        }
        pair.run(Time(60_000_000_000));
        // Without a handshake the connection is open from the start, and has an end to announce.
        assert_eq!(pair.data.is_empty(), handshake);
        assert!(pair.sender.done() && pair.sender.closed());
        assert_eq!((pair.receiver.closed(), pair.sender.next_timer()), (!handshake, None));
    }
}

fn any_algorithm() -> impl Strategy<Value = Algorithm> {
    proptest::sample::select(Algorithm::of(ProfileName::Ns2).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is lost, as long as something gets through, the whole stream arrives and both ends close.
    #[test]
    fn everything_arrives_in_the_end(
        algorithm in any_algorithm(), handshake in any::<bool>(), delayed in any::<bool>(),
        bytes in 1u64..60_000, lost in proptest::collection::vec(any::<bool>(), 80),
    ) {
        let delayed_ack = if delayed { Span::from_millis(100) } else { Span::ZERO };
        let host = Host { algorithm, handshake, delayed_ack, closing: true, ..host() };
        let mut pair = Pair::new(&host, move |k, _| lost.get(k as usize).copied().unwrap_or(false));
        pair.sender.write(bytes);
        pair.sender.close();
        pair.run(Time(40_000_000_000_000));
        prop_assert_eq!(pair.receiver.received(), bytes);
        prop_assert!(pair.sender.closed() && pair.receiver.closed());
        prop_assert_eq!((pair.sender.next_timer(), pair.receiver.next_timer()), (None, None));
    }

    /// No input makes an end panic.
    #[test]
    fn any_segments_in_any_order(
        algorithm in any_algorithm(),
        segments in proptest::collection::vec((0u64..100_000, 0u32..3000, 0u64..100_000), 0..200),
    ) {
        let host = Host { algorithm, ecn: true, closing: true, delayed_ack: Span::from_millis(40), ..host() };
        let mut end = Connection::established(&Arc::new(host), Span(3));
        end.write(70_000);
        end.close();
        for (at, (seq, len, ack)) in segments.into_iter().enumerate() {
            let now = Time(at as u64 * 30_000_000);
            end.on_timer(now);
            let flags = [(7, Flags::FIN), (11, Flags::SYN), (5, Flags::ECE), (3, Flags::CWR)];
            let flags = flags.iter().fold(Flags::ACK, |all, &(n, flag)| all.with_if(seq % n == 0, flag));
            let mut segment = Segment { seq, ack, len, flags, ..Segment::default() };
            (0..seq % 4).for_each(|n| segment.report((ack + n * 3000, ack + n * 3000 + u64::from(len))));
            end.on_segment(&segment, ack % 3 == 0, now);
            while end.poll(now).is_some() {}
        }
    }
}
