//! Queue disciplines: who waits and who is lost when more arrives than a link can carry.
//!
//! One file holds one discipline; [`discipline`] says what a discipline is, [`rig`] drives one by hand, in tests and
//! benches. To add one: write its file after the pattern of `drop_tail.rs`, add its line to the registry below, run
//! `make generate`.
#![no_std]

extern crate alloc;

pub mod choke;
pub mod choke_linux;
pub mod discipline;
pub mod drop_tail;
pub mod early_random_drop;
pub mod fifo;
pub mod penalty_box;
pub mod random_drop;
pub mod red;
mod registry;
pub mod rig;
pub mod ring;

pub use choke::Choke;
pub use choke_linux::ChokeLinux;
pub use discipline::{Cause, Ctx, Discipline, FlowKey, Packet};
pub use drop_tail::DropTail;
pub use early_random_drop::EarlyRandomDrop;
pub use penalty_box::PenaltyBox;
pub use random_drop::RandomDrop;
pub use red::Red;
pub use registry::Entry;

registry::registry! {
    drop_tail::DropTail,
    random_drop::RandomDrop,
    early_random_drop::EarlyRandomDrop,
    red::Red,
    penalty_box::PenaltyBox,
    choke::Choke,
    choke_linux::ChokeLinux,
}
