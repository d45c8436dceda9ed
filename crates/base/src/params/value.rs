//! What a field can hold: kinds, values as documents write them and as Rust has them, and their bounds.

use crate::units::{Rate, Size, Span};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// What a field holds and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A real number.
    Number,
    /// A whole number, not negative.
    Integer,
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A time with its unit: `"10 ms"`.
    Time,
    /// A rate with its unit: `"1 Mbit/s"`.
    Rate,
    /// A number of packets, or bytes with their unit: `"64 kB"`.
    Size,
    /// Any text.
    Text,
    /// A list of texts.
    Texts,
    /// A list of times, each with its unit.
    Times,
}

impl Kind {
    /// The kind's name in declarations.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::Integer => "integer",
            Kind::Switch => "switch",
            Kind::Choice(_) => "choice",
            Kind::Time => "time",
            Kind::Rate => "rate",
            Kind::Size => "size",
            Kind::Text => "text",
            Kind::Texts => "texts",
            Kind::Times => "times",
        }
    }
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value {
    Number(f64),
    Integer(u64),
    Switch(bool),
    Choice(&'static str),
    Time(Span),
    Rate(Rate),
    Size(Size),
    Text(String),
    Texts(Vec<String>),
    Times(Vec<Span>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(x) => write!(f, "{x}"),
            Value::Integer(n) => write!(f, "{n}"),
            Value::Switch(on) => write!(f, "{on}"),
            Value::Choice(word) => write!(f, "{word}"),
            Value::Time(span) => write!(f, "{span}"),
            Value::Rate(rate) => write!(f, "{rate}"),
            Value::Size(size) => write!(f, "{size}"),
            Value::Text(text) => write!(f, "{text}"),
            Value::Texts(list) => write!(f, "[{}]", list.join(", ")),
            Value::Times(list) => {
                let shown: Vec<String> = list.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", shown.join(", "))
            }
        }
    }
}

/// A value as a document writes it, before its kind is known.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Raw {
    Switch(bool),
    Integer(i64),
    Number(f64),
    Text(String),
    List(Vec<String>),
    /// Something that no field takes, as it was written: a date, a list of numbers, a number beyond 64 bits.
    Other(String),
}

/// A Rust type that a field can have.
pub trait Parameter: Sized {
    /// The field's kind.
    const KIND: Kind;
    /// From a value of that kind; `None` for another kind.
    fn from_value(value: Value) -> Option<Self>;
    /// As a value; `None` when the field is optional and absent.
    fn to_value(&self) -> Option<Value>;
    /// What an optional field holds when it is not given; `None` for a field that must be given.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

macro_rules! parameter {
    ($($ty:ty : $variant:ident),* $(,)?) => {$(
        impl Parameter for $ty {
            const KIND: Kind = Kind::$variant;
            fn from_value(value: Value) -> Option<Self> {
                match value { Value::$variant(x) => Some(x), _ => None }
            }
            fn to_value(&self) -> Option<Value> {
                Some(Value::$variant(self.clone()))
            }
        }
    )*};
}
parameter!(
    f64: Number, u64: Integer, bool: Switch, Span: Time, Rate: Rate, Size: Size, String: Text, Vec<String>: Texts,
    Vec<Span>: Times,
);

impl<T: Parameter> Parameter for Option<T> {
    const KIND: Kind = T::KIND;
    fn from_value(value: Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }
    fn to_value(&self) -> Option<Value> {
        self.as_ref().and_then(Parameter::to_value)
    }
    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// The bounds of a field, in its own unit (seconds for a time, bits per second for a rate, a count for a size).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    low: f64,
    low_open: bool,
    high: f64,
    high_open: bool,
}

impl Range {
    /// Every value.
    pub const ANY: Range = Range { low: f64::NEG_INFINITY, low_open: false, high: f64::INFINITY, high_open: true };
    /// Values above zero.
    pub const POSITIVE: Range = Range::above(0.0);

    /// Values above `low`.
    #[must_use]
    pub const fn above(low: f64) -> Range {
        Range { low, low_open: true, ..Range::ANY }
    }

    /// Values from `low` on.
    #[must_use]
    pub const fn from(low: f64) -> Range {
        Range { low, ..Range::ANY }
    }

    /// The same, up to and including `high`.
    #[must_use]
    pub const fn to(self, high: f64) -> Range {
        Range { high, high_open: false, ..self }
    }

    /// The same, below `high`.
    #[must_use]
    pub const fn below(self, high: f64) -> Range {
        Range { high, high_open: true, ..self }
    }

    /// Whether `x` lies within. Infinities and NaN never do.
    #[must_use]
    pub fn holds(&self, x: f64) -> bool {
        x.is_finite()
            && if self.low_open { x > self.low } else { x >= self.low }
            && if self.high_open { x < self.high } else { x <= self.high }
    }

    /// The range in words, with a unit: `above 0 s and at most 1 s`; empty when there is no bound.
    #[must_use]
    pub fn text(&self, unit: &str) -> String {
        let mut parts = Vec::new();
        if self.low.is_finite() {
            parts.push(format!("{} {}", if self.low_open { "above" } else { "at least" }, self.low));
        }
        if self.high.is_finite() {
            parts.push(format!("{} {}", if self.high_open { "below" } else { "at most" }, self.high));
        }
        let text = parts.join(" and ");
        if text.is_empty() || unit.is_empty() { text } else { format!("{text} {unit}") }
    }
}
