//! Reading a capture, pcap or pcapng, record by record from any stream.
//!
//! Memory is bounded whatever the file says: one record at a time is held, of at most [`MOST_RECORD`] bytes; blocks that
//! hold no packets are skipped without being held. Reading ends at the first damage; what came before it is good.
//!
//! Records of pcap (four numbers, then the packet) are read here: the crate `pcap-parser` reads the modified
//! format (Kuznetsov's patch to libpcap) in one byte order only.

mod buffer;
mod pcapng;

use buffer::Buffer;
use pcap_parser::SHB_MAGIC;
use pcapng::Interface;
use std::io::{ErrorKind, Read};
use std::ops::Range;

/// The most bytes that one record may take in the file; libpcap itself captures no more than 256 KiB of a packet.
pub const MOST_RECORD: usize = 1 << 20;

/// The longest packet that a record may speak of; beyond any that IP knows in practice.
const MOST_ORIGINAL: u32 = 1 << 24;

/// One packet as it was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When, in nanoseconds since 1970; none in a Simple Packet Block.
    pub time: Option<u64>,
    /// The interface, as its section numbers them from 0.
    pub interface: u32,
    /// The kind of link: a LINKTYPE_ number of libpcap.
    pub link_type: u16,
    /// How many bytes it had on the link.
    pub original: u32,
    /// What was captured of it.
    pub data: &'a [u8],
    /// Where its record or block begins, from the start of the file.
    pub offset: u64,
}

/// What reading on gives.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A packet.
    Record(Record<'a>),
    /// The end of the capture.
    End,
    /// Nothing has come for a while, or a signal has: look for signals, then call again.
    Interrupted,
}

/// Why reading ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The stream is no capture; says what it is instead.
    NotACapture(String),
    /// The capture is damaged here.
    Damage(Damage),
}

/// A place where a capture cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The offset in bytes of the record or block, from the start of the file.
    pub offset: u64,
    /// What is wrong with it.
    pub what: String,
}

/// How the records of a pcap file are to be read.
#[derive(Clone, Copy, Debug)]
struct Pcap {
    big_endian: bool,
    /// Nanoseconds in a unit of the second part of a time.
    unit: u64,
    /// Bytes before each packet: 24 in what Kuznetsov's patch to libpcap wrote, with interface, protocol and direction.
    head: usize,
    link_type: u16,
}

impl Pcap {
    /// Whether a file header begins here, of version 2.4 as all are, rather than a record.
    fn begins(rest: &[u8]) -> bool {
        let header = |big_endian| {
            let magic = matches!(number(rest, 0, big_endian), 0xa1b2_c3d4 | 0xa1b2_3c4d | 0xa1b2_cd34);
            magic && number(rest, 4, big_endian) == if big_endian { 0x2_0004 } else { 0x4_0002 }
        };
        header(false) || header(true)
    }

    /// What a file header says; none if it is not one.
    fn read(header: &[u8; 24]) -> Option<Pcap> {
        let word = |at: usize, big_endian: bool| number(header, at, big_endian);
        [false, true].into_iter().find_map(|big_endian| {
            let (unit, head) = match word(0, big_endian) {
                0xa1b2_c3d4 => (1000, 16),
                0xa1b2_3c4d => (1, 16),
                0xa1b2_cd34 => (1000, 24),
                _ => return None,
            };
            // The upper bits say how long a frame check sequence is; what is captured of it is in the original length.
            Some(Pcap { big_endian, unit, head, link_type: word(20, big_endian) as u16 })
        })
    }
}

/// What a capture that follows another one in the file is told by.
const ANOTHER: &str = "another capture begins here: join captures with mergecap";

