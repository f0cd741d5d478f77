"""What `regions` integrates: Laplace densities, and probabilities of integer noise.

Scales a stand for a / ε, in the coordinates u = ε x with constants k for k ε; at ε = 1 they are as
they are written. Terms are c ε^n e^(qε) Π u_s^p_s e^(b_s u_s) for densities. For integers, with z
and denominators as in `decisions.geometric`, they are c z^q Π x_s^p_s z^(b_s x_s) / Π (1 - z^r)^k.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import factorial, lcm

from dipapprox.checking.decisions import geometric
from dipapprox.checking.decisions.geometric import Below, joined
from dipapprox.checking.facts import Line
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution, Family

_ZERO, _ONE = Fraction(0), Fraction(1)

Powers = tuple[int, ...]
Rates = tuple[Fraction, ...]

Smooth = dict[tuple[int, Fraction, Powers, Rates], Fraction]
"""(n, q, powers, rates) -> c != 0."""

Discrete = dict[tuple[int, Powers, tuple[int, ...], Below], Fraction]
"""(q, powers, rates, below) -> c != 0."""


SIDES = {Family.LAPLACE: 2, Family.EXPONENTIAL: 1, Family.REFLECTED_EXPONENTIAL: 1}
"""Of its mean on which a law has mass, by the laws that are integrated here: their number."""


@dataclass(frozen=True, slots=True)
class Densities:
    """Laplace noise and its halves."""

    laws: tuple[Distribution, ...]
    integers = False

    def density(self, sides: Sequence[int]) -> Smooth:
        """See `Calculus`."""
        c, q, rates = _ONE, _ZERO, list[Fraction]()
        for law, side in zip(self.laws, sides, strict=True):
            rate = 1 / law.scale
            c *= rate / SIDES[law.family]
            q += side * rate * law.mean
            rates.append(-side * rate)
        return {(0, q, (0,) * len(rates), tuple(rates)): c}

    def plus(self, left: Smooth, right: Smooth) -> Smooth:
        """See `Calculus`."""
        total = dict(left)
        for key, c in right.items():
            total[key] = total.get(key, _ZERO) + c
        return {key: c for key, c in total.items() if c}

    def between(
        self, terms: Smooth, variable: int, lower: Line | None, upper: Line | None
    ) -> Smooth:
        """See `Calculus`; ∫ u^m e^(bu) = e^(bu) Σ_i (-1)^i m! / (m - i)! u^(m-i) / b^(i+1)."""
        total: Smooth = {}
        for end, sign in ((upper, 1), (lower, -1)):
            if end is None:
                continue
            for (n, q, powers, rates), c in terms.items():
                b, m = rates[variable], powers[variable]
                if b:
                    parts = [
                        (m - i, (-1) ** i * Fraction(factorial(m), factorial(m - i)) / b ** (i + 1))
                        for i in range(m + 1)
                    ]
                else:
                    parts = [(m + 1, Fraction(1, m + 1))]
                steady = tuple(0 if s == variable else r for s, r in enumerate(rates))
                moved = list(map(Fraction, steady))
                for s, a in end.terms:
                    moved[s] += b * a
                for power, factor in parts:
                    own = tuple(0 if s == variable else p for s, p in enumerate(powers))
                    for (k, more), d in _power(end, power, len(powers)).items():
                        key = (
                            n + k,
                            q + b * end.constant,
                            tuple(map(sum, zip(own, more, strict=True))),
                            tuple(moved),
                        )
                        total[key] = total.get(key, _ZERO) + sign * c * factor * d
        return {key: c for key, c in total.items() if c}


@dataclass(frozen=True, slots=True)
class Masses:
    """Discrete Laplace noise; `unit` is R."""

    laws: tuple[Distribution, ...]
    integers = True

    @property
    def unit(self) -> int:
        """R: z = e^(-ε/R)."""
        return lcm(*(law.scale.numerator for law in self.laws))

    def density(self, sides: Sequence[int]) -> Discrete:
        """See `Calculus`; (1 - z^r) / (1 + z^r) is (1 - z^r)^2 / (1 - z^2r)."""
        nothing = (0,) * len(self.laws)
        total: Discrete = {(0, nothing, nothing, ()): _ONE}
        for place, (law, side) in enumerate(zip(self.laws, sides, strict=True)):
            rate, mean = int(self.unit / law.scale), int(law.mean)
            following: Discrete = {}
            for (q, powers, rates, below), c in total.items():
                own = (*rates[:place], side * rate, *rates[place + 1 :])
                under = joined(below, ((2 * rate, 1),))
                for k, factor in enumerate((1, -2, 1)):
                    key = q + k * rate - side * rate * mean, powers, own, under
                    following[key] = following.get(key, _ZERO) + factor * c
            total = following
        return total

    def plus(self, left: Discrete, right: Discrete) -> Discrete:
        """See `Calculus`."""
        total = dict(left)
        for key, c in right.items():
            total[key] = total.get(key, _ZERO) + c
        return {key: c for key, c in total.items() if c}

    def between(
        self, terms: Discrete, variable: int, lower: Line | None, upper: Line | None
    ) -> Discrete:
        """See `Calculus`: S(upper + 1) - S(lower)."""
        total: Discrete = {}
        for end, sign in ((upper, 1), (lower, -1)):
            if end is None:
                continue
            place = end + Line(Fraction(sign > 0))
            for (q, powers, rates, below), c in terms.items():
                b, m = rates[variable], powers[variable]
                moved = [0 if s == variable else r for s, r in enumerate(rates)]
                for s, a in place.terms:
                    moved[s] += b * int(a)
                own = tuple(0 if s == variable else p for s, p in enumerate(powers))
                for (more, power, under), d in geometric.antidifference(b, m).items():
                    factor = Fraction(int(d.p), int(d.q))
                    for (_, shares), e in _power(place, power, len(powers)).items():
                        key = (
                            q + more + b * int(place.constant),
                            tuple(map(sum, zip(own, shares, strict=True))),
                            tuple(moved),
                            joined(below, under),
                        )
                        total[key] = total.get(key, _ZERO) + sign * c * factor * e
        return {key: c for key, c in total.items() if c}


def _power(line: Line, exponent: int, size: int) -> dict[tuple[int, Powers], Fraction]:
    """(Σ a_s u_s + k ε)^exponent: (power of ε, powers) -> c."""
    result: dict[tuple[int, Powers], Fraction] = {(0, (0,) * size): _ONE}
    for _ in range(exponent):
        following: dict[tuple[int, Powers], Fraction] = {}
        for (n, powers), c in result.items():
            if line.constant:
                key = n + 1, powers
                following[key] = following.get(key, _ZERO) + c * line.constant
            for s, a in line.terms:
                key = n, (*powers[:s], powers[s] + 1, *powers[s + 1 :])
                following[key] = following.get(key, _ZERO) + c * a
        result = following
    return result
