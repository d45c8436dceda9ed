use super::*;
use proptest::prelude::*;
use sluicegate_base::Ecn;

fn segment(seq: u64, ack: u64, len: u32, flags: u8, blocks: &[(u64, u64)]) -> Segment {
    let all = [Flags::SYN, Flags::FIN, Flags::ECE, Flags::CWR, Flags::ACK];
    let chosen = all.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1);
    let flags = chosen.fold(Flags::default(), |sum, (_, flag)| sum.with(*flag));
    let mut segment = Segment { seq, ack, len, flags, ..Segment::default() };
    blocks.iter().for_each(|&(start, length)| segment.report((ack + start, ack + start + length)));
    segment
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
    /// An independent reader finds what was put in, and the checksums hold.
    #[test]
    fn headers_are_read_as_they_were_meant(
        (seq, ack, len) in (0u64..1 << 40, 0u64..1 << 40, 0u32..2000),
        (header, window, flags, ecn) in (40u32..=120, 1u32..1 << 29, 0u8..32, 0u8..4),
        blocks in proptest::collection::vec((1u64..100_000, 1u64..9000), 0..=3),
        (flow, forward, udp) in (0u32..1_000_000, any::<bool>(), any::<bool>()),
    ) {
        let header = header.next_multiple_of(4) as u16;
        let scale = (0..14).find(|scale| window >> scale <= 65_535).unwrap_or(14);
        let (linux, accurate) = (false, false);
        let tcp = Shape::Tcp { header, window, scale, mss: 960, sack: true, linux, accurate };
        let shape = if udp { Shape::Udp } else { tcp };
        let ecn = [Ecn::NotCapable, Ecn::Capable1, Ecn::Capable0, Ecn::CongestionExperienced][usize::from(ecn)];
        let segment = segment(seq, ack, len, flags, if flags & 1 == 1 || header > 92 { &[] } else { &blocks });
        let mut packet = SimPacket::default();
        (packet.header.flow, packet.bytes, packet.header.ecn) = (flow, 28 + len, ecn);
        packet.header.connection = flow;
        packet.header.to = if forward { End::Receiver } else { End::Sender };
        let (bytes, length, original) = headers((shape, false), &packet, &segment);
        let ip = etherparse::Ipv4HeaderSlice::from_slice(&bytes[..length]).unwrap();
        prop_assert_eq!(ip.to_header().calc_header_checksum(), ip.header_checksum());
        prop_assert_eq!((u32::from(ip.total_len()), ip.ecn().value()), (original, ecn as u8));
        let host = if forward { ip.source() } else { ip.destination() };
        prop_assert_eq!(u32::from_be_bytes(host), 0x0a00_0001 + flow);
        let rest = &bytes[ip.slice().len()..length];
        if udp {
            let udp = etherparse::UdpHeaderSlice::from_slice(rest).unwrap().to_header();
            prop_assert_eq!((udp.length, original), (8 + len as u16, 28 + len));
            let zeros = vec![0; len as usize];
            prop_assert_eq!(udp.calc_checksum_ipv4(&ip.to_header(), &zeros).unwrap(), udp.checksum);
            return Ok(());
        }
        let tcp = etherparse::TcpHeaderSlice::from_slice(rest).unwrap();
        prop_assert_eq!(tcp.slice().len(), rest.len());
        let zeros = vec![0; len as usize];
        prop_assert_eq!(tcp.calc_checksum_ipv4(&ip, &zeros).unwrap(), tcp.checksum());
        prop_assert_eq!(original as usize, length + len as usize);
        let syn = segment.flags.has(Flags::SYN);
        prop_assert_eq!(tcp.sequence_number(), if syn { 0 } else { (seq + 1) as u32 });
        if segment.flags.has(Flags::ACK) {
            prop_assert_eq!(tcp.acknowledgment_number(), if syn { 1 } else { (ack + 1) as u32 });
        }
        prop_assert_eq!(
            [tcp.syn(), tcp.fin(), tcp.ece(), tcp.cwr(), tcp.ack(), tcp.psh()],
            [syn, segment.flags.has(Flags::FIN), segment.flags.has(Flags::ECE), segment.flags.has(Flags::CWR),
             segment.flags.has(Flags::ACK), false]
        );
        let (mut found, mut scaled) = (Vec::new(), 0);
        for option in tcp.options_iterator() {
            match option.unwrap() {
                etherparse::TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                    found.push(first);
                    found.extend(more.into_iter().flatten());
                }
                etherparse::TcpOptionElement::WindowScale(by) => scaled = by,
                _ => {}
            }
        }
        let meant: Vec<(u32, u32)> =
            segment.ranges().map(|(start, end)| (start as u32 + 1, end as u32 + 1)).collect();
        prop_assert_eq!(found, meant);
        if syn {
            prop_assert_eq!(scaled, scale);
        } else {
            let shown = u32::from(tcp.window_size()) << scale;
            prop_assert!(shown <= window && window - shown < 1 << scale);
            prop_assert_eq!(original, u32::from(header) + segment.option_bytes() + len);
        }
    }

    /// What Linux's hosts say is in the capture, in as many bytes as the packet of the simulator has.
    #[test]
    fn segments_of_linux_are_written_as_they_are(
        (seq, ack, len) in (1u64..1 << 40, 1u64..1 << 40, 0u32..1448),
        (stamp, echo, announced, ace, ce_bytes) in
            (any::<u32>(), any::<u32>(), 0u32..6_291_456, 0u8..8, 0u32..1 << 24),
        (flags, push, accurate, stamped) in (0u8..32, any::<bool>(), any::<bool>(), any::<bool>()),
        (back, repeated) in (-3000i32..3000, 0u32..3000),
        blocks in proptest::collection::vec((1u64..100_000, 1u64..9000), 0..=2),
    ) {
        let (header, window, scale) = (if stamped { 52 } else { 40 }, 6_291_456, 7);
        let syn = flags & 1 == 1;
        let len = if syn { 0 } else { len };
        let shape = Shape::Tcp { header, window, scale, mss: 1448, sack: true, linux: true, accurate };
        let mut segment = segment(seq, ack, len, flags | 16, if syn { &[] } else { &blocks });
        let options = &mut segment.options;
        (options.stamp, options.echo) = (stamp, echo);
        (options.window, options.ace, options.ce_bytes) = (announced, ace, ce_bytes);
        options.kinds |= Options::STAMPED | if push { Options::PUSH } else { 0 };
        if !syn && repeated > 0 {
            let start = ack.saturating_add_signed(back.into());
            segment.report_duplicate((start, start + u64::from(repeated)));
        }
        if accurate && !syn {
            segment.options.kinds |= Options::ACE | if blocks.is_empty() { Options::CE_BYTES } else { 0 };
        }
        let duplicate = segment.duplicate();
        let mut packet = SimPacket::default();
        packet.bytes = u32::from(header) + segment.option_bytes() + len;
        let (bytes, length, original) = headers((shape, false), &packet, &segment);
        // Without timestamps Linux's three options of a SYN take 12 bytes, of which the simulator counts 8.
        prop_assert_eq!(original, packet.bytes + if syn && !stamped { 4 } else { 0 });
        let ip = etherparse::Ipv4HeaderSlice::from_slice(&bytes[..length]).unwrap();
        let tcp = etherparse::TcpHeaderSlice::from_slice(&bytes[ip.slice().len()..length]).unwrap();
        let zeros = vec![0; len as usize];
        prop_assert_eq!(tcp.calc_checksum_ipv4(&ip, &zeros).unwrap(), tcp.checksum());
        prop_assert_eq!(tcp.psh(), push);
        prop_assert_eq!(tcp.window_size(), (announced >> if syn { 0 } else { 7 }).min(65_535) as u16);
        let said = u8::from(tcp.ns()) << 2 | u8::from(tcp.cwr()) << 1 | u8::from(tcp.ece());
        let old = u8::from(segment.flags.has(Flags::CWR)) << 1 | u8::from(segment.flags.has(Flags::ECE));
        prop_assert_eq!(said, match (accurate, syn) {
            (false, _) => old,
            (true, true) => 3,
            (true, false) => (ace + 5) % 8,
        });
        let (mut found, mut stamps, mut of_syn, mut counted) = (Vec::new(), None, (None, None, false), None);
        let mut iterator = tcp.options_iterator();
        loop {
            let rest = iterator.rest();
            let Some(option) = iterator.next() else { break };
            use etherparse::{TcpOptionElement::*, TcpOptionReadError};
            match option {
                Ok(SelectiveAcknowledgement(first, more)) => {
                    found.push(first);
                    found.extend(more.into_iter().flatten());
                }
                Ok(Timestamp(value, echo)) => stamps = Some((value, echo)),
                Ok(WindowScale(by)) => of_syn.0 = Some(by),
                Ok(MaximumSegmentSize(mss)) => of_syn.1 = Some(mss),
                Ok(SelectiveAcknowledgementPermitted) => of_syn.2 = true,
                Ok(Noop) => {}
                // The library does not know accurate ECN, and gives up there.
                Err(TcpOptionReadError::UnknownId(174)) => {
                    prop_assert_eq!((rest[1], &rest[2..5]), (8, &[0, 0, 1][..]));
                    counted = Some(u32::from_be_bytes([0, rest[5], rest[6], rest[7]]));
                    iterator = etherparse::TcpOptionsIterator::from_slice(&rest[8..]);
                }
                Err(error) => panic!("{error}"),
            }
        }
        let edge = |at: u64| (at + 1) as u32;
        let meant = duplicate.into_iter().chain(segment.ranges());
        let meant: Vec<(u32, u32)> = meant.map(|(start, end)| (edge(start), edge(end))).collect();
        prop_assert_eq!(found, meant);
        prop_assert_eq!(stamps, stamped.then_some((stamp, echo)));
        let mss = if stamped { 1460 } else { 1448 };
        prop_assert_eq!(of_syn, if syn { (Some(7), Some(mss), true) } else { (None, None, false) });
        prop_assert_eq!(counted, (accurate && !syn && blocks.is_empty()).then_some(ce_bytes));
    }
}
