"""Two outcomes that each of many runs of a statement may have, so that all cost much together.

In: a statement, how often it is run, and where H is asked. Out: outcomes that surely keep it, found
in doubles: any that keep it are right. Few runs cost much more with them than with noise: two of
1/4-zCDP 4.719 for δ = 10^-5, where noise costs 4.377 and nothing more than 4.729.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import erfc, exp, inf, lgamma, log, log1p, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dipapprox.composition.catalogue import shift_of
from dipapprox.composition.divergences import Divergences, Statement, Tangent, WorstOutcomes
from dipapprox.composition.mechanisms import ConcentratedStatement
from dipapprox.composition.statements import allowed
from dipapprox.data_classes import replace

_MOST_RUNS = 1_000
_LIKELY = 1e-5  # A δ where nobody asks for one
_FAR = 256.0
_TRIED, _ROUNDS = 12, 3
"""Places that are looked at between two, again and again."""


_PLACES = 800  # on either side of 0, of a law that tells which outcomes cost most together
Law = NDArray[Any]
_Told = tuple[Fraction, ...] | None
Asked = tuple[float | None, float | None]  # ε, or δ, if one is given


def worst_of_all(
    statements: Sequence[tuple[Statement, int]],
    square: Fraction,
    asked: Asked,
    *,
    always: bool = False,
) -> list[tuple[Fraction, ...] | None]:
    """Return for each statement two outcomes (`statements.allowed`); None: noise costs more.

    Outcomes that cost most together are tilted by about one order: so each statement's may be those
    of as many runs of it as have all divergence there; or they cost most alone. What is best of all
    that is tried, a statement after the other.

    Args:
        statements: What is kept, in so many runs.
        square: Of the shift of noise beside them.
        always: Whether noise is no choice, unless runs are very many.
    """
    noise = [(ConcentratedStatement(square / 2), 1)] if square else []
    known = Divergences.of([*statements, *noise])
    whole, (place, delta) = WorstOutcomes(known), asked
    if place is None:
        place = _where(lambda t: whole.at(t)[0].value > log(delta or _LIKELY))
    order, options = known.order(whole.at(place)[0].less), list[list[_Told]]()
    for statement, times in statements:
        own = Divergences.of([(statement, 1)]).divergence(order)
        alike = max(times, round(known.divergence(order) / own)) if own else times
        few = {worst_of_many(statement, n, asked, always) for n in (times, alike)} - {None}
        options.append([*few, *[None] * (not always or not few)])
    chosen: list[_Told] = [each[0] for each in options]
    if len(statements) == 1:
        return chosen
    unit = 2 * max(place, 1.0) / _PLACES

    def cost(told: Sequence[_Told]) -> float:
        shift, law = float(square), np.ones(1)
        for (statement, times), each in zip(statements, told, strict=True):
            if each is None:
                shift += times * float(shift_of(statement))
            else:
                law = _convolved(law, _binomial(float(each[0]), float(each[1]), times, unit))
        if shift:
            law = _convolved(law, _normal(shift, unit))
        losses = unit * (np.arange(len(law)) - len(law) // 2)
        return _asked(partial(_excess, law, losses), asked)

    for k, tried in enumerate(options):
        chosen[k] = max(tried, key=lambda each: cost([*chosen[:k], each, *chosen[k + 1 :]]))
    return chosen


def _binomial(p: float, q: float, times: int, unit: float) -> Law:
    """How likely are losses of so many runs, about, at multiples of a unit."""
    weights, losses = _runs(p, log(p / q), log1p(-p) - log1p(-q), times)
    places = np.clip(np.rint(losses / unit), -_PLACES, _PLACES).astype(int) + _PLACES
    found: Law = np.bincount(places, weights, 2 * _PLACES + 1)
    return found


def _normal(square: float, unit: float) -> Law:
    losses = unit * np.arange(-_PLACES, _PLACES + 1)
    masses = np.exp(-((losses - square / 2) ** 2) / (2 * square))
    found: Law = masses / max(masses.sum(), sqrt(2 * pi * square) / unit)
    return found


def _convolved(one: Law, other: Law) -> Law:
    """What is beyond an end is put there."""
    whole = np.convolve(one, other)
    cut = max(len(whole) // 2 - _PLACES, 0)
    found = whole[cut : len(whole) - cut].copy()
    found[0] += whole[:cut].sum()
    found[-1] += whole[len(whole) - cut :].sum()
    return found


def _runs(p: float, upper: float, lower: float, times: int) -> tuple[Law, Law]:
    """The masses of how often the outcome of mass p comes, and their losses."""
    counts = np.arange(times + 1.0)
    ways = np.array([lgamma(times + 1) - lgamma(k + 1) - lgamma(times - k + 1) for k in counts])
    weights = np.exp(ways + counts * log(p) + (times - counts) * log1p(-p))
    return weights, upper * counts + lower * (times - counts)


def _excess(weights: Law, losses: Law, loss: float) -> float:
    """H at e^loss."""
    return float(weights @ np.maximum(-np.expm1(np.minimum(loss - losses, 0)), 0))


@lru_cache(maxsize=64)
def worst_of_many(statement: Statement, times: int, asked: Asked, always: bool = False) -> _Told:
    """Return two outcomes of each of so many runs; None: noise costs more."""
    if times > _MOST_RUNS:
        return None
    one = WorstOutcomes(Divergences.of([(statement, 1)]))

    def cost(tangent: Tangent) -> float:
        runs = _runs(tangent.masses[0], tangent.upper, tangent.lower, times)
        return _asked(partial(_excess, *runs), asked)

    shift = sqrt(times * float(shift_of(statement)))
    least = _asked(lambda t: _noise(t, shift), asked) if shift else 0.0
    low, high, best = 0.0, _FAR, (-inf, Tangent(0.0, 0.0, 0.0, 0.0), 0.0)
    for _ in range(_ROUNDS):
        ratio = (high / max(low, high / 2**_TRIED)) ** (1 / _TRIED)
        for k in range(_TRIED + 1):
            for each in dict.fromkeys(one.at(high / ratio**k)):
                tangent = _within(each, statement)
                if tangent is not None and (value := cost(tangent)) > best[0]:
                    best = value, tangent, high / ratio**k
        if not best[2]:
            return None
        low, high = best[2] / ratio, best[2] * ratio
    return allowed(best[1], statement) if always or best[0] > least else None


def _within(tangent: Tangent, statement: Statement) -> Tangent | None:
    """Return outcomes that all orders allow, about: nearer to each other, if they have to be."""
    p = tangent.masses[0]
    q = p * exp(-tangent.upper)
    if not 0 < q < p < 1:
        return None
    if isinstance(statement, ConcentratedStatement):
        return tangent
    orders, most = np.array([[float(a), float(a - 1) * float(d)] for a, d in statement.orders]).T

    def fits(share: float) -> bool:
        r = q + (1 - share) * (p - q)
        upper, lower = log(p / r), log1p(-p) - log1p(-r)
        ways = ((log(p), upper), (log1p(-p), lower)), ((log1p(-r), -lower), (log(r), -upper))
        sums = (np.logaddexp(*(own + (orders - 1) * loss for own, loss in way)) for way in ways)
        return all((each <= most).all() for each in sums)

    low, high = 0.0, 1.0
    for _ in range(0 if fits(1.0) else 40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    r = q + (1 - (low or 1.0)) * (p - q)
    return replace(tangent, upper=log(p / r), lower=log1p(-p) - log1p(-r))


def _asked(value: Callable[[float], float], asked: Asked) -> float:
    budget, delta = asked
    if budget is not None:
        return value(budget)
    return _where(lambda t: value(t) > (delta or _LIKELY))


def _where(above: Callable[[float], bool]) -> float:
    """Return up to where that is so."""
    low, high = 0.0, _FAR
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) else (low, middle)
    return low


def _noise(loss: float, shift: float) -> float:
    """H of Gaussian noise."""
    place = loss / shift - shift / 2
    beyond = erfc((place + shift) / sqrt(2)) / 2
    return erfc(place / sqrt(2)) / 2 - (exp(loss) * beyond if beyond else 0.0)
