//! When recorded packets arrive, and what is done where their times leap.
//!
//! A clock runs forward, and packets of one capture are at most a little out of order. Where a time lies more than
//! [`TOLERANCE`] away from those before it, packets are held, `MOST_HELD` at most, until it is clear which times are
//! right. If times come back to where they were before the held packets, these had wrong times; otherwise the times of the
//! held packets are right, and later ones continue from them. Wrong times are a **jump**. Right times of held packets are
//! a jump, too, if they lie before those of earlier packets, or more than a day after them. Without these rules later packets
//! would all arrive at once, or never, which happens in no network.
//!
//! | what a capture holds | what we do | why |
//! |---|---|---|
//! | times that go back by half a second at most | the packet arrives with the latest before it, in the file's order; counted | programs that capture from several interfaces write packets in batches of up to 250 ms (dumpcap's timeout); the tolerance is twice that |
//! | such packets that are more than 1 ms late, in any of three cases: they are more than 20 and more than 1 % of all packets; more than 20 of them arrive at one instant; or two or more arrive at one instant and the link needs more than 50 ms to send them | flagged, as is a live run that does not keep up | in the replay these packets arrive at other times than recorded, or in a burst that the network did not have |
//! | a jump | an error, or what `on_jump` says | see above |
//! | wrong times, of up to 15 packets | `skip` leaves them out; with `shift` they arrive with the one before | nothing better is known |
//! | a clock set back, captures joined in the wrong order | `skip` leaves packets out until times have caught up; with `shift` the next one arrives at once, and the recorded times between later ones are kept | how much time passed at the jump is not known |
//! | a silence of more than a day: a clock set forward, captures joined | with `shift` as with a clock set back. `skip` leaves out up to 15 packets after the silence if the capture ends after them, or its times leap again. If more packets come, they arrive as with `shift` | these times never come back to those before the silence, so `skip` would leave out all the rest. If a silence this long were kept, the timers of disciplines would run all through it |
//! | a shorter silence | is kept; one longer than half of the whole time is reported and flagged | it may be a real silence, or the first or the last packets have wrong times; rates are over the whole time |
//! | packets without a time (Simple Packet Blocks) | they arrive with the packet before them, the first ones with the one after; counted, and flagged as late ones are | nothing better is known |

use super::reader::Record;
use sluicegate_base::{Rate, Span, Time, choices};

choices! {
    /// What is done where times leap.
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
const HALF: i128 = TOLERANCE.0 as i128;

/// The longest silence that a capture may hold. Disciplines that act between packets act all the while, and a wrong time
/// would stall them for years.
const DAY: i128 = 86_400_000_000_000;

/// How many packets are held until it is clear how times go on.
const MOST_HELD: usize = 16;

/// A packet that arrives so much after its time is counted; so many of them say nothing of a capture, and so many at one
/// instant, or as many as the link sends in this time, are no burst.
const LATE: Span = Span::from_millis(1);
const FEW: u64 = 20;
const BURST: Span = Span::from_millis(50);

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
    /// Packets with wrong times that arrived with the one before, and how often what followed arrived at once.
    pub wrong: u64,
    /// See `wrong`.
    pub resumed: u64,
    /// The longest time without a packet, and the number of the packet that ended it.
    pub silence: (Span, u64),
    /// The most packets that arrived at one instant after their time, and whether ever more did than make a burst.
    pub burst: (u64, bool),
}

impl Totals {
    /// Whether packets arrived when they were recorded to, but for a few.
    #[must_use]
    pub fn kept(&self) -> bool {
        let wrong = self.moved + self.untimed;
        self.jumps == 0 && !self.burst.1 && (wrong * 100 <= self.packets || wrong <= FEW)
    }

    /// Whether nothing arrived for more than half of the time.
    #[must_use]
    pub fn mostly_silent(&self) -> bool {
        self.silence.0 > TOLERANCE && self.silence.0.0 > self.arrival.0 / 2
    }
}

/// Why a replay cannot go on: its times leap, in words.
pub struct Jump(pub String);

/// The times of a capture.
pub struct Times {
    on_jump: OnJump,
    /// The rate of the link that packets cross.
    rate: Rate,
    /// What has been counted.
    pub totals: Totals,
    /// Whether a packet with a time has arrived.
    timed: bool,
    /// What is added to times in the file.
    shift: i128,
    /// Whether packets are left out until times have caught up.
    skipping: bool,
    /// Packets whose times may be wrong, and the first and the latest time among them.
    held: Vec<Held>,
    span: Option<(i128, i128)>,
    /// The number of the last packet read.
    number: u64,
    /// Packets and bits that have arrived late at the last instant.
    late: (u64, u64),
}

