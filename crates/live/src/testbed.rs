//! A scenario between real hosts: its sources on sockets of the kernel in two namespaces, its network between them.

use crate::driven::{Driven, Traffic};
use crate::emulator::{Emulator, Observer};
use crate::entry::Entry;
use crate::gate::{Gate, Tun};
use crate::hosts::shared::{FIRST_PORT, Shared};
use crate::hosts::socket::Settings;
use crate::hosts::{Hosts, Left as HostsLeft, RECEIVES, SENDS};
use crate::ledger::{Flow, Ledger};
use crate::namespace::{Losses, Namespace, NamespaceSpec};
use crate::pump::{Clock, Drive, Pump};
use crate::shell::PEERS;
use sluicegate_base::{Rate, Span, Time};
use sluicegate_lab::replay::packet::{Whose, decode};
use sluicegate_lab::replay::seen::{Packet, Seen};
use sluicegate_netsim::counters::FlowRow;
use sluicegate_netsim::source::SourcePlan;
use sluicegate_netsim::{End, FlowPlan, Hop, Plan, hosts, owner};
use sluicegate_tcp::params::Algorithm;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Headers of IP and TCP without options.
const HEADERS: u32 = 40;

/// How a testbed is made.
pub struct TestbedSpec {
    /// The scenario's plan.
    pub plan: Plan<Packet>,
    /// The names of its groups, in order.
    pub names: Vec<String>,
    /// The kernel's algorithm for groups by name; for any other group the name is `*`.
    pub algorithms: BTreeMap<String, String>,
    /// Settings of the kernel of both sides, and their values.
    pub sysctls: Vec<(String, String)>,
    /// How long before a due time it stops sleeping, and whether it never sleeps.
    pub spin: Span,
    /// See `spin`.
    pub busy: bool,
}

/// A scenario between real hosts, as it runs.
pub struct Testbed {
    pump: Pump<Planned>,
    hosts: Hosts,
}

/// What a testbed leaves.
pub struct Left {
    /// The network, and how it was driven.
    pub driven: Driven<Planned>,
    /// What the two sides have lost: those that send, those that receive.
    pub losses: [Losses; 2],
    /// What the hosts have counted.
    pub hosts: HostsLeft,
}

/// The packets of a scenario's flows, told apart by ports.
pub struct Planned {
    shared: Arc<Shared>,
    flows: Vec<Known>,
    /// For each gate and port of whoever opened a connection: when its own way there is free.
    free: [Vec<Time>; 2],
    names: Vec<String>,
    /// Packets of nobody.
    pub strangers: u64,
}

/// What the link is told of a flow.
struct Known {
    /// What leads to its receiver, and back.
    ways: [u32; 2],
    class: u8,
    priority: u8,
    /// The number of its sender's host.
    host: Option<u32>,
    /// Whether its connections come and go.
    pooled: bool,
    /// The rate of each of its connections' own ways, where they come and go.
    rate: Option<Rate>,
}

impl Traffic for Planned {
    fn enter(&mut self, gate: usize, link_type: u16, data: &[u8], now: Time, _: &mut Ledger) -> Option<Entry> {
        let seen = decode(link_type, data, data.len() as u32);
        let found = match seen.whose {
            Whose::Flow(tuple) => tuple.ports.and_then(|(from, to)| {
                let (side, port) = if from < FIRST_PORT { (1 - gate, to) } else { (gate, from) };
                self.shared.whose(side, port).map(|(flow, own)| (flow, own, port))
            }),
            _ => None,
        };
        let Some((flow, own, port)) = found else {
            self.strangers += 1;
            return None;
        };
        let Known { ways, class, priority, host, pooled, rate } = self.flows[flow as usize];
        let own = rate.map_or(own, |rate| {
            let free = &mut self.free[gate][usize::from(port)];
            *free = now.max(*free) + rate.time_of(seen.bytes.into());
            own + free.since(now)
        });
        // The simulator's numbers, so that what queues hash is the same there: openers of connections that come and go have
        // the ports of their side to themselves, in order.
        let connection = if pooled { self.flows.len() as u32 + u32::from(port - FIRST_PORT) } else { flow };
        let to = if gate == SENDS { End::Receiver } else { End::Sender };
        let mut packet = Seen::of(&seen, owner(connection, to), flow);
        (packet.class, packet.priority, packet.hosts) = (class, priority, hosts(connection, host, to));
        Some(Entry { data: gate == SENDS, way: ways[gate], own: [own, Span::ZERO], packet, ip: seen.ip })
    }

