"""Which ordered pairs of inputs an answer is about: all adjacent ones, or some that are listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from dipapprox.data_classes import Record
from dipapprox.errors import UserError
from dipapprox.language.core import ONE_WAY, Everyone, Input, Listed, Program, Value, Within

Pair = tuple[Input, Input]
FEW_PAIRS = 100  # among so many pairs no order pays
Orbit = tuple[Pair, int]  # A pair, and how many pairs it stands for, itself included; see `walk`


class AllPairs(Record):
    """Every ordered pair that the program's adjacency allows."""


class OrderedPairs(Record):
    """Exactly these ordered pairs, in this order.

    Raises:
        UserError: If there are none: every claim holds for them.
    """

    pairs: tuple[Pair, ...]

    def __post_init__(self) -> None:
        if not self.pairs:
            raise UserError("the list of pairs is empty: there is nothing to check")


PairSelection = AllPairs | OrderedPairs


def in_both_orders(pairs: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """Return each pair followed by its reverse, without repetitions."""
    return tuple(dict.fromkeys(p for u, v in pairs for p in ((u, v), (v, u))))


def one_by_one(pairs: Iterable[Pair]) -> Iterator[Orbit]:
    return ((pair, 1) for pair in pairs)


def numbered_inputs(pairs: Sequence[Pair]) -> tuple[list[tuple[int, int]], list[Input]]:
    """Number the inputs of some pairs, all different, in the order of their first appearance."""
    own = {id(input): input for pair in pairs for input in pair}
    # By the numbers of its values: an input may have a thousand fractions, which hash slowly.
    alike = {id(value): value for input in own.values() for value in input}
    of_value: dict[Value, int] = {}
    known = {key: of_value.setdefault(value, len(of_value)) for key, value in alike.items()}
    numbers: dict[tuple[int, ...], int] = {}
    inputs: list[Input] = []
    places: dict[int, int] = {}
    for key, input in own.items():
        values = tuple(map(known.__getitem__, map(id, input)))
        number = places[key] = numbers.setdefault(values, len(inputs))
        if number == len(inputs):
            inputs.append(input)
    return [(places[id(first)], places[id(second)]) for first, second in pairs], inputs


def inputs_of(selection: PairSelection) -> list[Input] | None:
    """Return the inputs that listed pairs are made of, each once; None for all adjacent pairs."""
    return numbered_inputs(selection.pairs)[1] if isinstance(selection, OrderedPairs) else None


def is_symmetric(program: Program, selection: PairSelection) -> bool:
    """Whether the reverse of every selected pair is selected, too."""
    if isinstance(selection, OrderedPairs):
        listed = set(numbered_inputs(selection.pairs)[0])
        return all((second, first) in listed for first, second in listed)
    adjacency = program.adjacency
    match adjacency:
        case Within(norm):
            return norm not in ONE_WAY
        case Listed(one_way=one_way):
            return not one_way
        case Everyone():
            return True
        case _:
            assert_never(adjacency)
