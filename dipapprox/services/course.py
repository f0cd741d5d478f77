"""Handlers whose samples are published and nothing else, executed on one state.

In: a handler, the values of state cells and arguments; cells that are kept by differences and the
data argument may be symbols. Out: one outcome for each course of the random choices and each range
of values for which comparisons come out alike, or `NotPlain` where a sample decides something, a
loop chooses or a value may not be in its domain: then the general engine has to look at it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import assert_never

from dipapprox.cache import Cache
from dipapprox.data_classes import dataclass, field
from dipapprox.errors import BrokenInvariant
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language import core
from dipapprox.language.domains import AllReals, admits
from dipapprox.language.services import Handler, Service, StateCell
from dipapprox.laws.choices import FiniteLaw
from dipapprox.laws.distribution import Scale
from dipapprox.laws.family import BOTH_SIDES, Family
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.courses import Frame, Parted, Way, follow, holds, into
from dipapprox.semantics.evaluation import (
    Forms,
    PathFault,
    StoredValue,
    cell_of,
    evaluate,
    form_of,
    number,
    shared,
)
from dipapprox.semantics.state import Choice
from dipapprox.semantics.weights import proportions, weight_value
from dipapprox.services.model import NOTHING, CallOutcome, Published, Range
from dipapprox.services.ranges import range_of, regions
from dipapprox.source import Span

_CERTAINLY = ExponentialRatio.constant(1)

_MOST_CHOICES = 200


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


@dataclass(slots=True, eq=False)
class _Course:
    """One course of a handler so far.

    Attributes:
        held: What cells hold.
        ranges: Of the values that symbols may have here.
        samples: That were drawn.
        clamps: The ends that reply cells are clamped to.
        probability: Of the choices so far.
        chosen: How many these are, with those of ranges.
        seen: What cells held at loops.
    """

    handler: Handler
    held: dict[str, StoredValue]
    ranges: dict[str, Range]
    samples: list[_Sample] = field(default_factory=list)
    clamps: dict[str, tuple[int, int]] = field(default_factory=dict)
    probability: ExponentialRatio = _CERTAINLY
    chosen: int = 0
    seen: set[object] = field(default_factory=set)

    def parts(self, count: int) -> list[_Course]:
        """Return copies for the ways in which a choice may come out.

        Raises:
            NotPlain: If there were too many choices.
        """
        if self.chosen >= _MOST_CHOICES:
            raise NotPlain
        return [
            _Course(
                self.handler,
                dict(self.held),
                dict(self.ranges),
                list(self.samples),
                dict(self.clamps),
                self.probability,
                self.chosen + 1,
                set(self.seen),
            )
            for _ in range(count)
        ]

    def read(self, forms: Forms, name: str, span: Span | None) -> StoredValue:
        """Return what a cell holds, which no clamp hides."""
        held = self.held.get(name)
        if held is None or name in self.clamps:
            raise NotPlain
        return held

    def known(self, form: LinearForm, span: Span | None) -> Fraction:
        """Ask for the values of cells."""
        raise NotPlain(form.inputs())

    def product(self, left: LinearForm, right: LinearForm, span: Span | None) -> LinearForm:
        """Refuse."""
        raise NotPlain

    def compare(self, difference: LinearForm, node: core.Comparison) -> bool:
        """Whether a comparison holds; symbols of a range are split where it may go either way."""
        names = difference.inputs()
        if len(difference.terms) > 1 or not names or names[0] not in self.ranges:
            raise NotPlain(names)
        (name,) = names
        found = regions(difference, self.ranges[name])
        if len(found) > 1:
            parts = self.parts(len(found))
            for part, (values, _) in zip(parts, found, strict=True):
                part.ranges[name] = values
            raise Parted(parts)
        ((_, sign),) = found
        return node.relation.holds(Fraction(sign), Fraction(0))

    def published(self, name: str, value: StoredValue) -> tuple[int, Published]:
        """Return the sample that a reply cell publishes, and how it is moved or mirrored."""
        form = _number(value)
        (number,) = form.samples() or (None,) if len(form.samples()) < 2 else (None,)
        if number is None:
            raise NotPlain(form.inputs())
        sample, sign = self.samples[number], form.coefficient(number)
        if abs(sign) != 1:
            raise NotPlain
        rest = form - LinearForm.symbol(number).scaled(sign)
        if sample.family.is_discrete and rest.constant.denominator != 1:
            raise NotPlain
        mean = sample.mean.scaled(sign) + rest
        ends = self.clamps.get(name)
        return number, Published(sample.family, mean, sample.scale.coefficient, ends)


class Courses:
    """Executes the handlers of one service.

    Args:
        service: Elaborated.
        kept: Cells that are symbols.
        epsilons: Where random choices have to be probability distributions.
        limits: Asked in loops.

    Attributes:
        ranges: What those of them hold that are not additive.
        forms: Values of expressions.
    """

    def __init__(
        self, service: Service, kept: frozenset[str], epsilons: EpsilonInterval, limits: Limits
    ) -> None:
        self.forms = Forms()
        self._epsilons = epsilons
        self._limits = limits
        found = {s.name: range_of(s.cell) for s in service.states if s.name in kept}
        self.ranges = {name: values for name, values in found.items() if values is not None}
        self._states = [(s.name, s.name in kept, s, _domain(s.cell)) for s in service.states]
        self._replies = [(cell.name, _domain(cell)) for cell in service.replies]

    def run(self, handler: Handler, held: Mapping[str, StoredValue]) -> list[CallOutcome]:
        """Execute a handler; outcomes may come several times.

        Args:
            handler: Of the service.
            held: What state cells and arguments hold.

        Raises:
            NotPlain: If it is not of the kind.
            LimitReached: If the time runs out.
        """
        found = []
        start = _Course(handler, dict(held), dict(self.ranges))
        try:
            for _, course in follow(self, into(handler.body, None), start):
                self._limits.check()
                if course.probability.numerator:
                    found.append(self._outcome(course, handler, held))
        except PathFault:
            raise NotPlain from None
        return found

    def _outcome(
        self, course: _Course, handler: Handler, before: Mapping[str, StoredValue]
    ) -> CallOutcome:
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
        reply: list[core.Value | Published] = []
        samples: list[int] = []
        for name, domain in self._replies:
            shown = course.held.get(name)
            if shown is None:
                reply.append(NOTHING)
            elif name in course.clamps or not _is_constant(shown):
                sample, each = course.published(name, shown)
                samples.append(sample)
                reply.append(each)
            else:
                constant = _constant(shown)
                if not admits(domain, constant):
                    raise NotPlain
                reply.append(constant)
        if not handler.is_data and all(value == NOTHING for value in reply):
            raise NotPlain
        if len(set(samples)) < len(samples):
            raise NotPlain  # one sample in two replies
        where = tuple(
            (name, now) for name, now in course.ranges.items() if now != self.ranges[name]
        )
        return CallOutcome(course.probability, tuple(reply), tuple(state), tuple(forms), where)

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

    # --- statements -----------------------------------------------------------------------------

    def assign(self, statement: core.Assign, course: _Course) -> _Course:
        """Run target <- value."""
        return self._stored(course, statement.target, evaluate(self.forms, statement.value, course))

    def decides(self, statement: core.If, course: _Course) -> bool:
        """Whether the condition of a branch holds."""
        return holds(self.forms, statement.condition, course)

    def go_on(self, here: Frame, course: _Course) -> list[Way[_Course]]:
        """Return how a course goes on at a draw, a choice, a loop or an exit."""
        match here.statement:
            case core.Draw() as draw:
                return [(here.after(), self._drawn(course, draw))]
            case core.Choose() as choice:
                if _in_loop(here):
                    raise NotPlain
                return [(here.after(), part) for part in self._chosen(course, choice)]
            case core.While(condition, body):
                self._limits.check()
                if not holds(self.forms, condition, course):
                    return [(here.after(), course)]
                place = here.key(), *sorted(course.held.items(), key=lambda each: each[0])
                if place in course.seen:
                    raise NotPlain  # it never ends
                course.seen.add(place)
                return [(into(body, here), course)]
            case core.Exit():
                return [(None, course)]
            case core.Assign() | core.If():
                raise BrokenInvariant("assignments and branches are followed")
            case _:
                assert_never(here.statement)

    def _stored(
        self, course: _Course, target: core.Variable | core.Element, value: StoredValue
    ) -> _Course:
        name = cell_of(self.forms, target, course)
        clamp = course.handler.clamps.get(name)
        if clamp is None:
            course.held[name] = value
            course.clamps.pop(name, None)
            return course
        reply = cell_of(self.forms, clamp.place, course)
        form = _number(value)
        if form.is_constant:
            nearest = min(max(form.constant, Fraction(clamp.low)), Fraction(clamp.high))
            course.held[reply] = LinearForm.constant_form(nearest)
            course.clamps.pop(reply, None)
        else:
            course.held[reply] = form
            course.clamps[reply] = clamp.low, clamp.high
        return course

    def _drawn(self, course: _Course, draw: core.Draw) -> _Course:
        mean = form_of(self.forms, draw.mean, course)
        if mean.samples() or not _is_published(draw.family) or draw.scale.power != -1:
            raise NotPlain
        if draw.family.is_discrete and mean.is_constant and mean.constant.denominator != 1:
            raise NotPlain
        course.samples.append(_Sample(draw.family, mean, draw.scale))
        sample = shared(self.forms, LinearForm.symbol(len(course.samples) - 1))
        return self._stored(course, draw.target, sample)

    def _chosen(self, course: _Course, choice: core.Choose) -> list[_Course]:
        weights = [
            weight_value(w, lambda each: number(self.forms, each, course), choice.span)
            for _, w in choice.options
        ]
        if choice.proportional:
            weights = proportions(weights)
        require_law(weights, choice, self._epsilons, self._limits)
        parts = course.parts(len(weights))
        for part, weight, (value, _) in zip(parts, weights, choice.options, strict=True):
            part.probability = part.probability * weight
            self._stored(part, choice.target, evaluate(self.forms, value, part))
        return parts


def _in_loop(here: Frame) -> bool:
    """Whether a place is in the body of a loop."""
    return any(
        isinstance(outer.statement, core.While) and inner.block is outer.statement.body
        for inner, outer in pairwise(here.frames())
    )


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


def _is_published(family: Family) -> bool:
    """Whether replies in closed form are known of noise: of Laplace noise, discrete or not."""
    return family.is_exponential and family.sides == BOTH_SIDES


def _number(value: StoredValue) -> LinearForm:
    if isinstance(value, str):
        raise NotPlain
    return value


def _is_constant(value: StoredValue) -> bool:
    return isinstance(value, str) or value.is_constant


def _constant(value: StoredValue) -> core.Value:
    if isinstance(value, str):
        return value
    if not value.is_constant:
        raise NotPlain(value.inputs())
    return value.constant
