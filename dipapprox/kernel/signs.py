"""Signs of exponential polynomials on an interval of eps: what is known, and how it is proved.

What is said of f is said of every positive multiple c * eps ** n * e ** (q * eps) * f, so of the
one whose least n and least q are 0 (`Sum.parts`). Let g be that one.

    Terms:  if all coefficients of g are > 0, then g > 0.
    Rise:   if g(l) >= 0 and g' > 0 on (l, r], then g > 0 on (l, r].
    Taylor: with the middle x of [l, r] and |h| <= (r - l) / 2, there is a y in [l, r] such that
            g(x + h) = sum of g^(i)(x) h^i / i! over i < k, plus g^(k)(y) h^k / k!.
    Ends:   if f = a + b eps, and f(l) >= 0 and f(r) >= 0, then f >= 0 on [l, r].

A piece from l on is shown by rises that end with positive terms; if it has an end, by Taylor's
formula, from 0 on after rises as long as values at 0 are 0. Each rise lowers the degree of the
coefficient of e ** 0: after finitely many there is a sum with one exponential, then a constant.
Values at 0 are sums of coefficients, and exact; values elsewhere have signs that are found for
certain (`exponentials`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from flint import arb

from dipapprox.kernel.balls import between, error, precision, to_ball
from dipapprox.kernel.errors import BadProof, NotProved, Refuted
from dipapprox.kernel.exponentials import Ball, Ratio, Sum
from dipapprox.kernel.reading import as_integer, as_list, as_number, as_record

MOST_ORDER = 64
"""Of Taylor's formula."""


@dataclass(frozen=True, slots=True)
class Epsilons:
    """All eps > 0 with lower <= eps <= upper; None is no bound."""

    lower: Fraction
    upper: Fraction | None

    @property
    def point(self) -> Fraction | None:
        """The only eps; None if there are more."""
        return self.lower if self.lower == self.upper else None

    def holds(self, lower: Fraction, upper: Fraction | None) -> bool:
        """Whether all eps > 0 between two others are among these."""
        ends = self.upper is None or (upper is not None and upper <= self.upper)
        return self.lower <= lower and ends

    def __str__(self) -> str:
        if self.point is not None:
            return f"eps = {self.point}"
        left = f"{self.lower} <= " if self.lower else "0 < "
        return f"{left}eps" + ("" if self.upper is None else f" <= {self.upper}")


ALL = Epsilons(Fraction(0), None)


def read_epsilons(json: object) -> Epsilons:
    """Read {"from": number, "to": number or null}, or a number > 0."""
    if not isinstance(json, dict):
        ends: tuple[Fraction, Fraction | None] = (as_number(json, "eps"),) * 2
    else:
        record = as_record(json, "an interval", ("from", "to"))
        to = record["to"]
        ends = as_number(record["from"], "an end"), to if to is None else as_number(to, "an end")
    lower, upper = ends
    if lower < 0 or (upper is not None and (upper < lower or not upper)):
        raise BadProof("there is no eps > 0 between these ends")
    return Epsilons(lower, upper)


@dataclass(frozen=True, slots=True)
class Sign:
    """A function, as `Sum.parts` leaves it, is >= 0 on an interval, or even > 0."""

    epsilons: Epsilons
    function: Sum
    positive: bool

    def __str__(self) -> str:
        return f"{self.function} {'>' if self.positive else '>='} 0 for {self.epsilons}"


class Signs:
    """What is known of signs for some eps.

    Args:
        epsilons: All that are meant.
        known: On these or more.
    """

    def __init__(self, epsilons: Epsilons, known: Iterable[Sign] = ()) -> None:
        self.epsilons = epsilons
        self._known: dict[Sum, list[Sign]] = {}
        self._found: dict[tuple[Sum, Epsilons, bool], bool] = {}
        for each in known:
            self._known.setdefault(each.function, []).append(each)

    @classmethod
    def at(cls, eps: Fraction) -> Signs:
        """Return what is known at one eps: everything."""
        return cls(Epsilons(eps, eps))

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
        _, part = function.parts()
        key = part, on, positive
        if key not in self._found:
            if on.point is not None:
                sign = part.sign(on.point)
                self._found[key] = sign > 0 or (not positive and not sign)
            else:
                self._found[key] = _rises(part) or self.look_up(*key)
        return self._found[key]

    def look_up(self, function: Sum, on: Epsilons, positive: bool) -> bool:
        """Whether it is among what was given."""
        return any(
            each.epsilons.holds(on.lower, on.upper) and (each.positive or not positive)
            for each in self._known.get(function, ())
        )

    def inverse(self, ratio: Ratio) -> Ratio:
        """Return 1 / ratio, which is known to have one sign and no zero."""
        for sign in (1, -1):
            if self.tell(ratio.numerator.scaled(sign), positive=True):
                return ratio.scaled(sign).inverse().scaled(sign)
        raise NotProved("a divisor is not known to have no zero")


# --- proofs --------------------------------------------------------------------------------------


