//! # TELNET
//!
//! A person types: a TCP connection that writes a short message at random times. The first message opens the connection.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | RED 1993: "a few TELNET connections", no more | gaps by one of two laws, each named and sourced below | the choice is the user's |
//! | ns-2, `Application/Telnet`: exponential gaps with the mean `interval_`, 1 s | the same law with a mean of 1.1 s | the mean of the exponential law that Paxson & Floyd (1995) set beside the measured gaps |
//! | ns-2 with `interval_` 0: Tcplib's table of gaps (Danzig & Jamin 1991) | Pareto's law as Paxson & Floyd fit it to that table: shape 0.9, and 0.95 for the longest 3 % | the table is data of others; the fit is two numbers |
//! | Paxson & Floyd: over 15 % of gaps exceed 1 s; laws of these shapes have no mean | the least gap is 0.12 s, which leaves 15 % above 1 s, and none is above 150 s, which makes the mean 1.1 s | chosen here, so that share and mean are theirs |
//! | ns-2 sends a full packet for each message | `message_size` bytes and the headers | a keystroke is one byte |
//! | the other end echoes what is typed | it only acknowledges | RED 1993 counts the packets of one direction |
//! | TELNET clients may wait for acknowledgements (Nagle's algorithm) | every message goes at once, as far as the window allows | gaps are far above most round trips |

use sluicegate_base::{About, Declared, Range, Size, Span, Stream, choices, params};

choices! {
    /// How the gaps between messages are distributed.
    pub enum Gaps {
        /// Exponentially.
        Exponential = "exponential",
        /// By Pareto's law, with a shape of its own for the tail.
        Pareto = "pareto",
    }
}

params! {
    /// Parameters of a TELNET session.
    pub struct TelnetParams {
        /// Length of each message, headers not counted.
        message_size: Size = default(Size::Bytes(1)), unit("B"), range(Range::from(1.0).to(1e6)),
            source("a keystroke");
        /// How many messages each session sends before it ends.
        messages: Option<u64> = optional("until it stops"), range(Range::from(1.0)), source("RED 1993, Sec. VIII: from 20 to 400 packets");
        /// How the gaps between messages are distributed.
        distribution: Gaps = default(Gaps::Exponential), source("ns-2, Application/Telnet; Paxson & Floyd 1995");
        /// Mean gap between messages, of the exponential law.
        interval: Span = default(Span::from_millis(1100)), range(Range::POSITIVE), source("Paxson & Floyd 1995");
        /// Shape of Pareto's law.
        shape: f64 = default(0.9), unit("1"), range(Range::from(0.1).to(100.0)), source("Paxson & Floyd 1995");
        /// Shape of Pareto's law for the longest 3 % of the gaps.
        tail_shape: f64 = default(0.95), unit("1"), range(Range::from(0.1).to(100.0)), source("Paxson & Floyd 1995");
        /// Least gap of Pareto's law.
        shortest: Span = default(Span::from_millis(120)), range(Range::POSITIVE),
            source("chosen here: 15 % of the gaps exceed 1 s");
        /// Longest gap of Pareto's law.
        longest: Span = default(Span::from_secs(150)), range(Range::POSITIVE), source("chosen here: the mean is 1.1 s");
    }
    rules {
        "message_size is in bytes" [message_size] |p| matches!(p.message_size, Size::Bytes(_));
        "shortest < longest" [shortest, longest] |p| p.shortest < p.longest;
    }
}

/// The TELNET session.
pub struct Telnet;

impl Declared for Telnet {
    type Params = TelnetParams;
    const ABOUT: About = About {
        name: "telnet",
        class: "Telnet",
        title: "TELNET session",
        source: "RED 1993, Sec. VIII; ns-2, Application/Telnet; Paxson & Floyd 1995",
        tc: "",
        module: include_str!("telnet.rs"),
    };
}

impl TelnetParams {
    /// The bytes of each message.
    #[must_use]
    pub fn message(&self) -> u64 {
        super::bytes(self.message_size)
    }

    /// The bytes of all messages; none for a session without end.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.messages.map(|messages| messages.saturating_mul(self.message()))
    }
}

/// The share of gaps that Pareto's tail takes.
const TAIL: f64 = 0.03;

