"""The output distributions of a product: part by part, and as a whole where that is small."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod

from dipapprox.language.core import InputRow, Value
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.privacy.divergence import Probabilities
from dipapprox.privacy.options import Options
from dipapprox.privacy.products.program import ProductProgram
from dipapprox.privacy.sources import RememberedRows, open_method, open_probabilities

MOST_LISTED = 4096
"""Most outputs of a product that are gone through one by one."""


class ProductSource:
    """Encloses the distributions of a product at one epsilon; a `search.ProbabilitySource`.

    Args:
        program: The program as its parts.
        epsilon: Where it runs.
        options: Ask for an engine, which all parts share.

    Raises:
        UserError: If a choice is no probability distribution at `epsilon`.
        LimitReached: If that cannot be told.
    """

    def __init__(self, program: ProductProgram, epsilon: Fraction, options: Options) -> None:
        self.program = program
        method = open_method(options)
        self._parts = [
            RememberedRows(open_probabilities(states, epsilon, options, method))
            for states in program.states
        ]

    @property
    def name(self) -> str:
        """The engine's word in reports."""
        words = [word for part in self._parts for word in part.name.split(" + ")]
        return " + ".join(dict.fromkeys(words))

    def of_part(
        self, part: int, rows: Sequence[InputRow], bits: int
    ) -> Sequence[Probabilities | NotEnclosed]:
        """Enclose the distributions of a part for some of its rows."""
        return self._parts[part].distributions(rows, bits)

    def outputs(self) -> tuple[tuple[Value, ...], ...]:
        """Return all outputs of the whole, the last part's changing fastest."""
        numbers = (range(len(states.outputs())) for states in self.program.states)
        return tuple(map(self.program.output, product(*numbers)))

    def distributions(
        self, rows: Sequence[InputRow], bits: int
    ) -> Sequence[Probabilities | NotEnclosed]:
        """Enclose the probabilities of all `outputs` for some rows of the whole."""
        if self.program.outputs > MOST_LISTED:
            return [NotEnclosed(f"more than {MOST_LISTED} outputs")] * len(rows)
        known: dict[InputRow, Probabilities | NotEnclosed] = {}
        for row in rows:
            if row not in known:
                known[row] = self._whole(row, bits)
        return [known[row] for row in rows]

    def _whole(self, row: InputRow, bits: int) -> Probabilities | NotEnclosed:
        parts: list[Probabilities] = []
        for number, own in enumerate(self.program.rows(row)):
            (found,) = self.of_part(number, (own,), bits)
            if isinstance(found, NotEnclosed):
                return found
            parts.append(found)
        return tuple(map(joint, product(*parts)))

    def likeliest(
        self, first: InputRow, second: InputRow, bits: int
    ) -> tuple[tuple[Value, ...], Enclosure, Enclosure] | NotEnclosed:
        """Return an output that speaks for the first row, with its probabilities for both.

        In every part it is one of the largest ratio of the two, as far as their enclosures tell.
        """
        numbers: list[int] = []
        sides: tuple[list[Enclosure], list[Enclosure]] = [], []
        rows = zip(self.program.rows(first), self.program.rows(second), strict=True)
        for part, own in enumerate(rows):
            p, q = self.of_part(part, own, bits)
            if isinstance(p, NotEnclosed):
                return p
            if isinstance(q, NotEnclosed):
                return q
            ratios = [_ratio(*each) for each in zip(p, q, strict=True)]
            number = max(range(len(ratios)), key=ratios.__getitem__)
            numbers.append(number)
            sides[0].append(p[number])
            sides[1].append(q[number])
        return self.program.output(tuple(numbers)), joint(sides[0]), joint(sides[1])


def joint(events: Sequence[Enclosure]) -> Enclosure:
    """Enclose the probability that independent events all happen."""
    one = Fraction(1)
    return Enclosure(
        prod((each.lower for each in events), start=one),
        prod((each.upper for each in events), start=one),
    )


def _ratio(p: Enclosure, q: Enclosure) -> tuple[bool, Fraction]:
    return (p.lower > 0, p.lower) if not q.upper else (False, p.lower / q.upper)
