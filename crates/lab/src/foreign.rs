//! What is written elsewhere, in Python or in Rust: a discipline, the ends of a flow, a congestion control. The scenario names it
//! and holds its values; whoever runs the scenario builds it.

use crate::document::{Item, Node, Place, ScenarioError, json};
use crate::section::Section;
use serde_json::{Map, Value as Json};
use sluicegate_aqm::Discipline;
use sluicegate_base::params::Raw;
use sluicegate_base::{Link, Rate, Size, quantity};
use sluicegate_netsim::QueuedPacket;

/// The key of the table with values for a foreign discipline: `[queue.python]`.
pub const TABLE: &str = "python";

/// The key of `[[flows]]` that names ends of one's own.
const ENDS: &str = "ends";

/// The key of `[[flows]]` that names a congestion control of one's own.
const CONTROLLER: &str = "controller";

/// Ends by these names are other people's transports, in Rust: `crates/adapters`.
const ADAPTERS: &[&str] = &["quinn:", "smoltcp:"];

/// Values by name, in the order of the file.
pub type Values = Vec<(String, Raw)>;

/// A foreign discipline as the scenario describes it.
#[derive(Clone, Debug)]
pub struct Foreign {
    /// Its name as written: `path.py:Class`.
    pub reference: String,
    /// Whether an override names it, and no file.
    pub overridden: bool,
    /// The values of `[queue.python]`, which it must take.
    pub given: Values,
    /// The values that `[queue]` holds for any discipline, which it may take.
    pub shared: Values,
    /// What an error begins with: place and key.
    prefix: String,
}

/// Builds a foreign discipline for the link of this name and rate; gives the name that results bear, and the queue.
pub type Build<'a, E, P = QueuedPacket> =
    dyn FnMut(&Foreign, &str, Rate) -> Result<(String, Box<dyn Discipline<P>>), E> + 'a;

impl Foreign {
    /// Whether this is the name of a foreign discipline: no other has a colon.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        name.contains(':')
    }

    /// Whether it is written in Rust, so that a program of one's own has it: see [`Own`](crate::Own).
    #[must_use]
    pub fn is_rust(&self) -> bool {
        self.reference.contains(".rs:") || ADAPTERS.iter().any(|adapter| self.reference.starts_with(adapter))
    }

    /// The foreign discipline that `[queue]` names at `discipline`, an item of it.
    pub(crate) fn read(section: &Section<'_>, item: &Item, reference: &str) -> Result<Foreign, ScenarioError> {
        let foreign = Foreign::named(section, "discipline", item, reference)?;
        let shared = section.entries.iter().filter(|(key, _)| key != "discipline");
        let shared = shared.filter_map(|(key, item)| Some((key.clone(), leaf(item)?))).collect();
        Ok(Foreign { shared, ..foreign })
    }

    /// What a table names at `key`, an item of it, with the values that the table has for it.
    fn named(section: &Section<'_>, key: &str, item: &Item, reference: &str) -> Result<Foreign, ScenarioError> {
        let shown = format!("{} = {reference:?}", section.key(key));
        Ok(Foreign {
            reference: reference.to_owned(),
            overridden: item.place == Place::Set,
            given: given(section)?,
            shared: Vec::new(),
            prefix: section.document.error(item.place, &shown, "").0,
        })
    }

    /// The ends that an entry of `[[flows]]` names, and its values for them as the resolved scenario has them.
    pub(crate) fn ends(section: &Section<'_>, reference: &str) -> Result<(Foreign, Json), ScenarioError> {
        let item = section.get(ENDS).expect("a key that must be given");
        if !Foreign::is_name(reference) {
            return Err(section.error(ENDS, "must name a file and a function in it: \"path.py:function\""));
        }
        let foreign = Foreign::named(section, ENDS, item, reference)?;
        if foreign.is_rust() && !foreign.given.is_empty() {
            return Err(section.error(TABLE, &format!("{reference:?} is written in Rust and takes no values")));
        }
        let given = foreign.given.iter().map(|(key, raw)| (key.clone(), json(raw))).collect();
        Ok((foreign, Json::Object(given)))
    }

    /// The congestion control of one's own that an entry of `[[flows]]` names, if any.
    pub(crate) fn controller(section: &Section<'_>) -> Result<Option<Foreign>, ScenarioError> {
        let Some(item) = section.get(CONTROLLER) else { return Ok(None) };
        let Node::Leaf(Raw::Text(reference)) = &item.node else { return Ok(None) }; // which the declaration refuses
        if !reference.contains(".rs:") {
            return Err(section.error(CONTROLLER, "must name a file in Rust and a type in it: \"path.rs:Type\""));
        }
        Foreign::named(section, CONTROLLER, item, reference).map(Some)
    }

    /// The same at a link, whose typical packets a limit is counted in that is given as a time or in bytes.
    pub(crate) fn at(&self, link: &Link) -> Foreign {
        let mut foreign = self.clone();
        for (key, raw) in &mut foreign.shared {
            let Raw::Text(text) = &*raw else { continue };
            let packets = match (quantity::span(text), quantity::size(text)) {
                _ if key != "limit" => continue,
                (Ok(time), _) => link.packets_in(time),
                (_, Ok(Size::Bytes(bytes))) => bytes / link.packet.max(1),
                (_, Ok(Size::Packets(packets))) => packets,
                _ => continue,
            };
            *raw = Raw::Integer(i64::try_from(packets.max(1)).unwrap_or(i64::MAX));
        }
        foreign
    }

    /// An error at the place that names the discipline.
    #[must_use]
    pub fn error(&self, rule: &str) -> ScenarioError {
        ScenarioError(format!("{}{rule}", self.prefix))
    }

    /// The resolved `[queue]`.
    pub(crate) fn resolved(&self) -> Map<String, Json> {
        let object = |values: &Values| values.iter().map(|(key, raw)| (key.clone(), json(raw))).collect::<Map<_, _>>();
        let mut map = object(&self.shared);
        map.insert("discipline".to_owned(), Json::from(self.reference.clone()));
        map.insert(TABLE.to_owned(), Json::Object(object(&self.given)));
        map
    }
}

/// The values of `[queue.python]`, which hold whether or not they are used.
pub(crate) fn given(section: &Section<'_>) -> Result<Values, ScenarioError> {
    let Some(item) = section.get(TABLE) else { return Ok(Vec::new()) };
    let Node::Table(entries) = &item.node else {
        return Err(section.error(TABLE, &format!("must be a table: [{}]", section.key(TABLE))));
    };
    let path = section.key(TABLE);
    let own = Section { document: section.document, path: &path, place: item.place, entries };
    let value = |(key, item): &(String, Item)| match leaf(item) {
        Some(Raw::Other(_)) | None => {
            Err(own.error(key, "must be a number, a text, true or false, or a list of texts"))
        }
        Some(raw) => Ok((key.clone(), raw)),
    };
    entries.iter().map(value).collect()
}

fn leaf(item: &Item) -> Option<Raw> {
    match &item.node {
        Node::Leaf(raw) => Some(raw.clone()),
        Node::Table(_) | Node::Array(_) => None,
    }
}
