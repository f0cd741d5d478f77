"""Runs of a program that publishes real numbers: deltas of all its pairs at some losses.

    deltas at many eps_prv, a step each ──> losses above all pairs
    sets of numbers of one pair         ──> losses below it

Deltas are bounded by what the kernel bounds them by, so that its steps hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import cache, partial
from math import ceil, log2

from dipapprox.errors import NoCertificate
from dipapprox.kernel.adjacency import Inputs
from dipapprox.kernel.balls import to_ball
from dipapprox.kernel.compositions import Pipeline
from dipapprox.kernel.excesses import Excesses, Sum
from dipapprox.kernel.forward import Run
from dipapprox.kernel.judgements import Judgement
from dipapprox.kernel.machine import Machine
from dipapprox.kernel.mechanisms import Pair, of_deltas
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.proofs import Proof, pairs_of
from dipapprox.kernel.published import published
from dipapprox.kernel.signs import Signs
from dipapprox.numerics.simplest import simplest
from dipapprox.privacy.compositions.pipeline import PipelineRun, ProgramAt
from dipapprox.privacy.options import Options
from dipapprox.proof_steps.composed_runs import ComposedProgram
from dipapprox.proof_steps.composed_steps import ComposedSteps
from dipapprox.proof_steps.machines import Json, input_json, number_json

_PLACES = 64  # losses at which deltas are bounded, from 0 on
_FARTHEST = 1 << 8
_CLOSE = 1 << 20  # of the greatest loss, where there is one: 1 / `_CLOSE`
_ONE_NUMBER = 4  # parts of an excess of one: two densities, two scalars
_LIKELY = Fraction(1, 1000)
"""A delta; the pair that is run is the worst at most losses where deltas are larger."""


def program_of(
    pipeline: Pipeline, number: int, run: PipelineRun, options: Options, bits: int, margin: Fraction
) -> Composed:
    """Look at what a program does that is run; arguments are those of `ComposedProgram`."""
    assert isinstance(run.what, ProgramAt)
    if run.what.program.real_outputs:
        return ComposedNumbers(pipeline, number, run.what.eps, options, margin)
    return ComposedProgram(pipeline, number, run, options, bits, margin)


class ComposedNumbers:
    """A program with real outputs that is run.

    Args:
        pipeline: What it is a run of, by number.
        eps: Where the program runs.
        tiny: A delta that does not matter; 0 if all do.

    Attributes:
        dearest: The pair that looks worst.
    """

    def __init__(
        self, pipeline: Pipeline, number: int, eps: Fraction, options: Options, tiny: Fraction
    ) -> None:
        machine = pipeline.runs[number][0].what
        assert isinstance(machine, Machine)
        self._number, self._eps, self._limits = number, eps, options.limits
        self._fewest = self._bits = max(ceil(-log2(tiny)) + 8, 24)
        self._graph = Graph()
        self._known = cache(partial(published, Run(machine, Signs.at(eps), self._graph)))
        self._pairs = [*pairs_of(Proof(machine, None))]
        if not self._pairs:
            raise NoCertificate("no two inputs are adjacent")
        self._concluded: dict[str, Judgement] = {}
        far = self._far(tiny)
        self._bits = self._enough(far)
        found = self._bounds(far * k / _PLACES for k in range(_PLACES + 1))
        self._deltas = {loss: delta for loss, (delta, _) in found.items()}
        worst = Counter(pair for delta, pair in found.values() if delta > _LIKELY)
        self.dearest = max(worst or found[far][1:], key=worst.__getitem__)

    def pair(self) -> Pair:
        """What is above all pairs."""
        return of_deltas({loss: to_ball(delta) for loss, delta in self._deltas.items()})

    def bends(self) -> list[float]:
        """Where that bends."""
        return [sign * float(loss) for loss in self._deltas for sign in (1, -1)]

    def aligned(self, step: Fraction) -> Fraction:
        """Return a step, at most a given one, of which the losses are multiples."""
        unit = max(self._deltas) / _PLACES
        return unit / ceil(unit / step) if step < unit else unit * (step // unit)

    def known(self, steps: ComposedSteps, kept: bool, fields: dict[str, Json]) -> list[int]:
        """Return the premises of losses of all pairs, or the dearest one, and tell them of it."""
        if not kept:
            first, second = map(input_json, self.dearest)
            fields |= {"input": first, "adjacent": second, "orders": [number_json(self._eps)]}
            return []
        named: dict[str, Json] = {"of": {"run": self._number}, "eps": number_json(self._eps)}
        found = []
        for loss, delta in self._deltas.items():
            ends: dict[str, Json] = {"eps_prv": number_json(loss), "delta": number_json(delta)}
            fields = named | ends | {"bits": self._bits}
            found.append(steps.add("every published pair", [], fields, self._concluded))
        return found

    def _far(self, tiny: Fraction) -> Fraction:
        """Return about the loss from which on all deltas are tiny, or the greatest one."""
        low, high = Fraction(0), Fraction(1)
        while self._beyond(high, tiny) is None:
            low, high = high, 2 * high
            if high > _FARTHEST:
                raise NoCertificate("of published numbers several differ, or deltas stay large")
        bounded = self._beyond(high, tiny) == 0
        while (high - low) * (_CLOSE if bounded else 32) > high:
            middle = (low + high) / 2
            bound = self._beyond(middle, tiny)
            beyond = bound is not None and (not bounded or not bound)
            low, high = (low, middle) if beyond else (middle, high)
        short = simplest(low, high)
        return short if self._beyond(short, tiny) is not None else high

    def _beyond(self, loss: Fraction, tiny: Fraction) -> Fraction | None:
        """Return the largest delta there if it is tiny; 0 if the kernel knows that it is 0."""
        if not any(own[0] for own in self._sums(loss).values()):
            return Fraction(0)
        self._bits = self._enough(loss)
        delta = self._bounds([loss])[loss][0]
        return delta if delta <= tiny else None

    def _enough(self, loss: Fraction) -> int:
        """Bits that are left when errors are multiplied by e^loss."""
        return self._fewest + 2 * ceil(loss)

    def _sums(self, loss: Fraction) -> dict[Inputs, list[Sum]]:
        """What bounds the delta of each pair there: one sum, or two of which the less counts."""
        self._limits.check()
        parts, found = self._excesses(loss), dict[Inputs, list[Sum]]()
        for pair in self._pairs:
            first, second = map(self._known, pair)
            ways = (parts.of_pair(first, second, added=way) for way in (False, True))
            found[pair] = [own for own in ways if not self._several(own)]
        return found

    def _several(self, own: Sum) -> bool:
        """Whether densities of several numbers are multiplied, which takes long at many losses."""
        return any(len(self._graph.nodes[node].parts) > _ONE_NUMBER for node in own)

    def _excesses(self, loss: Fraction) -> Excesses:
        return Excesses(self._graph, self._eps, loss, self._bits + 16)

    def _bounds(self, losses: Iterable[Fraction]) -> dict[Fraction, tuple[Fraction, Inputs]]:
        """Return the largest delta at each loss, and its pair."""
        sums = {loss: self._sums(loss) for loss in losses}
        every = {own for found in sums.values() for both in found.values() for own in both}
        values = self._excesses(Fraction(0)).values(every, self._bits)
        unit = 1 << self._bits + 16
        largest: dict[Fraction, tuple[Fraction, Inputs]] = {}
        for loss, found in sums.items():
            value, pair = max(
                (min(map(values.__getitem__, both)), pair) for pair, both in found.items()
            )
            largest[loss] = Fraction(value, unit), pair
        return largest


Composed = ComposedProgram | ComposedNumbers
