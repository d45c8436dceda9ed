//! Hosts as Linux has them, over a path that does what the test says. Comparisons with the kernel are in `linux_traces.rs`.

use crate::path::{Event, Fate, Fates, Line, Path};
use proptest::prelude::*;
use sluicegate_base::{Span, Time};
use sluicegate_tcp::segment::Options;
use sluicegate_tcp::{Algorithm, Connection, Flags, Host, ProfileName, Segment, TcpParams};
use std::sync::Arc;

const MSS: u64 = 1448;

fn host(algorithm: Algorithm) -> Host {
    Host::new(&TcpParams { algorithm: Some(algorithm), ..TcpParams::of(ProfileName::Linux) })
}

/// A transfer of so many segments over 10 Mbit/s and 40 ms.
fn transfer(host: &Host, segments: u64, data: Fates, acks: Fates) -> Path {
    let line = |fates| Line::new(10_000_000, Span::from_millis(20), host.header, fates);
    let mut path = Path::new(host, [line(data), line(acks)]);
    path.sender.write(segments * MSS);
    path.sender.close();
    path.run(Time(100_000_000_000));
    assert!(path.sender.closed() && path.receiver.closed(), "{:?}", path.events.last());
    assert_eq!(path.receiver.received(), segments * MSS);
    path
}

fn fates(list: &[(u64, Fate)]) -> Fates {
    let mut fates = Fates::new();
    for &(number, fate) in list {
        fates.entry(number).or_default().push(fate);
    }
    fates
}

/// When segments went out again, and which: milliseconds, number.
fn repeated(path: &Path) -> Vec<(u64, u64)> {
    let mut seen = std::collections::BTreeSet::new();
    let data = path.events.iter().filter(|event| event.sent && event.segment.len > 0);
    data.filter(|event| !seen.insert(event.segment.seq))
        .map(|event| (event.at.0 / 1_000_000, event.segment.seq / MSS))
        .collect()
}

#[test]
fn a_transfer_without_loss_sends_nothing_twice() {
    for algorithm in Algorithm::of(ProfileName::Linux) {
        let path = transfer(&host(algorithm), 300, Fates::new(), Fates::new());
        assert_eq!(repeated(&path), [], "{algorithm:?}");
        assert_eq!(path.sender.counters().timeouts, 0);
    }
}

/// One packet of the second window is lost: RACK sends it again a round trip later, once.
#[test]
fn one_loss_is_repaired_in_a_round_trip() {
    let path = transfer(&host(Algorithm::Reno), 300, fates(&[(20, Fate::Lost)]), Fates::new());
    let again = repeated(&path);
    assert_eq!(again.len(), 1, "{again:?}");
    let counters = path.sender.counters();
    assert_eq!((counters.fast_retransmits, counters.timeouts), (1, 0));
}

/// The last packet is lost: a probe after two round trips, not a timeout.
#[test]
fn a_lost_tail_is_repaired_by_a_probe() {
    // The opening takes two packets.
    let path = transfer(&host(Algorithm::Reno), 20, fates(&[(22, Fate::Lost)]), Fates::new());
    assert_eq!((repeated(&path).len(), path.sender.counters().timeouts), (1, 0));
}

/// tcp_send_loss_probe: a probe takes new data where there is any, one packet of it; the last says PSH as the end of the
/// write, and is a burst of its own.
#[test]
fn a_probe_with_the_last_segment_says_push() {
    let probe = |segments: u64| {
        let mut sender = Connection::established(&Arc::new(host(Algorithm::Reno)), Span::ZERO);
        sender.write(segments * MSS);
        let sent: Vec<Segment> = std::iter::from_fn(|| sender.poll(Time::ZERO)).collect();
        assert_eq!(sent.len(), 10, "the initial window");
        let timer = sender.next_timer().unwrap();
        sender.on_timer(timer);
        let probe = sender.poll(timer).unwrap();
        assert!(sender.poll(timer).is_none());
        (probe.seq / MSS, probe.options.has(Options::PUSH))
    };
    assert_eq!([11, 12].map(probe), [(10, true), (10, false)]);
}

