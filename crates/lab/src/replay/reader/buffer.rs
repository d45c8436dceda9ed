//! A window onto a stream.

use std::io::{self, Read};

/// What has been read and not yet left behind.
pub(super) struct Buffer<R> {
    reader: R,
    pub data: Vec<u8>,
    pub start: usize,
    end: usize,
    /// The place in the stream of `start`.
    pub offset: u64,
}

impl<R: Read> Buffer<R> {
    pub fn new(reader: R) -> Buffer<R> {
        Buffer { reader, data: vec![0; 1 << 18], start: 0, end: 0, offset: 0 }
    }

    pub fn rest(&self) -> &[u8] {
        &self.data[self.start..self.end]
    }

    pub fn advance(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Reads until `wanted` bytes are there; false when the stream ends before.
    pub fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        while self.end - self.start < wanted {
            if self.start + wanted > self.data.len() {
                self.data.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
                if wanted > self.data.len() {
                    self.data.resize(wanted.next_power_of_two(), 0);
                }
            }
            match self.reader.read(&mut self.data[self.end..])? {
                0 => return Ok(false),
                read => self.end += read,
            }
        }
        Ok(true)
    }
}
