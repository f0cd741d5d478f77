"""A normal form for events: the same for events that differ by names, a shift, a unit or a sign.

The probability of a connected event does not change when its samples are renumbered, all shifted
by one number, all divided by one positive number (integers excepted), or all negated. `canonical`
undoes these, so that equal events are computed once. The normal form is a complete event, not a
hash: two events with equal normal forms have equal probabilities whatever the labelling procedure
did; an imperfect labelling could only miss a repetition.

Samples are ordered by refining colours (`graphs.canonical_order`).

Laws are standardised by a substitution, for stars as for other events:

    x = sign·(unit·y + origin),   so that the least mean of the y is 0, the greatest scale 1

or, of integers, the least mean 0 or 1/2 and the scales as they were.

The normal form of a star, one sample compared with many others, is the lesser one of two mirror
images, too. It is made from laws and counts: its cost does not depend on the number of samples.

A *solution* is what an event comes down to: impossible, or independent canonical events whose
probabilities multiply to its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import floor

from dipapprox import graphs
from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.events.event import (
    Chosen,
    Connected,
    Event,
    Interval,
    Leaves,
    Marginal,
    Mixture,
    Star,
)
from dipapprox.events.reduce import is_possible, reduce
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import FAMILIES
from dipapprox.linear.form import LinearForm, Symbol, are_opposite, difference, is_unit


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
    kinds = [standard_kind(star.centre, *laws, sign) for sign in signs]
    images = [star_of(kind, [counts[place] for place in kind.order]) for kind in kinds]
    return min(images, key=_star_description)


class StarKind(Record, eq=False):
    """Stars that differ in counts only, in normal form: different laws below, and above.

    The order says for each law its place before: those below came first, then those above.
    """

    centre: Distribution
    below: tuple[Distribution, ...]
    above: tuple[Distribution, ...]
    order: tuple[int, ...]


def star_of(kind: StarKind, counts: Sequence[int]) -> Star:
    """Return the star with counts given in the order of the laws of the kind."""
    size = len(kind.below)
    below = tuple(zip(kind.below, counts[:size], strict=True))
    above = tuple(zip(kind.above, counts[size:], strict=True))
    return Star(kind.centre, below, above)


@lru_cache(maxsize=4096)
def standard_kind(
    centre: Distribution,
    below: tuple[Distribution, ...],
    above: tuple[Distribution, ...],
    sign: int,
) -> StarKind:
    """Standardise laws, or their mirror images: stars share them, and differ in counts."""
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


def _star_description(star: Star) -> tuple[object, ...]:
    sides = [tuple((law_key(law), count) for law, count in s) for s in (star.below, star.above)]
    return law_key(star.centre), *sides


LawKey = tuple[str, int, int, int, int]
"""A law as integers and a string: hashed, compared and ordered faster than fractions."""


def law_key(law: Distribution) -> LawKey:
    mean, scale = law.mean, law.scale
    return law.family.name, mean.numerator, mean.denominator, scale.numerator, scale.denominator


@lru_cache(maxsize=4096)
def _law(key: LawKey) -> Distribution:
    """Return a law, one object for each: what many events share is looked up fast."""
    family, *parts = key
    return Distribution(FAMILIES[family], Fraction(*parts[:2]), Fraction(*parts[2:]))


class Standardisation(Record, eq=False):
    """A substitution x = sign·(unit·y + origin), and what it makes of some laws."""

    sign: int
    unit: Fraction
    origin: Fraction
    laws: Mapping[LawKey, Distribution]  # of y, by the key of the law of x
    keys: Mapping[LawKey, LawKey]  # of `laws`, likewise


def _substituted(form: LinearForm, by: Standardisation) -> LinearForm:
    """form(sign·(unit·y + origin)) / unit."""
    terms, constant = form.terms, form.constant
    moves = len(terms) != 2 or not are_opposite(terms[0][1], terms[1][1])
    if moves and by.origin.numerator:
        constant += by.sign * by.origin * sum([c for _, c in terms], Fraction(0))
    if constant.numerator:  # no new fraction for nearly all guards
        constant /= by.unit
    if by.sign < 0:
        terms = tuple([(s, -c) for s, c in terms])
    return LinearForm(terms, constant)


@lru_cache(maxsize=4096)
def standardise(laws: frozenset[LawKey], sign: int) -> Standardisation:
    """Standardise some laws, at least one; the mirror image for sign = -1.

    Integers stay integers: the origin is one, and the unit is 1. The events of an input share their
    laws, hence what standardises them.
    """
    known = {key: _law(key) for key in laws}
    origin = min([sign * law.mean for law in known.values()])
    discrete = any(law.family.is_discrete for law in known.values())
    if discrete:
        origin = Fraction(floor(origin))  # the leaves of stars lie between integers
    unit = Fraction(1) if discrete else max([law.scale for law in known.values()])
    keys = {key: law_key(law.affine(sign / unit, -origin / unit)) for key, law in known.items()}
    changed = {key: _law(own) for key, own in keys.items()}
    return Standardisation(sign, unit, origin, changed, keys)


Key = tuple[object, ...]  # Nested, of integers and strings in one shape: they can be ordered


def canonical(event: Event) -> Connected:
    """Return the normal form of a connected event with the same probability.

    Stars are spelled as `Star`. Of all others, the least mean is 0 and the greatest scale 1
    (integers keep their scales); of the event and its mirror image the one that sorts first is
    taken; samples and guards are in canonical order.
    """
    star = as_star(event)
    if star is not None:
        return normal_star(star)
    keys = [law_key(law) for law in event.samples]
    laws = frozenset(keys)
    upright, mirrored = standardise(laws, 1), standardise(laws, -1)
    lower, upper = _sides(event)
    # What can be said of an event without labels: laws and how often they are on which side.
    first = sorted(zip([upright.keys[key] for key in keys], lower, upper, strict=True))
    second = sorted(zip([mirrored.keys[key] for key in keys], upper, lower, strict=True))
    if first != second:  # the common case: one look at the samples tells which sorts first
        return _labelled(event, keys, upright if first < second else mirrored)
    images = _labelled(event, keys, upright), _labelled(event, keys, mirrored)
    return min(images, key=lambda e: (*map(law_key, e.samples), *map(_guard_key, e.guards)))


def _sides(event: Event) -> tuple[list[int], list[int]]:
    """Count for every sample in how many guards its coefficient is negative, and positive."""
    negative, positive = [0] * len(event.samples), [0] * len(event.samples)
    for guard in event.guards:
        for sample, coefficient in guard.terms:
            assert isinstance(sample, int)
            (positive if coefficient.numerator > 0 else negative)[sample] += 1
    return negative, positive


def _labelled(event: Event, keys: Sequence[LawKey], standardised: Standardisation) -> Event:
    """Substitute, renumber the samples and sort the guards canonically."""
    guards = [_substituted(guard, standardised) for guard in event.guards]
    colours = [standardised.keys[key] for key in keys]
    order = _order(colours, guards)
    label: dict[Symbol, int] = {sample: k for k, sample in enumerate(order)}
    renumbered = []
    for guard in guards:
        # Labels differ, so sorting never compares coefficients.
        terms = tuple(sorted([(label[s], c) for s, c in guard.terms]))
        renumbered.append(LinearForm(terms, guard.constant).normalised())
    renumbered.sort(key=_guard_key)
    return Event(tuple([standardised.laws[keys[s]] for s in order]), tuple(renumbered))


def _guard_key(guard: LinearForm) -> Key:
    terms = [(s, *c.as_integer_ratio()) for s, c in guard.terms]
    return tuple(terms), guard.constant.as_integer_ratio()


def _order(laws: Sequence[LawKey], guards: Sequence[LinearForm]) -> list[int]:
    """Order the samples by what tells them apart in their guards.

    The vertices of a graph: samples, coloured by law; guards, coloured by constant. Coefficients
    are labels of edges.
    """
    colours: list[Key] = [(0, law) for law in laws]
    edges: list[list[tuple[int, tuple[int, int]]]] = [[] for _ in range(len(laws) + len(guards))]
    for guard in guards:
        terms, constant, place = guard.terms, guard.constant, len(colours)
        if not all(is_unit(c) for _, c in terms):
            scale = max([abs(c) for _, c in terms])
            terms, constant = tuple([(s, c / scale) for s, c in terms]), constant / scale
        colours.append((1, constant.as_integer_ratio()))
        for sample, c in terms:
            assert isinstance(sample, int)
            edges[sample].append((place, c.as_integer_ratio()))
            edges[place].append((sample, c.as_integer_ratio()))
    return [k for k in graphs.canonical_order(colours, edges) if k < len(laws)]


# --- solutions ------------------------------------------------------------------------------------

Numbers = tuple[int, ...]
"""Indices of independent events whose conjunction is meant; empty: probability exactly 1."""

IMPOSSIBLE = 0  # the solution of probability exactly 0
CERTAIN = 1  # the solution of probability exactly 1
_Laws = tuple[Distribution, tuple[Distribution, ...], tuple[Distribution, ...]]
"""Of a kind of stars: centre, below, above."""

_Image = tuple[int, StarKind, Numbers]
"""A kind of stars, its number, and where in a bag the counts of its laws are."""


def canonical_factors(event: Event) -> list[Connected] | None:
    """Return independent canonical events that are an event together; None if it is impossible."""
    factors = reduce(event)
    return None if factors is None else [canonical(factor) for factor in factors]


def within(marginal: Marginal, interval: Interval) -> list[Connected] | None:
    """Return independent events that together say that a number lies in an interval.

    None if their probability is 0. It is two more guards on the same samples, so whatever encloses
    events encloses masses, too.
    """
    lower, upper = interval
    if lower is not None and upper is not None and lower >= upper:
        return None
    guards = list(marginal.event.guards)
    if upper is not None:
        guards.append(marginal.form + LinearForm.constant_form(-upper))
    if lower is not None:
        guards.append(LinearForm.constant_form(lower) - marginal.form)
    return canonical_factors(Event(marginal.event.samples, tuple(guards)))


_factors: Cache[Event, tuple[list[Connected] | None]] = Cache(
    300_000,
    lambda known: (
        1 + sum(len(g.terms) for f in known[0] or () if isinstance(f, Event) for g in f.guards)
    ),
)
"""Canonical factors of events with sums, which take milliseconds, up to about so many terms.

