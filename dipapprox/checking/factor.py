"""e^eps_prv for the checker's sums."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.numerics.enclosure import NotEnclosed
from dipapprox.numerics.precision import precision, to_ball, to_enclosure

_LARGEST = Fraction(10_000)


@dataclass(frozen=True, slots=True)
class Factor:
    """lower <= e^eps_prv <= upper; `upper` None stands for infinity."""

    lower: Fraction
    upper: Fraction | None


def factor_of(eps_prv: Fraction, bits: int) -> Factor:
    """Enclose e^eps_prv, eps_prv >= 0, to about 2**-bits of its size; huge ones from below only."""
    if eps_prv == 0:
        return Factor(Fraction(1), Fraction(1))
    bounded = min(eps_prv, _LARGEST)
    with precision(bits + 24):
        found = to_enclosure(to_ball(bounded).exp())
    assert not isinstance(found, NotEnclosed), "e^10000 is finite"
    return Factor(found.lower, found.upper if bounded == eps_prv else None)
