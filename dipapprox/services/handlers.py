"""Whole numbers of which only ranges are known, and what comparisons say of them.

In a state by differences a cell is a symbol, and a handler that compares it, or a sum of several,
is followed once for each range of values for which the comparisons come out alike (`KeptCells`).
Two runs whose cells differ by known numbers then answer by one of few *cases*: ranges of the first
run's values, moved by the differences, and of the second run's.

Handlers whose samples are published and nothing else, run from one state of a service.

In: a handler, the values of state cells and arguments; cells that are kept by differences and the
data argument may be symbols. Out: one outcome for each way in which the random choices come out and
each range of values for which comparisons do, or `NotPlain` where a sample decides something, a
loop chooses or a value may not be in its domain: then all guards have to be looked at.

A reply that is clamped holds a symbol of its own, which nothing can be done with; what it stands
for is held by a variable of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import ceil, floor, prod

from dipapprox.cache import Cache
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language import core
from dipapprox.language.cells import assigned, statements_in
from dipapprox.language.core import Cell
from dipapprox.language.domains import AllIntegers, AllReals, Domain, admits
from dipapprox.language.piecewise import Clamp
from dipapprox.language.services import Handler, Service, expanded
from dipapprox.laws.distribution import ChoiceLaw, FiniteLaw
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.linear.form import LinearForm, content
from dipapprox.semantics.evaluation import Knowledge, StoredValue, ValueOfAny, constant
from dipapprox.semantics.execution import ends_of
from dipapprox.semantics.order import GuardCone, Points
from dipapprox.semantics.outcomes import as_conjunction
from dipapprox.semantics.run import Execution, State, new_run
from dipapprox.semantics.state import Choice, Constraint, Sample, Store
from dipapprox.services.model import (
    NOTHING,
    CallOutcome,
    NotPlain,
    Published,
    Range,
    Replied,
    Step,
    Told,
    Untracked,
)
from dipapprox.source import Span

_MOST_CASES = 500


def range_of(cell: Cell) -> Range | None:
    """Return the whole numbers that a cell holds; None if its domain is of another kind."""
    hull = hull_of(cell)
    return hull if hull and hull[1] - hull[0] + 1 == len(set(cell.domain)) else None


def hull_of(cell: Cell) -> Range | None:
    """Return the least and the greatest of the whole numbers that a cell holds; None if it holds
    others."""
    if isinstance(cell.domain, AllReals) or not cell.domain:
        return None
    numbers = [v for v in cell.domain if isinstance(v, Fraction) and v.denominator == 1]
    if len(numbers) != len(cell.domain):
        return None
    return int(min(numbers)), int(max(numbers))


class KeptCells(Knowledge, eq=False):
    """What a path knows of cells that are symbols: of some, between which numbers they lie."""

    ranges: Mapping[Told, Range]

    def assume(self, form: LinearForm, strict: bool) -> KeptCells | None:
        """Add form <= 0 (< 0 if `strict`); None if that is never so; it has to be about cells with
        ranges."""
        if not all(name in self.ranges for name, _ in form.terms):
            raise NotPlain(form.inputs())
        told, factor = told_by(form)
        root = -form.constant / factor
        low, high = extent_of(told, self.ranges)
        if factor > 0:
            high = min(high, ceil(root) - 1 if strict else floor(root))
        else:
            low = max(low, floor(root) + 1 if strict else ceil(root))
        if low > high:
            return None
        return KeptCells(
            self.domains, self.allowed, self.linear, {**self.ranges, told: (low, high)}
        )


def told_by(form: LinearForm) -> tuple[Told, Fraction]:
    """Return what a form over cells is a multiple of, but for its constant, and the factor."""
    (name, factor), *others = form.terms
    if not others:
        return str(name), factor
    factor = content(number for _, number in form.terms) * (1 if factor > 0 else -1)
    return LinearForm(form.terms, Fraction(0)).scaled(1 / factor), factor


def extent_of(told: Told, ranges: Mapping[Told, Range]) -> Range:
    """Return between which whole numbers cells, or a sum of them, lie."""
    if told in ranges or isinstance(told, str):
        return ranges[told]
    low, high = told.extent(lambda name: ranges[str(name)])
    return int(low), int(high)


def cases(
    left: Step, right: Step, values: Mapping[Told, Range], apart: Callable[[Told], Fraction]
) -> Iterator[tuple[Step, Step]]:
    """Yield the outcomes that two runs may have together, whatever their cells hold out of all
    values; the first run's cell holds a whole number more, so far `apart`. `Untracked` if there are
    too many cases."""
    names = sorted({name for outcome in (*left, *right) for name, _ in outcome.where}, key=str)
    if not names:
        yield left, right
        return
    pieces = [
        list(_pieces(name, left, right, extent_of(name, values), apart(name))) for name in names
    ]
    if prod(map(len, pieces)) > _MOST_CASES:
        raise Untracked(cells_told(names))
    seen = set()
    for piece in product(*pieces):
        ours = dict(zip(names, piece, strict=True))
        theirs = {name: number - int(apart(name)) for name, number in ours.items()}
        active = _active(left, ours), _active(right, theirs)
        if active not in seen:
            seen.add(active)
            yield tuple(left[k] for k in active[0]), tuple(right[k] for k in active[1])


def cells_told(about: Iterable[Told]) -> set[str]:
    """Return the cells that comparisons are about."""
    return {
        name for told in about for name in ((told,) if isinstance(told, str) else told.inputs())
    }


def _pieces(name: Told, left: Step, right: Step, values: Range, apart: Fraction) -> Iterator[int]:
    """Yield one value of the first run's cell for each range in which all outcomes stay."""
    moved = int(apart)
    low, high = max(values[0], values[0] + moved), min(values[1], values[1] + moved)
    if low > high:
        return
    cuts = {low, high + 1}
    for step, by in ((left, 0), (right, moved)):
        for outcome in step:
            for each, (first, last) in outcome.where:
                if each == name:
                    cuts.update((first + by, last + 1 + by))
    for begin, _ in pairwise(sorted(cut for cut in cuts if low <= cut <= high + 1)):
        yield begin


