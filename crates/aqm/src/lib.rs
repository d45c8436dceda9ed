//! Queue disciplines: who waits and who is lost when more arrives than a link can carry.
//!
//! One file holds one discipline; [`discipline`] says what a discipline is, [`rig`] drives one by hand, in tests and
//! benches. To add one: write its file after the pattern of `drop_tail.rs`, add its line to the registry below, run
//! `make generate`.
#![no_std]

extern crate alloc;

pub mod choke;
pub mod discipline;
pub mod drop_tail;
pub mod fifo;
pub mod red;
mod registry;
pub mod rig;

pub use choke::Choke;
pub use discipline::{Cause, Ctx, Discipline, FlowKey, Packet};
pub use drop_tail::DropTail;
pub use red::Red;
pub use registry::Entry;

registry::registry! {
    drop_tail::DropTail,
    red::Red,
    choke::Choke,
}
