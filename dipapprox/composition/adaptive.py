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

Bounded ranges. Losses of one run of the exponential mechanism lie in [t - ε, t], for some t in
[0, ε]; as E f(q/p) is largest for two outcomes at the ends, these are worst, and it has them. Let
E = e^ε, x = e^t. For x_1 <= x <= x_2 the pair is below that of which outcomes are moved to x_1 and
x_2, x_1/E and x_2/E, with the same means. Then Q masses are sums of 1, x and 1/x with factors. All
(x, 1/x) are in the triangle of (x_1, 1/x_1), (x_2, 1/x_2) and (2 x_1 x_2, 2) / (x_1 + x_2), where
the tangents meet; so the sum in (1) is at most that at one of these three. At the third one the
Q masses, times (x_1 + x_2) (E - 1), are

    E - x_2 at x_1,   E - x_1 at x_2,   E (x_2 - 1) at x_1/E,   E (x_1 - 1) at x_2/E,          (3)

which for x_1 = x_2 are those of two outcomes.

From above. H_t <= u_j at α_j = e^(j h). As α_j q/p lies at the same place between two of the α_j
for all j, a chord between them has the same weights for all j; where h is a part of all losses, it
is one of the α_j: the whole number next to ln(q/p) / h, of P masses that are rounded up and Q
masses rounded down, is that place or one before it, where u is no smaller. Beyond the last one, u
does not increase. Before the first one the chord to H_t(0) = 1 is above, 1 - (1 - u_0) α / α_0; it
is raised by 2^-46, as e^-x of an x of relative error 2^-51 is off by 2^-51 x e^-x. If u_0 (1 + d)
is above H_t(α_0), then 1 + d times the chord is above H_t: (1 - u_0) α / α_0 + u_0 α / α_0 <= 1.

From below. At β_j = e^((j + 1/2) h) lines H_t(x) >= a_j - x b_j are known, those of one way to
choose, which hold at all x. Of any pair, and of the line i(o) for each output,

    H_(t+1)(α) >= Σ_o p_o (a_i(o) - α q_o / p_o b_i(o)) = Σ_o p_o a_i(o) - α Σ_o q_o b_i(o);

the lines that are best are guessed, and the pair is the one that was best from above.

Blocks. Of very many runs, m that follow one another have a profile of at most H_m, whatever came
before; so all blocks are dominated by independent pairs of these profiles (Zhu, Dong, Wang, Optimal
accounting of differential privacy via characteristic function, 2022, theorem 10): about 1/m of a
run's variance comes on top. From below one pair is run all the time.

Rounding. All of these are sums of products of numbers >= 0 in doubles, of m terms: one step errs by
a factor within 1 ± (m + 2) 2^-52, whatever the order, and T steps within 1 ± 2 T (m + 2) 2^-52, as
long as that is below 1/2. What underflows is less than 2^-1022 each; u is kept above 2^-900, of
which that is less than a share of 2^-100, and 2^-900 is taken from a and added to b at the end.
Weights, masses of P and of Q are rounded to the side that is safe beforehand.

Source of (1): dynamic programming; for fixed pairs compare Murtagh, Vadhan, The complexity of
computing the optimal composition of differential privacy, 2016; for two outcomes Dong, Durfee,
Rogers, Optimal differential privacy composition for exponential mechanisms, 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain, pairwise
from math import ceil, floor, log, sqrt
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dipapprox.arithmetic import rounding
from dipapprox.arithmetic.double_functions import exponential
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import enclosure_of, to_ball
from dipapprox.composition.profile import Ends, ProfilePoint
from dipapprox.data_classes import Record
from dipapprox.errors import LimitReached
from dipapprox.limits import check_atoms, check_limits

Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Masses = Sequence[tuple[arb, arb]]  # (P mass, Q mass) of every outcome of a pair
MOST_STEPS = 5_000  # runs: more are not gone through one by one
_LEAST = 2.0**-900
_MOST_PLACES = 400_000
_COARSE, _MOST_HALVES = 3, 6  # 2^3 parts of a bounded range, or fewer, are halved so often
_NEXT_TO = 1 + 2.0**-44  # what is greater by no more is not told from what is known, but added
_ABSOLUTE = 2.0**-46  # more than numbers in [0, 1] err that are made of a few, e^-x among them
_NEGLIGIBLE, _DEVIATIONS = 1e-20, 8  # masses beyond which a grid does not reach, about


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
        return left + share.min(arb(1)) * (right - left)  # beyond, u is no greater

    def _alpha(self, place: int) -> arb:
        return to_ball(self.size * place).exp()

    def _value(self, place: int) -> arb:
        if place < -self.reach:
            less = 1 - self._value(-self.reach)
            return 1 - less * to_ball(self.size * (place + self.reach)).exp()
        return to_ball(Fraction(float(self.upper[min(place, self.reach) + self.reach])))


