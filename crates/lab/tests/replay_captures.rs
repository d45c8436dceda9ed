//! What captures of real machines hold: frames in PPPoE, packets that a host has merged, times that leap.

use etherparse::{Ipv4HeaderSlice, PacketBuilder, TcpHeaderSlice};
use proptest::prelude::*;
use serde_json::Value as Json;
use sluicegate_base::Rate;
use sluicegate_lab::replay::reader::{Capture, Next};
use sluicegate_lab::replay::results::Report;
use sluicegate_lab::replay::writer::Writer;
use sluicegate_lab::replay::{Failure, Progress, Replay, ReplayScenario};
use sluicegate_lab::results::{Cells, ResultTable};
use sluicegate_lab::{Foreign, ScenarioError};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a replay gave, and what it wrote as time, original length and data.
struct Done {
    tables: Vec<ResultTable>,
    summary: Json,
    written: Vec<(u64, u32, Vec<u8>)>,
}

impl Done {
    fn column(&self, table: &str, name: &str) -> Vec<f64> {
        let table = self.tables.iter().find(|each| each.name == table).unwrap();
        match &table.columns.iter().find(|column| column.name == name).unwrap_or_else(|| panic!("{name}")).cells {
            Cells::F64(cells) => cells.clone(),
            Cells::I64(cells) => cells.iter().map(|&n| n as f64).collect(),
            Cells::Str(_) => panic!("{name} is text"),
        }
    }

    fn link(&self, name: &str) -> f64 {
        self.column("links", name)[0]
    }

    fn warnings(&self) -> String {
        let all = self.summary["capture"]["warnings"].as_array().unwrap();
        all.iter().map(|each| each.as_str().unwrap()).collect::<Vec<_>>().join("\n")
    }
}

fn replay(file: &[u8], settings: &[(&str, &str)]) -> Result<Done, String> {
    let sets: Vec<(String, String)> = settings.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let scenario = ReplayScenario::read(&sets).unwrap();
    let nothing = &mut |foreign: &Foreign, _: &str, _: Rate| Err(ReplayScenario::nothing_builds(foreign));
    let (name, queue) = scenario.discipline::<ScenarioError>(nothing).unwrap();
    let out = Shared::default();
    let mut run = Replay::new(file, scenario.setting(), queue, Some(out.clone())).unwrap();
    loop {
        match run.advance(7) {
            Ok(Progress::Done) => break,
            Ok(_) => {}
            Err(Failure::Unusable(what)) => return Err(what),
            Err(Failure::Write(error)) => panic!("{error}"),
        }
    }
    let report = Report::new(run.finish().unwrap(), name, scenario.setting().rate);
    let (bytes, mut written) = (out.0.lock().unwrap().clone(), Vec::new());
    let mut capture = Capture::new(&bytes[..]);
    while let Next::Record(record) = capture.next().unwrap() {
        written.push((record.time.unwrap(), record.original, record.data.to_vec()));
    }
    Ok(Done { tables: report.tables(), summary: report.summary(&scenario, "test"), written })
}

fn udp(port: u16, payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(port, 53).write(&mut packet, &vec![0; payload]).unwrap();
    packet
}

fn capture(link_type: u16, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (time, data) in packets {
        writer.packet(link_type, *time, data.len() as u32, data).unwrap();
    }
    writer.finish().unwrap()
}

const MS: u64 = 1_000_000;

/// A call of 50 packets a second beside a flow that fills the link twice, for five seconds.
fn call_and_bulk() -> Vec<(u64, Vec<u8>)> {
    let mut packets: Vec<(u64, Vec<u8>)> = (0..250).map(|k| (k * 20 * MS + MS, udp(1, 172))).collect();
    packets.extend((0..5000).map(|k| (k * MS, udp(2, 222))));
    packets.sort_by_key(|(time, _)| *time);
    packets
}

