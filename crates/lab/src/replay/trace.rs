//! What a link of the simulator sends, as a capture: raw IPv4 with TCP and UDP headers, payloads left out.
//!
//! | what the simulator has | what the capture shows | why |
//! |---|---|---|
//! | flow n of the results | 10.0.0.0 + n, port 10000 + (n − 1) mod 50000, to 172.16.0.0 + n, port 5001 | an address for each host of a million flows |
//! | a flow in reverse | from 172.16.0.0 + n to 10.0.0.0 + n | its sender is at the other side of the bottleneck |
//! | connections that come and go | the same, numbered on after the flows; addresses repeat after 1048576, with other ports | they are many |
//! | sequence numbers from 0, without room for the SYN | one more, so that the SYN is 0 | RFC 9293; both initial sequence numbers are 0 |
//! | the time since the start | the time since 1970 | a simulation has no date |
//! | headers of `header_size` bytes | 40 bytes, and the rest as padding options; a smaller `header_size` becomes 40, others are rounded up to a multiple of four | nothing else can be written down |
//! | a window above 65,535 bytes | scaled; a SYN has the option even where `header_size` leaves no room for it | RFC 7323; such a SYN is 4 bytes longer than the simulated one |
//! | Linux's hosts: timestamps, DSACK, PSH, the window that is announced | the same; a window is rounded down to its scale | the header has 16 bits for it |
//! | Linux's hosts with a `header_size` below 52 bytes | no timestamps | nothing can be written down where there is no room |
//! | accurate ECN: counters that begin at 0, a SYN with ECT(1) | the flags AE, CWR, ECE of the opening, and then a counter that began at 5 | RFC 9768, Sec. 3.1 and 3.2.2 |
//! | a SYN or SYN-ACK that was marked on the way | the answer says ECT(1) | hosts here ignore that mark |
//! | the counter of marked bytes | in the option with two counters; that of ECT(1) stays at 1, where it begins | RFC 9768, Sec. 3.2.3; no host here looks at the other |
//! | the papers' hosts: timestamps as bytes of the header only, no PSH, a window that they do not announce | padding, no PSH, the most that the window may become | they do not carry them |
//! | datagrams that are alike | the IP identification numbers them: how many their sender had sent before, modulo 65536 | as Linux counts for each connected socket (`ip_select_ident_segs`); captures before and after a queue then show which one is missing |
//! | datagrams of any length | of at least 28 bytes | the headers of IP and UDP |
//! | data without content | the length of it; checksums are those of zeros | only headers are captured |

#[cfg(test)]
mod tests;

use super::writer::Writer;
use crate::ScenarioError;
use crate::link::REVERSE;
use sluicegate_base::Time;
use sluicegate_base::params::did_you_mean;
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::{End, Hop, Plan, Sim, SimPacket};
use sluicegate_tcp::linux::window_scale;
use sluicegate_tcp::segment::Options;
use sluicegate_tcp::{Algorithm, Flags, Segment};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// LINKTYPE_IPV4: a packet begins with its IPv4 header.
const LINK_TYPE: u16 = 228;

/// How the packets of one flow look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Tcp {
        /// Bytes of the IP and TCP header without the options that only some segments have.
        header: u16,
        /// The most that the window may become, and how many bits it is scaled by.
        window: u32,
        scale: u8,
        /// Bytes of the stream in a full segment, if nothing but what `header` has comes before them.
        mss: u16,
        /// Whether selective acknowledgements are permitted.
        sack: bool,
        /// Whether it is Linux's, which says more in its segments.
        linux: bool,
        /// Whether accurate ECN is agreed on.
        accurate: bool,
    },
    Udp,
}

/// How the packets of all flows look, and whether their data goes in reverse, so that their sender is at the other side.
#[derive(Clone, Debug)]
pub struct Shapes(Arc<[(Shape, bool)]>);

