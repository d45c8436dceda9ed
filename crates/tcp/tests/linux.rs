//! Hosts as Linux has them, over a path that does what the test says. Comparisons with the kernel are in `linux_traces.rs`.

mod path;

use path::{Fate, Fates, Line, Path};
use proptest::prelude::*;
use sluicegate_base::{Span, Time};
use sluicegate_tcp::{Algorithm, Host, ProfileName, TcpParams};

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
    for algorithm in Algorithm::all().filter(|algorithm| algorithm.runs_on(sluicegate_tcp::params::Stack::Linux)) {
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
        let stack = sluicegate_tcp::params::Stack::Linux;
        let all = Algorithm::all().filter(|algorithm| algorithm.runs_on(stack)).collect::<Vec<_>>();
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
