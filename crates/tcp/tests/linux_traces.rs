//! Our Linux hosts against the kernel's: for each recording of `tools/linux_traces.py` the same transfer in virtual time, with
//! the same losses, marks, delays and reordering by packet number, and the clock of both ends where the kernel's was.
//!
//! All that the sender's end of the link saw must be the same: each segment that was sent, with its flags, in the same order,
//! and each that arrived, with its acknowledgement, SACK ranges and window; and each at the same time within [`LATE`].
//! [`DIFFERENT`] lists where it is not, with the reason, and how much of it is the same: no more and no less. How many agree
//! is in the manual's table.
//!
//! `SHOW=reno/one_loss cargo test -p sluicegate-tcp --test all linux_traces -- --nocapture` prints both side by side.

use crate::path::{Event, Exchange, Fate, Fates, Line, Path};
use sluicegate_base::{Span, Time};
use sluicegate_tcp::segment::Options;
use sluicegate_tcp::{Algorithm, Flags, Host, ProfileName, TcpParams};

const MSS: u64 = 1448;

/// What the recorded link and the stacks' own processing may add on each way, in microseconds: it is not known better, and
/// whether a packet comes before or after the end of a round trip may depend on it.
const LATENCIES: [u64; 7] = [40, 20, 0, 10, 30, 50, 60];

/// How far a segment may be from its time, in microseconds: what threads are late by on a busy machine.
const LATE: u64 = 2_000;

/// A tick of the recorded kernel's clock: a timer may fire one late, when the other processor counts the ticks.
const TICK: u64 = 4_000;

/// A silence that a timer ends: longer than a round trip and what waits before it.
const WAIT: u64 = 60_000;

/// A recording, and what of it is the same.
type Pinned = (&'static str, [usize; 3]);

/// Where ours differs, by the reason; and how many rows are the same from the first on: of those that were sent, but for PSH;
/// of those that were sent; and of those that arrived.
const DIFFERENT: &[(&str, &[Pinned])] = &[
    (
        "the receiver's estimate of a round trip ends within 0.1 ms of a packet: whether before or after it decides how far the \
         window grows, and which acknowledgements are quick; the same kernel does both",
        &[
            ("reno/marked_often", [203, 168, 122]),
            ("reno/reorder_5", [204, 204, 128]),
            ("reno/single_reorder_3", [204, 204, 122]),
            ("cubic/two_losses", [205, 187, 188]),
            ("cubic/two_losses_apart", [205, 205, 135]),
            ("cubic/three_losses", [206, 206, 139]),
            ("cubic/five_losses", [208, 204, 138]),
            ("cubic/mark_and_loss", [204, 204, 135]),
            ("bbr/first_data_lost", [204, 204, 101]),
            ("bbr/lost_repair", [206, 206, 110]),
            ("bbr/mark_and_loss", [204, 204, 150]),
        ],
    ),
    (
        "an acknowledgement and a tick of the clock are within 0.1 ms of each other, and the recorded machine has the other first",
        &[("reno/first_data_lost", [204, 141, 85]), ("cubic/single_two_losses_apart", [205, 205, 134])],
    ),
    (
        "BBR's pace lets a burst go at another time: within 0.05 ms before an acknowledgement that ours has first (two_losses, \
         lost_repair_twice, reorder_often), one packet between two acknowledgements (acks_lost), at the end of a recovery \
         (burst_of_twenty); why is not known, and it is not jitter alone: three of these were the same in each of three recordings",
        &[
            ("bbr/two_losses", [122, 122, 113]),
            ("bbr/burst_of_twenty", [224, 208, 194]),
            ("bbr/lost_repair_twice", [207, 183, 158]),
            ("bbr/reorder_often", [204, 104, 111]),
            ("bbr/acks_lost", [203, 181, 163]),
        ],
    ),
    (
        "a packet was late by 0.6 ms in the recording, so that an acknowledgement that was held back went with the next one",
        &[("cubic/one_loss", [204, 204, 85])],
    ),
    (
        "the window after two losses is one segment smaller; why is not known",
        &[("exchange/page_lost", [159, 159, 108])],
    ),
];

/// A segment at the sender's end: microseconds, whether it was sent, and what it says.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    at: u64,
    sent: bool,
    says: String,
}

