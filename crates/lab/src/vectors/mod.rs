//! Connection vectors as text, in the two formats of tmix: `original` and `alternate`.
//!
//! In both a connection begins with a line that has its start in microseconds, and lines before the first unit say what
//! else is known of it: `w` the windows of initiator and acceptor in bytes, `m` the most bytes in their segments, `r` the least
//! round trip in microseconds, `l` (or `L`) the shares of packets lost. Empty lines and lines that begin with `#` mean nothing.
//!
//! | what ns-2 does | what we do | why |
//! |---|---|---|
//! | lines that it does not know are skipped | they are errors | a mistake is not to pass for data |
//! | `w`, `m`, `r` and `l` anywhere in a connection, the last counts | before its units, each once | one that stands elsewhere belongs to another connection, or says something else |
//! | in a concurrent connection, a missing time between two units of one end is an error only if they are adjacent; otherwise the last time that was read is used again | always an error | the time was left out |
//! | counts of units are not compared with the units | they must agree | a file that is cut off is found out |
//! | connections in any order | sorted by their starts | a file may be made of several |
//! | a time of zero in the original format becomes 1 us: in the alternate format, a unit whose two times are zero does not wait for the other end | it stays zero, and becomes 1 us where we write the alternate format | a file that we write means the same to ns-2 |
//! | losses are real numbers | kept to a millionth | what is read is written again the same |

mod alternate;
mod original;

use crate::document::ScenarioError;
use serde_json::{Value as Json, json};
use sluicegate_base::{Span, Time};
use sluicegate_netsim::source::connections::{Side, Unit, Vector};
use std::fs::File;
use std::io::Read;

/// A format of connection vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `SEQ` and `CONC`, with `>`, `<` and `t`.
    Original,
    /// `S` and `C`, with `I` and `A`.
    Alternate,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 2] = [Format::Original, Format::Alternate];

    /// What people call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Format::Original => "original",
            Format::Alternate => "alternate",
        }
    }

    /// The format of a connection that begins with this word, and whether that connection is concurrent.
    fn begun(word: &str) -> Option<(Format, bool)> {
        match word {
            "SEQ" => Some((Format::Original, false)),
            "CONC" => Some((Format::Original, true)),
            "S" => Some((Format::Alternate, false)),
            "C" => Some((Format::Alternate, true)),
            _ => None,
        }
    }

    /// The format of a text that can be read.
    #[must_use]
    pub fn of(text: &str) -> Option<Format> {
        let mut words = text.lines().filter_map(|line| line.split_whitespace().next());
        words.find(|word| !word.starts_with('#')).and_then(Format::begun).map(|(format, _)| format)
    }
}

/// A line of a file: its number, its words.
struct Line<'a> {
    number: usize,
    words: Vec<&'a str>,
}

/// Why a line is wrong.
type Rule = String;

impl Line<'_> {
    /// The whole number at a place; `what` says what it is.
    fn number<T: TryFrom<u64>>(&self, at: usize, what: &str) -> Result<T, Rule> {
        let word = self.words.get(at).ok_or_else(|| format!("{what} is missing"))?;
        let number = word.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("{what} must be a whole number, not {word:?}"))
    }

    fn micros(&self, at: usize, what: &str) -> Result<Span, Rule> {
        let micros: u64 = self.number(at, what)?;
        // A century.
        if micros > 3_155_760_000_000_000 {
            return Err(format!("{what} is absurdly long: {micros} us"));
        }
        Ok(Span(micros * 1000))
    }

    fn both<T: TryFrom<u64>>(&self, what: &str) -> Result<[T; 2], Rule> {
        self.exactly(3)?;
        Ok([self.number(1, what)?, self.number(2, what)?])
    }

    /// That it has so many words.
    fn exactly(&self, count: usize) -> Result<(), Rule> {
        if self.words.len() == count {
            return Ok(());
        }
        Err(format!("{:?} takes {} values, not {}", self.words[0], count - 1, self.words.len() - 1))
    }
}

/// A connection while it is read, and how many units its first line promises of each side (or exchanges).
struct Reading {
    vector: Vector,
    counts: [u64; 2],
    line: usize,
    /// What else the format keeps in mind: the last time, of each side.
    waits: [Option<Span>; 2],
}

impl Reading {
    fn new(line: &Line<'_>, concurrent: bool) -> Result<Reading, Rule> {
        line.exactly(if concurrent { 6 } else { 5 })?;
        let start = Time(line.micros(1, "the start")?.0);
        let first = line.number(2, "the number of units")?;
        let second = if concurrent { line.number(3, "the number of units")? } else { 0 };
        let at = line.words.len();
        line.number::<u64>(at - 2, "the first number of the connection")?;
        let id = line.number(at - 1, "the number of the connection")?;
        let vector = Vector {
            id,
            start,
            concurrent,
            windows: None,
            segments: None,
            round_trip: None,
            losses: None,
            units: Vec::new(),
        };
        Ok(Reading { vector, counts: [first, second], line: line.number, waits: [None; 2] })
    }