    fn settle(&mut self, ledger: &mut Ledger) {
        for (flow, faring) in ledger.flows.iter_mut().zip(self.shared.farings()) {
            let row = &mut flow.row;
            row.received = row.received.map(|_| faring.received);
            row.completion = faring.completed.map(|time| time.since(row.start));
            flow.retransmissions[0] = faring.retransmissions;
            flow.congestion = faring.congestion;
        }
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn flow_name(&self, row: usize) -> String {
        format!("flow {}", row + 1)
    }
}

/// What real hosts cannot do of a plan, with the reason, and the settings of each flow that uses TCP.
pub fn settings(spec: &TestbedSpec) -> Result<Vec<Option<Settings>>, String> {
    let refuse = |group: u32, rule: &str| Err(format!("flows.{group}: {rule}"));
    let mut all = Vec::new();
    for flow in &spec.plan.flows {
        let group = flow.group;
        let Some(host) = flow.source.host() else {
            if let SourcePlan::Custom(_) | SourcePlan::Endpoints(_) = *flow.source {
                return refuse(group, "custom sources and ends run in the simulation only: they have no sockets");
            }
            all.push(None);
            continue;
        };
        let name = spec.names.get(group as usize).map_or("", String::as_str);
        let asked = spec.algorithms.get(name).or_else(|| spec.algorithms.get("*"));
        let algorithm = match (asked, host.algorithm) {
            (Some(asked), _) => asked.clone(),
            // The kernel has one loss recovery, and its Reno recovers as NewReno with SACK.
            (None, Algorithm::Reno | Algorithm::NewReno | Algorithm::Sack) => "reno".to_owned(),
            (
                None,
                same @ (Algorithm::Cubic | Algorithm::Vegas | Algorithm::Bbr | Algorithm::Dctcp | Algorithm::Prague),
            ) => same.word().to_owned(),
            (None, other) => {
                let rule =
                    format!("algorithm {:?}: the kernel has none like it; name one of its own instead", other.word());
                return refuse(group, &rule);
            }
        };
        if host.header < HEADERS {
            return refuse(group, "header_size: the kernel's headers have 40 bytes, and options as it needs them");
        }
        let prompt = matches!(*flow.source, SourcePlan::Telnet(..));
        let window = u32::try_from(host.window).unwrap_or(u32::MAX).min(1 << 30);
        // The kernel counts options of TCP to the segment: a full packet is as long as the scenario says.
        let segment = host.mss + host.header - HEADERS;
        all.push(Some(Settings { algorithm, segment, window, ecn: host.ecn, prompt }));
    }
    if [spec.plan.packets, spec.plan.segments, spec.plan.positions] != [0; 3] {
        let keys = "run.packets, run.segments and run.positions";
        return Err(format!("{keys}: single packets of real hosts are kept as pcapng"));
    }
    Ok(all)
}

impl Testbed {
    /// Makes namespaces, devices, the network and the hosts. The error is for people; nothing is left then.
    pub fn start(spec: TestbedSpec, observer: Option<Observer>) -> Result<Testbed, String> {
        let settings = settings(&spec)?;
        let TestbedSpec { plan, names, sysctls, spin, busy, .. } = spec;
        let kernel = [
            // Connections that end leave nothing behind, and do not inherit what others have learnt.
            ("net.ipv4.tcp_max_tw_buckets", "0"),
            ("net.ipv4.tcp_no_metrics_save", "1"),
            ("net.core.somaxconn", "65535"),
            ("net.ipv4.tcp_max_syn_backlog", "65535"),
        ];
        let own = kernel.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mtu = 1500.max(longest(&plan));
        let namespace = |side: usize| NamespaceSpec {
            device: "sluice0".to_owned(),
            address: (PEERS[side], 30),
            mtu,
            default_route: true,
            own: true,
            sysctls: own.iter().cloned().chain(sysctls.clone()).collect(),
        };
        let (senders, left) = Namespace::new(namespace(SENDS))?;
        let (receivers, right) = Namespace::new(namespace(RECEIVES))?;
        let mut ledger = Ledger::new(plan.sample, true);
        let spans: Vec<Span> = plan.links.iter().map(|link| link.delay).collect();
        let monitored: Vec<bool> = plan.links.iter().map(|link| link.monitored).collect();
        let mut algorithms = Names::default();
        for (flow, settings) in plan.flows.iter().zip(&settings) {
            let row = FlowRow {
                group: flow.group,
                kind: flow.source.kind(),
                algorithm: settings.as_ref().map_or("", |settings| algorithms.of(&settings.algorithm)),
                link: flow.path.iter().find_map(|hop| match *hop {
                    Hop::Link(at) if monitored[at as usize] => Some(at),
                    _ => None,
                }),
                start: flow.start,
                base_rtt: plan.base_rtt(flow, &spans),
                received: flow.source.way().is_none().then_some(0),
                ..FlowRow::default()
            };
            ledger.flows.push(Flow { row, ..Flow::default() });
        }
        let Plan { links, lines, flows, seed, warmup, duration, .. } = plan;
        let mut emulator = Emulator::new(links, &lines, seed, ledger);
        emulator.observer = observer;
        let (mut ends, mut known) = (Vec::new(), Vec::new());
        for FlowPlan { path, return_path, class, priority, host, source, .. } in &flows {
            let ways = [emulator.add_way(path), emulator.add_way(return_path)];
            ends.extend([RECEIVES, SENDS]);
            let (pooled, rate) = (source.way().is_some(), source.way().and_then(|way| way.rate));
            known.push(Known { ways, class: *class, priority: *priority, host: *host, pooled, rate });
        }
        let shared = Arc::new(Shared::new(flows.len()));
        let free = [(); 2].map(|()| vec![Time::ZERO; usize::from(u16::MAX) + 1]);
        let traffic = Planned { shared: shared.clone(), flows: known, free, names, strangers: 0 };
        let gates: Vec<Box<dyn Gate>> = vec![Box::new(Tun::new(left, mtu)), Box::new(Tun::new(right, mtu))];
        let drive = Drive { spin, busy, warmup, end: Time::ZERO + duration, packets: false };
        let clock = Clock::start();
        let flows = flows.into_iter().zip(settings).collect();
        let hosts = Hosts::start(clock, [senders, receivers], PEERS, flows, shared, seed, warmup)?;
        let pump = Pump::start(clock, emulator, gates, ends, traffic, drive).map_err(|error| error.to_string())?;
        Ok(Testbed { pump, hosts })
    }

