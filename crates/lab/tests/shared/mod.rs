//! What several tests use.

#![allow(dead_code)] // no test uses all

pub mod replays;
pub mod scenarios;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// A file that the test can look at afterwards.
#[derive(Clone, Default)]
pub struct Shared(pub Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
