//! Queue disciplines as BPF objects, for a Linux kernel from 6.16 on that nobody has to change.
//!
//! The programs are in the folder `bpf`, one file for each discipline beside its Rust file. Here is what goes into their objects:
//! [`layout`] writes a discipline's parameters as the program's `struct parameters` has them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`layout`] | parameters as numbers of the programs |

pub mod layout;

pub use layout::{Portable, Wire};
