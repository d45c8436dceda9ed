//! Writing pcapng: one section, an interface for each link, or for each kind of link; times in nanoseconds.
//!
//! The blocks are written here, because the serialiser of `pcap-parser` allocates for every packet.

use std::io::{self, Write};

/// A pcapng file that is being written.
pub struct Writer<W: Write> {
    out: W,
    /// Name and kind of link of each interface; no name where the kind says all.
    interfaces: Vec<(String, u16)>,
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
        self.packet_at("", link_type, time, original, data, None)
    }

    /// The same for a link with a name, and with a comment if there is one.
    pub fn packet_at(
        &mut self,
        link: &str,
        link_type: u16,
        time: u64,
        original: u32,
        data: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        let interface = self.named(link, link_type)?;
        let padded = data.len().next_multiple_of(4);
        let options = comment.map_or(0, |text| 8 + text.len().next_multiple_of(4));
        let length = (32 + padded + options) as u32;
        let (high, low) = ((time >> 32) as u32, time as u32);
        words(&mut self.out, &[6, length, interface as u32, high, low, data.len() as u32, original])?;
        self.out.write_all(data)?;
        self.out.write_all(&[0; 4][..padded - data.len()])?;
        if let Some(comment) = comment {
            self.option(1, comment.as_bytes())?; // opt_comment
            words(&mut self.out, &[0])?;
        }
        words(&mut self.out, &[length])
    }

    /// The number of the interface with this kind of link, which is described when it is first asked for.
    pub fn interface(&mut self, link_type: u16) -> io::Result<usize> {
        self.named("", link_type)
    }

    fn named(&mut self, name: &str, link_type: u16) -> io::Result<usize> {
        let is_it = |known: &(String, u16)| known.1 == link_type && known.0 == name;
        if let Some(at) = self.interfaces.iter().position(is_it) {
            return Ok(at);
        }
        let named = if name.is_empty() { 0 } else { 4 + name.len().next_multiple_of(4) };
        let length = (32 + named) as u32;
        words(&mut self.out, &[1, length, u32::from(link_type), 0])?; // no limit of length
        if named > 0 {
            self.option(2, name.as_bytes())?; // if_name
        }
        // The option if_tsresol, one byte: 9 for nanoseconds; the end of options.
        words(&mut self.out, &[1 << 16 | 9, 9, 0, length])?;
        self.interfaces.push((name.to_owned(), link_type));
        Ok(self.interfaces.len() - 1)
    }

    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        self.out.write_all(&code.to_le_bytes())?;
        self.out.write_all(&(value.len() as u16).to_le_bytes())?;
        self.out.write_all(value)?;
        self.out.write_all(&[0; 4][..value.len().next_multiple_of(4) - value.len()])
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
