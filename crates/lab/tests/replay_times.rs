//! Captures whose times leap, or lack.

use crate::shared::replays::{Done, MS, capture, replay, segment, udp};
use proptest::prelude::*;
use serde_json::Value as Json;

/// A packet of 100 bytes at each of these times, in milliseconds.
fn at(times: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let packets: Vec<(u64, Vec<u8>)> = times.into_iter().map(|ms| (ms * MS, udp(1, 72))).collect();
    capture(101, &packets)
}

/// Ten packets in a queue of ten; a burst of more is lost.
const SLOW: [(&str, &str); 2] = [("rate", "8 Mbit/s"), ("queue.limit", "10")];

fn with(on_jump: &'static str) -> Vec<(&'static str, &'static str)> {
    [&SLOW[..], &[("on_jump", on_jump)]].concat()
}

/// Arrivals, drops, jumps and packets left out; and whether the times were kept.
fn counts(done: &Done) -> ([u64; 4], bool) {
    let capture = &done.summary["capture"];
    let of = |name: &str| capture[name].as_u64().unwrap();
    assert_eq!(done.link("jumps") as u64, of("jumps"));
    let link = [done.link("arrivals_packets") as u64, done.link("drops_packets") as u64];
    ([link[0], link[1], of("jumps"), of("skipped_packets")], capture["times_kept"].as_bool().unwrap())
}

/// All that followed arrived at once, 94.8 % of it lost, where nothing was.
#[test]
fn one_time_that_lies_ahead_is_an_error_or_left_out() {
    for (ahead, number) in [(500, 501), (0, 1), (999, 1000)] {
        let file = at((0..1000).map(|k| if k == ahead { 3_600_000 } else { 1000 + k * 10 }));
        let refused = replay(&file, &SLOW).err();
        if ahead == 999 {
            assert!(refused.is_none(), "the last may be late: {refused:?}");
            continue;
        }
        let refused = refused.unwrap();
        assert!(refused.starts_with(&format!("the time of packet {number}, at byte ")), "{refused}");
        assert!(refused.contains("s ahead of what follows; --on-jump skip"), "{refused}");
        let skipped = replay(&file, &with("skip")).unwrap();
        assert_eq!(counts(&skipped), ([999, 0, 1, 1], false));
        assert!(skipped.link("duration_s") < 10.0);
        assert_eq!(skipped.link("moved_packets"), 1.0);
        let shifted = replay(&file, &with("shift")).unwrap();
        assert_eq!(counts(&shifted), ([1000, 0, 1, 0], false));
        assert!(shifted.link("duration_s") < 10.0);
        let one = "times leapt once: 1 of 1000 packets (0.10 %) arrived with the one before; the results are flagged";
        assert!(shifted.warnings().starts_with(one), "{}", shifted.warnings());
    }
}

#[test]
fn a_few_times_that_lie_ahead_are_told_together() {
    let file = at((0..1000).map(|k| if (500..510).contains(&k) { 3_600_000 + k } else { k * 10 }));
    let refused = replay(&file, &SLOW).err().unwrap();
    assert!(refused.starts_with("the times of packets 501 to 510, from byte "), "{refused}");
    assert_eq!(counts(&replay(&file, &with("skip")).unwrap()), ([990, 0, 1, 10], false));
}

/// An error that begins so; left out, so many, once; or all of ten seconds, with their distances.
fn leaps(file: &[u8], refused: &str, skipped: u64) {
    let said = replay(file, &SLOW).err().unwrap();
    assert!(said.starts_with(refused) && said.contains("--on-jump skip"), "{said}");
    assert_eq!(counts(&replay(file, &with("skip")).unwrap()), ([1000 - skipped, 0, 1, skipped], false));
    let shifted = replay(file, &with("shift")).unwrap();
    assert_eq!(counts(&shifted), ([1000, 0, 1, 0], false));
    assert!((shifted.link("duration_s") - 9.98).abs() < 0.03, "{}", shifted.link("duration_s"));
}

#[test]
fn a_clock_set_back_is_an_error_or_goes_on_from_there() {
    let file = at((0..1000).map(|k| 100_000 + k * 10 - if k >= 600 { 2000 } else { 0 }));
    // Left out are those of two seconds, until times have caught up.
    leaps(&file, "the time of packet 601, at byte ", 199);
    let refused = replay(&file, &SLOW).err().unwrap();
    assert!(refused.contains("lies 1.990 s before that of an earlier packet"), "{refused}");
}

#[test]
fn captures_joined_in_the_wrong_order_are_an_error_or_follow_each_other() {
    let file = at((0..500).map(|k| 3_600_000 + k * 10).chain((0..500).map(|k| k * 10)));
    leaps(&file, "the time of packet 501, at byte ", 500);
}

