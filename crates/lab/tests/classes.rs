//! Queues with classes, from the text of a scenario to its results; and what the flows of a run are told or suspected of.

use crate::shared::scenarios::{self, assert_resolves_to_itself};
use sluicegate_lab::Scenario;
use sluicegate_netsim::Outcome;
use sluicegate_netsim::counters::FlowRow;

/// Three flows of 600 kbit/s on 1 Mbit/s: classes 0, 1 and 2.
const FLOWS: &str = r#"
[network]
rate = "1 Mbit/s"

[[flows]]
kind = "udp"
rate = "600 kbit/s"

[[flows]]
kind = "udp"
rate = "600 kbit/s"
class = 1
priority = 1

[[flows]]
kind = "udp"
rate = "600 kbit/s"
packet_size = "100 B"
class = 2

[run]
duration = "40 s"
warmup = "10 s"
"#;

fn read(queue: &str, sets: &[(&str, &str)]) -> Result<Scenario, String> {
    scenarios::read(&format!("{queue}{FLOWS}"), sets).map_err(|error| error.0)
}

fn run(queue: &str) -> Outcome {
    scenarios::run(&format!("{queue}{FLOWS}"), &[])
}

/// What each flow gets, in kbit/s.
fn throughput(queue: &str) -> [f64; 3] {
    let outcome = run(queue);
    let rate = |row: &FlowRow| row.totals.delivered[1] as f64 * 8.0 / 30.0 / 1000.0;
    [0, 1, 2].map(|at| rate(&outcome.flows[at]))
}

fn assert_near(got: [f64; 3], expected: [f64; 3]) {
    assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 10.0), "{got:?} for {expected:?}");
}

#[test]
fn strict_priority_serves_in_order() {
    assert_near(throughput("[queue]\ndiscipline = \"priority\"\n"), [600.0, 400.0, 0.0]);
    let reversed = "[queue]\ndiscipline = \"priority\"\n[[queue.classes]]\nclass = 2\n[[queue.classes]]\nclass = 1\n\
                    [[queue.classes]]\nred = { min_th = 5 }\ndiscipline = \"red\"\n";
    assert_near(throughput(reversed), [0.0, 400.0, 600.0]);
    // By the length of the packet, whatever the class of its flow; the others share what is left.
    let short = "[queue]\ndiscipline = \"priority\"\n[[queue.classes]]\nmax_length = \"100 B\"\n[[queue.classes]]\n\
                 discipline = \"choke\"\n";
    assert!((throughput(short)[2] - 600.0).abs() < 10.0);
}

#[test]
fn deficit_round_robin_shares_by_the_quantum() {
    assert_near(throughput("[queue]\ndiscipline = \"drr\"\n"), [333.3, 333.3, 333.3]);
    let weighted = "[queue]\ndiscipline = \"drr\"\n[queue.drr]\nquantum = \"500 B\"\n[[queue.classes]]\n\
                    quantum = \"1000 B\"\n[[queue.classes]]\n[[queue.classes]]\ndiscipline = \"red\"\n";
    assert_near(throughput(weighted), [500.0, 250.0, 250.0]);
    // A class may hold classes: 1 and 2 share half of the link by 3 to 1.
    let nested = "[queue]\ndiscipline = \"drr\"\n[[queue.classes]]\n[[queue.classes]]\ndiscipline = \"drr\"\n\
                  [[queue.classes.classes]]\nclass = 1\nquantum = \"3000 B\"\n[[queue.classes.classes]]\n";
    assert_near(throughput(nested), [500.0, 375.0, 125.0]);
}

#[test]
fn optional_packets_are_dropped_first() {
    let got = throughput("[queue]\ndiscipline = \"drop_preference\"\n");
    assert!(got[1] < 20.0, "the optional flow gives way: {got:?}");
}

