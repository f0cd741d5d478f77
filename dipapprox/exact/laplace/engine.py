"""Continuous events of Laplace type in, their probabilities as functions of eps out.

In: connected, reduced events whose samples have Laplace or one-sided exponential laws; every scale
s means s / ε. Out: the probability, an exponential polynomial in ε > 0, exact.

    event -> order of samples or sums, or differences -> plan -> exact algebra -> Σ c * ∫ product
                  | none: sums that guards tie in a cycle, rates without short units
                  +-------> integration over polyhedra (`polyhedra`)

References:
    DiPC, sections 3.5 (Lemma 18), 3.8.
"""

from __future__ import annotations

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.cache import Cache
from dipapprox.events.event import Event, Star, laws_of, spelled_out
from dipapprox.exact.laplace.algebra import ExactAlgebra, Function, TooManyTerms, Units
from dipapprox.exact.laplace.polyhedra import integrate
from dipapprox.exponentials import ExponentialPolynomial, exponential_sum
from dipapprox.limits import check_limits
from dipapprox.numerics.elimination.plan import Evaluation, FunctionTable
from dipapprox.numerics.elimination.planning import Order, OrderEvent, eliminate
from dipapprox.numerics.elimination.refinement import GridRequirements
from dipapprox.numerics.elimination.sum_event import sum_event

_REMEMBERED = 1_000_000  # about how many terms of functions are kept for later events

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
            return order if sums_only else integrate(spelled_out(event))
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
        elif self._algebra.produced > _REMEMBERED or len(self._table) > _REMEMBERED // 10:
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
