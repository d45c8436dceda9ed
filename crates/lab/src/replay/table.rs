//! A capture as a table: a row for each packet, in batches, so that memory does not grow with the capture; and a row for each
//! connection. Of what packets carry, only the names of servers that clients ask for are kept.

use super::flows::Flows;
use super::hello::server_name;
use super::packet::{Tuple, Whose, decode};
use super::reader::{Damage, Record};
use super::run::Progress;
use super::tcp::Tcp;
use super::timed::Failure;
use super::timed::{Step, Timed};
use super::times::{OnJump, TOLERANCE};
use crate::results::{Cells, Column, ResultTable, f64s, strs};
use sluicegate_base::{Rate, Time};
use std::collections::BTreeMap;
use std::io::Read;

/// How much of a payload tells datagrams apart.
const TOLD_BY: usize = 64;

/// What is kept of a packet.
#[derive(Clone, Copy, Debug)]
struct Row {
    time: i64,
    interface: u32,
    flow: u32,
    backward: bool,
    frame: u32,
    bytes: u32,
    ip: Option<Header>,
    /// Protocol and bytes that it carries.
    carried: Option<(u8, u32)>,
    tcp: Option<Tcp>,
    identity: u64,
}

/// What an IP header says besides lengths and addresses.
#[derive(Clone, Copy, Debug)]
struct Header {
    /// DSCP and ECN.
    class: u8,
    ttl: u8,
    /// The identification; IPv6 has none.
    id: Option<u16>,
}

impl Header {
    fn read(ip: &[u8]) -> Option<Header> {
        let half = |at: usize| Some(u16::from_be_bytes([*ip.get(at)?, *ip.get(at + 1)?]));
        match ip.first()? >> 4 {
            4 => Some(Header { class: *ip.get(1)?, ttl: *ip.get(8)?, id: Some(half(4)?) }),
            6 => Some(Header { class: (half(0)? >> 4) as u8, ttl: *ip.get(7)?, id: None }),
            _ => None,
        }
    }
}

/// A connection, and the name that its client asked for.
struct Connection {
    tuple: Tuple,
    name: Option<Box<str>>,
}

/// A capture that is being read as a table.
pub struct Table<R: Read> {
    source: Timed<R>,
    /// They hash; and they know whose later fragments are.
    keys: Flows,
    /// For each hash of a direction its connection, from 1, and whether that direction is not that of its first packet.
    index: BTreeMap<u64, (u32, bool)>,
    connections: Vec<Connection>,
    most: usize,
    rows: Vec<Row>,
    ended: bool,
    damage: Option<Damage>,
}

impl<R: Read> Table<R> {
    /// Nothing is read yet. `most`: how many connections are told apart.
    pub fn new(reader: R, on_jump: OnJump, most: usize) -> Table<R> {
        Table {
            // No link is meant: nothing counts as a burst for its length.
            source: Timed::new(reader, on_jump, Rate(u64::MAX)),
            keys: Flows::new(1, 0),
            index: BTreeMap::new(),
            connections: Vec::new(),
            most,
            rows: Vec::new(),
            ended: false,
            damage: None,
        }
    }

    /// How many bytes of the capture have been used, and how many packets have been read.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.source.capture.offset(), self.source.times.totals.packets)
    }

    /// Where reading ended early.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Whether times are those that were recorded, but for a few.
    #[must_use]
    pub fn times_kept(&self) -> bool {
        self.source.times.totals.kept()
    }

    /// Reads until there are so many packets, or the capture ends; up to `budget` at once.
    pub fn advance(&mut self, most: usize, budget: usize) -> Result<Progress, Failure> {
        let Table { source, keys, index, connections, most: bound, rows, .. } = self;
        let mut found = Connections { keys, index, connections, most: *bound };
        for _ in 0..budget {
            if self.ended || rows.len() >= most {
                return Ok(Progress::Done);
            }
            match source.step(&mut |record, time, base| {
                rows.push(found.row(record, time, base));
                Ok(())
            })? {
                Step::More => {}
                Step::Interrupted => return Ok(Progress::Interrupted),
                Step::End(damage) => (self.ended, self.damage) = (true, damage),
            }
        }
        Ok(Progress::Going)
    }

    /// The packets that have been read since the last call; none at the end.
    pub fn take(&mut self) -> ResultTable {
        packets(&std::mem::take(&mut self.rows))
    }

    /// The connections so far, without so many that came first, and of the others so many at most.
    #[must_use]
    pub fn connections(&self, but: usize, most: usize) -> ResultTable {
        let others = self.connections.get(but..).unwrap_or_default();
        connections(&others[..most.min(others.len())], but)
    }
}

