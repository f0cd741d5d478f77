"""The worst change of the inputs for a cone: what the dearest of the cheapest shifts costs.

For a change Δ let E(Δ) be the cost of the cheapest shift that keeps the cone (∞ if there is none).
It is convex and homogeneous. For a box of changes the same programme, with the right side of each
row replaced by its least value in the box, gives one shift for all its changes, hence an upper
bound R; the flow y that proves R the least such cost, used at the corner where it pays most, gives
a lower bound of E there. Both are equal unless some input has terms of both signs under the flow:

    R(box) = Σ_g y_g Σ_k |c_gk|      E(corner) >= Σ_k |Σ_g y_g c_gk|      (for the box [-1, 1]^n)

So: solve for the box -- the bounds agree, or R is no more than what a corner is known to cost
         |                    `--> this box is done: its shift is the proof of the upper bound
         `-> halve the box at the input where they differ most, into its two ends, and go on

An input that only widens the cone, or only narrows it, never needs to be halved.

Lower bounds: along a ray of inputs the loss comes as close to a budget as wanted.

**Theorem.** Let an output be the union of final states j with costs E_j, some of them possible at
inputs q. Let b be a change between adjacent inputs, and V = min_j E_j(b). Then for every eps at
which the program has a meaning the supremum over adjacent inputs of the log-ratio of the output's
probabilities is at least eps · V; it is unbounded if V = ∞.

Proof. (1) Let y >= 0 be a flow of state j, |Σ_g y_g a_gi| at most the rate of source i, with the
value B = -Σ_g y_g c_g·b. At inputs q + tb the state's guards, each times y_g and added, say that
Σ_i λ_i e_i >= tB + const for some |λ_i| <= rate_i. By Markov's inequality, for every θ < 1,

    Pr_j(q + tb) <= e^(-θ eps (tB + const)) · Π_i E[e^(θ eps λ_i e_i)],

a constant times e^(-θ eps t B): the expectations are finite because θ eps |λ_i| is below the rate
of decay of e_i, for Gaussian noise with any λ_i, for noise that is one-sided, or of which shifts to
one side alone have a price (Gumbel), if λ_i is bounded on that side.
So liminf_t -ln Pr_j(q + tb)/t >= eps · E_j(b), by duality; without a shift, flows of any size do.
With a Farkas flow of samples none of which is free, Pr_j(q + tb) is even 0 for large t.
(2) Going from q, where the output has a positive probability, to q + tb in t steps of b, the
log-ratios of the steps add up to eps · t · V - o(t): some step has at least the average.

Of a program with real outputs the output is that they lie in some intervals, where the state that
is possible at q has a positive probability: bounds on forms are guards, and constants play no part.

A scale that is no multiple of 1/eps has at a single eps a finite rate, and eps · E grows to the
cost with an infinite rate as eps goes to 0 (a power above -1) or to ∞ (one below): the bound then
is one for a budget that is to serve every eps.

With a single state this is E(b): what its shifts cost is what it loses. With several the states may
help each other: then it is looked at what is lost between two inputs, too (`places`).

Adjacency of real inputs: the changes Δ = q' - q that it allows, as boxes.

What a change costs is convex and homogeneous in Δ, so the worst change is a corner
of the set of all changes:

    linf r          the box [-r, r]^n           increasing r    [0, r]^n
    decreasing r    [-r, 0]^n                   l1 r            the points ± r at one input

For integer inputs r is rounded down. Where a change may be any number (l0 with at least one change,
`all`) costs grow without bound unless they are 0; then r = 1 at one input stands for all.

Between bounds an input changes by no more than their distance w_i, by 0 where nobody reads it: of
the boxes above what |Δ_i| <= w_i leaves; `all` is the box of all w_i, and l0 k are those of k
inputs. Corners of |Δ_i| <= w_i, Σ |Δ_i| <= r, for l1, are ± w_i at some inputs, what is left of r
at one more; where these are too many, the boxes |Δ_i| <= w of ⌈r / w⌉ inputs, w the largest w_i,
hold more than is allowed, which does no harm above; below, `allows` says what is adjacent.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from heapq import heappop, heappush
from itertools import combinations, compress, count, product
from math import ceil, comb, floor, gcd, lcm, prod
from typing import assert_never

from dipapprox.data_classes import Record, replace
from dipapprox.errors import BrokenInvariant
from dipapprox.language.core import Adjacency, Everyone, Listed, Norm, Within
from dipapprox.limits import check_limits
from dipapprox.linear.programme import Infeasible, Optimum
from dipapprox.proofs.cones import Cone, programme_of
from dipapprox.semantics.real_inputs import NotReal

Box = tuple[tuple[int, int], ...]
"""For every input the least and the greatest change, in multiples of a unit."""

Change = tuple[int, ...]  # a change of every input, in multiples of a unit


class Changes(Record):
    """Changes of inputs, all between adjacent ones among them: the convex hull of some boxes."""

    boxes: tuple[Box, ...]
    unit: Fraction  # what 1 stands for, >= 0
    is_bounded: bool = True  # if not, all multiples of the changes are allowed, too

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """How much an input changes at ends of the boxes, ascending."""
        ends = {abs(end) for box in self.boxes for each in box for end in each}
        return tuple([self.unit * end for end in sorted(ends)])

    def in_corners(self, most: int) -> Changes:
        """Return the same changes with the corners for boxes, if there are at most so many."""
        ends = [[sorted({*each}) for each in box] for box in self.boxes]
        if sum(prod(len(each) for each in box) for box in ends) > most:
            return self
        corners = (corner for box in ends for corner in product(*box))
        boxes = tuple(tuple((d, d) for d in corner) for corner in corners)
        return replace(self, boxes=tuple(dict.fromkeys(boxes)))


MOST_BOXES = 1_000  # boxes of l0 with bounds; where there are more, all inputs may change


def changes_of(
    adjacency: Adjacency, widths: Sequence[Fraction | None], integers: bool, *, proved: bool = False
) -> Changes:
    """Return the changes that an adjacency allows to real, or integer, inputs.

    Args:
        widths: By input, what it cannot change by more than; None if there is no bound.
        proved: Whether boxes are wanted as the kernel has them: no radius is shared in these.
    """
    inputs = len(widths)
    known = [width for width in widths if width is not None]
    match adjacency:
        case Listed():
            raise NotReal("a list of adjacent inputs does not speak of all real inputs")
        case Everyone() if len(known) == inputs:
            return _in_units([_box(known)])
        case Everyone():
            return Changes(_single(inputs), Fraction(1), is_bounded=False)
        case Within(norm=Norm.L0, radius=radius) if len(known) == inputs:
            return _in_units(_of_some(known, floor(radius)))
        case Within(norm=norm, radius=radius):
            if integers or norm is Norm.L0:
                radius = Fraction(floor(radius))
            most = [radius if width is None else min(radius, width) for width in widths]
            match norm:
                case Norm.LINF:
                    return _in_units([_box(most)])
                case Norm.INCREASING:
                    return _in_units([_box(most, low=0)])
                case Norm.DECREASING:
                    return _in_units([_box(most, high=0)])
                case Norm.L1:
                    if any(0 < each < radius for each in most):
                        return _in_units(_sharing(most, radius, MOST_BOXES * (not proved)))
                    return Changes(_single(inputs), max(most, default=radius))
                case Norm.L0:
                    return Changes(_single(inputs), min(radius, Fraction(1)), is_bounded=False)
            assert_never(norm)
    assert_never(adjacency)


_Ends = Sequence[tuple[Fraction, Fraction]]  # of every input the least and the greatest change


def _in_units(boxes: Sequence[_Ends]) -> Changes:
    """Return boxes as multiples of the greatest unit of which their ends are."""
    ends = [end for box in boxes for each in box for end in each]
    unit = Fraction(gcd(*(x.numerator for x in ends)), lcm(*(x.denominator for x in ends)))
    whole = unit or Fraction(1)
    found = (tuple((int(lo / whole), int(hi / whole)) for lo, hi in box) for box in boxes)
    return Changes(tuple(dict.fromkeys(found)), unit)


def _box(most: Sequence[Fraction], low: int = -1, high: int = 1) -> _Ends:
    return [(low * each, high * each) for each in most]


def _of_some(most: Sequence[Fraction], some: int) -> Sequence[_Ends]:
    """Changes of at most so many inputs at a time; of all where these are too many boxes."""
    some = min(some, len(most))
    if comb(len(most), some) > MOST_BOXES:
        return [_box(most)]
    chosen = map(frozenset, combinations(range(len(most)), some))
    return [_box([each * (k in own) for k, each in enumerate(most)]) for own in chosen]


def _sharing(most: Sequence[Fraction], radius: Fraction, ways: int) -> Sequence[_Ends]:
    """Changes of all inputs that together are at most a radius; more where ways are too many."""
    widths, found = {k: each for k, each in enumerate(most) if each}, list[_Ends]()
    if 2 ** len(widths) > ways:
        widest = max(most)
        return _of_some([widest if each else each for each in most], ceil(radius / widest))
    for chosen in product((False, True), repeat=len(widths)):
        own = dict(compress(widths.items(), chosen))
        left = radius - sum(own.values())
        last = [k for k, width in widths.items() if k not in own and width > left]
        if left >= 0 and (last or len(own) == len(widths)):
            boxes = ({**own, k: left} for k in last) if last else (own,)
            found += [_box([box.get(k, Fraction(0)) for k in range(len(most))]) for box in boxes]
    return found


def _single(inputs: int) -> tuple[Box, ...]:
    return tuple(
        tuple((sign, sign) if k == cell else (0, 0) for k in range(inputs))
        for cell in range(inputs)
        for sign in (1, -1)
    )


_ZERO = Fraction(0)
MOST_HALVED = 2_000  # boxes of one cone that are looked at before the bounds so far are the answer


class BoxShift(Record):
    """One shift of the noise that keeps a cone for every change in a box."""

    box: Box  # the changes
    shift: tuple[Fraction, ...]  # for every source of the cone, in multiples of the unit
    cost: Fraction  # Σ rate · |shift|, in multiples of unit · eps


class DearChange(Record):
    """A proof that a change is dear: Σ_g y_g · (row g) pays at least `cost` at `change`."""

    change: Change  # corner of a box
    # The y_g >= 0, for every row of the cone. If `cost` is finite, Σ_g y_g a_gi is at most the rate
    # of source i, or has the sign that its side leaves free, and `cost` is -Σ_g y_g c_g·Δ. If it is
    # None the rates are 0 and the sum is positive: no shift at all.
    flow: tuple[Fraction, ...]
    cost: Fraction | None  # in multiples of unit · eps; None for ∞


class StateProof(Record):
    """What one final state costs: for every change of inputs a shift that keeps it."""

    cone: Cone  # the state's guards
    dearest: DearChange  # the dearest change found, with its proof: a lower bound
    # Their boxes are together all changes; None if there is no bound, or none was found.
    shifts: tuple[BoxShift, ...] | None

    @property
    def upper(self) -> Fraction | None:
        """What the cone costs at most, in multiples of unit · eps; None for ∞ or unknown."""
        costs = None if self.shifts is None else [each.cost for each in self.shifts]
        return None if costs is None else max(costs, default=_ZERO)


class CostOfChanges:
    """Costs of the changes of one cone."""

    def __init__(self, cone: Cone) -> None:
        self._cone = cone
        self._programme = programme_of(cone.sources, [row.noise for row in cone.rows])

    def at(self, change: Change) -> DearChange:
        """Return the cost of one change, of any integers, with its proof."""
        found = self._solve(tuple((each, each) for each in change))
        return DearChange(change, found.flow, found.value if isinstance(found, Optimum) else None)

    def worst(self, boxes: Sequence[Box]) -> StateProof:
        """Return the worst of all changes in some boxes, or bounds of its cost."""
        cone, todo, halved = self._cone, [*boxes], 0
        nothing = (0,) * (len(boxes[0]) if boxes else 0), (_ZERO,) * len(cone.rows)
        dearest, most, done = DearChange(*nothing, _ZERO), _ZERO, list[BoxShift]()
        # Boxes without a shift first, then the dearest; of equals the latest.
        waiting: list[tuple[tuple[bool, Fraction], int, Box, BoxShift | None, int]] = []
        order = count(0, -1)
        while True:
            for box in todo:
                change, shift, place = self._look_at(box)
                if change is not None and change.cost is None:
                    return StateProof(cone, change, None)
                if change is not None and change.cost is not None and change.cost > most:
                    dearest, most = change, change.cost
                if shift is not None and place is None:
                    done.append(shift)
                else:
                    rank = (False, _ZERO) if shift is None else (True, -shift.cost)
                    heappush(waiting, (rank, next(order), box, shift, place or 0))
            if not waiting or halved == MOST_HALVED:
                break
            _, _, box, shift, place = heappop(waiting)
            if shift is not None and shift.cost <= most:
                done.append(shift)
                todo = []
                continue
            check_limits()
            halved += 1
            todo = [(*box[:place], (end, end), *box[place + 1 :]) for end in box[place]]
        known = [shift for _, _, _, shift, _ in waiting]
        kept = [shift for shift in known if shift is not None]
        return StateProof(cone, dearest, (*done, *kept) if len(kept) == len(known) else None)

    def _look_at(self, box: Box) -> tuple[DearChange | None, BoxShift | None, int | None]:
        """Solve for a box: a dear change in it, a shift for all of them, and at which input it may
        be halved; None for none, and where the shift costs no more than the change."""
        found = self._solve(box)
        totals: dict[int, Fraction] = {}  # Σ_g y_g c_gk
        pays: dict[int, Fraction] = {}  # Σ_g y_g times the largest -c_gk·Δ_k in the box
        for flow, row in zip(found.flow, self._cone.rows, strict=True):
            if flow:
                for k, c in row.inputs:
                    totals[k] = totals.get(k, _ZERO) + flow * c
                    pays[k] = pays.get(k, _ZERO) + flow * max(-c * end for end in box[k])
        ends = [(lo if totals.get(k, _ZERO) > 0 else hi) for k, (lo, hi) in enumerate(box)]
        gaps = {k: pays[k] + totals[k] * ends[k] for k in pays}
        value = -sum((totals[k] * ends[k] for k in totals), _ZERO)
        change, widest = tuple(ends), max(gaps, key=lambda k: gaps[k], default=0)
        if isinstance(found, Infeasible):
            return DearChange(change, found.flow, None) if value > 0 else None, None, widest
        shift = self._shift(box, found)
        if value == shift.cost:
            return DearChange(change, found.flow, value), shift, None
        return self.at(change), shift, widest

    def _solve(self, box: Box) -> Optimum[int] | Infeasible:
        """Solve for the least right sides in a box."""
        rows = [row.inputs for row in self._cone.rows]
        ends = [sum(min(c * box[k][0], c * box[k][1]) for k, c in row) for row in rows]
        return self._programme.solve(ends)

    def _shift(self, box: Box, found: Optimum[int]) -> BoxShift:
        moved = tuple(found.shift.values())
        for source, shift in zip(self._cone.sources, moved, strict=True):
            if source.is_integer and shift.denominator != 1:
                raise BrokenInvariant("an integer sample is shifted by a fraction")
        return BoxShift(box, moved, found.value)
