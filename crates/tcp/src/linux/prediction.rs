//! Header prediction (Jacobson 1990; net/ipv4/tcp_input.c, `tcp_rcv_established`): a fast path for what nearly every
//! acknowledgement is, one of new data while all is well. It does what [`Sender::on_ack`] does then; the test below compares
//! them.
//!
//! | what Linux does | what we do | why |
//! |---|---|---|
//! | predicts the header alone; the acknowledgement then takes the slow path (tcp_ack) | the state Open with nothing reported, lost, sent again or probed is predicted too | what that path looks for cannot be there |

use super::cc::State;
use super::queue::Popped;
use super::sender::{Phase, Sender};
use crate::segment::{Flags, Options, Segment};

impl Sender {
    /// Whether an acknowledgement, not beyond what was sent, is as predicted.
    #[inline(always)]
    fn is_predicted(&self, segment: &Segment) -> bool {
        let reports = segment.options.has_any(Options::SACKS | Options::DUPLICATE) | segment.flags.has(Flags::ECE);
        self.predicts
            && self.window.state == State::Open
            && !reports
            && self.probe.is_none()
            && self.queue.is_untouched()
    }

    /// An acknowledgement that is as predicted. False, and nothing is done, if it is not.
    #[inline(always)]
    pub(super) fn on_predicted_ack(&mut self, segment: &Segment) -> bool {
        if !self.is_predicted(segment) {
            return false;
        }
        let (ack, now) = (segment.ack, self.window.now);
        let Some(Popped { first, last, acked }) = self.queue.pop_untouched(ack) else { return false };
        self.queue.trim(ack);
        self.timed_out = false;
        self.window.una = ack;
        if segment.options.has(Options::STAMPED) {
            self.wnd = segment.options.window;
            self.wnd_most = self.wnd_most.max(self.wnd);
        }
        self.window.delivered += u64::from(acked);
        self.rack.arrived(last.0, last.1, now);
        self.probe_of_window_answered();
        let latest = now.since(last.0);
        self.measured(now.since(first), latest);
        self.refresh();
        self.cc.on_acked(&mut self.window, acked, Some(latest));
        self.cc.on_ack(&mut self.window, false);
        self.update_reordering_window(last.0);
        // What goes out now mostly sets it.
        self.timer_due = !self.queue.is_empty();
        if !self.timer_due {
            self.set_timer();
        }
        self.cc.grow(&mut self.window, acked);
        self.cwnd_stamp = now;
        self.pacing.update(&mut self.window);
        (self.phase, self.sent_now, self.head_resent) = (Phase::New, false, false);
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::Host;
    use crate::linux::End;
    use crate::params::{Algorithm, TcpParams};
    use crate::profiles::ProfileName;
    use crate::segment::{Flags, Segment};
    use alloc::collections::BTreeMap;
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use proptest::prelude::*;
    use sluicegate_base::{Span, Time};

    /// What happens to a packet on the way: it arrives so many milliseconds late, marked or not, or never.
    type Fate = Option<(u64, bool)>;

    /// Every segment with its time and end, and window and timer of the sender after each event.
    type Transcript = (Vec<(u64, usize, Segment)>, Vec<(f64, Option<Time>)>);

    fn run(host: &Arc<Host>, fates: &[Fate], writes: &[(u64, u64)], predicts: bool) -> Transcript {
        let phases = [Span::ZERO, Span::from_millis(3)];
        let mut ends = [0, 1].map(|end| End::new(host, phases[end], end == 0, false));
        if !predicts {
            ends.iter_mut().for_each(End::predict_nothing);
        }
        let (mut wire, mut sent) = (BTreeMap::new(), 0u64);
        let (mut fates, mut writes) = (fates.iter().cycle(), writes.iter().peekable());
        let mut transcript = Transcript::default();
        for _ in 0..2500 {
            let arrival = wire.keys().next().map(|&(at, _)| at);
            let timer = ends.iter().filter_map(End::next_timer).min();
            let write = writes.peek().map(|&&(ms, _)| Time::ZERO + Span::from_millis(ms));
            let Some(now) = [arrival, timer, write].into_iter().flatten().min() else { break };
            if write == Some(now) {
                let &(_, bytes) = writes.next().expect("it was looked at");
                ends[0].write(bytes);
            } else if arrival == Some(now) {
                let (_, (to, segment, marked)): (_, (usize, Segment, bool)) = wire.pop_first().expect("the same");
                ends[to].on_segment(&segment, marked, now);
            } else {
                ends.iter_mut().for_each(|end| end.on_timer(now));
            }
            for (from, end) in ends.iter_mut().enumerate() {
                let mut segment = Segment::default();
                while end.may_send() && end.poll_into(now, &mut segment) {
                    transcript.0.push((now.0, from, segment));
                    sent += 1;
                    let Some(Some((late, marked))) = fates.next() else { continue };
                    // One packet each 100 µs.
                    let arrival = now + Span::from_millis(10 + late) + Span(sent * 100_000 % 5_000_000);
                    wire.insert((arrival, sent), (1 - from, segment, *marked && segment.flags.has(Flags::ECT)));
                }
            }
            transcript.1.push((ends[0].congestion().cwnd, ends[0].next_timer()));
        }
        transcript
    }

    fn fate() -> impl Strategy<Value = Fate> {
        let late = (1u64..40).prop_map(|late| Some((late, false)));
        prop_oneof![40 => Just(Some((0, false))), 2 => Just(None), 1 => Just(Some((0, true))), 1 => late]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

        #[test]
        fn prediction_changes_no_segment_window_or_timer(
            algorithm in prop::sample::select(
                Algorithm::of(ProfileName::Linux).collect::<Vec<_>>()
            ),
            fates in prop::collection::vec(fate(), 1..150),
            mut writes in prop::collection::vec((0u64..3000, prop_oneof![1u64..90_000, Just(1 << 40)]), 1..8),
            (ecn, gso) in any::<(bool, bool)>(),
        ) {
            writes.sort_by_key(|&(ms, _)| ms);
            let host = Host::new(&TcpParams { algorithm: Some(algorithm), ..TcpParams::of(ProfileName::Linux) });
            let host = Arc::new(Host { ecn, gso, ..host });
            let [with, without] = [true, false].map(|predicts| run(&host, &fates, &writes, predicts));
            prop_assert_eq!(with.0, without.0);
            prop_assert_eq!(with.1, without.1);
        }
    }
}
