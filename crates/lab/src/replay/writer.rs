//! Writing pcapng: one section, an interface for each kind of link, times in nanoseconds.
//!
//! The blocks are written here, because the serialiser of `pcap-parser` allocates for every packet.

use std::io::{self, Write};

/// A pcapng file that is being written.
pub struct Writer<W: Write> {
    out: W,
    /// The kind of link of each interface.
    interfaces: Vec<u16>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    pub fn new(mut out: W) -> io::Result<Self> {
        let name = concat!("Sluicegate ", env!("CARGO_PKG_VERSION")).as_bytes();
        let padded = name.len().next_multiple_of(4);
        let length = (28 + 4 + padded + 4) as u32;
        words(&mut out, &[0x0a0d_0d0a, length, 0x1a2b_3c4d, 1, u32::MAX, u32::MAX])?; // version 1.0, length unknown
        out.write_all(&4u16.to_le_bytes())?; // shb_userappl
        out.write_all(&(name.len() as u16).to_le_bytes())?;
        out.write_all(name)?;
        out.write_all(&[0; 4][..padded - name.len()])?;
        words(&mut out, &[0, length])?;
        Ok(Writer { out, interfaces: Vec::new() })
    }

    /// Writes a packet of `original` bytes, of which `data` is there, at a time in nanoseconds since 1970.
    pub fn packet(&mut self, link_type: u16, time: u64, original: u32, data: &[u8]) -> io::Result<()> {
        let interface = self.interface(link_type)?;
        let padded = data.len().next_multiple_of(4);
        let length = (32 + padded) as u32;
        let (high, low) = ((time >> 32) as u32, time as u32);
        words(&mut self.out, &[6, length, interface as u32, high, low, data.len() as u32, original])?;
        self.out.write_all(data)?;
        self.out.write_all(&[0; 4][..padded - data.len()])?;
        words(&mut self.out, &[length])
    }

    /// The number of the interface with this kind of link, which is described when it is first asked for.
    pub fn interface(&mut self, link_type: u16) -> io::Result<usize> {
        if let Some(at) = self.interfaces.iter().position(|known| *known == link_type) {
            return Ok(at);
        }
        // No limit of length; the option if_tsresol, one byte: 9 for nanoseconds; the end of options.
        words(&mut self.out, &[1, 32, u32::from(link_type), 0, 1 << 16 | 9, 9, 0, 32])?;
        self.interfaces.push(link_type);
        Ok(self.interfaces.len() - 1)
    }

    /// Ends the file, and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn words(out: &mut impl Write, words: &[u32]) -> io::Result<()> {
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}
