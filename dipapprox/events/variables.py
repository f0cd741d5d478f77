"""Variables of events: samples after a change, numbered, with their laws as tables over rows."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.distributions import MIRRORED, Distribution
from dipapprox.events.inputs import Inputs, Table
from dipapprox.events.paths import Change
from dipapprox.events.shapes import numbers_of
from dipapprox.events.solutions import Solutions
from dipapprox.language.core import Value
from dipapprox.semantics.state import Sample


class Variables:
    """Numbers changed samples, equal ones alike.

    It refers to nothing that refers to it: a thousand states are freed as soon as nobody needs
    them, and not when the garbage collector comes by.

    Args:
        samples: Of the final states.
        scales: Theirs, at one eps.
        inputs: Numbers the values of the input cells.
        solutions: Numbers laws.

    Attributes:
        tables: For each variable the numbers of its laws.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        scales: Sequence[Fraction],
        inputs: Inputs,
        solutions: Solutions,
    ) -> None:
        self._samples = samples
        self._scales = scales
        self._inputs = inputs
        self._solutions = solutions
        self._numbers: dict[Change | int, int] = {}
        self._known: dict[object, dict[int, int]] = {}
        self.tables: list[Table] = []

    def number(self, change: Change) -> int:
        """Number a sample after a change, and tabulate its law over the rows."""
        # Nearly all samples are unchanged, and a number is found at once.
        key = change.sample if change.is_nothing else change
        number = self._numbers.setdefault(key, len(self.tables))
        if number == len(self.tables):
            self.tables.append(self._laws(change))
        return number

    def _laws(self, change: Change) -> Table:
        sample = self._samples[change.sample]
        mean, scale, family = sample.mean, self._scales[change.sample], sample.family
        if not change.is_nothing:
            mean = mean.scaled(change.factor) + change.shift
            scale *= abs(change.factor)
            family = MIRRORED[family] if change.factor < 0 else family
        names, solutions = mean.inputs(), self._solutions

        def law(values: tuple[Value, ...]) -> int:
            value = mean.at(numbers_of(names, values)).constant
            return solutions.law(Distribution(family, value, scale))

        # The laws of samples of one kind differ by the cells that their means are of.
        parts = (*(c for _, c in mean.terms), mean.constant, scale)
        kind = family, *(each for part in parts for each in part.as_integer_ratio())
        known = self._known.setdefault(kind, {}) if len(names) == 1 else {}
        return Table(self._inputs, names, law, known)
