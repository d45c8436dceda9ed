//! What a header of TCP says, as far as it was captured. Options are walked here: the iterator of the crate `etherparse` ends
//! at the first option that it does not know, and the options of accurate ECN stand before that of selective acknowledgements.

use sluicegate_aqm::Ack;

/// A header of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number, whether or not the flag says that it holds.
    pub ack: u32,
    /// The nine flags, FIN the lowest, AE (once NS) the highest.
    pub flags: u16,
    /// The window, not scaled.
    pub window: u16,
    /// How long the header is.
    pub length: u8,
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// By how many bits windows are to be shifted.
    pub scale: Option<u8>,
    /// Timestamp and echoed timestamp.
    pub stamps: Option<(u32, u32)>,
    /// Blocks of selective acknowledgements, and how many there are.
    pub blocks: [(u32, u32); 4],
    /// See `blocks`.
    pub count: u8,
}

impl Tcp {
    /// Reads a header; none if less than its fixed part was captured, or it makes no sense.
    #[must_use]
    pub fn read(data: &[u8]) -> Option<Tcp> {
        let (mut tcp, options) = Tcp::fixed(data)?;
        for_each_option(options, |kind, value| tcp.option(kind, value));
        Some(tcp)
    }

    /// The fixed part, and the options.
    #[inline]
    fn fixed(data: &[u8]) -> Option<(Tcp, &[u8])> {
        let word = |at: usize| u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
        let half = |at: usize| u16::from_be_bytes([data[at], data[at + 1]]);
        if data.len() < 20 || data[12] >> 4 < 5 {
            return None;
        }
        let length = (data[12] >> 4) * 4;
        let flags = u16::from(data[12] & 1) << 8 | u16::from(data[13]);
        let tcp = Tcp { seq: word(4), ack: word(8), flags, window: half(14), length, ..Tcp::default() };
        Some((tcp, &data[20..data.len().min(usize::from(length))]))
    }

    /// What a segment of `bytes` bytes acknowledges, as queues look at it; none if its header was not captured in full.
    #[must_use]
    pub fn acknowledged(data: &[u8], bytes: u32) -> Option<Ack> {
        const ACK: u16 = 0x10;
        const ECHO: u16 = 0xc0; // ECE and CWR
        let (Tcp { ack, flags, length, .. }, options) = Tcp::fixed(data)?;
        if flags & ACK == 0 || data.len() < length.into() {
            return None;
        }
        let mut said = Ack {
            number: ack,
            bare: bytes == u32::from(length) && data[12] & 0xf == 0 && flags & !ECHO == ACK, // no reserved bit
            sacks: false,
            echo: (flags & ECHO) as u8,
        };
        for_each_option(options, |kind, value| match kind {
            5 => said.sacks |= value.len() >= 8,
            8 | 19 => {} // timestamps, a signature
            _ => said.bare = false,
        });
        Some(said)
    }

    fn option(&mut self, kind: u8, value: &[u8]) {
        let word = |at: usize| u32::from_be_bytes([value[at], value[at + 1], value[at + 2], value[at + 3]]);
        match (kind, value) {
            (2, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
            (3, &[scale]) => self.scale = Some(scale),
            (8, value) if value.len() == 8 => self.stamps = Some((word(0), word(4))),
            (5, value) if value.len() % 8 == 0 => {
                for (at, block) in self.blocks.iter_mut().enumerate().take(value.len() / 8) {
                    *block = (word(at * 8), word(at * 8 + 4));
                    self.count += 1;
                }
            }
            _ => {}
        }
    }
}

/// Hands on the kind and the value of each option.
#[inline]
fn for_each_option(mut rest: &[u8], mut each: impl FnMut(u8, &[u8])) {
    loop {
        rest = match rest {
            [1, rest @ ..] => rest,
            [2..=255, 2..=255, ..] if usize::from(rest[1]) <= rest.len() => {
                let (option, after) = rest.split_at(usize::from(rest[1]));
                each(option[0], &option[2..]);
                after
            }
            _ => return, // the end of options, or of what was captured
        };
    }
}

#[cfg(test)]
mod tests {
    use super::Tcp;

    /// A header of 20 bytes with these options.
    fn header(options: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x9c, 0x40, 0x13, 0x89, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0x10, 1, 0, 0, 0, 0, 0];
        bytes.extend(options);
        bytes[12] = ((bytes.len() / 4) << 4) as u8 | 1;
        bytes
    }

    #[test]
    fn what_is_known_is_read_beside_what_is_not() {
        let mut options = vec![174, 5, 0, 0, 1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4, 5, 18];
        options.extend([0, 0, 0, 20, 0, 0, 0, 30, 0, 0, 0, 40, 0, 0, 0, 50, 0, 0]);
        let tcp = Tcp::read(&header(&options)).expect("a header");
        assert_eq!((tcp.seq, tcp.ack, tcp.flags, tcp.window), (7, 9, 0x110, 256));
        assert_eq!(tcp.stamps, Some((3, 4)));
        assert_eq!((tcp.count, &tcp.blocks[..2]), (2, &[(20, 30), (40, 50)][..]));
    }

    #[test]
    fn what_was_cut_says_what_is_there() {
        let whole = header(&[2, 4, 5, 180, 3, 3, 7, 0]);
        let tcp = Tcp::read(&whole).expect("a header");
        assert_eq!((tcp.mss, tcp.scale), (Some(1460), Some(7)));
        let cut = Tcp::read(&whole[..26]).expect("a header");
        assert_eq!((cut.mss, cut.scale), (Some(1460), None));
        assert_eq!(Tcp::read(&whole[..19]), None);
        assert_eq!(Tcp::read(&[0; 20]), None); // a header of no length
    }
}
