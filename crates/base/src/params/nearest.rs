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
    let distance = |name: &str| strsim::damerau_levenshtein(&given.to_lowercase(), name);
    let best = known.iter().min_by_key(|name| distance(name))?;
    (distance(best) <= (given.chars().count().max(best.len()) / 3).max(1)).then_some(best)
}
