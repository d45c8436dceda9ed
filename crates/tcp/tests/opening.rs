//! What both ends learn while a connection opens: a round trip, or that a packet was lost.

use sluicegate_base::{Span, Time};
use sluicegate_tcp::{Connection, Flags, Host, ProfileName, Segment, TcpParams};
use std::sync::Arc;

const DATA: u64 = 10_000;
const ROUND_TRIP: Span = Span::from_millis(100);

fn ends(params: &TcpParams) -> (Connection, Connection) {
    let host = Arc::new(Host::new(params));
    (Connection::opener(&host, Span::ZERO), Connection::listener(&host, Span::ZERO))
}

/// FreeBSD's with the window and the timeouts of RFC 6928 and RFC 6298.
fn of_rfcs() -> TcpParams {
    TcpParams {
        initial_window: Some(10.0),
        initial_rto: Some(Span::from_secs(1)),
        min_rto: Some(Span::from_millis(200)),
        ..TcpParams::of(ProfileName::FreeBsd45)
    }
}

/// The SYN of an opener that has data to send.
fn syn(opener: &mut Connection) -> Segment {
    opener.write(DATA);
    opener.poll(Time::ZERO).unwrap()
}

/// The passive end answers `request` with data of its own: how many segments go out at once, and how long the timer then runs.
fn response(server: &mut Connection, request: &Segment, now: Time) -> (usize, Span) {
    server.on_segment(request, false, now);
    server.write(100_000);
    let sent = std::iter::from_fn(|| server.poll(now)).filter(|segment| segment.len > 0).count();
    (sent, server.next_timer().unwrap().since(now))
}

#[test]
fn after_a_lost_syn_the_first_data_waits_three_seconds() {
    let mut ends = ends(&of_rfcs());
    ends.0.write(10_000);
    let _lost = ends.0.poll(Time::ZERO).unwrap();
    let again = ends.0.next_timer().unwrap();
    assert_eq!(again, Time(1_000_000_000), "RFC 6298: 1 s at first");
    ends.0.on_timer(again);
    let now = again + Span::from_millis(100);
    ends.1.on_segment(&ends.0.poll(again).unwrap(), false, now);
    ends.0.on_segment(&ends.1.poll(now).unwrap(), false, now);
    assert!(ends.0.poll(now).is_some());
    assert_eq!(ends.0.next_timer(), Some(now + Span::from_secs(3)), "RFC 6298, rule 5.7");
}

/// RFC 6298, Sec. 2.2: the acknowledgement of the SYN-ACK is the passive end's first measurement. R = 100 ms is one tick of
/// 4.3BSD, and 10 of FreeBSD, whose timeout is 1 s at the least: R + 4 R/2.
#[test]
fn the_passive_end_takes_a_round_trip_from_its_syn_ack() {
    let profile = TcpParams::of;
    for (params, initial, after) in [
        (of_rfcs(), 1000, 300),
        (profile(ProfileName::FreeBsd45), 3000, 1000),
        (profile(ProfileName::Dcn2004), 3000, 1000),
        (profile(ProfileName::Bsd43Tahoe), 6000, 1500),
    ] {
        let (mut client, mut server) = ends(&params);
        server.on_segment(&syn(&mut client), false, Time::ZERO);
        let answer = server.poll(Time::ZERO).unwrap();
        assert_eq!(server.congestion().srtt, Span::ZERO, "{params:?}: {initial} ms so far");
        let now = Time::ZERO + ROUND_TRIP;
        client.on_segment(&answer, false, now);
        let request = client.poll(now).unwrap();
        let window = server.cwnd() as usize;
        assert_eq!(response(&mut server, &request, now), (window, Span::from_millis(after)), "{params:?}");
    }
}

/// RFC 5681, Sec. 3.1, RFC 6298, Sec. 3 and rule 5.7: an answer sent twice times nothing, and what follows it is careful.
#[test]
fn after_a_repeated_syn_ack_the_passive_end_begins_with_one_segment_and_three_seconds() {
    let (mut client, mut server) = ends(&of_rfcs());
    server.on_segment(&syn(&mut client), false, Time::ZERO);
    assert!(server.poll(Time::ZERO).unwrap().flags.has(Flags::SYN), "it is lost");
    let again = client.next_timer().unwrap();
    client.on_timer(again);
    server.on_segment(&client.poll(again).unwrap(), false, again);
    let answer = server.poll(again).unwrap();
    let now = again + ROUND_TRIP;
    client.on_segment(&answer, false, now);
    let request = client.poll(now).unwrap();
    assert_eq!(response(&mut server, &request, now), (1, Span::from_secs(3)));
    assert_eq!(server.congestion().srtt, Span::ZERO);
}

/// A second answer that is due and not sent yet is none: the first still times the opening, and the window stays.
#[test]
fn an_answer_that_was_not_sent_again_is_no_repetition() {
    let (mut client, mut server) = ends(&of_rfcs());
    let syn = syn(&mut client);
    server.on_segment(&syn, false, Time::ZERO);
    let answer = server.poll(Time::ZERO).unwrap();
    let now = Time::ZERO + ROUND_TRIP;
    client.on_segment(&answer, false, now);
    server.on_segment(&syn, false, now);
    let request = client.poll(now).unwrap();
    assert_eq!(response(&mut server, &request, now), (10, Span::from_millis(300)));
}

/// A copy of the SYN that comes after the opening is old: it is not answered, and changes neither window nor timer.
#[test]
fn an_old_syn_leaves_an_established_end_alone() {
    let (mut client, mut server) = ends(&of_rfcs());
    let syn = syn(&mut client);
    server.on_segment(&syn, false, Time::ZERO);
    let answer = server.poll(Time::ZERO).unwrap();
    let now = Time::ZERO + ROUND_TRIP;
    client.on_segment(&answer, false, now);
    server.on_segment(&client.poll(now).unwrap(), false, now);
    server.on_segment(&syn, false, now);
    assert!(server.poll(now).is_none_or(|segment| !segment.flags.has(Flags::SYN)));
    let request = client.poll(now).unwrap();
    assert_eq!(response(&mut server, &request, now), (10, Span::from_millis(300)));
}
