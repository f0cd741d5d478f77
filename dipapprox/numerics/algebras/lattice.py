"""Laws, constants and sums in; out, a grid of panels of one width for all of them.

Convolutions add up panels: k w and l w make (k + l) w. So on a *lattice* all kinks of densities and
all constants are multiples of one width w, which is narrow for every law. The grid covers all but
little of every sample and every sum; for a sum of independent X_i and 0 < λ

    Pr[Σ X_i - mean >= t]  <=  exp(Σ ψ_i(λ) - λ t),     ψ_i(λ) = log E exp(λ (X_i - mean_i)),

which families know.

References:
    H. Chernoff, A measure of asymptotic efficiency for tests of a hypothesis, Ann. Math. Statist.
    23 (1952).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import chain
from math import ceil, floor

from flint import arb

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.tails import cutoff_interval
from dipapprox.limits import asking
from dipapprox.linear.form import content
from dipapprox.numerics.algebras.grid import Grid, PanelSpan

MOST_PANELS = 2048
"""Convolutions take a time that grows with the square of the number of panels."""

_BITS = 64

_LEAST = Fraction(1, 2**24)
"""Least scale; its inverse is the greatest."""


def build_lattice(
    laws: Iterable[Distribution],
    points: Iterable[Fraction],
    sums: Iterable[Sequence[Distribution]],
    bits: int,
    fineness: int = 1,
    max_panels: int = MOST_PANELS,
) -> Grid | NotEnclosed:
    """Cover laws and sums of independent samples.

    Args:
        laws: Of the samples; at least one.
        points: Constants that functions will be cut at.
        sums: The laws of the samples in each sum.
        bits: All but 2**(1 - bits) of each law and of each sum is covered.
        fineness: Divides the panels' width; >= 1.
        max_panels: The grid is refused if it would have more.

    Returns:
        The grid, or why there is none: no width suits all.
    """
    laws, sums = tuple(laws), tuple(sums)
    scales = [law.scale for law in (*laws, *chain.from_iterable(sums))]
    if not _LEAST <= min(scales) <= max(scales) <= 1 / _LEAST:
        return NotEnclosed("the samples' scales are beyond the range of sums in doubles")
    cuts = [*points, *(law.mean for law in laws if law.real.has_kink)]
    width = min(_widest(law) for law in laws) / fineness
    common = content(cuts)
    # Without cuts any width will do: short fractions are quicker.
    width = common / ceil(common / width) if common else width.limit_denominator(64) or width
    intervals = [cutoff_interval(law, bits) for law in laws]
    intervals += [_interval_of_sum(each, bits) for each in sums]
    low = min(floor(left / width) for left, _ in intervals)
    high = max(ceil(right / width) for _, right in intervals)
    if high - low > min(max_panels, MOST_PANELS):
        return NotEnclosed(
            f"sums of samples with such scales, means and constants need {high - low} panels of "
            f"one width, more than {min(max_panels, MOST_PANELS)}"
        )
    lost = Fraction(2, 2**bits)
    spans = {}
    for law in laws:
        left, right = cutoff_interval(law, bits)
        spans[law] = PanelSpan(floor(left / width) - low, ceil(right / width) - low, lost)
    marks = tuple(k * width.numerator for k in range(low, high + 1))
    return Grid(width.denominator, marks, spans)


def _widest(law: Distribution) -> Fraction:
    return law.scale * law.real.even_panel


def _interval_of_sum(laws: Sequence[Distribution], bits: int) -> tuple[Fraction, Fraction]:
    """An interval outside which a sum lies with a probability of at most 2**(1 - bits)."""
    mean = sum((law.mean for law in laws), Fraction(0))
    mirrored = [law.affine(Fraction(-1), Fraction(0)) for law in laws]
    return mean - _reach(mirrored, bits), mean + _reach(laws, bits)


def _reach(laws: Sequence[Distribution], bits: int) -> Fraction:
    """t with Pr[sum - mean > t] <= 2**-bits, for about the best of a few λ."""
    variance = float(sum((law.scale**2 for law in asking(laws)), Fraction(0)))
    tries = [Fraction((1.4 * bits / variance) ** 0.5).limit_denominator(2**40)]
    ends = [e / law.scale for law in laws if (e := law.real.moments_below) is not None]
    if ends:
        tries = [k * min(ends) / 16 for k in range(1, 16)]
    return _reach_by(laws, min(tries, key=lambda rate: _guess(laws, rate, bits)), bits)


def _guess(laws: Sequence[Distribution], rate: Fraction, bits: int) -> float:
    """About what `_reach_by` gives, without any promise."""
    moments = [float(law.real.log_moment(arb(float(rate * law.scale))).mid()) for law in laws]
    return (0.7 * bits + sum(moments)) / float(rate)


def _reach_by(laws: Sequence[Distribution], rate: Fraction, bits: int) -> Fraction:
    with precision(_BITS):
        exponent = arb.const_log2() * bits
        for law, count in asking(Counter(laws).items()):
            exponent += count * law.real.log_moment(to_ball(law.scale * rate))
        found = to_enclosure(exponent / to_ball(rate))
    if isinstance(found, NotEnclosed):
        raise BrokenInvariant("a sum has no exponential moment where it must have one")
    return max(found.upper, Fraction(0))
