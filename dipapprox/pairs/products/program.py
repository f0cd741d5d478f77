"""A program as independent parts, executed: where states would multiply, they add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from dipapprox.data_classes import dataclass
from dipapprox.errors import SourceError
from dipapprox.language.core import Input, Program, Value
from dipapprox.limits import Limits
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.execution import execute
from dipapprox.semantics.parts import ProgramPart, independent_parts, is_seen_whole
from dipapprox.semantics.state import FinalStates
from dipapprox.source import Diagnostic

_FEW_STATES = 500
"""So many final states of the whole are worked with as they are."""

_LITTLE_MORE = 4
"""So are those that are at most so many times as many as one part has."""


@dataclass(frozen=True, slots=True)
class ProductProgram:
    """A program whose output distribution is the product of those of its parts.

    Attributes:
        states: The final states of every part.
        values: The outputs of every part.
        places: For every output cell its part, and its place among the part's outputs.
    """

    program: Program
    parts: tuple[ProgramPart, ...]
    states: tuple[FinalStates, ...]
    values: tuple[tuple[tuple[Value, ...], ...], ...]
    places: tuple[tuple[int, int], ...]

    @property
    def outputs(self) -> int:
        """How many outputs the whole program has."""
        return prod(map(len, self.values))

    @property
    def final_states(self) -> int:
        """How many final states the parts have together."""
        return sum(len(each.states) for each in self.states)

    def part_inputs(self, input: Input) -> Iterator[Input]:
        """Yield the input of every part."""
        return (tuple(input[cell] for cell in part.inputs) for part in self.parts)

    def pairs(self, pair: Pair) -> Iterator[Pair]:
        """Yield the pair of inputs of every part."""
        return zip(self.part_inputs(pair[0]), self.part_inputs(pair[1]), strict=True)

    def output(self, numbers: tuple[int, ...]) -> tuple[Value, ...]:
        """Return the values of all output cells for one output of each part, by number."""
        chosen = [own[number] for own, number in zip(self.values, numbers, strict=True)]
        return tuple(chosen[part][place] for part, place in self.places)


def execute_parts(
    program: Program, merge: bool, limits: Limits, inputs: Sequence[Input] | None = None
) -> ProductProgram | None:
    """Execute the independent parts of a program; None where its whole is small or has no parts.

    So it is where numbers are published: what is independent shows in the measures.

    Args:
        program: The whole.
        merge: See `execute`.
        limits: Likewise.
        inputs: Those that are looked at; None for all.

    Raises:
        SourceError: With the faults of all parts.
        LimitReached: If a limit is reached.
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
            found.append(execute(part.program, merge, limits, compared=True, inputs=own))
        except SourceError as error:
            diagnostics.update(dict.fromkeys(error.diagnostics))
    if diagnostics:
        raise SourceError(sorted(diagnostics, key=_place))
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


def _place(diagnostic: Diagnostic) -> tuple[int, str]:
    span = diagnostic.span
    return (span.start if span is not None else -1), diagnostic.message
