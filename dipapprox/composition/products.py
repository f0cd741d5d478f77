"""Runs on one grid: the loss distribution of every piece, from both sides, and their product.

run: pieces ─ profile ─ knots ─┬─ from above ─ factor ─┐
                               └─ from below ─ factor ─┤  powers, product

Discretise. From a profile at knots to masses on the grid: bounds from above and from below.

From above ("connect the dots"). A function F that is linear between knots a_0 < a_1 < … < a_n,
starts at F(0) = 1, and is constant F(a_n) beyond them, with slopes s_i from a_i to a_(i+1), s_(-1)
from (0, 1), s_n = 0, is

    F(α) = Σ_i m_i (1 - α / a_i)₊ + F(a_n),    m_i = a_i (s_i - s_(i-1)),                       (1)

for both sides have one slope in each piece and one limit. So masses m_i at the losses ln a_i, and
F(a_n) at infinity, stand for F. F goes through (a_i, H_i), H_i >= H(a_i) as found. H is convex, so
between knots it lies below its chords, these below F's; beyond a_n it does not increase. Where
bounds are not convex some m_i < 0; 0 in their place increases (1).

Of an outcome of mass p and ratio r = p/q <= a_(i+1), not below a_i, that is the mass
p (1 - a_i / r) / (1 - a_i / a_(i+1)) at the greater loss, and the rest of p at the other: outcomes
that are known need no H. Where r is below a_i, the first is taken for 0; so balls may choose i.

From below ("joined outcomes"). Lines P(S_i) - α Q(S_i), of sets S_i, lie below H, as do 1 - α
Q(P > 0) and P(Q = 0). The greatest of them is convex: with those that are the greatest somewhere in
the order of their slopes, it is the H of outcomes of P and Q masses

    P(S_i) - P(S_(i+1)),    Q(S_i) - Q(S_(i+1)),                                                (2)

P(Q = 0) at infinity. If one set is in the next, as the best ones are, these are outcomes of the
pair itself, joined. Whatever a line is, it stays below H if P(S) is rounded down and Q(S) up. Each
outcome is put on the step that is nearest to its loss, with both of its masses (`losses`).

Sources: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, Connect the dots, 2022 (from above).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import floor, log

from flint import arb

from dipapprox.arithmetic.precision import precision
from dipapprox.composition.discrete_profiles import DiscreteProfile
from dipapprox.composition.grid import GridStep, Knot, ProfileOnGrid, between, choose_knots
from dipapprox.composition.losses import BoundSide, RunLosses, ceiling, floored
from dipapprox.composition.pieces import RepeatedRun, pieces_of
from dipapprox.composition.powers import LossGrid, bits_of
from dipapprox.composition.profile import Ends
from dipapprox.limits import Limits

_SMALLER = 64
"""Q masses are first kept to a unit that is smaller by 2^-64: they are, at greater losses."""


def from_above(knots: Sequence[Knot], bits: int) -> RunLosses:
    """Bound a profile from above.

    Args:
        knots: At whole steps, ascending, at least one.
    """
    values = [knot.point.bound for knot in knots]
    masses = _masses([knot.alpha for knot in knots], values)
    whole = {
        int(knot.place): max(ceiling(mass, bits), 0)
        for knot, mass in zip(knots, masses, strict=True)
    }
    return RunLosses(whole, whole, max(ceiling(values[-1], bits), 0), bits, BoundSide.ABOVE)


def outcomes_above(known: DiscreteProfile, step: GridStep, bits: int) -> RunLosses:
    """Bound a profile from above by its outcomes, in units of 2^-bits."""
    unit = arb(2) ** bits
    size = float(step.loss(1))
    factors: dict[int, arb] = {}

    def factor(place: int) -> arb:
        if place not in factors:
            factors[place] = step.factor(place)
        return factors[place]

    masses: dict[int, int] = {}
    gap = 1 - step.factor(-1)
    for ratio, (first, after) in zip(known.ratios, pairwise(known.firsts), strict=True):
        ratio, mass = ratio.upper(), first - after
        place = floor(float(ratio.log()) / size)
        while not ratio <= factor(place + 1):
            place += 1
        share = (1 - factor(place) / ratio) / gap
        more = max(ceiling(mass * share * unit, 0), 0)
        rest = max(ceiling(mass * (1 - share) * unit, 0), 0)
        for where, number in ((place + 1, more), (place, rest)):
            if number:
                masses[where] = masses.get(where, 0) + number
    infinite = max(ceiling(known.infinite + known.missing, bits), 0)
    return RunLosses(masses, masses, infinite, bits, BoundSide.ABOVE)


def from_below(
    lines: Iterable[tuple[arb, arb]], ends: Ends, step: GridStep, bits: int
) -> RunLosses:
    """Bound the profile of a pair that the mechanism has, from below.

    Args:
        lines: P(S) and Q(S) of sets, those likely under Q first, about.
        ends: What the pair has at infinite losses.
    """
    finer = bits + _SMALLER
    every = [(arb(1), 1 - ends.lost), *lines, (ends.infinite, arb(0))]
    kept = greatest((floored(p, bits), max(ceiling(q, finer), 0)) for p, q in every)
    size, unit = float(step.loss(1)), _SMALLER * log(2)
    masses: dict[int, int] = {}
    others: dict[int, int] = {}
    for (p, q), (less, fewer) in pairwise(kept):
        place = round((log(p - less) - log(q - fewer) + unit) / size)
        masses[place] = masses.get(place, 0) + p - less
        others[place] = others.get(place, 0) + q - fewer
    others = {k: ceiling(step.factor(k) * q, -_SMALLER) for k, q in others.items()}
    return RunLosses(masses, others, max(kept[-1][0], 0), bits, BoundSide.BELOW)


def greatest(lines: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return those of lines p - α q, q >= 0, that are the greatest at some α >= 0, p falling."""
    kept: list[tuple[int, int]] = []
    for p, q in sorted(lines, key=lambda line: (-line[1], line[0])):
        while kept and kept[-1][0] <= p:
            kept.pop()
        while len(kept) > 1:
            (first, steep), (second, flat) = kept[-2:]
            # It is, where it has passed the one before and is not yet passed by the next one.
            if (first - second) * (flat - q) < (second - p) * (steep - flat):
                break
            kept.pop()
        kept.append((p, q))
    return kept


