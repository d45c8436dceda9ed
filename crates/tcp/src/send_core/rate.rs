//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation-02; its names in comments).
//!
//! | what the draft says | what we do | why |
//! |---|---|---|
//! | a sample shorter than the least round trip means nothing | none is given | such a one comes of repeated data acknowledged by what was sent first |
//! | packets have what is known of them | segments as they were first cut; a repetition is a new transmission of all that it touches | a repetition may have other boundaries |
//! | SACK tells what was delivered out of order | without SACK a duplicate stands for the next segment after the missing one | how many were delivered is right, which ones is a guess, so that there is no round trip; Linux counts them, too (`tcp_add_reno_sack`) |

use crate::cc::RateSample;
use crate::segment::Segment;
use alloc::collections::VecDeque;
use sluicegate_base::{Span, Time};

/// What is known of a segment under way.
#[derive(Clone, Copy, Debug)]
struct Record {
    end: u64,
    start: u64,
    /// P.sent_time, P.first_sent_time, P.delivered_time, P.delivered, P.is_app_limited.
    sent: Time,
    first_sent: Time,
    delivered_time: Time,
    delivered: u64,
    is_app_limited: bool,
    retransmitted: bool,
    /// Whether the receiver has reported it.
    arrived: bool,
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct RateSampler {
    /// Segments from the first one not acknowledged on, in order.
    records: VecDeque<Record>,
    /// C.delivered, C.delivered_time, C.first_sent_time.
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    /// C.app_limited: samples are of an application without enough to send until so much has been delivered.
    app_limited_until: u64,
    min_rtt: Span,
    /// Whether the receiver reports what comes out of order.
    sack: bool,
}

impl RateSampler {
    /// Nothing sent yet, to a receiver with SACK or without.
    pub fn new(sack: bool) -> RateSampler {
        RateSampler {
            records: VecDeque::new(),
            delivered: 0,
            delivered_time: Time::ZERO,
            first_sent: Time::ZERO,
            app_limited_until: 0,
            min_rtt: Span(u64::MAX),
            sack,
        }
    }

    /// The bytes from `start` to `end` are sent; `idle`: nothing else is under way.
    pub fn on_sent(&mut self, start: u64, end: u64, idle: bool, now: Time) {
        if idle {
            (self.first_sent, self.delivered_time) = (now, now);
        }
        let record = Record {
            start,
            end,
            sent: now,
            first_sent: self.first_sent,
            delivered_time: self.delivered_time,
            delivered: self.delivered,
            is_app_limited: self.app_limited_until > 0,
            retransmitted: false,
            arrived: false,
        };
        let known = self.records.back().map_or(start, |last| last.end);
        if start < known {
            let first = self.records.partition_point(|known| known.end <= start);
            let again = self.records.range_mut(first..).take_while(|known| known.start < end);
            for known in again.filter(|known| !known.arrived) {
                *known = Record { start: known.start, end: known.end, retransmitted: true, ..record };
            }
        }
        if end > known {
            self.records.push_back(Record { start: start.max(known), ..record });
        }
    }

    /// The application has nothing more to send though the window would let it out, with so much in flight.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = (self.delivered + in_flight).max(1);
    }

    /// An acknowledgement arrives; `duplicate`: it repeats the last one.
    pub fn on_ack(&mut self, segment: &Segment, duplicate: bool, now: Time) -> Option<RateSample> {
        let before = self.delivered;
        let mut newest: Option<Record> = None;
        let mut arrive = |record: &Record, delivered: &mut u64| {
            *delivered += record.end - record.start;
            if newest.is_none_or(|newest| record.sent >= newest.sent) {
                newest = Some(*record);
            }
        };
        while let Some(record) = self.records.front().filter(|record| record.end <= segment.ack) {
            if !record.arrived {
                arrive(record, &mut self.delivered);
            }
            self.records.pop_front();
        }
        for (start, end) in segment.sacks.ranges(segment.ack) {
            let first = self.records.partition_point(|record| record.start < start);
            let reported = self.records.range_mut(first..).take_while(|record| record.end <= end);
            for record in reported.filter(|record| !record.arrived) {
                arrive(record, &mut self.delivered);
                record.arrived = true;
            }
        }
        let guessed = duplicate && !self.sack;
        if guessed {
            if let Some(record) = self.records.iter_mut().skip(1).find(|record| !record.arrived) {
                arrive(record, &mut self.delivered);
                record.arrived = true;
            }
        }
        let newest = newest?;
        self.delivered_time = now;
        self.first_sent = newest.sent;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let rtt = (!newest.retransmitted && !guessed).then(|| now.since(newest.sent));
        self.min_rtt = rtt.map_or(self.min_rtt, |rtt| rtt.min(self.min_rtt));
        let send_elapsed = newest.sent.since(newest.first_sent);
        let interval = send_elapsed.max(now.since(newest.delivered_time));
        let least = if self.min_rtt == Span(u64::MAX) { Span(1) } else { self.min_rtt.max(Span(1)) };
        (interval >= least).then_some(RateSample {
            delivered: self.delivered - newest.delivered,
            interval,
            is_app_limited: newest.is_app_limited,
            rtt,
            prior_delivered: newest.delivered,
            total_delivered: self.delivered,
            newly_delivered: self.delivered - before,
        })
    }
}
