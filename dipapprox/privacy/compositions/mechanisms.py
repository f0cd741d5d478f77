"""From a pipeline to mechanisms: the pairs of its programs, as accurate and as fine as is asked."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.composition.accountant import Composition
from dipapprox.composition.mechanisms import Mechanism, Subsampled
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.compositions.noise_programs import real_mechanism
from dipapprox.privacy.compositions.pipeline import Pipeline, PipelineRun, ProgramAt
from dipapprox.privacy.compositions.programs import bounds_of_program, require_symmetric
from dipapprox.privacy.compositions.real_pairs import RefinedPairs
from dipapprox.privacy.options import Options
from dipapprox.privacy.run import Setting

_REAL_ACCURACY = Fraction(1, 2**34)
"""Of deltas of programs with real outputs, at least."""


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
        relation = self._pipeline.adjacency
        if run.program.real_outputs:
            require_symmetric(run.program)
            return real_mechanism(setting, run.eps, relation, accuracy)
        return bounds_of_program(setting, run.eps, relation, times, accuracy)
