//! What a reader of the results must know of a capture, in sentences.

use super::flows::Flows;
use super::layers::Kind;
use super::layers::Other;
use super::run::Replayed;

/// The reasons of [`Other`] in words, of one packet and of several, in their order.
const WHY: [[&str; 2]; Other::COUNT] = [
    ["carries no IP that can be seen", "carry no IP that can be seen"],
    ["was captured too short to tell its flow", "were captured too short to tell their flow"],
    ["is a fragment whose first one is missing", "are fragments whose first one is missing"],
    ["comes from a kind of link that is not known here", "come from a kind of link that is not known here"],
];

const FLAGGED: &str = "the results are flagged (capture.times_kept)";

/// Of `packets`, these are told from no other; none if there are none.
#[must_use]
pub fn opaque(flows: &Flows, packets: u64) -> Option<String> {
    let count: u64 = flows.others.iter().sum();
    let parts = WHY.iter().zip(flows.others).filter(|(_, count)| *count > 0);
    let parts: Vec<String> = parts.map(|(why, count)| format!("{count} {}", one_or_many(count, *why))).collect();
    // Of equal counts the first.
    let most = flows.kinds.iter().rev().max_by_key(|(_, count)| **count).map(|(kind, _)| *kind);
    let way = most.map(|kind| match kind {
        Kind::Link(number) => format!(
            ": capture on another interface, or let a program that knows link type {number} take out what is IP \
             (\"raw\" or Ethernet)"
        ),
        Kind::Type(number) => {
            format!("; most often it is ether type 0x{number:04x}: if IP is inside, capture where it is not encapsulated")
        }
        Kind::Llc => "; most often it is LLC (a length in the place of the ether type): if IP is inside, capture where it is not encapsulated".to_owned(),
        Kind::Ppp(number) => {
            format!("; most often it is PPP protocol 0x{number:04x}: if IP is inside, capture where it is not encapsulated")
        }
    });
    (count > 0).then(|| {
        let share = of_packets(count, packets, ["is", "are"]);
        // Fragments, and packets cut off behind their IP header, can be marked.
        let some = [Other::Truncated, Other::Fragment].iter().any(|why| flows.others[*why as usize] > 0);
        let unmarked = if some { "" } else { ", and cannot be marked" };
        format!("{share} one flow to the queue{unmarked}: {}{}", parts.join(", "), way.unwrap_or_default())
    })
}

fn one_or_many(count: u64, [one, many]: [&'static str; 2]) -> &'static str {
    if count == 1 { one } else { many }
}

/// A count with its share, and a verb.
fn of_packets(count: u64, packets: u64, verb: [&'static str; 2]) -> String {
    let percent = 100.0 * count as f64 / packets.max(1) as f64;
    let digits = if percent >= 10.0 { 0 } else { 2 };
    format!("{count} of {packets} packets ({percent:.digits$} %) {}", one_or_many(count, verb))
}

/// What is odd about times and packets of a capture, most important first.
#[must_use]
pub fn of(outcome: &Replayed, mtu: u32) -> Vec<String> {
    let (totals, crossed) = (&outcome.totals, &outcome.crossed);
    let [merged, pieces] = crossed.merged;
    let arrived = totals.packets - merged + pieces;
    let mut said = Vec::new();
    let mut say = |when: bool, what: String| said.extend(when.then_some(what));
    let times = if totals.jumps == 1 { "once".to_owned() } else { format!("{} times", totals.jumps) };
    let read = totals.packets + totals.skipped;
    let done = [
        (totals.skipped, of_packets(totals.skipped, read, ["was left out", "were left out"])),
        (
            totals.wrong,
            of_packets(totals.wrong, read, ["arrived with the one before", "arrived with the one before them"]),
        ),
        (totals.resumed, "what followed arrived at once, and how long it was in between is not known".to_owned()),
    ];
    let done: Vec<String> = done.into_iter().filter(|(count, _)| *count > 0).map(|(_, what)| what).collect();
    say(totals.jumps > 0, format!("times leapt {times}: {}; {FLAGGED}", done.join("; ")));
    let (silence, number) = totals.silence;
    say(
        totals.mostly_silent(),
        format!(
            "no packet for {:.3} s before packet {number}, of {:.3} s in all: rates are over the whole time (capture.mostly_silent)",
            silence.as_secs(),
            totals.arrival.as_secs()
        ),
    );
    let (late, back) = totals.out_of_order;
    let of_late = of_packets(
        late,
        totals.packets,
        [
            "has a time before that of an earlier packet, with which it arrived",
            "have times before that of an earlier packet, with which they arrived",
        ],
    );
    say(late > 0, format!("{of_late}, up to {:.3} ms late", back.as_secs() * 1e3));
    let wrong = totals.jumps == 0 && !totals.kept();
    let moved = of_packets(totals.moved, totals.packets, ["arrived", "arrived"]);
    let burst = if totals.burst.1 { format!(", up to {} at one instant", totals.burst.0) } else { String::new() };
    say(wrong && totals.moved > 0, format!("{moved} more than 1 ms late{burst}: {FLAGGED}"));
    let untimed = of_packets(
        totals.untimed,
        totals.packets,
        ["has no time: it arrived with the packet before it", "have no time: they arrived with the packet before them"],
    );
    let flagged = if wrong && totals.moved == 0 { format!("; {FLAGGED}") } else { String::new() };
    say(totals.untimed > 0, untimed + &flagged);
    say(
        merged > 0,
        format!(
            "{} longer than {mtu} bytes: a host had merged {} split into {pieces}; if the link carried {}, --mtu says so",
            of_packets(merged, totals.packets, ["is", "are"]),
            one_or_many(merged, ["it (TSO, GRO), and it was", "them (TSO, GRO), and they were"]),
            one_or_many(merged, ["it whole", "them whole"])
        ),
    );
    say(
        crossed.oversize > 0,
        format!(
            "{} longer than {mtu} bytes (--mtu), and stayed whole: only TCP outside tunnels whose headers were captured can be \
             split, no UDP, fragments or jumbograms; if headers are cut, capture with a larger snaplen",
            of_packets(crossed.oversize, totals.packets, ["is", "are"])
        ),
    );
    said.extend(opaque(&outcome.flows, arrived));
    said
}
