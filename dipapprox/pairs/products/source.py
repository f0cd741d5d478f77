"""The output distributions of a product: part by part, and as a whole where that is small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import product
from math import prod

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.language.core import Input, Value
from dipapprox.numerics.bulk import ProbabilitySource
from dipapprox.pairs.divergence import Probabilities
from dipapprox.pairs.products.program import ProductProgram

MOST_LISTED = 4096
"""Most outputs of a product that are gone through one by one."""

_GUARD_BITS = 64

_CERTAIN = Enclosure.exact(1)


class ProductSource:
    """Encloses the distributions of a product at one eps; a `search.ProbabilitySource`.

    Args:
        program: The program as its parts.
        parts: Sources of their distributions.
    """

    def __init__(self, program: ProductProgram, parts: Sequence[ProbabilitySource]) -> None:
        self.program = program
        self._parts = parts

    @property
    def name(self) -> str:
        """The engine's word in reports."""
        words = [word for part in self._parts for word in part.name.split(" + ")]
        return " + ".join(dict.fromkeys(words))

    def of_part(
        self, part: int, inputs: Sequence[Input], bits: int
    ) -> Sequence[Probabilities | NotEnclosed]:
        """Enclose the distributions of a part for some of its inputs."""
        return self._parts[part].distributions(inputs, bits)

    @property
    def outputs(self) -> tuple[tuple[Value, ...], ...]:
        """Return all outputs of the whole, the last part's changing fastest."""
        numbers = (range(len(values)) for values in self.program.values)
        return tuple(map(self.program.output, product(*numbers)))

    def distributions(
        self, inputs: Sequence[Input], bits: int
    ) -> Sequence[Probabilities | NotEnclosed]:
        """Enclose the probabilities of all `outputs` for some inputs of the whole."""
        if self.program.outputs > MOST_LISTED:
            return [NotEnclosed(f"more than {MOST_LISTED} outputs")] * len(inputs)
        known: dict[Input, Probabilities | NotEnclosed] = {}
        for input in inputs:
            if input not in known:
                known[input] = self._whole(input, bits)
        return [known[input] for input in inputs]

    def _whole(self, input: Input, bits: int) -> Probabilities | NotEnclosed:
        whole = [_CERTAIN]
        for number, own in enumerate(self.program.part_inputs(input)):
            (found,) = self.of_part(number, (own,), bits)
            if isinstance(found, NotEnclosed):
                return found
            whole = [joint(one, other, bits) for one in whole for other in found]
        return tuple(whole)

    def likeliest(
        self, first: Input, second: Input, bits: int
    ) -> Iterator[tuple[tuple[Value, ...], Enclosure, Enclosure]]:
        """Yield outputs with their probabilities for two inputs, the likeliest of `first` first.

        The order is that of approximations. There is nothing where a part is not enclosed.
        """
        columns: list[list[tuple[int, Enclosure, Enclosure]]] = []
        inputs = zip(self.program.part_inputs(first), self.program.part_inputs(second), strict=True)
        for part, own in enumerate(inputs):
            p, q = self.of_part(part, own, bits)
            if isinstance(p, NotEnclosed) or isinstance(q, NotEnclosed):
                return
            column = list(zip(range(len(p)), p, q, strict=True))
            columns.append(sorted(column, key=lambda each: each[1].upper, reverse=True))
        sizes = [[float(p.upper) for _, p, _ in column] for column in columns]
        # Places in the columns; each is reached from the one with its last nonzero place reduced.
        waiting = [(-prod(size[0] for size in sizes), (0,) * len(columns), 0)]
        while waiting:
            _, places, last = heappop(waiting)
            chosen = [column[place] for column, place in zip(columns, places, strict=True)]
            output = self.program.output(tuple(number for number, _, _ in chosen))
            first_joint = second_joint = _CERTAIN
            for _, own_p, own_q in chosen:
                first_joint = joint(first_joint, own_p, bits)
                second_joint = joint(second_joint, own_q, bits)
            yield output, first_joint, second_joint
            for k in range(last, len(columns)):
                if places[k] + 1 < len(columns[k]):
                    following = (*places[:k], places[k] + 1, *places[k + 1 :])
                    size = prod(own[place] for own, place in zip(sizes, following, strict=True))
                    heappush(waiting, (-size, following, k))


def joint(one: Enclosure, other: Enclosure, bits: int) -> Enclosure:
    """Enclose the probability that two independent events happen, in short numbers."""
    scale = 2 * bits + _GUARD_BITS
    lower = (one.lower.numerator * other.lower.numerator << scale) // (
        one.lower.denominator * other.lower.denominator
    )
    above = (-one.upper.numerator * other.upper.numerator << scale) // (
        one.upper.denominator * other.upper.denominator
    )
    return Enclosure(Fraction(lower, 1 << scale), Fraction(-above, 1 << scale))
