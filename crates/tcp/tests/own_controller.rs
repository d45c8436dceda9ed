//! A congestion controller of one's own, on Linux's hosts and on the papers'.

use sluicegate_base::{Rate, Span, Time};
use sluicegate_tcp::cc::{Ack, CongestionControl, RateSample};
use sluicegate_tcp::{Algorithm, Connection, Host, ProfileName, Segment, TcpParams};
use std::sync::{Arc, Mutex};

/// Bytes of the stream in a segment of the profile.
fn mss(profile: ProfileName) -> u64 {
    Host::new(&TcpParams::of(profile)).mss.into()
}

/// What the controller was shown.
#[derive(Default)]
struct Seen {
    acks: usize,
    samples: Vec<(Time, RateSample)>,
    /// Acknowledgements that let no window grow, losses and marks, and timeouts.
    deliveries: usize,
    congestions: usize,
    timeouts: usize,
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
        let mut seen = self.seen.lock().unwrap();
        seen.acks += 1;
        seen.samples.extend(ack.rate.map(|rate| (ack.now, rate)));
    }
    fn on_congestion(&mut self, _window: f64, _least: f64) {
        self.seen.lock().unwrap().congestions += 1;
    }
    fn on_timeout(&mut self, _window: f64, _cut: bool) {
        self.seen.lock().unwrap().timeouts += 1;
    }
    fn set_cwnd(&mut self, _cwnd: f64) {}
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

fn toy(profile: ProfileName, cwnd: f64, pace: Option<Rate>, samples: bool) -> (Result<Host, String>, Arc<Mutex<Seen>>) {
    let seen = Arc::<Mutex<Seen>>::default();
    let shared = Arc::clone(&seen);
    let params = TcpParams { algorithm: Some(Algorithm::Sack), handshake: Some(false), ..TcpParams::of(profile) };
    let host = Host::new(&params);
    let host = Host { window: 1000 * u64::from(host.mss), ..host };
    let make = move |_: &Host| -> Box<dyn CongestionControl> {
        Box::new(Toy { cwnd, pace, samples, seen: Arc::clone(&shared) })
    };
    (host.with_controller("toy", Arc::new(make)), seen)
}

