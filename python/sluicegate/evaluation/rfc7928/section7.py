"""RFC 7928, Sec. 7: burst absorption, the four mixes of its figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..._generated import Source
from ...reproduce import Settings
from ..suite import LINK, Number, Scenario
from .traffic import browser, cbr, transfers, video

WEB, CBR = Number("web", "page_mean_s"), Number("CBR", "delay_p99_ns")
VIDEO = Number("video", "loss_ratio")

BUFFERS = (42, 83, 166, 332)
"""Packets: half of the product of rate and round trip, and up to four times."""


def mix(*more: str) -> Callable[[Settings], dict[str, Source]]:
    """Web and a constant bit rate, and what else is named."""
    others: dict[str, Source] = {"web": browser(), "CBR": cbr("1 Mbit/s"), "video": video(), "bulk": transfers()}
    return lambda settings: {name: others[name] for name in ("web", "CBR", *more)}


SCENARIOS = (
    Scenario(
        "bursts-1", "7.2", "Bursts I: web and CBR",
        "A web user who loads page after page over six connections with an initial window of 10, beside a UDP flow of "
        "1 Mbit/s. The bursts of the web's windows meet an empty queue.",
        mix(), (WEB, CBR),
    ),
    Scenario(
        "bursts-2", "7.2", "Bursts II: web, CBR and a bulk transfer",
        "The web user and the UDP flow of case I, and a NewReno transfer without end. The bursts of the web's "
        "windows meet a queue that is never empty.",
        mix("bulk"), (WEB, CBR),
    ),
    Scenario(
        "bursts-3", "7.2", "Bursts III: video, web and CBR",
        "The web user and the UDP flow of case I, and video of 1.2 Mbit/s whose frames come as bursts at 50 Mbit/s. "
        "What is lost of the video is what the discipline does not absorb.",
        mix("video"), (VIDEO, WEB),
    ),
    Scenario(
        "bursts-4", "7.2", "Bursts IV: video, web, CBR and a bulk transfer",
        "The traffic of case III and a NewReno transfer without end. The frames of the video meet a queue that is "
        "never empty.",
        mix("video", "bulk"), (VIDEO, WEB),
    ),
    Scenario(
        "bursts-buffers", "7.1", "Bursts IV with other buffers",
        "The traffic of case IV with buffers of half to four times the product of rate and round trip. A larger "
        "buffer saves more of a burst, but costs delay, unless the discipline keeps the queue short.",
        mix("video", "bulk"), (VIDEO, WEB, CBR),
        points={f"{limit} packets": () for limit in BUFFERS},
        axis="Buffer",
        at={f"{limit} packets": {"queue": replace(LINK, limit=limit)} for limit in BUFFERS},
        drawn=("bulk",),
        drawing="curve",
    ),
)  # fmt: skip
