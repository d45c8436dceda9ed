//! ns-2's `overhead_`: what the window lets out waits for a random time, all of it together.
//!
//! Only `send_much` waits there: unless something waits already, it sets a timer to a time uniform on \[0, `overhead_`\],
//! and whatever the window allows when that expires goes out at once. What an acknowledgement sends without asking it does
//! not wait: the segment of limited transmit, and the retransmissions of Reno, NewReno and SACK (`output` in `send_one`,
//! `dupack_action` and `partialnewack_helper`).

use alloc::boxed::Box;
use sluicegate_base::{Span, Stream, Time};

/// The delay of one sender.
pub(super) struct SendJitter {
    most: Span,
    rng: Stream,
    /// Until when what the window lets out waits.
    pub due: Option<Time>,
}

impl SendJitter {
    /// A delay of up to `most`, from its own random stream.
    pub fn new(most: Span, rng: Stream) -> Box<SendJitter> {
        Box::new(SendJitter { most, rng, due: None })
    }

    /// Something is to be sent from `now` on: it waits, or what waits already takes it along.
    pub fn hold(&mut self, now: Time) {
        let SendJitter { most, rng, due } = self;
        due.get_or_insert_with(|| now + Span(rng.below(most.0.saturating_add(1))));
    }
}
