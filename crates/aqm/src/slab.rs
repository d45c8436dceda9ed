//! Many lists in one store: the packets of many queues, the flows of a round.
//!
//! A list is a chain of nodes; a node that is freed serves again, so that nothing is allocated once the store has grown
//! to what it holds at most. The node of a value does not move: its number can be kept.

use alloc::vec::Vec;

/// No node.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Node<T> {
    value: Option<T>,
    prev: u32,
    next: u32,
}

/// A list of the pool that made its nodes.
#[derive(Clone, Copy, Debug)]
pub struct List {
    head: u32,
    tail: u32,
}

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE }
    }
}

impl List {
    /// Whether it has no node.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    /// The node at its front.
    #[inline]
    #[must_use]
    pub fn front(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }
}

/// The store.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    nodes: Vec<Node<T>>,
    free: u32,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { nodes: Vec::new(), free: NONE }
    }
}

impl<T> Slab<T> {
    /// How many nodes there are, those in use and those that serve again.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// A value at the end of the list; gives its node.
    #[inline]
    pub fn push_back(&mut self, list: &mut List, value: T) -> u32 {
        let at = self.free;
        let node = Node { value: Some(value), prev: NONE, next: NONE };
        if at == NONE {
            let at = self.nodes.len() as u32;
            self.nodes.push(node);
            self.link(list, at);
            return at;
        }
        self.free = self.nodes[at as usize].next;
        self.nodes[at as usize] = node;
        self.link(list, at);
        at
    }

    fn link(&mut self, list: &mut List, at: u32) {
        let node = &mut self.nodes[at as usize];
        (node.prev, node.next) = (list.tail, NONE);
        match list.tail {
            NONE => list.head = at,
            tail => self.nodes[tail as usize].next = at,
        }
        list.tail = at;
    }

    fn unlink(&mut self, list: &mut List, at: u32) {
        let Node { prev, next, .. } = self.nodes[at as usize];
        match prev {
            NONE => list.head = next,
            prev => self.nodes[prev as usize].next = next,
        }
        match next {
            NONE => list.tail = prev,
            next => self.nodes[next as usize].prev = prev,
        }
    }

    /// Takes a node from the list that it is in.
    #[inline]
    pub fn remove(&mut self, list: &mut List, at: u32) -> Option<T> {
        self.unlink(list, at);
        let node = &mut self.nodes[at as usize];
        node.next = self.free;
        self.free = at;
        node.value.take()
    }

    /// Takes the first value.
    #[inline]
    pub fn pop_front(&mut self, list: &mut List) -> Option<T> {
        let at = list.front()?;
        self.remove(list, at)
    }

    /// Takes the last value.
    #[inline]
    pub fn pop_back(&mut self, list: &mut List) -> Option<T> {
        match list.tail {
            NONE => None,
            at => self.remove(list, at),
        }
    }

    /// Puts the first node of the list at its end.
    #[inline]
    pub fn rotate(&mut self, list: &mut List) {
        if let Some(at) = list.front() {
            self.unlink(list, at);
            self.link(list, at);
        }
    }

    /// The value of a node in use.
    #[inline]
    #[must_use]
    pub fn get(&self, at: u32) -> Option<&T> {
        self.nodes.get(at as usize)?.value.as_ref()
    }

    /// The value of a node in use, to be changed.
    #[inline]
    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.nodes.get_mut(at as usize)?.value.as_mut()
    }

    /// The values of a list from its front.
    pub fn iter(&self, list: List) -> impl Iterator<Item = &T> {
        let mut at = list.head;
        core::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            at = node.next;
            node.value.as_ref()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use sluicegate_base::Stream;

    /// Against plain deques, with random work on three lists.
    #[test]
    fn lists_do_what_deques_do() {
        let (mut pool, mut rng) = (Slab::default(), Stream::new(1, "pool"));
        let mut lists = [List::default(); 3];
        let mut deques: [VecDeque<(u32, u64)>; 3] = Default::default();
        let mut most = 0;
        for k in 0..30_000 {
            let i = rng.below(3) as usize;
            let (list, deque) = (&mut lists[i], &mut deques[i]);
            match rng.below(7) {
                0..3 => deque.push_back((pool.push_back(list, k), k)),
                3 => assert_eq!(pool.pop_front(list), deque.pop_front().map(|(_, k)| k)),
                4 => assert_eq!(pool.pop_back(list), deque.pop_back().map(|(_, k)| k)),
                5 if !deque.is_empty() => {
                    let (at, k) = deque.remove(rng.below(deque.len() as u64) as usize).unwrap();
                    assert_eq!(pool.get(at), Some(&k));
                    assert_eq!(pool.remove(list, at), Some(k));
                }
                _ => {
                    pool.rotate(list);
                    deque.rotate_left(usize::from(!deque.is_empty()));
                }
            }
            assert_eq!(lists[i].front(), deques[i].front().map(|(at, _)| *at));
            assert!(pool.iter(lists[i]).eq(deques[i].iter().map(|(_, k)| k)));
            most = most.max(deques.iter().map(VecDeque::len).sum());
        }
        assert!(most > 50);
        assert_eq!(pool.nodes(), most, "freed nodes serve again");
    }
}
