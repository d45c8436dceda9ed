"""A Dask cluster as an executor of runs, from its scheduler's address.

Dask does again what was under way on a worker that is lost. The package `distributed` is only needed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from . import _core

WAIT_S = 10
"""How long a scheduler may take to answer."""


class ClusterError(Exception):
    """A cluster could not go on; the message is for the user."""


@contextmanager
def executor(address: str) -> Iterator[Executor]:
    """Lend an executor of the cluster whose scheduler listens at `address`, such as "tcp://10.0.0.1:8786".

    Raises `ScenarioError` for what is no address and where `distributed` is missing, and `ClusterError` when nobody
    answers.
    """
    if not re.fullmatch(r"(?:[a-z]+://)?(?:[^\s:/]+|\[[0-9a-fA-F:]+\]):\d+", address):
        raise _core.ScenarioError(f"--cluster {address}: must be a scheduler's address, such as tcp://10.0.0.1:8786")
    try:
        from distributed import Client
    except ImportError as error:
        raise _core.ScenarioError(
            f"--cluster {address}: needs Dask ({error}): pip install 'sluicegate[cluster]'"
        ) from None
    try:
        client = Client(address, timeout=WAIT_S, set_as_default=False, name="sluicegate")
    except (OSError, ValueError) as error:
        why = f"no scheduler answers there: {error}" if isinstance(error, OSError) else str(error)
        raise ClusterError(f"--cluster {address}: {why}") from None
    try:
        yield client.get_executor(pure=False)
    finally:
        client.close()
