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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.kernel.adjacency import Adjacency, Input, Number, Value, adjacent_pairs, all_inputs
from dipapprox.kernel.balls import precision
from dipapprox.kernel.budget import spend
from dipapprox.kernel.compositions import (
    GRID,
    about,
    composed,
    known_deltas,
    lowered,
    outcomes_of,
)
from dipapprox.kernel.errors import BadProof, Refused, Refuted
from dipapprox.kernel.judgements import (
    Changed,
    Distributions,
    ExactDistributions,
    Judgement,
    LossesOf,
    Of,
    Private,
    Violated,
)
from dipapprox.kernel.losses import Grid
from dipapprox.kernel.machine import Block, Machine, Tree, read_pairs
from dipapprox.kernel.proofs import Proof, Step, claimed, listed, pair_of, pairs_of, positive
from dipapprox.kernel.reading import as_integer, as_list
from dipapprox.kernel.rules import Rules

Reached = frozenset[tuple[Changed, int]]
"""How many parts differ how."""

MOST_REACHED = 20_000
"""Ways in which parts may differ."""

Values = Sequence[Value] | Mapping[int, Value]
Changes = Mapping[tuple[Machine, tuple[Input, Input]], Changed]


def by_pair(changes: Iterable[str | Changed]) -> Changes:
    """Return one that each part, with each pair of its inputs, is among."""
    return {(c.part, pair): c for c in {*changes} if isinstance(c, Changed) for pair in c.pairs}


def about_part(proof: Proof, premises: Sequence[Judgement], step: Step) -> Of:
    """What a rule about machines concludes holds of a part of this machine (`parts`).

    Step: "part", "pairs": of its inputs, or null; "step": without its "from"; its premises are
    about the same part.
    """
    part = _part(proof.machine, step["part"])
    pairs = None if step["pairs"] is None else part.pairs(step["pairs"])
    return about(Proof(part.machine, pairs), part.machine, premises, step["step"])


