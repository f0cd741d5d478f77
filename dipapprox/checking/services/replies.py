"""How likely a service is to answer so, from a state in which all cells have values.

Two routes: replies and states are listed with closed forms (`transitions`), or the ways in which a
call may end are followed, whose samples are published (`ways`). The second is for cells that hold
any whole number, and for replies of very many values.

A sample of discrete Laplace noise around m, q = e^(-eps / g), shows k with probability
q^|k - m| (1 - q) / (1 + q); clamped, an end stands for all that lies beyond it:
Pr[z >= k] = q^(k - m) / (1 + q) for k >= m, and 1 - q^(m - k + 1) / (1 + q) for k <= m. What
continuous noise shows has a density, eps / (2 g) e^(-|k - m| eps / g), which is next to an atom
what eps is next to 1: the number of densities in a product is its *order*.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.services.transitions import Call, Row, Transitions
from dipapprox.checking.services.ways import Shown, Values, Ways
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Family
from dipapprox.exponentials import ONE, ExponentialPolynomial

Answer = tuple[Values, Quotient, int]
"""A next state, the probability or density to answer so and get there, and its order."""


class Replies(Protocol):
    """Where the answers to calls are found."""

    def answers(self, state: Row, call: Call, reply: Row | None) -> Iterator[Answer]:
        """Yield all that a call may lead to with a reply; None: whatever the reply.

        Raises:
            Stuck: If it cannot be derived.
            LimitReached: If limits run out.
        """


@dataclass(frozen=True, slots=True)
class Listed(Replies):
    """Replies and next states that are listed."""

    transitions: Transitions

    def answers(self, state: Row, call: Call, reply: Row | None) -> Iterator[Answer]:
        """See `Replies`."""
        for (shown, row), probability in self.transitions.outcomes(state, call).items():
            if reply is None or shown == reply:
                yield row, probability, 0


@dataclass(frozen=True, slots=True)
class Followed(Replies):
    """Ways in which calls end, no cell a symbol."""

    ways: Ways

    def answers(self, state: Row, call: Call, reply: Row | None) -> Iterator[Answer]:
        """See `Replies`."""
        for way in self.ways.of(state, call):
            probability, order = way.probability, 0
            if reply is not None:
                fixed = zip(way.reply, reply, strict=True)
                if any(own is not None and own != given for own, given in fixed):
                    continue
                for shown in way.shown:
                    probability = times(probability, shown_chance(shown, reply[shown.cell]))
                    order += shown.family is Family.LAPLACE
            if probability.top:
                yield way.state, probability, order


def shown_chance(shown: Shown, number: object) -> Quotient:
    """Return the probability that a sample shows a number; of continuous noise the density.

    Args:
        shown: Its mean is a number.
        number: Or a name, which it never shows.

    Raises:
        Stuck: If the mean is no number.
    """
    if shown.mean.terms:
        raise Stuck("the mean of a reply is not known")
    mean = shown.mean.constant
    if not isinstance(number, Fraction):
        return constant(0)

    def power(distance: Fraction) -> ExponentialPolynomial:
        return ExponentialPolynomial.monomial(1, rate=-distance / shown.scale)

    if shown.family is Family.LAPLACE:
        rate = -abs(number - mean) / shown.scale
        return Quotient(ExponentialPolynomial.monomial(1 / (2 * shown.scale), 1, rate))
    q = power(Fraction(1))
    low, high = shown.ends or (None, None)
    if number.denominator != 1 or (low is not None and high is not None
                                   and not low <= number <= high):  # fmt: skip
        return constant(0)
    if low is not None and low == high:
        return constant(1)
    if number in (low, high):
        beyond = number - mean if number == high else mean - number
        if beyond >= 0:
            return Quotient(power(beyond), ONE + q)
        return Quotient(ONE + q - power(1 - beyond), ONE + q)
    return Quotient(power(abs(number - mean)) * (ONE - q), ONE + q)


def times(left: Quotient, right: Quotient) -> Quotient:
    """left * right, in lowest terms where degrees are not too high for that."""
    try:
        return left.times(right)
    except Stuck:
        return Quotient(left.top * right.top, left.bottom * right.bottom)


def plus(left: Quotient, right: Quotient) -> Quotient:
    """left + right, in lowest terms where degrees are not too high for that."""
    try:
        return left.plus(right)
    except Stuck:
        top = left.top * right.bottom + right.top * left.bottom
        return Quotient(top, left.bottom * right.bottom)