/// A router begins in 1970 and learns the time, or captures of different days are joined: that was damage.
#[test]
fn a_clock_set_forward_is_an_error_or_goes_on_from_there() {
    let file = at((0..1000).map(|k| k * 10 + if k >= 600 { 1_700_000_000_000 } else { 0 }));
    // Leaving out all the rest would help nobody.
    leaps(&file, "the time of packet 601, at byte ", 0);
    let refused = replay(&file, &SLOW).err().unwrap();
    assert!(refused.contains("after that of any earlier packet: a clock was set forward"), "{refused}");
    // Few at the end, and packets seconds apart.
    leaps(
        &at((0..1000).map(|k| k * 10 + if k >= 990 { 1_700_000_000_000 } else { 0 })),
        "the time of packet 991, at",
        10,
    );
    let sparse = at((0..100).map(|k| k * 2000 + if k >= 50 { 1_700_000_000_000 } else { 0 }));
    for (policy, arrived) in [("skip", 100), ("shift", 100)] {
        let done = replay(&sparse, &with(policy)).unwrap();
        assert_eq!(counts(&done), ([arrived, 0, 1, 0], false));
        assert!((done.link("duration_s") - 196.0).abs() < 0.1);
    }
}

/// One time of zero shifted all that followed.
#[test]
fn one_time_that_lies_behind_is_an_error_or_left_out() {
    for (behind, number) in [(0, 501), (50_000, 501)] {
        let file = at((0..1000).map(|k| if k == 500 { behind } else { 3_650_000 + k * 10 }));
        let refused = replay(&file, &SLOW).err().unwrap();
        assert!(refused.starts_with(&format!("the time of packet {number}, at byte ")), "{refused}");
        assert!(refused.contains("s behind what follows; --on-jump skip"), "{refused}");
        assert_eq!(counts(&replay(&file, &with("skip")).unwrap()), ([999, 0, 1, 1], false));
        let shifted = replay(&file, &with("shift")).unwrap();
        assert_eq!(counts(&shifted), ([1000, 0, 1, 0], false));
        assert!((shifted.link("duration_s") - 9.99).abs() < 0.02, "{}", shifted.link("duration_s"));
    }
    // Two interfaces whose clocks are an hour apart.
    let file = at((0..1000).map(|k| 7_200_000 + k * 10 - if k % 2 == 1 { 3_600_000 } else { 0 }));
    assert_eq!(counts(&replay(&file, &with("skip")).unwrap()), ([500, 0, 500, 500], false));
    let shifted = replay(&file, &with("shift")).unwrap();
    assert_eq!(counts(&shifted), ([1000, 0, 500, 0], false));
    assert!((shifted.link("duration_s") - 9.99).abs() < 0.02, "{}", shifted.link("duration_s"));
}

/// 450 packets arrive at one instant where none waited, in a capture so long that they are less than 1 % of it.
#[test]
fn a_burst_that_a_wrong_time_makes_is_flagged_in_a_long_capture() {
    let file = at((0..100_000).map(|k| 1000 + k + if k == 50_000 { 450 } else { 0 }));
    let done = replay(&file, &SLOW).unwrap();
    let ([arrived, drops, jumps, _], kept) = counts(&done);
    assert_eq!((arrived, jumps, kept), (100_000, 0, false));
    assert!(drops > 400, "{drops}");
    assert!(done.warnings().contains("up to 448 at one instant: the results are flagged"), "{}", done.warnings());
    // Fewer than 20 fill 50 ms of a slow link.
    let file = at((0..1000).map(|k| 1000 + k * 20 + if k == 500 { 150 } else { 0 }));
    assert!(counts(&replay(&file, &[("rate", "1 Mbit/s")]).unwrap()).1);
    assert!(!counts(&replay(&file, &[("rate", "64 kbit/s")]).unwrap()).1);
}

/// Rates over 720 times as long as packets came were told as they are.
#[test]
fn a_silence_longer_than_half_of_the_whole_is_told_and_flagged() {
    let wrong = |which: u64, time: u64| at((0..1000).map(move |k| if k == which { time } else { 3_600_000 + k * 10 }));
    for (file, number) in [(wrong(999, 7_200_000), 1000), (wrong(0, 0), 2)] {
        let done = replay(&file, &SLOW).unwrap();
        assert_eq!(done.summary["capture"]["mostly_silent"], true);
        assert!(done.warnings().contains(&format!(" s before packet {number}, of 36")), "{}", done.warnings());
        assert!(done.warnings().contains("rates are over the whole time"), "{}", done.warnings());
    }
    let done = replay(&at((0..1000).map(|k| k * 10)), &SLOW).unwrap();
    assert_eq!((done.warnings(), &done.summary["capture"]["mostly_silent"]), (String::new(), &Json::Bool(false)));
}

