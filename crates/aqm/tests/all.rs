//! All tests of the crate's public face in one program, so that what they have in common is compiled once.

mod cake_linux;
mod choke_linux;
mod codel_linux;
mod containers;
mod dualpi2_linux;
mod every_declaration;
mod every_discipline;
mod fq_codel_linux;
mod fq_linux;
mod fq_pie_linux;
mod gred_linux;
mod lone_sender;
mod pie_linux;
mod sfb_linux;
mod sfq_linux;
