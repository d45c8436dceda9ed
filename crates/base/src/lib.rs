//! The vocabulary that every other crate of Sluicegate speaks.
//!
//! | module | what it holds |
//! |---|---|
//! | [`units`] | [`Time`], [`Span`], [`Rate`], [`Size`]: integers with a meaning, never a bare float |
//! | [`ecn`] | the two ECN bits of an IP header |
//! | [`distribution`] | how sizes, times and counts are distributed, as people write it: `"exponential(mean = 2 s)"` |
//! | [`random`] | [`Stream`]: random numbers keyed by a stable name |
//! | [`quantity`] | how a person writes a time, a rate or a size: `"10 ms"`, `"1 Mbit/s"`, `"64 kB"` |
//! | [`mod@params`] | the declaration of a parameter: name, unit, default, range, source |
//! | [`declare`] | the macro that turns one declaration into a struct, its defaults and its table |
//!
//! The crate has no clock, does no I/O and needs no `std`.
#![no_std]

extern crate alloc;

pub mod declare;
pub mod distribution;
pub mod ecn;
pub mod params;
pub mod quantity;
pub mod random;
pub mod units;

pub use distribution::{Distribution, Measure};
pub use ecn::Ecn;
pub use params::{About, Declared, ETHERNET, Field, Link, Params, Range, Rule, Value};
pub use random::Stream;
pub use units::{Rate, Size, Span, Time, Transmitter};
