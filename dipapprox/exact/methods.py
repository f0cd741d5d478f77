"""The methods `exact`: events in, closed forms evaluated to any width out.

Closed forms are functions of a formal ε', scales s standing for s / ε'. Continuous events go to
`laplace.engine`, choices to `choices`, linear systems of discrete Laplace samples to
`integers.elimination`. Forms are taken at ε' = 1 in balls; exact rationals come out as points. The
methods remember them: more bits cost an evaluation only.
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
from dipapprox.events.event import Chosen, Connected, Event, Mixture, Star, spelled_out
from dipapprox.exact.choices.circuits import chosen_probability, enclose_choices
from dipapprox.exact.integers.elimination import discrete_probability
from dipapprox.exact.laplace import polyhedra
from dipapprox.exact.laplace.engine import LaplaceIntegrals
from dipapprox.exact.signs.values import Function, enclose_at
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio, exponential_sum
from dipapprox.limits import at_most
from dipapprox.numerics.kinds import is_discrete, is_laplace_type
from dipapprox.numerics.methods import Answers, EventByEvent


def ratio_sum(ratios: Sequence[ExponentialRatio]) -> ExponentialRatio:
    """Add up any number of ratios, those with equal denominators first."""
    grouped: dict[tuple[tuple[ExponentialPolynomial, int], ...], list[ExponentialPolynomial]] = {}
    for ratio in ratios:
        grouped.setdefault(ratio.denominator, []).append(ratio.numerator)
    parts = [
        ExponentialRatio.of(exponential_sum(own), dict(below)) for below, own in grouped.items()
    ]
    return reduce(add, parts or [ExponentialRatio.constant(0)])


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
    def form(self, event: Connected) -> Function | NotEnclosed:
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

    def form(self, event: Connected) -> Function | NotEnclosed:
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


class BoundedIntegration(_ByForms):
    """Laplace-type events of any guards, as far as the work is bounded: before quadrature."""

    def __init__(self) -> None:
        self._forms: Cache[Event, ExponentialPolynomial] = Cache(_REMEMBERED)
        self._failures: list[tuple[int, int]] = []  # samples, guards

    def form(self, event: Connected) -> Function | NotEnclosed:
        if isinstance(event, Chosen | Mixture) or not is_laplace_type(event):
            return NotEnclosed("not all samples are of Laplace type")
        event = spelled_out(event)
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


class LaplaceSums(_ByForms):
    """Laplace-type events that reduce to comparisons of sums: before doubles, which take longer."""

    def __init__(self) -> None:
        self._integrals = LaplaceIntegrals()

    def form(self, event: Connected) -> Function | NotEnclosed:
        if isinstance(event, Chosen | Mixture):
            return NotEnclosed("not all samples are of Laplace type")
        return self._integrals.closed_form(spelled_out(event), sums_only=True)
