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

/// What hosts of today say beside, in options and the header; [`Options::NONE`] for others. Packed, so that a segment fills one
/// cache line.
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
}

/// What every segment has. Sequence numbers count the bytes of the stream from 0 and do not wrap; the end of the stream counts as
/// one more byte, the opening of a connection does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Plain {
    /// The first byte that it carries.
    pub seq: u64,
    /// The next byte that its sender expects.
    pub ack: u64,
    /// How many bytes of the stream it carries.
    pub len: u32,
    /// Its flags.
    pub flags: Flags,
    /// What it says beside, as [`Options::kinds`] has it: if anything, the whole [`Segment`] tells.
    pub kinds: u8,
    /// See [`Segment::option_bytes`].
    pub option_bytes: u8,
}

impl Plain {
    /// Makes it a segment with nothing but these.
    #[inline(always)]
    pub(crate) fn set(&mut self, seq: u64, len: u32, flags: Flags) {
        *self = Plain { seq, len, flags, ..Plain::default() };
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
}

/// A TCP segment: what a [`Plain`] one has, and what hosts of today say beside.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Segment {
    /// The first byte that it carries.
    pub seq: u64,
    /// The next byte that its sender expects.
    pub ack: u64,
    /// How many bytes of the stream it carries.
    pub len: u32,
    /// Its flags.
    pub flags: Flags,
    /// How many ranges its sender reports, if `options` says that it does.
    pub count: u8,
    /// What hosts of today say beside.
    pub options: Options,
    /// The starts and ends of these ranges as distances from `ack`: see [`report`](Segment::report) and
    /// [`ranges`](Segment::ranges). The last has a range that came more than once, if `options` says so.
    pub sacks: [(u32, u32); SACK_BLOCKS],
}

const _: () = assert!(size_of::<Segment>() == 64, "one cache line");

impl From<Plain> for Segment {
    fn from(Plain { seq, ack, len, flags, .. }: Plain) -> Segment {
        Segment { seq, ack, len, flags, ..Segment::default() }
    }
}

impl PartialEq for Segment {
    fn eq(&self, other: &Segment) -> bool {
        let all = |it: &Segment| (it.plain(), it.options, it.duplicate());
        all(self) == all(other) && self.ranges().eq(other.ranges())
    }
}

impl Eq for Segment {}

/// The place of a range that came more than once, among those that are reported.
const DUPLICATE: usize = SACK_BLOCKS - 1;

impl Segment {
    /// What every segment has of this one.
    #[must_use]
    #[inline(always)]
    pub fn plain(&self) -> Plain {
        let Segment { seq, ack, len, flags, options, .. } = *self;
        Plain { seq, ack, len, flags, kinds: options.kinds, option_bytes: self.option_bytes() as u8 }
    }

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
        let (count, most) = (self.blocks(), SACK_BLOCKS - usize::from(self.options.has(Options::DUPLICATE)));
        if let (Some(start), Some(end), true) = (distance(start), distance(end), usize::from(count) < most) {
            self.sacks[usize::from(count)] = (start, end);
            self.count = count + 1;
            self.options.kinds |= Options::SACKS;
        }
    }

    /// The range that came more than once (RFC 2883).
    #[must_use]
    pub fn duplicate(&self) -> Option<(u64, u64)> {
        let (distance, bytes) = self.sacks[DUPLICATE];
        let start = self.ack.saturating_add_signed((distance as i32).into());
        self.options.has(Options::DUPLICATE).then(|| (start, start.saturating_add(bytes.into())))
    }

    /// Reports this range as one that came more than once, before any other; one too far from `ack` is left out.
    pub fn report_duplicate(&mut self, (start, end): (u64, u64)) {
        let distance = i32::try_from(start.wrapping_sub(self.ack) as i64);
        if let (Ok(distance), Ok(bytes)) = (distance, u32::try_from(end.saturating_sub(start))) {
            self.sacks[DUPLICATE] = (distance as u32, bytes);
            self.options.kinds |= Options::DUPLICATE;
        }
    }

    /// The names of its flags, as a capture shows them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let flag = |name, flag| (name, self.flags.has(flag));
        let push = ("PSH", self.options.has(Options::PUSH));
        let all = [
            flag("SYN", Flags::SYN),
            flag("FIN", Flags::FIN),
            push,
            flag("ACK", Flags::ACK),
            flag("ECE", Flags::ECE),
            flag("CWR", Flags::CWR),
        ];
        all.into_iter().filter(|(_, set)| *set).map(|(name, _)| name)
    }

    /// See [`Plain::end`].
    #[must_use]
    pub fn end(&self) -> u64 {
        self.seq.saturating_add(u64::from(self.len) + u64::from(self.flags.has(Flags::FIN)))
    }

    /// See [`Plain::occupies`].
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
