"""Running cases on a Dask cluster that exists already (`distributed`, an optional dependency).

Dask moves the cases of a worker that dies to others. Each cluster worker runs its cases in
children of fork servers of its own, so limits are enforced there as here.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import re
import threading
from collections.abc import Generator, Iterator
from typing import Any

from dipapprox.errors import UserError
from dipapprox.experiments.sweep.case import Answered, Case, Outcome
from dipapprox.experiments.sweep.pool import Pool, WorkerLost

_AHEAD = 4
"""Cases handed over for every thread of the cluster; more would only fill the scheduler."""

_ATTEMPTS = 5
"""Times that a case is handed over again if the workers that had it died."""

_PATIENCE = "20s"

_ADDRESS = re.compile(r"(?:\w+://)?[^\s/]+:\d{1,5}/?", re.ASCII)

_own = threading.local()


def run_on_cluster(cases: Iterator[Case], address: str) -> Generator[list[Answered], None, None]:
    """Yield cases with their outcomes, in the order in which they finish, all that there are.

    Args:
        cases: Taken as the cluster has room.
        address: Of the scheduler, "tcp://host:8786".

    Raises:
        UserError: If `distributed` is not installed, or there is no scheduler at the address.
        WorkerLost: If several workers died with the same case.
    """
    if not _ADDRESS.fullmatch(address):
        raise UserError(f"'{address}' is no address of a Dask scheduler", "tcp://host:8786")
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise UserError(
            "--cluster needs the package 'distributed'", "pip install 'dipapprox[cluster]'"
        ) from None
    # What goes wrong is raised: its tracebacks are no news for whoever runs a sweep.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UserError(f"there is no Dask scheduler at '{address}': {error}") from None
    with client:
        yield from _run(distributed, client, cases)


def _run(distributed: Any, client: Any, cases: Iterator[Case]) -> Iterator[list[Answered]]:
    waiting: dict[str, tuple[Case, int]] = {}
    finished = distributed.as_completed([], loop=client.loop)

    def submit(case: Case, attempt: int) -> None:
        # The attempt is part of the key: Dask remembers what failed.
        key = f"{case.key}-{attempt}"
        waiting[key] = case, attempt
        finished.add(client.submit(run_remotely, case, key=key, pure=False))

    def fill() -> None:
        room = _AHEAD * max(sum(client.nthreads().values()), 1) - len(waiting)
        for case in itertools.islice(cases, max(room, 0)):
            submit(case, 1)

    fill()
    while waiting:
        answered: list[Answered] = []
        for future in finished.next_batch():
            case, attempt = waiting.pop(future.key)
            if future.cancelled():
                raise WorkerLost(f"the scheduler at {client.scheduler.address} is gone")
            error = future.exception()
            if error is None:
                answered.append((case, future.result()))
            elif attempt < _ATTEMPTS and isinstance(error, distributed.KilledWorker | WorkerLost):
                submit(case, attempt + 1)
            else:
                raise WorkerLost(f"case {case.key}: {type(error).__name__}: {error}") from error
        if answered:
            yield answered
        fill()


def run_remotely(case: Case) -> Outcome:
    """Run a case in the cluster worker that this is called in; one pool for each thread."""
    pool = getattr(_own, "pool", None)
    if pool is None:
        pool = _own.pool = Pool(jobs=1)
    [[(_, outcome)]] = pool.run(iter([case]))
    return outcome
