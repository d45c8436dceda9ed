//! A shaper beside a link of a dumbbell: one more link in series, with the discipline under study and a rate below the line's,
//! so that the queue forms there. The line keeps a plain buffer, that of a modem.

use crate::document::{Item, Node, ScenarioError};
use crate::link::{LinkSpec, QUEUE, REVERSE, REVERSE_QUEUE, ShaperSpec};
use crate::network::{Position, Shaper, ShaperParams};
use crate::section::{Section, fields, json};
use crate::wire::{self, FramingKeys};
use serde_json::{Map, Value as Json};
use sluicegate_aqm::drop_tail::DropTail;
use sluicegate_base::params::{Raw, Table};
use sluicegate_base::{Rate, Size, Span, Value, quantity};
use sluicegate_netsim::WirePlan;
use sluicegate_port::Framing;

/// The table of a shaper, below that of its direction.
pub(crate) const SHAPER: &str = "shaper";

/// How much faster its interface is: a network card before a slow line.
const INTERFACE: u64 = 10;

/// A full frame of Ethernet, with its header.
const FRAME: u64 = 1514;

/// Rates that are parts of others are whole kbit/s, as `sluicegate tc` prints them.
const WHOLE: u64 = 1000;

/// Reads the shaper of a direction from the table that its `section` holds, and puts it beside the `line`, which gives its queue
/// up. `two_way`: there is an opposite direction, so that the line is an access line, whose download is forward.
pub(crate) fn read(
    section: &Section<'_>,
    line: &mut LinkSpec,
    two_way: bool,
    map: &mut Map<String, Json>,
) -> Result<Option<LinkSpec>, ScenarioError> {
    let Some(item) = section.get(SHAPER) else { return Ok(None) };
    let path = section.key(SHAPER);
    let Item { place, node: Node::Table(entries) } = item else {
        return Err(section.error(SHAPER, &format!("must be a table: [{path}]")));
    };
    let section = Section { document: section.document, path: &path, place: *place, entries };
    section.refuse_unknown(&[Table::of::<Shaper>()], &[])?;
    let mut resolved = Map::new();
    let params: ShaperParams = fields::<Shaper>(&section, line.rate, &mut resolved)?;
    let rate = part_of(&params.rate, line.rate).map_err(|rule| section.error("rate", &rule))?;
    let framing = match &params.framing {
        Some(framing) => FramingKeys { framing, frame_min: params.frame_min, cells: params.cells }.read(&section)?,
        None => {
            let Framing { bytes, least, cells } = line.framing;
            let least = params.frame_min.map_or(least, |size| size.amount() as u32);
            Framing { bytes, least, cells: params.cells.map_or(cells, wire::cells_of) }
        }
    };
    let burst = params.burst.map_or(FRAME.max(rate.0.div_ceil(8 * WHOLE)), Size::amount);
    let behind = match params.position {
        Some(position) => position == Position::Behind,
        None => two_way && !line.reverse,
    };
    let buffer = params.buffer.or(line.buffer).unwrap_or_else(|| buffer(&section, line));
    resolved.insert("rate".to_owned(), json(&Value::Rate(rate)));
    wire::show(framing, &mut resolved);
    resolved.insert("burst".to_owned(), json(&Value::Size(Size::Bytes(burst))));
    let position = if behind { Position::Behind } else { Position::Before };
    resolved.insert("position".to_owned(), position.word().into());
    resolved.insert("buffer".to_owned(), json(&Value::Size(buffer)));
    map.insert(SHAPER.to_owned(), Json::Object(resolved));
    let name = if line.reverse { format!("{REVERSE}_{SHAPER}") } else { SHAPER.to_owned() };
    let interface = Rate(rate.0.saturating_mul(INTERFACE));
    let spec = LinkSpec {
        name,
        rate,
        delay: Span::ZERO,
        framing,
        tx_ring: None,
        buffer: None,
        wire: WirePlan::default(),
        shaper: Some(ShaperSpec { burst, behind, interface }),
        counted: behind,
        ..line.clone()
    };
    (line.plain, line.counted) = (Some(buffer), !behind);
    Ok(Some(spec))
}

/// A rate, or a part of the line's. The error is the rule that it breaks.
fn part_of(text: &str, line: Rate) -> Result<Rate, String> {
    let rule = || {
        "must be a rate, such as \"19 Mbit/s\", or a part of the line's above 0 % and up to 100 %: \"95 %\"".to_owned()
    };
    let Some(percent) = text.strip_suffix('%') else {
        return quantity::rate(text).ok().filter(|rate| rate.0 > 0).ok_or_else(rule);
    };
    let percent: f64 = percent.trim().parse().map_err(|_| rule())?;
    if !(percent > 0.0 && percent <= 100.0) {
        return Err(rule());
    }
    let exact = (line.0 as f64 * percent / 100.0) as u64;
    Ok(Rate((exact / WHOLE * WHOLE).max(WHOLE)))
}

/// What the line holds unless the shaper's table says so: what the file says of Drop Tail, which without a shaper is its queue.
fn buffer(section: &Section<'_>, line: &LinkSpec) -> Size {
    let limit = Table::of::<DropTail<()>>();
    let limit = &limit.fields[limit.position("limit").expect("declared")];
    let own = Some(REVERSE_QUEUE).filter(|_| line.reverse);
    let given =
        own.into_iter().chain([QUEUE]).find_map(|table| section.document.get(&format!("{table}.drop_tail.limit")));
    let in_time = |time| Value::Size(Size::Bytes(line.facts().bytes_in(time)));
    let read = |raw: &Raw| limit.buffer_time(raw).map(in_time).or_else(|| limit.read(raw).ok());
    match given.and_then(|item| if let Node::Leaf(raw) = &item.node { read(raw) } else { None }) {
        Some(Value::Size(size)) => size,
        _ => Size::Packets(1000),
    }
}
