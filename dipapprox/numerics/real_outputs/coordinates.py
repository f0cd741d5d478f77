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
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import Record, replace
from dipapprox.events.event import Event, Marginal
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
