"""A published number in, its law out where that has a name."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.laws.family import Family
from dipapprox.numerics.real_outputs.factors import Line


@dataclass(frozen=True, slots=True)
class Noise:
    """The law of a number that is published on no condition.

    Attributes:
        family: Of one sample, or Gaussian.
        mean: Of the number.
        square: Of the scale.
        scale: Of one sample; 0 for several, where it need not be rational.
    """

    family: Family
    mean: Fraction
    square: Fraction
    scale: Fraction


def published_noise(line: Line) -> Noise | None:
    """The law of a number that is one sample, or a sum of Gaussian ones, on no condition."""
    if len(line) > 1 or line[0].events or line[0].marginals[0].event.guards:
        return None
    (marginal,) = line[0].marginals
    form, laws = marginal.form, marginal.event.samples
    terms = [(laws[sample], form.coefficient(sample)) for sample in form.samples()]
    mean = form.constant + sum((c * law.mean for law, c in terms), Fraction(0))
    square = sum(((c * law.scale) ** 2 for law, c in terms), Fraction(0))
    if terms and all(law.family.is_normal for law, _ in terms):
        return Noise(terms[0][0].family, mean, square, Fraction(0))
    if len(terms) == 1:
        ((law, c),) = terms
        return Noise(law.affine(c, Fraction(0)).family, mean, square, abs(c) * law.scale)
    return None