    /// Lines that both formats have; whether it was one.
    fn known(&mut self, line: &Line<'_>) -> Result<bool, Rule> {
        let vector = &mut self.vector;
        let word = line.words[0];
        let given = match word {
            "w" => vector.windows.is_some(),
            "m" => vector.segments.is_some(),
            "r" => vector.round_trip.is_some(),
            "l" | "L" => vector.losses.is_some(),
            _ => return Ok(false),
        };
        if given {
            return Err(format!("{word:?} is given twice for this connection"));
        }
        if !vector.units.is_empty() || self.waits.iter().any(Option::is_some) {
            return Err(format!("{word:?} comes before the units of its connection"));
        }
        match word {
            "w" => vector.windows = Some(line.both("the window")?),
            "m" => vector.segments = Some(line.both("the segment")?),
            "r" => {
                line.exactly(2)?;
                vector.round_trip = Some(line.micros(1, "the round trip")?);
            }
            _ => {
                line.exactly(3)?;
                let share = |at: usize| {
                    let share = line.words[at].parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
                    let share = share.ok_or_else(|| format!("a loss must be from 0 to 1, not {:?}", line.words[at]))?;
                    Ok::<u32, Rule>((share * 1e6 + 0.5) as u32)
                };
                vector.losses = Some([share(1)?, share(2)?]);
            }
        }
        if vector.windows.is_some_and(|both| both.contains(&0)) || vector.segments.is_some_and(|both| both.contains(&0))
        {
            return Err("windows and segments must be above zero".to_owned());
        }
        Ok(true)
    }

    /// The connection, once all its lines are read.
    fn finish(self) -> Result<Vector, (usize, Rule)> {
        let vector = self.vector;
        let units = |side| vector.units.iter().filter(move |unit| unit.side == side && unit.bytes > 0).count() as u64;
        let found = [units(Side::Initiator), units(Side::Acceptor)];
        if found == [0, 0] {
            return Err((self.line, "the connection sends nothing".to_owned()));
        }
        let rule = match (self.counts, vector.concurrent) {
            (promised, true) if promised == found => return Ok(vector),
            ([promised, _], false) if promised == exchanges(&vector) => return Ok(vector),
            ([a, b], true) => {
                format!(
                    "the line promises {a} and {b} units, and {} and {} follow: is the file cut off?",
                    found[0], found[1]
                )
            }
            ([promised, _], false) => {
                let found = exchanges(&vector);
                format!("the line promises {promised} exchanges, and {found} follow: is the file cut off?")
            }
        };
        Err((self.line, rule))
    }
}

/// How many exchanges, or epochs, a sequential connection has, which is the number in its first line. In the a-b-t model
/// an epoch is what the initiator sends (a), what the acceptor answers (b), and a time; one of the two may be missing (ns-2's
/// manual, "Original Connection Vector Format"; Weigle et al. 2006). So each unit of the initiator begins one, and each of
/// the acceptor that does not answer one. That is how they are counted in the measured vectors that come with ns-2, whose
/// own parser skips the number: `> > < <` are three.
fn exchanges(vector: &Vector) -> u64 {
    let (mut count, mut asked) = (0, false);
    for unit in vector.units.iter().filter(|unit| unit.bytes > 0) {
        count += u64::from(unit.side == Side::Initiator || !asked);
        asked = unit.side == Side::Initiator;
    }
    count
}

