//! The replay itself: packets arrive at a queue at their recorded times, and a link of some rate sends what the queue
//! gives it.
//!
//! | what a capture holds | what we do | why |
//! |---|---|---|
//! | times that go back, or leap | see [`times`](super::times) | |
//! | how senders reacted to the network when it was recorded | their packets are replayed as recorded | a recorded sender does not react to the replay |
//! | both directions of a link | all packets cross the one link | the user chooses which packets to replay |

use super::flows::Flows;
use super::link::{Crossed, Found, Frame, Link, Setting, Sink};
use super::packet::decode;
use super::reader::{Capture, Damage, Next, Record, Trouble};
use super::seen::{Packet, Seen};
use super::timed::{Failure, Step, Timed};
use super::times::Totals;
use super::writer::Writer;
use sluicegate_aqm::Discipline;
use sluicegate_base::Time;
use std::collections::VecDeque;
use std::io::{self, Read, Write};

/// What a replay leaves.
pub struct Replayed {
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// How many bytes of the file were read.
    pub read: u64,
    /// Where reading ended early.
    pub damage: Option<Damage>,
    /// What was counted as they were read.
    pub totals: Totals,
    /// What the link has counted.
    pub crossed: Crossed,
    /// What each flow has met.
    pub flows: Flows,
}

impl Replayed {
    /// What a replay of nothing would leave.
    #[must_use]
    pub fn empty() -> Replayed {
        let (totals, crossed, flows) = (Totals::default(), Crossed::default(), Flows::new(0, 0));
        Replayed { format: "", read: 0, damage: None, totals, crossed, flows }
    }
}

/// Where a replay stands after some work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There is more to do.
    Going,
    /// The capture keeps it waiting, or a signal came; there is more to do.
    Interrupted,
    /// It is done.
    Done,
}

/// The file of what leaves the link, if there is one.
struct Written<W: Write> {
    out: Option<Writer<W>>,
    /// When the first packet was recorded.
    base: u64,
}

impl<W: Write> Sink for Written<W> {
    fn keeps(&mut self, link_type: u16) -> io::Result<bool> {
        self.out.as_mut().map_or(Ok(false), |out| out.interface(link_type).map(|_| true))
    }

    fn sent(&mut self, frame: &Frame, now: Time) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        out.packet(frame.link_type, self.base.saturating_add(now.0), frame.original, &frame.data)
    }
}

/// A replay in progress.
pub struct Replay<R: Read, W: Write> {
    source: Timed<R>,
    link: Link<Written<W>>,
    /// The packets that arrive next, with their times.
    coming: VecDeque<(Time, Seen)>,
    ended: bool,
    damage: Option<Damage>,
    now: Time,
}

impl<R: Read, W: Write> Replay<R, W> {
    /// Sets a replay up; nothing is read yet. What leaves the link is written to `out`, if there is one.
    pub fn new(
        reader: R,
        setting: Setting,
        queue: Box<dyn Discipline<Packet>>,
        out: Option<W>,
    ) -> Result<Self, Failure> {
        let out = out.map(Writer::new).transpose().map_err(Failure::Write)?;
        Ok(Replay {
            source: Timed::new(reader, setting.on_jump, setting.rate),
            link: Link::new(setting, queue, Written { out, base: 0 }),
            coming: VecDeque::new(),
            ended: false,
            damage: None,
            now: Time::ZERO,
        })
    }

    /// How many bytes of the capture have been used, and how many packets have been read.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.source.capture.offset(), self.source.times.totals.packets)
    }

    /// The time since the first packet.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Lets up to `budget` events happen.
    pub fn advance(&mut self, budget: u64) -> Result<Progress, Failure> {
        for _ in 0..budget {
            if self.coming.is_empty() && !self.ended && !self.read()? {
                return Ok(Progress::Interrupted);
            }
            // At equal times the port goes first, as the trait `Discipline` says.
            let arrival = self.coming.front().map_or(Time::NEVER, |(time, _)| *time);
            let due = if self.is_busy() { self.link.port().next_deadline() } else { Time::NEVER };
            if due <= arrival && due < Time::NEVER {
                self.now = due;
                self.link.advance(due).map_err(Failure::Write)?;
            } else if let Some((time, packet)) = self.coming.pop_front() {
                self.now = time;
                self.link.arrive(packet, time).map_err(Failure::Write)?;
            } else {
                return Ok(Progress::Done);
            }
        }
        Ok(Progress::Going)
    }

    /// Whether a packet has yet to arrive or to leave. A discipline may ask for wake-ups for ever: they alone do not count.
    fn is_busy(&self) -> bool {
        let port = self.link.port();
        let departs = match port.sending() {
            Some(_) => port.next_departure() < Time::NEVER,
            None => !port.is_empty(),
        };
        departs || !self.coming.is_empty()
    }

    /// Reads until a packet arrives, or the capture ends; false when there is none yet.
    fn read(&mut self) -> Result<bool, Failure> {
        let Replay { source, link, coming, .. } = self;
        loop {
            let mut accept = |packet: &Record<'_>, time: Time, base: u64| {
                link.sink().base = base;
                let found = Found { link_type: packet.link_type, data: packet.data, original: packet.original };
                link.take(&found, time, &mut |packet| coming.push_back((time, packet))).map_err(Failure::Write)
            };
            match source.step(&mut accept)? {
                Step::More if coming.is_empty() => {}
                Step::More => return Ok(true),
                Step::Interrupted => return Ok(false),
                Step::End(damage) => {
                    (self.ended, self.damage) = (true, damage);
                    return Ok(true);
                }
            }
        }
    }

    /// Ends the replay and gives what it has measured.
    pub fn finish(self) -> Result<Replayed, Failure> {
        let (crossed, flows, Written { out, .. }) = self.link.finish(self.now);
        if let Some(out) = out {
            out.finish().map_err(Failure::Write)?;
        }
        let Timed { capture, times } = self.source;
        let (format, read) = (capture.format(), capture.offset());
        Ok(Replayed { format, read, damage: self.damage, totals: times.totals, crossed, flows })
    }
}

/// Reads a whole capture and looks at every packet, without a queue: packets, their IP bytes, and where it is damaged.
/// Whatever the reader gives, this ends and does not panic.
pub fn survey(reader: impl Read) -> Result<(u64, u64, Option<Damage>), Trouble> {
    let (mut capture, mut flows, mut packets, mut bytes) = (Capture::new(reader), Flows::new(1, 1000), 0, 0);
    loop {
        match capture.next() {
            Ok(Next::Record(record)) => {
                let seen = decode(record.link_type, record.data, record.original);
                flows.find(&seen, Time(record.time.unwrap_or(0)));
                packets += 1;
                bytes += u64::from(seen.bytes);
            }
            Ok(Next::End) => return Ok((packets, bytes, None)),
            Ok(Next::Interrupted) => {}
            Err(Trouble::Damage(damage)) => return Ok((packets, bytes, Some(damage))),
            Err(trouble) => return Err(trouble),
        }
    }
}
