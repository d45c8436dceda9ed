//! # General TCP connections
//!
//! Connections recorded on a link, or drawn from distributions. Each has a start, and says what its two ends send each
//! other and after which times, but not in which packets (a-b-t vectors: request, response, time). TCP does the rest.
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | DCN 2004, Sec. 4.1: vectors of an Internet2 link | a file of them, or connections drawn from distributions, which are keys with defaults chosen here | the measured ones are data of others |
//! | tmix: the initiator opens the connection | the same; what the acceptor sends crosses `path`, and what the initiator sends comes the other way | so responses go the same way as those of web users |
//! | ns-2, Tmix_DelayBox: each packet is lost with the probability that its direction has (`l`: initiator to acceptor, acceptor to initiator), wherever the box stands; `set-lossless` turns that off | the same, on the connection's own path, before the packet reaches the shared links; `lossless` turns it off | measured losses may hold those of the link that is studied: then they would count twice |
//! | tmix: windows and round trips of each connection | replayed where the vector has them, otherwise the group's; a round trip shorter than the links' delays is replaced by these delays | the file is what was measured |
//! | tmix: a unit is sent a given time after the unit before it was sent | that time after the first transmission of the last byte of the unit before it | the times were taken from packets |
//! | ns-2: if its vector gives no end, a connection ends a second after its last unit | it ends with its last unit | no data is sent in that second |
//! | one exchange is a unit of the initiator and the next of the acceptor | the same, in sequential connections. Concurrent connections have no exchanges, and units that an end sends without a request belong to none | only these are requests and responses |

use super::http::MOST_BYTES;
use super::way::Way;
use sluicegate_base::{About, Declared, Distribution, Measure, Range, Span, Stream, Time, params};
use sluicegate_tcp::Host;
use std::sync::Arc;

params! {
    /// Parameters of a group of connections; with a file of vectors, that file alone says what they do.
    pub struct ConnectionsParams {
        /// A file of connection vectors, in either format of tmix; its path is relative to the scenario's file, or
        /// absolute.
        vectors: Option<String> = optional("connections are drawn"), source("tmix, Weigle et al. 2006");
        /// Whether to ignore the losses in the vectors, so that the connections' own paths lose no packet.
        lossless: bool = default(false), source("ns-2, Tmix_DelayBox: set-lossless");
        /// How many connections begin in a second, at random times.
        arrivals: f64 = default(10.0), unit("connections/s"), range(Range::POSITIVE.to(1e6)), source("chosen here");
        /// How many exchanges a sequential connection has: a distribution of counts, rounded, at least one.
        exchanges: String = default("exponential(mean = 4)".into()), source("chosen here");
        /// Length of each request: a distribution of sizes.
        request_size: String = default("lognormal(median = 350 B, sigma = 1.5, high = 1 MB)".into()), source("chosen here");
        /// Length of each response: a distribution of sizes.
        response_size: String = default(super::http::RESPONSES_NAME.into()), source("chosen here: as web users'");
        /// How long the acceptor takes to answer: a distribution of times.
        answer_time: String = default("exponential(mean = 20 ms)".into()), source("chosen here");
        /// How long the initiator takes between a response and its next request: a distribution of times.
        think_time: String = default("lognormal(median = 300 ms, sigma = 1.5, high = 100 s)".into()), source("chosen here");
        /// The probability that a connection is concurrent: each end then sends as many units as `exchanges` says, without
        /// waiting for those of the other.
        concurrent: f64 = default(0.05), unit("1"), range(Range::from(0.0).to(1.0)), source("chosen here");
    }
    rules {
        "lossless goes with vectors" [lossless, vectors] |p| !p.lossless || p.vectors.is_some();
    }
}

/// The connections.
pub struct Connections;

impl Declared for Connections {
    type Params = ConnectionsParams;
    const ABOUT: About = About {
        name: "connections",
        class: "Connections",
        title: "General TCP connections",
        source: "DCN 2004, Sec. 4.1; tmix",
        tc: "",
        module: include_str!("connections.rs"),
    };
}

/// The ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that opens it.
    Initiator,
    /// The other.
    Acceptor,
}

/// What one end sends at once, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Who sends it.
    pub side: Side,
    /// How long after what it waits for.
    pub wait: Span,
    /// Whether it waits for the other end's last unit to come; otherwise for its own last unit to go.
    pub answers: bool,
    /// Its bytes; none for the end of the stream.
    pub bytes: u32,
}

/// One connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// What its file calls it.
    pub id: u64,
    /// When it begins, after the start of its group.
    pub start: Time,
    /// Whether its ends send independently of each other.
    pub concurrent: bool,
    /// The windows of initiator and acceptor in bytes, where they are known.
    pub windows: Option<[u32; 2]>,
    /// The most bytes in a segment of initiator and acceptor, where they are known.
    pub segments: Option<[u32; 2]>,
    /// Its least round trip, where it is known.
    pub round_trip: Option<Span>,
    /// The shares of packets of initiator and acceptor that were lost, in millionths, where they are known.
    pub losses: Option<[u32; 2]>,
    /// What its ends send, in the order of the file.
    pub units: Vec<Unit>,
}

/// How connections are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Distributions {
    arrivals: f64,
    exchanges: Distribution,
    request_size: Distribution,
    response_size: Distribution,
    answer_time: Distribution,
    think_time: Distribution,
    concurrent: f64,
}

/// Where a group's connections come from.
#[derive(Clone, Debug)]
pub enum Vectors {
    /// These, in the order of their starts.
    Given(Arc<[Arc<Vector>]>),
    /// Drawn by these laws.
    Drawn(Distributions),
}

