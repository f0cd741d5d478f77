"""Independent pairs of measures in, the divergence of their products at one factor out.

In: pairs with a profile in closed form, and pairs of measures on the line, each a number of times.
Out: an enclosure of sup over S of (⊗ f_k)(S) - α (⊗ g_k)(S), on finer and finer grids of losses:

    closed form -> knots -> losses from above and from below ─┐
    densities -> cells   -> losses from above and from below ─┤ powers, product -> the value at α

Measures on the line may have any masses: `losses` asks for no more. What is wrong with the measures
f'_k, g'_k that cells stand for adds up. Let f'_k lack a mass of λ_k at most and g'_k one of μ_k,
and let masses of sets have errors of e_k and d_k besides, where Σ e_k < 1 and Σ d_k < 1. Changing
one factor after the other, f_1 ⊗ … ⊗ f_(k-1) ⊗ (f_k - f'_k) ⊗ f'_(k+1) ⊗ …, what a set has under
the k-th of these is the mean of (f_k - f'_k)(section) under the others, times their mass: f_j has
mass at most 1, but f'_j may have 1 + e_j. As Π (1 + e_j) <= Π 1 / (1 - e_j) <= 1 / (1 - Σ e_j),
the first measure of a set is too small by Σ (λ_k + e_k) / (1 - Σ e_j) at most, and too great by
Σ e_k / (1 - Σ e_j); the second by Σ (μ_k + d_k) / (1 - Σ d_j) and by Σ d_k / (1 - Σ d_j). What
cells lend counts like μ_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.cell_losses import losses_of_cells
from dipapprox.composition.lattice import COARSEST, first_step, refined
from dipapprox.composition.mechanisms import Mechanism
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.composition.powers import product
from dipapprox.composition.products import Factor, LossGrid, factors_of
from dipapprox.composition.reading import deltas
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.limits import Limits
from dipapprox.numerics.real_outputs.factors import Line
from dipapprox.numerics.real_outputs.hockey_stick import Discretised, HockeyStick

_MOST_LOSSES = 2**15
"""Most losses of a composition of pairs in closed form: seconds."""

_MOST_CELL_LOSSES = 2**12, 2**14
"""The same with cells: as a rule, and for those who want more than `_RULE` bits."""

_RULE = 48

_PARTS = Fraction(4)
"""By how much a grid of losses gets finer: widths go like its square."""

_ACCURATE = 60
"""Bits of accuracy beyond which no composition goes."""

_ACCURATE_CELLS = 48
"""Bits of accuracy of cells, which are cut in doubles."""

_CELLS = 2.0
"""Cells for each loss."""


@dataclass(frozen=True, slots=True)
class LinePair:
    """A pair of measures on the line.

    Attributes:
        first: One.
        second: The other.
        times: How many independent ones there are.
    """

    first: Line
    second: Line
    times: int


class PairProducts:
    """Products of pairs at one factor.

    Args:
        line: Cuts measures on the line into cells.
        runs: Pairs in closed form, probability measures.
        lines: Other pairs.
        hints: Mechanisms with losses near which atoms of the pairs may lie.
        factor: α > 0.
        bits: Wanted width: 2**-bits.
        limits: Asked throughout.
    """

    def __init__(
        self,
        line: HockeyStick,
        runs: Sequence[RepeatedRun],
        lines: Sequence[LinePair],
        hints: Sequence[Mechanism],
        factor: Enclosure,
        bits: int,
        limits: Limits,
    ) -> None:
        self._line = line
        self._runs = runs
        self._lines = lines
        self._hints = hints
        self._factor = factor
        self._bits = bits
        self._limits = limits

    def enclosure(self) -> Enclosure | NotEnclosed:
        """Enclose the divergence, >= 0.

        Raises:
            LimitReached: If the limits run out before anything is known.
        """
        wanted = Fraction(1, 2**self._bits)
        accuracy = Fraction(1, 2 ** min(self._bits, _ACCURATE))
        step, exact = first_step(self._hints, COARSEST)
        exact = exact and not self._lines
        most = _MOST_LOSSES
        if self._lines:
            # The next grid has so many times the losses of this one.
            most = int(_MOST_CELL_LOSSES[self._bits > _RULE] / _PARTS)
        found = UNIT
        while True:
            grid = LossGrid(step, exact, accuracy, accuracy)
            try:
                attempt = self._on(grid)
            except LimitReached:
                if found == UNIT:
                    raise
                return found
            if isinstance(attempt, NotEnclosed):
                return attempt if found == UNIT else found
            value, atoms = attempt
            before = found.width
            found = found.intersect(value, "a finer grid", "a grid", "the δ of a product of pairs")
            if found.width <= wanted or exact or atoms > most:
                return found
            if found.width > before / 2 and before < 1:
                return found
            step = refined(self._hints, step, _PARTS)

    def _on(self, grid: LossGrid) -> tuple[Enclosure, int] | NotEnclosed:
        """Enclose the divergence on a grid; and say how many losses that took."""
        every = [*self._runs, *(RepeatedRun(self._hints[0], pair.times) for pair in self._lines)]
        share, bits = grid.share(every), grid.bits(self._runs or every)
        above: list[Factor] = []
        below: list[Factor] = []
        if self._runs:
            below, above = factors_of(self._runs, grid, self._limits, added=False)
        losts: list[tuple[Fraction, Fraction]] = []
        errors: list[tuple[Fraction, Fraction]] = []
        cut = int(share * (1 << bits))
        for pair in self._lines:
            found = self._cut(pair, grid)
            if isinstance(found, NotEnclosed):
                return found
            losses = losses_of_cells(found.cells, grid.step, bits, cut, self._limits)
            if isinstance(losses, NotEnclosed):
                return losses
            above.append((losses.above, pair.times))
            below.append((losses.below, pair.times))
            lost, other = found.lost
            losts.append((pair.times * lost, pair.times * (other + losses.lent)))
            errors.append((pair.times * found.errors[0], pair.times * found.errors[1]))
        slack = slacks(losts, errors, self._factor.upper)
        if isinstance(slack, NotEnclosed):
            return slack
        less, more = slack
        low, high = self._budgets()
        wanted = grid.wanted(every)
        whole = product(above, wanted, self._limits)
        (upper,) = deltas(whole, [low])
        (lower,) = deltas(product(below, wanted, self._limits), [high])
        return between(lower - less, min(upper + more, Fraction(1))), whole.atoms

    def _cut(self, pair: LinePair, grid: LossGrid) -> Discretised | NotEnclosed:
        """Cut the line into about `_CELLS` cells for each loss of the grid."""
        accurate = min(self._bits + 8, _ACCURATE_CELLS)
        spread = float(grid.step.loss(1)) / _CELLS
        return self._line.discretised(
            pair.first, pair.second, accurate, spread, 2.0 ** -(accurate + 12)
        )

    def _budgets(self) -> tuple[Fraction, Fraction]:
        """Bound the logarithm of the factor."""
        with precision(self._bits + 64):
            ends = self._factor.lower, self._factor.upper
            found = [to_enclosure(to_ball(end).log()) for end in ends]
        low, high = found
        if isinstance(low, NotEnclosed) or isinstance(high, NotEnclosed):
            raise BrokenInvariant("a factor > 0 has no logarithm")
        return low.lower, high.upper


def slacks(
    losts: Sequence[tuple[Fraction, Fraction]],
    errors: Sequence[tuple[Fraction, Fraction]],
    factor: Fraction,
) -> tuple[Fraction, Fraction] | NotEnclosed:
    """Bound by how much the divergence of products is less, and more, than that of their cells.

    Args:
        losts: λ and μ of every factor, >= 0.
        errors: e and d of every factor, >= 0.
        factor: α, or more.
    """
    (lost, other), (own, second) = (
        [sum(each, Fraction(0)) for each in zip(*many, strict=True)] or [Fraction(0)] * 2
        for many in (losts, errors)
    )
    if own >= 1 or second >= 1:
        return NotEnclosed("the masses of cells are too inexact")
    most, most_second = 1 / (1 - own), factor / (1 - second)
    return (
        own * most + (other + second) * most_second,
        (own + lost) * most + second * most_second,
    )


def between(lower: Fraction, upper: Fraction) -> Enclosure:
    """Return what lies between two bounds of a divergence, which is >= 0.

    Raises:
        BrokenInvariant: If they do not meet.
    """
    if lower > upper:
        raise BrokenInvariant("bounds of a divergence from below and from above do not meet")
    nothing = Fraction(0)
    return Enclosure(max(lower, nothing), max(upper, nothing))