impl Shapes {
    /// Those of the flows of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Shapes {
        let shape = |source: &SourcePlan| match source.host() {
            Some(host) => {
                let window = u32::try_from(host.window).unwrap_or(u32::MAX).min(65_535 << 14);
                let linux = host.is_linux();
                let least = (0..14).find(|scale| window >> scale <= 65_535).unwrap_or(14);
                Shape::Tcp {
                    header: host.header.clamp(40, 120).next_multiple_of(4) as u16,
                    window,
                    scale: if linux { window_scale(host.window) } else { least },
                    mss: u16::try_from(host.mss + host.algorithm.data_options()).unwrap_or(u16::MAX),
                    sack: host.sack(),
                    linux,
                    accurate: linux && host.algorithm == Algorithm::Prague,
                }
            }
            None => Shape::Udp,
        };
        let back = plan.links.iter().position(|link| link.name == REVERSE).map(|at| Hop::Link(at as u32));
        let in_reverse = |path: &[Hop]| back.is_some_and(|back| path.contains(&back));
        Shapes(plan.flows.iter().map(|flow| (shape(&flow.source), in_reverse(&flow.path))).collect())
    }
}

/// A capture of what one link sends.
pub struct Trace<W: Write> {
    writer: Writer<W>,
    shapes: Shapes,
    /// The first error of writing; nothing is written after it.
    error: Option<io::Error>,
}

impl<W: Write> Trace<W> {
    /// Begins a capture.
    pub fn new(out: W, shapes: Shapes) -> io::Result<Trace<W>> {
        let mut writer = Writer::new(out)?;
        writer.interface(LINK_TYPE)?;
        Ok(Trace { writer, shapes, error: None })
    }

    /// Captures a packet with this segment, whose last bit is sent now.
    pub fn packet(&mut self, now: Time, packet: &SimPacket, segment: &Segment) {
        if self.error.is_some() {
            return;
        }
        let (headers, length, original) = headers(self.shapes.0[packet.flow as usize], packet, segment);
        let written = self.writer.packet(LINK_TYPE, now.0, original, &headers[..length]);
        self.error = written.err();
    }

    /// Ends the capture.
    pub fn finish(self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => self.writer.finish(),
        }
    }
}

/// A capture that grows while the simulator runs.
pub type Growing<W> = Arc<Mutex<Option<Trace<W>>>>;

/// What a capture of what reaches the queue of a link is called, after the link's name.
const ARRIVALS: &str = "/arrivals";

/// Captures what the link of this name sends from now on, or with `/arrivals` after its name what reaches its
/// queue; take the trace from what is given when the run is over.
pub fn attach<W: Write + Send + 'static>(sim: &mut Sim, link: &str, trace: Trace<W>) -> Growing<W> {
    let growing = Arc::new(Mutex::new(Some(trace)));
    let shared = growing.clone();
    let observer = Box::new(move |now, packet: &SimPacket, segment: &Segment| {
        let mut trace = shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(trace) = trace.as_mut() {
            trace.packet(now, packet, segment);
        }
    });
    let found = match link.strip_suffix(ARRIVALS) {
        Some(link) => sim.observe_arrivals(link, observer),
        None => sim.observe(link, observer),
    };
    assert!(found, "a link that the run has");
    growing
}

/// Makes sure that the plan has a link or line of this name.
pub fn observable(plan: &Plan, name: &str) -> Result<(), ScenarioError> {
    let lines = plan.lines.iter().map(|line| line.name.to_string());
    let links: Vec<String> = plan.links.iter().map(|link| link.name.clone()).chain(lines).collect();
    let monitored = plan.links.iter().filter(|link| link.monitored);
    let arrivals: Vec<String> = monitored.map(|link| format!("{}{ARRIVALS}", link.name)).collect();
    if links.iter().chain(&arrivals).any(|link| link == name) {
        return Ok(());
    }
    // Links of single flows are named after them; nobody wants to read a thousand names.
    let (own, shared): (Vec<&str>, Vec<&str>) =
        links.iter().chain(&arrivals).map(String::as_str).partition(|name| name.starts_with("flow/"));
    let names = &shared[..shared.len().min(20)];
    let near = did_you_mean(name, names);
    let own = match own[..] {
        [first, .., last] => format!("; of single flows: {first} to {last}"),
        [only] => format!("; of a single flow: {only}"),
        [] => String::new(),
    };
    Err(ScenarioError(format!("capture of {name}: no such link{near}; links: {}{own}", names.join(", "))))
}

