//! A network and its flows, described step by step and checked: the way to a [`Plan`] from a Rust program.

mod check;

use crate::network::packet::QueuedPacket;
use crate::plan::{FlowPlan, Hop, Hops, LinePlan, LinkPlan, Plan};
use crate::source::SourcePlan;
use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_aqm::{Discipline, Proportional, all, build};
use sluicegate_base::params::{Raw, did_you_mean, given, unknown};
use sluicegate_base::{ETHERNET, Link, Params, Rate, Size, Span, Time, Value};
use sluicegate_port::{Framing, WirePlan};
use std::borrow::Cow;
use std::fmt::{self, Display};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Builds a [`Plan`].
///
/// Links and lines give a [`HopId`] each, of which the paths of flows are made. What is wrong is the error of
/// [`build`](NetworkBuilder::build), which names the place.
///
/// ```
/// use sluicegate_base::{Rate, Size, Span};
/// use sluicegate_netsim::source::{CustomSource, Source};
/// use sluicegate_netsim::{NetworkBuilder, Sim};
/// use sluicegate_tcp::{Host, ProfileName, TcpParams};
///
/// /// A source of one's own: packets of a size each second.
/// struct Ticks(u32);
///
/// impl Source for Ticks {
///     fn next(&mut self) -> (u32, Span) {
///         (self.0, Span::from_secs(1))
///     }
/// }
///
/// let mut network = NetworkBuilder::new();
/// let bottleneck = network
///     .link("bottleneck", Rate(1_000_000), Span::from_millis(20))
///     .discipline("red", &[("min_th", &5), ("max_th", &15), ("limit", &Size::Packets(60))])
///     .id();
/// let back = network.line("back", Rate(10_000_000), Span::from_millis(20)).id();
///
/// let host = Host::new(&TcpParams::of(ProfileName::Ns2));
/// network.flow(host).path([bottleneck]).return_path([back]);
/// network.flow(CustomSource::new("ticks", |_| Ticks(200))).path([bottleneck]).start(Span::from_millis(500));
///
/// let mut sim = Sim::new(network.duration(Span::from_secs(10)).build()?);
/// while sim.advance(100_000) {}
/// let outcome = sim.finish();
/// assert_eq!(outcome.flows[1].totals.sent, [10, 2000]);
/// assert!(outcome.links[0].counters.departed_bytes > 1_000_000, "the transfer fills the link");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// `Host::with_controller` gives a host a congestion controller of one's own, and [`LinkBuilder::queue`] a link a discipline of
/// one's own.
pub struct NetworkBuilder {
    /// What tells its ids from those of other builders.
    number: u64,
    plan: Plan,
    /// The first thing found wrong.
    wrong: Option<BuildError>,
}

/// A link or line of a [`NetworkBuilder`], to make paths of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopId {
    builder: u64,
    hop: Hop,
}

impl HopId {
    /// Its index among the links of [`Sim::links`](crate::Sim::links), or among the lines.
    #[must_use]
    pub fn index(self) -> usize {
        match self.hop {
            Hop::Link(at) | Hop::Line(at) => at as usize,
        }
    }
}

/// What is wrong with a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// Where: `link "bottleneck"`, `flow 3`, `run`.
    pub place: String,
    /// The rule that is broken, or what is missing.
    pub rule: String,
}

impl Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.rule)
    }
}

impl std::error::Error for BuildError {}

impl Default for NetworkBuilder {
    fn default() -> Self {
        NetworkBuilder::new()
    }
}

impl NetworkBuilder {
    /// A network without links and flows, a run without length: seed 1, no warmup, a sample every 100 ms and no series.
    #[must_use]
    pub fn new() -> NetworkBuilder {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let plan = Plan {
            links: Vec::new(),
            lines: Vec::new(),
            flows: Vec::new(),
            seed: 1,
            duration: Span::ZERO,
            warmup: Span::ZERO,
            sample: Span::from_millis(100),
            series: false,
            recent: 100,
            packets: 0,
            segments: 0,
            positions: 0,
        };
        NetworkBuilder { number: NUMBER.fetch_add(1, Ordering::Relaxed), plan, wrong: None }
    }