/// A recording.
struct Trace {
    name: String,
    segments: u64,
    rate: u64,
    delay: Span,
    ecn: bool,
    gso: bool,
    phase: Span,
    data: Fates,
    acks: Fates,
    exchange: Option<Exchange>,
    rows: Vec<Row>,
}

/// Requests and replies, as the tool writes them.
fn exchange(count: u64, text: &str) -> Exchange {
    let [request, reply, think, pause] = text.split(',').map(|word| word.parse().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("{text}")
    };
    Exchange::new(count, [request, reply], [think, pause].map(Span::from_millis))
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
        if let Some(pattern) = line.strip_prefix("pattern ") {
            let words = pattern.split_whitespace().collect::<Vec<_>>();
            let find = |key: &str| words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
            let value = |key| find(key).unwrap();
            let number = |key| value(key).parse::<u64>().unwrap();
            traces.push(Trace {
                name: words[0].into(),
                segments: number("segments"),
                rate: number("rate"),
                delay: Span(number("delay") * 1000),
                ecn: number("ecn") == 1,
                gso: number("gso") == 1,
                phase: Span(number("phase") * 1000),
                data: fates(value("data")),
                acks: fates(value("acks")),
                exchange: find("exchange").map(|text| exchange(number("segments"), text)),
                rows: Vec::new(),
            });
            continue;
        }
        let (at, says) = line.split_once(' ').unwrap();
        let (sent, mut says) = (says.starts_with('>'), says[2..].to_string());
        if sent && says.starts_with(". ") && says.ends_with(" 0") {
            // What a bare acknowledgement's sequence number is does not matter.
            says = ". 0 0".into();
        }
        let row = Row { at: at.parse().unwrap(), sent, says };
        traces.last_mut().unwrap().rows.push(row);
    }
    traces
}

fn host(algorithm: Algorithm, trace: &Trace) -> Host {
    let params = TcpParams { algorithm: Some(algorithm), gso: trace.gso, ..TcpParams::of(ProfileName::Linux) };
    Host { ecn: trace.ecn, ..Host::new(&params) }
}

/// What a segment says, as the tool writes it.
fn says(event: &Event) -> String {
    let segment = &event.segment;
    let has = |flag| segment.flags.has(flag);
    let syn = has(Flags::SYN);
    let letters = [
        ("S", syn),
        ("F", has(Flags::FIN)),
        ("P", segment.options.has(Options::PUSH)),
        ("E", has(Flags::ECE)),
        ("C", has(Flags::CWR)),
    ];
    let mut flags = letters.iter().filter(|(_, on)| *on).map(|(letter, _)| *letter).collect::<String>();
    if flags.is_empty() {
        flags = ".".into();
    }
    if event.sent {
        return format!("{flags} {} {}", segment.seq, segment.len);
    }
    let duplicate = segment.duplicate().into_iter();
    let ranges = duplicate.chain(segment.ranges());
    let mut sacks = ranges.map(|(start, end)| format!("{start}-{end}")).collect::<Vec<_>>().join("+");
    if sacks.is_empty() {
        sacks = "-".into();
    }
    let data = if segment.len > 0 { format!(" {} {}", segment.seq, segment.len) } else { String::new() };
    format!("{flags} {} {sacks} {}{data}", if syn { 0 } else { segment.ack }, { segment.options.window })
}

/// Times since the request before: of exchanges, whose applications take tenths of a millisecond that add up.
fn since_requests(rows: &mut [Row]) {
    let (mut request, mut replied) = (0, true);
    for row in rows {
        let at = row.at;
        row.at -= request;
        match row.sent {
            true if replied && !row.says.ends_with(" 0") => (request, replied) = (at, false),
            true => {}
            false => replied |= row.says.split(' ').count() > 4,
        }
    }
}

