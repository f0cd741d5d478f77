"""Signs of exponential polynomials on an interval of eps.

What is said of f is said of every positive multiple c * eps ** n * e ** (q * eps) * f, so of the
one whose least n and least q are 0 (`Sum.parts`). Let g be that one.

    Terms:  if all coefficients of g are > 0, then g > 0.
    Rise:   if g(l) >= 0 and g' > 0 between l and r, then g > 0 there; so if g(r) >= 0 > g'.
    Taylor: with the middle x of [l, r] and |h| <= (r - l) / 2, there is a y in [l, r] such that
            g(x + h) = sum of g^(i)(x) h^i / i! over i < k, plus g^(k)(y) h^k / k!.

From l on, without end, g > 0 is shown by rises that end with positive terms: each rise lowers the
degree of the coefficient of e ** 0, so after finitely many there is a sum with one exponential,
then a constant. Other intervals are cut into boxes on which Taylor's formula leaves out 0 for g, or
for a derivative up to which rises or falls lead. Values at 0 are sums of coefficients, and exact;
values elsewhere have signs that are found for certain (`exponentials`). What no cut shows is not
known: where a function of one sign touches 0 between the ends, it has to be at a rational number.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import arb

from dipapprox.kernel.balls import MOST_BITS, between, error, precision, to_ball
from dipapprox.kernel.errors import BadProof, NotProved, spend
from dipapprox.kernel.exponentials import Ball, Ratio, Sum
from dipapprox.kernel.reading import as_number, as_record

ORDER = 6  # of Taylor's formula
BITS = 64  # of balls, at first; more in boxes of boxes
MOST_BOXES = 1_000
MOST_DEPTH = 60
MOST_RISES = 64


class Epsilons(NamedTuple):
    """All eps > 0 with lower <= eps <= upper; None is no bound."""

    lower: Fraction
    upper: Fraction | None

    @property
    def point(self) -> Fraction | None:
        """The only eps; None if there are more."""
        return self.lower if self.lower == self.upper else None

    @property
    def value(self) -> Fraction | Epsilons:
        """The only eps, or these."""
        return self if self.point is None else self.point

    def halves(self) -> tuple[Epsilons, Epsilons]:
        """Cut at a number with a small denominator, not near to either end."""
        low, high = self.lower, self.upper
        found, size = 2 * low or Fraction(1), 1
        if high is not None:
            middle = (low + high) / 2
            while abs((found := middle.limit_denominator(size)) - middle) * 4 > high - low:
                spend(size.bit_length() * (1 + middle.denominator.bit_length() // 2000))
                size *= 2
        return Epsilons(low, found), Epsilons(found, high)

    def holds(self, lower: Fraction, upper: Fraction | None) -> bool:
        """Whether all eps > 0 between two others are among these."""
        ends = self.upper is None or (upper is not None and upper <= self.upper)
        return self.lower <= lower and ends


ALL = Epsilons(Fraction(0), None)


def read_epsilons(json: object) -> Epsilons:
    """Read {"from": number, "to": number or null}, or a number > 0."""
    is_one = not isinstance(json, dict)
    ends = {"from": json, "to": json} if is_one else as_record(json, "an interval", ("from", "to"))
    lower, to = as_number(ends["from"], "eps"), ends["to"]
    upper = None if to is None else as_number(to, "eps")
    if lower < 0 or (upper is not None and (upper < lower or not upper)):
        raise BadProof("there is no eps > 0 between these ends")
    return Epsilons(lower, upper)


class Signs:
    """Signs of functions at all eps that are meant."""

    def __init__(self, epsilons: Epsilons) -> None:
        self.epsilons = epsilons
        self._found: dict[tuple[Sum, Epsilons, bool], bool] = {}

    @classmethod
    def at(cls, eps: Fraction | None) -> Signs:
        """Return what is known at one eps, everything; or at all eps > 0, for None."""
        return cls(ALL if eps is None else Epsilons(eps, eps))

    def is_zero(self, function: Sum) -> bool:
        """Whether a function is known to be 0 at all eps."""
        point = self.epsilons.point
        return (function if point is None else function.at(point)).is_zero()

    def tell(self, function: Sum, positive: bool, on: Epsilons | None = None) -> bool:
        """Whether a function is known to be >= 0, or > 0, at all eps or some of them."""
        on, every = self.epsilons if on is None else on, self.epsilons
        if on != every and every.holds(on.lower, on.upper) and self.tell(function, positive):
            return True
        if function.is_zero():
            return not positive
        if function.has_positive_terms():
            return True
        key = function.parts()[1], on, positive
        if key not in self._found:
            self._found[key] = is_signed(*key)
        return self._found[key]

    def inverse(self, ratio: Ratio) -> Ratio:
        """Return 1 / ratio, which is known to have one sign and no zero."""
        for sign in (1, -1):
            if self.tell(ratio.numerator.scaled(sign), positive=True):
                return ratio.scaled(sign).inverse().scaled(sign)
        raise NotProved("a divisor is not known to have no zero")


def is_signed(function: Sum, on: Epsilons, positive: bool) -> bool:
    """Whether a function, as `Sum.parts` leaves it, is known to be >= 0, or > 0, on an interval."""
    if on.point is not None:
        sign = function.sign(on.point)
        return sign > 0 or not (positive or sign)
    if _rises(function, Fraction(0)):
        return True
    waiting = [(on, 0)]
    for _ in range(MOST_BOXES):
        if not waiting:
            return True
        box, depth = waiting.pop()
        low, high = box.lower, box.upper
        last = function.terms[-1][1] if high is None else function.sign(high)
        # At 0 nothing is asked for.
        least = 1 if positive else 0
        if last < least or _sign_after(function, low) < 0 or (low and function.sign(low) < least):
            return False
        known = _rises(function, low) if high is None else _is_above(function, low, high, depth)
        if depth == MOST_DEPTH and not known:
            return False
        waiting += [] if known else [(half, depth + 1) for half in box.halves()]
    return False


def _sign_after(function: Sum, low: Fraction) -> int:
    """The sign of a function, which is not 0, right after an eps: that of its first derivative."""
    while not (sign := function.sign(low)):
        function = function.derivative().parts()[1]
    return sign


def _rises(function: Sum, low: Fraction) -> bool:
    """Whether rises from an eps on, as many as it takes, show that a function is > 0 after it."""
    while not function.has_positive_terms():
        if function.sign(low) < 0:
            return False
        # No constant: it would be above 0, or below.
        _, function = function.derivative().parts()
    return True


def _is_above(function: Sum, low: Fraction, high: Fraction, depth: int) -> bool:
    """Whether a function is known to be > 0 between two eps.

    It is if it rises or falls all the way between ends where it is not below 0.
    """
    for _ in range(MOST_RISES + 1):
        if _values(function, low, high, depth) > 0:
            return True
        if min(function.sign(low), function.sign(high)) < 0:
            return False
        _, function = function.derivative().parts()
        if _sign_after(function, low) < 0:
            function = function.scaled(-1)
    return False


def _values(function: Sum, lower: Fraction, upper: Fraction, depth: int) -> Ball:
    """Enclose f e^(-q eps), q its largest rate, on [lower, upper], by Taylor's formula."""
    longest = max(int(c).bit_length() for _, c in function.terms)
    with precision(min(BITS * (1 + depth // 4) + longest, MOST_BITS)):
        middle, radius = to_ball((lower + upper) / 2), to_ball((upper - lower) / 2)
        *known, last = _derivatives(function)
        total, size = arb(0), arb(1)
        for k, each in enumerate(known, 1):
            total += each.ball(middle) * error(size) if k > 1 else each.ball(middle)
            size *= radius / k
        return total + last.ball(between(to_ball(lower), to_ball(upper))) * error(size)


@lru_cache(1 << 12)
def _derivatives(function: Sum) -> tuple[Sum, ...]:
    """Those of f e^(-q eps): of the same sign, and in it nothing grows but powers."""
    found = [function * Sum.exponential(-function.terms[-1][0][0])]
    for _ in range(ORDER):
        found.append(found[-1].derivative())
    return tuple(found)
