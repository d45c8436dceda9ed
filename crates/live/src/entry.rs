//! A packet that enters the emulated network, and its way through it.

use sluicegate_base::Span;
use sluicegate_lab::replay::seen::Seen;

/// A packet that enters: whose it is, and its way.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Whether it carries what its flow sends, or comes back to the flow's sender.
    pub data: bool,
    /// The number of its way, as [`Emulator::add_way`](crate::emulator::Emulator::add_way) gave it.
    pub way: u32,
    /// What it is delayed before and after its way, on lines of its own.
    pub own: [Span; 2],
    /// What its queues see of it; the frame is filled in.
    pub packet: Seen,
    /// Where its IP header begins, if it has one.
    pub ip: Option<usize>,
}
