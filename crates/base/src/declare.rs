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
/// [`Field`](crate::Field): `unit`, `range`, `source`, `tc`, `positional`.
#[macro_export]
macro_rules! params {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $Name:ident {
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
            $( $(#[doc = $doc])+ pub $field: $ty, )*
        }

        impl $crate::Params for $Name {
            const FIELDS: &'static [$crate::Field] = &[$(
                $crate::Field {
                    name: stringify!($field),
                    kind: <$ty as $crate::params::Parameter>::KIND,
                    doc: concat!($($doc),+),
                    default: $crate::params!(@default $ty; $how $(( $($arg)* ))?),
                    $( $key: $val, )*
                    ..$crate::Field::BLANK
                },
            )*];
            const RULES: &'static [$crate::Rule] = &[$($(
                $crate::Rule { text: $rule, fields: &[$(stringify!($named)),+] },
            )*)?];

            fn build(
                given: $crate::params::Given<'_>,
                link: &$crate::Link,
            ) -> Result<Self, $crate::params::Problem> {
                let mut fields = Self::FIELDS.iter().enumerate();
                $(
                    let (at, field) = fields.next().expect("a table entry for each field");
                    let value = given(at).or_else(|| field.default_for(link));
                    let $field = value
                        .and_then(<$ty as $crate::params::Parameter>::from_value)
                        .or_else(<$ty as $crate::params::Parameter>::absent)
                        .ok_or($crate::params::Problem::Missing(stringify!($field)))?;
                )*
                let params = Self { $($field),* };
                let mut rules = Self::RULES.iter();
                $($(
                    let rule = rules.next().expect("a table entry for each rule");
                    let holds: fn(&Self) -> bool = $holds;
                    if !holds(&params) {
                        return Err($crate::params::Problem::Broken(*rule));
                    }
                )*)?
                debug_assert!(rules.next().is_none() && fields.next().is_none());
                Ok(params)
            }

            fn values(&self) -> $crate::params::Values {
                $crate::params::Values::from([$( $crate::params::Parameter::to_value(&self.$field) ),*])
            }
        }
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
            /// The words, in the order of declaration.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// What each of them means.
            pub const DOCS: &'static [&'static str] = &[$(concat!($($doc),+)),+];

            /// The word of this value.
            #[must_use]
            pub fn word(self) -> &'static str {
                Self::WORDS[self as usize]
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