The numbers of a program, its closed forms and what is possible ask for the same events.
"""


class Solutions:
    """Events, solutions (None for the impossible one) and laws that have been numbered so far."""

    def __init__(self) -> None:
        self.events: list[Connected] = []
        self.all: list[Numbers | None] = [None, ()]
        self.laws: list[Distribution] = []
        self._events: dict[Connected, int] = {}
        self._numbers: dict[Numbers | None, int] = {None: IMPOSSIBLE, (): CERTAIN}
        self._laws: dict[LawKey, int] = {}
        self._kinds: dict[_Laws, int] = {}
        self._possible: list[bool] = []  # by kind
        self._stars: dict[tuple[int, Numbers], int] = {}
        self._images: dict[tuple[int, Numbers], tuple[_Image, _Image]] = {}

    def __len__(self) -> int:
        return len(self.events) + len(self.all)

    def law(self, law: Distribution) -> int:
        number = self._laws.setdefault(law_key(law), len(self.laws))
        if number == len(self.laws):
            self.laws.append(law)
        return number

    def star(self, centre: int, leaves: Sequence[tuple[int, int]]) -> int:
        """Solve a star; leaves, with counts, are twice the numbers of laws, plus 1 above."""
        entries = tuple([entry for entry, _ in leaves])
        images = self._images.get((centre, entries))
        if images is None:
            images = self._images[centre, entries] = self._images_of(centre, entries)
        balance = 0
        for entry, count in leaves:
            balance += -count if entry & 1 else count
        counts = [tuple([leaves[k][1] for k in order]) for _, _, order in images]
        turned = balance < 0
        if balance == 0:
            upright, mirrored = (
                _star_description(star_of(kind, own))
                for (_, kind, _), own in zip(images, counts, strict=True)
            )
            turned = mirrored < upright
        number, kind, _ = images[turned]
        if not self._possible[number]:
            return IMPOSSIBLE
        return self._solution((self._star(number, counts[turned], kind),))

    def _images_of(self, centre: int, entries: Numbers) -> tuple[_Image, _Image]:
        """Bring the laws of stars into both normal forms."""
        sides = [[k for k, entry in enumerate(entries) if entry & 1 == side] for side in (0, 1)]
        places = sides[0] + sides[1]
        below, above = (tuple([self.laws[entries[k] >> 1] for k in side]) for side in sides)
        images = []
        for sign in (1, -1):
            kind = standard_kind(self.laws[centre], below, above, sign)
            images.append((self._kind(kind), kind, tuple([places[k] for k in kind.order])))
        return images[0], images[1]

    def _kind(self, kind: StarKind) -> int:
        key = kind.centre, kind.below, kind.above
        number = self._kinds.setdefault(key, len(self._possible))
        if number == len(self._possible):
            self._possible.append(is_possible(star_of(kind, (1,) * len(kind.order))))
        return number

    def _star(self, number: int, counts: Numbers, kind: StarKind) -> int:
        """Number a star by its kind and its counts: laws are many, and hash slowly."""
        found = self._stars.setdefault((number, counts), len(self.events))
        if found == len(self.events):
            self.events.append(star_of(kind, counts))
        return found

    def event(self, laws: Iterable[int], guards: Sequence[LinearForm]) -> int:
        event = Event(tuple([self.laws[law] for law in laws]), tuple(guards))
        if any(len(guard.terms) > 2 for guard in guards):
            (factors,) = _factors.find(event, lambda: (canonical_factors(event),))
        else:
            factors = canonical_factors(event)
        if factors is None:
            return IMPOSSIBLE
        return self._solution(tuple([self._event(factor) for factor in factors]))

    def alone(self, event: Mixture | Chosen) -> int:
        """Solve a mixture, or a set of outcomes."""
        return self._solution((self._event(event),))

    def joined(self, left: int, right: int) -> int:
        """The conjunction of two independent solutions."""
        first, second = self.all[left], self.all[right]
        return IMPOSSIBLE if first is None or second is None else self._solution(first + second)

    def _event(self, event: Connected) -> int:
        if isinstance(event, Star):
            below, above = (tuple([law for law, _ in s]) for s in (event.below, event.above))
            counts = tuple([count for _, count in (*event.below, *event.above)])
            kind = StarKind(event.centre, below, above, tuple(range(len(counts))))
            return self._star(self._kind(kind), counts, kind)
        number = self._events.setdefault(event, len(self.events))
        if number == len(self.events):
            self.events.append(event)
        return number

    def _solution(self, numbers: Numbers) -> int:
        if len(numbers) > 1:  # the order of factors does not matter for their product
            numbers = tuple(sorted(numbers))
        number = self._numbers.setdefault(numbers, len(self.all))
        if number == len(self.all):
            self.all.append(numbers)
        return number