def _active(step: Sequence[CallOutcome], values: Mapping[Told, int]) -> tuple[int, ...]:
    return tuple(
        place
        for place, outcome in enumerate(step)
        if all(low <= values[name] <= high for name, (low, high) in outcome.where)
    )


_CERTAINLY = ExponentialRatio.constant(1)


class _NoGuards(GuardCone, frozen=False):
    """Of a path on which no sample decides anything."""

    def decides(self, guard: Constraint, points: Points) -> bool | None:
        raise NotPlain


_CLAMPED = " clamped"
"""What the name of a symbol that stands for a clamp ends with, after that of what is clamped."""


class PlainHandlers:
    """Runs the handlers of one service; cells that are `kept` are symbols, choices have to be
    probability distributions at `epsilons`.

    Attributes:
        trusted: Cells that get values of their domains, perhaps: ranges of single ones do not tell.
        compared: Cells that something is known of on some way.
    """

    def __init__(self, service: Service, kept: frozenset[str], epsilons: EpsilonInterval) -> None:
        self._handlers = service.handlers
        self._epsilons = epsilons
        found = {s.name: range_of(s.cell) for s in service.states if s.name in kept}
        self._ranges: dict[Told, Range] = {
            name: values for name, values in found.items() if values is not None
        }
        self._symbols: dict[str, Domain] = {name: AllIntegers() for name in kept}
        self._states = [(s.name, s.name in kept, _domain(s.cell)) for s in service.states]
        self._replies = [(cell.name, _domain(cell)) for cell in service.replies]
        self._runs: dict[int, Execution] = {}
        self.trusted: dict[str, None] = {}
        self.compared: set[str] = set()

    def outcomes(self, place: int, held: Mapping[str, core.Value | None]) -> list[CallOutcome]:
        """Run a handler on what state cells and arguments hold, None for symbols; outcomes may come
        several times."""
        handler = self._handlers[place]
        if place not in self._runs:
            self._runs[place] = self._run_of(handler)
        run = self._runs[place]
        tables = run.samples, run.drawn, run.drawn_on, run.integers, run.laws, run.diagnostics
        for table in tables:
            table.clear()
        run.ended, run.rounds = [], 0
        before: dict[str, StoredValue] = {
            name: _symbol(name) if value is None else constant(run, value)
            for name, value in held.items()
        }
        start = State(Store(dict(before)), Store(), run.knowledge, _NoGuards())
        try:
            ends = ends_of(run, [start])
        except ValueOfAny as needed:
            raise NotPlain((needed.cell,)) from None
        if run.diagnostics:
            raise NotPlain
        for choice in run.laws.values():
            key = choice.law, self._epsilons
            if _proper.get(key) is None:
                check_choices((choice,), self._epsilons)
                _proper.put(key, True)
        ways = [(_chosen(run, end), end) for end in ends]
        if len(ways) > 1:
            ways.sort(key=lambda way: [outcome for _, outcome in way[0]])
        samples, found = tuple(run.samples.values()), []
        for chosen, end in ways:
            probability = _CERTAINLY
            for law, outcome in chosen:
                probability = probability * law.weights[outcome]
            assert isinstance(end.knowledge, KeptCells)
            ranges = end.knowledge.ranges
            state, forms = self._kept(end.store, ranges, held, before)
            reply = self._reply(end.store, samples, handler.clamps)
            if place and all(value == NOTHING for value in reply):
                raise NotPlain
            where = tuple([e for e in ranges.items() if e[1] != extent_of(e[0], self._ranges)])
            self.compared.update(cells_told(told for told, _ in where))
            found.append(CallOutcome(probability, reply, state, forms, where))
        return found

    def _run_of(self, handler: Handler) -> Execution:
        for loop in statements_in(handler.body):
            for each in statements_in((loop,)) if isinstance(loop, core.While) else ():
                if isinstance(each, core.Choose) or not handler.clamps.keys().isdisjoint(
                    assigned((each,))
                ):
                    raise NotPlain
        body = expanded(handler.body, handler.clamps, _as_symbol)
        program = core.Program(handler.name, {}, (), (), body, core.Everyone())
        run = new_run(program, False, None)
        run.chooses_forms = True
        names = [name + _CLAMPED for name in handler.clamps]
        run.inputs = {name: LinearForm.symbol(name) for name in names}
        symbols = dict.fromkeys((*names, *(cell.name for cell in handler.arguments)), AllReals())
        run.knowledge = KeptCells({**self._symbols, **symbols}, {}, frozenset(), self._ranges)
        return run

    def _kept(
        self,
        store: Store[StoredValue],
        ranges: Mapping[Told, Range],
        held: Mapping[str, core.Value | None],
        before: Mapping[str, StoredValue],
    ) -> tuple[tuple[core.Value | None, ...], tuple[LinearForm, ...]]:
        """Return the state after a call, and what happens to the cells that are symbols."""
        state: list[core.Value | None] = []
        forms: list[LinearForm] = []
        for name, is_kept, domain in self._states:
            value = store.get(name)
            if value is before[name]:
                state.append(held[name])
                forms += [_symbol(name)] if is_kept else ()
            elif is_kept:
                form = _number(value)
                if form.samples() or _is_clamped(form):
                    raise NotPlain((name,))
                if name in self._ranges:
                    self._require_fit(form, name, ranges)
                state.append(None)
                forms.append(form)
            else:
                known = _constant(value)
                if not admits(domain, known):
                    raise NotPlain
                state.append(known)
        return tuple(state), tuple(forms)

    def _reply(
        self, store: Store[StoredValue], samples: Sequence[Sample], clamps: Mapping[str, Clamp]
    ) -> Replied:
        """Return what is shown; a sample in one reply only."""
        reply: list[core.Value | Published] = []
        seen = set[int]()
        for name, domain in self._replies:
            value, ends = store.get(name), None
            if value is None:
                reply.append(NOTHING)
                continue
            if isinstance(value, LinearForm) and _is_clamped(value):
                held = value.inputs()[0].removesuffix(_CLAMPED)
                if value != LinearForm.symbol(held + _CLAMPED):
                    raise NotPlain
                value, ends = _number(store.get(held)), (clamps[held].low, clamps[held].high)
            if isinstance(value, LinearForm) and value.terms:
                published = _published(value, samples, ends)
                if not seen.isdisjoint(value.samples()):
                    raise NotPlain
                seen.update(value.samples())
                reply.append(published)
                continue
            known = _constant(value)
            if ends is not None and isinstance(known, Fraction):
                known = max(Fraction(ends[0]), min(known, Fraction(ends[1])))
            if not admits(domain, known):
                raise NotPlain
            reply.append(known)
        return tuple(reply)

    def _require_fit(self, form: LinearForm, cell: str, ranges: Mapping[Told, Range]) -> None:
        """Note whether ranges of single cells tell that a cell gets a value of its domain;
        `NotPlain` if it may be no whole number."""
        data = self._handlers[0].arguments[0]
        held = dict(ranges) if (hull := hull_of(data)) is None else {**ranges, data.name: hull}
        unknown = [name for name in form.inputs() if name not in held]
        if unknown:
            raise NotPlain(unknown)
        numbers = (form.constant, *(factor for _, factor in form.terms))
        if any(number.denominator != 1 for number in numbers):
            raise NotPlain((cell,))
        low, high = self._ranges[cell]
        least, most = form.extent(lambda name: held[str(name)])
        if not low <= least <= most <= high:
            self.trusted[cell] = None


