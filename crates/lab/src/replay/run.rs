//! The replay itself: packets arrive at a queue at their recorded times, and a link of some rate sends what the queue
//! gives it.
//!
//! | what a capture holds | what we do | why |
//! |---|---|---|
//! | a silence of more than a day | is damage: the replay ends before it | disciplines that act between packets act through a silence, and a wrong time would stall them |
//! | times that go back | the packet arrives with the latest before it, in the file's order; counted | a queue knows no past; the rest of the file keeps its times |
//! | packets without a time (Simple Packet Blocks) | they arrive with the packet before them; counted | nothing better is known |
//! | the answers of the senders to the network of that day | they are replayed as they were | a recorded sender does not react |
//! | both directions of a link | all packets cross the one link | what is to be replayed is for the person to choose |

use super::flows::Flows;
use super::link::{Crossed, Found, Frame, Link, Packet, Setting, Sink};
use super::packet::{decode, set_ecn};
use super::reader::{Capture, Damage, Next, Trouble};
use super::writer::Writer;
use sluicegate_aqm::Discipline;
use sluicegate_base::{Ecn, Span, Time};
use std::io::{self, Read, Write};

/// The longest silence that a capture may hold: a day. Disciplines that act between packets act all the while, and a
/// damaged time would stall them for years.
const LONGEST_SILENCE: Span = Span::from_secs(86_400);

/// What a replay has counted.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// When the last packet arrived.
    pub arrival: Time,
    /// When the first packet was recorded, in nanoseconds since 1970.
    pub base: u64,
    /// Packets whose time lies before that of one before them, and the longest step back.
    pub out_of_order: (u64, Span),
    /// Packets without a time.
    pub untimed: u64,
    /// Packets of which less was captured than there was.
    pub cut: u64,
    /// Packets read.
    pub packets: u64,
}

/// What a replay leaves.
pub struct Outcome {
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

impl Outcome {
    /// What a replay of nothing would leave.
    #[must_use]
    pub fn empty() -> Outcome {
        let (totals, crossed, flows) = (Totals::default(), Crossed::default(), Flows::new(0, 0));
        Outcome { format: "", read: 0, damage: None, totals, crossed, flows }
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

/// Why a replay cannot go on.
#[derive(Debug)]
pub enum Failure {
    /// The file is no capture, or nothing of it could be read; says what it is instead.
    Unusable(String),
    /// What leaves the link could not be written.
    Write(io::Error),
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

    fn sent(&mut self, frame: &mut Frame, marked: Option<Ecn>, now: Time) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        if let (Some(ecn), Some(at)) = (marked, frame.ip) {
            set_ecn(&mut frame.data, at, ecn);
        }
        out.packet(frame.link_type, self.base.saturating_add(now.0), frame.original, &frame.data)
    }
}

/// A replay in progress.
pub struct Replay<R: Read, W: Write> {
    capture: Capture<R>,
    link: Link<Written<W>>,
    totals: Totals,
    /// The packet that arrives next, with its time.
    coming: Option<(Time, Packet)>,
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
            capture: Capture::new(reader),
            link: Link::new(setting, queue, Written { out, base: 0 }),
            totals: Totals::default(),
            coming: None,
            ended: false,
            damage: None,
            now: Time::ZERO,
        })
    }

    /// How many bytes of the capture have been used, and how many packets have been read.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.capture.offset(), self.totals.packets)
    }

    /// The time since the first packet.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Lets up to `budget` events happen.
    pub fn advance(&mut self, budget: u64) -> Result<Progress, Failure> {
        for _ in 0..budget {
            if self.coming.is_none() && !self.ended && !self.read()? {
                return Ok(Progress::Interrupted);
            }
            // At equal times the port goes first, as the trait `Discipline` says.
            let arrival = self.coming.as_ref().map_or(Time::NEVER, |(time, _)| *time);
            let due = if self.is_busy() { self.link.port().next_deadline() } else { Time::NEVER };
            if due <= arrival && due < Time::NEVER {
                self.now = due;
                self.link.advance(due).map_err(Failure::Write)?;
            } else if let Some((time, packet)) = self.coming.take() {
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
        departs || self.coming.is_some()
    }

    /// Reads the next packet; false when there is none yet.
    fn read(&mut self) -> Result<bool, Failure> {
        let record = match self.capture.next() {
            Ok(Next::Record(record)) => record,
            Ok(Next::Interrupted) => return Ok(false),
            Ok(Next::End) if self.totals.packets > 0 => {
                self.ended = true;
                return Ok(true);
            }
            Ok(Next::End) => return Err(Failure::Unusable("holds no packet".to_owned())),
            Err(Trouble::NotACapture(what)) => return Err(Failure::Unusable(what)),
            Err(Trouble::Damage(Damage { offset, what })) if self.totals.packets == 0 => {
                let what = format!("is damaged at byte {offset}, before the first packet: {what}");
                return Err(Failure::Unusable(what));
            }
            Err(Trouble::Damage(damage)) => {
                (self.ended, self.damage) = (true, Some(damage));
                return Ok(true);
            }
        };
        let totals = &mut self.totals;
        let latest = totals.arrival;
        let ahead = record.time.map_or(0, |time| time.saturating_sub(totals.base + latest.0));
        if totals.packets > 0 && ahead > LONGEST_SILENCE.0 {
            let what = format!("the time of this packet is {} s after those before it", ahead / 1_000_000_000);
            (self.ended, self.damage) = (true, Some(Damage { offset: self.capture.offset(), what }));
            return Ok(true);
        }
        if totals.packets == 0 {
            totals.base = record.time.unwrap_or(0);
            self.link.sink().base = totals.base;
        }
        totals.packets += 1;
        totals.untimed += u64::from(record.time.is_none());
        totals.cut += u64::from((record.data.len() as u64) < u64::from(record.original));
        let recorded = record.time.unwrap_or(totals.base + latest.0);
        let earliest = totals.base + latest.0;
        if recorded < earliest {
            let back = Span(earliest - recorded);
            totals.out_of_order = (totals.out_of_order.0 + 1, totals.out_of_order.1.max(back));
        }
        let time = Time(recorded.saturating_sub(totals.base)).max(latest);
        totals.arrival = time;
        let found = Found { link_type: record.link_type, data: record.data, original: record.original };
        self.coming = Some((time, self.link.take(&found, time).map_err(Failure::Write)?));
        Ok(true)
    }

    /// Ends the replay and gives what it has measured.
    pub fn finish(self) -> Result<Outcome, Failure> {
        let (crossed, flows, Written { out, .. }) = self.link.finish(self.now);
        if let Some(out) = out {
            out.finish().map_err(Failure::Write)?;
        }
        let (format, read) = (self.capture.format(), self.capture.offset());
        Ok(Outcome { format, read, damage: self.damage, totals: self.totals, crossed, flows })
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
