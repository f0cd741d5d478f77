"""Claims about programs of independent parts, as steps: losses of each part, and their products.

body ─ ranges that share no cell ─ machines, equal ones once ─┬─ what each does for its inputs
                                                              └─ losses of pairs of its inputs
                                                                       │
pairs of the program: how many parts differ how ─ products ─ delta  ◄──┘
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice, pairwise
from math import ceil, log, log2

from dipapprox.arithmetic.enclosure import simplest
from dipapprox.data_classes import Record
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import NotProved, Refused, Refuted
from dipapprox.kernel.judgements import Change, Distributions, Of
from dipapprox.kernel.machine import (
    Input,
    Machine,
    adjacent_pairs,
    all_inputs,
    read_input,
    read_machine,
)
from dipapprox.kernel.parts import Part, Parts, parts_of
from dipapprox.kernel.proofs import Proof, largest_of, pairs_of
from dipapprox.kernel.replay import read_claim
from dipapprox.proof_steps.composed_steps import ReplayedSteps, grid_json
from dipapprox.proof_steps.liveness import live_before
from dipapprox.proof_steps.machines import Json, input_json, number_json, numbers_json, pair_json

_BITS = 150  # of distributions of parts
_POINT_BITS = 40
_MOST_POINTS = 64
_MOST_WAYS = 400  # how parts differ: so many products at most
_Fields = dict[str, Json]
_FINER = (4, 16, 64, 256)  # losses for one part in an interval of the length of its greatest one
Values = Sequence[Fraction | str]  # of the inputs of a program

_ABOVE: _Fields = {"sample": None, "orders": [], "above": True, "input": None, "adjacent": None}
"""Fields of losses, from above."""

_NO_PARTS = "the program does not fall into parts that are independent"
_NO_GRID = "no grid of losses of parts was found that tells"
_SLACK = Fraction(1, 1 << 60)
_MOST_PAIRS = 100_000  # of a part, which are listed


def _ranges(machine: Machine) -> list[Json]:
    """Ranges of statements between which no cell is passed on."""
    live, ends = live_before(machine), []
    for place in range(1, len(machine.body)):
        if not live[place] and machine.body[place][0] != "forget":
            ends.append(place)
    ends = [0, *ends, len(machine.body)]
    return [[a, b] for a, b in pairwise(ends)]


class _Class(Record):
    """Pairs of inputs of a part whose deltas are bounded together, by eps_prv."""

    pairs: tuple[tuple[Input, Input], ...]
    deltas: dict[Fraction, Fraction]
    price: Fraction | int

    @property
    def json(self) -> list[Json]:
        """As steps have it."""
        return [[input_json(u), input_json(v)] for u, v in self.pairs]

    def covers(self, other: _Class) -> bool:
        """Whether this is larger, and at most as rare; where one loss counts, that is."""
        if self.price > other.price:
            return False
        if self.deltas.keys() != other.deltas.keys():
            return bool(self.top and other.top and self.top >= other.top)
        return all(other.deltas[t] <= d + _SLACK * (d > 0) for t, d in self.deltas.items())

    def with_pairs(self, other: _Class) -> _Class:
        """With the pairs of another one that it covers."""
        deltas = {t: max(d, other.deltas.get(t, d)) for t, d in self.deltas.items()}
        return _Class((*self.pairs, *other.pairs), deltas, self.price)

    @property
    def top(self) -> Fraction | None:
        """The least eps_prv at which delta is 0."""
        return min((t for t, d in self.deltas.items() if not d), default=None)


Differing = Mapping[tuple[Machine, Input, Input], int]
"""How many parts differ how for a pair of inputs."""


class IndependentParts:
    """The parts of a machine, and steps about them, which name it if they are about a pipeline."""

    def __init__(self, proof: Proof, eps: Fraction, of: _Fields | None = None) -> None:
        self._proof, self._eps, self._of = proof, eps, of or {}
        self._ranges = _ranges(proof.machine)
        self._parts: list[Part] = []
        self._place: dict[Machine, Json] = {}
        for each in self._ranges:
            for part in parts_of(proof.machine, each):
                self._parts.append(part)
                self._place.setdefault(part.machine, each)
        if len(self._parts) < 2:
            raise NoCertificate(_NO_PARTS)
        self._exact = False
        # Pairs of inputs of parts, by what they change, after `decide`; in how many these differ.
        self.known: dict[Change, _Class] = {}
        self._largest: list[Mapping[Change, int]] = []
        self.most = 1

    def add(
        self, steps: ReplayedSteps, rule: str, premises: Sequence[int], fields: Mapping[str, Json]
    ) -> int:
        """Add a step of the whole machine, that rests on what parts do and on other steps."""
        of: _Fields = {"of": self._of} if self._of else {}
        own: _Fields = {"parts": self._ranges, "eps": number_json(self._eps)}
        runs = [self._run(steps, part) for part in self._place]
        return steps.add(rule, [*runs, *premises], {**of, **own, **fields})

    def _run(self, steps: ReplayedSteps, part: Machine) -> int:
        run: _Fields = {"eps": number_json(self._eps), "inputs": None}
        run |= {"bits": None if self._exact else _BITS}
        return steps.add("distributions", [], {**self._named(part, None), **run})

    def _named(self, part: Machine, pairs: Json) -> _Fields:
        return {"of": {**self._of, "part": self._place[part], "pairs": pairs}}

    def _found(self, steps: ReplayedSteps, part: Machine) -> Distributions:
        found = steps[self._run(steps, part)]
        assert isinstance(found, Of) and isinstance(found.judgement, Distributions)
        return found.judgement

    # --- all pairs -------------------------------------------------------------------------------

    def decide(self, steps: ReplayedSteps, pure: bool, exact: bool = False) -> None:
        """Look at which pairs of parts are bounded together, and how many parts change.

        If `pure`, greatest losses alone count, which, if `exact`, may be attained.
        """
        groups = [
            (part, self._classes(part, self._found(steps, part), pure)) for part in self._place
        ]
        self._exact, self.known = exact, {}
        for part, own in ((part, own) for part, found in groups for own in found):
            if exact and own.top is not None:
                # The greatest loss that may be meant.
                short = simplest(own.top - Fraction(1, 1 << 32), own.top)
                with suppress(Refuted):
                    each = _Class(own.pairs, {short: Fraction(0)}, own.price)
                    self._points(steps, part, each)
                    own = each
            self.known[Change(part, self._eps, frozenset(own.pairs), None)] = own
        inputs = {part: frozenset(all_inputs(part.domains)) for part in self._place}
        parts = Parts(self._proof, self._ranges, self._eps, inputs)
        ways = [each for each in parts.ways(self.known) if each]
        too_many = NoCertificate(f"parts differ in more than {_MOST_WAYS} ways")
        if len(ways) > 4 * _MOST_WAYS:
            raise too_many
        self._largest = [
            own for own in ways if not any(own != each and _covers(each, own) for each in ways)
        ]
        if len(self._largest) > _MOST_WAYS:
            raise too_many
        self.most = max((sum(each.values()) for each in self._largest), default=1)

    def above(self, steps: ReplayedSteps, step: Fraction, places: int, pure: bool) -> list[int]:
        """Add losses above all ways in which parts change; if `pure`, the greatest ones alone."""
        tops = [t for own in self.known.values() for t in own.deltas]
        base = {}
        for change, own in self.known.items():
            assert isinstance(change.what, Machine)
            if pure:
                assert own.top is not None
                grid = grid_json(step, own.top - step, places, [[-1, 1, 2]])
            else:
                grid = _around(step, places, [max(tops)])
            points = self._points(steps, change.what, own)
            fields = {**self._named(change.what, own.json), **grid, **_ABOVE}
            base[change] = steps.add("losses", points, fields)
        return [
            steps.whole_of(((base[c], n) for c, n in way.items()), (0, 0)) for way in self._largest
        ]

    def _points(self, steps: ReplayedSteps, part: Machine, own: _Class) -> list[int]:
        run, named = self._run(steps, part), self._named(part, own.json)
        return [
            steps.add("every pair", [run], {**named, **numbers_json(eps_prv=t, delta=d)})
            for t, d in own.deltas.items()
        ]

    def top(self, pure: bool) -> Fraction:
        """Return the greatest loss of a part, about, at most that; or of all together."""
        tops = {c: own.top or max(own.deltas) for c, own in self.known.items()}
        if not pure:
            return max(tops.values(), default=Fraction(0)) or Fraction(1)
        whole = (sum((tops[c] * n for c, n in way.items()), Fraction(0)) for way in self._largest)
        return max(whole, default=Fraction(0))

    def _classes(self, part: Machine, found: Distributions, pure: bool) -> list[_Class]:
        """Pairs with their bounds; those that are below others join them."""
        adjacency = self._proof.machine.adjacency
        if adjacency.norm == "pairs" or self._proof.pairs is not None:
            pairs = {
                (tuple(u[k] for k in each.inputs), tuple(v[k] for k in each.inputs))
                for u, v in pairs_of(self._proof)
                for each in self._parts
                if each.machine == part
            }
        else:
            pairs = set(islice(adjacent_pairs(adjacency, part.domains), _MOST_PAIRS + 1))
        if len(pairs) > _MOST_PAIRS:
            raise NoCertificate(f"a part has more than {_MOST_PAIRS} pairs of inputs")
        both = sorted({min((u, v), (v, u), key=repr) for u, v in pairs if u != v}, key=repr)
        rows = {pair: _rows(found, pair) for pair in both}
        kinks = {_loss(p, q) for own in rows.values() for row in own for p, q in row if p and q}
        losses = sorted({Fraction(0), *(each for each in kinks if each > 0)})
        if len(losses) > _MOST_POINTS:
            losses = [*losses[:: -(-len(losses) // _MOST_POINTS)], losses[-1]]
        bounds = {} if pure else {t: largest_of(found, t) for t in losses}
        groups: list[_Class] = []
        for pair, own in rows.items():
            changes = () if adjacency.norm == "pairs" else zip(*pair, strict=True)
            price = sum(adjacency.price(u, v) or 0 for u, v in changes)
            if pure:
                top = max(_loss(p, q) for row in own for p, q in row if p and q)
                bounds = {top: largest_of(found, top)}
            most = {t: max(0, bound(*pair), bound(*pair[::-1])) for t, bound in bounds.items()}
            curve = {t: min(Fraction(d, 1 << found.places), Fraction(1)) for t, d in most.items()}
            groups.append(_Class((pair, pair[::-1]), curve, price))
        groups.sort(key=lambda each: (sum(each.deltas.values()), *each.deltas), reverse=True)
        kept: list[_Class] = []
        for each in groups:
            for k, group in enumerate(kept):
                if group.covers(each):
                    kept[k] = group.with_pairs(each)
                    break
            else:
                kept.append(each)
        groups = kept
        if pure and any(group.top is None for group in groups):
            raise NoCertificate("for δ = 0, a part has no greatest loss")
        return groups

    # --- one pair --------------------------------------------------------------------------------

    def differing(self, pair: tuple[Input, Input]) -> Differing:
        """Return which parts differ for a pair, and how."""
        found: Counter[tuple[Machine, Input, Input]] = Counter()
        for each in self._parts:
            own, other = (tuple(input[k] for k in each.inputs) for input in pair)
            if own != other:
                found[each.machine, own, other] += 1
        if not found:
            raise NoCertificate("no part differs for the pair that was found")
        return found

    def rows(self, steps: ReplayedSteps, own: tuple[Machine, Input, Input]) -> tuple[_Row, _Row]:
        """Return the outputs of a part for two inputs, in both orders."""
        part, *pair = own
        return _rows(self._found(steps, part), (pair[0], pair[1]))

    def tops(self, steps: ReplayedSteps, differing: Differing) -> list[list[Fraction]]:
        """Return the greatest losses of parts that differ, about, in both orders."""
        return [
            [
                max((_loss(p, q) for p, q in row if p and q), default=Fraction(0))
                for row in self.rows(steps, own)
            ]
            for own in differing
        ]

    def below(
        self,
        steps: ReplayedSteps,
        differing: Differing,
        step: Fraction,
        places: int,
        top: Fraction | None = None,
    ) -> int:
        """Add losses below parts that differ; or the greatest ones alone, which add up to `top`."""
        tops, number = self.tops(steps, differing), sum(differing.values())
        ends: dict[int, int] = {}
        total = sum(own[0] * n for own, n in zip(tops, differing.values(), strict=True))
        for (change, count), own in zip(differing.items(), tops, strict=True):
            part, first, second = change
            grid = _around(step, places, own)
            if top is not None:
                # They are told apart from others: those of one part alone lie a step before.
                lowered = (total - top) / number
                grid = grid_json(step, own[0] - lowered - step, places, [[1, 1, 1]])
            named = pair_json((first, second))
            of = self._named(part, [[named["input"], named["adjacent"]]])
            fields = {**of, **grid, **_ABOVE, "above": False, **named}
            place = steps.add("losses", [self._run(steps, part)], fields)
            ends[place] = ends.get(place, 0) + count
        cut = 0 if top is None else 2 << places
        return steps.whole_of(sorted(ends.items()), (cut, 0))


def parts_proof(
    machine: Json, said: Mapping[str, Json], witness: tuple[Values, Values] | None
) -> tuple[Json, ...]:
    """Return steps to a claim that a witness breaks, or, without one, that is kept."""
    claim, proof = read_claim(said, read_machine(machine))
    match claim.eps, claim.eps_prv, claim.delta:
        case Fraction() as eps, Fraction() as eps_prv, Fraction() as delta:
            pass
        case _:
            raise NoCertificate("parts are composed at one eps")
    parts, steps, pure = IndependentParts(proof, eps), ReplayedSteps(proof), not delta
    stated = numbers_json(eps_prv=eps_prv, delta=delta)
    if witness is not None:
        # Losses below the parts that differ; for δ = 0 the greatest ones, lowered a little.
        domains = proof.machine.domains
        first, second = (read_input(input_json(each), domains) for each in witness)
        differing = parts.differing((first, second))
        tops, number = parts.tops(steps, differing), sum(differing.values())
        total = sum(own[0] * n for own, n in zip(tops, differing.values(), strict=True))
        for step, places in _grids(max(own[0] for own in tops), number, delta):
            top = None
            if pure:
                step, places = 2 * (total - eps_prv) / (3 * number), min(64 + 40 * number, 1900)
                top = total - step * number
            end = parts.below(steps, differing, step, places, top)
            if steps.delta(end, eps_prv) > delta:
                parts.add(steps, "violated composition", [end], stated | pair_json((first, second)))
                return steps.whole()
        raise Refused(_NO_GRID)
    failed: NotProved = Refused(_NO_GRID)
    # Only greatest losses may be attained.
    for exact in (False, True) if pure else (False,):
        try:
            parts.decide(steps, pure, exact)
            for step, places in _grids(parts.top(pure), parts.most, delta):
                ends = parts.above(steps, step, places, pure)
                if all(steps.delta(end, eps_prv) <= delta for end in ends):
                    parts.add(steps, "private composition", ends, stated)
                    return steps.whole()
            failed = Refused(_NO_GRID)
        except NotProved as obstacle:
            failed = obstacle
    raise failed


def _grids(top: Fraction, number: int, delta: Fraction) -> Iterator[tuple[Fraction, int]]:
    """Where losses lie, finer and finer; for δ = 0 only the greatest one counts."""
    for finer in _FINER if delta else ():
        more = 2 * log2(number) + log2(finer) - log2(delta)
        # Where no finite loss is above 0 any step will do.
        yield Fraction(1, ceil(finer / top) if top else 1), 64 + ceil(more)
    if not delta:
        yield Fraction(1), 64


def _around(step: Fraction, places: int, tops: Sequence[Fraction]) -> _Fields:
    """Return the grid of losses up to the greatest one, and down to the greatest in reverse."""
    high, low = (ceil(each / step) + 1 for each in (tops[0], tops[-1]))
    return grid_json(step, Fraction(0), places, [[-low, high, 1]])


def _covers(one: Mapping[Change, int], other: Mapping[Change, int]) -> bool:
    return all(one.get(change, 0) >= n for change, n in other.items())


_Row = list[tuple[int, int]]  # (p, q) of every output: p at most, q at least


def _rows(found: Distributions, pair: tuple[Input, Input]) -> tuple[_Row, _Row]:
    """Both orders of a pair."""
    one, other = (found.bounds[each] for each in pair)
    rows = [list(zip(a[1], b[0], strict=True)) for a, b in ((one, other), (other, one))]
    return rows[0], rows[1]


def _loss(p: int, q: int) -> Fraction:
    """The loss of an output, rounded up a little."""
    return Fraction(int(log(Fraction(p, q)) * 2**_POINT_BITS) + 1, 1 << _POINT_BITS)
