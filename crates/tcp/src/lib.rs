//! End hosts without clocks and sockets: segments and times go in, segments and wake-ups come out.
//!
//! | module | what it holds |
//! |---|---|
//! | [`segment`] | what two ends exchange |
//! | [`host`] | how a host is configured: parameters and profiles |
//! | [`connection`] | one end of a connection: both halves, and how the world drives it |
//! | [`send`] | the sending half: window, retransmission, timer |
//! | [`receive`] | the receiving half: reassembly, acknowledgements |
//! | [`rtt`] | the round-trip estimate and the retransmission timeout |
//! | [`recovery`] | what a loss is and what is sent again: Tahoe, Reno, NewReno, SACK, ns-2's Vegas, a file each |
//! | [`cc`] | the congestion window: Reno's, CUBIC's, Vegas's, ns-2's Vegas's, DECbit's and UT/LT's law, a file each |
//!
//! An end is driven like this: give it what happened ([`Connection::on_segment`], or [`Connection::on_labelled`] where
//! queues write labels; [`Connection::on_timer`], [`Connection::write`]), then take segments from [`Connection::poll`] until
//! there is none, then ask [`Connection::next_timer`] when it wants to be woken.
#![no_std]

extern crate alloc;

pub mod cc;
pub mod connection;
pub mod host;
mod profiles;
pub mod receive;
pub mod recovery;
pub mod rtt;
pub mod segment;
pub mod send;

pub use connection::Connection;
pub use host::{Algorithm, Host, Profile, Tcp, TcpParams};
pub use segment::{Flags, Segment};