Piece = tuple[Fraction | None, int, int]
"""(where it ends, order of Taylor's formula, bits)."""


def product_is_signed(
    epsilons: Epsilons, factors: Sequence[tuple[Sum, int, Sequence[Piece]]]
) -> Sign:
    """Conclude a sign of the product of factor ** exponent."""
    product, positive = Sum.constant(Fraction(1)), True
    for factor, exponent, pieces in factors:
        for _ in range(exponent):
            product = product * factor
        positive = bool(pieces) and _is_covered(factor, pieces, epsilons) and positive
        if not pieces and exponent % 2 and not _holds_at_ends(factor, epsilons):
            raise Refuted("nothing is said of the sign of a factor")
    # No factor is 0, so the product is not.
    return Sign(epsilons, product.parts()[1], positive)


def read_factor(json: object) -> tuple[Sum, int, tuple[Piece, ...]]:
    """Read {"terms": [[c, n, q], …], "exponent": k, "pieces": [[to, order, bits], …]}."""
    record = as_record(json, "a factor", ("terms", "exponent", "pieces"))
    exponent, pieces, terms = as_integer(record["exponent"], "an exponent"), [], []
    if not 0 < exponent <= MOST_ORDER:
        raise BadProof("an exponent is below 1, or too large")
    for each in as_list(record["terms"], "terms"):
        c, n, q = as_list(each, "a term", 3)
        powers = as_number(q, "a rate"), as_integer(n, "a power")
        terms.append((powers, as_number(c, "a coefficient")))
    for each in as_list(record["pieces"], "pieces"):
        to, *numbers = as_list(each, "a piece", 3)
        order, bits = (as_integer(number, "a piece") for number in numbers)
        if not 0 < order <= MOST_ORDER:
            raise BadProof("an order below 1, or too large")
        pieces.append((to if to is None else as_number(to, "an end"), order, bits))
    function = Sum.of(terms)
    if function.is_zero():
        raise BadProof("a factor is 0")
    return function, exponent, tuple(pieces)


def _is_covered(factor: Sum, pieces: Sequence[Piece], on: Epsilons) -> bool:
    """Whether a factor is known to be > 0 on an interval; if not, it is known to be >= 0."""
    lower, strict, part = on.lower, True, factor.parts()[1]
    for upper, order, bits in pieces:
        if upper is not None and upper <= lower:
            raise Refuted("a piece without points")
        found = is_positive_on(part, Epsilons(lower, upper), order, bits)
        if found is None:
            raise Refuted(f"a function is not known to be above 0 from {lower} on")
        strict = strict and found
        if upper is None:
            return strict
        lower = upper
    if on.upper is None or lower < on.upper:
        raise Refuted("the pieces end before the interval does")
    return strict


def is_positive_on(function: Sum, on: Epsilons, order: int = 1, bits: int = 64) -> bool | None:
    """Whether a function that `Sum.parts` left is > 0 on a piece; False: >= 0, None: not known."""
    # At 0 nothing is asked for.
    strict = not on.lower or on.upper is not None or function.sign(on.lower) > 0
    while not function.has_positive_terms():
        if on.upper is not None and (on.lower or function.sign(on.lower)):
            values = _values(function, on.lower, on.upper, order, bits)
            return True if values > 0 else None
        if function.sign(on.lower) < 0:
            return None
        # No constant: it would be above 0, or below.
        _, function = function.derivative().parts()
    return strict


def _holds_at_ends(function: Sum, on: Epsilons) -> bool:
    """Whether a function is a + b eps, and >= 0 at both ends."""
    ends = (on.lower, on.upper)
    linear = {key for key, _ in function.terms} <= {(0, 0), (0, 1)}
    return linear and all(end is not None and function.sign(end) >= 0 for end in ends)


def _values(function: Sum, lower: Fraction, upper: Fraction, order: int, bits: int) -> Ball:
    """Enclose f e^(-q eps), q its largest rate, on [lower, upper], by Taylor's formula."""
    # Of the same sign; in what is left nothing grows but powers.
    top = max(q for (q, _), _ in function.terms)
    function = Sum.of(((q - top, n), c) for (q, n), c in function.terms)
    with precision(bits):
        middle, radius = to_ball((lower + upper) / 2), to_ball((upper - lower) / 2)
        total, size = function.ball(middle), arb(1)
        for k in range(1, order + 1):
            function, size = function.derivative(), size * radius / k
            here = middle if k < order else between(to_ball(lower), to_ball(upper))
            total += function.ball(here) * error(size)
        return total


def _rises(function: Sum) -> bool:
    """Whether rises from 0 on, as many as it takes, show that a function is > 0."""
    # In units of eps that make all rates integers.
    unit = lcm(*(q.denominator for (q, _), _ in function.terms))
    part = Sum.of(((int(q * unit), n), c * unit**n) for (q, n), c in function.terms).parts()[1]
    return is_positive_on(part, Epsilons(Fraction(0), None)) is True
