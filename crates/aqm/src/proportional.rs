//! Which marks and drops show who sends most: those that fall on flows in proportion to what they send (RED 1993, Sec. X).
//!
//! Drops do not fall in proportion if the present queue decides them, or the packet's flow, class or priority. Each class of a
//! container chooses among its own packets, so each class counts as a group of its own.

use crate::classes::{ClassFilter, class_of};
use crate::discipline::{DropReason, Packet};
use alloc::vec::Vec;

/// The groups among whose packets a queue chooses.
#[derive(Clone, Debug)]
pub enum Proportional {
    /// One group. Its drops for these reasons are in proportion, and if there is any reason its marks.
    Queue(&'static [DropReason]),
    /// Classes with their own queues; where they have a limit together, nobody chooses what that refuses.
    Classes {
        /// Whether there is such a limit.
        limited: bool,
        /// What each class takes, and its queue.
        classes: Vec<(ClassFilter, Proportional)>,
    },
}

impl Default for Proportional {
    /// As RED has it.
    fn default() -> Self {
        Proportional::Queue(&[DropReason::Early, DropReason::Forced])
    }
}

impl Proportional {
    /// How many groups there are.
    #[must_use]
    pub fn groups(&self) -> usize {
        match self {
            Proportional::Queue(_) => 1,
            Proportional::Classes { classes, .. } => classes.iter().map(|(_, queue)| queue.groups()).sum(),
        }
    }

    /// The group of this packet, counted from 0.
    #[must_use]
    pub fn group(&self, packet: &impl Packet) -> usize {
        match self {
            Proportional::Queue(_) => 0,
            Proportional::Classes { classes, .. } => {
                let at = class_of(classes.iter().map(|(filter, _)| filter), packet);
                let before: usize = classes[..at].iter().map(|(_, queue)| queue.groups()).sum();
                before + classes[at].1.group(packet)
            }
        }
    }

    /// Whether this packet's mark (no reason), or its drop, falls on flows in proportion to what they send.
    #[must_use]
    pub fn shows(&self, packet: &impl Packet, reason: Option<DropReason>) -> bool {
        match self {
            Proportional::Queue(reasons) => reason.map_or(!reasons.is_empty(), |reason| reasons.contains(&reason)),
            Proportional::Classes { limited, classes } => {
                let refused = *limited && reason == Some(DropReason::Tail);
                let at = class_of(classes.iter().map(|(filter, _)| filter), packet);
                !refused && classes[at].1.shows(packet, reason)
            }
        }
    }
}
