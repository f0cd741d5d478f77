"""Profiles of pairs with finitely many losses, from the masses of their outcomes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from flint import arb

from dipapprox.composition.profile import Ends, Point, up_to
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

    def at(self, alpha: arb) -> Point:
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
        return Point(bound, first, second)


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
