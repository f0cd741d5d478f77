"""Compositions as proofs: where losses lie, how exactly masses are kept, what is multiplied when.

    every run: losses through knots ── squared and multiplied ──┐
                                                                ├── all runs ── the claim
    a program: its distributions, deltas at some budgets ───────┘

What the kernel concludes is looked at while steps are written, so that a grid that is too coarse is
replaced by a finer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain
from math import ceil, exp, log, log2

from dipapprox.arithmetic.enclosure import simplest
from dipapprox.composition.divergences import Statement
from dipapprox.composition.grid import first_step
from dipapprox.errors import NoCertificate
from dipapprox.kernel.balls import precision, to_ball, upper_at
from dipapprox.kernel.compositions import read_pipeline
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.machine import Machine
from dipapprox.kernel.mechanisms import Mechanism, Pair, sampled
from dipapprox.kernel.proofs import MOST_EPS_PRV
from dipapprox.limits import check_limits
from dipapprox.privacy.compositions import pipeline as composed
from dipapprox.privacy.compositions.pipeline import ComposedProof
from dipapprox.proof_steps.composed_runs import (
    Composed,
    ComposedNumbers,
    ComposedParts,
    ComposedProgram,
    ComposedRun,
    has_many_outputs,
    mechanisms_of,
    run_json,
)
from dipapprox.proof_steps.composed_steps import ComposedGoal, ComposedSteps, grid_json, promising
from dipapprox.proof_steps.knots import (
    bends_of_mechanism,
    knots,
    losses_of,
    reach,
    sampled_bends,
    short,
    told_above,
    told_below,
)
from dipapprox.proof_steps.machines import Json, input_json, number_json, read_by

_FEW = 1 << 11  # knots for statements about divergences, whose bounds cost more: all as far apart
_ABOUT = [Fraction(k * k, 64) for k in range(60)]
"""Losses at which statements are looked at to find out where next to nothing is left."""

_MOST_BITS = 80  # of probabilities of a program that is run once; 13 more than a gap has are enough
_FAR = Fraction(MOST_EPS_PRV, 2)
"""Losses of finitely many outcomes count as infinite from here on; an added record has none."""

_MOST_PLACES = 1900
_POINT_BITS = 40
_MOST_BELOW = 12  # pairs that are chosen from for a lower bound
_MOST_WORK = 15_000_000
"""Values that are computed of runs of which each may be of one of several pairs."""

_SEARCH_BITS = 200
_NEWTON = 6
_MOST_GRID = 1 << 17
"""Losses of an interval of length 1, where a grid is refined for want of a better one."""

_FINER = (1, 2, 4, 8, 32, 128, 512)  # how many times finer grids are tried
_Attempt = tuple[ComposedSteps, Sequence[int], int]
"""Steps, those that losses of all runs are concluded in, and places of masses."""


class PipelineProofs:
    """Proofs about one pipeline, whose programs are looked at once."""

    def __init__(self, pipeline: composed.Pipeline) -> None:
        runs: list[Json] = [run_json(run) for run in pipeline.runs]
        self.json: dict[str, Json] = {"adjacency": pipeline.adjacency.value, "runs": runs}
        self._read = read_by(read_pipeline, self.json, "pipeline")
        self._runs = ComposedRun.of(self._read)
        self._total = sum(run.times for run in self._runs)
        self._catalogue = {
            run.number: mechanisms_of(run.what)
            for run in self._runs
            if isinstance(run.what, Mechanism)
        }
        self._statements: dict[int, list[tuple[Statement, int]]] = {}
        for number, own in self._catalogue.items():
            stated = [(each, times) for each, times in own if isinstance(each, Statement)]
            if stated:
                self._statements[number] = stated
        self._programs: dict[int, Composed] = {}
        self._in_parts: dict[tuple[int, bool], ComposedParts | None] = {}
        self._bits, self._delta = 0, Fraction(0)
        sampled = any(run.rate is not None for run in self._runs)
        self._directions = (False, True) if sampled else (False,)
        self._last: tuple[bool, _Attempt] | None = None

    def proof(self, goal: ComposedGoal) -> tuple[ComposedProof, float]:
        """Return a proof, whose steps the kernel has replayed, and how long that took."""
        gap, self._delta = goal.gap if goal.gap > 0 else goal.delta / 1000, goal.delta
        if not self._bits:  # goals that follow are not finer
            few = ceil(13 - log2(float(gap))) if goal.delta else _MOST_BITS
            self._bits = min(few, _MOST_BITS) + self._total.bit_length()
            # Of all runs together that is a share of the gap.
            self._margin = gap / (64 * self._total) if goal.delta else Fraction(1, 1 << self._bits)
        before = [self._last[1]] if self._last is not None and self._last[0] == goal.kept else []
        for attempt in chain(before, self._attempts(goal, gap)):
            steps, ends, places = attempt
            self._last = goal.kept, attempt
            proof = steps.concluded(goal, ends)
            if proof is not None:
                found = ComposedProof(self.json, goal.claim, proof, places, goal.kept)
                return found, steps.seconds
        raise NoCertificate("no grid that is fine enough was found")

    def _attempts(self, goal: ComposedGoal, gap: Fraction) -> Iterator[_Attempt]:
        """Yield what may do, finer and finer."""
        if goal.pure or not goal.delta:
            self._delta = Fraction(0)
            try:
                yield self._pure(goal)
            except NoCertificate:
                if not goal.delta:
                    raise
            self._delta = goal.delta
        if not goal.delta:
            return
        if self.is_one:
            yield self._once(goal, gap)
            return
        about, first = goal.step, self._first_step()
        steps_of = {k: short(about / k) if about else first / k for k in _FINER}
        closely = self._adaptive(steps_of[1])
        program = self._parts(0) if closely is None else self._program(closely)
        if isinstance(program, ComposedParts | ComposedProgram):
            steps_of = {finer: program.aligned(step) for finer, step in steps_of.items()}
            steps_of = {k: s for k, s in steps_of.items() if k == 1 or self._adaptive(s) == closely}
        # Pairs that are chosen as it goes cost much work.
        for chosen in dict.fromkeys((None, closely)):
            yield from self._on_grids(goal, gap, steps_of, chosen)

    def _first_step(self) -> Fraction:
        """One near whose multiples atoms lie, if no grid was used; steps of proofs are rational."""
        known = [each for own in self._catalogue.values() for each, _ in own]
        size = short(1 / (16 * self._total**0.5))
        step, _ = first_step(known, size)
        return step.unit if step.base is None else size

    def _on_grids(
        self, goal: ComposedGoal, gap: Fraction, steps_of: dict[int, Fraction], chosen: int | None
    ) -> Iterator[_Attempt]:
        """Yield what may do on finer and finer grids, as long as it comes nearer.

        Args:
            steps_of: By how many times finer they are.
            chosen: The run whose pairs are chosen as it goes.
        """
        waiting = [k for k, step in steps_of.items() if k == 1 or step * _MOST_GRID >= 1]
        shown: list[tuple[int, Fraction]] = []
        while waiting:
            check_limits()
            finer = waiting.pop(0)
            step = steps_of[finer]
            extra = log2(self._total) * 2 + log2(8 / float(step)) - log2(float(gap)) + 24
            places = max(64, ceil(extra))
            if places > _MOST_PLACES:
                raise NoCertificate("what is claimed is too near to what is the case")
            tiny = gap / (256 * self._total)
            products = 2 * sum(run.times.bit_length() for run in self._runs) + 2
            unit = int(gap * (1 << places)) // (16 * self._total * products)
            steps = ComposedSteps(self._read)
            ends = [
                self._composed(steps, goal, added, step, places, tiny, (unit, unit), chosen)
                for added in self._directions
            ]
            yield steps, ends, places
            shown.append((finer, steps.largest(ends, goal.eps_prv)))
            if len(shown) > 1:
                waiting = promising(goal, shown[-2], shown[-1], waiting)

    @property
    def is_one(self) -> bool:
        """Whether all that is run is one mechanism to the kernel, which is known without a grid."""
        return self._total == 1 and isinstance(self._runs[0].what, Mechanism)

    def _once(self, goal: ComposedGoal, gap: Fraction) -> _Attempt:
        """Look at one run of a mechanism, whose H is needed at one loss alone.

        From above that is the only knot; from below it tells two sets apart.
        """
        places = min(max(64, ceil(40 - log2(float(gap)))), _MOST_PLACES)
        steps, ends = ComposedSteps(self._read), list[int]()
        before = Fraction(1) if goal.kept else Fraction(1, 2)
        grid = grid_json(Fraction(1), goal.eps_prv - before, places, [[1, 1, 1]])
        for added in self._directions:
            ends.append(self._one(steps, goal.kept, 0, added, grid, goal.eps_prv))
        return steps, ends, places

    def shown(self, goal: ComposedGoal, delta: bool) -> Fraction | None:
        """Return the delta that what was tried last shows, or about the nearest eps_prv.

        None if there is none.
        """
        if self._last is None:
            return None
        steps, ends, _ = self._last[1]
        if delta:
            return steps.largest(ends, goal.eps_prv) or None
        if not self.is_one or goal.kept:
            return steps.budget(ends, goal, Fraction(0))
        # H is convex, so two sets tell a place before that of δ, and those best there a nearer one.
        place: Fraction | None = goal.eps_prv
        for _ in range(_NEWTON):
            if place is not None:
                steps, ends, _ = self._once(goal.moved(place, False), goal.delta / 10**6)
                place = steps.budget(ends, goal, max(place - Fraction(1, 2), Fraction(0)))
        return place

    def _composed(
        self,
        steps: ComposedSteps,
        goal: ComposedGoal,
        added: bool,
        step: Fraction,
        places: int,
        tiny: Fraction,
        cut: tuple[int, int],
        chosen: int | None,
    ) -> int:
        """Write the steps of all runs for a direction; return the last one."""
        powers, first = [], None
        for number, run in enumerate(self._runs):
            near = self._knots(number, added, step, tiny)
            grid = grid_json(step, Fraction(0), places, near)
            if number == chosen:
                first = self._chosen(steps, goal, number, added, grid)
            else:
                powers.append((self._one(steps, goal.kept, number, added, grid), run.times))
        return steps.whole_of(powers, cut, first)

    def _adaptive(self, step: Fraction) -> int | None:
        """The run whose pairs are chosen as it goes: that of most, if the work is bearable."""
        found = []
        for number, run in enumerate(self._runs):
            program = self._program(number)
            if isinstance(program, ComposedProgram) and len(program.chosen) > 1 and run.times > 1:
                work = run.times * len(program.chosen)
                if work * 2 * program.far(run.times, float(self._margin)) <= _MOST_WORK * step:
                    found.append((work, number))
        return max(found)[1] if found else None

    def _chosen(
        self,
        steps: ComposedSteps,
        goal: ComposedGoal,
        number: int,
        added: bool,
        grid: dict[str, Json],
    ) -> int:
        """Write the step of all runs of one program, in which pairs are chosen as they go."""
        run, program = self._runs[number], self._program(number)
        assert isinstance(program, ComposedProgram)
        pairs: Json = [
            [input_json(u), input_json(v)]
            for u, v in program.chosen[: None if goal.kept else _MOST_BELOW]
        ]
        # What else is run comes before.
        far = program.far(run.times, float(self._margin)) + 1.25 * float(goal.eps_prv)
        fields = self._fields(number, goal.kept, added, grid) | {
            "pairs": pairs,
            "margin": number_json(2 * self._margin),
            "times": run.times,
            "reach": ceil(far / float(Fraction(str(grid["step"])))) + 2,
        }
        return steps.add("adaptive", [program.distributions(steps)], fields)

    def _fields(
        self, number: int, kept: bool, added: bool, grid: dict[str, Json]
    ) -> dict[str, Json]:
        """What steps of one run, or of all runs of one program, say."""
        rate = self._runs[number].rate
        sample: Json = None if rate is None else [number_json(rate), added]
        return {"of": {"run": number}, "sample": sample, **grid, "above": kept}

    def _one(
        self,
        steps: ComposedSteps,
        kept: bool,
        number: int,
        added: bool,
        grid: dict[str, Json],
        loss: Fraction | None = None,
    ) -> int:
        """Write the step of one run, for one loss or many."""
        run, parts = self._runs[number], self._parts(number)
        if parts is not None:
            return parts.above(steps, grid) if kept else parts.below(steps, grid)
        fields = self._fields(number, kept, added, grid)
        fields |= {"orders": [], "input": None, "adjacent": None}
        program, statements = self._program(number), self._statements.get(number)
        if statements is not None:
            places = [self._inner(run, added, each) for each in losses_of(grid)]
            inner = None if loss is None else self._inner(run, added, loss)
            below = None if kept else told_below(statements, inner, self._delta)
            told = told_above(statements, places) if below is None else below
            fields["orders"] = [number_json(each) for each in told]
        premises = [] if program is None else program.known(steps, kept, fields)
        match run.what:
            case Mechanism("exponential_mechanism", [eps]) if not kept and loss and loss < eps:
                # Without a sample, of all pairs this one's H is largest there.
                fields["orders"] = [number_json((eps + loss) / 2)]
        return steps.add("losses", premises, fields)

    # --- δ = 0 -----------------------------------------------------------------------------------

    def _pure(self, goal: ComposedGoal) -> _Attempt:
        """The greatest losses add up: those alone are kept, and masses at ∞, which may do alone."""
        for run in self._runs if goal.delta else ():
            if has_many_outputs(run.what) and self._parts(run.number) is None:
                raise NoCertificate("the greatest loss of a program of many outputs takes long")
        tops = [2 * goal.eps_prv if goal.at_every else self._top(r.number) for r in self._runs]
        if None in tops:
            raise NoCertificate("for δ = 0, a run has no greatest loss")
        known = [top for top in tops if top is not None]
        total = sum(top * run.times for top, run in zip(known, self._runs, strict=True))
        # Losses are raised to what the claim leaves room for; or lowered by half of it.
        slack = (goal.eps_prv - total) / self._total / (1 if goal.kept else 2)
        if (slack < 0) == goal.kept:
            raise NoCertificate("the greatest losses are not told apart from what is claimed")
        places, step = 64, Fraction(1)
        knots: list[Json] = [-1, 1, 2]
        if not goal.kept:
            # Other losses than the greatest ones are told apart.
            places, knots = min(64 + 12 * self._total, _MOST_PLACES), [1, 1, 1]
            step = short(float(-2 * slack))
        everything = 1 << (places + 1)
        steps, ends = ComposedSteps(self._read), list[int]()
        for added in self._directions:
            powers = []
            for number, (run, top) in enumerate(zip(self._runs, known, strict=True)):
                grid = grid_json(step, top + slack - step, places, [knots])
                powers.append((self._one(steps, goal.kept, number, added, grid), run.times))
            ends.append(steps.whole_of(powers, (everything, 0)))
        return steps, ends, places

    def _top(self, number: int) -> Fraction | None:
        """The greatest loss of a run: at most that, and hardly more; None if there is none."""
        parts = self._parts(number)
        if parts is not None:
            return parts.top
        with precision(_SEARCH_BITS):
            pair = self._pair(number, False)

            def beyond(loss: Fraction) -> bool:
                return upper_at(pair.most(loss), _SEARCH_BITS) <= 0

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
            pair = program.pair()
        else:
            orders: Sequence[Fraction] = ()
            if number in self._statements:
                orders = told_above(self._statements[number], _ABOUT)
            assert isinstance(run.what, Mechanism)
            pair = run.what.pair(orders)
        return sampled(pair, None if run.rate is None else (run.rate, added))

    @staticmethod
    def _inner(run: ComposedRun, added: bool, loss: Fraction) -> Fraction:
        """About the loss of what is sampled, where that of the sample is one."""
        if run.rate is None:
            return loss
        share = (exp(-loss if added else loss) - 1) / float(run.rate) + 1
        return Fraction(log(share) if share > 0 else 0)

    def _parts(self, number: int) -> ComposedParts | None:
        """A program whose parts are multiplied; None: it is looked at as a whole, or it is none."""
        run, key = self._runs[number], (number, not self._delta)
        if key not in self._in_parts:
            self._in_parts[key] = None
            if isinstance(run.what, Machine):
                with suppress(NoCertificate, NotProved):
                    self._in_parts[key] = ComposedParts(self._read, run, self._delta)
        return self._in_parts[key]

    def _program(self, number: int) -> Composed | None:
        run = self._runs[number]
        if self._parts(number) is not None:
            return None
        if isinstance(run.what, Machine) and number not in self._programs:
            self._programs[number] = (
                ComposedNumbers(run, self._margin)
                if run.what.reals
                else ComposedProgram(self._read, run, self._bits, self._margin)
            )
        return self._programs.get(number)

    def _knots(self, number: int, added: bool, step: Fraction, tiny: Fraction) -> list[Json]:
        """Knots from where next to all mass lies below to where next to none lies above."""
        run, program = self._runs[number], self._program(number)
        if self._parts(number) is not None:
            return []
        with precision(_SEARCH_BITS):
            bends: list[float] | None = None
            if program is not None:
                bends = program.bends()
            elif number not in self._statements and number in self._catalogue:
                ((mechanism, _),) = self._catalogue[number]
                bends = bends_of_mechanism(mechanism)
            pair, finite = self._pair(number, added), bends is not None and not added
            least = int(tiny * (1 << _SEARCH_BITS))
            infinite = pair.most(_FAR) if finite else to_ball(0)

            def above(k: int) -> bool:
                own = pair.most(min(k * step, _FAR) if finite else k * step)
                return upper_at(own - infinite, _SEARCH_BITS) > least

            def below(k: int) -> bool:
                line = 1 - to_ball(-k * step).exp()
                return upper_at(pair.most(-k * step) - line, _SEARCH_BITS) > least

            high, low = reach(above), reach(below)
        if number in self._statements:
            return [[-low, high, -(-(low + high) // _FEW)]]
        if bends is not None and run.rate is not None:
            bends = sampled_bends(bends, run.rate, added)
        return knots(low, high, bends and [each / float(step) for each in bends])
