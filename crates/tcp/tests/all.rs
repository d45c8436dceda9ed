//! All tests of the crate's public face in one program, so that what they have in common is compiled once.

mod decbit;
mod ecn;
mod linux;
mod linux_traces;
mod opening;
mod own_controller;
mod pair;
mod path;
mod quench;
mod sack;
mod timeouts;
mod ut_lt;
mod vegas;
