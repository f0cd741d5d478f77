"""Pipelines whose answers are what the kernel confirms of them."""

from __future__ import annotations

from dipapprox.errors import UserError
from dipapprox.privacy.compositions.compose import DEFAULT_WIDTH, Composed, Number
from dipapprox.privacy.compositions.result import ComposedAnswer
from dipapprox.proof_steps.composed_ends import proved_composition


class ProvedComposed(Composed):
    """A pipeline whose answers are what the kernel confirms of them.

    Limits of the options are asked while the kernel works, too.
    """

    def epsilon(self, delta: Number, width: Number = DEFAULT_WIDTH) -> ComposedAnswer:
        """See `Composed`."""
        return proved_composition(super().epsilon(delta, width), self._options)

    def delta(self, eps_prv: Number, width: Number | None = None) -> ComposedAnswer:
        """See `Composed`."""
        return proved_composition(super().delta(eps_prv, width), self._options)

    def verify(self, eps_prv: Number, delta: Number) -> ComposedAnswer:
        """See `Composed`."""
        return proved_composition(super().verify(eps_prv, delta), self._options)

    def curve(
        self, low: Number, high: Number, points: int, width: Number = DEFAULT_WIDTH / 1000
    ) -> ComposedAnswer:
        """Refuse it.

        Raises:
            UserError: Always.
        """
        raise UserError("'proved' asks for a claim, the least delta or the least eps_prv")
