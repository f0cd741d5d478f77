"""What was found of a service, as the steps that the kernel replays.

pairs and longest paths   couplings: the same pairs, paths matched as `couplings` matches outcomes
courses of calls          a trace: events that are seen, and an eps at which they tell the most
calls to repeat           a repetition
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import chain, product
from time import perf_counter

from dipapprox.errors import NoCertificate
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.kernel import services as kernel
from dipapprox.kernel.adjacency import Value as Kept
from dipapprox.kernel.budget import asking
from dipapprox.kernel.couplings import coupled
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.exponentials import Ratio, Sum
from dipapprox.kernel.machine import read_value
from dipapprox.kernel.measures import Form
from dipapprox.kernel.paths import CERTAIN, Path, Sample
from dipapprox.kernel.replay import replay
from dipapprox.kernel.services import ALL, Arguments, Calls, read_service
from dipapprox.kernel.traces import Belief, Runs, loses, total_of
from dipapprox.kernel.traces import repetition as repetition_of
from dipapprox.language import core
from dipapprox.language.core import Value
from dipapprox.language.services import Change, Service
from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer, Replayed
from dipapprox.proof_steps.machines import Json, number_json, value_json
from dipapprox.proof_steps.services import service_json
from dipapprox.proof_steps.signs import Finder
from dipapprox.proof_steps.verdicts import WrittenProof
from dipapprox.semantics.cells import statements_in
from dipapprox.services.loss import Loss
from dipapprox.services.model import NOTHING, Inexpressible
from dipapprox.services.ratios import gain_at, gain_of
from dipapprox.services.traces import Event

_EPSILONS = tuple(Fraction(10) ** k for k in (0, -6, -3, -2, -1, 1, 2))
"""Where the most may be lost, if that is no multiple of eps."""

_MOST_SHOWN = 64
"""Ways to show the numbers of one reply."""


def replayed(
    service: Service, users: Sequence[str], loss: Loss, budget: Fraction | None, limits: Limits
) -> tuple[WrittenProof, Replayed]:
    """Return a proof, which the kernel has replayed.

    Args:
        service: What was asked about.
        users: Who sees its replies, together; none: everybody.
        loss: What was found, for every eps.
        budget: The claimed one; None if none was.
        limits: Asked all the time.

    Raises:
        NoCertificate: If none can be written.
        NotProved: If the kernel does not follow.
        LimitReached: If a limit is reached.
    """
    machine = service_json(service, users)
    with asking(limits.check):
        claim, steps = _Evidence(service, machine, loss, limits).written(budget)
        start = perf_counter()
        replay(machine, claim, steps)
    return WrittenProof(machine, claim, tuple(steps)), Replayed(
        len(steps), perf_counter() - start, 0
    )


class _Evidence:
    def __init__(self, service: Service, machine: Json, loss: Loss, limits: Limits) -> None:
        self._service = service
        self._loss = loss
        self._limits = limits
        self._machine = read_service(machine)
        self._signs = Finder(ALL, limits)

    def written(self, budget: Fraction | None) -> tuple[Json, list[Json]]:
        """Return a claim and its steps."""
        loss = self._loss
        if loss.unbounded or (budget is not None and budget < loss.lower):
            step, least = self._lower()
            if least is not None and (budget is None or least <= budget):
                raise NoCertificate("calls were found that show no more than the budget")
            claimed = None if budget is None else number_json(budget)
            claim: dict[str, Json] = {"verdict": Answer.NOT_DP.value, "budget": claimed}
            return claim, self._with_signs(step)
        if loss.upper is None:
            raise NoCertificate("no budget was found")
        steps = self._with_signs(self._upper(loss.upper))
        claim = {"verdict": Answer.DP.value, "budget": number_json(loss.upper)}
        if not loss.lower:
            return {**claim, "at least": None}, steps
        try:
            step, least = self._lower()
        except (NoCertificate, NotProved):
            return {**claim, "at least": None}, steps  # that it serves is proved
        if least is None or least > loss.upper:
            raise NoCertificate("calls were found that show more than the budget")
        serving = len(steps) - 1
        steps += self._with_signs(step, len(steps))
        last: Json = {"rule": "least budget", "from": [serving, len(steps) - 1]}
        return {**claim, "at least": number_json(least)}, [*steps, last]

    def _with_signs(self, step: dict[str, Json], before: int = 0) -> list[Json]:
        """Return a step behind the signs that it needs."""
        signs = list(self._signs.used.values())
        self._signs.used.clear()
        premises: list[Json] = [before + number for number in range(len(signs))]
        return [*signs, {**step, "from": premises}]

    # --- a budget that serves -------------------------------------------------------------------

    def _upper(self, budget: Fraction) -> dict[str, Json]:
        """Return couplings.

        Calls whose samples decide something, or are not seen, are followed exactly.
        """
        exact = set(self._loss.decided) | {
            number
            for number, handler in enumerate(self._service.handlers)
            if not self._machine.calls[number].seen
            if any(isinstance(each, core.Draw) for each in statements_in(handler.body))
        }
        while True:
            found = _Couplings(self._service, self._machine, self._signs, self._loss, exact)
            try:
                step = found.step(budget)
                if exact or "choose" in repr([call.body for call in self._machine.calls]):
                    self._signs.used.clear()
                    coupled(self._machine, self._signs, step)
                return step
            except _Undecided as call:
                if call.number in exact:
                    raise NoCertificate("replies of two runs are not matched") from None
                exact.add(call.number)

    # --- budgets that do not --------------------------------------------------------------------

    def _lower(self) -> tuple[dict[str, Json], Fraction | None]:
        """Return a step that shows that no budget below some number serves; None for none."""
        loss = self._loss
        if loss.trace is None:
            raise NoCertificate("no calls are known that show it")
        runs = Runs(self._machine, self._signs)
        events, first, second = self._shown(runs, loss.trace.events)
        if loss.repetition is not None:
            return self._repeated(runs, events, first, second), None
        step: dict[str, Json] = {"rule": "trace", "events": events}
        p, q = total_of(first), total_of(second)
        found = None if not q.numerator.terms else gain_of(_ratio(p), _ratio(q), self._limits)
        ways: list[tuple[Fraction | None, Fraction | None]] = []
        if found is None or found.is_unbounded:
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
                least = gain_at(_ratio(p), _ratio(q), eps, self._limits).lower
                found.append((max(least, Fraction(0)), eps))
        yield from sorted(found, reverse=True)

    def _repeated(
        self, runs: Runs, events: list[Json], first: Belief, second: Belief
    ) -> dict[str, Json]:
        repetition = self._loss.repetition
        assert repetition is not None
        turns, _, _ = self._shown(runs, repetition.events, first, second)
        for store in first:
            step: dict[str, Json] = {
                "rule": "repetition",
                "events": events,
                "turns": turns,
                "store": [value_json(_value(v)) for v in store],
                "eps": number_json(repetition.eps or Fraction(1)),
            }
            with suppress(NotProved):
                repetition_of(self._machine, step, *self._signs.used)
                return step
        raise NoCertificate("what is repeated leads nowhere back")

    def _shown(
        self,
        runs: Runs,
        events: Sequence[Event],
        first: Belief | None = None,
        second: Belief | None = None,
    ) -> tuple[list[Json], Belief, Belief]:
        """Return events, where numbers of samples without bounds show which side they are on."""
        start: Belief = {tuple(v for _, v in self._machine.cells): CERTAIN}
        first, second = first or start, second or start
        found: list[Json] = []
        for event in events:
            calls: list[Json] = [
                None
                if call is None
                else [call.handler, [value_json(value) for value in call.values]]
                for call in (event.first, event.second)
            ]
            ways = [
                (
                    seen,
                    first if calls[0] is None else runs.after(first, calls[0], seen),
                    second if calls[1] is None else runs.after(second, calls[1], seen),
                )
                for seen in self._ways(event)
            ]
            ways = [way for way in ways if way[1]] or ways[:1]
            seen, first, second = max(ways, key=lambda way: self._told(way[1], way[2]))
            found.append([*calls, seen])
        return found, first, second

    def _told(self, first: Belief, second: Belief) -> float:
        """How much likelier the first run is, about, at eps = 1."""
        p, q = total_of(first), total_of(second)
        if not q.numerator.terms or not p.numerator.terms:
            return float("inf") if p.numerator.terms else float("-inf")
        return float(gain_at(_ratio(p), _ratio(q), Fraction(1), self._limits).lower)

    def _ways(self, event: Event) -> Iterator[Json]:
        """Yield what may be seen of an event."""
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


class _Undecided(Exception):
    """A call whose paths do not tell what it replies: it is to be followed exactly."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


