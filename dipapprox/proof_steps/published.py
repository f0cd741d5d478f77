"""Verdicts about programs with real outputs, as steps: sets of numbers, and where to cut them.

A violation is shown by the intervals of its witness. For DP, masses up to well placed numbers
bound delta; they are searched with what the kernel will evaluate.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate, pairwise, product

from dipapprox.errors import NoCertificate
from dipapprox.kernel.balls import precision, to_ball
from dipapprox.kernel.evaluate import evaluate, most_factors
from dipapprox.kernel.excesses import Excess, Excesses
from dipapprox.kernel.forward import Run
from dipapprox.kernel.grid import accuracy
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.proofs import pairs_of
from dipapprox.kernel.replay import read_claim
from dipapprox.kernel.signs import Signs
from dipapprox.privacy.notation import NumberSet, finite
from dipapprox.privacy.verdict import Witness
from dipapprox.proof_steps.machines import Json, number_json, value_json

MOST_OUTPUTS = 20_000
"""Of a set of outputs."""

ROUNDS = 40
"""Most rounds of cuts."""

PARTS = 8
"""An interval is cut in so many in a round."""

START = tuple(sorted(sign * Fraction(2) ** k for k in range(-6, 12) for sign in (-1, 1)))
"""The first cuts; an endless interval is cut no further."""


Cell = tuple[Fraction | None, Fraction | None]


def intervals(witness: Witness, first: int) -> tuple[list[list[Json]], list[Json]]:
    """Return the set of a witness: where to cut each real output, and the outputs then.

    Args:
        witness: With sets of numbers.
        first: How many finite outputs there are before the real ones.

    Raises:
        NoCertificate: If the set is none of intervals, or has too many.
    """
    columns = list(zip(*(row.output[first:] for row in witness.rows), strict=True))
    cuts: list[list[Fraction]] = []
    for column in columns:
        sets = [value for value in column if isinstance(value, NumberSet)]
        if any(value.about for value in sets):
            raise NoCertificate("the violating numbers are in no intervals of their own")
        ends = {end for value in sets for each in value.intervals for end in each}
        cuts.append(sorted(end for end in ends if end is not None))
    found: list[Json] = []
    for row in witness.rows:
        sides = [[value_json(value)] for value in finite(row.output[:first])]
        for value, own in zip(row.output[first:], cuts, strict=True):
            if isinstance(value, NumberSet):
                cells = pairwise([None, *own, None])
                sides.append([_name(cell) for cell in cells if _inside(cell, value)])
            else:
                sides.append([value_json(value)])
        found += [list(each) for each in product(*sides)]
        if len(found) > MOST_OUTPUTS:
            raise NoCertificate("the violating numbers are in too many intervals")
    return [[number_json(cut) for cut in own] for own in cuts], found


def _inside(cell: Cell, numbers: NumberSet) -> bool:
    (low, high), ends = cell, numbers.intervals
    return any(
        (first is None or (low is not None and first <= low))
        and (last is None or (high is not None and high <= last))
        for first, last in ends
    )


def _name(cell: Cell) -> Json:
    low, high = cell
    return {"name": f"{'-inf' if low is None else low} to {'inf' if high is None else high}"}


def cuts_for(machine: Json, claim: Json, gap: Fraction | None, bits: int) -> list[Json]:
    """Return cuts with which the kernel bounds delta by what is claimed, if some are found.

    Args:
        machine: As the kernel reads it.
        claim: DP, as the kernel reads it.
        gap: How far delta is below its claimed bound, if that is known.
        bits: How exactly masses are evaluated.
    """
    if gap is None or gap <= 0:
        return []
    try:
        return _cuts(machine, claim, gap, bits)
    except RecursionError:
        raise NoCertificate("published numbers are functions too deep in each other") from None


def _cuts(machine: Json, claim: Json, gap: Fraction, bits: int) -> list[Json]:
    read, graph = read_machine(machine), Graph()
    stated, proof = read_claim(claim, read)
    eps = stated.eps
    assert isinstance(eps, Fraction)
    run = Run(read, Signs.at(eps), graph)
    sums, _ = Excesses(graph, eps, stated.eps_prv).of_pairs(run, pairs_of(proof))
    allowed = float(gap) / (2 * max(map(len, sums), default=1) + 1)
    cuts: set[Fraction] = set()
    for part in {part for parts in sums for part in parts if part.functions is not None}:
        cuts.update(_Search(graph, part, eps, stated.eps_prv, bits).cuts(allowed))
    return [number_json(cut) for cut in sorted(cuts)]


class _Search:
    """Cuts for one label, with the masses of both functions up to each."""

    def __init__(
        self,
        graph: Graph,
        part: Excess,
        eps: Fraction,
        eps_prv: Fraction,
        bits: int,
    ) -> None:
        self._graph = graph
        self._part = part
        self._eps = eps
        self._eps_prv = eps_prv
        self._bits = bits

    def cuts(self, allowed: float) -> list[Fraction]:
        """Return cuts whose bound is hardly `allowed` above the divergence, if they are found."""
        cuts = list(START)
        for _ in range(ROUNDS):
            cells = self._cells(cuts)
            excesses = [first - second for first, second, _ in cells]
            sums = [0.0, *accumulate(excesses)]
            least, factor = max(sums) + allowed, 1.0
            # No cell before the last one with an excess has to be narrow.
            last = max((k for k, excess in enumerate(excesses) if excess > 0), default=0)
            new: set[Fraction] = set()
            for k, (first, second, (low, high)) in enumerate(cells):
                wide = k >= last and sums[k] + factor * first > least
                if wide and low is not None and high is not None:
                    new.update(low + part * (high - low) / PARTS for part in range(PARTS + 1))
                factor = max(0.0, 1 - second / first) if first > 0 else 1.0
            if not new:
                break
            around = bisect_left(cuts, min(new)), bisect_left(cuts, max(new))
            cuts = sorted({*cuts[max(around[0] - 1, 0) : around[1] + 2], *new})
        return cuts

    def _cells(self, cuts: list[Fraction]) -> list[tuple[float, float, Cell]]:
        masses = self._part.cells(self._graph, cuts)
        wanted = {node for pair in masses for node in pair}
        aim = accuracy(self._bits, most_factors(self._graph, wanted))
        values = evaluate(self._graph, wanted, self._eps, aim)
        with precision(aim.precision):
            growth = to_ball(self._eps_prv).exp()
            found = [(float(values[f].mid()), float((growth * values[g]).mid())) for f, g in masses]
        ends: list[Cell] = list(pairwise([None, *cuts, None]))
        order = ends[:: -self._part.way]
        return [(*pair, own) for pair, own in zip(found, order, strict=True)]
