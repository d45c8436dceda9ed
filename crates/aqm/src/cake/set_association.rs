//! Set-associative hashing: a hash names a set of eight places. It takes the one that has its tag, or else the first
//! vacant one; if none is vacant, it shares the one to which it points.

/// How many places a table has, and how many a set.
pub(super) const QUEUES: usize = 1024;
pub(super) const SET_WAYS: usize = 8;

/// How a place was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It has the tag of this hash.
    Tagged,
    /// No place of the set has it, and this one was vacant.
    Vacant,
    /// Nor was any vacant: this one, where the hash points, is shared.
    Collision,
}

/// The place of a hash, which has its tag then.
pub(super) fn associate(tags: &mut [u32], hash: u32, is_vacant: impl Fn(usize) -> bool) -> (usize, Found) {
    let at = hash as usize % QUEUES;
    if tags[at] == hash {
        return (at, Found::Tagged);
    }
    let (inner, outer) = (at % SET_WAYS, at - at % SET_WAYS);
    let mut ways = (inner..inner + SET_WAYS).map(|k| outer + k % SET_WAYS);
    let tagged = ways.clone().find(|k| tags[*k] == hash).map(|k| (k, Found::Tagged));
    let (k, found) =
        tagged.or_else(|| ways.find(|k| is_vacant(*k)).map(|k| (k, Found::Vacant))).unwrap_or((at, Found::Collision));
    tags[k] = hash;
    (k, found)
}
