"""From a profile at knots to masses on the grid: bounds from above and from below.

A function F that is linear between knots a_0 < a_1 < … < a_n, starts at F(0) = 1, and is constant
F(a_n) beyond them, with slopes s_i from a_i to a_(i+1), s_(-1) from (0, 1), s_n = 0, is

    F(α) = Σ_i m_i (1 - α / a_i)₊ + F(a_n),    m_i = a_i (s_i - s_(i-1)),                       (1)

for both sides have one slope in each piece and one limit. So masses m_i at the losses ln a_i, and
F(a_n) at infinity, stand for F.

From above ("connect the dots"). F goes through (a_i, H_i), H_i >= H(a_i) as found. H is convex, so
between knots it lies below its chords, these below F's; beyond a_n it does not increase. Where
bounds are not convex some m_i < 0; 0 in their place increases (1).

From below ("tangents"). At odd half steps α_i lines P(S_i) - α Q(S_i) are known, of sets S_i: they
lie below H, as do 1 - α Q(P > 0) and P(Q = 0) on either side. F bends once between two neighbours,
a little below a whole step, where it takes the lesser of the two: each piece of F lies below
one line at both of its ends, and so below H. Lines half a step from a whole one meet there, up to
terms of third order; and exactly, if H has no bends but at whole steps. By how little, the *slip*,
is known, and counts for every run when the result is read; without it balls would not tell that the
last line has not fallen below the limit where it meets it. Some m_i may be < 0. As (1 - α/a)₊
grows with a,

    m (1 - α/a)₊ - d (1 - α/a')₊ >= (m - d) (1 - α/a)₊  for a > a',  d >= 0,

so a debt may be paid by greater losses, or by infinity. If that is not enough the last lines are
left out, and if all are, nothing is known but H >= (1 - α)₊, the mass 1 at loss 0.

In (1) everything is a ball around the true value for *some* F as described, one with all its H_i
within the balls, and a ball's end is rounded to a whole number to the side that is safe.

Sources: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, Connect the dots, 2022 (from above).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor, log

from flint import arb

from dipapprox.arithmetic.precision import to_ball
from dipapprox.composition.grid import GridStep, Knot
from dipapprox.composition.losses import BoundSide, LossDistribution, loss_distribution
from dipapprox.composition.profile import Ends
from dipapprox.limits import Limits


def from_above(knots: Sequence[Knot], bits: int, cut: int, limits: Limits) -> LossDistribution:
    """Bound a profile from above.

    Args:
        knots: At whole steps, ascending, at least one.
        bits: Of the unit of masses.
        cut: Most mass, in the unit, that may be cut off at either end.
        limits: Of atoms.

    Raises:
        LimitReached: If there are too many.
    """
    places = [knot.place for knot in knots]
    values = [knot.point.bound for knot in knots]
    masses = _masses([knot.alpha for knot in knots], values)
    whole = [max(_ceiling(mass, bits), 0) for mass in masses]
    infinite = max(_ceiling(values[-1], bits), 0)
    return _spread(places, whole, infinite, bits, BoundSide.ABOVE, cut, limits)


def from_below(
    knots: Sequence[Knot],
    ends: Ends,
    step: GridStep,
    slip: Fraction,
    bits: int,
    cut: int,
    limits: Limits,
) -> LossDistribution:
    """Bound the profile of a pair that the mechanism has, from below; true losses are less by slip.

    Args:
        knots: At odd half steps, ascending.
        ends: What the pair has at infinite losses.
        step: Of the grid.
        slip: By how much to go below whole steps, > 0.
        bits: Of the unit of masses.
        cut: Most mass, in the unit, that may be cut off at either end.
        limits: Of atoms.

    Raises:
        LimitReached: If there are too many.
    """
    first, last = knots[0].place, knots[-1].place
    reach = first - 2 * abs(first) - 2, last + 2 * abs(last) + 2
    kept = [knot for knot in knots if not _is_at_an_end(knot, ends)]
    fewer = 1
    while True:
        found = _from_lines(kept, reach, ends, step, slip, bits, cut, limits)
        if found is not None:
            return found
        if not kept:
            return loss_distribution(0, [1 << bits], 0, bits, BoundSide.BELOW)
        del kept[-fewer:]
        fewer *= 2


def _is_at_an_end(knot: Knot, ends: Ends) -> bool:
    """Whether balls do not tell the line of a knot from that of everything, or of nothing but
    what Q lacks."""
    first, second = knot.point.first, knot.point.second
    if first.overlaps(ends.infinite) and second.overlaps(arb(0)):
        return True
    return first.overlaps(arb(1)) and second.overlaps(1 - ends.lost)


def _from_lines(
    knots: Sequence[Knot],
    reach: tuple[int, int],
    ends: Ends,
    step: GridStep,
    slip: Fraction,
    bits: int,
    cut: int,
    limits: Limits,
) -> LossDistribution | None:
    """Round (1) down, for the lines of knots; None if debts cannot be paid."""
    lines = [(arb(1), 1 - ends.lost), *((knot.point.first, knot.point.second) for knot in knots)]
    lines.append((ends.infinite, arb(0)))
    places = [reach[0], *(knot.place for knot in knots), reach[1]]
    less = to_ball(-slip).exp()
    bends = [
        _bend(lines[k], lines[k + 1], step, less, places[k : k + 2]) for k in range(len(places) - 1)
    ]
    alphas = [step.factor(bend) * less for bend in bends]
    values = [
        min((p - alpha * q for p, q in two), key=arb.lower)
        for alpha, two in zip(alphas, pairwise(lines), strict=True)
    ]
    whole, debt = [], 0
    for mass in _masses(alphas, values):
        paid = _floor(mass, bits) - debt
        whole.append(max(paid, 0))
        debt = max(-paid, 0)
    infinite = _floor(values[-1], bits) - debt
    if infinite < 0:
        return None
    return _spread(bends, whole, infinite, bits, BoundSide.BELOW, cut, limits)


def _bend(
    one: tuple[arb, arb], two: tuple[arb, arb], step: GridStep, less: arb, places: Sequence[int]
) -> int:
    """A whole step between two lines, in half steps: at most where they meet, if there is one.

    Then the second line is the lesser one, and not less than the limit of H.
    """
    low, high = places[0] + 1, places[1] - 1
    masses = one[0] - two[0], one[1] - two[1]
    first, second = (float(mass.mid()) for mass in masses)
    if low >= high or first <= 0 or second <= 0:
        return low
    # What floating point calls nearly whole may be whole.
    meeting = floor((log(first) - log(second)) / float(step.loss(2)) + 0.001) * 2
    guess = min(max(meeting, low), high)
    for place in (guess, guess - 2):
        if place > low and masses[0] >= step.factor(place) * less * masses[1]:
            return place
    return low


def _masses(alphas: Sequence[arb], values: Sequence[arb]) -> list[arb]:
    """(1): a_i (s_i - s_(i-1))."""
    slopes = [(values[0] - 1) / alphas[0]]
    for k in range(1, len(alphas)):
        slopes.append((values[k] - values[k - 1]) / (alphas[k] - alphas[k - 1]))
    slopes.append(arb(0))
    return [a * (t - s) for a, s, t in zip(alphas, slopes, slopes[1:], strict=False)]


def _spread(
    places: Sequence[int],
    masses: Sequence[int],
    infinite: int,
    bits: int,
    side: BoundSide,
    cut: int,
    limits: Limits,
) -> LossDistribution:
    """Put masses at places, in half steps but all whole ones, on the grid between them."""
    atoms = (places[-1] - places[0]) // 2 + 1
    limits.check_atoms(atoms)
    dense = [0] * atoms
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
