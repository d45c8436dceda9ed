//! How much memory a scenario takes, estimated before it is run: a program does not survive an allocation that fails.
//!
//! The estimate is an upper bound on what grows with the values of a scenario: flows with their links, samples, and packets. A
//! sender's packets in the network and those that it remembers are bounded by its window, by what its path holds, and by what
//! has been acknowledged. Nothing bounds those that wait at a source's own access link, whose queue has no limit. How many
//! packets a discipline outside the package holds is not known: for TCP, windows bound them; those of sources that send by the
//! clock are not counted.

use crate::document::{Item, Node, ScenarioError};
use crate::flows::{self, Group};
use crate::link::LinkSpec;
use crate::network::{NetworkParams, RunParams};
use crate::section::Section;
use sluicegate_base::{Rate, Size, Span};
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::source::connections::Vectors;
use sluicegate_netsim::{QueuedPacket, SimPacket};
use sluicegate_tcp::{Connection, Host, Segment};

/// The most that a scenario may take. It is the same everywhere, so that a scenario is valid on every machine or none.
const MOST: f64 = 8.0 * (1u64 << 30) as f64;

/// Bytes of a run of any kind with its results.
const RUN: f64 = 4e6;

/// Bytes of one flow in a dumbbell without its ends: its four access links, events and row of the results, measured.
const FLOW: f64 = 1700.0;

/// Bytes of the two ends of a connection.
fn ends(host: Option<&Host>) -> f64 {
    2.0 * (size_of::<Connection>() + host.map_or(0, Connection::beside)) as f64
}

/// Bytes of the histogram of its delays for each power of two that they span, and how many more from so many packets on, as a
/// byte does not count a bin then.
const OCTAVE: f64 = 128.0;
const CARRIES: f64 = 512.0;
const SPREAD: f64 = 1024.0;

/// Bytes of a packet in the network: as it is sent, as it is queued, in memory of which a ninth may be free, and as what happens to
/// it next. Where there are few, what holds them is copied to memory of twice the size when it is full: three times as much.
fn packet(host: Option<&Host>) -> f64 {
    let whole = if host.is_some_and(|host| host.is_linux() || host.sack()) { size_of::<Segment>() } else { 0 };
    (size_of::<SimPacket>() + whole + size_of::<QueuedPacket>() * 9 / 8 + 64) as f64
}
const FEW: f64 = 131_072.0;

/// Bytes of what Linux's hosts remember of a packet until it is acknowledged (32 B in their queue, 40 for a controller that asks
/// for rate samples), in rings of which a half may be free.
const RECORD: f64 = 2.0 * (32.0 + 40.0);

/// How many times what its path holds a sender may remember: twice in slow start, which doubles the window until it hears of the
/// first loss a round trip later, and as much again in four more round trips at half of it while repairs are lost. In the network
/// are those alone that slow start sends ahead of a queue, which is full.
const OVERSHOOT: f64 = 4.0;
const AHEAD: f64 = 2.0;

/// Bytes of one sample of one flow: as it is taken, and as a row of eight columns twice (here and in Python).
const SAMPLE: f64 = 176.0;

/// Refuses what would not fit into memory, at the group of flows that makes it too large. The bytes of what fits.
pub(crate) fn refuse_too_large(
    root: &Section<'_>,
    groups: &[Group],
    links: &[LinkSpec],
    dumbbell: Option<&NetworkParams>,
    run: &RunParams,
) -> Result<u64, ScenarioError> {
    let Some(Item { node: Node::Array(items), .. }) = root.get("flows") else { return Ok(0) };
    let mut memory = Memory::default();
    for (at, (item, group)) in items.iter().zip(groups).enumerate() {
        let path = flows::path(at);
        let section = flows::entry(root, item, &path);
        memory.add(&section, group, &Path::new(group, links, dumbbell), run)?;
    }
    Ok(memory.bytes())
}

/// Adds up the groups of flows of one scenario.
#[derive(Debug)]
struct Memory {
    flows: f64,
    bytes: f64,
}

impl Default for Memory {
    fn default() -> Memory {
        Memory { flows: 0.0, bytes: RUN }
    }
}

