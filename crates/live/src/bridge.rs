//! A discipline between two real interfaces: what comes in by one goes out by the other, through a link.

use crate::driven::Driven;
use crate::emulator::{Emulator, Observer};
use crate::gate::Gate;
use crate::interface::Interface;
use crate::ledger::Ledger;
use crate::pump::{Clock, Drive, Pump};
use crate::tuples::Tuples;
use sluicegate_base::Span;
use sluicegate_lab::replay::Packet;
use sluicegate_netsim::LinkPlan;

/// How a bridge is made.
pub struct BridgeSpec {
    /// What goes from the first interface to the second crosses the first links, what comes back the second, in this order.
    pub links: [Vec<LinkPlan<Packet>>; 2],
    /// The names of the interfaces.
    pub interfaces: [String; 2],
    /// The seed of every random stream.
    pub seed: u64,
    /// How many flows have a row of their own.
    pub flows: usize,
    /// How it is driven.
    pub drive: Drive,
}

/// The longest packet that two interfaces can carry; Ethernet's where one cannot be used, which [`Bridge::start`] refuses.
#[must_use]
pub fn mtu(interfaces: &[String; 2]) -> u32 {
    let [one, other] = interfaces.each_ref().map(|name| Interface::mtu_of(name).unwrap_or(1500));
    one.min(other)
}

/// A bridge, as it runs.
pub struct Bridge {
    pump: Pump<Tuples>,
    /// What is questionable, in words.
    pub warnings: Vec<String>,
}

impl Bridge {
    /// Opens the interfaces and begins. The error is for people.
    pub fn start(spec: BridgeSpec, observer: Option<Observer>) -> Result<Bridge, String> {
        let [first, second] = &spec.interfaces;
        if first == second {
            return Err(format!("{first}: a bridge needs two interfaces"));
        }
        let (one, other) = (Interface::open(first)?, Interface::open(second)?);
        let mut warnings: Vec<String> = one.warnings().iter().chain(other.warnings()).cloned().collect();
        if one.mtu() != other.mtu() {
            let rule = "what the smaller one cannot send is lost, and counted";
            warnings.push(format!("{first} has an MTU of {}, {second} one of {}: {rule}", one.mtu(), other.mtu()));
        }
        let names = spec.links.each_ref().map(|way| way[0].name.clone());
        // The number of a way is that of its gate.
        let mut emulator = Emulator::in_series(spec.links, spec.seed, Ledger::new(Span::from_millis(100), false));
        emulator.observer = observer;
        let gates: Vec<Box<dyn Gate>> = vec![Box::new(one), Box::new(other)];
        let traffic = Tuples::new(names, spec.seed, spec.flows);
        let pump = Pump::start(Clock::start(), emulator, gates, vec![1, 0], traffic, spec.drive);
        Ok(Bridge { pump: pump.map_err(|error| error.to_string())?, warnings })
    }

    /// What it is doing, if that is new.
    #[must_use]
    pub fn status(&self) -> Option<serde_json::Value> {
        self.pump.status()
    }

    /// Whether its time is over, or it has failed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.pump.is_done()
    }

    /// Ends it, and gives what it leaves. The interfaces are as they were.
    pub fn finish(self) -> Result<Driven<Tuples>, String> {
        self.pump.finish().map_err(|error| error.to_string())
    }
}
