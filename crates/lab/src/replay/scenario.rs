//! What to replay with: rate, discipline, seed. A replay has no scenario file: all its settings are given as overrides, each a
//! dotted key and its value.

use super::link::{Length, Setting};
use super::seen::Packet;
use super::times::OnJump;
use crate::document::{Document, Item, Node, Place, ScenarioError};
use crate::foreign::{Build, Foreign};
use crate::queueing::{Queueing, Unused, queue};
use crate::section::{Section, fields, json};
use serde_json::{Map, Value as Json};
use sluicegate_aqm::Discipline;
use sluicegate_base::params::Table;
use sluicegate_base::{About, Declared, Link, Range, Rate, choices, params};

choices! {
    /// Which length of a packet counts.
    pub enum LengthName {
        /// That of the IP packet, as in the simulator.
        Ip = "ip",
        /// That of the whole frame.
        Frame = "frame",
    }
}

params! {
    /// How a capture is replayed.
    pub struct ReplayParams {
        /// Rate of the link.
        rate: Rate = required, range(Range::POSITIVE), source("Sluicegate");
        /// Which length of a packet counts, for the rate and in the queue: that of the IP packet, or of the whole frame.
        length: LengthName = default(LengthName::Ip), source("the simulator's packets are IP packets");
        /// The longest packet on the link, IP header included: what is longer was merged by a host (TSO, GRO), and is split;
        /// defaults of the queue follow from it.
        mtu: u64 = default(1500), unit("bytes"), range(Range::from(576.0).to(65_535.0)), source("Ethernet");
        /// What is done where times go back by more than half a second: an error, packets left out, or later times shifted.
        on_jump: OnJump = default(OnJump::Error), source("Sluicegate");
        /// How many flows have a row of their own; those that appear later share one.
        flows: u64 = default(20_000), unit("1"), range(Range::from(1.0).to(1e6)), source("Sluicegate");
        /// Key of the discipline's random stream and of the hash that tells flows apart.
        seed: u64 = default(1), unit("1"), source("Sluicegate");
    }
}

/// The header of an Ethernet frame, which counts with the whole of it.
const HEADER: u64 = 14;

impl ReplayParams {
    /// What the discipline is told of the link.
    fn link(&self) -> Link {
        let header = if self.length == LengthName::Frame { HEADER } else { 0 };
        Link { rate: self.rate, packet: self.mtu + header }
    }
}

/// The replay as a declared thing.
pub struct ReplayRun;

impl Declared for ReplayRun {
    type Params = ReplayParams;
    const ABOUT: About = About {
        name: "replay",
        class: "ReplaySettings",
        title: "How a capture is replayed.",
        source: "Sluicegate",
        tc: "",
        module: "//! How a capture is replayed.",
    };
}

/// A checked description of a replay.
pub struct ReplayScenario {
    /// Everything with its defaults filled in.
    pub resolved: Json,
    /// What the overrides of `queue` hold that does nothing.
    pub unused: Vec<Unused>,
    params: ReplayParams,
    queue: Queueing,
}

impl ReplayScenario {
    /// Reads the overrides: `rate`, `length`, `mtu`, `on_jump`, `flows`, `seed`, and those of `queue` as a scenario has them.
    pub fn read(sets: &[(String, String)]) -> Result<ReplayScenario, ScenarioError> {
        let mut document = Document { name: "<replay>".to_owned(), root: Vec::new() };
        for (key, value) in sets {
            document.set(key, value)?;
        }
        let root = Section { document: &document, path: "", place: Place::Set, entries: &document.root };
        root.refuse_unknown(&[Table::of::<ReplayRun>()], &["queue"])?;
        let mut resolved = Map::new();
        let params: ReplayParams = fields::<ReplayRun>(&root, Rate(1_000_000), &mut resolved)?;
        let entries: &[(String, Item)] = match root.get("queue").map(|item| &item.node) {
            None => &[],
            Some(Node::Table(entries)) => entries,
            Some(_) => return Err(root.error("queue", "must be a table: queue.discipline, queue.limit, …")),
        };
        let section = Section { document: &document, path: "queue", place: Place::Set, entries };
        let (queue, unused) = queue(&section, &params.link(), &mut resolved)?;
        resolved.insert("rate".to_owned(), json(&sluicegate_base::Value::Rate(params.rate)));
        Ok(ReplayScenario { resolved: Json::Object(resolved), unused, params, queue })
    }

    /// How it is replayed.
    #[must_use]
    pub fn setting(&self) -> Setting {
        let ReplayParams { rate, length, mtu, on_jump, flows, seed } = self.params;
        let length = match length {
            LengthName::Ip => Length::Ip,
            LengthName::Frame => Length::Frame,
        };
        Setting { rate, length, mtu: mtu as u32, on_jump, flows: flows as usize, seed }
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.params.seed
    }

    /// Whether its discipline is written elsewhere.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.queue.is_foreign()
    }

    /// The discipline and its name; `foreign` builds one that is written elsewhere.
    pub fn discipline<E>(
        &self,
        foreign: &mut Build<'_, E, Packet>,
    ) -> Result<(String, Box<dyn Discipline<Packet>>), E> {
        let (name, queue) = self.queue.build("replay", &self.params.link(), foreign)?;
        Ok((name.into_owned(), queue))
    }

    /// The error for a discipline that nothing here builds.
    #[must_use]
    pub fn nothing_builds(foreign: &Foreign) -> ScenarioError {
        foreign.error("is written elsewhere, and nothing here builds it")
    }
}
