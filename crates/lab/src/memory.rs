//! How much memory a scenario takes, estimated before it is run: an allocation that fails cannot be answered for.
//!
//! Counted is what grows with the values of a scenario: flows with their links, samples, windows sent at once, and
//! packets that wait at a source's own access link, whose queue has no limit.

use crate::access::Access;
use crate::document::ScenarioError;
use crate::network::RunParams;
use crate::section::Section;
use sluicegate_base::Size;
use sluicegate_netsim::SimPacket;
use sluicegate_netsim::source::{FlowParams, SourcePlan};

/// The most that a scenario may take. It is the same everywhere, so that a scenario is valid on every machine or none.
const MOST: f64 = 8.0 * (1u64 << 30) as f64;

/// Bytes of one flow in a dumbbell that delivers packets: its four access links, its events, and above all the histogram
/// of its delays. Measured (24 kB), rounded up.
const FLOW: f64 = 28_000.0;

/// Bytes of one sample of one flow: as it is taken, and as a row of four columns twice (here and in Python).
const SAMPLE: f64 = 96.0;

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
        run: &RunParams,
    ) -> Result<(), ScenarioError> {
        let count = common.count as f64;
        let end = common.stop.map_or(run.duration, |stop| stop.min(run.duration));
        let waiting = waiting(source, access, (end - common.start).as_secs());
        self.flows += count;
        self.bytes += count * (FLOW + waiting * size_of::<SimPacket>() as f64);
        let gibibytes = |bytes: f64| format!("{:.1} GiB", bytes / (1u64 << 30) as f64);
        if self.bytes > MOST {
            let what = if waiting > 1000.0 {
                format!("; about {waiting:.0} packets of each may wait at its own access link")
            } else {
                String::new()
            };
            let rule = format!(
                "these {} flows need about {} of memory, {} is the most{what}",
                self.flows,
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

/// The most packets of one flow that wait before the network, or are on their way to it.
fn waiting(source: &SourcePlan, access: Option<&Access>, lifetime: f64) -> f64 {
    let (rate, size) = match source {
        SourcePlan::Tcp(host) | SourcePlan::Telnet(host, _) => {
            return host.initial_window.min(host.window as f64 / f64::from(host.mss));
        }
        SourcePlan::Udp(params) => (params.rate, params.packet_size),
        SourcePlan::Poisson(params) => (params.rate, params.packet_size),
        // While it is on; the least that makes sure.
        SourcePlan::OnOff(params) => (params.rate, params.packet_size),
    };
    let Some(access) = access else { return 0.0 };
    let (access, delay) = (access.rate, access.longest());
    let (Size::Bytes(bytes) | Size::Packets(bytes)) = size;
    let too_much = rate.0.saturating_sub(access.0) as f64 * lifetime;
    let on_the_wire = rate.0.min(access.0) as f64 * delay.as_secs().min(lifetime);
    (too_much + on_the_wire) / (8.0 * bytes as f64)
}
