"""What a program is at one eps: how its selected pairs are opened, for whatever is asked of them.

    real inputs, selected pairs     their values are those of the pairs: a finite program
    real inputs, finite outputs     sets of pairs                      (`pairs.boxes`)
    real inputs, real outputs       vertices of the sets, as a finite program with real outputs
    real outputs                    measures of pairs that look alike  (`pairs.published`)
    independent parts               losses of kinds of pairs           (`pairs.products`)
    anything else                   probabilities of all outputs       (`pairs.maxima`)

Nobody else tells these apart: `verify`, `profile` and `calibrate` ask the `Subject`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from dipapprox.data_classes import Record
from dipapprox.deferred import Deferred
from dipapprox.language.domains import has_real_inputs
from dipapprox.numerics.bulk import ProbabilitySource
from dipapprox.numerics.probability import OutputProbabilities
from dipapprox.pairs.adjacency import count_selected, select_pairs
from dipapprox.pairs.search import ExactPairs
from dipapprox.pairs.selections import AllPairs, Pair, inputs_of
from dipapprox.privacy import products
from dipapprox.privacy.details import ListedDetails, PairDetails
from dipapprox.privacy.run import Setting
from dipapprox.privacy.sources import (
    open_exact_pairs,
    open_probabilities,
    open_product_source,
    open_published,
)
from dipapprox.privacy.verdict import Claim
from dipapprox.semantics.execution import execute
from dipapprox.semantics.parts import is_seen_whole
from dipapprox.semantics.state import FinalStates

if TYPE_CHECKING:
    from dipapprox.exact.real_outputs import comparison
    from dipapprox.pairs.boxes import together as boxes
    from dipapprox.pairs.boxes import vertices
    from dipapprox.pairs.maximum import Together
    from dipapprox.pairs.products import layout as product_layout
    from dipapprox.pairs.products import losses as product_losses
    from dipapprox.pairs.products.source import ProductProgram
    from dipapprox.pairs.published import couplings
    from dipapprox.pairs.published import together as published_search
    from dipapprox.privacy.published import details as published_details
    from dipapprox.semantics import real_inputs
else:
    comparison = Deferred("dipapprox.exact.real_outputs.comparison")
    boxes = Deferred("dipapprox.pairs.boxes.together")
    vertices = Deferred("dipapprox.pairs.boxes.vertices")
    product_layout = Deferred("dipapprox.pairs.products.layout")
    product_losses = Deferred("dipapprox.pairs.products.losses")
    couplings = Deferred("dipapprox.pairs.published.couplings")
    published_search = Deferred("dipapprox.pairs.published.together")
    published_details = Deferred("dipapprox.privacy.published.details")
    real_inputs = Deferred("dipapprox.semantics.real_inputs")

Executed: TypeAlias = "FinalStates | ProductProgram"
"""A program's final states, or those of its independent parts."""


class Subject(Record, frozen=False):
    """A program at one eps, with its selected pairs."""

    source: ProbabilitySource  # distributions of single inputs
    # How many there are, infinitely many of a set counted as 1; None if they are too many to count.
    pairs: int | None
    details: PairDetails
    engine: Callable[[], str]  # what computed, in words; they grow
    # All pairs at once; None where they are gone through (`listed`).
    together: Together | None = None
    # Final states, and probabilities in bulk, where pairs are gone through; else None.
    listed: tuple[FinalStates, OutputProbabilities] | None = None
    # What decides single pairs of a claim; None if nothing does, or nothing is claimed.
    exact: ExactPairs | None = None
    # The pairs of a program with real outputs; else None.
    published: published_search.PublishedPairs | None = None
    # The pairs of a program with real inputs and finite outputs; else None.
    boxes: boxes.RealPairs | None = None

    def claiming(self, delta: Fraction) -> AbstractContextManager[None]:
        """Ask within the block only whether the largest delta is at most this one."""
        return nullcontext() if self.together is None else self.together.asking(delta)


def executed_for(setting: Setting, *, parts: bool = True) -> Executed:
    """Execute a program for its `Subject`, in independent parts if these will do.

    Raises:
        UserError: If a real input's value is needed.
    """
    program, selection, merge = setting.program, setting.selection, setting.options.merge
    if setting.is_real:
        if isinstance(selection, AllPairs):
            return real_inputs.execute_for_declared(program, merge, setting.limits)
        program = real_inputs.with_values(program, selection.pairs)
    if parts and not is_seen_whole(program):
        found = product_layout.select_parts(program, selection, merge, setting.limits)
        if found is not None:
            return found
    return execute(
        program,
        merge,
        setting.limits,
        real_outputs=True,
        compared=not program.real_outputs,
        inputs=inputs_of(selection),
    )


def sizes_of(executed: Executed) -> tuple[int, int]:
    """Return how many distinct outputs and final states there are."""
    if isinstance(executed, FinalStates):
        return len(executed.outputs), len(executed.states)
    return executed.outputs, executed.final_states


def open_subject(
    setting: Setting, executed: Executed, eps: Fraction, claim: Claim | None = None
) -> Subject:
    """Open the selected pairs of a program.

    Args:
        claim: What is to be decided; None where bounds are wanted.
    """
    if not isinstance(executed, FinalStates):
        return _open_product(setting, executed, eps, claim)
    if executed.program.real_outputs:
        return _open_published(setting, executed, eps, claim)
    options = setting.options
    source = open_probabilities(executed, eps, options)

    details = ListedDetails(source, executed.outputs)
    if has_real_inputs(executed.program):
        patient = claim is None
        real = boxes.RealPairs(executed, eps, source, options.limits, patient=patient)
        return Subject(source, 1, details, lambda: real.name, together=real, boxes=real)
    return Subject(
        source,
        count_selected(executed.program, setting.selection),
        details,
        lambda: source.name,
        listed=(executed, source),
        exact=None if claim is None else open_exact_pairs(executed, claim, options),
    )


def _open_product(
    setting: Setting, product: ProductProgram, eps: Fraction, claim: Claim | None
) -> Subject:
    options, selection = setting.options, setting.selection
    limits, total = options.limits, count_selected(product.program, selection)
    source = open_product_source(product, eps, options)
    losses = product_losses.Losses(source, selection, limits)
    exact = None if claim is None else products.open_exact_product(product, claim, options)
    harmless = Fraction(1) if claim is None else claim.delta

    return Subject(
        source,
        total,
        products.ProductDetails(losses),
        lambda: source.name,
        together=product_losses.ProductPairs(losses, exact, total, harmless),
        exact=exact,
    )


def _open_published(
    setting: Setting, states: FinalStates, eps: Fraction, claim: Claim | None
) -> Subject:
    options, selection = setting.options, setting.selection
    divergences = open_published(states, eps, options)
    limits, exactly = options.limits, options.compares_exactly
    pairs: Iterable[Pair]
    total: int | None
    if has_real_inputs(states.program):
        pairs = corners = vertices.vertex_pairs(states)
        total = len(corners)
        divergences.note(vertices.LEMMA)
    else:
        pairs = select_pairs(states.program, selection)
        total = count_selected(states.program, selection)
    compared = exactly and (claim is None or not claim.delta)
    together = published_search.PublishedPairs(
        divergences,
        pairs,
        total,
        limits,
        couplings.Couplings(states, eps, limits) if exactly else None,
        None if claim is None else claim.growth,
        comparison.ExactComparison(limits, divergences.mass) if compared else None,
    )
    delta = None if claim is None else claim.delta
    details = published_details.PublishedDetails(divergences, together, delta)
    return Subject(
        divergences, total, details, lambda: divergences.name, together=together, published=together
    )