class Stage(Record):
    """Runs of one mechanism, one after the other."""

    # Pairs one of which is above every pair that may be run; by their profiles.
    above: Sequence[Masses]
    below: Sequence[Masses]  # pairs that may be run, about one for each of these
    times: int
    # All losses are whole multiples of it, exactly; None if that is not known.
    unit: Fraction | None = None
    # If those above are in a row, and there are others between them: pairs that bound these, parts
    # of the row by parts, then by halves of parts, and so on; the last ones are between neighbours.
    halves: Sequence[Sequence[Masses]] = ()
    # If there are others, above none of these: for h and a reach, what bounds H of one run more by
    # H, and says which pairs are about the best.
    bound: Callable[[Fraction, int], Callable[[Doubles], tuple[Doubles, Integers]]] | None = None


def bounded_range(
    eps: Fraction, size: Fraction, times: int, sampled: Callable[[Masses], Masses]
) -> Stage:
    """Return runs of which each has losses in some range of length ε that contains 0, by (3).

    Args:
        size: How far losses of two neighbouring pairs are apart, about; not below a part of ε.
        sampled: What becomes of each pair; where all losses do, `unit` is no longer right.
    """
    parts = min(max(ceil(log(float(eps / size), 2)), 1), _COARSE + _MOST_HALVES)
    depth, top, count = max(parts - _COARSE, 0), to_ball(eps).exp(), 2**parts
    places = [to_ball(eps * k / count).exp() for k in range(count + 1)]

    def pair(one: arb, two: arb) -> Masses:
        whole = (one + two) * (top - 1)
        several = [
            (one, top - two),
            (two, top - one),
            (one / top, top * (two - 1)),
            (two / top, top * (one - 1)),
        ]
        found = [(abs(mass) / whole, ratio) for ratio, mass in several]
        return sampled([(mass * ratio, mass) for mass, ratio in found])

    ends = [pair(each, each) for each in places]
    strides = (2 ** (depth - k) for k in range(depth + 1))
    halves = [[pair(*each) for each in pairwise(places[::stride])] for stride in strides]
    return Stage(ends, ends, times, eps / count, halves)


