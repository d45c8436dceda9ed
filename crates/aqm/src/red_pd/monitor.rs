//! Who is monitored, and how hard: the lists of drops, and what follows from them after each interval.

use super::RedPdParams;
use crate::discipline::FlowKey;
use crate::flow_table::FlowTable;
use crate::periodic_timer::PeriodicTimer;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::cmp::Reverse;
use sluicegate_base::{Span, Stream, Time};

/// Changes of a flow's probability that are remembered.
const HISTORY: usize = 5;
/// Drop rates of RED below this change nothing.
const LEAST_RATE: f64 = 0.001;
/// The least time between changes of a flow's probability.
const LEAST_TIME: Span = Span::from_millis(400);

/// What is known of a flow at a change of its probability: its rate in bytes per second, and the part that was dropped.
type Sample = (f64, f64);

/// What a monitored flow has beside the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Monitored {
    pub(super) p: f64,
    count: u64,
    pub(super) unresponsive: bool,
    history: VecDeque<Sample>,
}

/// A flow with drops, or a monitored one. Bytes are those of the present interval.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// How many flows had a state before it.
    serial: u64,
    arrived: u64,
    /// Dropped before RED, and dropped or marked by RED.
    filtered: u64,
    signalled: u64,
    /// Drops in each of the lists, the newest last; none when the flow is not in it.
    lists: [Option<u64>; 16],
    pub(super) monitored: Option<Monitored>,
    last_change: Option<Time>,
}

/// The monitor.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    params: RedPdParams,
    pub(super) flows: FlowTable<Flow>,
    /// How many flows have had a state so far.
    seen: u64,
    /// Bytes that came to RED and that it signalled on, in this interval.
    arrived: u64,
    signalled: u64,
    p_avg: Option<f64>,
    /// Fires at the end of each interval; its period is the present one's length.
    pub(super) timer: PeriodicTimer,
    /// The lengths of the last intervals, the newest last.
    pub(super) intervals: VecDeque<Span>,
    /// Drops in an interval, serial number and position of each flow that has some; kept to save allocations.
    ranking: Vec<(Reverse<u64>, u64, usize)>,
}

impl Monitor {
    pub(super) fn new(params: &RedPdParams) -> Self {
        Monitor {
            params: params.clone(),
            flows: FlowTable::new(params.flows as usize),
            seen: 0,
            arrived: 0,
            signalled: 0,
            p_avg: None,
            timer: PeriodicTimer::new(Span(params.r.0 * 10)),
            intervals: VecDeque::new(),
            ranking: Vec::new(),
        }
    }

    /// Applies new parameters; those of the present interval stand.
    pub(super) fn configure(&mut self, params: RedPdParams) {
        self.params = params;
    }

    /// Whether intervals would change nothing: no flow has a state, nothing has arrived, and p_avg is 0.
    pub(super) fn quiet(&self) -> bool {
        self.arrived == 0 && self.flows.is_empty() && self.p_avg == Some(0.0)
    }

