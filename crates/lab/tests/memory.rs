//! What a scenario is estimated to take of memory beside what its run takes.

#[path = "shared/peak.rs"]
mod peak;

use peak::peak_and_now;
use sluicegate_base::Time;
use sluicegate_lab::{Scenario, Simulation};
use std::env;
use std::process::Command;

const NETWORK: &str = r#"
[network]
rate = "100 Mbit/s"
delay = "20 ms"

[run]
duration = "5 s"
series = false
"#;

fn tcp(more: &str) -> String {
    format!("{NETWORK}\n[[flows]]\nkind = \"tcp\"\nprofile = \"linux\"\n{more}")
}

fn web(more: &str) -> String {
    format!("{NETWORK}\n[[flows]]\nkind = \"http\"\nprofile = \"linux\"\nspread = \"1 s\"\n{more}")
}

/// 64 bytes each, so that what a queue holds by bytes is many packets.
fn flood(more: &str) -> String {
    format!("{NETWORK}\n[[flows]]\nkind = \"udp\"\nrate = \"1 Gbit/s\"\npacket_size = \"64 B\"\n{more}")
}

fn read(text: &str, sets: &[(&str, &str)]) -> Scenario {
    let sets: Vec<(String, String)> = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Scenario::read(text, "test.toml", &sets).unwrap()
}

/// Data at 100 Mbit/s, acknowledgements at a thousandth of it.
fn slow_return() -> String {
    tcp("count = 50\nreturn_path = [\"b\"]\npath = [\"a\"]").replace(
        "[network]\nrate = \"100 Mbit/s\"\ndelay = \"20 ms\"\n",
        "[[network.links]]\nname = \"a\"\nfrom = \"x\"\nto = \"y\"\nrate = \"100 Mbit/s\"\n\
         [[network.links]]\nname = \"b\"\nfrom = \"y\"\nto = \"x\"\nrate = \"100 kbit/s\"\n",
    )
}

type Case = (&'static str, String, &'static [(&'static str, &'static str)]);

fn cases() -> Vec<Case> {
    vec![
        ("many flows", tcp("count = 5000"), &[("run.duration", "1 s")]),
        ("papers' hosts", tcp("count = 5000").replace("linux", "ns2"), &[("run.duration", "1 s")]),
        (
            "one flow, a buffer that does not fill",
            tcp("count = 1"),
            &[("queue.limit", "100000"), ("network.rate", "1 Gbit/s")],
        ),
        ("large windows, a deep buffer", tcp("count = 100"), &[("queue.limit", "20000"), ("network.rate", "1 Gbit/s")]),
        (
            "a full window in each access link",
            tcp("count = 20"),
            &[("flows.0.access_rate", "40 Mbit/s"), ("network.rate", "1 Gbit/s")],
        ),
        ("few acknowledgements", slow_return(), &[]),
        ("few acknowledgements, a limit in bytes", slow_return(), &[("queue.limit", "1 MB")]),
        ("windows that are full at once", tcp("count = 1000\nwindow = 8"), &[]),
        (
            "a long way by jitter",
            flood("").replace("1 Gbit/s", "50 Mbit/s"),
            &[("network.jitter", "10 s"), ("network.rate", "1 Gbit/s")],
        ),
        ("CAKE's limit in bytes", flood(""), &[("queue.discipline", "cake"), ("run.duration", "1 s")]),
        ("a limit in bytes", flood(""), &[("queue.limit", "10 MB"), ("run.duration", "1 s")]),
        (
            "a limit that is raised",
            flood("[[changes]]\ntime = \"0.1 s\"\nkey = \"queue.limit\"\nvalue = 1000000"),
            &[("queue.limit", "100"), ("run.duration", "1 s")],
        ),
        ("BBR", tcp("count = 20\nalgorithm = \"bbr\""), &[("queue.limit", "2000")]),
        ("losses", tcp("count = 100"), &[("network.loss", "0.05"), ("queue.limit", "5000")]),
        ("web users", web("count = 1500"), &[]),
        ("connections", web("arrivals = 400").replace("http", "connections").replace("spread = \"1 s\"\n", ""), &[]),
        (
            "a flood",
            format!("{NETWORK}\n[[flows]]\nkind = \"udp\"\nrate = \"1 Gbit/s\"\naccess_rate = \"100 Mbit/s\""),
            &[("run.duration", "2 s")],
        ),
    ]
}

/// Which case this process is to run; each has one of its own, as freed memory is not given back.
const CASE: &str = "SLUICEGATE_MEMORY_CASE";

