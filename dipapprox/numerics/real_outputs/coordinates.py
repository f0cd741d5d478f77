"""Marginals in, plans of their densities out, as functions of the published number.

The published form y of the samples becomes one of the variables of an event: a root of a
`OrderEvent`, by the rules that make sums of samples parts (`sum_event.output_event`). All other
variables are integrated out, and what is left is Σ coefficient · product of functions of y: its
density on the event. So y may be a sample (with guards), a sum or a difference (by convolution),
a difference of which a guard bounds the sign (the gap of a noisy max), or a Gaussian of several.

**Theorem.** The law of a sum of independent centred Laplace samples, of scales b that are all
different, is Σ A_b (Laplace of scale b), A_b = Π over the others c of b² / (b² - c²): on both sides
E e^(sX) is Π 1 / (1 - b² s²), in partial fractions on the right. The weights add up to 1, and some
are negative. So is, by linearity, what is made of such a sum by adding other noise, and what an
interval cuts out of it. There are no sums of widths that differ much on one grid then.

**Products.** Measures in space in, pairs of measures on the line out, where they are products.

A measure that is the sum of several parts is a product if the parts differ in one coordinate at
most: then the sum is over that coordinate only; or if they are all combinations of some for each
coordinate, with the events of each: Σ_ij e_i f_j a_i ⊗ b_j = (Σ_i e_i a_i) ⊗ (Σ_j f_j b_j).

What two measures have in common, a factor that is the same for both, is one of their divergence:

    sup over S of (f ⊗ c)(S) - growth (g ⊗ c)(S)  =  (mass of c) · sup over S of f(S) - growth g(S),

by Fubini: both sides are ∫ max(0, f - growth g), times ∫ c.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, prod
from operator import and_

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import Record, replace
from dipapprox.events.event import Event, Marginal, Part
from dipapprox.events.reduce import connected_samples, restricted
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import LAPLACE
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import irredundant
from dipapprox.numerics.elimination.plan import FunctionTable, Terms
from dipapprox.numerics.elimination.planning import eliminate
from dipapprox.numerics.elimination.refinement import GridRequirements
from dipapprox.numerics.elimination.sum_event import output_event

_NONE, _ONE = Fraction(0), Fraction(1)
_LARGEST = 2**10  # sum of weights: what is next to equal cancels


class DensityPlan(Record):
    """A density as a function of the published number, but for `error`."""

    terms: Terms  # Σ coefficient · product, over a table of functions
    required: GridRequirements  # what they require of a grid
    error: Fraction  # no set's mass differs by more from that under the terms' density


def simplified(marginal: Marginal) -> tuple[tuple[Event, ...], Marginal] | None:
    """Separate what does not concern the published number.

    Returns:
        Events independent of it, and the marginal with irredundant guards, connected; None if its
        event has probability 0.
    """
    guards = irredundant(marginal.event.guards)
    if guards is None:
        return None
    others: list[Event] = []
    found: Marginal | None = None
    published = replace(marginal.form)  # an object of its own, told from guards that are equal
    forms = (*guards, published)
    for samples, own in connected_samples(len(marginal.event.samples), forms):
        part = restricted(marginal.event, samples, own)
        if own[-1] is published:
            found = Marginal(replace(part, guards=part.guards[:-1]), part.guards[-1])
        else:
            others.append(part)
    assert found is not None
    return tuple(others), found


def with_one_scale(marginal: Marginal) -> list[tuple[Fraction, Marginal]]:
    """Write a `simplified` marginal as a sum with weights, each with one Laplace sample at most; as
    it is where the theorem does not do it."""
    form, laws = marginal.form, marginal.event.samples
    own = {int(s): abs(c) * laws[int(s)].scale for s, c in form.terms if _is_laplace(laws, s)}
    scales = sorted(set(own.values()))
    leading, factor = form.terms[0]
    guards = [(g, g.coefficient(leading) / factor) for g in marginal.event.guards]
    rest = [g - form.scaled(c) for g, c in guards]  # a guard is c · number + rest <= 0
    weights = [prod((b**2 / (b**2 - c**2) for c in scales if c != b), start=_ONE) for b in scales]
    several = len(scales) == len(own) > 1 and sum(map(abs, weights)) <= _LARGEST
    if not several or len(form.terms) < len(laws) or not all(each.is_constant for each in rest):
        return [(_ONE, marginal)]
    mean = sum((form.coefficient(s) * laws[s].mean for s in own), form.constant)
    others = [laws[s].affine(form.coefficient(s), _NONE) for s in form.samples() if s not in own]
    number = LinearForm.of(dict.fromkeys(range(len(others) + 1), _ONE))
    bounds = tuple([number.scaled(c) + each for (_, c), each in zip(guards, rest, strict=True)])
    return [
        (weight, Marginal(Event((Distribution(LAPLACE, mean, b), *others), bounds), number))
        for b, weight in zip(scales, weights, strict=True)
    ]


def _is_laplace(laws: Sequence[Distribution], sample: Symbol) -> bool:
    return isinstance(sample, int) and laws[sample].family is LAPLACE


def density_plans(
    marginal: Marginal, bits: int, table: FunctionTable
) -> list[tuple[Fraction, DensityPlan]] | NotEnclosed:
    """Plan the density of a `simplified` marginal as a sum with weights; see `density_plan`."""
    found = []
    for weight, own in with_one_scale(marginal):
        plan = density_plan(own, bits, table)
        if isinstance(plan, NotEnclosed):
            return plan
        found.append((weight, plan))
    return found


def density_plan(marginal: Marginal, bits: int, table: FunctionTable) -> DensityPlan | NotEnclosed:
    """Plan the density of a `simplified` marginal of continuous samples, if rules make it.

    2**-bits is much more than `DensityPlan.error`. New functions are added to the table.
    """
    if any(law.family.is_discrete for law in marginal.event.samples):
        return NotEnclosed(f"the published {_named(marginal.form)} contains integer noise")
    found = output_event(marginal.event, marginal.form, bits)
    if isinstance(found, NotEnclosed):
        name = _named(marginal.form)
        return NotEnclosed(f"no density of the published {name} is known: {found.reason}")
    order, place = found
    terms = eliminate(order, table, place)
    if isinstance(terms, NotEnclosed):
        return terms
    return DensityPlan(terms, GridRequirements.of(order), order.error)


def _named(form: LinearForm) -> str:
    """A form as people write it: x1, x2, … are its samples."""
    words = ""
    for k, (_, c) in enumerate(form.terms):
        sign = ("-" if c < 0 else "") if not words else (" - " if c < 0 else " + ")
        words += f"{sign}{'' if abs(c) == 1 else f'{abs(c)} '}x{k + 1}"
    return f"number {words}" if len(form.terms) > 1 else "sample"


Line = tuple[Part, ...]  # parts with one published number each; their measures add up


class Factored(Record):
    """Two product measures."""

    # by coordinate, those on which they differ: (coordinate, first, second)
    pairs: tuple[tuple[int, Line, Line], ...]
    common: tuple[Line, ...]  # the factors that are the same for both, each with a positive mass


class Mixed(Record):
    """Two measures that are no products, but for what is the same everywhere."""

    coordinates: tuple[int, ...]  # those in which parts differ, or the two measures
    common: tuple[Line, ...]  # the other coordinates' factors, each with a positive mass

    @property
    def reason(self) -> str:
        """Why they are no products, for people."""
        numbers = " and ".join(f"number {k + 1}" for k in self.coordinates)
        return f"paths that publish the same depend on each other in {numbers} of what is published"


def factored(first: Sequence[Part], second: Sequence[Part]) -> Factored | Mixed:
    """Write two measures, of at least one part each and equally many numbers, as products.

    Returns:
        The factors; with events of the parts in one of them, a pair if there is any. Or what is
        common to parts that differ in several coordinates.
    """
    count = len(first[0].marginals)
    columns = [
        [[part.marginals[k] for part in side] for side in (first, second)] for k in range(count)
    ]
    varying = [k for k, sides in enumerate(columns) if any(_vary(side) for side in sides)]
    differing = [k for k, (own, other) in enumerate(columns) if own[0] != other[0]]
    homes = varying or differing[:1] or [0]
    own_lines, other_lines = (_lines(side, homes) for side in (first, second))
    if own_lines is None or other_lines is None:
        kept = {k for k, (own, other) in enumerate(columns) if _vary([*own, *other])}
        shared = [(Part((), (columns[k][0][0],)),) for k in range(count) if k not in kept]
        return Mixed(tuple(sorted(kept)), tuple(shared))
    pairs: list[tuple[int, Line, Line]] = []
    common: list[Line] = []
    for k, (own, other) in enumerate(columns):
        one = own_lines.get(k) or (Part((), (own[0],)),)
        two = other_lines.get(k) or (Part((), (other[0],)),)
        if one == two:
            common.append(one)
        else:
            pairs.append((k, one, two))
    return Factored(tuple(pairs), tuple(common))


def _lines(side: Sequence[Part], homes: Sequence[int]) -> dict[int, Line] | None:
    """Write parts that differ in some coordinates as a product of sums; None if they are none.

    Events of all parts are in the first of the coordinates.
    """
    if len(homes) == 1:
        (home,) = homes
        return {home: tuple(Part(part.events, (part.marginals[home],)) for part in side)}
    places = [tuple([part.marginals[k] for k in homes]) for part in side]
    rows = {row: Counter(part.events) for row, part in zip(places, side, strict=True)}
    values = [dict.fromkeys(each) for each in zip(*rows, strict=True)]
    alike = all(rows[row] == Counter(p.events) for row, p in zip(places, side, strict=True))
    if not alike or prod(map(len, values)) != len(rows):
        return None
    counts, base = Counter(places), places[0]
    often = [{v: counts[*base[:k], v, *base[k + 1 :]] for v in own} for k, own in enumerate(values)]
    often = [{v: n // gcd(*own.values()) for v, n in own.items()} for own in often]

    def product(row: tuple[Marginal, ...]) -> int:
        return prod(own[value] for own, value in zip(often, row, strict=True))

    times = counts[base] // product(base)
    if any(count != times * product(row) for row, count in counts.items()):
        return None
    shared = reduce(and_, rows.values())
    needs = [
        {
            value: reduce(and_, (events for row, events in rows.items() if row[k] == value))
            - shared
            for value in own
        }
        for k, own in enumerate(values)
    ]
    for row, events in rows.items():
        if events != sum((needs[k][value] for k, value in enumerate(row)), shared):
            return None
    return {
        home: tuple(
            Part(tuple((own[value] + (Counter() if k else shared)).elements()), (value,))
            for value in own
            for _ in range(often[k][value] * (1 if k else times))
        )
        for k, (home, own) in enumerate(zip(homes, needs, strict=True))
    }


def _vary(marginals: Sequence[object]) -> bool:
    return any(each != marginals[0] for each in marginals)
