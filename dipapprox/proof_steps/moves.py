"""Moves: how the samples of a path may be shifted, and what becomes of the cells that it leaves.

Everything is counted in units. Numbers that are integers are Python's: a search counts with
millions of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dipapprox.data_classes import dataclass
from dipapprox.kernel.forms import Form
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.paths import Path, Read, Sample

Shift = tuple[int, ...]
"""Of the held cells, in units."""

Changes = tuple[Fraction, ...]
"""Of the inputs that a path reads."""

_Number = Any
"""An integer, or a fraction that is none."""

_Terms = tuple[tuple[int, _Number], ...]
"""Of a form; its constant is the same in both runs."""


@dataclass(frozen=True, slots=True)
class _Sampled:
    """A sample: its mean, what a shift of one unit costs, and the signs of shifts."""

    mean: _Terms
    price: _Number
    signs: tuple[int, ...]


class Moves:
    """All moves on one path.

    Args:
        path: The path.
        held: What the cells that it leaves hold.
        levels: What samples are shifted by.
        unit: What everything is counted in.
        budget: The most that the samples of a move may cost.
    """

    def __init__(
        self, path: Path, held: Sequence[Form], levels: range, unit: Fraction, budget: Fraction
    ) -> None:
        self._unit, self._levels, self._budget = unit, levels, budget
        self._held = [_terms(form) for form in held]
        self._atoms: list[_Sampled | bool] = [
            _Sampled(
                _terms(atom.mean),
                _fast(unit / atom.size),
                FAMILIES[atom.family].shifts if atom.power == -1 else (),
            )
            if isinstance(atom, Sample)
            else isinstance(atom, Read)
            for atom in path.atoms
        ]
        # A guard may be shifted up, and what is published may not be shifted: both are known with
        # their last atom.
        self._demands: list[list[tuple[_Terms, bool]]] = [[] for _ in path.atoms]
        for form, _ in path.guards:
            self._demands[form.terms[-1][0]].append((_terms(form), False))
        for said in path.said:
            if isinstance(said, Form):
                self._demands[said.terms[-1][0]].append((_terms(said), True))

    def after(self, shift: Shift, case: Changes) -> Iterator[tuple[Shift, Fraction, Shift]]:
        """Yield what the cells are shifted by at the end, what that costs, and how samples are.

        Args:
            shift: Of the cells at the beginning.
            case: The changes of the inputs that are read.
        """
        changes = iter(case)
        partial: list[tuple[tuple[_Number, ...], _Number, Shift]] = [((), 0, ())]
        for number, (atom, demands) in enumerate(zip(self._atoms, self._demands, strict=True)):
            grown: list[tuple[tuple[_Number, ...], _Number, Shift]] = []
            given = None
            if not isinstance(atom, _Sampled):
                given = _fast(next(changes) / self._unit) if atom else shift[number]
            for shifts, cost, chosen in partial:
                for value, total, levels in (
                    self._sampled(atom, shifts, cost, chosen)
                    if isinstance(atom, _Sampled)
                    else ((given or 0, cost, chosen),)
                ):
                    after = (*shifts, value)
                    for terms, exact in demands:
                        moved = sum([c * after[k] for k, c in terms])
                        if moved < 0 or (moved and exact):
                            break
                    else:
                        grown.append((after, total, levels))
            partial = grown
        for shifts, cost, chosen in partial:
            ends = [sum([c * shifts[k] for k, c in terms]) for terms in self._held]
            if all(end.denominator == 1 for end in ends):
                yield tuple(map(int, ends)), Fraction(cost), chosen

    def _sampled(
        self, atom: _Sampled, shifts: Sequence[_Number], cost: _Number, chosen: Shift
    ) -> Iterator[tuple[_Number, _Number, Shift]]:
        mean = sum([c * shifts[k] for k, c in atom.mean])
        for level in self._levels:
            by = level - mean
            if by and (1 if by > 0 else -1) not in atom.signs:
                continue
            total = cost + abs(by) * atom.price
            if total <= self._budget:
                yield level, total, (*chosen, level)


def _terms(form: Form) -> _Terms:
    return tuple([(atom, _fast(coefficient)) for atom, coefficient in form.terms])


def _fast(value: Fraction) -> _Number:
    return value.numerator if value.denominator == 1 else value
