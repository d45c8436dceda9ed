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

use super::delays::Delays;
use super::flows::Flows;
use super::packet::{Decoded, decode, set_ecn};
use super::reader::{Capture, Damage, Next, Record, Trouble};
use super::series::Series;
use super::writer::Writer;
use sluicegate_aqm::{Discipline, FlowKey};
use sluicegate_base::{Ecn, Rate, Span, Stream, Time};
use sluicegate_port::{Outcome as PortOutcome, Port, PortConfig, PortPacket};
use std::io::{self, Read, Write};

/// A captured packet in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// The hash of its flow.
    pub key: u64,
    /// Its length in bytes, as the link counts it.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Whether the queue has marked it.
    pub marked: bool,
    /// The row that counts it.
    row: u32,
    /// Where its bytes are kept, if they are.
    frame: u32,
    arrived: Time,
}

impl sluicegate_aqm::Packet for Packet {
    #[inline]
    fn flow(&self) -> FlowKey {
        FlowKey(self.key)
    }
    #[inline]
    fn bytes(&self) -> u64 {
        u64::from(self.bytes)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) -> bool {
        self.marked = self.ecn.mark();
        self.marked
    }
}

impl PortPacket for Packet {
    #[inline]
    fn arrived(&self) -> Time {
        self.arrived
    }
    #[inline]
    fn marked(&self) -> bool {
        self.marked
    }
}

/// Which length of a packet counts, for the rate and for the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// That of the IP packet; of what is no IP packet, that of what the link layer carries.
    Ip,
    /// That of the whole frame, as far as captures tell: without preamble and check sequence.
    Frame,
}

/// The longest silence that a capture may hold: a day. Disciplines that act between packets act all the while, and a
/// damaged time would stall them for years.
const LONGEST_SILENCE: Span = Span::from_secs(86_400);

/// How a capture is replayed.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The rate of the link.
    pub rate: Rate,
    /// Which length counts.
    pub length: Length,
    /// How many flows are reported one by one.
    pub flows: usize,
    /// The seed of the discipline's random stream and of the hash.
    pub seed: u64,
}

/// What the whole link has counted.
#[derive(Clone, Debug)]
pub struct Totals {
    /// When the last packet arrived and when the last one was sent.
    pub last: (Time, Time),
    /// When the first packet was recorded, in nanoseconds since 1970.
    pub base: u64,
    /// The most packets queued at once.
    pub most: u64,
    /// Time that packets spent in the queue, whatever became of them.
    pub queued: Span,
    /// Packets that were kept to the end: neither dropped nor sent.
    pub left: u64,
    /// How long those that were sent on had waited.
    pub delays: Delays,
    /// Packets whose time lies before that of one before them, and the longest step back.
    pub out_of_order: (u64, Span),
    /// Packets without a time.
    pub untimed: u64,
    /// Packets of which less was captured than there was.
    pub cut: u64,
    /// Packets read.
    pub packets: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Totals {
            last: (Time::ZERO, Time::ZERO),
            base: 0,
            most: 0,
            queued: Span::ZERO,
            left: 0,
            delays: Delays::finer(),
            out_of_order: (0, Span::ZERO),
            untimed: 0,
            cut: 0,
            packets: 0,
        }
    }
}

/// What a replay leaves.
pub struct Outcome {
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// How many bytes of the file were read.
    pub read: u64,
    /// Where reading ended early.
    pub damage: Option<Damage>,
    /// What the link has counted.
    pub totals: Totals,
    /// What each flow has met.
    pub flows: Flows,
    /// The queue over time.
    pub series: Series,
}