impl Times {
    /// Those of a capture that has not been read yet, for a link of this rate.
    #[must_use]
    pub fn new(on_jump: OnJump, rate: Rate) -> Times {
        let (totals, held) = (Totals::default(), Vec::new());
        Times {
            on_jump,
            rate,
            totals,
            timed: false,
            shift: 0,
            skipping: false,
            held,
            span: None,
            number: 0,
            late: (0, 0),
        }
    }

    /// The time of the latest that has arrived.
    fn latest(&self) -> i128 {
        i128::from(self.totals.base) + i128::from(self.totals.arrival.0)
    }

    /// When a packet arrives by its own time.
    fn time(&self, packet: &Record<'_>) -> Option<i128> {
        packet.time.map(|time| i128::from(time) + self.shift)
    }

    /// The next packet of the file: what arrives now goes to `accept`, in order.
    pub fn next<E: From<Jump>>(&mut self, record: &Record<'_>, accept: &mut Accept<'_, E>) -> Result<(), E> {
        self.number += 1;
        self.take(record, self.number, accept)
    }

    /// The capture ends: those that are held arrive.
    pub fn finish<E: From<Jump>>(&mut self, accept: &mut Accept<'_, E>) -> Result<(), E> {
        while !self.held.is_empty() {
            self.go_on(accept)?;
        }
        Ok(())
    }

    fn take<E: From<Jump>>(&mut self, packet: &Record<'_>, number: u64, accept: &mut Accept<'_, E>) -> Result<(), E> {
        let latest = self.latest();
        let time = self.time(packet);
        if self.skipping && time.is_none_or(|time| time < latest) {
            self.totals.skipped += 1;
            return Ok(());
        }
        self.skipping = false;
        let Some(time) = time else {
            return match self.held.is_empty() && self.timed {
                true => self.arrive(None, packet, number, accept),
                false => self.hold(packet, number, accept),
            };
        };
        let Some((first, front)) = self.span else {
            let near = self.timed && !before(latest, time) && !before(time, latest);
            return if near {
                self.arrive(Some(time), packet, number, accept)
            } else {
                self.hold(packet, number, accept)
            };
        };
        let back = self.timed && before(first, latest);
        // Those that are ahead by more than a day may go on with silences of their own.
        let step = if self.timed && first - latest > DAY { DAY } else { HALF };
        if if back { !before(time, latest) } else { before(time, front) && !(self.timed && before(time, latest)) } {
            self.wrong(time, accept)?;
        } else if back || !before(time, front) && time - front <= step {
            return self.hold(packet, number, accept);
        } else {
            self.go_on(accept)?;
        }
        self.take(packet, number, accept)
    }

    fn hold<E: From<Jump>>(&mut self, packet: &Record<'_>, number: u64, accept: &mut Accept<'_, E>) -> Result<(), E> {
        if let Some(time) = self.time(packet) {
            self.span = Some(self.span.map_or((time, time), |(first, front)| (first, front.max(time))));
        }
        self.held.push(Held { record: Record { data: &[], ..*packet }, data: packet.data.to_vec(), number });
        if self.held.len() < MOST_HELD { Ok(()) } else { self.go_on(accept) }
    }

    /// Times are back at `time`: those of the packets held were wrong.
    fn wrong<E: From<Jump>>(&mut self, time: i128, accept: &mut Accept<'_, E>) -> Result<(), E> {
        let (held, span) = (std::mem::take(&mut self.held), self.span.take());
        self.totals.jumps += 1;
        match self.on_jump {
            OnJump::Error => {
                let (first, front) = span.unwrap_or_default();
                let (far, way) = if front > time { (front - time, "ahead of") } else { (time - first, "behind") };
                let (whose, far) = (whose(&held), far as f64 * 1e-9);
                Err(Jump(format!(
                    "{whose} {far:.3} s {way} what follows; --on-jump skip leaves out such packets, --on-jump shift lets them \
                     arrive with the packet before them"
                ))
                .into())
            }
            OnJump::Skip => {
                self.totals.skipped += held.len() as u64;
                Ok(())
            }
            OnJump::Shift => {
                self.totals.wrong += held.len() as u64;
                self.begin(time);
                held.iter().try_for_each(|Held { record, data, number }| {
                    let time = record.time.map(|_| self.latest());
                    self.arrive(time, &Record { data, ..*record }, *number, accept)
                })
            }
        }
    }

