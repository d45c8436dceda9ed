//! Loss recovery: what three duplicate acknowledgements mean, and what is then sent.
//!
//! One file holds one algorithm. It drives the [`Core`] of its sender: it says what is acknowledged, when the window
//! is cut, which byte is sent next. The windows themselves are [`super::cc`]'s business.

mod newreno;
mod reno;
mod sack;
mod tahoe;
mod vegas_ns2;

pub use newreno::NewReno;
pub use reno::Reno;
pub use sack::Sack;
pub use tahoe::Tahoe;
pub use vegas_ns2::VegasNs2;

use crate::host::Host;
use crate::papers::send_core::{CongestionState, Core, DUP_THRESH};
use crate::params::Algorithm;
use crate::segment::{Plain, Segment};
use alloc::boxed::Box;
use sluicegate_base::Time;

/// Fast recovery as Reno and NewReno have it: duplicates inflate the window, which is what says that it goes on.
#[inline]
fn on_dup_ack(core: &mut Core, now: Time) {
    core.dupacks += 1;
    if core.dupacks == DUP_THRESH {
        let halve = core.recovered();
        if halve || core.state == CongestionState::Cwr {
            // A window that a mark has just halved is not halved again (RFC 3168, Section 6.1.2).
            core.enter(halve, now);
            core.inflation = DUP_THRESH;
        }
    } else if core.dupacks > DUP_THRESH && core.inflation > 0 {
        core.inflation += 1;
    }
}

/// New data is acknowledged and nothing of the recovery is left.
#[inline]
fn exit(core: &mut Core, segment: &Plain, now: Time) {
    let recovering = core::mem::take(&mut core.inflation) > 0;
    if core.state == CongestionState::Recovery {
        core.state = CongestionState::Open;
    }
    let mut acked = core.acknowledge(segment.ack, now);
    if recovering {
        // What filled the hole brought it, not the segment that was being timed.
        acked.round = None;
    }
    core.grow(segment, acked, now);
}

/// The timer has expired: what duplicates said is forgotten.
fn forget_dup_acks(core: &mut Core) {
    (core.dupacks, core.inflation) = (0, 0);
}

/// A loss recovery algorithm.
pub trait Recovery: Send {
    /// An acknowledgement of new data.
    fn on_new_ack(&mut self, core: &mut Core, segment: &Plain, now: Time);

    /// An acknowledgement that repeats the last one while data is under way.
    fn on_dup_ack(&mut self, core: &mut Core, segment: &Plain, now: Time);

    /// The retransmission timer has expired; the core has gone back to the first unacknowledged byte.
    fn on_timeout(&mut self, core: &mut Core, now: Time);

    /// Whether the window lets anything out.
    fn open(&self, core: &Core) -> bool {
        core.fits(core.inflation)
    }

    /// The byte to send next; `None` when nothing may be sent now, as always while the send quota is empty.
    #[inline]
    fn next(&mut self, core: &mut Core) -> Option<u64> {
        core.next_in_window()
    }
}

/// A loss recovery as a sender holds it: small ones by their type, so that using them is no call through a pointer. The tag
/// is a byte, too.
#[repr(u8)]
pub enum LossRecovery {
    /// Tahoe's.
    Tahoe(Tahoe),
    /// Reno's.
    Reno(Reno),
    /// NewReno's.
    NewReno(NewReno),
    /// That of ns-2's Vegas, which notes what is sent.
    VegasNs2(Box<VegasNs2>),
    /// SACK's, with its scoreboard.
    Sack(Box<Sack>),
}

impl LossRecovery {
    /// A new one for a connection of this host.
    #[must_use]
    pub fn new(host: &Host) -> LossRecovery {
        match host.algorithm {
            Algorithm::Tahoe | Algorithm::DecBit | Algorithm::UtLt => LossRecovery::Tahoe(Tahoe),
            Algorithm::Reno => LossRecovery::Reno(Reno),
            Algorithm::Vegas if host.vegas_of_ns2() => {
                let window = host.window / u64::from(host.mss);
                LossRecovery::VegasNs2(Box::new(VegasNs2::new(window, host.initial_window, host.vegas.cut)))
            }
            Algorithm::Sack => LossRecovery::Sack(Box::default()),
            _ => LossRecovery::NewReno(NewReno::default()),
        }
    }

    /// The acknowledgement that comes next reports these ranges.
    pub fn note(&mut self, segment: &Segment) {
        if let LossRecovery::Sack(recovery) = self {
            recovery.note(segment);
        }
    }

    /// Whether it leaves to the core what happens outside recovery, so that header prediction may stand for it.
    #[must_use]
    pub fn predictable(&self) -> bool {
        matches!(self, LossRecovery::Tahoe(_) | LossRecovery::Reno(_) | LossRecovery::NewReno(_))
    }
}

macro_rules! of_each {
    ($self:ident, $recovery:ident => $what:expr) => {
        match $self {
            LossRecovery::Tahoe($recovery) => $what,
            LossRecovery::Reno($recovery) => $what,
            LossRecovery::NewReno($recovery) => $what,
            LossRecovery::VegasNs2($recovery) => $what,
            LossRecovery::Sack($recovery) => $what,
        }
    };
}

impl Recovery for LossRecovery {
    #[inline]
    fn on_new_ack(&mut self, core: &mut Core, segment: &Plain, now: Time) {
        of_each!(self, recovery => recovery.on_new_ack(core, segment, now));
    }

    #[inline]
    fn on_dup_ack(&mut self, core: &mut Core, segment: &Plain, now: Time) {
        of_each!(self, recovery => recovery.on_dup_ack(core, segment, now));
    }

    fn on_timeout(&mut self, core: &mut Core, now: Time) {
        of_each!(self, recovery => recovery.on_timeout(core, now));
    }

    fn open(&self, core: &Core) -> bool {
        of_each!(self, recovery => recovery.open(core))
    }

    #[inline]
    fn next(&mut self, core: &mut Core) -> Option<u64> {
        match self {
            LossRecovery::Sack(recovery) => recovery.next(core),
            // The others leave this to the window.
            _ => core.next_in_window(),
        }
    }
}
