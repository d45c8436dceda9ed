//! What PIE keeps of each queue, and whether an arrival may join it. `pie` and `fq_pie` build on it.

use super::linux::Linux;
use super::rfc8033::Rfc8033;
use super::rule::{Controller, PieBlock, PieVersion};
use crate::prelude::*;
use crate::red::Action;

/// What PIE keeps of each queue.
#[derive(Clone, Debug)]
pub(crate) enum PieState {
    Rfc8033(Rfc8033),
    Linux(Linux),
}

impl PieState {
    /// At rest.
    pub(crate) fn new(params: &PieBlock) -> PieState {
        match params.law {
            PieVersion::Rfc8033 => PieState::Rfc8033(Rfc8033::new(params)),
            PieVersion::Linux => PieState::Linux(Linux::new(params)),
        }
    }

    /// Whether an arrival may join a queue of so many bytes, perhaps with a mark; otherwise it is to be dropped early.
    pub(crate) fn admits<P: Packet>(
        &mut self,
        packet: &mut P,
        queued: u64,
        params: &PieBlock,
        rng: &mut Stream,
    ) -> bool {
        let controller = self.controller_mut();
        if !controller.drop_early(params, queued, packet.bytes(), rng) {
            return true;
        }
        let admitted = params.action == Action::Mark && controller.may_mark(params) && packet.mark();
        if !admitted {
            controller.dropped();
        }
        admitted
    }

    /// The controller by its rules.
    pub(crate) fn controller(&self) -> &dyn Controller {
        match self {
            PieState::Rfc8033(state) => state,
            PieState::Linux(state) => state,
        }
    }

    /// The same, to tell it something.
    pub(crate) fn controller_mut(&mut self) -> &mut dyn Controller {
        match self {
            PieState::Rfc8033(state) => state,
            PieState::Linux(state) => state,
        }
    }
}