/// The most bytes that the headers of IP and TCP take.
const MOST: usize = 120;

/// What timestamps take of a header, padded.
const STAMPS: usize = 12;

/// The headers of a packet with this segment, how long they are, and how long the whole packet is.
fn headers((shape, in_reverse): (Shape, bool), packet: &SimPacket, segment: &Segment) -> ([u8; MOST], usize, u32) {
    let mut bytes = [0u8; MOST];
    let mut options = Written::default();
    let (extra, transport) = match shape {
        Shape::Tcp { header, .. } => {
            fill(&mut options, shape, segment);
            let wanted = usize::from(header) - 40 + segment.option_bytes() as usize;
            let tcp = wanted.clamp(options.length, 40);
            (wanted.saturating_sub(tcp), 20 + tcp)
        }
        Shape::Udp => (0, 8),
    };
    // What does not fit into the header of TCP goes into that of IP; both pad with zeros, which end their options.
    let ip = 20 + extra.min(40);
    let length = ip + transport;
    let data = match shape {
        Shape::Tcp { .. } => segment.len,
        Shape::Udp => packet.bytes.saturating_sub(28),
    };
    let original = (length as u32 + data).min(65_535);

    let (number, connection) = (packet.connection % (1 << 20) + 1, packet.connection);
    let sides = (0x0a00_0000 + number, 0xac10_0000 + number);
    let (source, destination) = if in_reverse { (sides.1, sides.0) } else { sides };
    let (port, service) = (10_000 + (connection % 50_000) as u16, 5001);
    let forward = packet.to == End::Receiver;
    let ends = if forward { [source, destination] } else { [destination, source] };
    let ports = if forward { [port, service] } else { [service, port] };

    bytes[0] = 0x40 | (ip / 4) as u8;
    bytes[1] = Some(packet.class << 2).filter(|_| packet.class < 64).unwrap_or(0) | packet.ecn as u8;
    put(&mut bytes, 2, &(original as u16).to_be_bytes());
    if shape == Shape::Udp {
        put(&mut bytes, 4, &(segment.ack as u16).to_be_bytes());
    }
    bytes[6] = 0x40; // don't fragment
    bytes[8] = 64; // time to live
    bytes[9] = if shape == Shape::Udp { 17 } else { 6 };
    put(&mut bytes, 12, &ends[0].to_be_bytes());
    put(&mut bytes, 16, &ends[1].to_be_bytes());
    let sum = checksum(&bytes[..ip], 0);
    put(&mut bytes, 10, &sum.to_be_bytes());

    put(&mut bytes, ip, &ports[0].to_be_bytes());
    put(&mut bytes, ip + 2, &ports[1].to_be_bytes());
    let at = match shape {
        Shape::Tcp { .. } => {
            tcp(&mut bytes[ip..], shape, segment, transport);
            put(&mut bytes, ip + 20, &options.bytes[..transport - 20]);
            ip + 16
        }
        Shape::Udp => {
            put(&mut bytes, ip + 4, &((original - ip as u32) as u16).to_be_bytes());
            ip + 6
        }
    };
    // The pseudo header: both addresses, the protocol, the length of what IP carries.
    let pseudo =
        ends.iter().map(|end| (end >> 16) + (end & 0xffff)).sum::<u32>() + u32::from(bytes[9]) + (original - ip as u32);
    let sum = match checksum(&bytes[ip..length], pseudo) {
        0 if shape == Shape::Udp => 0xffff, // zero says that there is none
        sum => sum,
    };
    put(&mut bytes, at, &sum.to_be_bytes());
    (bytes, length, original)
}

