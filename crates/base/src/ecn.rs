//! Explicit Congestion Notification: the two bits of the IP header (RFC 3168, Section 5).

/// The ECN field of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// The transport does not understand marks; congestion can only be signalled by a loss.
    #[default]
    NotCapable = 0b00,
    /// ECN-capable transport, codepoint 1.
    Capable1 = 0b01,
    /// ECN-capable transport, codepoint 0: what a sender normally sets.
    Capable0 = 0b10,
    /// Congestion experienced: a queue has marked the packet.
    CongestionExperienced = 0b11,
}

impl Ecn {
    /// Marks the packet, when its transport is capable. Returns whether the packet now carries the mark.
    pub fn mark(&mut self) -> bool {
        if *self == Ecn::NotCapable {
            return false;
        }
        *self = Ecn::CongestionExperienced;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_capable_packet_takes_a_mark() {
        let mut plain = Ecn::NotCapable;
        assert!(!plain.mark());
        assert_eq!(plain, Ecn::NotCapable);
        for mut capable in [Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced] {
            assert!(capable.mark());
            assert_eq!(capable, Ecn::CongestionExperienced);
        }
    }
}
