//! What must not matter: the order in which flows are listed, where a run stops and who looks, and what happens elsewhere in the
//! network at the same time.

use sluicegate_aqm::all;
use sluicegate_base::{Link, Rate, Size, Span, Stream, Time};
use sluicegate_netsim::source::{EcnField, OnOffParams, Periods, PoissonParams, Sizes, SourcePlan, UdpParams};
use sluicegate_netsim::{HopId, NetworkBuilder, Outcome, Plan, Sim};
use sluicegate_tcp::{Algorithm, Host, ProfileName, TcpParams};
use std::sync::{Arc, Mutex};

const LINK: Link = Link { rate: Rate(2_000_000), packet: 1000 };

fn ms(rng: &mut Stream, least: u64, most: u64) -> Span {
    Span(rng.below((most - least) * 1_000_000) + least * 1_000_000)
}

/// A flow of a random network.
#[derive(Clone)]
struct Member {
    source: SourcePlan,
    /// Of its line to the bottleneck, and its own way back.
    delay: Span,
    size: Option<u64>,
}

/// A random network: flows over lines of their own to a bottleneck, and from there over another link for every second flow.
#[derive(Clone)]
struct Network {
    discipline: &'static str,
    members: Vec<Member>,
    /// Whether acknowledgements share a link back.
    shared_back: bool,
    /// Whether they share a line instead, and all flows cross the bottleneck alone: then most are evaluated ahead. Not in the
    /// first networks, of which statistics are made.
    shared_line: bool,
    tx_ring: bool,
}

impl Network {
    fn random(number: u64) -> Network {
        let rng = &mut Stream::new(number, "network");
        use Algorithm::{Bbr, Cubic, Dctcp, NewReno, Prague, Sack, Tahoe, Vegas};
        let algorithms = [NewReno, Sack, Vegas, Tahoe, Cubic, Bbr, Dctcp, Prague];
        let member = |rng: &mut Stream| {
            let (rate, packet_size) = (Rate(100_000 + rng.below(300_000)), Size::Bytes(200 + rng.below(1000)));
            let on_off = || Span::from_millis(100);
            let source = match rng.below(8) {
                0 => UdpParams { ecn: EcnField::default(), rate, packet_size, jitter: 0.5 }.into(),
                1 => PoissonParams { ecn: EcnField::default(), rate, packet_size, sizes: Sizes::Exponential }.into(),
                2 => {
                    let (on_mean, off_mean, distribution, shape) = (on_off(), on_off(), Periods::Exponential, 1.5);
                    OnOffParams { ecn: EcnField::default(), rate, packet_size, on_mean, off_mean, distribution, shape }
                        .into()
                }
                _ => {
                    let algorithm = algorithms[rng.below(algorithms.len() as u64) as usize];
                    let of_papers = algorithm.runs_on(ProfileName::Ns2);
                    let profile = if of_papers { ProfileName::Ns2 } else { ProfileName::Linux };
                    let params = TcpParams { algorithm: Some(algorithm), ..TcpParams::of(profile) };
                    let mut host = Host::new(&params);
                    host.ecn |= rng.chance(0.3);
                    if of_papers {
                        host.delayed_ack = if rng.chance(0.3) { Span::from_millis(100) } else { Span::ZERO };
                        host.send_jitter = Span(rng.below(2) * 4_000_000);
                    }
                    SourcePlan::from(host)
                }
            };
            let size = (matches!(source, SourcePlan::Tcp(_)) && rng.chance(0.2)).then(|| 50_000 + rng.below(200_000));
            Member { source, delay: ms(rng, 1, 60), size }
        };
        let members = (0..3 + rng.below(5)).map(|_| member(rng)).collect();
        let discipline = all()[rng.below(all().len() as u64) as usize].table.about.name;
        let shared_line = number >= 1000 && number % 2 == 1;
        Network { discipline, members, shared_back: rng.chance(0.5), shared_line, tx_ring: rng.chance(0.3) }
    }

