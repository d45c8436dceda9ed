"""Scenarios learnt from captures of scenarios: what is told is right, and what cannot be told is said."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Program

import sluicegate as sg
from sluicegate.learning import sightings
from sluicegate.learning.discipline import discipline
from sluicegate.learning.learnt import learn
from sluicegate.learning.model import Learnt, Unknown
from sluicegate.learning.parts import busiest
from sluicegate.learning.passage import passage
from sluicegate.learning.rate import rate
from sluicegate.learning.unknown import answers, unknowns
from sluicegate.learning.write import text as text_of
from sluicegate.learning.write import write

INSIDE = "172.16.0.0/12"
WIFI = Path(__file__).parents[1] / "crates/lab/traces/wifi.csv"
OFFICE = """
[[flows]]
kind = "tcp"
count = 4
rtts = ["30 ms", "45 ms"]
[[flows]]
name = "voip"
kind = "udp"
rate = "64 kbit/s"
packet_size = "200 B"
count = 2
"""
FLOWS = f"""{OFFICE}
[[flows]]
name = "backup"
kind = "udp"
rate = "4 Mbit/s"
[run]
duration = "10 s"
"""


def captured(folder: Path, scenario: str, two_way: bool = False) -> list[Path]:
    """Captures of a scenario before and behind its queues, and on the way back."""
    back = ["reverse/arrivals", "reverse"] if two_way else ["bottleneck/back"]
    places = {
        link: folder / f"{link.replace('/', '-')}.pcapng" for link in ("bottleneck/arrivals", "bottleneck", *back)
    }
    sg.simulate(scenario, pcap=places)
    return list(places.values())


def learnt(folder: Path, network: str, queue: str, flows: str = FLOWS, two_way: bool = False) -> Learnt:
    """What is learnt from captures of this; the scenario that is written is valid."""
    text = f"[network]\n{network}\n[queue]\n{queue}\n{flows}"
    done = learn(captured(folder, text, two_way), inside=[INSIDE])
    write(done, folder / "learnt.toml")
    sg.check(folder / "learnt.toml")
    return done


def test_a_link_with_drop_tail_is_learnt_back(tmp_path: Path) -> None:
    network = 'rate = "10 Mbit/s"\ndelay = "10 ms"\nframing = "docsis"'
    done = learnt(tmp_path, network, 'discipline = "drop_tail"\nlimit = 80')
    rate, told = done.forward.rate, done.forward.told
    assert rate is not None
    assert told is not None
    assert rate.bps == pytest.approx(10e6, rel=1e-6)
    assert (rate.framing, rate.trace) == ("docsis", None)
    assert (told.names, told.buffer.packets, told.buffer.full) == (("drop_tail",), 80, "packets")
    # Headers of the opening take their time on links of hosts, ten times as fast.
    assert sorted(done.rtts_ms.values()) == pytest.approx([30, 30, 45, 45], abs=0.1)
    groups = {group.name: group for group in done.groups}
    assert {name: (group.kind, group.count) for name, group in groups.items()} == {
        "downloads": ("tcp", 4), "call": ("udp", 2), "flood": ("udp", 1),
    }  # fmt: skip
    assert groups["call"].keys["packet_size"] == "200 B"
    assert sg.check(tmp_path / "learnt.toml")["network"]["framing"] == "18 B"
    text = (tmp_path / "learnt.toml").read_text()
    assert not re.search(r"10\.0\.0\.|172\.16\.", text)  # addresses have become groups
    assert "172.16.0.1" in text_of(done, "learnt", True)


@pytest.mark.parametrize(
    ("queue", "names"),
    [
        ('discipline = "drop_tail"\nlimit = "60 kB"', ("drop_tail",)),
        ('discipline = "codel"', ("codel",)),
        ('discipline = "fq_codel"', ("fq_codel",)),
        ('discipline = "cake"', ("cake",)),
        ('discipline = "pie"', ()),
        ('discipline = "red"', ()),
        ('discipline = "choke"', ()),
        ('discipline = "blue"', ()),
    ],
)
def test_a_discipline_is_told_by_its_signature_or_not_at_all(
    tmp_path: Path, queue: str, names: tuple[str, ...]
) -> None:
    told = learnt(tmp_path, 'rate = "10 Mbit/s"\ndelay = "10 ms"', queue).forward.told
    assert told is not None
    assert told.names == names
    if "kB" in queue:
        assert (told.buffer.full, told.buffer.bytes) == ("bytes", pytest.approx(60_000, rel=0.03))  # of 1500 bytes each


def test_a_schedule_that_is_not_the_default_is_told_too(tmp_path: Path) -> None:
    queue = 'discipline = "codel"\ntarget = "1.5 ms"\ninterval = "30 ms"'
    told = learnt(tmp_path, 'rate = "20 Mbit/s"\ndelay = "5 ms"', queue).forward.told
    assert told is not None
    assert (told.names, told.schedule_ms) == (("codel",), (1.5, 30))
    assert sg.check(tmp_path / "learnt.toml")["queue"]["interval"] == "30 ms"


def test_one_flow_at_a_time_does_not_tell_queues_from_a_queue(tmp_path: Path) -> None:
    """FQ-CoDel with one flow is CoDel, and CAKE nearly so."""
    flows = '[[flows]]\nkind = "tcp"\n[run]\nduration = "20 s"\n'
    for name in ("codel", "fq_codel", "cake"):
        told = learnt(tmp_path, 'rate = "10 Mbit/s"\ndelay = "10 ms"', f'discipline = "{name}"', flows).forward.told
        assert told is not None
        assert "or flows whose packets hardly ever waited at the same time" in told.evidence[0]
        assert told.names == ("codel", "fq_codel", "cake")


def test_marks_of_codel_are_told_like_its_drops(tmp_path: Path) -> None:
    flows = '[[flows]]\nkind = "tcp"\ncount = 4\necn = true\n[run]\nduration = "10 s"\n'
    done = learnt(tmp_path, 'rate = "10 Mbit/s"\ndelay = "10 ms"', 'discipline = "codel"\necn = true', flows)
    assert done.forward.told is not None
    assert done.forward.told.names == ("codel",)
    assert done.groups[0].keys["ecn"] is True


def test_a_rate_that_varies_is_a_trace(tmp_path: Path) -> None:
    (tmp_path / "steps.csv").write_text("time_s,rate_bps\n0,8000000\n2,2000000\n4,5000000\n")
    trace = tmp_path / "steps.csv"
    done = learnt(tmp_path, f'trace = "{trace}"\ntrace_period = "6 s"\ndelay = "10 ms"', 'discipline = "drop_tail"')
    rate = done.forward.rate
    assert rate is not None
    assert rate.trace is not None
    times, found = rate.trace
    for time, bps in ((1, 8e6), (3, 2e6), (5, 5e6), (7, 8e6)):
        at = int(time / (times[1] - times[0]))
        assert found[at] == pytest.approx(bps, rel=0.01)
    assert (tmp_path / "learnt.rate.csv").read_text().startswith("time_s,rate_bps\n")
    period = re.search(r'trace_period = "(.*) s"', (tmp_path / "learnt.toml").read_text())
    assert period is not None, "runs that are longer go on"
    assert float(period[1]) == pytest.approx(times[-1] + times[1], abs=1e-6)


def test_a_link_that_pauses_is_told_while_nothing_waits_too(tmp_path: Path) -> None:
    """A third of the time the queue is empty: mostly while the link sends, which makes what is seen of it too slow."""
    flows = '[[flows]]\nkind = "tcp"\ncount = 2\nwindow = 40\nrtts = ["40 ms", "60 ms"]\n[run]\nduration = "20 s"\n'
    done = learnt(tmp_path, 'trace = "wifi"\ndelay = "5 ms"', 'discipline = "drop_tail"', flows)
    rate = done.forward.rate
    assert rate is not None
    assert rate.trace is not None
    assert rate.busy < 0.75
    assert rate.bps == pytest.approx(51_662_400, rel=0.02)  # 6 % less with what is seen alone
    assert abs(rate.bps - 51_662_400) < rate.half_width_bps
    times = rate.trace[0]
    assert rate.period is not None
    assert rate.period - times[-1] != pytest.approx(times[-1] - times[-2], abs=1e-6), (
        "the last pause has its own length"
    )
    assert f'trace_period = "{rate.period:.6f} s"' in (tmp_path / "learnt.toml").read_text()
    # The trace is not the link's own, but one like it.
    shares, kinds = [], []
    real = pl.read_csv(WIFI, comment_prefix="#")
    for times, found in (rate.trace, (real["time_s"].to_numpy(), real["rate_bps"].to_numpy())):
        lasts, off = np.diff(times), found[:-1] == 0
        shares.append((lasts * found[:-1]).sum() / lasts.sum())
        kinds.append([*np.quantile(lasts[off], [0.25, 0.5, 0.75, 0.95]), *np.quantile(lasts[~off], [0.25, 0.5, 0.75])])
    assert shares[0] == pytest.approx(shares[1], rel=0.02)
    assert kinds[0] == pytest.approx(kinds[1], rel=0.2)  # of 600 pauses that were seen, in 20 s of a trace of 10 s


def test_jitter_behind_the_queue_is_told_in_each_direction(tmp_path: Path) -> None:
    """Acknowledgements in a row keep their order, so that hardly one comes at once: what is told is up to 10 % less."""
    network = 'rate = "20 Mbit/s"\ndelay = "10 ms"'
    done = learnt(tmp_path, f'{network}\njitter = "4 ms"', 'discipline = "codel"')
    assert done.forward.jitter is not None
    assert (done.forward.jitter.ms, done.back.jitter) == (pytest.approx(4, rel=0.1), None)
    done = learnt(
        tmp_path, f'{network}\nreverse = {{ rate = "5 Mbit/s", jitter = "6 ms" }}', 'discipline = "codel"', two_way=True
    )
    assert done.back.jitter is not None
    assert (done.forward.jitter, done.back.jitter.ms) == (None, pytest.approx(6, rel=0.1))
    assert f'jitter = "{done.back.jitter.ms:g} ms"' in text_of(done, "learnt", False).partition("[network.reverse]")[2]
    done = learnt(tmp_path, network, 'discipline = "codel"')
    assert (done.forward.jitter, done.back.jitter) == (None, None)


def test_round_trips_of_short_connections_hold_no_jitter(tmp_path: Path) -> None:
    """Each answer of a user's short connections comes some milliseconds late; those of transfers tell by how much."""
    network = 'rate = "40 Mbit/s"\ndelay = "10 ms"\njitter = "4 ms"'
    web = '[[flows]]\nkind = "tcp"\ncount = 2\n[[flows]]\nkind = "http"\ncount = 30\n[run]\nduration = "15 s"\n'
    done = learnt(tmp_path, network, 'discipline = "fq_codel"', web)
    short = next(group for group in done.groups if group.name == "web")
    found = [done.rtts_ms[flow] for flow in short.flows if flow in done.rtts_ms]
    assert len(found) > 20
    assert np.median(found) == pytest.approx(20, abs=0.8)  # 23 with what they waited for
    assert min(done.rtts_ms.values()) > 20, "no more is taken off than they waited"