    /// How many flows have a state, and how many of them are monitored.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.flows.len(), self.flows.iter().filter(|(_, flow)| flow.monitored.is_some()).count())
    }

    /// A packet arrives: whether it is to be dropped before RED, which it may be if its flow is responsive.
    pub(super) fn arrival(&mut self, key: FlowKey, bytes: u64, may: bool, rng: &mut Stream) -> bool {
        if let Some(at) = self.flows.find(key) {
            let flow = &mut self.flows[at];
            flow.arrived += bytes;
            if let Some(monitored) = flow.monitored.as_mut().filter(|monitored| monitored.p > 0.0) {
                let rest = 1.0 - monitored.count as f64 * monitored.p;
                let chance = rest <= 0.0 || rng.uniform() * rest < monitored.p;
                if chance && (may || monitored.unresponsive) {
                    monitored.count = 0;
                    flow.filtered += bytes;
                    return true;
                }
                monitored.count += 1;
            }
        }
        self.arrived += bytes;
        false
    }

    /// RED has dropped or marked a packet of this flow, or the queue was full.
    pub(super) fn signal(&mut self, key: FlowKey, bytes: u64, rng: &mut Stream) {
        self.signalled += bytes;
        let serial = self.seen;
        let new = || {
            self.seen += 1;
            let (filtered, signalled, lists) = (0, 0, [None; 16]);
            Flow { serial, arrived: bytes, filtered, signalled, lists, monitored: None, last_change: None }
        };
        if let Some(at) = self.flows.find_or_insert(key, rng, new) {
            self.flows[at].signalled += bytes;
        }
    }

    /// Makes the list of this interval.
    fn make_list(&mut self) {
        let lists = self.params.lists as usize;
        self.ranking.clear();
        for (at, flow) in self.flows.values_mut().enumerate() {
            flow.lists[..lists].rotate_left(1);
            flow.lists[lists - 1] = None;
            if flow.signalled > 0 {
                self.ranking.push((Reverse(flow.signalled), flow.serial, at));
            }
        }
        // The most first; of equal ones, that which was known first.
        self.ranking.sort_unstable();
        for &(Reverse(signalled), _, at) in self.ranking.iter().take(self.params.list_flows as usize) {
            self.flows[at].lists[lists - 1] = Some(signalled);
        }
    }

    /// The time of the last `n` intervals, and not less than 0.4 s.
    fn since(&self, n: usize) -> Span {
        self.intervals.iter().rev().take(n).fold(Span::ZERO, |sum, span| sum + *span).max(LEAST_TIME)
    }

    /// An interval is over.
    pub(super) fn interval(&mut self, now: Time) {
        let p_now = if self.arrived == 0 { 0.0 } else { self.signalled as f64 / self.arrived as f64 };
        let p_avg = self.p_avg.map_or(p_now, |p_avg| 0.5 * (p_now + p_avg));
        self.p_avg = Some(p_avg);
        self.make_list();
        if p_now > LEAST_RATE {
            self.raise(now, p_now.min(p_avg));
        }
        self.lower(now);
        self.flows.retain(|flow| {
            (flow.arrived, flow.filtered, flow.signalled) = (0, 0, 0);
            flow.monitored.is_some() || flow.lists.iter().any(Option::is_some)
        });
        (self.arrived, self.signalled) = (0, 0);
        let span = self.next_interval(p_avg);
        self.timer.restart(now, span);
    }

    /// The length of the next interval: what a TCP with the round-trip time R needs for as many drops as there are lists
    /// to be identified, over the number of lists.
    fn next_interval(&mut self, p_avg: f64) -> Span {
        let (r, longest) = (self.params.r.as_secs(), Span(self.params.r.0 * 10));
        if p_avg == 0.0 {
            return longest;
        }
        let part = self.params.identified as f64 / self.params.lists as f64;
        let span = Span::from_secs_f64((part * r / libm::sqrt(1.5 * p_avg)).min(10.0 * r));
        let span = span.max(Span(self.params.r.0 * 2)).min(longest);
        if self.intervals.len() == self.params.lists as usize {
            self.intervals.pop_front();
        }
        self.intervals.push_back(span);
        span
    }

    /// Raises the probabilities of identified flows.
    fn raise(&mut self, now: Time, usable: f64) {
        let least = self.params.identified as usize;
        let identified = |flow: &Flow| {
            let lists = flow.lists.iter().flatten();
            (lists.clone().count() >= least).then(|| lists.sum::<u64>())
        };
        let drops = self.flows.iter().filter_map(|(_, flow)| identified(flow));
        let (sum, n) = drops.fold((0, 0u32), |(sum, n), drops| (sum + drops, n + 1));
        let mean = sum as f64 / f64::from(n.max(1));
        let (rest, elapsed) = (self.since(4), self.timer.period().as_secs());
        for flow in self.flows.values_mut() {
            let Some(listed) = identified(flow) else { continue };
            let drops = flow.filtered + flow.signalled;
            let early = flow.last_change.is_some_and(|last| now.since(last) < rest) || now.since(Time::ZERO) < rest;
            if early || drops == 0 {
                continue;
            }
            let p_pre = usable * listed as f64 / mean;
            match &mut flow.monitored {
                Some(monitored) => {
                    if self.params.unresponsive_test && !monitored.unresponsive {
                        monitored.unresponsive = is_unresponsive(&monitored.history);
                    }
                    let (rise, cut) = if monitored.unresponsive { (2.0, 3.0) } else { (1.0, 2.0) };
                    let p = monitored.p + rise * monitored.p.min(p_pre);
                    monitored.p = if p > 1.0 { 1.0 - (1.0 - monitored.p) / cut } else { p };
                }
                None => {
                    let p = p_pre.min(2.0 * usable).min(0.5);
                    flow.monitored = Some(Monitored { p, ..Monitored::default() });
                }
            }
            flow.last_change = Some(now);
            if let Some(monitored) = &mut flow.monitored {
                if monitored.history.len() == HISTORY {
                    monitored.history.pop_front();
                }
                let arrived = flow.arrived.max(1) as f64;
                monitored.history.push_back((arrived / elapsed, drops as f64 / arrived));
            }
        }
    }

    /// Lowers the probabilities of monitored flows that are in no list.
    fn lower(&mut self, now: Time) {
        let (rest, unresponsive_rest) = (self.since(3), self.since(5));
        let (step, release) = (self.params.step, self.params.release);
        for flow in self.flows.values_mut() {
            let Some(monitored) = &mut flow.monitored else { continue };
            let rest = if monitored.unresponsive { unresponsive_rest } else { rest };
            let early = flow.last_change.is_some_and(|last| now.since(last) < rest);
            if early || flow.lists.iter().any(Option::is_some) {
                continue;
            }
            let (least, cut) = if monitored.unresponsive { (release / 2.0, 1.5) } else { (release, 2.0) };
            if monitored.p <= least {
                flow.monitored = None;
            } else {
                monitored.p = if monitored.p > cut * step { monitored.p - step } else { monitored.p / cut };
            }
            flow.last_change = Some(now);
        }
    }
}

/// Whether a flow's rate fell less than a TCP's would have, in most pairs of its history.
pub(super) fn is_unresponsive(history: &VecDeque<Sample>) -> bool {
    let (mut good, mut bad) = (0, 0);
    for (rate1, p1) in history {
        for (rate2, p2) in history {
            if p1 < p2 && p1 / p2 > 0.1 {
                let fell_less = rate2 / rate1 > libm::sqrt(p1 / p2);
                *(if fell_less { &mut bad } else { &mut good }) += 1;
            }
        }
    }
    match good {
        0 => bad >= 3,
        1 => bad >= 4,
        good => bad >= 4 * good,
    }
}
