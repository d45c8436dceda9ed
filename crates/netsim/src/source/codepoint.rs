//! What the packets of a source without feedback say of ECN.

use sluicegate_base::{Ecn, choices, params};

choices! {
    /// The codepoint of packets that may be marked.
    pub enum Codepoint {
        /// ECT(0).
        Ect0 = "ect0",
        /// ECT(1), by which L4S queues know scalable senders.
        Ect1 = "ect1",
    }
}

params! {
    /// What the packets of a source without feedback say of ECN.
    pub struct EcnField {
        /// Whether its packets are ECN-capable, so that queues may mark them instead of dropping them. It slows down
        /// for neither.
        ecn: bool = default(false), source("RFC 3168, Sec. 5"), fixed(true);
        /// With ecn, the codepoint of its packets: queues recognise L4S by ect1.
        codepoint: Codepoint = default(Codepoint::Ect0), source("RFC 3168, Sec. 5; RFC 9331, Sec. 4.1"), fixed(true);
    }
}

impl EcnField {
    /// The field of its packets.
    #[must_use]
    pub fn field(&self) -> Ecn {
        match (self.ecn, self.codepoint) {
            (false, _) => Ecn::NotCapable,
            (true, Codepoint::Ect0) => Ecn::Capable0,
            (true, Codepoint::Ect1) => Ecn::Capable1,
        }
    }

    /// Whether no codepoint is given to packets that say nothing.
    pub(super) fn is_said(&self) -> bool {
        self.ecn || self.codepoint == Codepoint::Ect0
    }
}

impl Default for EcnField {
    fn default() -> Self {
        EcnField { ecn: false, codepoint: Codepoint::Ect0 }
    }
}
