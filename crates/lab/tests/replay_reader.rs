//! Reading captures: every variant of the two formats, damage with its offset, and no panic whatever the bytes are.

use proptest::prelude::*;
use sluicegate_lab::replay::reader::{Capture, Next, Trouble};
use sluicegate_lab::replay::survey;
use sluicegate_lab::replay::writer::Writer;
use std::io::{self, Read};

/// A packet as read: time, link type, original length, data.
type Seen = (Option<u64>, u16, u32, Vec<u8>);

/// Everything that can be read, and what ended it.
fn read(reader: impl Read) -> (Vec<Seen>, Option<Trouble>) {
    let (mut capture, mut seen) = (Capture::new(reader), Vec::new());
    loop {
        match capture.next() {
            Ok(Next::Record(r)) => seen.push((r.time, r.link_type, r.original, r.data.to_vec())),
            Ok(Next::End) => return (seen, None),
            Ok(Next::Interrupted) => {}
            Err(trouble) => return (seen, Some(trouble)),
        }
    }
}

fn damage(trouble: Option<Trouble>) -> (u64, String) {
    match trouble {
        Some(Trouble::Damage(damage)) => (damage.offset, damage.what),
        other => panic!("expected damage, not {other:?}"),
    }
}

/// Bytes in one of the two orders.
#[derive(Clone, Copy)]
struct Order(bool);

impl Order {
    fn u16(self, n: u16) -> Vec<u8> {
        if self.0 { n.to_be_bytes().to_vec() } else { n.to_le_bytes().to_vec() }
    }
    fn u32(self, n: u32) -> Vec<u8> {
        if self.0 { n.to_be_bytes().to_vec() } else { n.to_le_bytes().to_vec() }
    }
    fn i64(self, n: i64) -> Vec<u8> {
        if self.0 { n.to_be_bytes().to_vec() } else { n.to_le_bytes().to_vec() }
    }
    fn words(self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|&word| self.u32(word)).collect()
    }
    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let padding = vec![0; value.len().next_multiple_of(4) - value.len()];
        [self.u16(code), self.u16(value.len() as u16), value.to_vec(), padding].concat()
    }
    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let length = 12 + body.len() as u32;
        [self.u32(kind), self.u32(length), body.to_vec(), self.u32(length)].concat()
    }
    fn section(self) -> Vec<u8> {
        let body =
            [self.u32(0x1a2b_3c4d), self.u16(1), self.u16(0), self.i64(-1), self.option(4, b"test"), self.u32(0)];
        self.block(0x0a0d_0d0a, &body.concat())
    }
    fn interface(self, link_type: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
        self.block(1, &[self.u16(link_type), self.u16(0), self.u32(snaplen), options.to_vec()].concat())
    }
    fn packet(self, interface: u32, units: u64, original: u32, data: &[u8], options: &[u8]) -> Vec<u8> {
        let head = self.words(&[interface, (units >> 32) as u32, units as u32, data.len() as u32, original]);
        let padding = vec![0; data.len().next_multiple_of(4) - data.len()];
        self.block(6, &[head, data.to_vec(), padding, options.to_vec()].concat())
    }
}

fn pcap(order: Order, magic: u32, records: &[(u32, u32, u32, &[u8])]) -> Vec<u8> {
    let mut file = order.u32(magic);
    file.extend([order.u16(2), order.u16(4), order.words(&[0, 0, 262_144, 1])].concat());
    for (seconds, fraction, original, data) in records {
        file.extend(order.words(&[*seconds, *fraction, data.len() as u32, *original]));
        if magic == 0xa1b2_cd34 {
            file.extend([0; 8]); // what the modified format has besides
        }
        file.extend_from_slice(data);
    }
    file
}

#[test]
fn pcap_of_either_order_and_precision() {
    for (big, magic, scale) in [
        (false, 0xa1b2_c3d4, 1000),
        (true, 0xa1b2_c3d4, 1000),
        (false, 0xa1b2_3c4d, 1),
        (true, 0xa1b2_3c4d, 1),
        (false, 0xa1b2_cd34, 1000),
        (true, 0xa1b2_cd34, 1000),
    ] {
        let file = pcap(Order(big), magic, &[(7, 12, 60, b"abc"), (8, 999_999, 2, b"defg")]);
        let (seen, trouble) = read(&file[..]);
        assert_eq!(trouble, None);
        let expected = [
            (Some(7_000_000_000 + 12 * scale), 1, 60, b"abc".to_vec()),
            // Never shorter than what was captured of it.
            (Some(8_000_000_000 + 999_999 * scale), 1, 4, b"defg".to_vec()),
        ];
        assert_eq!(seen, expected, "{big} {magic:x}");
    }
}

