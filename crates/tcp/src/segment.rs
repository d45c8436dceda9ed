//! What two ends exchange.

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

/// Ranges received beyond the acknowledgement (RFC 2018), the one that changed last first. Packed, so that their number
/// lies with what else every segment has.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, packed)]
pub struct Sacks {
    count: u8,
    /// Start and end, as distances in bytes from the acknowledgement. Those beyond `count` mean nothing.
    blocks: [(u32, u32); SACK_BLOCKS],
}

impl PartialEq for Sacks {
    fn eq(&self, other: &Sacks) -> bool {
        self.distances().eq(other.distances())
    }
}

impl Eq for Sacks {}

impl Sacks {
    fn distances(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.blocks.into_iter().take(self.count.into())
    }

    /// Adds a range beyond `ack`; what does not fit is left out.
    pub fn push(&mut self, ack: u64, (start, end): (u64, u64)) {
        let distance = |at: u64| u32::try_from(at.wrapping_sub(ack)).ok();
        if let (Some(start), Some(end)) = (distance(start), distance(end)) {
            if usize::from(self.count) < SACK_BLOCKS {
                self.blocks[usize::from(self.count)] = (start, end);
                self.count += 1;
            }
        }
    }

    /// The ranges, given the acknowledgement that they came with.
    pub fn ranges(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.distances().map(move |(start, end)| (ack.saturating_add(start.into()), ack.saturating_add(end.into())))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the option that carries them (RFC 2018: 2 and 8 for each, padded to 4).
    #[must_use]
    pub fn bytes(&self) -> u32 {
        if self.count == 0 { 0 } else { 4 + 8 * u32::from(self.count) }
    }
}

/// What hosts of today say beside, in options and the header; [`Options::NONE`] for others. Packed, so that a packet of the
/// simulator stays in two cache lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, packed)]
pub struct Options {
    /// Which of the rest mean anything.
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

    /// Whether all of these mean something.
    #[must_use]
    pub fn has(&self, kinds: u8) -> bool {
        self.kinds & kinds == kinds
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// What its sender has received beyond `ack`.
    pub sacks: Sacks,
    /// What hosts of today say beside.
    pub options: Options,
}

impl Segment {
    /// Makes it a segment with nothing but these; cheaper than a new one.
    #[inline(always)]
    pub(crate) fn set(&mut self, seq: u64, len: u32, flags: Flags) {
        (self.seq, self.ack, self.len, self.flags) = (seq, 0, len, flags);
        self.sacks.count = 0;
        self.options.kinds = Options::NONE;
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
        if self.options.kinds == Options::NONE { self.sacks.bytes() } else { self.more_option_bytes() }
    }

    /// The same where there is more than SACK: a repeated range is one more of its blocks; a SYN has the largest segment, SACK
    /// permitted and the window's scale (RFC 9293, 2018, 7323), 8 bytes with timestamps counted apart; RFC 9768's option
    /// with two counters takes 8 ([`ACCURATE_BYTES`]).
    fn more_option_bytes(&self) -> u32 {
        let blocks = u32::from(self.sacks.count) + u32::from(self.options.has(Options::DUPLICATE));
        let sack = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        let accurate = if self.options.has(Options::CE_BYTES) { ACCURATE_BYTES } else { 0 };
        sack + accurate + if self.flags.has(Flags::SYN) { 8 } else { 0 }
    }
}
