//! Links whose rate follows a trace: the forms of files, their units, what is wrong with them.

use crate::links::{UDP, beside, mbps, outcome, read};
use crate::shared::scenarios::assert_resolves_to_itself;

#[test]
fn a_trace_of_mahimahi_delivers_a_packet_for_each_line() {
    // 3 packets in 10 ms: 3.6 Mbit/s, again and again.
    let name = beside("cell.trace", "2\n2\n10\n");
    let sets = [("network.trace", "cell.trace")];
    let outcome = outcome(UDP, &name, &sets);
    assert!((mbps(&outcome) - 3.6).abs() < 0.02, "{}", mbps(&outcome));
    assert!((outcome.links[0].rate.0 as f64 - 3.6e6).abs() < 1e4, "{:?}", outcome.links[0].rate);
    let resolved = read(&UDP.replace("rate = \"10 Mbit/s\"\n", ""), &name, &sets).unwrap().resolved;
    assert_eq!(resolved["network"]["rate"], "3600 kbit/s");
    assert_eq!(resolved["network"]["access_rate"], "240 Mbit/s", "ten times the fastest millisecond");
}

#[test]
fn csv_gives_times_and_rates_and_the_last_one_lasts() {
    let name = beside("rate.csv", "time_s,rate_bps\n0,8e6\n2.5,2 Mbit/s\n\"5 s\",4000000\n");
    let sets = [("network.trace", "rate.csv")];
    let all = outcome(UDP, &name, &sets);
    // 2.5 s at 8, 2.5 at 2, 5 at 4 Mbit/s.
    assert!((mbps(&all) - 4.5).abs() < 0.03, "{}", mbps(&all));
    assert_eq!(all.links[0].rate.0, 4_500_000);
    // What a rate is taken for that is not given: the mean of the trace, whose last row lasts as long as the one above
    // it, however long the run is: 2.5 s each.
    let of_run = |sets: &[(&str, &str)]| {
        let text = UDP.replace("rate = \"10 Mbit/s\"\n", "");
        read(&text, &name, sets).unwrap().resolved["network"]["rate"].clone()
    };
    assert_eq!(of_run(&sets), "4666666 bit/s");
    assert_eq!(of_run(&[sets[0], ("run.duration", "2 s")]), "4666666 bit/s");
    assert_eq!(of_run(&[sets[0], ("network.trace_period", "5 s")]), "5 Mbit/s");
    let late = beside("late.csv", "0,0\n1,8000000\n");
    assert!(read(UDP, &late, &[("network.trace", "late.csv")]).is_ok());
    let again = outcome(UDP, &name, &[sets[0], ("network.trace_period", "5 s")]);
    assert!((mbps(&again) - 5.0).abs() < 0.03, "{}", mbps(&again));
}

/// That of `wifi` ends with a pause, which would last for ever.
#[test]
fn bundled_traces_begin_anew_at_their_ends() {
    let text = UDP.replace("rate = \"10 Mbit/s\"\n", "");
    for (name, seconds) in [("lte", 60), ("wifi", 10)] {
        let plan = read(&text, "x.toml", &[("network.trace", name)]).unwrap().plan().unwrap();
        let rates = plan.links[0].wire.rates.as_ref().unwrap();
        let period = sluicegate_base::Span::from_secs(seconds);
        assert_eq!(rates.period, Some(period), "{name}");
        assert!(rates.steps.last().unwrap().0 < sluicegate_base::Time::ZERO + period);
    }
}

#[test]
fn a_trace_is_scaled_to_a_mean_rate() {
    let name = beside("scaled.csv", "time_s,rate_bps\n0,8e6\n2.5,2e6\n5,2e6\n7.5,8e6\n");
    let sets = [("network.trace", "scaled.csv"), ("network.trace_mean", "1 Mbit/s")];
    let text = UDP.replace("rate = \"10 Mbit/s\"\n", "");
    assert_eq!(read(&text, &name, &sets).unwrap().resolved["network"]["rate"], "1 Mbit/s");
    assert!((mbps(&outcome(UDP, &name, &sets)) - 1.0).abs() < 0.01, "a run of 10 s sees all of it");
    let told = read(UDP, &name, &sets[1..]).map(|_| ()).unwrap_err().0;
    assert!(told.contains("trace_mean needs trace"), "{told}");
    // A rate of its own replaces the trace of the opposite direction, and what belongs to it.
    let reverse = [sets[0], sets[1], ("network.reverse.rate", "3 Mbit/s")];
    let resolved = read(&text, &name, &reverse).unwrap().resolved;
    assert!(resolved["network"]["reverse"]["trace_mean"].is_null(), "{resolved}");
}

