"""From a profile at knots to masses on the grid: bounds from above and from below.

A function F that is linear between knots a_0 < a_1 < … < a_n, starts at F(0) = 1, and is constant
F(a_n) beyond them, with slopes s_i from a_i to a_(i+1), s_(-1) from (0, 1), s_n = 0, is

    F(α) = Σ_i m_i (1 - α / a_i)₊ + F(a_n),    m_i = a_i (s_i - s_(i-1)),                       (1)

for both sides have one slope in each piece and one limit. So masses m_i at the losses ln a_i, and
F(a_n) at infinity, stand for F.

From above ("connect the dots"). F goes through (a_i, H_i), H_i >= H(a_i) as found. H is convex, so
between knots it lies below its chords, these below F's; beyond a_n it does not increase. Where
bounds are not convex some m_i < 0; 0 in their place increases (1).

From below ("tangents"). Each knot α_i has a line P(S_i) - α Q(S_i), that of a set: it lies below H,
as do 1 - α and P(Q = 0) on either side. F bends between knots that follow each other, at a loss of
the grid, where it takes the lesser of the two lines: each piece of F lies below one line at both
of its ends, and so below H. The bends are at odd halves of a step: lines at α_i meet half-way, up
to terms of third order. Some m_i may be < 0. As (1 - α/a)₊ grows with a,

    m (1 - α/a)₊ - d (1 - α/a')₊ >= (m - d) (1 - α/a)₊  for a > a',  d >= 0,

so a debt may be paid by greater losses, or by infinity. If that is not enough nothing is known but
H >= (1 - α)₊, the mass 1 at loss 0.

If H itself bends at whole steps only, the values there give all of it, from both sides.

In (1) everything is a ball around the true value for *some* F as described, one with all its H_i
within the balls, and a ball's end is rounded to a whole number to the side that is safe.

Sources: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, Connect the dots, 2022 (from above).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import floor, log

from flint import arb

from dipapprox.composition.grid import Knot, Step
from dipapprox.composition.losses import LossDistribution, Side, loss_distribution
from dipapprox.composition.profile import Ends


def from_above(knots: Sequence[Knot], bits: int, cut: int) -> LossDistribution:
    """Bound a profile from above.

    Args:
        knots: Ascending, at least one.
        bits: Of the unit of masses.
        cut: Most mass, in the unit, that may be cut off at either end.
    """
    places = [2 * knot.place for knot in knots]
    values = [knot.point.bound for knot in knots]
    masses = _masses([knot.alpha for knot in knots], values)
    whole = [max(_ceiling(mass, bits), 0) for mass in masses]
    infinite = max(_ceiling(values[-1], bits), 0)
    return _spread(places, whole, infinite, bits, Side.ABOVE, cut)


def from_below(
    knots: Sequence[Knot], ends: Ends, step: Step, bits: int, cut: int
) -> LossDistribution:
    """Bound the profile of a pair that the mechanism has, from below.

    Args:
        knots: Ascending, at least one.
        ends: What the pair has at infinite losses.
        step: Of the grid.
        bits: Of the unit of masses.
        cut: Most mass, in the unit, that may be cut off at either end.
    """
    kept = [knot for knot in knots if knot.point.first < 1 and knot.point.second > 0]
    fewer = 1
    while kept:
        found = _below_lines(kept, ends, step, bits, cut)
        if found is not None:
            return found
        del kept[-fewer:]
        fewer *= 2
    return trivial(bits, 1)


def _below_lines(
    knots: Sequence[Knot], ends: Ends, step: Step, bits: int, cut: int
) -> LossDistribution | None:
    lines = [(k.point.first, k.point.second) for k in knots]
    bends = [2 * knots[0].place - 1]
    bends += [_bend(a, b, step) for a, b in pairwise(knots)]
    last = lines[-1][0] - ends.infinite, lines[-1][1]
    bends.append(_whole(last, step, knots[-1].place, None))
    lines = [(arb(1), arb(1)), *lines, (ends.infinite, arb(0))]
    alphas = [step.factor(bend) for bend in bends]
    values = [
        min((p - alpha * q for p, q in two), key=arb.lower)
        for alpha, two in zip(alphas, pairwise(lines), strict=True)
    ]
    return _below(bends, alphas, values, bits, cut)


def _bend(left: Knot, right: Knot, step: Step) -> int:
    """Where to go from the line of one knot to that of the next: below where they meet.

    Then the second is the lesser one, and not less than the limit of H.
    """
    one, two = left.point, right.point
    masses = one.first - two.first, one.second - two.second
    return _whole(masses, step, left.place, right.place)


def _whole(masses: tuple[arb, arb], step: Step, low: int, high: int | None) -> int:
    """The greatest odd number of half steps below the loss of a merged atom, between knots."""
    first, second = (float(mass.mid()) for mass in masses)
    if high == low + 1 or first <= 0 or second <= 0:
        return 2 * low + 1
    place = (log(first) - log(second)) / float(step.loss(2))
    most = high - 1 if high is not None else 2 * abs(low) + 1
    return 2 * min(max(floor(place - 0.5), low), most) + 1


def exactly_below(
    knots: Sequence[Knot], ends: Ends, step: Step, bits: int, cut: int
) -> LossDistribution:
    """Bound from below a profile that bends at knots alone, which are all whole steps of a range.

    It is 1 - α before the first, and constant after the last.
    """
    places = [knots[0].place - 1, *(knot.place for knot in knots), knots[-1].place + 1]
    alphas = [step.factor(2 * place) for place in places]
    values = [k.point.first - k.alpha * k.point.second for k in knots]
    limits = [1 - alphas[0], *values, ends.infinite]
    found = _below([2 * place for place in places], alphas, limits, bits, cut)
    return trivial(bits) if found is None else found


def _below(
    places: Sequence[int], alphas: Sequence[arb], values: Sequence[arb], bits: int, cut: int
) -> LossDistribution | None:
    """(1) rounded down, debts paid; None if one cannot be."""
    whole, debt = [], 0
    for mass in _masses(alphas, values):
        paid = _floor(mass, bits) - debt
        whole.append(max(paid, 0))
        debt = max(-paid, 0)
    infinite = _floor(values[-1], bits) - debt
    if infinite < 0:
        return None
    return _spread(places, whole, infinite, bits, Side.BELOW, cut)


def trivial(bits: int, place: int = 0) -> LossDistribution:
    """Two equal distributions, from below; at a loss <= 0, in half steps, of the parity wanted."""
    return loss_distribution(-(place % 2), [1 << bits], 0, bits, Side.BELOW)


def _masses(alphas: Sequence[arb], values: Sequence[arb]) -> list[arb]:
    """(1): a_i (s_i - s_(i-1))."""
    slopes = [(values[0] - 1) / alphas[0]]
    for k in range(1, len(alphas)):
        slopes.append((values[k] - values[k - 1]) / (alphas[k] - alphas[k - 1]))
    slopes.append(arb(0))
    return [a * (t - s) for a, s, t in zip(alphas, slopes, slopes[1:], strict=False)]


def _spread(
    places: Sequence[int], masses: Sequence[int], infinite: int, bits: int, side: Side, cut: int
) -> LossDistribution:
    """Put masses on the grid between the first and the last place, in half steps."""
    dense = [0] * ((places[-1] - places[0]) // 2 + 1)
    for place, mass in zip(places, masses, strict=True):
        dense[(place - places[0]) // 2] += mass
    return loss_distribution(places[0], dense, infinite, bits, side, cut)


def _ceiling(ball: arb, bits: int) -> int:
    return -_floor(-ball, bits)


def _floor(ball: arb, bits: int) -> int:
    """The greatest whole number surely not above ball * 2^bits."""
    mantissa, exponent = (int(part) for part in ball.lower().man_exp())
    shift = exponent + bits
    return mantissa << shift if shift >= 0 else mantissa >> min(-shift, mantissa.bit_length() + 1)
