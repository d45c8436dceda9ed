//! Queue disciplines: who waits and who is lost when more arrives than a link can carry.
//!
//! One file holds one discipline; [`discipline`] says what a discipline is, [`rig`] drives one by hand, in tests and
//! benches. To add one: write its file after the pattern of `drop_tail.rs`, add its line to the registry below, run
//! `make generate`.
#![no_std]

extern crate alloc;

pub mod choke;
pub mod choke_linux;
pub mod classes;
pub mod codel;
pub mod decbit;
pub mod discipline;
pub mod drop_preference;
pub mod drop_tail;
pub mod drr;
pub mod early_random_drop;
pub mod fifo;
pub mod flows;
pub mod fq;
pub mod fq_codel;
pub mod longest;
pub mod penalty_box;
pub mod pool;
pub mod priority;
pub mod random_drop;
pub mod recent;
pub mod red;
mod registry;
pub mod rig;
pub mod ring;
pub mod sfq;
pub mod source_quench;
pub mod ut_lt;

pub use choke::Choke;
pub use choke_linux::ChokeLinux;
pub use classes::{Class, ClassEntry, ClassParams};
pub use codel::Codel;
pub use decbit::Decbit;
pub use discipline::{Cause, Ctx, Discipline, FlowKey, Packet};
pub use drop_preference::DropPreference;
pub use drop_tail::DropTail;
pub use drr::Drr;
pub use early_random_drop::EarlyRandomDrop;
pub use fq::Fq;
pub use fq_codel::FqCodel;
pub use penalty_box::PenaltyBox;
pub use priority::Priority;
pub use random_drop::RandomDrop;
pub use recent::Recent;
pub use red::Red;
pub use registry::Entry;
pub use sfq::Sfq;
pub use source_quench::SourceQuench;
pub use ut_lt::UtLt;

registry::registry! {
    drop_tail::DropTail,
    random_drop::RandomDrop,
    early_random_drop::EarlyRandomDrop,
    red::Red,
    penalty_box::PenaltyBox,
    decbit::Decbit,
    source_quench::SourceQuench,
    ut_lt::UtLt,
    drop_preference::DropPreference,
    choke::Choke,
    choke_linux::ChokeLinux,
    fq::Fq,
    sfq::Sfq,
    codel::Codel,
    fq_codel::FqCodel,
    priority::Priority,
    drr::Drr,
}

registry::containers! {
    priority::Priority,
    drr::Drr,
}
