"""Compositions as proofs: where losses lie, how exactly masses are kept, what is multiplied when.

    every run: losses through knots ── squared and multiplied ──┐
                                                                ├── all runs ── the claim
    a program: its distributions, deltas at some budgets ───────┘

What the kernel concludes is looked at while steps are written, so that a grid that is too coarse is
replaced by a finer one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import ceil, log, log1p, log2

from flint import arb

from dipapprox.composition import mechanisms as catalogue
from dipapprox.composition.mechanisms import Mechanism
from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.kernel.balls import precision, to_ball, upper_at
from dipapprox.kernel.compositions import RULES, Pipeline, read_pipeline
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.judgements import Distributions, Judgement, LossesOf, OfRun
from dipapprox.kernel.mechanisms import Known, Pair, Sampled, read_mechanism
from dipapprox.kernel.pairs import adjacent_pairs
from dipapprox.kernel.proofs import growth_bound
from dipapprox.kernel.rules import apply
from dipapprox.numerics.simplest import simplest
from dipapprox.privacy.compositions import pipeline as composed
from dipapprox.privacy.compositions.pipeline import ProgramAt
from dipapprox.privacy.compositions.programs import simple_bounds
from dipapprox.privacy.options import Options
from dipapprox.proof_steps.machines import Json, input_json, machine_json, number_json
from dipapprox.semantics.inputs import has_real_inputs

_DENSE = 1 << 13
"""Knots on either side that are neighbours; further ones lie farther and farther apart."""

_MOST_PLACES = 1900
_POINT_BITS = 40
_ORDERS = 96
_SEARCH_BITS = 200
_MOST_REACH = 1 << 20
_MOST_GRID = 1 << 17
"""Losses of an interval of length 1, where a grid is refined for want of a better one."""

_FINER = (1, 2, 4, 8, 32, 128, 512)
"""How many times finer grids are tried."""


@dataclass(frozen=True, slots=True)
class ComposedGoal:
    """What the kernel shall confirm about a pipeline.

    Attributes:
        kept: Whether it keeps the claim; else it breaks it.
        gap: How far the claimed δ is from the least one, about; 0 if nobody knows.
        step: Of a grid on which that was found, about; None if none was used.
    """

    kept: bool
    eps_prv: Fraction
    delta: Fraction
    gap: Fraction
    step: float | None

    @property
    def claim(self) -> dict[str, Json]:
        """As the kernel reads it."""
        verdict = "DP" if self.kept else "Not_DP"
        return {"verdict": verdict, **self.stated}

    @property
    def stated(self) -> dict[str, Json]:
        """The numbers."""
        return {"eps_prv": number_json(self.eps_prv), "delta": number_json(self.delta)}


@dataclass(frozen=True, slots=True)
class WrittenComposition:
    """A proof as the kernel reads it: JSON; `places` are those of its masses."""

    pipeline: Json
    claim: Json
    steps: tuple[Json, ...]
    places: int


@dataclass(frozen=True, slots=True)
class _Grid:
    """Where losses lie, how exactly masses are kept, and at which losses a run is looked at."""

    step: Fraction
    offset: Fraction
    places: int
    knots: list[Json]

    @property
    def fields(self) -> dict[str, Json]:
        """As steps have it."""
        return {
            "step": number_json(self.step),
            "offset": number_json(self.offset),
            "places": self.places,
            "knots": self.knots,
        }


_SOME_LOSSES = _Grid(Fraction(1, 8), Fraction(0), 0, [[-200, 200, 1]])


class Written:
    """Proofs about one pipeline, whose programs are looked at once.

    Args:
        pipeline: What is composed.
        options: How to compute.

    Raises:
        NoCertificate: If the kernel has no rules for something that is run.
    """

    def __init__(self, pipeline: composed.Pipeline, options: Options) -> None:
        self._options = options
        self._runs = pipeline.runs
        self._total = pipeline.times
        self._adjacency = pipeline.adjacency
        runs: list[Json] = [_run_json(run) for run in pipeline.runs]
        self.json: dict[str, Json] = {"adjacency": pipeline.adjacency.value, "runs": runs}
        self._programs: dict[int, _Program] = {}
        try:
            self._read = read_pipeline(self.json, options.limits.check)
        except NotProved as obstacle:
            raise NoCertificate(f"the kernel does not read the pipeline: {obstacle}") from None

    def attempts(self, goal: ComposedGoal) -> Iterator[WrittenComposition]:
        """Yield proofs that seem to hold; nothing, if no grid is fine enough.

        Raises:
            NoCertificate: If something has no steps.
            LimitReached: If a limit is reached.
        """
        if not goal.delta:
            yield self._pure(goal)
            return
        gap = goal.gap if goal.gap > 0 else goal.delta / 1000
        first = goal.step or 1 / (16 * self._total**0.5)
        for finer in _FINER:
            self._options.limits.check()
            step = _short(first / finer)
            extra = log2(self._total) * 2 + log2(8 / float(step)) - log2(float(gap)) + 24
            places = max(64, ceil(extra))
            if finer > 1 and step * _MOST_GRID < 1:
                return
            if places > _MOST_PLACES:
                raise NoCertificate("what is claimed is too near to what is the case")
            tiny = gap / (256 * self._total)
            products = 2 * sum(run.times.bit_length() for run in self._runs) + 2
            unit = int(gap * (1 << places)) // (16 * self._total * products)
            steps = _Steps(self._read)
            ends = [
                self._composed(steps, goal, added, step, places, tiny, (unit, unit))
                for added in self._directions(goal)
            ]
            proof = steps.concluded(goal, ends)
            if proof is not None:
                yield WrittenComposition(self.json, goal.claim, proof, places)

    def _directions(self, goal: ComposedGoal) -> tuple[bool, ...]:
        sampled = any(run.rate is not None for run in self._runs)
        return (False, True) if sampled else (False,)

    def _composed(
        self,
        steps: _Steps,
        goal: ComposedGoal,
        added: bool,
        step: Fraction,
        places: int,
        tiny: Fraction,
        cut: tuple[int, int],
    ) -> int | None:
        """Write the steps of all runs for a direction; return the last one."""
        whole: int | None = None
        for number, run in enumerate(self._runs):
            if not goal.kept and isinstance(
                run.what, catalogue.RenyiStatement | catalogue.ConcentratedStatement
            ):
                continue  # no pair is known that attains it
            offset = Fraction(0) if goal.kept else -step * step / 8 - Fraction(1, 1 << 60)
            grid = _Grid(step, offset, places, self._knots(number, added, step, tiny))
            own = self._one(steps, goal.kept, number, added, grid)
            own = steps.power(own, run.times, cut)
            whole = own if whole is None else steps.product(whole, own, cut)
        return whole

    def _one(self, steps: _Steps, kept: bool, number: int, added: bool, grid: _Grid) -> int:
        """Write the step of one run."""
        run = self._runs[number]
        fields = {"run": number, "added": added and run.rate is not None, **grid.fields}
        program = self._program(number)
        if kept:
            known = [] if program is None else program.points(steps)
            orders: list[Json] = []
            if isinstance(run.what, catalogue.ConcentratedStatement):
                orders = [number_json(each) for each in _orders(run.what.rho, grid)]
            return steps.add("losses from above", known, {**fields, "orders": orders})
        # Outcomes of much mass are rounded down, each alike.
        smooth = isinstance(run.what, catalogue.Gaussian | catalogue.DiscreteGaussian)
        fields["lean"] = "1/2" if smooth else 1
        if program is None:
            return steps.add("losses from below", [], fields)
        first, second = program.attained
        inputs: dict[str, Json] = {"input": input_json(first), "adjacent": input_json(second)}
        return steps.add("losses of inputs", [program.distributions(steps)], {**fields, **inputs})

    # --- δ = 0 -----------------------------------------------------------------------------------

    def _pure(self, goal: ComposedGoal) -> WrittenComposition:
        """The greatest losses add up: only the greatest one of each run is kept."""
        tops = [self._top(number) for number in range(len(self._runs))]
        if any(top is None for top in tops):
            raise NoCertificate("for δ = 0, a run has no greatest loss")
        known = [top for top in tops if top is not None]
        total = sum(top * run.times for top, run in zip(known, self._runs, strict=True))
        # Losses are raised to what the claim leaves room for; or lowered by half of it.
        slack = (goal.eps_prv - total) / self._total / (1 if goal.kept else 2)
        if (slack < 0) == goal.kept:
            raise NoCertificate("the greatest losses are not told apart from what is claimed")
        places = 64 if goal.kept else min(64 + 12 * self._total, _MOST_PLACES)
        everything = 1 << (places + 1)
        steps = _Steps(self._read)
        ends = []
        for added in self._directions(goal):
            whole: int | None = None
            for number, (run, top) in enumerate(zip(self._runs, known, strict=True)):
                grid = _Grid(Fraction(1), top + slack - 1, places, [[-1, 1, 2]])
                own = self._one(steps, goal.kept, number, added, grid)
                own = steps.power(own, run.times, (everything, 0))
                whole = own if whole is None else steps.product(whole, own, (everything, 0))
            ends.append(whole)
        proof = steps.concluded(goal, ends)
        if proof is None:
            raise NoCertificate("the greatest losses are not told apart from what is claimed")
        return WrittenComposition(self.json, goal.claim, proof, places)

    def _top(self, number: int) -> Fraction | None:
        """The greatest loss of a run: at most that, and hardly more; None if there is none."""
        with precision(_SEARCH_BITS):
            pair = self._pair(number, False)

            def beyond(loss: Fraction) -> bool:
                return _upper(pair.most(loss)) <= 0

            low, high = Fraction(0), Fraction(1)
            while not beyond(high):
                low, high = high, 2 * high
                if high > 1 << 10:
                    return None
            while high - low > Fraction(1, 1 << _POINT_BITS):
                middle = (low + high) / 2
                low, high = (low, middle) if beyond(middle) else (middle, high)
            short = simplest(low, high)
            return short if beyond(short) else high

    # --- runs ------------------------------------------------------------------------------------

    def _pair(self, number: int, added: bool) -> Pair:
        """The kernel's pair of a run, for this precision."""
        run = self._runs[number]
        program = self._program(number)
        if program is not None:
            pair: Pair = Known(dict(program.deltas()))
        else:
            orders: Sequence[Fraction] = ()
            if isinstance(run.what, catalogue.ConcentratedStatement):
                orders = _orders(
                    run.what.rho, _Grid(Fraction(1, 8), Fraction(0), 0, [[-200, 200, 1]])
                )
            pair = read_mechanism(self._read.runs[number].what, orders)
        return pair if run.rate is None else Sampled(pair, run.rate, added)

    def _program(self, number: int) -> _Program | None:
        run = self._runs[number]
        if isinstance(run.what, ProgramAt) and number not in self._programs:
            self._programs[number] = _Program(
                self._read, number, run, self._total, self._adjacency, self._options
            )
        return self._programs.get(number)

    def _knots(self, number: int, added: bool, step: Fraction, tiny: Fraction) -> list[Json]:
        """Knots from where next to all mass lies below to where next to none lies above."""
        with precision(_SEARCH_BITS):
            pair = self._pair(number, added)

            def above(k: int) -> bool:
                return _upper(pair.most(k * step)) > tiny

            def below(k: int) -> bool:
                line = 1 - to_ball(-k * step).exp()
                return _upper(pair.most(-k * step) - line) > tiny

            high, low = _reach(above), _reach(below)
        return [*reversed(_side(low, -1)), *_side(high, 1)]


