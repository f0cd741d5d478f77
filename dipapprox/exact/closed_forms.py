"""Events of every kind in, exact probabilities as functions of a formal eps out.

In: connected events (`events.event.Connected`) whose scales s stand for s / ε'. Out: ratios of
exponential polynomials in ε'. Continuous events go to `laplace.engine`, choices to
`choices`. Linear systems of discrete Laplace samples are summed sample by sample (`elimination`):
weights Y^{rate |z - mean|}, which are then normalised: the probabilities of one sample are
(1 - q) / (1 + q) · q^|z - mean|, q = Y^rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.cache import Cache
from dipapprox.events.event import Chosen, Connected, Event, Mixture, Star, spelled_out
from dipapprox.exact.choices.circuits import chosen_probability
from dipapprox.exact.integers.elimination import integer_system, system_weight
from dipapprox.exact.integers.lattice_ratios import SumTooLong
from dipapprox.exact.laplace.engine import LaplaceIntegrals
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio, exponential_sum
from dipapprox.limits import Limits
from dipapprox.numerics.kinds import is_discrete


def discrete_probability(event: Event | Star, limits: Limits) -> ExponentialRatio | NotEnclosed:
    """Return the exact probability of an event of discrete Laplace samples.

    Args:
        event: Guards may be any linear forms; means must be integers.
        limits: `pieces` bounds the pieces of the system.

    Returns:
        A function of ε': the probability if every scale s is replaced by s / ε', for any ε' > 0.
        All factors of its denominator are positive for ε' > 0, and it has no powers of ε'. Or why
        there is none.

    Raises:
        LimitReached: If the time or the memory of `limits` runs out.

    References:
        DiPC paper, Lemma 17.
    """
    system = integer_system(spelled_out(event))
    if isinstance(system, NotEnclosed):
        return system
    try:
        weight = system_weight(system, limits)
        if isinstance(weight, NotEnclosed):
            return weight
        # (1 - q) / (1 + q) = (1 - q)² / (1 - q²)
        powers: dict[int, int] = {}
        for rate in system.rates:
            powers[rate] = powers.get(rate, 0) + 2
            powers[2 * rate] = powers.get(2 * rate, 0) - 1
        return weight.times_powers(powers).as_exponentials(system.unit)
    except SumTooLong:
        return NotEnclosed("integration-budget: the closed form has too many terms")


def ratio_sum(ratios: Sequence[ExponentialRatio]) -> ExponentialRatio:
    """Add up any number of ratios, those with equal denominators first."""
    grouped: dict[tuple[tuple[ExponentialPolynomial, int], ...], list[ExponentialPolynomial]] = {}
    for ratio in ratios:
        grouped.setdefault(ratio.denominator, []).append(ratio.numerator)
    total: ExponentialRatio | None = None
    for denominator, numerators in grouped.items():
        numerator = numerators[0] if len(numerators) == 1 else exponential_sum(numerators)
        part = ExponentialRatio.of(numerator, dict(denominator))
        total = part if total is None else total + part
    return ExponentialRatio.constant(0) if total is None else total


_REMEMBERED = 20_000
"""Most events whose closed forms are kept."""


class EventForms:
    """The closed forms of events, each computed once; similar events share work."""

    def __init__(self) -> None:
        self._integrals = LaplaceIntegrals()
        self._known: Cache[Connected, ExponentialRatio | NotEnclosed] = Cache(_REMEMBERED)

    def closed_form_of(self, event: Connected, limits: Limits) -> ExponentialRatio | NotEnclosed:
        """Return Pr[event] as a function of ε' > 0, or why there is no closed form.

        Raises:
            LimitReached: If the time or the memory runs out.
        """
        return self._known.find(event, lambda: self._closed_form(event, limits))

    def _closed_form(self, event: Connected, limits: Limits) -> ExponentialRatio | NotEnclosed:
        match event:
            case Chosen():
                return chosen_probability(event, limits)
            case Mixture():
                return self._sum(event, limits)
            case Event() | Star():
                if is_discrete(event):
                    return discrete_probability(event, limits)
                found = self._integrals.closed_form(event, limits)
                return found if isinstance(found, NotEnclosed) else ExponentialRatio(found)
            case _:
                assert_never(event)

    def _sum(self, mixture: Mixture, limits: Limits) -> ExponentialRatio | NotEnclosed:
        summands = []
        for count, events in mixture.terms:
            product = ExponentialRatio.constant(count)
            for event, power in events:
                form = self.closed_form_of(event, limits)
                if isinstance(form, NotEnclosed):
                    return form
                for _ in range(power):
                    product = product * form
            summands.append(product)
        return ratio_sum(summands)