impl Memory {
    /// Adds a group; `section` is where it stands, for the error when it is too much.
    pub fn add(
        &mut self,
        section: &Section<'_>,
        group: &Group,
        path: &Path,
        run: &RunParams,
    ) -> Result<(), ScenarioError> {
        let count = group.members() as f64;
        let end = group.common.stop.map_or(run.duration, |stop| stop.min(run.duration));
        let lifetime = (end - group.common.start).as_secs();
        let host = group.source.host();
        let (packets, records) = match host {
            Some(host) => segments(group, host, path, lifetime, connections(&group.source, run)),
            None => (datagrams(group, path, lifetime), 0.0),
        };
        // So many flows at most have more packets than bytes count, spread over an octave.
        let long = count.min(path.rate * lifetime / (8.0 * SPREAD * group.source.packet_bytes().max(1) as f64));
        let octaves = (count * OCTAVE + long * CARRIES) * path.octaves(lifetime);
        let flows = count * (FLOW + ends(host)) + octaves + kept(&group.source, run);
        let under_way = (packets + 2.0 * packets.min(FEW)) * packet(host) + records * RECORD;
        self.flows += count;
        self.bytes += flows + under_way;
        let gibibytes = |bytes: f64| format!("{:.1} GiB", bytes / (1u64 << 30) as f64);
        if self.bytes > MOST {
            let share = packets / group.common.count as f64;
            let key = if host.is_some() { "window" } else { "rate" };
            let what = match flows > under_way {
                true => "have fewer of them".to_owned(),
                false => format!(
                    "about {share:.0} packets of each may wait at its own access link, in queues, or be on their way: \
                     lower {key}, or the limits of queues"
                ),
            };
            let rule = format!(
                "these {} flows need about {} of memory, {} is the most; {what}",
                if group.source.way().is_some() { group.common.count as f64 } else { self.flows },
                gibibytes(self.bytes),
                gibibytes(MOST)
            );
            return Err(section.error("count", &rule));
        }
        let samples = if run.series { run.duration.as_secs() / run.interval().as_secs() * self.flows } else { 0.0 };
        if self.total(samples) > MOST {
            let rule = format!(
                "the series of these {} flows need about {} of memory, {} is the most: \
                 set run.series = false, or a longer run.sample",
                self.flows,
                gibibytes(self.total(samples)),
                gibibytes(MOST)
            );
            return Err(section.error("count", &rule));
        }
        Ok(())
    }

    /// All of it without samples, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// The same with so many samples.
    fn total(&self, samples: f64) -> f64 {
        self.bytes + samples * SAMPLE
    }
}

/// Bytes of a user, measured (120 B) and rounded up; of a connection with its events, but for its ends; of a connection vector
/// with ten units or so; and of an exchange, as it is kept and as a row of four columns twice.
const USER: f64 = 200.0;
const CONNECTION: f64 = 500.0;
const VECTOR: f64 = 500.0;
const EXCHANGE: f64 = 24.0 + 64.0;

/// How many connections a group may have at once.
fn connections(source: &SourcePlan, run: &RunParams) -> f64 {
    match source {
        SourcePlan::Http(plan) => f64::from(plan.users) * f64::from(plan.model.most_parallel()),
        SourcePlan::Connections(plan) => {
            let seconds = run.duration.as_secs();
            let all = match &plan.vectors {
                Vectors::Given(all) => all.len() as f64,
                Vectors::Drawn(laws) => laws.means()[0] * seconds,
            };
            // Those of a minute, if they last so long.
            all.min(all * 60.0 / seconds)
        }
        _ => 0.0,
    }
}

/// The bytes that a group takes whose connections come and go, besides those of a flow and of packets.
fn kept(source: &SourcePlan, run: &RunParams) -> f64 {
    let (rest, exchanges) = match source {
        SourcePlan::Http(plan) => {
            let users = f64::from(plan.users);
            (users * USER, users * plan.model.mean_rate() * run.duration.as_secs())
        }
        SourcePlan::Connections(plan) => match &plan.vectors {
            // As text they take less than here.
            Vectors::Given(all) => (all.len() as f64 * VECTOR, all.len() as f64 * 10.0),
            Vectors::Drawn(laws) => {
                let [arrivals, exchanges] = laws.means();
                (0.0, arrivals * run.duration.as_secs() * exchanges)
            }
        },
        _ => return 0.0,
    };
    rest + connections(source, run) * (CONNECTION + ends(source.host()))
        + if run.exchanges { exchanges * EXCHANGE } else { 0.0 }
}

/// The way of a group's packets, there and back, as far as what is on it is bounded.
struct Path {
    /// The propagation delay there, the most that jitter adds to it, and the longest round trip.
    there: f64,
    jitter: f64,
    round_trip: f64,
    /// The rate of the slowest shared link when it is fastest, and of the slowest of a flow's own links.
    rate: f64,
    own: f64,
    /// Whether packets may wait at a flow's own link for long: those of all together are slower than the shared one.
    own_is_slow: bool,
    /// The longest that a flow's own link may delay a packet.
    access: f64,
    /// How many packets of the group buffers hold there, and how many acknowledgements back; infinite where nobody says.
    held: [f64; 2],
    /// The time in seconds that the shared links there take for full buffers; infinite where their rates vary.
    queueing: f64,
}

