//! How much memory a scenario takes, estimated before it is run: an allocation that fails cannot be answered for.
//!
//! Counted is what grows with the values of a scenario: flows with their links, samples, windows sent at once, and
//! packets that wait at a source's own access link, whose queue has no limit, or are on their way over long links.

use crate::access::Access;
use crate::document::ScenarioError;
use crate::network::RunParams;
use crate::section::Section;
use sluicegate_base::{Rate, Size, Span};
use sluicegate_netsim::SimPacket;
use sluicegate_netsim::source::connections::Vectors;
use sluicegate_netsim::source::{FlowParams, SourcePlan};

/// The most that a scenario may take. It is the same everywhere, so that a scenario is valid on every machine or none.
const MOST: f64 = 8.0 * (1u64 << 30) as f64;

/// The most bytes of one flow in a dumbbell that delivers packets: its four access links, its packets and events, and the
/// histogram of its delays. Measured: 5 kB where delays are within a few powers of two; each further one takes 512 bytes.
const FLOW: f64 = 28_000.0;

/// Bytes of one sample of one flow: as it is taken, and as a row of eight columns twice (here and in Python).
const SAMPLE: f64 = 176.0;

/// Adds up the groups of flows of one scenario.
#[derive(Debug, Default)]
pub struct Memory {
    flows: f64,
    bytes: f64,
}

impl Memory {
    /// Adds a group; `section` is where it stands, for the error when it is too much.
    pub fn add(
        &mut self,
        section: &Section<'_>,
        common: &FlowParams,
        source: &SourcePlan,
        access: Option<&Access>,
        path: Path,
        run: &RunParams,
    ) -> Result<(), ScenarioError> {
        let pooled = pooled(source, run);
        let count = if pooled.is_some() { 1.0 } else { common.count as f64 };
        let end = common.stop.map_or(run.duration, |stop| stop.min(run.duration));
        let waiting = waiting(source, access, path, (end - common.start).as_secs());
        self.flows += count;
        self.bytes += count * (FLOW + waiting * size_of::<SimPacket>() as f64) + pooled.unwrap_or_default();
        let gibibytes = |bytes: f64| format!("{:.1} GiB", bytes / (1u64 << 30) as f64);
        if self.bytes > MOST {
            let what = if waiting > 1000.0 {
                format!("; about {waiting:.0} packets of each may wait at its own access link or be on their way")
            } else {
                String::new()
            };
            let rule = format!(
                "these {} flows need about {} of memory, {} is the most{what}",
                if pooled.is_some() { common.count as f64 } else { self.flows },
                gibibytes(self.bytes),
                gibibytes(MOST)
            );
            return Err(section.error("count", &rule));
        }
        let samples = if run.series { run.duration.as_secs() / run.interval().as_secs() * self.flows } else { 0.0 };
        if self.bytes + samples * SAMPLE > MOST {
            let rule = format!(
                "the series of these {} flows need about {} of memory, {} is the most: \
                 set run.series = false, or a longer run.sample",
                self.flows,
                gibibytes(self.bytes + samples * SAMPLE),
                gibibytes(MOST)
            );
            return Err(section.error("count", &rule));
        }
        Ok(())
    }
}

/// Bytes of a user and of a connection, measured (120 B, 1.4 kB) and rounded up; of a connection vector with ten units or
/// so; and of an exchange, as it is kept and as a row of four columns twice.
const USER: f64 = 200.0;
const CONNECTION: f64 = 2500.0;
const VECTOR: f64 = 500.0;
const EXCHANGE: f64 = 24.0 + 64.0;

/// The most bytes that a group takes whose connections come and go, besides those of a flow; none for any other.
fn pooled(source: &SourcePlan, run: &RunParams) -> Option<f64> {
    match source {
        SourcePlan::Http(plan) => {
            let window = (plan.host.window as f64 / f64::from(plan.host.mss)).ceil();
            let connections = f64::from(plan.model.most_parallel());
            let kept = if run.exchanges { plan.model.mean_rate() * run.duration.as_secs() * EXCHANGE } else { 0.0 };
            let each = CONNECTION + window * size_of::<SimPacket>() as f64;
            Some(f64::from(plan.users) * (USER + connections * each + kept))
        }
        SourcePlan::Connections(plan) => {
            let window = (plan.host.window as f64 / f64::from(plan.host.mss)).ceil();
            let each = CONNECTION + window * size_of::<SimPacket>() as f64;
            let seconds = run.duration.as_secs();
            let (vectors, at_once, exchanges) = match &plan.vectors {
                // As text they take less than here.
                Vectors::Given(all) => (all.len() as f64 * VECTOR, all.len() as f64, all.len() as f64 * 10.0),
                Vectors::Drawn(laws) => {
                    let [arrivals, exchanges] = laws.means();
                    (0.0, arrivals * seconds, arrivals * seconds * exchanges)
                }
            };
            let kept = if run.exchanges { exchanges * EXCHANGE } else { 0.0 };
            // Those of a minute at once, if they last so long.
            Some(vectors + at_once.min(at_once * 60.0 / seconds) * each + kept)
        }
        _ => None,
    }
}

/// The shared links that a flow's data crosses.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Their propagation delays, one after the other.
    pub delay: Span,
    /// The rate of the slowest.
    pub rate: Rate,
}

/// The most packets of one flow that wait before the network, or are on their way.
fn waiting(source: &SourcePlan, access: Option<&Access>, path: Path, lifetime: f64) -> f64 {
    let (rate, size) = match source {
        SourcePlan::Tcp(host) | SourcePlan::Telnet(host, _) => {
            let window = host.window as f64 / f64::from(host.mss);
            let on_the_way = path.rate.0 as f64 * path.delay.as_secs().min(lifetime) / (8.0 * f64::from(host.mss));
            return host.initial_window.max(on_the_way).min(window);
        }
        // The packets of its connections are counted with these.
        SourcePlan::Http(_) | SourcePlan::Connections(_) | SourcePlan::Custom(_) => return 0.0,
        SourcePlan::Udp(params) => (params.rate, params.packet_size),
        SourcePlan::Poisson(params) => (params.rate, params.packet_size),
        // While it is on; the least that makes sure.
        SourcePlan::OnOff(params) => (params.rate, params.packet_size),
    };
    let (Size::Bytes(bytes) | Size::Packets(bytes)) = size;
    let (mut offered, mut waiting) = (rate.0, 0.0);
    if let Some(access) = access {
        offered = rate.0.min(access.rate.0);
        waiting = (rate.0 - offered) as f64 * lifetime + offered as f64 * access.longest().as_secs().min(lifetime);
    }
    let on_the_way = offered.min(path.rate.0) as f64 * path.delay.as_secs().min(lifetime);
    (waiting + on_the_way) / (8.0 * bytes as f64)
}