def _published(
    form: LinearForm, samples: Sequence[Sample], ends: tuple[int, int] | None
) -> Published:
    """Return what shows a sample: moved or mirrored, of noise whose replies have closed forms."""
    if len(form.samples()) != 1:
        raise NotPlain(form.inputs())
    (number,) = form.samples()
    sign, sample, family = form.coefficient(number), samples[number], samples[number].family
    plain = family.is_exponential and family.sides == BOTH_SIDES and sample.scale.power == -1
    rest = form - LinearForm.symbol(number).scaled(sign)
    mean = sample.mean.scaled(sign) + rest
    whole = not family.is_discrete or rest.constant.denominator == 1
    if abs(sign) != 1 or not plain or not whole or _is_clamped(mean):
        raise NotPlain
    return Published(family, mean, sample.scale.coefficient, ends)


def _is_clamped(form: LinearForm) -> bool:
    return any(name.endswith(_CLAMPED) for name in form.inputs())


@cache
def _symbol(name: str) -> LinearForm:
    return LinearForm.symbol(name)


def _as_symbol(clamp: Clamp, value: core.Variable, span: Span | None) -> core.Statement:
    return core.Assign(clamp.place, core.Variable(value.name + _CLAMPED), span=span)


def _chosen(run: Execution, end: State) -> list[tuple[FiniteLaw, int]]:
    """Return the laws of the choices on a way, and their outcomes, the oldest first."""
    chosen: list[tuple[FiniteLaw, int]] = []
    for number, outcomes in reversed(as_conjunction(run.sets.nodes, end.outcomes) or ()):
        choice = run.choices[number]
        assert isinstance(choice, Choice) and isinstance(choice.law, FiniteLaw)
        (outcome,) = outcomes
        chosen.append((choice.law, outcome))
    return chosen


def _domain(cell: core.Cell) -> Collection[core.Value]:
    return cell.domain if isinstance(cell.domain, AllReals) else frozenset(cell.domain)


_proper: Cache[tuple[ChoiceLaw, EpsilonInterval], bool] = Cache(1000)
"""Choices that are probability distributions for every eps of an interval."""


def _number(value: StoredValue | None) -> LinearForm:
    if not isinstance(value, LinearForm):
        raise NotPlain
    return value


def _constant(value: StoredValue | None) -> core.Value:
    if isinstance(value, str):
        return value
    form = _number(value)
    if form.terms:
        raise NotPlain(form.inputs())
    return form.constant