/// A pcapng file of packets, of which those without a time are in Simple Packet Blocks.
fn simple(packets: impl IntoIterator<Item = Option<u64>>) -> Vec<u8> {
    let data = udp(1, 72);
    let block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes(), &length, body, &length[..]].concat()
    };
    let head = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = block(0x0a0d_0d0a, &head(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    file.extend(block(1, &head(&[101, 0])));
    for time in packets {
        let length = data.len() as u32;
        file.extend(match time {
            None => block(3, &[head(&[length]), data.clone()].concat()),
            Some(us) => block(6, &[head(&[0, (us >> 32) as u32, us as u32, length, length]), data.clone()].concat()),
        });
    }
    file
}

/// All arrived at once, and nothing said so; one at the beginning was taken for 1970.
#[test]
fn packets_without_a_time_are_counted_and_flagged() {
    let all = replay(&simple((0..100).map(|_| None)), &SLOW).unwrap();
    assert!(!counts(&all).1);
    assert!(all.warnings().starts_with("100 of 100 packets (100 %) have no time"), "{}", all.warnings());
    assert!(all.warnings().contains("the results are flagged"), "{}", all.warnings());
    let day = 1_700_000_000_000_000;
    for first in [1, 3, 30] {
        let times = (0..first).map(|_| None).chain((0..1000).map(|k| Some(day + k * 10_000)));
        let done = replay(&simple(times), &[("rate", "100 Mbit/s")]).unwrap();
        assert_eq!(counts(&done).0, [1000 + first, 0, 0, 0]);
        assert_eq!(done.summary["capture"]["first_packet_ns"], day * 1000);
        assert!((done.link("duration_s") - 9.99).abs() < 0.01, "{}", done.link("duration_s"));
        let has = if first == 1 {
            "1 of 1001 packets (0.10 %) has no time: it arrived"
        } else {
            "have no time: they arrived"
        };
        assert!(done.warnings().contains(has), "{}", done.warnings());
        assert_eq!(counts(&done).1, first < 20);
    }
}

/// A silence is none, however long; nor are packets a little out of order. Many of those flag the result.
#[test]
fn a_silence_or_a_little_disorder_is_no_jump() {
    let silent = replay(&at((0..1000).map(|k| k * 10 + if k >= 500 { 7_200_000 } else { 0 })), &SLOW).unwrap();
    assert_eq!(counts(&silent), ([1000, 0, 0, 0], true));
    assert!(silent.warnings().starts_with("no packet for 7200.010 s before packet 501"), "{}", silent.warnings());
    let times: Vec<u64> = (0..1000).map(|k| 1000 + k * 10).collect();
    let mut few = times.clone();
    few.swap(500, 505);
    let few = replay(&at(few), &SLOW).unwrap();
    assert_eq!(counts(&few), ([1000, 0, 0, 0], true));
    assert!(few.warnings().contains("have times before that of an earlier packet"), "{}", few.warnings());
    let many = times.chunks(10).flat_map(|each| each.iter().rev().copied());
    let many = replay(&at(many), &SLOW).unwrap();
    assert_eq!(counts(&many), ([1000, 0, 0, 0], false));
    assert!(many.warnings().contains("the results are flagged (capture.times_kept)"), "{}", many.warnings());
    assert_eq!(many.link("moved_packets"), 900.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Whatever times say, each packet arrives, or is left out and counted, and what arrives leaves or is dropped.
    #[test]
    fn packets_of_wild_times_are_counted(
        steps in prop::collection::vec((prop_oneof![4 => -20i64..50, 1 => -3000i64..3000, 1 => Just(-90_000_000i64), 1 => Just(90_000_000i64)], 0usize..4000),
                                       1..120),
        policy in 0usize..3,
    ) {
        let on_jump = ["error", "skip", "shift"][policy];
        let mut now = 100_000_000i64;
        let packets: Vec<(u64, Vec<u8>)> = steps.iter().map(|&(step, payload)| {
            now = (now + step).max(0);
            (now as u64 * MS, if payload % 2 == 0 { segment(payload, false) } else { udp(9, payload) })
        }).collect();
        let done = replay(&capture(101, &packets), &with(on_jump));
        let Ok(done) = done else {
            prop_assert_eq!(on_jump, "error");
            return Ok(());
        };
        let about = &done.summary["capture"];
        let of = |name: &str| about[name].as_u64().unwrap();
        prop_assert!(about["damage"].is_null());
        prop_assert_eq!(of("packets") + of("skipped_packets"), packets.len() as u64);
        let arrived = of("packets") - of("merged_packets") + of("merged_pieces");
        prop_assert_eq!(done.link("arrivals_packets") as u64, arrived);
        prop_assert_eq!(done.link("departures_packets") + done.link("drops_packets"), arrived as f64);
        prop_assert_eq!(of("jumps") > 0, on_jump != "error" && replay(&capture(101, &packets), &SLOW).is_err());
        prop_assert!(on_jump == "skip" || of("skipped_packets") == 0);
        prop_assert!(done.written.windows(2).all(|two| two[0].0 < two[1].0));
    }
}
