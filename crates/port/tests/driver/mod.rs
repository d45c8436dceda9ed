//! A port with a clock that the test turns, and a record of what came out.

use sluicegate_aqm::harness::TestPacket;
use sluicegate_aqm::{Discipline, DropReason};
use sluicegate_base::{Rate, Span, Stream, Time};
use sluicegate_port::{Outcome, Port, PortConfig, Transit};
use std::ops::DerefMut;

/// A packet of a test.
pub type Sample = Transit<TestPacket>;

/// What came out: the packet's place in the order of arrival, or the flow of a quench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Started(u64),
    Sent(u64),
    Dropped(u64, DropReason),
    Quenched(u64),
}

/// A port with a clock.
pub struct Driver<Q = Box<dyn Discipline<Sample>>> {
    pub port: Port<Sample, Q>,
    pub now: Time,
    pub log: Vec<(u64, Fate)>,
    pub arrived: u64,
}

impl<Q: DerefMut<Target: Discipline<Sample>>> Driver<Q> {
    pub fn new(config: PortConfig, queue: Q, seed: u64) -> Self {
        let port = Port::new(config, queue, Stream::new(seed, "queue"));
        Driver { port, now: Time::ZERO, log: Vec::new(), arrived: 0 }
    }

    /// Calls the port with a place for what comes out.
    pub fn call<T>(
        &mut self,
        work: impl FnOnce(&mut Port<Sample, Q>, Time, &mut dyn FnMut(Outcome<'_, Sample>)) -> T,
    ) -> T {
        let (now, log) = (self.now, &mut self.log);
        let mut out = |outcome: Outcome<'_, Sample>| {
            log.push((
                now.0,
                match outcome {
                    Outcome::Started(packet) => Fate::Started(packet.serial),
                    Outcome::Sent(packet) => Fate::Sent(packet.serial),
                    Outcome::Dropped(packet, reason) => Fate::Dropped(packet.serial, reason),
                    Outcome::Quenched(flow) => Fate::Quenched(flow.0),
                },
            ));
        };
        work(&mut self.port, now, &mut out)
    }

    /// Lets time pass until `end`, with what is due then.
    pub fn until(&mut self, end: u64) {
        while self.port.next_deadline() <= Time(end) {
            assert!(self.port.next_deadline() >= self.now, "time runs backwards");
            self.now = self.port.next_deadline();
            self.call(|port, now, mut out| port.advance(now, &mut out));
        }
        self.now = Time(end);
    }

    pub fn wait(&mut self, span: Span) {
        self.until(self.now.0 + span.0);
    }

    /// This packet arrives; it gets its place in the order.
    pub fn submit(&mut self, packet: TestPacket) {
        let packet = Transit::new(TestPacket { serial: self.arrived, ..packet }, 0, self.now);
        self.arrived += 1;
        self.call(|port, now, mut out| port.arrive(packet, now, &mut out));
    }

    /// A packet of so many bytes arrives at this time.
    pub fn arrive(&mut self, time: u64, bytes: u64) {
        self.until(time);
        self.submit(TestPacket { bytes, ..TestPacket::default() });
    }

    pub fn set_rate(&mut self, rate: Rate) {
        self.call(|port, now, mut out| port.set_rate(rate, true, now, &mut out));
    }

    /// When each packet was sent.
    pub fn sent(&self) -> Vec<(u64, u64)> {
        let sent = |&(time, fate): &(u64, Fate)| match fate {
            Fate::Sent(serial) => Some((time, serial)),
            _ => None,
        };
        self.log.iter().filter_map(sent).collect()
    }
}
