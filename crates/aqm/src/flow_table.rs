//! What a discipline keeps for each flow: a dense table of bounded size, found by a keyed hash.
//!
//! Flows stand side by side, and the last one takes the position of one that is removed. The cost of a visit of all
//! flows depends on how many there are now, not on how many there were or could be. The key of the hash is drawn from
//! the discipline's own stream at first use: runs are repeatable, and nobody who chooses flow ids can choose them to
//! collide. The order of visits is that of insertions and removals, never that of hashes.

use crate::discipline::FlowKey;
use crate::flow_hasher::FlowHasher;
use core::ops::{Index, IndexMut};
use indexmap::IndexMap;
use indexmap::map::{Entry, RawEntryApiV1};
use sluicegate_base::Stream;

/// A value for each of at most so many flows. Positions are good until a flow is removed.
#[derive(Clone, Debug)]
pub struct FlowTable<V> {
    map: IndexMap<FlowKey, V, FlowHasher>,
    keyed: bool,
    capacity: usize,
}

impl<V> FlowTable<V> {
    /// An empty table for at most so many flows; it takes memory for those that come.
    #[must_use]
    pub fn new(capacity: usize) -> FlowTable<V> {
        FlowTable { map: IndexMap::with_hasher(FlowHasher::default()), keyed: false, capacity }
    }

    fn draw_key(&mut self, rng: &mut Stream) {
        if !self.keyed {
            self.map = IndexMap::with_hasher(FlowHasher::new(rng));
            self.keyed = true;
        }
    }

    /// The flow's hash, for [`find_hashed`](Self::find_hashed) and for a table beside this one.
    #[inline]
    pub fn hash(&mut self, flow: FlowKey, rng: &mut Stream) -> u64 {
        self.draw_key(rng);
        self.map.hasher().hash(flow)
    }

    /// The position of a flow whose hash is known.
    #[inline]
    #[must_use]
    pub fn find_hashed(&self, flow: FlowKey, hash: u64) -> Option<usize> {
        self.map.raw_entry_v1().index_from_hash(hash, |key| *key == flow)
    }

    /// The position of a flow.
    #[inline]
    #[must_use]
    pub fn find(&self, flow: FlowKey) -> Option<usize> {
        self.map.get_index_of(&flow)
    }

    /// The position of a flow, which is inserted with this value if it is not there; none when the table is full.
    #[inline]
    pub fn find_or_insert(&mut self, flow: FlowKey, rng: &mut Stream, value: impl FnOnce() -> V) -> Option<usize> {
        self.draw_key(rng);
        let full = self.map.len() >= self.capacity;
        match self.map.entry(flow) {
            Entry::Occupied(entry) => Some(entry.index()),
            Entry::Vacant(_) if full => None,
            Entry::Vacant(entry) => Some(entry.insert_entry(value()).index()),
        }
    }

    /// Removes the flow at a position, which the last flow takes.
    #[inline]
    pub fn remove_at(&mut self, at: usize) {
        self.map.swap_remove_index(at);
    }

    /// Visits every flow from the last to the first, and removes those of which `keep` says no.
    pub fn retain(&mut self, mut keep: impl FnMut(&mut V) -> bool) {
        // Backwards: the flow that takes the position of a removed one has been visited.
        for at in (0..self.map.len()).rev() {
            if !keep(&mut self.map[at]) {
                self.map.swap_remove_index(at);
            }
        }
    }

    /// Forgets all flows.
    pub fn clear(&mut self) {
        self.map.clear();
    }

    /// How many flows there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// For how many flows it has taken memory, for tests.
    #[cfg(test)]
    pub(crate) fn allocated(&self) -> usize {
        self.map.capacity()
    }

    /// Every flow with its value.
    pub fn iter(&self) -> impl Iterator<Item = (FlowKey, &V)> {
        self.map.iter().map(|(flow, value)| (*flow, value))
    }

    /// Every value, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.map.values_mut()
    }
}

impl<V> Index<usize> for FlowTable<V> {
    type Output = V;
    #[inline]
    fn index(&self, at: usize) -> &V {
        &self.map[at]
    }
}

impl<V> IndexMut<usize> for FlowTable<V> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut V {
        &mut self.map[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Find(u64),
        Insert(u64),
        Change(u64),
        Remove(u64),
        Retain(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            2 => (0u64..60).prop_map(Step::Find),
            6 => (0u64..60).prop_map(Step::Insert),
            2 => (0u64..60).prop_map(Step::Change),
            2 => (0u64..60).prop_map(Step::Remove),
            1 => (2u64..6).prop_map(Step::Retain),
        ];
        proptest::collection::vec(step, 0..500)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Beside a map of the standard library, which holds no more than the capacity.
        #[test]
        fn it_is_a_bounded_map(steps in steps(), seed: u64, capacity in 1usize..50) {
            let mut rng = Stream::new(seed, "table");
            let (mut table, mut map) = (FlowTable::new(capacity), BTreeMap::new());
            for (value, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Find(id) => {
                        let (flow, at) = (FlowKey(id), table.find(FlowKey(id)));
                        prop_assert_eq!(at.map(|at| table[at]), map.get(&flow).copied());
                        let hash = table.hash(flow, &mut rng);
                        prop_assert_eq!(at, table.find_hashed(flow, hash));
                    }
                    Step::Insert(id) => {
                        let full = map.len() == capacity && !map.contains_key(&FlowKey(id));
                        let at = table.find_or_insert(FlowKey(id), &mut rng, || value);
                        prop_assert_eq!(at.is_none(), full);
                        if let Some(at) = at {
                            prop_assert_eq!(table[at], *map.entry(FlowKey(id)).or_insert(value));
                        }
                    }
                    Step::Change(id) => {
                        if let Some(at) = table.find(FlowKey(id)) {
                            table[at] += 1;
                        }
                        map.entry(FlowKey(id)).and_modify(|value| *value += 1);
                    }
                    Step::Remove(id) => {
                        if let Some(at) = table.find(FlowKey(id)) {
                            table.remove_at(at);
                        }
                        map.remove(&FlowKey(id));
                    }
                    Step::Retain(part) => {
                        let keep = |value: &mut usize| {
                            *value += 1;
                            *value as u64 % part > 0
                        };
                        table.retain(keep);
                        map.retain(|_, value| keep(value));
                    }
                }
                let all: BTreeMap<FlowKey, usize> = table.iter().map(|(flow, value)| (flow, *value)).collect();
                prop_assert_eq!(&all, &map);
                prop_assert_eq!((table.len(), table.is_empty()), (map.len(), map.is_empty()), "each once");
            }
        }

        /// Equal seeds and steps give equal orders, and the key costs two random numbers, once.
        #[test]
        fn visits_are_repeatable(ids in proptest::collection::vec(0u64..40, 1..100), seed: u64) {
            let run = || {
                let (mut table, mut rng) = (FlowTable::new(30), Stream::new(seed, "table"));
                for id in &ids {
                    match table.find(FlowKey(*id)) {
                        Some(at) => table.remove_at(at),
                        None => drop(table.find_or_insert(FlowKey(*id), &mut rng, || ())),
                    }
                }
                (table.iter().map(|(flow, ())| flow).collect::<Vec<_>>(), rng.bits())
            };
            let mut rng = Stream::new(seed, "table");
            let _key = FlowHasher::new(&mut rng);
            prop_assert_eq!(run(), (run().0, rng.bits()));
        }
    }
}
