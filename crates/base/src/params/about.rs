//! Names and sources of a declared thing, and what the comment of its module says.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What a declared thing is called and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name in scenarios and on the command line: `red`.
    pub name: &'static str,
    /// The name of its Python class: `Red`.
    pub class: &'static str,
    /// The name as the field writes it: `RED`.
    pub title: &'static str,
    /// The paper, section or standard.
    pub source: &'static str,
    /// The matching `tc` line, capitals standing for values; empty where Linux has none.
    pub tc: &'static str,
    /// The source text of its module, whose comment holds the rule and the table of deviations.
    pub module: &'static str,
}

impl About {
    /// The first paragraph of the module comment, after its title.
    #[must_use]
    pub fn summary(&self) -> String {
        let lines = self.comment().skip_while(|line| line.is_empty() || line.starts_with('#'));
        lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The rows of the deviations table that ends the module comment, there or in a file beside it, whose text follows that of the
    /// module: what the paper says, what we do, why.
    #[must_use]
    pub fn deviations(&self) -> Vec<[String; 3]> {
        let lines = self.module.lines().map(|line| line.strip_prefix("//!").unwrap_or(line).trim());
        let rows = lines.skip_while(|line| !line.starts_with("| what the paper says"));
        rows.skip(2).take_while(|line| line.starts_with('|')).filter_map(cells).collect()
    }

    fn comment(&self) -> impl Iterator<Item = &'static str> {
        self.module.lines().take_while(|line| line.starts_with("//!")).map(|line| line[3..].trim())
    }
}

fn cells(row: &str) -> Option<[String; 3]> {
    let mut cells = row.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string());
    Some([cells.next()?, cells.next()?, cells.next()?])
}
