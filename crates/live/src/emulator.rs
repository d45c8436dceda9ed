//! The network that real packets cross, in virtual time: links, lines (with a buffer that has no limit, and no discipline),
//! and the way of each packet over them.
//!
//! It does what the simulator's network does, with packets that have bytes. It has no clock: whoever drives it says what the
//! time is, and everything that is due happens at its own due time, however late it is asked for. So a driver that was held
//! up delays packets, but never changes the rate of a link.

mod sampling;

use crate::entry::Entry;
use crate::ledger::{Ledger, Metered};
use sluicegate_aqm::DropReason;
use sluicegate_base::{Ecn, Stream, Time};
use sluicegate_lab::replay::packet::set_ecn;
use sluicegate_lab::replay::seen::{Packet, Seen};
use sluicegate_netsim::counters::FlowRow;
use sluicegate_netsim::{Hop, LinePlan, LinkPlan};
use sluicegate_port::jitter::Jitter;
use sluicegate_port::{LinkConfig, Paths, Watch};

/// The bytes of a packet on its way, and where it is.
pub struct Frame {
    /// Its bytes.
    pub data: Vec<u8>,
    /// The number of its way: where it is to go at the end.
    pub way: u32,
    entry: Entry,
    entered: Time,
}

impl Frame {
    /// Where its IP header begins, if it has one.
    #[must_use]
    pub fn ip(&self) -> Option<usize> {
        self.entry.ip
    }
}

/// The frames of packets on their way. Their memory is used again.
#[derive(Default)]
struct Frames {
    all: Vec<Frame>,
    free: Vec<u32>,
}

impl Frames {
    fn keep(&mut self, data: &[u8], entry: Entry, entered: Time) -> u32 {
        let at = self.free.pop().unwrap_or_else(|| {
            let data = Vec::with_capacity(2048);
            self.all.push(Frame { data, way: 0, entry, entered });
            self.all.len() as u32 - 1
        });
        let frame = &mut self.all[at as usize];
        frame.data.clear();
        frame.data.extend_from_slice(data);
        (frame.way, frame.entry, frame.entered) = (entry.way, entry, entered);
        at
    }
}

/// Sees packets where links send or drop them: with the name of the link and, of one that was dropped or lost, why.
pub type Observer = Box<dyn FnMut(Time, &str, &Frame, Option<&'static str>) + Send>;

/// The network that real packets cross.
pub struct Emulator {
    pub(crate) paths: Paths<Seen>,
    /// What is kept of each link.
    pub(crate) meters: Vec<Metered>,
    frames: Frames,
    /// What has been counted.
    pub ledger: Ledger,
    /// Who looks at what links send and drop.
    pub observer: Option<Observer>,
}

impl Emulator {
    /// A network of these links and lines.
    #[must_use]
    pub fn new(links: Vec<LinkPlan<Packet>>, lines: &[LinePlan], seed: u64, ledger: Ledger) -> Emulator {
        let (mut paths, mut meters) = (Paths::new(seed), Vec::new());
        for plan in links {
            meters.push(Metered::new(plan.name.clone(), plan.discipline.clone(), plan.monitored, plan.counted));
            let port = plan.port_config();
            paths.add_link(&plan.name, LinkConfig { port, queue: plan.queue, delay: plan.delay, wire: plan.wire });
        }
        for plan in lines {
            let jitter = Jitter::new(plan.jitter, || Stream::new(seed, &format!("link/{}/jitter", plan.name)));
            paths.add_line(Some(plan.rate), plan.delay, jitter.map(Into::into));
        }
        Emulator { paths, meters, frames: Frames::default(), ledger, observer: None }
    }

    /// A network of these links, with a way over all of each series in its order.
    #[must_use]
    pub fn in_series<const N: usize>(series: [Vec<LinkPlan<Packet>>; N], seed: u64, ledger: Ledger) -> Emulator {
        let mut links = 0..;
        let ways = series.each_ref().map(|way| links.by_ref().take(way.len()).map(Hop::Link).collect::<Vec<Hop>>());
        let mut emulator = Emulator::new(series.into_iter().flatten().collect(), &[], seed, ledger);
        for way in &ways {
            emulator.add_way(way);
        }
        emulator
    }

    /// Packets may take this way: its number.
    pub fn add_way(&mut self, hops: &[Hop]) -> u32 {
        self.paths.add_way(hops)
    }

    /// A packet enters now. Everything due before must have been done: [`advance`](Emulator::advance).
    pub fn enter(&mut self, data: &[u8], entry: Entry, now: Time) {
        if entry.data {
            let sent = &mut self.ledger.flows[entry.packet.row as usize].row.totals.sent;
            *sent = [sent[0] + 1, sent[1] + u64::from(entry.packet.bytes)];
        }
        let packet = Seen { frame: self.frames.keep(data, entry, now), ..entry.packet };
        let (paths, mut books) = self.books(|_, _| {});
        paths.enter(packet, entry.way, entry.own, now, &mut books);
    }

    /// When something is due next; never, if nothing is.
    #[must_use]
    pub fn next(&self) -> Time {
        self.paths.next_deadline()
    }

    /// Does all that is due until now, at its time. Packets that come to the end of their way go to `out` with the time at
    /// which they were due there.
    pub fn advance(&mut self, now: Time, out: &mut impl FnMut(&mut Frame, Time)) {
        let (paths, mut books) = self.books(out);
        paths.advance(now, &mut books);
    }

    fn books<F: FnMut(&mut Frame, Time)>(&mut self, out: F) -> (&mut Paths<Seen>, Books<'_, F>) {
        let Emulator { paths, meters, frames, ledger, observer } = self;
        (paths, Books { meters, frames, ledger, observer, out })
    }

    /// Whose packet a frame is.
    pub(crate) fn entry(&self, frame: u32) -> &Entry {
        &self.frames.all[frame as usize].entry
    }

    /// How many packets are on their way: between hops, and in each link's queue, ring and transmitter.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        (self.frames.all.len() - self.frames.free.len()) as u64
    }
}

