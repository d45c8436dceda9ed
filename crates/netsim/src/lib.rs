//! The packet-level simulator. From the top down; each module builds on those below it:
//!
//! | module | what it holds |
//! |---|---|
//! | [`builder`] | a plan, described step by step and checked |
//! | [`sim`] | the run: events in order until the end |
//! | [`probes`] | what a run looks at, sample by sample, and what it has measured |
//! | [`workloads`] | users and connections that come and go, and what is counted of them |
//! | [`endpoints`] | what sends and receives at the ends of a flow |
//! | [`network`] | links, delay lines, paths, and the packets on their way |
//! | [`engine`] | simulated time: what happens next, and in which order at equal times |
//! | [`meter`] | samples of links and flows, the same where packets are real |
//! | [`counters`] | what is counted, and the rows of results |
//! | [`plan`] | a network and its flows, ready to run |
//! | [`source`] | what the flows send: the declarations of the sources |

pub mod builder;
pub mod counters;
pub mod endpoints;
pub mod engine;
pub mod meter;
pub mod network;
pub mod plan;
pub mod probes;
pub mod sim;
pub mod source;
pub mod workloads;

pub use builder::{BuildError, HopId, NetworkBuilder};
pub use counters::Outcome;
pub use network::Observer;
pub use network::headers::Headers;
pub use network::packet::{End, QueuedPacket, SimPacket, hosts, owner};
pub use plan::{AccessName, FlowPlan, Hop, Hops, LineName, LinePlan, LinkPlan, Plan};
pub use sim::Sim;
pub use sluicegate_port::{Loss, Rates, WirePlan};
pub use source::{Datagram, Endpoint, EndpointPair};
