"""The methods `exact`: events in, closed forms evaluated to any width out.

Closed forms are functions of a formal ε', scales s standing for s / ε'. Continuous events of
Laplace type are integrated (below), choices go to `choices`, linear systems of discrete Laplace
samples to `integers.elimination`. Forms are taken at ε' = 1 in balls; exact rationals come out as
points. The methods remember them: more bits cost an evaluation only.

Continuous events of Laplace type. In: connected, reduced events whose samples have Laplace or
one-sided exponential laws; every scale s means s / ε. Out: the probability, an exponential
polynomial in ε > 0, exact.

    event -> order of samples or sums, or differences -> plan -> exact algebra -> Σ c * ∫ product
                  | none: sums that guards tie in a cycle, rates without short units
                  +-------> integration over polyhedra (`polyhedra`)

References:
    DiPC, sections 3.5 (Lemma 18), 3.8.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import prod
from operator import add
from typing import assert_never

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, enclosing, sure
from dipapprox.cache import Cache
from dipapprox.events.event import Chosen, Connected, Event, Mixture, Star, laws_of, spelled_out
from dipapprox.exact.choices.circuits import chosen_probability, enclose_choices
from dipapprox.exact.integers.elimination import discrete_probability
from dipapprox.exact.laplace import polyhedra
from dipapprox.exact.laplace.algebra import ExactAlgebra, Function, TooManyTerms, Units
from dipapprox.exact.signs.values import Function as EpsilonFunction
from dipapprox.exact.signs.values import enclose_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio, exponential_sum
from dipapprox.limits import at_most, check_limits
from dipapprox.numerics.elimination.plan import Evaluation, FunctionTable
from dipapprox.numerics.elimination.planning import Order, OrderEvent, eliminate
from dipapprox.numerics.elimination.refinement import GridRequirements
from dipapprox.numerics.elimination.sum_event import sum_event
from dipapprox.numerics.methods import Answers, EventByEvent, is_discrete, is_laplace_type


def ratio_sum(ratios: Sequence[ExponentialRatio]) -> ExponentialRatio:
    """Add up any number of ratios, those with equal denominators first."""
    grouped: dict[tuple[tuple[ExponentialPolynomial, int], ...], list[ExponentialPolynomial]] = {}
    for ratio in ratios:
        grouped.setdefault(ratio.denominator, []).append(ratio.numerator)
    parts = [
        ExponentialRatio.of(exponential_sum(own), dict(below)) for below, own in grouped.items()
    ]
    return reduce(add, parts or [ExponentialRatio.constant(0)])


_MOST_TERMS = 1_000_000  # about how many terms of functions are kept for later events

_sums: Cache[Event | Star, ExponentialPolynomial] = Cache(300_000, lambda form: len(form.terms) + 1)
"""Closed forms of sums, up to about so many terms: numbers and closed forms ask for the same."""

_LONGEST = 512  # most bits of units that are shared by events; longer ones serve one event only


class LaplaceIntegrals:
    """Computes closed forms; what similar events share is computed once."""

    def __init__(self) -> None:
        self._units = Units(1, 1)
        self._forget()

    def closed_form(
        self, event: Event | Star, *, sums_only: bool = False
    ) -> ExponentialPolynomial | NotEnclosed:
        """Return Pr[event] as a function of ε, a sample of scale s being one of scale s / ε.

        Args:
            event: Connected and reduced.
            sums_only: Refuse what does not reduce to comparisons of sums: the rest takes
                milliseconds.

        Returns:
            Σ c ε^n e^{qε} with q < 0, or q = 0 = n (or BrokenInvariant); or why there is none.
        """
        check_limits()
        known = _sums.get(event)
        if known is not None:
            return known
        obstacle = _obstacle(event)
        if obstacle is not None:
            return NotEnclosed(obstacle)
        order = event if isinstance(event, Star) else sum_event(event, 0)
        if not isinstance(order, NotEnclosed) and not self._prepare(GridRequirements.of(order)):
            order = NotEnclosed("no units fit its scales and means")
        if isinstance(order, NotEnclosed):
            return order if sums_only else polyhedra.integrate(spelled_out(event))
        found = self._eliminated(order)
        has_sums = isinstance(order, OrderEvent) and len(order.roots) < len(order.elements)
        if has_sums and isinstance(found, ExponentialPolynomial):
            _sums.put(event, found)
        return found

    def _eliminated(self, order: Order) -> ExponentialPolynomial | NotEnclosed:
        terms = eliminate(order, self._table)
        if isinstance(terms, NotEnclosed):
            return NotEnclosed(f"integration-budget: {terms.reason}")
        try:
            (values,) = self._evaluation.values((terms,))
        except TooManyTerms:
            return NotEnclosed("integration-budget: a product of functions has too many terms")
        if len(values) == 1 == values[0][0]:
            return values[0][1]
        return exponential_sum(total.scaled(coefficient) for coefficient, total in values)

    def _prepare(self, required: GridRequirements) -> bool:
        """See to it that the algebra has fitting units, and room; False: no units fit."""
        laws, samples = required.laws, required.samples
        own = Units.of(laws, required.points)
        units = self._units | own
        if units.step.bit_length() > _LONGEST or not units.fit(laws, samples):
            units = own
            if not units.fit(laws, samples):
                return False
        if units != self._units:
            self._units = units
            self._forget()
        elif self._algebra.produced > _MOST_TERMS or len(self._table) > _MOST_TERMS // 10:
            self._forget()
        return True

    def _forget(self) -> None:
        self._table = FunctionTable()
        self._algebra = ExactAlgebra(self._units)
        self._evaluation: Evaluation[Function, ExponentialPolynomial] = Evaluation(
            self._algebra, self._table
        )


def _obstacle(event: Event | Star) -> str | None:
    """Why there is no closed form, as far as the laws tell."""
    for law in laws_of(event):
        if not law.family.is_exponential:
            return f"outside-fragment: {law.family.title} noise has no closed form"
        if law.family.is_discrete:
            return "outside-fragment: continuous and discrete noise in one event"
    return None


_REMEMBERED_FORMS = 20_000  # most events whose closed forms are kept


class EventForms:
    """The closed forms of events, each computed once; similar events share work."""

    def __init__(self) -> None:
        self._integrals = LaplaceIntegrals()
        self._known: Cache[Connected, ExponentialRatio | NotEnclosed] = Cache(_REMEMBERED_FORMS)

    def closed_form_of(self, event: Connected) -> ExponentialRatio | NotEnclosed:
        """Return Pr[event] as a function of ε' > 0, or why there is no closed form."""
        return self._known.find(event, lambda: self._closed_form(event))

    def _closed_form(self, event: Connected) -> ExponentialRatio | NotEnclosed:
        match event:
            case Chosen():
                return chosen_probability(event)
            case Mixture():
                return self._sum(event)
            case Event() | Star():
                if is_discrete(event):
                    return discrete_probability(event)
                found = self._integrals.closed_form(event)
                return found if isinstance(found, NotEnclosed) else ExponentialRatio(found)
            case _:
                assert_never(event)

    @enclosing
    def _sum(self, mixture: Mixture) -> ExponentialRatio:
        summands = []
        for count, events in mixture.terms:
            forms = (
                form
                for event, power in events
                for form in [sure(self.closed_form_of(event))] * power
            )
            summands.append(prod(forms, start=ExponentialRatio.constant(count)))
        return ratio_sum(summands)


