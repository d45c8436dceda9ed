//! Whether the window grows while it is not what limits the sender, and what CUBIC makes of that time.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::ProfileName;
use sluicegate_tcp::params::CwndValidation;
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, Segment, TcpParams};

const MSS: u64 = 960;
const ROUND: Span = Span(100_000_000);

/// A sender whose receiver acknowledges each segment after a round trip of 100 ms.
struct Path {
    sender: Connection,
    now: Time,
    acked: u64,
}

impl Path {
    /// After a silence the window does not start anew.
    fn new(algorithm: Algorithm, validation: CwndValidation, initial_window: f64, initial_ssthresh: f64) -> Path {
        Path::restarting(f64::INFINITY, algorithm, validation, initial_window, initial_ssthresh)
    }

    fn restarting(
        restart_window: f64,
        algorithm: Algorithm,
        validation: CwndValidation,
        initial_window: f64,
        initial_ssthresh: f64,
    ) -> Path {
        let params = TcpParams::of(ProfileName::Ns2);
        let params = TcpParams { profile: ProfileName::Modern, cwnd_validation: Some(validation), ..params };
        let (mss, window) = (MSS as u32, 1 << 30);
        let host =
            Host { algorithm, initial_window, initial_ssthresh, mss, window, restart_window, ..Host::new(&params) };
        Path { sender: Connection::established(&host, Span::ZERO), now: Time::ZERO, acked: 0 }
    }

    /// A round trip in which the application writes so many segments; gives how many went out.
    fn round(&mut self, segments: u64) -> u64 {
        self.sender.write(segments * MSS);
        let sent = std::iter::from_fn(|| self.sender.poll(self.now)).count() as u64;
        self.now += ROUND;
        // What acknowledgements let out goes in the next round.
        for _ in 0..sent {
            self.acked += 1;
            let ack = Segment { ack: self.acked * MSS, flags: Flags::ACK, ..Segment::default() };
            self.sender.on_segment(&ack, false, self.now);
        }
        sent
    }

    /// The window after so many rounds of it.
    fn rounds(&mut self, n: usize, segments: u64) -> f64 {
        (0..n).for_each(|_| _ = self.round(segments));
        self.sender.cwnd()
    }
}

const ALL: u64 = 1000;

/// Linux, tcp_is_cwnd_limited: in congestion avoidance the window grows only when it was full.
#[test]
fn a_window_that_is_not_the_limit_does_not_grow_where_the_host_validates_it() {
    for algorithm in [Algorithm::Reno, Algorithm::NewReno, Algorithm::Sack, Algorithm::Cubic] {
        let mut path = Path::new(algorithm, CwndValidation::Linux, 20.0, 20.0);
        assert_eq!(path.rounds(50, 19), 20.0, "{algorithm:?}");
        assert!(path.rounds(1, 20) > 20.0, "{algorithm:?}: full");
        let mut path = Path::new(algorithm, CwndValidation::None, 20.0, 20.0);
        assert!(path.rounds(50, 19) > 40.0, "{algorithm:?}: as in ns-2 and BSD");
    }
}

/// In slow start half of it is enough: 10 segments of 10 give 20, then 10 of 20 are just not more than half.
#[test]
fn in_slow_start_half_of_the_window_lets_it_grow() {
    let mut path = Path::new(Algorithm::Sack, CwndValidation::Linux, 10.0, 1000.0);
    assert_eq!(path.rounds(1, 10), 20.0);
    assert_eq!(path.rounds(20, 10), 20.0);
    let mut path = Path::new(Algorithm::Sack, CwndValidation::Linux, 10.0, 1000.0);
    assert_eq!(path.rounds(1, 6), 12.0, "up to twice what was under way");
    let mut path = Path::new(Algorithm::Sack, CwndValidation::Linux, 10.0, 1000.0);
    assert_eq!(path.rounds(20, 5), 10.0);
}

/// A receiver that limits the sender is no reason to open the congestion window either.
#[test]
fn a_window_beyond_the_receivers_does_not_grow() {
    let params = TcpParams::of(ProfileName::Ns2);
    let params = TcpParams { profile: ProfileName::Modern, ..params };
    let host =
        Host { initial_window: 10.0, initial_ssthresh: 20.0, window: 25 * MSS, mss: MSS as u32, ..Host::new(&params) };
    let mut path = Path { sender: Connection::established(&host, Span::ZERO), now: Time::ZERO, acked: 0 };
    let window = path.rounds(300, ALL);
    assert!((25.0..27.0).contains(&window), "{window}");
}

/// RFC 9438, Sec. 4.2: time in which the window does not grow is no time of the epoch. After a minute of silence, or of an
/// application that writes a packet a round trip, the window goes on as if there had been none.
#[test]
fn cubic_counts_neither_silence_nor_a_slow_application() {
    let grown = |restart, pause: &dyn Fn(&mut Path)| {
        let mut path = Path::restarting(restart, Algorithm::Cubic, CwndValidation::Linux, 20.0, 20.0);
        path.rounds(5, ALL);
        // What is left of the last write goes out, so that nothing is under way.
        path.sender.stop();
        path.rounds(1, 0);
        pause(&mut path);
        path.rounds(12, ALL)
    };
    // 18 rounds in which the window grows by one, as Reno's: the cubic is slower for so short a time.
    let without = grown(f64::INFINITY, &|_| {});
    assert!((35.0..38.0).contains(&without), "{without}");
    for pause in [Span::from_millis(150), Span::from_secs(60)] {
        assert_eq!(grown(f64::INFINITY, &|path| path.now += pause), without, "{pause:?}");
    }
    assert_eq!(grown(f64::INFINITY, &|path| _ = path.rounds(600, 1)), without, "a slow application");
    // A round in which it doubles, then eleven in which it grows by one at the most.
    let restarted = grown(10.0, &|path| path.now += Span::from_secs(60));
    assert!((28.0..32.0).contains(&restarted), "{restarted}");
}
