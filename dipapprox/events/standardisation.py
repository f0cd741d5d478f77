"""Laws of an event in, the substitution that brings them into normal form out.

    x = sign·(unit·y + origin),   so that the least mean of the y is 0, the greatest scale 1

or, of integers, the least mean 0 or 1/2 and the scales as they were.

Events and stars differ in how they are read and labelled; what their laws and guards become is
said here for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import floor

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution, Family
from dipapprox.semantics.linear import LinearForm, are_opposite

LawKey = tuple[str, int, int, int, int]
"""A law as integers and a string: hashed, compared and ordered faster than fractions."""


def law_key(law: Distribution) -> LawKey:
    """Return the parts of a law."""
    mean, scale = law.mean, law.scale
    return law.family.name, mean.numerator, mean.denominator, scale.numerator, scale.denominator


def _law(key: LawKey) -> Distribution:
    family, *parts = key
    return Distribution(Family[family], Fraction(*parts[:2]), Fraction(*parts[2:]))


@dataclass(frozen=True, slots=True, eq=False)
class Standardisation:
    """A substitution x = sign·(unit·y + origin), and what it makes of some laws.

    Attributes:
        laws: Of y, by the key of the law of x.
        keys: Of `laws`, likewise.
    """

    sign: int
    unit: Fraction
    origin: Fraction
    laws: Mapping[LawKey, Distribution]
    keys: Mapping[LawKey, LawKey]

    def guard(self, form: LinearForm) -> LinearForm:
        """form(sign·(unit·y + origin)) / unit."""
        terms, constant = form.terms, form.constant
        if len(terms) != 2 or not are_opposite(terms[0][1], terms[1][1]):
            constant += self.sign * self.origin * sum([c for _, c in terms], Fraction(0))
        if constant.numerator:  # no new fraction for nearly all guards
            constant /= self.unit
        if self.sign < 0:
            terms = tuple([(s, -c) for s, c in terms])
        return LinearForm(terms, constant)


@lru_cache(maxsize=4096)
def standardise(laws: frozenset[LawKey], sign: int) -> Standardisation:
    """Standardise some laws, at least one; the mirror image for sign = -1.

    Integers stay integers: the origin is one, and the unit is 1. The events of an input share their
    laws, hence what standardises them.
    """
    known = {key: _law(key) for key in laws}
    origin = min([sign * law.mean for law in known.values()])
    discrete = any(law.family.is_discrete for law in known.values())
    if discrete:
        origin = Fraction(floor(origin))  # the leaves of stars lie between integers
    unit = Fraction(1) if discrete else max([law.scale for law in known.values()])
    changed = {key: law.affine(sign / unit, -origin / unit) for key, law in known.items()}
    return Standardisation(
        sign, unit, origin, changed, {key: law_key(law) for key, law in changed.items()}
    )
