"""Runs of mechanisms with several worst pairs: which one is run next may depend on what came.

Let the outputs on two data sets be those of any of the pairs (P_k, Q_k), in every run another one,
chosen by whoever has seen all outputs so far. With t runs to go, and α = e^ε over the ratio P / Q
of what came, the most that can be had of P(S) - α Q(S) is

    H_0(α) = (1 - α)₊,      H_(t+1)(α) = max_k Σ_o p_o H_t(α q_o / p_o),                        (1)

p_o where q_o = 0, and 0 where p_o = 0: what is best after an output depends on α q_o / p_o alone.
H_T is the profile of T adaptive runs, exactly. Each H_t is convex, does not increase, H_t <= 1, and
(1) grows with H_t. A pair whose own profile is below that of another one adds nothing to (1): the
sum is E f(q/p) for a convex f, which a mixture of (1 - α x)₊ is, and a line.

Several mechanisms, in a given order, have one recursion, each its own pairs in its own runs. Their
profiles must not be composed one by one: that would choose the pair of a run by what comes later.
A run F with one worst pair is (1) with one pair, and linear. So for a maximum A over pairs

    A F H <= F A H,                                                                            (2)

and wherever F comes among runs A, its composition with the whole of H_T is above; it is attained
where F comes first.

From above. H_t <= u_j at α_j = e^(j h). As α_j q/p lies at the same place between two of the α_j
for all j, a chord between them has the same weights for all j. Beyond the last one, u does not
increase; before the first one, it is 1.

From below. At β_j = e^((j + 1/2) h) lines H_t(x) >= a_j - x b_j are known, those of one way to
choose, which hold at all x. Of any pair, and of the line i(o) for each output,

    H_(t+1)(α) >= Σ_o p_o (a_i(o) - α q_o / p_o b_i(o)) = Σ_o p_o a_i(o) - α Σ_o q_o b_i(o);

the pair and the lines that are best are guessed.

Rounding. All of these are sums of products of numbers >= 0 in doubles, of m terms: one step errs by
a factor within 1 ± (m + 2) 2^-52, whatever the order, and T steps within 1 ± 2 T (m + 2) 2^-52, as
long as that is below 1/2. What underflows is less than 2^-1022 each; u is kept above 2^-900, of
which that is less than a share of 2^-100, and 2^-900 is taken from a and added to b at the end.
Weights, masses of P and of Q are rounded to the side that is safe beforehand.

Source of (1): dynamic programming; for the optimal composition of fixed pairs compare Murtagh,
Vadhan, The complexity of computing the optimal composition of differential privacy, 2016.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor, log, sqrt

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import enclosure_of, to_ball
from dipapprox.composition.profile import Ends, ProfilePoint
from dipapprox.data_classes import Record
from dipapprox.errors import LimitReached
from dipapprox.limits import check_atoms, check_limits

Doubles = NDArray[np.float64]
Masses = Sequence[tuple[arb, arb]]  # (P mass, Q mass) of every outcome of a pair
MOST_STEPS = 5_000  # runs: more are not gone through one by one
_LEAST = 2.0**-900
_MOST_PLACES = 400_000
_PATIENCE = 4  # steps without being the best pair anywhere, after which one is left out from below
_NEGLIGIBLE = 1e-20  # masses beyond which a grid does not reach, about


class AdaptiveProfile(Record):
    """The profile of adaptive runs on a grid, for either direction of a relation."""

    size: Fraction  # h, exactly
    reach: int  # places go from -reach to reach
    upper: Doubles  # u, in doubles
    first: Doubles  # a, in doubles
    second: Doubles  # b, in doubles
    doubt: Fraction  # by which factor doubles may err
    ends: Ends  # of those who choose, in every run, what has most of it

    def at(self, alpha: arb) -> ProfilePoint:
        size, reach = float(self.size), self.reach
        place = floor(float(alpha.log().mid()) / size)
        line = min(max(place + reach, 0), 2 * reach)
        above, below = to_ball(1 + self.doubt), to_ball(1 - self.doubt)
        first = to_ball(Fraction(float(self.first[line]))) * below - to_ball(Fraction(_LEAST))
        second = to_ball(Fraction(float(self.second[line]))) * above + to_ball(Fraction(_LEAST))
        return ProfilePoint(self._bound(alpha, place) * above, first, second)

    def _bound(self, alpha: arb, place: int) -> arb:
        """A ball whose upper end is at least u between two places."""
        while not alpha >= (start := self._alpha(place)):
            place -= 1
        left, right = self._value(place), self._value(place + 1)
        share = (alpha - start) / (self._alpha(place + 1) - start)
        return left + share * (right - left) if share <= 1 else left

    def _alpha(self, place: int) -> arb:
        return to_ball(self.size * place).exp()

    def _value(self, place: int) -> arb:
        if place < -self.reach:
            return arb(1)
        return to_ball(Fraction(float(self.upper[min(place, self.reach) + self.reach])))


class Stage(Record):
    """Runs of one mechanism, one after the other."""

    # Pairs one of which is above every pair that may be run; by their profiles.
    above: Sequence[Masses]
    below: Sequence[Masses]  # pairs that may be run
    times: int


def adaptive_profile(stages: Sequence[Stage], size: Fraction) -> AdaptiveProfile:
    """Bound the profile of adaptive runs.

    Args:
        stages: In the order in which they are run, of at most `MOST_STEPS` runs.

    Raises:
        LimitReached: If the limits are, or the grid is too fine.
    """
    h = float(size)
    times = sum(stage.times for stage in stages)
    reach = ceil(_range(stages) / h)
    check_atoms(2 * reach)
    if reach > _MOST_PLACES or times > MOST_STEPS:
        raise LimitReached("atom limit: the grid of adaptive runs is too fine")
    terms = max(2 * len(each) + 4 for stage in stages for each in (*stage.above, *stage.below))
    doubt = Fraction(2 * times * (terms + 2), 2**52) + Fraction(1, 2**52)
    if doubt >= Fraction(1, 2):
        raise LimitReached("too many runs or outcomes for doubles")
    places = np.arange(-reach, reach + 1)
    upper = _start(size, reach)
    middle = np.exp((places + 0.5) * h)
    first = np.where(places < 0, 1.0, 0.0)
    second = first.copy()
    for stage in reversed(stages):
        kernels = [_kernel(each, size, 2 * reach + 1) for each in stage.above]
        strategies = [_strategy(each, size, 2 * reach + 1) for each in stage.below]
        used: set[int] = set()
        for step in range(stage.times):
            check_limits()
            upper = _worst(kernels, upper)
            first, second, chosen = _best(strategies, first, second, middle)
            used |= chosen
            if step % _PATIENCE == _PATIENCE - 1:
                strategies = [each for k, each in enumerate(strategies) if k in used]
                used = set()
    ends = Ends(_at_an_end(stages), _at_an_end(stages, lost=True))
    return AdaptiveProfile(size, reach, upper, first, second, doubt, ends)


def _at_an_end(stages: Sequence[Stage], *, lost: bool = False) -> arb:
    """At least the P mass where Q has none, of all runs; or what Q loses, where P has none."""
    without = arb(1)
    for stage in stages:
        pairs = [[(q, p) if lost else (p, q) for p, q in pair] for pair in stage.below]
        own = [sum((p.lower() for p, q in pair if q.is_zero()), arb(0)) for pair in pairs]
        without *= (1 - max(own, key=arb.mid)) ** stage.times
    return 1 - without


def _start(size: Fraction, reach: int) -> Doubles:
    step = to_ball(-size).exp()
    found, alpha = [], arb(1)
    for _ in range(reach):
        alpha *= step
        found.append(rounding.above(_between(1 - alpha).upper))
    start: Doubles = np.array([*found[::-1], *[0.0] * (reach + 1)])
    return np.maximum(start, _LEAST)


_Kernel = tuple[Sequence[tuple[int, float]], float]
"""Σ_o p_o u(α q_o / p_o): weights by how many places they are further, and what q lacks."""


def _kernel(masses: Masses, size: Fraction, most_places: int) -> _Kernel:
    step = to_ball(size)
    weights: dict[int, Fraction] = {}
    certain = Fraction(0)
    for p, q in masses:
        most = _between(p).upper
        if not most:
            continue
        least = _between(q).lower
        if not least:
            certain += most
            continue
        ratio = to_ball(least / most).log() / step
        place = enclosure_of(ratio).lower.__floor__()
        share = ((step * (ratio - place)).exp() - 1) / (step.exp() - 1)
        part = min(_between(share).lower, Fraction(1))
        for further, weight in ((place, most * (1 - part)), (place + 1, most * part)):
            # Beyond all places u is what it is at the last one, or before the first one.
            kept = min(max(further, -most_places), most_places)
            weights[kept] = weights.get(kept, Fraction(0)) + weight
    given = [(place, rounding.above(weight)) for place, weight in sorted(weights.items())]
    return given, rounding.above(certain)


def _worst(kernels: Sequence[_Kernel], upper: Doubles) -> Doubles:
    reach = max((abs(place) for weights, _ in kernels for place, _ in weights), default=0)
    wide = _padded(upper, reach, 1.0, upper[-1])
    found = np.full_like(upper, _LEAST)
    own, work = np.empty_like(upper), np.empty_like(upper)
    for weights, certain in kernels:
        own.fill(certain)
        for place, weight in weights:
            np.multiply(wide[reach + place :][: len(own)], weight, out=work)
            np.add(own, work, out=own)
        np.maximum(found, own, out=found)
    # H does not increase; roundings may.
    falling: Doubles = np.maximum.accumulate(found[::-1])[::-1]
    return np.minimum(falling, 1.0)


_Strategy = tuple[Sequence[tuple[int, float, float]], float]
"""Σ_o p_o a and Σ_o q_o b, with lines so many places further; and where q has nothing."""


def _strategy(masses: Masses, size: Fraction, most_places: int) -> _Strategy:
    parts = []
    certain = Fraction(0)
    for p, q in masses:
        least, most = _between(p).lower, _between(q).upper
        if not most:
            certain += least
        elif (own := rounding.below(least)) > 0:  # what is too small for doubles is left out
            # The lines that touch on either side of α q/p; any line would be right.
            ratio = most / least
            place = floor((log(ratio.numerator) - log(ratio.denominator)) / float(size))
            place = min(max(place, -most_places), most_places)
            parts.append((place, own, rounding.above(most)))
    return parts, rounding.below(certain)


def _best(
    strategies: Sequence[_Strategy], first: Doubles, second: Doubles, middle: Doubles
) -> tuple[Doubles, Doubles, set[int]]:
    """Apply (1) to a and b, with the pair that looks best at every place; say which ones did."""
    found, other, most = (np.zeros_like(first) for _ in range(3))
    one, two = np.empty_like(first), np.empty_like(first)
    chosen = set()
    reach = 1 + max((abs(place) for parts, _ in strategies for place, _, _ in parts), default=0)
    wide = [_padded(each, reach, each[0], each[-1]) for each in (first, second)]
    for k, (parts, certain) in enumerate(strategies):
        a, b = np.full_like(first, certain), np.zeros_like(second)
        for place, p, q in parts:
            here, near = (
                [each[reach + place + more :][: len(a)] for each in wide] for more in (0, 1)
            )
            # Which of two lines is the greater one at α q/p.
            np.subtract(near[0], here[0], out=one)
            np.subtract(near[1], here[1], out=two)
            np.multiply(two, middle, out=two)
            np.multiply(two, q / p, out=two)
            better = one > two
            a += p * np.where(better, near[0], here[0])
            b += q * np.where(better, near[1], here[1])
        value = a - middle * b
        better = value > most
        if better.any():
            np.copyto(found, a, where=better)
            np.copyto(other, b, where=better)
            np.copyto(most, value, where=better)
            chosen.add(k)
    return found, other, chosen


def _padded(values: Doubles, reach: int, before: float, after: float) -> Doubles:
    return np.concatenate((np.full(reach, before), values, np.full(reach, after)))


def _range(stages: Sequence[Stage]) -> float:
    """About the loss that all runs do not exceed, either way, by Chernoff's bound."""
    orders, least, most = 2.0 ** (np.arange(-8, 17) / 2), 1.0, 0.0
    for sign in (1, -1):
        costs = np.full_like(orders, -log(_NEGLIGIBLE))
        greatest = 0.0
        for stage in stages:
            pairs = [np.array(_finite(pair, sign)).reshape(-1, 2).T for pair in stage.above]
            tops = [losses.max(initial=0.0) for losses, _ in pairs]
            moments = [
                np.log(np.exp(np.outer(orders, losses - top)) @ p + 1e-300) + orders * top
                for (losses, p), top in zip(pairs, tops, strict=True)
            ]
            costs += stage.times * np.max([0.0 * orders, *moments], axis=0)
            greatest += stage.times * max(tops)
        least, most = max(least, float((costs / orders).min())), max(most, greatest)
    return max(min(least, most), 1.0) + 2


def _finite(masses: Masses, sign: int) -> list[tuple[float, float]]:
    """About the finite losses of a pair, with their masses; those of its reverse for sign -1."""
    both = [(float(p.mid()), float(q.mid())) for p, q in masses]
    return [(sign * log(p / q), p if sign > 0 else q) for p, q in both if p > 0 and q > 0]


def _between(ball: arb) -> Enclosure:
    """What a number >= 0 lies between."""
    return enclosure_of(ball).positive()


def grid_size(step: float, times: int) -> Fraction:
    """Return h for which all runs together err about as much as one on a grid of that step."""
    return Fraction(max(1, round(2**42 * step / sqrt(times))), 2**40)
