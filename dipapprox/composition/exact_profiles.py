"""Compositions of finitely many rational outcomes: the exact least δ, for every ε.

The loss distribution is kept exactly, by the ratios P / Q of the products. Between two ratios

    H(α) = Σ P (1 - α / ratio)₊ + p_∞ = A - α B,     over the ratios > α,

with rational A and B. So H is one line in α = e^ε for every ε between two losses, and a rational
number at rational α. At rational ε > 0 no ratio is e^ε, which is irrational: balls tell the two
apart at some precision, and A - e^ε B from another such number, unless they are the same.

H falls to δ where A - α B = δ, on one of the lines: the least ε is ln of a rational number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from operator import lt

from flint import arb

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.accountant import Composition
from dipapprox.composition.catalogue import is_symmetric
from dipapprox.composition.mechanisms import (
    Atoms,
    Mechanism,
    RandomisedResponse,
    Subsampled,
)
from dipapprox.data_classes import dataclass
from dipapprox.digits import exact_text
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits

_ZERO = Fraction(0)
_BITS = 64


@dataclass(frozen=True, slots=True)
class Line:
    """constant - factor e^ε, exactly.

    Attributes:
        constant: A >= 0.
        factor: B >= 0.
    """

    constant: Fraction
    factor: Fraction

    def __str__(self) -> str:
        constant = exact_text(self.constant)
        return f"{constant} - {exact_text(self.factor)} * exp(eps_prv)" if self.factor else constant

    def at(self, alpha: Fraction) -> Fraction:
        """Evaluate at a rational e^ε."""
        return self.constant - alpha * self.factor

    def enclosed(self, budget: Fraction, bits: int) -> Enclosure:
        """Enclose it at an ε >= 0; exactly, if that is a rational number."""
        if not budget or not self.factor:
            return Enclosure.exact(self.at(Fraction(1)))
        with precision(bits):
            found = to_enclosure(to_ball(self.constant) - to_ball(self.factor) * _power(budget))
        return UNIT if isinstance(found, NotEnclosed) else UNIT.intersect(found)


@dataclass(frozen=True, slots=True)
class LeastBudget:
    """An ε >= 0, exactly: ln(factor)."""

    factor: Fraction

    def __str__(self) -> str:
        return f"log({exact_text(self.factor)})" if self.factor != 1 else "0"

    def enclosed(self, bits: int) -> Enclosure:
        """Enclose it, at so many bits."""
        if self.factor == 1:
            return Enclosure.exact(0)
        with precision(bits):
            found = to_enclosure(to_ball(self.factor).log())
        if isinstance(found, NotEnclosed):
            raise BrokenInvariant("the logarithm of a number > 1 is not finite")
        return Enclosure(max(found.lower, _ZERO), found.upper)


@dataclass(frozen=True, slots=True)
class Piece:
    """The least δ where e^ε is less than `below`, and at least what the piece before it is below.

    Attributes:
        below: A ratio of outcomes; None for all further ε.
        line: δ there.
    """

    below: Fraction | None
    line: Line

    @property
    def end(self) -> str | None:
        """What e^ε is below."""
        return None if self.below is None else exact_text(self.below)


@dataclass(frozen=True, slots=True)
class ExactProfile:
    """The least δ of a composition.

    Attributes:
        directions: Loss distributions whose greater H is the profile.
    """

    directions: tuple[_Ratios, ...]

    def at(self, alpha: Fraction) -> Fraction:
        """Return the least δ for a rational e^ε >= 1."""
        return max(each.line(lambda ratio: ratio > alpha).at(alpha) for each in self.directions)

    def budget(self, delta: Fraction) -> LeastBudget | None:
        """Return the least ε >= 0 with a least δ of at most `delta`, < 1; None if there is none."""
        factors = [each.least_factor(delta) for each in self.directions]
        finite = [each for each in factors if each is not None]
        return LeastBudget(max(finite)) if len(finite) == len(factors) else None

    def line(self, budget: Fraction) -> Line:
        """Return the line that is the least δ at an ε >= 0."""
        lines = [
            each.line(lambda ratio: _sign(ratio, Fraction(1), budget) > 0)
            for each in self.directions
        ]
        greatest = lines[0]
        for line in lines[1:]:
            constant, factor = line.constant - greatest.constant, line.factor - greatest.factor
            if _sign(constant, factor, budget) > 0:
                greatest = line
        return greatest

    def pieces(self) -> tuple[Piece, ...] | None:
        """Return the profile for all ε >= 0, ascending; None if it is the greater one of two."""
        if len(self.directions) > 1:
            return None
        (own,) = self.directions
        ends = sorted(ratio for ratio in own.masses if ratio > 1)
        starts = [Fraction(1), *ends]
        found = [own.line(partial(lt, start)) for start in starts]
        return tuple(map(Piece, [*ends, None], found))


def exact_profile(composition: Composition, limits: Limits) -> ExactProfile | None:
    """Return the exact profile of a composition.

    Args:
        composition: Of mechanisms.
        limits: The time, and how many ratios of outcomes.

    Returns:
        None if a mechanism's outcomes are not finitely many, exact and rational.

    Raises:
        LimitReached: If the limits are.
    """
    pairs = []
    for run in composition.runs:
        own = rational_pairs(run.mechanism)
        if own is None:
            return None
        pairs.append(own)
    symmetric = all(is_symmetric(run.mechanism) for run in composition.runs)
    found = []
    for turned in (False,) if symmetric else (False, True):
        total = _Ratios({Fraction(1): Fraction(1)}, _ZERO)
        for own, run in zip(pairs, composition.runs, strict=True):
            one = _ratios([(q, p) for p, q in own] if turned else own)
            total = total.times(one.power(run.times, limits), limits)
        found.append(total)
    return ExactProfile(tuple(found))


def _sign(constant: Fraction, factor: Fraction, budget: Fraction) -> int:
    """The sign of constant - factor e^budget, for rational numbers."""
    if not budget or not factor:
        value = constant - factor
        return (value > 0) - (value < 0)
    bits = _BITS
    while True:  # ends: e to a rational number that is not 0 is irrational
        with precision(bits):
            difference = to_ball(constant) - to_ball(factor) * _power(budget)
        if difference != 0:
            return 1 if difference > 0 else -1
        bits *= 2


def _power(budget: Fraction) -> arb:
    return to_ball(budget).exp()


def rational_pairs(mechanism: Mechanism) -> list[tuple[Fraction, Fraction]] | None:
    """(P, Q) masses of outcomes that a mechanism has, exactly."""
    match mechanism:
        case RandomisedResponse(probability, values):
            other = (1 - probability) / (values - 1)
            rest = 1 - probability - other
            pairs = [(probability, other), (other, probability)]
            return [*pairs, (rest, rest)] if rest else pairs
        case Atoms(masses, attained=True) if all(not p.width and not q.width for p, q in masses):
            return [(p.lower, q.lower) for p, q in masses if p.lower or q.lower]
        case Subsampled(inner, rate):
            pairs_or_none = rational_pairs(inner)
            if pairs_or_none is None:
                return None
            return [(rate * p + (1 - rate) * q, q) for p, q in pairs_or_none]
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Ratios:
    """An exact loss distribution: P mass by the ratio P / Q, and where Q has none."""

    masses: dict[Fraction, Fraction]
    infinite: Fraction

    def line(self, counts: Callable[[Fraction], bool]) -> Line:
        """Return A and B for the ratios that count."""
        inner = [(ratio, p) for ratio, p in self.masses.items() if counts(ratio)]
        constant = sum((p for _, p in inner), self.infinite)
        return Line(constant, sum((p / ratio for ratio, p in inner), _ZERO))

    def least_factor(self, delta: Fraction) -> Fraction | None:
        """Return the least α >= 1 with H(α) <= δ; None if there is none."""
        if self.infinite > delta:
            return None
        constant, factor = self.infinite, _ZERO
        for ratio in sorted(self.masses, reverse=True):
            # From here up to the next greater ratio H is constant - α factor.
            if ratio <= 1 or constant - ratio * factor > delta:
                break
            constant += self.masses[ratio]
            factor += self.masses[ratio] / ratio
        return max((constant - delta) / factor, Fraction(1)) if factor else Fraction(1)

    def times(self, other: _Ratios, limits: Limits) -> _Ratios:
        """Compose two."""
        found: dict[Fraction, Fraction] = {}
        for ratio, mass in self.masses.items():
            limits.check()
            limits.check_atoms(len(found))
            for factor, share in other.masses.items():
                product = ratio * factor
                found[product] = found.get(product, _ZERO) + mass * share
        infinite = self.infinite + other.infinite - self.infinite * other.infinite
        return _Ratios(found, infinite)

    def power(self, times: int, limits: Limits) -> _Ratios:
        """Compose with itself, times >= 1."""
        found = self
        for digit in bin(times)[3:]:
            found = found.times(found, limits)
            if digit == "1":
                found = found.times(self, limits)
        return found


def _ratios(pairs: Sequence[tuple[Fraction, Fraction]]) -> _Ratios:
    masses: dict[Fraction, Fraction] = {}
    infinite = _ZERO
    for p, q in pairs:
        if not q:
            infinite += p
        elif p:
            masses[p / q] = masses.get(p / q, _ZERO) + p
    return _Ratios(masses, infinite)
