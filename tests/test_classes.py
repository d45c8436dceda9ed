"""Queues with classes, described in Python and compared."""

from pathlib import Path

import pytest

import sluicegate as sg
from sluicegate import scenario as api

FLOWS = [sg.Udp(rate="600 kbit/s"), sg.Udp(rate="600 kbit/s", class_=1), sg.Udp(rate="600 kbit/s", class_=2)]


def shares(queue: object) -> list[float]:
    """What part of the link each of three flows of 600 kbit/s gets."""
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms", queue=queue)  # type: ignore[arg-type]
    run = sg.simulate(net, FLOWS, duration="20 s", warmup="5 s")
    return [rate / 1e6 for rate in run.flows["throughput_bps"]]


def test_classes_go_in_the_order_of_their_list() -> None:
    queue = sg.Priority([sg.Class(sg.Red(min_th=3, max_th=9), class_=2), sg.DropTail(limit=7), sg.Choke()])
    assert shares(queue) == pytest.approx([0, 0.4, 0.6], abs=0.01)
    quantum = sg.Drr(
        [sg.Class(sg.DropTail(), quantum="3 kB"), sg.Drr([sg.Class(sg.RandomDrop(), class_=1), sg.DropTail()])]
    )
    assert shares(quantum) == pytest.approx([0.6, 0.2, 0.2], abs=0.01)
    assert shares(sg.Priority()) == pytest.approx([0.6, 0.4, 0], abs=0.01)


def test_a_class_holds_a_discipline_and_nothing_else() -> None:
    class Mine(sg.Aqm):
        def enqueue(self, packet: sg.Packet, ctx: sg.Ctx) -> None: ...

        def dequeue(self, ctx: sg.Ctx) -> None: ...

    made = (lambda: sg.Priority([Mine]), lambda: sg.Priority([3]), lambda: sg.Class(Mine))  # type: ignore[list-item, arg-type]
    for wrong in made:
        with pytest.raises(TypeError, match="classes: expected a discipline such as sluicegate"):
            wrong()


def test_a_mistake_in_a_class_names_it() -> None:
    with pytest.raises(sg.ScenarioError, match=r"^Red: min_th = 90 packets: breaks the rule"):
        shares(sg.Priority([sg.DropTail(), sg.Red(min_th=90)]))


def test_queues_with_classes_can_be_compared() -> None:
    drr = sg.Drr([sg.Red(), sg.Class(sg.Red(), quantum="2 kB"), sg.DropTail()])
    net = sg.dumbbell(rate="1 Mbit/s", delay="1 ms")
    done = sg.compare(net, FLOWS, disciplines=["drop_tail", drr], seeds=2, duration="6 s", warmup="1 s", jobs=1)
    queue = done.summary["disciplines"][1]["queue"]
    assert [each["discipline"] for each in queue["classes"]] == ["red", "red", "drop_tail"]
    assert (queue["classes"][1]["quantum"], queue["discipline"]) == ("2000 B", "drr")


def test_a_class_written_in_python_runs_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "class Fifo:\n"
        "    def __init__(self):\n        self.queue = []\n"
        "    def enqueue(self, packet, ctx):\n        self.queue.append(packet)\n"
        "    def dequeue(self, ctx):\n        return self.queue.pop(0) if self.queue else None\n"
    )
    text = api.scenario(sg.dumbbell(rate="1 Mbit/s", delay="1 ms"), FLOWS[:2], duration="5 s", warmup="1 s")
    classes = '\n[queue]\ndiscipline = "priority"\n[[queue.classes]]\ndiscipline = "own.py:Fifo"\n[[queue.classes]]\n'
    file = tmp_path / "classes.toml"
    file.write_text(text + classes)
    assert [rate / 1e6 for rate in sg.run(file).flows["throughput_bps"]] == pytest.approx([0.6, 0.4], abs=0.02)
