"""From a program that publishes real numbers, at one eps, to two pairs: above it, and below it.

All that is known of such a program are its least deltas, enclosed at single places x = e^eps_prv.

From above. As for finite outputs: the hull of the largest deltas of all pairs (`programs`).

From below. Of one pair (P, Q) let l_i <= H(x_i) <= u_i at places x_0 < x_1 < …, below 1 by way of
the reversed pair. H is convex, so beyond two places it is above their line; for x_i <= x <= x_(i+1)

    H(x) >= l_i + (l_i - u_(i-1)) / (x_i - x_(i-1)) (x - x_i),
    H(x) >= l_(i+1) - (u_(i+2) - l_(i+1)) / (x_(i+2) - x_(i+1)) (x_(i+1) - x),

and H >= 1 - x, H >= 0. The greater of the two bends where they meet. The lower hull of all these
corners is convex and below H; where it is below the profile of a pair, that one is what is left of
(P, Q) after some post-processing (Blackwell), in compositions, too. A chain of chords from (0, 1)
to 0 is the profile of finitely many atoms.

The places are where the two bounds are farthest apart. Numbers are rational.

Sources: Blackwell, Equivalent comparisons of experiments, 1953; Dong, Roth, Su, Gaussian
differential privacy, 2022, theorem 2.10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import exp, log

from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.composition.divergences import Point, lower_hull
from dipapprox.composition.mechanisms import Adjacency, Between, Masses
from dipapprox.errors import UserError
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.maximum import Maximum
from dipapprox.privacy.compositions.programs import atoms_of_chain, ends_of, hull, reversed_pair
from dipapprox.privacy.profiles.profile import Profiler
from dipapprox.privacy.run import Setting
from dipapprox.privacy.subjects import executed_for

_ZERO, _ONE = Fraction(0), Fraction(1)
_PLACE_BITS = 40
_VALUE_BITS = 160
_FARTHEST = 40.0  # losses beyond this are not looked at
_FIRST = 0.5  # distance of the losses that are looked at first
_MOST_PLACES = 96
_LIKELY = 0.01  # A delta where the pair is looked for that is run
Known = tuple[Fraction, Fraction, Fraction]  # x, and what H(x) is between
_At = Callable[[Sequence[Fraction]], list[Maximum]]


@sound_arithmetic()
def bounds_of_real_program(
    setting: Setting, eps: Fraction, adjacency: Adjacency, accuracy: Fraction
) -> Between:
    """Bound all adjacent pairs of a program with real outputs at one eps.

    Args:
        setting: A program with a symmetric adjacency, all pairs.
        accuracy: Deltas below that are none.

    Raises:
        UserError: If no two inputs are adjacent.
    """
    every = _opened(setting, eps)
    known = _places(every, accuracy, _MOST_PLACES)
    places = sorted(known)
    pair = min(known.values(), key=lambda each: abs(float(each.delta.upper) - _LIKELY)).pair
    if pair is None:
        raise UserError(f"'{setting.program.name}': no two different inputs are adjacent")
    own, turned = (_opened(setting.about(each), eps)(places) for each in (pair, (pair[1], pair[0])))
    above = hull([(x, _known(x, known[x])[2]) for x in places])
    both = [_known(x, each) for x, each in zip(places, own, strict=True)]
    reverse = [_known(x, each) for x, each in zip(places, turned, strict=True)]
    # Even where both are of one worst pair they stay apart between the places.
    return Between(*ends_of(above, inner_hull_of(both, reverse), adjacency))


def inner_hull_of(known: Sequence[Known], reverse: Sequence[Known]) -> Masses:
    """Return the same as `inner_hull` of what is known of a pair and its reverse from x = 1 on."""
    lows, highs = (reversed_pair([(each[0], each[k]) for each in reverse]) for k in (1, 2))
    turned = [(x, low, high) for (x, low), (_, high) in zip(lows, highs, strict=True)]
    return inner_hull([*turned, *known])


def inner_hull(known: Sequence[Known]) -> Masses:
    """Return atoms whose profile is below one that is known at places.

    Args:
        known: Ascending from x > 0, at least two.
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
    # Beyond the last place nothing is known but that profiles are not negative.
    last = chain[-1][0]
    chain = lower_hull([*chain[:-1], (last, min(chain[-1][1], _ZERO))])
    if last < 1:
        chain.append((_ONE, _ZERO))
    # All of these are convex and below the profile, and so is the greatest one.
    ended = _at_least(_at_least(chain, (_ONE, Fraction(-1))), (_ZERO, _ZERO))
    while len(ended) > 2 and not ended[-2][1]:
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


def _opened(setting: Setting, eps: Fraction) -> _At:
    maxima = Profiler(setting, eps, executed_for(setting)).maxima
    return lambda places: maxima.largest([Factor(x, x) for x in places])


def _places(at: _At, accuracy: Fraction, most: int) -> dict[Fraction, Maximum]:
    """Return what is known at places from 1 on: as far as delta is not negligible, and densely."""
    known: dict[Fraction, Maximum] = {}
    loss = 0.0
    while loss < _FARTHEST:
        x = _rounded(exp(loss))
        (known[x],) = at([x])
        if known[x].delta.upper <= accuracy:
            break
        loss += _FIRST
    while len(known) < most:
        gaps = _gaps([_known(x, known[x]) for x in sorted(known)])
        widest = max(gap for gap, _ in gaps)
        new = sorted({x for gap, x in gaps if gap > widest / 4} - known.keys())
        if not new or widest <= 0:
            break
        known.update(zip(new, at(new), strict=True))
    return known


def _gaps(known: Sequence[Known]) -> list[tuple[float, Fraction]]:
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
        middle = _rounded(exp((log(x) + log(y)) / 2))
        found.append((gap / (float(u) + 1e-12) ** 0.5, middle))
    return found


def _known(x: Fraction, found: Maximum) -> Known:
    """x, and bounds with few digits."""
    unit = 1 << _VALUE_BITS
    low, high = max(found.delta.lower, _ZERO), min(found.delta.upper, _ONE)
    return x, Fraction((low * unit).__floor__(), unit), Fraction((high * unit).__ceil__(), unit)


def _rounded(place: float) -> Fraction:
    return Fraction(round(Fraction(place) * 2**_PLACE_BITS), 2**_PLACE_BITS)