#[test]
fn a_class_and_its_discipline_may_have_keys_of_one_name() {
    let text = "[queue]\ndiscipline = \"drr\"\n[[queue.classes]]\nclass = 1\nquantum = \"600 B\"\n\
                discipline = \"fq_codel\"\nfq_codel = { quantum = \"300 B\" }\n[[queue.classes]]\n";
    let resolved = read(text, &[]).unwrap().resolved;
    let class = &resolved["queue"]["classes"][0];
    assert_eq!((&class["quantum"], &class["fq_codel"]["quantum"]), (&"600 B".into(), &"300 B".into()));
    assert_resolves_to_itself(&resolved);
}

#[test]
fn the_resolved_scenario_holds_the_classes() {
    let text = "[queue]\ndiscipline = \"priority\"\n[[queue.classes]]\nmax_length = \"64 B\"\nlimit = 7\n\
                [[queue.classes]]\ndiscipline = \"red\"\n[queue.classes.red]\nmin_th = 9\n[[queue.drr.classes]]\n";
    let queue = &read(text, &[]).unwrap().resolved["queue"];
    let classes = queue["classes"].as_array().unwrap();
    assert_eq!((classes.len(), queue.get("bands")), (2, None));
    assert_eq!((&classes[0]["max_length"], &classes[0]["limit"]), (&"64 B".into(), &7.into()));
    assert_eq!((&classes[1]["discipline"], &classes[1]["min_th"]), (&"red".into(), &9.into()));
    // A table of its own comes before the shared one; a discipline without classes has none.
    let drr = &read(text, &[("queue.discipline", "drr")]).unwrap().resolved["queue"];
    assert_eq!(drr["classes"].as_array().unwrap().len(), 1);
    assert_eq!(read(text, &[("queue.discipline", "red")]).unwrap().resolved["queue"].get("classes"), None);
    let set = read(text, &[("queue.classes.0.limit", "8"), ("queue.classes.1.red.max_th", "99")]).unwrap();
    assert_eq!(set.resolved["queue"]["classes"][0]["limit"], 8);
    assert_eq!(set.resolved["queue"]["classes"][1]["max_th"], 99);
}

#[test]
fn mistakes_in_a_class_are_found_where_they_are() {
    let refused = |text: &str| read(text, &[]).err().expect("refused");
    let head = "[queue]\ndiscipline = \"priority\"\n[[queue.classes]]\n";
    let cases = [
        ("lmit = 3\n", "test.toml:4: queue.classes.0.lmit: no such key; did you mean \"limit\"?"),
        ("max_lenth = 3\n", "test.toml:4: queue.classes.0.max_lenth: no such key; did you mean \"max_length\"?"),
        (
            "max_length = 3\n",
            "queue.classes.0.max_length = 3 packets: breaks the rule max_length and quantum are in bytes",
        ),
        (
            "discipline = \"rad\"\n",
            "test.toml:4: queue.classes.0.discipline: no such discipline: \"rad\"; did you mean",
        ),
        ("red = { min_th = 50 }\n", "queue.classes.0.red.min_th = 50 packets: breaks the rule min_th < max_th"),
        ("candidates = 3\n", "only choke has it, not drop_tail: write it as queue.classes.0.choke.candidates"),
        ("red = 3\n", "queue.classes.0.red: must be a table: [queue.classes.0.red]"),
        ("class = 256\n", "queue.classes.0.class = 256: must be at least 0 and at most 255"),
        ("[queue.priority]\nbands = 2\n", "queue.priority.bands: is for a queue whose classes are not described"),
        ("[[queue.red.classes]]\n", "queue.red.classes: no such key"),
    ];
    for (text, message) in cases {
        let error = refused(&format!("{head}{text}"));
        assert!(error.contains(message), "{error}\nfor\n{message}");
    }
    let empty = "[queue]\ndiscipline = \"drr\"\nclasses = []\n";
    assert!(refused(empty).contains("queue.classes: must be tables: at least one [[queue.classes]]"));
    let mut deep = "[queue]\ndiscipline = \"drr\"\n".to_owned();
    let mut path = "queue".to_owned();
    for _ in 0..5 {
        path += ".classes";
        deep += &format!("[[{path}]]\ndiscipline = \"drr\"\n");
    }
    assert!(refused(&deep).contains("classes may stand in classes 4 deep"));
    let many = format!("[queue]\n{}", "[[queue.classes]]\n".repeat(257));
    assert!(refused(&many).contains("257 classes; 256 is the most"));
}