/// tcp_event_data_sent: a reply within the time that an acknowledgement waits lets the next ones wait for a reply, too, until
/// none comes in that time (tcp_delack_timer_handler). `think`: milliseconds before the reply.
#[test]
fn where_replies_carry_acknowledgements_they_wait_for_them() {
    let ms = |ms: u64| Time(ms * 1_000_000);
    let bare = |think: u64| {
        let mut server = Connection::established(&Arc::new(host(Algorithm::Cubic)), Span::ZERO);
        let mut acknowledges = |number: u64, at: Time| {
            let request = Segment { seq: 200 * number, len: 200, flags: Flags::ACK, ..Segment::default() };
            server.on_segment(&request, false, at);
            let bare = server.poll(at).is_some();
            let timer = server.next_timer();
            if number == 0 {
                let reply = Time(at.0 + think * 1_000_000);
                server.write(200);
                assert_eq!(server.poll(reply).map(|segment| (segment.len, segment.ack)), Some((200, 200)));
                assert!(server.poll(reply).is_none());
            } else if let (false, Some(timer)) = (bare, timer) {
                server.on_timer(timer);
                assert_eq!(server.poll(timer).map(|segment| (segment.len, segment.ack)), Some((0, 200 * (number + 1))));
            }
            bare
        };
        [acknowledges(0, ms(100)), acknowledges(1, ms(300)), acknowledges(2, ms(600))]
    };
    assert_eq!(bare(1), [true, false, true]);
    assert_eq!(bare(60), [true, true, true]);
}

/// A packet that comes three packets late is not sent again; one later than a round trip is, and the window comes back.
#[test]
fn reordering_is_told_from_loss_and_a_needless_reduction_is_taken_back() {
    let path = transfer(&host(Algorithm::Reno), 300, fates(&[(30, Fate::Behind(2))]), Fates::new());
    assert_eq!(repeated(&path), []);
    let late = fates(&[(60, Fate::Late(Span::from_millis(100)))]);
    let path = transfer(&host(Algorithm::Reno), 600, late, Fates::new());
    assert_eq!(repeated(&path).len(), 1);
    assert!(path.sender.congestion().ssthresh > 1e6, "{:?}", path.sender.congestion());
}

/// From one packet on everything is late: a timeout, and F-RTO finds that nothing was lost.
#[test]
fn a_spurious_timeout_is_found_out() {
    let late = (40..400).map(|number| (number, Fate::Late(Span::from_millis(600)))).collect::<Vec<_>>();
    let path = transfer(&host(Algorithm::Reno), 300, fates(&late), Fates::new());
    let again = repeated(&path);
    assert!(path.sender.counters().timeouts >= 1 && again.len() <= 3, "{again:?}");
}

/// RFC 8257, Sec. 3.6: DCTCP's SYN and SYN-ACK may be marked, and so may Prague's, with ECT(1); those of others may not
/// (RFC 3168, Sec. 6.1.1).
#[test]
fn only_the_openings_of_dctcp_and_prague_may_be_marked() {
    for algorithm in [Algorithm::Dctcp, Algorithm::Prague, Algorithm::Cubic] {
        let host = Arc::new(Host { ecn: true, ..host(algorithm) });
        let mut ends = [Connection::opener(&host, Span::ZERO), Connection::listener(&host, Span::ZERO)];
        ends[0].write(MSS);
        let syn = ends[0].poll(Time::ZERO).unwrap();
        ends[1].on_segment(&syn, false, Time::ZERO);
        let answer = ends[1].poll(Time::ZERO).unwrap();
        for (segment, flags) in [(syn, Flags::SYN), (answer, Flags::SYN.with(Flags::ACK))] {
            assert!(segment.flags.has(flags));
            assert_eq!(segment.flags.has(Flags::ECT), algorithm != Algorithm::Cubic, "{algorithm:?}");
            assert_eq!(segment.flags.has(Flags::ECT1), algorithm == Algorithm::Prague, "{algorithm:?}");
        }
    }
}

/// RFC 3168, Sec. 6.1.2: data may be marked, what brings none may not. DCTCP and Prague mark all but acknowledgements.
#[test]
fn a_bare_fin_may_not_be_marked() {
    for algorithm in [Algorithm::Cubic, Algorithm::Dctcp, Algorithm::Prague] {
        let host = Arc::new(Host { ecn: true, ..host(algorithm) });
        let mut sender = Connection::established(&host, Span::ZERO);
        sender.write(host.mss.into());
        assert!(sender.poll(Time::ZERO).unwrap().flags.has(Flags::ECT));
        sender.close();
        let fin = sender.poll(Time::ZERO).unwrap();
        assert!(fin.flags.has(Flags::FIN) && fin.len == 0);
        assert_eq!(fin.flags.has(Flags::ECT), algorithm != Algorithm::Cubic, "{algorithm:?}");
    }
}

