"""Stars: one sample compared with many others. Recognised, and brought into normal form.

The normal form follows the same rules as that of other events (`canonical`): least mean 0, greatest
scale 1, one of the two mirror images. It is made from laws and counts, so its cost does not depend
on the number of samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from dipapprox.distributions import Distribution, Family
from dipapprox.events.event import Event, Leaves, Star
from dipapprox.semantics.polyhedra import difference

LawKey = tuple[str, int, int, int, int]
"""A law as integers and a string: hashed, compared and ordered faster than fractions."""


def law_key(law: Distribution) -> LawKey:
    """Return the parts of a law."""
    mean, scale = law.mean, law.scale
    return law.family.name, mean.numerator, mean.denominator, scale.numerator, scale.denominator


def law_of(key: LawKey) -> Distribution:
    """The inverse of `law_key`."""
    family, *parts = key
    return Distribution(Family[family], Fraction(*parts[:2]), Fraction(*parts[2:]))


def as_star(event: Event) -> Star | None:
    """Read an event of at least three samples as a star; None if it is none.

    Only plain comparisons count, x <= y without constants: `reduce` makes them. Integers are
    compared with an offset of 1/2, so their events are no stars.
    """
    if len(event.samples) < 3 or len(event.guards) != len(event.samples) - 1:
        return None
    if any(law.family.is_discrete for law in event.samples):
        return None
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
        if found is None or found[2] or min(found[:2]) < 0:
            return None
        low, high = found[1], found[0]  # x[low] < x[high]
        leaf = low if high == centre else high
        leaves.add(leaf)
        sides[leaf == high].append(event.samples[leaf])
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
        return _in_unit(star, 1)
    if balance < 0:
        return _in_unit(star, -1)
    return min(_in_unit(star, 1), _in_unit(star, -1), key=_description)


def _in_unit(star: Star, sign: int) -> Star:
    """Substitute x = sign·(unit·y + origin): least mean 0, greatest scale 1."""
    laws = [star.centre, *(law for law, _ in star.below), *(law for law, _ in star.above)]
    origin = min([sign * law.mean for law in laws])
    unit = max([law.scale for law in laws])

    def changed(law: Distribution) -> Distribution:
        return _changed(law_key(law), sign, origin.as_integer_ratio(), unit.as_integer_ratio())

    below = _counted((changed(law), count) for law, count in star.below)
    above = _counted((changed(law), count) for law, count in star.above)
    if sign < 0:
        below, above = above, below
    return Star(changed(star.centre), below, above)


@lru_cache(maxsize=4096)
def _changed(
    law: LawKey, sign: int, origin: tuple[int, int], unit: tuple[int, int]
) -> Distribution:
    """The law of (sign·x - origin) / unit: the stars of a program need few of them, often."""
    divisor = Fraction(*unit)
    return law_of(law).affine(sign / divisor, -Fraction(*origin) / divisor)


def _description(star: Star) -> tuple[object, ...]:
    sides = [tuple((law_key(law), count) for law, count in s) for s in (star.below, star.above)]
    return law_key(star.centre), *sides
