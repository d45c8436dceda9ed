//! A network and its flows, ready to run.

use crate::network::packet::QueuedPacket;
use crate::source::SourcePlan;
use sluicegate_aqm::{Discipline, Proportional};
use sluicegate_base::{Rate, Size, Span, Time};
pub use sluicegate_port::Hop;
use sluicegate_port::{Framing, PortConfig, WirePlan};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::num::NonZeroU32;
use std::sync::Arc;

/// One link, in one direction, for packets of this kind.
pub struct LinkPlan<P = QueuedPacket> {
    /// Its name: it keys the link's random stream.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
    /// That of its interface, where the discipline itself keeps to `rate`: a shaper.
    pub interface: Option<Rate>,
    /// The length of its typical packet in bytes, from which defaults of its discipline follow.
    pub packet: u64,
    /// Its propagation delay.
    pub delay: Span,
    /// What it sends around each packet.
    pub framing: Framing,
    /// The name of its discipline.
    pub discipline: Cow<'static, str>,
    /// Its queue.
    pub queue: Box<dyn Discipline<P>>,
    /// Whether it is under study: counted for each flow, and sampled.
    pub monitored: bool,
    /// Whether its packets come from a link that has counted their arrivals, as a modem's from the shaper before it: a flow's
    /// packet arrives once.
    pub counted: bool,
    /// How much of what the discipline has given up may wait for the transmitter, in a driver's ring; none when it is asked as
    /// the transmitter falls free.
    pub tx_ring: Option<Size>,
    /// Which of its marks and drops show who sends most.
    pub proportional: Proportional,
    /// What its wire loses and delays, and its rates over time, of which the first takes the place of `rate`.
    pub wire: WirePlan,
}

impl<P> LinkPlan<P> {
    /// How its port is made; its wire may have other rates.
    #[must_use]
    pub fn port_config(&self) -> PortConfig {
        PortConfig {
            interface: self.interface,
            framing: self.framing,
            tx_ring: self.tx_ring,
            packet: self.packet,
            name: self.discipline.clone(),
            ..PortConfig::new(self.rate)
        }
    }
}

/// A link whose buffer has no limit, in one direction: see [`delay_line`](crate::network::delay_line).
#[derive(Clone, Debug)]
pub struct LinePlan {
    /// Its name: it keys the line's random stream.
    pub name: LineName,
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Span,
    /// The most that a packet is delayed beyond that, at random and in order; zero for a constant delay.
    pub jitter: Span,
}

/// The name of a line. Those of access lines, of which there are many, are written when they are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineName {
    /// One that was given.
    Given(Box<str>),
    /// That of a flow's access line.
    Access(AccessName),
}

/// The name of a flow's access line: on the sender's side or the far one, there or back. Each flow has four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessName(NonZeroU32);

impl AccessName {
    /// That of a line of this flow, one of fewer than 2^30.
    #[must_use]
    pub fn new(flow: u32, far: bool, back: bool) -> AccessName {
        let number = (flow + 1) << 2 | u32::from(far) << 1 | u32::from(back);
        AccessName(NonZeroU32::new(number).expect("there are fewer than 2^30 flows"))
    }
}

impl LineName {
    /// The name, if it was given.
    #[must_use]
    pub fn given(&self) -> Option<&str> {
        match self {
            LineName::Given(name) => Some(name),
            LineName::Access(_) => None,
        }
    }

    /// Whose access line it is, if it is one.
    #[must_use]
    pub fn access(&self) -> Option<AccessName> {
        match self {
            LineName::Given(_) => None,
            LineName::Access(name) => Some(*name),
        }
    }
}

impl From<String> for LineName {
    fn from(name: String) -> LineName {
        LineName::Given(name.into())
    }
}

impl Display for LineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineName::Given(name) => f.write_str(name),
            LineName::Access(name) => name.fmt(f),
        }
    }
}

/// As people see it, flows counted from 1; with `#` from 0, as in the names of all random streams.
impl Display for AccessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (flow, [far, back]) = (self.0.get() >> 2, [2, 1].map(|bit| self.0.get() & bit != 0));
        let number = flow - u32::from(f.alternate());
        write!(f, "flow/{number}/{}access{}", if far { "far " } else { "" }, if back { "/back" } else { "" })
    }
}

/// What packets cross, hop by hop: mostly a link between access lines.
pub type Hops = SmallVec<[Hop; 3]>;

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Hops>() == 32, "each flow has two");

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// The index of its entry in the scenario.
    pub group: u32,
    /// What it sends, as may others of its group.
    pub source: Arc<SourcePlan>,
    /// The bytes of data of a TCP transfer; none for one without end.
    pub size: Option<u64>,
    /// The class of traffic of its packets, both ways.
    pub class: u8,
    /// How much its packets may be spared, both ways.
    pub priority: u8,
    /// The number of its sender's host, below `u32::MAX`; none for one of its own.
    pub host: Option<u32>,
    /// What its data crosses.
    pub path: Hops,
    /// What comes back crosses these; empty for a source that hears nothing.
    pub return_path: Hops,
    /// When it starts.
    pub start: Time,
    /// When it stops sending; `Time::NEVER` for the end of the run.
    pub stop: Time,
}

/// A run, ready to start, whose links carry packets of this kind.
pub struct Plan<P = QueuedPacket> {
    /// The links.
    pub links: Vec<LinkPlan<P>>,
    /// The lines.
    pub lines: Vec<LinePlan>,
    /// The flows.
    pub flows: Vec<FlowPlan>,
    /// The seed of every random stream.
    pub seed: u64,
    /// How long the run is.
    pub duration: Span,
    /// When the measured window begins; it ends with the run.
    pub warmup: Span,
    /// How often the probes look.
    pub sample: Span,
    /// Whether the samples are kept as series.
    pub series: bool,
    /// How many marks and losses each link under study remembers.
    pub recent: u64,
    /// How many events of packets at links under study are kept.
    pub packets: u64,
    /// How many segments of TCP are kept, at links under study and on the lines that have a name of their own.
    pub segments: u64,
    /// Of how many packets, sample by sample, it is kept which flow holds each place of a queue.
    pub positions: u64,
}

impl<P> Plan<P> {
    /// The propagation delays of a flow's path, there and back; there twice for a source that hears nothing.
    /// None where each connection has its own. `links` are the links' propagation delays.
    #[must_use]
    pub fn base_rtt(&self, flow: &FlowPlan, links: &[Span]) -> Option<Span> {
        if flow.source.way().is_some() {
            return None;
        }
        let along = |path: &[Hop]| {
            path.iter().fold(Span::ZERO, |sum, hop| {
                sum + match *hop {
                    Hop::Link(at) => links[at as usize],
                    Hop::Line(at) => self.lines[at as usize].delay,
                }
            })
        };
        let back = if flow.return_path.is_empty() { &flow.path } else { &flow.return_path };
        Some(along(&flow.path) + along(back))
    }
}
