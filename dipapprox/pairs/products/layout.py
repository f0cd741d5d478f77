"""Which kinds of pairs the parts of a program can have at once, for adjacent inputs.

A pair of adjacent inputs gives every part a pair of inputs of its own, and what the program leaks
is a matter of the *kinds* of these pairs: two pairs of one kind have equal atoms, pairs with equal
distributions have none. Parts that share input cells form a cluster; a cluster's cells take steps
as a walk says, all of them are tried. What the clusters can have together is a multiset of kinds:

    clusters one by one:  multisets so far x multisets of the next cluster, costs added up,
                          of equal multisets the cheapest

4^20 pairs of twenty bits make 21 multisets. Of those, one inside another leaks no more (independent
outputs can be ignored): it is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import inf, prod
from typing import TypeVar

import numpy as np

from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.graphs import components
from dipapprox.language.core import Input, Program, Value
from dipapprox.limits import check_limits
from dipapprox.pairs.adjacency import rule_of, select_pairs
from dipapprox.pairs.products.source import ProductProgram, execute_parts
from dipapprox.pairs.selections import Pair, PairSelection, inputs_of
from dipapprox.pairs.walk import Walk, plan_walk
from dipapprox.semantics.parts import ProgramPart

_MOST_STEPS = 100_000  # most pairs of inputs of a cluster
_MOST_MULTISETS = 10_000
_CHECKED = 256  # pairs between two looks at the limits
Kind = int  # A number >= 0
KindOf = Callable[[int, Input, Input], Kind | None]
"""The kind of a pair of inputs of the part with a number; None if their distributions are equal."""

Multiset = tuple[tuple[Kind, int], ...]  # kinds, ascending, with their numbers >= 1


class TooManyMultisets(LimitReached):
    """The pairs of the clusters are too many to be combined."""


class ProductCandidate(Record):
    """Adjacent pairs whose parts have certain kinds of pairs; and one of them."""

    kinds: Multiset
    pair: Pair


class _Option(Record):
    """What a cluster can do: kinds, the least cost, and the values of its cells in u and u'."""

    kinds: Multiset
    cost: int
    values: tuple[tuple[int, Value, Value], ...]

    def joined(self, other: _Option, radius: int | None) -> _Option | None:
        """Return what two clusters do together; None if it costs more than the radius."""
        cost = self.cost + other.cost
        if radius is not None and cost > radius:
            return None
        kinds = self.kinds or other.kinds
        if self.kinds and other.kinds:
            total = Counter(dict(self.kinds))
            total.update(dict(other.kinds))
            kinds = tuple(sorted(total.items()))
        return _Option(kinds, cost, self.values + other.values)


