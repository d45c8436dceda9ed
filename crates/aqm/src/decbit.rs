//! # DECbit
//!
//! A first-in-first-out queue that sets the congestion indication bit in arriving packets while the average queue,
//! taken over the last cycle of the link and the current busy period, exceeds 1. It drops only when it is full; the
//! senders reduce the load, depending on the fraction of their packets that have the bit.
//!
//! ```text
//! q: packets waiting or in transmission;  area: the sum of q over time                  (Floyd & Jacobson 1993, Sec. II-B)
//! for each arrival:
//!     if q = 0:  a busy period begins: the last cycle ← the busy and the idle period before it
//!     avg ← (area of the last cycle + area of the current busy period)/(length of both)
//!     if avg > threshold:  set the bit           (feedback = selective: if its flow uses more than its fair share)
//!     queue the arrival, or drop it if the queue is full
//! ```
//!
#![doc = include_str!("decbit.md")]

mod shares;

use crate::prelude::*;
use shares::Shares;

choices! {
    /// Whose packets get the bit.
    pub enum Feedback {
        /// Every arrival while the average is too high.
        All = "all",
        /// Of these, packets of flows that use more than their fair share.
        Selective = "selective",
    }
}

discipline! {
    Decbit: "decbit", "DECbit",
    source("Ramakrishnan & Jain 1990, after Floyd & Jacobson 1993, Sec. II-B"),
    drops(Tail),
    // The average reaches back a cycle, which may be one burst: RED 1993, Sec. IX.
    proportional(),
    remembers(None, "marks in headers"),
    marks(always),
    overload(Marks, "the paper has no rule"),

    /// Parameters of [`Decbit`].
    pub struct DecbitParams {
        /// Largest length of the queue, without the packet in transmission.
        limit: Size = default(Size::Packets(50)), unit("packets"), range(Range::from(0.0)),
            source("default: ns-2's queue limit");
        /// Average queue above which the bit is set, including the packet in transmission.
        threshold: f64 = default(1.0), unit("packets"), range(Range::from(0.0)), source("RED 1993, Sec. II-B");
        /// Set the bit in all packets, or in those of flows with more than their fair share.
        feedback: Feedback = default(Feedback::All), source("RED 1993, Secs. II-B and IX"), fixed(true);
        /// With selective feedback, the share of the arriving bytes that flows may use.
        capacity_factor: f64 = default(0.9), unit("1"), range(Range::above(0.0).to(1.0)),
            source("Ramakrishnan, Chiu & Jain 1987 (DEC-TR-510), from memory");
        /// With selective feedback, the largest number of flows that are counted.
        flows: u64 = default(1000), unit("flows"), range(Range::from(1.0).to(100_000.0)),
            source("chosen here"), fixed(true);
    }
}

/// What a queue was over some time.
#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    /// The sum of its length over time, in packets times nanoseconds.
    area: u128,
    length: Span,
}

/// A first-in-first-out queue that sets DECbit's congestion indication.
#[derive(Clone, Debug)]
pub struct Decbit<P> {
    fifo: Fifo<P>,
    threshold: f64,
    shares: Option<Shares>,
    last: Cycle,
    current: Cycle,
    /// Up to when the current cycle has been counted; none before the first arrival.
    counted: Option<Time>,
    /// Whether the link sends a packet of ours.
    busy: bool,
    /// As the last arrival has found it.
    avg: f64,
}

impl<P: Packet> Decbit<P> {
    /// An empty queue.
    #[must_use]
    pub fn new(params: DecbitParams) -> Self {
        let selective = params.feedback == Feedback::Selective;
        Decbit {
            fifo: Fifo::new(params.limit),
            threshold: params.threshold,
            shares: selective.then(|| Shares::new(params.capacity_factor, params.flows as usize)),
            last: Cycle::default(),
            current: Cycle::default(),
            counted: None,
            busy: false,
            avg: 0.0,
        }
    }

    /// Packets waiting and in transmission.
    #[inline]
    fn q(&self) -> u64 {
        self.fifo.packets() + u64::from(self.busy)
    }

    /// Counts the queue as it has been since the last call.
    #[inline]
    fn count(&mut self, now: Time) {
        if let Some(counted) = self.counted.replace(now) {
            let span = now.since(counted);
            self.current.area += u128::from(self.q()) * u128::from(span.0);
            self.current.length = self.current.length + span;
        }
    }

    /// A busy period begins.
    fn begin(&mut self) {
        self.last = core::mem::take(&mut self.current);
        if let Some(shares) = &mut self.shares {
            shares.begin();
        }
    }
}

impl<P: Packet> Discipline<P> for Decbit<P> {
    fn enqueue(&mut self, mut packet: P, ctx: &mut Ctx<'_, P>) {
        if self.counted.is_some() {
            self.count(ctx.now);
        }
        let admitted = self.fifo.has_room(&packet);
        if admitted && self.q() == 0 {
            self.begin();
            self.counted = Some(ctx.now);
        }
        let length = (self.last.length + self.current.length).0;
        self.avg = if length == 0 { 0.0 } else { (self.last.area + self.current.area) as f64 / length as f64 };
        let over = match &mut self.shares {
            None => true,
            Some(shares) => shares.arrival(packet.flow(), packet.bytes(), ctx.rng),
        };
        if !admitted {
            return ctx.drop(packet, DropReason::Tail);
        }
        if self.avg > self.threshold && over {
            packet.mark();
        }
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        if self.counted.is_some() {
            self.count(ctx.now);
        }
        let packet = self.fifo.pop();
        self.busy = packet.is_some();
        packet
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        &self.fifo
    }

    fn average(&self) -> Option<f64> {
        Some(self.avg)
    }
}

impl<P: Packet> Configure<P> for Decbit<P> {
    fn configure(&mut self, params: DecbitParams, ctx: &mut Ctx<'_, P>) {
        // The time so far counts with the queue as it was.
        if self.counted.is_some() {
            self.count(ctx.now);
        }
        self.threshold = params.threshold;
        if let Some(shares) = &mut self.shares {
            shares.factor = params.capacity_factor;
        }
        self.fifo.resize(params.limit, ctx);
    }
}

#[cfg(test)]
mod tests;
