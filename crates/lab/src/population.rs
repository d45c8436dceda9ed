//! Reads groups whose connections come and go: their own keys, and those of their hosts.

use crate::document::ScenarioError;
use crate::section::{Section, fields};
use crate::vectors;
use serde_json::{Map, Value as Json};
use sluicegate_base::params::{Params, Raw};
use sluicegate_base::{ETHERNET, Link, Rate, Span};
use sluicegate_netsim::source::connections::{ConnectionsParams, Vectors};
use sluicegate_netsim::source::http::named;
use sluicegate_netsim::source::{Connections, ConnectionsPlan, FlowParams, Http, HttpPlan, SourcePlan, Way};
use sluicegate_tcp::{Host, Tcp};
use std::path::Path;
use std::sync::Arc;

/// A group of web users. Its way is filled in once its path is known.
pub(crate) fn http(
    section: &Section<'_>,
    common: &FlowParams,
    rate: Rate,
    map: &mut Map<String, Json>,
) -> Result<SourcePlan, ScenarioError> {
    let params = fields::<Http>(section, rate, map)?;
    let model = params.model().map_err(|(key, rule)| section.error(key, &rule))?;
    write_out(map);
    let host = host(section, rate, map)?;
    let (users, spread) = (common.count as u32, common.spread);
    Ok(SourcePlan::Http(Arc::new(HttpPlan { host, users, spread, model, way: Way::fixed(Span::ZERO), keep: false })))
}

/// A group of connections that come by themselves: drawn, or those of a file.
pub(crate) fn connections(
    section: &Section<'_>,
    common: &FlowParams,
    rate: Rate,
    map: &mut Map<String, Json>,
) -> Result<SourcePlan, ScenarioError> {
    if common.count != 1 {
        return Err(section.error("count", "must be 1 for a group of connections: arrivals says how many there are"));
    }
    let params = fields::<Connections>(section, rate, map)?;
    let laws = params.distributions().map_err(|(key, rule)| section.error(key, &rule))?;
    let vectors = match &params.vectors {
        None => Vectors::Drawn(laws),
        Some(file) => {
            // A class of Python writes every default out; a default says nothing against the file.
            let link = Link { rate, packet: ETHERNET };
            for (field, value) in ConnectionsParams::FIELDS.iter().zip(params.values()) {
                if !matches!(field.name, "vectors" | "lossless") && value != field.default_for(&link) {
                    return Err(section.error(field.name, "the file of vectors says it: leave one of the two out"));
                }
            }
            let name = beside(&section.document.name, file);
            let text =
                vectors::text_of(&name).map_err(|rule| section.error("vectors", &format!("{file:?}: {rule}")))?;
            let mut all = vectors::read(&text, &name)?;
            if params.lossless {
                all.iter_mut().for_each(|vector| vector.losses = None);
            }
            Vectors::Given(all.into_iter().map(Arc::new).collect())
        }
    };
    write_out(map);
    let host = host(section, rate, map)?;
    Ok(SourcePlan::Connections(Arc::new(ConnectionsPlan { host, vectors, way: Way::fixed(Span::ZERO), keep: false })))
}

/// The path of a file that a scenario names: beside its own, unless it is absolute.
pub(crate) fn beside(scenario: &str, file: &str) -> String {
    let folder = Path::new(scenario).parent().unwrap_or(Path::new(""));
    folder.join(file).to_string_lossy().into_owned()
}

/// A host whose connections open and close, whatever its profile does with transfers without end.
fn host(section: &Section<'_>, rate: Rate, map: &mut Map<String, Json>) -> Result<Arc<Host>, ScenarioError> {
    for key in ["handshake", "closing"] {
        if matches!(section.given(key), Some(Raw::Switch(false))) {
            return Err(section.error(key, "these connections open and close: leave it out"));
        }
    }
    let mut host = Host::new(&fields::<Tcp>(section, rate, map)?);
    if host.send_jitter > Span::ZERO {
        return Err(section.error("send_jitter", "only kind tcp and kind telnet prepare packets"));
    }
    (host.handshake, host.closing) = (true, true);
    for key in ["handshake", "closing"] {
        map.insert(key.to_owned(), Json::from(true));
    }
    Ok(Arc::new(host))
}

/// Writes laws that a name stands for out, so that a resolved scenario says all of itself.
fn write_out(map: &mut Map<String, Json>) {
    for key in ["response_size", "embedded_size"] {
        if let Some(Json::String(text)) = map.get_mut(key) {
            *text = named(text).to_owned();
        }
    }
}

/// Fills in what is known later than the rest of a group: the way of its connections.
pub(crate) fn set_way(source: &mut SourcePlan, way: Way) {
    match source {
        SourcePlan::Http(plan) => Arc::make_mut(plan).way = way,
        SourcePlan::Connections(plan) => Arc::make_mut(plan).way = way,
        _ => {}
    }
}

/// Fills in whether exchanges are kept one by one.
pub(crate) fn set_keep(source: &mut SourcePlan, keep: bool) {
    match source {
        SourcePlan::Http(plan) => Arc::make_mut(plan).keep = keep,
        SourcePlan::Connections(plan) => Arc::make_mut(plan).keep = keep,
        _ => {}
    }
}
