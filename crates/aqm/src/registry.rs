//! The list of disciplines: what each declares, and how one is made from its name and values.

use crate::DropReason;
use sluicegate_base::choices;
use sluicegate_base::params::Table;

choices! {
    /// What a discipline remembers of flows, least first.
    pub enum Memory {
        /// Nothing; it may look at the packets in the queue.
        None = "none",
        /// A table of fixed size.
        Table = "fixed table",
        /// Those that have packets in the queue.
        Queued = "flows queued",
        /// Those that it has seen recently.
        Seen = "flows seen recently",
    }
}

choices! {
    /// What a discipline that marks does with ECN-capable packets under overload, short of a full buffer.
    pub enum Overload {
        /// It never marks.
        None = "",
        /// It drops them too.
        Drops = "drops",
        /// It goes on to mark them.
        Marks = "marks",
    }
}

/// What the registry knows of one discipline.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Names, parameters and rules.
    pub table: Table,
    /// The reasons for which it drops packets, beside `reconfigured`.
    pub reasons: &'static [DropReason],
    /// Those of them that fall on flows in proportion to what they send, as its marks then do.
    pub proportional: &'static [DropReason],
    /// What it remembers of flows.
    pub memory: Memory,
    /// What that is, in words; "" where the kind says all.
    pub remembers: &'static str,
    /// "always" where it marks without being told; "" where a parameter tells it to, or it never does.
    pub marks: &'static str,
    /// What it does with packets that it might mark while marks do not hold the queue, by default.
    pub overload: Overload,
    /// The rule for that, in words; "" where it never marks.
    pub overload_rule: &'static str,
}

/// Declares a discipline: its names, why it drops packets, what it remembers of flows, and its parameters as
/// [`params!`](sluicegate_base::params!) does.
///
/// `tc` is the matching line for Linux; leave it out where there is none. `proportional` says which drops fall on flows in
/// proportion to what they send, as RED 1993, Sec. X assumes: `Early` and `Forced` where nothing is said. `marks(always)`
/// belongs to one that marks without being told; `overload` says of each one that can mark what becomes of packets that carry
/// ECN while marks alone do not hold the queue, and by which rule.
macro_rules! discipline {
    (
        $Type:ident: $name:literal, $title:literal,
        source($source:literal),
        $(tc($tc:literal),)?
        drops($($reason:ident),+),
        $(proportional($($proportional:ident),*),)?
        remembers($memory:ident $(, $remembers:literal)?),
        $(marks($marks:ident),)?
        $(overload($overload:ident, $overload_rule:literal),)?
        $(#[doc = $about:literal])+
        pub struct $Params:ident $fields:tt
        $(rules $rules:tt)?
    ) => {
        sluicegate_base::params! {
            $(#[doc = $about])+
            pub struct $Params $fields
            $(rules $rules)?
        }

        impl<P> sluicegate_base::Declared for $Type<P> {
            type Params = $Params;
            const ABOUT: sluicegate_base::About = sluicegate_base::About {
                name: $name,
                class: stringify!($Type),
                title: $title,
                source: $source,
                tc: concat!($($tc)?),
                module: "", // its registry entry has it
            };
        }

        impl<P> $Type<P> {
            /// Its entry in the registry; `module` is the source text of its module.
            pub(crate) const fn entry(module: &'static str) -> crate::Entry {
                crate::Entry {
                    table: sluicegate_base::params::Table::of::<Self>().documented(module),
                    reasons: &[$(crate::DropReason::$reason),+],
                    proportional: crate::registry::discipline!(@proportional $(($($proportional),*))?),
                    memory: crate::Memory::$memory,
                    remembers: concat!($($remembers)?),
                    marks: concat!($(stringify!($marks))?),
                    overload: crate::registry::discipline!(@overload $($overload)?),
                    overload_rule: concat!($($overload_rule)?),
                }
            }
        }
    };

    (@overload) => { crate::Overload::None };
    (@overload $overload:ident) => { crate::Overload::$overload };
    (@proportional) => { &[crate::DropReason::Early, crate::DropReason::Forced] };
    (@proportional ($($reason:ident),*)) => { &[$(crate::DropReason::$reason),*] };
}

/// Makes `all()` and `build()` from one line for each discipline, and its name in the crate; `with` names the file beside it that has
/// its table of deviations, where that would be long above the code.
macro_rules! registry {
    ($($module:ident :: $Type:ident $(with $deviations:literal)?),* $(,)?) => {
        $(pub use $module::$Type;)*

        /// Every discipline, in the order in which they are listed to people.
        #[must_use]
        #[inline(never)] // or every default in the tables is compiled again wherever this is called
        pub fn all() -> &'static [Entry] {
            const ALL: &[Entry] = &[$($Type::<()>::entry(concat!(
                include_str!(concat!(stringify!($module), ".rs")) $(, include_str!($deviations))?
            ))),*];
            ALL
        }

        /// Builds the discipline of this name from given values; the rest are its defaults for the link.
        ///
        /// `None` when no discipline has the name.
        pub fn build<P: Packet + 'static>(
            name: &str,
            given: sluicegate_base::params::Given<'_>,
            link: &sluicegate_base::Link,
        ) -> Option<configure::Built<P>> {
            use sluicegate_base::Declared;
            $(
                if name == <$Type<P> as Declared>::ABOUT.name {
                    return Some(configure::build(given, link, $Type::<P>::new));
                }
            )*
            None
        }
    };
}

/// Makes `is_container()` and `contain()` from one line for each discipline that holds classes.
macro_rules! containers {
    ($($module:ident :: $Type:ident),* $(,)?) => {
        /// Whether the discipline of this name holds classes.
        #[must_use]
        pub fn is_container(name: &str) -> bool {
            use sluicegate_base::Declared;
            [$(<$Type<()> as Declared>::ABOUT.name),*].contains(&name)
        }

        /// Builds the container of this name with these classes, one at least, from given values.
        ///
        /// `None` when no container has the name.
        pub fn contain<P: Packet + 'static>(
            name: &str,
            given: sluicegate_base::params::Given<'_>,
            link: &sluicegate_base::Link,
            classes: alloc::vec::Vec<Class<P>>,
        ) -> Option<configure::Built<P>> {
            use sluicegate_base::Declared;
            $(
                if name == <$Type<P> as Declared>::ABOUT.name {
                    let new = |params| $Type::<P>::with_classes(params, classes);
                    return Some(configure::build(given, link, new));
                }
            )*
            None
        }
    };
}
pub(crate) use {containers, discipline, registry};
