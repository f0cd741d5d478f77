"""Runs that publish nothing more: a search for quiet pairs, as `kernel.quiet` has them.

A head has a shift of its cells if all pairs are quiet that it leads to, beside itself with its
cells shifted so. Shifts are -1, 0 and 1 times the unit; those of few cells come first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from itertools import product

from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.forms import Form
from dipapprox.kernel.paths import Path
from dipapprox.kernel.quiet import Cells, Last, Quiet, require_quiet
from dipapprox.kernel.rounds import Follower, Rounds
from dipapprox.limits import Limits
from dipapprox.proof_steps.heads import Head, Heads, Shift
from dipapprox.proof_steps.machines import Json, number_json, stored_json

MOST_HELD = 4  # cells of one head that are shifted


class QuietRuns:
    """The heads from which runs are quiet.

    Args:
        is_asked: Whether there may be any.
    """

    def __init__(self, machine: Rounds, heads: Heads, limits: Limits, is_asked: bool) -> None:
        self._machine = machine
        self._heads = heads
        self._limits = limits
        self._follower = Follower(machine)
        self._paths: dict[Cells, list[Path]] = {}
        self._found: dict[Cells, dict[Last, Shift]] = {}
        if is_asked and machine.round is not None and machine.ends and machine.padding is None:
            self._search()

    def __bool__(self) -> bool:
        return bool(self._found)

    def of(self, head: Head) -> Mapping[Last, Shift]:
        """Return the shifts, in units, for the last words of what is quiet from a head on."""
        return {} if head.is_first else self._found.get(_cells(head), {})

    def written(self, places: Mapping[Cells, int]) -> list[Json]:
        """Return the pairs of some numbered places, between which runs are quiet."""
        listed: list[Json] = []
        for cells, number in places.items():
            for last, shift in self._found.get(cells, {}).items():
                try:
                    self._require(places, cells, shift, last)
                except NotProved as none:
                    raise NoCertificate(str(none)) from None
                shifts: list[Json] = [number_json(self._heads.unit * level) for level in shift]
                words: Json = None if last is None else [stored_json(value) for value in last]
                listed.append([number, shifts, words])
        return listed

    # --- looking -----------------------------------------------------------------------------

    def _search(self) -> None:
        places = dict.fromkeys(_cells(head) for head in self._heads.ways if not head.is_first)
        for own in places:
            for last in self._last_words(own):
                if len(own[1]) > MOST_HELD:
                    continue
                levels = product((0, -1, 1), repeat=len(own[1]))
                for shift in sorted(levels, key=lambda each: sum(map(abs, each))):
                    with suppress(NotProved):
                        self._require(places, own, shift, last)
                        self._found.setdefault(own, {})[last] = shift
                        break

    def _require(self, places: Collection[Cells], cells: Cells, shift: Shift, last: Last) -> None:
        shifts = tuple([self._heads.unit * level for level in shift])
        pair = Quiet((cells, cells), shifts, last)
        require_quiet(self._machine, [*places], [pair], self._round)

    def _last_words(self, cells: Cells) -> dict[Last, None]:
        """Return the last words of runs that are quiet from a head on."""
        found: dict[Last, None] = {}
        waiting, known = [cells], {cells}
        for each in waiting:
            for path in self._round(each):
                if path.ended:
                    if not any(isinstance(value, Form) for value in path.said):
                        found[path.said] = None
                elif not path.said:
                    found[None] = None
                    after = self._after(path)
                    if after not in known:
                        known.add(after)
                        waiting.append(after)
        return found

    def _round(self, cells: Cells) -> list[Path]:
        if cells not in self._paths:
            self._limits.check()
            values, held = cells
            self._paths[cells] = self._follower.round(dict(values), held)
        return self._paths[cells]

    def _after(self, path: Path) -> Cells:
        head = self._heads.target(path)
        if head is None:
            raise ValueError("a path that goes on is wanted")
        return _cells(head)


def _cells(head: Head) -> Cells:
    return head.values, head.held
