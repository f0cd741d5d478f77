"""Systems of linear inequalities between independent discrete Laplace samples.

In: an event whose samples are all discrete Laplace. Out: the same over the integers: rates as
multiples of a common one, integer coefficients, every guard Σ a_i z_i <= b with an integer b.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.events.event import Event
from dipapprox.linear.form import content
from dipapprox.linear.integer_points import Inequality, integer_inequality


@dataclass(frozen=True, slots=True)
class IntegerSystem:
    """Inequalities over samples z_i with Pr[z_i] ∝ Y^{rates[i] * |z_i - means[i]|}.

    Attributes:
        unit: Y = e^{-unit * ε}, unit > 0: the largest number of which all 1 / scale are multiples.
        rates: 1 / scale in units, positive.
        means: One for each sample.
        inequalities: Each with at least one term.
    """

    unit: Fraction
    rates: tuple[int, ...]
    means: tuple[int, ...]
    inequalities: tuple[Inequality, ...]


def integer_system(event: Event) -> IntegerSystem | NotEnclosed:
    """Read an event of discrete Laplace samples as a system over the integers."""
    for family in [law.family for law in event.samples]:
        if not family.is_exponential:
            return NotEnclosed(f"outside-fragment: {family.title} noise has no closed form")
        if not family.is_discrete:
            return NotEnclosed("outside-fragment: not all samples are integers")
    means = []
    for law in event.samples:
        if law.mean.denominator != 1:
            return NotEnclosed(f"the mean {law.mean} of a discrete Laplace sample is no integer")
        means.append(law.mean.numerator)
    rates = [1 / law.scale for law in event.samples]
    unit = content(rates)
    multiples = tuple(int(rate / unit) for rate in rates)
    inequalities = tuple(integer_inequality(guard) for guard in event.guards)
    return IntegerSystem(unit, multiples, tuple(means), inequalities)
