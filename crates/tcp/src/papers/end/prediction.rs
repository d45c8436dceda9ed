//! Header prediction changes nothing: two ends exchange the same segments at the same times with it and without it. The same
//! holds if an end that never writes has no sending half.

use super::*;
use crate::connection::{Connection, SendCounters};
use crate::params::{Algorithm, TcpParams};
use crate::profiles::ProfileName;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use proptest::prelude::*;

/// What happens to a packet on the way.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    IsMarked,
    IsLost,
    /// By so many milliseconds more.
    IsLate(u64),
}

/// What an application or a gateway does.
#[derive(Clone, Copy, Debug)]
enum Act {
    Write(u64),
    Stop,
    Close,
    Quench,
}

/// What a run showed: every segment with its time and direction, when each end wanted to be woken, window and counters.
type Transcript = (Vec<(u64, usize, Segment)>, Vec<(Option<Time>, f64, SendCounters)>);

struct Path<'a> {
    ends: [Connection; 2],
    wire: BTreeMap<(Time, u64), (usize, Segment, bool)>,
    fates: core::iter::Cycle<core::slice::Iter<'a, Fate>>,
    sent: u64,
    transcript: Transcript,
}

impl Path<'_> {
    fn drain(&mut self, now: Time) {
        for from in 0..2 {
            while self.ends[from].may_send() {
                let Some(segment) = self.ends[from].poll(now) else { break };
                self.transcript.0.push((now.0, from, segment));
                self.sent += 1;
                let late = match self.fates.next() {
                    Some(Fate::IsLost) => continue,
                    Some(Fate::IsLate(ms)) => *ms,
                    _ => 0,
                };
                let marked = matches!(self.fates.clone().next(), Some(Fate::IsMarked)) && segment.flags.has(Flags::ECT);
                // One packet each 100 µs.
                let arrival = now + Span::from_millis(10 + late) + Span(self.sent * 100_000 % 5_000_000);
                self.wire.insert((arrival, self.sent), (1 - from, segment, marked));
            }
        }
        for end in &self.ends {
            self.transcript.1.push((end.next_timer(), end.cwnd(), end.counters()));
        }
    }
}

fn run(host: &Arc<Host>, fates: &[Fate], acts: &[(u64, usize, Act)], predicts: bool) -> Transcript {
    run_with(Connection::listener(host, Span::from_millis(3)), host, fates, acts, predicts)
}

fn run_with(
    answers: Connection,
    host: &Arc<Host>,
    fates: &[Fate],
    acts: &[(u64, usize, Act)],
    predicts: bool,
) -> Transcript {
    let mut ends = [Connection::opener(host, Span::ZERO), answers];
    for end in &mut ends {
        let Connection::Papers(end) = end else { panic!("the host is of the papers") };
        if !predicts {
            end.half().expect("it may send").predict_nothing();
            end.receiver.predict_nothing();
        }
    }
    let fates = fates.iter().cycle();
    let mut path = Path { ends, wire: BTreeMap::new(), fates, sent: 0, transcript: Transcript::default() };
    let mut acts = acts.iter().peekable();
    for _ in 0..1500 {
        let arrival = path.wire.keys().next().map(|&(at, _)| at);
        let timer = path.ends.iter().filter_map(Connection::next_timer).min();
        let act = acts.peek().map(|&&(ms, ..)| Time::ZERO + Span::from_millis(ms));
        let Some(now) = [arrival, timer, act].into_iter().flatten().min() else { break };
        if act == Some(now) {
            let &(_, end, act) = acts.next().expect("it was looked at");
            match act {
                Act::Write(bytes) => path.ends[end].write(bytes),
                Act::Stop => path.ends[end].stop(),
                Act::Close => path.ends[end].close(),
                Act::Quench => path.ends[end].on_quench(),
            }
        } else if arrival == Some(now) {
            let (_, (to, segment, marked)) = path.wire.pop_first().expect("it was looked at");
            path.ends[to].on_segment(&segment, marked, now);
        } else {
            path.ends.iter_mut().for_each(|end| end.on_timer(now));
        }
        path.drain(now);
    }
    path.transcript
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        30 => Just(Fate::Arrives),
        2 => Just(Fate::IsLost),
        1 => Just(Fate::IsMarked),
        1 => (1u64..40).prop_map(Fate::IsLate),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (1u64..60_000).prop_map(Act::Write),
        // Full segments.
        4 => (1u64..60).prop_map(|segments| Act::Write(segments * 960)),
        2 => Just(Act::Write(u64::MAX)),
        1 => Just(Act::Stop),
        1 => Just(Act::Close),
        1 => Just(Act::Quench),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn prediction_changes_no_segment_and_no_timer(
        algorithm in prop::sample::select(Algorithm::of(ProfileName::Ns2).collect::<Vec<_>>()),
        fates in prop::collection::vec(fate(), 1..120),
        mut acts in prop::collection::vec((0u64..3000, prop::sample::select(alloc::vec![0usize, 0, 0, 1]), act()), 1..8),
        (ns2_rules, ecn, delayed, handshake) in any::<(bool, bool, bool, bool)>(),
    ) {
        acts.sort_by_key(|&(ms, ..)| ms);
        let params = TcpParams::of(ProfileName::Ns2);
        let delayed_ack = if delayed && !algorithm.per_packet_feedback() { Span::from_millis(40) } else { Span::ZERO };
        let own = Host { algorithm, ns2_rules, ecn, delayed_ack, handshake, ..Host::new(&params) };
        let host =
            Arc::new(Host { source_quench: true, closing: true, window: 64 * 960, initial_ssthresh: 32.0, ..own });
        let [with, without] = [true, false].map(|predicts| run(&host, &fates, &acts, predicts));
        prop_assert_eq!(with.0, without.0);
        prop_assert_eq!(with.1, without.1);
    }

    #[test]
    fn an_end_that_never_writes_needs_no_sending_half(
        algorithm in prop::sample::select(Algorithm::of(ProfileName::Ns2).collect::<Vec<_>>()),
        fates in prop::collection::vec(fate(), 1..120),
        mut acts in prop::collection::vec((0u64..3000, Just(0usize), act()), 1..8),
        (ns2_rules, ecn, delayed, handshake) in any::<(bool, bool, bool, bool)>(),
    ) {
        acts.sort_by_key(|&(ms, ..)| ms);
        let params = TcpParams::of(ProfileName::Ns2);
        let delayed_ack = if delayed && !algorithm.per_packet_feedback() { Span::from_millis(40) } else { Span::ZERO };
        let own = Host { algorithm, ns2_rules, ecn, delayed_ack, handshake, ..Host::new(&params) };
        let host = Arc::new(Host { closing: false, window: 64 * 960, initial_ssthresh: 32.0, ..own });
        let receiver = Connection::receiver(&host, Span::ZERO);
        let Connection::Papers(end) = &receiver else { panic!("the host is of the papers") };
        prop_assert!(end.sender().is_none());
        let (with, without) = (run(&host, &fates, &acts, true), run_with(receiver, &host, &fates, &acts, true));
        prop_assert_eq!(with.0, without.0);
        let timers = |ends: &[(Option<Time>, f64, SendCounters)]| ends.iter().map(|end| end.0).collect::<Vec<_>>();
        prop_assert_eq!(timers(&with.1), timers(&without.1));
    }
}
