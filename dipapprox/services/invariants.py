"""Cells that are kept by differences hold values of their domains: proved by induction over calls.

Ranges of single cells do not tell that a total stays between its bounds where a count beside it
does. So for two cells that change together, z from a <= 0 to b >= 0 and y from 0 to c, it is
supposed that a y <= c z <= b y, and kept if no call breaks it: what all calls keep, together, is
true of all states that calls lead to (Houdini, Flanagan and Leino 2001).

*Proof.* What is left holds in the initial state, and after a call if it held before. What is asked
is whether some whole numbers, within what is known before the call, break it afterwards; no real
ones do, by linear programmes. ∎
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction

from dipapprox.limits import check_limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import nearest_point
from dipapprox.services.model import CallOutcome, Range, Where


class Invariants:
    """What calls keep of cells that are symbols.

    Args:
        names: Of the cells, in the order of the forms of outcomes.
        ranges: Of what has one: cells, and data.
        initial: What cells hold at first.
        outcomes: Of all calls, from all states that they lead to.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        ranges: Mapping[str, Range],
        initial: Mapping[Symbol, LinearForm],
        outcomes: Collection[CallOutcome],
    ) -> None:
        self._ranges = ranges
        self._changes: list[tuple[dict[Symbol, LinearForm], Where]] = [
            ({n: f for n, f in zip(names, o.forms, strict=True) if f != _symbol(n)}, o.where)
            for o in outcomes
        ]
        self._initial, self._kept = initial, list[LinearForm]()

    def untold(self, cells: Collection[str]) -> list[str]:
        """Return the cells, of some, that perhaps do not always get values of their domains."""
        supposed = self._supposed(cells)
        self._kept = [each for each in supposed if each.substitute(self._initial).constant <= 0]
        while broken := [form for form in self._kept if not self._is_kept(form)]:
            self._kept = [form for form in self._kept if form not in broken]
        within = {name: _between(_symbol(name), self._ranges[name]) for name in cells}
        return [name for name in cells if not all(map(self._is_kept, within[name]))]

    def _supposed(self, cells: Collection[str]) -> Iterator[LinearForm]:
        for z in cells:
            low, high = self._ranges[z]
            beside = [set(map(str, changed)) for changed, _ in self._changes if z in changed]
            for y in set.intersection(*beside) - {z} if beside and low <= 0 <= high else ():
                if y in self._ranges and self._ranges[y][0] == 0 < self._ranges[y][1]:
                    own, most = _symbol(z).scaled(Fraction(self._ranges[y][1])), _symbol(y)
                    yield own - most.scaled(Fraction(high))
                    yield most.scaled(Fraction(low)) - own

    def _is_kept(self, form: LinearForm) -> bool:
        """Whether form <= 0 after every call that changes it, within what is known before."""
        return all(
            self._implies(where, form.substitute(changed))
            for changed, where in self._changes
            if any(name in changed for name in form.inputs())
        )

    def _implies(self, where: Where, form: LinearForm) -> bool:
        check_limits()
        if not form.terms:
            return form.constant <= 0
        known = [
            each
            for told, values in where
            for each in _between(_symbol(told) if isinstance(told, str) else told, values)
        ]
        about = {name for each in (form, *known) for name in each.inputs()}
        about.update(n for kept in self._kept if about & {*kept.inputs()} for n in kept.inputs())
        known += [kept for kept in self._kept if about >= {*kept.inputs()}]
        for name in about & self._ranges.keys():
            known += _between(_symbol(name), self._ranges[name])
        return nearest_point([*known, LinearForm.constant_form(1) - form], about) is None


def _symbol(name: str) -> LinearForm:
    return LinearForm.symbol(name)


def _between(form: LinearForm, values: Range) -> tuple[LinearForm, LinearForm]:
    """Return what is <= 0 where a form lies in a range."""
    low, high = map(LinearForm.constant_form, values)
    return form - high, low - form