/// The same on a host that has what it asks for.
fn allowed(profile: ProfileName, cwnd: f64, pace: Option<Rate>, samples: bool) -> (Host, Arc<Mutex<Seen>>) {
    let (host, seen) = toy(profile, cwnd, pace, samples);
    (host.unwrap(), seen)
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
    let host = Arc::new(host.clone());
    let mut ends = [Connection::opener(&host, Span::ZERO), Connection::listener(&host, Span::ZERO)];
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

/// The window is the controller's on either kind of host: as much is under way as it says, and what is lost is repaired.
#[test]
fn one_controller_runs_on_both_kinds_of_hosts() {
    for profile in [ProfileName::Linux, ProfileName::Ns2, ProfileName::FreeBsd45] {
        let (host, seen) = allowed(profile, 30.0, None, false);
        // 30 segments each 40 ms and a bit more for sending and answering.
        let mss = mss(profile);
        let (sender, sent) = run(&host, &[(0, 3000 * mss)], FAST, &[500, 900, 901], 8000);
        assert!(sender.done() && sender.cwnd() == 30.0, "{profile:?}");
        let counters = sender.counters();
        assert!(counters.fast_retransmits >= 2 && counters.retransmissions >= 3, "{profile:?}: {counters:?}");
        let in_round = |ms| sent.iter().filter(|(at, _)| (ms..ms + 40).contains(&(at.0 / 1_000_000))).count();
        assert!(in_round(300) <= 30 && in_round(300) >= 28, "{profile:?}: {}", in_round(300));
        let seen = seen.lock().unwrap();
        assert!(seen.acks > 1000 && seen.congestions >= 2 && seen.timeouts == 0, "{profile:?}");
        assert!(seen.samples.is_empty(), "none was asked for");
    }
}

#[test]
fn the_papers_hosts_refuse_a_controller_that_asks_for_samples_or_a_pace() {
    for (pace, samples) in [(None, true), (Some(Rate(1000)), false)] {
        let told = toy(ProfileName::Ns2, 10.0, pace, samples).0.unwrap_err();
        let has = "rate samples and a pace, which only Linux's hosts have";
        assert_eq!(told, format!("controller \"toy\" wants {has}: use profile linux, not ns2"));
        assert!(toy(ProfileName::Linux, 10.0, pace, samples).0.is_ok());
    }
}

/// Bursts of Linux are of several segments, so that it holds on the average.
#[test]
fn a_paced_sender_sends_at_its_rate() {
    let (host, _) = allowed(ProfileName::Linux, 500.0, Some(Rate(7_000_000)), false);
    let (_, sent) = run(&host, GREEDY, FAST, &[1000], 5000);
    let rate = |from: u64, to: u64| {
        let within: Vec<_> = sent.iter().filter(|(at, _)| (from..to).contains(&(at.0 / 1_000_000))).collect();
        let time = within[within.len() - 1].0.since(within[0].0).as_secs();
        8.0 * mss(ProfileName::Linux) as f64 * (within.len() - 1) as f64 / time
    };
    for second in 1..4 {
        let rate = rate(1000 * second, 1000 * (second + 1));
        assert!((rate / 7e6 - 1.0).abs() < 0.005, "{second}: {rate}");
    }
}

/// Linux lets the packet after a late one follow sooner, by half a gap (tcp_update_skb_after_send).
#[test]
fn retransmissions_keep_the_pace_and_a_pause_is_not_made_up_for() {
    let mss = mss(ProfileName::Linux);
    let gap = Span::from_millis(10);
    let (host, _) = allowed(ProfileName::Linux, 500.0, Some(Rate(8 * mss * 100)), false);
    let host = Host { gso: false, ..host };
    let writes = [(0, 100 * mss), (3000, 50 * mss)];
    let (sender, sent) = run(&host, &writes, FAST, &[30, 40, 41], 6000);
    assert!(sender.done() && sender.counters().retransmissions >= 3);
    // Ten segments go out before the first is paced.
    let gaps: Vec<Span> = sent[9..].windows(2).map(|two| two[1].0.since(two[0].0)).collect();
    let least = |before: Span| if before > gap { Span(gap.0 / 2) } else { gap };
    assert!(gaps.windows(2).all(|two| two[1] >= least(two[0])), "{gaps:?}");
    assert_eq!(gaps.iter().filter(|each| **each < gap).count(), 2, "after the first round trip, and after the pause");
}

/// After a timeout much is sent again that has arrived.
#[test]
fn no_round_trip_is_shorter_than_the_path() {
    let lost: Vec<usize> = (120..200).step_by(2).collect();
    let (host, seen) = allowed(ProfileName::Linux, 50.0, None, true);
    let (sender, _) = run(&host, GREEDY, Rate(1_448_000), &lost, 9000);
    let seen = seen.lock().unwrap();
    let shortest = seen.samples.iter().filter_map(|(_, sample)| sample.rtt).min();
    assert!(shortest >= Some(Span::from_millis(48)), "{shortest:?}");
    assert!(
        sender.counters().retransmissions >= 40 && seen.deliveries > 40,
        "{:?} {}",
        sender.counters(),
        seen.deliveries
    );
}

#[test]
fn samples_of_a_steady_flow_are_the_rate_of_the_bottleneck() {
    // A window of 50 segments over a path of 4 keeps the link busy.
    let (host, seen) = allowed(ProfileName::Linux, 50.0, None, true);
    run(&host, GREEDY, Rate(1_448_000), &[], 4000);
    let seen = seen.lock().unwrap();
    let steady: Vec<_> = seen.samples.iter().filter(|(at, _)| at.0 > 1_000_000_000).collect();
    assert!(steady.len() > 150);
    for (_, sample) in steady {
        assert!(!sample.is_app_limited && sample.total_delivered - sample.prior_delivered == sample.delivered);
        // The acknowledgement of one segment of the fifty may wait for the next.
        assert!((1_448_000 * 49 / 50..=1_448_000).contains(&sample.rate().0), "{sample:?}");
    }
}

/// What arrives out of order counts at once, so that the rate is known through recoveries, too.
#[test]
fn losses_do_not_raise_a_sample_above_the_rate_of_the_bottleneck() {
    let (host, seen) = allowed(ProfileName::Linux, 50.0, None, true);
    let (sender, _) = run(&host, GREEDY, Rate(1_448_000), &[120, 121, 125, 200, 320], 6000);
    assert!(sender.counters().fast_retransmits >= 3);
    let seen = seen.lock().unwrap();
    let fastest = seen.samples.iter().map(|(_, sample)| sample.rate().0).max().unwrap();
    assert!((1_440_000..1_470_000).contains(&fastest), "{fastest}");
    assert!(seen.deliveries > 50, "{}", seen.deliveries);
}

#[test]
fn samples_of_an_application_with_little_to_send_say_so() {
    let (host, seen) = allowed(ProfileName::Linux, 50.0, None, true);
    // Two segments each 100 ms, then without end.
    let mut writes: Vec<_> = (0..20).map(|n| (n * 100, 2 * mss(ProfileName::Linux))).collect();
    writes.push((2000, u64::MAX));
    run(&host, &writes, Rate(1_448_000), &[], 5000);
    let seen = seen.lock().unwrap();
    let limited = |from: u64, to: u64| -> Vec<bool> {
        let within = seen.samples.iter().filter(|(at, _)| (from..to).contains(&(at.0 / 1_000_000)));
        within.map(|(_, sample)| sample.is_app_limited).collect()
    };
    assert!(limited(150, 2000).len() > 15 && limited(150, 2000).iter().all(|&limited| limited));
    assert!(limited(3000, 5000).len() > 100 && limited(3000, 5000).iter().all(|&limited| !limited));
}

#[test]
fn hosts_are_equal_if_they_share_the_controller() {
    let [host, other] = [(); 2].map(|()| allowed(ProfileName::Linux, 1.0, None, false).0);
    assert!(host == host.clone() && host != other && format!("{host:?}").contains("toy"));
}
