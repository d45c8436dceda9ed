//! What a gateway tells the senders: DECbit's bits, and source quenches. The gateways here are the simplest that do it.

use sluicegate_aqm::fifo::{Buffer, Fifo};
use sluicegate_aqm::ut_lt::{UtLt, UtLtParams};
use sluicegate_aqm::{Ctx, Discipline, Packet};
use sluicegate_base::{Rate, Size, Span, Time};
use sluicegate_netsim::{NetworkBuilder, Outcome, QueuedPacket, Sim};
use sluicegate_tcp::ProfileName;
use sluicegate_tcp::{Algorithm, Host, TcpParams};

/// What a gateway does to an arrival that finds more than `threshold` packets.
#[derive(Clone, Copy, PartialEq)]
enum Signal {
    Mark,
    Quench,
}

/// First in, first out, without a limit.
struct Gateway {
    queue: Fifo<QueuedPacket>,
    threshold: u64,
    signal: Signal,
}

impl Discipline<QueuedPacket> for Gateway {
    fn enqueue(&mut self, mut packet: QueuedPacket, ctx: &mut Ctx<'_, QueuedPacket>) {
        if self.queue.packets() > self.threshold {
            match self.signal {
                Signal::Mark => assert!(packet.mark(), "every packet of a DECbit source is capable"),
                Signal::Quench => ctx.quench(packet.flow()),
            }
        }
        self.queue.push(packet);
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, QueuedPacket>) -> Option<QueuedPacket> {
        self.queue.pop()
    }

    fn buffer(&self) -> &dyn Buffer<QueuedPacket> {
        &self.queue
    }
}

const MS: u64 = 1_000_000;
const RATE: Rate = Rate(10_000_000);

fn host(change: impl FnOnce(&mut TcpParams)) -> Host {
    let mut params = TcpParams::of(ProfileName::Ns2);
    params.window = Some(Size::Packets(200));
    change(&mut params);
    Host::new(&params)
}

/// Two transfers over a line of 100 Mbit/s and 10 ms to a gateway of 10 Mbit/s and 15 ms, and 25 ms back.
fn run(signal: Signal, threshold: u64, host: &Host, seconds: u64) -> Outcome {
    run_with(Box::new(Gateway { queue: Fifo::new(Size::Packets(u64::MAX)), threshold, signal }), host, seconds)
}

/// The same with this queue.
fn run_with(queue: Box<dyn Discipline<QueuedPacket>>, host: &Host, seconds: u64) -> Outcome {
    let mut network = NetworkBuilder::new();
    let gateway = network.link("gateway", RATE, Span::from_millis(15)).queue("gateway", queue).id();
    for k in 0..2 {
        let there = network.line(format!("there {k}"), Rate(100_000_000), Span::from_millis(10)).id();
        let back = network.line(format!("back {k}"), Rate(100_000_000), Span::from_millis(25)).id();
        let flow = network.flow(host.clone()).path([there, gateway]).return_path([back]);
        flow.start(Span::from_millis(137 * k));
    }
    let network = network.warmup(Span::from_secs(seconds / 4)).sample(Span::from_millis(10)).series(true);
    finished(network.duration(Span::from_secs(seconds)))
}

fn finished(network: NetworkBuilder) -> Outcome {
    let mut sim = Sim::new(network.build().unwrap());
    while sim.advance(1 << 20) {}
    sim.finish()
}

fn utilisation(outcome: &Outcome) -> f64 {
    outcome.links[0].counters.departed_bytes as f64 * 8.0 / outcome.window.as_secs() / 10e6
}

