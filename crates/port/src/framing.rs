//! What a link sends around each packet.

/// How a link cuts frames into cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cells {
    /// It does not.
    #[default]
    None,
    /// ATM (ITU-T I.361): 48 bytes in cells of 53, the last one filled up.
    Atm,
    /// PTM (IEEE 802.3, 64B/65B of VDSL2): one byte for each 64 or part of them.
    Ptm,
}

/// What a link sends around each packet: its time counts, its bytes do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing {
    /// Bytes around each packet.
    pub bytes: u32,
    /// The least frame, these bytes included.
    pub least: u32,
    /// The cells that carry it.
    pub cells: Cells,
}

impl From<u32> for Framing {
    fn from(bytes: u32) -> Framing {
        Framing { bytes, ..Framing::default() }
    }
}

impl Framing {
    /// Whether there is more to it than bytes around each packet.
    #[must_use]
    pub fn is_uneven(&self) -> bool {
        self.least > 0 || self.cells != Cells::None
    }

    /// The bytes whose time a packet of so many bytes takes.
    #[must_use]
    pub fn on_wire(&self, bytes: u64) -> u64 {
        let frame = (bytes + u64::from(self.bytes)).max(u64::from(self.least));
        match self.cells {
            Cells::None => frame,
            Cells::Atm => frame.div_ceil(48) * 53,
            Cells::Ptm => frame + frame.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_cells_by_hand() {
        let ethernet = Framing { bytes: 38, least: 84, cells: Cells::None };
        assert_eq!([1500, 46, 40].map(|bytes| ethernet.on_wire(bytes)), [1538, 84, 84]);
        let atm = Framing { bytes: 40, least: 0, cells: Cells::Atm };
        // 1540 bytes are 32.08 cells of 48; 80 are 1.67; 96 just two.
        assert_eq!([1500, 40, 56].map(|bytes| atm.on_wire(bytes)), [33 * 53, 2 * 53, 2 * 53]);
        let ptm = Framing { bytes: 30, least: 0, cells: Cells::Ptm };
        assert_eq!([1500, 34].map(|bytes| ptm.on_wire(bytes)), [1530 + 24, 65]);
        assert_eq!(Framing::from(20).on_wire(1480), 1500);
    }
}
