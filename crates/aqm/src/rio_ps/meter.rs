//! The meter at the edge: the first L_t packets of a flow are In, the others Out, and L_t follows the traffic.

use super::RioPsParams;
use crate::discipline::FlowKey;
use crate::flow_table::FlowTable;
use crate::periodic_timer::PeriodicTimer;
use sluicegate_base::{Stream, Time, choices};

choices! {
    /// What is compared of short and of long flows.
    pub enum Balance {
        /// The bytes of In packets and those of Out packets that arrived.
        Load = "load",
        /// The number of flows that have sent no more than L_t packets, and of those that have sent more.
        Flows = "flows",
    }
}

/// What the meter remembers of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    packets: u64,
    last: Time,
}

/// A meter. It never has to be woken: what its clocks would do is done when the next packet comes.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    params: RioPsParams,
    /// The flows that it remembers.
    pub flows: FlowTable<Sent>,
    /// L_t, in packets.
    pub l_t: u64,
    sweeps: PeriodicTimer,
    adaptations: PeriodicTimer,
    /// Bytes since the last adaptation, In and Out.
    load: [u64; 2],
}

impl Meter {
    /// A meter that knows no flow.
    pub fn new(params: RioPsParams) -> Meter {
        Meter {
            flows: FlowTable::new(params.flows as usize),
            l_t: params.l_t,
            sweeps: PeriodicTimer::new(params.expiry),
            adaptations: PeriodicTimer::new(params.interval),
            load: [0; 2],
            params,
        }
    }

    /// Applies new parameters; L_t stays as it is if it may.
    pub fn configure(&mut self, params: RioPsParams, now: Time) {
        self.l_t = self.l_t.min(params.l_t_max);
        self.sweeps.set_period(now, params.expiry);
        self.adaptations.set_period(now, params.interval);
        self.params = params;
    }

    /// A packet of so many bytes arrives: whether it is In.
    pub fn is_in(&mut self, flow: FlowKey, bytes: u64, now: Time, rng: &mut Stream) -> bool {
        if self.sweeps.skip_missed(now) > 0 {
            self.flows.retain(|sent| now.since(sent.last) <= self.params.expiry);
        }
        if self.adaptations.skip_missed(now) > 0 && self.params.ratio > 0.0 {
            self.adapt();
        }
        let packets = self.count(flow, now, rng);
        let is_in = packets.is_some_and(|packets| packets <= self.l_t);
        self.load[usize::from(!is_in)] += bytes;
        is_in
    }

    /// How many packets the flow has sent, with this one; none if there is no room to remember it.
    #[inline]
    fn count(&mut self, flow: FlowKey, now: Time, rng: &mut Stream) -> Option<u64> {
        let at = self.flows.find_or_insert(flow, rng, || Sent { packets: 0, last: now })?;
        let sent = &mut self.flows[at];
        if now.since(sent.last) > self.params.expiry {
            sent.packets = 0;
        }
        *sent = Sent { packets: sent.packets + 1, last: now };
        Some(sent.packets)
    }

