"""Where cases run: a pool on this machine, or a Dask cluster that exists already.

A pool runs cases in workers that it owns: processes that serve many cases each, as most take less
time than it takes to begin one. Of a cluster (`distributed`, an optional dependency) Dask moves the
cases of a worker of its own that dies to others; each runs its cases in pools, so limits are
enforced there as here. Bundles of cases grow as long as they are quick.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import islice
from multiprocessing import Pipe

from dipapprox.errors import BrokenInvariant, UserError
from dipapprox.experiments.sweep.spec import Answered, Case, CaseOutcome

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
    """Runs cases, `jobs` at a time, each in a worker and a thread that waits for it."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._lock = threading.Lock()  # for all that follows
        self._closed = False
        self._workers: set[Worker] = set()
        self._idle: list[Worker] = []

    def run(self, cases: Iterator[Case]) -> Iterator[list[Answered]]:
        """Yield cases with their outcomes, in the order in which they finish, all that there are.

        Raises:
            WorkerLost: If workers die as they begin, twice in a row.
        """
        threads = ThreadPoolExecutor(self._jobs)
        try:
            yield from _run(
                cases, lambda each: threads.submit(self.outcomes, each), lambda: self._jobs
            )
        except BaseException:
            self.close()  # its answers are for nobody
            raise
        finally:
            threads.shutdown(wait=False, cancel_futures=True)

    def outcomes(self, bundle: Sequence[Case]) -> list[CaseOutcome]:
        """Run cases in order: at least the first, and others as long as all take a moment."""
        end = time.monotonic() + _MOMENT
        outcomes = [self.outcome(bundle[0])]
        while len(outcomes) < len(bundle) and time.monotonic() < end:
            outcomes.append(self.outcome(bundle[len(outcomes)]))
        return outcomes

    def outcome(self, case: Case) -> CaseOutcome:
        """Run a case."""
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
            worker.process.kill()  # all, whoever interrupts the wait for one
        for worker in [*self._workers]:
            self._end(worker)


_AHEAD = 4
"""Bundles handed over for every process: none waits while results are written."""

_LARGEST = 64
"""Cases in a bundle, if they are quick: the scheduler takes longer for each bundle than they."""

_MOMENT = 0.25
"""Seconds after which the cases of a bundle that have not begun are given back."""

_RETRIES = 4  # of a bundle elsewhere, where the processes of a cluster worker keep dying


def _run(
    cases: Iterator[Case],
    start: Callable[[Sequence[Case]], Future[list[CaseOutcome]]],
    jobs: Callable[[], int],
    largest: int = 1,
) -> Iterator[list[Answered]]:
    waiting: dict[Future[list[CaseOutcome]], list[Case]] = {}
    returned, size = list[Case](), 1
    while True:
        while len(waiting) < _AHEAD * jobs():
            returned += islice(cases, max(size - len(returned), 0))
            bundle, returned = returned[:size], returned[size:]
            if not bundle:
                break
            waiting[start(bundle)] = bundle
        if not waiting:
            return
        answered, failures = list[Answered](), list[Exception]()
        for each in wait(waiting, return_when=FIRST_COMPLETED).done:
            bundle = waiting.pop(each)
            try:
                outcomes = each.result()
            except (CancelledError, WorkerLost) as lost:
                failures.append(lost)
                continue
            except Exception as error:  # of who carries a case: its own errors are outcomes
                told = f"case {bundle[0].key}: {type(error).__name__}: {error}"
                failures.append(WorkerLost(told))
                continue
            answered += zip(bundle, outcomes, strict=False)
            returned += bundle[len(outcomes) :]
            size = min(2 * size, largest) if len(outcomes) == len(bundle) else 1
        yield answered
        if failures:
            raise failures[0]


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
        start = partial(client.get_executor(pure=False, retries=_RETRIES).submit, run_remotely)
        try:
            yield from _run(cases, start, lambda: sum(client.nthreads().values()) or 1, _LARGEST)
        except CancelledError:
            raise WorkerLost(f"the scheduler at {address} is gone") from None


def run_remotely(bundle: Sequence[Case]) -> list[CaseOutcome]:
    """Run cases in the cluster worker that this is called in; one pool for each thread."""
    _own.pool = pool = getattr(_own, "pool", None) or Pool(jobs=1)
    return pool.outcomes(bundle)
