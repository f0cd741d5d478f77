"""Marginals in, plans of their densities out, as functions of the published number.

The published form y of the samples becomes one of the variables of an event: a root of a
`OrderEvent`, by the rules that make sums of samples parts (`sum_event.output_event`). All other
variables are integrated out, and what is left is Σ coefficient · product of functions of y: its
density on the event. So y may be a sample (with guards), a sum or a difference (by convolution),
a difference of which a guard bounds the sign (the gap of a noisy max), or a Gaussian of several.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import Record, replace
from dipapprox.events.event import Event, Marginal
from dipapprox.events.reduce import connected_samples, restricted
from dipapprox.limits import Limits
from dipapprox.linear.form import LinearForm
from dipapprox.linear.half_spaces import irredundant
from dipapprox.numerics.elimination.plan import FunctionTable, Terms
from dipapprox.numerics.elimination.planning import eliminate
from dipapprox.numerics.elimination.refinement import GridRequirements
from dipapprox.numerics.elimination.sum_event import output_event


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


def density_plan(
    marginal: Marginal, bits: int, limits: Limits, table: FunctionTable
) -> DensityPlan | NotEnclosed:
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
    terms = eliminate(order, limits, table, place)
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
