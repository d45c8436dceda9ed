//! The tests of the crate's public face in one program, so that what they have in common is compiled once.
//! `page` is a program of its own: it is no part of the package.

mod by_hand;
mod driver;
mod every_discipline;
mod path;
mod token_bucket;