/// The connections, as packets are looked at.
struct Connections<'a> {
    keys: &'a mut Flows,
    index: &'a mut BTreeMap<u64, (u32, bool)>,
    connections: &'a mut Vec<Connection>,
    most: usize,
}

impl Connections<'_> {
    fn row(&mut self, record: &Record<'_>, arrival: Time, base: u64) -> Row {
        let seen = decode(record.link_type, record.data, record.original);
        let (key, _) = self.keys.find(&seen, arrival);
        let tuple = match seen.whose {
            Whose::Flow(tuple) | Whose::First(tuple, _) => Some(tuple),
            _ => None,
        };
        let (flow, backward) = match self.index.get(&key) {
            Some(&known) => known,
            None => tuple.map_or((0, false), |tuple| self.add(key, tuple)),
        };
        let ip = seen.ip.map(|at| &record.data[at..]);
        let (protocol, length, payload) = seen.carried.map_or((0, 0, &[][..]), |it| (it.protocol, it.bytes, it.data));
        let tcp = if protocol == 6 { Tcp::read(payload) } else { None };
        let head = match (&tcp, protocol) {
            (Some(tcp), _) => u32::from(tcp.length),
            (None, 17 | 136) => 8,
            _ => 0,
        };
        if let (Some(connection), Some(name)) =
            (self.connections.get_mut((flow as usize).wrapping_sub(1)), tcp.and_then(|tcp| opening(&tcp, payload)))
        {
            connection.name.get_or_insert(name);
        }
        let header = ip.and_then(Header::read);
        let data = payload.get(head as usize..).unwrap_or_default();
        Row {
            time: time(record, arrival, base),
            interface: record.interface,
            flow,
            backward,
            frame: record.original,
            bytes: seen.bytes,
            identity: self.identity(protocol, length, header.and_then(|header| header.id), tcp.as_ref(), data),
            ip: header,
            carried: (protocol > 0).then_some((protocol, length.saturating_sub(head))),
            tcp,
        }
    }

    /// A new connection; 0 when there are too many.
    fn add(&mut self, key: u64, tuple: Tuple) -> (u32, bool) {
        if self.connections.len() >= self.most {
            return (0, false);
        }
        let ports = tuple.ports.map(|(from, to)| (to, from));
        let back = Tuple { source: tuple.destination, destination: tuple.source, ports, ..tuple };
        self.connections.push(Connection { tuple, name: None });
        let number = self.connections.len() as u32;
        self.index.insert(self.keys.key(&back), (number, true));
        self.index.insert(key, (number, false));
        (number, false)
    }

    /// What a router leaves as it is of a packet, translation of addresses and ports included.
    fn identity(&self, protocol: u8, length: u32, id: Option<u16>, tcp: Option<&Tcp>, data: &[u8]) -> u64 {
        let mut bytes = [0u8; 32 + TOLD_BY];
        let mut at = 0;
        let mut put = |what: &[u8]| {
            bytes[at..at + what.len()].copy_from_slice(what);
            at += what.len();
        };
        put(&[protocol]);
        put(&length.to_be_bytes());
        put(&id.unwrap_or(0).to_be_bytes());
        if let Some(tcp) = tcp {
            let (stamp, echo) = tcp.stamps.unwrap_or_default();
            put(&tcp.seq.to_be_bytes());
            put(&tcp.ack.to_be_bytes());
            put(&tcp.flags.to_be_bytes());
            put(&tcp.window.to_be_bytes());
            put(&stamp.to_be_bytes());
            put(&echo.to_be_bytes());
        } else {
            put(&data[..data.len().min(TOLD_BY)]);
        }
        self.keys.hash(&bytes[..at])
    }
}

