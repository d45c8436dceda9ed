//! The packet-level simulator.
//!
//! | module | what it holds |
//! |---|---|
//! | [`events`] | simulated time: what happens next, and in which order at equal times |
//! | [`packet`] | a packet on its way |
//! | [`link`] | a link: its queue, its transmitter, its wire |
//! | [`line`] | a link whose buffer has no limit, which needs no events of its own |
//! | [`preparation`] | the random time that a host takes over each packet |
//! | [`delays`] | how spans are distributed |
//! | [`ends`] | what sends and receives at the ends of a flow |
//! | [`exchanges`] | requests and their responses, as they are counted |
//! | [`jitter`] | a random delay that keeps the order of packets |
//! | [`source`] | what the flows send, and the declarations of the sources |
//! | [`plan`] | a network and its flows, ready to run |
//! | [`sim`] | the run itself |
//! | [`probe`] | counters and samples |

pub mod delays;
pub mod ends;
pub mod events;
pub mod exchanges;
pub mod jitter;
pub mod line;
pub mod link;
pub mod packet;
pub mod plan;
pub mod preparation;
pub mod probe;
pub mod sim;
pub mod source;

pub use packet::{QueuedPacket, SimPacket};
pub use plan::{FlowPlan, Hop, LinePlan, LinkPlan, Plan};
pub use probe::Outcome;
pub use sim::Sim;