/// A bandwidth-delay product of 62 packets: the bits alone keep the link nearly full and the queue short.
#[test]
fn two_decbit_sources_share_a_link_that_marks_with_hardly_a_queue() {
    let outcome = run(Signal::Mark, 1, &host(|params| params.algorithm = Some(Algorithm::DecBit)), 80);
    let totals = &outcome.links[0].counters;
    let queue = totals.queueing.as_secs() / outcome.window.as_secs();
    assert!(utilisation(&outcome) > 0.85, "{}", utilisation(&outcome));
    assert!(queue < 5.0 && totals.max_packets < 20, "mean {queue}, most {}", totals.max_packets);
    assert_eq!(totals.drops.iter().sum::<u64>(), 0);
    let share = |k: usize| outcome.flows[k].totals.delivered[0] as f64 / totals.departures as f64;
    assert!((share(0) - 0.5).abs() < 0.1, "fair, as additive increase and multiplicative decrease are: {}", share(0));
    for row in &outcome.flows {
        assert!(row.mark_responses > 10 && row.retransmissions == 0, "{row:?}");
        assert!(row.totals.marked > row.mark_responses, "a decision takes a window of bits");
    }
}

/// A DECbit window moves by one segment or to 7/8, and so never halves.
#[test]
fn a_decbit_window_moves_in_small_steps() {
    let outcome = run(Signal::Mark, 1, &host(|params| params.algorithm = Some(Algorithm::DecBit)), 40);
    let windows: Vec<f64> =
        outcome.flow_series.iter().filter(|row| row.flow == 0).map(|row| row.congestion.unwrap().cwnd).collect();
    let mut moves = 0;
    for pair in windows.windows(2).filter(|pair| pair[0] != pair[1]) {
        let step = [pair[0] + 1.0, pair[0] * 0.875];
        assert!(step.iter().any(|next| (next - pair[1]).abs() < 1e-9), "{} to {}", pair[0], pair[1]);
        moves += 1;
    }
    assert!(moves > 100, "{moves}");
}

/// LT = 5 and UT = 15: once the queue is between them the windows stand still, and nothing is ever lost. What each flow has
/// is what it had then: the rule does not share.
#[test]
fn two_ut_lt_sources_hold_the_queue_between_the_thresholds() {
    let [limit, lt, ut] = [50, 5, 15].map(Size::Packets);
    let queue = Box::new(UtLt::new(UtLtParams { limit, lt, ut }));
    let outcome = run_with(queue, &host(|params| params.algorithm = Some(Algorithm::UtLt)), 80);
    let totals = &outcome.links[0].counters;
    assert!(utilisation(&outcome) > 0.99, "{}", utilisation(&outcome));
    assert!(outcome.flows.iter().all(|row| row.retransmissions == 0 && row.totals.drops.iter().sum::<u64>() == 0));
    assert!(totals.max_packets <= 15, "{}", totals.max_packets);
    let late = |time: Time| time > Time(40_000 * MS);
    let queues: Vec<u64> = outcome.queue.iter().filter(|row| late(row.time)).map(|row| row.packets).collect();
    assert!(queues.len() > 3000 && queues.iter().all(|q| (4..=15).contains(q)), "{:?}", queues.iter().min());
    for flow in 0..2 {
        let rows = outcome.flow_series.iter().filter(|row| row.flow == flow && late(row.time));
        let windows: Vec<f64> = rows.map(|row| row.congestion.unwrap().cwnd).collect();
        assert!(
            windows[0] > 10.0 && windows.iter().all(|window| *window == windows[0]),
            "flow {flow}: {:?}",
            &windows[..5]
        );
    }
}

/// With UT below what their windows put into the queue, congestion is answered: the queue stays short, and Reno's hosts,
/// which know no labels, fill it.
#[test]
fn ut_lt_sources_answer_congestion_and_others_do_not_see_it() {
    let of = |algorithm| {
        let [limit, lt, ut] = [100, 2, 3].map(Size::Packets);
        let host = host(|params| (params.algorithm, params.initial_window) = (Some(algorithm), Some(40.0)));
        run_with(Box::new(UtLt::new(UtLtParams { limit, lt, ut })), &host, 40)
    };
    let (heeding, deaf) = (of(Algorithm::UtLt), of(Algorithm::Reno));
    assert!(heeding.flows.iter().all(|row| row.retransmissions == 0) && utilisation(&heeding) > 0.8);
    assert!(heeding.links[0].counters.max_packets < 20, "{}", heeding.links[0].counters.max_packets);
    assert!(deaf.links[0].counters.max_packets == 100 && deaf.flows.iter().all(|row| row.mark_responses == 0));
}

