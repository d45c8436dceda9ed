//! How many bytes a packet takes on the wire of the link behind the shaper: overhead, a least length, and the cells of
//! ATM or the coding of PTM.

use sluicegate_base::choices;

choices! {
    /// How the link frames packets.
    pub enum Atm {
        /// As they are.
        Noatm = "noatm",
        /// In cells of 53 bytes with 48 of payload each (ADSL).
        Atm = "atm",
        /// In 64b/65b coding (VDSL2): a byte for each 64, or part of them.
        Ptm = "ptm",
    }
}

/// The framing of a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Framing {
    pub overhead: i64,
    pub mpu: u64,
    pub atm: Atm,
}

impl Framing {
    /// The bytes that a packet of `len` takes on the wire.
    pub fn adjusted_len(&self, len: u64) -> u64 {
        let len = len.saturating_add_signed(self.overhead).max(self.mpu);
        match self.atm {
            Atm::Noatm => len,
            Atm::Atm => len.div_ceil(48).saturating_mul(53),
            Atm::Ptm => len.saturating_add(len.div_ceil(64)),
        }
    }
}