#[test]
fn a_header_may_say_the_units() {
    let whole = "0,8\n2500,2\n5000,4\n";
    for head in ["\u{feff}time_ms,rate_mbps\r\n", "t [ms], rate (Mbit/s)\n", "\"time ms\",\"link rate Mbps\"\n"] {
        let name = beside(
            "units.csv",
            &format!("# made by hand\n{head}{whole}").replacen("# made by hand\n\u{feff}", "\u{feff}", 1),
        );
        assert_eq!(outcome(UDP, &name, &[("network.trace", "units.csv")]).links[0].rate.0, 4_500_000, "{head}");
    }
}

#[test]
fn units_are_understood_as_people_write_them_in_a_header() {
    let whole = "0,8\n2500,2\n5000,4\n";
    for head in [
        "time_msec,rate_mbps",
        "time_ms,rate_mbit",
        "ms,Mbps",
        "timeMs,rateMbps",
        "# time_ms,rate_mbps",
        "# made by hand\n# time in ms, rate in Mbit/s",
        "# time in ms; rate in Mbit/s",
        "# (ms),(Mbps)",
        "(ms),(Mbps)",
        "# col1 = time_ms, col2 = rate_mbps",
        "# time_ms,rate_mbps\ntime,rate",
        "# measured for 60 s at 10 Mbit/s\ntime_ms,rate_mbps",
        "# times are milliseconds\ntime_ms,rate_mbps",
        "Time (milliseconds),Throughput [Mb/s]",
        "timestamp_ms,bandwidth_megabits_per_second",
        "millis,link_MBit/s",
    ] {
        for separator in [",", "\t"] {
            let name = beside("spelled.csv", &format!("{head}\n{whole}").replace(',', separator));
            let mean = outcome(UDP, &name, &[("network.trace", "spelled.csv")]).links[0].rate.0;
            assert_eq!(mean, 4_500_000, "{head:?} {separator:?}");
        }
    }
}

/// They became seconds and bit/s, and nothing said so.
#[test]
fn a_comment_that_may_say_units_but_is_not_understood_is_an_error() {
    for head in ["# time (ms) rate (mbps)", "# times are milliseconds", "# ms", "# the unit is Mbit/s"] {
        let name = beside("unclear.csv", &format!("{head}\n0,8000000\n2500,2000000\n"));
        let error = read(UDP, &name, &[("network.trace", "unclear.csv")]).err().unwrap().0;
        let told = format!(":1: {head:?} seems to name units, but in no known form: say the units in a first line");
        assert!(error.contains(&told), "{error}");
    }
    let name = beside("unclear.csv", "# t_jiffies,rate_pps\n0,8000000\n");
    let error = read(UDP, &name, &[("network.trace", "unclear.csv")]).err().unwrap().0;
    assert!(error.contains(":1: \"t_jiffies\": \"jiffies\" is not a unit here"), "{error}");
    // What stands behind a number is a quantity, and words without units are prose.
    let name = beside("prose.csv", "# driven for 60 s at 10 Mbit/s\n# by hand, in town\n0,8000000\n");
    assert!(read(UDP, &name, &[("network.trace", "prose.csv")]).is_ok());
}

#[test]
fn a_unit_that_is_not_known_is_an_error_with_its_line() {
    let units = "use one of ns, us, ms, s, min, h";
    for (text, told) in [
        ("time_jiffies,rate_mbps\n0,1\n", format!(":1: \"time_jiffies\": \"jiffies\" is not a unit here: {units}")),
        ("time_m,rate_mbps\n0,1\n", format!(":1: \"time_m\": \"m\" is not a unit here: {units}")),
        ("time_ms,rate_mb\n0,1\n", ":1: \"rate_mb\": \"mb\" is not a unit here: use one of bit/s, kbit/s".to_owned()),
        ("timeMs,rateMBps\n0,1\n", ":1: \"rateMBps\": \"MBps\" is not a unit here".to_owned()),
        ("foo,rate_bps\n0,1\n", ":1: \"foo\": neither a name of times, such as \"time\", nor a unit here".to_owned()),
        ("# time_ticks,rate_mbps\n0,1\n", ":1: \"time_ticks\": \"ticks\" is not a unit here".to_owned()),
        ("rate_mbps,time_s\n1,0\n", ":1: \"rate_mbps\", \"time_s\": the time must come first".to_owned()),
        (
            "0,8\n1,2.5\n",
            ":1: rates without a unit are in bit/s here, and the highest would be 8 bit/s: say".to_owned(),
        ),
        ("0 8000000\n1 2e6\n", ":1: rates without a unit are in Mbit/s here, and the highest would be 8000".to_owned()),
        ("time,rate\n0,5\n", ":2: rates without a unit are in bit/s here".to_owned()),
    ] {
        let name = beside("unknown.csv", text);
        let error = read(UDP, &name, &[("network.trace", "unknown.csv")]).err().unwrap().0;
        assert!(error.contains(&told), "{text:?}: {error}");
    }
}

