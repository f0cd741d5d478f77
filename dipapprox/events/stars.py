"""Stars: one sample compared with many others. Recognised, and brought into normal form.

The normal form is like that of other events (`canonical`): standardised (`standardisation`), one of
the two mirror images. It is made from laws and counts: its cost does not depend on the number of
samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution
from dipapprox.events.event import Event, Leaves, Star
from dipapprox.events.standardisation import LawKey, law_key, standardise
from dipapprox.semantics.polyhedra import difference


def as_star(event: Event) -> Star | None:
    """Read an event of at least three samples as a star; None if it is none.

    Of reals only plain comparisons count, x <= y without constants: `reduce` makes them. Integers
    are compared with offsets half-way between integers, which leaves take up.
    """
    if len(event.samples) < 3 or len(event.guards) != len(event.samples) - 1:
        return None
    discrete = event.samples[0].family.is_discrete
    first = set(event.guards[0].samples())
    for guard in event.guards[1:]:
        first.intersection_update(guard.samples())
    if len(first) != 1:
        return None
    (centre,) = first
    sides: tuple[list[Distribution], list[Distribution]] = ([], [])
    leaves = set()
    for guard in event.guards:
        found = difference(guard)
        if found is None or min(found[:2]) < 0:
            return None
        high, low, offset = found  # x[low] <= x[high] + offset
        if (offset.denominator != 2) if discrete else offset:
            return None
        leaf = low if high == centre else high
        leaves.add(leaf)
        law = event.samples[leaf]
        if discrete:
            law = law.affine(Fraction(1), offset if leaf == high else -offset)
        sides[leaf == high].append(law)
    if len(leaves) != len(event.guards):
        return None
    below, above = (_counted((law, 1) for law in side) for side in sides)
    return Star(event.samples[centre], below, above)


def _counted(laws: Iterable[tuple[Distribution, int]]) -> Leaves:
    """Collect equal laws; ascending by key."""
    known: dict[LawKey, Distribution] = {}
    counts: Counter[LawKey] = Counter()
    for law, count in laws:
        key = law_key(law)
        known[key] = law
        counts[key] += count
    return tuple((known[key], counts[key]) for key in sorted(counts))


def normal_star(star: Star) -> Star:
    """Return the normal form: of both mirror images the one with more leaves below the centre."""
    balance = sum(n for _, n in star.below) - sum(n for _, n in star.above)
    if balance > 0:
        return _standard(star, 1)
    if balance < 0:
        return _standard(star, -1)
    return min(_standard(star, 1), _standard(star, -1), key=_description)


def _standard(star: Star, sign: int) -> Star:
    laws = _standard_laws(
        star.centre,
        tuple([law for law, _ in star.below]),
        tuple([law for law, _ in star.above]),
        sign,
    )
    below = tuple([(law, star.below[place][1]) for law, place in laws.below])
    above = tuple([(law, star.above[place][1]) for law, place in laws.above])
    return Star(laws.centre, below, above) if sign > 0 else Star(laws.centre, above, below)


_Placed = tuple[tuple[Distribution, int], ...]


@dataclass(frozen=True, slots=True)
class _StandardLaws:
    """The laws of a star's normal form, and where on the same side their counts are.

    Different laws stay different.
    """

    centre: Distribution
    below: _Placed
    above: _Placed


@lru_cache(maxsize=4096)
def _standard_laws(
    centre: Distribution,
    below: tuple[Distribution, ...],
    above: tuple[Distribution, ...],
    sign: int,
) -> _StandardLaws:
    """Standardise laws: stars share them, and differ in counts."""
    changed = standardise(frozenset(map(law_key, (centre, *below, *above))), sign).laws

    def placed(side: tuple[Distribution, ...]) -> _Placed:
        laws = ((changed[law_key(law)], place) for place, law in enumerate(side))
        return tuple(sorted(laws, key=lambda each: law_key(each[0])))

    return _StandardLaws(changed[law_key(centre)], placed(below), placed(above))


def _description(star: Star) -> tuple[object, ...]:
    sides = [tuple((law_key(law), count) for law, count in s) for s in (star.below, star.above)]
    return law_key(star.centre), *sides