class Layout:
    """Candidates among the pairs of a program with independent parts.

    Raises:
        LimitReached: If the adjacency allows too many steps of one cell.
    """

    def __init__(self, product: ProductProgram, selection: PairSelection) -> None:
        self._product, self._selection = product, selection
        self._program, self._parts = product.program, product.parts
        rule = rule_of(product.program, selection)
        self._walk = None if rule is None else plan_walk(product.program.inputs, rule)
        if rule is not None and self._walk is None:
            raise LimitReached("pair limit: the adjacency allows too many steps of one cell")
        self._clusters = _clusters(product.parts)

    def first_pair(self) -> Pair:
        return next(select_pairs(self._program, self._selection))

    def among(self, pairs: Iterable[Pair], kind_of: KindOf) -> list[ProductCandidate]:
        found: dict[Multiset, Pair] = {}
        for number, pair in enumerate(pairs):
            if number % _CHECKED == 0:
                check_limits()
            inputs = self._product.pairs(pair)
            kinds = (kind_of(k, u, v) for k, (u, v) in enumerate(inputs) if u != v)
            found.setdefault(_multiset(kinds), pair)
        return _largest([ProductCandidate(kinds, pair) for kinds, pair in found.items()])

    def candidates(self, kind_of: KindOf) -> list[ProductCandidate]:
        """Return candidates that stand for all selected pairs.

        Raises:
            TooManyMultisets: If there are.
            LimitReached: If a cluster has too many pairs of inputs, or a limit is reached.
        """
        walk = self._walk
        if walk is None:
            return self.among(select_pairs(self._program, self._selection), kind_of)
        found: dict[Multiset, _Option] = {(): _Option((), 0, ())}
        for group, cells in self._clusters:
            options = self._options(group, cells, walk, kind_of)
            options = _largest(options, [each.cost for each in options])
            following: dict[Multiset, _Option] = {}
            for before, own in product(found.values(), options):
                each = before.joined(own, walk.radius)
                if each is not None:
                    known = following.setdefault(each.kinds, each)
                    if each.cost < known.cost:
                        following[each.kinds] = each
            check_limits()
            if len(following) > _MOST_MULTISETS:
                raise TooManyMultisets(
                    f"pair limit: more than {_MOST_MULTISETS} combinations of pairs of independent "
                    "parts"
                )
            found = following
        return _largest(
            [ProductCandidate(each.kinds, self._pair(each.values)) for each in found.values()]
        )

    def choices(self, kind_of: KindOf) -> list[list[Multiset]]:
        """Return what each cluster can have by itself, whatever it costs."""
        return [[each.kinds for each in options] for options in self._free(kind_of)]

    def examples(self, kind_of: KindOf) -> list[ProductCandidate]:
        """Return a few adjacent pairs: in each, clusters that can do the same do it."""
        options = self._free(kind_of)
        radius = None if self._walk is None else self._walk.radius
        found = []
        for number in range(max(map(len, options), default=0)):
            total = _Option((), 0, ())
            for own in options:
                total = total.joined(own[number % len(own)], radius) or total
            found.append(ProductCandidate(total.kinds, self._pair(total.values)))
        return found

    def _free(self, kind_of: KindOf) -> list[list[_Option]]:
        if self._walk is None:
            raise BrokenInvariant("pairs that are listed are not combined")
        return [
            _largest(self._options(group, cells, self._walk, kind_of))
            for group, cells in self._clusters
        ]

    def _pair(self, values: Iterable[tuple[int, Value, Value]]) -> Pair:
        first = [cell.domain[0] for cell in self._program.inputs]
        second = list(first)
        for cell, a, b in values:
            first[cell], second[cell] = a, b
        return tuple(first), tuple(second)

    def _options(
        self, group: Sequence[int], cells: Sequence[int], walk: Walk, kind_of: KindOf
    ) -> list[_Option]:
        """Return what a cluster can do, the cheapest of each multiset."""
        if prod(len(walk.steps[cell]) for cell in cells) > _MOST_STEPS:
            raise LimitReached(
                f"pair limit: parts that share inputs have more than {_MOST_STEPS} pairs of rows"
            )
        moves = []
        for cell in cells:
            domain = self._program.inputs[cell].domain
            moves.append([(cell, domain[a], domain[b], c) for a, b, c in walk.steps[cell].each()])
        found: dict[Multiset, _Option] = {}
        for number, taken in enumerate(product(*moves)):
            if number % _CHECKED == 0:
                check_limits()
            cost = sum(each[3] for each in taken)
            if walk.radius is not None and cost > walk.radius:
                continue
            sides = {cell: a for cell, a, _, _ in taken}, {cell: b for cell, _, b, _ in taken}
            kinds = _multiset(
                kind_of(k, *(tuple([own[c] for c in self._parts[k].inputs]) for own in sides))
                for k in group
            )
            known = found.get(kinds)
            if known is None or cost < known.cost:
                values = tuple((cell, a, b) for cell, a, b, _ in taken)
                found[kinds] = _Option(kinds, cost, values)
        return list(found.values())


def select_parts(program: Program, selection: PairSelection, merge: bool) -> ProductProgram | None:
    """Execute the parts of a program; None where its pairs are better looked at as a whole.

    Raises:
        UserError: If the program has faults.
        BrokenInvariant: If states were lost on the way: a bug.
    """
    product = execute_parts(program, merge, inputs_of(selection))
    rule = rule_of(program, selection)
    if product is None or rule is None:
        return product
    walk = plan_walk(program.inputs, rule)
    sizes = (
        inf if walk is None else prod(len(walk.steps[cell]) for cell in cells)
        for _, cells in _clusters(product.parts)
    )
    return product if max(sizes) <= _MOST_STEPS else None


def _clusters(parts: Sequence[ProgramPart]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    users: dict[int, list[int]] = {}
    for number, part in enumerate(parts):
        for cell in part.inputs:
            users.setdefault(cell, []).append(number)
    links = [(own[0], other) for own in users.values() for other in own[1:]]
    return [
        (group, tuple(sorted({cell for k in group for cell in parts[k].inputs})))
        for group in components(len(parts), links)
    ]


def _multiset(kinds: Iterable[Kind | None]) -> Multiset:
    return tuple(sorted(Counter(kind for kind in kinds if kind is not None).items()))


_Kinded = TypeVar("_Kinded", ProductCandidate, _Option)


def _largest(found: Sequence[_Kinded], costs: Sequence[int] | None = None) -> list[_Kinded]:
    """Leave out what has its kinds inside those of another, which costs no more if that counts."""
    kinds = dict.fromkeys(kind for each in found for kind, _ in each.kinds)
    place = {kind: k for k, kind in enumerate(kinds)}
    counts = np.zeros((len(found), len(kinds)), np.int64)
    for row, each in enumerate(found):
        for kind, number in each.kinds:
            counts[row, place[kind]] = number
    totals, prices = counts.sum(axis=1), np.array(costs or [0] * len(found))
    larger = (
        counts[(totals > total) & (prices <= price)]
        for total, price in zip(totals, prices, strict=True)
    )
    every = zip(found, counts, larger, strict=True)
    return [each for each, own, more in every if not (more >= own).all(axis=1).any()]