#[test]
fn who_heeds_source_quenches_keeps_the_queue_short_and_who_does_not_keeps_sending() {
    let heeding = run(Signal::Quench, 20, &host(|params| params.source_quench = Some(true)), 40);
    let deaf = run(Signal::Quench, 20, &host(|params| params.source_quench = Some(false)), 40);
    let queue = |outcome: &Outcome| outcome.links[0].counters.queueing.as_secs() / outcome.window.as_secs();
    assert!(queue(&deaf) > 100.0, "nothing stops two windows of 200 packets: {}", queue(&deaf));
    // The threshold of slow start stays, so each window overshoots again: the queue is short by comparison only.
    assert!(queue(&heeding) < queue(&deaf) / 3.0, "{} and {}", queue(&heeding), queue(&deaf));
    assert!(utilisation(&heeding) > 0.4, "{}", utilisation(&heeding));
    assert!(heeding.flows.iter().all(|row| row.quench_responses > 5 && row.retransmissions == 0));
    assert!(deaf.flows.iter().all(|row| row.quench_responses == 0));
}

/// The first quench leaves as the first packet beyond the threshold arrives, and needs 10 ms back over the line's delay.
#[test]
fn a_quench_arrives_after_the_way_back_from_the_gateway() {
    // Established, 30 segments at once at time zero: packet k (from 1) arrives at 10 ms + k · 0.08 ms, and is served in
    // 0.8 ms; the first in service leaves 29 to queue. Beyond 5 queued are arrivals of the 7th or 8th on.
    let host = host(|params| {
        params.handshake = Some(false);
        params.initial_window = Some(30.0);
        params.source_quench = Some(true);
    });
    let queue = Gateway { queue: Fifo::new(Size::Packets(u64::MAX)), threshold: 5, signal: Signal::Quench };
    let mut network = NetworkBuilder::new();
    let gateway = network.link("gateway", RATE, Span::from_millis(15)).queue("gateway", Box::new(queue)).id();
    let there = network.line("there", Rate(100_000_000), Span::from_millis(10)).id();
    let back = network.line("back", Rate(100_000_000), Span::from_millis(25)).id();
    network.flow(host).path([there, gateway]).return_path([back]);
    let outcome = finished(network.duration(Span::from_millis(25)).sample(Span(10_000)).series(true));
    let closed = outcome
        .flow_series
        .iter()
        .find(|row| row.congestion.is_some_and(|state| state.cwnd == 1.0))
        .expect("the window closes")
        .time;
    // Packet 7 arrives at 10.56 ms and finds 5 queued; packet 8 at 10.64 ms finds 6: its quench arrives at 20.64 ms.
    assert_eq!(closed, Time(20_640_000));
}

/// A plain queue asks for nothing: a host that would heed a quench behaves the same.
#[test]
fn without_quenches_heeding_them_changes_nothing() {
    let outcome = |source_quench| {
        let host = host(|params| {
            params.profile = Some(ProfileName::Bsd43Tahoe);
            params.source_quench = Some(source_quench);
        });
        let mut network = NetworkBuilder::new();
        let gateway =
            network.link("gateway", RATE, Span::from_millis(15)).discipline("drop_tail", &[("limit", &10)]).id();
        let back = network.line("back", Rate(1_000_000), Span::ZERO).id();
        network.flow(host).path([gateway]).return_path([back]);
        let row = &finished(network.duration(Span::from_secs(20))).flows[0];
        (row.totals.delivered, row.retransmissions, row.quench_responses)
    };
    assert_eq!(outcome(true), outcome(false));
    assert!(outcome(true).1 > 0);
}