def test_acknowledgements_that_look_alike_are_paired_in_their_order(tmp_path: Path) -> None:
    """Those of an upload repeat themselves in the queue of the downloads: none of them is a drop."""
    network = (
        'rate = "50 Mbit/s"\ndelay = "5 ms"\nframing = "docsis"\nreverse = { rate = "10 Mbit/s", jitter = "6 ms" }'
    )
    flows = (
        '[[flows]]\nkind = "tcp"\ncount = 7\n[[flows]]\nkind = "tcp"\ndirection = "reverse"\n[run]\nduration = "10 s"\n'
    )
    text = f'[network]\n{network}\n[queue]\ndiscipline = "codel"\n{flows}'
    places = {link: tmp_path / f"{at}.pcapng" for at, link in enumerate(("bottleneck/arrivals", "bottleneck"))}
    truth = sg.simulate(text, warmup="0 s", pcap=places)
    found = passage(
        busiest(sightings.Sightings(list(places.values()), [INSIDE], "error")).packets.filter(pl.col("down"))
    )
    assert found is not None
    assert len(found.dropped) == truth.links.filter(pl.col("link") == "bottleneck")["drops_packets"].item()
    assert (np.diff(found.sent) > 0).all()  # there is one queue


def test_acknowledgements_tell_no_rate_of_their_link(tmp_path: Path) -> None:
    """They come at the pace of the data that they answer, half as many of them."""
    flows = (
        '[[flows]]\nkind = "tcp"\ncount = 4\nalgorithm = "reno"\nrtts = ["40 ms", "50 ms", "60 ms", "110 ms"]\n'
        '[run]\nduration = "20 s"\n'
    )
    network = 'rate = "15.5 Mbit/s"\ndelay = "5 ms"\nframing = "ptm"'
    assert learnt(tmp_path, network, 'discipline = "codel"', flows).back.rate is None


