//! A network and its flows, ready to run.

use crate::packet::SimPacket;
use crate::source::SourcePlan;
use sluicegate_aqm::Discipline;
use sluicegate_base::{Rate, Span, Time};
use std::borrow::Cow;

/// One link, in one direction.
pub struct LinkPlan {
    /// Its name: it keys the link's random stream.
    pub name: String,
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Span,
    /// The most that a packet is delayed beyond that, at random and in order; zero for a constant delay.
    pub jitter: Span,
    /// The name of its discipline.
    pub discipline: Cow<'static, str>,
    /// Its queue.
    pub queue: Box<dyn Discipline<SimPacket>>,
    /// Whether it is under study: counted for each flow, and sampled.
    pub watched: bool,
}

/// One flow.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// The index of its entry in the scenario.
    pub group: u32,
    /// What it sends.
    pub source: SourcePlan,
    /// The bytes of data of a TCP transfer; none for one without end.
    pub size: Option<u64>,
    /// The links that its data crosses.
    pub path: Vec<u32>,
    /// The links that what comes back crosses; empty for a source that hears nothing.
    pub return_path: Vec<u32>,
    /// When it starts.
    pub start: Time,
    /// When it stops sending; `Time::NEVER` for the end of the run.
    pub stop: Time,
}

/// A run, ready to start.
pub struct Plan {
    /// The links.
    pub links: Vec<LinkPlan>,
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
}

impl FlowPlan {
    /// The propagation delays of its path, there and back; there twice for a source that hears nothing.
    pub(crate) fn base_rtt(&self, delays: &[Span]) -> Span {
        let along = |path: &[u32]| path.iter().fold(Span::ZERO, |sum, link| sum + delays[*link as usize]);
        let back = if self.return_path.is_empty() { &self.path } else { &self.return_path };
        along(&self.path) + along(back)
    }
}
