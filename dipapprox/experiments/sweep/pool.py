"""Where cases run: a pool on this machine, or a Dask cluster that exists already.

A pool runs cases in workers that it owns: processes that serve many cases each, as most take less
time than it takes to begin one. Of a cluster (`distributed`, an optional dependency) Dask moves the
cases of a worker of its own that dies to others; each runs its cases in pools, so limits are
enforced there as here. Bundles of cases grow as long as they are quick.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import logging
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from multiprocessing import Pipe
from typing import Any, TypeVar

from dipapprox.errors import BrokenInvariant, UserError
from dipapprox.experiments.sweep.spec import Answered, Case, CaseOutcome

_T = TypeVar("_T")
_WORKER = (sys.executable, "-m", "dipapprox.experiments.sweep.sweep")
_KILLED = CaseOutcome(None, "killed twice from outside: did the machine run out of memory?", 0.0)


class WorkerLost(Exception):
    """The processes that run cases keep dying."""


class Worker:
    """A process that runs cases, one after the other."""

    def __init__(self) -> None:
        self.connection, its = Pipe()
        self.served = 0
        with its:
            self.process = subprocess.Popen(
                _WORKER,
                stdin=its.fileno(),
                start_new_session=True,  # Ctrl-C is for whoever asks
                # One thread each: parallelism is by processes.
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )

    def end(self) -> int:
        self.process.kill()
        return self.process.wait()


def run_locally(cases: Iterator[Case], jobs: int) -> Generator[list[Answered], None, None]:
    """Yield what `Pool.run` does, of a pool that ends with this."""
    with contextlib.closing(Pool(jobs)) as pool:
        yield from pool.run(cases)


class Pool:
    """Runs cases, `jobs` at a time, each in a worker and a thread that waits for it.

    For one thread at a time.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._lock = threading.Lock()  # for all that follows, and for the iterator of cases
        self._closed = False
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []

    def run(self, cases: Iterator[Case]) -> Iterator[list[Answered]]:
        """Yield cases with their outcomes, in the order in which they finish, all that there are.

        Raises:
            WorkerLost: If workers die as they begin, twice in a row.
        """
        found = queue.SimpleQueue[Answered | BaseException | None]()

        def following() -> Case | None:
            with self._lock:
                return None if self._closed else next(cases, None)

        def work(case: Case | None) -> None:
            end: BaseException | None = None
            try:
                while case is not None:
                    found.put((case, self._outcome(case)))
                    case = following()
            except BaseException as error:
                end = error
            found.put(end)

        busy = 0
        try:
            while busy < self._jobs and (case := following()) is not None:
                threading.Thread(target=work, args=(case,), daemon=True).start()
                busy += 1
            while busy:
                answered, failures = list[Answered](), list[BaseException]()
                for each in _taken(found):
                    busy -= each is None
                    if isinstance(each, BaseException):
                        failures.append(each)
                    elif each is not None:
                        answered.append(each)
                if answered:
                    yield answered
                if failures:
                    raise failures[0]
        finally:
            if busy:
                self.close()  # its answers are for nobody

    def _outcome(self, case: Case) -> CaseOutcome:
        for again in (False, True):
            worker, begun = self._worker(new=again), time.monotonic()
            worker.served += 1
            try:
                worker.connection.send(case)
                outcome, last = worker.connection.recv()
            except (EOFError, OSError):
                status = self._end(worker)
                killed = status == -signal.SIGKILL
                if status == -signal.SIGALRM:
                    failure = f"time limit: {float(case.limits.seconds):g} s"
                elif not again and (killed or worker.served > 1):
                    continue  # not the fault of the case, or not surely
                elif killed:
                    return _KILLED
                else:
                    # Libraries end the process when they get no memory.
                    failure = f"memory limit: {case.limits.memory} MiB (the process died)"
                return CaseOutcome(None, failure, time.monotonic() - begun)
            if last:
                self._end(worker)
            else:
                self._idle.append(worker)
            if outcome is not None:  # else the past of the worker is to blame
                return outcome  # type: ignore[no-any-return]  # it was pickled
        raise BrokenInvariant("a new worker has no past")

    def _worker(self, *, new: bool) -> Worker:
        """Return one that is idle, or a new one that has begun."""
        for _ in range(2):
            with self._lock:
                if self._closed:
                    raise WorkerLost("the pool is closed")
                if self._idle and not new:
                    return self._idle.pop()
                worker = Worker()
                self._workers.add(worker)
            with contextlib.suppress(EOFError, OSError):
                worker.connection.recv()
                return worker
            self._end(worker)
        raise WorkerLost("the process that runs the cases died twice")

    def _end(self, worker: Worker) -> int:
        self._workers.discard(worker)
        return worker.end()

    def close(self) -> None:
        with self._lock:
            self._closed = True
        for worker in [*self._workers]:
            self._end(worker)


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