def test_a_way_between_the_places_is_taken_off(tmp_path: Path) -> None:
    """As where hosts at both ends capture: behind the queue is 12 ms away."""
    text = f'[network]\nrate = "10 Mbit/s"\ndelay = "10 ms"\n[queue]\ndiscipline = "codel"\n{FLOWS}'
    packets = busiest(sightings.Sightings(captured(tmp_path, text)[:2], [INSIDE], "error")).packets.filter(
        pl.col("down")
    )
    behind = packets["point"].max()
    away = pl.when(pl.col("point") == behind).then(12_000_000).otherwise(0)
    found = [passage(each) for each in (packets, packets.with_columns(pl.col("time_ns") + away))]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].apart_ns == 0
    assert found[1].apart_ns == pytest.approx(12_000_000, abs=50_000)
    rates = [rate(each) for each in found if each is not None]
    assert rates[1].bps == pytest.approx(rates[0].bps, rel=1e-6)
    assert discipline(found[1]).names == ("codel",)


def test_both_directions_are_learnt_where_both_were_captured(tmp_path: Path) -> None:
    network = 'rate = "8 Mbit/s"\ndelay = "10 ms"\nframing = "atm"\nreverse.rate = "1 Mbit/s"'
    up = '[[flows]]\nkind = "tcp"\ndirection = "reverse"\n'
    done = learnt(tmp_path, network, 'discipline = "drop_tail"\nlimit = 50', up + FLOWS, two_way=True)
    assert done.forward.rate is not None
    assert done.back.rate is not None
    assert (done.forward.rate.framing, done.back.rate.framing) == ("atm", "atm")
    assert done.forward.rate.bps == pytest.approx(8e6, rel=1e-4)
    assert done.back.rate.bps == pytest.approx(1e6, rel=1e-4)
    assert [group.name for group in done.groups if not group.down] == ["uploads"]
    assert 'direction = "reverse"' in text_of(done, "learnt", False)


