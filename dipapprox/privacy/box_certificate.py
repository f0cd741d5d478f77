"""DP for all real inputs, to be recorded: how all pairs were subdivided, or which stand for all.

What bounds δ on the sets of a subdivision, the check finds by itself; recorded is what was done
with each set. Where numbers are published the pairs at vertices are recorded.
"""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from dipapprox.certificates.statement import Ends, PlainValues
from dipapprox.certificates.verdicts import (
    Cut,
    Range,
    RecordedBoxes,
    RecordedDivergences,
    Reduction,
    Summary,
)
from dipapprox.errors import NoCertificate
from dipapprox.language.core import Input, Program
from dipapprox.language.domains import AllReals
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.pairs.boxes.infinity import with_ends
from dipapprox.pairs.boxes.subdivision import CutAt, FacesFor
from dipapprox.pairs.boxes.vertices import vertex_pairs
from dipapprox.pairs.divergence import divergence
from dipapprox.pairs.maximum import FACTOR_BITS
from dipapprox.pairs.selections import OrderedPairs
from dipapprox.privacy.notation import plain_value
from dipapprox.privacy.options import Options
from dipapprox.privacy.published.certificate import divergences
from dipapprox.privacy.sources import open_real_pairs
from dipapprox.privacy.verdict import Verdict
from dipapprox.semantics.real_inputs import execute_for_declared, with_values
from dipapprox.semantics.state import FinalStates


def stated_delta(verdict: Verdict, evidence: RecordedBoxes) -> Enclosure:
    """Return bounds of the largest δ that a certificate states: what a pair has, what is claimed.

    The search for the certificate may have ended with another pair than that for the verdict.
    """
    found = verdict.delta_enclosure or Enclosure.exact(0)
    seen = evidence.delta_enclosure.enclosure.lower
    return Enclosure(min(found.lower, seen), max(found.upper, verdict.claim.delta))


def all_real_inputs(
    program: Program, verdict: Verdict, options: Options
) -> RecordedBoxes | RecordedDivergences | Summary:
    """Compute the evidence that a program with real inputs keeps a claim.

    Args:
        program: With real inputs.
        verdict: DP for all of them.
        options: Those of the verification.

    Raises:
        NoCertificate: If the verdict is not by what a certificate records.
        LimitReached: If `options.limits` run out.
    """
    states = execute_for_declared(program, options.merge, options.limits)
    if program.real_outputs:
        pairs = vertex_pairs(states)
        inputs = len(dict.fromkeys(input for pair in pairs for input in pair))
        finite = with_values(program, pairs)
        listed = OrderedPairs(tuple(pairs))
        return divergences(finite, verdict, listed, len(pairs), inputs, options)
    source, real = open_real_pairs(states, verdict.claim.eps, options)
    factor = verdict.claim.growth.bounds(max(verdict.precision, FACTOR_BITS))
    with real.claiming(verdict.claim.delta):
        real.at(factor, verdict.precision)
    known = real.known
    if known is None or known.found.trace is None or known.found.pair is None:
        raise NoCertificate("all pairs were not subdivided")
    pair, subdivision = known.found.pair, known.found.trace.subdivision()
    first, second = source.distributions(pair, verdict.precision)
    if isinstance(first, NotEnclosed) or isinstance(second, NotEnclosed):
        raise NoCertificate("the probabilities of a pair are not enclosed")
    return RecordedBoxes(
        input=_plain(pair[0]),
        adjacent=_plain(pair[1]),
        delta_enclosure=Ends.of(divergence(first, second, factor)),
        roots=subdivision.roots,
        steps=tuple(map(_recorded, subdivision.steps)),
        **_ends(states, verdict.claim.eps),
    )


def _ends(states: FinalStates, eps: Fraction) -> dict[str, tuple[Range | None, ...]]:
    """Return between what ends inputs without bounds were subdivided; nothing if all have some."""
    bounded, _ = with_ends(states, eps)
    found = []
    for cell, between in zip(states.program.inputs, bounded.program.inputs, strict=True):
        if isinstance(cell.domain, AllReals):
            assert isinstance(between.domain, AllReals)
            own = between.domain.bounds
            is_free = cell.domain.bounds is None and own is not None
            found.append(Range(*own) if is_free and own is not None else None)
    return {"ends": tuple(found)} if any(found) else {}


def _plain(input: Input) -> PlainValues:
    return tuple(plain_value(value) for value in input)


def _recorded(step: CutAt | FacesFor) -> Cut | Reduction:
    match step:
        case CutAt(axis, side, place, parts):
            return Cut(axis, side, place, parts)
        case FacesFor(directions, parts):
            return Reduction(directions, parts)
        case _:
            assert_never(step)
