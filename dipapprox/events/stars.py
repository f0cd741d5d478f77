"""Stars: one sample compared with many others. Recognised, and brought into normal form.

The normal form is like that of other events (`canonical`): standardised (`standardisation`), one of
the two mirror images. It is made from laws and counts: its cost does not depend on the number of
samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
    laws = tuple([law for law, _ in star.below]), tuple([law for law, _ in star.above])
    counts = tuple([count for _, count in (*star.below, *star.above)])
    balance = sum(n for _, n in star.below) - sum(n for _, n in star.above)
    signs = (1, -1) if balance == 0 else (1,) if balance > 0 else (-1,)
    images = [standard_kind(star.centre, *laws, sign).star(counts) for sign in signs]
    return min(images, key=_description)


@dataclass(frozen=True, slots=True, eq=False)
class StarKind:
    """Stars that differ in counts only, in normal form.

    Attributes:
        centre: The law of the centre.
        below: The laws below it, different ones.
        above: The laws above it, likewise.
        order: For each law of both sides its place among the laws before they were brought into
            normal form: those below, then those above.
    """

    centre: Distribution
    below: tuple[Distribution, ...]
    above: tuple[Distribution, ...]
    order: tuple[int, ...]

    def star(self, counts: Sequence[int]) -> Star:
        """Return the star with counts given in the order before the normal form."""
        return self.with_counts([counts[place] for place in self.order])

    def with_counts(self, counts: Sequence[int]) -> Star:
        """Return the star with counts given in the order of the laws."""
        size = len(self.below)
        below = tuple(zip(self.below, counts[:size], strict=True))
        above = tuple(zip(self.above, counts[size:], strict=True))
        return Star(self.centre, below, above)


@lru_cache(maxsize=4096)
def standard_kind(
    centre: Distribution,
    below: tuple[Distribution, ...],
    above: tuple[Distribution, ...],
    sign: int,
) -> StarKind:
    """Standardise laws: stars share them, and differ in counts.

    Args:
        centre: The law of the centre.
        below: The laws below it, different ones.
        above: The laws above it, likewise.
        sign: -1 for the mirror image.
    """
    changed = standardise(frozenset(map(law_key, (centre, *below, *above))), sign).laws
    laws = [changed[law_key(law)] for law in (*below, *above)]
    first, second = (
        sorted(places, key=lambda place: law_key(laws[place]))
        for places in (range(len(below)), range(len(below), len(laws)))
    )
    if sign < 0:
        first, second = second, first
    return StarKind(
        changed[law_key(centre)],
        tuple([laws[place] for place in first]),
        tuple([laws[place] for place in second]),
        (*first, *second),
    )


def _description(star: Star) -> tuple[object, ...]:
    sides = [tuple((law_key(law), count) for law, count in s) for s in (star.below, star.above)]
    return law_key(star.centre), *sides