def test_exchanges_become_connection_vectors(tmp_path: Path) -> None:
    (tmp_path / "web.cvec").write_text("".join(
        f"SEQ {at * 400_000} 2 {at} {at}\nr 40000\n> 300\nt 50000\n< 4000\nt 200000\n> 500\nt 20000\n< 20000\n"
        for at in range(1, 11)
    ))  # fmt: skip
    flows = f'[[flows]]\nkind = "connections"\nvectors = "{tmp_path / "web.cvec"}"\n[run]\nduration = "8 s"\n'
    done = learnt(tmp_path, 'rate = "20 Mbit/s"\ndelay = "10 ms"', 'discipline = "drop_tail"', flows)
    found = sg.vectors(tmp_path / "learnt.cvec")
    assert (found.connections, found.exchanges) == (10, 20)
    assert (found.initiator_bytes, found.acceptor_bytes) == (10 * 800, 10 * 24_000)
    waits = [
        int(line.split()[1]) for line in (tmp_path / "learnt.cvec").read_text().splitlines() if line.startswith("t ")
    ]
    # What the servers and users took, within what a packet takes on the links and ticks of the clock.
    assert waits == [pytest.approx(wait, abs=3000) for wait in [50_000, 200_000, 20_000] * 10]
    assert done.forward.rate is not None  # a response's packets follow each other
    assert done.forward.rate.bps == pytest.approx(20e6, rel=1e-6)


