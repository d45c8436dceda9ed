//! Changes of a text that leave it more or less a scenario: whole lines come, go and get other values.
//!
//! Changes of bytes alone hardly get past the TOML: the fuzzer would spend its time there.

use sluicegate_base::Stream;
use sluicegate_base::params::{Field, Kind, Table};
use sluicegate_lab::changes::ChangeEntry;
use sluicegate_lab::flows::{COMMON, SOURCES};
use sluicegate_lab::network::{Network, NetworkLink, Run};

const HEADERS: &[&str] =
    &["[network]", "[[network.links]]", "[queue]", "[queue.python]", "[[flows]]", "[run]", "[[changes]]"];

/// Values of no kind in particular, and at the edges of all.
const ODD: &[&str] =
    &["0", "-1", "1e400", "nan", "\"\"", "9223372036854775807", "[]", "{}", "[\"a\"]", "1979-05-27", "0x7f"];

/// Every table and what a dotted key begins with in it.
fn tables() -> Vec<(String, Table)> {
    let mut all = vec![
        ("network.".to_owned(), Table::of::<Network>()),
        ("network.links.0.".to_owned(), Table::of::<NetworkLink>()),
        ("run.".to_owned(), Table::of::<Run>()),
        ("changes.0.".to_owned(), Table::of::<ChangeEntry>()),
    ];
    for entry in sluicegate_aqm::all() {
        all.push((format!("queue.{}.", entry.table.about.name), entry.table));
        all.push(("queue.".to_owned(), entry.table));
    }
    for table in SOURCES.iter().copied().flatten().chain(COMMON) {
        all.extend((0..3).map(|group| (format!("flows.{group}."), *table)));
    }
    all
}

fn pick<'a, T>(all: &'a [T], rng: &mut Stream) -> &'a T {
    &all[rng.below(all.len() as u64) as usize]
}

/// A value of a kind, as TOML.
fn value(kind: Kind, rng: &mut Stream) -> String {
    if rng.below(8) == 0 {
        return (*pick(ODD, rng)).to_owned();
    }
    // Of any magnitude.
    let number = rng.bits() >> rng.below(64);
    let quantity = |units: &[(&str, f64)], rng: &mut Stream| format!("\"{} {}\"", number % 2000, pick(units, rng).0);
    match kind {
        Kind::Number => format!("{:?}", number as f64 / 1000.0),
        Kind::Integer => number.to_string(),
        Kind::Switch => (number % 2 == 0).to_string(),
        Kind::Choice(words) => format!("{:?}", pick(words, rng)),
        Kind::Time => quantity(sluicegate_base::quantity::TIMES, rng),
        Kind::Rate => quantity(sluicegate_base::quantity::RATES, rng),
        Kind::Size if number % 2 == 0 => number.to_string(),
        Kind::Size => quantity(sluicegate_base::quantity::SIZES, rng),
        Kind::Text => "\"first\"".to_owned(),
        Kind::Texts => "[\"first\", \"second\"]".to_owned(),
        Kind::Times => format!("[{}]", quantity(sluicegate_base::quantity::TIMES, rng)),
    }
}

/// A value for the two keys that choose a table.
fn chosen(key: &str, rng: &mut Stream) -> Option<String> {
    let name = match key {
        "discipline" => pick(sluicegate_aqm::all(), rng).table.about.name,
        "kind" => pick(SOURCES, rng)[0].about.name,
        _ => return None,
    };
    Some(format!("{name:?}"))
}

/// A new line; with dots as an override has it, else as a file has it.
fn line(dotted: bool, rng: &mut Stream) -> String {
    let tables = tables();
    let (prefix, table) = pick(&tables, rng);
    let (prefix, key, value) = match rng.below(8) {
        0 => ("queue.", "discipline", chosen("discipline", rng).unwrap_or_default()),
        1 => ("flows.0.", "kind", chosen("kind", rng).unwrap_or_default()),
        2 if !dotted && rng.below(2) == 0 => {
            return format!("[queue.{}]", pick(sluicegate_aqm::all(), rng).table.about.name);
        }
        2 if !dotted => return (*pick(HEADERS, rng)).to_owned(),
        _ => match table.fields {
            [] => return String::new(),
            fields => {
                let Field { name, kind, .. } = pick(fields, rng);
                (prefix.as_str(), *name, value(*kind, rng))
            }
        },
    };
    if dotted { format!("{prefix}{key}={value}") } else { format!("{key} = {value}") }
}

