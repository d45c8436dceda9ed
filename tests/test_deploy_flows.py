"""`sluicegate tc`: disciplines with one queue, or with one for each flow, and cake, which is its own shaper."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from deploying import Request, base, discipline, of, permitted, sent, untold, us
from tc import in_a_namespace

import sluicegate as sg
from sluicegate.deploy.linux_queues import pi2_control
from sluicegate.deploy.target import Values

VARIATIONS = {
    "drop_tail": ["", "limit = 7"],
    "sfb": [
        "",
        "limit = 300\nbin_size = 9\nbin_max = 12\nincrement = 0.01\ndecrement = 0.002\n"
        'rehash = "90 s"\nwarmup = "1500 ms"\npenalty_rate = 5\npenalty_burst = 7',
    ],
    "sfq": [
        "",
        'limit = 500\nflows = 64\ndepth = 20\ndivisor = 256\nquantum = "3000 B"\nperturb = "7 s"\nheaddrop = true',
    ],
    "codel": ["", 'limit = 77\ntarget = "700 us"\ninterval = "31 ms"\necn = true\nce_threshold = "1500 us"'],
    "fq_codel": [
        "",
        'limit = 500\nflows = 64\ntarget = "7 ms"\ninterval = "90 ms"\nquantum = "300 B"\necn = false\n'
        'drop_batch = 5\nce_threshold = "1 ms"\nce_threshold_ect = "l4s_ect"',
        'limit = "300 kB"',
        "limit = 100000",
    ],
    "pie": [
        "",
        'limit = 99\ntarget = "20 ms"\nt_update = "30 ms"\nalpha = 0.25\nbeta = 2\naction = "mark"\nmode = "byte"',
    ],
    "fq_pie": [
        "",
        'limit = 99\nflows = 8\ntarget = "20 ms"\nt_update = "30 ms"\nalpha = 0.5\nbeta = 1.5\naction = "mark"\n'
        'mode = "byte"\nquantum = "600 B"\nmark_th = 0.2',
    ],
    "fq_linux": [
        "",
        'limit = 900\nflow_limit = 20\nquantum = "2000 B"\ninitial_quantum = "9000 B"\nmaxrate = "800 kbit/s"\n'
        'refill_delay = "15 ms"\nlow_rate_threshold = "64 kbit/s"\nce_threshold = "2 ms"',
    ],
}


def fifo(queue: dict[str, Any], request: Request) -> None:
    assert request.kind == "pfifo"
    assert struct.unpack("=I", request.data) == (queue["limit"],)


def test_a_limit_in_bytes_is_bfifo(tmp_path: Path) -> None:
    _, done = of(tmp_path, "drop_tail", 'limit = "64 kB"')
    request = discipline(done)
    assert (request.kind, struct.unpack("=I", request.data)) == ("bfifo", (64_000,))


def sfb(queue: dict[str, Any], request: Request) -> None:
    assert request.kind == "sfb"
    rehash, db, most, size, up, down, limit, rate, burst = struct.unpack("=9I", request.options[1])
    assert (rehash * 10**6, db * 10**6) == (base(queue["rehash"]), base(queue["warmup"]))
    assert (most, size, limit) == (queue["bin_max"], queue["bin_size"], queue["limit"])
    assert (up, down) == (round(queue["increment"] * 65535), round(queue["decrement"] * 65535))
    assert (rate, burst) == (queue["penalty_rate"], queue["penalty_burst"])


def sfq(queue: dict[str, Any], request: Request) -> None:
    assert request.kind == "sfq"
    quantum, perturb, limit, divisor, flows, depth, headdrop = struct.unpack_from("=7I", request.data)
    assert (quantum, perturb * 10**9) == (base(queue["quantum"]), base(queue["perturb"]))
    assert (limit, divisor, flows, depth) == tuple(queue[key] for key in ("limit", "divisor", "flows", "depth"))
    assert bool(headdrop) == queue["headdrop"]


def codel(queue: dict[str, Any], request: Request) -> None:
    assert request.kind == "codel"
    assert request.number(2) == queue["limit"]
    codel_times(queue, request, 5)


def codel_times(queue: dict[str, Any], request: Request, ce_threshold: int) -> None:
    assert (request.number(1), request.number(3)) == (us(queue["target"]), us(queue["interval"]))
    assert bool(request.number(4)) == queue["ecn"]
    assert (ce_threshold in request.options) == ("ce_threshold" in queue)
    if "ce_threshold" in queue:
        assert request.number(ce_threshold) == us(queue["ce_threshold"])


def fq_codel(queue: dict[str, Any], request: Request) -> None:
    assert request.kind == "fq_codel"
    codel_times(queue, request, 7)
    assert (request.number(5), request.number(8)) == (queue["flows"], queue["drop_batch"])
    assert request.number(6) == base(queue["quantum"])
    if isinstance(queue["limit"], str):
        assert request.number(9) == base(queue["limit"])
    else:
        assert request.number(2) == queue["limit"]
        assert request.number(9) >= max(32 << 20, queue["limit"] * 2304)
    selects = queue["ce_threshold_ect"] == "l4s_ect"
    assert [request.options.get(key) for key in (10, 11)] == ([b"\1", b"\3"] if selects else [None, None])


def pie(queue: dict[str, Any], request: Request) -> None:
    assert request.kind == "pie"
    assert (request.number(1), request.number(3)) == (us(queue["target"]), us(queue["t_update"]))
    assert request.number(2) == queue["limit"]
    assert (request.number(4) / 16, request.number(5) / 16) == (queue["alpha"], queue["beta"])
    assert (request.number(6), request.number(7)) == (queue["action"] == "mark", queue["mode"] == "byte")
    assert 8 not in request.options


def fq_pie(queue: dict[str, Any], request: Request) -> None:
    assert request.kind == "fq_pie"
    assert (request.number(1), request.number(2)) == (queue["limit"], queue["flows"])
    assert (request.number(3), request.number(4)) == (us(queue["target"]), us(queue["t_update"]))
    assert (request.number(5) / 16, request.number(6) / 16) == (queue["alpha"], queue["beta"])
    assert request.number(7) == base(queue["quantum"])
    assert request.number(9) / 100 == queue["mark_th"]
    assert (request.number(10), request.number(11)) == (queue["action"] == "mark", queue["mode"] == "byte")


def fq(queue: dict[str, Any], request: Request) -> None:
    assert request.kind == "fq"
    assert (request.number(1), request.number(2)) == (queue["limit"], queue["flow_limit"])
    assert (request.number(3), request.number(4)) == (base(queue["quantum"]), base(queue["initial_quantum"]))
    assert request.number(9) == us(queue["refill_delay"])
    assert 8 * request.number(11) == base(queue["low_rate_threshold"])
    assert (7 in request.options, 12 in request.options) == ("maxrate" in queue, "ce_threshold" in queue)
    if "maxrate" in queue:
        assert 8 * request.number(7) == base(queue["maxrate"])
        assert request.number(12) == us(queue["ce_threshold"])


MEANING: dict[str, Callable[[dict[str, Any], Request], None]] = {
    "drop_tail": fifo,
    "sfb": sfb,
    "sfq": sfq,
    "codel": codel,
    "fq_codel": fq_codel,
    "pie": pie,
    "fq_pie": fq_pie,
    "fq_linux": fq,
}


CASES = [(name, at) for name, variations in VARIATIONS.items() for at in range(len(variations))]


@pytest.mark.parametrize(("name", "at"), CASES)
def test_tc_is_told_what_the_scenario_says(tmp_path: Path, name: str, at: int) -> None:
    queue, done = of(tmp_path, name, VARIATIONS[name][at])
    MEANING[name](queue, discipline(done))


def test_variations_leave_no_value_as_it_was(tmp_path: Path) -> None:
    """Weights have a test of their own."""
    assert untold(tmp_path, VARIATIONS) == {"fq_linux.weight_0", "fq_linux.weight_1", "fq_linux.weight_2"}


def test_delay_by_length_asks_for_the_rate_estimator(tmp_path: Path) -> None:
    _, done = of(tmp_path, "pie", 'delay = "length"')
    assert discipline(done).number(8) == 1
    assert any(said.startswith("delay = length") for said in done.remarks)


def test_weights_of_fq_are_said_where_they_are_not_the_kernels(tmp_path: Path) -> None:
    """The tc of most systems does not know the word."""
    plain, weighted = of(tmp_path, "fq_linux")[1], of(tmp_path, "fq_linux", "weight_1 = 99999")[1]
    assert " weights " not in plain.lines[2]
    assert weighted.lines[2].endswith(" weights 589824 99999 65536")
    assert "weights needs Linux 6.7 and iproute2 6.7" in weighted.remarks


# --- cake, which is its own shaper ---------------------------------------------------------------

DIFFSERV = ["diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"]
FLOWMODE = ["flowblind", "srchost", "dsthost", "hosts", "flows", "dual_srchost", "dual_dsthost", "triple_isolate"]
CAKES = {
    "plain": ("", "", 12_000_000, 0),
    "framing": ("", 'framing = "38 B"', 12_000_000, 38),
    "its own rate": ('bandwidth = "9 Mbit/s"\noverhead = 22\natm = "ptm"\nmpu = 64', 'framing = "38 B"', 9_000_000, 22),
    "too fast": ('bandwidth = "90 Mbit/s"\ndiffserv = "precedence"', "", 12_000_000, 0),
    "atm": ('overhead = -4\natm = "atm"\nrtt = "30 ms"\nmemlimit = "500 kB"', 'framing = "38 B"', 12_000_000, -4),
    "words": ('diffserv = "diffserv8"\nflowmode = "dual_srchost"\nack_filter = "aggressive"', "", 12_000_000, 0),
    "more words": ('diffserv = "besteffort"\nflowmode = "flowblind"\nwash = true\ningress = true', "", 12_000_000, 0),
    "others": ('diffserv = "diffserv4"\nflowmode = "hosts"\nack_filter = "enabled"\nrtt = "10 us"', "", 12_000_000, 0),
}


@pytest.mark.parametrize("case", CAKES)
def test_cake_shapes_and_says_all_of_its_values(tmp_path: Path, case: str) -> None:
    more, network, rate, overhead = CAKES[case]
    queue, done = of(tmp_path, "cake", more, network)
    [line] = done.lines
    request = sent(line)
    assert (request.kind, request.parent) == ("cake", 0xFFFFFFFF)
    assert 8 * request.number(2) == rate
    assert DIFFSERV[int.from_bytes(request.options.get(3, b"\0"), "little")] == queue["diffserv"]
    assert ["noatm", "atm", "ptm"][request.number(4)] == queue["atm"]
    assert FLOWMODE[request.number(5)] == queue["flowmode"]
    assert struct.unpack("=i", request.options[6]) == (overhead,)
    assert request.number(7) == us(queue["rtt"])
    assert request.number(8) == max(us(queue["rtt"]) // 20, 1)
    assert (10 in request.options) == ("memlimit" in queue)
    if "memlimit" in queue:
        assert request.number(10) == base(queue["memlimit"])
    assert (request.number(11), request.number(17)) == (0, 1)
    assert (bool(request.number(13)), bool(request.number(15))) == (queue["wash"], queue["ingress"])
    assert int.from_bytes(request.options.get(14, b"\0"), "little") == queue["mpu"]
    assert ["disabled", "enabled", "aggressive"][request.number(16)] == queue["ack_filter"]


def test_what_cake_does_otherwise_is_a_remark(tmp_path: Path) -> None:
    def said(more: str, network: str = "") -> str:
        return " ".join(of(tmp_path, "cake", more, network)[1].remarks)

    assert "bandwidth is the rate of the link, 12 Mbit/s" in said("")
    assert "overhead 38 is the framing" in said("", 'framing = "38 B"')
    assert "bandwidth = 90 Mbit/s becomes 12 Mbit/s" in said('bandwidth = "90 Mbit/s"')
    assert "target = 9 ms: tc sets 5000 us" in said('target = "9 ms"')
    assert "target" not in said('target = "5 ms"')
    assert "limit = 70 is not deployed" in said("limit = 70")
    assert "the framing of 38 B of the link is not deployed" in said("overhead = 22", 'framing = "38 B"')


OF_THE_LINK = {
    "ethernet": ("noatm", 38, 84),
    "pppoe": ("noatm", 46, 84),
    "docsis": ("noatm", 18, 64),
    "ptm": ("ptm", 30, 0),
    "atm": ("atm", 40, 0),
}


@pytest.mark.parametrize("name", OF_THE_LINK)
@pytest.mark.parametrize("more", ["", 'bandwidth = "90 Mbit/s"'])
def test_cake_counts_the_framing_of_the_link_where_it_has_none(tmp_path: Path, name: str, more: str) -> None:
    _, done = of(tmp_path, "cake", more, f'framing = "{name}"')
    request = sent(done.lines[0])
    cells, overhead, mpu = OF_THE_LINK[name]
    assert ["noatm", "atm", "ptm"][request.number(4)] == cells
    assert struct.unpack("=i", request.options[6]) == (overhead,)
    assert int.from_bytes(request.options.get(14, b"\0"), "little") == mpu
    assert any(f"overhead {overhead}" in said and "is the framing of the link" in said for said in done.remarks)
    assert not any("not deployed: overhead" in said for said in done.remarks)


@pytest.mark.parametrize("own", ["mpu = 64", 'atm = "ptm"', "overhead = 4"])
def test_a_framing_of_cake_s_own_stays(tmp_path: Path, own: str) -> None:
    queue, done = of(tmp_path, "cake", own, 'framing = "atm"')
    request = sent(done.lines[0])
    assert ["noatm", "atm", "ptm"][request.number(4)] == queue["atm"]
    assert struct.unpack("=i", request.options[6]) == (queue["overhead"],)
    assert int.from_bytes(request.options.get(14, b"\0"), "little") == queue["mpu"]
    assert any(
        said.startswith("the framing of 40 B, in ATM cells of the link is not deployed") for said in done.remarks
    )


# --- dualpi2 -------------------------------------------------------------------------------------

DUALPI2 = {
    "plain": (
        "",
        "limit 10000 target 15ms tupdate 15ms alpha 0.1484375 beta 3 step_thresh 800us min_qlen_step 1 "
        "coupling_factor 2 classic_protection 10% drop_on_overload drop_dequeue l4s_ect",
    ),
    "all else": (
        'law = "linux"\nlimit = 99\ntarget = "20 ms"\ntupdate = "16 ms"\nalpha = 0.25\nbeta = 12.5\nmin_qlen_step = 0\n'
        "step_thresh_packets = 5\ncoupling_factor = 3\nclassic_protection = 7\n"
        'overload = "overflow"\ndrop_at = "enqueue"\nect = "any_ect"',
        "limit 99 target 20ms tupdate 16ms alpha 0.25 beta 12.5 step_thresh 5packets min_qlen_step 0 coupling_factor 3 "
        "classic_protection 7% overflow drop_enqueue any_ect",
    ),
    "derived": (  # point 6: RFC 9332, App. A.1, Fig. 2
        'target = "5 ms"\nrtt_max = "50 ms"',
        "limit 10000 target 5ms tupdate 5ms alpha 0.19921875 beta 6 step_thresh 800us min_qlen_step 1 "
        "coupling_factor 2 classic_protection 10% drop_on_overload drop_dequeue l4s_ect",
    ),
    "bytes": (
        'limit = "300 kB"\nstep_thresh = "0 s"\ncoupling_factor = 1.7',
        "limit 10000 memlimit 300000 target 15ms tupdate 15ms alpha 0.1484375 beta 3 step_thresh 1us min_qlen_step 1 "
        "coupling_factor 2 classic_protection 10% drop_on_overload drop_dequeue l4s_ect",
    ),
}


@pytest.mark.parametrize("case", DUALPI2)
def test_the_line_of_dualpi2(tmp_path: Path, case: str) -> None:
    more, words = DUALPI2[case]
    _, done = of(tmp_path, "dualpi2", more)
    assert done.lines[2] == f"tc qdisc add dev lo parent 1:1 handle 10: dualpi2 {words} split_gso"


CONTROLS: list[dict[str, Any]] = [
    {}, {"target": "5 ms"}, {"target": "40 ms"}, {"rtt_max": "33 ms"}, {"rtt_max": "7 ms"},
    {"target": "1 us", "rtt_max": "1 s"}, {"tupdate": "3 ms"}, {"beta": 2.0},
]  # fmt: skip


@pytest.mark.parametrize("values", CONTROLS)
def test_lines_derive_the_control_of_dualpi2_as_the_core_does(values: dict[str, Any]) -> None:
    """A run with what is not given is the run with what the line says."""

    def run(**of: Any) -> sg.Run:
        net = sg.dumbbell(rate="10 Mbit/s", delay="5 ms", access_rate="100 Mbit/s", queue=sg.DualPi2(**of))
        return sg.simulate(net, sg.Tcp(20, "reno"), duration="3 s")

    derived = run(**values)
    control = pi2_control(Values(derived.summary["scenario"]["queue"]))
    said = values | {key: control[key] for key in ("tupdate", "alpha", "beta")}
    assert derived.state.equals(run(**said).state)
    assert not derived.state.equals(run(**said | {"alpha": 1.01 * said["alpha"]}).state)
    assert not derived.state.equals(run(**said | {"beta": 1.01 * said["beta"]}).state)


@pytest.mark.parametrize("case", DUALPI2)
def test_tc_takes_the_line_of_dualpi2(tmp_path: Path, case: str) -> None:
    queue, done = of(tmp_path, "dualpi2", DUALPI2[case][0])
    if why := permitted():
        pytest.skip(why)
    if "Unknown qdisc" in in_a_namespace("tc qdisc add dev lo root dualpi2 help").stderr:
        pytest.skip("this tc does not know dualpi2")
    request = discipline(done)
    assert request.kind == "dualpi2"
    said = dict(pairwise(DUALPI2[case][1].split()))
    assert request.number(3) == us(queue["target"])
    assert request.number(4) == us(said["tupdate"].replace("ms", " ms"))
    assert [request.number(at) / 256 for at in (5, 6)] == [float(said["alpha"]), float(said["beta"])]


# --- remarks -------------------------------------------------------------------------------------

ROUNDINGS = {
    "time": ("codel", 'target = "5001500 ns"', "target = 5001500 ns becomes 5002 us", {1: 5002}),
    "short time": ("codel", 'target = "3 ns"', "target = 3 ns becomes 1 us", {1: 1}),
    "bytes to packets": ("codel", 'limit = "100 kB"', "limit = 100000 B becomes 80 packets of 1250 bytes", {2: 80}),
    "gain": ("pie", "alpha = 0.1", "alpha = 0.1 becomes 2/16 = 0.125", {4: 2}),
    "least gain": ("pie", "beta = 0", "beta = 0 becomes 1/16", {5: 1}),
    "percent": ("fq_pie", "mark_th = 0.125", "mark_th = 0.125 becomes 12 %", {9: 12}),
    "quantum": ("fq_codel", 'quantum = "100 B"', "quantum = 100 B becomes 256 bytes", {6: 256}),
}


@pytest.mark.parametrize("case", ROUNDINGS)
def test_what_is_rounded_is_a_remark(tmp_path: Path, case: str) -> None:
    name, more, remark, values = ROUNDINGS[case]
    _, done = of(tmp_path, name, more)
    assert any(said.startswith(remark) for said in done.remarks), done.remarks
    assert not any(said.startswith(remark) for said in of(tmp_path, name)[1].remarks)
    request = discipline(done)
    assert {key: request.number(key) for key in values} == values


def test_sfq_and_sfb_say_what_they_round(tmp_path: Path) -> None:
    _, done = of(tmp_path, "sfq", 'limit = 1\ndepth = 200\ndivisor = 700\nperturb = "1400 ms"')
    request = discipline(done)
    assert struct.unpack_from("=6I", request.data)[1:] == (1, 2, 512, 128, 127)
    for said in (
        "limit = 1 becomes 2",
        "depth = 200 becomes 127",
        "divisor = 700 becomes 512",
        "perturb = 1400 ms becomes 1 s",
    ):
        assert any(remark.startswith(said) for remark in done.remarks)
    _, done = of(tmp_path, "sfb", 'rehash = "1500 us"\nlevels = 2\nbins = 23\ntokens = "bucket"\naction = "drop"')
    assert struct.unpack_from("=I", discipline(done).options[1]) == (2,)
    for said in ("rehash = 1500 us becomes 2 ms", "levels = 2, bins = 23", "tokens = bucket", "Linux always marks"):
        assert any(remark.startswith(said) for remark in done.remarks)


UNSAID = {
    "pie": ("max_burst = '10 ms'\nderandomise = false", ["max_burst = 10 ms", "derandomise = false"]),
    "priority": ("limit = 70\nbands = 2", ["limit = 70 for all classes together is not deployed"]),
    "drop_tail": ("", ["segmentation offload", "htb is the link of 12 Mbit/s"]),
}


@pytest.mark.parametrize("name", UNSAID)
def test_what_tc_cannot_say_is_a_remark(tmp_path: Path, name: str) -> None:
    more, beginnings = UNSAID[name]
    remarks = of(tmp_path, name, more)[1].remarks
    for beginning in beginnings:
        assert any(said.startswith(beginning) for said in remarks), (beginning, remarks)


def test_what_linux_does_as_the_scenario_is_no_remark(tmp_path: Path) -> None:
    linuxes = {
        "pie": 'law = "linux"\nlong_delay = "250 ms"',
        "codel": 'law = "linux"',
        "red": 'law = "figure17"\narithmetic = "shifts"',
        "sfb": "",
    }
    unwanted = ("long_delay", 'law = "', "1/sqrt", "signals follow", "the average is computed", "tokens", "levels")
    for name, more in linuxes.items():
        for said in of(tmp_path, name, more)[1].remarks:
            assert not any(part in said for part in unwanted), said