def test_what_is_not_known_is_said_and_recommend_tells_whether_it_matters(sluicegate: Program, tmp_path: Path) -> None:
    flows = (
        '[[flows]]\nname = "calls"\nkind = "udp"\nrate = "64 kbit/s"\npacket_size = "200 B"\n[run]\nduration = "10 s"\n'
    )
    text = f'[network]\nrate = "20 Mbit/s"\ndelay = "10 ms"\n{flows}'
    sluicegate("learn", *captured(tmp_path, text)[:2], "--inside", INSIDE, "-o", "calm.toml")  # nothing ever waits
    found = unknowns(str(tmp_path / "calm.toml"))
    assert [each.key for each in found] == ["network.delay", "queue.drop_tail.limit", "network.rate"]
    done = sluicegate("recommend", "calm.toml", "--disciplines", "drop_tail,codel", "--seeds", "2")
    assert "network.rate is not known; with " in done.stdout
    assert "network.delay is not known; with 5 ms and with 100 ms " in done.stdout
    done = sluicegate(
        "recommend", "calm.toml", "--disciplines", "drop_tail,codel", "--seeds", "2", "--set", "network.rate=1 Mbit/s"
    )
    assert "network.rate is not known" not in done.stdout


@pytest.mark.parametrize("framing", ["none", "ethernet", "ptm"])
def test_one_place_behind_the_queue_tells_rate_and_framing(tmp_path: Path, framing: str) -> None:
    keys = "" if framing == "none" else f'\nframing = "{framing}"'
    text = (
        f'[network]\nrate = "10 Mbit/s"\ndelay = "10 ms"{keys}\n[queue]\ndiscipline = "drop_tail"\nlimit = 80\n{FLOWS}'
    )
    _, behind, back = captured(tmp_path, text)
    done = learn([behind, back], inside=[INSIDE])
    write(done, tmp_path / "learnt.toml")
    sg.check(tmp_path / "learnt.toml")
    rate = done.forward.rate
    assert rate is not None
    assert rate.framing == framing
    assert rate.bps == pytest.approx(10e6, rel=0.001)
    assert done.forward.told is None
    assert any("no queue lies between" in remark for remark in done.remarks)
    # The opening met a queue, and so did all that followed: nothing of it is known from here.
    found = sorted(done.rtts_ms.values())
    assert all(30 <= each < 100 for each in found)


def test_an_answer_that_depends_on_what_is_not_known_is_said() -> None:
    class Ranked:
        def __init__(self, best: list[str]) -> None:
            self.best = lambda: best

    found = [Unknown("network.rate", "4 Mbit/s", "1 Mbit/s", "20 Mbit/s", "why")]
    stays = "with 1 Mbit/s and with 20 Mbit/s cake is among the best"
    others = "the answer depends on it: "
    for best, low, high, said in (
        (["cake", "fq_codel"], ["fq_codel", "cake"], ["cake", "fq_codel"], stays),
        (["cake"], ["cake"], ["cake", "pie"], f"{stays} (with 20 Mbit/s cake and pie)"),
        (["cake"], ["cake"], ["codel"], f"{others}with 20 Mbit/s codel"),
        (["cake"], ["cake", "pie"], ["codel"], f"{others}with 1 Mbit/s cake and pie, with 20 Mbit/s codel"),
        (["cake", "pie"], ["pie"], ["cake", "pie"], f"{others}with 1 Mbit/s only pie"),
    ):
        ends = {"1 Mbit/s": low, "20 Mbit/s": high}
        told = answers(found, "cake", best, lambda _, value, ends=ends: Ranked(ends[value]))  # type: ignore[misc]
        assert told == [f"network.rate is not known; {said}"]


def test_one_place_before_the_queue_tells_no_rate(tmp_path: Path) -> None:
    text = f'[network]\nrate = "10 Mbit/s"\ndelay = "10 ms"\n[queue]\ndiscipline = "drop_tail"\nlimit = 80\n{FLOWS}'
    before, _, back = captured(tmp_path, text)
    done = learn([before, back], inside=[INSIDE])
    assert done.forward.rate is None
    [unknown] = done.unknown
    assert unknown.key == "network.rate"


def test_what_is_learnt_recommends_what_the_truth_does(tmp_path: Path) -> None:
    text = f'[network]\nrate = "10 Mbit/s"\ndelay = "10 ms"\n[queue]\ndiscipline = "drop_tail"\nlimit = 200\n{FLOWS}'
    write(learn(captured(tmp_path, text), inside=[INSIDE]), tmp_path / "learnt.toml")
    best = [
        sg.recommend(each, disciplines="drop_tail,codel,fq_codel", seeds=2, progress=False).best()
        for each in (text, tmp_path / "learnt.toml")
    ]
    assert best[0] == best[1] == ["fq_codel"]


