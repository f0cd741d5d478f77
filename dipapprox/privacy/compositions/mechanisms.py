"""From a pipeline to mechanisms: the pairs of its programs, as accurate and as fine as is asked.

A program that publishes noise and nothing else has one pair in closed form that two adjacent inputs
have and that dominates any two; any other lies between two pairs (`real_programs`). On no
condition, independently, each adjacent pair publishes numbers with

    Gaussian noise only     of one variance each: N(m, 1) against N(0, 1), m² = Σ m_k² in deviations
    Laplace noise           of one scale, the two means t scales apart, in one number

and nothing else that differs. The profiles grow with m and with t: N(m', 1) against N(0, 1) is what
N(m, 1) against N(0, 1) becomes if it is scaled and more noise is added, m' < m; and for Laplace
noise H(α) = 1 - sqrt(α) e^(-t/2) where e^-t <= α <= e^t. So the greatest one dominates, in
compositions too; being symmetric, it does so either way round.

Source: Dong, Roth, Su, Gaussian differential privacy, 2022.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.composition.accountant import Composition
from dipapprox.composition.mechanisms import Adjacency, Gaussian, Laplace, Mechanism, Subsampled
from dipapprox.composition.products import RepeatedRun
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.compositions.pipeline import Pipeline, PipelineRun, ProgramAt
from dipapprox.privacy.compositions.programs import bounds_of_program, require_symmetric
from dipapprox.privacy.compositions.real_programs import RefinedPairs, has_few_pairs
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.subjects import executed_for, open_subject

_REAL_ACCURACY = Fraction(1, 2**34)  # of deltas of programs with real outputs, at least


class Mechanisms:
    """What is run, each program looked at once for all questions of about one accuracy."""

    def __init__(self, pipeline: Pipeline, options: Options) -> None:
        self._pipeline = pipeline
        self._options = options
        self._known: dict[tuple[ProgramAt, int], tuple[Fraction, Mechanism | RefinedPairs]] = {}

    def composition(self, accuracy: Fraction) -> Composition:
        """Return the runs as mechanisms.

        Args:
            accuracy: Wanted of the deltas of all runs together.

        Raises:
            UserError: If a program has no two adjacent inputs, or in one order only.
        """
        share = accuracy / (64 * self._pipeline.times)
        return Composition(
            tuple(
                RepeatedRun(self._mechanism(run, share), run.times) for run in self._pipeline.runs
            )
        )

    def refined(self) -> bool:
        """Look at the pairs of programs at more places; False if that is not possible."""
        finer = False
        for _, known in self._known.values():
            if isinstance(known, RefinedPairs):
                finer = known.refine() or finer
        return finer

    def _mechanism(self, run: PipelineRun, accuracy: Fraction) -> Mechanism:
        inner = run.what
        if isinstance(inner, ProgramAt):
            known = self._known.get((inner, run.times))
            if known is None or known[0] > accuracy:
                if inner.program.real_outputs:  # what is found then serves for a long time
                    accuracy = min(accuracy / 2**10, _REAL_ACCURACY)
                bounds = self._bounds(inner, run.times, accuracy)
                known = self._known[inner, run.times] = accuracy, bounds
            inner = known[1].between() if isinstance(known[1], RefinedPairs) else known[1]
        return inner if run.rate is None else Subsampled(inner, run.rate)

    def _bounds(self, run: ProgramAt, times: int, accuracy: Fraction) -> Mechanism | RefinedPairs:
        """Return a program's worst pair, or pairs that it lies between."""
        setting = Setting(run.program, AllPairs(), self._options)
        about = setting, run.eps, self._pipeline.adjacency
        if not run.program.real_outputs:
            return bounds_of_program(*about, times, accuracy)
        require_symmetric(run.program)
        noise = worst_noise(*about) if has_few_pairs(setting) else None
        return noise or RefinedPairs(*about, accuracy)


def worst_noise(setting: Setting, eps: Fraction, adjacency: Adjacency) -> Mechanism | None:
    """Return the worst pair of a program of few inputs; None if it is of another kind."""
    published = open_subject(setting, executed_for(setting), eps).published
    shifts = None if published is None else published.shifts()
    if not shifts:
        return None
    most = max((shift for shift, _ in shifts), key=lambda shift: (shift.square, shift.shifts))
    if all(shift.square for shift, _ in shifts):
        return Gaussian(Fraction(1), None, adjacency, 1 / most.square)
    if most.square:
        return None
    ((scales, _),) = most.shifts
    return Laplace(scales, Fraction(1), adjacency)
