//! The kernel's tables of code points.

use super::TinMode;

const PRECEDENCE_OF: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

/// Tins of the even code points of each row of eight, and of the odd ones that differ from best effort.
const DIFFSERV8: [[u8; 4]; 8] =
    [[2, 1, 4, 2], [1, 1, 1, 1], [5, 4, 4, 4], [3, 3, 3, 3], [6, 3, 3, 3], [6, 2, 6, 6], [7, 2, 2, 2], [7, 2, 2, 2]];
const DIFFSERV4: [[u8; 4]; 8] =
    [[0, 0, 2, 0], [1, 0, 0, 0], [2, 2, 2, 2], [2, 2, 2, 2], [3, 2, 2, 2], [3, 0, 3, 3], [3, 0, 0, 0], [3, 0, 0, 0]];
const DIFFSERV3: [[u8; 4]; 8] =
    [[0, 0, 2, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 2, 2], [2, 0, 0, 0], [2, 0, 0, 0]];

/// The tin of a code point.
pub(super) fn tin_of(mode: TinMode, dscp: u8) -> usize {
    let (row, column) = (usize::from(dscp / 8), usize::from(dscp % 8));
    let look = |table: &[[u8; 4]; 8], lower_effort: u8, best_effort: u8| match (dscp, column % 2) {
        (1, _) => lower_effort,
        (_, 1) => best_effort,
        _ => table[row][column / 2],
    };
    usize::from(match mode {
        TinMode::Besteffort => 0,
        TinMode::Precedence => PRECEDENCE_OF[row],
        TinMode::Diffserv8 => look(&DIFFSERV8, 0, 2),
        TinMode::Diffserv4 => look(&DIFFSERV4, 1, 0),
        TinMode::Diffserv3 => look(&DIFFSERV3, 1, 0),
    })
}
