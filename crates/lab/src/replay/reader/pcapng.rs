//! Blocks of pcapng.
//!
//! The crate `pcap-parser` reads them. We correct two of its answers: it says that an `if_tsresol` in powers of two is invalid,
//! and reads `if_tsoffset` as little-endian in either byte order.

use super::{ANOTHER, Capture, Format, Found, MOST_RECORD, Pause, Pcap, number};
use pcap_parser::pcapng::{
    parse_enhancedpacketblock_be, parse_enhancedpacketblock_le, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le, parse_sectionheaderblock, parse_simplepacketblock_be,
    parse_simplepacketblock_le,
};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{EPB_MAGIC, IDB_MAGIC, SHB_MAGIC, SPB_MAGIC};
use std::io::Read;

/// The most interfaces that a section may describe.
const MOST_INTERFACES: usize = 1 << 16;

/// The obsolete Packet Block of early pcapng files.
const PB_MAGIC: u32 = 2;

/// An interface of a section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    link_type: u16,
    snaplen: u32,
    /// `if_tsresol` as in the file: a power of ten, or of two with the top bit set.
    resolution: u8,
    /// Seconds that are added to each time.
    offset: i64,
}

impl<R: Read> Capture<R> {
    /// Reads one block, or passes it over; only packets are given.
    pub(super) fn pcapng_block(&mut self) -> Result<Option<Found>, Pause> {
        self.want(12)?;
        if Pcap::begins(self.buffer.rest()) {
            return Err(self.broken(ANOTHER));
        }
        let word = |rest: &[u8], at: usize| number(rest, at, false);
        let (first, second, third) =
            (word(self.buffer.rest(), 0), word(self.buffer.rest(), 4), word(self.buffer.rest(), 8));
        let Format::Pcapng { big_endian, interfaces } = &mut self.format else {
            unreachable!("called for pcapng only")
        };
        if first == SHB_MAGIC {
            *big_endian = match third {
                0x1a2b_3c4d => false,
                0x4d3c_2b1a => true,
                _ => return Err(self.broken("a section header without the mark of its byte order")),
            };
            interfaces.clear();
        }
        let big_endian = *big_endian;
        let native = |word: u32| if big_endian { word.swap_bytes() } else { word };
        let (kind, length) = (native(first), native(second) as usize);
        if length < 12 || length % 4 != 0 {
            return Err(self.broken(format!("a block of {length} bytes: no block has that length")));
        }
        if !matches!(kind, SHB_MAGIC | IDB_MAGIC | EPB_MAGIC | SPB_MAGIC | PB_MAGIC) {
            self.done = length as u64;
            return Ok(None);
        }
        if length > MOST_RECORD {
            return Err(self.broken(format!("a block of {length} bytes: more than {MOST_RECORD}")));
        }
        self.want(length)?;
        let again = native(word(self.buffer.rest(), length - 4)) as usize;
        if again != length {
            return Err(self.broken(format!("a block that begins as one of {length} bytes and ends as one of {again}")));
        }
        let found = match kind {
            SHB_MAGIC => self.section(length),
            IDB_MAGIC => self.interface(length, big_endian),
            PB_MAGIC => self.old_packet(length, big_endian).map(Some),
            SPB_MAGIC => self.simple_packet(length, big_endian).map(Some),
            _ => self.packet(length, big_endian).map(Some),
        }?;
        self.done = length as u64;
        Ok(found)
    }

    fn section(&mut self, length: usize) -> Result<Option<Found>, Pause> {
        match parse_sectionheaderblock(&self.buffer.rest()[..length]) {
            Ok((_, header)) if header.major_version == 1 => Ok(None),
            Ok((_, header)) => {
                Err(self.broken(format!("a section of pcapng version {}: only 1 is known", header.major_version)))
            }
            Err(_) => Err(self.broken("not a section header")),
        }
    }

    fn interface(&mut self, length: usize, big_endian: bool) -> Result<Option<Found>, Pause> {
        let block = &self.buffer.rest()[..length];
        let parse = if big_endian { parse_interfacedescriptionblock_be } else { parse_interfacedescriptionblock_le };
        let Ok((_, block)) = parse(block) else { return Err(self.broken("not the description of an interface")) };
        let offset = if big_endian { block.if_tsoffset.swap_bytes() } else { block.if_tsoffset };
        let interface = Interface {
            link_type: block.linktype.0 as u16,
            snaplen: block.snaplen,
            resolution: block.if_tsresol,
            offset,
        };
        let Format::Pcapng { interfaces, .. } = &mut self.format else { unreachable!("called for pcapng only") };
        if interfaces.len() >= MOST_INTERFACES {
            return Err(self.broken(format!("more than {MOST_INTERFACES} interfaces in a section")));
        }
        interfaces.push(interface);
        Ok(None)
    }