    /// Times go on from those of the packets held.
    fn go_on<E: From<Jump>>(&mut self, accept: &mut Accept<'_, E>) -> Result<(), E> {
        let (held, latest) = (std::mem::take(&mut self.held), self.latest());
        let first = self.span.take().map_or(latest, |(first, _)| first);
        if held.iter().any(|held| held.record.time.is_some()) {
            self.begin(first);
        }
        let latest = self.latest();
        let (back, ahead) = (before(first, latest), first - latest > DAY);
        if !back && !ahead {
            return held.iter().try_for_each(|Held { record, data, number }| {
                self.arrive(self.time(record), &Record { data, ..*record }, *number, accept)
            });
        }
        self.totals.jumps += 1;
        match self.on_jump {
            OnJump::Error => Err(Jump({
                let (far, whose) = ((first - latest).abs() as f64 * 1e-9, whose(&held[..1]));
                let (way, why, skip) = match back {
                    true => ("before that of an earlier packet", "set back", "leaves packets out until times have caught up"),
                    false => ("after that of any earlier packet", "set forward", "leaves out what follows if the capture then ends"),
                };
                format!(
                    "{whose} {far:.3} s {way}: a clock was {why}, or captures were joined; --on-jump skip {skip}, --on-jump \
                     shift lets what follows arrive at once"
                )
            })
            .into()),
            OnJump::Skip if back || held.len() < MOST_HELD => {
                self.totals.skipped += held.len() as u64;
                self.skipping = back;
                Ok(())
            }
            _ => {
                self.totals.resumed += 1;
                self.shift += latest - first;
                held.iter().try_for_each(|Held { record, data, number }| {
                    self.take(&Record { data, ..*record }, *number, accept)
                })
            }
        }
    }

    /// The first time of the capture, unless there has been one.
    fn begin(&mut self, time: i128) {
        if !self.timed {
            (self.totals.base, self.timed) = (time as u64, true);
        }
    }

    /// A packet arrives: at its time, or with the latest before it.
    fn arrive<E: From<Jump>>(
        &mut self,
        time: Option<i128>,
        packet: &Record<'_>,
        number: u64,
        accept: &mut Accept<'_, E>,
    ) -> Result<(), E> {
        let (latest, totals) = (self.latest(), &mut self.totals);
        totals.packets += 1;
        totals.cut += u64::from((packet.data.len() as u64) < u64::from(packet.original));
        let back = time.map(|time| Span((latest - time).max(0) as u64));
        if let Some(back) = back.filter(|back| back.0 > 0) {
            totals.out_of_order = (totals.out_of_order.0 + 1, totals.out_of_order.1.max(back));
            totals.moved += u64::from(back > LATE);
        }
        let passed = Span(time.map_or(0, |time| (time - latest).max(0) as u64));
        if passed.0 > 0 {
            self.late = (0, 0);
        }
        if passed > totals.silence.0 {
            totals.silence = (passed, number);
        }
        if back.is_none_or(|back| back > LATE) {
            totals.untimed += u64::from(time.is_none());
            self.late = (self.late.0 + 1, self.late.1 + u64::from(packet.original) * 8);
            let long = u128::from(self.late.1) * 1_000_000_000 > u128::from(self.rate.0) * u128::from(BURST.0);
            let burst = self.late.0 > FEW || self.late.0 > 1 && long;
            totals.burst = (totals.burst.0.max(self.late.0), totals.burst.1 || burst);
        }
        totals.arrival += passed;
        accept(packet, totals.arrival, totals.base)
    }
}

/// Whether a time lies too long before another to be out of order only.
fn before(time: i128, other: i128) -> bool {
    other - time > HALF
}

/// The times of these packets, in words.
fn whose(held: &[Held]) -> String {
    let (first, last) = (&held[0], held[held.len() - 1].number);
    let (number, offset) = (first.number, first.record.offset);
    match last == number {
        true => format!("the time of packet {number}, at byte {offset}, lies"),
        false => format!("the times of packets {number} to {last}, from byte {offset} on, lie"),
    }
}
