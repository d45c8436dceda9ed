//! What a queue keeps for each flow, found by a keyed hash.
//!
//! The key is drawn from the discipline's own stream, so that a run is repeatable, and nobody who chooses flow ids can
//! choose them to collide. Nothing here iterates in the order of hashes.

use crate::discipline::FlowKey;
use crate::flow_hasher::FlowHasher;
use hashbrown::HashMap;
use sluicegate_base::Stream;

/// A value for each of some flows. Its owner bounds their number.
#[derive(Clone, Debug)]
pub struct FlowMap<V> {
    map: HashMap<FlowKey, V, FlowHasher>,
    keyed: bool,
}

impl<V> Default for FlowMap<V> {
    fn default() -> Self {
        FlowMap { map: HashMap::with_hasher(FlowHasher::default()), keyed: false }
    }
}

impl<V> FlowMap<V> {
    /// The flow's value.
    #[inline]
    #[must_use]
    pub fn get(&self, flow: FlowKey) -> Option<&V> {
        self.map.get(&flow)
    }

    /// The flow's value, to be changed.
    #[inline]
    pub fn get_mut(&mut self, flow: FlowKey) -> Option<&mut V> {
        self.map.get_mut(&flow)
    }

    /// Gives the flow a value; the first one of all draws the hash's key.
    pub fn insert(&mut self, flow: FlowKey, value: V, rng: &mut Stream) {
        if !self.keyed {
            self.map = HashMap::with_hasher(FlowHasher::new(rng));
            self.keyed = true;
        }
        self.map.insert(flow, value);
    }

    /// Forgets the flow.
    pub fn remove(&mut self, flow: FlowKey) -> Option<V> {
        self.map.remove(&flow)
    }

    /// How many flows have a value.
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether none has.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// How many values there is room for.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.map.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// A million ids that a plain modulus would put into one place.
    #[test]
    fn chosen_ids_spread_over_all_places() {
        let keyed = FlowHasher::new(&mut Stream::new(1, "key"));
        let mut counts = vec![0.0f64; 1024];
        (0..1_000_000u64).for_each(|k| counts[keyed.bucket(FlowKey(k << 40), 1024)] += 1.0);
        let mean = 1e6 / 1024.0;
        let chi2: f64 = counts.iter().map(|count| (count - mean) * (count - mean) / mean).sum();
        // 1023 degrees of freedom: 1168 is exceeded once in a thousand, 880 fallen short of.
        assert!((880.0..1168.0).contains(&chi2), "chi-square {chi2}");
    }

    #[test]
    fn another_stream_gives_another_hash() {
        let hash = |seed| FlowHasher::new(&mut Stream::new(seed, "key")).hash(FlowKey(7));
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
    }

    #[test]
    fn flows_come_and_go() {
        let (mut map, mut rng) = (FlowMap::default(), Stream::new(1, "map"));
        assert!(map.get(FlowKey(3)).is_none());
        (0..100u64).for_each(|k| map.insert(FlowKey(k), k * k, &mut rng));
        assert_eq!((map.len(), map.get(FlowKey(9)).copied(), map.remove(FlowKey(9))), (100, Some(81), Some(81)));
        *map.get_mut(FlowKey(8)).unwrap() += 1;
        assert_eq!((map.get(FlowKey(8)).copied(), map.get(FlowKey(9)), map.len()), (Some(65), None, 99));
    }
}