    /// Adds a link: a queue, a transmitter and a wire, in one direction. It is Drop Tail with its default limit, and is
    /// monitored, unless the [`LinkBuilder`] says otherwise.
    pub fn link(&mut self, name: impl Into<String>, rate: Rate, delay: Span) -> LinkBuilder<'_> {
        let params = DropTailParams::defaults(&Link { rate, packet: ETHERNET }).expect("every parameter has a default");
        let queue = Box::new(DropTail::new(params));
        self.plan.links.push(LinkPlan {
            name: name.into(),
            rate,
            interface: None,
            packet: ETHERNET,
            delay,
            framing: Framing::default(),
            discipline: "drop_tail".into(),
            queue,
            monitored: true,
            counted: false,
            tx_ring: None,
            proportional: Proportional::default(),
            wire: WirePlan::default(),
        });
        let at = self.plan.links.len() - 1;
        LinkBuilder { network: self, at }
    }

    /// Adds a line: a link whose buffer has no limit and that nobody studies, in one direction; for access links and ways
    /// back.
    pub fn line(&mut self, name: impl Into<String>, rate: Rate, delay: Span) -> LineBuilder<'_> {
        self.plan.lines.push(LinePlan { name: name.into().into(), rate, delay, jitter: Span::ZERO });
        let at = self.plan.lines.len() - 1;
        LineBuilder { network: self, at }
    }

    /// Adds a flow from the start of the run to its end. A TCP [`Host`](sluicegate_tcp::Host), the parameters of a source, a
    /// [`CustomSource`](crate::source::CustomSource) and an [`EndpointPair`](crate::source::EndpointPair) are sources.
    pub fn flow(&mut self, source: impl Into<SourcePlan>) -> FlowBuilder<'_> {
        self.plan.flows.push(FlowPlan {
            group: 0,
            source: Arc::new(source.into()),
            size: None,
            class: 0,
            priority: 0,
            host: None,
            path: Hops::new(),
            return_path: Hops::new(),
            start: Time::ZERO,
            stop: Time::NEVER,
        });
        let at = self.plan.flows.len() - 1;
        FlowBuilder { network: self, at }
    }

    /// How long the run is.
    #[must_use]
    pub fn duration(mut self, duration: Span) -> Self {
        self.plan.duration = duration;
        self
    }

    /// How long it runs before the measured window begins.
    #[must_use]
    pub fn warmup(mut self, warmup: Span) -> Self {
        self.plan.warmup = warmup;
        self
    }

    /// The seed of every random stream.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.plan.seed = seed;
        self
    }

    /// How often the probes take a sample.
    #[must_use]
    pub fn sample(mut self, interval: Span) -> Self {
        self.plan.sample = interval;
        self
    }

    /// Whether the samples are kept as series.
    #[must_use]
    pub fn series(mut self, series: bool) -> Self {
        self.plan.series = series;
        self
    }

    /// How many of the most recent marks and drops each monitored link remembers.
    #[must_use]
    pub fn recent(mut self, packets: u64) -> Self {
        self.plan.recent = packets;
        self
    }

    /// How many arrivals, departures and drops of single packets at monitored links are kept.
    #[must_use]
    pub fn packets(mut self, events: u64) -> Self {
        self.plan.packets = events;
        self
    }

    /// How many segments of TCP are kept, at monitored links and on lines.
    #[must_use]
    pub fn segments(mut self, segments: u64) -> Self {
        self.plan.segments = segments;
        self
    }

    /// Of how many packets, sample by sample, it is kept which flow holds each position of a queue.
    #[must_use]
    pub fn positions(mut self, packets: u64) -> Self {
        self.plan.positions = packets;
        self
    }

    /// The plan, ready for [`Sim::new`](crate::Sim::new); or the first thing that is wrong with it.
    pub fn build(self) -> Result<Plan, BuildError> {
        match self.wrong {
            Some(error) => Err(error),
            None => check::check(&self.plan).map(|()| self.plan),
        }
    }

    /// Takes note of an error, unless there was one before.
    fn refuse(&mut self, place: String, rule: String) {
        self.wrong.get_or_insert(BuildError { place, rule });
    }
}