/// Everything of a TCP header but ports, options and checksum.
fn tcp(header: &mut [u8], shape: Shape, segment: &Segment, length: usize) {
    let Shape::Tcp { window, scale, linux, accurate, .. } = shape else { return };
    let (flags, options) = (segment.flags, segment.options);
    let syn = flags.has(Flags::SYN);
    // The simulator's stream begins at 0 and knows no room for the SYN.
    let (seq, ack) = if syn { (0, 1) } else { (segment.seq as u32 + 1, segment.ack as u32 + 1) };
    put(header, 4, &seq.to_be_bytes());
    if flags.has(Flags::ACK) {
        put(header, 8, &ack.to_be_bytes());
    }
    header[12] = (length as u8 / 4) << 4;
    let bits = [(Flags::FIN, 1), (Flags::SYN, 2), (Flags::ACK, 16), (Flags::ECE, 64), (Flags::CWR, 128)];
    header[13] = bits.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, bit)| bit).sum();
    if options.has(Options::PUSH) {
        header[13] |= 8;
    }
    if accurate {
        // RFC 9768: AE, CWR and ECE as one number. In an opening, up to the answer to the SYN-ACK, it says what the other
        // end's packet was: ECT(1).
        let ace = match (syn, flags.has(Flags::ACK)) {
            (true, false) => 7,
            (true, true) => 3,
            _ if segment.seq == 0
                && segment.ack == 0
                && !segment.occupies()
                && !segment.options.has(Options::SACKS) =>
            {
                3
            }
            _ => (options.ace + 5) & 7,
        };
        header[12] |= ace >> 2;
        header[13] = header[13] & 0x3f | ace << 6;
    }
    let window = if linux { options.window } else { window };
    let shown = if syn { window } else { window >> scale };
    put(header, 14, &(shown.min(65_535) as u16).to_be_bytes());
}

/// Options of a TCP header as they are written.
struct Written {
    bytes: [u8; 40],
    length: usize,
}

impl Default for Written {
    fn default() -> Self {
        Written { bytes: [0; 40], length: 0 }
    }
}

impl Written {
    fn add(&mut self, what: &[u8]) {
        put(&mut self.bytes, self.length, what);
        self.length += what.len();
    }
}

/// Fills in the options of a segment, in Linux's order.
fn fill(options: &mut Written, shape: Shape, segment: &Segment) {
    let Shape::Tcp { header, scale, mss, sack, linux, .. } = shape else { return };
    let (said, room) = (segment.options, usize::from(header) - 40);
    let stamped = linux && room >= STAMPS;
    let stamps = |options: &mut Written| {
        options.add(&[8, 10]);
        options.add(&{ said.stamp }.to_be_bytes());
        options.add(&{ said.echo }.to_be_bytes());
    };
    if segment.flags.has(Flags::SYN) {
        // The option counts no options (RFC 6691).
        let [high, low] = mss.saturating_add(if stamped { STAMPS as u16 } else { 0 }).to_be_bytes();
        if linux {
            options.add(&[2, 4, high, low]);
            options.add(if stamped { &[4, 2] } else { &[1, 1, 4, 2] });
            if stamped {
                stamps(options);
            }
            return options.add(&[1, 3, 3, scale]);
        }
        for (option, wanted, needed) in
            [([1, 3, 3, scale], scale > 0, true), ([2, 4, high, low], true, false), ([1, 1, 4, 2], sack, false)]
        {
            if wanted && (needed || options.length + 4 <= room) {
                options.add(&option);
            }
        }
        return;
    }
    if stamped {
        options.add(&[1, 1]);
        stamps(options);
    }
    if said.has(Options::CE_BYTES) {
        let [_, counted @ ..] = { said.ce_bytes }.to_be_bytes();
        options.add(&[174, 8, 0, 0, 1]);
        options.add(&counted);
    }
    let repeated = segment.duplicate();
    let blocks = repeated.into_iter().chain(segment.ranges());
    let count = u8::from(repeated.is_some()) + segment.ranges().count() as u8;
    if count > 0 {
        options.add(&[1, 1, 5, 2 + 8 * count]);
        for (start, end) in blocks {
            options.add(&(start as u32 + 1).to_be_bytes());
            options.add(&(end as u32 + 1).to_be_bytes());
        }
    }
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    bytes[at..at + what.len()].copy_from_slice(what);
}

/// The Internet checksum of an even number of bytes, on top of a sum.
fn checksum(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.chunks_exact(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]])));
    let mut sum = start + words.sum::<u32>();
    while sum >> 16 > 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
