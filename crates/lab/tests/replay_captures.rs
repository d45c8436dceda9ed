//! What captures of real machines hold: frames in PPPoE, packets that a host has merged.

use crate::shared::replays::{MS, capture, replay, segment, udp};
use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice};
use sluicegate_lab::replay::writer::Writer;

/// A call of 50 packets a second beside a flow that fills the link twice, for five seconds.
fn call_and_bulk() -> Vec<(u64, Vec<u8>)> {
    let mut packets: Vec<(u64, Vec<u8>)> = (0..250).map(|k| (k * 20 * MS + MS, udp(1, 172))).collect();
    packets.extend((0..5000).map(|k| (k * MS, udp(2, 222))));
    packets.sort_by_key(|(time, _)| *time);
    packets
}

/// Behind PPPoE, MPLS or PPP all was one flow without ECN: the call waited a second.
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
        "1 of 10 packets (10 %) is one flow to the queue, and cannot be marked: 1 carries no IP that can be seen; most often it \
         is ether type 0x0806: if IP is inside, capture where it is not encapsulated"
    );
    assert_eq!(done.link("opaque_packets"), 1.0);
    // What has an IP header can be marked.
    let fragment = |packet: &[u8]| [&packet[..20], &[0, 1], &packet[22..]].concat();
    let orphan = replay(&capture(1, &[(0, fragment(&ip))]), &[("rate", "1 Gbit/s")]).unwrap().warnings();
    assert!(orphan.starts_with("1 of 1 packets (100 %) is one flow to the queue: 1 "), "{orphan}");
    let usb = replay(&capture(189, &[(0, ip)]), &[("rate", "1 Gbit/s")]).unwrap().warnings();
    assert!(usb.contains("1 comes from a kind of link that is not known here: capture on another interface"), "{usb}");
    assert!(usb.contains("link type 189"), "{usb}");
    let llc = [&[0; 12], &[0, 38][..], &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0], &[0; 30]].concat();
    let multilink = [&[0xff, 3, 0, 0x3d][..], &[0xc0, 0, 0, 1], &[0; 30]].concat();
    for (link_type, data, told) in [(1, llc, "most often it is LLC"), (9, multilink, "PPP protocol 0x003d")] {
        let said = replay(&capture(link_type, &[(0, data)]), &[("rate", "1 Gbit/s")]).unwrap().warnings();
        assert!(said.contains(told), "{said}");
    }
}

/// What a host has merged was one packet, and waited as one.
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
        done.warnings().contains("1 of 1 packets (100 %) is longer than 1500 bytes: a host had merged"),
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
        done.warnings().starts_with(
            "1 of 4 packets (25 %) is longer than 1500 bytes (--mtu), and stayed whole: only TCP outside tunnels"
        ),
        "{}",
        done.warnings()
    );
}

/// The length of PPPoE was looked for where a MAC address may hold the same bytes, and missed behind MPLS, in a capture of
/// PPPoE alone and where PPP's header is shorter or longer.
#[test]
fn the_length_of_pppoe_is_corrected_where_its_header_is() {
    let ip = segment(3000, false);
    let length = |more: usize| ((ip.len() + more) as u16).to_be_bytes();
    let mac = [&[0; 4], &[0x88, 0x64][..], &[0; 6], &[8, 0]].concat();
    let plain = replay(&capture(1, &[(5, [&mac[..], &ip].concat())]), &[("rate", "1 Gbit/s")]).unwrap();
    assert!(plain.written.iter().all(|(_, _, data)| data[..14] == mac[..]));
    // An address that ends where the ether type was looked for.
    let tagged = [&[0; 8], &[0x88, 0x64][..], &[0, 7], &[0x81, 0, 0, 9, 8, 0]].concat();
    let tagged_done = replay(&capture(1, &[(5, [&tagged[..], &ip].concat())]), &[("rate", "1 Gbit/s")]).unwrap();
    assert!(tagged_done.written.iter().all(|(_, _, data)| data[..18] == tagged[..]));
    let session = |ppp: &[u8]| [&[0x11, 0, 0, 9], &length(ppp.len())[..], ppp, &ip].concat();
    let ethernet = |ppp: &[u8]| [&[0; 12], &[0x88, 0x64][..], &session(ppp)].concat();
    for (link_type, frame, at) in [
        (51, session(&[0, 0x21]), 0),
        (1, ethernet(&[0x21]), 14),
        (1, ethernet(&[0xff, 3, 0, 0x21]), 14),
        (1, ethernet(&[0x02, 0x81, 0, 1, 1, 64]), 14),
    ] {
        let done = replay(&capture(link_type, &[(5, frame)]), &[("rate", "1 Gbit/s"), ("mtu", "1492")]).unwrap();
        assert_eq!(done.written.len(), 3, "{link_type}");
        for (_, _, data) in &done.written {
            assert_eq!(
                usize::from(u16::from_be_bytes([data[at + 4], data[at + 5]])),
                data.len() - at - 6,
                "{link_type}"
            );
        }
    }
}

/// BIG TCP: the option with the length is in the way of a header that repeats.
#[test]
fn a_jumbogram_stays_whole_and_is_told() {
    let six = segment(60_000, true);
    let option = [&[6, 0, 0xc2, 4][..], &60_028u32.to_be_bytes()].concat();
    let jumbo = [&six[..4], &[0, 0, 0], &six[7..40], &option, &six[40..]].concat();
    let done = replay(&capture(101, &[(5, jumbo.clone())]), &[("rate", "1 Gbit/s")]).unwrap();
    assert_eq!((done.link("oversize_packets"), done.link("merged_packets")), (1.0, 0.0));
    assert_eq!(done.written[0].2, jumbo);
}
