//! What the fuzzer needs: what it calls, and how it changes text.

pub mod lines;
pub mod targets;
