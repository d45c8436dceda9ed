//! A port: a queue under some discipline, with a transmitter behind it. It has no clock and does no I/O; the simulator, the
//! replay of captures and a link for real packets drive it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`port`] | [`Port`] itself: packets arrive, time passes, and each packet's fate is handed out |
//! | [`counters`] | what a port counts |
//! | [`ring`] | the transmit ring of a driver, below the discipline |
//! | [`histogram`] | how spans are distributed, in little memory |
#![no_std]

extern crate alloc;

pub mod counters;
pub mod histogram;
pub mod port;
pub mod ring;

pub use counters::Counters;
pub use histogram::DelayHistogram;
pub use port::{Outcome, Port, PortConfig, PortPacket};
