"""Where a divergence violates the claim: ranges of ε with ends that hold for the true δ.

A δ that is known by brackets only gives two sets of ranges: with the bracket's upper end those that
are violated for certain, with its lower end those that may be. Brackets are narrowed until the two
correspond to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.exact.signs.negative_set import NegativeRange
from dipapprox.privacy.decisions.divergences import Divergence
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.signs import Signs


def violated_ranges(
    divergence: Divergence, question: DecisionQuestion, signs: Signs
) -> tuple[NegativeRange, ...] | None:
    """Return where a divergence exceeds δ, ends to about a width; None if brackets do not tell."""
    width = question.width
    found: tuple[NegativeRange, ...] | None = None
    for low, high in question.delta.brackets():
        certain = signs.negative(signs.numerator(high - divergence.function), width)
        if low == high:
            return certain
        possible = signs.negative(signs.numerator(low - divergence.function), width)
        found = _joined(certain, possible)
        if found is not None and all(_is_narrow(each, 4 * width) for each in found):
            return found
    return found


def _joined(
    certain: Sequence[NegativeRange], possible: Sequence[NegativeRange]
) -> tuple[NegativeRange, ...] | None:
    """Enclose the ends that lie between those of inner and outer ranges, one by one."""
    if len(certain) != len(possible):
        return None
    joined = []
    for inner, outer in zip(certain, possible, strict=True):
        if (inner.upper is None) != (outer.upper is None):
            return None
        upper = None
        if inner.upper is not None and outer.upper is not None:
            if inner.upper.lower > outer.upper.upper:
                return None
            upper = Enclosure(inner.upper.lower, outer.upper.upper)
        if outer.lower.lower > inner.lower.upper:
            return None
        if (inner.lower_included, inner.upper_included) != (
            outer.lower_included,
            outer.upper_included,
        ):
            return None
        lower = Enclosure(outer.lower.lower, inner.lower.upper)
        joined.append(NegativeRange(lower, upper, inner.lower_included, inner.upper_included))
    return tuple(joined)


def _is_narrow(each: NegativeRange, width: Fraction) -> bool:
    return each.lower.width <= width and (each.upper is None or each.upper.width <= width)
