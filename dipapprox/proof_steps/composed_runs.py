"""What pipelines run, as the kernel reads it, and steps about programs among it.

Of a program that publishes real numbers there are deltas of all pairs at some losses.

    deltas at many eps_prv, a step each ──> losses above all pairs
    sets of numbers of one pair         ──> losses below it

Deltas are bounded by what the kernel bounds them by, so that its steps hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import islice
from math import ceil, log2, prod
from typing import Any, cast

import numpy as np

from dipapprox.arithmetic.enclosure import Enclosure, simplest
from dipapprox.composition import mechanisms as catalogue
from dipapprox.data_classes import Record
from dipapprox.errors import NoCertificate
from dipapprox.kernel.balls import to_ball
from dipapprox.kernel.compositions import Pipeline, rows_of
from dipapprox.kernel.excesses import Excesses, Sum
from dipapprox.kernel.forward import Run
from dipapprox.kernel.judgements import Distributions, Judgement, Of
from dipapprox.kernel.machine import Input, Inputs, Machine
from dipapprox.kernel.mechanisms import FIELDS, Mechanism, Pair, of_deltas
from dipapprox.kernel.nodes import Graph
from dipapprox.kernel.proofs import Proof, pairs_of
from dipapprox.kernel.published import published
from dipapprox.kernel.signs import Signs
from dipapprox.limits import check_limits
from dipapprox.privacy.compositions.pipeline import PipelineRun, ProgramAt
from dipapprox.privacy.compositions.programs import Row, cost, cost_of, undominated
from dipapprox.privacy.compositions.programs import loss as loss_of
from dipapprox.proof_steps.composed_steps import ComposedSteps
from dipapprox.proof_steps.independent_parts import IndependentParts
from dipapprox.proof_steps.knots import bends_of_worst, knots
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import Json, input_json, number_json, numbers_json, pair_json

_MOST_BENDING = 40  # pairs whose bends are looked at, if many are needed
_FINEST = 1 << 40
_MOST_TURNS = 100  # of steps with which losses are compared
_MOST_ROWS = 20_000
"""Pairs with probabilities of their own, among which those are looked for that others are below."""

MANY_OUTPUTS = 2048
"""Of a program whose parts are multiplied; with fewer, pairs are followed run by run."""

_MOST_PAIRS = 3_000
"""Of inputs of a program of independent parts, among which one is looked for that costs much."""


class ComposedRun(Record):
    """What the kernel takes to be run."""

    number: int  # by which its steps name it
    what: Machine | Mechanism
    eps: Fraction | None  # of a machine
    rate: Fraction | None  # of a sample
    times: int

    @classmethod
    def of(cls, pipeline: Pipeline) -> list[ComposedRun]:
        """Return all runs of a pipeline."""
        return [
            cls(number, run.what, run.eps, None if run.sample is None else run.sample[0], times)
            for number, (run, times) in enumerate(pipeline.runs)
        ]


class ComposedProgram:
    """A program that is run: what it does for all its inputs, and which pairs are worst.

    Args:
        bits: Of probabilities.
        margin: A difference of H that does not matter.
    """

    def __init__(self, pipeline: Pipeline, run: ComposedRun, bits: int, margin: Fraction) -> None:
        machine, eps = machine_at(run)
        if len(machine.finite) < len(machine.inputs):
            raise NoCertificate("programs with real inputs have no losses in the kernel")
        self._run: dict[str, Json] = {
            "of": {"run": run.number},
            "eps": number_json(eps),
            "inputs": None,
            "bits": bits,
        }
        self._concluded: dict[str, Judgement] = {}
        steps = ComposedSteps(pipeline)
        found = steps[self.distributions(steps)]
        assert isinstance(found, Of) and isinstance(found.judgement, Distributions)
        self._found, bounds = found.judgement, found.judgement.bounds
        self._pairs = [*pairs_of(Proof(machine, None))]
        rows: dict[tuple[tuple[int, int], ...], Inputs] = {}
        for u, v in self._pairs:
            check_limits()
            rows.setdefault(tuple(sorted(zip(bounds[u][1], bounds[v][0], strict=True))), (u, v))
        if not rows:
            raise NoCertificate("no two inputs are adjacent")
        unit = Fraction(1, 1 << self._found.places)
        known: list[Row] = [
            [(Enclosure.exact(p * unit), Enclosure.exact(q * unit)) for p, q in row] for row in rows
        ]
        inputs = list(rows.values())
        costs = [cost(row, run.times) for row in known]
        order = sorted(range(len(known)), key=costs.__getitem__, reverse=True)
        few = len(known) <= _MOST_ROWS
        worst = [number for _, number in undominated(known, margin)] if few else []
        self.dearest = inputs[order[0]]  # what so many runs cost most for, about
        worst.sort(key=costs.__getitem__, reverse=True)
        # Few pairs such that no other one is worse than all of them, the dearest first; or none.
        self.chosen = [inputs[k] for k in worst]
        self._worst = [known[k] for k in worst or order[:_MOST_BENDING]]

        rate = Fraction(1) if run.rate is None else run.rate
        self._sampled: list[Row] = [
            [(Enclosure.exact(rate * p.upper + (1 - rate) * q.upper), q) for p, q in row]
            for row in self._worst
        ]
        self.aligned = cache(partial(_aligned, self._sampled))

    def pair(self) -> Pair:
        """What is above all pairs."""
        return rows_of(self._found, None)(*self._pairs)

    def bends(self) -> list[float]:
        """Where the worst pairs bend, or another one is the worst."""
        return bends_of_worst(self._worst)

    def far(self, times: int, tiny: float) -> float:
        """Return about the loss that so many runs exceed with a tiny probability alone."""
        finite = [[(p, q) for p, q in row if q.upper] for row in self._sampled]
        return max((cost(row, times, tiny) for row in finite if row), default=0.0)

    def known(self, steps: ComposedSteps, kept: bool, fields: dict[str, Json]) -> list[int]:
        """Return the premises of losses of all pairs, or the dearest one, and tell them of it."""
        if not kept:
            fields |= pair_json(self.dearest)
        return [self.distributions(steps, *(() if kept else self.dearest))]

    def distributions(self, steps: ComposedSteps, *inputs: Input) -> int:
        """Write the step that runs the program, for some inputs or all."""
        some: Json = [input_json(each) for each in inputs] or None
        return steps.add("distributions", [], {**self._run, "inputs": some}, self._concluded)


def has_many_outputs(what: Machine | Mechanism) -> bool:
    """Whether parts of it are multiplied, if it has any."""
    if not isinstance(what, Machine):
        return False
    return prod(len(own) for _, own in what.outputs) > MANY_OUTPUTS


class ComposedParts:
    """A program of many outputs that is run: losses of its independent parts are multiplied.

    Args:
        delta: That of the question, about; for δ = 0 greatest losses alone count.
    """

    def __init__(self, pipeline: Pipeline, run: ComposedRun, delta: Fraction) -> None:
        machine, eps = machine_at(run)
        if run.rate is not None or not has_many_outputs(machine):
            raise NoCertificate("the program is looked at as a whole")
        proof, steps = Proof(machine, None), ComposedSteps(pipeline)
        self._pure = pure = not delta
        self._parts = IndependentParts(proof, eps, {"run": run.number})
        self._parts.decide(steps, pure)
        self.top = self._parts.top(pure)  # the greatest loss, about: at most that
        pairs: dict[object, Inputs] = {}
        for pair in islice(pairs_of(proof), _MOST_PAIRS):
            pairs.setdefault(frozenset(self._parts.differing(pair).items()), pair)

        def dear(pair: Inputs) -> float:
            rows = self._rows(steps, pair)
            if pure:
                return sum(n * max(loss_of(*each) for each in row) for row, n in rows)
            return cost_of(((row, n * run.times) for row, n in rows), float(delta))

        self._dearest = max(pairs.values(), key=dear)
        finite = [row for row, _ in self._rows(steps, self._dearest)]
        self.aligned = cache(partial(_aligned, finite))

    def _rows(self, steps: ComposedSteps, pair: Inputs) -> list[tuple[Row, int]]:
        """What parts do for a pair, each so many times."""
        found: list[tuple[Row, int]] = []
        for own, count in self._parts.differing(pair).items():
            row, _ = self._parts.rows(steps, own)
            whole = sum(p for p, _ in row)
            ends = ((Fraction(p, whole), Fraction(q, whole)) for p, q in row)
            found.append(([(Enclosure.exact(p), Enclosure.exact(q)) for p, q in ends], count))
        return found

    def above(self, steps: ComposedSteps, grid: dict[str, Json]) -> int:
        """Write the step of one run; for δ = 0 its grid says where the greatest loss shall be."""
        step, places = Fraction(str(grid["step"])), cast("int", grid["places"])
        ends = self._parts.above(steps, step, places, self._pure)
        if not self._pure:
            found = [k for end in ends for k in steps.places(end)]
            bends = found if len(ends) == 1 else None  # somewhere another way is the worst
            grid = {**grid, "knots": knots(-min(found), max(found), bends)}
        return self._parts.add(steps, "losses above parts", ends, grid)

    def below(self, steps: ComposedSteps, grid: dict[str, Json]) -> int:
        """Write the same from below."""
        step, offset = (Fraction(str(grid[name])) for name in ("step", "offset"))
        differing, top = self._parts.differing(self._dearest), offset + step if self._pure else None
        end = self._parts.below(steps, differing, step, cast("int", grid["places"]), top)
        return self._parts.add(steps, "losses below parts", [end], pair_json(self._dearest))


def _aligned(rows: Sequence[Row], step: Fraction) -> Fraction:
    """Return a step, at least half of one, of which losses are nearly multiples.

    A mass between two places that is a share s from one is off by about s (1 - s) step^2.
    """
    masses = np.array([(float(p.upper), loss_of(p, q)) for row in rows for p, q in row])
    masses = masses[np.isfinite(masses[:, 1]) & (masses[:, 1] != 0)]
    found = [step]
    for far in {abs(each) for each in masses[:, 1].tolist()}:
        turns = range(ceil(far / float(step)), int(2 * far / float(step)) + 1)
        found += [Fraction(round(far / k * _FINEST), _FINEST) for k in turns[:_MOST_TURNS]]

    def off(step: Fraction) -> float:
        shares = masses[:, 1] / float(step) % 1
        return float((masses[:, 0] * shares * (1 - shares)).sum()) * float(step) ** 2

    return min(found, key=off)


def run_json(run: PipelineRun) -> Json:
    rate = None if run.rate is None else number_json(run.rate)
    what: Json
    if isinstance(run.what, ProgramAt):
        what = {"machine": machine_json(run.what.program), "eps": number_json(run.what.eps)}
    else:
        what = _mechanism_json(run.what)
    return {"what": what, "subsample": rate, "times": run.times}


_NAMES: dict[type, str] = {
    catalogue.Gaussian: "Gauss",
    catalogue.Laplace: "Lap",
    catalogue.DiscreteLaplace: "DLap",
    catalogue.DiscreteGaussian: "DGauss",
    catalogue.RandomisedResponse: "randomised_response",
    catalogue.ExponentialMechanism: "exponential_mechanism",
    catalogue.ApproximateStatement: "approx_dp",
    catalogue.RenyiStatement: "rdp",
    catalogue.ConcentratedStatement: "zcdp",
}
_KINDS = {name: kind for kind, name in _NAMES.items()}


def _mechanism_json(mechanism: catalogue.Mechanism) -> Json:
    if type(mechanism) not in _NAMES:
        raise NoCertificate("the kernel does not know what is run")
    name = _NAMES[type(mechanism)]
    found: dict[str, Json] = {"mechanism": name}
    for field in FIELDS[name]:
        value = getattr(mechanism, "square" if field == "variance" else field)
        is_listed = field == "orders"
        found[field] = (
            [[*map(number_json, row)] for row in value] if is_listed else number_json(value)
        )
    return found


def _mechanism_of(name: str, values: tuple[Any, ...]) -> catalogue.Mechanism:
    """Return the mechanism of the catalogue that the kernel calls so."""
    whole = ("values", "sensitivity") if name not in ("Lap", "Gauss") else ()
    fields = zip(FIELDS[name], [values] if name == "rdp" else values, strict=True)
    found: catalogue.Mechanism = _KINDS[name](
        **{field: int(value) if field in whole else value for field, value in fields}
    )
    return found


def mechanisms_of(what: Mechanism) -> list[tuple[catalogue.Mechanism, int]]:
    """Return what is one mechanism to the kernel, each so often."""
    runs = what.values if what.name == "divergences" else [(what.name, what.values, 1)]
    return [(_mechanism_of(name, values), times) for name, values, times in runs]


_PLACES = 64  # losses at which deltas are bounded, from 0 on
_FARTHEST = 1 << 8
_CLOSE = 1 << 20  # of the greatest loss, where there is one: 1 / `_CLOSE`
_ONE_NUMBER = 4  # parts of an excess of one: two densities, two scalars
_LIKELY = Fraction(1, 1000)
"""A delta; the pair that is run is the worst at most losses where deltas are larger."""


def machine_at(run: ComposedRun) -> tuple[Machine, Fraction]:
    """Return a program that is run, and its eps."""
    assert isinstance(run.what, Machine) and run.eps is not None
    return run.what, run.eps


class ComposedNumbers:
    """A program with real outputs that is run.

    Args:
        tiny: A delta that does not matter; 0 if all do.
    """

    def __init__(self, run: ComposedRun, tiny: Fraction) -> None:
        machine, eps = machine_at(run)
        self._number, self._eps = run.number, eps
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

    def known(self, steps: ComposedSteps, kept: bool, fields: dict[str, Json]) -> list[int]:
        """Return the premises of losses of all pairs, or the dearest one, and tell them of it."""
        if not kept:
            fields |= pair_json(self.dearest) | {"orders": [number_json(self._eps)]}
            return []
        named: dict[str, Json] = {"of": {"run": self._number}, "eps": number_json(self._eps)}
        found = []
        for loss, delta in self._deltas.items():
            ends = numbers_json(eps_prv=loss, delta=delta) | {"bits": self._bits}
            found.append(steps.add("every published pair", [], named | ends, self._concluded))
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
        check_limits()
        parts, found = self._excesses(loss), dict[Inputs, list[Sum]]()
        for pair in self._pairs:
            first, second = map(self._known, pair)
            ways = (parts.of_pair(first, second, added=way) for way in (False, True))
            # Products of densities of several numbers take long at many losses.
            sizes = ((own, [len(self._graph.nodes[node].parts) for node in own]) for own in ways)
            found[pair] = [own for own, each in sizes if max(each, default=0) <= _ONE_NUMBER]
        return found

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
            # Alone, as a step is replayed, it is bounded on other panels, by 2^-bits more or less.
            more = min(value + (unit >> self._bits if value else 0), unit)
            largest[loss] = Fraction(more, unit), pair
        return largest


Composed = ComposedProgram | ComposedNumbers
