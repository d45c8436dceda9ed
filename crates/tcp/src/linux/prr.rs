//! # PRR: how much goes out while the window falls
//!
//! Proportional rate reduction (RFC 6937bis, draft-ietf-tcpm-prr-rfc6937bis) as Linux has it (`tcp_cwnd_reduction`).
//!
//! ```text
//! delivered += newly delivered
//! in flight > ssthresh:  send = ⌈ssthresh · delivered / window before⌉ − out
//! else:                  send = max(delivered − out, newly delivered), one more if the acknowledgement is new and brings no loss,
//!                        at most ssthresh − in flight
//! at least 1 while nothing has gone out
//! cwnd = in flight + send
//! ```
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | counts bytes | packets | Linux |
//! | RecoverFS is what was under way | the window before | Linux, prior_cwnd |

/// The state of one reduction, in packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    pub delivered: u32,
    pub out: u32,
}

impl Prr {
    /// How many packets may go out now.
    pub fn allowed(&mut self, in_flight: u32, ssthresh: u32, before: u32, newly: u32, restores: bool) -> u32 {
        self.delivered += newly;
        let send = if in_flight > ssthresh {
            let share = (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(before.max(1).into());
            (share as u32).saturating_sub(self.out)
        } else {
            let send = self.delivered.saturating_sub(self.out).max(newly) + u32::from(restores);
            send.min(ssthresh - in_flight)
        };
        send.max(u32::from(self.out == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937, Sec. 4, by hand: a window of 10 with one lost goes to 5 while nine deliveries come.
    #[test]
    fn sends_in_proportion_and_ends_at_the_threshold() {
        let mut prr = Prr::default();
        let mut in_flight = 10;
        let mut sent = alloc::vec::Vec::new();
        for _ in 0..9 {
            in_flight -= 1;
            let send = prr.allowed(in_flight, 5, 10, 1, false);
            prr.out += send;
            in_flight += send;
            sent.push(send);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(in_flight, 5);
    }

    #[test]
    fn slow_starts_up_to_the_threshold_when_too_little_is_under_way() {
        let mut prr = Prr { delivered: 3, out: 3 };
        assert_eq!(prr.allowed(2, 5, 10, 1, true), 2, "one delivered and one more");
        prr.out += 2;
        assert_eq!(prr.allowed(5, 5, 10, 1, true), 0);
    }
}
