"""Divergences over an interval of epsilons: the chord between its ends, and how far above it.

Fix two inputs, and for every eps in [lo, hi], w = hi - lo, a set S of outputs out of one family
(`derivative_bounds`). Let p and q be its probabilities at u and u', as functions of eps: the rates
bound |p'| by f(p) and |p''| by s(p), f and s affine and non-decreasing, and those of q likewise.
Let L be affine and 0 < L <= E = e^eps_prv on the interval, and at an end e for some G_e

    D_e = sup over S of p_e(S) - G_e q_e(S),

so that p_e(S) - L_e q_e(S) <= D_e + (G_e - L_e)+ q_e(S). Let S be a set with p >= E q at some eps,
such as the one that attains the supremum of p - E q there, if that is not 0.

1. q(eps) <= p(eps) / L. On the interval p is at most P and q at most Q, where by |p'| <= f(P)
   P <= p(eps) + w f(P), so with f(p) = a p + c, w a < 1, P = (p(eps) + w c) / (1 - w a).
2. p and q are at most r_p and r_q off their chords, r_p = min(w/2 f(P), w²/8 s(P)) (`tube`), so

       p - E q  <=  p - L q  <=  chord of (p - L q)  +  r_p  +  max(L) r_q  +  |dL dq| / 4,

   differences being those from lo to hi, |dq| <= w f(Q). The chord is below that of the values
   D_e + (G_e - L_e)+ Q at the ends. All that is added is of second order in w.
3. p(eps) is at most 1. It is about as small as the divergence at a lesser factor α: at either end,
   with D(α) = sup p_e - α q_e,

       p(eps) - w f(P)  <=  p_e  <=  D(α) + α q_e  <=  D(α) + α (q(eps) + w f(Q)),

   and as f(P) <= (a p(eps) + c) / (1 - w a), f(Q) <= (a p(eps) / L + c) / (1 - w a), with
   k = w / (1 - w a) and ρ = α / L

       p(eps) (1 - ρ - k a (1 + ρ))  <=  D(α) + k c (1 + α).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import inf

from dipapprox.data_classes import dataclass
from dipapprox.privacy.intervals.derivative_bounds import Rates, SlopeBound
from dipapprox.privacy.intervals.formula_claim import Minorant

_NOTHING, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class SpreadEnd:
    """What is known at one end of the interval.

    Attributes:
        growth: G_e > 0.
        divergence: At least D_e.
        lesser: Another factor, α > 0, and at least D(α); None if that is not known.
    """

    growth: Fraction
    divergence: Fraction
    lesser: tuple[Fraction, Fraction] | None = None


def highest(
    lower: SpreadEnd, upper: SpreadEnd, factor: Minorant, width: Fraction, rates: Rates
) -> tuple[Fraction, Fraction]:
    """Return an affine bound of the divergence over an interval, by its values at the ends.

    The factor is L > 0; the rates are valid over the interval, for one family of sets.
    """
    least, greatest = sorted((factor.at_lower, factor.at_upper))
    first, second = _Lines(rates.first), _Lines(rates.second)
    p = min(_mass(lower, least, width, first), _mass(upper, least, width, first))
    most_p, most_q = (_farther(each, width, first) for each in (p, min(_ONE, p / least)))
    added = _off(most_p, width, first, second) + greatest * _off(most_q, width, first, second)
    added += (greatest - least) * min(width * first.least(most_q), _ONE) / 4
    found = [
        end.divergence + max(end.growth - value, _NOTHING) * most_q + added
        for end, value in ((lower, factor.at_lower), (upper, factor.at_upper))
    ]
    return found[0], found[1]


class _Lines:
    """Affine functions, each of which will do; doubles guess which is the best."""

    def __init__(self, lines: Sequence[SlopeBound]) -> None:
        self._lines = lines
        self._guesses = [(float(line.slope), float(line.constant)) for line in lines]

    def __len__(self) -> int:
        return len(self._lines)

    def least(self, p: Fraction) -> Fraction:
        """Return about the least of the functions at p."""
        value = float(p)
        line = self.best(lambda slope, constant: slope * value + constant)
        return line.slope * p + line.constant

    def best(self, cost: Callable[[float, float], float]) -> SlopeBound:
        """Return the line whose slope and constant cost the least."""
        costs = [cost(slope, constant) for slope, constant in self._guesses]
        return self._lines[costs.index(min(costs))]


def _mass(end: SpreadEnd, least: Fraction, width: Fraction, first: _Lines) -> Fraction:
    """Bound p(eps) by a lesser factor at one end (3)."""
    if end.lesser is None:
        return _ONE
    alpha, divergence = end.lesser
    ratio, w = float(alpha / least), float(width)

    def cost(slope: float, constant: float) -> float:
        reach = w / (1 - w * slope) if w * slope < 1 else inf
        left = 1 - ratio - reach * slope * (1 + ratio) if slope else 1 - ratio
        return (
            (float(divergence) + reach * constant * (1 + float(alpha))) / left if left > 0 else inf
        )

    line = first.best(cost)
    if width * line.slope >= 1:
        return _ONE
    reach = width / (1 - width * line.slope)
    left = 1 - alpha / least - reach * line.slope * (1 + alpha / least)
    if left <= 0:
        return _ONE
    return min(_ONE, (divergence + reach * line.constant * (1 + alpha)) / left)


def _farther(p: Fraction, width: Fraction, first: _Lines) -> Fraction:
    """Bound a probability on the interval that is at most p at one place of it (1)."""
    w, value = float(width), float(p)

    def cost(slope: float, constant: float) -> float:
        return (value + w * constant) / (1 - w * slope) if w * slope < 1 else inf

    line = first.best(cost)
    if width * line.slope >= 1:
        return _ONE
    return min(_ONE, (p + width * line.constant) / (1 - width * line.slope))


def _off(p: Fraction, width: Fraction, first: _Lines, second: _Lines) -> Fraction:
    """Bound how far a probability that is at most p is off its chord (2)."""
    found = [width / 2 * first.least(p)]
    if second:
        found.append(width**2 / 8 * second.least(p))
    return min(_ONE, *found)
