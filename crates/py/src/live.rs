//! Real packets, as Python calls them.

use crate::lent::Faults;
use crate::scenario::PyScenario;
use crate::{SLICE, ScenarioError, caught, discipline, placed, replay, result_of};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value as Json, json};
use sluicegate_base::{Span, Time};
use sluicegate_lab::Scenario;
use sluicegate_lab::replay::Packet;
use sluicegate_lab::replay::layers::Other;
use sluicegate_live::bridge::{Bridge, BridgeSpec};
use sluicegate_live::capture::Capture;
use sluicegate_live::namespace::Losses;
use sluicegate_live::pump::Drive;
use sluicegate_live::report::{Ends, report};
use sluicegate_live::shell::{Far, Shell, ShellSpec};
use sluicegate_live::testbed::{Testbed, TestbedSpec};
use sluicegate_netsim::{LinkPlan, Plan};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

type Sets = Vec<(String, String)>;

/// What a system wakes a thread late at most, mostly: at both ends of a link that is to be exact, its thread looks at the clock
/// that long. A router has other things to do.
const EXACT: Span = Span(200_000);
const SPARING: Span = Span::ZERO;

/// Columns that say nothing of traffic that comes by itself: it has no sender here, and every link is under study.
const UNPLANNED: [&str; 3] = ["retransmissions", "algorithm", "drops_elsewhere_packets"];

/// What Python says beside the scenario.
struct Options(Json);

impl Options {
    fn read(text: &str) -> PyResult<Options> {
        serde_json::from_str(text).map(Options).map_err(|error| ScenarioError::new_err(error.to_string()))
    }

    fn words(&self, key: &str) -> Option<Vec<String>> {
        let words = self.0[key].as_array()?;
        Some(words.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect())
    }

    fn number(&self, key: &str, default: u64) -> u64 {
        self.0[key].as_u64().unwrap_or(default)
    }

    /// A whole number that a person gives.
    fn whole(&self, key: &str, range: RangeInclusive<u64>, default: u64) -> PyResult<u64> {
        let Some(given) = self.0.get(key) else { return Ok(default) };
        given.as_u64().filter(|number| range.contains(number)).ok_or_else(|| {
            let rule = format!("{key} = {given}: must be a whole number from {} to {}", range.start(), range.end());
            ScenarioError::new_err(rule)
        })
    }

    /// How many flows have a row of their own.
    fn flows(&self) -> PyResult<usize> {
        Ok(self.whole("flows", 1..=u32::MAX.into(), 20_000)? as usize)
    }

    fn pairs(&self, key: &str) -> Vec<(String, String)> {
        let Some(pairs) = self.0[key].as_object() else { return Vec::new() };
        pairs.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
    }

    /// `spin`: how long before a due time it stops sleeping, unless said otherwise.
    fn drive(&self, spin: Span) -> Drive {
        Drive {
            spin: Span(self.number("spin_ns", spin.0)),
            busy: self.0["busy"].as_bool().unwrap_or(false),
            warmup: Span(self.number("warmup_ns", 0)),
            end: self.0["duration_ns"].as_u64().map_or(Time::NEVER, Time),
            packets: self.0["packets"].as_bool().unwrap_or(false),
        }
    }

    /// What was left at the end, or why there is nothing; the capture is complete then.
    fn ended<T>(&self, left: Result<T, String>, capture: Option<Capture>, faults: &Faults) -> PyResult<T> {
        if let Some(error) = faults.take() {
            return Err(error);
        }
        let left = left.map_err(PyOSError::new_err)?;
        let path = self.0["pcap"].as_str().unwrap_or_default();
        capture.map_or(Ok(()), Capture::finish).map_err(|error| replay::failed(&error, path))?;
        Ok(left)
    }

    fn capture(&self) -> PyResult<Option<Capture>> {
        let Some(path) = self.0["pcap"].as_str() else { return Ok(None) };
        Capture::create(path).map(Some).map_err(|error| replay::failed(&error, path))
    }
}

