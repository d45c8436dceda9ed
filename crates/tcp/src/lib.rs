//! End hosts without clocks and sockets: segments and times go in, segments and wake-ups come out.
//!
//! | module | what it holds | uses |
//! |---|---|---|
//! | [`segment`] | what two ends exchange | |
//! | [`rtt`] | the round-trip estimate and the retransmission timeout | |
//! | [`cc`] | congestion control: Reno, CUBIC, Vegas, ns-2's Vegas, DECbit, UT/LT and a fixed window, a file each | |
//! | [`send_core`] | what loss recoveries share of a sender: sequence numbers, timer, round trip, window | `cc`, `rtt` |
//! | [`recovery`] | what a loss is and what is sent again: Tahoe, Reno, NewReno, SACK, ns-2's Vegas, a file each | `send_core` |
//! | [`profiles`] | whom a host stands for: default values with their sources | |
//! | [`params`] | the declared parameters of a transfer | `profiles` |
//! | [`host`] | a configured host, and the algorithms that its connections run | `params`, `cc`, `recovery` |
//! | [`send`] | the sending half | `host`, `send_core`, `recovery` |
//! | [`receive`] | the receiving half: reassembly, acknowledgements | `host` |
//! | [`connection`] | one end of a connection: both halves, opening and closing | `send`, `receive` |
//!
//! An end is driven like this: give it what happened ([`Connection::on_segment`], or [`Connection::on_labelled`] where
//! queues write labels; [`Connection::on_timer`], [`Connection::write`]), then take segments from [`Connection::poll`] until
//! there is none, then ask [`Connection::next_timer`] when it wants to be woken.
#![no_std]

extern crate alloc;

pub mod cc;
pub mod connection;
pub mod host;
pub mod linux;
pub mod params;
pub mod profiles;
pub mod receive;
pub mod recovery;
pub mod rtt;
pub mod segment;
pub mod send;
pub mod send_core;

pub use connection::Connection;
pub use host::Host;
pub use params::{Algorithm, Tcp, TcpParams};
pub use profiles::{Profile, ProfileName};
pub use segment::{Flags, Segment};
