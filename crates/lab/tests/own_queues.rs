//! Links of a network with a queue of their own.

use crate::shared::scenarios::{assert_resolves_to_itself, read, refusal, run};
use sluicegate_lab::ScenarioError;

const ROW: &str = r#"
[[network.links]]
name = "first"
from = "L"
to = "M"
rate = "5 Mbit/s"

[[network.links]]
name = "second"
from = "M"
to = "R"
rate = "10 Mbit/s"

[network.links.queue]
discipline = "red"

[network.links.queue.red]
min_th = 7
max_th = 33

[queue]
discipline = "drop_tail"
limit = 50

[[flows]]
kind = "tcp"
path = ["first", "second"]
rtt = "50 ms"
access_rate = "100 Mbit/s"

[run]
duration = "2 s"
"#;

fn disciplines(sets: &[(&str, &str)]) -> Vec<String> {
    run(ROW, sets).links.iter().map(|link| link.discipline.to_string()).collect()
}

#[test]
fn a_link_may_have_a_queue_of_its_own() {
    assert_eq!(disciplines(&[]), ["drop_tail", "red"]);
    assert_eq!(disciplines(&[("queue.discipline", "codel")]), ["codel", "red"]);
    assert_eq!(disciplines(&[("network.links.1.queue.discipline", "pie")]), ["drop_tail", "pie"]);
    assert_eq!(disciplines(&[("network.links.0.queue.discipline", "pie")]), ["pie", "red"]);
    // It has the values of its own table, and those alone: nothing of [queue], whose limit is 50.
    let resolved = read(ROW, &[]).unwrap().resolved;
    let own = &resolved["network"]["links"][1]["queue"];
    assert_eq!((&own["min_th"], &own["max_th"], &resolved["queue"]["limit"]), (&7.into(), &33.into(), &50.into()));
    assert_ne!(own["limit"], 50);
    assert!(resolved["network"]["links"][0].get("queue").is_none());
    assert_resolves_to_itself(&resolved);
}

#[test]
fn a_change_of_the_queue_is_of_the_other_links_alone() {
    let changed = |key: &str, value: &str| {
        let text = format!("{ROW}\n[[changes]]\ntime = \"1 s\"\nkey = \"{key}\"\nvalue = {value}\n");
        let scenario = read(&text, &[])?;
        let plan = scenario.plan()?;
        let mut run = sluicegate_lab::Simulation::new(scenario, plan);
        let never = sluicegate_base::Time::NEVER;
        while run.advance(never, 1 << 20, &mut |foreign, _, _| Err(foreign.error(""))).unwrap_or_else(|_| panic!()) {}
        Ok::<_, ScenarioError>(run.sim().links().iter().map(|link| link.discipline.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(changed("queue.discipline", "\"codel\"").unwrap(), ["codel", "red"]);
    assert_eq!(changed("network.links.1.rate", "\"8 Mbit/s\"").unwrap(), ["drop_tail", "red"]);
    let told = changed("network.links.1.queue.red.max_th", "20").err().unwrap().0;
    assert!(told.contains("network.links.1.queue.red.max_th: cannot change during a run"), "{told}");
}

#[test]
fn a_queue_of_a_link_is_refused_where_it_stands() {
    let told = refusal(&ROW.replace("discipline = \"red\"", "limit = 9"), &[]);
    let rule = "network.links.1.queue.discipline: must be given: nothing of [queue] is taken over here";
    assert!(told.starts_with("test.toml:") && told.ends_with(rule), "{told}");
    let told = refusal(&ROW.replace("\"red\"", "\"rd\""), &[]);
    assert!(
        told.contains("network.links.1.queue.discipline: no such discipline: \"rd\"; did you mean \"red\"?"),
        "{told}"
    );
    let told = refusal(&ROW.replace("max_th = 33", "max_th = 3"), &[]);
    assert!(told.contains("network.links.1.queue.red.min_th = 7 packets: breaks the rule"), "{told}");
    let told = refusal(ROW, &[("network.links.1.managed", "false")]);
    assert!(told.ends_with("managed is false: leave one of them out"), "{told}");
    let told = refusal(
        &ROW.replace("[network.links.queue.red]\nmin_th = 7\nmax_th = 33\n", "")
            .replace("[network.links.queue]\ndiscipline = \"red\"\n", "")
            .replace("rate = \"10 Mbit/s\"", "rate = \"10 Mbit/s\"\nqueue = 3"),
        &[],
    );
    assert!(told.ends_with("network.links.1.queue: must be a table: [network.links.1.queue]"), "{told}");
}
