//! The lower half of a byte's number in the stream, as Linux's sequence numbers are: compared with bytes less than 2 GiB away.

/// A byte, known by the lower half of its number. No window is larger than 1 GiB ([`MOST`](super::window::MOST)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Near(u32);

impl Near {
    /// This byte.
    #[inline(always)]
    pub fn new(byte: u64) -> Near {
        Near(byte as u32)
    }

    /// How far another byte is beyond it; less than zero if that is before it.
    #[inline(always)]
    pub fn to(self, byte: u64) -> i32 {
        (byte as u32).wrapping_sub(self.0) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_bytes_compare_across_the_end_of_the_half() {
        let edge = 1u64 << 32;
        assert_eq!(Near::new(edge - 10).to(edge + 10), 20);
        assert_eq!(Near::new(edge + 10).to(edge - 10), -20);
        assert_eq!(Near::new(5).to(5), 0);
    }
}
