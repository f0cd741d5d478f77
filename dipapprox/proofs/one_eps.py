"""Lower bounds at one eps: what an output loses there between two inputs.

A budget D serves an eps if ln(p / p') <= D eps for the probabilities p, p' of an output at all
adjacent inputs. The largest ln(p / p') / eps may lie neither where eps vanishes nor where it grows:
then pairs of inputs and eps are looked for by climbing, from pairs that promise much. Doubles
guide the search; what is found is enclosed, and rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, takewhile

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.arithmetic.precision import precision
from dipapprox.data_classes import dataclass
from dipapprox.exact.signs.values import ball_at, enclose_at
from dipapprox.exponentials import ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.numerics.intervals import logarithm
from dipapprox.proofs.point_costs import Point
from dipapprox.proofs.two_inputs import LostOutput, TwoInputs, climbed
from dipapprox.proofs.vanishing import Closed, ClosedPart

EPSILONS = tuple(Fraction(4) ** k for k in range(-2, 4))
"""From which it is climbed."""

MOST_SEEDS = 3
MOST_TERMS = 6_000
"""Of all probabilities that are asked for: what is found by then is the answer."""

_FACTORS = (Fraction(2), Fraction(1, 2), Fraction(5, 4), Fraction(4, 5))
_BITS = 100
_UNIT = 10**6
"""Bounds are rounded down to multiples of 1 / this."""

_GAINS = 1e7
"""Steps of a height of 1 that are told from each other."""


@dataclass(frozen=True, slots=True)
class InputsAtEps:
    """Two adjacent inputs, and an eps."""

    first: Point
    second: Point
    eps: Fraction


def dearest_place(known: Closed, pairs: Sequence[tuple[Point, Point]]) -> InputsAtEps | None:
    """Return where much is lost, as far as doubles tell; None if nothing is.

    Args:
        known: The program.
        pairs: Of adjacent inputs, from which it is climbed.
    """
    return _Search(known).best(pairs)


def lost_at(known: Closed, place: InputsAtEps, limits: Limits) -> TwoInputs | None:
    """Return what is lost at a place, rounded down; None if that is nothing."""
    losses = []
    for part in known.parts:
        best: LostOutput | None = None
        before, after = part.distribution(place.first), part.distribution(place.second)
        for output, p, q in zip(part.outputs, before or (), after or (), strict=False):
            if not p.numerator or not q.numerator:
                continue
            ours, theirs = (enclose_at(each, place.eps, _BITS, limits) for each in (p, q))
            if isinstance(ours, NotEnclosed) or isinstance(theirs, NotEnclosed):
                continue
            if ours.lower <= 0 or theirs.lower <= 0:
                continue
            gained = logarithm(ours, _BITS).lower - logarithm(theirs, _BITS).upper
            loss = Fraction(math.floor(gained / place.eps * _UNIT), _UNIT)
            if loss > 0 and (best is None or best.loss is None or loss > best.loss):
                best = LostOutput(part.number, tuple(output), loss)
        if best is not None:
            losses.append(best)
    return TwoInputs(place.first, place.second, tuple(losses), place.eps) if losses else None


class _Search:
    def __init__(self, known: Closed) -> None:
        self._known = known
        self._terms = dict[tuple[int, Point], int]()
        self._left = MOST_TERMS
        self._logs = dict[tuple[int, Point, Fraction], list[float | None]]()

    def best(self, pairs: Sequence[tuple[Point, Point]]) -> InputsAtEps | None:
        """Return the best place that is found by climbing from the best pairs."""
        seeds = list[tuple[int, int, InputsAtEps]]()
        for pair in dict.fromkeys(pairs):
            if self._left < MOST_TERMS // 2:
                break
            places = [InputsAtEps(*pair, eps) for eps in EPSILONS]
            seeds += [(-self._height(each), len(seeds) + k, each) for k, each in enumerate(places)]
        chosen = dict[tuple[Point, Point], InputsAtEps]()
        for _, _, seed in sorted(seeds, key=lambda each: each[:2]):
            chosen.setdefault((seed.first, seed.second), seed)
        dearest = [*chosen.values()][:MOST_SEEDS]
        tops = [climbed(each, self._near, self._height) for each in dearest]
        return max(tops, key=self._height, default=None)

    def _near(self, place: InputsAtEps) -> Iterator[InputsAtEps]:
        """Yield places with another eps, or with one input moved."""
        found = (InputsAtEps(place.first, place.second, place.eps * k) for k in _FACTORS)
        near = self._known.inputs.near(place.first, place.second)
        moved = (InputsAtEps(*pair, place.eps) for pair in near)
        return takewhile(lambda _: self._left > 0, chain(found, moved))

    def _height(self, place: InputsAtEps) -> int:
        """Return about what is lost at a place, in small multiples of eps."""
        total = 0.0
        for part in self._known.parts:
            before, after = (self._of(part, q, place.eps) for q in (place.first, place.second))
            pairs = zip(before, after, strict=False)
            total += max((p - q for p, q in pairs if p is not None and q is not None), default=0.0)
        return math.floor(_GAINS * total / float(place.eps))

    def _of(self, part: ClosedPart, point: Point, eps: Fraction) -> list[float | None]:
        """Return about the logarithms of the probabilities of all outputs; None for 0."""
        own = tuple([point[k] for k in part.inputs])
        key = part.number, own, eps
        if key not in self._logs:
            found: list[float | None] = []
            values = part.distribution(point) or ()
            if (part.number, own) not in self._terms:
                self._terms[part.number, own] = sum(map(_size, values))
                self._left -= 20 + self._terms[part.number, own]
            for each in values:
                with precision(100):
                    log = ball_at(each.at(eps)).log() if each.numerator else None
                middle = None if log is None else float(log.mid())
                found.append(middle if middle is not None and math.isfinite(middle) else None)
            self._logs[key] = found
        return self._logs[key]


def _size(value: ExponentialRatio) -> int:
    """Return how many terms a function has."""
    return len(value.numerator.terms) + sum(len(f.terms) for f, _ in value.denominator)