    /// The end of an interval: L_t moves by one towards the ratio that is wanted; not at all when nothing was sent.
    fn adapt(&mut self) {
        let [short, long] = match self.params.balance {
            Balance::Load => self.load,
            Balance::Flows => {
                let mut counts = [0; 2];
                self.flows.iter().for_each(|(_, sent)| counts[usize::from(sent.packets > self.l_t)] += 1);
                counts
            }
        };
        self.load = [0; 2];
        let wanted = self.params.ratio * long as f64;
        if (short as f64) < wanted {
            self.l_t = (self.l_t + 1).min(self.params.l_t_max);
        } else if short as f64 > wanted {
            self.l_t = (self.l_t - 1).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use sluicegate_base::{Link, Params, Rate, Span};

    fn meter(balance: Balance) -> Meter {
        let defaults = RioPsParams::defaults(&Link { rate: Rate(1_000_000), packet: 1000 }).unwrap();
        Meter::new(RioPsParams { flows: 1000, l_t: 3, l_t_max: 5, balance, ..defaults })
    }

    /// Which of so many packets of one flow, a time apart, are In.
    fn send(meter: &mut Meter, flow: u64, packets: usize, gap: Span, now: &mut Time) -> Vec<bool> {
        let mut rng = Stream::new(1, "meter");
        let mut one = |now: &mut Time| {
            *now += gap;
            meter.is_in(FlowKey(flow), 100, *now, &mut rng)
        };
        (0..packets).map(|_| one(now)).collect()
    }

    #[test]
    fn the_first_packets_are_in_until_a_silence() {
        let (mut meter, mut now) = (meter(Balance::Load), Time::ZERO);
        assert_eq!(send(&mut meter, 1, 5, Span::from_secs(1), &mut now), [true, true, true, false, false]);
        assert_eq!(send(&mut meter, 1, 3, Span(1_000_000_001), &mut now), [true; 3], "each after more than a second");
        assert_eq!(send(&mut meter, 2, 1, Span::ZERO, &mut now), [true], "each flow by itself");
    }

    /// In ten seconds 3 packets In and 6 Out: too few In for 3:1, L_t rises by one, and up to 5. Flows of one packet each: too
    /// many, and it falls to 1.
    #[test]
    fn l_t_follows_the_load() {
        let (mut meter, mut now) = (meter(Balance::Load), Time::ZERO);
        send(&mut meter, 1, 9, Span::from_secs(1), &mut now);
        assert_eq!(meter.l_t, 3);
        for expected in [4, 5, 5] {
            send(&mut meter, 1, 10, Span::from_secs(1), &mut now);
            assert_eq!(meter.l_t, expected);
        }
        let mut flow = 100;
        // The load of an interval counts when the next one begins.
        for expected in [5, 4, 3, 2, 1, 1] {
            (0..10).for_each(|_| {
                flow += 1;
                send(&mut meter, flow, 1, Span::from_secs(1), &mut now);
            });
            assert_eq!(meter.l_t, expected);
        }
        // A day without packets: the load before it counts once, then nothing moves.
        send(&mut meter, 1, 9, Span(1), &mut now);
        now += Span::from_secs(86_400);
        send(&mut meter, 1, 1, Span(1), &mut now);
        assert_eq!((meter.l_t, meter.flows.len()), (2, 1));
    }

    /// Load in the ratio 3:1 leaves L_t alone.
    #[test]
    fn the_wanted_ratio_is_kept() {
        // The packet at 10 s is the first of a flow.
        let (mut meter, mut now) = (meter(Balance::Load), Time(300_000_000));
        (0..30).for_each(|flow| drop(send(&mut meter, flow, 4, Span::from_millis(100), &mut now)));
        assert_eq!(meter.l_t, 3);
    }

    /// By the number of flows: 3 short and one long is as wanted, 4 are too many and 2 too few.
    #[test]
    fn flows_can_be_balanced_instead() {
        for (short, expected) in [(3, 3), (4, 2), (2, 4)] {
            let (mut meter, mut now) = (meter(Balance::Flows), Time(9_500_000_000));
            send(&mut meter, 0, 50, Span(1), &mut now);
            (1..=short).for_each(|flow| drop(send(&mut meter, flow, 2, Span(1), &mut now)));
            send(&mut meter, 0, 1, Span::from_millis(600), &mut now);
            assert_eq!(meter.l_t, expected, "{short} short flows");
        }
    }

    /// A million flows with chosen numbers within a second: memory stays bounded, what does not fit is Out, and after the expiry
    /// there is room again.
    #[test]
    fn many_flows_do_not_fill_the_memory() {
        let (mut meter, mut rng) = (meter(Balance::Load), Stream::new(1, "meter"));
        let mut ins = 0u64;
        for k in 0..1_000_000u64 {
            ins += u64::from(meter.is_in(FlowKey(k * 1000), 40, Time(k * 900), &mut rng));
        }
        assert_eq!((ins, meter.flows.len()), (1000, 1000));
        assert!(meter.flows.allocated() < 2000, "{}", meter.flows.allocated());
        assert!(meter.is_in(FlowKey(7), 40, Time(3_000_000_000), &mut rng));
        assert_eq!(meter.flows.len(), 1);
    }
}
