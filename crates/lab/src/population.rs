//! Groups whose connections come and go: their keys read, and what of a host they need.

use crate::document::ScenarioError;
use crate::scenario::fields;
use crate::section::Section;
use serde_json::{Map, Value as Json};
use sluicegate_base::params::Raw;
use sluicegate_base::{Rate, Span};
use sluicegate_netsim::source::{FlowParams, Http, HttpPlan, SourcePlan, Way};
use sluicegate_tcp::{Host, Tcp};
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
    let host = host(section, rate, map)?;
    let (users, spread) = (common.count as u32, common.spread);
    Ok(SourcePlan::Http(Arc::new(HttpPlan { host, users, spread, model, way: Way::fixed(Span::ZERO), keep: false })))
}

/// A host whose connections open and close, whatever its profile does with transfers without end.
fn host(section: &Section<'_>, rate: Rate, map: &mut Map<String, Json>) -> Result<Host, ScenarioError> {
    for key in ["handshake", "closing"] {
        if matches!(section.given(key), Some(Raw::Switch(false))) {
            return Err(section.error(key, "these connections open and close: leave it out"));
        }
    }
    let mut host = Host::new(&fields::<Tcp>(section, rate, map)?);
    if host.overhead > Span::ZERO {
        return Err(section.error("overhead", "only kind tcp and kind telnet prepare packets"));
    }
    (host.handshake, host.closing) = (true, true);
    for key in ["handshake", "closing"] {
        map.insert(key.to_owned(), Json::from(true));
    }
    Ok(host)
}

/// Fills in what is known later than the rest of a group: the way of its connections.
pub(crate) fn set_way(source: &mut SourcePlan, way: Way) {
    if let SourcePlan::Http(plan) = source {
        Arc::make_mut(plan).way = way;
    }
}

/// Fills in whether exchanges are kept one by one.
pub(crate) fn set_keep(source: &mut SourcePlan, keep: bool) {
    if let SourcePlan::Http(plan) = source {
        Arc::make_mut(plan).keep = keep;
    }
}