/// A link that is being described.
#[must_use = "id() is what paths are made of"]
pub struct LinkBuilder<'a> {
    network: &'a mut NetworkBuilder,
    at: usize,
}

impl LinkBuilder<'_> {
    fn link(&mut self) -> &mut LinkPlan {
        &mut self.network.plan.links[self.at]
    }

    /// The length of its typical packet in bytes, for defaults of a discipline that is named after this: 1500 without it.
    pub fn packet(mut self, bytes: u64) -> Self {
        self.link().packet = bytes;
        self
    }

    /// Its discipline: one of the registry, with parameters as a scenario writes them (`60`, `"64 kB"`, `"20 ms"`, `true`); the
    /// others are its defaults for the link.
    pub fn discipline(mut self, name: &str, parameters: &[(&str, &dyn Display)]) -> Self {
        let LinkPlan { rate, packet, .. } = *self.link();
        match named(name, parameters, &Link { rate, packet }) {
            Ok((name, queue, proportional)) => self.queue(name, queue).proportional(proportional),
            Err(rule) => {
                let place = format!("link {:?}", self.link().name);
                self.network.refuse(place, rule);
                self
            }
        }
    }

    /// Its discipline: this one, which results call by this name.
    pub fn queue(mut self, name: impl Into<Cow<'static, str>>, queue: Box<dyn Discipline<QueuedPacket>>) -> Self {
        (self.link().discipline, self.link().queue) = (name.into(), queue);
        self
    }

    /// Which of the discipline's marks and drops fall on flows in proportion to what they send: without it early and forced
    /// drops, or what a discipline of the registry declares.
    pub fn proportional(mut self, proportional: Proportional) -> Self {
        self.link().proportional = proportional;
        self
    }

    /// What it sends around each packet: so many bytes, or more than that.
    pub fn framing(mut self, framing: impl Into<Framing>) -> Self {
        self.link().framing = framing.into();
        self
    }

    /// What its wire loses and delays, and its rates over time.
    pub fn wire(mut self, wire: WirePlan) -> Self {
        self.link().wire = wire;
        self
    }

    /// How much a driver's transmit ring holds, below the discipline.
    pub fn tx_ring(mut self, limit: Size) -> Self {
        self.link().tx_ring = Some(limit);
        self
    }

    /// Whether it is under study: counted for each flow, sampled, and a row of the results.
    pub fn monitored(mut self, monitored: bool) -> Self {
        self.link().monitored = monitored;
        self
    }

    /// The link, to make paths of.
    pub fn id(self) -> HopId {
        HopId { builder: self.network.number, hop: Hop::Link(self.at as u32) }
    }
}

/// A line that is being described.
#[must_use = "id() is what paths are made of"]
pub struct LineBuilder<'a> {
    network: &'a mut NetworkBuilder,
    at: usize,
}

impl LineBuilder<'_> {
    /// The most that it delays a packet beyond its delay, at random and in order.
    pub fn jitter(self, most: Span) -> Self {
        self.network.plan.lines[self.at].jitter = most;
        self
    }

    /// The line, to make paths of.
    pub fn id(self) -> HopId {
        HopId { builder: self.network.number, hop: Hop::Line(self.at as u32) }
    }
}

/// A flow that is being described. Its index in the results is its place among the flows, in the order in which they were added.
pub struct FlowBuilder<'a> {
    network: &'a mut NetworkBuilder,
    at: usize,
}

