"""Sets of pairs of real inputs in parts on which the kernel bounds delta: a search.

Sets are replaced by their ends where probabilities move in one direction, and cut in the middle of
the side that costs most until vertices tell. Nothing here is trusted: whether a part is bounded is
the kernel's own answer, from the probabilities that it will compute again.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass, field
from dipapprox.errors import NoCertificate
from dipapprox.kernel.adjacency import Input, Range
from dipapprox.kernel.claims import read_claim
from dipapprox.kernel.errors import Refuted
from dipapprox.kernel.judgements import Distributions, Private, Violated
from dipapprox.kernel.machine import Machine, read_machine
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import Proof, growth_bound, largest_of
from dipapprox.kernel.rules import distributions
from dipapprox.kernel.sets import Sets, all_sets, error_of, extent, representatives
from dipapprox.proof_steps.machines import Json, number_json, value_json

MOST_PARTS = 50_000
"""Of all sets together."""


@dataclass(slots=True, eq=False)
class _Part:
    """A set, and how it is parted: a word with its places and numbers, and parts."""

    pairs: Sets | None
    word: list[Json] | None = None
    parts: list[_Part] = field(default_factory=list)

    def json(self) -> Json:
        """Return it as the kernel reads it."""
        if self.word is None:
            return None
        return [*self.word, *(part.json() for part in self.parts)]


@dataclass(frozen=True, slots=True)
class SinglePairs:
    """Pairs with the largest deltas of all, the step that says so, and their inputs."""

    step: dict[str, Json]
    pairs: tuple[tuple[Input, Input], ...]

    @property
    def listed(self) -> list[Json]:
        """The pairs, as claims list them."""
        return [[values_json(u), values_json(v)] for u, v in self.pairs]

    @property
    def inputs(self) -> list[Json]:
        """The inputs, each once."""
        return [values_json(each) for each in dict.fromkeys(u for p in self.pairs for u in p)]


def has_real_inputs(machine: Machine) -> bool:
    """Whether inputs are real numbers."""
    return any(isinstance(domain, Range) for _, domain in machine.inputs)


def single_pairs(machine: Json) -> SinglePairs | None:
    """Return pairs of which delta is largest; None if finitely many are not enough.

    Args:
        machine: As the kernel reads it.
    """
    read = read_machine(machine)
    motion = Motion(read)
    roots = [_Part(pairs) for pairs in all_sets(read, motion.is_shift)]
    for root in roots:
        _ends(root, motion)
    parts = [root.json() for root in roots]
    step: dict[str, Json] = {"rule": "representatives", "from": [], "parts": parts}
    try:
        return SinglePairs(step, representatives(Proof(read, None), step).pairs)
    except Refuted:
        return None


def parts_for(machine: Json, claim: Json, bits: int) -> tuple[list[Json], list[Json]]:
    """Return the parts of all sets, and the inputs at their vertices.

    Args:
        machine: As the kernel reads it.
        claim: DP, for all adjacent pairs.
        bits: How exactly probabilities are enclosed.

    Raises:
        NoCertificate: If there are too many parts.
        Refuted: If a pair does not keep the claim, as far as the bits tell.
    """
    read = read_machine(machine)
    stated, _ = read_claim(claim, read)
    if not isinstance(stated.eps, Fraction):
        raise NoCertificate("sets of pairs of real inputs are bounded at one eps only")
    search = _Search(read, stated, stated.eps, bits)
    roots = [_Part(pairs) for pairs in all_sets(read, False)]
    search.divide(roots)
    return [root.json() for root in roots], [values_json(each) for each in search.inputs]


def _ends(part: _Part, motion: Motion) -> list[_Part]:
    """Replace a set by its ends, as often as that tells more."""
    pairs = part.pairs
    if pairs is None:
        return []
    for place, zone in enumerate(pairs.zones):
        if len(zone) > 1 and motion.is_ordered(place):
            halves = pairs.ends(place)
            if pairs not in halves:
                part.word, part.parts = ["ends", place], [_Part(half) for half in halves]
                return [end for half in part.parts for end in _ends(half, motion)]
    return [part]


class _Search:
    def __init__(
        self, machine: Machine, claim: Private | Violated, eps: Fraction, bits: int
    ) -> None:
        self._proof = Proof(machine, None)
        self._claim = claim
        self._eps = eps
        self._bits = bits
        self._motion = Motion(machine)
        outputs = tuple(output for (output,) in self._motion.ends)
        self._places = {output: place for place, output in enumerate(outputs)}
        self._bounds: dict[Input, tuple[list[int], list[int]]] = {}
        found = Distributions(eps, bits + 16, outputs, self._bounds)
        self._largest = largest_of(found, claim.eps_prv)
        self._growth = growth_bound(claim.eps_prv, found.places, above=True)
        self._count = 0

    @property
    def inputs(self) -> list[Input]:
        """The inputs at vertices."""
        return list(self._bounds)

    def divide(self, roots: list[_Part]) -> None:
        """Divide sets until the kernel bounds delta on every part."""
        waiting = [end for root in roots for end in _ends(root, self._motion)]
        while waiting:
            self._evaluate(waiting)
            waiting = [half for part in waiting for half in self._halves(part)]

    def _evaluate(self, parts: list[_Part]) -> None:
        """Enclose the probabilities at new vertices."""
        new: dict[Input, None] = {}
        for part in parts:
            if part.pairs is not None:
                for pair in part.pairs.vertices():
                    new.update(dict.fromkeys(each for each in pair if each not in self._bounds))
        if not new:
            return
        inputs = [values_json(each) for each in new]
        step = {"eps": number_json(self._eps), "inputs": inputs, "bits": self._bits, "cuts": []}
        found = distributions(self._proof, step)
        for each, bounds in found.bounds.items():
            own = [0] * len(self._places), [0] * len(self._places)
            for row, known in zip(own, bounds, strict=True):
                for output, bound in zip(found.outputs, known, strict=True):
                    if output in self._places:
                        row[self._places[output]] = bound
            self._bounds[each] = own

    def _halves(self, part: _Part) -> list[_Part]:
        """Return nothing if a part is bounded, else its halves."""
        pairs = part.pairs
        if pairs is None:
            return []
        self._count += 1
        if self._count > MOST_PARTS:
            raise NoCertificate(f"there are more than {MOST_PARTS} sets of pairs")
        error = error_of(self._motion, pairs, self._eps, self._growth)
        if self._holds(pairs, self._claim.delta - error):
            return []
        if not error or not self._holds(pairs, self._claim.delta):
            if pairs.radius is not None:
                raise NoCertificate(
                    "sets whose changes share a radius have corners that are no pairs"
                )
            raise Refuted("a pair of real inputs does not keep the claim")
        place, side = self._widest(pairs)
        middle = sum(extent(pairs.zone(place), side), Fraction(0)) / 2
        part.word = ["cut", place, side, number_json(middle)]
        part.parts = [_Part(half) for half in pairs.cut(place, side, middle)]
        return [half for half in part.parts if half.pairs is not None]

    def _holds(self, pairs: Sets, most: Fraction) -> bool:
        most *= 1 << self._bits + 16
        return all(self._largest(*pair) <= most for pair in pairs.vertices())

    def _widest(self, pairs: Sets) -> tuple[int, str]:
        """Return the side that an error comes from most."""
        costs = {}
        for place, zone in enumerate(pairs.zones):
            if len(zone) > 1:
                curvature = self._motion.curvature(place, self._eps)
                for side, factor in (("first", Fraction(1)), ("second", self._growth)):
                    low, high = extent(zone, side)
                    costs[place, side] = curvature * factor * (high - low) ** 2
        return max(costs, key=lambda each: costs[each])


def values_json(input: Input) -> Json:
    """Return an input of the kernel as it reads it."""
    return [value_json(each if isinstance(each, str) else Fraction(each)) for each in input]
