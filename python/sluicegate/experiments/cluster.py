"""A Dask cluster as an executor of runs, from its scheduler's address.

If a worker is lost, Dask repeats the runs that were in progress on it. The package `distributed` is only needed here.
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

from .. import _core
from ..custom import aqm as custom_aqm

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
    """Provide an executor of the cluster whose scheduler listens at `address`, such as "tcp://10.0.0.1:8786".

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
    logs = [logging.getLogger(name) for name in ("distributed.client", "distributed.batched")]
    levels = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)  # what they have to say comes as an exception too
    try:
        yield Runs(client)
    except BaseException:
        with suppress(TimeoutError):  # the scheduler forgets a client that is gone
            client.close(timeout=CLOSE_S)
        raise
    else:
        client.close()
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


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


class Runs(Executor):
    """Submits calls to a cluster. Unlike `Client.get_executor`, it does not tell the scheduler, call by call, what
    nobody waits for any more: closing the client does that for all."""

    flag = Released
    """What ends a run on a worker soon after the program that asked for it."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have `call` done by a worker; it is done again when that worker is lost."""
        future: Future[Any] = Future()
        remote = self.client.submit(call, *args, **kwargs, key=f"run-{uuid4().hex}")
        remote.add_done_callback(partial(_hand_over, future))
        return future


def _said(error: BaseException) -> str:
    """What ended a run on a cluster, in one line."""
    text = " ".join(str(error).split()) or "the scheduler is gone, or has given up the run"
    return f"the cluster: {type(error).__name__}: {text}"


def _hand_over(future: Future[Any], remote: Any) -> None:
    """The cluster's future has ended: so does this one."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = remote.result()
    except BaseException as error:
        its_own = isinstance(error, _core.ScenarioError) or custom_aqm.traceback_of(error) is not None
        future.set_exception(error if its_own else ClusterError(_said(error)))
    else:
        future.set_result(result)
