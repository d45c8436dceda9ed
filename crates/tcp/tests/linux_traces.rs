//! Our Linux hosts against the kernel's: for each recording of `tools/linux_traces.py` the same transfer in virtual time, with
//! the same losses, marks, delays and reordering by packet number.
//!
//! What is sent again must be the same, in the same order, and each time within a tenth of the round trip without queues, a
//! tick of the kernel's clock of 4 ms, and the grain of the timers that had to expire until then. [`DIFFERENT`] lists where it is not, with the reason.
//!
//! `SHOW=reno/one_loss cargo test -p sluicegate-tcp --test linux_traces -- --nocapture` prints both side by side.

mod path;

use path::{Fate, Fates, Line, Path};
use sluicegate_base::{Span, Time};
use sluicegate_tcp::{Algorithm, Flags, Host, ProfileName, TcpParams};
use std::collections::BTreeSet;

const MSS: u64 = 1448;

/// A tick of the recorded kernel's clock.
const TICK: u64 = 4_000;

/// Where ours differs, and why.
const DIFFERENT: &[(&str, &str)] =
    &[("bbr/tail_and_probe", EARLIER), ("bbr/late_all", EARLIER), ("bbr/late_all_and_loss", EARLIER)];

/// The same kernel does one or the other from one recording to the next.
const EARLIER: &str = "the receiver's window stops growing a packet earlier or later, depending on when its application reads; \
                       one more acknowledgement then waits 40 ms, which moves the sender's timers";

/// A segment at the sender's end: microseconds, whether it was sent, first byte, bytes, acknowledgement, SACK.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    at: u64,
    sent: bool,
    syn: bool,
    seq: u64,
    len: u64,
    ack: u64,
    sacks: String,
}

/// A recording.
struct Trace {
    name: String,
    segments: u64,
    rate: u64,
    delay: Span,
    ecn: bool,
    data: Fates,
    acks: Fates,
    rows: Vec<Row>,
}

fn fates(text: &str) -> Fates {
    let mut fates = Fates::new();
    for key in text.split(',').filter(|key| *key != "-") {
        let (key, numbers) = key.split_once('=').unwrap();
        for part in numbers.split('+') {
            let (numbers, what) = part.split_once(':').unwrap_or((part, ""));
            let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
            let fate = match key {
                "drop" => Fate::Lost,
                "mark" => Fate::Marked,
                "late" => Fate::Late(Span::from_millis(what.strip_suffix("ms").unwrap().parse().unwrap())),
                "behind" => Fate::Behind(what.parse().unwrap()),
                _ => panic!("{key}"),
            };
            for number in first.parse::<u64>().unwrap()..=last.parse().unwrap() {
                fates.entry(number).or_default().push(fate);
            }
        }
    }
    fates
}

fn traces(algorithm: &str) -> Vec<Trace> {
    let file = format!("{}/../../tests/linux_traces/{algorithm}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut traces: Vec<Trace> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words = line.split_whitespace().collect::<Vec<_>>();
        if words[0] == "pattern" {
            let value = |at: usize| words[at].split_once('=').unwrap().1;
            traces.push(Trace {
                name: words[1].into(),
                segments: value(2).parse().unwrap(),
                rate: value(3).parse().unwrap(),
                delay: Span(value(4).parse::<u64>().unwrap() * 1000),
                ecn: value(5) == "1",
                data: fates(words[6].strip_prefix("data=").unwrap()),
                acks: fates(words[7].strip_prefix("acks=").unwrap()),
                rows: Vec::new(),
            });
            continue;
        }
        let number = |at: usize| words[at].parse().unwrap();
        traces.last_mut().unwrap().rows.push(Row {
            at: number(0),
            sent: words[1] == ">",
            syn: words[2].contains('S'),
            seq: number(3),
            len: number(4),
            ack: number(5),
            sacks: words[6].into(),
        });
    }
    traces
}

fn host(algorithm: Algorithm, ecn: bool) -> Host {
    Host { ecn, ..Host::new(&TcpParams { algorithm: Some(algorithm), ..TcpParams::of(ProfileName::Linux) }) }
}

/// The same transfer between our hosts.
fn ours(trace: &Trace, algorithm: Algorithm) -> Vec<Row> {
    let host = host(algorithm, trace.ecn);
    let line = |fates: &Fates| Line::new(trace.rate, trace.delay, host.header, fates.clone());
    let mut path = Path::new(&host, [line(&trace.data), line(&trace.acks)]);
    path.sender.write(trace.segments * MSS);
    path.closes = true;
    path.run(Time(100_000_000_000));
    let row = |event: &path::Event| {
        let segment = &event.segment;
        let duplicate = segment.options.duplicate(segment.ack).into_iter();
        let ranges = duplicate.chain(segment.sacks.ranges(segment.ack));
        let sacks = ranges.map(|(start, end)| format!("{start}-{end}")).collect::<Vec<_>>().join("+");
        Row {
            at: event.at.0 / 1000,
            sent: event.sent,
            syn: segment.flags.has(Flags::SYN),
            seq: segment.seq,
            len: segment.len.into(),
            ack: segment.ack,
            sacks: if sacks.is_empty() { "-".into() } else { sacks },
        }
    };
    path.events.iter().map(row).collect()
}