def _upper(ball: arb) -> Fraction:
    return Fraction(upper_at(ball, _SEARCH_BITS), 1 << _SEARCH_BITS)


def _reach(counts: Callable[[int], bool]) -> int:
    """The first number, about, from which on nothing counts."""
    high = 2
    while high < _MOST_REACH and counts(high):
        high *= 2
    low = high // 2
    while high - low > max(high // 32, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if counts(middle) else (low, middle)
    return high + 1


def _side(reach: int, sign: int) -> list[Json]:
    """Knots from 0 on, or below 0, in ranges that ascend when they are reversed below 0."""
    found: list[Json] = []
    start, stride = int(sign < 0), 1
    while start <= reach:
        last = start + stride * (min(_DENSE, (reach - start) // stride + 1) - 1)
        found.append([start, last, stride] if sign > 0 else [-last, -start, stride])
        start, stride = last + stride, 2 * stride
    return found


class _Steps:
    """Steps that are replayed while they are written."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._steps: list[dict[str, Json]] = []
        self._known: dict[int, Judgement] = {}
        self._places: dict[str, int] = {}

    def add(self, rule: str, premises: Sequence[int], fields: dict[str, Json]) -> int:
        """Add a step, if it is not there yet; return its number."""
        step: dict[str, Json] = {"rule": rule, "from": list(premises), **fields}
        key = repr(step)
        if key not in self._places:
            self._known[len(self._steps)] = apply(RULES, self._pipeline, self._known, step)
            self._places[key] = len(self._steps)
            self._steps.append(step)
        return self._places[key]

    def __getitem__(self, number: int) -> Judgement:
        return self._known[number]

    def power(self, first: int, times: int, cut: tuple[int, int]) -> int:
        """Square and multiply."""
        found = first
        for digit in bin(times)[3:]:
            found = self.product(found, found, cut)
            if digit == "1":
                found = self.product(found, first, cut)
        return found

    def product(self, one: int, other: int, cut: tuple[int, int]) -> int:
        """Compose two; the cut is that of one run."""
        count = sum(sum(found.times) for found in map(self._losses, (one, other)))
        return self.add("composed", [one, other], {"cut": [each * count for each in cut]})

    def concluded(self, goal: ComposedGoal, ends: Sequence[int | None]) -> tuple[Json, ...] | None:
        """Return the whole proof, if it holds."""
        known = [end for end in ends if end is not None]
        values = [(self._losses(end).losses.delta(goal.eps_prv), end) for end in known]
        if goal.kept:
            holds, used = max(values)[0] <= goal.delta, sorted(set(known))
            rule = "private composition"
        else:
            holds, used = bool(values) and max(values)[0] > goal.delta, [max(values)[1]]
            rule = "violated composition"
        if not holds:
            return None
        last = {"rule": rule, "from": used, **goal.stated}
        return _forgetful([*self._steps, last])

    def _losses(self, number: int) -> LossesOf:
        found = self._known[number]
        assert isinstance(found, LossesOf)
        return found


def _forgetful(steps: Sequence[dict[str, Json]]) -> tuple[Json, ...]:
    """Keep the steps that the last one needs, and say where each is used for the last time."""
    needed = {len(steps) - 1}
    for number in range(len(steps) - 1, -1, -1):
        if number in needed:
            needed.update(_premises(steps[number]))
    order = {number: place for place, number in enumerate(sorted(needed))}
    found: list[Json] = []
    used: set[int] = set()
    for number in sorted(needed, reverse=True):
        premises: list[Json] = []
        for premise in reversed(_premises(steps[number])):
            premises.append(order[premise] if premise in used else -order[premise] - 1)
            used.add(premise)
        found.append({**steps[number], "from": premises[::-1]})
    return tuple(reversed(found))


def _premises(step: dict[str, Json]) -> list[int]:
    premises = step["from"]
    assert isinstance(premises, list)
    return [each for each in premises if isinstance(each, int)]


class _Program:
    """A program that is run: deltas of all pairs where they bend, and a pair from below."""

    def __init__(
        self,
        pipeline: Pipeline,
        number: int,
        run: composed.PipelineRun,
        total: int,
        adjacency: catalogue.Adjacency,
        options: Options,
    ) -> None:
        what = run.what
        assert isinstance(what, ProgramAt)
        if what.program.real_outputs or has_real_inputs(what.program):
            raise NoCertificate("programs with real inputs or outputs have no losses in the kernel")
        self._number = number
        self._bits = 80 + total.bit_length()
        accuracy = Fraction(1, 1 << self._bits)
        between, self.attained = simple_bounds(
            what.program, what.eps, adjacency, run.times, accuracy, options
        )
        self._run: dict[str, Json] = {
            "rule": "distributions",
            "eps": number_json(what.eps),
            "inputs": None,
            "bits": self._bits,
        }
        machine = pipeline.runs[number].what
        assert isinstance(machine, tuple)
        steps = _Steps(pipeline)
        found = steps[self.distributions(steps)]
        assert isinstance(found, OfRun) and isinstance(found.judgement, Distributions)
        bounds = found.judgement.bounds
        rows = dict.fromkeys(
            tuple(sorted(zip(bounds[u][1], bounds[v][0], strict=True)))
            for u, v in adjacent_pairs(machine[0])
        )
        losses = {Fraction(0)}
        for mass in between.above.masses:
            if mass[0].lower and mass[1].lower:
                loss = abs(log(mass[0].lower / mass[1].lower))
                losses.add(Fraction(int(loss * 2**_POINT_BITS) + 1, 1 << _POINT_BITS))
        places = found.judgement.places
        self._deltas: dict[Fraction, Fraction] = {}
        for loss in sorted(losses):
            options.limits.check()
            factor, shift = growth_bound(loss, places, above=False)
            largest = max(sum(max(p - (factor * q >> shift), 0) for p, q in row) for row in rows)
            self._deltas[loss] = Fraction(largest, 1 << places)

    def deltas(self) -> dict[Fraction, Fraction]:
        """Bounds of delta for all pairs, by eps_prv."""
        return self._deltas

    def distributions(self, steps: _Steps) -> int:
        """Write the step that runs the program."""
        return steps.add("about run", [], {"run": self._number, "step": self._run})

    def points(self, steps: _Steps) -> list[int]:
        """Write the steps that bound delta."""
        known, found = self.distributions(steps), []
        for loss, delta in self._deltas.items():
            inner: dict[str, Json] = {
                "rule": "every pair",
                "eps_prv": number_json(loss),
                "delta": number_json(min(delta, Fraction(1))),
            }
            found.append(steps.add("about run", [known], {"run": self._number, "step": inner}))
        return found


# --- what is run ---------------------------------------------------------------------------------


def _run_json(run: composed.PipelineRun) -> Json:
    rate = None if run.rate is None else number_json(run.rate)
    what: Json
    if isinstance(run.what, ProgramAt):
        what = {"machine": machine_json(run.what.program), "eps": number_json(run.what.eps)}
    else:
        what = _mechanism_json(run.what)
    return {"what": what, "subsample": rate, "times": run.times}


def _mechanism_json(mechanism: Mechanism) -> Json:
    def noise(name: str, sensitivity: Fraction | int, scale: Fraction) -> Json:
        numbers = {"sensitivity": Fraction(sensitivity), "scale": scale}
        return {"mechanism": name} | {key: number_json(each) for key, each in numbers.items()}

    match mechanism:
        case catalogue.Gaussian(sensitivity, sigma):
            return noise("gaussian", sensitivity, sigma)
        case catalogue.Laplace(sensitivity, scale):
            return noise("laplace", sensitivity, scale)
        case catalogue.DiscreteLaplace(sensitivity, scale):
            return noise("discrete_laplace", sensitivity, scale)
        case catalogue.DiscreteGaussian(sensitivity, sigma):
            return noise("discrete_gaussian", sensitivity, sigma)
        case catalogue.RandomisedResponse(probability, values):
            return {
                "mechanism": "randomised_response",
                "probability": number_json(probability),
                "values": values,
            }
        case catalogue.ExponentialMechanism(eps):
            return {"mechanism": "exponential_mechanism", "eps": number_json(eps)}
        case catalogue.ApproximateStatement(eps, delta):
            numbers = {"eps": number_json(eps), "delta": number_json(delta)}
            return {"mechanism": "approx_dp", **numbers}
        case catalogue.RenyiStatement(orders):
            listed: list[Json] = [[number_json(a), number_json(b)] for a, b in orders]
            return {"mechanism": "rdp", "orders": listed}
        case catalogue.ConcentratedStatement(rho):
            return {"mechanism": "zcdp", "rho": number_json(rho)}
        case _:
            raise NoCertificate("the kernel does not know what is run")


def _orders(rho: Fraction, grid: _Grid) -> list[Fraction]:
    """Orders at which divergences of zCDP tell most, for losses of knots."""
    step, knots = grid.step, grid.knots
    ends = [each for triple in knots if isinstance(triple, list) for each in triple[:2]]
    far = max((abs(each) for each in ends if isinstance(each, int)), default=1) * float(step)
    found = []
    for k in range(1, _ORDERS + 1):
        loss, low, high = far * (k / _ORDERS) ** 2, 1e-9, 1e9
        for _ in range(100):
            middle = (low * high) ** 0.5
            # rho (2 λ - 1) + ln(1 - 1 / λ) = loss, at λ = 1 + middle
            slope = float(rho) * (1 + 2 * middle) - log1p(1 / middle) - loss
            low, high = (middle, high) if slope < 0 else (low, middle)
        found.append(1 + Fraction(max(int(low * 2**20), 1), 1 << 20))
    return sorted(set(found))


def _short(size: float) -> Fraction:
    """A number with few digits, about one and not above it."""
    if size >= 1:
        return Fraction(int(size))
    return Fraction(1, ceil(1 / size))