def _masses(alphas: Sequence[arb], values: Sequence[arb]) -> list[arb]:
    """(1): a_i (s_i - s_(i-1))."""
    slopes = [(values[0] - 1) / alphas[0]]
    for k in range(1, len(alphas)):
        slopes.append((values[k] - values[k - 1]) / (alphas[k] - alphas[k - 1]))
    slopes.append(arb(0))
    return [a * (t - s) for a, s, t in zip(alphas, slopes, slopes[1:], strict=False)]


_MASS_THAT_MATTERS = 2.0**-12
"""Of one run at the losses that lead to the least ε: less may be kept on a coarser grid, where
profiles are smooth. Atoms between two knots cost more than the square of their distance."""

Factor = tuple[RunLosses, int]
"""The losses of a pair of measures on a grid, from one side, and how often it is run."""


def factors_of(
    runs: Sequence[RepeatedRun],
    grid: LossGrid,
    limits: Limits,
    sides: Sequence[BoundSide],
    *,
    added: bool,
) -> dict[BoundSide, list[Factor]]:
    """Put runs on a grid, from some sides.

    Args:
        added: Whether for the adding of a record, not the removal.
    """
    found: dict[BoundSide, list[Factor]] = {side: [] for side in sides}
    if not found:
        return found
    step, share, bits = grid.step, grid.share, grid.bits
    working = bits + 2 * max(bits_of(step.unit), 0) + 64
    with precision(working):
        pieces = pieces_of(runs, grid, working, limits, added=added)
        for piece in pieces:
            profile, own = piece.profile, [each for each in piece.sides if each in found]
            if not own:
                continue
            knots: list[Knot] = []
            knot = ProfileOnGrid(profile, step)
            if not isinstance(profile, DiscreteProfile):
                negligible, weight, steepness = float(share / 1024), float(grid.weight / 16), 0.0
                if grid.steepness:
                    weight, steepness = _MASS_THAT_MATTERS, grid.steepness
                knots = choose_knots(knot, negligible, weight, limits, steepness)
            if BoundSide.BELOW in own:
                if isinstance(profile, DiscreteProfile):
                    lines: Iterable[tuple[arb, arb]] = profile.lines()
                else:
                    middles = between(knot, knots)
                    lines = ((each.point.first, each.point.second) for each in middles)
                low = from_below(lines, profile.ends, step, bits)
                found[BoundSide.BELOW].append((low, piece.times))
            if BoundSide.ABOVE in own:
                if isinstance(profile, DiscreteProfile):
                    high = outcomes_above(profile, step, bits)
                else:
                    high = from_above(knots, bits)
                found[BoundSide.ABOVE].append((high, piece.times))
    return found