    /// The plan with the members in this order. When each starts is drawn, as in a scenario.
    fn plan(&self, order: &[usize], seed: u64, times: (u64, u64), series: bool) -> Plan {
        let mut network = NetworkBuilder::new();
        let bottleneck = network.link("bottleneck", LINK.rate, Span::from_millis(5)).discipline(self.discipline, &[]);
        let bottleneck = if self.tx_ring { bottleneck.tx_ring(Size::Packets(4)) } else { bottleneck }.id();
        let second = network.link("second", Rate(1_500_000), Span::from_millis(3)).id();
        let back = network.link("back", Rate(200_000), Span::from_millis(5)).monitored(false).id();
        let line = network.line("line", Rate(2_000_000), Span::from_millis(2)).id();
        let mut start = Stream::new(seed, "starts");
        for &at in order {
            let Member { source, delay, size } = &self.members[at];
            let rate = Rate(10_000_000);
            let near = network.line(format!("near {at}"), rate, *delay).id();
            let own_back =
                network.line(format!("back {at}"), rate, *delay).jitter(Span(at as u64 % 2 * 1_000_000)).id();
            let mut path = vec![near, bottleneck];
            path.extend((at % 2 == 0 && !self.shared_line).then_some(second));
            let mut flow = network.flow(source.clone()).path(path).start(ms(&mut start, 0, 500));
            if source.host().is_some() {
                let way: &[HopId] = match (self.shared_line, self.shared_back) {
                    (true, _) => &[line, own_back],
                    (false, true) => &[back, own_back],
                    (false, false) => &[own_back],
                };
                flow = flow.return_path(way.iter().copied());
            }
            if let Some(size) = size {
                flow.size(*size);
            }
        }
        let network = network.duration(Span::from_millis(times.0)).warmup(Span::from_millis(times.1)).seed(seed);
        network.series(series).packets(500).positions(500).build().unwrap()
    }
}

fn run(plan: Plan) -> Outcome {
    let mut sim = Sim::new(plan);
    while sim.advance(1 << 20) {}
    sim.finish()
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0))
}

/// The same flows in another order give the same statistics. Their random streams are keyed by their index,
/// so that single runs differ, and means over seeds are compared: for each flow what it delivered, for each link what it
/// dropped and how long packets waited.
///
/// The difference of two means of [`SEEDS`] runs over its standard error is Student's t with at least 15 degrees of freedom
/// (Welch). Beyond 6 it is with probability 2.4e-5, so among some 310 comparisons by luck in 0.7 % of all sets of seeds; this
/// one is fixed. A bias for whoever is listed first would add up over all comparisons: t² has mean 15/13 and standard
/// deviation 1.84 where there is none. Statistics of one network are correlated; if each of the 40 networks has three that are
/// not, the mean of t² has standard deviation 1.84/√120 = 0.17, and four of these are allowed.
#[test]
fn the_order_of_flows_changes_no_statistic() {
    let statistics = |network: &Network, order: &[usize], seed| {
        let outcome = run(network.plan(order, seed, (6000, 1000), false));
        let mut values = vec![0.0; order.len()];
        for (row, at) in outcome.flows.iter().zip(order) {
            values[*at] = row.totals.delivered[1] as f64;
        }
        let queues = outcome.links.iter().map(|link| &link.counters);
        values.extend(queues.flat_map(|queue| [queue.drops.iter().sum::<u64>() as f64, queue.queueing.as_secs()]));
        values
    };
    let mut scores = Vec::new();
    for number in 0..NETWORKS {
        let network = Network::random(number);
        let listed: Vec<usize> = (0..network.members.len()).collect();
        let mut rng = Stream::new(number, "order");
        let mut shuffled = listed.clone();
        while shuffled == listed {
            (1..shuffled.len()).for_each(|at| shuffled.swap(at, rng.below(at as u64 + 1) as usize));
        }
        // Different seeds, so that the two sets of runs are independent.
        let sets = [(&listed, 0), (&shuffled, 1000)].map(|(order, first)| {
            (1..=SEEDS).map(|seed| statistics(&network, order, first + seed)).collect::<Vec<_>>()
        });
        for at in 0..sets[0][0].len() {
            let [(mean, variance), (other, other_variance)] =
                sets.each_ref().map(|runs| mean_and_variance(&runs.iter().map(|run| run[at]).collect::<Vec<_>>()));
            let error = ((variance + other_variance) / SEEDS as f64).sqrt();
            if error == 0.0 {
                assert_eq!(mean, other, "network {number}, statistic {at}");
                continue;
            }
            let t = (mean - other) / error;
            assert!(t.abs() < 6.0, "network {number}, statistic {at}: {mean} and {other}, {t} standard errors apart");
            scores.push(t * t);
        }
    }
    let (mean, n) = (scores.iter().sum::<f64>() / scores.len() as f64, scores.len());
    assert!(n > 250 && mean < 15.0 / 13.0 + 4.0 * 0.17, "{mean} over {n}");
}

