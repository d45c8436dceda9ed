//! A table of flows with a fixed bound: what a discipline remembers of each flow that it tells apart.
//!
//! Flows chain in buckets; places are given by a keyed hash ([`FlowHasher`]), so that chosen flows do not lengthen a chain. All
//! memory is one block, taken when the first flow is stored: 4 bytes for each bucket, and for each flow its key, its value and
//! 4 bytes. A full table takes no more flows in. The order of visits is that of buckets and chains, which depends on the seed
//! alone.

use crate::discipline::FlowKey;
use crate::flow_hasher::FlowHasher;
use alloc::vec;
use alloc::vec::Vec;

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// A flow, or a free place; `next` is the next of its bucket, or the next free place.
#[derive(Clone, Copy, Debug)]
struct Node<V> {
    flow: FlowKey,
    value: V,
    next: u32,
}

/// A flow's place in a table, good until flows are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

/// A table of at most so many flows.
#[derive(Clone, Debug)]
pub struct FlowTable<V> {
    heads: Vec<u32>,
    nodes: Vec<Node<V>>,
    free: u32,
    len: usize,
    buckets: usize,
    most: usize,
}

impl<V: Copy> FlowTable<V> {
    /// An empty table with so many buckets, one at least, for at most so many flows.
    #[must_use]
    pub fn new(buckets: usize, most: usize) -> FlowTable<V> {
        let most = most.min(NONE as usize);
        FlowTable { heads: Vec::new(), nodes: Vec::new(), free: NONE, len: 0, buckets: buckets.max(1), most }
    }

    /// Where a flow is; `keyed` must always be the same.
    #[inline]
    #[must_use]
    pub fn find(&self, flow: FlowKey, keyed: &FlowHasher) -> Option<Place> {
        if self.len == 0 {
            return None;
        }
        let mut at = self.heads[keyed.bucket(flow, self.buckets)];
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.flow == flow {
                return Some(Place(at));
            }
            at = node.next;
        }
        None
    }

    /// Takes in a flow that is not there; none when the table is full.
    pub fn insert(&mut self, flow: FlowKey, value: V, keyed: &FlowHasher) -> Option<Place> {
        if self.heads.is_empty() {
            self.heads = vec![NONE; self.buckets];
            self.nodes.reserve_exact(self.most);
        }
        let bucket = keyed.bucket(flow, self.buckets);
        let node = Node { flow, value, next: self.heads[bucket] };
        let at = if self.free != NONE {
            let at = self.free;
            self.free = self.nodes[at as usize].next;
            self.nodes[at as usize] = node;
            at
        } else if self.nodes.len() < self.most {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            return None;
        };
        self.heads[bucket] = at;
        self.len += 1;
        Some(Place(at))
    }

    /// The value of the flow at this place.
    #[inline]
    #[must_use]
    pub fn get(&self, place: Place) -> V {
        self.nodes[place.0 as usize].value
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, place: Place) -> &mut V {
        &mut self.nodes[place.0 as usize].value
    }

    /// Removes a flow, if it is there.
    pub fn remove(&mut self, flow: FlowKey, keyed: &FlowHasher) {
        if self.len > 0 {
            self.thin(keyed.bucket(flow, self.buckets), &mut |other, _| other != flow);
        }
    }

    /// Visits every flow, and keeps those of which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(FlowKey, &mut V) -> bool) {
        if self.len > 0 {
            (0..self.heads.len()).for_each(|bucket| self.thin(bucket, &mut keep));
        }
    }

    /// The same for one bucket.
    fn thin(&mut self, bucket: usize, keep: &mut dyn FnMut(FlowKey, &mut V) -> bool) {
        let (mut at, mut before) = (self.heads[bucket], NONE);
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            let next = node.next;
            if keep(node.flow, &mut node.value) {
                before = at;
            } else {
                node.next = self.free;
                (self.free, self.len) = (at, self.len - 1);
                match before {
                    NONE => self.heads[bucket] = next,
                    _ => self.nodes[before as usize].next = next,
                }
            }
            at = next;
        }
    }

    /// How many flows there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Every flow with its value.
    pub fn for_each(&self, visit: &mut dyn FnMut(FlowKey, V)) {
        self.heads.iter().flat_map(|head| self.chain(*head)).for_each(|node| visit(node.flow, node.value));
    }

    fn chain(&self, head: u32) -> impl Iterator<Item = &Node<V>> {
        let node = |at: u32| (at != NONE).then(|| &self.nodes[at as usize]);
        core::iter::successors(node(head), move |before| node(before.next))
    }

    /// The length of the longest chain.
    #[must_use]
    pub fn longest_chain(&self) -> usize {
        self.heads.iter().map(|head| self.chain(*head).count()).max().unwrap_or(0)
    }

    /// The bytes of memory that it has taken.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<u32>() + self.nodes.capacity() * size_of::<Node<V>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use sluicegate_base::Stream;

    /// A hundred thousand random insertions and removals, beside a map.
    #[test]
    fn it_is_a_map() {
        let mut rng = Stream::new(1, "table");
        let keyed = FlowHasher::new(&mut rng);
        let (mut table, mut map) = (FlowTable::new(7, 40), BTreeMap::new());
        for step in 0..100_000u64 {
            let flow = FlowKey(rng.below(60));
            let place = table.find(flow, &keyed);
            assert_eq!(place.map(|place| table.get(place)), map.get(&flow).copied());
            match (place, rng.below(3)) {
                (None, _) => {
                    let full = map.len() == 40;
                    assert_eq!(table.insert(flow, step, &keyed).is_none(), full);
                    if !full {
                        map.insert(flow, step);
                    }
                }
                (Some(place), 0) => {
                    *table.get_mut(place) += 1;
                    *map.get_mut(&flow).unwrap() += 1;
                }
                (Some(_), _) => {
                    table.remove(flow, &keyed);
                    map.remove(&flow);
                }
            }
            if step % 1000 == 0 {
                table.retain(|flow, _| flow.0 % 3 > 0);
                map.retain(|flow, _| flow.0 % 3 > 0);
            }
            let mut all = BTreeMap::new();
            table.for_each(&mut |flow, value| assert_eq!(all.insert(flow, value), None));
            assert_eq!((&all, table.len()), (&map, map.len()));
        }
        assert_eq!(table.bytes(), 7 * 4 + 40 * 24);
    }
}