/// Data by hand, with its timestamp.
fn data(segments: std::ops::Range<u64>, stamp: u32) -> Segment {
    let (seq, len) = (segments.start * MSS, (segments.end - segments.start) * MSS);
    let mut segment = Segment { seq, len: len as u32, flags: Flags::ACK, ..Segment::default() };
    segment.options.kinds = Options::STAMPED;
    (segment.options.stamp, segment.options.window) = (stamp, 65_535);
    segment
}

/// RFC 7323, Sec. 4.3, rule 2, and Sec. 5.3, rule R1: an old copy does not set the timestamp back, and what is older than
/// the timestamp to echo is dropped and answered, even where it would fill a hole. Linux lets 1 ms pass.
#[test]
fn an_old_timestamp_is_never_echoed_and_its_segment_dropped() {
    let mut receiver = Connection::established(&Arc::new(host(Algorithm::Reno)), Span::ZERO);
    let mut hear = |segment, ms: u64| {
        receiver.on_segment(&segment, false, Time(ms * 1_000_000));
        let answer = receiver.poll(Time(ms * 1_000_000)).expect("the first are acknowledged at once");
        (answer.ack / MSS, answer.options.echo, answer.duplicate())
    };
    assert_eq!(hear(data(0..1, 501), 500), (1, 501, None));
    assert_eq!(hear(data(0..1, 41), 510), (1, 501, Some((0, MSS))), "an old copy");
    assert_eq!(hear(data(1..2, 41), 520), (1, 501, None), "old, but not known: dropped");
    assert_eq!(hear(data(1..2, 500), 530), (2, 501, None), "1 ms older: taken, and not echoed");
    assert_eq!(hear(data(2..3, 531), 540), (3, 531, None));
}

/// The same for acknowledgements: what an old one reports is not heard (Linux, `tcp_disordered_ack`: but one that repeats the last
/// is).
#[test]
fn an_old_acknowledgement_reports_nothing() {
    let losses_seen = |ack: u64, stamp: u32| {
        let mut sender = Connection::established(&Arc::new(host(Algorithm::Reno)), Span::ZERO);
        sender.write(10 * MSS);
        assert_eq!(std::iter::from_fn(|| sender.poll(Time::ZERO)).count(), 10);
        let answer = |ack: u64, stamp| Segment { len: 0, seq: 0, ack: ack * MSS, ..data(0..0, stamp) };
        sender.on_segment(&answer(5, 101), false, Time(100_000_000));
        let mut old = answer(ack, stamp);
        old.report((6 * MSS, 10 * MSS));
        sender.on_segment(&old, false, Time(101_000_000));
        sender.counters().fast_retransmits
    };
    for (ack, stamp, expected) in [(4, 101, 1), (4, 100, 1), (4, 50, 0), (5, 50, 1)] {
        assert_eq!(losses_seen(ack, stamp), expected, "{ack} of {stamp}");
    }
}

/// RFC 6817, Sec. 2.4.2: a loss halves LEDBAT's window and costs one repetition; recovery by SACK waits for no timer. One packet
/// of 500 is lost at random.
#[test]
fn ledbat_repairs_losses_without_timeouts() {
    let mut draw = sluicegate_base::Stream::new(1, "loss");
    let lost = (1..=50_000).filter(|_| draw.uniform() < 0.002).map(|number| (number, Fate::Lost)).collect::<Vec<_>>();
    let host = host(Algorithm::Ledbat);
    let path = transfer(&host, 45_000, fates(&lost), Fates::new());
    let (counters, losses) =
        (path.sender.counters(), lost.iter().filter(|(number, _)| *number <= 45_000).count() as u64);
    assert!(counters.fast_retransmits > losses / 2 && counters.timeouts <= 1, "{losses}: {counters:?}");
    assert!(counters.retransmissions.abs_diff(losses) <= losses / 20, "{losses}: {counters:?}");
}

