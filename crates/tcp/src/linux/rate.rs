//! Samples of the delivery rate as Linux takes them (net/ipv4/tcp_rate.c; draft-ietf-ccwg-bbr, Sec. 4.1.1).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the draft counts bytes | packets | Linux |
//! | a sample shorter than the least round trip means nothing | none is given | both |

use super::cc::{Sample, Window};
use super::queue::{Packet, sent_after};
use sluicegate_base::{Span, Time};

/// The state of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Rate {
    /// When the packet was sent that was last known to be delivered (first_tx_mstamp).
    first_sent: Time,
    /// The packet of this acknowledgement's sample: when it was sent, and where it ends.
    newest: (Time, u64),
    /// How long the sending took of what it delivered.
    send_elapsed: Span,
    delivered_time: Time,
}

impl Rate {
    /// A packet goes out now: what its acknowledgement will be compared with (tcp_rate_skb_sent).
    pub fn on_sent(&mut self, packet: &mut Packet, window: &mut Window, nothing_out: bool) {
        if nothing_out {
            (self.first_sent, window.delivered_time) = (packet.sent, packet.sent);
        }
        packet.first_sent = self.first_sent;
        packet.delivered_time = window.delivered_time;
        packet.delivered = window.delivered;
        packet.delivered_ce = window.delivered_ce;
        packet.lost_before = window.lost;
        packet.in_flight = window.in_flight + 1;
        packet.app_limited = window.app_limited > 0;
        packet.sampled = false;
    }

    /// An acknowledgement begins.
    pub fn begin(&mut self, sample: &mut Sample) {
        *sample = Sample::default();
        self.newest = (Time::ZERO, 0);
    }

    /// It delivers this packet (tcp_rate_skb_delivered).
    pub fn on_delivered(&mut self, packet: &Packet, sample: &mut Sample) {
        if packet.sampled {
            return;
        }
        if sample.prior_delivered.is_none() || sent_after((packet.sent, packet.end), self.newest) {
            self.newest = (packet.sent, packet.end);
            self.first_sent = packet.sent;
            self.send_elapsed = packet.sent.since(packet.first_sent);
            self.delivered_time = packet.delivered_time;
            *sample = Sample {
                delivered_ce: packet.delivered_ce,
                prior_delivered: Some(packet.delivered),
                prior_lost: packet.lost_before,
                tx_in_flight: packet.in_flight,
                is_app_limited: packet.app_limited,
                is_retrans: packet.ever_resent,
                sent: packet.sent,
                ..*sample
            };
        }
    }

    /// It has been worked on, after which so many more are delivered and lost (tcp_rate_gen).
    pub fn finish(&mut self, window: &mut Window, sample: &mut Sample, delivered: u32, lost: u32) {
        if window.app_limited > 0 && window.delivered > window.app_limited {
            window.app_limited = 0;
        }
        if delivered > 0 {
            window.delivered_time = window.now;
        }
        (sample.acked_sacked, sample.losses) = (delivered, lost);
        let Some(prior) = sample.prior_delivered else { return };
        sample.delivered = window.delivered - prior;
        sample.delivered_ce = window.delivered_ce - sample.delivered_ce;
        let interval = self.send_elapsed.max(window.now.since(self.delivered_time));
        if window.min_rtt.is_none_or(|least| interval >= least) {
            sample.interval = interval;
        }
    }
}