def test_the_command_prints_and_writes(sluicegate: Program, tmp_path: Path) -> None:
    text = f'[network]\nrate = "10 Mbit/s"\ndelay = "10 ms"\n[queue]\ndiscipline = "drop_tail"\nlimit = 50\n{FLOWS}'
    files = captured(tmp_path, text)
    done = sluicegate("learn", *files, "--inside", INSIDE, "-o", "learnt.toml", "--keep-addresses")
    assert "discipline: drop_tail" in done.stdout
    assert "was full, its limit is in packets" in done.stdout
    assert "# 10.0.0.1 port 10000 to 172.16.0.1 port 5001, tcp" in (tmp_path / "learnt.toml").read_text()
    sluicegate("check", "learnt.toml")
    done = sluicegate(
        "learn", *files, "--inside", INSIDE, "-o", "again.toml",
        "--check", "--disciplines", "fq_codel,cake:bandwidth=9 Mbit/s", "--report", "page.html",
    )  # fmt: skip
    assert "simulated: throughput" in done.stdout
    [call] = [line.split() for line in done.stdout.splitlines() if line.split()[:3] == ["call", "throughput", "kbit/s"]]
    assert float(call[4]) == pytest.approx(
        float(call[3]), rel=0.05
    )  # simulated as captured: 128 kbit/s less a few drops
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Waiting times" in page
    assert re.search(r"Your line, with cake at 9 Mbit/s: .* call \d+\.\d ms instead of \d+\.\d", page)
    assert "10.0.0.1" not in page
    no = sluicegate("learn", *files, "--inside", INSIDE, "--ping-up", files[0], "-o", "no.toml")
    assert (no.returncode, "--ping-up is only for measurements" in no.stderr) == (2, True)
    # One that is cut gives what comes before, and says so.
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(files[1].read_bytes()[:400_050])
    done = sluicegate("learn", files[0], cut, files[2], "--inside", INSIDE, "-o", "short.toml")
    assert "damaged at byte" in done.stdout


def test_bad_input_is_answered(tmp_path: Path) -> None:
    text = f'[network]\nrate = "10 Mbit/s"\ndelay = "10 ms"\n{FLOWS}'.replace("10 s", "2 s")
    files = captured(tmp_path, text)
    with pytest.raises(sg.ScenarioError, match="give --inside"):
        learn(files)
    with pytest.raises(sg.ScenarioError, match='inside = "home": an address or a prefix'):
        learn(files, inside=["home"])
    with pytest.raises(sg.ScenarioError, match="no capture given"):
        learn([])
    with pytest.raises(FileNotFoundError):
        learn("missing.pcap")


def test_datagrams_are_paired_in_a_buffer_longer_than_65_ms(tmp_path: Path) -> None:
    """One every 1.024 ms: 64 of these are 65.536 ms, so 16 bits of their times in microseconds are alike. They wait
    longer than that, and RED drops any of them."""
    flood = '[[flows]]\nkind = "udp"\nrate = "7.8125 Mbit/s"\npacket_size = "1000 B"\n'
    scenario = (
        '[network]\nrate = "5 Mbit/s"\ndelay = "5 ms"\n[queue]\ndiscipline = "red"\nlimit = 500\n'
        f'[queue.red]\nmin_th = 100\nmax_th = 450\n{flood}[run]\nduration = "10 s"\nwarmup = "0 s"\n'
    )
    places = {link: tmp_path / f"{at}.pcapng" for at, link in enumerate(("bottleneck/arrivals", "bottleneck"))}
    sg.simulate(scenario, pcap=places, progress=False)
    before, behind = (sg.read_capture(path, columns=["time_ns", "ip_id"]).packets for path in places.values())
    assert before["ip_id"].n_unique() == before.height
    left = dict(behind.select("ip_id", "time_ns").iter_rows())
    through = learn(list(places.values()), inside=["172.16.0.0/12"]).forward.passage
    assert through is not None
    assert len(through.dropped) > 1000
    assert through.wait.max() > 300e6
    assert through.departure.tolist() == [left.get(number, -1) for number in before["ip_id"]]