/// Issue 40, point 16: behind PPPoE, MPLS or PPP all was one flow without ECN: the call waited a second.
#[test]
fn flows_inside_pppoe_mpls_and_ppp_meet_what_they_meet_without() {
    let plain = call_and_bulk();
    let settings = [("rate", "1 Mbit/s"), ("queue.discipline", "fq_codel")];
    let expected = replay(&capture(101, &plain), &settings).unwrap();
    let ethernet = |kind: [u8; 2]| [&[0; 12], &kind[..]].concat();
    let session = |data: &[u8]| {
        let length = (data.len() as u16 + 2).to_be_bytes();
        [&[0x11, 0, 0, 9], &length[..], &[0, 0x21], data].concat()
    };
    type Wrap<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
    let wraps: [(u16, Wrap<'_>); 4] = [
        (1, &|data| [&ethernet([0x88, 0x64])[..], &session(data)].concat()),
        (1, &|data| [&ethernet([0x88, 0x47])[..], &[0, 1, 0, 64, 0, 2, 1, 64], data].concat()),
        (9, &|data| [&[0xff, 3, 0, 0x21], data].concat()),
        (51, &session),
    ];
    for (link_type, wrap) in wraps {
        let packets: Vec<(u64, Vec<u8>)> = plain.iter().map(|(time, data)| (*time, wrap(data))).collect();
        let done = replay(&capture(link_type, &packets), &settings).unwrap();
        for name in ["arrivals_bytes", "delivered_packets", "queueing_delay_mean_ns", "queueing_delay_p99_ns"] {
            assert_eq!(done.column("flows", name), expected.column("flows", name), "{link_type} {name}");
        }
        assert_eq!(done.warnings(), "");
    }
    assert_eq!(expected.column("flows", "delivered_packets")[1], 250.0);
    assert!(expected.column("flows", "queueing_delay_mean_ns")[1] < 3e6);
}

/// The mark is in the IP header inside, whose checksum stays right.
#[test]
fn a_mark_inside_pppoe_is_written() {
    let packet = |k: u64| {
        let mut ip = udp(1, 500);
        ip[1] = 2;
        let sum = Ipv4HeaderSlice::from_slice(&ip).unwrap().to_header().calc_header_checksum();
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        (
            k,
            [&[0; 12], &[0x88, 0x64, 0x11, 0, 0, 9][..], &(ip.len() as u16 + 2).to_be_bytes(), &[0, 0x21], &ip]
                .concat(),
        )
    };
    let file = capture(1, &(0..40).map(packet).collect::<Vec<_>>());
    let red = [("queue.discipline", "red"), ("queue.w_q", "1.0"), ("queue.min_th", "5"), ("queue.max_th", "6")];
    let marks = [("rate", "1 Mbit/s"), ("queue.red.action", "mark"), ("queue.red.above_max_th", "mark")];
    let done = replay(&file, &[&red[..], &marks].concat()).unwrap();
    let marked = done.written.iter().filter(|(_, _, data)| data[23] & 3 == 3).count();
    assert!(marked > 3, "{marked}");
    assert_eq!(done.link("marked_packets"), marked as f64);
    for (_, _, data) in &done.written {
        let ip = Ipv4HeaderSlice::from_slice(&data[22..]).unwrap();
        assert_eq!(ip.to_header().calc_header_checksum(), ip.header_checksum());
    }
}

/// What is told from no other packet is said, with its share, in words and in numbers.
#[test]
fn what_stays_opaque_is_told_with_its_share() {
    let arp = [&[0; 12], &[8, 6][..], &[0; 28]].concat();
    let ip = [&[0; 12], &[8, 0][..], &udp(1, 100)].concat();
    let mut packets: Vec<(u64, Vec<u8>)> = (0..9).map(|k| (k, ip.clone())).collect();
    packets.push((9, arp));
    let done = replay(&capture(1, &packets), &[("rate", "1 Gbit/s")]).unwrap();
    assert_eq!(
        done.warnings(),
        "1 of 10 packets (10 %) are one flow to the queue, and cannot be marked: 1 carry no IP that can be seen"
    );
    assert_eq!(done.link("opaque_packets"), 1.0);
}

/// A segment with `payload` bytes of TCP, as a host hands it to its card.
fn segment(payload: usize, six: bool) -> Vec<u8> {
    let mut packet = Vec::new();
    let bytes: Vec<u8> = (0..payload).map(|k| k as u8).collect();
    if six {
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(5000, 80, u32::MAX - 1000, 500).psh().ack(7);
        builder.write(&mut packet, &bytes).unwrap();
    } else {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(5000, 80, u32::MAX - 1000, 500);
        builder.psh().cwr().ack(7).write(&mut packet, &bytes).unwrap();
    }
    packet
}

/// Issue 40, point 17: what a host has merged was one packet, and waited as one.
#[test]
fn packets_that_a_host_has_merged_are_split_at_the_mtu() {
    let whole = segment(14_600, false);
    let done = replay(&capture(101, &[(5, whole.clone())]), &[("rate", "12 Mbit/s")]).unwrap();
    assert_eq!(done.written.len(), 10);
    let mut payload = Vec::new();
    for (k, (time, original, data)) in done.written.iter().enumerate() {
        assert_eq!((*time, *original as usize), (5 + (k as u64 + 1) * MS, data.len()));
        assert_eq!(data.len(), 1500);
        let ip = Ipv4HeaderSlice::from_slice(data).unwrap();
        assert_eq!((usize::from(ip.total_len()), usize::from(ip.identification())), (data.len(), k));
        assert_eq!(ip.to_header().calc_header_checksum(), ip.header_checksum());
        let tcp = TcpHeaderSlice::from_slice(&data[20..]).unwrap();
        assert_eq!(tcp.sequence_number(), (u32::MAX - 1000).wrapping_add(1460 * k as u32));
        assert_eq!((tcp.psh(), tcp.cwr()), (k == 9, k == 0));
        assert_eq!(tcp.calc_checksum_ipv4(&ip, &data[40..]).unwrap(), tcp.checksum());
        payload.extend_from_slice(&data[40..]);
    }
    assert_eq!(payload, &whole[40..]);
    assert_eq!((done.link("arrivals_packets"), done.link("merged_packets")), (10.0, 1.0));
    assert_eq!(done.link("arrivals_bytes"), 15_000.0);
    assert!(
        done.warnings().contains("1 of 1 packets (100 %) are longer than 1500 bytes: a host had merged them"),
        "{}",
        done.warnings()
    );
    // As the link of jumbo frames that it may have come from.
    let jumbo = replay(&capture(101, &[(5, whole)]), &[("rate", "12 Mbit/s"), ("mtu", "9000")]).unwrap();
    assert_eq!(jumbo.written.iter().map(|each| each.1).collect::<Vec<_>>(), [9000, 5680]);
}

#[test]
fn merged_packets_are_split_in_ipv6_in_pppoe_and_where_little_was_captured() {
    let six = replay(&capture(101, &[(5, segment(3000, true))]), &[("rate", "12 Mbit/s")]).unwrap();
    let lengths: Vec<u32> = six.written.iter().map(|each| each.1).collect();
    assert_eq!(lengths, [1500, 1500, 180]);
    for (_, _, data) in &six.written {
        let ip = etherparse::Ipv6HeaderSlice::from_slice(data).unwrap();
        assert_eq!(usize::from(ip.payload_length()) + 40, data.len());
        let tcp = TcpHeaderSlice::from_slice(&data[40..]).unwrap();
        assert_eq!(tcp.calc_checksum_ipv6(&ip, &data[60..]).unwrap(), tcp.checksum());
    }
    let ip = segment(3000, false);
    let around = [&[0; 12], &[0x88, 0x64, 0x11, 0, 0, 9][..], &(ip.len() as u16 + 2).to_be_bytes(), &[0, 0x21], &ip];
    let pppoe = replay(&capture(1, &[(5, around.concat())]), &[("rate", "12 Mbit/s"), ("mtu", "1492")]).unwrap();
    let lengths: Vec<(u32, u16)> =
        pppoe.written.iter().map(|(_, length, data)| (*length, u16::from_be_bytes([data[18], data[19]]))).collect();
    assert_eq!(lengths, [(1514, 1494), (1514, 1494), (158, 138)]);
    // 96 bytes were captured: the first piece has what there is of the payload, the others headers alone.
    let mut writer = Writer::new(Vec::new()).unwrap();
    writer.packet(101, 5, 3040, &ip[..96]).unwrap();
    // A sender may leave the length to its card.
    writer.packet(101, 5, 3040, &[&ip[..2], &[0, 0], &ip[4..96]].concat()).unwrap();
    let cut = replay(&writer.finish().unwrap(), &[("rate", "12 Mbit/s")]).unwrap();
    let lengths: Vec<(u32, usize)> = cut.written.iter().map(|(_, length, data)| (*length, data.len())).collect();
    assert_eq!(lengths, [(1500, 96), (1500, 40), (120, 40)].repeat(2));
    assert_eq!(cut.link("arrivals_bytes"), 2.0 * 3120.0);
}

/// How UDP was merged is not in a capture: such packets stay whole, and it is said.
#[test]
fn long_packets_that_cannot_be_split_are_told() {
    let packets = [(0, udp(1, 2000)), (1, udp(1, 100)), (2, udp(1, 100)), (3, udp(1, 100))];
    let done = replay(&capture(101, &packets), &[("rate", "1 Gbit/s")]).unwrap();
    assert_eq!((done.written.len(), done.link("oversize_packets")), (4, 1.0));
    assert!(
        done.warnings().starts_with("1 of 4 packets (25 %) are longer than 1500 bytes (--mtu), and stayed whole"),
        "{}",
        done.warnings()
    );
}

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

/// Issue 40, point 19: all that followed arrived at once, 94.8 % of it lost, where nothing was.
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
        assert!(shifted.warnings().starts_with("times leapt once"), "{}", shifted.warnings());
    }
}