def adaptive_profile(
    stages: Sequence[Stage],
    size: Fraction,
    reach: int | None = None,
    negligible: float = _NEGLIGIBLE,
    *,
    below: bool = True,
) -> AdaptiveProfile:
    """Bound the profile of adaptive runs.

    Args:
        stages: In the order in which they are run, of at most `MOST_STEPS` runs.
        size: h, or about that.
        reach: How many places of either sign there are; if it is not given, all that matter.
        negligible: About what is beyond the grid, then.
        below: Whether from below as well.

    Raises:
        LimitReached: If the limits are, or the grid is too fine.
    """
    times = sum(stage.times for stage in stages)
    units = [stage.unit for stage in stages if stage.unit is not None]
    if units:
        size = min(units) / ceil(min(units) / size)
    if reach is None:
        # Chords move each loss by up to a place: all of them hardly by so many deviations.
        moved = min(times, ceil(_DEVIATIONS * sqrt(times)))
        reach = ceil(likely_loss(stages, negligible) / float(size)) + moved + 2
    h = float(size)
    check_atoms(2 * reach)
    if reach > _MOST_PLACES or times > MOST_STEPS:
        raise LimitReached("atom limit: the grid of adaptive runs is too fine")
    terms = max(2 * len(each) + 4 for stage in stages for each in (*stage.above, *stage.below))
    doubt = Fraction(2 * times * (terms + 2), 2**52) + Fraction(1, 2**52)
    if doubt >= Fraction(1, 2):
        raise LimitReached("too many runs or outcomes for doubles")
    places = np.arange(-reach, reach + 1)
    upper = _start(size, reach)
    middle = np.exp(np.minimum((places + 0.5) * h, 700.0))  # it only chooses between lines
    lines = np.where(places < 0, 1.0, 0.0), np.where(places < 0, 1.0, 0.0)
    for stage in reversed(stages):
        exact = stage.unit is not None and not (stage.unit / size).denominator > 1
        kernels, *levels = (
            [_kernel(each, size, 2 * reach + 1, exact=exact) for each in own if not stage.bound]
            for own in (stage.above, *stage.halves)
        )
        every = (abs(k) for each in (kernels, *levels) for own, _ in each for k, _ in own)
        near = max(every, default=0)
        fall = exponential(np.asarray(np.arange(-near, 0) * h, float)) * (1 - _ABSOLUTE)
        strategies = dict[int, _Strategy]()
        bound = None if stage.bound is None else stage.bound(size, reach)
        for _ in range(stage.times):
            check_limits()
            upper, best = bound(upper) if bound else _worst(kernels, levels, upper, fall)
            if not below:
                continue
            is_used = np.bincount(best) > 0
            numbers, chosen = np.flatnonzero(is_used).tolist(), (is_used.cumsum() - 1)[best]
            for k in set(numbers) - strategies.keys():
                strategies[k] = _strategy(stage.below[k], size, 2 * reach + 1)
            lines = _followed([strategies[k] for k in numbers], chosen, lines, middle)
    ends = Ends(_at_an_end(stages), _at_an_end(stages, lost=True))
    return AdaptiveProfile(size, reach, upper, *lines, doubt, ends)


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


def _kernel(masses: Masses, size: Fraction, most_places: int, *, exact: bool = False) -> _Kernel:
    """Weights, by chords or, if all losses are on the grid exactly, by places alone."""
    step = to_ball(size)
    weights: dict[int, Fraction] = {}
    certain = Fraction(0)
    for p, q in masses:
        most, least = _between(p).upper, _between(q).lower
        if not most or not least:
            certain += most
            continue
        ratio = to_ball(least / most).log() / step
        place, part = enclosure_of(ratio + exact / 2).lower.__floor__(), Fraction(0)
        if not exact:
            share = ((step * (ratio - place)).exp() - 1) / (step.exp() - 1)
            part = min(_between(share).lower, Fraction(1))
        for further, weight in ((place, most * (1 - part)), (place + 1, most * part)):
            kept = min(further, most_places)  # beyond all places u is what it is at the last one
            if kept < -most_places:  # far before the first one it is taken for 1
                certain += weight
            else:
                weights[kept] = weights.get(kept, Fraction(0)) + weight
    given = [(place, rounding.above(own)) for place, own in sorted(weights.items()) if own]
    return given, rounding.above(certain)


