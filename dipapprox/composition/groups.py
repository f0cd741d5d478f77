"""Several runs of a mechanism of few outcomes, as one mechanism.

Of T runs of a pair with k outcomes it only matters how often each came up,

    P(n_1, …, n_k) = T! / (n_1! … n_k!) p_1^n_1 … p_k^n_k,      Q likewise,

so there are (T + k - 1 choose k - 1) losses, which are computed and not rounded. On a grid that has
none of a mechanism's losses on it each run would cost up to a step when bounded from below; in a
group the losses lie densely, and a whole group costs about a squared one.

An outcome that Q never has makes the loss of a group infinite: P has 1 - (1 - p_∞)^T of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb

from flint import arb

from dipapprox.composition.discrete_profiles import DiscreteProfile, discrete_profile

MOST_LOSSES = 4_096
"""Of a group."""

_MOST_OUTCOMES = 12
"""Of a mechanism for which groups are worth it."""

Masses = Sequence[tuple[arb, arb]]
"""(P mass, Q mass) of every outcome."""


def group_sizes(outcomes: int, times: int) -> list[tuple[int, int]]:
    """Divide runs into groups of nearly one size.

    Args:
        outcomes: That either distribution of a run has.
        times: How many runs, >= 1.

    Returns:
        (runs in a group, how many such groups), …
    """
    size = times if outcomes < 2 else 1
    if 2 <= outcomes <= _MOST_OUTCOMES:
        low, high = 1, times
        while low < high:
            middle = (low + high + 1) // 2
            few = comb(middle + outcomes - 1, outcomes - 1) <= MOST_LOSSES
            low, high = (middle, high) if few else (low, middle - 1)
        size = low
    groups = -(-times // size)
    least, larger = divmod(times, groups)
    return [each for each in ((least + 1, larger), (least, groups - larger)) if each[1]]


def grouped(masses: Masses, missing: arb, times: int) -> DiscreteProfile:
    """Return the profile of so many runs.

    Args:
        masses: Of one run; an exact 0 means that there is none.
        missing: At least the P mass of all further outcomes.
        times: >= 1.
    """
    infinite = sum((p for p, q in masses if q.is_zero()), arb(0))
    lost = sum((q for p, q in masses if p.is_zero()), arb(0))
    inner = [(p, q) for p, q in masses if is_finite(p, q)]
    ends = [(1 - (1 - infinite) ** times, arb(0)), (arb(0), 1 - (1 - lost) ** times)]
    several = list(_counted(inner, times, arb(1), arb(1))) if inner else []
    return discrete_profile([*several, *ends], missing * times)


def is_finite(p: arb, q: arb) -> bool:
    """Whether an outcome may have a finite loss.

    `p != 0` would be False for a ball that contains 0.
    """
    return not p.is_zero() and not q.is_zero()


def _counted(masses: Masses, times: int, p: arb, q: arb) -> Iterator[tuple[arb, arb]]:
    """Yield the masses of all counts of outcomes that add up to `times`."""
    (first, second), *others = masses
    if not others:
        yield p * first**times, q * second**times
        return
    for count in range(times + 1):
        ways = comb(times, count)
        yield from _counted(
            others, times - count, p * ways * first**count, q * ways * second**count
        )
