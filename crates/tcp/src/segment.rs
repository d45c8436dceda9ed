//! What two ends exchange.

use core::mem::offset_of;

/// The most ranges that one acknowledgement can report (RFC 2018: three beside timestamps; ns-2's `maxSackBlocks_`).
pub const SACK_BLOCKS: usize = 3;

/// Bytes of RFC 9768's option with two counters.
pub const ACCURATE_BYTES: u32 = 8;

/// One bit of a segment's header each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Opens a connection.
    pub const SYN: Flags = Flags(1);
    /// Ends the stream.
    pub const FIN: Flags = Flags(2);
    /// Says that a mark has been seen (RFC 3168, ECN-Echo).
    pub const ECE: Flags = Flags(4);
    /// Says that the window has been reduced (RFC 3168, Congestion Window Reduced).
    pub const CWR: Flags = Flags(8);
    /// Its packet may be marked instead of dropped (ECT(0) in the IP header).
    pub const ECT: Flags = Flags(16);
    /// Acknowledges; every segment but the first SYN does.
    pub const ACK: Flags = Flags(32);
    /// Says that a queue stood between UT/LT's thresholds, and none above (with ECN-Echo: that one did).
    pub const BETWEEN: Flags = Flags(64);
    /// Its packet may be marked, and asks for low latency (ECT(1) in the IP header; RFC 9331).
    pub const ECT1: Flags = Flags(128);

    /// Whether all of these are set.
    #[must_use]
    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of these is set.
    #[must_use]
    #[inline]
    pub fn has_any(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// Those that tell of congestion, as bits: acknowledgements that differ in them tell different things.
    #[must_use]
    pub fn echo(self) -> u8 {
        self.0 & Flags::ECE.with(Flags::CWR).0
    }

    /// Both sets.
    #[must_use]
    pub fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These and, if `on`, the others.
    #[must_use]
    pub fn with_if(self, on: bool, other: Flags) -> Flags {
        if on { self.with(other) } else { self }
    }
}

/// What hosts of today say beside, in options and the header; [`Options::NONE`] for others. Packed, so that what it says first
/// lies with what every segment has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, packed(2))]
pub struct Options {
    /// Which of the rest, and of the ranges, mean anything.
    pub kinds: u8,
    /// The counter of marked packets in the header, modulo 8 (RFC 9768, ACE).
    pub ace: u8,
    /// The timestamp in milliseconds (RFC 7323).
    pub stamp: u32,
    /// The one that is echoed; zero: none.
    pub echo: u32,
    /// The receiver's window in bytes.
    pub window: u32,
    /// A range that came more than once (RFC 2883): where it begins, as a distance from the acknowledgement, and its bytes.
    pub duplicate: (i32, u32),
    /// Marked bytes of the stream that have come, modulo 2²⁴ (RFC 9768, ECEB).
    pub ce_bytes: u32,
}

impl Options {
    /// Nothing.
    pub const NONE: u8 = 0;
    /// Timestamps, and the receiver's window.
    pub const STAMPED: u8 = 1;
    /// A range that came more than once.
    pub const DUPLICATE: u8 = 2;
    /// The counter of marked packets.
    pub const ACE: u8 = 4;
    /// The option that counts marked bytes.
    pub const CE_BYTES: u8 = 8;
    /// The receiver shall hand over what it has (PSH): a write, half a window or a burst ends.
    pub const PUSH: u8 = 16;
    /// Ranges received beyond the acknowledgement.
    pub const SACKS: u8 = 32;

    /// Whether all of these mean something.
    #[must_use]
    pub fn has(&self, kinds: u8) -> bool {
        self.kinds & kinds == kinds
    }

    /// Whether any of these means something.
    #[must_use]
    pub fn has_any(&self, kinds: u8) -> bool {
        self.kinds & kinds != 0
    }

    /// The range that came more than once, given the acknowledgement that reports it.
    #[must_use]
    pub fn duplicate(&self, ack: u64) -> Option<(u64, u64)> {
        let (back, bytes) = self.duplicate;
        let start = ack.saturating_add_signed(back.into());
        self.has(Options::DUPLICATE).then(|| (start, start.saturating_add(bytes.into())))
    }

