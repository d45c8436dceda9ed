//! What a parameter is: its kind, unit, default, range and source, declared once.
//!
//! [`params!`](crate::params!) turns one declaration into a struct and a table of [`Field`]s. Everything that meets a
//! parameter walks that table: the reader of scenarios, the command line, the generated Python classes, the manual.

mod about;
mod nearest;
mod value;

pub use about::About;
pub use nearest::{did_you_mean, nearest};
pub use value::{Kind, Parameter, Range, Raw, Value};

use crate::quantity;
use crate::units::{Rate, Size, Span};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// The longest packet of Ethernet in bytes, which today's hosts send.
pub const ETHERNET: u64 = 1500;

/// What a rule may need to know of the link that a queue feeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The link's rate.
    pub rate: Rate,
    /// The length of a typical packet in bytes, headers included: the longest that hosts send, or the MTU where real packets come
    /// from elsewhere.
    pub packet: u64,
}

impl Link {
    /// How many bytes it sends in this time, one typical packet at the least.
    #[must_use]
    pub fn bytes_in(&self, time: Span) -> u64 {
        let bits = u128::from(self.rate.0) * u128::from(time.0) / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX).max(self.packet)
    }

    /// How many typical packets it sends in this time.
    #[must_use]
    pub fn packets_in(&self, time: Span) -> u64 {
        let bits = u128::from(self.rate.0) * u128::from(time.0) / 1_000_000_000;
        u64::try_from(bits / (8 * u128::from(self.packet.max(1)))).unwrap_or(u64::MAX)
    }

    /// So many packets, or what the link sends in this time if that is more.
    #[must_use]
    pub fn at_least(&self, packets: u64, time: Span) -> Size {
        Size::Packets(self.packets_in(time).max(packets))
    }
}

