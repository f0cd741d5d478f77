"""Running cases on a Dask cluster that exists already (`distributed`, an optional dependency).

Dask moves the cases of a worker that dies to others. Each cluster worker runs its cases in pools
of its own, so limits are enforced there as here. Bundles of cases grow as long as they are quick.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import re
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from dipapprox.errors import UserError
from dipapprox.experiments.sweep.case import Answered, Case, CaseOutcome
from dipapprox.experiments.sweep.pool import Pool, WorkerLost

_AHEAD = 4
"""Bundles handed over for every thread of the cluster; more would only fill the scheduler."""

_LARGEST = 64
"""Cases in a bundle, if they are quick: the scheduler takes longer for each bundle than they."""

_MOMENT = 0.25
"""Seconds after which a worker gives back the cases of its bundle that it has not begun."""

_ATTEMPTS = 5  # times that a bundle is handed over if the workers that had it died
_PATIENCE = "20s"
_ADDRESS = re.compile(r"(?:\w+://)?[^\s/]+:\d{1,5}/?", re.ASCII)

_own = threading.local()


def run_on_cluster(cases: Iterator[Case], address: str) -> Generator[list[Answered], None, None]:
    """Yield cases with their outcomes, in the order in which they finish, all that there are.

    Cases are taken as the cluster has room. The scheduler's address is "tcp://host:8786". A
    `WorkerLost` ends it if several workers died with the same case.
    """
    if not _ADDRESS.fullmatch(address):
        raise UserError(f"'{address}' is no address of a Dask scheduler", "tcp://host:8786")
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        hint = "pip install 'dipapprox[cluster]'"
        raise UserError("--cluster needs the package 'distributed'", hint) from None
    # What goes wrong is raised: its tracebacks are no news for whoever runs a sweep.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise UserError(f"there is no Dask scheduler at '{address}': {error}") from None
    with client:
        yield from _run(distributed, client, cases)


def _run(distributed: Any, client: Any, cases: Iterator[Case]) -> Iterator[list[Answered]]:
    waiting: dict[str, tuple[Sequence[Case], int]] = {}
    finished = distributed.as_completed([], loop=client.loop)
    numbers = itertools.count()
    returned: list[Case] = []
    size = 1

    def submit(bundle: Sequence[Case], attempt: int) -> None:
        # Numbered, as Dask remembers what failed.
        key = f"{bundle[0].key}-{next(numbers)}"
        waiting[key] = bundle, attempt
        finished.add(client.submit(run_remotely, bundle, key=key, pure=False))

    def fill() -> None:
        room = _AHEAD * max(sum(client.nthreads().values()), 1) - len(waiting)
        for _ in range(room):
            bundle = returned[:size]
            del returned[:size]
            bundle += itertools.islice(cases, size - len(bundle))
            if bundle:
                submit(bundle, 1)

    fill()
    while waiting:
        answered: list[Answered] = []
        for future in finished.next_batch():
            bundle, attempt = waiting.pop(future.key)
            if future.cancelled():
                raise WorkerLost(f"the scheduler at {client.scheduler.address} is gone")
            error = future.exception()
            if error is None:
                outcomes = future.result()
                answered += zip(bundle, outcomes, strict=False)
                rest = bundle[len(outcomes) :]
                returned += rest
                size = 1 if rest else min(2 * size, _LARGEST)
            elif attempt < _ATTEMPTS and isinstance(error, distributed.KilledWorker | WorkerLost):
                submit(bundle, attempt + 1)
            else:
                which = f"case {bundle[0].key}"
                raise WorkerLost(f"{which}: {type(error).__name__}: {error}") from error
        if answered:
            yield answered
        fill()


def run_remotely(bundle: Sequence[Case]) -> list[CaseOutcome]:
    """Run cases in the cluster worker that this is called in, in order: at least the first, and
    others as long as all together take a moment; one pool for each thread."""
    pool = getattr(_own, "pool", None)
    if pool is None:
        pool = _own.pool = Pool(jobs=1)
    end = time.monotonic() + _MOMENT
    outcomes: list[CaseOutcome] = []
    for case in bundle:
        [[(_, outcome)]] = pool.run(iter([case]))
        outcomes.append(outcome)
        if time.monotonic() > end:
            break
    return outcomes
