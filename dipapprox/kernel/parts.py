"""Machines whose bodies fall into parts that share no random number, and their losses.

A part is a range of statements [first, last) of the body, or one turn of a `repeat` that is the
range alone. It mentions some inputs and outputs of the machine, and is a machine of its own with
these; parts that are equal but for the names of cells are one machine. If

- no part assigns an input, forgets an input or output, or ends the run, and every output is
  mentioned by one part only,
- each part, alone, runs to its end for all its inputs without reading a cell that holds nothing,

then each part does the same in the whole machine, whatever other cells hold; its samples are its
own. So for every input the outputs of the parts are independent, each as if the part ran alone.
Hence for inputs u, u' the pair of the machine is that of independent pairs, one for every part
whose inputs differ (`losses`, composition); the others reveal nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from dipapprox.kernel.errors import BadProof, Refused, Refuted, spend
from dipapprox.kernel.judgements import Change
from dipapprox.kernel.machine import (
    Adjacency,
    Block,
    Input,
    Inputs,
    Machine,
    Number,
    Tree,
    Value,
    adjacent_pairs,
    all_inputs,
    mentions,
)
from dipapprox.kernel.proofs import Proof, Step, pair_of, pairs_of
from dipapprox.kernel.reading import as_integer, as_list

MOST_WAYS = 20_000  # in which parts may differ
Way = Mapping[Change, int]  # how many runs or parts change how
Values = Sequence[Value] | Mapping[int, Value]
Changes = Mapping[tuple[Machine, Inputs], Change]


class Part(NamedTuple):
    """A part, its cells renamed in the order in which they are mentioned."""

    machine: Machine
    inputs: tuple[int, ...]  # the numbers of the machine's inputs, in the order of the part's
    outputs: tuple[str, ...]  # the names of the machine's outputs that it mentions


def parts_of(machine: Machine, json: object) -> Iterator[Part]:
    """Read a range of statements: a part, or one for every turn of a `repeat`."""
    first, last = (as_integer(each, "a statement") for each in as_list(json, "a part", 2))
    if not 0 <= first < last <= len(machine.body):
        raise BadProof("a part that is none of the body")
    body = _stripped(machine.body[first:last])
    if len(body) == 1 and body[0][0] == "repeat":
        _, turns, block = body[0]
        yield from (_named(machine, _stripped(block), turn) for turn in range(turns))
    else:
        yield _named(machine, body, 0)


def _stripped(body: Block) -> Block:
    """A block without what is forgotten first, when nothing is known yet, and last."""
    kept = [k for k, statement in enumerate(body) if statement[0] != "forget"]
    return body[kept[0] : kept[-1] + 1] if kept else ()


def _named(machine: Machine, body: Block, turn: int) -> Part:
    """Name the cells of a block by when they are mentioned, if no index of them is computed."""
    spend(100)
    plain, used = not mentions(body, "element", "repeat"), _uses(body, turn)
    mentioned = dict.fromkeys(name for use, name in used if use in ("read", "set"))
    names = {name: f"#{k}" if plain else name for k, name in enumerate(mentioned)}
    inputs = {name: (k, domain) for k, (name, domain) in enumerate(machine.inputs)}
    outputs = dict(machine.outputs)
    own = [name for name in mentioned if name in inputs]
    finite = [name for name in mentioned if name in outputs]
    reals = [name for name in mentioned if name in machine.reals]
    found = Machine(
        tuple((names[name], inputs[name][1]) for name in own),
        tuple((names[name], outputs[name]) for name in finite),
        tuple(names[name] for name in reals),
        Adjacency("all"),
        _renamed(body, turn, names) if plain else body,
    )
    return Part(found, tuple(inputs[name][0] for name in own), (*finite, *reals))


def _renamed(tree: Tree, turn: int, names: Mapping[str, str]) -> Tree:
    match tree:
        case ("cell", str()) | ("moving", str(), int()):
            ((_, name),) = _uses(tree, turn)
            return "cell", names[name]
        case "forget", tuple(forgotten):
            return "forget", tuple([names[each] for each in forgotten if each in names])
        case tuple():
            return tuple([_renamed(part, turn, names) for part in tree])
    return tree


def _uses(tree: Tree, turn: int) -> Iterator[tuple[str, str]]:
    """What is done to cells: "read", "set" or "forget", with the name; and that a run "exit"s."""
    # Bodies are kept, once for every turn.
    spend(20)
    match tree:
        case "cell", str(name):
            yield "read", name
        case "moving", str(array), int(first):
            yield "read", f"{array}[{first + turn}]"
        case "element", str(array), int(size), index:
            spend(size)
            yield from (("read", f"{array}[{k}]") for k in range(1, size + 1))
            yield from _uses(index, turn)
        case "repeat", int(turns), block:
            yield from (use for k in range(turns) for use in _uses(block, k))
        case "forget", tuple(names):
            yield from (("forget", name) for name in names)
        case ("exit",):
            yield "exit", ""
        case (("set" | "draw" | "choose"), target, *rest):
            yield from (("set", name) for _, name in _uses(target, turn))
            yield from (use for part in rest for use in _uses(part, turn))
        case tuple():
            yield from (use for part in tree for use in _uses(part, turn))


class Parts:
    """All parts of a machine, ranges of statements, which are independent.

    For the `known` inputs the machine of a part runs to its end.
    """

    def __init__(
        self, about: Proof, json: object, eps: Fraction, known: Mapping[Machine, Collection[Input]]
    ) -> None:
        self._about, machine = about, about.machine
        self.eps, self.pairs = eps, about.pairs
        self._all: list[Part] = []
        end = 0
        for each in as_list(json, "parts"):
            first, last = as_list(each, "a part", 2)
            if first != end:
                raise BadProof("parts do not follow each other")
            end = last
            self._all += parts_of(machine, each)
        if end != len(machine.body):
            raise BadProof("parts do not cover the body")
        for part in {part.machine for part in self._all}:
            runs = known.get(part, ())
            if not all(input in runs for input in all_inputs(part.domains)):
                raise Refuted("it is not known what a part does for all its inputs")
        inputs = {name for name, _ in machine.inputs}
        wanted = [*(name for name, _ in machine.outputs), *machine.reals]
        kept = {"set": inputs, "forget": inputs.union(wanted), "exit": {""}, "read": ()}
        if any(name in kept[use] for use, name in _uses(machine.body, 0)):
            raise Refused("a part assigns an input, forgets what others need, or ends")
        outputs = Counter(name for part in self._all for name in part.outputs)
        if outputs != Counter(wanted):
            raise Refused("an output that no part mentions, or several do")

    def ways(self, known: Iterable[Change]) -> Iterator[Way]:
        """Yield for every pair that is meant how parts change, all of which has to be known."""
        changes, about = self._by_pair(known), self._about
        adjacency, inputs = about.machine.adjacency, about.machine.inputs
        if about.pairs is not None or adjacency.norm == "pairs":
            yield from (_certain(self._differing(*pair, changes)) for pair in pairs_of(about))
            return
        found: dict[frozenset[tuple[Change, int]], Number] = {frozenset(): 0}
        done: dict[object, list[tuple[Way, Number]]] = {}
        for indices, parts in self._groups():
            places = {index: place for place, index in enumerate(indices)}
            alike = tuple((part.machine, tuple(places[k] for k in part.inputs)) for part in parts)
            domains = tuple(inputs[k][1] for k in indices)
            if (alike, domains) not in done:
                done[alike, domains] = self._ways_of(indices, parts, changes)
            before = list(found.items())
            for way, price in done[alike, domains]:
                for start, spent in before:
                    spend(15 + len(start))
                    if adjacency.allows(spent + price):
                        both = frozenset((Counter(dict(start)) + Counter(way)).items())
                        found[both] = min(spent + price, found.get(both, spent + price))
                if len(found) > MOST_WAYS:
                    raise Refused(f"parts differ in more than {MOST_WAYS} ways")
        yield from map(dict, found)

    def ways_of(self, step: Step, known: Iterable[Change]) -> tuple[Inputs, list[Way]]:
        """Return a pair that is meant, and how parts change for it, as far as that is known."""
        pair = pair_of(self._about, step)
        found = self._differing(*pair, self._by_pair(known))
        return pair, [{change: n for change, n in found.items() if change is not None}]

    def _by_pair(self, known: Iterable[Change]) -> Changes:
        """Return which change each machine, with each pair of its inputs, is among."""
        return {
            (change.what, pair): change
            for change in dict.fromkeys(known)
            if isinstance(change.what, Machine) and change.eps == self.eps and not change.sample
            for pair in change.pairs or ()
        }

    def _differing(
        self, first: Values, second: Values, changes: Changes, parts: Sequence[Part] | None = None
    ) -> Counter[Change | None]:
        """How many parts change how for a pair of inputs, None where that is not known."""
        found: Counter[Change | None] = Counter()
        for part in self._all if parts is None else parts:
            spend(2 + len(part.inputs))
            pair = tuple(first[k] for k in part.inputs), tuple(second[k] for k in part.inputs)
            if pair[0] != pair[1]:
                found[changes.get((part.machine, pair))] += 1
        return found

    def _ways_of(
        self, indices: Sequence[int], parts: Sequence[Part], changes: Changes
    ) -> list[tuple[Way, Number]]:
        """How parts with common inputs may change, with the least price of it."""
        adjacency, found = self._about.machine.adjacency, dict[object, tuple[Way, Number]]()
        domains = tuple(self._about.machine.domains[k] for k in indices)
        for first, second in adjacent_pairs(adjacency, domains):
            spend(20)
            price = adjacency.total(zip(first, second, strict=True)) or 0
            one, other = (dict(zip(indices, each, strict=True)) for each in (first, second))
            way = _certain(self._differing(one, other, changes, parts))
            key = frozenset(way.items())
            if key not in found or price < found[key][1]:
                found[key] = way, price
        return list(found.values())

    def _groups(self) -> list[tuple[list[int], list[Part]]]:
        """Parts with common inputs, directly or through others."""
        groups: dict[int, tuple[set[int], list[Part]]] = {}
        for part in self._all:
            together: tuple[set[int], list[Part]] = (set(part.inputs), [part])
            common = {id(groups[k]): groups[k] for k in part.inputs if k in groups}
            for group in common.values():
                together[0].update(group[0])
                together[1].extend(group[1])
            spend(5 * len(together[0]) + len(together[1]) // 64)
            groups |= dict.fromkeys(together[0], together)
        found = {id(group): group for group in groups.values()}
        return [(sorted(indices), parts) for indices, parts in found.values()]


def _certain(found: Counter[Change | None]) -> Way:
    if None in found:
        raise Refuted("nothing is known of a part whose inputs differ so")
    return {change: n for change, n in found.items() if change is not None}
