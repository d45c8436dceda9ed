//! Two ends of a connection, with a link of a given rate from the sender and one back, and what happens to single packets on
//! them, by number: what the live link does to real hosts.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::{Connection, Flags, Host, Segment};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// What the applications of both ends do: the sender asks, the receiver replies when it has read all of it, after `think`;
/// and the sender asks again when it has read the reply, after `pause`.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    pub left: u64,
    pub request: u64,
    pub reply: u64,
    pub think: Span,
    pub pause: Span,
    asked: u64,
    replied: u64,
    /// When the next request and the next reply are written, once that is known.
    due: [Option<Time>; 2],
}

impl Exchange {
    pub fn new(left: u64, [request, reply]: [u64; 2], [think, pause]: [Span; 2]) -> Exchange {
        Exchange { left, request, reply, think, pause, asked: 0, replied: 0, due: [Some(Time::ZERO), None] }
    }

    fn next(&self) -> Option<Time> {
        self.due.into_iter().flatten().min()
    }

    /// The applications read, and write what is due.
    fn act(&mut self, now: Time, sender: &mut Connection, receiver: &mut Connection) {
        if self.due[1].is_none() && receiver.received() == self.asked * self.request && self.asked > self.replied {
            self.due[1] = Some(now + self.think);
        }
        if self.due[1].is_some_and(|due| due <= now) {
            (self.due[1], self.replied) = (None, self.replied + 1);
            receiver.write(self.reply);
        }
        if self.due[0].is_none() && self.asked > 0 && sender.received() == self.asked * self.reply {
            match self.left {
                0 => sender.close(),
                _ => self.due[0] = Some(now + self.pause),
            }
        }
        if self.due[0].is_some_and(|due| due <= now) {
            (self.due[0], self.asked, self.left) = (None, self.asked + 1, self.left - 1);
            sender.write(self.request);
        }
    }
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
    pub exchange: Option<Exchange>,
}

impl Path {
    pub fn new(host: &Host, lines: [Line; 2]) -> Path {
        Path::in_phase(host, Span::ZERO, lines)
    }

    /// The clocks of both ends are so far ahead.
    pub fn in_phase(host: &Host, phase: Span, lines: [Line; 2]) -> Path {
        let host = Arc::new(host.clone());
        Path {
            sender: Connection::opener(&host, phase),
            receiver: Connection::listener(&host, phase),
            now: Time::ZERO,
            lines,
            events: Vec::new(),
            closes: false,
            exchange: None,
        }
    }

    fn drain(&mut self) {
        if let Some(exchange) = &mut self.exchange {
            exchange.act(self.now, &mut self.sender, &mut self.receiver);
        }
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
            let applications = self.exchange.and_then(|exchange| exchange.next());
            let timers = [self.sender.next_timer(), self.receiver.next_timer(), applications];
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
