//! Those who watch a run see every packet, and change nothing.

use serde_json::{Value as Json, json};
use sluicegate_base::Time;
use sluicegate_lab::watch::Watch;
use sluicegate_lab::{Foreign, Scenario, ScenarioError, Simulation};
use std::collections::BTreeSet;

const SMALL: &str = r#"
[network]
rate = "1 Mbit/s"

[queue]
discipline = "choke"
limit = 60
min_th = 5
max_th = 40

[[flows]]
kind = "tcp"
count = 4

[[flows]]
kind = "udp"
rate = "1500 kbit/s"

[run]
duration = "10 s"
packets = 1000
"#;

fn begin() -> Simulation {
    let scenario = Scenario::read(SMALL, "small.toml", &[]).unwrap();
    let plan = scenario.plan().unwrap();
    Simulation::new(scenario, plan)
}

fn advance(simulation: &mut Simulation, ms: u64) {
    let mut none = |foreign: &Foreign, _: &str, _| Err::<_, ScenarioError>(foreign.error("is not here"));
    while simulation.advance(Time(ms * 1_000_000), 1000, &mut none).unwrap() {}
}

fn number(value: &Json) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn events_lead_from_each_frame_to_the_next() {
    let (mut simulation, mut watch) = (begin(), Watch::default());
    watch.frame(&mut simulation, Some(10_000));
    let (mut there, mut kinds, mut compared) = (BTreeSet::new(), BTreeSet::new(), 0);
    let (mut bytes, mut drops) = (0.0, 0);
    for step in 1..=200 {
        advance(&mut simulation, 50 * step);
        let frame = watch.frame(&mut simulation, Some(10_000));
        let link = &frame["links"][0];
        let mut last = 0;
        for event in link["events"].as_array().unwrap() {
            let (time, kind, packet) = (number(&event[0]), event[1].as_str().unwrap(), number(&event[2]));
            assert!(time >= last);
            last = time;
            kinds.insert(kind.to_owned());
            match kind {
                "arrival" => assert!(there.insert(packet), "packets on their way have different numbers"),
                "compared" => {
                    assert!(there.contains(&packet));
                    compared += 1;
                }
                _ => assert!(there.remove(&packet), "{kind}"),
            }
        }
        let waiting: Vec<u64> = link["waiting"].as_array().unwrap().chunks(3).map(|row| number(&row[0])).collect();
        assert_eq!(waiting.len() as u64, number(&link["queue_packets"]));
        let ages: Vec<u64> = link["waiting"].as_array().unwrap().chunks(3).map(|row| number(&row[2])).collect();
        assert!(ages.is_sorted_by(|a, b| a >= b), "the head has waited longest");
        assert!(waiting.iter().all(|packet| there.contains(packet)));
        assert!(there.len() - waiting.len() <= 1, "what is in transmission waits no more");
        for group in frame["groups"].as_array().unwrap() {
            bytes += group["throughput_bps"].as_f64().unwrap() * 0.05 / 8.0;
            drops += number(&group["drops"]);
        }
    }
    assert!(compared > 100 && kinds.len() >= 5, "{kinds:?}");
    let flows = &simulation.sim().network().flows;
    let delivered: u64 = flows.iter().map(|totals| totals.delivered[1]).sum();
    assert!((bytes - delivered as f64).abs() < 1.0);
    assert_eq!(drops, flows.iter().flat_map(|totals| totals.drops).sum::<u64>());
    // It has changed nothing: the run's own table of packets, too, is what it is without.
    let watched = simulation.finish();
    let mut alone = begin();
    advance(&mut alone, 10_000);
    let alone = alone.finish();
    assert_eq!(watched.0, alone.0);
    assert_eq!(format!("{:?}", watched.1), format!("{:?}", alone.1));
}

#[test]
fn what_nobody_takes_is_bounded() {
    let (mut simulation, mut watch) = (begin(), Watch::default());
    watch.frame(&mut simulation, Some(10));
    advance(&mut simulation, 5_000);
    let frame = watch.frame(&mut simulation, None);
    assert_eq!(frame["links"][0].get("events"), None, "not asked for");
    assert!(frame["links"][0]["delay_p99_ms"].as_f64().unwrap() > 1.0);
    let frame = watch.frame(&mut simulation, Some(0));
    assert_eq!(frame["links"][0]["events"].as_array().unwrap().len(), 10);
    advance(&mut simulation, 6_000);
    assert_eq!(watch.frame(&mut simulation, Some(0))["links"][0]["events"], json!([]));
}