/// A class may name a discipline that is written elsewhere; whoever builds it is asked once for each.
#[test]
fn a_class_may_be_written_elsewhere() {
    let text = "[queue]\ndiscipline = \"drr\"\n[[queue.classes]]\ndiscipline = \"own.py:Mine\"\n[[queue.classes]]\n";
    let scenario = read(text, &[]).unwrap();
    assert!(scenario.is_foreign() && scenario.plan().is_err());
    let mut asked = Vec::new();
    let plan = scenario.plan_with::<()>(&mut |foreign, link, _| {
        asked.push((foreign.reference.clone(), link.to_owned()));
        Err(())
    });
    assert!(plan.is_err());
    assert_eq!(asked, [("own.py:Mine".to_owned(), "bottleneck".to_owned())]);
}

/// 1.8 Mbit/s on 1 Mbit/s: every loss is answered, and each answer takes the propagation delay to come back.
#[test]
fn losses_are_answered_with_source_quenches() {
    let outcome = run("[queue]\ndiscipline = \"source_quench\"\n");
    let mut all = 0;
    for row in &outcome.flows {
        let lost: u64 = row.totals.drops.iter().sum();
        assert!(row.totals.quenches.abs_diff(lost) <= 2, "{} for {lost}", row.totals.quenches);
        all += lost;
    }
    assert!(all > 1000, "{all}");
    assert!(run("[queue]\n").flows.iter().all(|row| row.totals.quenches == 0));
}

/// RED at a load of 1.8: flow 3 sends ten packets for each of the others, of a tenth of the length, and has five sixths of
/// the last hundred drops: RED's chance is that of a packet.
#[test]
fn recent_drops_show_who_sends_most() {
    let rows = run("[queue]\ndiscipline = \"red\"\n").flows;
    let [first, second, third] = [0, 1, 2].map(|at: usize| rows[at].recent.unwrap());
    assert!((first.share + second.share + third.share - 1.0).abs() < 1e-12);
    assert!([first, second, third].iter().all(|row| row.packets == 100 && row.expected == 1.0 / 3.0));
    // Four standard errors of 5/6 in a hundred are 0.15.
    assert!((third.share - 10.0 / 12.0).abs() < 0.15 && third.p_value < 1e-15, "{third:?}");
    assert_eq!((first.p_value, second.p_value), (1.0, 1.0), "less than a third is no cause for suspicion");
}

/// RED 1993, Sec. IX: who finds the queue full, or short of room, is not who sends most.
#[test]
fn what_does_not_fall_on_flows_as_they_send_shows_nothing() {
    for queue in ["drop_tail", "decbit", "ut_lt", "source_quench", "drop_preference"] {
        let outcome = run(&format!("[queue]\ndiscipline = \"{queue}\"\n"));
        assert!(outcome.links[0].counters.drops.iter().sum::<u64>() > 1000, "{queue}");
        assert!(outcome.flows.iter().all(|row| row.recent.is_none()), "{queue}");
    }
}

/// Random Drop draws from the queue, in which flow 3 has ten packets for each of the others'.
#[test]
fn random_drops_show_who_sends_most() {
    let rows = run("[queue]\ndiscipline = \"random_drop\"\n").flows;
    let third = rows[2].recent.unwrap();
    assert!((third.share - 10.0 / 12.0).abs() < 0.15 && third.packets == 100 && third.p_value < 1e-15, "{third:?}");
    // What no queue could hold is not drawn: with 500 bytes only the short packets of flow 3 are ever queued.
    let rows = run("[queue]\ndiscipline = \"random_drop\"\nlimit = \"500 B\"\n").flows;
    assert!(rows[0].totals.drops.iter().sum::<u64>() > 1000 && rows[0].recent.is_none_or(|row| row.share == 0.0));
}