const SEEDS: u64 = 16;
const NETWORKS: u64 = 40;

/// All that a run counts.
fn counted(outcome: Outcome) -> String {
    format!("{outcome:?}")
}

/// Where a run stops changes nothing, whatever the networks are; nor does a look at it.
#[test]
fn a_run_in_any_slices_counts_the_same() {
    for number in 0..60 {
        let network = Network::random(1000 + number);
        let order: Vec<usize> = (0..network.members.len()).collect();
        let plan = || network.plan(&order, number, (3000, 700), number % 2 == 0);
        let whole = counted(run(plan()));
        let rng = &mut Stream::new(number, "slices");
        for budget in [1, 1 + rng.below(50), 1 + rng.below(5000)] {
            let mut sim = Sim::new(plan());
            while sim.advance(budget) {}
            assert!(counted(sim.finish()) == whole, "network {number} in slices of {budget}");
        }
        let mut sim = Sim::new(plan());
        while sim.now() < sim.end() {
            let step = [0, 100, 1_000_000, 300_000_000][rng.below(4) as usize];
            let until = sim.now() + Span(1 + rng.below(step + 1));
            while sim.advance_until(until, 1 + rng.below(200)) {}
            assert_eq!(sim.now(), until.min(sim.end()));
            if rng.chance(0.05) {
                let _ = sim.snapshot();
            }
        }
        assert!(counted(sim.finish()) == whole, "network {number} in steps of time");
    }
}

/// Transfers without an end, whose packets are full but for those that open connections, over one line back: what is known
/// ahead there. In steps of time that are shorter than the way nothing is.
#[test]
fn what_is_known_ahead_at_a_shared_line_changes_nothing() {
    for number in 0..400 {
        let plan = || {
            let rng = &mut Stream::new(number, "ahead");
            let (count, delays) = (3 + rng.below(20), [0, 10, 1000, 20_000]);
            let delay = |rng: &mut Stream| Span(1000 * delays[rng.below(4) as usize]);
            let mut network = NetworkBuilder::new();
            let bottleneck = network.link("bottleneck", Rate(count * 1_000_000), delay(rng)).id();
            let back = network.line("back", Rate(count * 1_000_000), delay(rng)).id();
            // Where access links are slow, a full packet takes them longer than one that opens a connection.
            let rate = Rate(1_000_000 << rng.below(8));
            for at in 0..count {
                let near = network.line(format!("near {at}"), rate, delay(rng)).id();
                let far = network.line(format!("far {at}"), rate, delay(rng)).id();
                let own_back = network.line(format!("back {at}"), rate, delay(rng)).id();
                let host = Host { window: 20_000, ..Host::new(&TcpParams::of(ProfileName::Ns2)) };
                let flow = network.flow(host).path([near, bottleneck, far]);
                flow.return_path([own_back, back]).start(ms(rng, 0, 900));
            }
            network.duration(Span::from_secs(1)).build().unwrap()
        };
        let mut stepped = Sim::new(plan());
        while stepped.now() < stepped.end() {
            let until = stepped.now() + Span(7_000);
            while stepped.advance_until(until, 1 << 20) {}
        }
        let whole = counted(run(plan()));
        assert!(counted(stepped.finish()) == whole, "network {number}");
    }
}

/// A snapshot at any time is what a run of that length leaves: nothing is counted before its time that shows.
#[test]
fn a_snapshot_counts_what_has_happened() {
    for number in 0..40 {
        let network = Network::random(2000 + number);
        let order: Vec<usize> = (0..network.members.len()).collect();
        let rng = &mut Stream::new(number, "snapshots");
        let mut sim = Sim::new(network.plan(&order, number, (3000, 700), true));
        for at in [ms(rng, 701, 1500), ms(rng, 1500, 2900)] {
            while sim.advance_until(Time::ZERO + at, 100) {}
            let mut plan = network.plan(&order, number, (3000, 700), true);
            plan.duration = at;
            assert!(counted(sim.snapshot()) == counted(run(plan)), "network {number} at {at}");
        }
    }
}