/// What a field holds when it is not given.
#[derive(Clone, Copy)]
pub enum DefaultValue {
    /// Always this.
    Fixed(fn() -> Option<Value>),
    /// What the link gives; the text says how.
    Derived(&'static str, fn(&Link) -> Option<Value>),
    /// It must be given.
    Required,
    /// It may be absent; the text says what that means.
    Optional(&'static str),
}

/// One declared parameter.
#[derive(Clone, Copy)]
pub struct Field {
    /// The name in scenarios, Python and the papers.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// The unit of its values (`"packets"`, `"1"` for a ratio), and of a bare number, except that a bare size always counts
    /// packets; empty where each value carries its own.
    pub unit: &'static str,
    /// What it is when not given.
    pub default: DefaultValue,
    /// Its bounds.
    pub range: Range,
    /// What it does.
    pub doc: &'static str,
    /// Where it and its default come from.
    pub source: &'static str,
    /// How `tc` spells it; empty where Linux has no such parameter.
    pub tc: &'static str,
    /// Whether the Python class takes it by position.
    pub positional: bool,
    /// Whether it cannot change after construction: the size of a table, for instance.
    pub fixed: bool,
}

impl Field {
    /// A field with nothing filled in, for the macro.
    pub const BLANK: Field = Field {
        name: "",
        kind: Kind::Switch,
        unit: "",
        default: DefaultValue::Required,
        range: Range::ANY,
        doc: "",
        source: "",
        tc: "",
        positional: false,
        fixed: false,
    };

    /// Reads a value as a document writes it. The error is the rule that it breaks.
    pub fn read(&self, raw: &Raw) -> Result<Value, String> {
        let value = match (self.kind, raw) {
            (Kind::Number, Raw::Number(x)) => Value::Number(*x),
            (Kind::Number, Raw::Integer(n)) => Value::Number(*n as f64),
            (Kind::Integer, Raw::Integer(n)) => {
                Value::Integer(u64::try_from(*n).map_err(|_| "must not be negative".to_owned())?)
            }
            (Kind::Switch, Raw::Switch(on)) => Value::Switch(*on),
            (Kind::Choice(words), Raw::Text(text)) => match words.iter().find(|word| *word == text) {
                Some(word) => Value::Choice(word),
                None => return Err(format!("must be one of {}{}", words.join(", "), did_you_mean(text, words))),
            },
            (Kind::Time, Raw::Text(text)) => Value::Time(quantity::span(text)?),
            (Kind::Rate, Raw::Text(text)) => Value::Rate(quantity::rate(text)?),
            (Kind::Size, Raw::Text(text)) if self.is_buffer() => {
                Value::Size(quantity::size(text).map_err(|rule| format!("{rule}, or a time such as \"250 ms\""))?)
            }
            (Kind::Size, Raw::Text(text)) => Value::Size(quantity::size(text)?),
            (Kind::Size, Raw::Integer(n)) => {
                Value::Size(Size::Packets(u64::try_from(*n).map_err(|_| "must not be negative".to_owned())?))
            }
            (Kind::Text, Raw::Text(text)) => Value::Text(text.clone()),
            // An override knows no quotes: KEY=5.
            (Kind::Text, Raw::Integer(n)) => Value::Text(n.to_string()),
            (Kind::Texts, Raw::List(list)) => Value::Texts(list.clone()),
            (Kind::Times, Raw::List(list)) => {
                let times = list.iter().map(|text| self.time_of_a_list(text));
                return times.collect::<Result<_, _>>().map(Value::Times);
            }
            (Kind::Integer | Kind::Size, Raw::Other(text)) if is_whole(text) => {
                let negative = text.starts_with('-');
                return Err(if negative {
                    "must not be negative".to_owned()
                } else {
                    format!("must be at most {}", i64::MAX)
                });
            }
            _ => return Err(format!("must be {}", self.expected())),
        };
        let (x, unit) = match &value {
            Value::Number(x) => (*x, self.unit),
            Value::Integer(n) => (*n as f64, self.unit),
            Value::Time(span) => (span.as_secs(), "s"),
            Value::Rate(rate) => (rate.0 as f64, "bit/s"),
            Value::Size(Size::Packets(n) | Size::Bytes(n)) => (*n as f64, ""),
            _ => return Ok(value),
        };
        if self.range.holds(x) {
            return Ok(value);
        }
        let rule = self.range.text(if unit == "1" { "" } else { unit });
        Err(format!("must be {}", if rule.is_empty() { "a finite number" } else { &rule }))
    }

    fn time_of_a_list(&self, text: &str) -> Result<Span, String> {
        let time = quantity::span(text).map_err(|rule| format!("{text:?}: {rule}"))?;
        if self.range.holds(time.as_secs()) {
            return Ok(time);
        }
        Err(format!("{text:?}: must be {}", self.range.text("s")))
    }

    /// Whether it says how much a buffer holds, which may be given as the time that the link needs for it.
    #[must_use]
    pub fn is_buffer(&self) -> bool {
        self.kind == Kind::Size && ["limit", "queue_limit", "memlimit", "tx_ring", "buffer"].contains(&self.name)
    }

    /// The time that a document gives for a buffer; `None` for all else.
    #[must_use]
    pub fn buffer_time(&self, raw: &Raw) -> Option<Span> {
        match raw {
            Raw::Text(text) if self.is_buffer() => quantity::span(text).ok(),
            _ => None,
        }
    }

    /// What the field takes, in words.
    #[must_use]
    pub fn expected(&self) -> String {
        match self.kind {
            Kind::Number => "a number".to_owned(),
            Kind::Integer => "a whole number".to_owned(),
            Kind::Switch => "true or false".to_owned(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Time => "a time with its unit, such as \"10 ms\"".to_owned(),
            Kind::Rate => "a rate with its unit, such as \"1 Mbit/s\"".to_owned(),
            Kind::Size if self.is_buffer() => {
                "a number of packets, or a size with its unit, such as \"64 kB\", or a time such as \"250 ms\""
                    .to_owned()
            }
            Kind::Size => "a number of packets, or a size with its unit, such as \"64 kB\"".to_owned(),
            Kind::Text => "a text".to_owned(),
            Kind::Texts => "a list of texts".to_owned(),
            Kind::Times => "a list of times with their units, such as [\"10 ms\", \"20 ms\"]".to_owned(),
        }
    }

    /// The default for this link; `None` where the field is required or optional.
    #[must_use]
    pub fn default_for(&self, link: &Link) -> Option<Value> {
        match self.default {
            DefaultValue::Fixed(value) => value(),
            DefaultValue::Derived(_, value) => value(link),
            DefaultValue::Required | DefaultValue::Optional(_) => None,
        }
    }
}

/// Whether a text is a whole number, however large.
fn is_whole(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A rule that several fields keep together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule as it is shown: `min_th < max_th`.
    pub text: &'static str,
    /// The fields that it names.
    pub fields: &'static [&'static str],
}

impl Rule {
    /// A rule with nothing filled in, for the macro.
    pub const BLANK: Rule = Rule { text: "", fields: &[] };
}

/// How many entries the parts of a table have together.
#[must_use]
pub const fn length<T>(parts: &[&[T]]) -> usize {
    let (mut n, mut part) = (0, 0);
    while part < parts.len() {
        n += parts[part].len();
        part += 1;
    }
    n
}

/// One table of several; `N` is their [`length`].
#[must_use]
pub const fn concat<T: Copy, const N: usize>(parts: &[&[T]], blank: T) -> [T; N] {
    let mut all = [blank; N];
    let (mut n, mut part) = (0, 0);
    while part < parts.len() {
        let mut at = 0;
        while at < parts[part].len() {
            all[n] = parts[part][at];
            (n, at) = (n + 1, at + 1);
        }
        part += 1;
    }
    all
}

/// The field of this name, which the table has: otherwise the build stops.
#[must_use]
pub const fn field(fields: &[Field], name: &str) -> Field {
    fields[position(fields, name)]
}

/// A table with other fields for those of the same names.
#[must_use]
pub const fn with_changes<const N: usize>(fields: &[Field], changes: &[Field]) -> [Field; N] {
    let mut changed: [Field; N] = concat(&[fields], Field::BLANK);
    let mut change = 0;
    while change < changes.len() {
        changed[position(fields, changes[change].name)] = changes[change];
        change += 1;
    }
    changed
}

const fn position(fields: &[Field], name: &str) -> usize {
    let mut at = 0;
    while !equal(fields[at].name, name) {
        at += 1;
    }
    at
}

const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Why a set of values makes no parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A required field was not given.
    Missing(&'static str),
    /// The values break a rule together.
    Broken(Rule),
}

impl Problem {
    /// The rule that is broken.
    #[must_use]
    pub fn text(&self) -> &'static str {
        match self {
            Problem::Missing(name) => name,
            Problem::Broken(rule) => rule.text,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Missing(name) => write!(f, "{name} must be given"),
            Problem::Broken(rule) => f.write_str(rule.text),
        }
    }
}

impl core::error::Error for Problem {}

/// The value of each field of a table, in its order; `None` for an absent optional one.
pub type Values = Vec<Option<Value>>;

/// A source of given values: the value of the field with this index, or `None` for its default.
pub type Given<'a> = &'a mut dyn FnMut(usize) -> Option<Value>;

/// Indices of fields.
pub type Indices = Vec<usize>;

/// Parameters of which one has changed, with its index, or the rule that this breaks.
pub type Changed<P> = Result<(usize, P), String>;

/// A declared set of parameters; made by [`params!`](crate::params!).
pub trait Params: Sized + Clone + fmt::Debug + Send + 'static {
    /// The table of fields, in the order of declaration.
    const FIELDS: &'static [Field];
    /// The rules between fields.
    const RULES: &'static [Rule];
    /// The parameters with these values, of which the rules are tested.
    fn from_values(values: Given<'_>) -> Result<Self, Problem>;
    /// The value of each field; `None` for an absent optional one.
    fn values(&self) -> Values;
    /// Builds the parameters from what is given and the defaults, and tests the rules. Also gives the indices of the fields that
    /// follow the link from now on: they are derived from it, not given, and may change.
    fn build_following(given: Given<'_>, link: &Link) -> Result<(Self, Indices), Problem>;
    /// The same parameters but for one, read from what a document writes; also gives which one it is. The error is the rule
    /// that this breaks.
    fn changed(&self, name: &str, raw: &Raw) -> Changed<Self>;
    /// The same parameters but for the fields of these indices, derived from the link as it is now. `None` if they are as
    /// before, or break a rule with the others.
    fn followed(&self, following: &[usize], link: &Link) -> Option<Self>;

    /// Builds the parameters from what is given and the defaults, and tests the rules.
    fn build(given: Given<'_>, link: &Link) -> Result<Self, Problem> {
        Self::build_following(given, link).map(|(params, _)| params)
    }

    /// The defaults for a link. Fails when a field is required.
    fn defaults(link: &Link) -> Result<Self, Problem> {
        Self::build(&mut |_| None, link)
    }
}

/// A thing with declared parameters: a discipline, a source, a part of the network.
pub trait Declared {
    /// Its parameters.
    type Params: Params;
    /// Its names.
    const ABOUT: About;
}

/// The declaration of one thing with its type taken away, for tables of them.
#[derive(Clone, Copy)]
pub struct Table {
    /// Its names.
    pub about: About,
    /// Its fields.
    pub fields: &'static [Field],
    /// Its rules.
    pub rules: &'static [Rule],
    /// Fills in defaults and tests the rules; gives the value of each field.
    pub resolve: fn(Given<'_>, &Link) -> Result<Values, Problem>,
}

impl Table {
    /// The table of a declared thing.
    #[must_use]
    pub const fn of<T: Declared>() -> Table {
        Table {
            about: T::ABOUT,
            fields: T::Params::FIELDS,
            rules: T::Params::RULES,
            resolve: |given, link| T::Params::build(given, link).map(|params| params.values()),
        }
    }

    /// The same for the thing whose module has this source text.
    #[must_use]
    pub const fn documented(self, module: &'static str) -> Table {
        Table { about: About { module, ..self.about }, ..self }
    }

    /// The index of the field with this name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

// What all sets of parameters do alike, compiled once and not for each of them. The macro calls it.

/// Given values, and the defaults of the rest; notes which fields follow the link.
#[doc(hidden)]
pub fn or_default(
    fields: &[Field],
    given: Given<'_>,
    link: &Link,
    following: &mut Indices,
) -> impl FnMut(usize) -> Option<Value> {
    move |at| {
        given(at).or_else(|| {
            if !fields[at].fixed && matches!(fields[at].default, DefaultValue::Derived(..)) {
                following.push(at);
            }
            fields[at].default_for(link)
        })
    }
}

/// These values as given ones.
pub fn given(values: &[Option<Value>]) -> impl FnMut(usize) -> Option<Value> {
    |at| values[at].clone()
}

/// Reads one of the values, and gives which one it is; see [`Params::changed`].
#[doc(hidden)]
pub fn change(fields: &[Field], values: &mut Values, name: &str, raw: &Raw) -> Result<usize, String> {
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let at = names.iter().position(|known| *known == name).ok_or_else(|| unknown(name, &names))?;
    if fields[at].fixed {
        return Err(FIXED.to_owned());
    }
    values[at] = Some(fields[at].read(raw)?);
    Ok(at)
}

/// Derives these of the values from the link; whether any has changed.
#[doc(hidden)]
pub fn follow(fields: &[Field], values: &mut Values, following: &[usize], link: &Link) -> bool {
    let mut changed = false;
    for &at in following {
        let value = fields[at].default_for(link);
        changed |= value != values[at];
        values[at] = value;
    }
    changed
}

/// What to say of a parameter that is [`fixed`](Field::fixed).
pub const FIXED: &str = "cannot change while it is in use";

/// What to say of a name that no parameter has.
#[must_use]
pub fn unknown(name: &str, known: &[&str]) -> String {
    format!("no such parameter: {name:?}{}", did_you_mean(name, known))
}
