//! The BPF programs beside the Rust disciplines: the same arrivals, clock and random numbers, and so the same packets dropped, for
//! the same reasons, the same packets sent, and as many random numbers drawn.
//!
//! The program, compiled for this machine, replays what the Rust discipline did (`bpf/host_main.h`). Parameters are random, and
//! change while the queue is in use; loads are phases of overload, of balance and of silence, of a minute too; queues are made anew
//! in between, some behind a link that the program shapes by itself, as the `Port` of the simulator does, and whose rate changes; some
//! behind one whose timers are late, as a kernel's are. `SLUICEGATE_BPF_ARRIVALS` says how many arrivals each discipline sees,
//! `SLUICEGATE_BPF_SEED` where seeds begin.

#![cfg(unix)] // a C compiler of GCC's kind
mod recording;

use recording::{Hash, Kind, compare, one_of};
use sluicegate_aqm::afd::{Afd, AfdParams};
use sluicegate_aqm::blue::{Blue, BlueParams};
use sluicegate_aqm::choke::{Choke, ChokeParams, Draw};
use sluicegate_aqm::dcn::{ControlLaw, Count, Dcn, DcnParams};
use sluicegate_aqm::pi::{Pi, PiParams};
use sluicegate_aqm::red::{GapLaw, Red, RedBlock, RedParams};
use sluicegate_aqm::rem::{Rem, RemParams};
use sluicegate_aqm::sred::{Sred, SredParams};
use sluicegate_base::{Link, Params, Rate, Size, Span, Stream};

const LINK: Link = Link { rate: Rate(10_000_000), packet: 1000 };

/// No ratio of whole numbers: with one, a share can meet a count exactly, and the last binary place says what follows.
fn random_gain(stream: &mut Stream) -> f64 {
    0.1 + 0.5 * stream.uniform()
}

/// A multiple of 1/64. Where gains are given, steps around the target can add up to 0: with such gains both add up exactly.
fn exact_gain(stream: &mut Stream) -> f64 {
    (8 + stream.below(120)) as f64 / 64.0
}

fn random_limit(stream: &mut Stream) -> Size {
    one_of(stream, &[Size::Packets(20), Size::Packets(150), Size::Packets(420), Size::Bytes(60_000)])
}

fn random_red(stream: &mut Stream, red: RedBlock) -> RedBlock {
    let min_th = 1 + stream.below(40);
    RedBlock {
        min_th: Size::Packets(min_th),
        max_th: Size::Packets(min_th + 1 + stream.below(100)),
        limit: random_limit(stream),
        w_q: one_of(stream, &[0.000_05, 0.002, 0.02, 0.3, 1.0]),
        max_p: one_of(stream, &[0.02, 0.1, 1.0]),
        ..red
    }
}

#[test]
fn red() {
    compare(Kind {
        new: Red::new,
        hash: Hash::None,
        random: |stream, _| {
            let params = RedParams::defaults(&LINK).unwrap();
            let red = random_red(stream, params.red.clone());
            let (law, method) = one_of(stream, &[(GapLaw::Section7, 2), (GapLaw::Figure2, 2), (GapLaw::Section7, 1)]);
            RedParams { red, law, method, ..params }
        },
    });
}

#[test]
fn choke() {
    compare(Kind {
        new: Choke::new,
        hash: Hash::None,
        random: |stream, _| {
            let params = ChokeParams::defaults(&LINK).unwrap();
            let red = random_red(stream, params.red.clone());
            let draw = one_of(stream, &[Draw::Random, Draw::Random, Draw::Front, Draw::Back]);
            ChokeParams { red, draw, candidates: 1 + stream.below(8), ..params }
        },
    });
}