/// Series let fewer deliveries be counted early; the counters are the same.
#[test]
fn series_change_no_counter() {
    for number in 0..60 {
        let network = Network::random(3000 + number);
        let order: Vec<usize> = (0..network.members.len()).collect();
        let [with, without] = [true, false].map(|series| {
            let Outcome { window, flows, links, packets, positions, .. } =
                run(network.plan(&order, number, (3000, 700), series));
            format!("{window:?} {flows:?} {links:?} {packets:?} {positions:?}")
        });
        assert!(with == without, "network {number}");
    }
}

/// Two flows in exact phase reach one link over ways of their own that take equally long. A lot decides who is first each
/// time, whatever its way is and whenever that was evaluated, and nothing that is added elsewhere at the same times changes what
/// happens there, as long as the flows keep their numbers.
#[test]
fn what_happens_elsewhere_decides_no_tie() {
    let udp = || {
        SourcePlan::from(UdpParams {
            ecn: EcnField::default(),
            rate: Rate(400_000),
            packet_size: Size::Bytes(500),
            jitter: 0.0,
        })
    };
    let host = Host { handshake: false, ..Host::new(&TcpParams::of(ProfileName::Ns2)) };
    let (rate, delay) = (Rate(4_000_000), Span::from_millis(4));
    let aside = |network: &mut NetworkBuilder| {
        let link = network.link("aside", rate, delay).id();
        let line = network.line("aside/back", rate, delay).id();
        network.flow(udp()).path([link]);
        network.flow(host.clone()).path([link]).return_path([line]);
    };
    // What leaves the link where the two meet: when, whose, and its first byte.
    let met = |links: [bool; 2], crossed: bool, tcp: bool, third: &str| {
        let mut network = NetworkBuilder::new();
        if third == "before" {
            aside(&mut network);
        }
        let mut way = |name, is_link| match is_link {
            true => network.link(name, rate, delay).id(),
            false => network.line(name, rate, delay).id(),
        };
        let mut ways = [way("a", links[0]), way("b", links[1])];
        if crossed {
            ways.reverse();
        }
        let meeting = network.link("meeting", Rate(1_000_000), delay).id();
        let back = network.line("back", Rate(100_000_000), delay).id();
        for way in ways {
            if tcp {
                network.flow(host.clone()).path([way, meeting]).return_path([back]).group(9);
            } else {
                network.flow(udp()).path([way, meeting]).group(9);
            }
        }
        if third == "after" {
            aside(&mut network);
        }
        let plan = network.duration(Span::from_secs(3)).build().unwrap();
        let first = plan.flows.iter().position(|flow| flow.group == 9).unwrap() as u32;
        let (mut sim, seen) = (Sim::new(plan), Arc::new(Mutex::new(Vec::new())));
        let noted = Arc::clone(&seen);
        assert!(sim.observe(
            "meeting",
            Box::new(move |time, packet, _| noted.lock().unwrap().push((
                time,
                packet.flow - first,
                packet.segment.seq
            )))
        ));
        while sim.advance(1 << 20) {}
        let seen = seen.lock().unwrap().clone();
        assert!(seen.len() > 300, "{}", seen.len());
        seen
    };
    for (links, crossed) in [[true, true], [true, false], [false, true], [false, false]]
        .into_iter()
        .flat_map(|links| [(links, false), (links, true)])
    {
        let alone = met(links, crossed, false, "");
        let both = alone.chunks_exact(2).all(|pair| pair[0].1 != pair[1].1);
        assert!(both, "{links:?} {crossed}: in exact phase, one of each at a time");
        assert!(alone == met(links, crossed, false, "after"), "{links:?} {crossed}");
        // Lots are drawn by the numbers of flows, which what is listed before changes: when packets leave is the same, not whose.
        let before = met(links, crossed, false, "before");
        let when = |seen: &[(Time, u32, u64)]| seen.iter().map(|(time, ..)| *time).collect::<Vec<_>>();
        assert!(when(&alone) == when(&before), "{links:?} {crossed}");
        assert!(before.chunks_exact(2).all(|pair| pair[0].1 != pair[1].1), "{links:?} {crossed}");
        // The clocks of hosts are keyed by index, so that before them nothing can be listed.
        assert!(met(links, crossed, true, "") == met(links, crossed, true, "after"), "{links:?} {crossed}");
    }
}