impl Path {
    /// The way of a group over these links.
    pub fn new(group: &Group, links: &[LinkSpec], dumbbell: Option<&NetworkParams>) -> Path {
        let there: Vec<&LinkSpec> = group.path.iter().map(|link| &links[*link as usize]).collect();
        let back: Vec<&LinkSpec> = group.return_path.iter().map(|link| &links[*link as usize]).collect();
        let delay = |links: &[&LinkSpec]| links.iter().map(|link| link.delay.as_secs()).sum::<f64>();
        let jitter = |links: &[&LinkSpec]| links.iter().map(|link| link.wire.jitter.as_secs()).sum::<f64>();
        let held = |links: &[&LinkSpec], length| links.iter().map(|link| link.held.packets(length)).sum::<f64>();
        let time = |link: &&LinkSpec| match &link.wire.rates {
            Some(_) => f64::INFINITY,
            None => 8.0 * link.held.bytes / link.rate.0 as f64,
        };
        let far = dumbbell.map_or(Span::ZERO, |network| network.access_delay).as_secs();
        let access = group.access.as_ref().map_or(0.0, |access| access.longest().as_secs());
        let rates = [group.access.as_ref().map(|access| access.rate), dumbbell.and_then(|network| network.access_rate)];
        let header = group.source.host().map_or(1, |host| host.header);
        let rate = there.iter().map(|link| link.fastest()).min().unwrap_or(Rate(0)).0 as f64;
        let own = rates.into_iter().flatten().min().map_or(f64::INFINITY, |rate| rate.0 as f64);
        let senders = match &group.source {
            SourcePlan::Http(plan) => plan.users.into(),
            _ => group.common.count as f64,
        };
        let forward = delay(&there);
        let backward = if back.is_empty() { forward } else { delay(&back) + jitter(&back) };
        Path {
            there: forward + far,
            jitter: jitter(&there),
            round_trip: forward + jitter(&there) + backward + 2.0 * (far + access),
            rate,
            own,
            own_is_slow: own * senders < rate,
            access,
            held: [held(&there, group.source.packet_bytes() as f64), held(&back, f64::from(header))],
            queueing: there.iter().map(time).sum(),
        }
    }

    /// How many powers of two the delays of a flow may span.
    fn octaves(&self, lifetime: f64) -> f64 {
        let least = self.there.max(1e-6);
        let queueing = if self.own_is_slow { f64::INFINITY } else { 2.0 * self.queueing };
        let longest = (least + self.jitter + self.access + queueing).min(lifetime.max(least));
        libm::ceil(libm::log2(longest / least)) + 1.0
    }
}

/// The most packets of a group that are in the network, and that its senders remember; `connections`: that it may have at once,
/// if they come and go.
fn segments(group: &Group, host: &Host, path: &Path, lifetime: f64, connections: f64) -> (f64, f64) {
    let (mss, packet) = (f64::from(host.mss), f64::from(host.packet_bytes()));
    let pooled = group.source.way().is_some();
    let count = if pooled { connections } else { group.common.count as f64 };
    let windows = count * host.window.min(group.size.unwrap_or(u64::MAX)) as f64 / mss;
    let first = count * host.initial_window.max(4.0);
    // Those that start within this time are on their access links together, until the queue takes or drops what they send.
    let time = path.access + 8.0 * packet * host.initial_window / path.own;
    let spread = if pooled { 0.0 } else { group.common.spread.as_secs() };
    let at_once = first * (2.0 * time / spread.max(1e-9)).min(1.0);
    // Each packet that is acknowledged lets one more be under way than before.
    let acknowledged = path.rate.min(count * path.own) * lifetime / (8.0 * packet);
    // An acknowledgement that waits is one for two packets.
    let (on_the_way, held) = (path.rate * path.round_trip / (8.0 * packet), path.held[0] + 2.0 * path.held[1]);
    let more = |most: f64| acknowledged.min(if path.own_is_slow { f64::INFINITY } else { most });
    let remembered = if host.is_linux() { windows.min(first + more(OVERSHOOT * (on_the_way + held))) } else { 0.0 };
    (windows.min(at_once + more(AHEAD * on_the_way + held)), remembered)
}

/// The most packets of a group that sends by the clock that wait before the network, or are in it.
fn datagrams(group: &Group, path: &Path, lifetime: f64) -> f64 {
    let (rate, size) = match &group.source {
        SourcePlan::Udp(params) => (params.rate, params.packet_size),
        SourcePlan::Poisson(params) => (params.rate, params.packet_size),
        // While it is on; the least that makes sure.
        SourcePlan::OnOff(params) => (params.rate, params.packet_size),
        _ => return 0.0,
    };
    let (Size::Bytes(bytes) | Size::Packets(bytes)) = size;
    let (rate, count) = (rate.0 as f64, group.common.count as f64);
    let offered = rate.min(path.own);
    let waiting = (rate - offered) * lifetime + offered * path.access.min(lifetime);
    let on_the_way = offered.min(path.rate) * (path.there + path.jitter).min(lifetime);
    let sent = |bits: f64| bits / (8.0 * bytes as f64);
    let queued = if path.held[0].is_finite() { path.held[0].min(sent(count * offered * lifetime)) } else { 0.0 };
    count * sent(waiting + on_the_way) + queued
}
