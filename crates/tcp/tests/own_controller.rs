//! A congestion controller of one's own: the pace of what is sent, samples of the delivery rate, and what it is shown.

use sluicegate_base::{Rate, Span, Time};
use sluicegate_tcp::cc::{Ack, CongestionControl, RateSample, Sent};
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, ProfileName, Segment, TcpParams};
use std::sync::{Arc, Mutex};

const MSS: u64 = 960;

/// What the controller was shown.
#[derive(Default)]
struct Seen {
    sent: Vec<Sent>,
    samples: Vec<(Time, RateSample)>,
    /// Of those the ones that let no window grow.
    deliveries: usize,
}

/// A window and a pace that nothing changes.
struct Toy {
    cwnd: f64,
    pace: Option<Rate>,
    samples: bool,
    seen: Arc<Mutex<Seen>>,
}

impl CongestionControl for Toy {
    fn cwnd(&self) -> f64 {
        self.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.cwnd
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.seen.lock().unwrap().samples.extend(ack.rate.map(|rate| (ack.now, rate)));
    }
    fn on_congestion(&mut self, _window: f64, _least: f64) {}
    fn on_timeout(&mut self, _window: f64, _cut: bool) {}
    fn set_cwnd(&mut self, _cwnd: f64) {}
    fn on_sent(&mut self, sent: &Sent) {
        self.seen.lock().unwrap().sent.push(*sent);
    }
    fn on_delivery(&mut self, ack: &Ack) {
        self.on_ack(ack);
        self.seen.lock().unwrap().deliveries += 1;
    }
    fn wants_rate_samples(&self) -> bool {
        self.samples
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pace
    }
}

fn toy(algorithm: Algorithm, cwnd: f64, pace: Option<Rate>, samples: bool) -> (Host, Arc<Mutex<Seen>>) {
    let params = TcpParams::of(ProfileName::Ns2);
    let seen = Arc::<Mutex<Seen>>::default();
    let shared = Arc::clone(&seen);
    let host = Host { algorithm, window: 1000 * MSS, handshake: false, ..Host::new(&params) };
    let make = move |_: &Host| -> Box<dyn CongestionControl> {
        Box::new(Toy { cwnd, pace, samples, seen: Arc::clone(&shared) })
    };
    (host.with_controller("toy", Arc::new(make)), seen)
}

/// Runs a sender over a link of so many bits of the stream per second, 20 ms each way, that loses the k-th segments.
/// Times and first bytes of what it sent.
fn run(
    host: &Host,
    writes: &[(u64, u64)],
    link: Rate,
    lost: &[usize],
    until_ms: u64,
) -> (Connection, Vec<(Time, u64)>) {
    let mut ends = [Connection::opener(host, Span::ZERO), Connection::listener(host, Span::ZERO)];
    let mut wire: Vec<(Time, usize, usize, Segment)> = Vec::new();
    let (mut writes, mut free, mut sent) = (writes.iter().peekable(), Time::ZERO, Vec::new());
    loop {
        let write = writes.peek().map(|&&(ms, _)| Time::ZERO + Span::from_millis(ms));
        let arrival = wire.iter().map(|&(at, ..)| at).min();
        let timer = ends.iter().filter_map(Connection::next_timer).min();
        let now = [write, arrival, timer].into_iter().flatten().min().unwrap_or(Time::NEVER);
        if now > Time::ZERO + Span::from_millis(until_ms) {
            let [sender, _] = ends;
            return (sender, sent);
        }
        if write == Some(now) {
            ends[0].write(writes.next().unwrap().1);
        } else if arrival == Some(now) {
            let next = wire.iter().enumerate().min_by_key(|(_, (at, order, ..))| (*at, *order)).unwrap().0;
            let (_, _, to, segment) = wire.remove(next);
            ends[to].on_segment(&segment, false, now);
        } else {
            ends.iter_mut().for_each(|end| end.on_timer(now));
        }
        while let Some(segment) = ends[0].poll(now) {
            sent.push((now, segment.seq));
            if !lost.contains(&(sent.len() - 1)) {
                free = free.max(now) + link.time_of(u64::from(segment.len));
                wire.push((free + Span::from_millis(20), sent.len(), 1, segment));
            }
        }
        while let Some(segment) = ends[1].poll(now) {
            wire.push((now + Span::from_millis(20), sent.len(), 0, segment));
        }
    }
}