/// Reads the vectors of a text, in whichever format it has, sorted by their starts. The error names file and line.
pub fn read(text: &str, name: &str) -> Result<Vec<Vector>, ScenarioError> {
    let lines = text.lines().enumerate().filter_map(|(at, line)| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (!words.is_empty() && !words[0].starts_with('#')).then_some(Line { number: at + 1, words })
    });
    let (mut all, mut reading, mut format) = (Vec::new(), None::<Reading>, None);
    let place = |line: usize, rule: &str| ScenarioError(format!("{name}:{line}: {rule}"));
    for line in lines {
        let of_line = |rule: Rule| place(line.number, &rule);
        if let Some((its, concurrent)) = Format::begun(line.words[0]) {
            if *format.get_or_insert(its) != its {
                return Err(of_line("the file has begun in the other format of tmix".to_owned()));
            }
            if let Some(done) = reading.take() {
                all.push(finish(done, its).map_err(|(line, rule)| place(line, &rule))?);
            }
            reading = Some(Reading::new(&line, concurrent).map_err(of_line)?);
            continue;
        }
        let (Some(reading), Some(format)) = (&mut reading, format) else {
            return Err(of_line(format!(
                "a connection begins with SEQ, CONC, S or C, not {:?}: is this a file of connection vectors?",
                line.words[0].chars().take(20).collect::<String>()
            )));
        };
        if reading.known(&line).map_err(of_line)? {
            continue;
        }
        match format {
            Format::Original => original::unit(reading, &line),
            Format::Alternate => alternate::unit(reading, &line),
        }
        .map_err(of_line)?;
    }
    match (reading, format) {
        (Some(done), Some(format)) => all.push(finish(done, format).map_err(|(line, rule)| place(line, &rule))?),
        _ => return Err(ScenarioError(format!("{name}: no connection vectors in it"))),
    }
    all.sort_by_key(|vector: &Vector| vector.start);
    Ok(all)
}

fn finish(mut reading: Reading, format: Format) -> Result<Vector, (usize, Rule)> {
    if format == Format::Original {
        original::end(&mut reading);
    }
    reading.finish()
}

/// Writes vectors in a format, one after another. The error names a connection that the format has no words for.
pub fn write<'a>(vectors: impl IntoIterator<Item = &'a Vector>, format: Format) -> Result<String, ScenarioError> {
    let mut text = String::new();
    for vector in vectors {
        match format {
            Format::Original => original::write(vector, &mut text)
                .map_err(|rule| ScenarioError(format!("connection {}: {rule}", vector.id)))?,
            Format::Alternate => alternate::write(vector, &mut text),
        }
    }
    Ok(text)
}

/// The most bytes that a file of vectors may have.
const MOST: u64 = 1 << 30;

/// The text of a file. Devices and pipes, which may never end, are not read.
pub fn text_of(path: &str) -> Result<String, String> {
    let fail = |error: std::io::Error| format!("cannot be read: {error}");
    let metadata = std::fs::metadata(path).map_err(fail)?;
    if !metadata.is_file() || metadata.len() > MOST {
        return Err("must be a file of at most 1 GiB".to_owned());
    }
    let mut text = String::new();
    File::open(path).map_err(fail)?.take(MOST).read_to_string(&mut text).map_err(fail)?;
    Ok(text)
}

/// What is in a file, for people: counts, and of each end how many units and bytes it sends.
#[must_use]
pub fn summary(vectors: &[Vector], format: Format) -> Json {
    let ends = [Side::Initiator, Side::Acceptor].map(|side| {
        let of_side = || vectors.iter().flat_map(|v| &v.units).filter(move |unit| unit.side == side && unit.bytes > 0);
        json!({"units": of_side().count(), "bytes": of_side().map(|unit| u64::from(unit.bytes)).sum::<u64>()})
    });
    let [initiators, acceptors] = ends;
    json!({
        "format": format.name(),
        "connections": vectors.len(),
        "concurrent": vectors.iter().filter(|vector| vector.concurrent).count(),
        "exchanges": vectors.iter().filter(|vector| !vector.concurrent).map(exchanges).sum::<u64>(),
        "last_start_ns": vectors.last().map_or(0, |vector| vector.start.0),
        "initiators": initiators,
        "acceptors": acceptors,
    })
}

/// The first lines of a connection: `begins` is the word that it begins with.
fn head(vector: &Vector, begins: &str, text: &mut String) {
    let units = |side| vector.units.iter().filter(|unit| unit.side == side && unit.bytes > 0).count();
    let counts = match vector.concurrent {
        true => format!("{} {}", units(Side::Initiator), units(Side::Acceptor)),
        false => exchanges(vector).to_string(),
    };
    let mut line = |words: String| {
        text.push_str(&words);
        text.push('\n');
    };
    line(format!("{begins} {} {counts} {1} {1}", vector.start.0 / 1000, vector.id));
    if let Some([a, b]) = vector.windows {
        line(format!("w {a} {b}"));
    }
    if let Some([a, b]) = vector.segments {
        line(format!("m {a} {b}"));
    }
    if let Some(round_trip) = vector.round_trip {
        line(format!("r {}", round_trip.0 / 1000));
    }
    if let Some([a, b]) = vector.losses {
        line(format!("l {:.6} {:.6}", f64::from(a) / 1e6, f64::from(b) / 1e6));
    }
}

/// A unit of the connection's end.
fn closing(side: Side, wait: Span) -> Unit {
    Unit { side, wait, answers: false, bytes: 0 }
}
