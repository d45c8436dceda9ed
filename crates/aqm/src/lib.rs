//! Queue disciplines: who waits and who is dropped when more arrives than a link can carry.
//!
//! One file holds one discipline; [`discipline`] says what a discipline is, [`harness`] drives one by hand, in tests and
//! benches. To add one: write its file after the pattern of `drop_tail.rs`, add its line to the registry below, run
//! `make generate`.
#![no_std]

extern crate alloc;

pub mod afd;
pub mod ared;
pub mod blue;
pub mod cake;
pub mod choke;
pub mod choke_linux;
pub mod classes;
pub mod codel;
pub mod configure;
pub mod csfq;
pub mod dcn;
pub mod decbit;
pub mod discipline;
pub mod docsis_pie;
pub mod drop_preference;
pub mod drop_tail;
pub mod drr;
pub mod dualpi2;
pub mod early_random_drop;
pub mod fair_share;
pub mod fifo;
pub mod flow_hasher;
pub mod flow_table;
pub mod fq;
pub mod fq_codel;
pub mod fq_linux;
pub mod fq_pie;
pub mod fred;
pub mod gred;
pub mod harness;
mod hashed_queues;
pub mod l4s;
pub mod l4s_step;
pub mod longest;
pub mod marking;
pub mod penalty_box;
pub mod periodic_timer;
pub mod pi;
pub mod pie;
pub mod prelude;
pub mod priority;
pub mod proportional;
pub mod random_drop;
pub mod recent;
pub mod red;
pub mod red_pd;
mod registry;
pub mod rem;
pub mod ring;
pub mod rio;
pub mod rio_ps;
pub mod sfb;
pub mod sfq;
pub mod source_quench;
pub mod sred;
pub mod ut_lt;

pub use classes::{Class, ClassEntry, ClassFilter, ClassParams};
pub use configure::Configure;
pub use discipline::{Ack, Ctx, Discipline, DropReason, FlowKey, Packet};
pub use proportional::Proportional;
pub use recent::Recent;
pub use registry::{Entry, Memory, Overload};

registry::registry! {
    drop_tail::DropTail,
    random_drop::RandomDrop,
    early_random_drop::EarlyRandomDrop,
    red::Red with "red.md",
    penalty_box::PenaltyBox with "penalty_box.md",
    decbit::Decbit with "decbit.md",
    source_quench::SourceQuench,
    ut_lt::UtLt,
    drop_preference::DropPreference,
    choke::Choke with "choke.md",
    choke_linux::ChokeLinux,
    dcn::Dcn with "dcn.md",
    pi::Pi with "pi.md",
    afd::Afd with "afd.md",
    rio::Rio,
    rio_ps::RioPs,
    gred::Gred with "gred.md",
    ared::Ared,
    blue::Blue,
    rem::Rem,
    pie::Pie with "pie.md",
    docsis_pie::DocsisPie,
    fred::Fred,
    sred::Sred,
    sfb::Sfb with "sfb.md",
    red_pd::RedPd,
    csfq::Csfq,
    fq::Fq,
    fq_linux::FqLinux with "fq_linux.md",
    sfq::Sfq with "sfq.md",
    codel::Codel with "codel.md",
    fq_codel::FqCodel with "fq_codel.md",
    fq_pie::FqPie with "fq_pie.md",
    dualpi2::DualPi2 with "dualpi2.md",
    l4s_step::L4sStep with "l4s_step.md",
    cake::Cake with "cake.md",
    priority::Priority,
    drr::Drr,
}

registry::containers! {
    priority::Priority,
    drr::Drr,
}