/// Sec. 1.3: LEDBAT reacts to a mark as to a loss: here a window of 44 falls to 22.
#[test]
fn ledbat_reacts_to_a_mark_as_to_a_loss() {
    let reaction = |fate| {
        let host = Host { ecn: true, ..host(Algorithm::Ledbat) };
        let path = transfer(&host, 1500, fates(&[(1000, fate)]), Fates::new());
        let counters = path.sender.counters();
        (path.sender.congestion().ssthresh, counters.mark_responses, counters.fast_retransmits, counters.timeouts)
    };
    assert_eq!(reaction(Fate::Lost), (22.0, 0, 1, 0));
    assert_eq!(reaction(Fate::Marked), (22.0, 1, 0, 0));
}

/// Sec. 2.5: INIT_CWND is 2 and not the host's 10, unless it is given.
#[test]
fn ledbat_begins_with_two_packets() {
    for (initial_window, expected) in [(None, 2.0), (Some(3.0), 3.0)] {
        let params = TcpParams { algorithm: Some(Algorithm::Ledbat), ..TcpParams::of(ProfileName::Linux) };
        assert_eq!(Host::new(&TcpParams { initial_window, ..params }).initial_window, expected);
    }
}

/// A delayed acknowledgement goes with a tick of its host's clock, 40 to 44 ms after the packet, and each host's clock has a
/// phase of its own: 1 ms ahead, the tick comes 1 ms earlier.
#[test]
fn a_delayed_acknowledgement_waits_for_a_tick_of_its_own_host() {
    let host = host(Algorithm::Reno);
    let last = |phase| {
        let line = |fates| Line::new(10_000_000, Span::from_millis(20), host.header, fates);
        // The 28th segment, which says PSH, is lost: the 27th, after the quick acknowledgements, waits.
        let lost = fates(&[(30, Fate::Lost)]);
        let mut path = Path::in_phase(&host, Span::from_millis(phase), [line(lost), line(Fates::new())]);
        path.sender.write(28 * MSS);
        path.run(Time(2_000_000_000));
        let waited = |event: &&Event| !event.sent && event.segment.ack == 27 * MSS;
        path.events.iter().find(waited).unwrap().at
    };
    let in_phase = last(0);
    assert_eq!([1, 2].map(|phase| in_phase.since(last(phase))), [1, 2].map(Span::from_millis));
}

/// tcp_event_data_recv: after a pause that is longer than the retransmission timeout acknowledgements are quick. Where the
/// opening took 150 ms, that is 150 + 2 · 150 ms (RFC 6298, Sec. 2.2), by the receiver, which has measured no more.
#[test]
fn acknowledgements_are_quick_after_a_pause_beyond_the_timeout() {
    // A window that grows makes them quick, too.
    let host = Host { window: 28 * MSS, ..host(Algorithm::Reno) };
    let waits = |pause| {
        let line = |fates| Line::new(10_000_000, Span::from_millis(75), host.header, fates);
        // The 102nd segment, which says PSH, is lost: the 101st is alone.
        let mut path = Path::new(&host, [line(fates(&[(104, Fate::Lost)])), line(Fates::new())]);
        path.sender.write(100 * MSS);
        path.run(Time(2_000_000_000));
        let last = path.events.iter().rfind(|event| event.sent && event.segment.len > 0).unwrap().at;
        path.now = last + Span::from_millis(pause);
        path.sender.write(2 * MSS);
        path.run(path.now + Span::from_millis(240));
        let answer = path.events.iter().find(|event| !event.sent && event.segment.ack == 101 * MSS).unwrap();
        answer.at.since(last + Span::from_millis(pause)) > Span::from_millis(180)
    };
    assert_eq!([300, 440, 460, 600].map(waits), [true, true, false, false]);
}

