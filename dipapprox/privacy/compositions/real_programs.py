"""From a program that publishes real numbers, at one eps, to its worst pairs, ever finer.

All that is known of such a program are its least deltas, enclosed at single places x = e^eps_prv.
Of an ordered pair (P, Q) of adjacent inputs let l_i <= H(x_i) <= u_i at places x_0 < x_1 < …, below
1 by way of the reversed pair, which is adjacent, too. H is convex, and H(∞) is P(Q = 0).

From above. The chords of the u are above it; and so is the hull of the largest of all pairs, as for
finite outputs (`programs`).

From below. Beyond two places H is above their line; for x_i <= x <= x_(i+1)

    H(x) >= l_i + (l_i - u_(i-1)) / (x_i - x_(i-1)) (x - x_i),
    H(x) >= l_(i+1) - (u_(i+2) - l_(i+1)) / (x_(i+2) - x_(i+1)) (x_(i+1) - x),

and H >= H(∞), and H >= 1 - x Q(P > 0). The greater of the first two bends where they meet. The
lower hull of all these corners is convex and below H; where it is below the profile of a pair, that
one is what is left of (P, Q) after some post-processing (Blackwell), in compositions, too. A chain
of chords from (0, 1) to a limit is the profile of finitely many atoms. The places are where the two
bounds are farthest apart.

Pairs that look alike are looked at once. A pair is left out if another one's u are at least its
own, at all places: then its H is below the chords of that one. As long as its own chords between
older places show that, it is not looked at again. All others are what whoever runs the program may
choose from, in each run another one (`composition.adaptive`). Where inputs are real, or pairs are
too many, all of them together are looked at, and one of them, which is run from below.

Sources: Blackwell, Equivalent comparisons of experiments, 1953; Dong, Roth, Su, Gaussian
differential privacy, 2022, theorem 2.10.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, islice, pairwise
from math import exp, log, sqrt

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.composition.divergences import Point, lower_hull
from dipapprox.composition.mechanisms import Adjacency, Between, Masses
from dipapprox.data_classes import Record
from dipapprox.errors import LimitReached, UserError
from dipapprox.limits import check_limits
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.maximum import Maximum
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.compositions.programs import atoms_of_chain, ends_of, hull, reversed_pair
from dipapprox.privacy.profiles.profile import Profiler
from dipapprox.privacy.run import Setting
from dipapprox.privacy.subjects import executed_for, open_published
from dipapprox.semantics.execution import execute

_ZERO, _ONE = Fraction(0), Fraction(1)
_UNIT = 1 << 160  # of deltas that are whole numbers
_PLACE_BITS = 40
_FIRST = 0.25  # the least distance of losses that are looked at first,
_FARTHER = 1 / 8  # and that of large ones, as a share of them
_FARTHEST = 40.0  # losses beyond this are not looked at
_FEW_PLACES, _MOST_PLACES = 12, 400
_FINER = 4  # how much less than before bounds are to be apart
_NARROWER = 3  # where they are so many times less apart than anywhere, they are left alone
_RARE = 0.4  # by this power of what is rare bounds count for more
_MOST_PAIRS = 2_000
_MOST_KEPT = 64
_ALIKE = _UNIT >> 44  # pairs are not told apart by less
_FEWEST_BITS = 34
_LIKELY = Fraction(1, 100)  # a delta where the pair is looked for that is run alone
Known = tuple[Fraction, Fraction, Fraction]  # x, and what H(x) is between
_Values = list[tuple[int, int]]


def has_few_pairs(setting: Setting) -> bool:
    """Whether pairs are looked at one by one."""
    return not setting.is_real and len([*islice(setting.pairs(), _MOST_PAIRS + 1)]) <= _MOST_PAIRS


class _Source(Record, eq=False):
    """Classes of pairs that look alike, by their numbers."""

    reverses: Sequence[int]  # the numbers of the reversed pairs; none if no two are adjacent
    at: Callable[[Sequence[int], Factor], Sequence[Enclosure]]  # the deltas of some classes
    several: bool  # whether these are all classes, one pair each; else the first one is of all


def _listed(setting: Setting, eps: Fraction, bits: int) -> _Source:
    """Few pairs, those that look alike once."""
    options = setting.options
    states = execute(setting.program, options.merge, real_outputs=True)
    divergences = open_published(states, eps, options)
    couplings = Couplings(states, eps) if options.compares_exactly else None
    first: dict[object, Pair] = {}
    for pair in setting.pairs():
        check_limits()
        first.setdefault(divergences.terms(pair), pair)
    numbers = {terms: number for number, terms in enumerate(first)}
    pairs = [*first.values()]

    def at(numbers: Sequence[int], factor: Factor) -> Sequence[Enclosure]:
        wanted = [pairs[k] for k in numbers]
        together = PublishedPairs(divergences, lambda: wanted, len(wanted), couplings)
        together.at(factor, bits)
        if together.obstacle is not None:
            raise LimitReached(f"no enclosure: {together.obstacle}")
        known = dict(together.deltas)
        return [known[pair] for pair in wanted]

    return _Source([numbers[divergences.terms((v, u))] for u, v in pairs], at, True)


def _together(setting: Setting, eps: Fraction) -> _Source:
    """All pairs together; and one of them, and its reverse."""

    def opened(setting: Setting) -> Callable[[Sequence[Factor]], list[Maximum]]:
        return Profiler(setting, eps, executed_for(setting)).maxima.largest

    maxima, first = [opened(setting)], dict[Factor, Maximum]()

    def all_at(factor: Factor) -> Maximum:
        if factor not in first:
            (first[factor],) = maxima[0]([factor])
        return first[factor]

    def at(numbers: Sequence[int], factor: Factor) -> Sequence[Enclosure]:
        return [maxima[k]([factor])[0].delta if k else all_at(factor).delta for k in numbers]

    for loss in _losses():
        place = _place(loss)
        if all_at(Factor(place, place)).delta.upper <= _LIKELY:
            break
    pair = min(first.values(), key=lambda each: abs(each.delta.upper - _LIKELY)).pair
    if pair is None:
        return _Source([], at, False)
    maxima += [opened(setting.about(each)) for each in (pair, pair[::-1])]
    return _Source([0, 2, 1], at, False)


class _Class(Record, frozen=False):
    """Pairs that look alike."""

    reverse: int  # the number of the class of the reversed pairs
    lower: dict[Fraction, int]  # l by the place; none where nothing is known but chords
    upper: dict[Fraction, int]  # u, or chords
    limit: int = 0  # at most H(∞)


class RefinedPairs:
    """The pairs of a program, at ever more places.

    Args:
        setting: A program with real outputs and a symmetric adjacency, all pairs.
        accuracy: Deltas below that are none.

    Raises:
        UserError: If no two inputs are adjacent.
    """

    @sound_arithmetic()
    def __init__(
        self, setting: Setting, eps: Fraction, adjacency: Adjacency, accuracy: Fraction
    ) -> None:
        self._adjacency = adjacency
        bits = max(_FEWEST_BITS, (1 / accuracy).__ceil__().bit_length())
        listed = has_few_pairs(setting)
        self._source = _listed(setting, eps, bits) if listed else _together(setting, eps)
        if not self._source.reverses:
            raise UserError(f"'{setting.program.name}': no two different inputs are adjacent")
        self._classes = [_Class(reverse, {}, {}) for reverse in self._source.reverses]
        self._places: list[Fraction] = []
        negligible = max((accuracy * _UNIT).__ceil__(), 2 * _UNIT >> bits)
        every = range(len(self._classes))
        for loss in _losses():
            place = _place(loss)
            self._know(every, place, self._values(every, place))
            if max(each.upper[place] for each in self._classes) <= negligible:
                break
        last = self._values(every, self._places[-1], endless=True)
        for each, (limit, _) in zip(self._classes, last, strict=True):
            each.limit = limit
        self._kept = self._undominated()
        while len(self._places) < _FEW_PLACES and self._look_between():
            pass

    def _values(self, numbers: Sequence[int], place: Fraction, *, endless: bool = False) -> _Values:
        check_limits()
        found = self._source.at(numbers, Factor(place, None if endless else place))
        return [
            (max((each.lower * _UNIT).__floor__(), 0), (each.upper * _UNIT).__ceil__())
            for each in found
        ]

    def _know(self, numbers: Iterable[int], place: Fraction, values: _Values) -> None:
        self._places.insert(bisect_left(self._places, place), place)
        for k, (low, high) in zip(numbers, values, strict=True):
            self._classes[k].lower[place] = low
            self._classes[k].upper[place] = min(high, _UNIT)

    @sound_arithmetic()
    def refine(self) -> bool:
        """Look at more places, so that bounds are nearer; False if there are too many."""
        gap, step, finer = self._widest() / _FINER, self._resolution / 2, False
        while self._widest() > gap or self._resolution > step:
            if len(self._places) >= _MOST_PLACES or not self._look_between():
                break
            finer = True
        return finer

    def _needed(self) -> set[int]:
        """Those that are kept, and their reverses."""
        return {c for k in self._kept for c in (k, self._classes[k].reverse)}

    def _widest(self) -> float:
        return max((gap for gap, _ in self._gaps()), default=0.0)  # inputs may change nothing

    def _gaps(self) -> list[tuple[float, Fraction]]:
        """How far bounds are apart between neighbours, about, at most; and where."""
        each = [_gaps(self._known(k)) for k in sorted(self._needed())]
        return [max(several) for several in zip(*each, strict=True)]

    def _look_between(self) -> bool:
        """Look at places where bounds are far apart; False if there are none."""
        gaps = self._gaps()
        widest = max((gap for gap, _ in gaps), default=0.0)
        new = sorted({x for gap, x in gaps if gap > widest / _NARROWER} - {*self._places})
        if not new or widest <= 0:
            return False
        chords = [self._chords(k, new) for k in range(len(self._classes))]
        values: dict[int, _Values] = {}
        needed = self._needed()
        while missing := sorted(needed - values.keys()):
            rows = [self._values(missing, place) for place in new]
            for at, k in enumerate(missing):
                values[k] = [row[at] for row in rows]
            for k, each in enumerate(self._classes):
                pair = k, each.reverse
                own = [[u for _, u in values[c]] if c in values else chords[c] for c in pair]
                if not any(self._covers(other, own, values) for other in self._kept):
                    needed |= {*pair}
        for k, each in enumerate(self._classes):
            if k in values:
                each.lower.update((x, low) for x, (low, _) in zip(new, values[k], strict=True))
            tops = [u for _, u in values[k]] if k in values else chords[k]
            each.upper.update(zip(new, tops, strict=True))
        self._places = sorted([*self._places, *new])
        self._kept = self._undominated()
        for k in self._needed():
            lower = self._classes[k].lower
            for x in [x for x in self._places if x not in lower]:
                ((lower[x], _),) = self._values([k], x)
        return True

    def _covers(
        self, number: int, own: Sequence[Sequence[int]], values: dict[int, _Values]
    ) -> bool:
        """Whether at new places a class that is kept is above given bounds, both ways round."""
        for mine, theirs in zip(own, (number, self._classes[number].reverse), strict=True):
            if any(u > most + _ALIKE for u, (_, most) in zip(mine, values[theirs], strict=True)):
                return False
        return True

    def _uppers(self, number: int) -> list[int]:
        """u at all places: H does not increase, enclosures may."""
        own = self._classes[number].upper
        return [*accumulate((own[x] for x in self._places), min)]

    def _chords(self, number: int, new: Sequence[Fraction]) -> list[int]:
        upper, old, found = self._uppers(number), self._places, []
        for place in new:
            k = bisect_left(old, place) - 1
            share = (place - old[k]) / (old[k + 1] - old[k])
            found.append((upper[k] + share * (upper[k + 1] - upper[k])).__ceil__())
        return found

    def _undominated(self) -> list[int]:
        """Choose classes one of which is above each of all, but for next to nothing."""
        if not self._source.several:
            return [0, 1]
        uppers = [self._uppers(k) for k in range(len(self._classes))]
        both = [[*uppers[k], *uppers[each.reverse]] for k, each in enumerate(self._classes)]
        kept: list[int] = []
        for k in sorted(range(len(both)), key=lambda k: sum(both[k]), reverse=True):
            if not any(
                all(u <= most + _ALIKE for u, most in zip(both[k], both[other], strict=True))
                for other in kept
            ):
                kept.append(k)
        return kept

    def between(self) -> Between:
        """Return what is known of the program.

        Raises:
            LimitReached: If there are too many worst pairs.
        """
        if len(self._kept) > _MOST_KEPT:
            raise LimitReached(f"more than {_MOST_KEPT} worst pairs")
        uppers = [self._uppers(k) for k in range(len(self._classes))]
        tops = [*map(max, zip(*uppers, strict=True))]
        above = hull([(x, Fraction(u, _UNIT)) for x, u in zip(self._places, tops, strict=True)])
        likely = min(range(len(tops)), key=lambda j: abs(tops[j] - _LIKELY * _UNIT))
        several, alone = self._source.several, 1
        if several:
            alone = max(self._kept, key=lambda k: uppers[k][likely])
        worst = self._kept if len(self._kept) > 1 and several else []
        return Between(
            *ends_of(above, self._below(alone), self._adjacency),
            tuple(map(self._above, worst)),
            tuple(map(self._below, worst)),
            exact=several and not worst,
            resolution=self._resolution,
        )

    @property
    def _resolution(self) -> float:
        """The step of a grid, of losses, that costs about what places do of a class that is kept.

        What is between the bounds moves the variance of losses by about 2 Σ gap width, where a step
        h moves it by h² / 6.
        """
        gaps = _gaps(self._known(self._kept[-1]), weighed=False)
        widths = (log(y / x) for x, y in pairwise(map(float, self._places)))
        cost = sum(gap * width for (gap, _), width in zip(gaps, widths, strict=True))
        return 2 * sqrt(max(cost, 1e-12))

    def _above(self, number: int) -> Masses:
        """Atoms above a class and all that it stands for."""
        own, other = (
            [min(Fraction(u + _ALIKE, _UNIT), _ONE) for u in self._uppers(k)]
            for k in (number, self._classes[number].reverse)
        )
        ahead, back = (list(zip(self._places, each, strict=True)) for each in (own, other))
        return atoms_of_chain(lower_hull([(_ZERO, _ONE), *reversed_pair(back), *ahead]))

    def _below(self, number: int) -> Masses:
        both = number, self._classes[number].reverse
        own, reverse = map(self._known, both)
        lows, highs = (reversed_pair([(each[0], each[k]) for each in reverse]) for k in (1, 2))
        turned = [(x, low, high) for (x, low), (_, high) in zip(lows, highs, strict=True)]
        infinite, lost = (Fraction(self._classes[k].limit, _UNIT) for k in both)
        return inner_hull([*turned, *own], infinite, lost)

    def _known(self, number: int) -> list[Known]:
        lower = self._classes[number].lower
        return [
            (x, Fraction(lower.get(x, 0), _UNIT), Fraction(high, _UNIT))
            for x, high in zip(self._places, self._uppers(number), strict=True)
        ]


def inner_hull(
    known: Sequence[Known], infinite: Fraction = _ZERO, lost: Fraction = _ZERO
) -> Masses:
    """Return atoms whose profile is below one that is known at places.

    Args:
        known: Ascending from x > 0, at least two.
        infinite: At most what P has where Q has none.
        lost: At most what Q has where P has none.
    """
    points = [(_ZERO, _ONE, _ONE), *known]
    corners = [(_ZERO, _ONE)]
    for k, ((x, low, _), (y, other, _)) in enumerate(pairwise(points)):
        left, right = Fraction(-1), _ZERO
        if k:
            before, _, high = points[k - 1]
            left = (low - high) / (x - before)
        if k + 2 < len(points):
            after, _, high = points[k + 2]
            right = (high - other) / (after - y)
        corners += _greater((x, low, left), (y, other, right))
    chain = lower_hull(corners)
    # Beyond the last place nothing is known but the limit.
    *earlier, (last, value) = chain
    chain = lower_hull([*earlier, (last, min(value, _ZERO))])
    if last < (end := 1 / (1 - lost) if lost < 1 else _ONE):
        chain.append((end, _ZERO))  # where the line below is 0
    # All of these are convex and below the profile, and so is the greatest one.
    ended = _at_least(_at_least(chain, (_ONE, lost - 1)), (infinite, _ZERO))
    while len(ended) > 2 and ended[-2][1] == infinite:
        ended.pop()
    return atoms_of_chain(ended)


def _greater(
    one: tuple[Fraction, Fraction, Fraction], two: tuple[Fraction, Fraction, Fraction]
) -> list[Point]:
    """The greater of two lines between two places; each by a place, its value and its slope."""
    (x, low, left), (y, other, right) = one, two
    places = [x, y]
    if left != right:
        meeting = (other - low + left * x - right * y) / (left - right)
        if x < meeting < y:
            places.insert(1, meeting)
    return [(place, max(low + left * (place - x), other + right * (place - y))) for place in places]


def _at_least(chain: Sequence[Point], line: tuple[Fraction, Fraction]) -> list[Point]:
    """The greater one of a convex chain and of a line, value and slope at 0."""
    constant, slope = line
    found: list[Point] = []
    before: tuple[Point, Fraction] | None = None
    for x, value in chain:
        floor = constant + slope * x
        more = value - floor
        if before is not None and (before[1] < 0 < more or more < 0 < before[1]):
            (start, _), excess = before
            place = start + (x - start) * excess / (excess - more)
            found.append((place, constant + slope * place))
        found.append((x, max(value, floor)))
        before = (x, value), more
    return found


def _gaps(known: Sequence[Known], *, weighed: bool = True) -> list[tuple[float, Fraction]]:
    """How far bounds are apart between neighbours, about, weighed by what is rare; and where."""
    found = []
    for k, ((x, _, u), (y, low, _)) in enumerate(pairwise(known)):
        left = -1.0 if not k else float((u - known[k - 1][2]) / (x - known[k - 1][0]))
        right = 0.0
        if k + 2 < len(known):
            right = float((known[k + 2][2] - low) / (known[k + 2][0] - y))
        width, drop = float(y - x), float(u - low)
        # The lines from either side meet at a share t of the width, under the chord.
        bend = right - left
        share = min(max((drop / width + right) / bend, 0.0), 1.0) if bend > 0 else 0.0
        gap = share * max(-drop - left * width, 0.0)
        middle = _place((log(x) + log(y)) / 2)
        found.append((gap / (float(u) + 1e-12) ** _RARE if weighed else gap, middle))
    return found


def _losses() -> Iterator[float]:
    """Yield what is looked at first, as far as deltas are not negligible."""
    loss = 0.0
    while loss < _FARTHEST:
        yield loss
        loss += max(_FIRST, loss * _FARTHER)


def _place(loss: float) -> Fraction:
    return Fraction(round(Fraction(exp(loss)) * 2**_PLACE_BITS), 2**_PLACE_BITS)