    /// The interface of a packet.
    fn of(&self, id: u32) -> Result<Interface, Pause> {
        let Format::Pcapng { interfaces, .. } = &self.format else { unreachable!("called for pcapng only") };
        let found = interfaces.get(id as usize).copied();
        found.ok_or_else(|| {
            self.broken(format!("a packet of interface {id}: the section describes {} of them", interfaces.len()))
        })
    }

    fn packet(&self, length: usize, big_endian: bool) -> Result<Found, Pause> {
        let parse = if big_endian { parse_enhancedpacketblock_be } else { parse_enhancedpacketblock_le };
        let Ok((_, block)) = parse(&self.buffer.rest()[..length]) else {
            return Err(self.broken("a packet block whose parts do not fit into it"));
        };
        let captured = block.packet_data().len();
        if captured != block.caplen as usize {
            return Err(self.broken("a packet block that holds less than it says"));
        }
        self.timed(block.if_id, (block.ts_high, block.ts_low), block.origlen, 28, captured, length)
    }

    /// The obsolete Packet Block, which the library does not know: interface, drops, time, two lengths, data.
    fn old_packet(&self, length: usize, big_endian: bool) -> Result<Found, Pause> {
        let rest = &self.buffer.rest()[..length];
        if length < 32 {
            return Err(self.broken("a packet block whose parts do not fit into it"));
        }
        let word = |at: usize| number(rest, at, big_endian);
        let interface = if big_endian { word(8) >> 16 } else { word(8) & 0xffff };
        let captured = word(20) as usize;
        if captured > length - 32 {
            return Err(self.broken("a packet block that holds less than it says"));
        }
        self.timed(interface, (word(12), word(16)), word(24), 28, captured, length)
    }

    fn timed(
        &self,
        interface: u32,
        (high, low): (u32, u32),
        original: u32,
        head: usize,
        captured: usize,
        length: usize,
    ) -> Result<Found, Pause> {
        let about = self.of(interface)?;
        let Some(time) = about.nanoseconds(u64::from(high) << 32 | u64::from(low)) else {
            return Err(self.broken("a packet whose time is not between 1970 and 2262"));
        };
        let start = self.buffer.start + head;
        let (time, link_type) = (Some(time), about.link_type);
        Ok(Found { time, interface, link_type, original, data: start..start + captured, length })
    }

    fn simple_packet(&self, length: usize, big_endian: bool) -> Result<Found, Pause> {
        let parse = if big_endian { parse_simplepacketblock_be } else { parse_simplepacketblock_le };
        let Ok((_, block)) = parse(&self.buffer.rest()[..length]) else {
            return Err(self.broken("a packet block whose parts do not fit into it"));
        };
        let interface = self.of(0)?;
        let most = if interface.snaplen == 0 { usize::MAX } else { interface.snaplen as usize };
        let captured = block.packet_data().len().min(most);
        let start = self.buffer.start + 12;
        let (time, link_type, original) = (None, interface.link_type, block.origlen);
        Ok(Found { time, interface: 0, link_type, original, data: start..start + captured, length })
    }
}

impl Interface {
    /// A time of this interface in nanoseconds since 1970, rounded down; none before 1970 and after 2262.
    fn nanoseconds(self, units: u64) -> Option<u64> {
        let (units, power) = (u128::from(units), u32::from(self.resolution & 0x7f));
        let exact = if self.resolution & 0x80 != 0 {
            (units * 1_000_000_000) >> power
        } else if power <= 9 {
            units * 10u128.pow(9 - power)
        } else {
            10u128.checked_pow(power - 9).map_or(0, |divisor| units / divisor)
        };
        let nanoseconds = i128::try_from(exact).ok()? + i128::from(self.offset) * 1_000_000_000;
        u64::try_from(nanoseconds).ok().filter(|time| *time <= i64::MAX as u64)
    }
}