/// What was sent again: when, and which byte; the opening counts as `u64::MAX`.
fn again(rows: &[Row]) -> Vec<(u64, u64)> {
    let mut seen = BTreeSet::new();
    let sent = rows.iter().filter(|row| row.sent && (row.syn || row.len > 0));
    sent.map(|row| (row.at, if row.syn { u64::MAX } else { row.seq })).filter(|(_, seq)| !seen.insert(*seq)).collect()
}

/// How coarse the kernel's timers are that were waited for until then: a tick, or eight for those of 63 ticks and more
/// (kernel/time/timer.c), for each silence of two round trips and more.
fn grain(rows: &[Row], until: u64, silence: u64) -> u64 {
    let waits = rows.windows(2).filter(|pair| pair[1].at <= until).map(|pair| pair[1].at - pair[0].at);
    waits.filter(|wait| *wait >= silence).map(|wait| if wait < 50 * TICK { TICK } else { 8 * TICK }).sum()
}

/// What is different of a recording; nothing is as it should be.
fn difference(trace: &Trace, ours: &[Row]) -> Option<String> {
    let (theirs, ours) = (again(&trace.rows), again(ours));
    let which = |list: &[(u64, u64)]| list.iter().map(|(_, seq)| seq / MSS).collect::<Vec<_>>();
    if which(&theirs) != which(&ours) {
        return Some(format!("sends again {:?}, the kernel {:?}", which(&ours), which(&theirs)));
    }
    // The least round trip: the link's delays; with what waits in its queue it is longer.
    let rtt = trace.delay.0 / 1000 * 2;
    let allowed = |at| rtt / 10 + TICK + grain(&trace.rows, at, 2 * rtt);
    let late = theirs.iter().zip(&ours).find(|(theirs, ours)| theirs.0.abs_diff(ours.0) > allowed(theirs.0));
    late.map(|(theirs, ours)| format!("sends {} again at {} us, the kernel at {} us", ours.1 / MSS, ours.0, theirs.0))
}

fn show(trace: &Trace, ours: &[Row]) {
    let text = |row: &Row| {
        let way = if row.sent { '>' } else { '<' };
        let (seq, len) = (row.seq as f64 / MSS as f64, row.len);
        let syn = if row.syn { " SYN" } else { "" };
        if row.len > 0 {
            format!("{:>9} {way} {seq} ({len}){syn}", row.at)
        } else {
            let sacks = row.sacks.split('+').filter(|sack| *sack != "-").map(|sack| {
                let (start, end) = sack.split_once('-').unwrap();
                format!("{}-{}", start.parse::<u64>().unwrap() / MSS, end.parse::<u64>().unwrap() / MSS)
            });
            format!(
                "{:>9} {way} ack {} {}{syn}",
                row.at,
                row.ack as f64 / MSS as f64,
                sacks.collect::<Vec<_>>().join(" ")
            )
        }
    };
    for at in 0..trace.rows.len().max(ours.len()) {
        let cell = |rows: &[Row]| rows.get(at).map(text).unwrap_or_default();
        println!("{:<46} | {}", cell(&trace.rows), cell(ours));
    }
}

fn compare(name: &str, algorithm: Algorithm) {
    let asked = std::env::var("SHOW").ok();
    let (mut wrong, mut right, all) = (Vec::new(), Vec::new(), traces(name));
    for trace in &all {
        let rows = ours(trace, algorithm);
        let full = format!("{name}/{}", trace.name);
        if asked.as_deref() == Some(&full) {
            show(trace, &rows);
        }
        let known = DIFFERENT.iter().any(|(different, _)| *different == full);
        match difference(trace, &rows) {
            Some(what) if !known => wrong.push(format!("{full}: {what}")),
            None if known => right.push(full),
            _ => {}
        }
    }
    assert!(all.len() >= 30);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
    assert!(right.is_empty(), "listed as different, and is not: {right:?}");
}

#[test]
fn reno_is_the_kernels() {
    compare("reno", Algorithm::Reno);
}

#[test]
fn cubic_is_the_kernels() {
    compare("cubic", Algorithm::Cubic);
}

#[test]
fn bbr_is_the_kernels() {
    compare("bbr", Algorithm::Bbr);
}

/// The comparison sees what it should see.
#[test]
fn a_difference_is_found() {
    let all = traces("reno");
    let trace = all.iter().find(|trace| trace.name == "one_loss").unwrap();
    let rows = ours(trace, Algorithm::Reno);
    let clean = rows.iter().filter(|row| !row.sent || row.len == 0).cloned().collect::<Vec<_>>();
    assert!(difference(trace, &clean).is_some());
    let late = rows.iter().map(|row| Row { at: row.at + 20_000, ..row.clone() }).collect::<Vec<_>>();
    assert!(difference(trace, &late).is_some());
}
