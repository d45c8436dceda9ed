//! From a scenario's text to the tables of its results.
//!
//! | module | what it holds |
//! |---|---|
//! | [`changes`] | changes while a scenario runs, read and checked |
//! | [`document`] | TOML with the line of every key, and overrides on top of it |
//! | [`section`] | one table of a document read against its declarations |
//! | [`network`] | the declarations of the network and the run |
//! | [`access`] | each flow's own access to the network, with a random round trip |
//! | [`flows`] | the groups of flows, read |
//! | [`foreign`] | what is written elsewhere: a discipline, the ends of a flow, a congestion control |
//! | [`own`] | a program that contains a user's congestion controls and ends, and runs scenarios for another process |
//! | `population` | groups whose connections come and go, read |
//! | [`queueing`] | the discipline of a queue, and of its classes, read and built |
//! | [`scenario`] | a whole scenario: read, checked, resolved, turned into a plan |
//! | `path` | a path for use without the simulator, as a scenario describes it |
//! | `shaper` | a shaper beside a link, with the discipline under study |
//! | `topology` | the links of a network, and which of them a flow crosses |
//! | [`simulation`] | a scenario as it runs: driven, looked at, changed |
//! | [`watch`] | what a run, or a network of real packets, looks like at a moment, for people who watch |
//! | `link` | a link as the network, its shaper and its queue describe it |
//! | [`memory`] | how much memory a scenario would take |
//! | [`replay`] | captures of real packets, replayed through a discipline |
//! | [`results`] | the tables of results, every column declared |
//! | [`vectors`] | connection vectors as text, in tmix's two formats |
//! | [`declarations`] | everything declared, as JSON |

pub mod access;
pub mod changes;
pub mod declarations;
pub mod document;
pub mod flows;
pub mod foreign;
mod link;
pub mod memory;
pub mod network;
pub mod own;
mod path;
mod population;
pub mod queueing;
mod rates;
pub mod replay;
pub mod results;
pub mod scenario;
pub mod section;
mod shaper;
pub mod simulation;
mod topology;
pub mod vectors;
pub mod watch;
mod wire;

pub use document::ScenarioError;
pub use foreign::Foreign;
pub use own::Own;
pub use path::path_of;
pub use scenario::Scenario;
pub use simulation::Simulation;

/// The version of the program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
