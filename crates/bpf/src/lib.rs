//! Queue disciplines as BPF objects, for an unmodified Linux kernel, from 6.16 on.
//!
//! The programs are in the folder `bpf`, one file for each discipline beside its Rust file. This crate has the parameters that
//! go into their objects, and the objects themselves, which are under MIT or GPL-2.0.
//!
//! ```
//! use sluicegate_base::{Link, Rate};
//! use sluicegate_bpf::{Wire, lay_out, object};
//!
//! let link = Link { rate: Rate(10_000_000), packet: 1500 };
//! let parameters = lay_out("dcn", &|_| None, &link, &Wire { rate: Some(link.rate), ..Wire::default() }, 1).unwrap();
//! let file = object("dcn", "dcn_eth0", &parameters.bytes).unwrap();
//! assert_eq!(&file[..4], b"\x7fELF");
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`layout`] | parameters as numbers of the programs |
//! | [`object`](mod@object) | objects with parameters and a name written into them |

pub mod layout;
pub mod object;

pub use layout::{Layout, Portable, Wire};
pub use object::{names, object};

use sluicegate_aqm::afd::AfdParams;
use sluicegate_aqm::blue::BlueParams;
use sluicegate_aqm::choke::ChokeParams;
use sluicegate_aqm::dcn::DcnParams;
use sluicegate_aqm::pi::PiParams;
use sluicegate_aqm::red::RedParams;
use sluicegate_aqm::rem::RemParams;
use sluicegate_aqm::sred::SredParams;
use sluicegate_base::Link;
use sluicegate_base::params::{self, Raw};

/// The parameters of the discipline of this name, from given values, as its program reads them; the rest are its defaults for the
/// link. `generation` tells these from those that are in force.
///
/// # Errors
///
/// The reason why the program cannot do what a parameter says, or the rule that a value breaks.
pub fn lay_out(
    name: &str,
    given: &dyn Fn(&str) -> Option<Raw>,
    link: &Link,
    wire: &Wire,
    generation: u64,
) -> Result<Layout, String> {
    fn of<P: Portable>(
        given: &dyn Fn(&str) -> Option<Raw>,
        link: &Link,
        wire: &Wire,
        generation: u64,
    ) -> Result<Layout, String> {
        let mut values = Vec::new();
        for field in P::FIELDS {
            let value = given(field.name).map(|raw| field.read(&raw)).transpose();
            values.push(value.map_err(|rule| format!("{}: {rule}", field.name))?);
        }
        let params = P::build(&mut params::given(&values), link).map_err(|problem| problem.to_string())?;
        params.lay_out(wire, generation)
    }
    let of = match name {
        AfdParams::NAME => of::<AfdParams>,
        BlueParams::NAME => of::<BlueParams>,
        ChokeParams::NAME => of::<ChokeParams>,
        DcnParams::NAME => of::<DcnParams>,
        PiParams::NAME => of::<PiParams>,
        RedParams::NAME => of::<RedParams>,
        RemParams::NAME => of::<RemParams>,
        SredParams::NAME => of::<SredParams>,
        _ => return Err(format!("{name}: there is no program")),
    };
    of(given, link, wire, generation)
}
