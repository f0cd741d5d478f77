"""Runs of Gaussian mechanisms and of nothing else: one shift of Gaussian noise, in closed form.

N(m_k, 1) against N(0, 1), each independent of the others, are together N(m, 1) against N(0, 1)
with m² = Σ m_k²: what lies across the line of all shifts is the same on both sides. This pair
dominates runs that are chosen adaptively, too, and independent runs attain it.

Source: Dong, Roth, Su, Gaussian differential privacy, 2022, corollary 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.arithmetic.extended import CLOSED_FORM, Extended
from dipapprox.composition.accountant import CompositionAnswer
from dipapprox.composition.mechanisms import Gaussian
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.data_classes import dataclass
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits, Progress

_LEAST_BITS = 64


@dataclass(frozen=True, slots=True)
class GaussianRuns:
    """What they cost together; see `accountant.Composition` for the questions.

    Attributes:
        noise: The shift.
    """

    noise: ShiftedNoise

    def epsilon(
        self, delta: Fraction, width: Fraction, limits: Limits, progress: Progress
    ) -> CompositionAnswer:
        """Enclose the least ε >= 0 for a δ in (0, 1)."""
        limits.check()
        found = self.noise.least_budget(delta, _bits(width))
        assert found is not None, "only for δ = 0 it is infinite"
        progress(1, 1)
        return CompositionAnswer((Extended.of(found, CLOSED_FORM),), None, 0, None)

    def delta(
        self, budgets: Sequence[Fraction], width: Fraction, limits: Limits, progress: Progress
    ) -> CompositionAnswer:
        """Enclose the least δ for every ε >= 0 given."""
        limits.check()
        found = [self.noise.divergence(budget, _bits(width)) for budget in budgets]
        progress(1, 1)
        return CompositionAnswer(
            tuple(Extended.of(each, CLOSED_FORM) for each in found), None, 0, None
        )


def gaussian_runs(runs: Sequence[RepeatedRun]) -> GaussianRuns | None:
    """Return Gaussian runs as one; None if there are others."""
    square = Fraction(0)
    for run in runs:
        if not isinstance(run.mechanism, Gaussian):
            return None
        square += run.times * (run.mechanism.sensitivity / run.mechanism.sigma) ** 2
    return GaussianRuns(ShiftedNoise(GAUSSIAN, square, Fraction(0)))


def _bits(width: Fraction) -> int:
    """Enough for enclosures of this width, and of a small part of numbers far below it."""
    return max(int(1 / width).bit_length() + 2, _LEAST_BITS)
