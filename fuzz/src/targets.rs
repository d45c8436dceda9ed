//! What the fuzzer calls with its bytes, and `crates/lab/tests/corpus.rs` with the files of the corpus.
//!
//! Whatever the bytes, a target returns within a second and within the memory that `tools/fuzz` allows. Bytes that are
//! valid are not only read: what they describe is begun, as far as a bound on flows and events goes.

use sluicegate_aqm::Discipline;
use sluicegate_aqm::drop_tail::{DropTail, DropTailParams};
use sluicegate_base::{Rate, Size, Time, quantity};
use sluicegate_lab::replay::reader::{Capture, Next};
use sluicegate_lab::replay::results::Report;
use sluicegate_lab::replay::{Failure, Progress, Replay, ReplayScenario};
use sluicegate_lab::{Foreign, Scenario, ScenarioError, Simulation};
use sluicegate_netsim::QueuedPacket;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

/// Events of the simulator that one input may use: some milliseconds.
const EVENTS: u64 = 3_000;

/// More flows than this are checked but not set up: memory and time of a run grow with them, as the scenario asks.
const FLOWS: u64 = 64;

/// What overrides are put on: the scenarios that come along.
const BASES: &[&str] = &[
    include_str!("../../python/sluicegate/scenarios/choke1999.toml"),
    include_str!("../../python/sluicegate/scenarios/topology.toml"),
    include_str!("../../python/sluicegate/scenarios/traffic.toml"),
];

/// The text of a scenario.
pub fn scenario(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        read_and_begin(text, &[]);
    }
}

/// Overrides: lines of KEY=VALUE, each an override, on top of a scenario; the number of lines
/// chooses which.
pub fn overrides(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sets: Vec<(String, String)> = text
        .split('\n')
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    for (_, value) in &sets {
        quantities(value);
    }
    read_and_begin(BASES[sets.len() % BASES.len()], &sets);
    if let Err(ScenarioError(message)) = ReplayScenario::read(&sets) {
        assert!(message.starts_with("sets: "), "the message has no place: {message}");
    }
}

/// A capture in the format pcap. Others are the next target's, so that each has its own way into the reader.
pub fn pcap(data: &[u8]) {
    if !data.starts_with(&SECTION) {
        replay_both(data);
    }
}

/// A capture in the format pcapng.
pub fn pcapng(data: &[u8]) {
    if data.starts_with(&SECTION) {
        replay_both(data);
    }
}

/// How a section header of pcapng begins, in either order of bytes.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

fn replay_both(data: &[u8]) {
    // One that marks, slow enough for a queue; and any other: some act by the clock, and a capture's clock may leap.
    let red = [("queue.discipline", "red"), ("queue.red.action", "mark")];
    replay(data, &[&[("rate", "100 kbit/s"), ("on_jump", "shift"), ("mtu", "576")][..], &red].concat());
    let any = sluicegate_aqm::all()[data.len() % sluicegate_aqm::all().len()].table.about.name;
    let (length, flows) = (("length", "frame"), ("flows", "3"));
    replay(data, &[("rate", "10 Mbit/s"), ("queue.discipline", any), length, flows, ("on_jump", "skip")]);
    replay(data, &[("rate", "10 Mbit/s")]);
}

/// Replays a capture to its end and reads again what left the link.
fn replay(data: &[u8], sets: &[(&str, &str)]) {
    let sets: Vec<(String, String)> = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let scenario = ReplayScenario::read(&sets).expect("a good replay");
    let nothing = &mut |foreign: &Foreign, _: &str, _: Rate| Err(ReplayScenario::nothing_builds(foreign));
    let (name, queue) = scenario.discipline::<ScenarioError>(nothing).expect("one of ours");
    let out = Shared::default();
    let mut replay = Replay::new(data, scenario.setting(), queue, Some(out.clone())).expect("memory takes a header");
    loop {
        match replay.advance(1000) {
            Ok(Progress::Done) => break,
            Ok(Progress::Going) => {}
            Ok(Progress::Interrupted) => panic!("nothing interrupts a slice of bytes"),
            Err(Failure::Unusable(what)) => return assert!(!what.is_empty()),
            Err(Failure::Write(error)) => panic!("memory can be written to: {error}"),
        }
    }
    let outcome = replay.finish().expect("memory can be written to");
    let [merged, pieces] = outcome.crossed.merged;
    let (packets, left) = (outcome.totals.packets - merged + pieces, outcome.crossed.left);
    let report = Report::new(outcome, name, scenario.setting().rate);
    let (summary, _) = (report.summary(&scenario, "fuzz.pcap"), report.tables());
    assert!(summary.is_object());
    let (written, mut sent) = (out.0.borrow(), 0);
    let mut capture = Capture::new(&written[..]);
    while let Next::Record(record) = capture.next().expect("what we write is whole") {
        assert!(record.time.is_some());
        sent += 1;
    }
    assert!(left == 0 && sent <= packets, "{sent} of {packets} packets sent, {left} left");
}

/// A file in memory that can be looked at afterwards.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is shown of a quantity is read as the same again.
fn quantities(text: &str) {
    if let Ok(span) = quantity::span(text) {
        assert_eq!(quantity::span(&span.to_string()), Ok(span));
    }
    if let Ok(rate) = quantity::rate(text) {
        assert_eq!(quantity::rate(&rate.to_string()), Ok(rate));
    }
    if let Ok(size) = quantity::size(text) {
        assert_eq!(quantity::size(&size.to_string()), Ok(size));
    }
}

fn read_and_begin(text: &str, sets: &[(String, String)]) {
    let scenario = match Scenario::read(text, "fuzz.toml", sets) {
        Ok(scenario) => scenario,
        Err(ScenarioError(message)) => {
            let placed = message.starts_with("fuzz.toml:") || message.starts_with("sets: ");
            assert!(placed, "the message has no place: {message}");
            return;
        }
    };
    let groups = scenario.resolved["flows"].as_array().expect("flows are a list");
    let flows = groups.iter().filter_map(|group| group["count"].as_u64()).fold(0, u64::saturating_add);
    if flows > FLOWS {
        return;
    }
    let plan = scenario.plan_with(&mut stand_in);
    let mut simulation = Simulation::new(scenario, plan.expect("the stand-in is always built"));
    // A change ends a call too.
    for _ in 0..3 {
        if !simulation.advance(Time::NEVER, EVENTS / 3, &mut stand_in).expect("the changes have been tried") {
            let _ = simulation.finish();
            return;
        }
    }
}

/// In the place of a discipline written in Python.
fn stand_in(_: &Foreign, _: &str, _: Rate) -> Result<(String, Box<dyn Discipline<QueuedPacket>>), ScenarioError> {
    let queue = DropTail::new(DropTailParams { limit: Size::Packets(50) });
    Ok(("stand-in".to_owned(), Box::new(queue)))
}
