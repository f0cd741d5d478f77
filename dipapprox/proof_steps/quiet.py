"""Runs that publish nothing more: a search for quiet pairs, as `kernel.quiet` has them.

A head has a shift of its cells if all pairs are quiet that it leads to, beside itself with its
cells shifted so. Shifts are -1, 0 and 1 times the unit; those of few cells come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

from dipapprox.errors import NoCertificate
from dipapprox.kernel.forms import Form, Stored, only, over
from dipapprox.kernel.paths import Changes, Path, between, number_form
from dipapprox.kernel.quiet import Cells, Quiet, second_atoms
from dipapprox.kernel.regions import known_forms, same_atoms
from dipapprox.kernel.rounds import Follower, Rounds
from dipapprox.limits import Limits
from dipapprox.proof_steps.heads import Head, Heads
from dipapprox.proof_steps.machines import Json, number_json, stored_json
from dipapprox.proof_steps.moves import Shift
from dipapprox.proof_steps.orders import Reason, closure, reason_json

MOST_PAIRS = 1_000

MOST_HELD = 4
"""Cells of one head that are shifted."""

Last = tuple[Stored, ...] | None
"""What a run publishes as it ends; None if it goes on."""

_Why = Quiet | Reason | None
"""Why two paths may be taken together, or are not: the pair that follows; None for an end."""


class QuietRuns:
    """The heads from which runs are quiet.

    Args:
        machine: The machine.
        heads: All heads.
        limits: Of time and states.
        is_asked: Whether there may be any.
    """

    def __init__(self, machine: Rounds, heads: Heads, limits: Limits, is_asked: bool) -> None:
        self._machine = machine
        self._heads = heads
        self._limits = limits
        self._follower = Follower(machine)
        self._paths: dict[Cells, list[Path]] = {}
        self._found: dict[Cells, dict[Last, Shift]] = {}
        self._rows: dict[Quiet, list[list[_Why]]] = {}
        if is_asked and machine.round is not None and machine.ends and machine.padding is None:
            self._search()

    def __bool__(self) -> bool:
        return bool(self._found)

    def of(self, head: Head) -> Mapping[Last, Shift]:
        """Return the shifts, in units, for the last words of what is quiet from a head on."""
        return {} if head.is_first else self._found.get(_cells(head), {})

    def written(self, places: Mapping[Cells, int]) -> list[Json]:
        """Return the pairs, for the numbers of places."""
        if not {cells for pair in self._rows for cells in pair.cells} <= places.keys():
            raise NoCertificate("a run may be where no run is")
        numbers = {pair: number for number, pair in enumerate(self._rows)}
        found: list[Json] = []
        for pair, rows in self._rows.items():
            paths: list[Json] = []
            for row in rows:
                reasons: list[Json] = []
                for why in row:
                    if isinstance(why, Quiet):
                        reasons.append(numbers[why])
                    else:
                        reasons.append(None if why is None else reason_json(why))
                paths.append(reasons)
            found.append(
                {
                    "places": [places[cells] for cells in pair.cells],
                    "shifts": [number_json(shift) for shift in pair.shifts],
                    "last": None if pair.last is None else [stored_json(v) for v in pair.last],
                    "paths": paths,
                }
            )
        return found

    # --- looking -----------------------------------------------------------------------------

    def _search(self) -> None:
        cells = dict.fromkeys(_cells(head) for head in self._heads.ways if not head.is_first)
        for own in cells:
            for last in self._last_words(own):
                if len(own[1]) > MOST_HELD:
                    continue
                levels = product((0, -1, 1), repeat=len(own[1]))
                for shift in sorted(levels, key=lambda each: sum(map(abs, each))):
                    shifts = tuple([self._heads.unit * level for level in shift])
                    found = self._closed(Quiet((own, own), shifts, last))
                    if found is not None:
                        self._rows |= found
                        self._found.setdefault(own, {})[last] = shift
                        break

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

    def _closed(self, pair: Quiet) -> dict[Quiet, list[list[_Why]]] | None:
        """Return a pair with all that it leads to; None if one of them is not quiet."""
        found: dict[Quiet, list[list[_Why]]] = {}
        waiting = [pair]
        while waiting:
            self._limits.check()
            own = waiting.pop()
            if own in found or own in self._rows:
                continue
            if len(found) + len(self._rows) > MOST_PAIRS:
                return None
            rows = found[own] = self._rows_of(own) or []
            if not rows:
                return None
            waiting += [why for row in rows for why in row if isinstance(why, Quiet)]
        return found

    def _rows_of(self, pair: Quiet) -> list[list[_Why]] | None:
        rows: list[list[_Why]] = []
        for path in self._round(pair.cells[0]):
            row: list[_Why] = []
            rows.append(row)
            if not pair.may_end(path) and (path.ended or path.said):
                continue
            for other in self._round(pair.cells[1]):
                if pair.may_end(other):
                    row.append(None)
                    continue
                moved, changes = second_atoms(self._machine, pair.shifts, path, other)
                why = _contradiction(path, other, moved, changes) or self._next(
                    path, other, moved, pair.last
                )
                if why is None:
                    return None
                row.append(why)
        return rows

    def _next(self, path: Path, other: Path, moved: Sequence[Form], last: Last) -> Quiet | None:
        """Return the pair that two paths lead to; None if it cannot be quiet."""
        if path.ended or other.ended or other.said or sorted(path.reads) != sorted(other.reads):
            return None
        first, second = self._after(path), self._after(other)
        shifts = []
        for name in first[1]:
            if name in second[1]:
                apart = over(number_form(other.store[name]), moved)
                apart = apart.plus(number_form(path.store[name]).scaled(Fraction(-1)))
                if not apart.terms:
                    shifts.append(apart.constant)
        if first[1] != second[1] or len(shifts) < len(first[1]):
            return None
        return Quiet((first, second), tuple(shifts), last)


def _contradiction(
    path: Path, other: Path, moved: Sequence[Form], changes: Changes
) -> Reason | None:
    """Return why two paths are not taken together; None if that is not seen.

    What the second run holds has numbers of its own, with bounds of how much more it is.
    """
    size, same = len(path.atoms), same_atoms(path.atoms, other.atoms)
    ours, theirs = known_forms(path), known_forms(other)
    known = [*ours]
    for form, strict in theirs:
        known.append((Form(form.constant, tuple([(a + size, c) for a, c in form.terms])), strict))
    # What a form >= 0 comes from, among all that the kernel knows; nothing, if it is of changes.
    sources: list[Reason] = [((number, Fraction(1)),) for number in range(len(known))]
    for atom in range(same):
        more = moved[atom].plus(only(atom).scaled(Fraction(-1)))
        for sign in (Fraction(1), Fraction(-1)):
            _, most = between(more.scaled(-sign), changes)
            total = Form(most, ((atom, -sign), (atom + size, sign)))
            known.append((total, False))
            sources.append(())
    found = closure(known)
    if not isinstance(found, tuple):
        return None
    return tuple([(k, m * factor) for number, m in found for k, factor in sources[number]])


def _cells(head: Head) -> Cells:
    return head.values, head.held
