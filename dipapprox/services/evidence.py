"""What was found of a service, as the steps that the kernel replays.

pairs and longest paths   couplings: the same pairs, paths matched as `pairs` matches outcomes
courses of calls          a trace: events that are seen, and an eps at which they tell the most
calls to repeat           a repetition

The step of couplings of a service: stores, pairs of them, and how paths are matched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any

from dipapprox.errors import NoCertificate
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.kernel.couplings import Case, Couplings, Store
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.machine import read_value
from dipapprox.kernel.paths import CERTAIN, Path, Sample
from dipapprox.kernel.services import read_service
from dipapprox.kernel.signs import Signs
from dipapprox.kernel.traces import Belief, ServiceRuns, loses, total_of
from dipapprox.kernel.traces import repetition as repetition_of
from dipapprox.language import core
from dipapprox.language.cells import statements_in
from dipapprox.language.core import Value
from dipapprox.limits import check_limits
from dipapprox.privacy.run import Replayed
from dipapprox.privacy.verdict import Answer
from dipapprox.proof_steps.machines import Json, number_json, value_json
from dipapprox.proof_steps.services import service_json
from dipapprox.proof_steps.verdicts import WrittenProof, first_replayed
from dipapprox.services.loss import Loss, SeenCall
from dipapprox.services.model import NOTHING, AskedService, Inexpressible, gain_of
from dipapprox.services.pairs import RunPairs, matched
from dipapprox.services.system import System

_EPSILONS = tuple(Fraction(10) ** k for k in (0, -6, -3, -2, -1, 1, 2))
"""Where the most may be lost, if that is no multiple of eps."""

_MOST_SHOWN = 64  # ways to show the numbers of one reply


def replayed(asked: AskedService, loss: Loss, budget: Fraction | None) -> Replayed:
    """Replay a proof of what was found: `NoCertificate` if none can be written, `NotProved` if the
    kernel does not follow."""
    machine = service_json(asked.service, sorted(asked.users))

    def written() -> WrittenProof:
        try:
            claim, steps = _Evidence(asked, machine, loss).written(budget)
        except Inexpressible as reason:
            raise NoCertificate(str(reason)) from None
        if asked.eps is not None:
            claim["eps"] = number_json(asked.eps)
        return WrittenProof(machine, claim, tuple(steps))

    return first_replayed([written])


class _Evidence:
    def __init__(self, asked: AskedService, machine: Json, loss: Loss) -> None:
        self._service, self._eps = asked.service, asked.eps
        self._loss = loss
        self._machine = read_service(machine)

    def written(self, budget: Fraction | None) -> tuple[dict[str, Json], list[Json]]:
        loss = self._loss
        if loss.unbounded or (budget is not None and budget < loss.lower):
            step, least = self._lower()
            if least is not None and (budget is None or least <= budget):
                raise NoCertificate("calls were found that show no more than the budget")
            claimed = None if budget is None else number_json(budget)
            claim: dict[str, Json] = {"verdict": Answer.NOT_DP.value, "budget": claimed}
            return claim, [step]
        if loss.upper is None:
            raise NoCertificate("no budget was found")
        upper = self._upper(loss.upper)
        claim = {"verdict": Answer.DP.value, "budget": number_json(loss.upper)}
        if not loss.lower:
            return {**claim, "at least": None}, [upper]
        try:
            step, least = self._lower()
        except (Inexpressible, NoCertificate, NotProved):
            return {**claim, "at least": None}, [upper]  # that it serves is proved
        if least is None or least > loss.upper:
            raise NoCertificate("calls were found that show more than the budget")
        last: Json = {"rule": "least budget", "from": [0, 1]}
        return {**claim, "at least": number_json(least)}, [upper, step, last]

    # --- a budget that serves -------------------------------------------------------------------

    def _upper(self, budget: Fraction) -> dict[str, Json]:
        """Return couplings; calls whose samples decide something, or are not seen, are followed
        exactly, and those whose paths do not tell what they reply."""
        pairs = self._loss.pairs
        if pairs is None:
            raise NoCertificate("no pairs of runs are known")
        system = pairs.system
        if not all(s.is_additive for s in system.service.states if s.name in system.kept):
            raise NoCertificate("cells that are compared are known by their differences only")
        self._exact = system.decided | {
            number
            for number, handler in enumerate(self._service.handlers)
            if not self._machine.calls[number].seen
            if any(isinstance(each, core.Draw) for each in statements_in(handler.body))
        }
        while True:
            try:
                return self._couplings(budget, pairs)
            except UnmatchedCall as call:
                if call.number in self._exact:
                    raise NoCertificate("replies of two runs are not matched") from None
                self._exact.add(call.number)

    def _couplings(self, budget: Fraction, known: RunPairs) -> dict[str, Json]:
        system = known.system
        points: dict[tuple[Store, Store], list[Json]] = {}
        valued = zip(known.nodes, self._loss.values, strict=True)
        for (first, second, apart), value in valued:
            key = (self._store(system.states[first]), self._store(system.states[second]))
            shifts: Json = [number_json(-each) for each in apart]
            points.setdefault(key, []).append([shifts, number_json(value)])
        stores = [self._store(state) for state in known.parents]
        changes: list[list[Json]] = [[_written(store), None] for store in stores]
        pairs: list[list[Json]] = [
            [_written(one), _written(other), listed, None]
            for (one, other), listed in points.items()
        ]
        step: dict[str, Any] = {
            "rule": "couplings",
            "from": [],
            "eps": None if system.eps is None else number_json(system.eps),
            "budget": number_json(budget),
            "held": [cell.name for cell in system.service.states if cell.name in system.kept],
            "followed": [
                "exact" if k in self._exact else "symbols" if not k and system.any_data else "given"
                for k in range(len(self._machine.calls))
            ],
            "changes": changes,
            "pairs": pairs,
        }
        found = Couplings(self._machine, Signs.at(system.eps), step)
        for written, store in zip(changes, stores, strict=True):
            written[-1] = [self._groups(found, case, system) for case in found.changes(store)]
        for written, key in zip(pairs, points, strict=True):
            written[-1] = [self._groups(found, case, system) for case in found.calls(key)]
        return step

    def _store(self, state: Sequence[Value | None]) -> Store:
        return tuple([read_value(value_json(value)) for value in state if value is not None])

    def _paths(self, found: Couplings, case: Case) -> list[list[Path]]:
        check_limits()
        try:
            return [[path for path, _ in found.paths(*side)] for side in case[:2]]
        except NotProved as obstacle:
            number = case[0][1][0]
            if number in self._exact:
                raise NoCertificate(f"the kernel does not follow a call: {obstacle}") from None
            raise UnmatchedCall(number) from None

    def _groups(self, step: Couplings, case: Case, system: System) -> Json:
        """Match paths that show the same, as outcomes are matched."""
        ours, theirs = self._paths(step, case)
        first, second = _classes(ours), _classes(theirs)
        if first.keys() - second.keys():
            raise UnmatchedCall(case[0][1][0])
        found: list[Json] = []
        for label, left in first.items():
            ways = list(left.items()), list(second[label].items())
            for ours_alike, theirs_alike in matched(*ways, lambda way: way[0][0]):
                one, other = (
                    [k for _, own in each for k in own] for each in (ours_alike, theirs_alike)
                )
                gain = _gain([ours[k] for k in one], [theirs[k] for k in other], system)
                found.append([[*one], [*other], gain])
        plain: list[Json] = [[[k], [k], 0] for k in range(len(ours))]
        return None if found == plain else found

    # --- budgets that do not --------------------------------------------------------------------

    def _lower(self) -> tuple[dict[str, Json], Fraction | None]:
        """Return a step that shows that no budget below some number serves; None for none."""
        loss = self._loss
        if loss.trace is None:
            raise NoCertificate("no calls are known that show it")
        runs = ServiceRuns(self._machine, Signs.at(self._eps))
        events, first, second = self._shown(runs, loss.trace)
        if loss.repetition is not None:
            return self._repeated(runs, events, first, second), None
        step: dict[str, Json] = {"rule": "trace", "from": [], "events": events}
        p, q = total_of(first), total_of(second)
        found, at = None, self._eps
        if q.numerator.terms:
            found = gain_of(ratio_of(p), ratio_of(q), at)
        ways: list[tuple[Fraction | None, Fraction | None]] = []
        if at is not None:
            ways.append((None if found is None else found.lower, at))
        elif found is None or found.is_unbounded:
            ways += [(None, eps) for eps in (Fraction(0), *_EPSILONS)]
        elif found.exact is not None:
            ways += [(found.exact, Fraction(1))]
        else:
            ways += [(found.lower, None), (found.lower, Fraction(0)), *self._enclosed(p, q)]
        for least, eps in ways:
            try:
                loses_so = loses(p, q, least, eps)
            except NotProved:
                continue
            if loses_so:
                return {**step, "budget": _number(least), "eps": _number(eps)}, least
        raise NoCertificate("how much the calls lose is not known")

    def _enclosed(self, p: Ratio, q: Ratio) -> Iterator[tuple[Fraction, Fraction]]:
        """Yield what is lost at some eps, the most first."""
        found = []
        for eps in _EPSILONS:
            with suppress(Inexpressible):
                least = gain_of(ratio_of(p), ratio_of(q), eps).lower
                found.append((max(least, Fraction(0)), eps))
        yield from sorted(found, reverse=True)

    def _repeated(
        self, runs: ServiceRuns, events: list[Json], first: Belief, second: Belief
    ) -> dict[str, Json]:
        repetition = self._loss.repetition
        assert repetition is not None
        turns, _, _ = self._shown(runs, repetition.events, first, second)
        for store in first:
            step: dict[str, Json] = {
                "rule": "repetition",
                "from": [],
                "events": events,
                "turns": turns,
                "store": [value_json(value_of(v)) for v in store],
                "eps": number_json(self._eps or repetition.eps or Fraction(1)),
            }
            with suppress(NotProved):
                repetition_of(self._machine, step)
                return step
        raise NoCertificate("what is repeated leads nowhere back")

    def _shown(
        self,
        runs: ServiceRuns,
        events: Sequence[SeenCall],
        first: Belief | None = None,
        second: Belief | None = None,
    ) -> tuple[list[Json], Belief, Belief]:
        """Return events, where numbers of samples without bounds show which side they are on."""
        start: Belief = {tuple(v for _, v in self._machine.cells): CERTAIN}
        first, second = first or start, second or start
        found: list[Json] = []
        for event in events:
            calls: list[Json] = [
                None if call is None else [call.handler, [value_json(v) for v in call.values]]
                for call in (event.first, event.second)
            ]
            ways = []
            for seen in self._ways(event):
                ours = first if calls[0] is None else runs.after(first, calls[0], seen)
                theirs = second if calls[1] is None else runs.after(second, calls[1], seen)
                ways.append((seen, ours, theirs))
            ways = [way for way in ways if way[1]] or ways[:1]
            seen, first, second = max(ways, key=lambda way: self._told(way[1], way[2]))
            found.append([*calls, seen])
        return found, first, second

    def _told(self, first: Belief, second: Belief) -> float:
        """How much likelier the first run is, about, at the eps that is asked about, or 1."""
        p, q = total_of(first), total_of(second)
        if not q.numerator.terms or not p.numerator.terms:
            return float("inf") if p.numerator.terms else float("-inf")
        return float(gain_of(ratio_of(p), ratio_of(q), self._eps or Fraction(1)).lower)

    def _ways(self, event: SeenCall) -> Iterator[Json]:
        call = event.first or event.second
        if event.reply is None or call is None or not self._machine.calls[call.handler].seen:
            yield None
            return
        cells: list[list[Json]] = []
        for value, (_, domain) in zip(event.reply, self._machine.replies, strict=True):
            if value is None:
                raise NoCertificate("a reply of the calls is not known")
            if value == NOTHING:
                cells.append([None])
            elif isinstance(value, Fraction) and not isinstance(domain, tuple):
                number = number_json(value)
                cells.append([number, {"least": number}, {"most": number}])
            else:
                cells.append([value_json(value)])
        for number, way in enumerate(product(*cells)):
            if number < _MOST_SHOWN:
                yield list(way)


def _number(value: Fraction | None) -> Json:
    return None if value is None else number_json(value)


class UnmatchedCall(Exception):
    """A call whose paths do not tell what it replies: it is to be followed exactly."""

    def __init__(self, number: int) -> None:
        self.number = number


def _gain(ours: Sequence[Path], theirs: Sequence[Path], system: System) -> Json:
    nothing = Ratio.constant(Fraction(0))
    p, q = (sum((path.weight for path in paths), nothing) for paths in (ours, theirs))
    if p == q:
        return 0
    found = system.gain(ratio_of(p), ratio_of(q)).upper
    if found is None:
        raise NoCertificate("how much likelier a choice is, is not bounded")
    return number_json(found)


def _written(store: Store) -> Json:
    return [value_json(value_of(value)) for value in store]


_Classes = dict[tuple[object, object], list[int]]
"""Paths, by the stores that they lead to and the means of their samples."""


def _classes(paths: Sequence[Path]) -> dict[object, _Classes]:
    found: dict[object, _Classes] = {}
    for number, path in enumerate(paths):
        samples = [each for each in path.atoms if isinstance(each, Sample)]
        drawn = tuple((each.family, each.size) for each in samples)
        alike = found.setdefault((tuple(path.said), tuple(path.guards), drawn), {})
        means = tuple(each.mean for each in samples)
        alike.setdefault((tuple(path.store.items()), means), []).append(number)
    return found


def ratio_of(ratio: Ratio) -> ExponentialRatio:
    return ExponentialRatio.of(
        _polynomial(ratio.numerator),
        {_polynomial(factor): exponent for factor, exponent in ratio.denominator},
    )


def _polynomial(function: Sum) -> ExponentialPolynomial:
    return ExponentialPolynomial.of({(n, Fraction(q)): Fraction(c) for (q, n), c in function.terms})


def value_of(value: str | int | Fraction) -> Value:
    return value if isinstance(value, str) else Fraction(value)
