//! Files of a link's rate over time: traces of Mahimahi, and tables of time and rate.
//!
//! | file | a line | units |
//! |---|---|---|
//! | a trace of Mahimahi (Netravali et al. 2015) | when a packet of 1500 bytes could leave | ms |
//! | CSV | a time, a comma, a rate | of the number itself, else of the header, else s and bit/s |
//! | a trace of Pensieve (Mao et al. 2017) | a time, blanks or a tab, a rate | the same, else s and Mbit/s |

use sluicegate_base::{Rate, Span, Time, quantity};
use sluicegate_netsim::Rates;
use std::sync::Arc;

/// What separates a time from a rate; a semicolon is refused by name.
const SEPARATORS: [char; 4] = [',', ';', '\t', ' '];
/// Bytes of IP that an opportunity of Mahimahi's delivers.
const OPPORTUNITY: u64 = 1500;
/// The longest trace, in steps.
const MOST: usize = 20_000_000;

/// What a file describes.
pub(crate) struct Trace {
    rates: Rates,
    /// Up to its end. The last row of a table lasts as long as the row above it for that.
    mean: Rate,
}

impl Trace {
    fn new(steps: Arc<[(Time, Rate)]>, period: Option<Span>, length: Span) -> Result<Trace, (usize, String)> {
        let ends = steps.iter().skip(1).map(|(time, _)| time.0).chain([length.0]);
        let carried: u128 =
            steps.iter().zip(ends).map(|((time, rate), end)| u128::from(end - time.0) * u128::from(rate.0)).sum();
        match (carried / u128::from(length.0)) as u64 {
            0 => Err((0, "its rate is zero throughout".to_owned())),
            mean => Ok(Trace { rates: Rates { steps, period }, mean: Rate(mean) }),
        }
    }

    /// Its rates, and their mean: as they are, or scaled to this mean.
    pub fn scaled(self, mean: Option<Rate>) -> (Rates, Rate) {
        let Some(wanted) = mean else { return (self.rates, self.mean) };
        let scaled = |rate: Rate| u128::from(rate.0) * u128::from(wanted.0) / u128::from(self.mean.0);
        let steps =
            self.rates.steps.iter().map(|(time, rate)| (*time, Rate(scaled(*rate).min(u64::MAX.into()) as u64)));
        (Rates { steps: steps.collect(), ..self.rates }, wanted)
    }
}

/// The rates that a text describes; an error names the line, 0 for the whole.
pub(crate) fn parse(text: &str, period: Option<Span>) -> Result<Trace, (usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = || text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let first = lines().find(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let Some((_, line)) = first else { return Err((0, "it is empty".to_owned())) };
    let rows = lines().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    if !line.contains(SEPARATORS) {
        return mahimahi(rows, period);
    }
    let comments = lines().take_while(|(_, line)| line.is_empty() || line.starts_with('#'));
    let (mut units, mut unclear) = (Units::default(), None);
    for (at, line) in comments {
        match header_in_comment(line.trim_start_matches('#').trim()) {
            Some(found) => units = found.map_err(|rule| (at, rule))?.or(units),
            None if names_a_unit(line) => unclear = Some((at, line)),
            None => {}
        }
    }
    let (rates, assumed) = table(rows, units, period)?;
    match unclear.filter(|_| assumed) {
        Some((at, line)) => Err((at, format!("{line:?} seems to name units, but in no known form: {SAY_UNITS}"))),
        None => Ok(rates),
    }
}

/// A trace of Mahimahi: each line the millisecond of an opportunity to deliver a packet.
fn mahimahi<'a>(lines: impl Iterator<Item = (usize, &'a str)>, period: Option<Span>) -> Result<Trace, (usize, String)> {
    let mut times: Vec<u64> = Vec::new();
    for (at, line) in lines {
        let time = line.parse::<u32>().map_err(|_| {
            (
                at,
                format!(
                    "{line:?}: must be a whole number of milliseconds, or a time and a rate with a comma, a tab or blanks between them"
                ),
            )
        })?;
        let time = u64::from(time);
        if times.last().is_some_and(|last| *last > time) {
            return Err((at, format!("{time}: must not be before the time above it")));
        }
        times.push(time);
    }
    let last = *times.last().expect("a line");
    let whole = period.map_or(last, |period| period.0.div_ceil(1_000_000));
    if whole == 0 {
        return Err((0, "its last time must be above 0".to_owned()));
    }
    if whole > MOST as u64 {
        return Err((0, "it is longer than five hours and a half".to_owned()));
    }
    // The millisecond that ends with the opportunity; one at time 0 is that of the end, from the second round on.
    let mut counts = vec![0u64; whole as usize];
    for time in times {
        let bin = if time == 0 { whole - 1 } else { time - 1 };
        if let Some(count) = counts.get_mut(bin as usize) {
            *count += 1;
        }
    }
    let step = |(at, count): (usize, &u64)| (Time(at as u64 * 1_000_000), Rate(count * OPPORTUNITY * 8000));
    let period = period.unwrap_or(Span(whole * 1_000_000));
    Trace::new(merged(counts.iter().enumerate().map(step)), Some(period), period)
}

