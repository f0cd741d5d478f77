"""Plans: probabilities as sums of integrals of univariate functions, as data.

`Terms` are Σ coefficient * ∫ product of functions, each function a restricted density, the running
integral of such a product, a convolution, or one of these at a shifted place or between constants.
`planning` makes them, and any function algebra evaluates them (`value`).
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import assert_never

from dipapprox.cache import Cache
from dipapprox.data_classes import dataclass
from dipapprox.laws.distribution import Distribution
from dipapprox.numerics.elimination.order_event import BoundedSample


@dataclass(frozen=True, slots=True)
class RestrictedDensity:
    """The density of a sample between its constants."""

    sample: BoundedSample


@dataclass(frozen=True, slots=True)
class Running:
    """The integral of a product of functions from the left, or from the right, end to t."""

    factors: Factors
    from_left: bool


@dataclass(frozen=True, slots=True)
class Moved:
    """t -> f(t + offset), f a function by number."""

    number: int
    offset: Fraction


@dataclass(frozen=True, slots=True)
class FunctionDifference:
    """t -> upper(t) - lower(t), functions by number, where 0 <= lower <= upper."""

    upper: int
    lower: int


@dataclass(frozen=True, slots=True)
class Convolved:
    """The density of a sum of two independent variables."""

    left: Factors
    right: Factors | Distribution  # that of the other, or its law


@dataclass(frozen=True, slots=True)
class BetweenConstants:
    """A function, by number, between two constants (None: no bound), else 0."""

    number: int
    lower: Fraction | None
    upper: Fraction | None


Function = RestrictedDensity | Running | Moved | FunctionDifference | Convolved | BetweenConstants
"""Plain orders have the first two only, and sums alone the last two."""

Factors = tuple[tuple[int, int], ...]
"""A product: (number in a `FunctionTable`, exponent), by ascending number."""

Terms = tuple[tuple[int, Factors], ...]
"""A plan: Σ coefficient * ∫ product."""


def parts(function: Function) -> tuple[int, ...]:
    """The numbers of the functions that a function is made of."""
    match function:
        case RestrictedDensity():
            return ()
        case Moved(number) | BetweenConstants(number):
            return (number,)
        case FunctionDifference(upper, lower):
            return upper, lower
        case Running() | Convolved():
            return tuple([number for factors in products_in(function) for number, _ in factors])
        case _:
            assert_never(function)


def products_in(function: Function) -> tuple[Factors, ...]:
    """The products that a function integrates."""
    match function:
        case Running(factors):
            return (factors,)
        case Convolved(left, right):
            return (left,) if isinstance(right, Distribution) else (left, right)
        case _:
            return ()


class FunctionTable:
    """The functions of many plans, each once, numbered; a function's factors come before it.

    Attributes:
        functions: By number.
        depths: Of each, one more than the greatest of its factors'.
    """

    __slots__ = ("_laws", "_leaves", "_numbers", "depths", "functions")

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self.depths: list[int] = []
        self._numbers: dict[Function, int] = {}
        # Laws hash slowly; like samples mostly share their parts. Kept, so that ids stay theirs.
        self._leaves: Cache[tuple[int, int, int], tuple[BoundedSample, int]] = Cache(_LEAVES)
        self._laws: Cache[tuple[int, bool | None], tuple[Distribution, int]] = Cache(_LEAVES)

    def __len__(self) -> int:
        return len(self.functions)

    def number(self, function: Function) -> int:
        """Return the function's number; a new one is added."""
        number = self._numbers.setdefault(function, len(self.functions))
        if number == len(self.functions):
            self.functions.append(function)
            self.depths.append(1 + max([self.depths[n] for n in parts(function)], default=-1))
        return number

    def leaf(self, sample: BoundedSample) -> int:
        """Return the number of a sample's restricted density."""
        key = id(sample.law), id(sample.lower), id(sample.upper)
        known = self._leaves.get(key)
        if known is None:
            known = self._leaves.put(key, (sample, self.number(RestrictedDensity(sample))))
        return known[1]

    def law(self, law: Distribution, from_left: bool | None) -> int:
        """Return the number of a law's density (None) or of its integral from an end."""
        known = self._laws.get((id(law), from_left))
        if known is None:
            number = self.leaf(BoundedSample(law, None, None))
            if from_left is not None:
                number = self.number(Running(((number, 1),), from_left))
            known = self._laws.put((id(law), from_left), (law, number))
        return known[1]


_LEAVES = 4096


def times(factors: Factors, number: int) -> Factors:
    """Multiply a product by one more function."""
    place = bisect_left(factors, (number, 0))
    if place < len(factors) and factors[place][0] == number:
        grown = (number, factors[place][1] + 1)
        return (*factors[:place], grown, *factors[place + 1 :])
    return (*factors[:place], (number, 1), *factors[place:])
