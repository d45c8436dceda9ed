//! Everything declared, as JSON: what the generated classes, the manual and `disciplines --json` are made from.

use crate::changes::ChangeEntry;
use crate::flows::{COMMON, SOURCES};
use crate::network::{Network, NetworkLink, Reverse, Run, Shaper};
use crate::results::{ResultTable, tables};
use crate::section::{default_json, json as value_json};
use crate::wire::{TRACES, WireOf};
use crate::{VERSION, replay};
use serde_json::{Value as Json, json};
use sluicegate_aqm::{ClassEntry, DropReason, all, is_container};
use sluicegate_base::params::{DefaultValue, Field, Kind, Table};
use sluicegate_base::{Span, quantity};
use sluicegate_netsim::Outcome;
use sluicegate_netsim::counters::Positions;
use sluicegate_netsim::workloads::exchanges::Exchanges;
use sluicegate_port::fates::KEYS;
use sluicegate_tcp::Algorithm;
use sluicegate_tcp::profiles::PROFILES;

fn field(field: &Field) -> Json {
    let (derived, required) = match field.default {
        DefaultValue::Derived(text, _) | DefaultValue::Optional(text) => (Json::from(text), false),
        DefaultValue::Required => (Json::Null, true),
        DefaultValue::Fixed(_) => (Json::Null, false),
    };
    let unit = match field.kind {
        Kind::Time | Kind::Times => "s",
        Kind::Rate => "bit/s",
        _ => field.unit,
    };
    let units: &[&[(&str, f64)]] = match field.kind {
        Kind::Time => &[quantity::TIMES],
        Kind::Rate => &[quantity::RATES],
        Kind::Size if field.is_buffer() => &[quantity::SIZES, quantity::TIMES],
        Kind::Size => &[quantity::SIZES],
        _ => &[],
    };
    let range = field.range.text(if unit == "1" || field.kind == Kind::Size { "" } else { unit });
    json!({
        "name": field.name,
        "kind": field.kind.name(),
        "unit": if field.unit == "1" { "" } else { field.unit },
        "units": units.iter().copied().flatten().map(|(name, _)| *name).collect::<Vec<_>>(),
        "default": default_json(&field.default),
        "derived": derived,
        "required": required,
        "doc": field.doc.split_whitespace().collect::<Vec<_>>().join(" "),
        "source": field.source,
        "tc": field.tc,
        "range": range,
        "choices": if let Kind::Choice(words) = field.kind { json!(words) } else { Json::Null },
        "positional": field.positional,
        "fixed": field.fixed,
    })
}

/// One declared thing: its own tables, of which the first names it, and those that it shares with others.
fn declared(own: &[Table], shared: &[Table]) -> Json {
    let about = own[0].about;
    let deviations: Vec<Json> = own.iter().flat_map(|t| t.about.deviations()).map(|row| json!(row)).collect();
    let of = |tables: &[Table]| tables.iter().flat_map(|table| table.fields).copied().collect::<Vec<Field>>();
    let (first, last): (Vec<Field>, Vec<Field>) = of(shared).into_iter().partition(|field| field.positional);
    let fields = [first, of(own), last].concat();
    let rules = own.iter().chain(shared).flat_map(|table| table.rules).map(|rule| rule.text);
    json!({
        "name": about.name,
        "class_name": about.class,
        "title": about.title,
        "summary": about.summary(),
        "source": about.source,
        "tc": about.tc,
        "deviations": deviations,
        "fields": fields.iter().map(field).collect::<Vec<_>>(),
        "rules": rules.collect::<Vec<_>>(),
    })
}

/// The same, where the default of each field is what the forward direction has, but for those that have one of their own.
fn as_forward(mut declared: Json) -> Json {
    for field in declared["fields"].as_array_mut().expect("fields") {
        field["default"] = Json::Null;
        let is_fate = KEYS.iter().any(|key| field["name"] == *key);
        if field["name"] != "rate" && field["name"] != "buffer" && !is_fate {
            field["derived"] = "as forward".into();
        }
    }
    declared
}

