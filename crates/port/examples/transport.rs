//! A transport's test: 100 packets of 1250 bytes, twice as fast as a link of 10 Mbit/s sends them, cross CoDel.

use sluicegate_aqm::codel::{Codel, CodelParams};
use sluicegate_aqm::{FlowKey, Packet};
use sluicegate_base::{Ecn, Link, Params, Rate, Span, Time};
use sluicegate_port::{Fates, LinkConfig, Path, PortConfig, What, WirePlan};

/// What the transport sends: here a number will do.
struct Datagram {
    number: u64,
    ecn: Ecn,
}

impl Packet for Datagram {
    fn flow(&self) -> FlowKey {
        FlowKey(1)
    }
    fn bytes(&self) -> u64 {
        1250
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) -> bool {
        self.ecn.mark()
    }
}

/// A link of 10 Mbit/s under CoDel, and 10 ms; packet 30 is lost on the wire.
fn path() -> Result<Path<Datagram>, String> {
    let rate = Rate(10_000_000);
    let defaults = CodelParams::build(&mut |_| None, &Link { rate, packet: 1250 }).expect("all have a default");
    let codel = CodelParams { ecn: true, interval: Span::from_millis(20), ..defaults };
    let mut fates = Fates::default();
    fates.add("drop", "30")?;
    Path::new(1).link(LinkConfig {
        port: PortConfig::new(rate),
        queue: Box::new(Codel::new(codel)),
        delay: Span::from_millis(10),
        wire: WirePlan { fates, ..WirePlan::default() },
    })
}

/// Sends the packets, and says what has become of them.
pub fn report() -> Result<String, String> {
    let mut path = path()?;
    let (mut sent, mut delivered, mut marked, mut last) = (0, 0, 0, Time::ZERO);
    let mut report = String::new();
    loop {
        // What happens next: the sender's turn, every 0.5 ms, or something on the path.
        let turn = (sent < 100).then_some(Time(sent * 500_000));
        let Some(now) = turn.into_iter().chain(path.next_deadline()).min() else { break };
        for event in path.advance(now) {
            match event.what {
                What::Delivered => {
                    (delivered, last) = (delivered + 1, event.time);
                    marked += u64::from(event.marked);
                }
                What::Dropped { reason, .. } => {
                    report += &format!("packet {}: {}\n", event.packet.number, reason.word());
                }
            }
        }
        if turn == Some(now) {
            sent += 1;
            path.send(Datagram { number: sent, ecn: Ecn::Capable0 }, now);
        }
    }
    let last = last.0 as f64 / 1e6;
    Ok(report + &format!("{delivered} delivered, {marked} of them marked, the last after {last:.1} ms\n"))
}

fn main() -> Result<(), String> {
    print!("{}", report()?);
    Ok(())
}
