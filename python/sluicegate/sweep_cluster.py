"""A Dask cluster as an executor of runs, from its scheduler's address.

Dask does again what was under way on a worker that is lost. The package `distributed` is only needed here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from . import _core, own, sweep_work
from .runner import Flag
from .sweep_store import Kept

if TYPE_CHECKING:
    from distributed import Client

WAIT_S = 10
"""How long a scheduler may take to answer."""

CLOSE_S = 0.5
"""How long taking leave of it may take when the work has been interrupted."""


class ClusterError(Exception):
    """A cluster could not go on; the message is for the user."""


@contextmanager
def executor(address: str) -> Iterator[Executor]:
    """Lend an executor of the cluster whose scheduler listens at `address`, such as "tcp://10.0.0.1:8786".

    Raises `ScenarioError` for what is no address, when nobody answers, and where `distributed` is missing.
    """
    if not re.fullmatch(r"(?:[a-z]+://)?(?:[^\s:/]+|\[[0-9a-fA-F:]+\]):\d+", address):
        raise _core.ScenarioError(f"cluster: {address}: must be a scheduler's address, such as tcp://10.0.0.1:8786")
    try:
        from distributed import Client
    except ImportError as error:
        raise _core.ScenarioError(
            f"cluster: {address}: needs Dask ({error}): pip install 'sluicegate[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=WAIT_S, set_as_default=False, name="sluicegate")
    except (OSError, ValueError) as error:
        why = f"no scheduler answers there: {error}" if isinstance(error, OSError) else str(error)
        raise _core.ScenarioError(f"cluster: {address}: {why}") from None
    log = logging.getLogger("distributed.client")
    level = log.level
    log.setLevel(logging.CRITICAL)  # what it has to say comes as an exception too
    try:
        yield Runs(client)
    except BaseException:
        with suppress(TimeoutError):  # the scheduler forgets a client that is gone
            client.close(timeout=CLOSE_S)
        raise
    else:
        client.close()
    finally:
        log.setLevel(level)


class Runs(Executor):
    """Submits calls to a cluster. Unlike `Client.get_executor`, it does not tell the scheduler, call by call, what
    nobody waits for any more: closing the client does that for all."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have `call` done by a worker; it is done again when that worker is lost."""
        ours: Future[Any] = Future()
        theirs = self.client.submit(call, *args, **kwargs, key=f"run-{uuid4().hex}")
        theirs.add_done_callback(partial(_hand_over, ours))
        return ours


def _said(error: BaseException) -> str:
    """What ended a run on a cluster, in one line."""
    text = " ".join(str(error).split()) or "the scheduler is gone, or has given up the run"
    return f"the cluster: {type(error).__name__}: {text}"


class Released:
    """A flag on a worker: set once nobody waits for the task that asks."""

    def __init__(self) -> None:
        from distributed import get_worker

        self._worker = get_worker()
        self._key = self._worker.get_current_task()

    def set(self) -> None:
        """Only the scheduler does that."""
        raise NotImplementedError

    def is_set(self) -> bool:
        task = self._worker.state.tasks.get(self._key)
        return task is None or task.state == "cancelled"


def work(job: sweep_work.Job, _cancel: Flag | None = None) -> Kept:
    """One run on a worker: see `sweep_work.work`. It ends soon after the program that asked for it."""
    return sweep_work.work(job, Released())


def _hand_over(ours: Future[Any], theirs: Any) -> None:
    """The cluster's future has ended: so has ours."""
    if not ours.set_running_or_notify_cancel():
        return
    try:
        result = theirs.result()
    except BaseException as error:
        its_own = isinstance(error, _core.ScenarioError) or own.traceback_of(error) is not None
        ours.set_exception(error if its_own else ClusterError(_said(error)))
    else:
        ours.set_result(result)
