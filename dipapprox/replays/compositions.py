"""Pipelines whose answers are what the kernel confirms of them."""

from __future__ import annotations

from dipapprox.errors import UserError
from dipapprox.limits import Progress, silent
from dipapprox.privacy.certificate import Certificate
from dipapprox.privacy.compositions.compose import DEFAULT_WIDTH, Composed, Number
from dipapprox.privacy.compositions.pipeline import Pipeline
from dipapprox.privacy.compositions.result import ComposedAnswer
from dipapprox.privacy.options import Options
from dipapprox.proof_steps.composed_ends import proved_composition
from dipapprox.replays.composition_files import certify_composition


class ProvedComposed(Composed):
    """A pipeline whose answers are what the kernel confirms of them.

    Args:
        pipeline: What is run.
        options: How to compute; their limits are asked while the kernel works, too.
        progress: Told how many grids a search has done.
    """

    def __init__(self, pipeline: Pipeline, options: Options, progress: Progress = silent) -> None:
        super().__init__(pipeline, options, progress)
        self._given = options

    def epsilon(self, delta: Number, width: Number = DEFAULT_WIDTH) -> ComposedAnswer:
        """See `Composed`."""
        return proved_composition(super().epsilon(delta, width), self._given)

    def delta(self, eps_prv: Number, width: Number | None = None) -> ComposedAnswer:
        """See `Composed`."""
        return proved_composition(super().delta(eps_prv, width), self._given)

    def verify(self, eps_prv: Number, delta: Number) -> ComposedAnswer:
        """See `Composed`."""
        return proved_composition(super().verify(eps_prv, delta), self._given)

    def curve(
        self, low: Number, high: Number, points: int, width: Number = DEFAULT_WIDTH / 1000
    ) -> ComposedAnswer:
        """Refuse it.

        Raises:
            UserError: Always.
        """
        raise UserError("'proved' asks for a claim, the least delta or the least eps_prv")

    def certify(self, answer: ComposedAnswer) -> Certificate:
        """Record the proofs of an answer of this pipeline.

        Raises:
            UserError: If the kernel has replayed none.
        """
        if not isinstance(answer, ComposedAnswer) or answer.pipeline != self.pipeline:
            raise UserError("answer must be one of this pipeline")
        return certify_composition(answer, self._given)
