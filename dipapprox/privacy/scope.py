"""What an answer is about: the domains of the inputs, which pairs, and what it leaves out.

for inputs q[1..3] in {0, 1}, adjacent linf 1     every adjacent pair of these domains
for all inputs q[1..3] in real 0..1, adjacent linf 1   infinitely many
for inputs q in 0..9, adjacent increasing 1, in this order only
for the pair (0, 0) ~ (0, 1)                      selected pairs, in both orders
for the 3 listed pairs in both orders             the same for several
for the 3 listed pairs (ordered)                  selected pairs, as they were listed
for the input q = (0, 1)                          one input

The values of --pairs: which ordered pairs of inputs to check.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import assert_never

from dipapprox.data_classes import Record
from dipapprox.errors import UserError, did_you_mean
from dipapprox.language import domains
from dipapprox.language.core import (
    ONE_WAY,
    Adjacency,
    Cell,
    Everyone,
    Input,
    Listed,
    Program,
    Value,
    Within,
)
from dipapprox.language.load import read_text
from dipapprox.pairs.selections import (
    AllPairs,
    OrderedPairs,
    Pair,
    PairSelection,
    in_both_orders,
    is_symmetric,
    numbered_inputs,
)
from dipapprox.privacy.description import values_text

_DISCRETISED = "about the labels of 'disc' only: publishing the number itself may need more"
_MOST_VALUES = 12
_LONGEST_PAIR = 60  # of domains and pairs that are written out


class AnswerScope(Record):
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
    match selection:
        case AllPairs():
            pairs = _adjacency_text(program.adjacency)
        case OrderedPairs():
            pairs = _listed_text(program, selection)
        case _:
            assert_never(selection)
    listed = isinstance(selection, OrderedPairs)
    everywhere = domains.has_real_inputs(program)
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
        text = domains.domain_text(cells[0].domain, _MOST_VALUES)
        if name in declared:
            text += f" (widened from {domains.domain_text(declared[name], _MOST_VALUES)})"
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


_USAGE = 'use all, single, "0,0~0,1; 0,0~1,0" or the name of a JSON file [[[0,0],[0,1]], …]'
_LARGEST_FILE = 2**28


def select(text: str, program: Program, name: str = "--pairs") -> PairSelection:
    """Read the pairs that are asked about; `name` is what messages call them.

    Named pairs are meant in both orders; a file's pairs are taken as they stand. A `UserError` if a
    pair is malformed or not in the domains of the inputs.
    """
    match text.strip():
        case "all":
            return AllPairs()
        case "single":
            return OrderedPairs(in_both_orders((_single(program, name),)))
        case "":
            raise UserError(f"{name} is empty", _USAGE)
        case named if "~" in named:
            return OrderedPairs(in_both_orders(_named(named, program, name)))
        case path:
            items = enumerate(_read(Path(path), name), 1)
            return OrderedPairs(tuple(_pair(item, k, Path(path), program) for k, item in items))


def widening_by_pairs(text: str, program: Program) -> domains.Widening:
    """Return domains that contain the values of the pairs in a file.

    For `.dip` programs, which say how many inputs they have and not their values: those of the
    pairs come to {0, 1}. A `.dpg` program declares its domains, and they stay. A `UserError` if the
    file cannot be read, or has too many values.
    """
    if text.strip() in ("all", "single", "") or "~" in text:
        return domains.AS_DECLARED
    pairs = (pair for pair in _read(Path(text.strip()), "--pairs") if isinstance(pair, list))
    inputs = (input for pair in pairs for input in pair if isinstance(input, list))
    mentioned = {value for input in inputs for value in input if isinstance(value, Fraction)}
    wider = {}
    for cell in program.inputs:
        values = [value for value in {*cell.domain, *mentioned} if isinstance(value, Fraction)]
        wider[cell.variable] = tuple(sorted(values))
    if any(len(values) > domains.LARGEST_DOMAIN for values in wider.values()):
        raise UserError(f"{text.strip()}: the pairs have more than {domains.LARGEST_DOMAIN} values")
    return domains.Widening(named=wider)


def _single(program: Program, name: str) -> Pair:
    """Return the papers' pair (0…0, 0…01)."""
    if not program.inputs:
        raise UserError(f"{name} single needs an input, but the program has none")
    zero, one = Fraction(0), Fraction(1)
    for cell in program.inputs:
        wanted = (zero, one) if cell is program.inputs[-1] else (zero,)
        for value in wanted:
            if not domains.admits(cell.domain, value):
                raise UserError(
                    f"{name} single needs {value} in the domain of '{cell.name}'",
                    "name the pairs instead: " + _USAGE,
                )
    zeros = (zero,) * (len(program.inputs) - 1)
    return (*zeros, zero), (*zeros, one)


def _named(text: str, program: Program, name: str) -> tuple[Pair, ...]:
    pairs = []
    for part in text.split(";"):
        if not part.strip():
            continue
        inputs = part.split("~")
        if len(inputs) != 2:
            raise UserError(f"{name}: '{part.strip()}' is not a pair of inputs", _USAGE)
        first, second = (domains.parse_input(input, program, name) for input in inputs)
        pairs.append((first, second))
    return tuple(pairs)


def _read(path: Path, name: str) -> list[object]:
    try:
        text = read_text(path, _LARGEST_FILE)
    except UserError as error:
        hint = did_you_mean(str(path), ("all", "single"), _USAGE)
        raise UserError(f"{name}: {error.message}", hint) from None
    try:
        # Decimals stay exact: 0.1 is 1/10.
        number = partial(domains.parse_rational, what=f"{path}: a number")
        content = json.loads(text, parse_float=number, parse_int=number, parse_constant=str)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{path}:{error.lineno}:{error.colno}: not JSON: {error.msg.lower()}", _USAGE
        ) from None
    except (RecursionError, ValueError):
        raise UserError(f"{path}: not a list of pairs", _USAGE) from None
    if not isinstance(content, list):
        raise UserError(f"{path}: expected a list of pairs", _USAGE)
    if not content:
        raise UserError(f"{path}: the list of pairs is empty: there is nothing to check", _USAGE)
    return content


def _pair(item: object, number: int, path: Path, program: Program) -> Pair:
    if not isinstance(item, list) or len(item) != 2:
        raise UserError(f"{path}: pair {number} is not a list of two inputs", _USAGE)
    first, second = (
        _input(given, f"{path}: pair {number}, input {k}", program)
        for k, given in enumerate(item, 1)
    )
    return first, second


def _input(item: object, where: str, program: Program) -> Input:
    if not isinstance(item, list):
        raise UserError(f"{where}: expected a list of values", _USAGE)
    if len(item) != len(program.inputs):
        raise UserError(f"{where}: expected {len(program.inputs)} values, got {len(item)}")
    input: list[Value] = []
    for cell, value in zip(program.inputs, item, strict=True):
        if isinstance(value, bool) or not isinstance(value, Fraction | str):
            raise UserError(f"{where}: '{cell.name}' is neither a number nor a name")
        if (
            isinstance(value, str)
            and not domains.admits(cell.domain, value)
            and not domains.has_names(cell.domain)
        ):
            value = domains.parse_rational(value, f"{where}: '{cell.name}'")
        input.append(value)
    domains.check_input(program, tuple(input), where)
    return tuple(input)