/// Four bytes as a number.
fn number(bytes: &[u8], at: usize, big_endian: bool) -> u32 {
    let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

#[derive(Debug)]
enum Format {
    Unknown,
    Pcap(Pcap),
    Pcapng { big_endian: bool, interfaces: Vec<Interface> },
}

/// A capture that is being read.
pub struct Capture<R> {
    buffer: Buffer<R>,
    format: Format,
    /// Where the current record begins in the file.
    begun: u64,
    /// Its bytes, which the next call leaves behind.
    done: u64,
}

/// Where a record's parts are in the buffer.
struct Found {
    time: Option<u64>,
    interface: u32,
    link_type: u16,
    original: u32,
    data: Range<usize>,
    length: usize,
}

/// Why no record was found yet.
enum Pause {
    End,
    Interrupted,
    Trouble(Trouble),
}

impl<R: Read> Capture<R> {
    /// A capture at its beginning; nothing is read yet.
    pub fn new(reader: R) -> Capture<R> {
        let buffer = Buffer::new(reader);
        Capture { buffer, format: Format::Unknown, begun: 0, done: 0 }
    }

    /// How many bytes have been read and used.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.buffer.offset
    }

    /// `pcap` or `pcapng`; empty before the first record.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self.format {
            Format::Unknown => "",
            Format::Pcap(_) => "pcap",
            Format::Pcapng { .. } => "pcapng",
        }
    }

    /// The next packet. After an error call it no more.
    #[allow(clippy::should_implement_trait)] // a record borrows from the buffer
    pub fn next(&mut self) -> Result<Next<'_>, Trouble> {
        match self.find() {
            Ok(Found { time, interface, link_type, original, data, length }) => {
                self.done = length as u64;
                let original = original.max(data.len() as u32);
                if original > MOST_ORIGINAL {
                    return Err(self.damage(format!("a packet of {original} bytes: no link carries such a one")));
                }
                let data = &self.buffer.data[data];
                Ok(Next::Record(Record { time, interface, link_type, original, data, offset: self.buffer.offset }))
            }
            Err(Pause::End) => Ok(Next::End),
            Err(Pause::Interrupted) => Ok(Next::Interrupted),
            Err(Pause::Trouble(trouble)) => Err(trouble),
        }
    }

    fn damage(&self, what: String) -> Trouble {
        Trouble::Damage(Damage { offset: self.buffer.offset, what })
    }

    fn broken(&self, what: impl Into<String>) -> Pause {
        Pause::Trouble(self.damage(what.into()))
    }

    /// Wants `bytes` from the current place on; an error when the file ends before.
    fn want(&mut self, bytes: usize) -> Result<(), Pause> {
        match self.buffer.fill(bytes) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let there = self.buffer.rest().len();
                Err(self.broken(format!("the file ends after {there} bytes of a record of at least {bytes}")))
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(Pause::Interrupted),
            Err(error) => Err(self.broken(format!("cannot be read: {error}"))),
        }
    }

    /// Leaves the current record behind; an error at the end of the file.
    fn leave(&mut self) -> Result<(), Pause> {
        while self.done > 0 {
            self.some()?;
            let step = self.done.min(self.buffer.rest().len() as u64);
            self.buffer.advance(step as usize);
            self.done -= step;
        }
        self.some()
    }

    /// Wants at least one byte more; the end of the file is an end here, unless a record is being left behind.
    fn some(&mut self) -> Result<(), Pause> {
        match self.buffer.fill(1) {
            Ok(true) => Ok(()),
            Ok(false) if self.done > 0 => {
                let what = format!("the file ends {} bytes before the end of this block", self.done);
                Err(Pause::Trouble(Trouble::Damage(Damage { offset: self.begun, what })))
            }
            Ok(false) => Err(Pause::End),
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(Pause::Interrupted),
            Err(error) => Err(self.broken(format!("cannot be read: {error}"))),
        }
    }

    fn find(&mut self) -> Result<Found, Pause> {
        if matches!(self.format, Format::Unknown) {
            self.recognise()?;
        }
        loop {
            self.leave()?;
            self.begun = self.buffer.offset;
            let found = match self.format {
                Format::Pcap(pcap) => Some(self.pcap_record(pcap)?),
                _ => self.pcapng_block()?,
            };
            if let Some(found) = found {
                return Ok(found);
            }
        }
    }

    /// Looks at the first bytes.
    fn recognise(&mut self) -> Result<(), Pause> {
        let not = |what: &str| Err(Pause::Trouble(Trouble::NotACapture(what.to_owned())));
        match self.buffer.fill(24) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(Pause::Interrupted),
            Err(error) => return not(&format!("cannot be read: {error}")),
            Ok(_) => {}
        }
        let start = self.buffer.rest();
        if start.is_empty() {
            return not("is empty: record it again");
        }
        for (magic, name, tool) in COMPRESSED {
            if start.starts_with(magic) {
                return not(&format!(
                    "is compressed ({name}): unpack it first, or pipe it: {tool} FILE | sluicegate replay - …"
                ));
            }
        }
        if start.starts_with(&SHB_MAGIC.to_le_bytes()) {
            self.format = Format::Pcapng { big_endian: false, interfaces: Vec::new() };
            return Ok(());
        }
        let (mut header, there) = ([0; 24], start.len().min(24));
        header[..there].copy_from_slice(&start[..there]);
        match Pcap::read(&header) {
            Some(pcap) if there == 24 => {
                self.format = Format::Pcap(pcap);
                self.done = 24;
                Ok(())
            }
            None if there >= 4 => not("is not a capture: its first bytes are those of neither pcap nor pcapng"),
            _ => not("is too short for a capture"),
        }
    }

    fn pcap_record(&mut self, pcap: Pcap) -> Result<Found, Pause> {
        let Pcap { big_endian, unit, head, link_type } = pcap;
        self.want(head)?;
        let rest = self.buffer.rest();
        let section =
            rest.starts_with(&SHB_MAGIC.to_le_bytes()) && [0x1a2b_3c4d, 0x4d3c_2b1a].contains(&number(rest, 8, false));
        if section || Pcap::begins(rest) {
            return Err(self.broken(ANOTHER));
        }
        let word = |at: usize| number(self.buffer.rest(), at, big_endian);
        let (seconds, fraction, captured, original) = (word(0), word(4), word(8) as usize, word(12));
        let length = head.saturating_add(captured);
        if length > MOST_RECORD {
            return Err(self.broken(format!("a record of {length} bytes: more than {MOST_RECORD}")));
        }
        self.want(length)?;
        let start = self.buffer.start + head;
        let time = Some(u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * unit);
        Ok(Found { time, interface: 0, link_type, original, data: start..start + captured, length })
    }
}

/// What is often found where a capture is expected: how it begins, its name, and what unpacks it.
const COMPRESSED: &[(&[u8], &str, &str)] = &[
    (&[0x1f, 0x8b], "gzip", "zcat"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", "zstdcat"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4", "lz4cat"),
];