/// The units that a header names.
#[derive(Clone, Copy, Default)]
struct Units {
    time: Option<&'static str>,
    rate: Option<&'static str>,
}

impl Units {
    /// These, and `other` ones where they say none.
    fn or(self, other: Units) -> Units {
        Units { time: self.time.or(other.time), rate: self.rate.or(other.rate) }
    }
}

const SAY_UNITS: &str = "say the units in a first line: time (ms),rate (Mbit/s)";

/// The cells of a line of a table.
fn cells(line: &str) -> Vec<&str> {
    let cells: Vec<&str> = match [',', '\t'].into_iter().find(|separator| line.contains(*separator)) {
        Some(separator) => line.split(separator).collect(),
        None => line.split_whitespace().collect(),
    };
    cells.into_iter().map(|cell| cell.trim().trim_matches('"')).collect()
}

/// What is wrong with a line that is not two cells.
fn not_two_cells(line: &str) -> String {
    let rule = if line.contains(';') {
        "separate the time from the rate by a comma, not a semicolon"
    } else if line.split([',', '\t', ' ']).all(|cell| !cell.contains(|c: char| c.is_ascii_digit())) {
        SAY_UNITS
    } else if !line.contains(',') {
        "separate the time from the rate by a comma if the line has more than two words"
    } else {
        "must be a time and a rate with one comma between them, and points in numbers"
    };
    format!("{line:?}: {rule}")
}

/// Times and rates, and whether a unit was assumed. A number without a unit has that of the header; without one there it is in seconds, or in bit/s after a
/// comma and in Mbit/s after blanks.
fn table<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
    mut units: Units,
    period: Option<Span>,
) -> Result<(Trace, bool), (usize, String)> {
    let mut steps: Vec<(Time, Rate)> = Vec::new();
    let (mut assumed, mut positive) = ([None; 2], false);
    for (count, (at, line)) in lines.enumerate() {
        let [time, rate] = cells(line)[..] else {
            return Err((at, not_two_cells(line)));
        };
        if count == 0 && [time, rate].iter().all(|cell| is_name(cell)) {
            units = header(time, rate).map_err(|rule| (at, rule))?.or(units);
            continue;
        }
        let usual = if line.contains(',') { "bit/s" } else { "Mbit/s" };
        for (kind, (cell, unit)) in [(time, units.time), (rate, units.rate)].into_iter().enumerate() {
            if unit.is_none() && cell.parse::<f64>().is_ok() {
                assumed[kind].get_or_insert((at, usual));
            }
        }
        positive |= rate.parse::<f64>().is_ok_and(|rate| rate > 0.0);
        let [time, rate] =
            [(time, units.time.unwrap_or("s")), (rate, units.rate.unwrap_or(usual))].map(|(cell, unit)| {
                match cell.parse::<f64>() {
                    Ok(_) => format!("{cell} {unit}"),
                    Err(_) => cell.to_owned(),
                }
            });
        let told = |what, rule| (at, format!("{line:?}: {what} {rule}"));
        let time = quantity::span(&time).map_err(|rule| told("its time", rule))?;
        let rate = quantity::rate(&rate).map_err(|rule| told("its rate", rule))?;
        match steps.last() {
            None if time > Span::ZERO => {
                return Err((at, format!("the first time must be 0: take {time} from each")));
            }
            Some((last, _)) if *last >= Time(time.0) => {
                return Err((at, format!("{time}: must be after the time above it")));
            }
            _ => steps.push((Time(time.0), rate)),
        }
        if steps.len() > MOST {
            return Err((at, format!("more than {MOST} lines")));
        }
    }
    let Some(fastest) = steps.iter().map(|(_, rate)| *rate).max() else {
        return Err((0, "it has no rates".to_owned()));
    };
    if let Some((at, unit)) = assumed[1].filter(|_| positive && !PLAUSIBLE.contains(&fastest.0)) {
        return Err((
            at,
            format!("rates without a unit are in {unit} here, and the highest would be {fastest}: {SAY_UNITS}"),
        ));
    }
    let last = steps[steps.len() - 1].0;
    let before = steps.len().checked_sub(2).map_or(Time::ZERO, |at| steps[at].0);
    let length = period.unwrap_or(Span((last.0.saturating_add(last.0 - before.0)).max(1)));
    steps.retain(|(time, _)| time.0 < length.0);
    Ok((Trace::new(merged(steps.into_iter()), period, length)?, assumed != [None; 2]))
}

