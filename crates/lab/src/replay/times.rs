//! When recorded packets arrive, and what is done where their times leap.
//!
//! A clock runs forward, and packets of one capture are at most a little out of order. A **jump** is a time that lies more
//! than [`TOLERANCE`] before that of an earlier packet: one time lay ahead, the clock was set back, or captures were joined.
//! All packets after it would arrive at once, and the result would be that of no network. A long silence alone is no jump,
//! but what comes after it is held for a few packets: if times then go back to where they were, those held were ahead.
//!
//! | what a capture holds | what we do | why |
//! |---|---|---|
//! | times that go back by half a second at most | the packet arrives with the latest before it, in the file's order; counted | programs that capture from several interfaces write packets in batches of up to 250 ms (dumpcap's timeout), and twice that is order enough |
//! | the same, for more than 1 % of the packets by more than 1 ms | flagged, as a live run is that does not keep up | these arrived at other times than they did |
//! | a jump | an error, or what `on_jump` says | see above |
//! | up to 16 packets ahead of those around them | `skip` leaves them out; with `shift` they arrive with the one before | their own times are known to be wrong |
//! | a clock set back, captures joined | `skip` leaves packets out until times have caught up; `shift` lets all later ones follow at once, with their distances | how long it was between them is not known |
//! | a silence of more than a day | is damage: the replay ends before it | disciplines that act between packets act through a silence, and a wrong time would stall them |
//! | packets without a time (Simple Packet Blocks) | they arrive with the packet before them; counted | nothing better is known |

use super::reader::{Damage, Record};
use sluicegate_base::{Span, Time, choices};

choices! {
    /// What is done where times go back by more than half a second.
    pub enum OnJump {
        /// The replay ends with an error.
        Error = "error",
        /// Packets whose times do not fit are left out.
        Skip = "skip",
        /// They arrive at once, and later ones follow with their distances.
        Shift = "shift",
    }
}

/// How far times may go back within a capture.
pub const TOLERANCE: Span = Span::from_millis(500);

/// The longest silence that a capture may hold: a day. Disciplines that act between packets act all the while, and a
/// damaged time would stall them for years.
const LONGEST_SILENCE: Span = Span::from_secs(86_400);

/// How many packets after a silence are held until it is clear that times go on from there.
const MOST_HELD: usize = 16;

/// A packet that arrives so much after its time is counted; and so many of them say nothing of a capture.
const LATE: Span = Span::from_millis(1);
const FEW: u64 = 20;

/// A packet that is held: its record, whose bytes are a copy, and its number, from 1.
struct Held {
    record: Record<'static>,
    data: Vec<u8>,
    number: u64,
}

/// What takes packets that arrive, with their times, and the time of the first one.
type Accept<'a, E> = dyn FnMut(&Record<'_>, Time, u64) -> Result<(), E> + 'a;

/// What has been counted of times.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// When the last packet arrived.
    pub arrival: Time,
    /// When the first packet was recorded, in nanoseconds since 1970.
    pub base: u64,
    /// Packets whose time lies before that of one before them, and the longest step back.
    pub out_of_order: (u64, Span),
    /// Packets that arrived more than a millisecond after their time.
    pub moved: u64,
    /// Packets without a time.
    pub untimed: u64,
    /// Packets of which less was captured than there was.
    pub cut: u64,
    /// Packets that arrived.
    pub packets: u64,
    /// How often times leapt, and packets that were left out for it.
    pub jumps: u64,
    /// See `jumps`.
    pub skipped: u64,
}

impl Totals {
    /// Whether packets arrived when they were recorded to, but for a few.
    #[must_use]
    pub fn kept(&self) -> bool {
        self.jumps == 0 && (self.moved * 100 <= self.packets || self.moved <= FEW)
    }
}

/// Why a replay cannot go on in time.
pub enum Stop {
    /// A jump, in words.
    Jump(String),
    /// The rest of the capture cannot be used.
    Damage(Damage),
}

/// The times of a capture.
pub struct Times {
    on_jump: OnJump,
    /// What has been counted.
    pub totals: Totals,
    /// What is added to times in the file.
    shift: u64,
    /// Whether packets are being left out.
    skipping: bool,
    /// Packets after a silence, which may have been ahead, and the latest time of theirs.
    held: Vec<Held>,
    front: u64,
    /// The number of the last packet read.
    number: u64,
}

impl Times {
    /// Those of a capture that has not been read yet.
    #[must_use]
    pub fn new(on_jump: OnJump) -> Times {
        let (totals, held) = (Totals::default(), Vec::new());
        Times { on_jump, totals, shift: 0, skipping: false, held, front: 0, number: 0 }
    }

    /// The latest time of those that have arrived or are held; none before the first.
    fn latest(&self) -> Option<u64> {
        let arrived = (self.totals.packets > 0).then(|| self.totals.base + self.totals.arrival.0);
        if self.held.is_empty() { arrived } else { Some(self.front) }
    }

