"""Where cases run: a pool on this machine, or a Dask cluster that exists already.

A pool runs cases in children of a fork server that it owns. Of a cluster (`distributed`, an
optional dependency) Dask moves the cases of a worker that dies to others; each worker runs its
cases in pools of its own, so limits are enforced there as here. Bundles of cases grow as long as
they are quick.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import logging
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from dipapprox.errors import UserError
from dipapprox.experiments.sweep.spec import Answered, Case, CaseOutcome

_T = TypeVar("_T")
_FORK_SERVER = (sys.executable, "-m", "dipapprox.experiments.sweep.fork_server")
_AHEAD = 64
"""Cases handed over beyond those that run: while answers are synced, nobody waits for a case."""

_PATIENCE = 5.0  # seconds that a server may take to end


class WorkerLost(Exception):
    """The processes that run cases keep dying."""


class Server:
    """A fork server that runs: takes tuples (number, case) as requests, and gives (number, outcome)
    as replies; None at the end, when it is dead."""

    def __init__(self, jobs: int) -> None:
        its_requests, self.requests = Pipe(duplex=False)
        answers, its_replies = Pipe(duplex=False)
        with its_requests, its_replies:
            self.process = subprocess.Popen(
                [*_FORK_SERVER, str(jobs)],
                stdin=its_requests.fileno(),
                stdout=its_replies.fileno(),
                start_new_session=True,  # Ctrl-C is for whoever asks
                # One thread each: parallelism is by processes.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        self.replies: queue.SimpleQueue[tuple[int, CaseOutcome] | None] = queue.SimpleQueue()
        # The server never waits for somebody to listen, so it always listens itself.
        threading.Thread(target=self._listen, args=(answers,), daemon=True).start()

    def _listen(self, answers: Connection) -> None:
        try:
            with answers, contextlib.suppress(EOFError, OSError):
                while True:
                    self.replies.put(answers.recv())
        finally:
            self.replies.put(None)

    def close(self) -> None:
        """End the server, and the cases that it runs: they end with its requests."""
        self.requests.close()
        try:
            self.process.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def run_locally(cases: Iterator[Case], jobs: int) -> Generator[list[Answered], None, None]:
    """Yield what `Pool.run` does, of a pool that ends with this."""
    with contextlib.closing(Pool(jobs)) as pool:
        yield from pool.run(cases)


class Pool:
    """Runs cases, `jobs` at a time. For one thread at a time."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._server: Server | None = None

    def run(self, cases: Iterator[Case]) -> Iterator[list[Answered]]:
        """Yield cases with their outcomes, in the order in which they finish, all that there are.

        A server that dies is replaced, and has its cases run again.

        Raises:
            WorkerLost: If the server dies twice without an answer in between.
        """
        numbers = itertools.count()
        pending: dict[int, Case] = {}
        losses = 0
        try:
            while True:
                room = self._jobs + _AHEAD - len(pending)
                new = dict(zip(numbers, itertools.islice(cases, room), strict=False))
                pending |= new
                if not pending:
                    break
                if self._server is None:
                    self._server = Server(self._jobs)
                    new = pending
                with contextlib.suppress(OSError):  # it is dead: the end of its replies tells
                    for request in new.items():
                        self._server.requests.send(request)
                replies = _taken(self._server.replies)
                answered = [(pending.pop(reply[0]), reply[1]) for reply in replies if reply]
                if None in replies:
                    self.close()
                losses = 0 if answered else losses + 1
                if losses > 1:
                    raise WorkerLost("the process that runs the cases died twice")
                if answered:
                    yield answered
        finally:
            if pending:
                self.close()  # its answers are for nobody

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


def _taken(source: queue.SimpleQueue[_T]) -> list[_T]:
    """Wait for something, and return all that is there."""
    found = [source.get()]
    with contextlib.suppress(queue.Empty):
        while True:
            found.append(source.get_nowait())
    return found


_BUNDLES = 4
"""Bundles handed over for every thread of the cluster; more would only fill the scheduler."""

_LARGEST = 64
"""Cases in a bundle, if they are quick: the scheduler takes longer for each bundle than they."""

_MOMENT = 0.25
"""Seconds after which a worker gives back the cases of its bundle that it has not begun."""

_ATTEMPTS = 5  # times that a bundle is handed over if the workers that had it died
_TO_CONNECT = "20s"
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
        client = distributed.Client(address, timeout=_TO_CONNECT, set_as_default=False)
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
        room = _BUNDLES * max(sum(client.nthreads().values()), 1) - len(waiting)
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
