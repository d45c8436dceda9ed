//! The nearest valid name, for messages.

use alloc::format;
use alloc::string::String;

/// ` (did you mean "…"?)` with the nearest of `known`, or nothing when none is near.
#[must_use]
pub fn did_you_mean(given: &str, known: &[&str]) -> String {
    nearest(given, known).map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"))
}

/// The nearest of `known` to `given` by edits, if it is near at all.
#[must_use]
pub fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    // Nothing is near to a text so much longer than every name, and the distance would take long.
    let longest = known.iter().map(|name| name.len()).max()?;
    if given.len() > 8 * (longest + 1) {
        return None;
    }
    let given = given.to_lowercase();
    let edits = |name: &str| {
        let name = name.to_lowercase();
        // Whoever writes the beginning of a name means all of it.
        let begins = given.len() > 2 && name.starts_with(&given);
        if begins { 1 } else { strsim::damerau_levenshtein(&given, &name) }
    };
    // Of those with as few edits that which begins alike, such as "seed" for "sed", and not "set".
    let alike = |name: &str| strsim::jaro_winkler(&given, &name.to_lowercase());
    let best = known.iter().rev().min_by(|a, b| edits(a).cmp(&edits(b)).then(alike(b).total_cmp(&alike(a))))?;
    (edits(best) <= (given.chars().count().max(best.len()) / 3).max(1)).then_some(best)
}
