"""What an answer is about: the domains of the inputs, which pairs, and what it leaves out.

for inputs q[1..3] in {0, 1}, adjacent linf 1     every adjacent pair of these domains
for all inputs q[1..3] in real 0..1, adjacent linf 1   infinitely many
for inputs q in 0..9, adjacent increasing 1, in this order only
for the pair (0, 0) ~ (0, 1)                      selected pairs, in both orders
for the 3 listed pairs in both orders             the same for several
for the 3 listed pairs (ordered)                  selected pairs, as they were listed
for the input q = (0, 1)                          one input
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import assert_never

from dipapprox.data_classes import dataclass
from dipapprox.language.core import ONE_WAY, Adjacency, Cell, Everyone, Listed, Program, Within
from dipapprox.language.domains import domain_text, has_real_inputs
from dipapprox.pairs.selections import (
    AllPairs,
    OrderedPairs,
    Pair,
    PairSelection,
    is_symmetric,
    numbered_inputs,
)
from dipapprox.privacy.description import values_text

_DISCRETISED = "about the labels of 'disc' only: publishing the number itself may need more"
_MOST_VALUES = 12
_LONGEST_PAIR = 60  # of domains and pairs that are written out


@dataclass(frozen=True, slots=True)
class AnswerScope:
    """What an answer is about, in words."""

    inputs: str  # "q[1..3] in {0, 1}"; "" without inputs
    pairs: str  # "adjacent linf 1", "the 3 listed pairs in both orders", "the input q = (0, 1)"
    listed: bool  # whether pairs, or the input, were selected: then the answer is about them alone
    # What the answer does not say, though one might think so; None: nothing known.
    caveat: str | None
    everywhere: bool = False  # whether some inputs are any real numbers, between bounds or not

    @property
    def text(self) -> str:
        """The whole: begins with "for"."""
        if self.listed:
            return f"for {self.pairs}"
        whole = "for all inputs" if self.everywhere else "for inputs"
        return f"{whole} {self.inputs}, {self.pairs}" if self.inputs else "without inputs"

    @property
    def restriction(self) -> str:
        """What follows a headline: nothing, or " for the 3 listed pairs"."""
        return f" {self.text}" if self.listed else ""

    def fields(self) -> dict[str, object]:
        """Return the fields "scope" and "caveat" of every answer's JSON object."""
        return {
            "scope": {
                "text": self.text,
                "inputs": self.inputs,
                "selection": "listed" if self.listed else "adjacent",
            },
            "caveat": self.caveat,
        }

    def rows(self) -> list[tuple[str, str]]:
        caveat = [] if self.caveat is None else [("caveat", self.caveat)]
        return [("scope", self.text), *caveat]


def scope_of(program: Program, selection: PairSelection) -> AnswerScope:
    """Describe what an answer for these pairs of a program is about."""
    match selection:
        case AllPairs():
            pairs = _adjacency_text(program.adjacency)
        case OrderedPairs():
            pairs = _listed_text(program, selection)
        case _:
            assert_never(selection)
    listed = isinstance(selection, OrderedPairs)
    everywhere = has_real_inputs(program)
    return AnswerScope(_inputs_text(program), pairs, listed, _caveat(program), everywhere)


def scope_of_input(program: Program, input: str) -> AnswerScope:
    """Describe what an answer for one input of a program is about: "q = (0, 1)", "" for none."""
    return AnswerScope(_inputs_text(program), f"the input {input}", bool(input), _caveat(program))


def _caveat(program: Program) -> str | None:
    return _DISCRETISED if program.discretises else None


def _inputs_text(program: Program) -> str:
    """Write the domains; neighbours with one domain stand together."""
    variables = [
        (name, tuple(cells)) for name, cells in groupby(program.inputs, lambda cell: cell.variable)
    ]
    declared = program.declared

    def described(variable: tuple[str, Sequence[Cell]]) -> str:
        name, cells = variable
        text = domain_text(cells[0].domain, _MOST_VALUES)
        if name in declared:
            text += f" (widened from {domain_text(declared[name], _MOST_VALUES)})"
        return text

    return ", ".join(
        f"{', '.join(_array_text(name, cells) for name, cells in together)} in {text}"
        for text, together in groupby(variables, described)
    )


def _array_text(name: str, cells: Sequence[Cell]) -> str:
    size = cells[-1].index
    if size is None:
        return name
    return f"{name}[1]" if size == 1 else f"{name}[1..{size}]"


def _adjacency_text(adjacency: Adjacency) -> str:
    match adjacency:
        case Within(norm, radius):
            order = ", in this order only" if norm in ONE_WAY else ""
            return f"adjacent {norm.value} {radius}{order}"
        case Everyone():
            return "adjacent all"
        case Listed(_, one_way, str() as text):
            return f"adjacent {text}" + (", in this order only" if one_way else "")
        case Listed(pairs):
            unordered = _different(pairs, ordered=False)
            text = "; ".join(map(_pair_text, unordered))
            if len(text) <= _LONGEST_PAIR:
                return f"adjacent {{{text}}}"
            return f"adjacent as listed in the program: {len(unordered)} pairs"
        case _:
            assert_never(adjacency)


def _listed_text(program: Program, selection: OrderedPairs) -> str:
    ordered = not is_symmetric(program, selection)
    pairs = _different(selection.pairs, ordered)
    order = " (ordered)" if ordered else ""
    if len(pairs) == 1 and len(text := _pair_text(pairs[0])) <= _LONGEST_PAIR:
        return f"the pair {text}{order}"
    listed = "the listed pair" if len(pairs) == 1 else f"the {len(pairs)} listed pairs"
    return f"{listed}{order or ' in both orders'}"


def _different(pairs: Sequence[Pair], ordered: bool) -> tuple[Pair, ...]:
    """Leave out pairs that are listed before; unless `ordered`, the other way round as well."""
    found: dict[tuple[int, int], Pair] = {}
    for (first, second), pair in zip(numbered_inputs(pairs)[0], pairs, strict=True):
        key = (first, second) if ordered or first <= second else (second, first)
        found.setdefault(key, pair)
    return tuple(found.values())


def _pair_text(pair: Pair) -> str:
    return f"{values_text(pair[0])} ~ {values_text(pair[1])}"