/// The name that a segment asks for.
fn opening(tcp: &Tcp, segment: &[u8]) -> Option<Box<str>> {
    segment.get(usize::from(tcp.length)..).and_then(server_name).map(String::into_boxed_str)
}

/// When a packet was recorded: its own time where that is a little out of order, and the time of its arrival where times leap.
fn time(record: &Record<'_>, arrival: Time, base: u64) -> i64 {
    let arrived = base.saturating_add(arrival.0);
    let own = record.time.filter(|own| own.abs_diff(arrived) <= TOLERANCE.0);
    i64::try_from(own.unwrap_or(arrived)).unwrap_or(i64::MAX)
}

/// A number that may be missing.
const MISSING: i64 = -1;

fn whole(
    rows: &[Row],
    name: &'static str,
    unit: &'static str,
    doc: &'static str,
    cell: impl Fn(&Row) -> Option<i64>,
) -> Column {
    let cells = rows.iter().map(|row| cell(row).unwrap_or(MISSING)).collect();
    Column { name: name.into(), unit, doc: doc.into(), cells: Cells::I64(cells) }
}

/// The packets as a table; a missing number is -1 here.
fn packets(rows: &[Row]) -> ResultTable {
    let all = |name, unit, doc, cell: fn(&Row) -> i64| whole(rows, name, unit, doc, |row| Some(cell(row)));
    let ip = |name, doc, cell: fn(Header) -> Option<i64>| whole(rows, name, "", doc, move |row| row.ip.and_then(cell));
    let tcp = |name: &'static str, unit, doc, cell: fn(&Tcp) -> Option<i64>| {
        whole(rows, name, unit, doc, move |row| row.tcp.as_ref().and_then(cell))
    };
    let mut columns = vec![
        all("time_ns", "ns", "when it was recorded, since 1970", |row| row.time),
        all("interface", "", "number of the interface in its section of a pcapng file, from 0", |row| {
            i64::from(row.interface)
        }),
        all("flow", "", "number of its connection in `flows`; 0 when it could not be assigned to one", |row| {
            i64::from(row.flow)
        }),
        all("backward", "", "1 when it goes against the direction of the connection's first packet", |row| {
            i64::from(row.backward)
        }),
        whole(rows, "protocol", "", "protocol above IP; in a tunnel, the protocol of the inner packet", |row| {
            row.carried.map(|carried| i64::from(carried.0))
        }),
        all("frame_bytes", "bytes", "length of the frame", |row| i64::from(row.frame)),
        all("bytes", "bytes", "length of the IP packet", |row| i64::from(row.bytes)),
        whole(
            rows,
            "payload_bytes",
            "bytes",
            "length of the data in TCP or UDP, or of IP's data in other packets",
            |row| row.carried.map(|carried| i64::from(carried.1)),
        ),
        ip("dscp", "differentiated services code point", |ip| Some(i64::from(ip.class >> 2))),
        ip("ecn", "ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 marked", |ip| Some(i64::from(ip.class & 3))),
        ip("ttl", "time to live, or hop limit", |ip| Some(i64::from(ip.ttl))),
        ip("ip_id", "identification; missing for IPv6", |ip| ip.id.map(i64::from)),
        tcp("seq", "", "sequence number", |tcp| Some(i64::from(tcp.seq))),
        tcp("ack", "", "acknowledgement number", |tcp| (tcp.flags & 16 != 0).then_some(i64::from(tcp.ack))),
        tcp("flags", "", "flags: 1 FIN, 2 SYN, 4 RST, 8 PSH, 16 ACK, 32 URG, 64 ECE, 128 CWR, 256 AE", |tcp| {
            Some(i64::from(tcp.flags))
        }),
        tcp("window", "", "window as the header has it, not scaled", |tcp| Some(i64::from(tcp.window))),
        tcp("mss_bytes", "bytes", "option: maximum segment size", |tcp| tcp.mss.map(i64::from)),
        tcp("window_scale", "bits", "option: bits by which later windows are scaled", |tcp| tcp.scale.map(i64::from)),
        tcp("tsval", "", "option: timestamp", |tcp| tcp.stamps.map(|stamps| i64::from(stamps.0))),
        tcp("tsecr", "", "option: timestamp that is echoed", |tcp| tcp.stamps.map(|stamps| i64::from(stamps.1))),
    ];
    type Block = (&'static str, &'static str, fn(&Tcp) -> Option<i64>);
    const DOC: &str = "option: selective acknowledgement, from the left edge up to the right one, exclusive";
    fn edge<const AT: usize, const RIGHT: bool>(tcp: &Tcp) -> Option<i64> {
        let (left, right) = tcp.blocks[AT];
        (AT < usize::from(tcp.count)).then_some(i64::from(if RIGHT { right } else { left }))
    }
    let blocks: [Block; 8] = [
        ("sack1_left", DOC, edge::<0, false>),
        ("sack1_right", DOC, edge::<0, true>),
        ("sack2_left", DOC, edge::<1, false>),
        ("sack2_right", DOC, edge::<1, true>),
        ("sack3_left", DOC, edge::<2, false>),
        ("sack3_right", DOC, edge::<2, true>),
        ("sack4_left", DOC, edge::<3, false>),
        ("sack4_right", DOC, edge::<3, true>),
    ];
    columns.extend(blocks.map(|(name, doc, cell)| tcp(name, "", doc, cell)));
    columns.push(all(
        "identity",
        "",
        "hash of what routers and address translation leave unchanged; equal for the same packet in another capture",
        |row| row.identity as i64,
    ));
    ResultTable { name: "packets", summary: "One row for each packet, in the order of the file.", columns }
}