/// The links that packets of a direction cross, in this order.
type Way = Vec<LinkPlan<Packet>>;

/// The links of a scenario's network for real packets of up to `mtu` bytes: down, which is forward, and up, each with the shaper
/// beside it. `up_sets` are overrides for the latter alone.
fn links(
    py: Python<'_>,
    (text, name, sets, up_sets): (&str, &str, Sets, Sets),
    mtu: u32,
    make: Option<&Bound<'_, PyAny>>,
    faults: &Arc<Faults>,
) -> PyResult<([Way; 2], Scenario, Json)> {
    let read = |sets: &Sets, at: usize, called: &str| {
        let mut sets = sets.clone();
        sets.push(("network.two_way".to_owned(), "true".to_owned()));
        let scenario = caught(|| Scenario::read_network(text, name, &sets, mtu))?;
        let scenario = scenario.map_err(|error| ScenarioError::new_err(error.0))?;
        let plan = plan_of(py, &scenario, make, faults)?;
        let Some(directions) = scenario.directions() else {
            let rule = "network.links: real packets cross one link in each direction: describe a dumbbell";
            return Err(ScenarioError::new_err(rule));
        };
        let mut links: Vec<Option<LinkPlan<Packet>>> = plan.links.into_iter().map(Some).collect();
        let mut way: Way =
            directions[at].iter().map(|link| links[*link].take().expect("a link is crossed once")).collect();
        for link in &mut way {
            link.name = if link.interface.is_some() { format!("{called}_shaper") } else { called.to_owned() };
        }
        Ok((way, scenario))
    };
    let (down, scenario) = read(&sets, 0, "down")?;
    let (up, upwards) = read(&[sets, up_sets].concat(), 1, "up")?;
    let own = &upwards.resolved["network"]["reverse"]["queue"];
    let queues = json!({
        "down": scenario.resolved["queue"],
        "up": if own.is_null() { &upwards.resolved["queue"] } else { own },
    });
    Ok(([down, up], scenario, queues))
}

/// Runs a command behind a link; see `sluicegate.live.shell`, which says what `options` holds. `told(status)` is called
/// some times a second with JSON and may raise, which ends the command: with `StopIteration` it gives the results.
#[pyfunction]
#[pyo3(signature = (text, name, sets, up_sets, options, told=None, make=None))]
#[expect(clippy::too_many_arguments, reason = "as Python gives them")]
pub fn shell<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    sets: Sets,
    up_sets: Sets,
    options: &str,
    told: Option<Bound<'py, PyAny>>,
    make: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (options, faults) = (Options::read(options)?, Arc::new(Faults::default()));
    let mtu = options.whole("mtu", 68..=u16::MAX.into(), 1500)? as u16;
    let ([down, up], scenario, queues) = links(py, (text, name, sets, up_sets), mtu.into(), make.as_ref(), &faults)?;
    let capture = options.capture()?;
    let far = if options.0["world"] == true { Far::World } else { Far::Peer(options.words("peer")) };
    let spec = ShellSpec {
        links: [down, up],
        command: options.words("command").unwrap_or_default(),
        far,
        seed: scenario.seed(),
        flows: options.flows()?,
        mtu,
        drive: options.drive(EXACT),
        sysctls: options.pairs("sysctls"),
    };
    let observer = capture.as_ref().map(|capture| capture.observer(101));
    let mut shell = py.detach(|| caught(|| Shell::start(spec, observer)))?.map_err(PyOSError::new_err)?;
    let warnings = shell.warnings.clone();
    let watched = {
        let shell = RefCell::new(&mut shell);
        let done = || shell.borrow_mut().ended().is_some() || shell.borrow().has_failed() || faults.any();
        watch(py, told.as_ref(), || shell.borrow().status(), done)
    };
    let left = py.detach(|| caught(|| shell.finish()))?;
    watched.or_else(|error| if error.is_instance_of::<PyStopIteration>(py) { Ok(()) } else { Err(error) })?;
    let mut left = options.ended(left, capture, &faults)?;
    let (summary, tables) = py.detach(|| {
        caught(|| {
            let outcome = left.driven.emulator.outcome(left.driven.end);
            let (rows, others) = left.driven.traffic.rows();
            let about = json!({
                "command": options.0["command"],
                "exit_code": left.code,
                "peer_exit_code": left.peer_code,
                "queues": queues,
                "warnings": warnings,
                "other_packets": named(others),
                "remarks": Vec::from_iter(left.driven.traffic.opaque()),
            });
            let texts = vec![("flow_name", FLOW_NAME, rows.to_vec())];
            let losses = vec![("command", left.losses[0]), ("other end", left.losses[1])];
            let ends = Ends { losses, texts, unknown: &UNPLANNED, about };
            report(&scenario, &mut left.driven, &outcome, ends)
        })
    })?;
    result_of(py, &summary.to_string(), &tables)
}

