"""Where traps must be silent: scenarios that are sane, nearly traps, or bundled."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from conftest import Program
from test_traps import CODEL, FASTER, GIGABIT, QUEUE, RED, SACK, SANE, TCP, UDP, changed, sentences

import sluicegate as sg
from sluicegate import traps
from sluicegate.scenario import scenarios


def test_a_sane_scenario_gives_no_warning(sluicegate: Program, tmp_path: Path) -> None:
    assert sentences(SANE, tmp_path) == []
    assert sluicegate("check", "trap.toml").stderr == ""
    assert sluicegate("run", "trap.toml").stderr == ""
    net = sg.dumbbell(rate="20 Mbit/s", delay="10 ms", access_rate="200 Mbit/s", queue=sg.FqCodel())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sg.simulate(net, sg.Tcp(50, "cubic"), duration="2 s")


@pytest.mark.parametrize(
    "replaced",
    [
        {TCP: 'kind = "tcp"\nprofile = "ns2"\ncount = 50'},  # small windows that fill the link together
        {TCP: 'kind = "tcp"\nprofile = "ns2"\nsize = 100'},  # over in slow start
        {TCP: 'kind = "tcp"\nprofile = "ns2"\naccess_rate = "1 Mbit/s"'},  # the window fills the port
        {TCP: UDP.replace('"10 Mbit/s"', '"15 Mbit/s"')},
        {QUEUE: RED + "\ngentle = true", TCP: UDP.replace("10 M", "20 M") + "\ncount = 2"},
        {QUEUE: RED.replace("red", "choke"), TCP: UDP.replace("10 M", "20 M") + "\ncount = 2"},
        {QUEUE: RED, TCP: UDP.replace("10 M", "20 M") + '\ncount = 2\nstop = "1 s"'},
        {QUEUE: CODEL, '"10 ms"': '"60 ms"'},  # a round trip of 120 ms
        {QUEUE: CODEL, '"10 ms"': '"1 ms"'},  # and one of 2 ms
        # CAKE raises its target itself.
        {QUEUE: 'discipline = "cake"\nbandwidth = "950 kbit/s"', '"20 Mbit/s"': '"1 Mbit/s"'},
        {QUEUE: 'discipline = "red"\nmin_th = 5\nmax_th = 15'},  # low, but 50 flows fill the link
        {'delay = "10 ms"': 'delay = "10 ms"\njitter = "8 ms"', TCP: SACK},  # in order
        # Of one flow in 50 hardly two.
        {'delay = "10 ms"': 'delay = "10 ms"\njitter = "8 ms"\nreordering = true', TCP: SACK + "count = 50"},
        {'delay = "10 ms"': 'delay = "10 ms"\njitter = "1700 us"\nreordering = true', TCP: SACK},
        # Linux's hosts have RACK, whether they are asked for, come by default or with the algorithm.
        *(
            {'delay = "10 ms"': 'delay = "10 ms"\njitter = "20 ms"\nreordering = true', TCP: f'kind = "tcp"\n{linux}'}
            for linux in ('profile = "linux"\ncount = 4', "count = 4", 'algorithm = "bbr"\ncount = 4')
        ),
        # A window that allows 16.2 Mbit/s: 94 % of what cells leave, 81 % of the link's rate.
        {'rate = "20 Mbit/s"': 'rate = "20 Mbit/s"\nframing = "atm"', "count = 50": "count = 1\nwindow = 27"},
        # Ten flows need less room than one, a BBR flow alone less than several; fifty live with larger steps; others
        # fill the link.
        {QUEUE: 'discipline = "drop_tail"\nlimit = 528', '"10 ms"': '"20 ms"', "count = 50": "count = 10", **GIGABIT},
        {
            QUEUE: 'discipline = "drop_tail"\nlimit = 167',
            '"10 ms"': '"20 ms"',
            TCP: 'kind = "tcp"\nprofile = "linux"\nalgorithm = "bbr"',
            **FASTER,
        },
        {QUEUE: 'discipline = "sfb"', **FASTER},
        {QUEUE: 'discipline = "blue"', **FASTER},
        {QUEUE: 'discipline = "pi"', **FASTER},
        {QUEUE: 'discipline = "blue"', "count = 50": "count = 1\nsize = 100"},
        # One flow uses 84 % of this link and 93 % of the next under DCN, ten fill it under ARED.
        *(
            {
                QUEUE: 'discipline = "dcn"',
                '"20 Mbit/s"': f'"{rate}"',
                '"200 Mbit/s"': '"10 Gbit/s"',
                '"10 ms"': '"20 ms"',
                TCP: 'kind = "tcp"\nprofile = "linux"',
            }
            for rate in ("100 Mbit/s", "1 Gbit/s")
        ),
        {QUEUE: 'discipline = "ared"', **FASTER, "count = 50": "count = 10"},
        # Where classes share a link nobody knows what each has; a plain step has no CoDel; 3/4 of max_packet is enough.
        {QUEUE: 'discipline = "drr"', TCP: 'kind = "tcp"\n\n[[flows]]\nkind = "tcp"\nclass = 1', **GIGABIT},
        {QUEUE: 'discipline = "l4s_step"\noverload = "overflow"', '"20 Mbit/s"': '"1 Mbit/s"'},
        {QUEUE: 'discipline = "rem"\nmax_packet = "2000 B"'},
        # Bursts that end, or lose less than everything; a change in the run.
        {'delay = "10 ms"': 'delay = "10 ms"\nburst_start = 0.01\nburst_end = 0.5'},
        {'delay = "10 ms"': 'delay = "10 ms"\nloss = 0.02\nburst_start = 0.01\nburst_end = 0\nburst_loss = 0.02'},
        {"[run]": '[[changes]]\ntime = "4999 ms"\nkey = "queue.target"\nvalue = "9 ms"\n\n[run]'},
        # Losses hold these flows, not their windows.
        {'delay = "10 ms"': 'delay = "10 ms"\nloss = 0.02', TCP: 'kind = "tcp"\nprofile = "ns2"\ncount = 1'},
    ],
)
def test_what_hardly_matters_is_not_told(tmp_path: Path, replaced: dict[str, str]) -> None:
    assert sentences(changed(replaced), tmp_path) == []


BUNDLED = {"red1993_fig5": ["queue.max_th = 15"], "red1993_fig11": ["flows.1 "], "dsl": ["queue.target = 5 ms"]}
"""The bundled scenarios that are told of, with reason: Fig. 5 shows what low thresholds cost, node 5 of Fig. 11 has a
small window, and the two directions of a DSL line have one target, where a packet takes 14 ms upstream."""


@pytest.mark.parametrize("name", scenarios())
def test_bundled_scenarios_are_told_of_only_with_reason(name: str) -> None:
    found = traps.of_scenario(sg.check(name))
    begins = BUNDLED.get(name, [])
    assert len(found) == len(begins)
    for sentence, begin in zip(found, begins, strict=True):
        assert sentence.startswith(begin)