fn columns_of(table: &ResultTable) -> Json {
    let columns: Vec<Json> = table
        .columns
        .iter()
        .map(|c| json!({"name": c.name, "dtype": c.cells.dtype(), "unit": c.unit, "doc": c.doc}))
        .collect();
    json!({"name": table.name, "summary": table.summary, "columns": columns})
}

/// The parameters that make a discipline mark.
const TELLS_TO_MARK: [&str; 3] = ["action", "ecn", "ce_threshold"];

/// All declarations.
#[must_use]
pub fn declarations() -> Json {
    let disciplines: Vec<Json> = all()
        .iter()
        .map(|entry| {
            let mut json = declared(&[entry.table], &[]);
            json["container"] = is_container(entry.table.about.name).into();
            json["drop_reasons"] = entry.reasons.iter().map(|reason| reason.word()).collect();
            json["memory"] = entry.memory.word().into();
            json["remembers"] = entry.remembers.into();
            let told = entry.table.fields.iter().map(|field| field.name).filter(|name| TELLS_TO_MARK.contains(name));
            json["marks"] = match (entry.marks, told.collect::<Vec<_>>().join(" or ")) {
                _ if is_container(entry.table.about.name) => "if its classes do".into(),
                ("", told) if told.is_empty() => "never".into(),
                ("", told) => format!("if {told} says so").into(),
                (always, _) => always.into(),
            };
            json["overload"] = entry.overload.word().into();
            json["overload_rule"] = entry.overload_rule.into();
            json
        })
        .collect();
    let sources: Vec<Json> = SOURCES.iter().map(|tables| declared(tables, COMMON)).collect();
    let algorithms: Vec<Json> = Algorithm::ALL.iter().map(|a| json!({"name": a.word(), "doc": a.doc()})).collect();
    let profiles: Vec<Json> = PROFILES
        .iter()
        .map(|profile| {
            let values: Vec<Json> = profile
                .values
                .iter()
                .map(
                    |value| json!({"name": value.field, "value": value_json(&(value.value)()), "source": value.source}),
                )
                .collect();
            json!({"name": profile.name, "summary": profile.summary, "values": values})
        })
        .collect();
    let empty = Outcome {
        window: Span::from_secs(1),
        whole: Span::from_secs(1),
        flows: Vec::new(),
        links: Vec::new(),
        queue: Vec::new(),
        occupancy: Vec::new(),
        packets: Vec::new(),
        segments: Vec::new(),
        state: Vec::new(),
        flow_series: Vec::new(),
        positions: Positions::default(),
        groups: Vec::new(),
        exchanges: Exchanges::default(),
        events: 0,
    };
    let columns = |tables: &[ResultTable]| tables.iter().map(columns_of).collect::<Vec<Json>>();
    json!({
        "version": VERSION,
        "disciplines": disciplines,
        "sources": sources,
        "algorithms": algorithms,
        "profiles": profiles,
        "network": declared(&[Table::of::<Network>(), Table::of::<WireOf>()], &[]),
        "reverse": as_forward(declared(&[Table::of::<Reverse>(), Table::of::<WireOf>()], &[])),
        "shaper": declared(&[Table::of::<Shaper>()], &[]),
        "link": declared(&[Table::of::<NetworkLink>(), Table::of::<WireOf>()], &[]),
        "class": declared(&[Table::of::<ClassEntry>()], &[]),
        "traces": TRACES.iter().map(|(name, ..)| *name).collect::<Vec<_>>(),
        "run": declared(&[Table::of::<Run>()], &[]),
        "change": declared(&[Table::of::<ChangeEntry>()], &[]),
        "tables": columns(&tables(&empty, &[])),
        "replay_tables": columns(&replay::results::declared()),
        "capture_tables": columns(&replay::table::declared()),
        "drop_reasons": DropReason::ALL.iter().map(|r| json!({"name": r.word(), "doc": r.doc()})).collect::<Vec<_>>(),
    })
}
