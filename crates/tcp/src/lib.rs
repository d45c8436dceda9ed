//! End hosts without clocks and sockets: segments and times go in, segments and wake-ups come out.
//!
//! | module | what it holds | uses |
//! |---|---|---|
//! | [`segment`] | what two ends exchange | |
//! | [`cc`] | the trait of your own congestion controllers | |
//! | [`profiles`] | the kinds of hosts: their default values, with sources | |
//! | [`params`] | the declared parameters of a transfer | `profiles` |
//! | [`host`] | a configured host, and the algorithms that its connections run | `params`, `cc` |
//! | [`linux`] | ends as Linux has them | `host` |
//! | `papers` | ends as the papers' simulators and machines have them | `host` |
//! | `reassembly` | what both kinds of ends keep of an incoming stream | `segment` |
//! | [`connection`] | one end of a connection, of either kind | `linux`, `papers` |
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
mod papers;
pub mod params;
pub mod profiles;
mod reassembly;
pub mod segment;

pub use connection::Connection;
pub use host::Host;
pub use params::{Algorithm, Tcp, TcpParams};
pub use profiles::{Profile, ProfileName};
pub use segment::{Flags, Plain, Segment};