const FAST: Rate = Rate(1_000_000_000);
const GREEDY: &[(u64, u64)] = &[(0, u64::MAX)];

#[test]
fn a_paced_sender_sends_at_its_rate_exactly() {
    // 960 bytes at 7 Mbit/s take 1,097,142 6/7 ns.
    let (host, _) = toy(Algorithm::NewReno, 500.0, Some(Rate(7_000_000)), false);
    let (_, sent) = run(&host, GREEDY, FAST, &[], 4000);
    assert!(sent.len() > 3600);
    for (k, &(at, seq)) in sent.iter().enumerate() {
        assert_eq!((at.0, seq), (k as u64 * MSS * 8_000 / 7, k as u64 * MSS));
    }
}

#[test]
fn retransmissions_keep_the_pace_and_a_pause_is_not_made_up_for() {
    for algorithm in [Algorithm::NewReno, Algorithm::Sack, Algorithm::Tahoe] {
        let (host, _) = toy(algorithm, 500.0, Some(Rate(960_000)), false);
        // 100 segments of 8 ms each, and after a pause 50 more.
        let writes = [(0, 100 * MSS), (3000, 50 * MSS)];
        let (sender, sent) = run(&host, &writes, FAST, &[30, 40, 41], 6000);
        assert!(sender.done() && sender.counters().retransmissions >= 3, "{algorithm:?}");
        assert!(sent.windows(2).all(|two| two[1].0.since(two[0].0) >= Span::from_millis(8)), "{algorithm:?}");
    }
}

#[test]
fn samples_of_a_steady_flow_are_the_rate_of_the_bottleneck() {
    // A window of 50 segments over a path of 5 and a bit keeps the link busy.
    let (host, seen) = toy(Algorithm::NewReno, 50.0, None, true);
    run(&host, GREEDY, Rate(960_000), &[], 4000);
    let seen = seen.lock().unwrap();
    let steady: Vec<_> = seen.samples.iter().filter(|(at, _)| at.0 > 1_000_000_000).collect();
    assert!(steady.len() > 300);
    for (_, sample) in steady {
        assert_eq!((sample.rate(), sample.delivered, sample.is_app_limited), (Rate(960_000), 50 * MSS, false));
        // The queue holds the rest of the window: a round trip is what the link takes for it.
        assert_eq!((sample.rtt, sample.newly_delivered), (Some(Span::from_millis(400)), MSS));
        assert_eq!(sample.total_delivered - sample.prior_delivered, sample.delivered);
    }
}

/// What arrives out of order counts at once, so that the rate is known through recoveries, too.
#[test]
fn losses_do_not_raise_a_sample_above_the_rate_of_the_bottleneck() {
    for algorithm in [Algorithm::NewReno, Algorithm::Sack] {
        let (host, seen) = toy(algorithm, 50.0, None, true);
        let (sender, _) = run(&host, GREEDY, Rate(960_000), &[120, 121, 125, 200, 320], 6000);
        assert!(sender.counters().fast_retransmits >= 3);
        let seen = seen.lock().unwrap();
        let fastest = seen.samples.iter().map(|(_, sample)| sample.rate()).max();
        assert_eq!(fastest, Some(Rate(960_000)), "{algorithm:?}");
        assert!(seen.deliveries > 100, "{algorithm:?}: {}", seen.deliveries);
        let last = seen.samples.last().unwrap().1;
        assert!(last.rate() > Rate(950_000), "{algorithm:?}: {last:?}");
    }
}

/// After a timeout much is sent again that has arrived. Without SACK its duplicate acknowledgements do not say what they are
/// of, which may be a segment that has just left.
#[test]
fn no_round_trip_is_shorter_than_the_path() {
    let lost: Vec<usize> = (120..200).step_by(2).collect();
    for algorithm in [Algorithm::NewReno, Algorithm::Sack, Algorithm::Tahoe] {
        let (host, seen) = toy(algorithm, 50.0, None, true);
        let (sender, _) = run(&host, GREEDY, Rate(960_000), &lost, 9000);
        let seen = seen.lock().unwrap();
        let shortest = seen.samples.iter().filter_map(|(_, sample)| sample.rtt).min();
        assert!(shortest >= Some(Span::from_millis(48)), "{algorithm:?}: {shortest:?}");
        assert!(sender.counters().retransmissions >= 40 && seen.deliveries > 40, "{algorithm:?}");
    }
}

