"""Differences of numbers, x_i - x_j >= c, and what follows from them: closures with reasons.

Guards that are no differences are left aside. What follows is a sum of what is known, so reasons
are multipliers as `kernel.potential` reads them. `linear.differences` has neither reasons nor
strict bounds beside others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.kernel.forms import Form
from dipapprox.kernel.walk import Guard
from dipapprox.proof_steps.machines import Json, number_json

NOTHING = -1
"""Stands for the number 0 among the numbers of atoms."""

Reason = tuple[tuple[int, Fraction], ...]
"""What is known, by number, with multipliers > 0."""


@dataclass(frozen=True, slots=True)
class Difference:
    """x_i - x_j >= least, or > least."""

    least: Fraction
    strict: bool
    reason: Reason

    def follows(self, other: Difference) -> bool:
        """Whether it says at least as much as another."""
        return (self.least, self.strict) >= (other.least, other.strict)

    def plus(self, other: Difference) -> Difference:
        """Add two differences."""
        return Difference(
            self.least + other.least, self.strict or other.strict, self.reason + other.reason
        )


Differences = Mapping[tuple[int, int], Difference]


def closure(known: Sequence[Guard]) -> Differences | Reason:
    """Return all differences that follow, or why what is known is impossible."""
    found: dict[tuple[int, int], Difference] = {}
    for number, (form, strict) in enumerate(known):
        ends = ends_of(form)
        if ends is None:
            continue
        high, low, factor = ends
        difference = Difference(-form.constant / factor, strict, ((number, 1 / factor),))
        if (high, low) not in found or not found[high, low].follows(difference):
            found[high, low] = difference
    places = sorted({place for pair in found for place in pair})
    for middle in places:
        for high in places:
            if (high, middle) not in found:
                continue
            for low in places:
                if (middle, low) not in found:
                    continue
                both = found[high, middle].plus(found[middle, low])
                if high == low:
                    if both.least > 0 or (not both.least and both.strict):
                        return both.reason
                elif (high, low) not in found or not found[high, low].follows(both):
                    found[high, low] = both
    return found


def reason_json(reason: Reason) -> Json:
    """Return multipliers, one for each that occurs."""
    total: dict[int, Fraction] = {}
    for number, factor in reason:
        total[number] = total.get(number, Fraction(0)) + factor
    return [[number, number_json(factor)] for number, factor in sorted(total.items())]


def form_json(form: Form) -> Json:
    """Return a form."""
    terms: list[Json] = [[atom, number_json(c)] for atom, c in form.terms]
    return [number_json(form.constant), terms]


def ends_of(form: Form) -> tuple[int, int, Fraction] | None:
    """Return (i, j, c) for the form c (x_i - x_j) + constant, c > 0."""
    match form.terms:
        case ((atom, factor),):
            return (atom, NOTHING, factor) if factor > 0 else (NOTHING, atom, -factor)
        case ((one, factor), (other, opposite)) if factor == -opposite:
            return (one, other, factor) if factor > 0 else (other, one, -factor)
        case _:
            return None
