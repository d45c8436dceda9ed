//! A network of real packets in operation: which flow each packet belongs to, and how well the clock is kept.

use crate::emulator::Emulator;
use crate::entry::Entry;
use crate::gate::Gate;
use crate::ledger::Ledger;
use sluicegate_base::{Span, Time};
use sluicegate_port::DelayHistogram;

/// Says whose a packet is that comes in.
pub trait Traffic: Send + 'static {
    /// A packet has come in by this gate; none if it is to be ignored.
    fn enter(&mut self, gate: usize, link_type: u16, data: &[u8], now: Time, ledger: &mut Ledger) -> Option<Entry>;
    /// Whatever else is known of the flows is written into the ledger: before each sample, and before the window begins or
    /// ends.
    fn settle(&mut self, _ledger: &mut Ledger) {}
    /// The names of the groups, in order.
    fn names(&self) -> Vec<String>;
    /// A name of a flow for people.
    fn flow_name(&self, row: usize) -> String;
}

/// How well the clock was kept.
#[derive(Clone, Debug, Default)]
pub struct Punctuality {
    /// How late packets were handed over.
    pub lateness: DelayHistogram,
    /// How many in all, and how many of them more than a millisecond late.
    pub packets: [u64; 2],
    /// The longest time between two looks at what comes in.
    pub longest_turn: Span,
}

/// What a network leaves that has been driven.
pub struct Driven<T> {
    /// The network.
    pub emulator: Emulator,
    /// Whose packets they were.
    pub traffic: T,
    /// Where they came in and went out.
    pub gates: Vec<Box<dyn Gate>>,
    /// How well the clock was kept.
    pub punctuality: Punctuality,
    /// When it ended.
    pub end: Time,
    /// Why it ended by itself before its time, if it did: a device is gone.
    pub fault: Option<String>,
}

impl<T: Traffic> Driven<T> {
    /// Everything known of the flows is in the ledger now.
    pub(crate) fn settle(&mut self) {
        self.traffic.settle(&mut self.emulator.ledger);
    }
}
