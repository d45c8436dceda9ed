//! Two ends of a connection, with a link of a given rate from the sender and one back, and what happens to single packets on
//! them, by number: what the live link does to real hosts.
#![allow(dead_code, reason = "each test uses a part of it")]

use sluicegate_base::{Span, Time};
use sluicegate_tcp::{Connection, Flags, Host, Segment};
use std::collections::BTreeMap;

/// What happens to a packet behind the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fate {
    Lost,
    Marked,
    /// It arrives so much later.
    Late(Span),
    /// It arrives right after the last of so many later ones that arrive.
    Behind(u32),
}

/// The fates of one direction, by packet number from 1.
pub type Fates = BTreeMap<u64, Vec<Fate>>;

/// One direction: a queue without end, a link, and fates.
pub struct Line {
    pub bits_per_second: u64,
    pub delay: Span,
    pub fates: Fates,
    numbered: u64,
    free: Time,
    /// Packets held until so many more have passed.
    held: Vec<(u32, Segment, bool)>,
    /// Under way: arrival, order, whether marked.
    wire: Vec<(Time, u64, Segment, bool)>,
    order: u64,
    header: u32,
}

impl Line {
    pub fn new(bits_per_second: u64, delay: Span, header: u32, fates: Fates) -> Line {
        Line {
            bits_per_second,
            delay,
            fates,
            numbered: 0,
            free: Time::ZERO,
            held: Vec::new(),
            wire: Vec::new(),
            order: 0,
            header,
        }
    }

    fn put(&mut self, at: Time, segment: Segment, marked: bool) {
        self.order += 1;
        self.wire.push((at, self.order, segment, marked));
    }

    fn send(&mut self, now: Time, segment: Segment) {
        self.numbered += 1;
        let bytes = u64::from(self.header + segment.option_bytes() + segment.len);
        let begins = self.free.max(now);
        self.free = begins + Span(bytes * 8 * 1_000_000_000 / self.bits_per_second);
        let mut at = self.free + self.delay;
        let mut marked = false;
        let mut behind = None;
        for fate in self.fates.get(&self.numbered).into_iter().flatten() {
            match *fate {
                Fate::Lost => return,
                Fate::Marked => marked = segment.flags.has(Flags::ECT),
                Fate::Late(span) => at += span,
                Fate::Behind(packets) => behind = Some(packets),
            }
        }
        if let Some(packets) = behind {
            return self.held.push((packets, segment, marked));
        }
        self.put(at, segment, marked);
        let mut held = std::mem::take(&mut self.held);
        for (left, ..) in &mut held {
            *left -= 1;
        }
        for (left, segment, marked) in held {
            match left {
                0 => self.put(at, segment, marked),
                _ => self.held.push((left, segment, marked)),
            }
        }
    }

    fn next(&self) -> Time {
        self.wire.iter().map(|(at, ..)| *at).min().unwrap_or(Time::NEVER)
    }

    fn take(&mut self) -> Option<(Time, Segment, bool)> {
        let first = (0..self.wire.len()).min_by_key(|&at| (self.wire[at].0, self.wire[at].1))?;
        let (at, _, segment, marked) = self.wire.remove(first);
        Some((at, segment, marked))
    }
}

/// What happened at the sender's end of the link.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub at: Time,
    /// Whether the sender sent it; else it came.
    pub sent: bool,
    pub segment: Segment,
}

/// Both ends and both lines, in virtual time.
pub struct Path {
    pub sender: Connection,
    pub receiver: Connection,
    pub now: Time,
    pub lines: [Line; 2],
    pub events: Vec<Event>,
    /// Whether the sender is to close as soon as it has sent what it may at first.
    pub closes: bool,
}

impl Path {
    pub fn new(host: &Host, lines: [Line; 2]) -> Path {
        Path::in_phase(host, Span::ZERO, lines)
    }

    /// The clocks of both ends are so far ahead.
    pub fn in_phase(host: &Host, phase: Span, lines: [Line; 2]) -> Path {
        Path {
            sender: Connection::opener(host, phase),
            receiver: Connection::listener(host, phase),
            now: Time::ZERO,
            lines,
            events: Vec::new(),
            closes: false,
        }
    }

    fn drain(&mut self) {
        while let Some(segment) = self.sender.poll(self.now) {
            self.events.push(Event { at: self.now, sent: true, segment });
            self.lines[0].send(self.now, segment);
            if segment.len > 0 && self.closes {
                // The application writes all it has, and what may go out does; then it closes.
                while let Some(segment) = self.sender.poll(self.now) {
                    self.events.push(Event { at: self.now, sent: true, segment });
                    self.lines[0].send(self.now, segment);
                }
                self.closes = false;
                self.sender.close();
            }
        }
        while let Some(segment) = self.receiver.poll(self.now) {
            self.lines[1].send(self.now, segment);
        }
    }

    /// Runs until `until`, or until nothing more can happen.
    pub fn run(&mut self, until: Time) {
        self.drain();
        loop {
            let timers = [self.sender.next_timer(), self.receiver.next_timer()];
            let timer = timers.into_iter().flatten().min().unwrap_or(Time::NEVER);
            let arrivals = [self.lines[0].next(), self.lines[1].next()];
            let arrival = arrivals[0].min(arrivals[1]);
            if arrival.min(timer) > until {
                return;
            }
            if arrival <= timer {
                let to_receiver = arrivals[0] <= arrivals[1];
                let line = &mut self.lines[usize::from(!to_receiver)];
                let (at, segment, marked) = line.take().expect("something is under way");
                self.now = at;
                if to_receiver {
                    self.receiver.on_segment(&segment, marked, at);
                } else {
                    self.events.push(Event { at, sent: false, segment });
                    self.sender.on_segment(&segment, marked, at);
                }
            } else {
                self.now = timer.max(self.now);
                self.sender.on_timer(self.now);
                self.receiver.on_timer(self.now);
            }
            self.drain();
        }
    }
}
