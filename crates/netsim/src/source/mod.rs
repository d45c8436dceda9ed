//! What flows send: the declarations of the sources, one file each, and the clock of those that send by one.
//!
//! | module | what it holds |
//! |---|---|
//! | [`flow`] | what every flow can say: how many, when, which way |
//! | [`access`] | what every flow can say of its own way to the network: rate, delay or round trip, jitter |
//! | [`codepoint`] | what a source without feedback can say of ECN in its packets |
//! | [`ftp`] | what a TCP transfer can say of its data: how much of it there is |
//! | [`telnet`] | what a TELNET session types, and when |
//! | [`connections`] | connections as they were seen on a link, or drawn like them |
//! | [`http`] | users who think and browse |
//! | [`way`] | how connections that come and go reach the links that all share |
//! | [`udp`] | constant bit rate |
//! | [`poisson`] | Poisson arrivals |
//! | [`on_off`] | bursts and silences, exponential or Pareto |
//! | [`endpoint`] | ends of one's own |

pub mod access;
pub mod codepoint;
pub mod connections;
pub mod endpoint;
pub mod flow;
pub mod ftp;
pub mod http;
pub mod on_off;
pub mod poisson;
pub mod telnet;
pub mod udp;
pub mod way;

pub use access::{Access, AccessParams, RoundTrip};
pub use codepoint::{Codepoint, EcnField};
pub use connections::{Connections, ConnectionsParams, ConnectionsPlan};
pub use endpoint::{Datagram, Endpoint, EndpointPair, Endpoints, EndpointsParams};
pub use flow::{Direction, Flow, FlowParams};
pub use ftp::{Ftp, FtpParams};
pub use http::{Http, HttpParams, HttpPlan};
pub use on_off::{OnOff, OnOffParams, Periods};
pub use poisson::{Poisson, PoissonParams, Sizes};
pub use telnet::{Telnet, TelnetParams};
pub use udp::{Udp, UdpParams};
pub use way::Way;

use sluicegate_base::params::{Raw, unknown};
use sluicegate_base::units::NANOS;
use sluicegate_base::{ETHERNET, Ecn, Rate, Size, Span, Stream};
use sluicegate_tcp::Host;
use std::fmt;
use std::sync::Arc;

/// What one flow sends.
#[derive(Clone, Debug)]
pub enum SourcePlan {
    /// A TCP transfer.
    Tcp(Arc<Host>),
    /// A TELNET session over TCP.
    Telnet(Arc<Host>, TelnetParams),
    /// Users who browse.
    Http(Arc<HttpPlan>),
    /// Connections that come by themselves.
    Connections(Arc<ConnectionsPlan>),
    /// Constant bit rate.
    Udp(UdpParams),
    /// Poisson arrivals.
    Poisson(PoissonParams),
    /// Bursts and silences.
    OnOff(OnOffParams),
    /// One of one's own.
    Custom(CustomSource),
    /// Two ends of one's own.
    Endpoints(EndpointPair),
}

