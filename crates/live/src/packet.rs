//! A real packet, as a queue sees it.

use sluicegate_aqm::{Ack, FlowKey};
use sluicegate_base::{Ecn, Span};
use sluicegate_port::Transit;

/// A real packet on its way.
pub type Packet = Transit<Seen>;

/// What queues see of a real packet; its bytes are in a frame.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The hash of its flow.
    pub key: u64,
    /// The hashes of the addresses that it comes from and goes to.
    pub hosts: (u64, u64),
    /// Its length in bytes, as the link counts it.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// What it acknowledges.
    pub ack: Option<Ack>,
    /// Its class of traffic: what its flow says, else its DSCP.
    pub class: u8,
    /// How much it may be spared.
    pub priority: u8,
    /// What a queue has written on it, for the queues after it.
    pub label: u32,
    /// Its frame.
    pub frame: u32,
}

/// A packet that enters: whose it is, and its way.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The row of its flow.
    pub flow: u32,
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

impl sluicegate_aqm::Packet for Seen {
    #[inline]
    fn flow(&self) -> FlowKey {
        FlowKey(self.key)
    }
    #[inline]
    fn bytes(&self) -> u64 {
        u64::from(self.bytes)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) -> bool {
        self.ecn.mark()
    }
    fn class(&self) -> u8 {
        self.class
    }
    fn hosts(&self) -> (u64, u64) {
        self.hosts
    }
    fn ack(&self) -> Option<Ack> {
        self.ack
    }
    fn priority(&self) -> u8 {
        self.priority
    }
    fn label(&self) -> u32 {
        self.label
    }
    fn set_label(&mut self, label: u32) {
        self.label = label;
    }
}
