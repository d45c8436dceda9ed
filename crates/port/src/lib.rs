//! A port: a queue under some discipline, with a transmitter behind it; and a [`Path`] of links and delays. They have no clock
//! and do no I/O; the simulator, the replay of captures, a link for real packets and the tests of a transport drive them.
//!
//! Three packets of 1000 bytes arrive at a port of 8 Mbit/s within a millisecond; its queue holds one:
//!
//! ```
//! use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
//! use sluicegate_aqm::{FlowKey, Packet};
//! use sluicegate_base::{Rate, Size, Stream, Time};
//! use sluicegate_port::{Outcome, Port, PortConfig, PortPacket};
//!
//! struct Frame {
//!     arrived: Time,
//! }
//!
//! impl Packet for Frame {
//!     fn flow(&self) -> FlowKey {
//!         FlowKey(0)
//!     }
//!     fn bytes(&self) -> u64 {
//!         1000
//!     }
//! }
//!
//! impl PortPacket for Frame {
//!     fn arrived(&self) -> Time {
//!         self.arrived
//!     }
//!     fn marked(&self) -> bool {
//!         false // it has no ECN field
//!     }
//! }
//!
//! let queue = DropTail::new(DropTailParams { limit: Size::Packets(1) });
//! let mut port = Port::new(PortConfig::new(Rate(8_000_000)), Box::new(queue), Stream::new(1, "port"));
//!
//! let (mut sent, mut dropped) = (Vec::new(), 0);
//! let mut arrivals = [0, 300_000, 900_000].map(Time).into_iter().peekable();
//! loop {
//!     // At one time, what is due at the port comes before what arrives.
//!     let arrival = arrivals.peek().copied().unwrap_or(Time::NEVER);
//!     let now = port.next_deadline().min(arrival);
//!     if now == Time::NEVER {
//!         break;
//!     }
//!     let mut out = |outcome: Outcome<Frame>| match outcome {
//!         Outcome::Started(_) | Outcome::Quenched(_) => {}
//!         Outcome::Sent(_) => sent.push(now),
//!         Outcome::Dropped(..) => dropped += 1,
//!     };
//!     if port.next_deadline() <= arrival {
//!         port.advance(now, &mut out);
//!     } else {
//!         arrivals.next();
//!         port.arrive(Frame { arrived: now }, now, &mut out);
//!     }
//! }
//! assert_eq!((sent, dropped), (vec![Time(1_000_000), Time(2_000_000)], 1));
//! ```
//!
//! A driver with a clock of its own, which may be late, calls [`Port::advance`] with each deadline that has passed, in turn.
//!
//! | module | what it holds |
//! |---|---|
//! | [`port`] | [`Port`] itself: packets arrive, time passes, and each packet's fate is handed out |
//! | [`path`] | [`Path`]: links and delays in a row, for packets of any kind |
//! | [`paths`] | links and lines that several ways share, and the packets on them |
//! | [`counters`] | what a port counts |
//! | [`framing`] | what a link sends around each packet |
//! | [`ring`] | the transmit ring of a driver, below the discipline |
//! | [`token_bucket`] | a shaper in front of a link, as Linux's `htb` |
//! | [`wire`] | what is behind a transmitter: losses, delays, rates over time |
//! | [`jitter`] | a random delay |
//! | [`fates`] | what is to happen to single packets, by their number |
//! | [`histogram`] | how spans are distributed, in little memory |
#![no_std]

extern crate alloc;

pub mod counters;
pub mod fates;
pub mod framing;
pub mod histogram;
pub mod jitter;
pub mod path;
pub mod paths;
pub mod port;
pub mod ring;
pub mod token_bucket;
pub mod wire;

pub use counters::Counters;
pub use fates::Fates;
pub use framing::{Cells, Framing};
pub use histogram::DelayHistogram;
pub use path::{Event, Path, Reason, What};
pub use paths::{Hop, LinkConfig, Paths, Transit, Watch};
pub use port::{Outcome, Outcomes, Port, PortConfig, PortPacket};
pub use token_bucket::TokenBucket;
pub use wire::{Loss, Rates, WirePlan};
