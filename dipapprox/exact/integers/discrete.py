"""Exact probabilities of events of discrete Laplace samples, as functions of ε.

A forest of comparisons is summed sample by sample (`trees`); any other linear system by
general elimination (`elimination`). Both add up weights Y^{rate |z - mean|}, which are
then normalised: the probabilities of one sample are (1 - q) / (1 + q) · q^|z - mean|, q = Y^rate.
"""

from __future__ import annotations

from dipapprox.events.event import Event, Star, spelled_out
from dipapprox.exact.integers.elimination import system_weight
from dipapprox.exact.integers.lattice_ratios import LatticeRatio, SumTooLong
from dipapprox.exact.integers.systems import IntegerSystem, integer_system
from dipapprox.exact.integers.trees import tree_weight
from dipapprox.exponentials import ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import NotEnclosed


def discrete_probability(event: Event | Star, limits: Limits) -> ExponentialRatio | NotEnclosed:
    """Return the exact probability of an event of discrete Laplace samples.

    Args:
        event: Guards may be any linear forms; means must be integers.
        limits: `pieces` bounds the pieces of systems that are no forests.

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
        weight = _weight(system, limits)
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


def _weight(system: IntegerSystem, limits: Limits) -> LatticeRatio | NotEnclosed:
    weight = tree_weight(system, limits)
    return system_weight(system, limits) if weight is None else weight
