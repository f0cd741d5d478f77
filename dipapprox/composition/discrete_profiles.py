"""Pairs with finitely many losses: their profiles, from the masses of their outcomes.

Several runs of a mechanism of few outcomes are one such pair. Of T runs of a pair with k outcomes
it only matters how often each came up,

    P(n_1, …, n_k) = T! / (n_1! … n_k!) p_1^n_1 … p_k^n_k,      Q likewise,

so there are (T + k - 1 choose k - 1) losses, which are computed and not rounded. On a grid that has
none of a mechanism's losses on it each run would cost up to a step when bounded from below; in a
group the losses lie densely, and a whole group costs about a squared one.

An outcome that Q never has makes the loss of a group infinite: P has 1 - (1 - p_∞)^T of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import comb

from flint import arb

from dipapprox.composition.profile import Ends, ProfilePoint, up_to
from dipapprox.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class DiscreteProfile:
    """Finitely many losses. Best sets are the atoms of ratio P / Q > α, and those where Q is 0.

    A set that errs, where balls do not tell a ratio ρ from α, loses |P - α Q| = P |1 - α/ρ| in each
    such atom. Of middles a, r and relative radii u and v <= 1/8, one errs only

    - if r <= a, and a - r <= u a + v r <= (u + v) a: it loses 1 - (1 - u) / (1 + v) <= u + v of P;
    - if r > a, and r - a <= u a + v r <= (u + 8/7 v (1 + u)) a <= 2 (u + v) a: it loses at most
      (1 + u) / (1 - v) - 1 <= 2 (u + v).

    Attributes:
        places: Middles of the ratios, ascending.
        firsts: firsts[k] encloses the P mass of atoms k, k + 1, … and of infinite loss.
        seconds: Their Q masses; both one longer than the places.
        spread: At least the relative radius of every ratio, <= 1/8.
        missing: At least the P mass of what is in no set, though not of loss minus infinity.
        ends: At infinite losses.
    """

    places: Sequence[arb]
    firsts: Sequence[arb]
    seconds: Sequence[arb]
    spread: arb
    missing: arb
    ends: Ends

    def at(self, alpha: arb) -> ProfilePoint:
        """Evaluate at α > 0."""
        middle = alpha.mid()
        start = bisect_right(self.places, middle)
        first, second = self.firsts[start], self.seconds[start]
        bound = first - alpha * second + up_to(self.missing)
        doubt = (2 * (alpha.rad() / middle + self.spread)).upper()
        reach = (doubt * middle).upper()
        near = self.places[max(start - 1, 0) : start + 1]
        if not all(abs(place - middle) > reach for place in near):
            bound += up_to(doubt)
        return ProfilePoint(bound, first, second)


_TOLD = arb(1) / 8
"""Wider ratios are told from nothing."""


def discrete_profile(masses: Sequence[tuple[arb, arb]], missing: arb) -> DiscreteProfile:
    """Collect outcomes.

    Args:
        masses: (P mass, Q mass) of each; an exact 0 means that there is none.
        missing: At least the P mass of all further outcomes.
    """
    infinite = lost = spread = arb(0)
    atoms = []
    for first, second in masses:
        if second == 0:
            infinite += first
        elif first == 0:
            lost += second
        else:
            ratio = first / second
            relative = (ratio.rad() / abs(ratio.mid())).upper() if ratio > 0 else arb(1)
            if relative <= _TOLD:
                spread = max(spread, relative)
                atoms.append((ratio.mid(), first, second))
            else:
                missing += abs(first).upper()
    atoms.sort(key=lambda each: each[0])
    firsts, seconds = [infinite], [arb(0)]
    for _, first, second in reversed(atoms):
        firsts.append(firsts[-1] + first)
        seconds.append(seconds[-1] + second)
    return DiscreteProfile(
        [each[0] for each in atoms],
        firsts[::-1],
        seconds[::-1],
        spread,
        missing.upper(),
        Ends(infinite, lost),
    )


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
