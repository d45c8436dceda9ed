//! What two ends exchange.

/// A TCP segment. Sequence numbers count the bytes of the stream from 0 and do not wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The first byte that it carries.
    pub seq: u64,
    /// The next byte that its sender expects.
    pub ack: u64,
    /// How many bytes of the stream it carries.
    pub len: u32,
}

impl Segment {
    /// The byte after the last that it carries.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
}