impl Outcome {
    /// What a replay of nothing would leave.
    #[must_use]
    pub fn empty() -> Outcome {
        let (totals, flows) = (Totals::default(), Flows::new(0, 0));
        Outcome { format: "", read: 0, damage: None, totals, flows, series: Series::default() }
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

/// What is kept of a packet that is to be written.
#[derive(Default)]
struct Frame {
    data: Vec<u8>,
    link_type: u16,
    original: u32,
    ip: Option<usize>,
}

/// Frames, whose memory is used again.
#[derive(Default)]
struct Frames {
    all: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    fn keep(&mut self, record: &Record<'_>, ip: Option<usize>) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.all.push(Frame::default());
            self.all.len() as u32 - 1
        });
        let frame = &mut self.all[at as usize];
        frame.data.clear();
        frame.data.extend_from_slice(record.data);
        (frame.link_type, frame.original, frame.ip) = (record.link_type, record.original, ip);
        at
    }
}

/// Counts the outcome of each packet, and writes those that are sent.
struct Recorder<W: Write> {
    flows: Flows,
    totals: Totals,
    frames: Frames,
    out: Option<Writer<W>>,
    failure: Option<io::Error>,
}

/// A replay in progress.
pub struct Replay<R: Read, W: Write> {
    capture: Capture<R>,
    setting: Setting,
    port: Port<Packet>,
    /// The packet that arrives next, with its time.
    coming: Option<(Time, Packet)>,
    ended: bool,
    damage: Option<Damage>,
    now: Time,
    series: Series,
    recorder: Recorder<W>,
}

impl<R: Read, W: Write> Replay<R, W> {
    /// Sets a replay up; nothing is read yet. What leaves the link is written to `out`, if there is one.
    pub fn new(
        reader: R,
        setting: Setting,
        queue: Box<dyn Discipline<Packet>>,
        out: Option<W>,
    ) -> Result<Self, Failure> {
        let rng = Stream::new(setting.seed, "replay/discipline");
        Ok(Replay {
            capture: Capture::new(reader),
            port: Port::new(PortConfig::new(setting.rate), queue, rng),
            coming: None,
            ended: false,
            damage: None,
            now: Time::ZERO,
            series: Series::default(),
            recorder: Recorder {
                flows: Flows::new(setting.seed, setting.flows),
                totals: Totals::default(),
                frames: Frames::default(),
                out: out.map(Writer::new).transpose().map_err(Failure::Write)?,
                failure: None,
            },
            setting,
        })
    }

    /// How many bytes of the capture have been used, and how many packets have been read.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.capture.offset(), self.recorder.totals.packets)
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
            let due = if self.is_busy() { self.port.next_deadline() } else { Time::NEVER };
            let recorder = &mut self.recorder;
            if due <= arrival && due < Time::NEVER {
                self.now = due;
                self.port.advance(due, &mut |outcome: PortOutcome<'_, Packet>| recorder.record(outcome, due));
                if let Some(error) = recorder.failure.take() {
                    return Err(Failure::Write(error));
                }
            } else if let Some((time, packet)) = self.coming.take() {
                self.now = time;
                self.port.arrive(packet, time, &mut |outcome: PortOutcome<'_, Packet>| recorder.record(outcome, time));
            } else {
                return Ok(Progress::Done);
            }
            self.series.note(self.now, self.port.len());
        }
        Ok(Progress::Going)
    }

    /// Whether a packet has yet to arrive or to leave. A discipline may ask for wake-ups for ever: they alone do not count.
    fn is_busy(&self) -> bool {
        let departs = match self.port.sending() {
            Some(_) => self.port.next_departure() < Time::NEVER,
            None => !self.port.is_empty(),
        };
        departs || self.coming.is_some()
    }

