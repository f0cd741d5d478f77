"""The output distributions of a product: part by part, and as a whole where that is small.

Program. A program as independent parts, executed: where states would multiply, they add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import product
from math import prod

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, enclosing, sure
from dipapprox.data_classes import Record
from dipapprox.errors import SourceError
from dipapprox.language.cells import is_seen_whole
from dipapprox.language.core import Input, Program, Value
from dipapprox.numerics.probability import ProbabilitySource
from dipapprox.pairs.divergence import Probabilities
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.execution import execute
from dipapprox.semantics.parts import ProgramPart, independent_parts
from dipapprox.semantics.state import FinalStates
from dipapprox.source import Diagnostic

_FEW_STATES = 500  # so many final states of the whole are worked with as they are
_LITTLE_MORE = 4  # so are those that are at most so many times as many as one part has


class ProductProgram(Record):
    program: Program
    parts: tuple[ProgramPart, ...]
    states: tuple[FinalStates, ...]  # the final states of every part
    values: tuple[tuple[tuple[Value, ...], ...], ...]  # the outputs of every part
    # For every output cell its part, and its place among the part's outputs.
    places: tuple[tuple[int, int], ...]

    @property
    def sizes(self) -> tuple[int, int]:
        """How many outputs there are, and final states of all parts."""
        return prod(map(len, self.values)), sum(len(each.states) for each in self.states)

    def part_inputs(self, input: Input) -> Iterator[Input]:
        return (tuple(input[cell] for cell in part.inputs) for part in self.parts)

    def pairs(self, pair: Pair) -> Iterator[Pair]:
        return zip(self.part_inputs(pair[0]), self.part_inputs(pair[1]), strict=True)

    def output(self, numbers: tuple[int, ...]) -> tuple[Value, ...]:
        """Return the values of all output cells for one output of each part, by number."""
        chosen = [own[number] for own, number in zip(self.values, numbers, strict=True)]
        return tuple(chosen[part][place] for part, place in self.places)


def execute_parts(
    program: Program, merge: bool, inputs: Sequence[Input] | None = None
) -> ProductProgram | None:
    """Execute the independent parts of a program; None where its whole is small or has no parts.

    So it is where numbers are published: what is independent shows in the measures.

    Args:
        merge: See `execute`.
        inputs: Those that are looked at; None for all.

    Raises:
        SourceError: With the faults of all parts.
        BrokenInvariant: If states were lost on the way: a bug.
    """
    if not merge or program.real_outputs or is_seen_whole(program):
        return None
    parts = independent_parts(program)
    if sum(part.random and bool(part.outputs) for part in parts) < 2:
        return None
    found: list[FinalStates] = []
    diagnostics: dict[Diagnostic, None] = {}
    for part in parts:
        own = None
        if inputs is not None:
            own = list(dict.fromkeys(tuple([input[k] for k in part.inputs]) for input in inputs))
        try:
            found.append(execute(part.program, merge, compared=True, inputs=own))
        except SourceError as error:
            diagnostics.update(dict.fromkeys(error.diagnostics))
    if diagnostics:
        starts = {each: -1 if each.span is None else each.span.start for each in diagnostics}
        raise SourceError(sorted(diagnostics, key=lambda each: (starts[each], each.message)))
    sizes = [len(each.states) for each in found]
    if prod(sizes) <= max(_FEW_STATES, _LITTLE_MORE * max(sizes)):
        return None
    values = tuple(tuple(map(tuple, states.outputs)) for states in found)
    places = {
        cell: (number, place)
        for number, part in enumerate(parts)
        for place, cell in enumerate(part.outputs)
    }
    ordered = tuple(places[cell] for cell in range(len(program.outputs)))
    return ProductProgram(program, parts, tuple(found), values, ordered)


MOST_LISTED = 4096  # most outputs of a product that are gone through one by one
_GUARD_BITS = 64
_CERTAIN = Enclosure.exact(1)


class ProductSource:
    """Encloses the distributions of a product at one eps; a `ProbabilitySource`."""

    def __init__(self, program: ProductProgram, parts: Sequence[ProbabilitySource]) -> None:
        self.program = program
        self._parts = parts

    @property
    def name(self) -> str:
        words = [word for part in self._parts for word in part.name.split(" + ")]
        return " + ".join(dict.fromkeys(words))

    def of_part(
        self, part: int, inputs: Sequence[Input], bits: int
    ) -> Sequence[Probabilities | NotEnclosed]:
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
        if self.program.sizes[0] > MOST_LISTED:
            return [NotEnclosed(f"more than {MOST_LISTED} outputs")] * len(inputs)
        known = {input: self._whole(input, bits) for input in dict.fromkeys(inputs)}
        return [known[input] for input in inputs]

    @enclosing
    def _whole(self, input: Input, bits: int) -> Probabilities:
        whole = [_CERTAIN]
        for number, own in enumerate(self.program.part_inputs(input)):
            (found,) = map(sure, self.of_part(number, (own,), bits))
            whole = [joint(one, other, bits) for one in whole for other in found]
        return tuple(whole)

    def likeliest(
        self, first: Input, second: Input, bits: int
    ) -> Iterator[tuple[tuple[Value, ...], Enclosure, Enclosure]]:
        """Yield outputs with their probabilities for two inputs, the likeliest of `first` first.

        The order is that of approximations. There is nothing where a part is not enclosed.
        """
        columns: list[list[tuple[int, Enclosure, Enclosure]]] = []
        for part, own in enumerate(self.program.pairs((first, second))):
            p, q = self.of_part(part, own, bits)
            if isinstance(p, NotEnclosed) or isinstance(q, NotEnclosed):
                return
            column = zip(range(len(p)), p, q, strict=True)
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
    unit = 1 << 2 * bits + _GUARD_BITS

    def below(p: Fraction, q: Fraction) -> Fraction:
        product = p.numerator * q.numerator * unit // (p.denominator * q.denominator)
        return Fraction(product, unit)

    return Enclosure(below(one.lower, other.lower), -below(-one.upper, other.upper))