#[test]
fn dcn() {
    compare(Kind {
        new: Dcn::new,
        hash: Hash::AtFirst,
        random: |stream, old| {
            let params = old.cloned().unwrap_or_else(|| DcnParams {
                sb_entries: one_of(stream, &[50, 16_384]),
                hb_flows: one_of(stream, &[10, 8192]),
                ..DcnParams::defaults(&LINK).unwrap()
            });
            let given = exact_gain(stream);
            let (a, b) =
                one_of(stream, &[(None, None), (None, None), (None, Some(given)), (Some(given / 2.0), Some(given))]);
            DcnParams {
                q_ref: Size::Packets(stream.below(60)),
                limit: random_limit(stream),
                threshold: stream.below(20),
                t_dec: one_of(stream, &[Span::from_millis(800), Span::from_millis(100), Span::from_millis(50)]),
                t_update: one_of(stream, &[Span(6_250_000), Span(9_999_999)]),
                law: one_of(stream, &[ControlLaw::Corrected, ControlLaw::Corrected, ControlLaw::Printed]),
                count: one_of(stream, &[Count::Forwarded, Count::Arrived]),
                p_ref_min: 0.1 + 0.1 * stream.uniform(),
                p_ref_max: one_of(stream, &[None, None, Some(1000.0)]).map(|most| most + stream.uniform()),
                gain: if b.is_some() { 0.25 } else { random_gain(stream) },
                a,
                b,
                ..params
            }
        },
    });
}

#[test]
fn afd() {
    compare(Kind {
        new: Afd::new,
        hash: Hash::AtInsertion,
        random: |stream, old| {
            let b = one_of(stream, &[20, 500, 5000]);
            let params = old.cloned().unwrap_or_else(|| AfdParams { b, ..AfdParams::defaults(&LINK).unwrap() });
            let given = exact_gain(stream);
            let (alpha, beta) =
                one_of(stream, &[(None, None), (None, None), (None, Some(given)), (Some(given / 2.0), Some(given))]);
            AfdParams {
                q_ref: Size::Packets(stream.below(100)),
                limit: random_limit(stream),
                s: one_of(stream, &[1.0, 5.0, 12.5]),
                w: one_of(stream, &[160.0, 33.3]),
                gain: if beta.is_some() { 0.25 } else { random_gain(stream) },
                alpha,
                beta,
                ..params
            }
        },
    });
}

#[test]
fn pi() {
    compare(Kind {
        new: Pi::new,
        hash: Hash::None,
        random: |stream, old| {
            let p_0 = one_of(stream, &[0.0, 0.1, 1.0]);
            let params = old.cloned().unwrap_or_else(|| PiParams { p_0, ..PiParams::defaults(&LINK).unwrap() });
            let (a, b) = one_of(stream, &[(1.822e-5, 1.816e-5), (2e-3, 1.9e-3), (0.3, 0.29)]);
            PiParams {
                q_ref: Size::Packets(stream.below(100)),
                limit: random_limit(stream),
                a,
                b,
                w: one_of(stream, &[170.0, 33.3]),
                ..params
            }
        },
    });
}

#[test]
fn blue() {
    compare(Kind {
        new: Blue::new,
        hash: Hash::None,
        random: |stream, _| BlueParams {
            limit: random_limit(stream),
            d1: one_of(stream, &[0.02, 0.002, 1.0]),
            d2: one_of(stream, &[0.002, 0.0002, 0.1]),
            freeze_time: one_of(stream, &[Span::from_millis(100), Span(9_999_999), Span(1)]),
            level: one_of(stream, &[None, Some(Size::Packets(15)), Some(Size::Bytes(9000))]),
            ..BlueParams::defaults(&LINK).unwrap()
        },
    });
}

#[test]
fn sred() {
    compare(Kind {
        new: Sred::new,
        hash: Hash::None,
        random: |stream, old| {
            let zombies = one_of(stream, &[1, 50, 1000, 16_384]);
            let params = old.cloned().unwrap_or_else(|| SredParams { zombies, ..SredParams::defaults(&LINK).unwrap() });
            SredParams {
                limit: random_limit(stream),
                overwrite: one_of(stream, &[0.25, 1.0]),
                alpha: one_of(stream, &[None, None, Some(0.1)]),
                max_p: one_of(stream, &[0.15, 1.0]),
                hits: one_of(stream, &[true, false]),
                ..params
            }
        },
    });
}

#[test]
fn rem() {
    compare(Kind {
        new: Rem::new,
        hash: Hash::None,
        random: |stream, _| RemParams {
            limit: random_limit(stream),
            b_ref: Size::Packets(stream.below(60)),
            gamma: one_of(stream, &[0.001, 0.05]),
            phi: one_of(stream, &[1.001, 1.1, 4.0]),
            alpha: one_of(stream, &[0.0, 0.1, 2.0]),
            inw: one_of(stream, &[1.0, 0.3]),
            t_update: one_of(stream, &[Span::from_millis(2), Span(20_000_001)]),
            ..RemParams::defaults(&LINK).unwrap()
        },
    });
}
