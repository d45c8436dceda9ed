//! What disciplines for L4S have in common: which packets they mark, and what they do when marks do not hold the queue.

use sluicegate_base::{Ecn, choices};

choices! {
    /// Which ECN fields a threshold, or a queue, is for.
    pub enum Ect {
        /// ECT(1), the identifier of L4S, and CE, which it may have been.
        L4s = "l4s_ect",
        /// All but Not-ECT.
        Any = "any_ect",
    }
}

impl Ect {
    /// Whether a packet with this field is meant.
    #[inline]
    #[must_use]
    pub fn takes(self, ecn: Ecn) -> bool {
        match self {
            Ect::L4s => matches!(ecn, Ecn::Capable1 | Ecn::CongestionExperienced),
            Ect::Any => ecn != Ecn::NotCapable,
        }
    }
}

choices! {
    /// What happens when marks alone do not hold the queue.
    pub enum OnOverload {
        /// Packets are dropped, with the classic probability and whatever their ECN field, in both queues.
        Drop = "drop_on_overload",
        /// Nothing more than marks, until the buffer is full.
        Overflow = "overflow",
    }
}
