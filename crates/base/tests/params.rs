//! The declaration macro: struct, table, defaults, reading and rules.

use sluicegate_base::params::{Kind, Problem, Raw, nearest};
use sluicegate_base::{Link, Params, Range, Rate, Size, Span, Value, choices, params};

choices! {
    /// What is counted.
    pub enum Unit {
        /// Packets.
        Packet = "packet",
        /// Bytes.
        Byte = "byte",
    }
}

params! {
    /// One field of each kind.
    pub struct Everything {
        /// A weight.
        w_q: f64 = default(0.002), unit("1"), range(Range::above(0.0).to(1.0)), source("a paper");
        /// A count.
        candidates: u64 = default(1), unit("packets"), range(Range::from(1.0).to(64.0));
        /// A switch.
        gentle: bool = default(false);
        /// A choice.
        unit: Unit = default(Unit::Packet);
        /// A low threshold.
        min_th: Size = default(Size::Packets(5)), tc("min");
        /// A high threshold.
        max_th: Size = default(Size::Packets(15)), tc("max");
        /// A time that derives.
        s: Span = derived("one packet", |link| link.rate.time_of(link.packet)), range(Range::POSITIVE);
        /// A rate that must be given.
        rate: Rate = required, range(Range::POSITIVE);
        /// A time that may be absent.
        stop: Option<Span> = optional("never stops");
        /// Times that may be absent.
        pauses: Option<Vec<Span>> = optional("none"), range(Range::POSITIVE);
    }
    rules {
        "min_th < max_th" [min_th, max_th] |p| match (p.min_th, p.max_th) {
            (Size::Packets(low), Size::Packets(high)) | (Size::Bytes(low), Size::Bytes(high)) => low < high,
            _ => false,
        };
    }
}

const LINK: Link = Link { rate: Rate(8_000_000), packet: 1000 };

fn build(given: &[(&str, Raw)]) -> Result<Everything, Problem> {
    Everything::build(
        &mut |at| {
            let field = &Everything::FIELDS[at];
            let (_, raw) = given.iter().find(|(name, _)| *name == field.name)?;
            Some(field.read(raw).expect("a readable value"))
        },
        &LINK,
    )
}

fn read(name: &str, raw: Raw) -> Result<Value, String> {
    Everything::FIELDS.iter().find(|field| field.name == name).unwrap().read(&raw)
}

#[test]
fn defaults_fill_what_is_not_given() {
    let p = build(&[("rate", Raw::Text("1 Mbit/s".into()))]).unwrap();
    assert_eq!((p.w_q, p.candidates, p.gentle, p.unit), (0.002, 1, false, Unit::Packet));
    assert_eq!(p.s, Span::from_millis(1), "derived from the link");
    assert_eq!((p.rate, p.stop), (Rate(1_000_000), None));
    assert_eq!(p.values().len(), Everything::FIELDS.len());
}

#[test]
fn a_missing_required_field_is_named() {
    assert_eq!(build(&[]), Err(Problem::Missing("rate")));
}

#[test]
fn rules_between_fields_are_tested() {
    let broken = build(&[("rate", Raw::Text("1 bps".into())), ("min_th", Raw::Integer(15))]);
    let Err(Problem::Broken(rule)) = broken else { panic!("{broken:?}") };
    assert_eq!((rule.text, rule.fields), ("min_th < max_th", &["min_th", "max_th"][..]));
}

#[test]
fn values_are_read_by_kind_and_range() {
    assert_eq!(read("w_q", Raw::Integer(1)), Ok(Value::Number(1.0)));
    assert_eq!(read("w_q", Raw::Number(0.0)).unwrap_err(), "must be above 0 and at most 1");
    assert_eq!(read("w_q", Raw::Number(f64::NAN)).unwrap_err(), "must be above 0 and at most 1");
    assert_eq!(read("candidates", Raw::Integer(-1)).unwrap_err(), "must not be negative");
    assert_eq!(read("candidates", Raw::Integer(65)).unwrap_err(), "must be at least 1 and at most 64 packets");
    let huge = Raw::Other("18446744073709551615".into());
    assert_eq!(read("candidates", huge.clone()).unwrap_err(), "must be at most 9223372036854775807");
    assert_eq!(read("min_th", huge).unwrap_err(), "must be at most 9223372036854775807");
    assert_eq!(read("candidates", Raw::Other("-18446744073709551615".into())).unwrap_err(), "must not be negative");
    assert_eq!(read("candidates", Raw::Other("1979-05-27".into())).unwrap_err(), "must be a whole number");
    assert_eq!(read("gentle", Raw::Text("yes".into())).unwrap_err(), "must be true or false");
    assert!(read("unit", Raw::Text("bite".into())).unwrap_err().contains("did you mean \"byte\"?"));
    assert_eq!(read("stop", Raw::Text("2 s".into())), Ok(Value::Time(Span::from_secs(2))));
    assert!(read("rate", Raw::Number(3.0)).unwrap_err().contains("with its unit"));
    let pauses = |list: &[&str]| read("pauses", Raw::List(list.iter().map(|text| (*text).into()).collect()));
    assert_eq!(pauses(&["1 ms", "2 s"]), Ok(Value::Times(vec![Span::from_millis(1), Span::from_secs(2)])));
    assert_eq!(pauses(&["1 ms", "2"]).unwrap_err(), "\"2\": must be a time with its unit, such as \"10 ms\"");
    assert_eq!(pauses(&["1 ms", "0 s"]).unwrap_err(), "\"0 s\": must be above 0 s");
    assert!(read("pauses", Raw::Text("1 ms".into())).unwrap_err().contains("a list of times"));
}

#[test]
fn the_table_says_what_the_struct_says() {
    let names: Vec<_> = Everything::FIELDS.iter().map(|field| field.name).collect();
    assert_eq!(names, ["w_q", "candidates", "gentle", "unit", "min_th", "max_th", "s", "rate", "stop", "pauses"]);
    assert_eq!(Everything::FIELDS[3].kind, Kind::Choice(&["packet", "byte"]));
    assert_eq!(Everything::FIELDS[4].tc, "min");
    assert_eq!(Everything::FIELDS[0].doc.trim(), "A weight.");
}

#[test]
fn only_a_near_name_is_proposed() {
    let known = ["rate", "delay", "limit"];
    assert_eq!(nearest("raet", &known), Some("rate"));
    assert_eq!(nearest("Delay", &known), Some("delay"));
    assert_eq!(nearest("colour", &known), None);
    // One letter is near to no other, and a text of another script to none of as many letters.
    let short = ["a", "q", "\u{4e2d}\u{56fd}\u{4eba}"];
    assert_eq!(["x", "", "abc"].map(|given| nearest(given, &short)), [None; 3]);
    assert_eq!(nearest("A", &short), Some("a"));
    // The beginning of a name comes before an edit, and what begins alike before the rest.
    assert_eq!(nearest("prio", &["rio", "priority"]), Some("priority"));
    assert_eq!(nearest("sed", &["set", "seed"]), Some("seed"));
    assert_eq!(nearest("jain", &["jain_tcp", "jain_all"]), Some("jain_tcp"), "the first of like ones");
}