/// Without segmentation in the device each segment is a buffer of its own: one in 23 says PSH, that is half of the window of
/// 65,160 bytes, and none waits for an acknowledgement that would make a burst of it longer.
#[test]
fn without_segmentation_segments_go_one_by_one() {
    let host = |gso| {
        let params = TcpParams { algorithm: Some(Algorithm::Reno), gso, ..TcpParams::of(ProfileName::Linux) };
        Host::new(&params)
    };
    let sent = |path: &Path| path.events.iter().filter(|event| event.sent && event.segment.len > 0).copied().collect();
    let pushed = |gso| {
        let events: Vec<Event> = sent(&transfer(&host(gso), 200, Fates::new(), Fates::new()));
        let push = events.iter().filter(|event| event.segment.options.has(Options::PUSH));
        push.map(|event| event.segment.seq / MSS + 1).collect::<Vec<_>>()
    };
    assert_eq!(pushed(false), [23, 46, 69, 92, 115, 138, 161, 184, 200]);
    assert!(pushed(true).len() > 50, "{:?}", pushed(true));
    // At 200 Mbit/s a burst holds some 20 segments.
    let bursts = |gso| {
        let host = Host { initial_ssthresh: 100.0, ..host(gso) };
        let line = || Line::new(200_000_000, Span::from_millis(5), host.header, Fates::new());
        let mut path = Path::new(&host, [line(), line()]);
        path.sender.write(4000 * MSS);
        path.run(Time(10_000_000_000));
        let events: Vec<Event> = sent(&path);
        events.chunk_by(|a, b| a.at == b.at).count()
    };
    assert!(bursts(false) > 2 * bursts(true), "{} and {}", bursts(false), bursts(true));
}

/// tcp_bound_to_half_wnd, forced_push: what a flow without end writes as its buffers drain is cut by half of the greatest window
/// by then, not by half of the SYN's.
#[test]
fn pushes_of_a_long_flow_follow_the_window() {
    let params = TcpParams { algorithm: Some(Algorithm::Reno), gso: false, ..TcpParams::of(ProfileName::Linux) };
    let host = Host::new(&params);
    let line = || Line::new(200_000_000, Span::from_millis(20), host.header, Fates::new());
    let mut path = Path::new(&host, [line(), line()]);
    path.sender.write(6000 * MSS);
    path.run(Time(10_000_000_000));
    let mut pushed = path.events.iter().filter(|event| event.sent && event.segment.options.has(Options::PUSH));
    let ends = std::iter::from_fn(|| pushed.next().map(|event| event.segment.end() / MSS)).collect::<Vec<_>>();
    let gaps = ends.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
    let most = path.events.iter().filter(|event| !event.sent).map(|event| event.segment.options.window).max().unwrap();
    assert_eq!(gaps[..100], [23; 100], "written at once");
    let last = gaps[gaps.len() - 2];
    assert!(last > 200 && last <= u64::from(most) / 2 / MSS + 1, "{most}: {gaps:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..Default::default() })]
    /// Whatever happens to packets, all data comes, in order and whole, and a second run is the same.
    #[test]
    fn everything_arrives_whatever_happens(
        which in 0usize..16,
        lost in proptest::collection::vec(1u64..400, 0..60),
        lost_acks in proptest::collection::vec(1u64..200, 0..40),
        marked in proptest::collection::vec(1u64..400, 0..40),
        late in proptest::collection::vec((1u64..400, 1u64..400), 0..20),
        behind in proptest::collection::vec((1u64..300, 1u32..30), 0..10),
        ecn in any::<bool>(),
        segments in 1u64..300,
    ) {
        let all = Algorithm::of(ProfileName::Linux).collect::<Vec<_>>();
        let host = Host { ecn, ..host(all[which % all.len()]) };
        let mut data = Fates::new();
        lost.iter().for_each(|&number| data.entry(number).or_default().push(Fate::Lost));
        marked.iter().for_each(|&number| data.entry(number).or_default().push(Fate::Marked));
        late.iter().for_each(|&(n, ms)| data.entry(n).or_default().push(Fate::Late(Span::from_millis(ms))));
        behind.iter().for_each(|&(n, packets)| {
            let fates = data.entry(n).or_default();
            if fates.iter().all(|fate| !matches!(fate, Fate::Late(_))) {
                fates.retain(|fate| !matches!(fate, Fate::Behind(_)));
                fates.push(Fate::Behind(packets));
            }
        });
        let acks = lost_acks.iter().map(|&number| (number, vec![Fate::Lost])).collect::<Fates>();
        let line = |fates| Line::new(10_000_000, Span::from_millis(20), host.header, fates);
        let run = || {
            let mut path = Path::new(&host, [line(data.clone()), line(acks.clone())]);
            path.sender.write(segments * MSS);
            path.sender.close();
            path.run(Time(2_000_000_000_000));
            path
        };
        let path = run();
        prop_assert!(path.receiver.received() == segments * MSS, "{:?} of {segments}: {:?}",
            path.receiver.received() / MSS, path.events.last());
        prop_assert_eq!(path.events.len(), run().events.len());
    }
}
