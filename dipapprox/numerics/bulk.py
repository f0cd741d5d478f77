"""The bulk interface: certified probabilities of many inputs as arrays of doubles.

What leaves it are bounds rounded outward (`rounding`): lower <= probability <= upper holds for the
real numbers, never NaN, always inside [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Input
from dipapprox.numerics import rounding

Array = rounding.Array


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Proved bounds of an array of probabilities.

    Attributes:
        lower: In [0, 1], at most `upper`.
        upper: The same shape.
        obstacle: Why some probabilities could not be enclosed, one reason; theirs are wide, up to
            [0, 1], and still true. None if every one could.
        impossible: Which outputs cannot occur, the same shape: none of their final states has an
            event that is possible, for whatever the law of its samples. Exact, and more than an
            upper bound of 0 says: that holds where it was computed. None if it was not asked.
    """

    lower: Array
    upper: Array
    obstacle: str | None = None
    impossible: NDArray[np.bool_] | None = None


class BulkSource(Protocol):
    """Output probabilities of many inputs at once. Outputs are numbered as `states.outputs()`."""

    @property
    def name(self) -> str:
        """The word in reports: "nested", "elimination", …"""

    def cells(self, outputs: Sequence[int], inputs: Sequence[Input], bits: int) -> Bounds:
        """Bound Pr[outputs[k]] for the inputs[k], for every k: arrays of shape (n,).

        Args:
            outputs: As many as inputs.
            inputs: Repetitions cost little.
            bits: Wanted width: at most 2**-bits, as far as doubles can express it.

        Raises:
            LimitReached: If a limit is reached.
            BrokenInvariant: If enclosures contradict each other.
        """

    def table(self, inputs: Sequence[Input], bits: int) -> Bounds:
        """Bound the probabilities of all outputs for every input: arrays (inputs, outputs).

        The bounds of an input have been checked to contain numbers that sum to 1, and tightened by
        it; which outputs are impossible is told.

        Args:
            inputs: The inputs; a block of bounded size.
            bits: As for `cells`.

        Raises:
            LimitReached: If a limit is reached.
            BrokenInvariant: If enclosures contradict each other.
        """