/// What is typed, and when.
pub struct Typing {
    params: TelnetParams,
    /// Messages still to come.
    left: u64,
    rng: Stream,
}

impl Typing {
    /// The session with this random stream.
    #[must_use]
    pub fn new(params: &TelnetParams, rng: Stream) -> Typing {
        Typing { params: params.clone(), left: params.messages.unwrap_or(u64::MAX), rng }
    }

    /// The next message's bytes, and the gap after it; none after the last.
    pub fn message(&mut self) -> (u64, Option<Span>) {
        self.left = self.left.saturating_sub(1);
        let gap = (self.left > 0).then(|| self.gap());
        (self.params.message(), gap)
    }

    fn gap(&mut self) -> Span {
        let p = &self.params;
        match p.distribution {
            Gaps::Exponential => p.interval.scaled(self.rng.exponential()),
            Gaps::Pareto => {
                // The inverse of the law, between the probabilities of the longest gap and of any.
                let least = exceeded(p, p.longest.0 as f64);
                let u = least + (1.0 - least) * (1.0 - self.rng.uniform());
                Span((inverse(p, u) + 0.5) as u64).min(p.longest)
            }
        }
    }
}

/// Where the tail begins.
fn knee(p: &TelnetParams) -> f64 {
    p.shortest.0 as f64 * libm::pow(TAIL, -1.0 / p.shape)
}

/// The probability of a longer gap than this many nanoseconds, were there no longest.
fn exceeded(p: &TelnetParams, gap: f64) -> f64 {
    let knee = knee(p);
    if gap <= knee { libm::pow(p.shortest.0 as f64 / gap, p.shape) } else { TAIL * libm::pow(knee / gap, p.tail_shape) }
}

/// The gap that is exceeded with this probability.
fn inverse(p: &TelnetParams, u: f64) -> f64 {
    if u >= TAIL {
        p.shortest.0 as f64 * libm::pow(u, -1.0 / p.shape)
    } else {
        knee(p) * libm::pow(u / TAIL, -1.0 / p.tail_shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::assert_law;
    use sluicegate_base::{Link, Params, Rate};

    fn params(distribution: Gaps) -> TelnetParams {
        let params = TelnetParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        TelnetParams { distribution, ..params }
    }

    fn gaps(params: &TelnetParams, n: usize) -> Vec<f64> {
        let mut typing = Typing::new(params, Stream::new(1, "flow/0/typing"));
        (0..n).map(|_| typing.message().1.unwrap().as_secs()).collect()
    }

    #[test]
    fn exponential_gaps_have_their_mean() {
        let above = |x: f64| (x, libm::exp(-x / 1.1));
        assert_law(&gaps(&params(Gaps::Exponential), 100_000), &[above(0.1), above(0.5), above(1.1), above(4.0)]);
    }

    /// 0.12 s · 0.03^(−1/0.9) = 5.9057 s begins the tail; 150 s is exceeded with 0.03 · (5.9057/150)^0.95 = 0.001388.
    #[test]
    fn paretos_gaps_have_one_shape_up_to_the_longest_3_per_cent_and_another_beyond() {
        let values = gaps(&params(Gaps::Pareto), 400_000);
        let cut = 0.001_388;
        let above = |x: f64, p: f64| (x, (p - cut) / (1.0 - cut));
        let law = [
            above(0.12, 1.0),
            above(0.25, 0.516_6),
            above(1.0, 0.148_3),
            above(5.905_66, 0.03),
            above(20.0, 0.009_416),
            above(60.0, 0.003_316),
        ];
        assert_law(&values, &law);
        assert!(values.iter().all(|gap| (0.12..=150.0).contains(gap)));
        // What was chosen to make it so; the standard error of this mean is 0.008 s.
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean - 1.11).abs() < 0.032, "{mean}");
    }

    #[test]
    fn a_session_ends_after_its_messages() {
        let params = TelnetParams { messages: Some(3), message_size: Size::Bytes(7), ..params(Gaps::Exponential) };
        let mut typing = Typing::new(&params, Stream::new(1, "flow/0/typing"));
        assert_eq!(params.bytes(), Some(21));
        let mut more = || {
            let (bytes, gap) = typing.message();
            (bytes, gap.is_some())
        };
        assert_eq!([more(), more(), more()], [(7, true), (7, true), (7, false)]);
    }
}
