"""Can a path be taken? Asked for the rare paths on which something goes wrong.

In: what a path knows about the inputs, and its guards. A path can be taken if some input row meets
its conditions and, at that row, the guards leave more than a null set of samples. Rows are tried
cell by cell; a partial row is given up as soon as the conditions, or the guards, exclude it:

    partial row -- a condition fails even at its best value      --> give up
         |      -- the guards, each at its best value, are null  --> give up
         |      -- all cells are known                           --> the path can be taken
         `-> every value of the next cell
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from dipapprox.distributions import Family
from dipapprox.semantics.inputs import Knowledge
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.polyhedra import has_interior
from dipapprox.semantics.state import Guard, Sample

_MOST_ROWS = 10_000
"""Partial rows that are tried; a path that needs more counts as one that can be taken."""


def can_be_taken(knowledge: Knowledge, guards: Iterable[Guard], check: Callable[[], None]) -> bool:
    """Return whether a path has a positive probability for some input row.

    False is always proved; True may also mean that the rows are too many to tell.

    Args:
        knowledge: The conditions on the inputs.
        guards: The guards on the samples.
        check: Called for every partial row; raises to stop.
    """
    conditions = [(c.form, c.strict) for c in knowledge.linear if c.form is not None]
    # Each guard as its part over samples, and its part over inputs with the constant.
    parts = [_parted(guard.form) for guard in guards]
    uses = Counter(
        cell for form in (*(f for f, _ in conditions), *(f for _, f in parts))
        for cell in form.inputs()
    )  # fmt: skip
    cells = [cell for cell, _ in uses.most_common()]
    open_sets: dict[tuple[Fraction, ...], bool] = {}

    def is_excluded(row: Knowledge) -> bool:
        for form, strict in conditions:
            least = row.range(form)[0]
            if least > 0 or (strict and least == 0):
                return True
        bests = tuple(row.range(form)[0] for _, form in parts)
        if bests not in open_sets:
            system = (LinearForm(f.terms, best) for (f, _), best in zip(parts, bests, strict=True))
            open_sets[bests] = has_interior(system)
        return not open_sets[bests]

    waiting = [(knowledge, 0)]
    for _ in range(_MOST_ROWS):
        if not waiting:
            return False
        check()
        row, known = waiting.pop()
        if is_excluded(row):
            continue
        if known == len(cells):
            return True
        cell = cells[known]
        for value in row.values(cell):
            allowed = {**row.allowed, cell: frozenset({value})}
            waiting.append((Knowledge(row.domains, allowed, row.linear), known + 1))
    return bool(waiting)


def supports(guards: Iterable[Guard], samples: Sequence[Sample]) -> Iterator[Guard]:
    """Yield that the one-sided samples in guards lie on their side of their means."""
    mentioned = {sample for guard in guards for sample in guard.form.samples()}
    for number in sorted(mentioned):
        sample = samples[number]
        above = LinearForm.symbol(number) - sample.mean
        match sample.family:
            case Family.EXPONENTIAL:
                yield Guard((-above).normalised(), False)
            case Family.REFLECTED_EXPONENTIAL:
                yield Guard(above.normalised(), False)
            case _:
                pass


def _parted(form: LinearForm) -> tuple[LinearForm, LinearForm]:
    """Split a form into its terms over samples, and the rest."""
    samples = tuple(term for term in form.terms if isinstance(term[0], int))
    inputs = tuple(term for term in form.terms if isinstance(term[0], str))
    return LinearForm(samples, Fraction(0)), LinearForm(inputs, form.constant)
