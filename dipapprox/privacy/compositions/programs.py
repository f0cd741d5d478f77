"""From a program at one eps to two pairs of distributions: one dominates it, the other it has.

Let D(x) be the largest delta of all ordered adjacent pairs at e^eps_prv = x >= 1. It is the maximum
of the lines p(S) - x q(S), of all pairs and sets S, and 0: convex, and it does not increase.

From above. D is enclosed at places x_i, D(x_i) <= u_i. As adjacency is symmetric, the profile H of
the mechanism is D for x >= 1, and for x <= 1 it is 1 - x + x D(1/x). So H is at most

    u_i at x_i,      1 - 1/x_i + u_i / x_i at 1/x_i,      1 at 0,      u_n beyond the last x_n,

and, being convex, at most the greatest convex function that is not above these: the lower hull of
the points. That is a chain of chords, and a chain of chords is the profile of atoms,

    P mass x (s' - s) at ratio x, where slopes go from s to s';   Q mass P mass / x;
    the last value at infinity, where Q has nothing; what Q has left, where P has nothing.

Every number is rational, and the masses add up to 1 exactly.

Where. The profile of a pair bends only at the ratios p/q of its outputs. So the places are the
ratios of all pairs that have been found to be the worst one somewhere, and where their profiles
cross; D is then looked at there, which may find further pairs. Where none is found any more, and
ratios are known exactly, the hull is D itself. How many places there are is a matter of cost, no
bound depends on it.

Many runs. Which pair comes next may be chosen by what came before, and so much more would be
allowed if every run had the hull: of all pairs, if there are not too many, those are kept whose
profiles are below no other one's (`composition.adaptive`). For a great many runs the hull serves.

From below. The pair of those found whose losses, in many runs, add up to most.

Independent parts. What they publish is multiplied for one pair at a time, part by part, without
those that both inputs give the same; outputs of nearly one ratio are merged on the way
(`merged`), so that k outputs of n parts alike are C(n+k-1, k-1). Above all pairs are the
atoms of the candidates of a product: see `pairs.products`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from math import inf, log, nan

import numpy as np

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.composition.divergences import Point, lower_hull, slope
from dipapprox.composition.mechanisms import Adjacency, Atoms, Between, Masses
from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached, UserError
from dipapprox.language.core import Program
from dipapprox.numerics.probability import ProbabilitySource
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.maximum import Maximum, Together
from dipapprox.pairs.products.measures import PairAtoms
from dipapprox.pairs.products.source import ProductSource, joint
from dipapprox.pairs.selections import AllPairs, Pair, is_symmetric
from dipapprox.privacy.run import Setting
from dipapprox.privacy.subjects import executed_for, open_subject

Row = Sequence[tuple[Enclosure, Enclosure]]  # (p, q) of every output of a pair

_ZERO, _ONE = Fraction(0), Fraction(1)

_START = tuple(1 + Fraction(2) ** k for k in range(-6, 7))
_ROUNDS = 6
_MOST_PLACES = 600
_PLACE_BITS = 48
_VALUE_BITS = 200
_ROW_BITS = 100  # asked of the probabilities of single pairs
_MOST_OUTPUTS = 2**17  # of independent parts together
_CERTAIN = Enclosure.exact(1)
_UNIT = 2**110  # of whole numbers that stand for profiles, in units of 2^-(110 + 48)
_MARGIN = Fraction(1, 2**80)
"""How much a profile is raised, so that it is above those that are about the same."""

_MOST_PAIRS = 20_000
_MOST_KEPT = 200
"""Pairs that are compared, and that are kept."""

_LIKELY_DELTA = 1e-6  # for which a pair is chosen
_GREATEST = 2.0**1000  # ratios beyond it are not looked at
_UNLIKELY = 1e-15
_SAME_RATIO = 1e-12
_DOUBTFUL = Fraction(1, 2**40)  # of a probability: if it is known no better, ratios are not known


def require_symmetric(program: Program) -> None:
    """Check that the reverse of every adjacent pair is adjacent, too.

    Raises:
        UserError: If it is not.
    """
    if not is_symmetric(program, AllPairs()):
        raise UserError(
            f"'{program.name}': inputs are adjacent in one order only",
            "compositions are of programs with adjacency in both orders: 'adjacent linf 1'",
        )


@sound_arithmetic()
def bounds_of_program(
    setting: Setting, eps: Fraction, adjacency: Adjacency, times: int, accuracy: Fraction
) -> Between:
    """Bound all adjacent pairs of a program at one eps.

    Args:
        setting: A program with a symmetric adjacency, all pairs.
        adjacency: Of the data sets that its inputs come from.
        times: How often it is to be run: for that a pair is chosen.
        accuracy: How accurate deltas should be; they may be wider.

    Raises:
        UserError: If the adjacency does not suit the inputs or holds in one order only, or no two
            inputs are adjacent.
    """
    require_symmetric(setting.program)
    subject = open_subject(setting, executed_for(setting), eps)
    maxima = subject.pairs
    assert maxima is not None, "there is no claim"
    if maxima.pairs == 0:
        raise UserError(f"'{setting.program.name}': no two different inputs are adjacent")
    search = _Search(maxima, subject.source)
    points = [(x, search.sharp(x, accuracy)) for x in search.places()]
    row = max(search.rows.values(), key=lambda each: cost(each, times))
    above, below = ends_of(hull(points), merged(row), adjacency)
    standing = maxima.standing(_ROW_BITS)
    if standing is None:
        pairs = list(islice(setting.pairs(), _MOST_PAIRS + 1))
    else:
        pairs = [pair for pair, _ in standing]
    if len(pairs) > _MOST_PAIRS:
        return Between(above, below)
    rows = [search.row(pair) for pair in pairs]
    kept = undominated(rows if standing is None else [_above(atoms) for _, atoms in standing])
    if len(kept) == 1:  # it is above all others, its own reverse among them
        return Between(above, replace(below, masses=merged(rows[kept[0][1]])), exact=True)
    worst, chosen = zip(*((above, merged(rows[k])) for above, k in kept), strict=True)
    return Between(above, below, worst, chosen)


class _Search:
    """The worst pairs at all places, and where their profiles bend."""

    def __init__(self, maxima: Together, source: ProbabilitySource) -> None:
        self._maxima, self._source = maxima, source
        self._known: dict[Fraction, Maximum] = {}
        self.rows: dict[Pair, Row] = {}

    def places(self) -> list[Fraction]:
        """Return places, ascending from 1, the last one above all ratios that were found."""
        wanted = [_ONE, *_START]
        for _ in range(_ROUNDS):
            before = len(self.rows)
            self._look(wanted)
            ratios = sorted({each for row in self.rows.values() for each in _ratios(row)})
            last = 2 * max(ratios, default=_ONE)
            wanted = [_ONE, *_thinned(ratios), *self._crossings(ratios), last]
            if len(self.rows) == before:
                break
        self._look(wanted)
        return sorted(each for each in self._known if each <= last)

    def _look(self, places: Iterable[Fraction]) -> None:
        new = sorted(set(places) - self._known.keys())
        found = self._maxima.largest([Factor(x, x) for x in new])
        for x, each in zip(new, found, strict=True):
            self._known[x] = each
            if each.pair is not None and each.pair not in self.rows:
                self.rows[each.pair] = self.row(each.pair)

    def row(self, pair: Pair) -> Row:
        source = self._source
        if not isinstance(source, ProductSource):
            return self._enclosed(source.distributions(pair, _ROW_BITS))
        parts = enumerate(source.program.pairs(pair))
        both = [source.of_part(part, own, _ROW_BITS) for part, own in parts]
        return _beside(self._enclosed(each) for each in both if each[0] is not each[1])

    def _enclosed(self, both: Sequence[Sequence[Enclosure] | NotEnclosed]) -> Row:
        first, second = both
        if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
            reason = first.reason if isinstance(first, NotEnclosed) else self._maxima.obstacle
            raise LimitReached(f"no enclosure: {reason}")
        return list(zip(first, second, strict=True))

    def _crossings(self, ratios: Sequence[Fraction]) -> list[Fraction]:
        """About where the worst pair changes, between neighbouring ratios."""
        lines: list[tuple[Fraction, Row]] = []
        for x in ratios:
            x_row = max(self.rows.values(), key=lambda row: _profile(row, float(x)))
            lines.append((x, x_row))
        found = []
        for (x, one), (y, two) in pairwise(lines):
            if one is not two:
                found.append(_rounded(_crossing(one, two, float(x), float(y))))
        return found

    def sharp(self, x: Fraction, accuracy: Fraction) -> Fraction:
        """Return an upper bound of D(x), which is accurate if that is possible."""
        known = self._known[x].delta
        if known.width > accuracy:
            finer = self._maxima.sharpened(
                lambda bits: Factor(x, x), lambda delta: delta.width <= accuracy
            )
            known = finer.delta
        scaled = known.upper * 2**_VALUE_BITS
        return Fraction(scaled.__ceil__(), 2**_VALUE_BITS)


def ends_of(above: Masses, below: Masses, adjacency: Adjacency) -> tuple[Atoms, Atoms]:
    """Return what is above all pairs, either way round, and may be had by none, and one pair."""
    symmetric = adjacency is Adjacency.SUBSTITUTION
    return (
        Atoms(above, symmetric=True, attained=False, adjacency=adjacency),
        Atoms(below, symmetric=symmetric, adjacency=adjacency),
    )


def hull(points: Sequence[Point]) -> Masses:
    """Return the atoms of the greatest profile of a symmetric relation that obeys upper bounds.

    Args:
        points: (x, at least D(x)), ascending from x = 1.
    """
    falling: list[Point] = []
    least = _ONE
    for x, value in points:
        least = min(least, value)
        falling.append((x, least))
    return atoms_of_chain(lower_hull([(_ZERO, _ONE), *reversed_pair(falling), *falling]))


def reversed_pair(points: Sequence[Point]) -> list[Point]:
    """Return what points from x = 1 on tell of the reversed pair below it, ascending."""
    return [(1 / x, 1 - 1 / x + value / x) for x, value in reversed(points[1:])]


def atoms_of_chain(chain: Sequence[Point]) -> Masses:
    """Return masses whose profile is a chain of chords, from 0 on, and its last value beyond."""
    slopes = [slope(one, two) for one, two in pairwise(chain)] + [_ZERO]
    found = []
    for (x, _), before, after in zip(chain[1:], slopes, slopes[1:], strict=False):
        mass = x * (after - before)
        found.append((Enclosure.exact(mass), Enclosure.exact(mass / x)))
    nothing = Enclosure.exact(0)
    found.append((Enclosure.exact(chain[-1][1]), nothing))
    found.append((nothing, Enclosure.exact(1 + slopes[0])))
    return tuple((p, q) for p, q in found if p.upper or q.upper)


def undominated(rows: Sequence[Row], margin: Fraction = _MARGIN) -> list[tuple[Masses, int]]:
    """Return few pairs one of which is above each of many, but for a margin; none if too many.

    They are told by their places, and with masses that are above them.

    For a pair F(α) = Σ (p - α q)₊ is looked at where it bends, and raised a little there. What is
    less at all of these places is less everywhere: it is convex, and the chords between them, which
    the masses stand for, are not. Numbers are whole.
    """
    width = max(len(row) for row in rows)
    tops, bottoms = (np.zeros((len(rows), width), dtype=object) for _ in "pq")
    for k, row in enumerate(rows):
        for o, (p, q) in enumerate(row):
            most, least = p.upper, q.lower
            tops[k, o] = -(-most.numerator * _UNIT // most.denominator) << _PLACE_BITS
            bottoms[k, o] = least.numerator * _UNIT // least.denominator
    left = list(range(len(rows)))
    left.sort(key=lambda k: cost(rows[k], 1), reverse=True)
    found: list[tuple[Masses, int]] = []
    raised = int(margin * _UNIT) << _PLACE_BITS
    while left:
        if len(found) == _MOST_KEPT:
            return []
        best = left[0]
        alphas = sorted({_whole(p, q) for p, q in rows[best] if _middle(p) and _middle(q)})
        alphas += [each + (each >> _PLACE_BITS) + 2 for each in alphas[-1:]]  # beyond all ratios
        limits = []
        below = np.zeros(len(left), dtype=bool)
        for alpha in (0, *alphas):
            values = np.maximum(tops[left] - alpha * bottoms[left], 0).sum(axis=1)
            # Where it has nothing, others of about its greatest ratio have nothing, either.
            limit = int(values[0]) + raised if values[0] else 0
            limit = limit if alpha else max(limit, (_UNIT << _PLACE_BITS) + raised)
            limits.append(limit)
            below = below | (values > limit)
        # No profile exceeds 1, which is its value at 0: masses are those of distributions.
        points = [(_ZERO, _ONE)]
        for alpha, limit in zip(alphas, limits[1:], strict=True):
            height = min(Fraction(limit, _UNIT << _PLACE_BITS), _ONE)
            points.append((Fraction(alpha, 1 << _PLACE_BITS), height))
        found.append((atoms_of_chain(lower_hull(points)), best))
        left = [k for k, above in zip(left, below, strict=True) if above]
    return found


def _beside(rows: Iterable[Row]) -> Row:
    """The outputs of independent parts together, those of nearly one ratio merged.

    Raises:
        LimitReached: If they are too many.
    """
    found: Row = [(_CERTAIN, _CERTAIN)]
    for row in rows:
        own = merged(row)
        if len(found) * len(own) > _MOST_OUTPUTS:
            raise LimitReached(f"loss limit: more than {_MOST_OUTPUTS} different privacy losses")
        several = [
            (joint(p, r, _ROW_BITS), joint(q, s, _ROW_BITS)) for p, q in found for r, s in own
        ]
        found = merged(several)
    return found


def _above(parts: Sequence[PairAtoms]) -> Row:
    """The product of atoms above pairs of independent parts."""
    exact = Enclosure.exact
    return _beside(
        [
            (exact(Fraction(p, 1 << each.scale)), exact(Fraction(q, 1 << each.scale)))
            for p, q, _ in each.atoms
        ]
        for each in parts
    )


def merged(row: Row) -> Masses:
    """Merge outputs of nearly one ratio, which loses next to nothing; and those of unknown ratios.

    Merged masses are enclosed: merging is post-processing. And Σ (P - x q)₊ of upper P and lower q
    becomes no less at any x: of merged outputs q is lowered to where P / q is the greatest of their
    ratios, so that P - x q is at least the sum of those terms that are > 0.
    """
    groups: list[list[tuple[Enclosure, Enclosure]]] = [[]]  # the first one of doubtful ratios
    last = nan
    for p, q in sorted(row, key=lambda each: loss(*each)):
        if not p.upper and not q.upper:
            continue
        if any(each.width > each.lower * _DOUBTFUL for each in (p, q)):
            groups[0].append((p, q))
            continue
        own = loss(p, q)
        if own == last or abs(own - last) <= _SAME_RATIO:
            groups[-1].append((p, q))
        else:
            groups.append([(p, q)])
        last = own
    return tuple(group[0] if len(group) == 1 else _merged(group) for group in groups if group)


def _merged(group: Row) -> tuple[Enclosure, Enclosure]:
    first = sum((p for p, _ in group), Enclosure.exact(0))
    second = sum((q for _, q in group), Enclosure.exact(0))
    rates = (q.lower / p.upper for p, q in group if p.upper)
    least = first.upper * min(rates, default=_ZERO)
    return first, Enclosure(min(least, second.lower), second.upper)


# --- guesses, in floating point: where to look ----------------------------------------------------


def _middle(each: Enclosure) -> float:
    return (float(each.lower) + float(each.upper)) / 2


def loss(p: Enclosure, q: Enclosure) -> float:
    """Return about ln(p / q)."""
    first, second = _middle(p), _middle(q)
    if not second:
        return inf
    return log(first / second) if first else -inf


def _ratios(row: Row) -> list[Fraction]:
    found = (_middle(p) / _middle(q) for p, q in row if _middle(q))
    return [_rounded(each) for each in found if 1 < each < _GREATEST]


def _whole(p: Enclosure, q: Enclosure) -> int:
    ratio = Fraction(min(_middle(p) / _middle(q), _GREATEST))
    place: int = round(ratio * 2**_PLACE_BITS)
    return max(place, 1)


def _rounded(place: float) -> Fraction:
    exact = Fraction(min(place, _GREATEST))
    return max(Fraction(round(exact * 2**_PLACE_BITS), 2**_PLACE_BITS), _ONE)


def _thinned(places: Sequence[Fraction]) -> Sequence[Fraction]:
    """Leave some out where there are too many."""
    return places[:: len(places) // _MOST_PLACES + 1]


def _profile(row: Row, x: float) -> float:
    return sum(max(_middle(p) - x * _middle(q), 0.0) for p, q in row)


def _crossing(one: Row, two: Row, x: float, y: float) -> float:
    """About where the profile of the second exceeds that of the first, between x and y."""
    low, high = x, y
    for _ in range(60):
        middle = (low + high) / 2
        if _profile(one, middle) >= _profile(two, middle):
            low = middle
        else:
            high = middle
    return low


def cost(row: Row, times: int, delta: float = _LIKELY_DELTA) -> float:
    """Return about what runs of a pair cost for a delta: Chernoff's bound of its losses."""
    return cost_of([(row, times)], delta)


def cost_of(rows: Iterable[tuple[Row, int]], delta: float) -> float:
    """Return the same for runs of several pairs, each so many times."""
    orders, total = 2.0 ** (np.arange(-8, 17) / 2), -log(delta)
    for row, times in rows:
        losses = [(_middle(p), loss(p, q)) for p, q in row if p.upper]
        if any(own == inf and p > _UNLIKELY for p, own in losses):
            return inf
        likely, finite = np.array([each for each in losses if each[0] and each[1] < inf]).T
        most = finite.max()
        moments = np.exp(orders[:, None] * (finite - most)) @ likely
        total = total + times * (np.log(moments) + most * orders)
    return float((total / orders).min())
