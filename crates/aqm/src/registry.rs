//! The list of disciplines: what each declares, and how one is built from its name and values.

use crate::DropReason;
use sluicegate_base::params::Table;

/// What the registry knows of one discipline.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Names, parameters and rules.
    pub table: Table,
    /// The reasons for which it drops packets.
    pub reasons: &'static [DropReason],
}

/// Makes `all()` and `build()` from one line for each discipline.
macro_rules! registry {
    ($($module:ident :: $Type:ident),* $(,)?) => {
        /// Every discipline, in the order in which they are listed to people.
        #[must_use]
        pub fn all() -> &'static [Entry] {
            const ALL: &[Entry] = &[$(
                Entry { table: sluicegate_base::params::Table::of::<$module::$Type<()>>(), reasons: $module::REASONS },
            )*];
            ALL
        }

        /// Builds the discipline of this name from given values; the rest are its defaults for the link.
        ///
        /// `None` when no discipline has the name.
        pub fn build<P: Packet + 'static>(
            name: &str,
            given: sluicegate_base::params::Given<'_>,
            link: &sluicegate_base::Link,
        ) -> Option<Result<alloc::boxed::Box<dyn Discipline<P>>, sluicegate_base::params::Problem>> {
            use sluicegate_base::{Declared, Params};
            $(
                if name == <$module::$Type<P> as Declared>::ABOUT.name {
                    let params = <$module::$Type<P> as Declared>::Params::build(given, link);
                    return Some(params.map(|params| {
                        alloc::boxed::Box::new($module::$Type::<P>::new(params)) as alloc::boxed::Box<dyn Discipline<P>>
                    }));
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
            [$(<$module::$Type<()> as Declared>::ABOUT.name),*].contains(&name)
        }

        /// Builds the container of this name with these classes, one at least, from given values.
        ///
        /// `None` when no container has the name.
        pub fn contain<P: Packet + 'static>(
            name: &str,
            given: sluicegate_base::params::Given<'_>,
            link: &sluicegate_base::Link,
            classes: alloc::vec::Vec<Class<P>>,
        ) -> Option<Result<alloc::boxed::Box<dyn Discipline<P>>, sluicegate_base::params::Problem>> {
            use sluicegate_base::{Declared, Params};
            $(
                if name == <$module::$Type<P> as Declared>::ABOUT.name {
                    let params = <$module::$Type<P> as Declared>::Params::build(given, link);
                    return Some(params.map(|params| {
                        let container = $module::$Type::<P>::with_classes(params, classes);
                        alloc::boxed::Box::new(container) as alloc::boxed::Box<dyn Discipline<P>>
                    }));
                }
            )*
            None
        }
    };
}
pub(crate) use {containers, registry};
