//! A discipline, a source and a congestion control written in this program, on one link: `docs/rust-library.md` explains it.

use sluicegate_aqm::fifo::{Buffer, Fifo};
use sluicegate_aqm::{Ctx, Discipline, DropReason};
use sluicegate_base::{Rate, Size, Span, Stream};
use sluicegate_netsim::source::{CustomSource, Source};
use sluicegate_netsim::{NetworkBuilder, QueuedPacket, Sim};
use sluicegate_tcp::cc::{Ack, CongestionControl};
use sluicegate_tcp::{Host, ProfileName, TcpParams};
use std::error::Error;
use std::sync::Arc;

/// Drops an arrival with a probability that grows as the square of the queue's length: 0 when it is empty, 1 when it is full.
struct Quadratic {
    queue: Fifo<QueuedPacket>,
    limit: u64,
}

impl Discipline<QueuedPacket> for Quadratic {
    fn enqueue(&mut self, packet: QueuedPacket, ctx: &mut Ctx<'_, QueuedPacket>) {
        let full = self.queue.packets() as f64 / self.limit as f64;
        if ctx.rng.chance(full * full) {
            ctx.drop(packet, DropReason::Early);
        } else {
            self.queue.push(packet);
        }
    }

    fn dequeue(&mut self, _ctx: &mut Ctx<'_, QueuedPacket>) -> Option<QueuedPacket> {
        self.queue.pop()
    }

    fn buffer(&self) -> &dyn Buffer<QueuedPacket> {
        &self.queue
    }
}

/// A camera: a large picture about once a second as 30 packets, and between the pictures a packet every 20 ms, give or take 5 ms.
struct Camera {
    rng: Stream,
    sent: u64,
}

impl Source for Camera {
    fn next(&mut self) -> (u32, Span) {
        let in_second = self.sent % 75;
        self.sent += 1;
        if in_second < 30 {
            return (1200, Span::from_millis(1));
        }
        (300, Span::from_millis(15) + Span(self.rng.below(10_000_000)))
    }
}

/// The queueing delay that the controller aims at.
const TARGET: Span = Span::from_millis(10);

/// Paces what it sends: faster by a tenth in each round trip, and a little below the rate of delivery when the queueing delay
/// is above its target.
struct Paced {
    mss: u64,
    rate: Rate,
    /// The least round trip seen.
    base: Option<Span>,
    /// What will have been delivered when this round trip ends.
    round_end: u64,
}

impl Paced {
    fn new(host: &Host) -> Paced {
        Paced { mss: u64::from(host.mss), rate: Rate(500_000), base: None, round_end: 0 }
    }
}

impl CongestionControl for Paced {
    fn wants_rate_samples(&self) -> bool {
        true
    }

    fn on_ack(&mut self, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        let Some(rtt) = sample.rtt else { return };
        let base = self.base.map_or(rtt, |base| base.min(rtt));
        self.base = Some(base);
        if sample.prior_delivered < self.round_end {
            return;
        }
        self.round_end = sample.total_delivered;
        self.rate = match rtt > base + TARGET {
            true => Rate(sample.rate().0 * 9 / 10),
            false => Rate(self.rate.0 * 11 / 10),
        };
    }

    /// Samples count in recovery, too.
    fn on_delivery(&mut self, ack: &Ack) {
        self.on_ack(ack);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    /// In segments: the pace is the limit, and the window leaves room for twice the target.
    fn cwnd(&self) -> f64 {
        let time = self.base.unwrap_or(Span::from_secs(1)) + TARGET + TARGET;
        (self.rate.0 as f64 / 8.0 * time.as_secs() / self.mss as f64).max(4.0)
    }

    fn ssthresh(&self) -> f64 {
        self.cwnd()
    }

    // Losses change nothing: the delay says when to slow down.
    fn on_congestion(&mut self, _window: f64, _least: f64) {}
    fn on_timeout(&mut self, _window: f64, _cut: bool) {}
    fn set_cwnd(&mut self, _cwnd: f64) {}
}

/// Runs the three flows over the link, under Drop Tail or under the program's own discipline; a row of the table for each.
fn run(own: bool) -> Result<String, Box<dyn Error>> {
    let rate = Rate(10_000_000);
    let mut network = NetworkBuilder::new();
    let link = network.link("bottleneck", rate, Span::from_millis(20));
    let bottleneck = match own {
        false => link.discipline("drop_tail", &[("limit", &100)]).id(),
        true => link.queue("quadratic", Box::new(Quadratic { queue: Fifo::new(Size::Packets(100)), limit: 100 })).id(),
    };
    let back = network.line("back", Rate(100_000_000), Span::from_millis(20)).id();

    let host = Host::new(&TcpParams::of(ProfileName::Linux));
    let paced = host.clone().with_controller("paced", Arc::new(|host: &Host| Box::new(Paced::new(host))))?;
    network.flow(host).path([bottleneck]).return_path([back]);
    network.flow(paced).path([bottleneck]).return_path([back]).start(Span::from_secs(1));
    network.flow(CustomSource::new("camera", |rng| Camera { rng, sent: 0 })).path([bottleneck]);

    let plan = network.duration(Span::from_secs(40)).warmup(Span::from_secs(10)).build()?;
    let mut sim = Sim::new(plan);
    while sim.advance(100_000) {}
    let outcome = sim.finish();

    let mut table = String::new();
    for (name, flow) in ["cubic", "paced", "camera"].iter().zip(&outcome.flows) {
        let [packets, bytes] = flow.totals.delivered;
        let mbps = bytes as f64 * 8e-6 / outcome.window.as_secs();
        let drops: u64 = flow.totals.drops.iter().sum();
        let loss = 100.0 * drops as f64 / flow.totals.arrivals as f64;
        let delay = flow.totals.delay_sum as f64 * 1e-6 / packets as f64;
        let discipline = &outcome.links[0].discipline;
        table += &format!("{discipline:<10} {name:<9} {mbps:>6.2} {loss:>7.2} {delay:>9.1}\n");
    }
    Ok(table)
}

/// The table that the program prints.
pub fn table() -> Result<String, Box<dyn Error>> {
    let head = "discipline flow      Mbit/s  loss %  delay ms\n";
    Ok(head.to_owned() + &run(false)? + &run(true)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", table()?);
    Ok(())
}
