//! ns-2's `overhead_`: what the window lets out waits for a random time, all of it together.
//!
//! Only `send_much` waits there: unless something waits already, it sets a timer to a time uniform on \[0, `overhead_`\],
//! and whatever the window allows when that expires goes out at once. What an acknowledgement sends without `send_much`
//! does not wait: the segment of limited transmit, and the retransmissions of Reno, NewReno and SACK (`output` in `send_one`,
//! `dupack_action` and `partialnewack_helper`).

use sluicegate_base::{Span, Stream, Time};

/// The random delays of one sender.
pub(super) struct SendJitter {
    max: Span,
    rng: Stream,
    /// When what waits may be sent.
    pub release: Time,
}

impl SendJitter {
    /// Delays of up to `max`, from their own random stream.
    pub fn new(max: Span, rng: Stream) -> SendJitter {
        SendJitter { max, rng, release: Time::NEVER }
    }

    /// The next delay.
    pub fn draw(&mut self) -> Span {
        Span(self.rng.below(self.max.0.saturating_add(1)))
    }
}
