"""Runs on one grid: the loss distribution of every piece, from both sides, and their product.

run: pieces ─ profile ─ knots ─┬─ from above ─ factor ─┐
                               └─ from below ─ factor ─┤  powers, product
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, log2

from dipapprox.arithmetic.precision import precision
from dipapprox.composition.catalogue import profile_of
from dipapprox.composition.closed_profiles import GaussianProfile
from dipapprox.composition.discretise import from_above, from_below
from dipapprox.composition.grid import GridStep, all_knots, between, choose_knots
from dipapprox.composition.losses import BoundSide, Cuts, LossDistribution, composed, power
from dipapprox.composition.pieces import Piece, RepeatedRun, pieces_of
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits

_MASS_THAT_MATTERS = 2.0**-10
"""Of one run at the losses that lead to the least ε: less may be kept on a coarser grid, where
profiles are smooth. Atoms between two knots cost more than the square of their distance."""

_RANGE = 8
"""Of the losses of one run, about; at most that."""


@dataclass(frozen=True, slots=True)
class LossGrid:
    """Where losses lie, and how accurately masses are kept.

    Of accuracy, each cut at either end of each product takes a share, and so does the rounding of
    the masses of each run. Units are small enough for a cut to take masses of one unit each.

    Attributes:
        step: The distance of losses.
        exact: Whether all losses of all runs lie on it.
        accuracy: How accurate H is to be, besides what the grid costs.
        weight: The δ that matters, about.
        width: Of the least ε that is wanted, about: some of it may slip.
        budget: That ε, about.
        steepness: About -d ln H(e^ε) / dε there; 0 if it is not known.
    """

    step: GridStep
    exact: bool
    accuracy: Fraction
    weight: Fraction
    width: Fraction
    budget: float = 0.0
    steepness: float = 0.0

    def share(self, runs: Sequence[RepeatedRun]) -> Fraction:
        """What one product or run may cost."""
        products = sum(2 * run.times.bit_length() for run in runs)
        return self.accuracy / (8 * products * sum(run.times for run in runs))

    def cuts(self, runs: Sequence[RepeatedRun]) -> Cuts:
        """What may be cut off of products."""
        size = float(self.step.loss(2))
        return Cuts(self.share(runs), self.steepness * size, self.budget / size)

    def bits(self, runs: Sequence[RepeatedRun]) -> int:
        """Of the unit of masses."""
        masses = min(max(ceil(log2(_RANGE / float(self.step.loss(2)))), 8), 20)
        return bits_of(self.share(runs)) + masses

    def slip(self, pieces: int) -> Fraction:
        """By how much losses from below may be less than on the grid, for all pieces together.

        With an eighth of a squared step for each, the last half step before an atom may be merged
        with it: then the greatest loss stays where it is.
        """
        size = Fraction(0) if self.exact else Fraction(float(self.step.loss(2)))
        return self.width / 2**12 + size * size / 8 * pieces


@dataclass(frozen=True, slots=True)
class GridFactor:
    """A pair of measures on a grid, from one side.

    Attributes:
        losses: Of the pair.
        times: How often it is run.
        piece: The runs that it is of; None if it is no mechanism's.
    """

    losses: LossDistribution
    times: int
    piece: Piece | None = None


@dataclass(frozen=True, slots=True)
class GridFactors:
    """What is multiplied.

    Attributes:
        below: From below; true losses are less, by slip in all.
        above: From above.
        slip: >= 0.
    """

    below: tuple[GridFactor, ...]
    above: tuple[GridFactor, ...]
    slip: Fraction


def factors_of(
    runs: Sequence[RepeatedRun], grid: LossGrid, limits: Limits, *, added: bool
) -> GridFactors:
    """Put runs on a grid.

    Args:
        runs: What is run.
        grid: The grid.
        limits: What may be used.
        added: Whether for the adding of a record, not the removal.

    Raises:
        LimitReached: If the limits are.
    """
    step, share, bits = grid.step, grid.share(runs), grid.bits(runs)
    cut = int(share * (1 << bits))
    below, above = [], []
    working = bits + 2 * max(bits_of(step.unit), 0) + 64
    with precision(working):
        pieces = pieces_on(runs, grid, working, limits, added=added)
        number = sum(piece.times for piece in pieces if BoundSide.BELOW in piece.sides)
        slip = grid.slip(number)
        for piece in pieces:
            profile = piece.profile
            negligible, weight, steepness = float(share / 1024), float(grid.weight / 16), 0.0
            if grid.steepness and isinstance(profile, GaussianProfile):
                weight, steepness = _MASS_THAT_MATTERS, grid.steepness
            knots = choose_knots(profile, step, negligible, weight, limits, steepness)
            if grid.exact:
                knots = all_knots(profile, step, knots[0].place, knots[-1].place, limits)
            if BoundSide.BELOW in piece.sides:
                lines = between(profile, step, knots)
                low = from_below(lines, profile.ends, step, slip / number, bits, cut, limits)
                below.append(GridFactor(low, piece.times, piece))
            if BoundSide.ABOVE in piece.sides:
                above.append(GridFactor(from_above(knots, bits, cut, limits), piece.times, piece))
    return GridFactors(tuple(below), tuple(above), slip)


def pieces_on(
    runs: Sequence[RepeatedRun], grid: LossGrid, bits: int, limits: Limits, *, added: bool
) -> list[Piece]:
    """Return the pieces of runs for a grid; see `pieces_of`."""
    if grid.exact:  # all pairs are symmetric
        return [
            Piece(profile_of(run.mechanism, bits), run.times, place)
            for place, run in enumerate(runs)
        ]
    return pieces_of(runs, bits, float(grid.step.loss(2)), limits, added=added)


def product(factors: Sequence[GridFactor], cuts: Cuts, limits: Limits) -> LossDistribution:
    """Return the composition of all runs of some pieces.

    Args:
        factors: At least one, on one grid, from one side.
        cuts: What may be cut off.
        limits: What may be used.

    Raises:
        LimitReached: If the limits are.
    """
    whole: LossDistribution | None = None
    moments = [cuts.moment(factor.losses) * factor.times for factor in factors]
    count, others = 0, sum(moments)
    for factor, moment in zip(factors, moments, strict=True):
        times = factor.times
        several = power(factor.losses, times, cuts, limits, sum(moments) - moment)
        count, others = count + times, others - moment
        if whole is None:
            whole = several
            continue
        cut = cuts.of(several.bits, count)
        low_end = cuts.low_end(whole.start + several.start, cut, others)
        whole = composed(whole, several, cut, limits, low_end)
    if whole is None:
        raise BrokenInvariant("a composition of no runs")
    return whole


def bits_of(size: Fraction) -> int:
    """About -log2 of a number > 0, at least that."""
    return size.denominator.bit_length() - size.numerator.bit_length() + 1