#[test]
fn pcapng_with_all_that_it_may_hold() {
    for big in [false, true] {
        let (this, other) = (Order(big), Order(!big));
        let nanoseconds = this.option(9, &[9]);
        let binary = [this.option(2, b"eth0"), this.option(9, &[0x80 | 10]), this.option(14, &this.i64(100))].concat();
        let before = [this.option(9, &[3]), this.option(14, &this.i64(-5))].concat();
        let fine = this.option(9, &[12]);
        let file = [
            this.section(),
            this.interface(1, 0, &[]),
            this.interface(101, 0, &nanoseconds),
            this.block(0x0bad_beef, &[7; 400]),
            this.packet(0, 5_000_001, 9, b"micro", &[]),
            this.interface(113, 0, &binary),
            this.packet(2, 1536, 9, b"half", &this.option(2, &[1, 0, 0, 0])),
            this.packet(1, 5_000_000_007, 9, b"nano", &[]),
            this.block(3, &[this.u32(4), b"simple..".to_vec()].concat()),
            this.block(5, &this.words(&[0, 0, 0])),
            this.block(2, &[this.u16(1), this.u16(0), this.words(&[0, 9, 3, 8]), b"old.".to_vec()].concat()),
            // Another section, in the other order, has interfaces of its own.
            other.section(),
            other.interface(276, 3, &other.option(9, &[6])),
            other.packet(0, 6_000_000, 9, b"second", &[]),
            other.block(3, &[other.u32(90), b"simp".to_vec()].concat()),
            this.section(),
            this.interface(1, 0, &before),
            this.interface(1, 0, &fine),
            this.packet(0, 5_001, 9, b"early", &[]),
            this.packet(1, 1_999, 9, b"pico", &[]),
        ]
        .concat();
        let (seen, trouble) = read(&file[..]);
        assert_eq!(trouble, None);
        let expected: [Seen; 9] = [
            (Some(5_000_001_000), 1, 9, b"micro".to_vec()),
            (Some(101_500_000_000), 113, 9, b"half".to_vec()),
            (Some(5_000_000_007), 101, 9, b"nano".to_vec()),
            (None, 1, 4, b"simp".to_vec()),
            (Some(9), 101, 8, b"old".to_vec()),
            (Some(6_000_000_000), 276, 9, b"second".to_vec()),
            (None, 276, 90, b"sim".to_vec()),
            (Some(1_000_000), 1, 9, b"early".to_vec()),
            (Some(1), 1, 9, b"pico".to_vec()),
        ];
        assert_eq!(seen, expected);
    }
}

#[test]
fn damage_has_its_offset_and_what_came_before_it_is_good() {
    let order = Order(false);
    let start = [order.section(), order.interface(1, 0, &[]), order.packet(0, 1, 4, b"good", &[])].concat();
    let at = start.len() as u64;
    let good = order.packet(0, 2, 4, b"abcd", &[]);
    let mut longer = good.clone();
    longer[20] = 200; // captured more than the block holds
    let mut ends = good.clone();
    *ends.last_mut().unwrap() = 1;
    for (bad, says) in [
        (good[..good.len() - 1].to_vec(), "the file ends after"),
        (good[..5].to_vec(), "the file ends after 5 bytes"),
        (longer, "do not fit"),
        (ends, "ends as one of"),
        (order.packet(7, 2, 4, b"abcd", &[]), "interface 7: the section describes 1"),
        (order.words(&[6, 13, 0, 0]), "13 bytes: no block"),
        (order.words(&[6, 1 << 30, 0, 0]), "more than 1048576"),
        (order.words(&[0x0a0d_0d0a, 28, 1, 0, 0, 0, 28]), "byte order"),
        (order.packet(0, u64::MAX, 4, b"abcd", &[]), "1970 and 2262"),
        (order.packet(0, 1, u32::MAX, b"abcd", &[]), "no link carries"),
        (order.words(&[99, 4000, 0, 0]), "before the end of this block"),
    ] {
        let file = [&start[..], &bad[..]].concat();
        let (seen, trouble) = read(&file[..]);
        let (offset, what) = damage(trouble);
        assert_eq!(seen.len(), 1, "{what}");
        assert!(what.contains(says), "{what:?} should say {says:?}");
        assert_eq!(offset, at, "{what}");
    }
    let file = pcap(order, 0xa1b2_c3d4, &[(1, 0, 4, b"good"), (2, 0, 4, b"gone")]);
    let (offset, what) = damage(read(&file[..file.len() - 2]).1);
    assert_eq!((offset, what.as_str()), (44, "the file ends after 18 bytes of a record of at least 20"));
    let mut huge = file.clone();
    huge[52..56].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(damage(read(&huge[..]).1).1.contains("more than 1048576"));
}

