//! The nearest valid name, for messages.

use alloc::format;
use alloc::string::String;

/// ` (did you mean "…"?)` with the nearest of `known`, or nothing when none is near.
#[must_use]
pub fn did_you_mean(given: &str, known: &[&str]) -> String {
    nearest(given, known).map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"))
}

/// The nearest of `known` to `given`, if it is near at all: the one that it begins, or else the one with the fewest edits.
#[must_use]
pub fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    // Nothing is near to a text so much longer than every name, and the distance would take long.
    let longest = known.iter().map(|name| name.len()).max()?;
    if given.len() > 8 * (longest + 1) {
        return None;
    }
    let (given, length) = (given.to_lowercase(), given.chars().count());
    let edits = |name: &str| {
        let name = name.to_lowercase();
        let begins = length > 2 && name.starts_with(&given);
        if begins { 0 } else { strsim::damerau_levenshtein(&given, &name) }
    };
    // Of those with as few edits the one that is alike from the beginning on: "seed" for "sed", and not "set".
    let alike = |name: &str| strsim::jaro_winkler(&given, &name.to_lowercase());
    let best = known.iter().min_by(|a, b| edits(a).cmp(&edits(b)).then(alike(b).total_cmp(&alike(a))))?;
    // One of a single letter is near to none but itself.
    let most = (length.max(best.chars().count()) / 3).max(1).min(length.saturating_sub(1));
    (edits(best) <= most).then_some(best)
}
