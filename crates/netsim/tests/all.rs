//! All tests of the crate's public face in one program, so that what they have in common is compiled once.

mod builder;
mod cake;
mod control;
mod endpoints;
mod feedback;
mod ns2;
mod ns2_traces;
mod order;
mod queues;
mod segments;
mod sources;
