//! The thread that drives a network by the clock, while its gate is slow. Nothing here fails on a machine that is slow, too.
#![cfg(target_os = "linux")]

use rustix::fd::{AsFd, BorrowedFd};
use sluicegate_base::{Span, Time};
use sluicegate_lab::Scenario;
use sluicegate_lab::replay::Packet;
use sluicegate_live::emulator::Emulator;
use sluicegate_live::gate::{Gate, Lost};
use sluicegate_live::ledger::Ledger;
use sluicegate_live::pump::{Clock, Drive, Pump};
use sluicegate_live::tuples::Tuples;
use sluicegate_netsim::Plan;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

const PACKETS: usize = 20;

/// The delay of the line.
const DELAY: Span = Span::from_millis(5);

/// What keeps the driver at a packet.
#[derive(Clone, Copy, PartialEq)]
enum Slow {
    Reading,
    Sending,
}

/// When packets came and left, by their numbers. They leave by the gate by which they came.
#[derive(Default)]
struct Seen {
    came: Vec<Time>,
    read: usize,
    left: Vec<Time>,
}

/// A gate at which the next packet comes only at the end of its slow work.
struct SlowGate {
    slow: Slow,
    takes: Duration,
    clock: Clock,
    seen: Arc<Mutex<Seen>>,
    number: Option<u8>,
    ready: UnixDatagram,
}

impl SlowGate {
    fn work(&self, seen: &mut Seen) {
        if seen.came.len() < PACKETS {
            sleep(self.takes);
            seen.came.push(self.clock.now());
        }
    }
}

impl Gate for SlowGate {
    fn link_type(&self) -> u16 {
        101
    }

    fn receive(&mut self) -> io::Result<bool> {
        let mut seen = self.seen.lock().unwrap();
        if self.slow == Slow::Reading {
            self.work(&mut seen);
        }
        self.number = (seen.read < seen.came.len()).then_some(seen.read as u8);
        seen.read += usize::from(self.number.is_some());
        Ok(self.number.is_some())
    }

    fn received(&mut self, each: &mut dyn FnMut(&[u8])) {
        self.number.take().into_iter().for_each(|number| each(&[number]));
    }

    fn send(&mut self, packet: &[u8]) {
        let mut seen = self.seen.lock().unwrap();
        assert_eq!(usize::from(packet[0]), seen.left.len(), "packets stay in order");
        seen.left.push(self.clock.now());
        if self.slow == Slow::Sending {
            self.work(&mut seen);
        }
    }

    fn lost(&mut self) -> Lost {
        Lost::default()
    }

    fn ready(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

/// Drives packets through a line between two ends of such a gate, until all have left.
fn driven(slow: Slow, takes: Duration) -> Seen {
    let sets = [("network.rate", "1 Gbit/s"), ("network.delay", "5 ms")].map(|(key, value)| (key.into(), value.into()));
    let scenario = Scenario::read_network("", "test", &sets, 1500).unwrap();
    let plan: Plan<Packet> = scenario.plan_for(&mut |foreign, _, _| Err(foreign.error("none here"))).unwrap();
    let emulator = Emulator::in_series([plan.links], 1, Ledger::new(Span::from_millis(100), false));
    let (clock, seen) = (Clock::start(), Arc::new(Mutex::new(Seen { came: vec![Time::ZERO], ..Seen::default() })));
    let ready = UnixDatagram::unbound().unwrap();
    let gate = SlowGate { slow, takes, clock, seen: seen.clone(), number: None, ready };
    let traffic = Tuples::new(["there".to_owned(), "back".to_owned()], 1, 100);
    let drive = Drive { spin: Span::ZERO, busy: true, warmup: Span::ZERO, end: Time::NEVER, packets: false };
    let pump = Pump::start(clock, emulator, vec![Box::new(gate)], vec![0], traffic, drive).unwrap();
    while seen.lock().unwrap().left.len() < PACKETS && !pump.is_done() {
        sleep(Duration::from_millis(1));
    }
    let driven = pump.finish().unwrap();
    assert_eq!((driven.emulator.under_way(), driven.punctuality.packets[0]), (0, PACKETS as u64));
    std::mem::take(&mut *seen.lock().unwrap())
}

fn no_line_was_shorter(seen: &Seen) {
    for (number, (came, left)) in seen.came.iter().zip(&seen.left).enumerate() {
        assert!(left.since(*came) >= DELAY, "packet {number}: {:?} after it came", left.since(*came));
    }
}

/// A packet that came while the driver sent others was taken to have come before, and left too early.
#[test]
fn a_line_is_as_long_for_packets_that_come_while_others_are_sent() {
    no_line_was_shorter(&driven(Slow::Sending, 2 * Duration::from_nanos(DELAY.0)));
}

/// Of packets that are read one by one, each has a time of its own, and what is due is sent between them.
#[test]
fn a_line_is_as_long_for_packets_that_come_while_others_are_read() {
    let seen = driven(Slow::Reading, Duration::from_nanos(DELAY.0) / 2);
    no_line_was_shorter(&seen);
    // Packet 0 enters before packet 2 begins to come, so it is due before packet 4 has come: it is sent before 5 begins to.
    assert!(seen.left[0] < seen.came[5], "{:?} {:?}", seen.left[0], seen.came[5]);
}