/// A group of connections, ready to run.
#[derive(Clone, Debug)]
pub struct ConnectionsPlan {
    /// The hosts at both ends, but for what vectors say.
    pub host: Arc<Host>,
    /// Where the connections come from.
    pub vectors: Vectors,
    /// Their way to the shared links.
    pub way: Way,
    /// Whether their exchanges are kept one by one.
    pub keep: bool,
}

impl ConnectionsParams {
    /// The laws, read. The error is the key and the rule that it breaks.
    pub fn distributions(&self) -> Result<Distributions, (&'static str, String)> {
        let distribution = |key, text: &str, measure| {
            Distribution::parse(super::http::named(text), measure).map_err(|rule| (key, rule))
        };
        Ok(Distributions {
            arrivals: self.arrivals,
            exchanges: distribution("exchanges", &self.exchanges, Measure::Count)?,
            request_size: distribution("request_size", &self.request_size, Measure::Bytes)?,
            response_size: distribution("response_size", &self.response_size, Measure::Bytes)?,
            answer_time: distribution("answer_time", &self.answer_time, Measure::Seconds)?,
            think_time: distribution("think_time", &self.think_time, Measure::Seconds)?,
            concurrent: self.concurrent,
        })
    }
}

/// The most exchanges of a drawn connection.
const MOST_EXCHANGES: f64 = 1000.0;

/// Connections one after another: a group's, whatever becomes of them.
#[derive(Clone, Debug)]
pub struct Arrivals {
    vectors: Vectors,
    rng: Stream,
    /// The number of the next, and when the last one began.
    next: u64,
    time: Time,
}

impl Arrivals {
    /// Those of the group that is flow number `flow`.
    #[must_use]
    pub fn new(vectors: Vectors, seed: u64, flow: usize) -> Arrivals {
        let rng = Stream::new(seed, &format!("flow/{flow}/connections"));
        Arrivals { vectors, rng, next: 0, time: Time::ZERO }
    }
}

impl Iterator for Arrivals {
    type Item = Arc<Vector>;

    fn next(&mut self) -> Option<Arc<Vector>> {
        let at = self.next;
        self.next += 1;
        match &self.vectors {
            Vectors::Given(all) => all.get(usize::try_from(at).ok()?).cloned(),
            Vectors::Drawn(laws) => {
                self.time += Span::from_secs_f64(self.rng.exponential() / laws.arrivals);
                Some(Arc::new(laws.draw(at, self.time, &mut self.rng)))
            }
        }
    }
}

impl Distributions {
    fn draw(&self, id: u64, start: Time, rng: &mut Stream) -> Vector {
        let concurrent = rng.chance(self.concurrent);
        let exchanges = (self.exchanges.draw(rng) + 0.5).clamp(1.0, MOST_EXCHANGES) as usize;
        let bytes = |distribution: &Distribution, rng: &mut Stream| {
            (distribution.draw(rng) + 0.5).clamp(1.0, MOST_BYTES) as u32
        };
        // Whole microseconds, as files have them.
        let wait = |distribution: &Distribution, rng: &mut Stream| {
            Span((distribution.draw(rng) * 1e6 + 0.5).min(1e12) as u64 * 1000)
        };
        let mut units = Vec::with_capacity(2 * exchanges);
        for at in 0..exchanges {
            let think = if at == 0 { Span::ZERO } else { wait(&self.think_time, rng) };
            let (request, answer) = (bytes(&self.request_size, rng), wait(&self.answer_time, rng));
            let answers = !concurrent;
            units.push(Unit { side: Side::Initiator, wait: think, answers: answers && at > 0, bytes: request });
            let wait = if concurrent && at > 0 { think } else { answer };
            units.push(Unit { side: Side::Acceptor, wait, answers, bytes: bytes(&self.response_size, rng) });
        }
        let start = Time(start.0 / 1000 * 1000);
        Vector { id, start, concurrent, windows: None, segments: None, round_trip: None, losses: None, units }
    }

    /// Connections that begin in a second, and the exchanges of one, about.
    #[must_use]
    pub fn means(&self) -> [f64; 2] {
        [self.arrivals, self.exchanges.mean().max(1.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::{Link, Params, Rate};

    #[test]
    fn drawn_connections_have_the_laws_of_their_group() {
        let params = ConnectionsParams::defaults(&Link { rate: Rate(1), packet: 1 }).unwrap();
        let arrivals = || Arrivals::new(Vectors::Drawn(params.distributions().unwrap()), 1, 4);
        let all: Vec<Arc<Vector>> = arrivals().take(20_000).collect();
        assert!(all.iter().eq(arrivals().take(20_000).collect::<Vec<_>>().iter()), "the same again");
        let n = all.len() as f64;
        // Poisson arrivals: 20,000 of them in 2000 s, within four standard errors.
        let last = all.last().unwrap().start.as_secs();
        assert!((last - n / 10.0).abs() < 4.0 * n.sqrt() / 10.0, "{last}");
        let concurrent = all.iter().filter(|vector| vector.concurrent).count() as f64 / n;
        assert!((concurrent - 0.05).abs() < 4.0 * (0.05f64 * 0.95 / n).sqrt(), "{concurrent}");
        let exchanges = all.iter().map(|vector| vector.units.len() / 2).sum::<usize>() as f64 / n;
        // Rounded, and one at least.
        let expected = libm::exp(-0.125) / (1.0 - libm::exp(-0.25)) + 1.0 - libm::exp(-0.125);
        assert!((exchanges - expected).abs() < 4.0 * 4.0 / n.sqrt(), "{exchanges}");
        for vector in all.iter().filter(|vector| !vector.concurrent) {
            assert!(vector.units.iter().skip(1).all(|unit| unit.answers) && !vector.units[0].answers);
        }
    }
}
