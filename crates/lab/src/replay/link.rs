//! A link that real packets cross: a path of one link, what happens to each flow there, and where its packets go.

use super::delays::Delays;
use super::flows::Flows;
use super::merged::Merged;
use super::packet::{Decoded, decode};
use super::seen::{Packet, Seen};
use super::series::Series;
use super::times::OnJump;
use sluicegate_aqm::{Discipline, DropReason};
use sluicegate_base::{Rate, Span, Stream, Time};
use sluicegate_port::{Hop, LinkConfig, Paths, Port, PortConfig, Watch, WirePlan};
use std::io;

/// Which length of a packet counts, for the rate and for the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// That of the IP packet; of what is no IP packet, that of what the link layer carries.
    Ip,
    /// That of the whole frame, as far as captures tell: without preamble and check sequence.
    Frame,
}

/// How a link for real packets is made.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The rate of the link.
    pub rate: Rate,
    /// Which length counts.
    pub length: Length,
    /// The longest packet: what is longer was merged by a host, and is split.
    pub mtu: u32,
    /// What is done where times leap.
    pub on_jump: OnJump,
    /// How many flows are reported one by one.
    pub flows: usize,
    /// The seed of the discipline's random stream and of the hash.
    pub seed: u64,
}

/// A packet as it was found.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    /// The kind of link, by the numbers of pcap.
    pub link_type: u16,
    /// The bytes that are there, and how many there were.
    pub data: &'a [u8],
    /// See `data`.
    pub original: u32,
}

/// What is kept of a packet until it leaves.
#[derive(Debug, Default)]
pub struct Frame {
    /// Its bytes.
    pub data: Vec<u8>,
    /// The kind of link that it came from.
    pub link_type: u16,
    /// How many bytes there were.
    pub original: u32,
    /// Where its IP header begins.
    pub ip: Option<usize>,
}

/// Where packets go that the link has sent.
pub trait Sink {
    /// A packet of this kind of link arrives: whether its bytes are to be kept until it leaves.
    fn keeps(&mut self, link_type: u16) -> io::Result<bool>;
    /// The last bit of a packet is out.
    fn sent(&mut self, frame: &Frame, now: Time) -> io::Result<()>;
}

/// Frames, whose memory is used again.
#[derive(Default)]
struct Frames {
    all: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    fn keep(&mut self, found: &Found<'_>, ip: Option<usize>) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            self.all.push(Frame::default());
            self.all.len() as u32 - 1
        });
        let frame = &mut self.all[at as usize];
        frame.data.clear();
        frame.data.extend_from_slice(found.data);
        (frame.link_type, frame.original, frame.ip) = (found.link_type, found.original, ip);
        at
    }
}

/// The frame of a packet of which nothing is kept.
const NONE: u32 = u32::MAX;

/// What a link has counted.
#[derive(Clone, Debug)]
pub struct Crossed {
    /// When the last packet was sent.
    pub last: Time,
    /// The most packets queued at once.
    pub most: u64,
    /// Time that packets spent in the queue, whatever became of them.
    pub queued: Span,
    /// Packets that were kept to the end: neither dropped nor sent.
    pub left: u64,
    /// How long those that were sent on had waited.
    pub delays: Delays,
    /// The queue over time.
    pub series: Series,
    /// Packets that a host had merged, and the pieces that they were split into.
    pub merged: [u64; 2],
    /// Packets longer than the longest that were not split.
    pub oversize: u64,
}

impl Default for Crossed {
    fn default() -> Self {
        let (queued, delays, series) = (Span::ZERO, Delays::finer(), Series::default());
        Crossed { last: Time::ZERO, most: 0, queued, left: 0, delays, series, merged: [0; 2], oversize: 0 }
    }
}

/// Counts the outcome of each packet, and hands over those that are sent.
struct Recorder<S> {
    flows: Flows,
    crossed: Crossed,
    frames: Frames,
    sink: S,
    failure: Option<io::Error>,
}

/// A link that real packets cross.
pub struct Link<S> {
    paths: Paths<Seen>,
    length: Length,
    mtu: u32,
    /// A piece of a packet that is split.
    piece: Vec<u8>,
    recorder: Recorder<S>,
}

impl<S: Sink> Link<S> {
    /// An idle link under this discipline, whose packets go to `sink`.
    pub fn new(setting: Setting, queue: Box<dyn Discipline<Packet>>, sink: S) -> Link<S> {
        let (port, wire) = (PortConfig::new(setting.rate), WirePlan::default());
        let mut paths = Paths::new(setting.seed);
        let rng = Stream::new(setting.seed, "replay/discipline");
        let link = paths.add_link_with("replay", LinkConfig { port, queue, delay: Span::ZERO, wire }, rng);
        paths.add_way(&[link]);
        Link {
            paths,
            length: setting.length,
            mtu: setting.mtu,
            piece: Vec::new(),
            recorder: Recorder {
                flows: Flows::new(setting.seed, setting.flows),
                crossed: Crossed::default(),
                frames: Frames::default(),
                sink,
                failure: None,
            },
        }
    }