/// Runs a scenario between real hosts; see `sluicegate.live.testbed`, which says what `options` holds. `told` as for `shell`.
#[pyfunction]
#[pyo3(signature = (scenario, options, told=None, make=None))]
pub fn testbed<'py>(
    py: Python<'py>,
    scenario: &PyScenario,
    options: &str,
    told: Option<Bound<'py, PyAny>>,
    make: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (options, faults) = (Options::read(options)?, Arc::new(Faults::default()));
    let scenario = &*scenario.read;
    if scenario.has_changes() {
        return Err(ScenarioError::new_err("changes: what changes while it runs is for simulations alone"));
    }
    let plan: Plan<Packet> = plan_of(py, scenario, make.as_ref(), &faults)?;
    let capture = options.capture()?;
    let spec = TestbedSpec {
        plan,
        names: scenario.names(),
        algorithms: options.pairs("algorithms").into_iter().collect(),
        sysctls: options.pairs("sysctls"),
        spin: options.drive(EXACT).spin,
        busy: options.drive(EXACT).busy,
    };
    sluicegate_live::testbed::settings(&spec).map_err(ScenarioError::new_err)?;
    let observer = capture.as_ref().map(|capture| capture.observer(101));
    let testbed = py.detach(|| caught(|| Testbed::start(spec, observer)))?.map_err(PyOSError::new_err)?;
    let watched = watch(py, told.as_ref(), || testbed.status(), || testbed.is_done() || faults.any());
    let left = py.detach(|| caught(|| testbed.finish()))?;
    watched?;
    let mut left = options.ended(left, capture, &faults)?;
    let (summary, tables) = py.detach(|| {
        caught(|| {
            let mut outcome = left.driven.emulator.outcome(left.driven.end);
            (outcome.groups, outcome.exchanges) = (left.hosts.groups, left.hosts.exchanges);
            let about = json!({
                "unsent_datagrams": left.hosts.unsent,
                "failed_connections": left.hosts.failed,
                "stranger_packets": left.driven.traffic.strangers,
                "hosts_latest_ns": left.hosts.latest.0,
                "algorithms": options.0["algorithms"],
                "sysctls": options.0["sysctls"],
            });
            let losses = vec![("senders", left.losses[0]), ("receivers", left.losses[1])];
            let ends = Ends { losses, texts: Vec::new(), unknown: &[], about };
            report(scenario, &mut left.driven, &outcome, ends)
        })
    })?;
    result_of(py, &summary.to_string(), &tables)
}

