"""The divergence of what two inputs publish at any factor, with a set that nearly attains it.

Each outcome of the first input is of one of these kinds, told once for all factors:

    Vectors    two Gaussian vectors that differ in their means: half-spaces
    Line       one number tells the measures apart: where f - α g is surely positive
    Whole      nothing does, or only one of the inputs has the outcome: all of it, or nothing

Pairs of inputs of which all outcomes are of equal kinds have equal divergences.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.checking.distributions import NoBounds
from dipapprox.checking.factor import factor_of
from dipapprox.checking.pairs import Pair
from dipapprox.checking.published.divergences import Divergences, Factors
from dipapprox.checking.published.gaussian_vectors import (
    gaussian_set,
    gaussian_stick,
    nonnegative,
)
from dipapprox.checking.published.hockey_sticks import HockeyStick, OnPanels, ball_of
from dipapprox.checking.published.lines import OneNumber, only_one, sides_of, told_apart
from dipapprox.checking.published.outcomes import Endings, Part
from dipapprox.data_classes import dataclass
from dipapprox.numerics.enclosure import UNIT, Enclosure
from dipapprox.numerics.precision import precision

_ZERO = Fraction(0)
_NOTHING = Enclosure.exact(0)
_ONE = Enclosure.exact(1)

_FACTOR_BITS = 200


@dataclass(frozen=True, slots=True)
class _Vectors:
    square: Fraction
    besides: tuple[Factors, Factors]


@dataclass(frozen=True, slots=True)
class _Line:
    sides: tuple[OneNumber, OneNumber]


@dataclass(frozen=True, slots=True)
class _Whole:
    """Parts of the first input, and of the second; `equal`: these are one measure."""

    first: tuple[Part, ...]
    second: tuple[Part, ...]
    equal: bool


_Kind = _Vectors | _Line | _Whole
Kinds = tuple[int, ...]
"""Of every outcome its kind, by number."""


class BestSets:
    """Divergences of a program's pairs of inputs at any factor > 0.

    Args:
        divergences: Of the program.
    """

    def __init__(self, divergences: Divergences) -> None:
        self._divergences = divergences
        self._kinds: dict[Pair, Kinds] = {}
        self._numbers: dict[_Kind, int] = {}
        self._named: list[_Kind] = []
        self._panels: dict[tuple[int, int], OnPanels] = {}
        self._known: dict[tuple[int, Enclosure, int], HockeyStick] = {}

    def kinds(self, pair: Pair) -> Kinds:
        """Return what an ordered pair is; what is equal has equal divergences.

        Raises:
            NoBounds: If an outcome is beyond the check's rules.
            Stuck, LimitReached: If the program cannot be followed, or the limits run out.
        """
        if pair not in self._kinds:
            first, second = map(self._divergences.outcomes, pair)
            self._kinds[pair] = tuple(
                self._numbered(self._kind(endings, second.get(outcome, ())))
                for outcome, endings in first.items()
            )
        return self._kinds[pair]

    def at(self, pair: Pair, growth: Enclosure, bits: int) -> HockeyStick:
        """Enclose sup over sets S of first(S) - growth second(S), and both masses of one S that
        nearly attains it.

        Args:
            pair: Of inputs, in this order.
            growth: The factor, > 0.
            bits: Wanted accuracy: 2**-bits; what comes back is proved even if it is not reached.

        Raises:
            NoBounds: If an outcome is beyond the check's rules.
            Stuck, LimitReached: If the program cannot be followed, or the limits run out.
        """
        if self._is_pure(pair, growth):
            return HockeyStick(_NOTHING, _NOTHING, _NOTHING)
        if self._is_pure((pair[1], pair[0]), Enclosure(1 / growth.upper, 1 / growth.lower)):
            return HockeyStick(Enclosure(1 - growth.upper, 1 - growth.lower), _ONE, _ONE)
        kinds = self.kinds(pair)
        own = bits + len(kinds).bit_length()
        value = first = second = _NOTHING
        for number in kinds:
            key = number, growth, own
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = self._of(number, growth, own)
            value, first, second = value + found.value, first + found.first, second + found.second
        return HockeyStick(value.intersect(UNIT), first.intersect(UNIT), second.intersect(UNIT))

    def _is_pure(self, pair: Pair, growth: Enclosure) -> bool:
        """Whether moving noise shows that no set is more than growth times as likely."""
        if growth.lower < 1:
            return False
        budget = self._divergences.budget(pair)
        most = None if budget is None else factor_of(budget, _FACTOR_BITS).upper
        return most is not None and most <= growth.lower

    def _kind(self, first: Endings, second: Endings) -> _Kind:
        vectors = self._divergences.vectors(first, second)
        if vectors is not None and None not in vectors[1]:
            return _Vectors(*vectors)
        parts = self._divergences.separated(first, second)
        one, two = parts.first, parts.second
        if one == two or not one or not two or not parts.numbers:
            return _Whole(one, two, one == two)
        return _Line(sides_of(one, two, only_one(told_apart(one, two), 0))[0])

    def _numbered(self, kind: _Kind) -> int:
        if kind not in self._numbers:
            self._numbers[kind] = len(self._named)
            self._named.append(kind)
        return self._numbers[kind]

    def _of(self, number: int, growth: Enclosure, bits: int) -> HockeyStick:
        match self._named[number]:
            case _Vectors() as vectors:
                return self._vectors(vectors, growth, bits)
            case _Whole() as whole:
                return self._whole(whole, growth, bits)
            case _Line(sides):
                own = bits + max(int(growth.upper), 1).bit_length() + 8
                panels = self._panels.get((number, own))
                if panels is None:
                    one, two = (self._divergences.weighted(side, own) for side in sides)
                    panels = OnPanels(self._divergences.densities, one, two, (), own, 0)
                    self._panels[number, own] = panels
                return panels.best(growth, bits)

    def _whole(self, kind: _Whole, growth: Enclosure, bits: int) -> HockeyStick:
        p, q = (self._mass(parts, bits) for parts in (kind.first, kind.second))
        if kind.equal:
            low, high = 1 - growth.upper, 1 - growth.lower
            gain = Enclosure(min(low * p.lower, low * p.upper), max(high * p.lower, high * p.upper))
        else:
            gain = Enclosure(p.lower - growth.upper * q.upper, p.upper - growth.lower * q.lower)
        if gain.lower + gain.upper <= 0:
            return HockeyStick(Enclosure(_ZERO, max(gain.upper, _ZERO)), _NOTHING, _NOTHING)
        return HockeyStick(Enclosure(max(gain.lower, _ZERO), gain.upper), p, q)

    def _mass(self, parts: tuple[Part, ...], bits: int) -> Enclosure:
        total = _NOTHING
        for part in parts:
            total = total + self._divergences.factor(part.factors, part.marginals, bits)
        return total.intersect(UNIT)

    def _vectors(self, kind: _Vectors, growth: Enclosure, bits: int) -> HockeyStick:
        p, q = (self._divergences.factor(each or (), (), bits + 8) for each in kind.besides)
        if not p.lower or not q.lower:
            raise NoBounds("a probability is too small to be told from 0")
        with precision(bits + 64):
            above, below = ball_of(p), ball_of(q)
            alpha = ball_of(growth) * below / above
            one, two = gaussian_set(kind.square, alpha)
            value = above * gaussian_stick(kind.square, alpha)
            found = [nonnegative(each) for each in (value, above * one, below * two)]
        return HockeyStick(*found)
