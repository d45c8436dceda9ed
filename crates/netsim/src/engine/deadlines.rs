//! The earliest of a fixed number of times that change often.

/// A binary tree: its leaves are the times, and each node above has the earlier of two.
#[derive(Debug)]
pub struct Deadlines {
    /// The root is number 1, and the children of node n are 2n and 2n + 1.
    tree: Vec<u64>,
    leaves: usize,
}

impl Deadlines {
    /// So many times, all of which never come.
    pub fn new(count: usize) -> Deadlines {
        let leaves = count.next_power_of_two();
        Deadlines { tree: vec![u64::MAX; 2 * leaves], leaves }
    }

    /// Changes one; the earliest.
    #[inline]
    pub fn set(&mut self, at: u32, time: u64) -> u64 {
        let (mut node, mut first) = (self.leaves + at as usize, time);
        self.tree[node] = time;
        while node > 1 {
            node /= 2;
            first = self.tree[2 * node].min(self.tree[2 * node + 1]);
            self.tree[node] = first;
        }
        first
    }

    /// Whose the earliest is; of equal ones the lowest.
    #[inline]
    pub fn first_at(&self) -> u32 {
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            node += usize::from(self.tree[node] > self.tree[node + 1]);
        }
        (node - self.leaves) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicegate_base::Stream;

    #[test]
    fn gives_the_first_of_the_earliest() {
        let mut rng = Stream::new(1, "deadlines");
        for count in [1, 2, 3, 8, 100] {
            let (mut deadlines, mut times) = (Deadlines::new(count), vec![u64::MAX; count]);
            for _ in 0..1000 {
                let (at, time) = (rng.below(count as u64) as usize, rng.below(50));
                times[at] = time;
                let first = *times.iter().min().unwrap();
                assert_eq!(deadlines.set(at as u32, time), first);
                assert_eq!(deadlines.first_at() as usize, times.iter().position(|time| *time == first).unwrap());
            }
        }
    }
}