/// The same transfer between our hosts.
fn ours(trace: &Trace, algorithm: Algorithm, latency: u64) -> Vec<Row> {
    let host = host(algorithm, trace);
    let line = |fates: &Fates| Line::new(trace.rate, trace.delay + Span(latency * 1000), host.header, fates.clone());
    let mut path = Path::in_phase(&host, trace.phase, [line(&trace.data), line(&trace.acks)]);
    path.exchange = trace.exchange;
    if path.exchange.is_none() {
        path.sender.write(trace.segments * MSS);
        path.closes = true;
    }
    path.run(Time(100_000_000_000));
    // A recording stops a tenth of a second after the connection is closed.
    let end = trace.rows.last().unwrap().at + 100_000;
    let rows = path.events.iter().map(|event| Row { at: event.at.0 / 1000, sent: event.sent, says: says(event) });
    let mut rows = rows.filter(|row| row.at <= end).collect::<Vec<_>>();
    if trace.exchange.is_some() {
        since_requests(&mut rows);
    }
    rows
}

/// The rows of one way.
fn way(rows: &[Row], sent: bool) -> Vec<Row> {
    rows.iter().filter(|row| row.sent == sent).cloned().collect()
}

/// How many rows of one way are the same from the first on.
fn same(theirs: &[Row], ours: &[Row]) -> usize {
    theirs.iter().zip(ours).take_while(|(theirs, ours)| theirs.says == ours.says).count()
}

/// The rows that are the same, as [`DIFFERENT`] has them.
fn agreement(trace: &Trace, ours: &[Row]) -> [usize; 3] {
    let unpushed = |rows: &Vec<Row>| -> Vec<Row> {
        rows.iter().map(|row| Row { says: row.says.replace(['P', '.'], ""), ..row.clone() }).collect()
    };
    let [sent, arrived] = [true, false].map(|sent| [way(&trace.rows, sent), way(ours, sent)]);
    let data = sent.each_ref().map(unpushed);
    [data, sent, arrived].map(|[theirs, ours]| same(&theirs, &ours))
}

/// What is different of a recording; nothing is as it should be. Which of two rows came first is compared on each way, and
/// between ways by their times alone: not where they are nearer to each other than these may be off.
fn difference(trace: &Trace, ours: &[Row]) -> Option<String> {
    for sent in [true, false] {
        let (theirs, ours) = (way(&trace.rows, sent), way(ours, sent));
        let what = if sent { "sent" } else { "arrived" };
        let same = same(&theirs, &ours);
        if same < theirs.len().max(ours.len()) {
            let row =
                |rows: &[Row]| rows.get(same).map_or("nothing".into(), |row| format!("{} at {} us", row.says, row.at));
            let (all, of) = (theirs.len(), ours.len());
            return Some(format!("{what} {same} of {all} ({of}): {}, the kernel {}", row(&ours), row(&theirs)));
        }
        let waits = |at| trace.rows.windows(2).filter(move |pair| pair[1].at <= at && pair[1].at > pair[0].at + WAIT);
        let late =
            |(theirs, ours): &(&Row, &Row)| theirs.at.abs_diff(ours.at) > LATE + TICK * waits(theirs.at).count() as u64;
        if let Some((theirs, ours)) = theirs.iter().zip(&ours).find(late) {
            return Some(format!("{what} {} at {} us, the kernel at {} us", ours.says, ours.at, theirs.at));
        }
    }
    None
}

fn show(trace: &Trace, ours: &[Row]) {
    for at in 0..trace.rows.len().max(ours.len()) {
        let cell = |rows: &[Row]| {
            let text = |row: &Row| format!("{:>8} {} {}", row.at, if row.sent { '>' } else { '<' }, row.says);
            rows.get(at).map(text).unwrap_or_default()
        };
        println!("{:<60} | {}", cell(&trace.rows), cell(ours));
    }
}

