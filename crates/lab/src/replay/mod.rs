//! Replay of captures: real packets at their recorded times, through any discipline, over a link of any rate.
//!
//! | module | what it holds |
//! |---|---|
//! | [`reader`] | pcap and pcapng, record by record |
//! | [`piped`] | a pipe as a stream that does not block for long |
//! | [`packet`] | what a queue looks at in a captured packet |
//! | [`seen`] | the packet as a queue sees it, and what is written back |
//! | [`layers`] | what lies around an IP packet: link layers, tunnels |
//! | [`merged`] | packets that a host has merged, split again |
//! | [`times`] | when packets arrive, and what is done where times leap |
//! | [`timed`] | the packets of a capture in order, each with the time when it arrives |
//! | [`table`] | a capture as a table of packets, in batches |
//! | [`tcp`] | what a header of TCP says |
//! | [`hello`] | the name that a client asks for as it opens TLS |
//! | [`flows`] | the flows, and the packets, drops, marks and delays of each, in bounded memory |
//! | [`link`] | the link that packets cross, and what is counted there |
//! | [`delays`] | how long packets waited, in little memory |
//! | [`series`] | the queue over time, in little memory |
//! | [`run`] | the replay itself |
//! | [`scenario`] | what to replay with: read and checked |
//! | [`results`] | the tables, every column declared |
//! | [`warnings`] | what a reader of the results must know of the capture, in sentences |
//! | [`writer`] | writing pcapng |
//! | [`trace`] | what a link of the simulator sends, as pcapng |

pub mod delays;
pub mod flows;
pub mod hello;
pub mod layers;
pub mod link;
pub mod merged;
pub mod packet;
pub mod piped;
pub mod reader;
pub mod results;
pub mod run;
pub mod scenario;
pub mod seen;
pub mod series;
pub mod table;
pub mod tcp;
pub mod timed;
pub mod times;
pub mod trace;
pub mod warnings;
pub mod writer;

pub use results::Report;
pub use run::{Progress, Replay, Replayed, survey};
pub use scenario::ReplayScenario;
pub use seen::Packet;
pub use table::Table;
pub use timed::Failure;
pub use trace::{Shapes, Trace};