#[test]
fn samples_of_an_application_with_little_to_send_say_so() {
    let (host, seen) = toy(Algorithm::NewReno, 50.0, None, true);
    // Two segments each 100 ms, then without end.
    let mut writes: Vec<_> = (0..20).map(|n| (n * 100, 2 * MSS)).collect();
    writes.push((2000, u64::MAX));
    run(&host, &writes, Rate(960_000), &[], 5000);
    let seen = seen.lock().unwrap();
    let limited = |from: u64, to: u64| -> Vec<bool> {
        let within = seen.samples.iter().filter(|(at, _)| (from..to).contains(&(at.0 / 1_000_000)));
        within.map(|(_, sample)| sample.is_app_limited).collect()
    };
    assert!(limited(150, 2000).len() > 30 && limited(150, 2000).iter().all(|&limited| limited));
    assert!(limited(3000, 5000).len() > 200 && limited(3000, 5000).iter().all(|&limited| !limited));
}

#[test]
fn every_segment_sent_is_shown() {
    let (host, seen) = toy(Algorithm::Sack, 30.0, None, false);
    let (sender, sent) = run(&host, GREEDY, Rate(960_000), &[50, 90, 91], 3000);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.sent.len() as u64, sender.counters().segments);
    assert_eq!(seen.sent.iter().filter(|sent| sent.retransmission).count() as u64, sender.counters().retransmissions);
    assert!(seen.sent.iter().zip(&sent).all(|(shown, &(at, _))| shown.now == at && u64::from(shown.bytes) == MSS));
    assert!((1..=30).all(|n| seen.sent[n - 1].in_flight == n as u64 * MSS), "the first window");
    assert!(seen.samples.is_empty(), "none was asked for");
}

#[test]
fn hosts_are_equal_if_they_share_the_controller() {
    let (host, _) = toy(Algorithm::NewReno, 1.0, None, false);
    let (other, _) = toy(Algorithm::NewReno, 1.0, None, false);
    assert!(host == host.clone() && host != other && format!("{host:?}").contains("toy"));
}

/// Whose window lets out twenty segments, one in every 9.6 ms.
struct Paced;

impl CongestionControl for Paced {
    fn cwnd(&self) -> f64 {
        20.0
    }
    fn ssthresh(&self) -> f64 {
        1e9
    }
    fn on_ack(&mut self, _ack: &Ack) {}
    fn on_congestion(&mut self, _window: f64, _least: f64) {}
    fn on_timeout(&mut self, _window: f64, _cut: bool) {}
    fn set_cwnd(&mut self, _cwnd: f64) {}
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate(800_000))
    }
}

#[test]
fn one_duplicate_acknowledgement_does_not_take_back_what_waits_for_its_pace() {
    for algorithm in [Algorithm::Reno, Algorithm::NewReno, Algorithm::Sack] {
        for limited_transmit in [false, true] {
            let mut host = Host::new(&TcpParams::of(ProfileName::Ns2));
            (host.algorithm, host.window, host.limited_transmit) = (algorithm, 1_000_000, limited_transmit);
            let host = host.with_controller("paced", Arc::new(|_: &Host| Box::new(Paced)));
            let mut connection = Connection::established(&host, Span::ZERO);
            connection.write(u64::MAX);
            let (mut times, mut now) = (Vec::new(), Time::ZERO);
            for round in 0..10 {
                while connection.poll(now).is_some() {
                    times.push(now.0);
                }
                if round == 4 {
                    connection.on_segment(&Segment { flags: Flags::ACK, ..Segment::default() }, false, now + Span(1));
                    assert_eq!(connection.poll(now + Span(1)), None);
                }
                now = connection.next_timer().unwrap();
                connection.on_timer(now);
            }
            assert_eq!(times, (0..10).map(|k| k * 9_600_000).collect::<Vec<u64>>(), "{algorithm:?} {limited_transmit}");
        }
    }
}
