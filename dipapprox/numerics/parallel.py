"""A method on several processes: large batches of events are shared out.

    batch -> this process, slice by slice  --- done within a second ---------> answers
                 |
                 patience used up -> chunks of the rest -> worker processes -> answers

Short batches never start a process. Workers are fresh interpreters (`spawn`): nothing is inherited
that a thread may hold. They make their own method, so its caches need not be sent, and they never
see Ctrl-C: this process ends them, whatever ends the batch, and they end with it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing.context import SpawnContext, SpawnProcess
from time import monotonic
from typing import Any

from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Connected
from dipapprox.limits import Limits, check_limits, current, limited
from dipapprox.numerics.methods import Answers, Method

_PATIENCE = 1.0
"""Seconds of work in this process before others are started: that costs them about half of it."""

_SLICE = 16  # events between two looks at the clock
_CHUNKS = 4  # chunks for each worker, at most: events differ much in cost
_POLL = 0.1  # seconds between two looks at the limits while workers work
_PR_SET_PDEATHSIG = 1  # from <sys/prctl.h>


class Parallel:
    """Another method, made once in every process, by what can be pickled.

    At most `jobs` workers are started, after `patience` seconds of work.
    """

    def __init__(self, make: Callable[[], Method], jobs: int, patience: float = _PATIENCE) -> None:
        self._make = make
        self._jobs = jobs
        self._patience = patience
        self._own = make()
        self._elsewhere: dict[str, None] = {}

    @property
    def name(self) -> str:
        """The words of the methods that have answered, here and in the workers."""
        return " + ".join(dict.fromkeys((self._own.name, *self._elsewhere)))

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
        found: list[tuple[range, Answers]] = []
        started, done, count = monotonic(), 0, len(events)
        while done < count:
            if monotonic() - started > self._patience and count - done > 1:
                rest = self._shared_out(events[done:], bits)
                found.append((range(done, count), rest))
                break
            places = range(done, min(done + _SLICE, count))
            own = self._own.enclose(events[places.start : places.stop], bits)
            found.append((places, own))
            done = places.stop
        return Answers.joined(found, count)

    def _shared_out(self, events: Sequence[Connected], bits: int) -> Answers:
        size = -(-len(events) // (self._jobs * _CHUNKS))
        chunks = [events[start : start + size] for start in range(0, len(events), size)]
        spawning = _Spawning()
        pool = ProcessPoolExecutor(
            min(self._jobs, len(chunks)), spawning, _prepare, (self._make, os.getpid())
        )
        try:
            with _deaf_to_interrupts():
                futures = [pool.submit(_enclose, chunk, bits, current()) for chunk in chunks]
            waiting = set(futures)
            while waiting:  # for all, or for the first that fails
                done, waiting = wait(waiting, timeout=_POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                check_limits()
            answers: list[tuple[range, Answers]] = []
            for start, future in zip(range(0, len(events), size), futures, strict=True):
                part, name = future.result()
                answers.append((range(start, start + len(part)), part))
                self._elsewhere[name] = None
        except BrokenProcessPool:
            raise LimitReached("a worker process was ended, perhaps for lack of memory") from None
        except BaseException:
            # Nobody waits for the answers any more.
            for worker in spawning.started:
                with suppress(ValueError, AttributeError):  # it is closed, or never began
                    worker.terminate()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        return Answers.joined(answers, len(events))


class _Spawning(SpawnContext):
    """The way to start workers; it knows its own: other threads may have some as well."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[SpawnProcess] = []

    def Process(self, *args: Any, **options: Any) -> SpawnProcess:  # type: ignore[override]  # a class there
        """Make a process, as the class of this name would."""
        process = SpawnProcess(*args, **options)
        self.started.append(process)
        return process


_method: Method | None = None  # the method of a worker process


def _prepare(make: Callable[[], Method], parent: int) -> None:
    global _method
    _end_with(parent)
    _method = make()


def _enclose(events: Sequence[Connected], bits: int, limits: Limits) -> tuple[Answers, str]:
    if _method is None:
        raise BrokenInvariant("a worker was asked before it was prepared")
    with sound_arithmetic(), limited(limits):
        return _method.enclose(events, bits), _method.name


def _end_with(parent: int) -> None:
    """Have this process, a child, killed as soon as its parent is dead (Linux).

    Args:
        parent: Process that started this one. On Linux its thread that did so has to stay as long.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before the call
        os._exit(1)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Processes started inside never see Ctrl-C, from their first instruction on.

    They inherit the signals that this thread holds back. For this thread Ctrl-C comes at the end.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
