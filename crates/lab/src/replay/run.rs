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
use super::writer::Writer;
use sluicegate_aqm::{Ctx, Discipline, DropReason, FlowKey};
use sluicegate_base::{Ecn, Rate, Span, Stream, Time, Transmitter};
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
    /// Packets that the queue kept to the end without giving them up or out.
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
}

impl Outcome {
    /// What a replay of nothing would leave.
    #[must_use]
    pub fn empty() -> Outcome {
        let (totals, flows) = (Totals::default(), Flows::new(0, 0));
        Outcome { format: "", read: 0, damage: None, totals, flows }
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

/// A replay in progress.
pub struct Replay<R: Read, W: Write> {
    capture: Capture<R>,
    setting: Setting,
    queue: Box<dyn Discipline<Packet>>,
    rng: Stream,
    dropped: Vec<(Packet, DropReason)>,
    /// The packet that arrives next, with its time.
    coming: Option<(Time, Packet)>,
    ended: bool,
    damage: Option<Damage>,
    /// The packet in transmission, and when its last bit is sent.
    sending: Option<(Time, Packet)>,
    transmitter: Transmitter,
    now: Time,
    flows: Flows,
    totals: Totals,
    frames: Frames,
    out: Option<Writer<W>>,
}

impl<R: Read, W: Write> Replay<R, W> {
    /// Sets a replay up; nothing is read yet. What leaves the link is written to `out`, if there is one.
    pub fn new(
        reader: R,
        setting: Setting,
        queue: Box<dyn Discipline<Packet>>,
        out: Option<W>,
    ) -> Result<Self, Failure> {
        Ok(Replay {
            capture: Capture::new(reader),
            queue,
            rng: Stream::new(setting.seed, "replay/discipline"),
            dropped: Vec::new(),
            coming: None,
            ended: false,
            damage: None,
            sending: None,
            transmitter: Transmitter::new(setting.rate),
            now: Time::ZERO,
            flows: Flows::new(setting.seed, setting.flows),
            totals: Totals::default(),
            frames: Frames::default(),
            out: out.map(Writer::new).transpose().map_err(Failure::Write)?,
            setting,
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
            let arrival = self.coming.as_ref().map(|(time, _)| *time);
            let departure = self.sending.as_ref().map(|(time, _)| *time);
            let busy = arrival.is_some() || departure.is_some() || self.queue.packets() > 0;
            let wake = self.queue.next_wakeup().filter(|_| busy);
            // At equal times wake-ups come first, then departures, as the trait `Discipline` says.
            let by = |time: Time, others: &[Option<Time>]| others.iter().flatten().all(|other| time <= *other);
            if let Some(at) = wake.filter(|at| by(*at, &[departure, arrival])) {
                self.wake(at);
            } else if departure.is_some_and(|at| by(at, &[arrival])) {
                self.depart()?;
            } else if let Some((time, packet)) = self.coming.take() {
                self.now = time;
                self.arrive(packet);
            } else {
                return Ok(Progress::Done);
            }
        }
        Ok(Progress::Going)
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
        let (key, row) = self.flows.find(&seen, time);
        let bytes = match self.setting.length {
            Length::Ip => seen.bytes,
            Length::Frame => record.original.max(1),
        };
        let frame = match &mut self.out {
            Some(out) => {
                out.interface(record.link_type).map_err(Failure::Write)?;
                self.frames.keep(&record, seen.ip)
            }
            None => 0,
        };
        let counted = self.flows.row(row);
        if counted.arrived[0] == 0 {
            counted.seen.0 = time;
        }
        counted.seen.1 = time;
        counted.arrived[0] += 1;
        counted.arrived[1] += u64::from(bytes);
        self.coming = Some((time, Packet { key, bytes, ecn: seen.ecn, marked: false, row, frame, arrived: time }));
        Ok(true)
    }

    /// Panics when this should have been before: time would stand still, or run backwards.
    fn wake(&mut self, at: Time) {
        assert!(at > self.now, "the discipline has a wake-up due after a call: see the trait Discipline");
        self.now = at;
        self.queue.wake(&mut Ctx::new(self.now, &mut self.rng, &mut self.dropped));
        // A shaper may have packets, and let the next one go.
        if self.sending.is_none() && self.queue.packets() > 0 {
            self.transmit();
        }
        self.settle();
    }

    fn arrive(&mut self, packet: Packet) {
        self.queue.enqueue(packet, &mut Ctx::new(self.now, &mut self.rng, &mut self.dropped));
        if self.sending.is_none() {
            self.transmit();
        }
        self.totals.most = self.totals.most.max(self.queue.packets());
        self.settle();
    }

    fn depart(&mut self) -> Result<(), Failure> {
        let (time, packet) = self.sending.take().expect("a packet in transmission");
        self.now = time;
        self.totals.last.1 = time;
        let row = self.flows.row(packet.row);
        row.delivered[0] += 1;
        row.delivered[1] += u64::from(packet.bytes);
        if let Some(out) = &mut self.out {
            let frame = &mut self.frames.all[packet.frame as usize];
            if let (true, Some(at)) = (packet.marked, frame.ip) {
                set_ecn(&mut frame.data, at, packet.ecn);
            }
            let at = self.totals.base.saturating_add(time.0);
            out.packet(frame.link_type, at, frame.original, &frame.data).map_err(Failure::Write)?;
            self.frames.free.push(packet.frame);
        }
        self.transmit();
        self.settle();
        Ok(())
    }

    fn transmit(&mut self) {
        let Some(packet) = self.queue.dequeue(&mut Ctx::new(self.now, &mut self.rng, &mut self.dropped)) else {
            self.transmitter.rest();
            return;
        };
        let waited = self.now.since(packet.arrived);
        self.totals.queued = self.totals.queued + waited;
        self.totals.delays.record(waited.0);
        let row = self.flows.row(packet.row);
        row.delays.record(waited.0);
        row.marked += u64::from(packet.marked);
        let time = self.transmitter.send(u64::from(packet.bytes));
        self.sending = Some((self.now + time, packet));
    }

    /// Counts what the queue has given up.
    fn settle(&mut self) {
        while let Some((packet, reason)) = self.dropped.pop() {
            let row = self.flows.row(packet.row);
            row.drops[reason as usize] += 1;
            row.drops_bytes += u64::from(packet.bytes);
            self.totals.queued = self.totals.queued + self.now.since(packet.arrived);
            if self.out.is_some() {
                self.frames.free.push(packet.frame);
            }
        }
    }

    /// Ends the replay and gives what it has measured.
    pub fn finish(mut self) -> Result<Outcome, Failure> {
        if let Some(out) = self.out.take() {
            out.finish().map_err(Failure::Write)?;
        }
        let (now, totals) = (self.now, &mut self.totals);
        self.queue.for_each(&mut |packet| totals.queued = totals.queued + now.since(packet.arrived));
        totals.left = self.queue.packets();
        Ok(Outcome {
            format: self.capture.format(),
            read: self.capture.offset(),
            damage: self.damage,
            totals: self.totals,
            flows: self.flows,
        })
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