impl SourcePlan {
    /// The kind in scenarios and results.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            SourcePlan::Tcp(_) => "tcp",
            SourcePlan::Telnet(..) => "telnet",
            SourcePlan::Http(_) => "http",
            SourcePlan::Connections(_) => "connections",
            SourcePlan::Udp(_) => "udp",
            SourcePlan::Poisson(_) => "poisson",
            SourcePlan::OnOff(_) => "on_off",
            SourcePlan::Custom(source) => source.kind,
            SourcePlan::Endpoints(pair) => pair.kind,
        }
    }

    /// The congestion control; empty for a source that has none.
    #[must_use]
    pub fn algorithm(&self) -> &'static str {
        self.host().map_or("", |host| if host.controller.is_some() { "own" } else { host.algorithm.word() })
    }

    /// The hosts at its ends; none for a source that hears nothing.
    #[must_use]
    pub fn host(&self) -> Option<&Host> {
        match self {
            SourcePlan::Tcp(host) | SourcePlan::Telnet(host, _) => Some(host),
            SourcePlan::Http(plan) => Some(&plan.host),
            SourcePlan::Connections(plan) => Some(&plan.host),
            SourcePlan::Udp(_)
            | SourcePlan::Poisson(_)
            | SourcePlan::OnOff(_)
            | SourcePlan::Custom(_)
            | SourcePlan::Endpoints(_) => None,
        }
    }

    /// The same, to be changed.
    pub fn host_mut(&mut self) -> Option<&mut Host> {
        match self {
            SourcePlan::Tcp(host) | SourcePlan::Telnet(host, _) => Some(Arc::make_mut(host)),
            SourcePlan::Http(plan) => Some(Arc::make_mut(&mut Arc::make_mut(plan).host)),
            SourcePlan::Connections(plan) => Some(Arc::make_mut(&mut Arc::make_mut(plan).host)),
            _ => None,
        }
    }

    /// Whether its receiver sends, too.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.host().is_some() || matches!(self, SourcePlan::Endpoints(_))
    }

    /// The length of its full packets in bytes, headers included: the mean where lengths are drawn, 0 for one of one's own.
    #[must_use]
    pub fn packet_bytes(&self) -> u64 {
        match self {
            SourcePlan::Udp(params) => bytes(params.packet_size),
            SourcePlan::Poisson(params) => bytes(params.packet_size),
            SourcePlan::OnOff(params) => bytes(params.packet_size),
            SourcePlan::Endpoints(pair) => pair.packet_bytes,
            source => source.host().map_or(0, |host| u64::from(host.packet_bytes())),
        }
    }

    /// The length of a typical packet of a link that carries what these send: the longest of their full packets, and Ethernet's
    /// where they do not say.
    #[must_use]
    pub fn typical_packet<'a>(sources: impl Iterator<Item = &'a SourcePlan>) -> u64 {
        sources.map(SourcePlan::packet_bytes).max().filter(|bytes| *bytes > 0).unwrap_or(ETHERNET)
    }

    /// The ECN field of its packets, where no connection decides on it.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        match self {
            SourcePlan::Udp(params) => params.ecn.field(),
            SourcePlan::Poisson(params) => params.ecn.field(),
            SourcePlan::OnOff(params) => params.ecn.field(),
            _ => Ecn::NotCapable,
        }
    }

    /// Its source, if it sends by the clock; `rng` makes its random stream.
    #[must_use]
    pub fn clock(&self, rng: impl FnOnce() -> Stream) -> Option<Box<dyn Source>> {
        match self {
            SourcePlan::Udp(params) => Some(Box::new(udp::Clock::new(params, rng()))),
            SourcePlan::Poisson(params) => Some(Box::new(poisson::Clock::new(params, rng()))),
            SourcePlan::OnOff(params) => Some(Box::new(on_off::Clock::new(params, rng()))),
            SourcePlan::Custom(source) => Some((source.make)(rng())),
            SourcePlan::Tcp(_)
            | SourcePlan::Telnet(..)
            | SourcePlan::Http(_)
            | SourcePlan::Connections(_)
            | SourcePlan::Endpoints(_) => None,
        }
    }

    /// The way of its connections, when it has many that come and go.
    #[must_use]
    pub fn way(&self) -> Option<&Way> {
        match self {
            SourcePlan::Http(plan) => Some(&plan.way),
            SourcePlan::Connections(plan) => Some(&plan.way),
            _ => None,
        }
    }
}

macro_rules! into_plan {
    ($($From:ty : $of:expr),* $(,)?) => {$(
        impl From<$From> for SourcePlan {
            fn from(source: $From) -> SourcePlan {
                $of(source)
            }
        }
    )*};
}

into_plan! {
    Arc<Host>: SourcePlan::Tcp,
    Host: |host| SourcePlan::Tcp(Arc::new(host)),
    UdpParams: SourcePlan::Udp,
    PoissonParams: SourcePlan::Poisson,
    OnOffParams: SourcePlan::OnOff,
    CustomSource: SourcePlan::Custom,
    EndpointPair: SourcePlan::Endpoints,
}

fn bytes(size: Size) -> u64 {
    match size {
        Size::Bytes(n) | Size::Packets(n) => n,
    }
}

/// The gaps of packets of one length at one rate, exact in the long run.
struct Pace {
    rate: Rate,
    bytes: u64,
    remainder: u64,
    /// What random gaps have left over of whole nanoseconds.
    fraction: f64,
}

impl Pace {
    fn new(rate: Rate, packet_size: Size) -> Pace {
        Pace { rate, bytes: bytes(packet_size), remainder: 0, fraction: 0.0 }
    }

    /// Another rate and length, from the next gap on.
    fn change(&mut self, rate: Rate, packet_size: Size) {
        if rate != self.rate {
            (self.rate, self.remainder) = (rate, 0); // a part of the old rate's bit
        }
        self.bytes = bytes(packet_size);
    }

    /// The next gap; what whole nanoseconds leave over goes to the one after.
    fn gap(&mut self) -> Span {
        self.rate.time_to_send(self.bytes, &mut self.remainder)
    }