/// A key of the section around line `at`, with a value: in the place of the one it has, or as a new line.
fn complete(lines: &mut Vec<String>, at: usize, rng: &mut Stream) {
    let header = |line: &String| line.starts_with('[');
    let Some(begin) = lines[..=at].iter().rposition(header) else { return };
    let end = lines[begin + 1..].iter().position(header).map_or(lines.len(), |length| begin + 1 + length);
    let name = lines[begin].trim_start_matches('[').split(']').next().unwrap_or_default().to_owned();
    let section = &lines[begin + 1..end];
    let kind = section.iter().find_map(|line| line.strip_prefix("kind")).unwrap_or_default();
    let fits = |(prefix, table): &(String, Table)| match name.as_str() {
        "network.links" => prefix == "network.links.0.",
        "changes" => prefix == "changes.0.",
        "flows" if prefix == "flows.0." => {
            let source = SOURCES.iter().find(|tables| tables.iter().any(|each| each.about.name == table.about.name));
            source.is_none_or(|tables| kind.contains(&format!("{:?}", tables[0].about.name)))
        }
        name => prefix.strip_suffix('.') == Some(name),
    };
    let tables: Vec<_> = tables().into_iter().filter(fits).collect();
    if tables.is_empty() {
        return;
    }
    let fields = pick(&tables, rng).1.fields;
    if fields.is_empty() {
        return;
    }
    let Field { name: field, kind, .. } = pick(fields, rng);
    let (name, value) = match chosen("discipline", rng) {
        Some(discipline) if name == "queue" && rng.below(3) == 0 => ("discipline", discipline),
        _ => (*field, value(*kind, rng)),
    };
    let new = format!("{name} = {value}");
    match section.iter().position(|line| line.split('=').next().is_some_and(|key| key.trim() == name)) {
        Some(there) => lines[begin + 1 + there] = new,
        None => lines.insert(begin + 1, new),
    }
}

/// Another value for the key of this line.
fn revalued(line: &str, dotted: bool, rng: &mut Stream) -> String {
    let Some((key, _)) = line.split_once('=') else { return self::line(dotted, rng) };
    let name = key.trim().rsplit('.').next().unwrap_or_default();
    if let Some(value) = chosen(name, rng) {
        return format!("{key}= {value}");
    }
    let found = tables().iter().find_map(|(_, table)| Some(table.fields[table.position(name)?].kind));
    match found {
        Some(kind) => format!("{key}={}", value(kind, rng)),
        None => format!("{key}={}", pick(ODD, rng)),
    }
}

/// Changes the text in the first `size` bytes of `data` and gives its new size; a quarter of the time by bytes.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32, dotted: bool) -> usize {
    let mut rng = Stream::new(u64::from(seed), "lines");
    let text = match std::str::from_utf8(&data[..size]) {
        Ok(text) if rng.below(4) > 0 => text,
        _ => return libfuzzer_sys::fuzzer_mutate(data, size, max_size),
    };
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for _ in 0..=rng.below(3) {
        let at = rng.below(lines.len() as u64) as usize;
        match rng.below(8) {
            6 | 7 if !dotted => complete(&mut lines, at, &mut rng),
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, pick(&lines, &mut rng).clone()),
            2 | 3 => lines.insert(at, line(dotted, &mut rng)),
            _ => lines[at] = revalued(&lines[at], dotted, &mut rng),
        }
        if lines.is_empty() {
            lines.push(line(dotted, &mut rng));
        }
    }
    let text = lines.join("\n");
    let length = text.len().min(max_size);
    data[..length].copy_from_slice(&text.as_bytes()[..length]);
    length
}
