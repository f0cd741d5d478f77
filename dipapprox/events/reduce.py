"""Exact simplification of events: what is implied goes, what is impossible shows, parts separate.

In: an `Event` with any linear guards. Out: None if it is impossible, or independent connected
factors whose guards are irredundant and, where that costs nothing, plain comparisons. The
probability of the event is the product of the probabilities of the factors, exactly.

Guards become plain comparisons by a change of the samples. Two rules, each preserving the
probability:

    sums      λ1·x1 + … + λm·xm that occurs in this proportion in every guard, and nowhere else:
              Gaussians in it are one Gaussian if its variance is a rational square, and in any
              case a sum of at most four (Lagrange's theorem on sums of squares); one-sided
              exponential samples X and X' of opposite directions and equal scale are one sample
              of the `difference` (`laws`): LapPlus + LapMinus is Lap
    rescaling x = a·y + b with a != 0 turns α·x_i + β·x_j + c <= 0 into y_i <= y_j (or >=);
              a < 0 is allowed: mirror images of laws are laws

An event is also impossible if its laws make it so: outside the support of one-sided noise, or
between integers.

Distributions have rational scales, so a sum with an irrational deviation stays a sum: nothing is
ever rounded. Events of integers stay as they are: a multiple of a discrete law is none, and shifts
by halves would take the samples off the integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import floor, isqrt

from dipapprox import graphs
from dipapprox.data_classes import Record
from dipapprox.events.event import Event, Star
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.family import BOTH_SIDES
from dipapprox.linear import zones
from dipapprox.linear.form import LinearForm, Symbol, are_opposite, content, difference, is_unit
from dipapprox.linear.half_spaces import (
    has_interior,
    have_integer_point,
    integer_inequality,
    irredundant,
)


def is_possible(event: Event | Star) -> bool:
    """Whether samples of the laws meet guards that leave an open set with positive probability.

    Of integers, bounds of single samples and of differences of two are decided, and others almost
    always (`half_spaces`); what is not counts as possible.
    """
    if isinstance(event, Star):
        return _star_is_possible(event)
    families = {law.family for law in event.samples}
    if any(family.is_discrete for family in families):
        return _have_integer_points(event) is not False
    if all(family.sides == BOTH_SIDES for family in families):
        return True
    supports = [
        LinearForm(((k, Fraction(side)),), -side * law.mean)
        for k, law in enumerate(event.samples)
        for side in BOTH_SIDES
        if side not in law.family.sides
    ]
    return not supports or has_interior([*event.guards, *supports])


def is_surely_possible(event: Event | Star) -> bool:
    """Whether an event of `reduce` is possible for certain: guards of integers may be in doubt."""
    if isinstance(event, Star) or not any(law.family.is_discrete for law in event.samples):
        return True
    return _have_integer_points(event) is True


def range_of(
    form: LinearForm, samples: Sequence[Distribution]
) -> tuple[Fraction | None, Fraction | None]:
    """Return between what ends, None for infinite ones, a sum of samples surely lies."""
    ends: list[Fraction | None] = [form.constant, form.constant]
    for sample in form.samples():
        law, factor = samples[sample], form.coefficient(sample)
        for side, end in enumerate(ends):
            own = (-1, 1)[side if factor > 0 else 1 - side]
            known = end is not None and own not in law.family.sides
            ends[side] = end + factor * law.mean if known and end is not None else None
    return ends[0], ends[1]


def _star_is_possible(star: Star) -> bool:
    """Every x <= c <= every y: the greatest lower bound has to be below the least upper one.

    Only bounds that a chain of comparisons connects count: of an x and c, of c and a y, of both.
    """
    lowest = [law.mean for law, _ in star.below if -1 not in law.family.sides]
    highest = [law.mean for law, _ in star.above if 1 not in law.family.sides]
    centre = star.centre
    if -1 not in centre.family.sides:
        lowest.append(centre.mean)
    if 1 not in centre.family.sides:
        highest.append(centre.mean)
    return not lowest or not highest or max(lowest) < min(highest)


def _have_integer_points(event: Event) -> bool | None:
    """Whether guards of integers hold together at integers; None if that is not known.

    x[v] - x[u] <= w means x[v] - x[u] <= ⌊w⌋. Other guards are left to linear programmes.
    """
    found = [each for each in map(difference, event.guards) if each is not None]
    if len(found) < len(event.guards):
        if not all(law.family.is_discrete for law in event.samples):
            return None
        return have_integer_point(map(integer_inequality, event.guards))
    return zones.potentials([(u, v, floor(w)) for u, v, w in found], 0) is not None


class LawOfSum(Record):
    """The law of a sum: independent terms add up."""

    mean: Fraction
    variance: Fraction  # of the one Gaussian term; 0: there is none
    # (factor, law) of the others; factors are 1 but for integer samples, where they are positive
    # integers if the sum's coefficients are integers.
    terms: tuple[tuple[Fraction, Distribution], ...]


def used_together(forms: Iterable[LinearForm]) -> tuple[LinearForm, ...]:
    """Return the sums of two samples and more that forms depend on, not on the single samples.

    They have no constants, and come in the order of their first samples, up to factors.
    """
    columns: dict[int, dict[int, Fraction]] = {}
    for place, form in enumerate(forms):
        for sample in form.samples():
            columns.setdefault(sample, {})[place] = form.coefficient(sample)
    groups: dict[tuple[tuple[int, Fraction], ...], dict[Symbol, Fraction]] = {}
    for sample, column in sorted(columns.items()):
        unit = next(iter(column.values()))
        direction = tuple((place, c / unit) for place, c in column.items())
        groups.setdefault(direction, {})[sample] = unit
    return tuple(LinearForm.of(group) for group in groups.values() if len(group) > 1)


def leading(form: LinearForm) -> LinearForm:
    """Return the multiple of a form that is not constant whose first coefficient is 1."""
    return form.scaled(1 / form.terms[0][1])


def primitive(form: LinearForm) -> LinearForm:
    """Return the multiple with coprime integer coefficients, the first of them positive."""
    unit = content(c for _, c in form.terms)
    return form.scaled(1 / (unit if form.terms[0][1] > 0 else -unit))


def law_of(form: LinearForm, laws: Sequence[Distribution]) -> LawOfSum:
    """Return the law of a sum without constant, in as few terms as closed forms make it."""
    mean = variance = Fraction(0)
    others: list[tuple[Fraction, Distribution]] = []
    for symbol, c in form.terms:
        law = laws[int(symbol)]
        if law.family.is_normal:
            mean += c * law.mean
            variance += (c * law.scale) ** 2
        elif law.family.is_discrete:
            sign = Fraction(1 if c > 0 else -1)
            others.append((abs(c), law.affine(sign, Fraction(0))))
        else:
            others.append((Fraction(1), law.affine(c, Fraction(0))))
    return LawOfSum(mean, variance, tuple(_two_sided(others)))


def _two_sided(
    terms: Iterable[tuple[Fraction, Distribution]],
) -> list[tuple[Fraction, Distribution]]:
    """Make one law of two of equal scale that are mirror images, if their sum has a name."""
    found: list[tuple[Fraction, Distribution]] = []
    for factor, law in terms:
        difference = law.family.difference
        for place, (_, other) in enumerate(found):
            if difference is None or other.family is not law.family.mirror:
                continue
            if other.scale == law.scale:
                found[place] = factor, Distribution(difference, other.mean + law.mean, law.scale)
                break
        else:
            found.append((factor, law))
    return found


_LARGEST_SQUARE_SEARCH = 10_000  # candidates tried for one square of a sum of squares


def as_comparisons(event: Event) -> Event:
    """Return an event of equal probability with as many plain comparisons as the rules reach.

    Guards come out as y_i - y_j <= 0, y_i - y_j + c <= 0, ±y_i + c <= 0 or, where no rule
    applies, as general normalised forms.
    """
    plain = all(
        is_unit(guard.terms[0][1]) and (len(guard.terms) == 1 or is_plain(guard))
        for guard in event.guards
    )
    if plain and len(event.samples) > 2:
        return event
    if any(law.family.is_discrete for law in event.samples):
        return event
    return _rescaled(_with_merged_sums(event))


# --- sums -----------------------------------------------------------------------------------------


def _with_merged_sums(event: Event) -> Event:
    """Merge samples whose coefficients are proportional over all guards, where fewer will do."""
    families = [law.family for law in event.samples]
    if sum([f.is_normal or f.difference is not None for f in families]) < 2:
        return event  # no two may be one
    samples = list(event.samples)
    replaced: dict[Symbol, LinearForm] = {}
    for form in used_together(event.guards):
        merged = _fewer(form, event.samples)
        if len(merged) >= len(form.terms):
            continue
        # Σ weight·member becomes Σ merged: the first member stands for it, the others vanish.
        fresh = range(len(samples), len(samples) + len(merged))
        samples += merged
        total = LinearForm.of({k: Fraction(1) for k in fresh})
        (first, weight), *others = form.terms
        replaced[first] = total.scaled(1 / weight)
        replaced |= {member: LinearForm.constant_form(0) for member, _ in others}
    if not replaced:
        return event
    guards = [guard.substitute(replaced) for guard in event.guards]
    used = sorted({sample for guard in guards for sample in guard.samples()})
    found = restricted(Event(tuple(samples), ()), used, guards)
    return Event(found.samples, tuple(guard.normalised() for guard in found.guards))


def _fewer(form: LinearForm, laws: Sequence[Distribution]) -> list[Distribution]:
    """Return few independent samples whose sum has the law of a form; possibly not fewer."""
    law = law_of(form, laws)
    others = [term for _, term in law.terms]  # all factors are 1: no integers
    gaussian = [(c, laws[int(k)]) for k, c in form.terms if laws[int(k)].family.is_normal]
    if not gaussian:
        return others
    scales = sum_of_squares(law.variance, len(gaussian) - 1)
    if scales is None:
        return [*others, *(each.affine(c, Fraction(0)) for c, each in gaussian)]
    family = gaussian[0][1].family
    means = [law.mean] + [Fraction(0)] * (len(scales) - 1)
    return [*others, *(Distribution(family, m, s) for m, s in zip(means, scales, strict=True))]


def sum_of_squares(value: Fraction, most: int) -> list[Fraction] | None:
    """Write a rational > 0 as the sum of the fewest, but at most `most`, rational squares > 0.

    Returns the numbers that are squared, positive; None if a bounded search finds none.
    """
    # p/q = (p·q)/q², and square factors of p·q only scale the result.
    number = value.numerator * value.denominator
    factor = Fraction(1, value.denominator)
    for divisor in (2, 3, 5, 7, 11, 13):
        while number % (divisor * divisor) == 0:
            number //= divisor * divisor
            factor *= divisor
    for count in range(1, min(most, 4) + 1):
        roots = _integer_squares(number, count)
        if roots is not None:
            return [root * factor for root in roots]
    return None


def _integer_squares(number: int, count: int) -> list[int] | None:
    """Write `number` as the sum of exactly `count` positive squares, greatest first."""
    root = isqrt(number)
    if count == 1:
        return [root] if root and root * root == number else None
    for first in range(root, max(0, root - _LARGEST_SQUARE_SEARCH // 10 ** (count - 2)), -1):
        rest = _integer_squares(number - first * first, count - 1)
        if rest is not None:
            return [first, *rest]
    return None


# --- rescaling and shifting -----------------------------------------------------------------------


Change = tuple[Fraction, Fraction]  # (p, q): x = p z + q

SAME: Change = Fraction(1), Fraction(0)
"""Compared by identity: most samples are not changed, and then nothing need be computed."""


def is_plain(guard: LinearForm) -> bool:
    """Whether the guard says a (x - y) <= 0."""
    if len(guard.terms) != 2 or guard.constant:
        return False
    return are_opposite(guard.terms[0][1], guard.terms[1][1])


def coordinates(
    size: int, guards: Sequence[LinearForm], first: Iterable[tuple[int, Change]] = ()
) -> list[Change]:
    """For every sample (p, q) with x = p z + q, along a spanning forest of the comparisons.

    One sample of each component is as it is. A guard a x + b y + c <= 0 between a known x = p z + q
    and a new sample y becomes a p (z - w) <= 0 for y = -(a p / b) w - (a q + c) / b. Guards that
    are plain already come first, and stay so. `first` are changes that are wanted.
    """
    linked: list[list[LinearForm]] = [[] for _ in range(size)]
    for guard in guards:
        if len(guard.terms) == 2:
            for sample in guard.samples():
                linked[sample].append(guard)
    change: list[Change | None] = [None] * size
    for start in (*first, *((root, SAME) for root in range(size))):
        waiting: list[tuple[int, Change]] = [start]
        later: list[tuple[int, Change]] = []
        while waiting or later:
            known, found = (waiting or later).pop()
            if change[known] is not None:
                continue
            change[known] = found
            slope, shift = found
            for guard in linked[known]:
                (i, a), (j, b) = [(int(s), c) for s, c in guard.terms]
                if j == known:
                    a, j, b = b, i, a
                if not is_plain(guard):
                    its = -a * slope / b, -(a * shift + guard.constant) / b
                    later.append((j, its))
                else:
                    waiting.append((j, found))
    return [pair for pair in change if pair is not None]


def _rescaled(event: Event) -> Event:
    """Substitute so that the two-sample guards of a spanning forest become plain."""
    lengths = {len(guard.terms) for guard in event.guards}
    if lengths - {1, 2} or 2 not in lengths:
        return event  # sums are no comparisons of samples, in whatever units
    change = coordinates(len(event.samples), event.guards)
    laws = [
        law if each == SAME else law.affine(1 / each[0], -each[1] / each[0])
        for law, each in zip(event.samples, change, strict=True)
    ]
    values: dict[Symbol, LinearForm] = {
        k: LinearForm.of({k: a}, b) for k, (a, b) in enumerate(change) if (a, b) != SAME
    }
    guards = (guard.substitute(values).normalised() for guard in event.guards)
    return Event(tuple(laws), tuple(guards))


def reduce(event: Event) -> tuple[Event, ...] | None:
    """Simplify an event without changing its probability; no factors: it is exactly 1.

    None if it has probability 0, and only then but for long systems of guards of integers
    (`half_spaces`). Factors are independent, simplified and connected: their guards are
    irredundant, and all their samples occur in these. They come in order of their least sample,
    each renumbered from 0.
    """
    parts = connected_parts(event)
    if parts is None or not all(is_possible(part) for _, part in parts):
        return None
    return tuple(as_comparisons(part) for _, part in parts)


def connected_parts(event: Event) -> tuple[tuple[tuple[int, ...], Event], ...] | None:
    """Split an event into irredundant connected events; None if it has probability 0.

    With each part come the samples it is about, ascending, which it renumbers from 0. Samples that
    no guard needs are in no part.
    """
    guards = irredundant(event.guards)
    if guards is None:
        return None
    found = connected_samples(len(event.samples), guards)
    return tuple((samples, restricted(event, samples, forms)) for samples, forms in found)


def connected_samples(
    size: int, guards: Sequence[LinearForm]
) -> list[tuple[tuple[int, ...], list[LinearForm]]]:
    """Group samples that guards connect: (ascending samples, their guards), at least one each."""
    edges = []
    for guard in guards:
        samples = guard.samples()
        edges += [(samples[0], other) for other in samples[1:]]
    if guards and len(edges) == len(guards) == size - 1 and graphs.is_forest(edges):
        return [(tuple(range(size)), list(guards))]  # a tree: the common case, at once
    parts = graphs.components(size, edges)
    home = {sample: k for k, part in enumerate(parts) for sample in part}
    grouped: list[list[LinearForm]] = [[] for _ in parts]
    for guard in guards:
        grouped[home[guard.samples()[0]]].append(guard)
    return [(part, forms) for part, forms in zip(parts, grouped, strict=True) if forms]


def restricted(event: Event, samples: Sequence[int], guards: Iterable[LinearForm]) -> Event:
    """Keep `samples`, renumbered in this order, and `guards`, which mention no others."""
    if len(samples) == len(event.samples):
        return Event(event.samples, tuple(guards))
    local: dict[Symbol, Symbol] = {sample: k for k, sample in enumerate(samples)}
    return Event(
        tuple(event.samples[sample] for sample in samples),
        tuple(guard.renamed(local.__getitem__) for guard in guards),
    )
