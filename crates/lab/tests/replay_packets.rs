//! What is read from a packet: flow, length, ECN, fragments, over every link layer, and the mark that is written back.

use etherparse::{IpNumber, PacketBuilder};
use proptest::prelude::*;
use sluicegate_base::Ecn;
use sluicegate_lab::replay::layers::Other;
use sluicegate_lab::replay::packet::{Decoded, Whose, decode, set_dscp, set_ecn};

const UDP: u8 = 17;

fn udp4(payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5000, 53);
    let mut packet = Vec::new();
    builder.write(&mut packet, &vec![7; payload]).unwrap();
    packet
}

fn udp6(payload: usize) -> Vec<u8> {
    let mut destination = [0; 16];
    destination[15] = 2;
    let builder = PacketBuilder::ipv6([0xfd; 16], destination, 64).udp(5000, 53);
    let mut packet = Vec::new();
    builder.write(&mut packet, &vec![7; payload]).unwrap();
    packet
}

fn ethernet(tags: &[u16], kind: u16, packet: &[u8]) -> Vec<u8> {
    let tags: Vec<u8> = tags.iter().flat_map(|tag| [tag.to_be_bytes(), [0, 7]].concat()).collect();
    [&[0; 12], &tags[..], &kind.to_be_bytes(), packet].concat()
}

fn name(decoded: &Decoded) -> String {
    match decoded.whose {
        Whose::Flow(tuple) | Whose::First(tuple, _) => tuple.to_string(),
        other => panic!("{other:?}"),
    }
}

fn whole(link_type: u16, data: &[u8]) -> Decoded<'_> {
    decode(link_type, data, data.len() as u32)
}

#[test]
fn every_link_layer_is_unwrapped() {
    let (four, six) = (udp4(100), udp6(100));
    let sll = |kind: u16, packet: &[u8]| [&[0; 14], &kind.to_be_bytes()[..], packet].concat();
    let sll2 = |kind: u16, packet: &[u8]| [&kind.to_be_bytes()[..], &[0; 18], packet].concat();
    let tagged = |packet: &[u8]| [&[0; 14], &[0x81, 0, 0, 7, 8, 0][..], packet].concat();
    for (link_type, data, below) in [
        (1, ethernet(&[], 0x0800, &four), 14),
        (1, ethernet(&[0x8100], 0x0800, &four), 18),
        (1, ethernet(&[0x88a8, 0x8100], 0x0800, &four), 22),
        (1, ethernet(&[0x9100, 0x8100, 0x8100], 0x0800, &four), 26),
        (101, four.clone(), 0),
        (12, four.clone(), 0),
        (14, four.clone(), 0),
        (228, four.clone(), 0),
        (0, [&[2, 0, 0, 0], &four[..]].concat(), 4),
        (108, [&[0, 0, 0, 2], &four[..]].concat(), 4),
        (113, sll(0x0800, &four), 16),
        (113, tagged(&four), 20),
        (276, sll2(0x0800, &four), 20),
    ] {
        let found = whole(link_type, &data);
        assert_eq!(
            (name(&found), found.bytes, found.ip),
            ("10.0.0.1:5000 > 10.0.0.2:53 udp".to_owned(), 128, Some(below))
        );
    }
    for (link_type, data) in [
        (1, ethernet(&[0x8100], 0x86dd, &six)),
        (101, six.clone()),
        (229, six.clone()),
        (0, [&[30, 0, 0, 0], &six[..]].concat()),
        (113, sll(0x86dd, &six)),
        (276, sll2(0x86dd, &six)),
    ] {
        let found = whole(link_type, &data);
        assert_eq!(name(&found), "[fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd]:5000 > [::2]:53 udp");
        assert_eq!(found.bytes, 148);
    }
}

