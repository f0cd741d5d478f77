"""Runs on one grid: the loss distribution of every piece, from both sides, and their product.

run: pieces ─ profile ─ knots ─┬─ from above ─ factor ─┐
                               └─ from below ─ factor ─┤  powers, product
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, log2

from flint import arb

from dipapprox.arithmetic.precision import precision
from dipapprox.composition.discrete_profiles import DiscreteProfile
from dipapprox.composition.discretise import from_above, from_below, outcomes_above
from dipapprox.composition.grid import GridStep, Knot, ProfileOnGrid, between, choose_knots
from dipapprox.composition.losses import BoundSide, RunLosses
from dipapprox.composition.pieces import Piece, RepeatedRun, pieces_of
from dipapprox.composition.powers import Wanted
from dipapprox.composition.profile import UpperOnlyProfile
from dipapprox.data_classes import dataclass
from dipapprox.limits import Limits

_MASS_THAT_MATTERS = 2.0**-12
"""Of one run at the losses that lead to the least ε: less may be kept on a coarser grid, where
profiles are smooth. Atoms between two knots cost more than the square of their distance."""

_LEAST = 1e-300
"""Least accuracy in doubles."""

_RANGE = 8
"""Of the losses of one run, about; at most that."""


@dataclass(frozen=True, slots=True)
class LossGrid:
    """Where losses lie, and how accurately masses are kept.

    Of accuracy, each cut at either end of each product takes a share, and so does the rounding of
    the masses of each run. Units are small enough for a cut to take masses of one unit each.

    Attributes:
        step: The distance of losses.
        exact: Whether losses are to stay on it: see `Wanted`.
        accuracy: How accurate H is to be, besides what the grid costs.
        weight: The δ that matters, about.
        budget: ε, if that is asked.
        delta: δ, if that is.
        steepness: About -d ln H(e^ε) / dε there; 0 if it is not known.
    """

    step: GridStep
    exact: bool
    accuracy: Fraction
    weight: Fraction
    budget: float | None = None
    delta: float | None = None
    steepness: float = 0.0

    def share(self, runs: Sequence[RepeatedRun]) -> Fraction:
        """What one product or run may cost."""
        products = sum(2 * run.times.bit_length() for run in runs)
        return self.accuracy / (8 * products * sum(run.times for run in runs))

    def wanted(self, runs: Sequence[RepeatedRun]) -> Wanted:
        """What products are for."""
        accuracy = max(float(self.accuracy), _LEAST)
        share = self.share(runs)
        return Wanted(self.step, share, self.budget, self.delta, accuracy, self.exact)

    def bits(self, runs: Sequence[RepeatedRun]) -> int:
        """Of the unit of masses."""
        masses = min(max(ceil(log2(_RANGE / float(self.step.loss(1)))), 8), 20)
        return bits_of(self.share(runs)) + masses


Factor = tuple[RunLosses, int]
"""The losses of a pair of measures on a grid, from one side, and how often it is run."""


def factors_of(
    runs: Sequence[RepeatedRun], grid: LossGrid, limits: Limits, *, added: bool
) -> tuple[list[Factor], list[Factor]]:
    """Put runs on a grid: from below, and from above.

    Args:
        runs: What is run.
        grid: The grid.
        limits: What may be used.
        added: Whether for the adding of a record, not the removal.

    Raises:
        LimitReached: If the limits are.
    """
    step, share, bits = grid.step, grid.share(runs), grid.bits(runs)
    below: list[Factor] = []
    above: list[Factor] = []
    working = bits + 2 * max(bits_of(step.unit), 0) + 64
    with precision(working):
        pieces = pieces_on(runs, grid, working, limits, added=added)
        for piece in pieces:
            profile = piece.profile
            if isinstance(profile, UpperOnlyProfile):
                profile = profile.profile
            knots: list[Knot] = []
            knot = ProfileOnGrid(profile, step)
            if not isinstance(profile, DiscreteProfile):
                negligible, weight, steepness = float(share / 1024), float(grid.weight / 16), 0.0
                if grid.steepness:
                    weight, steepness = _MASS_THAT_MATTERS, grid.steepness
                knots = choose_knots(knot, negligible, weight, limits, steepness)
            if BoundSide.BELOW in piece.sides:
                lines: Iterable[tuple[arb, arb]] = ()
                if isinstance(profile, DiscreteProfile) and profile is piece.profile:
                    lines = profile.lines()
                elif profile is piece.profile:
                    middles = between(knot, knots)
                    lines = ((each.point.first, each.point.second) for each in middles)
                low = from_below(lines, piece.profile.ends, step, bits)
                below.append((low, piece.times))
            if BoundSide.ABOVE in piece.sides:
                if isinstance(profile, DiscreteProfile):
                    high = outcomes_above(profile, step, bits)
                else:
                    high = from_above(knots, bits)
                above.append((high, piece.times))
    return below, above


def pieces_on(
    runs: Sequence[RepeatedRun], grid: LossGrid, bits: int, limits: Limits, *, added: bool
) -> list[Piece]:
    """Return the pieces of runs for a grid; see `pieces_of`."""
    return pieces_of(runs, bits, float(grid.step.loss(1)), limits, added=added)


def bits_of(size: Fraction) -> int:
    """About -log2 of a number > 0, at least that."""
    return size.denominator.bit_length() - size.numerator.bit_length() + 1