impl FlowBuilder<'_> {
    fn flow(&mut self) -> &mut FlowPlan {
        &mut self.network.plan.flows[self.at]
    }

    /// The links and lines that its data crosses, in this order.
    pub fn path(mut self, hops: impl IntoIterator<Item = HopId>) -> Self {
        self.flow().path = self.own("path", hops);
        self
    }

    /// What acknowledgements cross; a source that hears nothing has none.
    pub fn return_path(mut self, hops: impl IntoIterator<Item = HopId>) -> Self {
        self.flow().return_path = self.own("return_path", hops);
        self
    }

    fn own(&mut self, key: &str, hops: impl IntoIterator<Item = HopId>) -> Hops {
        let (own, others): (Vec<HopId>, Vec<HopId>) =
            hops.into_iter().partition(|hop| hop.builder == self.network.number);
        if !others.is_empty() {
            let rule = format!("{key}: a link or line of another NetworkBuilder: use the ids that this one gave");
            self.network.refuse(format!("flow {}", self.at), rule);
        }
        own.into_iter().map(|hop| hop.hop).collect()
    }

    /// When it starts, after the start of the run.
    pub fn start(mut self, after: Span) -> Self {
        self.flow().start = Time::ZERO + after;
        self
    }

    /// When it stops sending, after the start of the run.
    pub fn stop(mut self, after: Span) -> Self {
        self.flow().stop = Time::ZERO + after;
        self
    }

    /// How many bytes of data a TCP transfer has; without it there is no end.
    pub fn size(mut self, bytes: u64) -> Self {
        self.flow().size = Some(bytes);
        self
    }

    /// The class of traffic of its packets, both ways.
    pub fn class(mut self, class: u8) -> Self {
        self.flow().class = class;
        self
    }

    /// How much its packets may be spared, both ways; 0 is essential.
    pub fn priority(mut self, priority: u8) -> Self {
        self.flow().priority = priority;
        self
    }

    /// The number of its sender's host, which other flows may share, below `u32::MAX`; without it the host is its own.
    pub fn host(mut self, host: u32) -> Self {
        self.flow().host = Some(host);
        self
    }

    /// The number of its group in the results.
    pub fn group(mut self, group: u32) -> Self {
        self.flow().group = group;
        self
    }
}

type Named = (&'static str, Box<dyn Discipline<QueuedPacket>>, Proportional);

/// The discipline of this name with these parameters, for this link. The error is the rule that they break.
fn named(name: &str, parameters: &[(&str, &dyn Display)], link: &Link) -> Result<Named, String> {
    let names: Vec<&str> = all().iter().map(|entry| entry.table.about.name).collect();
    let entry = all().iter().find(|entry| entry.table.about.name == name);
    let entry = entry.ok_or_else(|| format!("no such discipline: {name:?}{}", did_you_mean(name, &names)))?;
    let (table, mut values) = (&entry.table, vec![None; entry.table.fields.len()]);
    for (key, value) in parameters {
        let known: Vec<&str> = table.fields.iter().map(|field| field.name).collect();
        let at = table.position(key).ok_or_else(|| format!("{name}: {}", unknown(key, &known)))?;
        let read: Result<Value, String> = table.fields[at].read(&raw(&value.to_string()));
        values[at] = Some(read.map_err(|rule| format!("{name}: {key}: {rule}"))?);
    }
    let built = build(name, &mut given(&values), link).expect("a known name");
    let queue = built.map_err(|problem| format!("{name}: {problem}"))?;
    Ok((table.about.name, queue, Proportional::Queue(entry.proportional)))
}

/// A value as a scenario would write it.
fn raw(text: &str) -> Raw {
    let number = || text.parse().ok().filter(|x: &f64| x.is_finite()).map(Raw::Number);
    let switch = || text.parse().ok().map(Raw::Switch);
    let whole = text.parse().ok().map(Raw::Integer);
    whole.or_else(number).or_else(switch).unwrap_or_else(|| Raw::Text(text.to_owned()))
}