    /// Reports this range beside that acknowledgement; one too far from it is left out.
    pub fn report(&mut self, ack: u64, (start, end): (u64, u64)) {
        let back = i32::try_from(start.wrapping_sub(ack) as i64);
        if let (Ok(back), Ok(bytes)) = (back, u32::try_from(end.saturating_sub(start))) {
            self.duplicate = (back, bytes);
            self.kinds |= Options::DUPLICATE;
        }
    }
}

/// A TCP segment. What every one has comes first. Sequence numbers count the bytes of the stream from 0 and do not wrap; the
/// end of the stream counts as one more byte, the opening of a connection does not count.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Segment {
    /// The first byte that it carries.
    pub seq: u64,
    /// The next byte that its sender expects.
    pub ack: u64,
    /// How many bytes of the stream it carries.
    pub len: u32,
    /// Its flags.
    pub flags: Flags,
    /// What hosts of today say beside.
    pub options: Options,
    /// How many ranges its sender reports, if `options` says that it does, and their starts and ends as distances from `ack`:
    /// see [`report`](Segment::report) and [`ranges`](Segment::ranges).
    pub count: u8,
    #[allow(missing_docs)]
    pub sacks: [(u32, u32); SACK_BLOCKS],
}

impl PartialEq for Segment {
    fn eq(&self, other: &Segment) -> bool {
        let plain = |it: &Segment| (it.seq, it.ack, it.len, it.flags, it.options);
        plain(self) == plain(other) && self.ranges().eq(other.ranges())
    }
}

impl Eq for Segment {}

impl Segment {
    /// Where what every segment has ends in memory: the rest is touched for those alone that have options.
    pub const PLAIN: usize = offset_of!(Segment, options) + offset_of!(Options, stamp);

    /// Makes it a segment with nothing but these; cheaper than a new one.
    #[inline(always)]
    pub(crate) fn set(&mut self, seq: u64, len: u32, flags: Flags) {
        (self.seq, self.ack, self.len, self.flags) = (seq, 0, len, flags);
        self.options.kinds = Options::NONE;
    }

    fn blocks(&self) -> u8 {
        if self.options.has(Options::SACKS) { self.count } else { 0 }
    }

    /// The ranges that its sender has received beyond `ack` (RFC 2018), the one that changed last first.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let from = |distance: u32| self.ack.saturating_add(distance.into());
        self.sacks.iter().take(self.blocks().into()).map(move |&(start, end)| (from(start), from(end)))
    }

    /// Reports a range beyond `ack`; what does not fit is left out.
    pub fn report(&mut self, (start, end): (u64, u64)) {
        let distance = |at: u64| u32::try_from(at.wrapping_sub(self.ack)).ok();
        let count = self.blocks();
        if let (Some(start), Some(end), true) = (distance(start), distance(end), usize::from(count) < SACK_BLOCKS) {
            self.sacks[usize::from(count)] = (start, end);
            self.count = count + 1;
            self.options.kinds |= Options::SACKS;
        }
    }

    /// What follows the last byte that it carries, the end of the stream counted.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.seq.saturating_add(u64::from(self.len) + u64::from(self.flags.has(Flags::FIN)))
    }

    /// Whether it takes space in the stream, and so wants an acknowledgement.
    #[must_use]
    pub fn occupies(&self) -> bool {
        self.len > 0 || self.flags.has(Flags::FIN)
    }

    /// Its options in bytes, beside what every packet of its host has.
    #[must_use]
    #[inline]
    pub fn option_bytes(&self) -> u32 {
        if self.options.kinds == Options::NONE { 0 } else { self.more_option_bytes() }
    }

    /// The same where there are any: SACK takes 2 and 8 for each block, padded to 4 (RFC 2018), and a repeated range is one of
    /// them; a SYN has the largest segment, SACK permitted and the window's scale (RFC 9293, 2018, 7323), 8 bytes with timestamps
    /// counted apart; RFC 9768's option with two counters takes 8 ([`ACCURATE_BYTES`]).
    fn more_option_bytes(&self) -> u32 {
        if !self.options.has_any(Options::SACKS | Options::DUPLICATE | Options::CE_BYTES) && !self.flags.has(Flags::SYN)
        {
            return 0;
        }
        let blocks = u32::from(self.blocks()) + u32::from(self.options.has(Options::DUPLICATE));
        let sack = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        let accurate = if self.options.has(Options::CE_BYTES) { ACCURATE_BYTES } else { 0 };
        sack + accurate + if self.flags.has(Flags::SYN) { 8 } else { 0 }
    }
}