/// The connections as a table.
fn connections(known: &[Connection], but: usize) -> ResultTable {
    let text = |cell: fn(&Tuple) -> String| known.iter().map(|known| cell(&known.tuple)).collect::<Vec<String>>();
    let port = |which: fn((u16, u16)) -> u16| {
        known.iter().map(move |known| known.tuple.ports.map_or(f64::NAN, |ports| f64::from(which(ports))))
    };
    let (from, to) = (text(|tuple| tuple.source.to_string()), text(|tuple| tuple.destination.to_string()));
    let protocol = text(Tuple::protocol_text);
    let numbers = Cells::I64((1..=known.len() as i64).map(|number| number + but as i64).collect());
    let doc = "number of the connection, from 1 in the order of appearance";
    ResultTable {
        name: "flows",
        summary: "One row for each connection, both directions together.",
        columns: vec![
            Column { name: "flow".into(), unit: "", doc: doc.into(), cells: numbers },
            strs("source", "address that its first packet comes from", from.iter().map(String::as_str)),
            f64s("source_port", "", "port of it; missing without ports", port(|ports| ports.0)),
            strs("destination", "address that its first packet goes to", to.iter().map(String::as_str)),
            f64s("destination_port", "", "port of it; missing without ports", port(|ports| ports.1)),
            strs("protocol", "protocol above IP", protocol.iter().map(String::as_str)),
            strs(
                "server_name",
                "name that its client asked for with TLS, if a single segment contains it; otherwise empty",
                known.iter().map(|known| known.name.as_deref().unwrap_or_default()),
            ),
        ],
    }
}

/// The tables without rows, for declarations.
#[must_use]
pub fn declared() -> Vec<ResultTable> {
    vec![packets(&[]), connections(&[], 0)]
}