/// The highest rate of a trace, where nobody says its unit: a link of less or more is no link, but a mistaken unit.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1_000..=100_000_000_000;

/// The units of a table's columns.
fn header(time: &str, rate: &str) -> Result<Units, String> {
    if unit(time, rate_unit).is_some() && unit(rate, time_unit).is_some() {
        return Err(format!("{time:?}, {rate:?}: the time must come first"));
    }
    Ok(Units {
        time: column(time, time_unit, ["time", "times", &TIME_UNITS.join(", ")])?,
        rate: column(rate, rate_unit, ["rate", "rates", &RATE_UNITS.join(", ")])?,
    })
}

/// Whether a cell of a first line is the name of a column.
fn is_name(cell: &str) -> bool {
    cell.trim_start_matches(['(', '[']).starts_with(char::is_alphabetic)
}

/// The units that a comment names, if it is a header: a unit of time, then one of rate, neither behind a number; or two
/// names without numbers, of which one has a unit or both are words of a header.
fn header_in_comment(line: &str) -> Option<Result<Units, String>> {
    let split: Vec<&str> = line.split(';').map(str::trim).collect();
    let cells = if split.len() == 2 { split } else { cells(line) };
    let [time, rate] = cells[..] else { return None };
    if let (Some(of_time), Some(of_rate)) = (unit(time, time_unit), unit(rate, rate_unit)) {
        let units = Units { time: Some(of_time), rate: Some(of_rate) };
        let counted = |name: &str| counts(name.trim_end_matches(|c: char| !c.is_whitespace()));
        return (!counted(time) && !counted(rate)).then_some(Ok(units));
    }
    let named = |name: &str| is_name(name) && !name.contains(|c: char| c.is_ascii_digit());
    let plain = |name: &str| !name.contains(' ') && name.split('_').next().is_some_and(is_plain);
    let any = [time, rate].iter().any(|name| unit(name, time_unit).or(unit(name, rate_unit)).is_some());
    (named(time) && named(rate) && (any || plain(time) && plain(rate))).then(|| header(time, rate))
}

/// Whether a text ends with a number, which makes what follows it a quantity.
fn counts(before: &str) -> bool {
    before.split_whitespace().last().is_some_and(|word| word.parse::<f64>().is_ok())
}

/// Whether a comment has a unit that stands behind no number.
fn names_a_unit(line: &str) -> bool {
    let words: Vec<&str> =
        line.split(|c: char| c.is_whitespace() || "#,;:=_()[]\"".contains(c)).filter(|word| !word.is_empty()).collect();
    let unit = |word: &str| time_unit(word).or(rate_unit(word)).is_some();
    words.iter().enumerate().any(|(at, word)| unit(word) && !(at > 0 && counts(words[at - 1])))
}

