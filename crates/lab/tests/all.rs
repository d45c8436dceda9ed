//! The tests of the crate's public face in one program, so that what they have in common is compiled once.
//! Those of memory are programs of their own: they read what a process has held.

mod changes;
mod classes;
mod connections;
mod http;
mod links;
mod own_queues;
mod replay_captures;
mod replay_packets;
mod replay_reader;
mod replay_run;
mod replay_times;
mod scenario;
mod shaper;
mod shared;
mod traces;
mod traffic;
mod two_way;
mod watch;