    /// Reads the next packet; false when there is none yet.
    fn read(&mut self) -> Result<bool, Failure> {
        let record = match self.capture.next() {
            Ok(Next::Record(record)) => record,
            Ok(Next::Interrupted) => return Ok(false),
            Ok(Next::End) if self.recorder.totals.packets > 0 => {
                self.ended = true;
                return Ok(true);
            }
            Ok(Next::End) => return Err(Failure::Unusable("holds no packet".to_owned())),
            Err(Trouble::NotACapture(what)) => return Err(Failure::Unusable(what)),
            Err(Trouble::Damage(Damage { offset, what })) if self.recorder.totals.packets == 0 => {
                let what = format!("is damaged at byte {offset}, before the first packet: {what}");
                return Err(Failure::Unusable(what));
            }
            Err(Trouble::Damage(damage)) => {
                (self.ended, self.damage) = (true, Some(damage));
                return Ok(true);
            }
        };
        let totals = &mut self.recorder.totals;
        let latest = totals.last.0;
        let ahead = record.time.map_or(0, |time| time.saturating_sub(totals.base + latest.0));
        if totals.packets > 0 && ahead > LONGEST_SILENCE.0 {
            let what = format!("the time of this packet is {} s after those before it", ahead / 1_000_000_000);
            (self.ended, self.damage) = (true, Some(Damage { offset: self.capture.offset(), what }));
            return Ok(true);
        }
        if totals.packets == 0 {
            totals.base = record.time.unwrap_or(0);
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
        totals.last.0 = time;

        let seen: Decoded = decode(record.link_type, record.data, record.original);
        let (key, row) = self.recorder.flows.find(&seen, time);
        let bytes = match self.setting.length {
            Length::Ip => seen.bytes,
            Length::Frame => record.original.max(1),
        };
        let frame = match &mut self.recorder.out {
            Some(out) => {
                out.interface(record.link_type).map_err(Failure::Write)?;
                self.recorder.frames.keep(&record, seen.ip)
            }
            None => 0,
        };
        let counted = self.recorder.flows.row(row);
        if counted.arrived[0] == 0 {
            counted.seen.0 = time;
        }
        counted.seen.1 = time;
        counted.arrived[0] += 1;
        counted.arrived[1] += u64::from(bytes);
        self.coming = Some((time, Packet { key, bytes, ecn: seen.ecn, marked: false, row, frame, arrived: time }));
        Ok(true)
    }

    /// Ends the replay and gives what it has measured.
    pub fn finish(self) -> Result<Outcome, Failure> {
        let (now, Recorder { flows, mut totals, out, .. }) = (self.now, self.recorder);
        if let Some(out) = out {
            out.finish().map_err(Failure::Write)?;
        }
        let mut counters = self.port.counters.clone();
        self.port.for_each(&mut |packet| counters.leave(packet.arrived, now));
        (totals.most, totals.queued) = (counters.max_packets, counters.queueing);
        totals.left = self.port.holds().iter().sum();
        let (format, read) = (self.capture.format(), self.capture.offset());
        Ok(Outcome { format, read, damage: self.damage, totals, flows, series: self.series })
    }
}

impl<W: Write> Recorder<W> {
    fn record(&mut self, outcome: PortOutcome<'_, Packet>, now: Time) {
        match outcome {
            PortOutcome::Started(packet) => {
                let waited = now.since(packet.arrived).0;
                self.totals.delays.record(waited);
                let row = self.flows.row(packet.row);
                row.delays.record(waited);
                row.marked += u64::from(packet.marked);
            }
            PortOutcome::Sent(packet) => {
                self.totals.last.1 = now;
                let row = self.flows.row(packet.row);
                row.delivered[0] += 1;
                row.delivered[1] += u64::from(packet.bytes);
                self.failure = self.write(&packet, now).err();
            }
            PortOutcome::Dropped(packet, reason) => {
                let row = self.flows.row(packet.row);
                row.drops[reason as usize] += 1;
                row.drops_bytes += u64::from(packet.bytes);
                if self.out.is_some() {
                    self.frames.free.push(packet.frame);
                }
            }
            // A recorded sender does not react.
            PortOutcome::Quenched(_) => {}
        }
    }

    fn write(&mut self, packet: &Packet, now: Time) -> io::Result<()> {
        let Some(out) = &mut self.out else { return Ok(()) };
        let frame = &mut self.frames.all[packet.frame as usize];
        if let (true, Some(at)) = (packet.marked, frame.ip) {
            set_ecn(&mut frame.data, at, packet.ecn);
        }
        let at = self.totals.base.saturating_add(now.0);
        out.packet(frame.link_type, at, frame.original, &frame.data)?;
        self.frames.free.push(packet.frame);
        Ok(())
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