    /// What the network is doing, if that is new.
    #[must_use]
    pub fn status(&self) -> Option<serde_json::Value> {
        self.pump.status()
    }

    /// Whether its time is over, or something has failed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.pump.is_done() || self.hosts.has_failed()
    }

    /// Ends it, and gives what it leaves. Namespaces and devices go with it.
    pub fn finish(self) -> Result<Left, String> {
        let driven = self.pump.finish().map_err(|error| error.to_string());
        let (hosts, namespaces) = self.hosts.finish();
        let losses =
            namespaces.map_or_else(Default::default, |mut namespaces| namespaces.each_mut().map(Namespace::losses));
        let (driven, hosts) = (driven?, hosts?);
        match driven.fault {
            Some(fault) => Err(fault),
            None => Ok(Left { driven, losses, hosts }),
        }
    }
}

/// The longest packet that a plan's hosts may send.
fn longest(plan: &Plan<Packet>) -> u16 {
    let bytes = |flow: &FlowPlan| match &*flow.source {
        SourcePlan::Poisson(_) => 65_000, // lengths may be drawn
        source => source.packet_bytes(),
    };
    plan.flows.iter().map(bytes).max().unwrap_or(0).min(65_000) as u16
}

/// Names that live as long as the program, as results want them: each once.
#[derive(Default)]
struct Names(Vec<&'static str>);

impl Names {
    fn of(&mut self, name: &str) -> &'static str {
        if let Some(known) = self.0.iter().find(|known| **known == name) {
            return known;
        }
        self.0.push(Box::leak(name.to_owned().into_boxed_str()));
        self.0[self.0.len() - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_aqm::{FlowKey, Packet as _};

    /// What queues hash, and what CAKE shares by, is what the simulator gives them.
    #[test]
    fn queues_know_flows_by_the_simulators_numbers() {
        let shared = Arc::new(Shared::new(3));
        let known = |host, pooled| Known { ways: [0; 2], class: 0, priority: 0, host, pooled, rate: None };
        let flows = vec![known(None, false), known(Some(7), false), known(None, true)];
        let free = [(); 2].map(|()| Vec::new());
        let mut planned = Planned { shared: shared.clone(), flows, free, names: Vec::new(), strangers: 0 };
        let mut ledger = Ledger::new(Span::from_millis(100), true);
        for (side, port, flow) in [(SENDS, 0, 0), (SENDS, 1, 1), (RECEIVES, 0, 2), (RECEIVES, 1, 2)] {
            shared.own(side, FIRST_PORT + port, flow, Span::ZERO);
        }
        let mut enter = |gate: usize, from: u16, to: u16| {
            let ip = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            let data = [&ip[..], &from.to_be_bytes(), &to.to_be_bytes(), &[0, 8, 0, 0]].concat();
            let packet = planned.enter(gate, 101, &data, Time::ZERO, &mut ledger).unwrap().packet;
            (packet.flow(), packet.hosts())
        };
        for (gate, from, to, connection, host, end) in [
            (SENDS, FIRST_PORT, 9, 0, None, End::Receiver),
            (RECEIVES, 9, FIRST_PORT + 1, 1, Some(7), End::Sender),
            (RECEIVES, FIRST_PORT, 80, 3, None, End::Sender),
            (SENDS, 80, FIRST_PORT + 1, 4, None, End::Receiver),
        ] {
            let expected = (FlowKey(owner(connection, end)), hosts(connection, host, end));
            assert_eq!(enter(gate, from, to), expected, "connection {connection}");
        }
    }
}
