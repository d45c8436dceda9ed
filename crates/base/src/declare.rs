//! One declaration, everything made from it.
//!
//! ```
//! use sluicegate_base::{params, Link, Params, Range, Rate, Span};
//!
//! params! {
//!     /// Parameters of a leaky bucket.
//!     pub struct Bucket {
//!         /// Rate at which the bucket leaks.
//!         rate: Rate = required, range(Range::POSITIVE);
//!         /// Tokens it holds.
//!         depth: u64 = default(8), unit("packets"), range(Range::from(1.0)), source("this example");
//!         /// Time to send one packet.
//!         gap: Span = derived("one packet at the link rate", |link| link.rate.time_of(link.packet));
//!     }
//!     rules {
//!         "depth <= 1000" [depth] |p| p.depth <= 1000;
//!     }
//! }
//!
//! let link = Link { rate: Rate(8_000_000), packet: 1000 };
//! assert!(Bucket::defaults(&link).is_err(), "the rate is required");
//! assert_eq!(Bucket::FIELDS[1].name, "depth");
//! ```

/// Declares a struct of parameters: the struct, its [`Params`](crate::Params) and so its table of fields and rules.
///
/// Each field is `name: Type = default, attributes;` where the default is `default(value)`, `derived("how", |link| …)`,
/// `required` or `optional("what absence means")` (for an `Option`), and the attributes are those of
/// [`Field`](crate::Field): `unit`, `range`, `source`, `tc`, `positional`, `fixed`.
///
/// Parameters that several things share are declared once, and taken in before the others: `..red: RedBlock;` gives a
/// field `red` in Rust, and its parameters stand in the table as if they were written here. Another default and source, and
/// another word of `tc`, stand in brackets: `..red: RedBlock [min_th: Size::Packets(30), "CHOKe 1999, Sec. 4", tc("min")];`.
/// A default that follows from the link is `[min_th = derived("how", |link| …), "source"]` there.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $Name:ident {
            $( .. $part:ident : $Part:ty
                $([ $($changed:ident $(= derived($text:literal, |$link:ident| $derived:expr))? $(: $value:expr)?,
                    $source:literal $(, tc($tc:literal))?);+ $(;)? ])? ; )*
            $(
                $(#[doc = $doc:literal])+
                $field:ident : $ty:ty = $how:ident $(( $($arg:tt)* ))? $(, $key:ident ( $val:expr ))* ;
            )*
        }
        $( rules { $( $rule:literal [ $($named:ident),+ ] $holds:expr ; )* } )?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $Name {
            $( #[doc = "Parameters that others have too."] pub $part: $Part, )*
            $( $(#[doc = $doc])+ pub $field: $ty, )*
        }

        impl $crate::Params for $Name {
            const FIELDS: &'static [$crate::Field] = {
                const PARTS: &[&[$crate::Field]] = &[
                    $( &$crate::params::with_changes::<{ <$Part as $crate::Params>::FIELDS.len() }>(
                        <$Part as $crate::Params>::FIELDS,
                        &[$($( $crate::Field {
                            name: stringify!($changed),
                            $( default: $crate::params!(@value $value), )?
                            $( default: $crate::params!(@derived $text, |$link| $derived), )?
                            source: $source,
                            $( tc: $tc, )?
                            ..$crate::params::field(<$Part as $crate::Params>::FIELDS, stringify!($changed))
                        } ),+)?],
                    ), )*
                    &[$(
                        $crate::Field {
                            name: stringify!($field),
                            kind: <$ty as $crate::params::Parameter>::KIND,
                            doc: concat!($($doc),+),
                            default: $crate::params!(@default $ty; $how $(( $($arg)* ))?),
                            $( $key: $val, )*
                            ..$crate::Field::BLANK
                        },
                    )*],
                ];
                &$crate::params::concat::<_, { $crate::params::length(PARTS) }>(PARTS, $crate::Field::BLANK)
            };
            const RULES: &'static [$crate::Rule] = {
                const PARTS: &[&[$crate::Rule]] = &[
                    $( <$Part as $crate::Params>::RULES, )*
                    &[$($( $crate::Rule { text: $rule, fields: &[$(stringify!($named)),+] }, )*)?],
                ];
                &$crate::params::concat::<_, { $crate::params::length(PARTS) }>(PARTS, $crate::Rule::BLANK)
            };

            fn from_values(values: $crate::params::Given<'_>) -> Result<Self, $crate::params::Problem> {
                let mut at = 0;
                $(
                    let $part = <$Part as $crate::Params>::from_values(&mut |k| values(at + k))?;
                    at += <$Part as $crate::Params>::FIELDS.len();
                )*
                $(
                    let $field = values(at)
                        .and_then(<$ty as $crate::params::Parameter>::from_value)
                        .or_else(<$ty as $crate::params::Parameter>::absent)
                        .ok_or($crate::params::Problem::Missing(stringify!($field)))?;
                    at += 1;
                )*
                let params = Self { $($part,)* $($field),* };
                debug_assert_eq!(at, Self::FIELDS.len());
                $($(
                    let holds: fn(&Self) -> bool = $holds;
                    if !holds(&params) {
                        let fields = &[$(stringify!($named)),+];
                        return Err($crate::params::Problem::Broken($crate::Rule { text: $rule, fields }));
                    }
                )*)?
                Ok(params)
            }

            fn values(&self) -> $crate::params::Values {
                [
                    $( <$Part as $crate::Params>::values(&self.$part), )*
                    $crate::params::Values::from([$( $crate::params::Parameter::to_value(&self.$field) ),*]),
                ]
                .concat()
            }

            fn build_following(
                given: $crate::params::Given<'_>,
                link: &$crate::Link,
            ) -> Result<(Self, $crate::params::Indices), $crate::params::Problem> {
                let mut following = $crate::params::Indices::new();
                let params =
                    Self::from_values(&mut $crate::params::or_default(Self::FIELDS, given, link, &mut following))?;
                Ok((params, following))
            }

            fn changed(&self, name: &str, raw: &$crate::params::Raw) -> $crate::params::Changed<Self> {
                let mut values = self.values();
                let at = $crate::params::change(Self::FIELDS, &mut values, name, raw)?;
                match Self::from_values(&mut $crate::params::given(&values)) {
                    Ok(params) => Ok((at, params)),
                    Err(problem) => Err(problem.text().into()),
                }
            }

            fn followed(&self, following: &[usize], link: &$crate::Link) -> Option<Self> {
                let mut values = self.values();
                if !$crate::params::follow(Self::FIELDS, &mut values, following, link) {
                    return None;
                }
                Self::from_values(&mut $crate::params::given(&values)).ok()
            }
        }
    };

    (@value $value:expr) => {
        $crate::params::DefaultValue::Fixed(|| $crate::params::Parameter::to_value(&$value))
    };
    (@derived $text:literal, |$link:ident| $value:expr) => {
        $crate::params::DefaultValue::Derived($text, |$link: &$crate::Link| {
            $crate::params::Parameter::to_value(&$value)
        })
    };
    (@default $ty:ty; default($value:expr)) => {
        $crate::params::DefaultValue::Fixed(|| <$ty as $crate::params::Parameter>::to_value(&$value))
    };
    (@default $ty:ty; derived($text:literal, |$link:ident| $value:expr)) => {
        $crate::params::DefaultValue::Derived($text, |$link: &$crate::Link| {
            <$ty as $crate::params::Parameter>::to_value(&$value)
        })
    };
    (@default $ty:ty; required) => { $crate::params::DefaultValue::Required };
    (@default $ty:ty; optional($text:literal)) => { $crate::params::DefaultValue::Optional($text) };
}

/// Declares an enumeration whose values a scenario names by a word.
#[macro_export]
macro_rules! choices {
    (
        $(#[doc = $about:literal])+
        $vis:vis enum $Name:ident { $( $(#[doc = $doc:literal])+ $Variant:ident = $word:literal ),+ $(,)? }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $Name { $( $(#[doc = $doc])+ $Variant ),+ }

        impl $Name {
            /// The values, in the order of declaration.
            pub const ALL: &'static [$Name] = &[$($Name::$Variant),+];
            /// The word of each.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word of this value.
            #[must_use]
            pub fn word(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            /// What this value means.
            #[must_use]
            pub fn doc(self) -> &'static str {
                [$(concat!($($doc),+)),+][self as usize].trim_start()
            }
        }

        impl $crate::params::Parameter for $Name {
            const KIND: $crate::params::Kind = $crate::params::Kind::Choice(Self::WORDS);
            fn from_value(value: $crate::Value) -> Option<Self> {
                match value {
                    $( $crate::Value::Choice($word) => Some(Self::$Variant), )+
                    _ => None,
                }
            }
            fn to_value(&self) -> Option<$crate::Value> {
                Some($crate::Value::Choice(self.word()))
            }
        }
    };
}