/// What Linux's flow dissector looks into. All of these were one flow.
#[test]
fn what_lies_around_ip_is_looked_into() {
    let (four, six) = (udp4(100), udp6(100));
    let names = ["10.0.0.1:5000 > 10.0.0.2:53 udp", "[fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd]:5000 > [::2]:53 udp"];
    let join = |parts: &[&[u8]]| parts.concat();
    let label = |last: bool| [0, 1, u8::from(last), 64];
    for (packet, name_of, kind, protocol) in [(&four, names[0], [8, 0], 0x21), (&six, names[1], [0x86, 0xdd], 0x57)] {
        let session = join(&[&[0x11, 0, 0, 9, 0, 0, 0, protocol], packet]);
        let short = join(&[&[0x11, 0, 0, 9, 0, 0, protocol], packet]);
        let stack = join(&[&label(false), &label(false), &label(true), packet]);
        for (link_type, data, below) in [
            (1, ethernet(&[], 0x8864, &session), 22),
            (1, ethernet(&[0x8100], 0x8864, &session), 26),
            (1, ethernet(&[0x88a8, 0x8100], 0x8864, &short), 29),
            (1, ethernet(&[], 0x8847, &stack), 26),
            (1, ethernet(&[0x8100], 0x8848, &stack[8..]), 22),
            (1, ethernet(&[], 0x8864, &join(&[&[0x11, 0, 0, 9, 0, 0, 2, 0x81], &stack])), 34),
            (9, join(&[&[0, protocol], packet]), 2),
            (9, join(&[&[protocol], packet]), 1),
            (9, join(&[&[0xff, 3, 0, protocol], packet]), 4),
            (50, join(&[&[0xff, 3, 0, protocol], packet]), 4),
            (50, join(&[&[0x0f, 0], &kind, packet]), 4),
            (104, join(&[&[0x8f, 0], &kind, packet]), 4),
            (51, session.clone(), 8),
            (166, join(&[&[1, 3, 0, protocol], packet]), 4),
            (204, join(&[&[0, 0xff, 3, 0, protocol], packet]), 5),
            (219, stack.clone(), 12),
            (113, join(&[&[0; 14], &[0x88, 0x64], &session]), 24),
            (276, join(&[&[0x88, 0x64], &[0; 18], &session]), 28),
        ] {
            let found = whole(link_type, &data);
            assert_eq!((name(&found), found.ip), (name_of.to_owned(), Some(below)), "{link_type}");
            assert_eq!(found.bytes as usize, packet.len());
        }
    }
    // As many tags as Linux looks through, and more.
    assert!(matches!(whole(1, &ethernet(&[0x8100; 13], 0x0800, &four)).whose, Whose::Flow(_)));
    assert_eq!(whole(1, &ethernet(&[0x8100; 20], 0x0800, &four)).whose, Whose::Other(Other::NotIp));
    // What no IP packet is: discovery, LCP, a pseudowire with a control word, an unknown version.
    let rest = [0; 40];
    for data in [
        ethernet(&[], 0x8863, &join(&[&[0x11, 9, 0, 0, 0, 0], &rest])),
        ethernet(&[], 0x8864, &join(&[&[0x11, 0, 0, 9, 0, 42, 0xc0, 0x21], &rest])),
        ethernet(&[], 0x8847, &join(&[&label(true), &rest])),
        ethernet(&[], 0x8864, &join(&[&[0x21, 0, 0, 9, 0, 42, 0, 0x21], &four])),
    ] {
        assert_eq!(whole(1, &data).whose, Whose::Other(Other::NotIp));
    }
    assert_eq!(whole(1, &ethernet(&[], 0x8864, &[0x11, 0, 0, 9, 0])).whose, Whose::Other(Other::Truncated));
}