def _worst(
    kernels: Sequence[_Kernel], levels: Sequence[Sequence[_Kernel]], upper: Doubles, fall: Doubles
) -> tuple[Doubles, NDArray[np.int_]]:
    """Apply (1) to kernels, and to what is between them; and say which one is best, about.

    Args:
        levels: Of halves (`Stage`): looked at where what bounds a part is more than what is known.
        fall: e^(-k h), …, e^-h, up to the furthest place of all weights, rounded down.
    """
    reach = len(fall)
    before = np.minimum(1 - max(1 - upper[0], 0.0) * fall[-reach:] + _ABSOLUTE, 1)
    wide = np.concatenate((before, upper, np.full(reach, upper[-1])))
    most, best = np.full_like(upper, _LEAST), np.zeros(len(upper), int)
    values, work = np.empty_like(upper), np.empty_like(upper)

    def of(kernel: _Kernel, where: slice) -> Doubles:
        own, part, (weights, certain) = values[where], work[where], kernel
        own.fill(certain)
        for place, weight in weights:
            np.multiply(wide[reach + place + where.start :][: len(own)], weight, out=part)
            np.add(own, part, out=own)
        return own

    def note(number: int, where: slice) -> None:
        value = of(kernels[number], where)
        np.copyto(best[where], number, where=value > most[where])
        np.maximum(most[where], value, out=most[where])

    whole, count = slice(0, len(upper)), len(levels[0]) if levels else len(kernels)
    stride = max((len(kernels) - 1) // count, 1)
    for number in range(0, len(kernels), stride):
        note(number, whole)
    parts = [(part, whole) for part in range(count)]
    for level in levels:
        halves = []
        for part, where in parts:
            bound = of(level[part], where)
            (more,) = np.nonzero(bound > most[where] * _NEXT_TO)
            if len(more) and level is levels[-1]:
                np.maximum(most[where], bound, out=most[where])
            elif len(more):
                inner = slice(where.start + int(more[0]), where.start + int(more[-1]) + 1)
                note(part * stride + stride // 2, inner)
                halves += [(2 * part, inner), (2 * part + 1, inner)]
        parts, stride = halves, stride // 2
    if levels:
        most *= _NEXT_TO
    # H does not increase; roundings may.
    falling: Doubles = np.maximum.accumulate(most[::-1])[::-1]
    return np.minimum(falling, 1.0), best


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


_Lines = tuple[Doubles, Doubles]  # a and b


def _followed(
    strategies: Sequence[_Strategy], best: NDArray[np.int_], lines: _Lines, middle: Doubles
) -> _Lines:
    """Apply (1) to a and b, with a given pair at every place."""
    outputs = max(len(parts) for parts, _ in strategies)
    every = np.zeros((3, len(strategies), outputs))
    for k, (parts, _) in enumerate(strategies):
        every[:, k, : len(parts)] = np.array(parts).T.reshape(3, -1)
    a, b = np.array([certain for _, certain in strategies])[best], np.zeros_like(middle)
    here, last = np.arange(len(middle)), len(middle) - 1
    for output in range(outputs):
        place, p, q = every[:, best, output]
        where = here + place.astype(int)
        ends = (np.clip(where + k, 0, last) for k in (0, 1))
        _add_output(a, b, [[each[end] for each in lines] for end in ends], middle, p, q)
    return a, b


def _add_output(
    a: Doubles, b: Doubles, near: Sequence[Sequence[Doubles]], middle: Doubles, p: Any, q: Any
) -> None:
    """Add an output, of masses p and q, with the greater one of two lines at α q/p."""
    here, after = near
    better = p * (after[0] - here[0]) > q * (middle * (after[1] - here[1]))
    a += p * np.where(better, after[0], here[0])
    b += q * np.where(better, after[1], here[1])


def likely_loss(stages: Sequence[Stage], negligible: float = _NEGLIGIBLE) -> float:
    """About the loss that all runs do not exceed, either way, by Chernoff's bound."""
    least, most = 0.0, 0.0
    for sign in (1, -1):
        costs, greatest = _moments(stages, sign)
        least = max(least, float(((costs - log(negligible)) / _ORDERS).min()))
        most = max(most, greatest)
    return min(least, most)


def likely_mass(stages: Sequence[Stage], loss: float) -> float:
    """About how likely a greater loss is, by Chernoff's bound."""
    costs, _ = _moments(stages, 1)
    return float(np.exp((costs - _ORDERS * loss).min()))


_ORDERS: Doubles = 2.0 ** (np.arange(-8, 25) / 2)


def _moments(stages: Sequence[Stage], sign: int) -> tuple[Doubles, float]:
    """Logarithms of moments of losses of all runs, about, and what losses are at most."""
    costs, greatest = np.zeros_like(_ORDERS), 0.0
    for stage in stages:
        every = chain(stage.above, *stage.halves[-1:])
        pairs = [np.array(_finite(pair, sign)).reshape(-1, 2).T for pair in every]
        tops = [losses.max(initial=0.0) for losses, _ in pairs]
        moments = [
            np.log(np.exp(np.outer(_ORDERS, losses - top)) @ p + 1e-300) + _ORDERS * top
            for (losses, p), top in zip(pairs, tops, strict=True)
        ]
        costs += stage.times * np.max([0.0 * _ORDERS, *moments], axis=0)
        greatest += stage.times * max(tops)
    return costs, greatest


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