#[test]
fn a_few_times_that_lie_ahead_are_told_together() {
    let file = at((0..1000).map(|k| if (500..510).contains(&k) { 3_600_000 + k } else { k * 10 }));
    let refused = replay(&file, &SLOW).err().unwrap();
    assert!(refused.starts_with("the times of packets 501 to 510, from byte "), "{refused}");
    assert_eq!(counts(&replay(&file, &with("skip")).unwrap()), ([990, 0, 1, 10], false));
}

#[test]
fn a_clock_set_back_is_an_error_or_goes_on_from_there() {
    let file = at((0..1000).map(|k| 100_000 + k * 10 - if k >= 600 { 2000 } else { 0 }));
    let refused = replay(&file, &SLOW).err().unwrap();
    assert!(refused.starts_with("the time of packet 601, at byte "), "{refused}");
    assert!(refused.contains("lies 1.990 s before that of an earlier packet"), "{refused}");
    // Left out are those of two seconds, until times have caught up.
    assert_eq!(counts(&replay(&file, &with("skip")).unwrap()), ([801, 0, 1, 199], false));
    let shifted = replay(&file, &with("shift")).unwrap();
    assert_eq!(counts(&shifted), ([1000, 0, 1, 0], false));
    assert!((shifted.link("duration_s") - 9.98).abs() < 0.02);
}

