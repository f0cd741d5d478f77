"""Handlers whose samples are published and nothing else, executed on one state.

In: a handler, the values of state cells and arguments; cells that are kept by differences and the
data argument may be symbols. Out: one outcome for each course of the random choices and each range
of values for which comparisons come out alike, or `NotPlain` where a sample decides something, a
loop chooses or a value may not be in its domain: then the general engine has to look at it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import assert_never

from dipapprox.cache import Cache
from dipapprox.data_classes import dataclass
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language import core
from dipapprox.language.domains import AllReals, admits
from dipapprox.language.services import Handler, Service, StateCell
from dipapprox.laws.choices import FiniteLaw
from dipapprox.laws.distribution import Scale
from dipapprox.laws.families import DISCRETE_LAPLACE, LAPLACE
from dipapprox.laws.family import Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.evaluation import PathFault
from dipapprox.semantics.state import Choice
from dipapprox.semantics.weights import proportions, weight_value
from dipapprox.services.model import NOTHING, Outcome, Published, Range
from dipapprox.services.ranges import range_of, regions

_CERTAINLY = ExponentialRatio.constant(1)

_MOST_CHOICES = 200

Held = str | LinearForm
"""A named value, or a form over symbols (names) and samples (numbers)."""


class NotPlain(Exception):
    """A handler does something that only the general engine can follow.

    Args:
        cells: Whose values are needed, as far as known.
    """

    def __init__(self, cells: Collection[str] = ()) -> None:
        super().__init__()
        self.cells = frozenset(cells)


@dataclass(frozen=True, slots=True)
class _Sample:
    family: Family
    mean: LinearForm
    scale: Scale


class _Ended(Exception):
    """`exit` was reached."""


class _Chooses(Exception):
    """A random choice, or one of ranges, was reached that a tape says nothing about."""

    def __init__(self, options: int) -> None:
        super().__init__()
        self.options = options


class Courses:
    """Executes the handlers of one service.

    Args:
        service: Elaborated.
        kept: Cells that are symbols.
        epsilons: Where random choices have to be probability distributions.
        limits: Asked in loops.

    Attributes:
        ranges: What those of them hold that are not additive.
    """

    def __init__(
        self, service: Service, kept: frozenset[str], epsilons: EpsilonInterval, limits: Limits
    ) -> None:
        self._epsilons = epsilons
        self._limits = limits
        found = {s.name: range_of(s.cell) for s in service.states if s.name in kept}
        self.ranges = {name: values for name, values in found.items() if values is not None}
        self._states = [(s.name, s.name in kept, s, _domain(s.cell)) for s in service.states]
        self._replies = [(place, c.name, _domain(c)) for place, c in enumerate(service.replies)]

    def run(self, handler: Handler, held: Mapping[str, Held]) -> list[Outcome]:
        """Execute a handler; outcomes may come several times.

        Args:
            handler: Of the service.
            held: What state cells and arguments hold.

        Raises:
            NotPlain: If it is not of the kind.
            LimitReached: If the time runs out.
        """
        found = []
        tapes: list[tuple[int, ...]] = [()]
        while tapes:
            self._limits.check()
            tape = tapes.pop()
            course = _Course(handler, dict(held), tape, self.ranges, self._epsilons, self._limits)
            try:
                course.block(handler.body)
            except _Ended:
                pass
            except _Chooses as choice:
                tapes += [(*tape, option) for option in reversed(range(choice.options))]
                continue
            if course.probability.numerator:
                found.append(self._outcome(course, handler, held))
        return found

    def _outcome(self, course: _Course, handler: Handler, before: Mapping[str, Held]) -> Outcome:
        state: list[core.Value | None] = []
        forms: list[LinearForm] = []
        for name, is_kept, cell, domain in self._states:
            value = course.held[name]
            if is_kept:
                form = _number(value)
                if form.samples():
                    raise NotPlain((name,))
                if not cell.is_additive:
                    self._require_fit(form, cell, course)
                state.append(None)
                forms.append(form)
                continue
            constant = _constant(value)
            if value is not before[name] and not admits(domain, constant):
                raise NotPlain
            state.append(constant)
        reply: list[core.Value | None] = []
        published = []
        for place, name, domain in self._replies:
            shown = course.held.get(name)
            if shown is None:
                reply.append(NOTHING)
            elif name in course.clamps or not _is_constant(shown):
                published.append(course.published(place, name, shown))
                reply.append(None)
            else:
                constant = _constant(shown)
                if not admits(domain, constant):
                    raise NotPlain
                reply.append(constant)
        if not handler.is_data and all(value == NOTHING for value in reply):
            raise NotPlain
        used = [course.sample_of[each.cell] for each in published]
        if len(set(used)) < len(used):
            raise NotPlain  # one sample in two replies
        where = tuple(
            (name, now) for name, now in course.ranges.items() if now != self.ranges[name]
        )
        return Outcome(
            course.probability, tuple(reply), tuple(published), tuple(state), tuple(forms), where
        )

    def _require_fit(self, form: LinearForm, cell: StateCell, course: _Course) -> None:
        """Make sure that a cell certainly gets a value of its domain.

        Data that is a symbol may be added to additive cells only: what is compared has to differ
        by numbers that all are looked at, not the ends of their range.

        Raises:
            NotPlain: If it may not.
        """
        unknown = [name for name in form.inputs() if name not in course.ranges]
        if unknown:
            raise NotPlain(unknown)
        low, high = self.ranges[cell.name]
        least, most = form.extent(lambda name: course.ranges[str(name)])
        numbers = (form.constant, *(factor for _, factor in form.terms))
        whole = all(number.denominator == 1 for number in numbers)
        if not whole or not low <= least <= most <= high:
            raise NotPlain((cell.name,))


class _Course:
    """One run; a tape says which options its choices take.

    Attributes:
        held: What cells hold.
        clamps: The ends that reply cells are clamped to.
        sample_of: The sample that a reply cell publishes.
        probability: Of the choices so far.
        ranges: Of the values that symbols may have here.
    """

    def __init__(
        self,
        handler: Handler,
        held: dict[str, Held],
        tape: tuple[int, ...],
        ranges: Mapping[str, Range],
        epsilons: EpsilonInterval,
        limits: Limits,
    ) -> None:
        self._epsilons = epsilons
        self.held = held
        self.ranges = dict(ranges)
        self.probability = _CERTAINLY
        self._tape = tape
        self._chosen = 0
        self._depth = 0
        self.clamps: dict[str, tuple[int, int]] = {}
        self.sample_of: dict[int, int] = {}
        self._clamped = handler.clamps
        self._samples: list[_Sample] = []
        self._limits = limits

    def block(self, block: core.Block) -> None:
        for statement in block:
            match statement:
                case core.Assign(target, value):
                    self._assign(target, self._value(value))
                case core.Draw():
                    self._draw(statement)
                case core.If(condition, then, otherwise):
                    self.block(then if self._holds(condition) else otherwise)
                case core.While():
                    self._loop(statement)
                case core.Exit():
                    raise _Ended
                case core.Choose():
                    self._choose(statement)
                case _:
                    assert_never(statement)

    def _assign(self, target: core.Variable | core.Element, value: Held) -> None:
        name = self._place(target)
        clamp = self._clamped.get(name)
        if clamp is None:
            self.held[name] = value
            self.clamps.pop(name, None)
            return
        reply = self._place(clamp.place)
        form = _number(value)
        if form.is_constant:
            nearest = min(max(form.constant, Fraction(clamp.low)), Fraction(clamp.high))
            self.held[reply] = LinearForm.constant_form(nearest)
            self.clamps.pop(reply, None)
        else:
            self.held[reply] = form
            self.clamps[reply] = clamp.low, clamp.high

    def _draw(self, draw: core.Draw) -> None:
        mean = _number(self._value(draw.mean))
        if mean.samples() or draw.family not in _PUBLISHED or draw.scale.power != -1:
            raise NotPlain
        if draw.family.is_discrete and mean.is_constant and mean.constant.denominator != 1:
            raise NotPlain
        self._samples.append(_Sample(draw.family, mean, draw.scale))
        self._assign(draw.target, LinearForm.symbol(len(self._samples) - 1))

    def _choose(self, choice: core.Choose) -> None:
        if self._depth:
            raise NotPlain
        number = self._next(len(choice.options))
        try:
            weights = [weight_value(w, self._finite, choice.span) for _, w in choice.options]
        except PathFault:
            raise NotPlain from None
        if choice.proportional:
            weights = proportions(weights)
        require_law(weights, choice, self._epsilons, self._limits)
        self.probability = self.probability * weights[number]
        self._assign(choice.target, self._value(choice.options[number][0]))

    def _next(self, options: int) -> int:
        """Return the option that the tape says."""
        if self._chosen == len(self._tape):
            if self._chosen >= _MOST_CHOICES:
                raise NotPlain
            raise _Chooses(options)
        self._chosen += 1
        return self._tape[self._chosen - 1]

    def _finite(self, node: core.Expression) -> Fraction:
        value = _constant(self._value(node))
        if isinstance(value, str):
            raise NotPlain
        return value

    def _loop(self, loop: core.While) -> None:
        seen: set[tuple[tuple[str, Held], ...]] = set()
        while self._holds(loop.condition):
            self._limits.check()
            here = tuple(sorted(self.held.items(), key=lambda each: each[0]))
            if here in seen:
                raise NotPlain  # it never ends
            seen.add(here)
            self._depth += 1
            self.block(loop.body)
            self._depth -= 1

    def published(self, place: int, name: str, value: Held) -> Published:
        """Return what a reply cell publishes: a sample, moved or mirrored."""
        form = _number(value)
        (number,) = form.samples() or (None,) if len(form.samples()) < 2 else (None,)
        if number is None:
            raise NotPlain(form.inputs())
        sample, sign = self._samples[number], form.coefficient(number)
        if abs(sign) != 1:
            raise NotPlain
        rest = form - LinearForm.symbol(number).scaled(sign)
        if sample.family.is_discrete and rest.constant.denominator != 1:
            raise NotPlain
        self.sample_of[place] = number
        mean = sample.mean.scaled(sign) + rest
        ends = self.clamps.get(name)
        return Published(place, sample.family, mean, sample.scale.coefficient, ends)

    # --- values ---------------------------------------------------------------------------------

    def _place(self, place: core.Variable | core.Element) -> str:
        if isinstance(place, core.Variable):
            return place.name
        index = _constant(self._value(place.index))
        if isinstance(index, str) or index.denominator != 1 or not 1 <= index <= place.size:
            raise NotPlain
        return f"{place.array}[{index}]"

    def _value(self, node: core.Expression) -> Held:
        match node:
            case core.Constant(value):
                return value if isinstance(value, str) else LinearForm.constant_form(value)
            case core.Variable() | core.Element():
                name = self._place(node)
                held = self.held.get(name)
                if held is None or name in self.clamps:
                    raise NotPlain
                return held
            case core.Sum(left, right):
                return _number(self._value(left)) + _number(self._value(right))
            case core.Product(left, right):
                first, second = _number(self._value(left)), _number(self._value(right))
                if first.is_constant:
                    return second.scaled(first.constant)
                if second.is_constant:
                    return first.scaled(second.constant)
                raise NotPlain
            case _:
                assert_never(node)

    def _holds(self, condition: core.Condition) -> bool:
        match condition:
            case core.All(parts):
                return all(self._holds(part) for part in parts)
            case core.Any(parts):
                return any(self._holds(part) for part in parts)
            case core.Comparison(left, relation, right):
                ours, theirs = self._value(left), self._value(right)
                if not _is_constant(ours) or not _is_constant(theirs):
                    sign = Fraction(self._sign(_number(ours) - _number(theirs)))
                    return _compare(sign, relation, Fraction(0))
                return _compare(_constant(ours), relation, _constant(theirs))
            case _:
                assert_never(condition)

    def _sign(self, form: LinearForm) -> int:
        """Return the sign of a form in one symbol at most; the tape says which if it varies."""
        if form.is_constant:
            return (form.constant > 0) - (form.constant < 0)
        names = form.inputs()
        if len(form.terms) > 1 or not names or names[0] not in self.ranges:
            raise NotPlain(names)
        found = regions(form, self.ranges[names[0]])
        values, sign = found[self._next(len(found)) if len(found) > 1 else 0]
        self.ranges[names[0]] = values
        return sign


def _domain(cell: core.Cell) -> Collection[core.Value]:
    return cell.domain if isinstance(cell.domain, AllReals) else frozenset(cell.domain)


def require_law(
    weights: list[ExponentialRatio],
    choice: core.Choose,
    epsilons: EpsilonInterval,
    limits: Limits,
) -> None:
    """Make sure that a choice is a probability distribution for every eps of an interval.

    Raises:
        UserError: If it is none.
    """
    law = FiniteLaw(tuple(weights))
    if _proper.get((law, epsilons)) is None:
        target = choice.target
        label = target.name if isinstance(target, core.Variable) else target.array
        check_choices((Choice(law, choice.site, label),), epsilons, limits)
        _proper.put((law, epsilons), True)


_proper: Cache[tuple[FiniteLaw, EpsilonInterval], bool] = Cache(1000)

_PUBLISHED = (DISCRETE_LAPLACE, LAPLACE)


def _compare(left: core.Value, relation: core.Relation, right: core.Value) -> bool:
    equality = relation in (core.Relation.EQUAL, core.Relation.NOT_EQUAL)
    if not equality and (isinstance(left, str) or isinstance(right, str)):
        raise NotPlain
    return relation.holds(left, right)


def _number(value: Held) -> LinearForm:
    if isinstance(value, str):
        raise NotPlain
    return value


def _is_constant(value: Held) -> bool:
    return isinstance(value, str) or value.is_constant


def _constant(value: Held) -> core.Value:
    if isinstance(value, str):
        return value
    if not value.is_constant:
        raise NotPlain(value.inputs())
    return value.constant
