"""The least pure budget of a program with real inputs, where probabilities are log-concave in them.

    a set of pairs, an output  -> ln P_o(u) - ln P_o(u') is at most a convex function
                               -> that is largest at a vertex; if not near a pair, the set is halved

**Theorem.** Let a final state have linear guards, in samples of log-concave densities > 0 and in
inputs, and choices that no input decides. Then its probability p is log-concave in the real inputs
(Prékopa 1973: a marginal of a log-concave function on the convex set of the guards), p = e^L. An
output has disjoint states: P = Σ p_s.

* **From above.** For any point c, h > 0 and x = u - c, L(u) <= L(c) + Σ max(a_i x_i, b_i x_i) with
  a_i = (L(c + h e_i) - L(c)) / h, b_i = (L(c) - L(c - h e_i)) / h: a supergradient at c, which a
  concave function has, lies between. So ln P(u) is at most ln Σ_s e^f of convex f, which is convex
  in u (Hölder).
* **From below.** For weights w_s >= 0 that add up to 1, ln P(u') >= Σ w_s (L_s(u') - ln w_s), as ln
  is concave; so -ln P(u') is at most a convex function of u', too.

Their sum is convex in (u, u'): on a polytope of pairs it is largest at a vertex (`cells.vertices`).
At a pair (c, c'), with w as likely as the states there, it is what the pair needs, and elsewhere no
more above that than the square of the size of the set.

**Lemma (moved together).** Let one state make an output, with independent parts, each between cuts
that move alike: L(u) = Σ_k l_k(a_k·u), l_k concave. Let s_k = a_k·(u - u'), and a_ki s_k >= 0 for
all k, on a set of pairs. Then L(u) - L(u') does not rise as u_i and u'_i rise by the same number:
its derivative is Σ_k a_ki (l_k'(a_k·u) - l_k'(a_k·u')), and l_k' falls. If all a_ki s_k <= 0, it
does not fall. So it is largest on `faces`, if distances have a budget, too: they stay. There u' is
one point as a rule, L(u) - L(u') concave, and nothing is to be halved.

All values are balls of exact pairs; which c, w, and cut are chosen need not be true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count, product
from math import prod
from typing import cast

from flint import arb

from dipapprox.arithmetic.extended import BY_ENCLOSURES, Extended
from dipapprox.arithmetic.precision import exact_fraction, precision, to_ball
from dipapprox.data_classes import Record, replace
from dipapprox.errors import LimitReached
from dipapprox.events.instantiate import Instantiator
from dipapprox.language.core import Input
from dipapprox.laws.family import RealFamily
from dipapprox.limits import at_most, check_limits
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.pairs.adjacency import FREE
from dipapprox.pairs.boxes.cells import (
    PairSet,
    Point,
    X,
    Y,
    cut,
    extent,
    faces,
    middle,
    real_places,
    sides,
    vertices,
)
from dipapprox.pairs.boxes.thresholds import own_cuts
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates

PURE = "log-concave states"  # the word in reports
_MOST_STATES, _MOST_VERTICES, _MOST_SETS = 64, 500, 500
_STEPS = 10_000  # probabilities and sets
_BITS = 160  # of balls
_RELATIVE = 120  # bits that are known of probabilities
_MOST_BITS = 2**15  # of probabilities; beyond they are too small to tell
_STEP = Fraction(1, 2**44)  # h, of the range of an input
_HALVINGS = 34  # of the line between two pairs
_SHORT = 64  # denominators of places on it that are tried, too
_NEAR = Fraction(1, 2**34)  # of a budget, or of 1


class PureBudget(Record):
    """Bounds of the least ε_prv for δ = 0, and a pair that needs the lower one."""

    told: Extended
    pair: Pair | None
    output: int  # that tells the pair apart


def least_pure_budget(
    states: FinalStates, eps: Fraction, roots: Sequence[PairSet], enough: Fraction | None = None
) -> PureBudget | None:
    """Bound the least pure budget of some sets of pairs, `enough` being known to be one.

    None if the theorem does not cover it, or too much would be needed.
    """
    logs = _logarithms(states, eps)
    if logs is None:
        return None
    try:
        with at_most(_STEPS):
            return _Search(logs, enough).run(roots)
    except LimitReached:
        check_limits()
        return None


_Part = tuple[RealFamily, list[LinearForm], list[LinearForm]]
"""Noise that lies above the first numbers, and below the others, in scales from its mean."""


def _logarithms(states: FinalStates, eps: Fraction) -> _Logarithms | None:
    every = states.states
    if states.comparisons or states.choices or any(state.conditions for state in every):
        return None
    instantiator = Instantiator(states, eps)
    if len(instantiator.outlines) > _MOST_STATES:
        return None
    parts: list[list[_Part]] = []
    outputs: list[list[int]] = [[] for _ in states.outputs]
    for number, outline in enumerate(instantiator.outlines):
        cuts = own_cuts(states, instantiator.scales, outline, {})
        if cuts is None:
            return None
        own: dict[int, _Part] = {}
        for sample, form, is_below in cuts:
            family = states.samples[sample].family
            if not isinstance(family, RealFamily) or len(family.sides) < 2:
                return None
            _, low, high = own.setdefault(sample, (family, [], []))
            (high if is_below else low).append(form)
        parts.append(list(own.values()))
        outputs[outline.output].append(number)
    cells = states.program.inputs
    names = [cells[place].name for place in real_places(cells)]
    if len(names) > 1 and max(map(len, outputs)) > 1:
        return None  # too much would have to be halved
    return _Logarithms(instantiator, parts, outputs, names)


class _Logarithms:
    """Balls of ln p of all final states, by input; `outputs` have some of these each."""

    def __init__(
        self,
        instantiator: Instantiator,
        parts: Sequence[Sequence[_Part]],
        outputs: Sequence[Sequence[int]],
        names: Sequence[str],
    ) -> None:
        self.outputs = outputs
        self._instantiator, self._parts = instantiator, parts
        self._rows = [_rows(own, names) for own in parts]
        self._known: dict[Input, list[arb]] = {}

    def ends(self, root: PairSet, states: Sequence[int]) -> Iterator[PairSet]:
        """Yield the parts of a set where an output may need most, by the lemma."""
        rows = self._rows[states[0]] if len(states) == 1 else None
        if rows is None:
            yield root
            return
        sided = [dict.fromkeys(filter(None, sides(polygon))) for polygon in root.polygons]
        for polygons in product(*sided):
            moves = [[x - y for x, y in polygon] for polygon in polygons]
            shifts = [
                [sum((most(a * d for d in own) for a, own in zip(row, moves, strict=True)), FREE)
                 for most in (min, max)]
                for row in rows
            ]  # fmt: skip
            options = []
            for axis, polygon in enumerate(polygons):
                signed = [
                    a * end for row, own in zip(rows, shifts, strict=True) for end in own
                    for a in row[axis : axis + 1]
                ]  # fmt: skip
                ways = [(-1, -1)] if min(signed, default=FREE) >= 0 else []
                ways = ways or ([(1, 1)] if max(signed) <= 0 else [])
                options.append(faces(polygon, ways))
            yield from (replace(root, polygons=own) for own in product(*options))

    def of(self, input: Input) -> list[arb]:
        found = self._known.get(input)
        if found is None:
            check_limits()
            numbers = self._instantiator.numbers(input)
            with precision(_BITS):
                found = self._known[input] = [
                    sum((_log_mass(part, numbers) for part in own), arb(0)) for own in self._parts
                ]
        return found


def _rows(parts: Sequence[_Part], names: Sequence[str]) -> list[tuple[Fraction, ...]] | None:
    """Return how the noise of each part moves with real inputs; None if its ends move apart."""
    found = list[tuple[Fraction, ...]]()
    for _, low, high in parts:
        rows = {tuple(form.coefficient(name) for name in names) for form in (*low, *high)}
        if len(rows) > 1:
            return None
        found += rows
    return found


def _log_mass(part: _Part, numbers: Mapping[Symbol, Fraction]) -> arb:
    """Return ln of the probability of noise between numbers."""
    family, *cuts = part
    low, high = ([form.at(numbers).constant for form in own] for own in cuts)
    bits = _BITS
    while bits <= _MOST_BITS:
        with precision(bits):
            mass = _mass(family, max(low, default=None), min(high, default=None))
            found: arb = mass.log()
            if mass > 0 and found.rad() * 2**_RELATIVE < 1:
                return found
        bits *= 2
    raise LimitReached("probabilities are too small to tell")


def _mass(family: RealFamily, low: Fraction | None, high: Fraction | None) -> arb:
    (a, left), (b, right) = (
        (arb(0) if z is None else to_ball(z), (1 if z and z > 0 else -1) * family.has_kink)
        for z in (low, high)
    )
    if low is None:
        return arb(1) if high is None else family.cdf(b, right)
    return family.survival(a, left) if high is None else family.mass(a, b, left, right)


class _Open(Record, eq=False):
    upper: Fraction
    number: int
    pairs: PairSet
    states: Sequence[int]  # of one output
    ends: Sequence[Pair]  # the vertices
    near: Pair | None  # the vertex that needs most; None once a pair is found that needs more

    def __lt__(self, other: _Open) -> bool:
        return (-self.upper, self.number) < (-other.upper, other.number)


class _Search:
    def __init__(self, logs: _Logarithms, enough: Fraction | None) -> None:
        self._logs, self._enough = logs, enough
        self._best, self._pair, self._output = Fraction(0), cast(Pair | None, None), 0
        self._order = count()
        self._open: list[_Open] = []

    @property
    def _near(self) -> Fraction:
        return _NEAR * max(self._best, Fraction(1))

    @property
    def _most(self) -> Fraction:
        upper = max(self._best, self._open[0].upper)
        return upper if self._enough is None else min(upper, self._enough)

    def run(self, roots: Sequence[PairSet]) -> PureBudget:
        for root, states in product(roots, self._logs.outputs):
            for pairs in self._logs.ends(root, states):
                self._look(pairs, states, None)
        for _ in range(_MOST_SETS):
            if self._most <= self._best + self._near:
                break
            part = heappop(self._open)
            if part.near is not None:
                self._sharpen(part, part.near)
                continue
            polygons = part.pairs.polygons
            axis = max(range(len(polygons)), key=lambda k: _width(polygons[k]))
            for half in cut(polygons[axis], *middle(polygons[axis])):
                own = (*polygons[:axis], half, *polygons[axis + 1 :])
                self._look(replace(part.pairs, polygons=own), part.states, part.upper)
        told = Extended(self._best, self._most, BY_ENCLOSURES[0], PURE)
        return PureBudget(told, self._pair, self._output)

    def _look(self, pairs: PairSet, states: Sequence[int], most: Fraction | None) -> None:
        """Bound what pairs of a set need for one output, and open it."""
        check_limits()
        if pairs.is_empty:
            return
        if prod(map(len, pairs.polygons)) > _MOST_VERTICES:
            raise LimitReached(f"pair limit: more than {_MOST_VERTICES} vertices")
        corners: Iterable[Sequence[Point]] = product(*pairs.polygons)
        if pairs.is_bound and pairs.budget is not None:
            corners = [each for each, _ in vertices(pairs.polygons, pairs.budget)]
        ends = list(dict.fromkeys(pairs.pair(each) for each in corners))
        near = max(ends, key=lambda pair: float(self._need(pair, states)))
        upper, _ = self._bound(ends, near, states)
        upper = upper if most is None else min(upper, most)
        heappush(self._open, _Open(upper, next(self._order), pairs, states, ends, near))

    def _sharpen(self, part: _Open, near: Pair) -> None:
        """Bound what pairs of a set need from one that needs about the most."""
        upper = part.upper
        for _ in part.pairs.polygons:
            _, far = self._bound(part.ends, near, part.states)
            near = self._between(near, far, part.states)
            upper = min(upper, self._bound(part.ends, near, part.states)[0])
            if upper <= self._best + self._near:
                break
        heappush(self._open, replace(part, upper=upper, number=next(self._order), near=None))

    def _need(self, pair: Pair, states: Sequence[int]) -> arb:
        """Return ln P(u) - ln P(u')."""
        first, second = map(self._logs.of, pair)
        with precision(_BITS):
            found = _log_sum([first[k] for k in states]) - _log_sum([second[k] for k in states])
            lower = exact_fraction(found.lower())
        if lower > self._best:
            self._best, self._pair = lower, pair
            self._output = self._logs.outputs.index(states)
        return found

    def _bound(
        self, ends: Sequence[Pair], near: Pair, states: Sequence[int]
    ) -> tuple[Fraction, Pair]:
        """Return the largest value of the convex function of a pair, and the vertex that has it."""
        centre = near[0]
        axes = [k for k, value in enumerate(centre) if len({end[0][k] for end in ends}) > 1]
        steps = {k: _STEP * (1 + abs(Fraction(centre[k]))) for k in axes}
        beside = [
            (*centre[:k], Fraction(centre[k]) + sign * steps[k], *centre[k + 1 :])
            for k in axes
            for sign in (1, -1)
        ]
        middle, *others = map(self._logs.of, (centre, *beside))
        likely = self._logs.of(near[1])
        found: dict[Pair, arb] = {}
        with precision(_BITS):
            slopes = [
                [
                    sign * (other[s] - middle[s]) / to_ball(steps[k])
                    for s in states
                    for sign, other in [(1 - 2 * (place % 2), others[place])]
                ]
                for place, k in ((p, axes[p // 2]) for p in range(len(others)))
            ]
            total = _log_sum([likely[s] for s in states])
            weights = _weights([float((likely[s] - total).exp()) for s in states])
            aboves: dict[Input, arb] = {}
            belows: dict[Input, arb] = {}
            for u, v in ends:
                if u not in aboves:
                    terms = [middle[s] for s in states]
                    for number, k in enumerate(axes):
                        x = to_ball(Fraction(u[k]) - Fraction(centre[k]))
                        up, down = slopes[2 * number], slopes[2 * number + 1]
                        terms = [
                            t + (a * x).max(b * x) for t, a, b in zip(terms, up, down, strict=True)
                        ]
                    aboves[u] = _log_sum(terms)
                if v not in belows:
                    own = self._logs.of(v)
                    belows[v] = sum(
                        (
                            to_ball(w) * (own[s] - to_ball(w).log())
                            for w, s in zip(weights, states, strict=True)
                            if w
                        ),
                        arb(0),
                    )
                found[u, v] = aboves[u] - belows[v]
            far = max(found, key=lambda end: float(found[end]))
            upper = max(exact_fraction(each.upper()) for each in found.values())
        return upper, far

    def _between(self, near: Pair, far: Pair, states: Sequence[int]) -> Pair:
        """Return about the pair on a line that needs most."""

        def at(share: Fraction) -> Pair:
            first, second = (
                tuple(
                    a if isinstance(a, str) else a + share * (Fraction(b) - a)
                    for a, b in zip(*ends, strict=True)
                )
                for ends in zip(near, far, strict=True)
            )
            return first, second

        low, high = Fraction(0), Fraction(1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            ahead = at(middle + Fraction(1, 2 ** (_HALVINGS + 8)))
            if self._need(ahead, states) > self._need(at(middle), states):
                low = middle
            else:
                high = middle
        found = (near, at(low.limit_denominator(_SHORT)), at(low), far)
        return max(found, key=lambda pair: float(self._need(pair, states)))


def _width(polygon: Sequence[Point]) -> Fraction:
    return max(high - low for low, high in (extent(tuple(polygon), k) for k in (X, Y)))


def _log_sum(terms: Sequence[arb]) -> arb:
    """Return ln Σ e^t."""
    if len(terms) == 1:
        return terms[0]
    most = max(terms, key=float)
    return most + sum(((each - most).exp() for each in terms), arb(0)).log()


def _weights(likely: Sequence[float]) -> list[Fraction]:
    """Return short numbers >= 0 that add up to 1."""
    unit = 2**30
    found = [Fraction(round(each * unit), unit) for each in likely]
    most = max(range(len(found)), key=found.__getitem__)
    found[most] += 1 - sum(found)
    return found
