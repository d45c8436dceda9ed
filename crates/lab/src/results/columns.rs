//! What tables are made of: columns of cells, each with its unit and meaning.

use sluicegate_aqm::DropReason;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Real numbers; NaN is a missing value.
    F64(Vec<f64>),
    /// Counts. They have a sign, so that a difference of two may be negative.
    I64(Vec<i64>),
    /// Texts.
    Str(Texts),
}

/// Texts of which most are alike, such as the name of a link in each row: every one once, and for each row which.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    /// The different texts, in order of appearance.
    pub names: Vec<String>,
    /// For each row the place of its text in `names`.
    pub codes: Vec<u32>,
}

impl<'a> FromIterator<&'a str> for Texts {
    fn from_iter<I: IntoIterator<Item = &'a str>>(cells: I) -> Self {
        let mut texts = Texts::default();
        let mut places = BTreeMap::new();
        let mut last: Option<(&str, u32)> = None;
        for cell in cells {
            // Neighbours are mostly of one text, and that text is then one place in memory.
            let code = match last {
                Some((text, code)) if std::ptr::eq(text, cell) => code,
                _ => *places.entry(cell).or_insert_with(|| {
                    texts.names.push(cell.to_owned());
                    texts.names.len() as u32 - 1
                }),
            };
            last = Some((cell, code));
            texts.codes.push(code);
        }
        texts
    }
}

impl Texts {
    /// The text of each row.
    pub fn rows(&self) -> impl Iterator<Item = &str> {
        self.codes.iter().map(|&code| self.names[code as usize].as_str())
    }
}

impl Cells {
    /// The name of the type in declarations.
    #[must_use]
    pub fn dtype(&self) -> &'static str {
        match self {
            Cells::F64(_) => "f64",
            Cells::I64(_) => "i64",
            Cells::Str(_) => "str",
        }
    }
}

/// One column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name, which ends in its unit.
    pub name: Cow<'static, str>,
    /// Its unit.
    pub unit: &'static str,
    /// What it means.
    pub doc: Cow<'static, str>,
    /// Its cells.
    pub cells: Cells,
}

/// One table.
#[derive(Clone, Debug)]
pub struct ResultTable {
    /// Its name.
    pub name: &'static str,
    /// What its rows are.
    pub summary: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
}

pub(crate) fn f64s(
    name: &'static str,
    unit: &'static str,
    doc: &'static str,
    cells: impl Iterator<Item = f64>,
) -> Column {
    Column { name: name.into(), unit, doc: doc.into(), cells: Cells::F64(cells.collect()) }
}

pub(crate) fn u64s(
    name: &'static str,
    unit: &'static str,
    doc: &'static str,
    cells: impl Iterator<Item = u64>,
) -> Column {
    Column { name: name.into(), unit, doc: doc.into(), cells: counts(cells) }
}

/// No counter comes near the bound.
fn counts(cells: impl Iterator<Item = u64>) -> Cells {
    Cells::I64(cells.map(|count| i64::try_from(count).unwrap_or(i64::MAX)).collect())
}

pub(crate) fn strs<'a>(name: &'static str, doc: &'static str, cells: impl Iterator<Item = &'a str>) -> Column {
    Column { name: name.into(), unit: "", doc: doc.into(), cells: Cells::Str(cells.collect()) }
}

pub(crate) fn drops_by_reason(drops: &[[u64; DropReason::COUNT]]) -> impl Iterator<Item = Column> + '_ {
    DropReason::ALL.iter().map(|&reason| Column {
        name: format!("drops_{}", reason.word()).into(),
        unit: "packets",
        doc: format!("those of drops_packets with the reason `{}`. {}", reason.word(), reason.doc()).into(),
        cells: counts(drops.iter().map(|drops| drops[reason as usize])),
    })
}

pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { f64::NAN } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::Texts;

    #[test]
    fn a_text_is_kept_once() {
        let other = String::from("b");
        let cells = ["a", "b", other.as_str(), "a", "", "a"];
        let texts: Texts = cells.into_iter().collect();
        assert_eq!(texts.names, ["a", "b", ""]);
        assert_eq!(texts.codes, [0, 1, 1, 0, 2, 0]);
        assert!(texts.rows().eq(cells));
    }
}