/// Puts a link between two interfaces, until its time is over or `told` raises; see `sluicegate.live.bridge`, which says what
/// `options` holds. `told` as for `shell`.
#[pyfunction]
#[pyo3(signature = (text, name, sets, up_sets, options, told=None, make=None))]
#[expect(clippy::too_many_arguments, reason = "as Python gives them")]
pub fn bridge<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    sets: Sets,
    up_sets: Sets,
    options: &str,
    told: Option<Bound<'py, PyAny>>,
    make: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (options, faults) = (Options::read(options)?, Arc::new(Faults::default()));
    let Some([first, second]) = options.words("interfaces").and_then(|names| <[String; 2]>::try_from(names).ok())
    else {
        return Err(ScenarioError::new_err("interfaces: two names are expected"));
    };
    let interfaces = [first, second];
    let mtu = sluicegate_live::bridge::mtu(&interfaces);
    let (links, scenario, queues) = links(py, (text, name, sets, up_sets), mtu, make.as_ref(), &faults)?;
    let capture = options.capture()?;
    let spec = BridgeSpec {
        links,
        interfaces: interfaces.clone(),
        seed: scenario.seed(),
        flows: options.flows()?,
        drive: options.drive(SPARING),
    };
    let observer = capture.as_ref().map(|capture| capture.observer(1));
    let bridge = py.detach(|| caught(|| Bridge::start(spec, observer)))?.map_err(PyOSError::new_err)?;
    let warnings = bridge.warnings.clone();
    let warned =
        told.as_ref().map_or(Ok(()), |told| told.call1((json!({ "warnings": warnings }).to_string(),)).map(drop));
    let over = || bridge.is_done() || faults.any();
    let watched = warned.and_then(|()| watch(py, told.as_ref(), || bridge.status(), over));
    let driven = py.detach(|| caught(|| bridge.finish()))?;
    let mut driven = options.ended(driven, capture, &faults)?;
    // A signal is how a bridge ends: what it has counted is the result.
    let ends =
        |error: &PyErr| error.is_instance_of::<PyKeyboardInterrupt>(py) || error.is_instance_of::<PyStopIteration>(py);
    watched.or_else(|error| if ends(&error) { Ok(()) } else { Err(error) })?;
    let (summary, tables) = py.detach(|| {
        caught(|| {
            let outcome = driven.emulator.outcome(driven.end);
            let (rows, others) = driven.traffic.rows();
            let about = json!({
                "queues": queues,
                "warnings": warnings,
                "other_packets": named(others),
                "remarks": Vec::from_iter(driven.traffic.opaque()),
            });
            let texts = vec![("flow_name", FLOW_NAME, rows.to_vec())];
            let names = interfaces.map(|name| format!("interface {name}"));
            let losses = names.iter().map(|name| (name.as_str(), Losses::default())).collect();
            let ends = Ends { losses, texts, unknown: &UNPLANNED, about };
            report(&scenario, &mut driven, &outcome, ends)
        })
    })?;
    result_of(py, &summary.to_string(), &tables)
}

/// Packets that are no flow's, by why.
fn named(others: &[u64; Other::COUNT]) -> BTreeMap<&'static str, u64> {
    Other::NAMES.into_iter().zip(*others).collect()
}

/// What the column `flow_name` holds.
const FLOW_NAME: &str = "addresses, ports and protocol in one text";

/// Tells the status as it comes, until `done`; an error of `told` or a signal ends it early.
fn watch(
    py: Python<'_>,
    told: Option<&Bound<'_, PyAny>>,
    status: impl Fn() -> Option<Json>,
    mut done: impl FnMut() -> bool,
) -> PyResult<()> {
    while !done() {
        if let (Some(told), Some(status)) = (told, status()) {
            told.call1((status.to_string(),))?;
        }
        py.check_signals()?;
        py.detach(|| std::thread::sleep(SLICE / 4));
    }
    Ok(())
}

fn plan_of(
    py: Python<'_>,
    scenario: &Scenario,
    make: Option<&Bound<'_, PyAny>>,
    faults: &Arc<Faults>,
) -> PyResult<Plan<Packet>> {
    if let Some((_, own)) = scenario.own_flows().next() {
        let rule = "runs in the simulation only: real hosts use the kernel's sockets and congestion controls";
        return Err(ScenarioError::new_err(own.error(rule).0));
    }
    caught(|| {
        scenario.plan_for(&mut |foreign, link, rate| match make {
            Some(make) => discipline::build(make, foreign, &scenario.name, link, rate, faults)
                .map_err(|error| placed(py, foreign, error)),
            None => Err(ScenarioError::new_err(foreign.error("is written elsewhere, and nothing here builds it").0)),
        })
    })?
}