    /// The next of random gaps: `factor` times their mean. What whole nanoseconds leave over goes to the one after, as
    /// with [`Pace::gap`], so that the mean rate does not drift.
    fn random_gap(&mut self, factor: f64) -> Span {
        let mean = (self.bytes as f64 * (8 * NANOS) as f64) / self.rate.0 as f64;
        let exact = mean * factor + self.fraction;
        let whole = exact as u64;
        self.fraction = exact - whole as f64;
        Span(whole)
    }
}

/// A source that sends by the clock and hears nothing of what becomes of its packets.
pub trait Source: Send {
    /// How long after its start it sends its first packet.
    fn first(&mut self) -> Span {
        Span::ZERO
    }

    /// The length of the next packet in bytes, IP header included, and the gap after it.
    fn next(&mut self) -> (u32, Span);

    /// Changes a parameter, from the next packet on. The error is the rule that the value breaks, and nothing has changed.
    fn set(&mut self, name: &str, _value: &Raw) -> Result<(), String> {
        Err(unknown(name, &[]))
    }
}

/// Makes a source of one's own, given its random stream.
pub type MakeSource = dyn Fn(Stream) -> Box<dyn Source> + Send + Sync;

/// A source of one's own.
#[derive(Clone)]
pub struct CustomSource {
    /// What results call its kind.
    pub kind: &'static str,
    /// Makes it, once for each flow.
    pub make: Arc<MakeSource>,
}

impl CustomSource {
    /// A source of this kind, made once for each flow and given its random stream.
    pub fn new<S: Source + 'static>(
        kind: &'static str,
        make: impl Fn(Stream) -> S + Send + Sync + 'static,
    ) -> CustomSource {
        CustomSource { kind, make: Arc::new(move |rng| Box::new(make(rng))) }
    }
}

impl fmt::Debug for CustomSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomSource").field("kind", &self.kind).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of values above each bound against its probability, within four standard errors.
    pub(super) fn assert_law(values: &[f64], law: &[(f64, f64)]) {
        let n = values.len() as f64;
        for &(bound, p) in law {
            let share = values.iter().filter(|x| **x > bound).count() as f64 / n;
            assert!((share - p).abs() <= 4.0 * libm::sqrt(p * (1.0 - p) / n), "P(> {bound}) = {share}, not {p}");
        }
    }

    /// 1000 B at 3 Gbit/s take 2666 2/3 ns; of so short gaps whole nanoseconds alone would lose 0.02 % each time.
    #[test]
    fn point_6_random_gaps_keep_the_mean_rate() {
        let (rate, packet_size, n) = (Rate(3_000_000_000), Size::Bytes(1000), 1_000_000);
        let rng = || Stream::new(1, "flow/0/packets");
        let total = |mut clock: Box<dyn Source>| (0..n).map(|_| clock.next().1.0).sum::<u64>() as f64;
        let udp = UdpParams { ecn: EcnField::default(), rate, packet_size, jitter: 1e-6 };
        let mean = 8e12 / 3e9;
        // A factor spreads by 1e-6/√12, and so the sum by 1e-6/√12/√n of itself.
        assert!(
            (total(Box::new(udp::Clock::new(&udp, rng()))) / (mean * f64::from(n)) - 1.0).abs()
                < 4.5e-6 / libm::sqrt(12e6)
        );
        // The same draws, in real numbers: no more than the last nanosecond is missing, and what floating point rounds.
        let poisson = PoissonParams { ecn: EcnField::default(), rate, packet_size, sizes: Sizes::Fixed };
        let mut draws = rng();
        let exact: f64 = (0..n).map(|_| mean * draws.exponential()).sum();
        assert!((total(Box::new(poisson::Clock::new(&poisson, rng()))) - exact).abs() < 2.0);
    }

    #[test]
    fn point_6_random_lengths_keep_their_mean() {
        let params = PoissonParams {
            ecn: EcnField::default(),
            rate: Rate(1_000_000),
            packet_size: Size::Bytes(10),
            sizes: Sizes::Exponential,
        };
        let mut clock = poisson::Clock::new(&params, Stream::new(1, "flow/0/packets"));
        let n = 1_000_000;
        let mean = (0..n).map(|_| f64::from(clock.next().0)).sum::<f64>() / f64::from(n);
        // Rounded, and one at least: 1 + Σ exp(−(k − ½)/10) from k = 2 on.
        let expected = 1.0 + libm::exp(-0.15) / (1.0 - libm::exp(-0.1));
        assert!((mean - expected).abs() < 4.5 * 10.0 / 1e3, "{mean}, not {expected}");
        assert!((expected - 10.0).abs() < 0.05);
    }
}