/// The unit that a column's name says, as in `time_ms`, `rate (Mbit/s)`, `rateMbps`; none if it is only named. An error
/// when it may be a unit, but none that is known here.
fn column(
    name: &str,
    known: fn(&str) -> Option<&'static str>,
    [one, many, all]: [&str; 3],
) -> Result<Option<&'static str>, String> {
    if let Some(unit) = unit(name, known) {
        return Ok(Some(unit));
    }
    let starts = starts(name);
    let ends = starts.iter().skip(1).copied().chain([name.len()]);
    let word = |(start, end): (usize, usize)| name[start..end].trim_end_matches(|c: char| !c.is_alphanumeric());
    let words: Vec<(usize, &str)> = starts.iter().copied().zip(ends).map(|span| (span.0, word(span))).collect();
    if words.iter().any(|(_, word)| known(word).is_some()) {
        return Err(format!("{name:?}: nothing may follow the unit: {SAY_UNITS}"));
    }
    let unknown = words.iter().find(|(_, word)| !word.is_empty() && !is_plain(word));
    match unknown {
        None => Ok(None),
        Some((0, _)) => {
            Err(format!("{name:?}: neither a name of {many}, such as {one:?}, nor a unit here: use one of {all}"))
        }
        Some((start, _)) => {
            let end = name[*start..].trim_end_matches([')', ']']);
            Err(format!("{name:?}: {end:?} is not a unit here: use one of {all}"))
        }
    }
}

/// The unit that a name is or ends with.
fn unit(name: &str, known: fn(&str) -> Option<&'static str>) -> Option<&'static str> {
    let name = name.trim_end_matches([')', ']']).trim();
    starts(name).into_iter().find_map(|start| known(&name[start..]))
}

/// Where the words of a name begin: `rate_mbps`, `rate (Mbit/s)`, `rateMbps`.
fn starts(name: &str) -> Vec<usize> {
    let mut before = '_';
    let mut starts = Vec::new();
    for (at, c) in name.char_indices() {
        if c.is_alphanumeric() && (!before.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase())) {
            starts.push(at);
        }
        before = c;
    }
    starts
}

fn is_plain(word: &str) -> bool {
    PLAIN.contains(&word.to_lowercase().as_str())
}

/// Words of a column's name that say no unit.
const PLAIN: [&str; 16] = [
    "time",
    "times",
    "timestamp",
    "t",
    "elapsed",
    "rate",
    "rates",
    "bitrate",
    "bandwidth",
    "bw",
    "capacity",
    "throughput",
    "speed",
    "link",
    "uplink",
    "downlink",
];

const TIME_UNITS: [&str; 6] = ["ns", "us", "ms", "s", "min", "h"];
const RATE_UNITS: [&str; 4] = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];

/// A unit of time, as people write it in names.
fn time_unit(word: &str) -> Option<&'static str> {
    Some(match word.to_lowercase().as_str() {
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => "ns",
        "us" | "µs" | "μs" | "usec" | "usecs" | "microsecond" | "microseconds" => "us",
        "ms" | "msec" | "msecs" | "millis" | "millisecond" | "milliseconds" => "ms",
        "s" | "sec" | "secs" | "second" | "seconds" => "s",
        "min" | "mins" | "minute" | "minutes" => "min",
        "h" | "hr" | "hrs" | "hour" | "hours" => "h",
        _ => return None,
    })
}

/// A unit of rate, as people write it in names. A capital B means bytes, unless it begins "Bit".
fn rate_unit(words: &str) -> Option<&'static str> {
    if words.replace("Bit", "bit").contains('B') {
        return None;
    }
    let lower = words.to_lowercase().replace('_', " ").replace(" per ", "/");
    let prefixes = [("giga", 3), ("mega", 2), ("kilo", 1), ("g", 3), ("m", 2), ("k", 1), ("", 0)];
    prefixes.iter().find_map(|(prefix, at)| match lower.strip_prefix(prefix)? {
        "bps" | "b/s" | "b/sec" | "bit" | "bits" | "bitps" | "bit/s" | "bits/s" | "bit/sec" | "bits/sec"
        | "bit/second" | "bits/second" => Some(RATE_UNITS[*at]),
        _ => None,
    })
}

/// Steps without those at which nothing changes.
fn merged(steps: impl Iterator<Item = (Time, Rate)>) -> Arc<[(Time, Rate)]> {
    let mut kept: Vec<(Time, Rate)> = Vec::new();
    for (time, rate) in steps {
        if kept.last().is_none_or(|(_, last)| *last != rate) {
            kept.push((time, rate));
        }
    }
    kept.into()
}
