//! What a controller that observes the sender has beside its window: the pace of what is sent, and rate samples.

use super::Core;
use super::rate::RateSampler;
use crate::cc::{CongestionControl, RateSample, Sent};
use crate::segment::Segment;
use sluicegate_base::{Rate, Time};

/// The state of one sender.
#[derive(Debug)]
pub(crate) struct Observation {
    /// When the next segment may be sent.
    pub next: Time,
    remainder: u64,
    /// The rate that the remainder belongs to.
    rate: Rate,
    pub sampler: Option<RateSampler>,
    /// What the acknowledgement being worked on brought.
    pub sample: Option<RateSample>,
}

impl Observation {
    /// Nothing sent yet, to a receiver with SACK or without.
    pub fn new(controller: &dyn CongestionControl, sack: bool) -> Observation {
        let sampler = controller.wants_rate_samples().then(|| RateSampler::new(sack));
        Observation { next: Time::ZERO, remainder: 0, rate: Rate(0), sampler, sample: None }
    }

    /// A segment of so many bytes is sent: the next one keeps its distance. A pause is not made up for.
    pub fn pace(&mut self, rate: Option<Rate>, bytes: u32, now: Time) {
        // A rate of zero, at which nothing would ever ask again, is none.
        let Some(rate) = rate.filter(|rate| *rate > Rate(0)) else {
            self.next = now;
            return;
        };
        if now > self.next || rate != self.rate {
            // What a whole number of nanoseconds left over belongs to what was sent before.
            self.remainder = 0;
        }
        self.rate = rate;
        self.next = now.max(self.next) + rate.time_to_send(u64::from(bytes), &mut self.remainder);
    }
}

impl Core {
    /// An acknowledgement arrives at a controller that observes, and has not been worked on yet.
    #[cold]
    pub(crate) fn sample_rate(&mut self, segment: &Segment, now: Time) {
        let duplicate = segment.ack == self.una && self.max > self.una && !segment.occupies();
        if let Some(observation) = &mut self.observation {
            observation.sample =
                observation.sampler.as_mut().and_then(|sampler| sampler.on_ack(segment, duplicate, now));
        }
    }

    /// It has been worked on: a sample that let no window grow is left.
    #[cold]
    pub(crate) fn report_rate(&mut self, now: Time) {
        if self.observation.as_ref().is_some_and(|observation| observation.sample.is_some()) {
            self.round = None;
            let ack = self.ack(now);
            self.cc.on_delivery(&ack);
        }
    }

    /// A segment has been sent, and is shown to a controller that observes.
    #[cold]
    pub(super) fn observe(&mut self, seq: u64, bytes: u32, end: u64, retransmission: bool, now: Time) {
        let in_flight = self.nxt.max(end) - self.una;
        self.cc.on_sent(&Sent { now, bytes, in_flight, retransmission });
        if let Some(observation) = &mut self.observation {
            observation.pace(self.cc.pacing_rate(), bytes, now);
            if let Some(sampler) = &mut observation.sampler {
                sampler.on_sent(seq, seq + u64::from(bytes), in_flight == end - seq, now);
            }
        }
    }

    /// Nothing more is sent now. If that is because the application has nothing, samples say so.
    #[cold]
    pub(crate) fn check_app_limited(&mut self) {
        let in_flight = self.nxt - self.una;
        let window = self.cc.cwnd() * f64::from(self.mss);
        let limited = !self.sendable(self.nxt) && (in_flight as f64) < window;
        if let Some(sampler) = self.observation.as_mut().and_then(|observation| observation.sampler.as_mut()) {
            if limited {
                sampler.on_app_limited(in_flight);
            }
        }
    }
}
