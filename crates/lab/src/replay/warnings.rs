//! What whoever reads the results must know of a capture, in sentences.

use super::packet::Other;
use super::run::Outcome;

/// The reasons of [`Other`] in words, in their order.
const WHY: [&str; Other::COUNT] = [
    "carry no IP that can be seen",
    "were captured too short to tell their flow",
    "are fragments whose first one is missing",
    "come from a kind of link that is not known here",
];

/// Of `packets`, these are told from no other; none if there are none.
#[must_use]
pub fn opaque(others: &[u64; Other::COUNT], packets: u64) -> Option<String> {
    let count: u64 = others.iter().sum();
    let parts = WHY.iter().zip(others).filter(|(_, count)| **count > 0);
    let parts: Vec<String> = parts.map(|(why, count)| format!("{count} {why}")).collect();
    (count > 0).then(|| {
        let share = share(count, packets);
        format!("{share} are one flow to the queue, and cannot be marked: {}", parts.join(", "))
    })
}

/// A count with its share.
fn share(count: u64, packets: u64) -> String {
    let percent = 100.0 * count as f64 / packets.max(1) as f64;
    let digits = if percent >= 10.0 { 0 } else { 2 };
    format!("{count} of {packets} packets ({percent:.digits$} %)")
}

/// What is odd about times and packets of a capture, most important first.
#[must_use]
pub fn of(outcome: &Outcome, mtu: u32) -> Vec<String> {
    let (totals, crossed) = (&outcome.totals, &outcome.crossed);
    let [merged, pieces] = crossed.merged;
    let arrived = totals.packets - merged + pieces;
    let mut said = Vec::new();
    let mut say = |when: bool, what: String| said.extend(when.then_some(what));
    let times = if totals.jumps == 1 { "once".to_owned() } else { format!("{} times", totals.jumps) };
    let done = match totals.skipped {
        0 => "the times after it were shifted, and how long it was in between is not known".to_owned(),
        skipped => format!("{} were left out", share(skipped, totals.packets + skipped)),
    };
    say(totals.jumps > 0, format!("times leapt {times}: {done}; the results are flagged (capture.times_kept)"));
    let (late, back) = totals.out_of_order;
    let arrive = "their time lies before that of an earlier packet, with which they arrived";
    say(late > 0, format!("{}: {arrive}, up to {:.3} ms late", share(late, totals.packets), back.as_secs() * 1e3));
    say(
        totals.jumps == 0 && !totals.kept(),
        format!(
            "{} arrived more than 1 ms after their time: the results are flagged (capture.times_kept)",
            share(totals.moved, totals.packets)
        ),
    );
    say(
        totals.untimed > 0,
        format!("{} packets have no time: they arrived with the packet before them", totals.untimed),
    );
    say(
        merged > 0,
        format!(
            "{} are longer than {mtu} bytes: a host had merged them (TSO, GRO), and they were split into {pieces}; if the link \
             carried them whole, --mtu says so",
            share(merged, totals.packets)
        ),
    );
    say(
        crossed.oversize > 0,
        format!(
            "{} are longer than {mtu} bytes (--mtu), and stayed whole: how a host has merged UDP, or what tunnels carry, is not \
             in a capture",
            share(crossed.oversize, totals.packets)
        ),
    );
    said.extend(opaque(&outcome.flows.others, arrived));
    said
}
