//! A path of 40 ms for both versions, and samples at random.

use super::{Bbr, Bbr3};
use crate::linux::cc::{Controller, Event, INFINITE, Sample, State, Window};
use alloc::boxed::Box;
use proptest::prelude::*;
use sluicegate_base::{Span, Stream};

pub(super) fn window() -> Window {
    let ms = Span::from_millis;
    Window { srtt: ms(40), least_rtt: ms(40), cwnd_limited: true, ..Window::new(10, 1 << 20, 1448) }
}

/// One round: so many packets in 40 ms, and so many lost.
pub(super) fn round(bbr: &mut impl Controller, window: &mut Window, packets: u64, lost: u32) {
    let (prior, prior_lost) = (window.delivered, window.lost);
    window.delivered += packets;
    window.lost += u64::from(lost);
    window.now += Span::from_millis(40);
    window.delivered_time = window.now;
    let sample = Sample {
        delivered: packets,
        interval: Span::from_millis(40),
        prior_delivered: Some(prior),
        prior_lost,
        prior_in_flight: window.in_flight,
        tx_in_flight: packets as u32,
        rtt: Some(Span::from_millis(40)),
        acked_sacked: packets as u32,
        losses: lost,
        ..Sample::default()
    };
    bbr.govern(window, &sample);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
    #[test]
    fn no_sample_breaks_it(
        steps in proptest::collection::vec((0u64..1 << 40, 0u64..1 << 50, 0u32..10_000, 0u32..5000, 0u8..5), 0..150),
    ) {
        for version in 0..2 {
            let rng = Stream::new(1, "test");
            let mut bbr: Box<dyn Controller> = if version == 0 { Box::new(Bbr::new(rng)) } else { Box::new(Bbr3::new(rng)) };
            let mut window = window();
            for &(delivered, interval, in_flight, losses, state) in &steps {
                let (prior, prior_lost) = (window.delivered, window.lost);
                window.delivered += delivered;
                window.lost += u64::from(losses);
                window.now += Span(interval);
                (window.delivered_time, window.in_flight) = (window.now, in_flight);
                let states = [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss];
                let state = states[usize::from(state)];
                bbr.on_state(&mut window, state);
                window.state = state;
                let sample = Sample {
                    delivered, interval: Span(interval), prior_delivered: Some(prior), prior_lost, rtt: Some(Span(interval)),
                    acked_sacked: delivered.min(1 << 20) as u32, losses, prior_in_flight: in_flight,
                    tx_in_flight: in_flight, ..Sample::default()
                };
                bbr.govern(&mut window, &sample);
                bbr.on_event(&mut window, Event::Restart(Span(interval)));
                prop_assert!((1..=INFINITE).contains(&window.cwnd) && window.pacing_rate.0 > 0);
            }
        }
    }
}
