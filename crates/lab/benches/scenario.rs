//! Runs one scenario and prints what it did: `scenario FILE [KEY=VALUE]…`. The CPU time, the instructions and the memory of this
//! process are those of the simulator alone; `tools/bench/bench.py` measures them.

use sluicegate_lab::Scenario;
use sluicegate_lab::results::summary;
use sluicegate_netsim::Sim;

fn main() {
    // Cargo adds `--bench`.
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let Some(file) = arguments.next() else { return println!("usage: scenario FILE [KEY=VALUE]…") };
    let sets: Vec<(String, String)> = arguments
        .map(|set| set.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).expect("KEY=VALUE"))
        .collect();
    let text = std::fs::read_to_string(&file).expect("a file that can be read");
    let scenario = Scenario::read(&text, &file, &sets).unwrap_or_else(|error| panic!("{}", error.0));
    let mut sim = Sim::new(scenario.plan().unwrap_or_else(|error| panic!("{}", error.0)));
    while sim.advance(1 << 16) {}
    let outcome = sim.finish();
    let mut all = summary(&scenario, &outcome);
    all["sent"] = outcome.links.iter().map(|link| link.counters.departures).sum::<u64>().into();
    all["places"] = outcome.positions.flows.len().into();
    if let Some(kilobytes) = peak_memory() {
        all["peak_memory_kb"] = kilobytes.into();
    }
    println!("{all}");
}

/// The most memory that this process has held, in KiB, where the system tells (Linux). What a parent is told at the end
/// includes the parent's own pages from before the program was loaded.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