/// Counts what happens to packets, and has their frames.
struct Books<'a, F> {
    meters: &'a mut [Metered],
    frames: &'a mut Frames,
    ledger: &'a mut Ledger,
    observer: &'a mut Option<Observer>,
    out: F,
}

impl<F> Books<'_, F> {
    fn frame(&mut self, packet: &Packet) -> &mut Frame {
        &mut self.frames.all[packet.frame as usize]
    }

    /// What its flow has counted, of a packet of data, and when the measured window began.
    fn row(&mut self, packet: &Packet) -> Option<(&mut FlowRow, Time)> {
        let entry = &self.frames.all[packet.frame as usize].entry;
        entry.data.then(|| (&mut self.ledger.flows[entry.packet.row as usize].row, self.ledger.window))
    }

    fn see(&mut self, packet: &Packet, link: u32, now: Time, why: Option<&'static str>) {
        if let Some(observer) = self.observer {
            observer(now, &self.meters[link as usize].name, &self.frames.all[packet.frame as usize], why);
        }
    }
}

impl<F: FnMut(&mut Frame, Time)> Watch<Seen> for Books<'_, F> {
    fn reached(&mut self, link: u32, packet: &Packet, _: Time) {
        let Metered { monitored, counted, .. } = self.meters[link as usize];
        if let (true, false, Some((row, _))) = (monitored, counted, self.row(packet)) {
            row.totals.arrivals += 1;
            row.link.get_or_insert(link);
        }
    }

    fn started(&mut self, link: u32, packet: &Packet, now: Time) {
        let Metered { delays, monitored, .. } = &mut self.meters[link as usize];
        delays.iter_mut().for_each(|delays| delays.record(now.since(packet.arrived).0));
        if let (true, Some((row, window))) = (*monitored, self.row(packet)) {
            row.totals.start(packet.arrived, packet.marked, now, window);
        }
    }

    fn sent(&mut self, _: u32, packet: &Packet, _: Time) {
        let frame = self.frame(packet);
        if let Some(at) = frame.entry.ip {
            packet.write_back(packet.marked, &mut frame.data, at);
        }
    }

    fn marked(&mut self, _: Hop, packet: &Packet, _: Time) {
        let frame = self.frame(packet);
        if let Some(at) = frame.entry.ip {
            set_ecn(&mut frame.data, at, Ecn::CongestionExperienced);
        }
    }

    fn passed(&mut self, at: Hop, packet: &Packet, now: Time) {
        if let Hop::Link(link) = at {
            self.see(packet, link, now, None);
        }
    }

    fn lost(&mut self, at: Hop, packet: Packet, now: Time) {
        let Hop::Link(link) = at else { unreachable!("a line has jitter alone") };
        self.meters[link as usize].lost += 1;
        let monitored = self.meters[link as usize].monitored;
        if let Some((row, window)) = self.row(&packet) {
            match monitored {
                true => row.totals.lose(packet.arrived, window),
                false => row.totals.drops_elsewhere += 1,
            }
        }
        self.see(&packet, link, now, Some("lost"));
        self.frames.free.push(packet.frame);
    }

    fn dropped(&mut self, link: u32, packet: Packet, reason: DropReason, now: Time) {
        let monitored = self.meters[link as usize].monitored;
        if let Some((row, window)) = self.row(&packet) {
            match monitored {
                true => row.totals.drop(packet.arrived, reason, now, window),
                false => row.totals.drops_elsewhere += 1,
            }
        }
        self.see(&packet, link, now, Some(reason.word()));
        self.frames.free.push(packet.frame);
    }

    fn delivered(&mut self, packet: Packet, now: Time) {
        let entered = self.frame(&packet).entered;
        if let Some((row, _)) = self.row(&packet) {
            row.totals.deliver(packet.bytes, now.since(entered));
        }
        (self.out)(&mut self.frames.all[packet.frame as usize], now);
        self.frames.free.push(packet.frame);
    }
}
