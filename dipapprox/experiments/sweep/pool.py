"""A pool: runs cases on this machine, in children of a fork server that it owns."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import TypeVar

from dipapprox.experiments.sweep.case import Answered, Case, CaseOutcome

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
        """End the server, and the cases that it runs."""
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
