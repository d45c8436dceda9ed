//! The packets of a capture in order, each with the time when it arrives: what `reader` reads, timed by `times`.

use super::reader::{Capture, Damage, Next, Record, Trouble};
use super::times::{Jump, OnJump, Times};
use sluicegate_base::{Rate, Time};
use std::io::{self, Read};

/// A capture, and when its packets arrive.
pub struct Timed<R> {
    /// The capture.
    pub capture: Capture<R>,
    /// Its times.
    pub times: Times,
}

/// Why a replay cannot go on.
#[derive(Debug)]
pub enum Failure {
    /// The file is no capture, nothing of it could be read, or its times leap; says so.
    Unusable(String),
    /// What leaves the link could not be written.
    Write(io::Error),
}

/// What a step has found.
#[derive(Debug)]
pub enum Step {
    /// A packet, which may be held until it is clear how times go on.
    More,
    /// Nothing has come for a while, or a signal has: look for signals, then go on.
    Interrupted,
    /// The capture ends, or is damaged here.
    End(Option<Damage>),
}

impl From<Jump> for Failure {
    fn from(Jump(what): Jump) -> Failure {
        Failure::Unusable(what)
    }
}

impl<R: Read> Timed<R> {
    /// Nothing is read yet. `rate`: that of the link, for what counts as a burst.
    pub fn new(reader: R, on_jump: OnJump, rate: Rate) -> Timed<R> {
        Timed { capture: Capture::new(reader), times: Times::new(on_jump, rate) }
    }

    /// Reads on by a packet; those that arrive go to `accept` with their times, counted from the first one, and its time.
    pub fn step(
        &mut self,
        accept: &mut dyn FnMut(&Record<'_>, Time, u64) -> Result<(), Failure>,
    ) -> Result<Step, Failure> {
        let damage = match self.capture.next() {
            Ok(Next::Record(record)) => return self.times.next(&record, accept).map(|()| Step::More),
            Ok(Next::Interrupted) => return Ok(Step::Interrupted),
            Ok(Next::End) => None,
            Err(Trouble::NotACapture(what)) => return Err(Failure::Unusable(what)),
            Err(Trouble::Damage(damage)) => Some(damage),
        };
        self.times.finish(accept)?;
        match damage {
            _ if self.times.totals.packets > 0 => Ok(Step::End(damage)),
            None => Err(Failure::Unusable("holds no packet".to_owned())),
            Some(Damage { offset, what }) => {
                Err(Failure::Unusable(format!("is damaged at byte {offset}, before the first packet: {what}")))
            }
        }
    }
}