/// Captures joined with `cat`: the header was read as a packet of 2055, or as a block.
#[test]
fn another_capture_behind_the_first_is_told() {
    let data: &[u8] = &[1; 20];
    let all = [false, true].map(Order).map(|order| {
        let magics = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34].map(|magic| pcap(order, magic, &[(7, 8, 20, data)]));
        (magics, [order.section(), order.interface(1, 0, &[]), order.packet(0, 5, 20, data, &[])].concat())
    });
    let files: Vec<&Vec<u8>> = all.iter().flat_map(|(pcaps, ng)| pcaps.iter().chain([ng])).collect();
    for (first, one) in files.iter().enumerate() {
        for (second, other) in files.iter().enumerate() {
            let (seen, trouble) = read(&[&one[..], other].concat()[..]);
            if first % 4 == 3 && second % 4 == 3 {
                assert_eq!((seen.len(), trouble), (2, None), "sections of pcapng may follow each other");
                continue;
            }
            let told = "another capture begins here: join captures with mergecap".to_owned();
            assert_eq!((seen.len(), damage(trouble)), (1, (one.len() as u64, told)), "{first} {second}");
        }
    }
}

#[test]
fn what_is_no_capture_is_said_so() {
    let says = |bytes: &[u8]| match read(bytes) {
        (seen, Some(Trouble::NotACapture(what))) if seen.is_empty() => what,
        other => panic!("{other:?}"),
    };
    assert!(says(b"").contains("empty"));
    assert!(says(b"\x1f\x8b\x08\x00 and so on, long enough").contains("gzip"));
    assert!(says(b"\x28\xb5\x2f\xfd and so on").contains("zstd"));
    assert!(says(b"[network]\nrate = \"1 Mbit/s\"\n").contains("neither pcap nor pcapng"));
    assert!(says(&pcap(Order(false), 0xa1b2_c3d4, &[])[..20]).contains("too short"));
    assert_eq!(read(&pcap(Order(true), 0xa1b2_c3d4, &[])[..]), (vec![], None));
}

/// Gives its bytes in small pieces, interrupted now and then.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        if self.1 % 3 == 0 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let count = into.len().min(self.0.len()).min(1 + self.1 % 7);
        into[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

fn packets() -> impl Strategy<Value = Vec<(u16, u64, u32, Vec<u8>)>> {
    let packet = (
        prop::sample::select(vec![0u16, 1, 101, 113, 276, 147]),
        0..i64::MAX as u64,
        0u32..1 << 20,
        prop::collection::vec(any::<u8>(), 0..200),
    );
    prop::collection::vec(packet, 0..20)
}

fn written(packets: &[(u16, u64, u32, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for (link_type, time, original, data) in packets {
        writer.packet(*link_type, *time, *original, data).unwrap();
    }
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_written_is_read_again(packets in packets()) {
        let file = written(&packets);
        let expected: Vec<Seen> = packets
            .into_iter()
            .map(|(link, time, original, data)| (Some(time), link, original.max(data.len() as u32), data))
            .collect();
        prop_assert_eq!(read(&file[..]), (expected.clone(), None));
        prop_assert_eq!(read(Slow(&file, 0)), (expected, None));
    }

    #[test]
    fn random_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = survey(&bytes[..]);
        for head in [pcap(Order(false), 0xa1b2_3c4d, &[]), [Order(true).section(), Order(true).interface(1, 0, &[])].concat()] {
            let file = [&head[..], &bytes[..]].concat();
            if let Ok((_, _, Some(damage))) = survey(&file[..]) {
                prop_assert!(damage.offset <= file.len() as u64);
            }
        }
    }

    #[test]
    fn a_captures_flipped_bytes_do_not_panic(
        packets in packets(), flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut file = written(&packets);
        for (at, byte) in flips {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(cut.index(file.len()) + 1);
        let (seen, trouble) = read(&file[..]);
        prop_assert_eq!((seen, trouble), read(Slow(&file, 1)));
        let _ = survey(&file[..]);
    }
}
