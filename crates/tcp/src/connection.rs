//! One end of a connection: a sending and a receiving half that share acknowledgements.

use crate::host::Host;
use crate::receive::Receiver;
use crate::segment::Segment;
use crate::send::{SendCounters, Sender};
use sluicegate_base::{Span, Time};

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {
    sender: Sender,
    receiver: Receiver,
}

impl Connection {
    /// An established end of a connection. `phase` shifts the retransmission clock within a tick.
    #[must_use]
    pub fn established(host: &Host, phase: Span) -> Connection {
        Connection { sender: Sender::new(host, phase), receiver: Receiver::default() }
    }

    /// The application writes `bytes` more; `u64::MAX` writes without end.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
    }

    /// The application writes no more: what was never sent is forgotten.
    pub fn stop(&mut self) {
        self.sender.stop();
    }

    /// A segment of the other end arrives.
    pub fn on_segment(&mut self, segment: &Segment, now: Time) {
        if segment.len > 0 {
            self.receiver.on_data(segment);
        }
        // Only a segment without data can be a duplicate acknowledgement (RFC 5681, Section 2).
        if segment.len == 0 || segment.ack > self.sender.una() {
            self.sender.on_ack(segment.ack, now);
        }
    }

    /// The time that [`next_timer`](Connection::next_timer) named has come. Too early does no harm.
    pub fn on_timer(&mut self, now: Time) {
        self.sender.on_timer(now);
    }

    /// The next segment to send, if any. Call it after each event until it gives none.
    pub fn poll(&mut self, now: Time) -> Option<Segment> {
        if let Some(segment) = self.sender.poll(now) {
            self.receiver.acknowledged();
            return Some(Segment { ack: self.receiver.next(), ..segment });
        }
        self.receiver.poll()
    }

    /// When it next wants [`on_timer`](Connection::on_timer).
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        self.sender.deadline()
    }

    /// The congestion window in segments.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.sender.cwnd()
    }

    /// What the sending half has counted.
    #[must_use]
    pub fn counters(&self) -> SendCounters {
        self.sender.counters()
    }

    /// Bytes of the other end's stream received in order.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.receiver.next()
    }
}
