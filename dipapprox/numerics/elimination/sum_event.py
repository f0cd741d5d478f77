"""Sums of samples: events whose guards reduce to comparisons of sums, one after the other.

In: an `Event`, any linear guards. Out: an `OrderEvent`, if four rules make one. A *part* is a
random variable of its own, at first a sample; parts are independent.

    bound       a guard about one part bounds it
    sum         parts that all guards meet in one proportion become one part, their sum
    comparison  a guard about two parts, one in no other guard, becomes a property of the other; so
                do two, a band x + b <= y <= x + c
    order       guards about two parts each that fit one order stay: `order_event`

Partial sums, trees of counters and comparisons of sums with what else is compared reduce so. A sum
of Gaussian samples without bounds is one Gaussian sample: its variance is rational, its deviation s
may not be. A rational t <= s < t (1 + 2^-k) stands in: in ln s the density changes by |z² - 1|
times itself, whose integral is below 1, so no probability changes by more than ln(s / t) < 2^-k.

Coordinates. Parts are rescaled so that sums are z = z_1 + z_2 + … and comparisons z <= z', and
shifted so that as many means and constants as possible are 0: panels of one width serve all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd
from operator import add

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import Record, field
from dipapprox.events.event import Event, Interval, common
from dipapprox.events.reduce import coordinates
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.elimination.planning import (
    Bound,
    BoundedElement,
    OrderEvent,
    compared,
    order_event,
)
from dipapprox.numerics.powers import root_below


def sums_in(event: Event) -> tuple[LinearForm, ...]:
    """Return the sums that the rules make of samples, in the order in which they make them."""
    sums: list[LinearForm] = []
    _Reduction(event, 0, told=sums).run()
    return tuple(sums)


def sum_event(event: Event, bits: int) -> OrderEvent | NotEnclosed:
    """Read a connected, irredundant event as comparisons of samples; of sums if that does not do.

    The error is then below 2**-bits.
    """
    order = order_event(event)
    return sums_compared(event, bits) if isinstance(order, NotEnclosed) else order


def sums_compared(event: Event, bits: int) -> OrderEvent | NotEnclosed:
    """Read as comparisons of sums what is none of samples."""
    return _Reduction(event, bits).reduced()


def output_event(event: Event, form: LinearForm, bits: int) -> tuple[OrderEvent, int] | NotEnclosed:
    """Reduce an event so that a form over at least one of its samples is one of the roots.

    Returns:
        The reduced event, and the place of the form among its roots: the root's coordinate is the
        form's value. Or why no rule makes the form a part.
    """
    work = _Reduction(event, bits, form)
    found = work.reduced()
    return found if isinstance(found, NotEnclosed) else (found, work.place_of_output)


_ZERO, _ONE = Fraction(0), Fraction(1)


class _Part(Record, frozen=False, eq=False):
    """A random variable while rules are applied."""

    law: Distribution | None  # of a sample; None for a sum
    terms: tuple[tuple[Fraction, _Part], ...] = ()  # of a sum: (coefficient, part)
    lower: Fraction | None = None
    upper: Fraction | None = None
    compared: list[_Comparison] = field(default_factory=list)

    @property
    def is_free(self) -> bool:
        """Whether it is bounded and compared nowhere."""
        return self.lower is None and self.upper is None and not self.compared


class _Comparison(Record, eq=False):
    """a · part + c · another one + k <= 0; and >= -width, if there is one."""

    part: _Part
    a: Fraction
    c: Fraction
    k: Fraction
    width: Fraction | None


class _Placed(Record, frozen=False, eq=False):
    """A part in the coordinate z, part = slope · z + shift."""

    part: _Part
    slope: Fraction
    shift: Fraction
    # numbers of a sum's terms; their z add up to this one's
    parts: list[int] = field(default_factory=list)
    # numbers of what is compared with it, and at most it
    below: list[int] = field(default_factory=list)
    above: list[int] = field(default_factory=list)  # likewise, at least it
    # (number, offset) of what is compared with it, and lies from it to it + offset
    bands: list[tuple[int, Fraction]] = field(default_factory=list)
    # a number that its means and constants differ from by few steps; None: any
    origin: Fraction | None = None

    def compared(self) -> Iterable[int]:
        """The numbers of what is compared with it."""
        return (*self.below, *self.above, *(number for number, _ in self.bands))

    def cuts(self) -> Iterable[Fraction]:
        """The kink of a law, and the bounds, in the coordinate."""
        part = self.part
        kinked = part.law is not None and part.law.real.has_kink
        points = [part.law.mean] if kinked and part.law is not None else []
        points += [bound for bound in (part.lower, part.upper) if bound is not None]
        return [(point - self.shift) / self.slope for point in points]


class _Layout:
    """Parts with their coordinates, each before those that it is made of."""

    def __init__(self) -> None:
        self._placed: list[_Placed] = []

    def add(self, part: _Part, slope: Fraction, shift: Fraction) -> int:
        """Place a part and everything that it is made of; return its number."""
        number = self._put(_Placed(part, slope, shift))
        waiting = [number]
        while waiting:
            place = self._placed[waiting.pop()]
            p, q = place.slope, place.shift
            start = len(self._placed)
            for k, (c, term) in enumerate(place.part.terms):
                # Nearly all coefficients are 1, and fractions divide slowly.
                slope, shift = (p, q) if c == 1 else (p / c, q / c)
                place.parts.append(self._put(_Placed(term, slope, _ZERO if k else shift)))
            for each in place.part.compared:
                # a y + c (p z + q) + k is a multiple c p of z - z'.
                rate, shift = each.c * p, -(each.c * q + each.k) / each.a
                other = self._put(_Placed(each.part, -rate / each.a, shift))
                if each.width is not None:  # -width <= c p (z - z') <= 0
                    place.bands.append((other, each.width / rate))
                else:
                    (place.above if rate > 0 else place.below).append(other)
            waiting += range(start, len(self._placed))
        return number

    def _put(self, place: _Placed) -> int:
        self._placed.append(place)
        return len(self._placed) - 1

    def elements(self, roots: Sequence[int], shifted: bool) -> tuple[BoundedElement, ...]:
        """List the elements, the last first; `shifted`: whether coordinates of roots may be."""
        for place in reversed(self._placed):
            place.origin = self._origin(place)
        fixed = [o for r in roots if shifted and (o := self._placed[r].origin) is not None]
        origins = [fixed[0] if fixed else _ZERO] * len(self._placed)
        last = len(self._placed) - 1
        found: list[BoundedElement] = []
        for number, place in enumerate(self._placed):
            origin = origins[number]
            for other in place.compared():
                origins[other] = origin
            own = [self._placed[k].origin for k in place.parts]
            taken = [o for o in own if o]  # nearly all are 0
            rest = origin - sum(taken, _ZERO) if taken else origin
            for k, o in zip(place.parts, own, strict=True):
                origins[k] = o or _ZERO
            if place.parts and rest:
                # Whatever has no kinks takes the rest; else the first, which then has them there.
                origins[place.parts[own.index(None) if None in own else 0]] += rest
            found.append(self._element(place, origin, last))
        return tuple(reversed(found))

    def _origin(self, place: _Placed) -> Fraction | None:
        own = [self._placed[k].origin for k in place.parts]
        fixed = [o for o in own if o is not None]
        if place.parts and len(fixed) == len(own):
            return sum(fixed, Fraction(0))
        compared = (self._placed[k].origin for k in place.compared())
        candidates = (*place.cuts(), *(o for o in compared if o is not None))
        return candidates[0] if candidates else None

    def _element(self, place: _Placed, origin: Fraction, last: int) -> BoundedElement:
        slope, shift = place.slope, place.shift
        if origin.numerator:
            shift += slope * origin
        part, law = place.part, place.part.law
        lower, upper = part.lower, part.upper
        if slope != 1 or shift.numerator:
            lower, upper = (None if b is None else (b - shift) / slope for b in (lower, upper))
            law = None if law is None else law.affine(1 / slope, -shift / slope)
        if slope.numerator < 0:
            lower, upper = upper, lower
        source = law or tuple([last - k for k in place.parts])
        below, above = ([last - k for k in side] for side in (place.below, place.above))
        bands = tuple((last - k, offset) for k, offset in place.bands)
        return BoundedElement(source, lower, upper, tuple(below), tuple(above), bands)


class _Guard(Record, frozen=False, eq=False):
    """Σ coefficient · part + constant <= 0, parts by number."""

    terms: dict[int, Fraction]
    constant: Fraction

    @classmethod
    def of(cls, form: LinearForm) -> _Guard:
        return cls({int(s): c for s, c in form.terms}, form.constant)


class _Reduction:
    """Parts and guards while rules are applied.

    Args:
        output: A form that is to become a part. It stands among the guards, so that parts that it
            weighs otherwise than guards do are not added up, but it is no condition.
        told: Is given the sums as forms of samples, which takes time.
    """

    def __init__(
        self,
        event: Event,
        bits: int,
        output: LinearForm | None = None,
        told: list[LinearForm] | None = None,
    ) -> None:
        self._told = told
        self._forms = dict(enumerate(map(LinearForm.symbol, range(len(event.samples)))))
        self._parts = {k: _Part(law) for k, law in enumerate(event.samples)}
        self._guards = list(map(_Guard.of, event.guards))
        self._output = None if output is None else _Guard.of(output)
        if self._output is not None:
            self._guards.append(self._output)
        self.place_of_output = 0  # among the roots, once they are known
        self._digits = -(-(bits + 64) // 64) * 64
        self._errors = 0

    def reduced(self) -> OrderEvent | NotEnclosed:
        """Apply the rules, and choose coordinates."""
        obstacle = self.run()
        return self._settled() if obstacle is None else NotEnclosed(obstacle)

    def run(self) -> str | None:
        """Apply the rules as long as one applies; return what is in the way of the last."""
        while True:
            self._bound()
            # Bands fit no order: they are taken at once, plain comparisons if they have to be.
            if self._sum() or self._compare(bands=True):
                continue
            output = self._output
            if all(len(each.terms) == (1 if each is output else 2) for each in self._guards):
                return None
            if self._compare(bands=False):
                continue
            if output is not None and len(output.terms) > 1:
                many = f"{len(output.terms)} samples or sums"
                return f"it is made of {many} that guards tie to others"
            most = max(len(guard.terms) for guard in self._guards)
            return f"a guard compares {most} samples or sums that other guards tie to each other"

    def _bound(self) -> None:
        """Rule 1."""
        kept = []
        for guard in self._guards:
            if len(guard.terms) > 1 or guard is self._output:
                kept.append(guard)
                continue
            ((number, c),) = guard.terms.items()
            part, bound = self._parts[number], -guard.constant / c
            half: Interval = (None, bound) if c > 0 else (bound, None)
            part.lower, part.upper = common((part.lower, part.upper), half)
        self._guards = kept

    def _sum(self) -> bool:
        """Rule 2, for all parts that it applies to; whether there were any."""
        columns: dict[int, dict[int, Fraction]] = {}
        for place, guard in enumerate(self._guards):
            for number, c in guard.terms.items():
                columns.setdefault(number, {})[place] = c
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, column in columns.items():
            groups.setdefault(_direction(column), []).append(number)
        found = False
        for direction, members in groups.items():
            first = direction[0]
            only = self._guards[first] if len(direction) == 3 else None
            compares = only is not None and only is not self._output and len(only.terms) == 2
            if len(members) < 2 or compares:
                continue  # alone, or one comparison of two parts
            found = True
            leader, *others = members
            unit = columns[leader][first]
            own = [columns[m][first] for m in members]
            weights = [_ONE if c is unit else c / unit for c in own]
            parts = [self._parts.pop(m) for m in members]
            self._parts[leader] = self._total(list(zip(weights, parts, strict=True)))
            if self._told is not None:
                forms = zip(weights, members, strict=True)
                self._forms[leader] = reduce(add, (self._forms[m].scaled(w) for w, m in forms))
                self._told.append(self._forms[leader])
            for place in direction[::3]:
                for other in others:
                    del self._guards[place].terms[other]
        return found

    def _total(self, weighted: Sequence[tuple[Fraction, _Part]]) -> _Part:
        """The sum of parts, Gaussian samples first made one."""
        flat: list[tuple[Fraction, _Part]] = []
        for c, part in weighted:
            if part.is_free and part.law is None:
                flat += [(c * inner, each) for inner, each in part.terms]
            else:
                flat.append((c, part))
        gaussian: list[tuple[Fraction, Distribution]] = []
        terms: list[tuple[Fraction, _Part]] = []
        for c, part in flat:
            if part.is_free and part.law is not None and part.law.family.is_normal:
                gaussian.append((c, part.law))
            else:
                terms.append((c, part))
        if gaussian:
            terms.append((_ONE, _Part(self._gaussian(gaussian))))
        return _Part(None, tuple(terms)) if len(terms) > 1 else terms[0][1]

    def _gaussian(self, weighted: Sequence[tuple[Fraction, Distribution]]) -> Distribution:
        mean = sum((c * law.mean for c, law in weighted), Fraction(0))
        variance = sum(((c * law.scale) ** 2 for c, law in weighted), Fraction(0))
        scale = root_below(variance, self._digits)
        self._errors += scale * scale != variance
        return Distribution(weighted[0][1].family, mean, scale)

    def _compare(self, *, bands: bool) -> bool:
        """Rule 3, for all guards, or bands, that it applies to; whether there were any."""
        count: dict[int, int] = {}
        between: dict[tuple[int, ...], list[_Guard]] = {}
        for guard in self._guards:
            for number in guard.terms:
                count[number] = count.get(number, 0) + 1
            if len(guard.terms) == 2 and guard is not self._output:
                between.setdefault(tuple(sorted(guard.terms)), []).append(guard)
        done: set[int] = set()
        for pair, guards in between.items():
            if bands and len(guards) == 1:
                continue
            if len(guards) > 1 and self._output is not None:
                continue  # functions are moved where their integrals are all that is asked for
            for leaf, other in (pair, pair[::-1]):
                if count[leaf] > len(guards):
                    continue
                comparison = _comparison(self._parts[leaf], leaf, other, guards)
                if comparison is not None:
                    del self._parts[leaf]
                    self._parts[other].compared.append(comparison)
                    count[other] -= len(guards)
                    done.update(map(id, guards))
                    break
        self._guards = [guard for guard in self._guards if id(guard) not in done]
        return bool(done)

    def _settled(self) -> OrderEvent | NotEnclosed:
        roots = sorted(self._parts)
        place = {number: k for k, number in enumerate(roots)}
        guards = [
            LinearForm.of({place[number]: c for number, c in guard.terms.items()}, guard.constant)
            for guard in self._guards
            if guard is not self._output
        ]
        first = []
        if self._output is not None:
            ((number, c),) = self._output.terms.items()
            self.place_of_output = place[number]
            first.append((place[number], (1 / c, -self._output.constant / c)))
        changes = coordinates(len(roots), guards, first)
        bounds: set[Bound] = set()
        for guard in guards:
            found = compared(guard, changes)
            if found is None or found[1]:
                return NotEnclosed(
                    "guards between the same sums, or round a cycle of them, do not fit one order"
                )
            bounds.add((*found[0], found[1]))
        layout = _Layout()
        numbers = [layout.add(self._parts[number], *changes[place[number]]) for number in roots]
        elements = layout.elements(numbers, shifted=self._output is None)
        last = len(elements) - 1
        roots = [last - number for number in numbers]
        error = Fraction(self._errors, 2**self._digits)
        return OrderEvent(elements, tuple(roots), frozenset(bounds), error)


def _direction(column: dict[int, Fraction]) -> tuple[int, ...]:
    """(guard, numerator, denominator, …) up to a factor: fractions hash slowly."""
    leading = next(iter(column.values()))
    p, q = leading.denominator, leading.numerator
    found: list[int] = []
    for place, c in column.items():
        above, below = c.numerator * p, c.denominator * q
        if below != 1:
            common = gcd(above, below) if below > 0 else -gcd(above, below)
            above, below = above // common, below // common
        found += place, above, below
    return tuple(found)


def _comparison(part: _Part, leaf: int, other: int, guards: Sequence[_Guard]) -> _Comparison | None:
    """Read one guard between two parts, or two that say opposite things of one difference."""
    first, *more = guards
    a, c, k = first.terms[leaf], first.terms[other], first.constant
    if not more:
        return _Comparison(part, a, c, k, None)
    second = more[0]
    ratio = -second.terms[leaf] / a
    if len(more) > 1 or ratio <= 0 or second.terms[other] != -ratio * c:
        return None
    # -(a y + c x) + k' <= 0, so that a y + c x + k lies between k + k' and 0.
    return _Comparison(part, a, c, k, -(k + second.constant / ratio))
