"""From a pipeline to mechanisms: the pairs of its programs, as accurate and as fine as is asked.

A program that publishes noise and nothing else, on no condition, may have one pair in closed form
that two adjacent inputs have and that covers any two (`shifted_noise`); being symmetric, it does so
either way round. It is run as what its numbers are, one by one; on a sample only if it has one. Any
other program lies between two pairs (`real_programs`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dipapprox.composition.accountant import Composition
from dipapprox.composition.mechanisms import Adjacency, Gaussian, Laplace, Mechanism, Subsampled
from dipapprox.composition.products import RepeatedRun
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.compositions.pipeline import MOST_RUNS, Pipeline, PipelineRun, ProgramAt
from dipapprox.privacy.compositions.programs import bounds_of_program, require_symmetric
from dipapprox.privacy.compositions.real_programs import RefinedPairs, has_few_pairs
from dipapprox.privacy.run import Options, Setting
from dipapprox.privacy.subjects import executed_for, open_subject

_REAL_ACCURACY = Fraction(1, 2**34)  # of deltas of programs with real outputs, at least

_Known = Sequence[Mechanism] | RefinedPairs  # what is run at once, or what lies between pairs


class Mechanisms:
    """What is run, each program looked at once for all questions of about one accuracy."""

    def __init__(self, pipeline: Pipeline, options: Options) -> None:
        self._pipeline = pipeline
        self._options = options
        self._known: dict[tuple[ProgramAt, int, bool], tuple[Fraction, _Known]] = {}

    def composition(self, accuracy: Fraction) -> Composition:
        """Return the runs as mechanisms.

        Args:
            accuracy: Wanted of the deltas of all runs together.

        Raises:
            UserError: If a program has no two adjacent inputs, or in one order only.
        """
        share = accuracy / (64 * self._pipeline.times)
        runs = []
        for run in self._pipeline.runs:
            for each, n in Counter(self._mechanisms(run, share)).items():
                together = n if n * run.times <= MOST_RUNS else 1
                runs += [RepeatedRun(each, together * run.times)] * (n // together)
        return Composition(tuple(runs), accuracy if self._pipeline.programs else Fraction(0))

    def refined(self) -> bool:
        """Look at the pairs of programs at more places; False if that is not possible."""
        finer = False
        for _, known in self._known.values():
            if isinstance(known, RefinedPairs):
                finer = known.refine() or finer
        return finer

    def _mechanisms(self, run: PipelineRun, accuracy: Fraction) -> Sequence[Mechanism]:
        """Return what is run at once."""
        inner = run.what
        if isinstance(inner, ProgramAt):
            key = inner, run.times, run.rate is None
            known = self._known.get(key)
            if known is None or known[0] > accuracy:
                if inner.program.real_outputs:  # what is found then serves for a long time
                    accuracy = min(accuracy / 2**10, _REAL_ACCURACY)
                bounds = self._bounds(inner, run, accuracy)
                known = self._known[key] = accuracy, bounds
            several = [known[1].between()] if isinstance(known[1], RefinedPairs) else known[1]
        else:
            several = [inner]
        return several if run.rate is None else [Subsampled(each, run.rate) for each in several]

    def _bounds(self, run: ProgramAt, of: PipelineRun, accuracy: Fraction) -> _Known:
        """Return a program's worst pair, or pairs that it lies between."""
        setting = Setting(run.program, AllPairs(), self._options)
        about = setting, run.eps, self._pipeline.adjacency
        if not run.program.real_outputs:
            return [bounds_of_program(*about, of.times, accuracy)]
        require_symmetric(run.program)
        noise = worst_noise(*about) if has_few_pairs(setting) else []
        alone = len(noise) == 1 or of.rate is None
        return noise if noise and alone else RefinedPairs(*about, accuracy)


def worst_noise(setting: Setting, eps: Fraction, adjacency: Adjacency) -> list[Mechanism]:
    """Return the numbers of the worst pair of a program of few inputs; none if it is of another
    kind."""
    published = open_subject(setting, executed_for(setting), eps).published
    shifts = None if published is None else published.shifts()
    for worst, _ in shifts or ():
        if all(worst.covers(shift) for shift, _ in shifts or ()):
            one = Fraction(1)
            numbers = [Laplace(t, one, adjacency) for t, n in worst.shifts for _ in range(n)]
            noise = [Gaussian(one, None, adjacency, 1 / worst.square)] if worst.square else []
            return [*numbers, *noise]
    return []
