"""Published samples: which numbers they show, with which probabilities.

A sample of discrete Laplace noise around m, q = e^(-eps / g), shows k with probability
q^|k - m| (1 - q) / (1 + q); clamped to low..high, its ends stand for all that lies beyond them.
The density of continuous noise is given without the factor eps / 2, which all such noise has.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from math import floor

from dipapprox.data_classes import replace
from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.language.core import Value
from dipapprox.laws.family import IntegerFamily, RealFamily
from dipapprox.services.model import CallOutcome, Inexpressible, Published, Step, Untracked

_WIDEST = 20_000  # most numbers that a sample is spelled out for


def shown_probability(published: Published, number: Fraction) -> ExponentialRatio:
    """Return the probability that a sample with a number as mean shows one within its ends, whole
    for discrete noise; of continuous noise the density."""
    mean = published.mean.constant
    decay = _power(published, abs(number - mean))
    if isinstance(published.family, RealFamily):
        return ExponentialRatio(decay) * ExponentialRatio.constant(1 / published.scale)
    q = _power(published, Fraction(1))
    both = {ONE + q: 1}
    if published.ends is None:
        return ExponentialRatio.of(decay * (ONE - q), both)
    low, high = published.ends
    if low == high:
        return ExponentialRatio(ONE)
    # Pr[z >= k] = q^(k-m) / (1 + q) for k >= m, and 1 - q^(m-k+1) / (1 + q) for k <= m
    if number == high:
        return _tail(published, number - mean)
    if number == low:
        return _tail(published, mean - number)
    return ExponentialRatio.of(decay * (ONE - q), both)


def may_show(published: Published, number: Fraction) -> bool:
    """Whether a sample may show a number."""
    if isinstance(published.family, IntegerFamily) and number.denominator != 1:
        return False
    return published.ends is None or published.ends[0] <= number <= published.ends[1]


def _tail(published: Published, distance: Fraction) -> ExponentialRatio:
    """Return the probability to be at least so far on one side of the mean."""
    q = _power(published, Fraction(1))
    if distance >= 0:
        return ExponentialRatio.of(_power(published, distance), {ONE + q: 1})
    return ExponentialRatio.of(ONE + q - _power(published, 1 - distance), {ONE + q: 1})


def _power(published: Published, exponent: Fraction) -> ExponentialPolynomial:
    return ExponentialPolynomial.monomial(1, 0, -exponent / published.scale)


def spelled_out(outcome: CallOutcome) -> Iterator[CallOutcome]:
    """Yield an outcome once for each number that its samples may show."""
    choices: list[list[tuple[Value, ExponentialRatio]]] = []
    for each in outcome.reply:
        if not isinstance(each, Published):
            choices.append([(each, ExponentialRatio(ONE))])
            continue
        if not each.mean.is_constant:
            raise Untracked
        if each.ends is None or isinstance(each.family, RealFamily):
            raise Inexpressible("one run publishes other noise than the other, without bounds")
        low, high = each.ends
        if high - low >= _WIDEST:
            raise Inexpressible(f"one run publishes other noise, of more than {_WIDEST} values")
        numbers = [Fraction(number) for number in range(low, high + 1)]
        choices.append([(n, shown_probability(each, n)) for n in numbers])
    for shown in product(*choices):
        probability = outcome.probability
        for _, chance in shown:
            probability = probability * chance
        yield replace(outcome, reply=tuple([n for n, _ in shown]), probability=probability)


def one_sided_reply(left: Step, right: Step) -> tuple[Value, ...] | None:
    """Return a reply that is possible for the first step only; None if none was found.

    Numbers shown by continuous noise have probability 0 elsewhere; any will do.
    """
    labels = {outcome.label for outcome in right}
    for outcome in left:
        if outcome.label in labels:
            continue
        # A whole number that no outcome has for an end or a reply.
        known = [Fraction(0), *(v for o in right for v in o.reply if isinstance(v, Fraction))]
        known += [Fraction(end) for o in right for each in o.samples for end in each.ends or ()]
        beyond = Fraction(floor(max(known)) + 1)
        candidates = [
            _some(each, beyond) if isinstance(each, Published) else (each,)
            for each in outcome.reply
        ]
        for reply in product(*candidates):
            if not any(_may_show(outcome, other, reply) for other in right):
                return reply
    return None


def _some(published: Published, beyond: Fraction) -> tuple[Fraction, ...]:
    if published.ends is None:
        return (beyond,)
    low, high = published.ends
    return tuple(Fraction(n) for n in dict.fromkeys((low, high, min(low + 1, high))))


def _may_show(ours: CallOutcome, theirs: CallOutcome, reply: tuple[Value, ...]) -> bool:
    for own, other, value in zip(ours.reply, theirs.reply, reply, strict=True):
        if not isinstance(other, Published):
            if other != value:
                return False
            continue
        if isinstance(own, Published):
            alike = own.family is other.family
        else:
            alike = isinstance(other.family, IntegerFamily)
        if not alike or not isinstance(value, Fraction) or not may_show(other, value):
            return False
    return True
