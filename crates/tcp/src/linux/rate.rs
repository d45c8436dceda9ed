//! Samples of the delivery rate as Linux takes them (net/ipv4/tcp_rate.c; draft-ietf-ccwg-bbr, Sec. 4.1.1).
//!
//! | what the paper says | what we do | why |
//! |---|---|---|
//! | the draft counts bytes | packets | Linux |
//! | a sample shorter than the least round trip means nothing | none is given | Linux and the draft |

use super::cc::{Sample, Window};
use super::queue::Packet;
use super::ring::Ring;
use sluicegate_base::{Span, Time};

/// What the acknowledgement of a packet is compared with: how things stood when it was last sent (tx of struct tcp_skb_cb), of
/// counts the lower half.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    first_sent: Time,
    delivered_time: Time,
    delivered: u32,
    delivered_ce: u32,
    lost: u32,
    in_flight: u32,
    app_limited: bool,
}

const _: () = assert!(size_of::<Record>() == 40, "a window has many");

/// A count before, of which this is the lower half: it has grown to `now`.
fn before(half: u32, now: u64) -> u64 {
    now - u64::from((now as u32).wrapping_sub(half))
}

/// The state of one connection whose controller governs or asks for samples.
#[derive(Clone, Debug, Default)]
pub(super) struct Rate {
    /// Whether it asks for them; else a sample has no rate.
    records_packets: bool,
    /// One for each packet of the queue.
    records: Ring<Record>,
    /// When the packet was sent that was last known to be delivered (first_tx_mstamp).
    first_sent: Time,
    /// How long the sending took of what it delivered.
    send_elapsed: Span,
    delivered_time: Time,
    /// The sample of this acknowledgement.
    pub sample: Sample,
}

impl Rate {
    /// Whether the controller asks for samples.
    pub fn new(records_packets: bool) -> Rate {
        Rate { records_packets, ..Rate::default() }
    }

    /// A packet goes out now, at this place of the queue and with so many others in flight (tcp_rate_skb_sent).
    #[inline(always)]
    pub fn on_sent(&mut self, index: usize, window: &mut Window, in_flight: u32, nothing_out: bool) {
        if !self.records_packets {
            return;
        }
        if nothing_out {
            (self.first_sent, window.delivered_time) = (window.now, window.now);
        }
        let record = Record {
            first_sent: self.first_sent,
            delivered_time: window.delivered_time,
            delivered: window.delivered as u32,
            delivered_ce: window.delivered_ce as u32,
            lost: window.lost as u32,
            in_flight: in_flight + 1,
            app_limited: window.app_limited > 0,
        };
        if index < self.records.len() {
            self.records[index] = record;
        } else {
            self.records.push(record);
        }
    }

    /// An acknowledgement begins.
    pub fn begin(&mut self, in_flight: u32) {
        self.sample = Sample { prior_in_flight: in_flight, ..Sample::default() };
    }

    /// It delivers this packet, and none that was sent later so far (tcp_rate_skb_delivered).
    pub fn on_delivered(&mut self, index: usize, packet: &Packet, window: &Window) {
        let Some(record) = self.records.get(index) else { return };
        self.first_sent = packet.sent;
        self.send_elapsed = packet.sent.since(record.first_sent);
        self.delivered_time = record.delivered_time;
        let sample = &mut self.sample;
        sample.prior_delivered = Some(before(record.delivered, window.delivered));
        sample.delivered_ce = before(record.delivered_ce, window.delivered_ce);
        (sample.prior_lost, sample.tx_in_flight) = (before(record.lost, window.lost), record.in_flight);
        (sample.is_app_limited, sample.is_retrans) = (record.app_limited, packet.has(Packet::EVER_RESENT));
        sample.sent = packet.sent;
    }

    /// The first packet of the queue is acknowledged.
    pub fn pop(&mut self) {
        if self.records.len() > 0 {
            self.records.pop();
        }
    }

    /// The acknowledgement has been worked on, after which so many more are delivered and lost (tcp_rate_gen).
    pub fn finish(&mut self, window: &mut Window, delivered: u32, lost: u32) {
        if window.app_limited > 0 && window.delivered > window.app_limited {
            window.app_limited = 0;
        }
        if delivered > 0 {
            window.delivered_time = window.now;
        }
        let sample = &mut self.sample;
        (sample.acked_sacked, sample.losses) = (delivered, lost);
        let Some(prior) = sample.prior_delivered else { return };
        sample.delivered = window.delivered - prior;
        sample.delivered_ce = window.delivered_ce - sample.delivered_ce;
        let interval = self.send_elapsed.max(window.now.since(self.delivered_time));
        if window.min_rtt().is_none_or(|least| interval >= least) {
            sample.interval = interval;
        }
    }
}