/// The flow is the one inside a tunnel; length and ECN field are those of the outermost header.
#[test]
fn the_flow_of_a_tunnel_is_the_one_inside() {
    let (four, six) = (udp4(100), udp6(100));
    let inner = "10.0.0.1:5000 > 10.0.0.2:53 udp";
    let tunnel = |protocol: u8, payload: &[u8]| {
        let mut packet = udp4(payload.len() - 8)[..20].to_vec();
        (packet[1], packet[9]) = (1, protocol); // ECT(1)
        packet[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
        [packet, payload.to_vec()].concat()
    };
    let gre = |head: &[u8], packet: &[u8]| tunnel(47, &[head, packet].concat());
    for (packet, name_of) in [
        (tunnel(4, &four), inner),
        (tunnel(41, &six), "[fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd:fdfd]:5000 > [::2]:53 udp"),
        (tunnel(4, &tunnel(4, &four)), inner),
        (tunnel(137, &[&[0, 1, 1, 64][..], &four].concat()), inner),
        (gre(&[0, 0, 8, 0], &four), inner),
        (gre(&[0xb0, 0, 8, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], &four), inner),
        (gre(&[0, 0, 0x65, 0x58], &ethernet(&[0x8100], 0x0800, &four)), inner),
        (gre(&[0x30, 0x81, 0x88, 0x0b, 0, 9, 0, 9, 1, 1, 1, 1, 2, 2, 2, 2, 0xff, 3, 0, 0x21], &four), inner),
        // What is not looked into is a flow by its own addresses: with routing, and what is unknown.
        (gre(&[0x40, 0, 8, 0], &four), "192.0.2.1 > 192.0.2.2 gre"),
        (gre(&[0, 0, 0x88, 0xbe], &four), "192.0.2.1 > 192.0.2.2 gre"),
        (tunnel(50, &four), "192.0.2.1 > 192.0.2.2 esp"),
        (tunnel(4, &four[..12]), "192.0.2.1 > 192.0.2.2 ipip"),
    ] {
        let found = whole(101, &packet);
        assert_eq!((name(&found), found.ip, found.ecn), (name_of.to_owned(), Some(0), Ecn::Capable1));
        assert_eq!(found.bytes as usize, packet.len());
    }
    // In fragments: the first one holds the flow, the later ones the datagram's number.
    let mut first = tunnel(4, &four);
    (first[5], first[6]) = (9, 0x20);
    let Whose::First(tuple, datagram) = whole(101, &first).whose else { panic!("first") };
    assert_eq!((tuple.to_string(), datagram.id), (inner.to_owned(), 9));
    (first[6], first[7]) = (0, 9);
    assert_eq!(whole(101, &first).whose, Whose::Later(datagram));
    // However deep, it ends.
    let deep = (0..40).fold(four, |packet, _| tunnel(4, &packet));
    assert_eq!(name(&whole(101, &deep)), "192.0.2.1 > 192.0.2.2 ipip");
}

#[test]
fn what_is_not_told_apart_says_why() {
    let four = udp4(100);
    for (link_type, data, why) in [
        (1, ethernet(&[], 0x0806, &[0; 28]), Other::NotIp),
        (1, ethernet(&[], 60, &[0; 60]), Other::NotIp),
        (1, ethernet(&[], 0x0800, &[0; 40]), Other::NotIp),
        (1, ethernet(&[], 0x0800, &four[..19]), Other::Truncated),
        (1, ethernet(&[], 0x0800, &four[..23]), Other::Truncated),
        (1, ethernet(&[], 0x0800, &[]), Other::Truncated),
        (1, vec![0; 13], Other::Truncated),
        (1, vec![], Other::Truncated),
        (147, four.clone(), Other::Link),
    ] {
        let found = decode(link_type, &data, 90);
        assert_eq!(found.whose, Whose::Other(why), "{data:?}");
        assert!(found.bytes <= 90 && found.bytes > 0);
    }
    // Four bytes of the transport header suffice.
    assert_eq!(name(&decode(101, &four[..24], 128)), "10.0.0.1:5000 > 10.0.0.2:53 udp");
}

/// What CAKE's filter looks at, as `cake_tcph_may_drop` of Linux 6.18 does.
#[test]
fn acknowledgements_are_read() {
    let segment = |flags: u8, options: &[u8], data: usize| {
        let mut packet = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(5000, 80, 7, 1000).ack(0x8000_0009);
        builder.options_raw(options).unwrap().write(&mut packet, &vec![7; data]).unwrap();
        packet[33] = flags;
        packet
    };
    let said = |packet: &[u8]| whole(101, packet).ack().map(|ack| (ack.bare, ack.sacks, ack.echo));
    let stamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let sack = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    for (flags, options, data, expected) in [
        (0x10, &[][..], 0, Some((true, false, 0))),
        (0x10, &stamps, 0, Some((true, false, 0))),
        (0x10, &stamps, 1, Some((false, false, 0))),
        (0x10, &sack, 0, Some((true, true, 0))),
        (0x50, &[], 0, Some((true, false, 0x40))), // ECN-Echo
        (0x18, &[], 0, Some((false, false, 0))),   // PSH
        (0x12, &[], 0, Some((false, false, 0))),
        (0x10, &[172, 5, 0, 0, 1, 1, 1, 1], 0, Some((false, false, 0))), // accurate ECN's counter
        (0x02, &[], 0, None),
    ] {
        let packet = segment(flags, options, data);
        assert_eq!(said(&packet), expected, "{flags:x} {options:?} {data}");
        // Ethernet's least length, and a tunnel.
        let padded = [ethernet(&[], 0x0800, &packet), vec![0; 6]].concat();
        let mut tunnelled = Vec::new();
        PacketBuilder::ipv4([1; 4], [2; 4], 64).write(&mut tunnelled, IpNumber::IPV4, &packet).unwrap();
        assert_eq!(
            (whole(1, &padded).ack(), whole(101, &tunnelled).ack()),
            (whole(101, &packet).ack(), whole(101, &packet).ack())
        );
    }
    let ack = segment(0x10, &[], 0);
    assert_eq!(whole(101, &ack).ack().unwrap().number, 0x8000_0009);
    // Accurate ECN's flag; a length that is left to a network card; what was not captured, what is no TCP, a later fragment.
    let with = |at: usize, bytes: &[u8]| {
        let mut packet = ack.clone();
        packet[at..at + bytes.len()].copy_from_slice(bytes);
        packet
    };
    assert_eq!(said(&with(32, &[0x51])), Some((false, false, 0)));
    assert_eq!(said(&with(2, &[0, 0])), Some((false, false, 0)));
    assert_eq!(said(&with(32, &[0x52])), Some((false, false, 0)), "a reserved bit");
    let sacks = segment(0x10, &sack, 0);
    assert_eq!([&ack[..39], &sacks[..51], &udp4(40), &with(6, &[0, 9])].map(said), [None; 4]);
    // IPv6, behind an extension.
    let mut six = udp6(0)[..40].to_vec();
    (six[5], six[6]) = (28, 60);
    six.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    six.extend(&ack[20..]);
    assert_eq!(said(&six), Some((true, false, 0)));
    // The first fragment of more.
    assert_eq!(said(&with(6, &[0x20, 0])), Some((true, false, 0)));
}

#[test]
fn lengths_are_the_headers_own_and_the_original_ones() {
    let padded = [ethernet(&[], 0x0800, &udp4(2)), vec![0; 16]].concat(); // Ethernet's least length
    assert_eq!(whole(1, &padded).bytes, 30);
    let long = udp4(1000);
    assert_eq!(decode(101, &long[..40], 1028).bytes, 1028);
    let mut offloaded = long.clone();
    offloaded[2..4].copy_from_slice(&[0, 0]); // a sender that leaves the length to its card
    assert_eq!(decode(101, &offloaded[..40], 20_000).bytes, 20_000);
    let mut boasting = long;
    boasting[2..4].copy_from_slice(&[0xff, 0xff]);
    assert_eq!(whole(101, &boasting).bytes, 1028);
}

#[test]
fn fragments_name_their_datagram() {
    let mut first = udp4(100);
    (first[4], first[5], first[6], first[7]) = (0x12, 0x34, 0x20, 0);
    let mut later = first.clone();
    (later[6], later[7]) = (0, 13);
    let Whose::First(tuple, datagram) = whole(101, &first).whose else { panic!("first") };
    assert_eq!((tuple.ports, datagram.id, datagram.protocol), (Some((5000, 53)), 0x1234, UDP));
    assert_eq!(whole(101, &later).whose, Whose::Later(datagram));

    // IPv6: a hop-by-hop header, then one for fragments.
    let udp = &udp6(16)[40..];
    let fragment = |offset: u16, more: u16, rest: &[u8]| {
        let mut packet = udp6(0)[..40].to_vec();
        let length = (8 + 8 + rest.len()) as u16;
        packet[4..6].copy_from_slice(&length.to_be_bytes());
        packet[6] = 0;
        packet.extend([44, 0, 1, 4, 0, 0, 0, 0]);
        packet.extend([UDP, 0]);
        packet.extend((offset << 3 | more).to_be_bytes());
        packet.extend([0, 0, 0x56, 0x78]);
        packet.extend(rest);
        packet
    };
    let Whose::First(tuple, datagram) = whole(101, &fragment(0, 1, udp)).whose else { panic!("first") };
    assert_eq!((tuple.ports, tuple.protocol, datagram.id), (Some((5000, 53)), UDP, 0x5678));
    assert_eq!(whole(101, &fragment(3, 0, &[0; 8])).whose, Whose::Later(datagram));
    // One that is whole in spite of the header is no fragment.
    assert!(matches!(whole(101, &fragment(0, 0, udp)).whose, Whose::Flow(_)));
    assert_eq!(whole(101, &fragment(0, 1, &udp[..3])).whose, Whose::Other(Other::Truncated));
}

/// Found by the fuzzer: the library's iterator went on beyond the extensions that it had accepted.
#[test]
fn extensions_are_not_read_beyond_where_reading_stopped() {
    let mut packet = udp6(0)[..40].to_vec();
    packet[4..6].copy_from_slice(&24u16.to_be_bytes());
    packet[6] = 0;
    packet.extend([0, 0, 1, 4, 0, 0, 0, 0]); // hop by hop, and again, which must not be
    packet.extend([44, 0, 1, 4, 0, 0, 0, 0]);
    packet.extend([UDP, 0, 0, 8, 0, 0, 0x56, 0x78]); // what looks like a later fragment
    assert_eq!(whole(101, &packet).whose, Whose::Other(Other::Truncated));
    // Cut within an extension that follows another.
    for (first, second) in [(60, 43), (43, 60), (0, 51), (60, 44)] {
        let mut packet = udp6(0)[..40].to_vec();
        packet[4..6].copy_from_slice(&100u16.to_be_bytes());
        packet[6] = first;
        packet.extend([second, 0, 1, 4, 0, 0, 0, 0]);
        for cut in [0, 1, 2, 7] {
            let data = [&packet[..], &[44, 9, 0, 0, 0, 0, 0][..cut]].concat();
            assert_eq!(decode(101, &data, 140).whose, Whose::Other(Other::Truncated), "{first} {second} {cut}");
        }
    }
}

#[test]
fn protocols_without_ports_are_flows_too() {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).icmpv4_echo_request(1, 1);
    builder.write(&mut packet, &[]).unwrap();
    assert_eq!(name(&whole(101, &packet)), "10.0.0.1 > 10.0.0.2 icmp");
    packet[9] = 222;
    assert_eq!(name(&whole(101, &packet)), "10.0.0.1 > 10.0.0.2 ip-222");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_bytes_are_decoded(link_type in prop::sample::select(vec![0u16, 1, 9, 12, 50, 51, 101, 104, 108, 113, 166, 204, 219, 276, 147]),
                             data in prop::collection::vec(any::<u8>(), 0..120), original in any::<u32>()) {
        let found = decode(link_type, &data, original);
        prop_assert!(found.bytes >= 1 && found.bytes <= original.max(1));
        let mut data = data;
        for at in [0, 3, 200] {
            set_ecn(&mut data, at, Ecn::CongestionExperienced);
        }
    }

    /// What was written is there, nothing else has changed, and the checksum is right if it was.
    #[test]
    fn marks_and_classes_keep_the_checksum(dscp in 0u8..64, ends in any::<([u8; 4], [u8; 4])>(), ttl in any::<u8>(), tos in any::<u8>(),
                                 id in any::<u16>(), payload in 0usize..50, six in any::<bool>()) {
        let mut packet = if six { udp6(payload) } else { udp4(payload) };
        if six {
            packet[0] = 0x60 | tos >> 4;
            packet[1] = tos << 4;
        } else {
            packet[1] = tos;
            packet[4..6].copy_from_slice(&id.to_be_bytes());
            packet[8] = ttl;
            packet[12..16].copy_from_slice(&ends.0);
            packet[16..20].copy_from_slice(&ends.1);
            let header = etherparse::Ipv4HeaderSlice::from_slice(&packet).unwrap().to_header();
            packet[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
        }
        let before = packet.clone();
        let said = |packet: &[u8]| (whole(101, packet).dscp, whole(101, packet).ecn as u8);
        prop_assert_eq!(said(&packet), (tos >> 2, tos & 3));
        set_ecn(&mut packet, 0, Ecn::CongestionExperienced);
        prop_assert_eq!(said(&packet), (tos >> 2, 3));
        set_dscp(&mut packet, 0, dscp);
        prop_assert_eq!(said(&packet), (dscp, 3));
        if !six {
            let header = etherparse::Ipv4HeaderSlice::from_slice(&packet).unwrap();
            prop_assert_eq!(header.to_header().calc_header_checksum(), header.header_checksum());
        }
        let same = |k: usize| before[k] == packet[k] || k == 1 || (if six { k == 0 } else { k == 10 || k == 11 });
        prop_assert!((0..packet.len()).all(same));
        prop_assert!(!six || (before[0] & 0xf0, before[1] & 0xf) == (packet[0] & 0xf0, packet[1] & 0xf));
    }
}
