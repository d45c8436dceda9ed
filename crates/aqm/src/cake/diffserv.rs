//! Tins: how many there are, which traffic each takes by its DSCP, and what part of the rate each may have at high
//! priority.

use alloc::vec::Vec;
use sluicegate_base::choices;

choices! {
    /// Into which tins traffic goes by its DSCP.
    pub enum Diffserv {
        /// One tin for all.
        Besteffort = "besteffort",
        /// Eight, by the three bits of the old IP precedence.
        Precedence = "precedence",
        /// Eight: lower effort, CS1 with AF1x, best effort, streaming, transactions, CS2, latency-sensitive, network
        /// control.
        Diffserv8 = "diffserv8",
        /// Four: best effort, bulk, video, voice.
        Diffserv4 = "diffserv4",
        /// Three: best effort, bulk, voice.
        Diffserv3 = "diffserv3",
    }
}

// Code points, by the names that RFC 2474, 2597, 3246, 5865 and 8622 give them; TOS2 and TOS4 are those of RFC 1349 for
// throughput and for delay.
const LE: u8 = 1;
const TOS2: u8 = 2;
const TOS4: u8 = 4;
const CS1: u8 = 8;
const CS2: u8 = 16;
const CS3: u8 = 24;
const CS4: u8 = 32;
const CS5: u8 = 40;
const VA: u8 = 44;
const EF: u8 = 46;
const CS6: u8 = 48;
const CS7: u8 = 56;

/// Whether a code point is AFx1, AFx2 or AFx3.
fn is_af(dscp: u8, class: u8) -> bool {
    [8 * class + 2, 8 * class + 4, 8 * class + 6].contains(&dscp)
}

/// What a tin has: its rate in bytes per second, above which its priority is low, and its share where nothing is
/// shaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub rate: u64,
    pub quantum: u16,
}

impl Diffserv {
    /// The tin of a class.
    pub(super) fn tin(self, class: u8) -> usize {
        let dscp = if class < 64 { class } else { 0 };
        match self {
            Diffserv::Besteffort => 0,
            Diffserv::Precedence => usize::from(dscp >> 3),
            Diffserv::Diffserv8 => match dscp {
                LE => 0,
                CS1 | TOS2 => 1,
                _ if is_af(dscp, 1) => 1,
                CS3 => 3,
                _ if is_af(dscp, 3) || is_af(dscp, 4) => 3,
                TOS4 => 4,
                _ if is_af(dscp, 2) => 4,
                CS2 => 5,
                CS4 | CS5 | VA | EF => 6,
                CS6 | CS7 => 7,
                _ => 2,
            },
            Diffserv::Diffserv4 => match dscp {
                LE | CS1 => 1,
                TOS4 | CS2 | CS3 => 2,
                _ if (2..=4).any(|class| is_af(dscp, class)) => 2,
                CS4 | CS5 | VA | EF | CS6 | CS7 => 3,
                _ => 0,
            },
            Diffserv::Diffserv3 => match dscp {
                LE | CS1 => 1,
                TOS4 | VA | EF | CS6 | CS7 => 2,
                _ => 0,
            },
        }
    }

    /// The tins, given the rate of the whole.
    pub(super) fn shares(self, rate: u64) -> Vec<Share> {
        // Each by the part of the rate that it may have: a power of a half.
        let halved = |halvings: &[u32]| {
            halvings.iter().map(|halvings| Share { rate: rate >> halvings, quantum: 1024 >> halvings }).collect()
        };
        match self {
            Diffserv::Besteffort => [Share { rate, quantum: u16::MAX }].into(),
            Diffserv::Precedence | Diffserv::Diffserv8 => {
                let seven_eighths = |share: &Share| {
                    let rate = (u128::from(share.rate) * 7 / 8) as u64;
                    Some(Share { rate, quantum: (share.quantum * 7 / 8).max(1) })
                };
                core::iter::successors(Some(Share { rate, quantum: 256 }), seven_eighths).take(8).collect()
            }
            Diffserv::Diffserv4 => halved(&[0, 4, 1, 2]),
            Diffserv::Diffserv3 => halved(&[0, 4, 2]),
        }
    }
}
