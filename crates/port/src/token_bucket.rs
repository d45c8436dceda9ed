//! # A token bucket
//!
//! The shaper that Linux deploys in front of a link: `htb` with one class, whose queue is any discipline.
//!
//! ```text
//! tokens ← min(tokens + time passed, burst)                          (htb_class_mode, htb_accnt_tokens)
//! tokens < 0?  not before they are 0
//! the discipline gives a packet;  tokens ← tokens − its length at the rate
//! ```
//!
//! Tokens are time: what a packet takes at the rate, framing included. A packet may leave as soon as they are not below zero,
//! whatever its length, so that after a pause packets leave one after the other until more than the burst has gone, and the
//! last of them is owed. Over any time no more is sent than rate · time + burst + one packet.
//!
//! The port behind it has the rate of an interface: see [`PortConfig::interface`](crate::PortConfig::interface).
//!
//! | what Linux does | what we do | why |
//! |---|---|---|
//! | a class has two buckets, for `rate` and for `ceil` | one | without `ceil` and `cburst` of their own they are equal |
//! | tokens are kept above −60 s (`mbuffer`) | they are not | a packet takes that long at some 200 bit/s |
//! | a packet's time is rounded down to a nanosecond, the burst to 64 ns | exact over any number of packets | as every transmitter here |
//! | `tbf` takes a packet from its queue before it may leave (`peek`), and lets it go when tokens cover its length | not built | what is deployed is `htb` |

use crate::framing::Framing;
use alloc::boxed::Box;
use alloc::string::String;
use sluicegate_aqm::fifo::Buffer;
use sluicegate_aqm::{Ctx, Discipline, FlowKey, Packet};
use sluicegate_base::params::Raw;
use sluicegate_base::{Link, Rate, Span, Time, Transmitter};

/// A discipline behind a token bucket.
pub struct TokenBucket<P> {
    queue: Box<dyn Discipline<P>>,
    transmitter: Transmitter,
    framing: Framing,
    burst: i64,
    /// Nanoseconds that may be spent, or are owed, at `at`.
    tokens: i64,
    at: Time,
    /// When the packet that it has refused may leave.
    refused: Option<Time>,
}

impl<P: Packet> TokenBucket<P> {
    /// A full bucket of so many bytes in front of a discipline, which gives packets with this framing the rate.
    #[must_use]
    pub fn new(queue: Box<dyn Discipline<P>>, rate: Rate, framing: Framing, burst: u64) -> Self {
        let burst = signed(rate.time_of(burst));
        TokenBucket {
            queue,
            transmitter: Transmitter::new(rate),
            framing,
            burst,
            tokens: burst,
            at: Time::ZERO,
            refused: None,
        }
    }
}

/// A span that is added and taken away.
fn signed(span: Span) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

impl<P: Packet> Discipline<P> for TokenBucket<P> {
    fn enqueue(&mut self, packet: P, ctx: &mut Ctx<'_, P>) {
        self.queue.enqueue(packet, ctx);
    }

    fn dequeue(&mut self, ctx: &mut Ctx<'_, P>) -> Option<P> {
        self.tokens = self.tokens.saturating_add(signed(ctx.now.since(self.at))).min(self.burst);
        self.at = ctx.now;
        // An empty queue is asked all the same, so that it hears of its idle time.
        if self.tokens < 0 && self.queue.packets() > 0 {
            self.refused = Some(ctx.now + Span(self.tokens.unsigned_abs()));
            return None;
        }
        let packet = self.queue.dequeue(ctx)?;
        let time = self.transmitter.send(self.framing.on_wire(packet.bytes()));
        self.tokens = self.tokens.saturating_sub(signed(time));
        Some(packet)
    }

    fn buffer(&self) -> &dyn Buffer<P> {
        self.queue.buffer()
    }

    fn next_wakeup(&self) -> Option<Time> {
        [self.refused, self.queue.next_wakeup()].into_iter().flatten().min()
    }

    fn wake(&mut self, ctx: &mut Ctx<'_, P>) {
        self.refused = self.refused.filter(|due| *due > ctx.now);
        if self.queue.next_wakeup().is_some_and(|due| due <= ctx.now) {
            self.queue.wake(ctx);
        }
    }

    fn set(&mut self, name: &str, value: &Raw, ctx: &mut Ctx<'_, P>) -> Result<(), String> {
        self.queue.set(name, value, ctx)
    }

    fn link_changed(&mut self, link: &Link, ctx: &mut Ctx<'_, P>) {
        self.transmitter.set_rate(link.rate);
        self.queue.link_changed(link, ctx);
    }

    fn average(&self) -> Option<f64> {
        self.queue.average()
    }

    fn state(&self, visit: &mut dyn FnMut(Option<FlowKey>, &'static str, f64)) {
        self.queue.state(visit);
    }

    fn compared(&self, visit: &mut dyn FnMut(&P)) {
        self.queue.compared(visit);
    }
}
