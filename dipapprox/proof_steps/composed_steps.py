"""Steps that are replayed while they are written: losses, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from time import perf_counter

from dipapprox.data_classes import Record, replace
from dipapprox.errors import NoCertificate
from dipapprox.kernel.compositions import has_no_end, read_composed
from dipapprox.kernel.judgements import Judgement, LossesOf
from dipapprox.kernel.losses import Losses
from dipapprox.kernel.replay import apply
from dipapprox.proof_steps.machines import Json, numbers_json

_GREATEST_BUDGET = 500


class ComposedGoal(Record):
    """What the kernel shall confirm about a pipeline."""

    kept: bool  # whether it keeps the claim; else it breaks it
    eps_prv: Fraction
    delta: Fraction
    gap: Fraction  # how far the claimed δ is from the least one, about; 0 if nobody knows
    step: float | None  # of a grid on which that was found, about; None if none was used
    pure: bool = False  # whether greatest losses, added, are enough
    at_every: bool = False  # whether the claim is broken at every ε_prv

    @property
    def claim(self) -> dict[str, Json]:
        """As the kernel reads it."""
        return {"verdict": "DP" if self.kept else "Not_DP", **self.stated}

    @property
    def stated(self) -> dict[str, Json]:
        """The numbers."""
        return numbers_json(eps_prv=None if self.at_every else self.eps_prv, delta=self.delta)

    def moved(self, place: Fraction, is_delta: bool) -> ComposedGoal:
        """Return the same with another delta, or eps_prv."""
        return replace(self, delta=place) if is_delta else replace(self, eps_prv=place)


def promising(
    goal: ComposedGoal,
    before: tuple[int, Fraction],
    now: tuple[int, Fraction],
    waiting: Sequence[int],
) -> list[int]:
    """Return how many times finer grids may do, or one that comes nearest; nothing if none comes
    much nearer.

    What a grid shows is off by about a multiple of the distance of its losses.

    Args:
        before, now: How many times finer two grids were, and the delta that each shows.
        waiting: How many times finer others are, ascending.
    """
    (coarse, first), (fine, second) = before, now
    slope = (second - first) / (Fraction(1, coarse) - Fraction(1, fine))
    sign = 1 if goal.kept else -1
    missing = (second - goal.delta) * sign
    gained = {k: slope * (Fraction(1, k) - Fraction(1, fine)) * sign for k in waiting}
    enough = [k for k in waiting if gained[k] >= missing]
    most = max(gained.values(), default=Fraction(0))
    if enough or most * 4 < missing:
        return enough
    if most * 4 >= missing * 3:
        return list(waiting[-1:])  # it is not known so well
    return [k for k in waiting if gained[k] * 4 >= most * 3][:1]


def grid_json(step: Fraction, offset: Fraction, places: int, knots: list[Json]) -> dict[str, Json]:
    """Write where losses lie, how exactly masses are kept, and where runs are looked at."""
    return {**numbers_json(step=step, offset=offset), "places": places, "knots": knots}


class ReplayedSteps:
    """Steps that are replayed while they are written, about what the kernel has."""

    def __init__(self, about: object) -> None:
        self._about = about
        self._steps: list[dict[str, Json]] = []
        self._known: dict[int, Judgement] = {}
        self._places: dict[str, int] = {}
        self.seconds = 0.0  # how long the kernel took

    def add(
        self,
        rule: str,
        premises: Sequence[int],
        fields: dict[str, Json],
        concluded: dict[str, Judgement] | None = None,
    ) -> int:
        """Add a step, if it is not there yet; return its number.

        In `concluded` is what such steps concluded in other proofs, where their premises are known
        to be the same; what this one concludes is noted.
        """
        step: dict[str, Json] = {"rule": rule, "from": list(premises), **fields}
        key = repr(step)
        if key not in self._places:
            before = {} if concluded is None else concluded
            said = repr({"rule": rule, **fields})
            if said not in before:
                start = perf_counter()
                before[said] = apply(self._about, self._known, step)
                self.seconds += perf_counter() - start
            self._known[len(self._steps)] = before[said]
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

    def whole_of(
        self, powers: Iterable[tuple[int, int]], cut: tuple[int, int], first: int | None = None
    ) -> int:
        """Compose all of some losses, each so many times, with what stands first."""
        whole = first
        for number, times in powers:
            own = self.power(number, times, cut)
            whole = own if whole is None else self.product(whole, own, cut)
        if whole is None:
            raise NoCertificate("no pair is known that attains what is run")
        return whole

    def product(self, one: int, other: int, cut: tuple[int, int]) -> int:
        """Compose two; the cut is that of one run."""
        count = sum(sum(found.times.values()) for found in map(self._losses, (one, other)))
        return self.add("composed", [one, other], {"cut": [each * count for each in cut]})

    def whole(self) -> tuple[Json, ...]:
        """Return the proof: the last step, and those that it needs.

        Premises say where they are used for the last time.
        """
        steps = self._steps
        needed = {len(steps) - 1}
        for number in range(len(steps) - 1, -1, -1):
            if number in needed:
                needed.update(premises_of(steps[number]))
        order = {number: place for place, number in enumerate(sorted(needed))}
        found: list[Json] = []
        used: set[int] = set()
        for number in sorted(needed, reverse=True):
            premises: list[Json] = []
            for premise in reversed(premises_of(steps[number])):
                premises.append(order[premise] if premise in used else -order[premise] - 1)
                used.add(premise)
            found.append({**steps[number], "from": premises[::-1]})
        return tuple(reversed(found))

    def delta(self, number: int, eps_prv: Fraction | None) -> Fraction:
        """The delta that losses come to; of None at every ε_prv."""
        return self._losses(number).losses.delta(eps_prv)

    def places(self, number: int) -> list[int]:
        """Where losses have masses, in steps of their grid."""
        losses = self._losses(number).losses
        assert isinstance(losses, Losses)
        return [losses.start + k for k, mass in enumerate(losses.masses) if mass]

    def _losses(self, number: int) -> LossesOf:
        found = self._known[number]
        assert isinstance(found, LossesOf)
        return found


class ComposedSteps(ReplayedSteps):
    """Steps about a pipeline."""

    def largest(self, ends: Sequence[int], eps_prv: Fraction) -> Fraction:
        """The delta of all directions."""
        return max([self.delta(end, eps_prv) for end in ends], default=Fraction(0))

    def budget(self, ends: Sequence[int], goal: ComposedGoal, low: Fraction) -> Fraction | None:
        """Return about the nearest eps_prv, at least a number, where that is δ; None: too far."""
        high = low + 1
        while self.largest(ends, high) > goal.delta:
            low, high = high, 2 * high
            if high > _GREATEST_BUDGET:
                return None
        for _ in range(40):
            middle = (low + high) / 2
            more = self.largest(ends, middle) > goal.delta
            low, high = (middle, high) if more else (low, middle)
        return high if goal.kept else low

    def concluded(self, goal: ComposedGoal, ends: Sequence[int]) -> tuple[Json, ...] | None:
        """Return the whole proof, if it holds; all of its steps were replayed."""
        at = None if goal.at_every else goal.eps_prv
        values = [(self.delta(end, at), end) for end in ends]
        if not values:
            return None
        if goal.kept:
            holds, used = max(values)[0] <= goal.delta, sorted(set(ends))
            rule, more = "private composition", dict[str, Json]()
        else:
            always = at is None and not goal.delta and has_no_end(self._losses(max(values)[1]))
            holds, used = always or max(values)[0] > goal.delta, [max(values)[1]]
            rule, more = "violated composition", {"input": None, "adjacent": None}
        if not holds:
            return None
        last = self.add(rule, used, {"parts": None, "eps": None, **more, **goal.stated})
        return self.whole() if self[last] == read_composed(goal.claim) else None


def premises_of(step: Json) -> list[int]:
    """Return the numbers of the steps that one rests on."""
    premises = step["from"] if isinstance(step, dict) else None
    assert isinstance(premises, list)
    return [each for each in premises if isinstance(each, int)]