class _Couplings:
    """Writes the step of couplings.

    Args:
        service: Of which it is.
        machine: The same, as the kernel has it.
        signs: Looked for.
        loss: With an upper bound.
        exact: The calls that are followed exactly.
    """

    def __init__(
        self, service: Service, machine: kernel.Service, signs: Finder, loss: Loss, exact: set[int]
    ) -> None:
        self._service = service
        self._machine = machine
        self._signs = signs
        self._loss = loss
        self._exact = exact
        self._follow = Calls(machine, signs)
        initial = loss.states_of[0]
        names = [cell.name for cell in service.states]
        self._held = [name for name, v in zip(names, initial, strict=True) if v is None]
        self._open = [name for name in names if name not in self._held]
        if not all(cell.is_additive for cell in service.states if cell.name in self._held):
            raise NoCertificate("cells that are compared are known by their differences only")
        self._symbols = [0] if loss.any_data else []
        self._known: dict[tuple[int, int, Arguments], list[Path]] = {}
        self._stores = [self._store(state) for state in loss.graph.parents]
        self._numbers = {store: number for number, store in enumerate(self._stores)}
        self._asked: list[tuple[int, Arguments]] = []
        for number, call in enumerate(self._machine.calls):
            domains = [domain for _, domain in call.arguments]
            if number in self._symbols:
                self._asked.append((number, (None,) * len(domains)))
            else:
                self._asked += [(number, given) for given in product(*domains)]

    def step(self, budget: Fraction) -> dict[str, Json]:
        """Return the step, without its premises."""
        loss = self._loss
        points: dict[tuple[int, int], list[Json]] = {}
        for (first, second, apart), value in zip(loss.graph.nodes, loss.values, strict=True):
            key = self._number(first), self._number(second)
            shifts: Json = [number_json(-each) for each in apart]
            points.setdefault(key, []).append([shifts, number_json(value)])
        pairs: list[Json] = []
        for (first, second), listed in points.items():
            groups: list[Json] = [
                self._groups(number, self._paths(first, number, g), self._paths(second, number, g))
                for number, g in self._asked
            ]
            pairs.append([first, second, listed, groups])
        stores: list[Json] = [[value_json(_value(v)) for v in store] for store in self._stores]
        return {
            "rule": "couplings",
            "budget": number_json(budget),
            "held": [*self._held],
            "symbols": [*self._symbols],
            "exact": [*sorted(self._exact)],
            "stores": stores,
            "changes": [self._changes(store) for store in range(len(stores))],
            "pairs": pairs,
        }

    def _store(self, state: Sequence[Value | None]) -> tuple[Kept, ...]:
        return tuple([read_value(value_json(value)) for value in state if value is not None])

    def _number(self, state: int) -> int:
        return self._numbers[self._store(self._loss.states_of[state])]

    def _changes(self, store: int) -> list[Json]:
        data = [given for number, given in self._asked if number == 0]
        values = dict(zip(self._open, self._stores[store], strict=True))
        stay = [self._follow.unchanged(values, self._held)]
        found: list[Json] = []
        if self._service.change is Change.INSERT:
            for given in data:
                paths = self._paths(store, 0, given)
                found += [self._groups(0, paths, stay), self._groups(0, stay, paths)]
            return found
        return [
            self._groups(0, self._paths(store, 0, one), self._paths(store, 0, other))
            for one, other in product(data, data)
            if one != other or self._symbols
        ]

    def _paths(self, store: int, number: int, given: Arguments) -> list[Path]:
        key = store, number, given
        if key not in self._known:
            values = dict(zip(self._open, self._stores[store], strict=True))
            call = self._machine.calls[number]
            follow = self._follow.exactly if number in self._exact else self._follow.paths
            try:
                self._known[key] = follow(call, values, self._held, given)
            except NotProved as obstacle:
                if number in self._exact:
                    raise NoCertificate(f"the kernel does not follow a call: {obstacle}") from None
                raise _Undecided(number) from None
        return self._known[key]

    def _groups(self, number: int, ours: Sequence[Path], theirs: Sequence[Path]) -> Json:
        """Match paths that show the same, as `couplings.paired` does."""
        first, second = _classes(ours), _classes(theirs)
        if first.keys() - second.keys():
            raise _Undecided(number)
        found: list[Json] = []
        for label, left in first.items():
            for one, other in _paired(left, second[label]):
                gain = self._gain([ours[k] for k in one], [theirs[k] for k in other])
                found.append([[*one], [*other], gain, None])
        plain: list[Json] = [[[k], [k], 0, None] for k in range(len(ours))]
        return None if found == plain else found

    def _gain(self, ours: Sequence[Path], theirs: Sequence[Path]) -> Json:
        p, q = (_sum([path.weight for path in paths]) for paths in (ours, theirs))
        if p == q:
            return 0
        found = gain_of(_ratio(p), _ratio(q), self._signs.limits).upper
        if found is None:
            raise NoCertificate("how much likelier a choice is, is not bounded")
        return number_json(found)


