"""Limits of time, memory, states and pieces: those of a block, asked often, answering by exception.

    with limited(Limits(seconds=10)):       what is done in here, however deep,
        ...                                 asks them by `check_limits`, and ends there
        with at_most(pieces=100):           these, and no more than so many pieces

And how far work within them has come, told while it goes on. Whoever works for long asks
throughout, and raises `LimitReached` where limits end: docstrings name what else may be too much.
A block has its thread to itself; outside of all blocks there is no limit but of what is counted.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from math import inf
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import LimitReached, UserError

resource: Any = None
"""The standard library's module, where there is one: Windows and WebAssembly have none."""
with suppress(ImportError):
    resource = import_module("resource")

_BYTES_PER_UNIT = 1 if sys.platform == "darwin" else 1024  # unit of ru_maxrss

T = TypeVar("T")

Progress = Callable[[int, int | None], None]
"""Told how much is done, and of how much; None if that is unknown."""


def silent(_done: int, _total: int | None) -> None:
    """Report no progress."""


_BETWEEN_LOOKS = 0.005
"""Seconds between two looks at the memory: asking the system takes longer than a clock does."""

_BETWEEN_ITEMS = 64
"""Items of a long loop, each quickly done, between two looks at the clock."""


class Limits(Record):
    """What a run may use. Immutable; the clock starts when the object is made.

    Raises:
        UserError: If a limit is no number, or is negative, or if the system does not tell how much
            memory is used, and that is limited.

    Attributes:
        seconds: Wall-clock time in seconds; None for no limit.
        memory: Largest peak resident set of this process, in MiB; None for no limit.
        states: Most symbolic states alive or final at any time.
        pieces: Most pieces that one event may be split into.
        atoms: Most losses that a composition may be kept on.

    Work that may be left undone is bounded by `at_most`: no clock decides what is tried, so the
    same question has the same answer on a busy machine.
    """

    seconds: float | None = None
    memory: int | None = None
    states: int = 100_000
    pieces: int = 20_000
    atoms: int = 4_000_000
    started: float = field(default_factory=time.monotonic)
    _kept: float = 0  # seconds that are kept for what comes later
    _looked: list[float] = field(default_factory=lambda: [-inf], compare=False, repr=False)
    _meters: tuple[list[int], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        seconds: object = self.seconds
        if seconds is not None and not (
            isinstance(seconds, int | float)
            and not isinstance(seconds, bool)
            and 0 <= seconds < inf
        ):
            raise UserError(f"seconds must be a number >= 0, got {seconds!r}")
        for name in ("memory", "states", "pieces", "atoms"):
            given: object = getattr(self, name)
            if name == "memory" and given is None:
                continue
            if type(given) is not int or given < 0:
                raise UserError(f"{name} must be a whole number >= 0, got {given!r}")
        if self.memory is not None and resource is None:
            raise UserError("memory cannot be limited: this system does not tell what is used")

    def check(self) -> None:
        """Raise LimitReached if time, memory or steps are used up, of which one is taken."""
        for meter in self._meters:
            meter[0] -= 1
            if meter[0] < 0:
                raise LimitReached(f"work limit: more than {meter[1]} steps")
        self.look()

    def look(self) -> None:
        """Raise LimitReached if time or memory are used up."""
        if self.seconds is None and self.memory is None:
            return
        now = time.monotonic()
        if self.seconds is not None and now - self.started > self.seconds - self._kept:
            raise LimitReached(f"time limit: {self.seconds:g} s")
        if self.memory is not None and not 0 <= now - self._looked[0] <= _BETWEEN_LOOKS:
            if peak_memory() > self.memory:
                raise LimitReached(f"memory limit: {self.memory} MiB")
            self._looked[0] = now

    def within(self, steps: int | None, **most: int) -> Limits:
        """Return the same limits with fewer steps, states, pieces or atoms; see `at_most`."""
        fewer = {name: min(getattr(self, name), number) for name, number in most.items()}
        meters = self._meters if steps is None else (*self._meters, [steps, steps])
        return replace(self, _meters=meters, **fewer)

    def keeping(self, share: float) -> Limits:
        """Return the same limits, a share of the time that is left being kept for later."""
        left = max((self.seconds or 0) - self.elapsed() - self._kept, 0)
        return replace(self, _kept=self._kept + share * left)

    def elapsed(self) -> float:
        """Return the seconds since the limits were made."""
        return time.monotonic() - self.started


_NONE = Limits()
_current: ContextVar[Limits] = ContextVar("limits", default=_NONE)


def current() -> Limits:
    """Return the limits of the innermost block."""
    return _current.get()


@contextmanager
def limited(limits: Limits) -> Iterator[None]:
    """Let these be the limits in a block."""
    before = _current.set(limits)
    try:
        yield
    finally:
        _current.reset(before)


@contextmanager
def at_most(steps: int | None = None, **most: int) -> Iterator[None]:
    """Let a block use so much at most, of what is left outside; also a decorator.

    Args:
        steps: One is taken whenever limits are asked, here and in the blocks around.
        most: Of `states`, `pieces`, `atoms`.
    """
    with limited(current().within(steps, **most)):
        yield


def check_limits() -> None:
    """Raise LimitReached if time, memory or steps are used up. Cheap: call it in loops."""
    _current.get().check()


def ask() -> None:
    """Raise LimitReached if time or memory are used up: for arithmetic, which steps are made of."""
    _current.get().look()


def check_states(count: int) -> None:
    """Raise LimitReached if `count` symbolic states are too many."""
    if count > (most := current().states):
        raise LimitReached(f"path limit: more than {most} symbolic states")


def check_pieces(count: int) -> None:
    """Raise LimitReached if `count` pieces of one event are too many."""
    if count > (most := current().pieces):
        raise LimitReached(f"piece limit: an event splits into more than {most} pieces")


def check_atoms(count: int) -> None:
    """Raise LimitReached if `count` losses of one composition are too many."""
    if count > (most := current().atoms):
        raise LimitReached(f"atom limit: a composition takes more than {most} losses")


def asking(items: Iterable[T], every: int = _BETWEEN_ITEMS) -> Iterator[T]:
    """Yield what a long loop is about, and ask before every so many items."""
    for number, item in enumerate(items):
        if not number % every:
            ask()
        yield item


_MOST_BITS = 2**18


def check_bits(bits: int) -> None:
    """Raise LimitReached if an exact number of so many bits would be too long.

    One step of exact arithmetic is not interrupted: its numbers are bounded before it is taken.
    """
    if bits > _MOST_BITS:
        raise LimitReached(f"digit limit: an exact number of more than {_MOST_BITS} bits")


def peak_memory() -> int:
    """Return this process's peak resident set in MiB, where the system tells.

    What Linux has for `getrusage` begins with the peak of the process that started this one.
    """
    with suppress(OSError):
        # Bytes: a codec would be imported in the middle of whatever asks.
        for line in Path("/proc/self/status").read_bytes().splitlines():
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) // 2**10
    used: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used * _BYTES_PER_UNIT // 2**20


_ALLOCATIONS = 200_000
"""Objects, more than were freed, before the youngest of them are searched for cycles."""


_found: list[tuple[int, int, int]] = []
"""The settings that open blocks have found, of whatever thread: the first come back at the end."""

_turn = RLock()  # a block may end while garbage is collected in the middle of another's turn
if hasattr(os, "register_at_fork"):
    # A child process has no thread that could give the turn back.
    os.register_at_fork(
        before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release
    )


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python look for cycles of garbage more rarely than usual; also a decorator.

    A run makes hundreds of thousands of small objects that live to its end, and next to no cycles:
    walking all of them again and again would take a third of the time. Young cycles are still
    found. The settings are those of the process; they come back when the last block ends.
    """
    with _turn:
        young, middle, old = found = gc.get_threshold()
        _found.append(found)
        if young:  # else they are off
            gc.set_threshold(max(young, _ALLOCATIONS), max(middle, 20), max(old, 100))
    try:
        yield
    finally:
        with _turn:
            found = _found.pop()
            if not _found:
                gc.set_threshold(*found)