/// The memory that the run of a case takes with its results, in bytes, where the system tells.
#[test]
#[ignore = "no_run_takes_more_than_its_estimate runs it"]
fn one_run() {
    let Ok(case) = env::var(CASE) else { return };
    let (_, text, sets) = &cases()[case.parse::<usize>().unwrap()];
    let Some((_, before)) = peak_and_now() else { return };
    let scenario = read(text, sets);
    let plan = scenario.plan().unwrap();
    let mut run = Simulation::new(scenario, plan);
    while run.advance::<()>(Time::NEVER, 1 << 16, &mut |_, _, _| unreachable!()).unwrap() {}
    let made = run.finish();
    let (peak, _) = peak_and_now().unwrap();
    drop(made);
    println!("measured {}", 1024 * (peak - before));
}

#[test]
fn no_run_takes_more_than_its_estimate() {
    if peak_and_now().is_none() {
        return; // the system does not tell
    }
    for (at, (what, text, sets)) in cases().into_iter().enumerate() {
        let mut run = Command::new(env::current_exe().unwrap());
        let done =
            run.args(["--exact", "one_run", "--ignored", "--nocapture"]).env(CASE, at.to_string()).output().unwrap();
        let said = String::from_utf8(done.stdout).unwrap();
        assert!(done.status.success(), "{what}: {said}{}", String::from_utf8_lossy(&done.stderr));
        let estimate = read(&text, sets).memory as f64;
        let (_, told) = said.split_once("measured ").expect("the run says what it took");
        let measured: f64 = told.lines().next().unwrap().parse().unwrap();
        println!("{what}: estimated {:.1} MB, measured {:.1} MB", estimate / 1e6, measured / 1e6);
        assert!(measured <= estimate, "{what}: {measured} bytes, estimated {estimate}");
        assert!(
            !what.starts_with("many") || estimate < 2.0 * measured,
            "{what}: {measured} bytes, estimated {estimate}"
        );
    }
}

#[test]
fn windows_count_as_far_as_their_path_holds_them() {
    let long = [("run.duration", "600 s")];
    let gigabyte = 1 << 30;
    assert!(read(&web("count = 1500"), &long).memory < gigabyte);
    assert!(read(&web("count = 10000"), &long).memory < gigabyte);
    assert!(read(&tcp("count = 10000"), &[long[0], ("network.rate", "1 Gbit/s")]).memory < gigabyte);
    let million = tcp("count = 1000000\naccess_rate = \"1 Gbit/s\"").replace("linux", "ns2");
    let short = ("run.duration", "1 s");
    assert!(read(&million, &[short, ("network.rate", "1000 Gbit/s"), ("queue.limit", "5250000")]).memory > gigabyte);
    // Where the flows' own links are the slowest, windows wait there: 10,000 of 16 MiB.
    let text = tcp("count = 10000\naccess_rate = \"20 Mbit/s\"");
    assert!(read(&text, &[long[0], ("network.rate", "1 Gbit/s")]).memory < gigabyte);
    let sets = [long[0], ("network.rate", "400 Gbit/s")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    let refused = refusal(&text, &sets);
    assert!(refused.contains("wait at its own access link"), "{refused}");
}

fn refusal(text: &str, sets: &[(String, String)]) -> String {
    Scenario::read(text, "test.toml", sets).err().expect("too much").0
}

#[test]
fn what_a_queue_may_hold_counts_whatever_limits_it_and_whenever() {
    let long = |queue: &str| {
        let long = format!("{NETWORK}\n[queue]\n{queue}").replace("5 s", "600 s");
        flood("").replace(NETWORK, &long)
    };
    let refused = refusal(&long("discipline = \"cake\"\nmemlimit = \"100000 MB\""), &[]);
    assert!(refused.contains(": lower rate, or the limits of queues"), "{refused}");
    let change = |limit: u64| format!("[[changes]]\ntime = \"1 s\"\nkey = \"queue.limit\"\nvalue = {limit}");
    let with = |change: String| long("limit = 100") + &change;
    assert!(refusal(&with(change(1_000_000_000)), &[]).contains("flows.0.count"));
    assert!(read(&with(change(1000)), &[]).memory < 1 << 27);
    let rate = "[[changes]]\ntime = \"1 s\"\nkey = \"network.rate\"\nvalue = \"1 Mbit/s\"";
    assert!(read(&with(rate.to_owned()), &[]).memory < 1 << 27);
}
