//! Whether a plan can run.

use super::BuildError;
use crate::plan::{FlowPlan, Hop, Plan};
use crate::source::SourcePlan;
use sluicegate_base::{Rate, Span};
use std::collections::BTreeSet;

/// Most samples of a run.
const MAX_SAMPLES: u64 = 10_000_000;

/// The engine's times end here, after 146 years.
const MAX_TIME: u64 = 1 << 62;

/// The error is the first rule that it breaks.
pub(super) fn check(plan: &Plan) -> Result<(), BuildError> {
    let refuse = |place: &str, rule: String| Err(BuildError { place: place.to_owned(), rule });
    let Plan { duration, warmup, sample, .. } = *plan;
    if plan.links.is_empty() {
        return refuse("network", "it has no link: add one with link(name, rate, delay)".into());
    }
    if plan.flows.is_empty() {
        return refuse("network", "it has no flow: add one with flow(source)".into());
    }
    if duration == Span::ZERO {
        return refuse("run", "it has no length: say duration(…)".into());
    }
    if warmup >= duration {
        return refuse("run", format!("warmup < duration: {warmup} is not less than {duration}"));
    }
    if sample == Span::ZERO {
        return refuse("run", "sample: must be above 0 s".into());
    }
    if duration.0 / sample.0 > MAX_SAMPLES {
        return refuse("run", format!("duration <= {MAX_SAMPLES} samples: take one less often than every {sample}"));
    }
    let mut names = BTreeSet::new();
    let links = plan.links.iter().map(|link| ("link", link.name.clone(), link.rate));
    for (kind, name, rate) in links.chain(plan.lines.iter().map(|line| ("line", line.name.to_string(), line.rate))) {
        let place = format!("{kind} {name:?}");
        if !names.insert(name) {
            return refuse(&place, "another link or line has this name: names must differ".into());
        }
        if rate == Rate(0) {
            return refuse(&place, "rate: must be above 0 bit/s".into());
        }
    }
    for (at, flow) in plan.flows.iter().enumerate() {
        let place = format!("flow {at} ({})", flow.source.kind());
        check_flow(plan, flow).or_else(|rule| refuse(&place, rule))?;
    }
    Ok(())
}

/// Whether a flow can run; the error is the rule that it breaks.
fn check_flow(plan: &Plan, flow: &FlowPlan) -> Result<(), String> {
    if flow.path.is_empty() {
        return Err("it has no path: say path([…]) with the links and lines that its data crosses".into());
    }
    match (flow.source.answers(), flow.return_path.is_empty()) {
        (true, true) => {
            let what = if flow.source.host().is_some() { "acknowledgements have" } else { "receiver's datagrams have" };
            return Err(format!("its {what} no return path: say return_path([…])"));
        }
        (false, false) => return Err("nothing comes back to it: leave return_path out".into()),
        _ => {}
    }
    if flow.size == Some(0) {
        return Err("size: must be at least 1 byte".into());
    }
    if flow.size.is_some() && !matches!(*flow.source, SourcePlan::Tcp(_)) {
        return Err("only a TCP transfer has a size".into());
    }
    if flow.stop <= flow.start {
        return Err(format!("start < stop: {} is not before {}", flow.start, flow.stop));
    }
    for path in [&flow.path, &flow.return_path] {
        let delays = path.iter().map(|hop| match *hop {
            Hop::Link(at) => plan.links[at as usize].delay.0,
            Hop::Line(at) => plan.lines[at as usize].delay.0.saturating_add(plan.lines[at as usize].jitter.0),
        });
        if delays.fold(plan.duration.0, u64::saturating_add) >= MAX_TIME {
            return Err("the run and the delays of a path must take less than 146 years together".into());
        }
    }
    Ok(())
}
