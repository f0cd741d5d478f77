"""Where the probabilities of outputs come from: as enclosures, or in bulk as arrays of doubles.

What leaves it in bulk are bounds rounded outward (`rounding`): lower <= probability <= upper holds
for the real numbers, never NaN, always inside [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.data_classes import Record
from dipapprox.language.core import Input

Array = rounding.Array


class Bounds(Record, eq=False):
    """Proved bounds of an array of probabilities."""

    lower: Array  # in [0, 1], at most `upper`
    upper: Array  # the same shape
    # why some probabilities could not be enclosed, one reason; theirs are wide, up to [0, 1], and
    # still true. None if every one could
    obstacle: str | None = None
    # which outputs cannot occur, the same shape: none of their final states has an event that is
    # possible, for whatever the law of its samples. Exact, and more than an upper bound of 0 says:
    # that holds where it was computed. None if it was not asked
    impossible: NDArray[np.bool_] | None = None


class ProbabilitySource(Protocol):
    """Where output distributions come from. A source remembers what it computed, within bounds."""

    @property
    def name(self) -> str:
        """The word in reports: "nested", "elimination", …"""

    def distributions(
        self, inputs: Sequence[Input], bits: int
    ) -> Sequence[Sequence[Enclosure] | NotEnclosed]:
        """Enclose the probability of every output for some inputs, in one fixed order, to 2**-bits.

        Together inputs cost less than one by one. Two may get the same object only if their
        distributions are equal.
        """


class BulkSource(ProbabilitySource, Protocol):
    """A source for many inputs at once, too. Outputs are numbered as `states.outputs`."""

    def cells(self, outputs: Sequence[int], inputs: Sequence[Input], bits: int) -> Bounds:
        """Bound Pr[outputs[k]] for the inputs[k], for every k: arrays of shape (n,).

        Repetitions cost little. Wanted is 2**-bits, as far as doubles can express it.
        """

    def table(self, inputs: Sequence[Input], bits: int) -> Bounds:
        """Bound the probabilities of all outputs for every input: arrays (inputs, outputs).

        The bounds of an input have been checked to contain numbers that sum to 1, and tightened by
        it; which outputs are impossible is told.
        """