/// `title`: of the row in the manual's table.
fn compare(name: &str, title: &str, algorithm: Algorithm) {
    let asked = std::env::var("SHOW").ok();
    let (mut wrong, mut right, all) = (Vec::new(), Vec::new(), traces(name));
    let count = all.len();
    let [mut data, mut acks] = [count; 2];
    for mut trace in all {
        let full = format!("{name}/{}", trace.name);
        let all = LATENCIES.map(|latency| ours(&trace, algorithm, latency));
        if trace.exchange.is_some() {
            since_requests(&mut trace.rows);
        }
        let trace = &trace;
        let rows = all.iter().find(|rows| difference(trace, rows).is_none()).unwrap_or(&all[0]);
        if asked.as_deref() == Some(&full) {
            show(trace, rows);
        }
        let known = DIFFERENT.iter().flat_map(|(_, names)| *names).find(|(name, _)| *name == full);
        match (difference(trace, rows), known) {
            (Some(what), None) => wrong.push(format!("{full}: {what}")),
            (None, Some(_)) => right.push(full),
            (Some(what), Some((_, pinned))) => {
                let agreements = all.each_ref().map(|rows| agreement(trace, rows));
                let agree = *agreements.iter().max().unwrap();
                let some = |way: usize, length| agreements.iter().any(|agree| agree[way] == length);
                data -= usize::from(!some(0, way(&trace.rows, true).len()));
                acks -= usize::from(!some(2, way(&trace.rows, false).len()));
                if agree != *pinned {
                    wrong.push(format!("{full}: {agree:?} rows are the same, {pinned:?} were ({what})"));
                }
            }
            (None, None) => {}
        }
    }
    assert!(count >= 10);
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(right.is_empty(), "listed as different, and is not: {right:?}");
    let same =
        count - DIFFERENT.iter().flat_map(|(_, names)| *names).filter(|(full, _)| full.starts_with(name)).count();
    let row = format!("| {title} | {count} | {same} | {data} | {acks} |");
    assert!(include_str!("../../../docs/linux-hosts.md").contains(&row), "the manual lacks this row:\n{row}");
}

#[test]
fn reno_is_the_kernels() {
    compare("reno", "Reno", Algorithm::Reno);
}

#[test]
fn cubic_is_the_kernels() {
    compare("cubic", "CUBIC", Algorithm::Cubic);
}

#[test]
fn bbr_is_the_kernels() {
    compare("bbr", "BBR", Algorithm::Bbr);
}

#[test]
fn requests_and_replies_are_the_kernels() {
    compare("exchange", "requests and replies", Algorithm::Cubic);
}

#[test]
fn the_readme_counts_the_recordings_that_agree() {
    let count: usize = ["reno", "cubic", "bbr", "exchange"].map(|name| traces(name).len()).iter().sum();
    let same = count - DIFFERENT.iter().map(|(_, names)| names.len()).sum::<usize>();
    let words = format!("{same} of {count} recorded transfers agree in every segment and ACK");
    assert!(include_str!("../../../README.md").contains(&words), "the README lacks: {words}");
}

/// The comparison sees what it should see: a segment that is missing, one that is late, a window that is another.
#[test]
fn a_difference_is_found() {
    let all = traces("reno");
    let trace = all.iter().find(|trace| trace.name == "clean").unwrap();
    let rows = LATENCIES.map(|latency| ours(trace, Algorithm::Reno, latency));
    let rows = rows.into_iter().find(|rows| difference(trace, rows).is_none()).unwrap();
    for at in [20, 21, 22, 100, 200] {
        let mut missing = rows.clone();
        missing.remove(at);
        assert!(difference(trace, &missing).is_some());
        let mut late = rows.clone();
        late[at].at += 2 * LATE;
        assert!(difference(trace, &late).is_some());
        let mut other = rows.clone();
        other[at].says.push('0');
        assert!(difference(trace, &other).is_some());
    }
}