    /// The next packet of the file: what arrives now goes to `accept`, in order.
    pub fn next<E: From<Stop>>(&mut self, record: &Record<'_>, accept: &mut Accept<'_, E>) -> Result<(), E> {
        self.number += 1;
        let mut packet = *record;
        let Some(time) = packet.time else {
            self.release(accept)?;
            return self.arrive(&packet, accept);
        };
        let mut time = time.saturating_add(self.shift);
        packet.time = Some(time);
        let Some(mut latest) = self.latest() else {
            self.hold(&packet, time);
            return Ok(());
        };
        if time.saturating_add(if self.skipping { 0 } else { TOLERANCE.0 }) < latest {
            let before = self.totals.base + self.totals.arrival.0;
            let returns = self.totals.packets == 0 || time.saturating_add(TOLERANCE.0) >= before;
            if !self.held.is_empty() && returns {
                self.ahead(time, latest, accept)?;
                latest = self.latest().unwrap_or(time);
            } else {
                self.release(accept)?;
                if !self.back(&packet, latest - time)? {
                    return Ok(());
                }
                time = time.saturating_add(if self.on_jump == OnJump::Shift { latest - time } else { 0 });
                packet.time = Some(time);
            }
        }
        self.skipping = false;
        if time > latest.saturating_add(TOLERANCE.0) || self.totals.packets == 0 && self.held.is_empty() {
            self.release(accept)?;
            self.hold(&packet, time);
        } else if !self.held.is_empty() && self.held.len() < MOST_HELD {
            self.hold(&packet, time);
        } else {
            self.release(accept)?;
            self.arrive(&packet, accept)?;
        }
        Ok(())
    }

    fn hold(&mut self, packet: &Record<'_>, time: u64) {
        self.front = if self.held.is_empty() { time } else { self.front.max(time) };
        let (record, data) = (Record { data: &[], ..*packet }, packet.data.to_vec());
        self.held.push(Held { record, data, number: self.number });
    }

    /// Lets those arrive that were held: their times are right.
    pub fn release<E: From<Stop>>(&mut self, accept: &mut Accept<'_, E>) -> Result<(), E> {
        for Held { record, data, .. } in std::mem::take(&mut self.held) {
            self.arrive(&Record { data: &data, ..record }, accept)?;
        }
        Ok(())
    }

    /// Those that are held were ahead, up to `front`: this is the time after them.
    fn ahead<E: From<Stop>>(&mut self, time: u64, front: u64, accept: &mut Accept<'_, E>) -> Result<(), E> {
        self.totals.jumps += 1;
        match self.on_jump {
            OnJump::Error => {
                let (Held { record, number, .. }, last) = (&self.held[0], self.number - 1);
                let (far, offset) = (Span(front - time).as_secs(), record.offset);
                let whose = match last == *number {
                    true => format!("the time of packet {last}, at byte {offset}, lies"),
                    false => format!("the times of packets {number} to {last}, from byte {offset} on, lie"),
                };
                return Err(Stop::Jump(format!(
                    "{whose} {far:.3} s ahead of what follows; --on-jump skip leaves out what is ahead, --on-jump shift lets \
                     it arrive with the packet before it"
                ))
                .into());
            }
            OnJump::Skip => {
                self.totals.skipped += self.held.len() as u64;
                self.held.clear();
            }
            OnJump::Shift => {
                let latest = if self.totals.packets == 0 { time } else { self.totals.base + self.totals.arrival.0 };
                self.held.iter_mut().for_each(|held| held.record.time = Some(latest));
                self.release(accept)?;
            }
        }
        Ok(())
    }

    /// Times go back by so much at this packet, which arrives if this says so.
    fn back<E: From<Stop>>(&mut self, packet: &Record<'_>, back: u64) -> Result<bool, E> {
        self.totals.jumps += u64::from(!self.skipping);
        match self.on_jump {
            OnJump::Error => Err(Stop::Jump(format!(
                "the time of packet {}, at byte {}, lies {:.3} s before that of an earlier packet: a clock was set back, or \
                 captures were joined; --on-jump skip leaves packets out until times have caught up, --on-jump shift lets \
                 them follow at once",
                self.number,
                packet.offset,
                Span(back).as_secs()
            ))
            .into()),
            OnJump::Skip => {
                self.totals.skipped += 1;
                self.skipping = true;
                Ok(false)
            }
            OnJump::Shift => {
                self.shift = self.shift.saturating_add(back);
                Ok(true)
            }
        }
    }

    /// A packet arrives: at its time, or with the latest before it.
    fn arrive<E: From<Stop>>(&mut self, packet: &Record<'_>, accept: &mut Accept<'_, E>) -> Result<(), E> {
        let totals = &mut self.totals;
        if totals.packets == 0 {
            totals.base = packet.time.unwrap_or(0);
        }
        let latest = totals.base + totals.arrival.0;
        let time = packet.time.unwrap_or(latest);
        if time.saturating_sub(latest) > LONGEST_SILENCE.0 {
            let what =
                format!("the time of this packet is {} s after those before it", (time - latest) / 1_000_000_000);
            return Err(Stop::Damage(Damage { offset: packet.offset, what }).into());
        }
        totals.packets += 1;
        totals.untimed += u64::from(packet.time.is_none());
        totals.cut += u64::from((packet.data.len() as u64) < u64::from(packet.original));
        if time < latest {
            let back = Span(latest - time);
            totals.out_of_order = (totals.out_of_order.0 + 1, totals.out_of_order.1.max(back));
            totals.moved += u64::from(back > LATE);
        }
        totals.arrival = totals.arrival.max(Time(time.saturating_sub(totals.base)));
        accept(packet, totals.arrival, totals.base)
    }
}