#[test]
fn traces_of_pensieve_are_seconds_and_megabits_a_second_without_a_comma() {
    for (text, what) in [
        ("0 8\n2.5 2\n5.0 4\n", "blanks"),
        ("0.0\t8.0\n2.5\t2.0\n5.0\t4.0\n", "tabs"),
        ("0   8\n2.5  2\n5 \t4\n", "both"),
        ("time_s rate_kbps\n0 8000\n2.5 2000\n5 4000\n", "a header"),
        ("0 s\t8 Mbit/s\n2500 ms\t2 Mbit/s\n5\t4\n", "units and tabs"),
    ] {
        let name = beside("pensieve.txt", text);
        assert_eq!(outcome(UDP, &name, &[("network.trace", "pensieve.txt")]).links[0].rate.0, 4_500_000, "{what}");
    }
    let late = beside("late.txt", "0.5 8\n2.5 2\n");
    let error = read(UDP, &late, &[("network.trace", "late.txt")]).err().unwrap().0;
    assert!(error.contains(":1: the first time must be 0: take 500 ms from each"), "{error}");
}

#[test]
fn what_is_wrong_with_a_trace_is_told_with_its_line() {
    for (text, told) in [
        ("", ": it is empty"),
        ("1\n2\nx\n", ":3: \"x\": must be a whole number of milliseconds"),
        ("5\n3\n", ":2: 3: must not be before the time above it"),
        ("0\n", ": its last time must be above 0"),
        ("0,1e6\n0,2e6\n", ":2: 0 s: must be after the time above it"),
        ("1,1e6\n", ":1: the first time must be 0"),
        ("0,fast\n", ":1: \"0,fast\": its rate must be a rate with its unit"),
        ("0,0\n1,0\n", ": its rate is zero throughout"),
        ("time,rate\n", ": it has no rates"),
        ("0,1,2\n", ":1: \"0,1,2\": must be a time and a rate"),
        ("0,5,\n", "with one comma between them"),
        (
            "time ms rate mbps\n0 5\n",
            ":1: \"time ms rate mbps\": say the units in a first line: time (ms),rate (Mbit/s)",
        ),
        ("time,Mbps (LTE)\n0,5\n", ":1: \"Mbps (LTE)\": nothing may follow the unit"),
        ("Date,rate\n0,5\n", ":1: \"Date\": neither a name of times, such as \"time\", nor a unit here"),
        ("0,0.005\n", ":1: rates without a unit are in bit/s here, and the highest would be 0 bit/s: say"),
        ("-1,3\n0,3\n", ":1: \"-1,3\": its time must be a time with its unit"),
        ("0,1 MB/s\n", ":1: \"0,1 MB/s\": its rate \"MB/s\" is not a unit here"),
        ("time,rate (KB/s)\n", ":1: \"rate (KB/s)\": \"KB/s\" is not a unit here"),
        ("time,rate_KBps\n", ":1: \"rate_KBps\": \"KBps\" is not a unit here"),
        ("0;3\n1;4\n", ":1: \"0;3\": separate the time from the rate by a comma, not a semicolon"),
        ("0 ms 3 Mbit/s\n", ":1: \"0 ms 3 Mbit/s\": separate the time from the rate by a comma"),
    ] {
        let name = beside("wrong.csv", text);
        let error = read(UDP, &name, &[("network.trace", "wrong.csv")]).err().unwrap().0;
        assert!(error.contains(told), "{text:?}: {error}");
    }
    let error = read(UDP, "x.toml", &[("network.trace", "none.csv")]).err().unwrap().0;
    assert!(error.contains("network.trace: \"none.csv\": cannot be read"), "{error}");
    assert!(error.contains("lte, wifi"), "{error}");
    assert!(read(UDP, "x.toml", &[("network.trace", "lte")]).is_ok());
    let error = read(&UDP.replace("rate = \"10 Mbit/s\"\n", ""), "x.toml", &[]).err().unwrap().0;
    assert!(error.contains("network.rate: must be given"), "{error}");
}

#[test]
fn a_resolved_scenario_says_the_trace_of_both_directions() {
    let text = UDP.replace("spread", "direction = \"reverse\"\nspread");
    for sets in [
        &[("network.trace", "lte")][..],
        &[("network.trace", "lte"), ("network.reverse.rate", "3 Mbit/s")],
        &[("network.trace", "lte"), ("network.reverse.trace", "wifi"), ("network.trace_period", "5 s")],
    ] {
        let resolved = read(&text, "x.toml", sets).unwrap().resolved;
        assert_resolves_to_itself(&resolved);
        let trace = &resolved["network"]["reverse"]["trace"];
        assert_eq!(trace.is_null(), sets.len() == 2, "{trace}");
    }
}
