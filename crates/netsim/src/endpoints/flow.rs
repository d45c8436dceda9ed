//! A flow as it runs: one connection, one source that sends by the clock, or a group whose connections come and go.

use crate::counters::Past;
use crate::network::packet::{Header, NONE};
use crate::source::telnet::Typing;
use crate::source::{Source, SourcePlan};
use sluicegate_base::{Span, Stream, Time};
use sluicegate_tcp::connection::SendCounters;

/// What a flow has beside its counters and its connection.
pub struct FlowState {
    /// The slot of its connection, or the number of its pair of ends; `u32::MAX` if it has none, or many.
    pub slot: u32,
    /// What its packets begin with, by the end that they lead to: back, and there. Their legs are the first of its paths.
    pub headers: [Header; 2],
    /// Its source, if it sends by the clock.
    pub source: Option<Box<dyn Source>>,
    /// What is typed, for a TELNET session; a transfer writes all at once.
    pub typing: Option<Box<Typing>>,
    /// For the packets that its connections lose on their own ways.
    pub losses: Option<Box<Stream>>,
    /// When its receiver had all its data.
    pub completed: Option<Time>,
    /// The propagation delays of its path, there and back, if all of it has the same.
    pub base_rtt: Option<Span>,
    /// The connections' counters when the measured window began.
    pub before: SendCounters,
    /// What it had counted then.
    pub past: Past,
}

impl FlowState {
    /// The flow with this number, before it starts; its random streams are keyed by the number.
    #[must_use]
    pub fn new(plan: &SourcePlan, headers: [Header; 2], seed: u64, flow: usize) -> FlowState {
        let stream = |purpose| Stream::new(seed, &format!("flow/{flow}/{purpose}"));
        FlowState {
            slot: NONE,
            headers,
            source: plan.clock(|| stream("packets")),
            typing: match plan {
                SourcePlan::Telnet(_, params) => Some(Box::new(Typing::new(params, stream("typing")))),
                _ => None,
            },
            losses: plan.way().map(|_| Box::new(stream("losses"))),
            completed: None,
            base_rtt: None,
            before: SendCounters::default(),
            past: Past::default(),
        }
    }

    /// Whether a packet is lost on a way that loses this share of them, in millionths.
    pub fn loses(&mut self, share: u32) -> bool {
        share > 0 && self.losses.as_mut().is_some_and(|rng| rng.below(1_000_000) < u64::from(share))
    }
}
