"""Two measures of one outcome in; out, the same up to what changes no divergence.

    a coordinate with one law, in all parts on both sides, is a common factor: its mass is all that
    counts, for sup over S of first(S) - growth second(S) is the supremum of the rest times it
    a coordinate may be shifted and reflected, on both sides alike
    coordinates, parts and events may be put in another order

So pairs of inputs that differ by names, a shift or a sign are looked at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from dipapprox.data_classes import Record, replace
from dipapprox.events.canonical import within
from dipapprox.events.event import EVERYWHERE, Connected, Event, Marginal, Part
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm, Symbol

_Item = TypeVar("_Item")


class MeasureSides(Record):
    """Two measures of one outcome, at u and at u'; parts add up, none to the measure 0."""

    first: tuple[Part, ...]
    second: tuple[Part, ...]

    @property
    def coordinates(self) -> int:
        parts = self.first or self.second
        return len(parts[0].marginals) if parts else 0


class CoordinatePlace(Record):
    """Where a coordinate of a normal form comes from: y = sign · z + shift."""

    coordinate: int
    sign: int
    shift: Fraction


class NormalMeasures(Record):
    sides: MeasureSides
    places: tuple[CoordinatePlace, ...]


class Unmoved(Record):
    """The parts of one outcome at one input without the constants of their coordinates."""

    parts: tuple[Part, ...]  # as of a normal form but for their order, all constants 0
    constants: tuple[tuple[Fraction, ...], ...]  # for each part those of its coordinates


def unmoved(parts: Sequence[Part]) -> Unmoved:
    centred = [_centred_part(part) for part in parts]
    constants = [tuple([each.form.constant for each in part.marginals]) for part in centred]
    back = [[-each for each in own] for own in constants]
    return Unmoved(tuple(map(_moved, centred, back)), tuple(constants))


def moved(measure: Unmoved, constants: Sequence[Sequence[Fraction]]) -> tuple[Part, ...]:
    return tuple([_moved(part, own) for part, own in zip(measure.parts, constants, strict=True)])


def _moved(part: Part, constants: Sequence[Fraction]) -> Part:
    pairs = zip(part.marginals, constants, strict=True)
    return Part(part.events, tuple([replace(m, form=_plus(m.form, c)) for m, c in pairs]))


def normal_form(sides: MeasureSides) -> NormalMeasures:
    """Bring two measures into normal form: equal ones have equal divergences at every factor."""
    kept = [_centred_part(part) for part in (*sides.first, *sides.second)]
    size = len(sides.first)
    places = []
    marginals: list[list[Marginal]] = [[] for _ in kept]
    events: list[Connected] = []
    for coordinate in range(sides.coordinates):
        own = [part.marginals[coordinate] for part in kept]
        if len(set(own)) == 1 and sides.first and sides.second:
            # Its guards need not connect all samples: the number did.
            mass = within(own[0], EVERYWHERE)
            if mass is not None:
                events += mass
                continue
        sign, shift, changed = _placed(own)
        places.append(CoordinatePlace(coordinate, sign, shift))
        for known, marginal in zip(marginals, changed, strict=True):
            known.append(marginal)
    order = list(range(len(places)))
    if len(sides.first) <= 1 >= len(sides.second):  # where measures are sums they stay
        order.sort(key=lambda k: repr([own[k] for own in marginals]))
    parts = [
        Part(in_order((*part.events, *events)), tuple(own[k] for k in order))
        for part, own in zip(kept, marginals, strict=True)
    ]
    found = MeasureSides(in_order(parts[:size]), in_order(parts[size:]))
    return NormalMeasures(found, tuple(places[k] for k in order))


def in_order(items: Sequence[_Item]) -> tuple[_Item, ...]:
    """Put things into an order that is theirs alone: as they are written."""
    return tuple(sorted(items, key=repr) if len(items) > 1 else items)


def _centred_part(part: Part) -> Part:
    return replace(part, marginals=tuple(map(_centred, part.marginals)))


def _centred(marginal: Marginal) -> Marginal:
    """Shift samples to mean 0 and give the first published one the coefficient 1."""
    marginal = _renumbered(marginal)
    laws = marginal.event.samples
    leading, factor = marginal.form.terms[0]
    values: dict[Symbol, LinearForm] = {}
    changed: list[Distribution] = []
    for sample, law in enumerate(laws):
        scale = factor if sample == leading else Fraction(1)
        # x = x' / scale + mean
        values[sample] = LinearForm.of({sample: 1 / scale}, law.mean)
        family = law.family.mirror if scale < 0 else law.family
        changed.append(Distribution(family, Fraction(0), law.scale * abs(scale)))
    guards = tuple(guard.substitute(values).normalised() for guard in marginal.event.guards)
    return Marginal(Event(tuple(changed), guards), marginal.form.substitute(values))


def _renumbered(marginal: Marginal) -> Marginal:
    """Number samples by what they are: those that look alike may be told apart by names still."""
    event, form = marginal.event, marginal.form

    def looks(sample: int) -> tuple[object, ...]:
        guards = [
            (guard.coefficient(sample), sorted(c for _, c in guard.terms), guard.constant)
            for guard in event.guards
            if guard.coefficient(sample)
        ]
        law = event.samples[sample]
        own = abs(form.coefficient(sample)), form.coefficient(sample), law.family.name, law.scale
        return *own, sorted(guards), law.mean

    order = sorted(range(len(event.samples)), key=looks, reverse=True)
    places: dict[Symbol, Symbol] = {sample: place for place, sample in enumerate(order)}
    guards = in_order([guard.renamed(places.__getitem__) for guard in event.guards])
    laws = tuple([event.samples[sample] for sample in order])
    return Marginal(Event(laws, guards), form.renamed(places.__getitem__))


def _placed(own: Sequence[Marginal]) -> tuple[int, Fraction, list[Marginal]]:
    """Shift and reflect a coordinate y = sign (z + shift); of the two images take the first."""
    images = []
    for sign in (1, -1):
        turned = [_mirrored(each) for each in own] if sign < 0 else list(own)
        shift = turned[0].form.constant
        moved = [replace(each, form=_plus(each.form, -shift)) for each in turned]
        images.append((repr(moved), sign, shift, moved))
    _, sign, shift, moved = min(images)
    return sign, sign * shift, moved


def _plus(form: LinearForm, constant: Fraction) -> LinearForm:
    return LinearForm(form.terms, form.constant + constant)


def _mirrored(marginal: Marginal) -> Marginal:
    """Reflect the published number, and with it all samples."""
    laws = tuple(law.affine(Fraction(-1), Fraction(0)) for law in marginal.event.samples)
    guards = tuple(
        LinearForm(tuple((s, -c) for s, c in guard.terms), guard.constant)
        for guard in marginal.event.guards
    )
    form = LinearForm(marginal.form.terms, -marginal.form.constant)
    return Marginal(Event(laws, guards), form)