#[test]
fn captures_joined_in_the_wrong_order_are_an_error_or_follow_each_other() {
    let file = at((0..500).map(|k| 3_600_000 + k * 10).chain((0..500).map(|k| k * 10)));
    let refused = replay(&file, &SLOW).err().unwrap();
    assert!(refused.starts_with("the time of packet 501, at byte "), "{refused}");
    assert_eq!(counts(&replay(&file, &with("skip")).unwrap()), ([500, 0, 1, 500], false));
    let shifted = replay(&file, &with("shift")).unwrap();
    assert_eq!(counts(&shifted), ([1000, 0, 1, 0], false));
    assert!((shifted.link("duration_s") - 9.98).abs() < 0.02);
}

/// A silence is none, however long; nor are packets a little out of order. Many of those flag the result.
#[test]
fn a_silence_or_a_little_disorder_is_no_jump() {
    let silent = replay(&at((0..1000).map(|k| k * 10 + if k >= 500 { 7_200_000 } else { 0 })), &SLOW).unwrap();
    assert_eq!(counts(&silent), ([1000, 0, 0, 0], true));
    assert_eq!(silent.warnings(), "");
    let times: Vec<u64> = (0..1000).map(|k| 1000 + k * 10).collect();
    let mut few = times.clone();
    few.swap(500, 505);
    let few = replay(&at(few), &SLOW).unwrap();
    assert_eq!(counts(&few), ([1000, 0, 0, 0], true));
    assert!(few.warnings().contains("their time lies before that of an earlier packet"), "{}", few.warnings());
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
        steps in prop::collection::vec((prop_oneof![4 => -20i64..50, 1 => -3000i64..3000, 1 => Just(-90_000_000i64)], 0usize..4000),
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