class _ByForms(EventByEvent):
    name = "exact"

    @abstractmethod
    def form(self, event: Connected) -> EpsilonFunction | NotEnclosed:
        """Return Pr[event] as a function of ε', or why there is none."""

    @enclosing
    def one(self, event: Connected, bits: int) -> Enclosure:
        form = self.form(event)
        if isinstance(form, NotEnclosed):
            return sure(form)
        return sure(enclose_at(form, Fraction(1), bits)).intersect(UNIT, self.name)


class Exact(_ByForms):
    """Everything that has a closed form, at whatever cost."""

    def __init__(self) -> None:
        self._forms = EventForms()

    def form(self, event: Connected) -> EpsilonFunction | NotEnclosed:
        return self._forms.closed_form_of(event)

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
        """Enclose choices of one program together, all else one by one; see `Method.enclose`."""
        chosen = enclose_choices([e for e in events if isinstance(e, Chosen)], bits)
        return Answers.of(
            [
                chosen[event] if isinstance(event, Chosen) else self.one(event, bits)
                for event in events
            ]
        )


_SHALLOW = 3  # quadrature nests of so many samples end within seconds; deeper ones rarely end
_PIECES = 2_000
"""Most pieces of shallow events: a few seconds of work. Deeper ones may have all there may be."""

_REMEMBERED = 10_000  # most events whose closed forms are kept


class LaplaceForms(_ByForms):
    """Laplace-type events.

    Args:
        sums_only: Those that reduce to comparisons of sums: before doubles, which take longer. Else
            any guards, as far as the work is bounded: before quadrature.
    """

    def __init__(self, *, sums_only: bool) -> None:
        self._integrals = LaplaceIntegrals() if sums_only else None
        self._forms: Cache[Event, ExponentialPolynomial] = Cache(_REMEMBERED)
        self._failures: list[tuple[int, int]] = []  # samples, guards

    def form(self, event: Connected) -> EpsilonFunction | NotEnclosed:
        if not is_laplace_type(event):
            return NotEnclosed("not all samples are of Laplace type")
        event = spelled_out(event)
        if self._integrals is not None:
            return self._integrals.closed_form(event, sums_only=True)
        known = self._forms.get(event)
        if known is not None:
            return known
        size = len(event.samples), len(event.guards)
        if any(size[0] >= samples and size[1] >= guards for samples, guards in self._failures):
            return NotEnclosed("not tried, a component no larger was too much work")
        pieces = {"pieces": _PIECES} if size[0] <= _SHALLOW else {}
        with at_most(**pieces):
            form = polyhedra.integrate(event)
        if isinstance(form, NotEnclosed):
            self._failures.append(size)
            return form
        return self._forms.put(event, form)