def part_from_above(proof: Proof, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """Losses through bounds of H at some knots are above a part (`Grid.above`).

    Step: "part", "eps", grid (`losses`), "pairs" of inputs; premises: bounds of delta for them,
    each with its reverse.
    """
    part, eps, grid = (
        _part(proof.machine, step["part"]),
        positive(step["eps"], "eps"),
        Grid(step),
    )
    pairs = frozenset(part.pairs(step["pairs"]))
    if any((second, first) not in pairs for first, second in pairs):
        raise BadProof("a pair without its reverse")
    with precision(grid.bits):
        known = known_deltas(premises, part.machine, eps, pairs)
        found = grid.above(known.most)
    return LossesOf({Changed(part.machine, eps, pairs): 1}, frozenset(), found)


def part_from_below(proof: Proof, premises: Sequence[Judgement], step: Step) -> LossesOf:
    """Sets of outputs of a part give losses below two of its inputs (`Grid.below`).

    Step: "part", "eps", grid (`losses`), "lean", "input", "adjacent"; one premise: distributions.
    """
    part, eps, grid = (
        _part(proof.machine, step["part"]),
        positive(step["eps"], "eps"),
        Grid(step),
    )
    ((first, second),) = part.pairs([[step["input"], step["adjacent"]]])
    with precision(grid.bits):
        pair = outcomes_of(premises, part.machine, eps, (first, second))
        found = lowered(grid, pair, step)
    change = Changed(part.machine, eps, frozenset([(first, second)]))
    return LossesOf({change: 1}, frozenset(), found)


def independent_parts(proof: Proof, premises: Sequence[Judgement], step: Step) -> Private:
    """delta_{u,u'} <= H(e^eps_prv) of the parts whose inputs differ, for all pairs (`parts`).

    Step: "parts", "eps", "eps_prv", "delta"; premises: for every part what it does for all its
    inputs; and losses above parts, so that some cover the parts of every pair that is meant.
    """
    (eps_prv, delta), eps = claimed(step), positive(step["eps"], "eps")
    parts, losses = Parts(proof.machine, step["parts"], eps, premises), []
    for premise in premises:
        if isinstance(premise, LossesOf) and premise.losses.above:
            if premise.losses.delta(eps_prv) > delta:
                raise Refuted("the bound of delta is larger")
            losses.append(premise.times)
    changes = by_pair(each for own in losses for each in own)
    if any(each.eps != eps for each in changes.values()):
        raise BadProof("a premise is about another eps")
    count = 0
    for reached in parts.reached(proof, changes):
        count += 1
        spend(10 * len(losses))
        covered = (all(own.get(c, 0) >= n for c, n in reached) for own in losses)
        if reached and not any(covered):
            raise Refuted("no losses are above all parts that may differ")
    return Private(eps, eps_prv, delta, listed(proof), count, in_sets=True)


def violated_parts(proof: Proof, premises: Sequence[Judgement], step: Step) -> Violated:
    """delta_{u,u'} >= H(e^eps_prv) of some parts whose inputs differ, and that is above delta.

    Step: "parts", "eps", "eps_prv", "delta", "input", "adjacent"; premises: for every part what it
    does for all its inputs; and last, losses below parts that differ so.
    """
    (eps_prv, delta), eps = claimed(step), positive(step["eps"], "eps")
    parts = Parts(proof.machine, step["parts"], eps, premises[:-1])
    first, second = pair_of(proof, step)
    match premises[-1:]:
        case [LossesOf(times, _, losses)] if not losses.above:
            pass
        case _:
            raise BadProof("the last premise is no losses from below")
    changes = by_pair(c for c in times if isinstance(c, Changed) and c.eps == eps)
    reached = parts.differing(first, second, changes)
    if any(not isinstance(c, Changed) or n > reached[c] for c, n in times.items()):
        raise Refuted("not so many parts differ so")
    if losses.delta(eps_prv) <= delta:
        raise Refuted("the bound of delta is not larger")
    return Violated(eps, eps_prv, delta, first, second, None)


RULES: Rules = {
    "about part": (about_part, ("part", "pairs", "step")),
    "losses of a part from above": (part_from_above, ("part", "eps", *GRID, "pairs")),
    "losses of a part from below": (
        part_from_below,
        ("part", "eps", *GRID, "lean", "input", "adjacent"),
    ),
    "composed": (composed, ("cut",)),
    "independent parts": (independent_parts, ("parts", "eps", "eps_prv", "delta")),
    "violated parts": (
        violated_parts,
        ("parts", "eps", "eps_prv", "delta", "input", "adjacent"),
    ),
}
"""By name: the function, and the fields of its steps besides "rule" and "from"."""


# --- parts ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """A part, its cells renamed in the order in which they are mentioned.

    Attributes:
        inputs: The numbers of the machine's inputs, in the order of the part's.
        outputs: The names of the machine's outputs that it mentions.
    """

    machine: Machine
    inputs: tuple[int, ...]
    outputs: tuple[str, ...]

    def pairs(self, json: object) -> tuple[tuple[Input, Input], ...]:
        """Read pairs of different inputs."""
        found = read_pairs(json, self.machine.domains)
        if any(first == second for first, second in found):
            raise BadProof("a pair of equal inputs")
        return found


def _part(machine: Machine, json: object) -> Part:
    part = next(turns_of(machine, json), None)
    if part is None:
        raise BadProof("a part of no turns")
    return part


def turns_of(machine: Machine, json: object) -> Iterator[Part]:
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
    mentioned = list(dict.fromkeys(_cells(body, turn)))
    plain = _is_plain(body)
    names = {name: f"#{k}" if plain else name for k, name in enumerate(mentioned)}
    spend(100)
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


def _is_plain(tree: Tree) -> bool:
    if not isinstance(tree, tuple):
        return True
    return tree[:1] not in (("element",), ("repeat",)) and all(map(_is_plain, tree))


def _renamed(tree: Tree, turn: int, names: Mapping[str, str]) -> Tree:
    match tree:
        case ("cell", str()) | ("moving", str(), int()):
            return "cell", names[next(_cells(tree, turn))]
        case "forget", tuple(forgotten):
            return "forget", tuple([names[each] for each in forgotten if each in names])
        case tuple():
            return tuple([_renamed(part, turn, names) for part in tree])
    return tree


def _cells(tree: Tree, turn: int) -> Iterator[str]:
    """The names of all cells that are read or assigned."""
    # Bodies are kept, once for every turn.
    spend(20)
    match tree:
        case "cell", str(name):
            yield name
        case "moving", str(array), int(first):
            yield f"{array}[{first + turn}]"
        case "element", str(array), int(size), index:
            spend(size)
            yield from (f"{array}[{k}]" for k in range(1, size + 1))
            yield from _cells(index, turn)
        case "repeat", int(turns), block:
            yield from (name for k in range(turns) for name in _cells(block, k))
        case "forget", _:
            pass
        case tuple():
            yield from (name for part in tree for name in _cells(part, turn))


def _assigned(tree: Tree) -> Iterator[Tree]:
    """The targets of all statements; every `forget` and `exit`."""
    if isinstance(tree, tuple):
        if tree == ("exit",) or tree[:1] == ("forget",):
            yield tree
        elif tree[:1] in (("set",), ("draw",), ("choose",)):
            yield tree[1]
        for part in tree:
            yield from _assigned(part)


Places = list[Part]
"""Parts, which may be equal but for the names of cells."""


class Parts:
    """All parts of a machine, which are independent."""

    def __init__(
        self, machine: Machine, json: object, eps: Fraction, premises: Sequence[Judgement]
    ) -> None:
        self._machine = machine
        self._all: list[Part] = []
        end = 0
        for each in as_list(json, "parts"):
            first, last = as_list(each, "a part", 2)
            if first != end:
                raise BadProof("parts do not follow each other")
            end = last
            self._all += turns_of(machine, each)
        if end != len(machine.body):
            raise BadProof("parts do not cover the body")
        told = {each.what: each.judgement for each in premises if isinstance(each, Of)}
        for part in set(self._all):
            match told.get(part.machine):
                case Distributions(bounds=known) as found if found.eps == eps:
                    pass
                case ExactDistributions(values=known) as found if found.epsilons.point == eps:
                    pass
                case _:
                    raise BadProof("it is not known what a part does")
            if any(input not in known for input in all_inputs(part.machine.domains)):
                raise Refuted("a part is not known for all its inputs")
        inputs = {name for name, _ in machine.inputs}
        wanted = [*(name for name, _ in machine.outputs), *machine.reals]
        kept = inputs.union(wanted)
        for statement in machine.body:
            turns = statement[1] if statement[0] == "repeat" else 1
            for target in _assigned(statement):
                spend(5 * turns)
                if target[0] == "forget":
                    safe = kept.isdisjoint(target[1])
                else:
                    own = (name for turn in range(turns) for name in _cells(target, turn))
                    safe = target != ("exit",) and inputs.isdisjoint(own)
                if not safe:
                    raise Refused("a part assigns an input, forgets what others need, or ends")
        outputs = Counter(name for part in self._all for name in part.outputs)
        if outputs != Counter(wanted):
            raise Refused("an output that no part mentions, or several do")

    def reached(self, proof: Proof, changes: Changes) -> Iterator[Reached]:
        """Yield for every pair that is meant which parts differ how."""
        adjacency, inputs = self._machine.adjacency, self._machine.inputs
        if proof.pairs is not None or adjacency.norm == "pairs":
            yield from (_certain(self.differing(*pair, changes)) for pair in pairs_of(proof))
            return
        found: dict[Reached, Number] = {frozenset(): 0}
        known: dict[object, dict[Reached, Number]] = {}
        for indices, parts in self._groups():
            places = {index: place for place, index in enumerate(indices)}
            alike = tuple((part.machine, tuple(places[k] for k in part.inputs)) for part in parts)
            domains = tuple(inputs[k][1] for k in indices)
            if (alike, domains) not in known:
                known[alike, domains] = self._changes_of(indices, parts, changes)
            before = list(found.items())
            for own, price in known[alike, domains].items():
                for reached, spent in before:
                    spend(15)
                    if adjacency.allows(spent + price):
                        both = Counter(dict(reached))
                        both.update(dict(own))
                        key = frozenset(both.items())
                        found[key] = min(spent + price, found.get(key, spent + price))
            if len(found) > MOST_REACHED:
                raise Refused(f"parts differ in more than {MOST_REACHED} ways")
        yield from found

    def differing(
        self, first: Values, second: Values, changes: Changes, parts: Places | None = None
    ) -> Counter[Changed | None]:
        """Which parts differ how for a pair of inputs, None where `changes` do not know."""
        found: Counter[Changed | None] = Counter()
        for part in self._all if parts is None else parts:
            spend(2 + len(part.inputs))
            pair = tuple(first[k] for k in part.inputs), tuple(second[k] for k in part.inputs)
            if pair[0] != pair[1]:
                found[changes.get((part.machine, pair))] += 1
        return found

    def _changes_of(
        self, indices: Sequence[int], parts: Places, changes: Changes
    ) -> dict[Reached, Number]:
        """How parts with common inputs may differ, and the least price of it."""
        adjacency, found = self._machine.adjacency, dict[Reached, Number]()
        domains = tuple(self._machine.inputs[k][1] for k in indices)
        for first, second in adjacent_pairs(adjacency, domains):
            spend(20)
            price = adjacency.total(zip(first, second, strict=True)) or 0
            one, other = (dict(zip(indices, each, strict=True)) for each in (first, second))
            reached = _certain(self.differing(one, other, changes, parts))
            found[reached] = min(price, found.get(reached, price))
        return found

    def _groups(self) -> list[tuple[list[int], Places]]:
        """Parts with common inputs, directly or through others."""
        groups: dict[int, tuple[set[int], Places]] = {}
        for part in self._all:
            together: tuple[set[int], Places] = (set(part.inputs), [part])
            common = {id(groups[k]): groups[k] for k in part.inputs if k in groups}
            for group in common.values():
                together[0].update(group[0])
                together[1].extend(group[1])
            spend(5 * len(together[0]))
            groups |= dict.fromkeys(together[0], together)
        found = {id(group): group for group in groups.values()}
        return [(sorted(indices), parts) for indices, parts in found.values()]


def _certain(found: Counter[Changed | None]) -> Reached:
    if None in found:
        raise Refuted("nothing is known of a part whose inputs differ so")
    return frozenset((each, n) for each, n in found.items() if each is not None)
