//! A congestion controller of one's own, written for [`crate::cc::CongestionControl`], on a Linux host: its window and its pace are
//! followed, what is lost and sent again is Linux's.

use super::{Controller, Event, INFINITE, Sample, State, Window};
use crate::cc::{Ack, CongestionControl, RateSample, RoundTrip};
use alloc::boxed::Box;
use sluicegate_base::Time;

/// The controller, whether it asks for rate samples, and when it was last asked whether the window may grow.
pub struct Own {
    inner: Box<dyn CongestionControl>,
    samples: bool,
    asked: Time,
}

impl Own {
    /// This controller.
    #[must_use]
    pub fn new(inner: Box<dyn CongestionControl>) -> Own {
        Own { samples: inner.wants_rate_samples(), inner, asked: Time::ZERO }
    }

    fn follow(&self, window: &mut Window) {
        window.cwnd = (self.inner.cwnd().max(1.0) as u32).min(INFINITE);
        window.ssthresh = (self.inner.ssthresh().max(2.0) as u32).min(INFINITE);
        if let Some(rate) = self.inner.pacing_rate() {
            window.pacing_rate = rate;
        }
    }
}

impl Controller for Own {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        window.ssthresh
    }

    fn grow(&mut self, window: &mut Window, _acked: u32) {
        self.follow(window);
    }

    fn undo(&mut self, window: &Window) -> u32 {
        self.inner.set_cwnd(window.prior_cwnd.max(window.cwnd).into());
        window.prior_cwnd.max(window.cwnd)
    }

    fn on_event(&mut self, window: &mut Window, event: Event) {
        match event {
            Event::Timeout => self.inner.on_timeout(window.prior_cwnd.max(1).into(), true),
            Event::Restart(pause) => self.inner.on_pause(pause),
            Event::IdleRestart | Event::ReductionOver => {}
        }
    }

    fn on_state(&mut self, window: &mut Window, state: State) {
        if matches!(state, State::Cwr | State::Recovery) && window.state < State::Cwr {
            self.inner.on_congestion(window.cwnd.into(), 2.0);
            self.follow(window);
        }
    }

    fn governs(&self) -> bool {
        true
    }

    fn wants_rate_samples(&self) -> bool {
        self.samples
    }

    fn govern(&mut self, window: &mut Window, sample: &Sample) {
        let mss = u64::from(window.mss);
        let rate = sample.prior_delivered.filter(|_| sample.interval.0 > 0).map(|prior| RateSample {
            delivered: sample.delivered * mss,
            interval: sample.interval,
            is_app_limited: sample.is_app_limited,
            rtt: sample.rtt,
            prior_delivered: prior * mss,
            total_delivered: window.delivered * mss,
            newly_delivered: u64::from(sample.acked_sacked) * mss,
        });
        let (sent, flight) = (window.in_flight.into(), sample.prior_in_flight.into());
        let ack = Ack {
            segments: sample.acked_sacked.into(),
            now: window.now,
            srtt: window.srtt,
            round: sample.rtt.map(|rtt| RoundTrip { rtt, sent, flight }),
            limited: window.is_limited(),
            rate,
        };
        if !ack.limited {
            self.inner.on_pause(window.now.since(self.asked));
        }
        self.asked = window.now;
        if window.state <= State::Disorder || window.state == State::Loss {
            self.inner.on_ack(&ack);
        } else {
            self.inner.on_delivery(&ack);
        }
        self.follow(window);
    }

    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::cc::Reno;

    /// The window of the papers' Reno by hand: it grows with acknowledgements and halves when a recovery begins.
    #[test]
    fn the_window_is_the_controllers() {
        let mut own = Own::new(Box::new(Reno::new(10.0, 20.0)));
        let mut window = Window { cwnd_limited: true, ..Window::new(10, 20, 1448) };
        own.govern(&mut window, &Sample { acked_sacked: 1, ..Sample::default() });
        assert_eq!(window.cwnd, 11);
        own.on_state(&mut window, State::Recovery);
        assert_eq!((window.cwnd, window.ssthresh), (5, 5));
        window.state = State::Recovery;
        own.govern(&mut window, &Sample { acked_sacked: 1, ..Sample::default() });
        assert_eq!(window.cwnd, 5, "no growth while the window falls");
        window.prior_cwnd = 11;
        assert_eq!(own.undo(&window), 11);
    }
}