    /// A packet that will arrive at `time`, counted as an arrival; of one that a host has merged, the pieces. [`Link::arrive`]
    /// takes each that is given to `each`.
    pub fn take(&mut self, found: &Found<'_>, time: Time, each: &mut impl FnMut(Seen)) -> io::Result<()> {
        let seen = decode(found.link_type, found.data, found.original);
        let Some(merged) = Merged::find(&seen, found.data, self.mtu) else {
            self.recorder.crossed.oversize += u64::from(seen.ip.is_some() && seen.bytes > self.mtu);
            each(self.one(found, &seen, time)?);
            return Ok(());
        };
        let mut piece = std::mem::take(&mut self.piece);
        for number in 0..merged.pieces() {
            let original = merged.piece(found.data, number, &mut piece);
            let found = Found { data: &piece, original, ..*found };
            each(self.one(&found, &decode(found.link_type, &piece, original), time)?);
        }
        self.piece = piece;
        let counted = &mut self.recorder.crossed.merged;
        *counted = [counted[0] + 1, counted[1] + merged.pieces() as u64];
        Ok(())
    }

    /// A packet of a wire: whose it is.
    fn one(&mut self, found: &Found<'_>, seen: &Decoded, time: Time) -> io::Result<Seen> {
        let Recorder { flows, frames, sink, .. } = &mut self.recorder;
        let (key, row) = flows.find(seen, time);
        let bytes = match self.length {
            Length::Ip => seen.bytes,
            Length::Frame => found.original.max(1),
        };
        let frame = if sink.keeps(found.link_type)? { frames.keep(found, seen.ip) } else { NONE };
        let counted = flows.row(row);
        if counted.arrived[0] == 0 {
            counted.seen.0 = time;
        }
        counted.seen.1 = time;
        counted.arrived[0] += 1;
        counted.arrived[1] += u64::from(bytes);
        Ok(Seen { bytes, frame, ..Seen::of(seen, key, row) })
    }

    /// A packet arrives.
    pub fn arrive(&mut self, packet: Seen, now: Time) -> io::Result<()> {
        self.paths.enter(packet, 0, [Span::ZERO; 2], now, &mut self.recorder);
        self.done(now)
    }

    /// Does what is due now: [`Paths::advance`].
    pub fn advance(&mut self, now: Time) -> io::Result<()> {
        self.paths.advance(now, &mut self.recorder);
        self.done(now)
    }

    fn done(&mut self, now: Time) -> io::Result<()> {
        let queued = self.port().len();
        self.recorder.crossed.series.note(now, queued);
        self.recorder.failure.take().map_or(Ok(()), Err)
    }

    /// Where packets go.
    pub fn sink(&mut self) -> &mut S {
        &mut self.recorder.sink
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> &Port<Packet> {
        &self.paths.links[0].port
    }

    /// What has been counted until `now`, what each flow has met, and where packets went.
    pub fn finish(self, now: Time) -> (Crossed, Flows, S) {
        let port = self.port();
        let (counters, left) = (port.counters_until(now), port.holds().iter().sum());
        let Recorder { flows, mut crossed, sink, .. } = self.recorder;
        (crossed.most, crossed.queued, crossed.left) = (counters.max_packets, counters.queueing, left);
        (crossed, flows, sink)
    }
}

impl<S: Sink> Watch<Seen> for Recorder<S> {
    fn started(&mut self, _: u32, packet: &Packet, now: Time) {
        let waited = now.since(packet.arrived).0;
        self.crossed.delays.record(waited);
        let row = self.flows.row(packet.row);
        row.delays.record(waited);
        row.marked += u64::from(packet.marked);
    }

    fn lost(&mut self, _: Hop, _: Packet, _: Time) {
        unreachable!("its wire does nothing");
    }

    fn dropped(&mut self, _: u32, packet: Packet, reason: DropReason, _: Time) {
        let row = self.flows.row(packet.row);
        row.drops[reason as usize] += 1;
        row.drops_bytes += u64::from(packet.bytes);
        if packet.frame != NONE {
            self.frames.free.push(packet.frame);
        }
    }

    fn delivered(&mut self, packet: Packet, now: Time) {
        self.crossed.last = now;
        let row = self.flows.row(packet.row);
        row.delivered[0] += 1;
        row.delivered[1] += u64::from(packet.bytes);
        if packet.frame != NONE {
            let frame = &mut self.frames.all[packet.frame as usize];
            if let Some(at) = frame.ip {
                packet.write_back(packet.marked, &mut frame.data, at);
            }
            self.failure = self.failure.take().or(self.sink.sent(frame, now).err());
            self.frames.free.push(packet.frame);
        }
    }
}
