//! Real packets through the disciplines of the simulator. Linux only: elsewhere the crate is empty.
//!
//! | module | what it holds |
//! |---|---|
//! | [`bridge`] | a discipline between two interfaces |
//! | [`capture`] | what links send and drop, as pcapng |
//! | [`driven`] | a network in operation, and the flow of each packet |
//! | [`emulator`] | the network that packets cross, in virtual time |
//! | [`entry`] | a packet that enters, and its way |
//! | [`gate`] | where packets come in and go out: a TUN or a real interface |
//! | [`hosts`] | the sources of a scenario on sockets of the kernel |
//! | [`interface`] | a real interface: frames in and out |
//! | [`ledger`] | what is counted, in the rows of the simulator's results |
//! | [`offloads`] | which packets the kernel merges |
//! | [`namespace`] | a network namespace with one device, kept by a thread |
//! | [`pump`] | the thread that drives a network by the clock |
//! | [`report`] | the tables of a simulated run, for real packets |
//! | [`shell`] | a command behind a link |
//! | [`status`] | what a network is doing, for people who watch |
//! | [`testbed`] | a scenario between real hosts |
//! | [`tuples`] | flows as they appear, told apart by addresses and ports |
//! | [`world`] | address translation, forwarding and name servers, undone however the program ends |
#![cfg(target_os = "linux")]

pub mod bridge;
pub mod capture;
pub mod driven;
pub mod emulator;
pub mod entry;
pub mod gate;
pub mod hosts;
pub mod interface;
pub mod ledger;
pub mod namespace;
pub mod offloads;
pub mod pump;
pub mod report;
pub mod shell;
pub mod status;
pub mod testbed;
pub mod tuples;
pub mod world;
