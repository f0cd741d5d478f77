"""Outcomes of two runs that are seen alike, paired within what two states may lose.

A pairing one to one shows p <= e^(most eps) q term by term, where each two outcomes have
p <= e^((most - V) eps) q, V what their states may still lose. All with all needs it of the two
sums, V the most that any two states may still lose. Where p / q is no power of e^eps the sign of
the difference is shown for all eps > 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from math import factorial

from dipapprox.checking.decisions.found_signs import FoundSigns
from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.services.transitions import Row
from dipapprox.checking.values import Stuck
from dipapprox.exponentials import ExponentialPolynomial

Outcomes = Sequence[tuple[Row, Quotient]]
"""Next states, with the probabilities to get there."""


def exponent(p: Quotient, q: Quotient) -> Fraction:
    """Return c with p = e^(c eps) q.

    Raises:
        Stuck: If there is none.
    """
    c = limit(p, q)
    above, below = p.top * q.bottom, q.top * p.bottom
    if ExponentialPolynomial.monomial(1, 0, c) * below == above:
        return c
    raise Stuck("what a reply tells is no multiple of ε")


def is_at_most(p: Quotient, q: Quotient, c: Fraction, signs: FoundSigns) -> bool | None:
    """Whether p <= e^(c eps) q for all eps > 0; None where that is not shown.

    Raises:
        Stuck: If one of them is 0, or a denominator may be.
        LimitReached: If the limits of `signs` run out.
    """
    far, near = limit(p, q), slope(p, q)
    above, below = p.top * q.bottom, q.top * p.bottom
    if ExponentialPolynomial.monomial(1, 0, far) * below == above:
        return far <= c
    if max(far, far if near is None else near) > c:
        return False
    for bottom in (p.bottom, q.bottom):
        signs.require_divisor(Quotient(bottom), "a denominator of a probability")
    difference = ExponentialPolynomial.monomial(1, 0, c) * below - above
    return signs.compare(signs.same_sign(Quotient(difference, p.bottom * q.bottom)))


def limit(p: Quotient, q: Quotient) -> Fraction:
    """Return the limit of ln(p / q) / eps as eps grows: no smaller c has p <= e^(c eps) q for all.

    Powers of eps move the logarithm by less than any multiple of eps.

    Raises:
        Stuck: If one of them is 0.
    """
    above, below = p.top * q.bottom, q.top * p.bottom
    if not above or not below:
        raise Stuck("a probability is 0")
    return max(r for (_, r), _ in above.terms) - max(r for (_, r), _ in below.terms)


def slope(p: Quotient, q: Quotient) -> Fraction | None:
    """Return the limit of ln(p / q) / eps as eps vanishes; None if p / q does not go to 1.

    With p / q = (a eps^k + a' eps^(k + 1) + …) / (a eps^k + b' eps^(k + 1) + …) that is
    (a' - b') / a: no smaller c has p <= e^(c eps) q for all eps.

    Raises:
        Stuck: If one of them is 0, or k is large.
    """
    above, below = p.top * q.bottom, q.top * p.bottom
    if not above or not below:
        raise Stuck("a probability is 0")
    k = 0
    while not _coefficient(above, k) and not _coefficient(below, k):
        k += 1
        if k > _MOST_ZEROS:
            raise Stuck("probabilities that vanish too fast with ε")
    first = _coefficient(above, k)
    if first != _coefficient(below, k):
        return None
    return (_coefficient(above, k + 1) - _coefficient(below, k + 1)) / first


def _coefficient(function: ExponentialPolynomial, k: int) -> Fraction:
    """Return that of eps^k in the power series: c eps^n e^(r eps) has c r^(k - n) / (k - n)!."""
    return sum((c * r ** (k - n) / factorial(k - n) for (n, r), c in function.terms if n <= k), _0)


_0 = Fraction(0)

_MOST_ZEROS = 100


def total(outcomes: Sequence[Quotient]) -> Quotient:
    """Return the sum."""
    return reduce(Quotient.plus, outcomes, constant(0))


def lose_at_most(
    left: Outcomes,
    right: Outcomes,
    most: Fraction,
    value: Callable[[Row, Row], Fraction | None],
    signs: FoundSigns,
) -> bool:
    """Whether outcomes can be paired so that nothing above a bound is lost.

    Args:
        left: Of the first run, at least one.
        right: Of the second run, at least one.
        most: The bound, in eps.
        value: What two states may still lose; None if nothing is stated of them.
        signs: On all eps > 0.

    Raises:
        Stuck: If they cannot be paired as far as signs are shown, and some are not.
        LimitReached: If the limits of `signs` run out.
    """
    unclear = False

    def fits(p: Quotient, q: Quotient, after: Fraction | None) -> bool:
        nonlocal unclear
        if after is None:
            return False
        try:
            found = is_at_most(p, q, most - after, signs)
        except Stuck:
            found = None
        unclear = unclear or found is None
        return found is True

    if len(left) == len(right):
        edges = [
            [k for k, (other, q) in enumerate(right) if fits(p, q, value(row, other))]
            for row, p in left
        ]
        partner: dict[int, int] = {}
        if all(_augment(number, edges, partner, set()) for number in range(len(left))):
            return True
    afters = [value(row, other) for row, _ in left for other, _ in right]
    known = [after for after in afters if after is not None]
    if len(known) == len(afters):
        sums = total([p for _, p in left]), total([q for _, q in right])
        if fits(*sums, max(known)):
            return True
    if unclear:
        raise Stuck("what a reply tells is no multiple of ε")
    return False


def _augment(
    number: int, edges: Sequence[Sequence[int]], partner: dict[int, int], reached: set[int]
) -> bool:
    """Find a match for one more outcome along an alternating path."""
    for k in edges[number]:
        if k not in reached:
            reached.add(k)
            if k not in partner or _augment(partner[k], edges, partner, reached):
                partner[k] = number
                return True
    return False
