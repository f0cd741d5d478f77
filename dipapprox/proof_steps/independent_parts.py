"""Claims about programs of independent parts, as steps: losses of each part, and their products.

body ─ ranges that share no cell ─ machines, equal ones once ─┬─ what each does for its inputs
                                                              └─ losses of pairs of its inputs
                                                                       │
pairs of the program: how many parts differ how ─ products ─ delta  ◄──┘
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log, log2

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.kernel.adjacency import Input, adjacent_pairs, all_inputs
from dipapprox.kernel.errors import NotProved, Refused, Refuted
from dipapprox.kernel.judgements import Change, Distributions, Of
from dipapprox.kernel.machine import Machine, read_input, read_machine
from dipapprox.kernel.parts import Part, Parts, parts_of
from dipapprox.kernel.proofs import Proof, growth_bound, pairs_of
from dipapprox.kernel.replay import read_claim
from dipapprox.numerics.simplest import simplest
from dipapprox.proof_steps.composed_steps import ReplayedSteps, grid_json
from dipapprox.proof_steps.liveness import live_before
from dipapprox.proof_steps.machines import Json, input_json, number_json
from dipapprox.proof_steps.sets import values_json

_BITS = 150
"""Of distributions of parts."""

_POINT_BITS = 40
_MOST_POINTS = 64
_MOST_WAYS = 400
"""How parts differ: so many products at most."""

_Fields = dict[str, Json]

_FINER = (4, 16, 64, 256)
"""Losses for one part in an interval of the length of its greatest one."""

Values = Sequence[Fraction | str]
"""Of the inputs of a program."""

_ABOVE: _Fields = {"sample": None, "orders": [], "above": True, "input": None, "adjacent": None}
"""Fields of losses, from above."""

_NO_PARTS = "the program does not fall into parts that are independent"
_NO_GRID = "no grid of losses of parts was found that tells"
_SLACK = Fraction(1, 1 << 60)


def parts_proof(
    machine: Json,
    said: Mapping[str, Json],
    witness: tuple[Values, Values] | None,
) -> tuple[Json, ...]:
    """Return steps to a claim.

    Args:
        machine: As the kernel reads it.
        said: The claim, as the kernel reads it.
        witness: The pair that breaks it; None: it is kept.

    Raises:
        NoCertificate: If there are no such parts, or no such steps.
        NotProved: If a step does not hold.
    """
    read = read_machine(machine)
    claim, proof = read_claim(said, read)
    if not all(isinstance(each, Fraction) for each in (claim.eps, claim.eps_prv, claim.delta)):
        raise NoCertificate("parts are composed at one eps")
    domains = tuple(domain for _, domain in read.inputs)
    pair = None
    if witness is not None:
        first, second = (read_input(input_json(each), domains) for each in witness)
        pair = first, second
    return _Prover(proof, said, pair).steps()


def _ranges(machine: Machine) -> list[Json]:
    """Ranges of statements between which no cell is passed on."""
    live, ends = live_before(machine), []
    for place in range(1, len(machine.body)):
        if not live[place] and machine.body[place][0] != "forget":
            ends.append(place)
    ends = [0, *ends, len(machine.body)]
    return [[a, b] for a, b in pairwise(ends)]


@dataclass(frozen=True, slots=True)
class _Class:
    """Pairs of inputs of a part whose deltas are bounded together, by eps_prv."""

    pairs: tuple[tuple[Input, Input], ...]
    deltas: dict[Fraction, Fraction]
    price: Fraction | int

    @property
    def json(self) -> list[Json]:
        """As steps have it."""
        return [[values_json(u), values_json(v)] for u, v in self.pairs]

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


class _Prover:
    def __init__(
        self, proof: Proof, said: Mapping[str, Json], witness: tuple[Input, Input] | None
    ) -> None:
        self._proof = proof
        self._machine = proof.machine
        self._witness = witness
        self._stated = {name: said[name] for name in ("eps", "eps_prv", "delta")}
        self._eps, self._eps_prv, self._delta = (
            Fraction(str(each)) for each in self._stated.values()
        )
        self._ranges = _ranges(proof.machine)
        self._parts: list[Part] = []
        self._place: dict[Machine, Json] = {}
        for each in self._ranges:
            for part in parts_of(proof.machine, each):
                self._parts.append(part)
                self._place.setdefault(part.machine, each)
        if len(self._parts) < 2:
            raise NoCertificate(_NO_PARTS)
        self._all = ReplayedSteps(proof)

    def steps(self) -> tuple[Json, ...]:
        known = {part: self._run(part, exact=False) for part in self._place}
        fields: _Fields = {"parts": self._ranges, **self._stated}
        if self._witness is not None:
            return self._broken(known, self._witness, fields)
        # Only greatest losses may be attained.
        for exact in (False, True) if not self._delta else (False,):
            try:
                return self._kept(known, exact, fields)
            except NotProved as obstacle:
                failed = obstacle
        raise failed

    def _run(self, part: Machine, exact: bool) -> int:
        of: _Fields = {"of": {"part": self._place[part], "pairs": None}}
        run: _Fields = {"eps": self._stated["eps"], "inputs": None, "cuts": []}
        return self._all.add("distributions", [], {**of, **run, "bits": None if exact else _BITS})

    # --- kept ------------------------------------------------------------------------------------

    def _kept(self, known: Mapping[Machine, int], exact: bool, fields: _Fields) -> tuple[Json, ...]:
        pure = not self._delta
        runs = {part: self._run(part, exact=True) for part in known} if exact else dict(known)
        classes: dict[Change, tuple[_Class, list[int]]] = {}
        for part, number in known.items():
            found = self._all[number]
            assert isinstance(found, Of) and isinstance(found.judgement, Distributions)
            for own in self._classes(part, found.judgement, pure):
                points: list[int] = []
                for each in self._candidates(own) if exact else [own]:
                    with suppress(Refuted):
                        points = [
                            self._point(part, runs[part], each, t, d)
                            for t, d in each.deltas.items()
                        ]
                        own = each
                        break
                classes[Change(part, self._eps, frozenset(own.pairs), None)] = own, points
        inputs = {part: frozenset(all_inputs(part.domains)) for part in known}
        parts = Parts(self._proof, self._ranges, self._eps, inputs)
        ways = [each for each in parts.ways(classes) if each]
        too_many = NoCertificate(f"parts differ in more than {_MOST_WAYS} ways")
        if len(ways) > 4 * _MOST_WAYS:
            raise too_many
        largest = [
            own for own in ways if not any(own != each and _covers(each, own) for each in ways)
        ]
        if len(largest) > _MOST_WAYS:
            raise too_many
        most = max((sum(each.values()) for each in largest), default=1)
        for grid in self._grids([own for own, _ in classes.values()], most):
            base = {}
            for change, (own, points) in classes.items():
                assert isinstance(change.what, Machine)
                more: _Fields = {"of": {"part": self._place[change.what], "pairs": own.json}}
                more |= {**grid(own), **_ABOVE}
                base[change] = self._all.add("losses", points, more)
            ends = []
            for way in largest:
                ends.append(self._all.whole_of(((base[c], n) for c, n in way.items()), (0, 0)))
            if all(self._all.delta(end, self._eps_prv) <= self._delta for end in ends):
                premises = [*runs.values(), *ends]
                self._all.add("private composition", premises, fields)
                return self._all.whole()
        raise Refused(_NO_GRID)

    def _candidates(self, own: _Class) -> Iterator[_Class]:
        """A class with the greatest loss that may be meant, and as it is."""
        assert own.top is not None
        short = simplest(own.top - Fraction(1, 1 << 32), own.top)
        yield _Class(own.pairs, {short: Fraction(0)}, own.price)
        yield own

    def _point(self, part: Machine, run: int, own: _Class, t: Fraction, d: Fraction) -> int:
        step: _Fields = {"eps_prv": number_json(t), "delta": number_json(d)}
        of: _Fields = {"of": {"part": self._place[part], "pairs": own.json}}
        return self._all.add("every pair", [run], {**of, **step})

    def _classes(self, part: Machine, found: Distributions, pure: bool) -> list[_Class]:
        """Pairs with their bounds; those that are below others join them."""
        adjacency = self._machine.adjacency
        if adjacency.norm == "pairs" or self._proof.pairs is not None:
            pairs = {
                (tuple(u[k] for k in each.inputs), tuple(v[k] for k in each.inputs))
                for u, v in pairs_of(self._proof)
                for each in self._parts
                if each.machine == part
            }
        else:
            pairs = set(adjacent_pairs(adjacency, part.domains))
        both = sorted({min((u, v), (v, u), key=repr) for u, v in pairs if u != v}, key=repr)
        rows = {pair: _rows(found, pair) for pair in both}
        kinks = {_loss(p, q) for own in rows.values() for row in own for p, q in row if p and q}
        losses = sorted({Fraction(0), *(each for each in kinks if each > 0)})
        if len(losses) > _MOST_POINTS:
            losses = [*losses[:: -(-len(losses) // _MOST_POINTS)], losses[-1]]
        groups: list[_Class] = []
        for pair, own in rows.items():
            changes = () if adjacency.norm == "pairs" else zip(*pair, strict=True)
            price = sum(adjacency.price(u, v) or 0 for u, v in changes)
            if pure:
                losses = [max(_loss(p, q) for row in own for p, q in row if p and q)]
            curve = {t: max(_bound(found, row, t) for row in own) for t in losses}
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

    def _grids(self, classes: list[_Class], most: int) -> Iterator[Callable[[_Class], _Fields]]:
        """Where losses lie, finer and finer; for δ = 0 only the greatest one counts."""
        if not self._delta:

            def at_top(own: _Class) -> _Fields:
                assert own.top is not None
                return grid_json(Fraction(1), own.top - 1, 64, [[-1, 1, 2]])

            yield at_top
            return
        top = max((t for own in classes for t in own.deltas), default=Fraction(1)) or Fraction(1)
        for finer in _FINER:
            step = Fraction(1, ceil(finer / top))
            reach = ceil(top / step) + 1
            places = 64 + ceil(2 * log2(most) + log2(finer) - log2(self._delta))
            fields = grid_json(step, Fraction(0), places, [[-reach, reach, 1]])

            def alike(own: _Class, fields: _Fields = fields) -> _Fields:
                return fields

            yield alike

    # --- broken ----------------------------------------------------------------------------------

    def _broken(
        self, known: Mapping[Machine, int], pair: tuple[Input, Input], fields: _Fields
    ) -> tuple[Json, ...]:
        """Losses below the parts that differ; for δ = 0 the greatest ones, lowered a little."""
        differing: Counter[tuple[Machine, Input, Input]] = Counter()
        for each in self._parts:
            own, other = (tuple(input[k] for k in each.inputs) for input in pair)
            if own != other:
                differing[each.machine, own, other] += 1
        number = sum(differing.values())
        if not number:
            raise NoCertificate("no part differs for the pair that was found")
        tops, lows = {}, {}
        for part, own, other in differing:
            found = self._all[known[part]]
            assert isinstance(found, Of) and isinstance(found.judgement, Distributions)
            rows = _rows(found.judgement, (own, other))
            tops[part, own, other], lows[part, own, other] = (
                max((_loss(p, q) for p, q in row if p and q), default=Fraction(0)) for row in rows
            )
        last = {**fields, "input": values_json(pair[0]), "adjacent": values_json(pair[1])}
        spare = sum(tops[key] * n for key, n in differing.items()) - self._eps_prv
        top = max(tops.values())
        for finer in (0,) if not self._delta else _FINER:
            ends: dict[int, int] = {}
            for (part, own, other), count in differing.items():
                if finer:
                    step = Fraction(1, ceil(finer / top))
                    ends_at = (ceil(each[part, own, other] / step) + 1 for each in (lows, tops))
                    reach = [side * each for side, each in zip((-1, 1), ends_at, strict=True)]
                    places = 64 + ceil(2 * log2(number) + log2(finer) - log2(self._delta))
                    grid = grid_json(step, Fraction(0), places, [[*reach, 1]])
                else:
                    # For one part alone, others lie below eps_prv, and count nothing.
                    step = 2 * spare / (3 * number)
                    low = tops[part, own, other] - 2 * step
                    places = min(64 + 40 * number, 1900)
                    grid = grid_json(step, low, places, [[1, 1, 1]])
                named: _Fields = {"input": values_json(own), "adjacent": values_json(other)}
                pairs: list[Json] = [[named["input"], named["adjacent"]]]
                more: _Fields = {"of": {"part": self._place[part], "pairs": pairs}, **grid}
                more |= {**_ABOVE, "above": False, **named}
                place = self._all.add("losses", [known[part]], more)
                ends[place] = ends.get(place, 0) + count
            # Only the greatest losses are told apart from others.
            cut = 0 if finer else 2 << places
            end = self._all.whole_of(sorted(ends.items()), (cut, 0))
            if self._all.delta(end, self._eps_prv) > self._delta:
                self._all.add("violated composition", [*known.values(), end], last)
                return self._all.whole()
        raise Refused(_NO_GRID)


def _covers(one: Mapping[Change, int], other: Mapping[Change, int]) -> bool:
    return all(one.get(change, 0) >= n for change, n in other.items())


_Row = list[tuple[int, int]]
"""(p, q) of every output: p at most, q at least."""


def _rows(found: Distributions, pair: tuple[Input, Input]) -> tuple[_Row, _Row]:
    """Both orders of a pair."""
    one, other = (found.bounds[each] for each in pair)
    rows = [list(zip(a[1], b[0], strict=True)) for a, b in ((one, other), (other, one))]
    return rows[0], rows[1]


def _loss(p: int, q: int) -> Fraction:
    """The loss of an output, rounded up a little."""
    return Fraction(int(log(Fraction(p, q)) * 2**_POINT_BITS) + 1, 1 << _POINT_BITS)


def _bound(found: Distributions, row: _Row, loss: Fraction) -> Fraction:
    """Delta at an eps_prv, as the kernel bounds it."""
    factor = growth_bound(loss, found.places, above=False)
    total = sum(max(p - floor(factor * q), 0) for p, q in row)
    return min(Fraction(total, 1 << found.places), Fraction(1))
