"""Whole numbers of which only ranges are known, and what comparisons say of them.

In a state by differences a cell is a symbol, and a handler that compares it is followed once for
each range of values for which the comparisons come out alike (`KeptCells`). Two runs whose cells
differ by known numbers then answer by one of few *cases*: ranges of the first run's values, moved
by the differences, and of the second run's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, floor, prod

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Cell
from dipapprox.language.domains import AllReals
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.inputs import Knowledge
from dipapprox.services.model import CallOutcome, NotPlain, Range, Step, Untracked

_MOST_CASES = 500


def range_of(cell: Cell) -> Range | None:
    """Return the whole numbers that a cell holds; None if its domain is of another kind."""
    if isinstance(cell.domain, AllReals) or not cell.domain:
        return None
    numbers = [v for v in cell.domain if isinstance(v, Fraction) and v.denominator == 1]
    if len(numbers) != len(cell.domain):
        return None
    low, high = int(min(numbers)), int(max(numbers))
    return (low, high) if high - low + 1 == len(set(numbers)) else None


@dataclass(frozen=True, slots=True, eq=False)
class KeptCells(Knowledge):
    """What a path knows of cells that are symbols: of some, between which numbers they lie."""

    ranges: Mapping[str, Range]

    def assume(self, form: LinearForm, strict: bool) -> KeptCells | None:
        """Add form <= 0 (< 0 if `strict`); None if that is never so; it has to be about one cell
        with a range."""
        (name, factor), *others = form.terms
        if others or name not in self.ranges:
            raise NotPlain(form.inputs())
        root = -form.constant / factor
        low, high = self.ranges[str(name)]
        if factor > 0:
            high = min(high, ceil(root) - 1 if strict else floor(root))
        else:
            low = max(low, floor(root) + 1 if strict else ceil(root))
        if low > high:
            return None
        ranges = {**self.ranges, str(name): (low, high)}
        return KeptCells(self.domains, self.allowed, self.linear, ranges)


def cases(
    left: Step, right: Step, values: Mapping[str, Range], apart: Callable[[str], Fraction]
) -> Iterator[tuple[Step, Step]]:
    """Yield the outcomes that two runs may have together, whatever their cells hold.

    Args:
        values: All that cells may hold.
        apart: How much more the first run's cell holds than the second's, a whole number.

    Raises:
        Untracked: If there are too many cases.
    """
    names = sorted({name for outcome in (*left, *right) for name, _ in outcome.where})
    if not names:
        yield left, right
        return
    pieces = [list(_pieces(name, left, right, values[name], apart(name))) for name in names]
    if prod(map(len, pieces)) > _MOST_CASES:
        raise Untracked(frozenset(names))
    seen = set()
    for piece in product(*pieces):
        ours = dict(zip(names, piece, strict=True))
        theirs = {name: number - int(apart(name)) for name, number in ours.items()}
        active = _active(left, ours), _active(right, theirs)
        if active not in seen:
            seen.add(active)
            yield tuple(left[k] for k in active[0]), tuple(right[k] for k in active[1])


def _pieces(name: str, left: Step, right: Step, values: Range, apart: Fraction) -> Iterator[int]:
    """Yield one value of the first run's cell for each range in which all outcomes stay."""
    moved = int(apart)
    low, high = max(values[0], values[0] + moved), min(values[1], values[1] + moved)
    if low > high:
        return
    cuts = {low, high + 1}
    for step, by in ((left, 0), (right, moved)):
        for outcome in step:
            for each, (first, last) in outcome.where:
                if each == name:
                    cuts.update((first + by, last + 1 + by))
    for begin, _ in pairwise(sorted(cut for cut in cuts if low <= cut <= high + 1)):
        yield begin


def _active(step: Sequence[CallOutcome], values: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(
        place
        for place, outcome in enumerate(step)
        if all(low <= values[name] <= high for name, (low, high) in outcome.where)
    )
