"""Lower bounds between two inputs: what an output loses there as eps vanishes.

**Theorem.** Let q, q' be adjacent inputs and p, p' the probabilities of an output there. If p / p'
tends to 1 as eps goes to 0 and ln(p / p') / eps to s, then no budget D < s serves every eps; none
at all does if p / p' tends to more than 1. For ln(p / p') <= D eps has to hold at all small eps.
What parts that share no noise lose adds up.

The probabilities are closed forms in eps, so the limits are exact. Where outputs stay possible as
noise grows, the logarithms of their probabilities have derivatives at eps = 0 that are mostly
linear in the inputs. So they are taken input by input, at two corners of the inputs, and say which
changes of adjacent inputs are worth a look, there and where a guard is an equality without noise:
logarithms bend there. What is looked at is computed itself.

At one eps. A budget D serves an eps if ln(p / p') <= D eps. The largest ln(p / p') / eps may lie
neither where eps vanishes nor where it grows: then pairs of inputs and eps are looked for by
climbing, from pairs that promise much. Doubles guide the search; what is found is enclosed, and
rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, islice, takewhile

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.precision import precision
from dipapprox.data_classes import Record
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs.supremum import LimitAtZero, near_zero, without_common
from dipapprox.exact.signs.values import ball_at, enclose_at
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.core import Norm, Within
from dipapprox.limits import at_most
from dipapprox.numerics.intervals import logarithm
from dipapprox.pairs.adjacency import allows
from dipapprox.proofs.two_inputs import (
    LostOutput,
    Point,
    RealInputs,
    TwoInputs,
    climbed,
    lost_between,
    most_lost,
)
from dipapprox.semantics.parts import ProgramPart
from dipapprox.semantics.state import FinalStates

MOST_FORMS = 600  # final states times inputs at which their probabilities are asked for
MOST_CHANGES = 6  # that are looked at
_PIECES = 500  # into which the event of a state may be split: more take seconds
_STEEP = Fraction(10**6)  # stands for the slope where probabilities differ by a factor
_ZERO = Fraction(0)


class Closed(Record):
    """A program whose parts have closed forms."""

    inputs: RealInputs  # its inputs, and how they may change
    parts: tuple[ClosedPart, ...]  # those parts that read inputs and publish no real numbers
    # Changes that promise much, the dearest first, each with inputs to try.
    starts: tuple[tuple[Point, Point], ...]


def closed(
    parts: Sequence[ProgramPart],
    states: Sequence[FinalStates],
    turns: Sequence[Collection[Fraction]],
    inputs: RealInputs,
) -> Closed | None:
    """Return a program in closed form, with pairs of adjacent inputs that promise much.

    Parts that publish real numbers, or have no closed forms, count for nothing. None if states are
    too many.

    Args:
        states: For each part its final states, for all inputs.
        turns: For each input where the logarithms of probabilities may bend.
        inputs: Which change by numbers that have a bound.
    """
    search = _Changes(inputs)
    corners = search.corners()
    points = sum(len(part.inputs) + 1 for part in parts for _ in corners) + 2 * MOST_CHANGES
    room = MOST_FORMS // max(1, sum(len(each.states) for each in states)) - points
    if room < 0:
        return None
    known = [
        ClosedPart(number, part, each)
        for number, (part, each) in enumerate(zip(parts, states, strict=True))
        if not part.program.real_outputs and part.inputs
    ]
    slopes = [each.slopes(corners) for each in known]
    most = 2 + room // (2 * MOST_CHANGES)
    starts = [
        (first, tuple([a + d for a, d in zip(first, change, strict=True)]))
        for change in search.dear(known, slopes)
        for first in islice(search.starts(change, turns), most)
    ]
    return Closed(inputs, tuple(known), tuple(starts))


def as_eps_vanishes(known: Closed, pairs: Iterable[tuple[Point, Point]]) -> TwoInputs | None:
    """Return the pair of adjacent inputs between which most is lost as eps vanishes.

    None if nothing is lost between any of them.
    """
    places = list[TwoInputs]()
    for first, second in pairs:
        losses = chain.from_iterable(each.losses(first, second) for each in known.parts)
        lost = lost_between(first, second, losses, _ZERO)
        places += [] if lost is None else [lost]
        if lost is not None and lost.loss is None:
            break
    return most_lost(places)


_Corner = tuple[Point, list[Fraction]]
"""Inputs, and how far each may be changed to the side on which the others lie."""


class _Changes:
    """Looks for changes of adjacent inputs, and for inputs that may be changed so."""

    def __init__(self, inputs: RealInputs) -> None:
        self._inputs, self._count = inputs, len(inputs.bounds)
        most = inputs.radius
        self._reach = [most if b is None else min(most, b[1] - b[0]) for b in inputs.bounds]

    def corners(self) -> list[_Corner]:
        return [(self._ends([side] * self._count), [side * r for r in self._reach])
                for side in (1, -1)]  # fmt: skip

    def _ends(self, sides: Sequence[int]) -> Point:
        """Return inputs with others on given sides: ends of the bounds; 0 where there are none."""
        pairs = zip(self._inputs.bounds, sides, strict=True)
        return tuple([_ZERO if b is None else b[0 if side > 0 else 1] for b, side in pairs])

    def starts(self, change: Point, turns: Sequence[Collection[Fraction]]) -> Iterator[Point]:
        """Yield inputs that may be changed so: at ends, then to or from where something turns."""
        sides = ([(d > 0) - (d < 0) or side for d in change] for side in (1, -1))
        found = dict.fromkeys(map(self._ends, sides))
        yield from found
        has = self._inputs.has
        for corner in found:
            for k, moved in enumerate(change):
                for value in sorted({each - d for each in turns[k] for d in (_ZERO, moved)}):
                    start = (*corner[:k], value, *corner[k + 1 :])
                    if has(k, value) and has(k, value + moved) and start not in found:
                        yield start

    def _dearest(self, slopes: Sequence[Fraction]) -> Point:
        """Return a change of adjacent inputs for which Σ slope · change is large: greedily; where
        inputs share what they change by, what each is worth does not matter, but a unit of it."""
        adjacency, found = self._inputs.adjacency, [_ZERO] * self._count
        shared = isinstance(adjacency, Within) and adjacency.norm is Norm.L1
        worth = [
            abs(a) * (1 if shared else most) for a, most in zip(slopes, self._reach, strict=True)
        ]
        for k in sorted(range(self._count), key=worth.__getitem__, reverse=True):
            side, most = (slopes[k] > 0) - (slopes[k] < 0), self._reach[k]
            sizes = {step * most for step in (*self._inputs.steps, _ZERO)}
            for size in sorted(sizes.union(self._inputs.sizes), reverse=True):
                found[k] = side * min(size, most)
                if allows(adjacency, found):
                    break
        return tuple(found)

    def dear(
        self, parts: Sequence[ClosedPart], slopes: Sequence[Sequence[Sequence[Fraction]]]
    ) -> list[Point]:
        """Return changes that promise much, the dearest first.

        Slopes say for each part by output how its logarithm changes with each input of the program.
        """

        def promise(change: Point) -> Fraction:
            return sum((max((_dot(s, change) for s in e), default=_ZERO) for e in slopes), _ZERO)

        # All parts at once, each as it likes most; inputs that several read follow the last.
        together = dict[int, Fraction]()
        found = dict[Point, None]()
        for part, each in zip(parts, slopes, strict=True):
            liked = [(self._dearest(slope), slope) for slope in each]
            found |= {change: None for change, _ in liked}
            if liked:
                change, _ = max(liked, key=lambda pair: _dot(*pair))
                together |= {k: change[k] for k in part.inputs}
        found[tuple([together.get(k, _ZERO) for k in range(self._count)])] = None
        adjacency = self._inputs.adjacency
        changes = [each for each in found if any(each) and allows(adjacency, each)]
        return sorted(changes, key=promise, reverse=True)[:MOST_CHANGES]


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), _ZERO)


class ClosedPart:
    """A part, and its probabilities in closed form."""

    def __init__(self, number: int, part: ProgramPart, states: FinalStates) -> None:
        self.number, self.inputs, self.outputs = number, part.inputs, states.outputs
        self._exact = ExactDistributions(states, None)
        self._known = dict[Point, tuple[ExponentialRatio, ...] | None]()

    def slopes(self, corners: Sequence[_Corner]) -> list[list[Fraction]]:
        """Return the derivatives of -ln Pr[output] by every input, as eps vanishes, over eps."""
        found = list[list[Fraction]]()
        for corner, steps in corners:
            columns = list[list[Fraction]]()
            for k in range(len(corner)):
                moved = (*corner[:k], corner[k] + steps[k], *corner[k + 1 :])
                if k not in self.inputs or not steps[k]:
                    columns.append([_ZERO] * len(self.outputs))
                    continue
                near = self._near(corner, moved)
                columns.append([_slope(each, steps[k]) for each in near])
            found += [list(each) for each in zip(*columns, strict=True)]
        return [each for each in found if any(each)]

    def losses(self, first: Point, second: Point) -> Iterator[LostOutput]:
        """Yield what outputs lose from the first to the second."""
        for output, each in zip(self.outputs, self._near(first, second), strict=True):
            if each is not None:
                is_endless = each.jump is None or each.jump > 1
                loss = None if is_endless else each.slope or _ZERO
                yield LostOutput(self.number, tuple(output), loss)

    def _near(self, first: Point, second: Point) -> list[LimitAtZero | None]:
        """Return the limits of Pr[output | first] / Pr[output | second]; None for what has none."""
        p, q = self.distribution(first), self.distribution(second)
        if p is None or q is None:
            return [None] * len(self.outputs)
        return [
            near_zero(*without_common(a, b)) if a.numerator and b.numerator else None
            for a, b in zip(p, q, strict=True)
        ]

    def distribution(self, point: Point) -> tuple[ExponentialRatio, ...] | None:
        """Return the probabilities of all outputs; None for none in closed form."""
        own = tuple([point[k] for k in self.inputs])
        if own not in self._known:
            with at_most(pieces=_PIECES):
                found = self._exact.distribution(own)
            self._known[own] = None if isinstance(found, NotEnclosed) else found
        return self._known[own]


def _slope(near: LimitAtZero | None, step: Fraction) -> Fraction:
    if near is None or near.jump == 0:
        return _ZERO
    if near.jump is None or near.jump != 1:
        return (_STEEP if near.jump is None or near.jump > 1 else -_STEEP) / step
    return (near.slope or _ZERO) / step


EPSILONS = tuple(Fraction(4) ** k for k in range(-2, 4))  # from which it is climbed
MOST_SEEDS = 3
MOST_TERMS = 6_000  # of all probabilities that are asked for: what is found by then is the answer
_FACTORS = (Fraction(2), Fraction(1, 2), Fraction(5, 4), Fraction(4, 5))
_BITS = 100
_UNIT = 10**6  # bounds are rounded down to multiples of 1 / this
_GAINS = 1e7  # steps of a height of 1 that are told from each other


Place = tuple[Point, Point, Fraction]  # two adjacent inputs, and an eps


def dearest_place(known: Closed, pairs: Sequence[tuple[Point, Point]]) -> Place | None:
    """Return where much is lost, as far as doubles tell; None if nothing is."""
    return _Search(known).best(pairs)


def lost_at(known: Closed, place: Place) -> TwoInputs | None:
    """Return what is lost at a place, rounded down; None if that is nothing."""
    losses, (first, second, eps) = list[LostOutput](), place
    for part in known.parts:
        before, after = part.distribution(first), part.distribution(second)
        for output, p, q in zip(part.outputs, before or (), after or (), strict=False):
            if not p.numerator or not q.numerator:
                continue
            ours, theirs = (enclose_at(each, eps, _BITS) for each in (p, q))
            if isinstance(ours, NotEnclosed) or isinstance(theirs, NotEnclosed):
                continue
            if ours.lower <= 0 or theirs.lower <= 0:
                continue
            gained = logarithm(ours, _BITS).lower - logarithm(theirs, _BITS).upper
            loss = Fraction(math.floor(gained / eps * _UNIT), _UNIT)
            losses.append(LostOutput(part.number, tuple(output), loss))
    return lost_between(first, second, losses, eps)


class _Search:
    def __init__(self, known: Closed) -> None:
        self._known = known
        self._terms = dict[tuple[int, Point], int]()
        self._left = MOST_TERMS
        self._logs = dict[tuple[int, Point, Fraction], list[float | None]]()

    def best(self, pairs: Sequence[tuple[Point, Point]]) -> Place | None:
        heights = dict[Place, int]()
        for pair in dict.fromkeys(pairs):
            if self._left < MOST_TERMS // 2:
                break
            places = [(*pair, eps) for eps in EPSILONS]
            heights.update({each: self._height(each) for each in places})
        chosen = dict[tuple[Point, Point], Place]()
        for seed in sorted(heights, key=heights.__getitem__, reverse=True):
            chosen.setdefault(seed[:2], seed)
        dearest = [*chosen.values()][:MOST_SEEDS]
        tops = [climbed(each, self._near, self._height) for each in dearest]
        return max(tops, key=self._height, default=None)

    def _near(self, place: Place) -> Iterator[Place]:
        """Yield places with another eps, or with one input moved."""
        first, second, eps = place
        found = ((first, second, eps * k) for k in _FACTORS)
        moved = ((*pair, eps) for pair in self._known.inputs.near(first, second))
        return takewhile(lambda _: self._left > 0, chain(found, moved))

    def _height(self, place: Place) -> int:
        """Return about what is lost at a place, in small multiples of eps."""
        (*points, eps), total = place, 0.0
        for part in self._known.parts:
            before, after = (self._of(part, q, eps) for q in points)
            pairs = zip(before, after, strict=False)
            total += max((p - q for p, q in pairs if p is not None and q is not None), default=0.0)
        return math.floor(_GAINS * total / float(eps))

    def _of(self, part: ClosedPart, point: Point, eps: Fraction) -> list[float | None]:
        """Return about the logarithms of the probabilities of all outputs; None for 0."""
        own = tuple([point[k] for k in part.inputs])
        key = part.number, own, eps
        if key not in self._logs:
            found: list[float | None] = []
            values = part.distribution(point) or ()
            if (part.number, own) not in self._terms:
                self._terms[part.number, own] = sum(
                    len(each.numerator.terms) + sum(len(f.terms) for f, _ in each.denominator)
                    for each in values
                )
                self._left -= 20 + self._terms[part.number, own]
            for each in values:
                with precision(100):
                    log = ball_at(each.at(eps)).log() if each.numerator else None
                middle = None if log is None else float(log.mid())
                found.append(middle if middle is not None and math.isfinite(middle) else None)
            self._logs[key] = found
        return self._logs[key]