_Classes = dict[tuple[object, object], list[int]]
"""Paths, by the stores that they lead to and the means of their samples."""


def _classes(paths: Sequence[Path]) -> dict[object, _Classes]:
    """Sort paths by what they show and draw."""
    found: dict[object, _Classes] = {}
    for number, path in enumerate(paths):
        samples = [each for each in path.atoms if isinstance(each, Sample)]
        first = len(path.atoms) - len(samples)
        said = tuple(
            _relative(each, first) if isinstance(each, Form) else each for each in path.said
        )
        guards = tuple((_relative(form, first), strict) for form, strict in path.guards)
        drawn = tuple((each.family, each.size) for each in samples)
        alike = found.setdefault((said, guards, drawn), {})
        means = tuple(_relative(each.mean, first) for each in samples)
        alike.setdefault((tuple(path.store.items()), means), []).append(number)
    return found


def _paired(left: _Classes, right: _Classes) -> list[tuple[list[int], list[int]]]:
    """Match classes: those that lead to the same stores, those that come about alike, or all."""
    ours, theirs = ({store: paths for (store, _), paths in each.items()} for each in (left, right))
    if len(ours) == len(left) and len(theirs) == len(right) and ours.keys() == theirs.keys():
        return [(paths, theirs[store]) for store, paths in ours.items()]
    if len(left) == len(right):
        return list(zip(left.values(), right.values(), strict=True))
    return [([*chain(*left.values())], [*chain(*right.values())])]


def _relative(form: Form, first: int) -> tuple[object, ...]:
    """A form, with the numbers of its samples among these."""
    return form.constant, tuple((atom - first, c) for atom, c in form.terms)


def _sum(weights: Sequence[Ratio]) -> Ratio:
    found = Ratio.constant(Fraction(0))
    for weight in weights:
        found = found + weight
    return found


def _ratio(ratio: Ratio) -> ExponentialRatio:
    return ExponentialRatio.of(
        _polynomial(ratio.numerator),
        {_polynomial(factor): exponent for factor, exponent in ratio.denominator},
    )


def _polynomial(function: Sum) -> ExponentialPolynomial:
    return ExponentialPolynomial.of({(n, Fraction(q)): Fraction(c) for (q, n), c in function.terms})


def _number(value: Fraction | None) -> Json:
    return None if value is None else number_json(value)


def _value(value: Kept) -> Value:
    return value if isinstance(value, str) else Fraction(value)
