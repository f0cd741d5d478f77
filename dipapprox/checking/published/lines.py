"""The numbers of an outcome one by one: which tell two inputs apart, and their measures on lines.

In: the parts of an outcome for two inputs, of independent numbers (`outcomes`). Out: for a number
both measures about 0, with all else as weights; where that is possible, measures as products.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.checking.distributions import NoBounds
from dipapprox.checking.facts import Line
from dipapprox.checking.published.outcomes import Marginal, Part, Parts

_ZERO = Fraction(0)

OneNumber = tuple[tuple[tuple[int, ...], tuple[Marginal, ...], Marginal], ...]
"""Of every part what concerns no number, what concerns other numbers, and the one number."""


Line1D = tuple[OneNumber, OneNumber]
"""The measures of one number, for both inputs."""


def told_apart(first: Parts, second: Parts) -> tuple[int, ...]:
    """Return the numbers that may tell two measures apart."""
    every = [part.marginals for part in (*first, *second)]
    return tuple(k for k, own in enumerate(zip(*every, strict=True)) if len(set(own)) > 1)


def varying(first: Parts, second: Parts, told: Sequence[int]) -> list[int]:
    """Return those of some numbers in which the paths of one input differ."""
    return [
        k
        for k in told
        if any(len({part.marginals[k] for part in side}) > 1 for side in (first, second))
    ]


def only_one(told: Sequence[int], otherwise: int) -> int:
    """Return the one number that tells two measures apart, or another one if none does.

    Raises:
        NoBounds: If there are several.
    """
    if len(told) > 1:
        raise NoBounds("several numbers tell the inputs apart together")
    return told[0] if told else otherwise


def lines_of(
    first: Parts, second: Parts, told: Sequence[int]
) -> tuple[tuple[Line1D, ...], tuple[Marginal, ...]]:
    """Write two measures as products, of measures on lines for the numbers that tell them apart,
    and of the marginals of the others; the paths of one input differ in one of the numbers at most.
    """
    differing = varying(first, second, told)
    weighty = differing[0] if differing else told[0]
    starts = [_centre(marginal) for marginal in first[0].marginals]

    def own(side: Parts, k: int) -> OneNumber:
        if k != weighty:
            return (((), (), _placed(side[0], k, starts[k])),)
        return tuple((part.factors, (), _placed(part, k, starts[k])) for part in side)

    lines = tuple((own(first, k), own(second, k)) for k in told)
    return lines, tuple(m for k, m in enumerate(first[0].marginals) if k not in told)


def sides_of(
    first: Parts, second: Parts, coordinate: int
) -> tuple[tuple[OneNumber, OneNumber], Fraction]:
    """Both measures about 0, and what was taken from the one number."""
    starts = [_centre(marginal) for marginal in (*first, *second)[0].marginals]

    def own(part: Part) -> tuple[tuple[int, ...], tuple[Marginal, ...], Marginal]:
        placed = [_placed(part, k, start) for k, start in enumerate(starts)]
        one = placed.pop(coordinate)
        return part.factors, tuple(placed), one

    one, two = (tuple(map(own, side)) for side in (first, second))
    return (one, two), starts[coordinate]


def _centre(marginal: Marginal) -> Fraction:
    form = marginal.number
    return form.constant + sum((c * marginal.laws[s].mean for s, c in form.terms), _ZERO)


def _placed(part: Part, coordinate: int, start: Fraction) -> Marginal:
    """The marginal of number - start, with samples about 0, so that shifted ones are equal."""
    marginal = part.marginals[coordinate]
    total = sum((c for _, c in marginal.number.terms), _ZERO)
    form = marginal.number
    if total:
        by = (form.constant - start) / total
        moved = marginal.mapped(Fraction(1), by)
        # x' = x + by: the number is Σ c x' - by Σ c + constant
        form = Line(_ZERO, form.terms) + Line(form.constant - by * total - start)
        return Marginal(moved.laws, moved.lines, form)
    return Marginal(marginal.laws, marginal.lines, form + Line(-start))