/// RED in each class chooses among the packets of that class: of flows 2 and 3, which share one, 3 sends ten packets for
/// each of 2's and stands out; flow 1 has all the drops of its own class, and that is what it sends of it.
#[test]
fn with_classes_recent_drops_are_those_of_the_class() {
    let classes = "[[queue.classes]]\ndiscipline = \"red\"\n[[queue.classes]]\ndiscipline = \"red\"\n";
    for (container, first) in [("drr", Some(1.0)), ("priority", None)] {
        let rows = run(&format!("[queue]\ndiscipline = \"{container}\"\n{classes}")).flows;
        let told = |at: usize| rows[at].recent.map(|row| (row.share, row.expected, row.p_value));
        // Under strict priority flow 1 loses nothing.
        assert_eq!(told(0), first.map(|part| (part, part, part)), "{container}");
        let [second, third] = [1, 2].map(|at| told(at).unwrap());
        assert!((second.0 + third.0 - 1.0).abs() < 1e-12 && (second.1, third.1) == (0.5, 0.5), "{container}");
        assert!(third.0 > 0.75 && third.2 < 1e-5 && second.2 == 1.0, "{container}: {third:?}");
    }
    // A container in a class has groups of its own: none of the three flows shares one.
    let nested = "[queue]\ndiscipline = \"drr\"\n[[queue.classes]]\ndiscipline = \"red\"\n[[queue.classes]]\n\
                  discipline = \"drr\"\n[[queue.classes.classes]]\nclass = 1\ndiscipline = \"red\"\n\
                  [[queue.classes.classes]]\ndiscipline = \"red\"\n";
    let rows = run(nested).flows;
    assert!(rows.iter().all(|row| row.recent.is_some_and(|row| (row.share, row.expected) == (1.0, 1.0))), "{rows:?}");
}

/// Who finds the room of all classes taken is not chosen at random, even where the classes drop at random.
#[test]
fn what_a_limit_for_all_classes_refuses_does_not_count() {
    let queue = |limit: &str| {
        let class = "[[queue.classes]]\ndiscipline = \"random_drop\"\nlimit = 20\n";
        run(&format!("[queue]\ndiscipline = \"drr\"\n{limit}{class}{class}"))
    };
    let known = |outcome: &Outcome| outcome.flows.iter().filter(|row| row.recent.is_some()).count();
    let (refused, drawn) = (queue("[queue.drr]\nlimit = 10\n"), queue(""));
    assert!(refused.links[0].counters.drops.iter().sum::<u64>() > 1000);
    assert_eq!((known(&refused), known(&drawn)), (0, 3));
}

/// A flow that sends nothing while it is measured takes no part in what is expected of the others.
#[test]
fn only_flows_that_send_count() {
    let quiet = |start: &str| format!("[[flows]]\nkind = \"udp\"\nrate = \"8 kbit/s\"\nstart = \"{start}\"\n");
    let of = |flow: &str| {
        run(&format!("[queue]\ndiscipline = \"red\"\n{flow}")).flows.iter().map(|row| row.recent).collect()
    };
    let both: [Vec<Option<_>>; 2] = [of(&quiet("0 s")), of(&quiet("1000 s"))];
    assert_eq!(
        both.map(|rows| rows.iter().map(|row| row.map(|row| row.expected)).collect::<Vec<_>>()),
        [vec![Some(0.25); 4], vec![None, Some(1.0 / 3.0), Some(1.0 / 3.0), Some(1.0 / 3.0)],]
    );
}
