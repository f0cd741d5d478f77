"""Verdicts about programs with real outputs, to be recorded.

Not_DP: the ends of a witness's intervals cut the numbers into cells (`language.number_cells`); what
the cells tell, the numbers tell, too. So a claim that fails for the cells fails, and that is
recorded. Where no intervals show it, the pair is recorded with its δ.

DP: of each class of pairs that look alike, one pair with its δ and sets of numbers that nearly
attain it. What bounds δ from above, the check finds by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.certificates.statement import Ends, PlainValues
from dipapprox.certificates.verdicts import (
    Interval,
    PublishedOutcome,
    PublishedPair,
    RecordedDivergence,
    RecordedDivergences,
    Relation,
    Share,
    Summary,
)
from dipapprox.data_classes import replace
from dipapprox.errors import NoCertificate
from dipapprox.language.core import Program, Value
from dipapprox.language.number_cells import with_number_cells
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.maximum import FACTOR_BITS
from dipapprox.pairs.published.couplings import Couplings
from dipapprox.pairs.published.divergences import Excess, PublishedDivergences
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.selections import OrderedPairs, Pair, PairSelection
from dipapprox.privacy.notation import ANY_NUMBER, NumberSet, plain_value
from dipapprox.privacy.options import Options
from dipapprox.privacy.published.values import LIKELIER, published_values, relations
from dipapprox.privacy.sources import open_published
from dipapprox.privacy.verdict import Answer, Verdict, Witness
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute
from dipapprox.semantics.linear import LinearForm

Cuts = tuple[tuple[Fraction, ...], ...]


def finite_violation(program: Program, verdict: Verdict, options: Options) -> tuple[Verdict, Cuts]:
    """Return a violation of the same claim by the cells of the numbers, and what cuts them.

    Raises:
        NoCertificate: If there is none to be found: then the verdict has no certificate.
    """
    if verdict.answer is not Answer.NOT_DP or verdict.witness is None:
        raise NoCertificate("nothing shows the violation")
    witness = verdict.witness
    cuts = _cuts(program, witness)
    pair = (witness.input, witness.adjacent)
    cells = with_number_cells(program, cuts)
    found = verify(cells, verdict.claim, OrderedPairs((pair,)), options)
    if found.answer is not Answer.NOT_DP or found.witness is None:
        raise NoCertificate("cells of the numbers do not show the violation")
    # What is stated is about the numbers: their delta is at least that of their cells.
    cell, number = found.delta_enclosure or UNIT, verdict.delta_enclosure or UNIT
    stated = Enclosure(cell.lower, max(cell.upper, number.upper))
    return replace(found, delta_enclosure=stated), cuts


def _cuts(program: Program, witness: Witness) -> Cuts:
    found: list[set[Fraction]] = [set() for _ in program.real_outputs]
    for row in witness.rows:
        for own, value in zip(found, row.output[len(program.outputs) :], strict=True):
            if not isinstance(value, NumberSet):
                continue
            if value.about == LIKELIER.about:
                raise NoCertificate("the violating numbers are in no intervals")
            own.update(end for each in value.intervals for end in each if end is not None)
    return tuple(tuple(sorted(own)) for own in found)


def _plain(values: Sequence[Value]) -> PlainValues:
    return tuple(plain_value(value) for value in values)


def divergence(verdict: Verdict) -> RecordedDivergence | None:
    """Return the evidence that a pair breaks a claim by enclosures alone; None if it does not."""
    delta, witness = verdict.delta_enclosure, verdict.witness
    if delta is None or witness is None or delta.lower <= verdict.claim.delta:
        return None
    return RecordedDivergence(
        input=_plain(witness.input),
        adjacent=_plain(witness.adjacent),
        delta_enclosure=Ends.of(delta),
    )


_MOST_RECORDED = 2_000
"""More classes of pairs, or outcomes of all of them, are not recorded."""


def divergences(
    program: Program,
    verdict: Verdict,
    selection: PairSelection,
    count: int | None,
    inputs: int,
    options: Options,
) -> RecordedDivergences | Summary:
    """Compute the evidence that a program with real outputs keeps a claim.

    Args:
        program: With real outputs.
        verdict: DP.
        selection: The pairs that were selected.
        count: Their number; None if it is not known.
        inputs: How many inputs these have.
        options: Those of the verification.

    Raises:
        LimitReached: If `options.limits` run out.
    """
    limits, claim = options.limits, verdict.claim
    states = execute(program, options.merge, limits, real_outputs=True)
    own = open_published(states, claim.eps, options)
    couplings = Couplings(states, claim.eps, limits) if options.compares_exactly else None
    pairs = PublishedPairs(
        own, select_pairs(program, selection), count, limits, couplings, claim.growth
    )
    factor = claim.growth.bounds(max(verdict.precision, FACTOR_BITS))
    if len(pairs.classes()) > _MOST_RECORDED:
        return Summary(inputs=inputs)
    pairs.at(factor, verdict.precision)
    recorded = [
        PublishedPair(
            input=_plain(pair[0]),
            adjacent=_plain(pair[1]),
            delta_enclosure=Ends.of(delta),
            outcomes=_sets(own, pair, factor, verdict.precision) if delta.upper else (),
        )
        for pair, delta in pairs.deltas
    ]
    if sum(len(each.outcomes) for each in recorded) > _MOST_RECORDED:
        return Summary(inputs=inputs)
    return RecordedDivergences(inputs=inputs, pairs=tuple(recorded))


def _sets(
    own: PublishedDivergences, pair: Pair, factor: Factor, bits: int
) -> tuple[PublishedOutcome, ...]:
    """The sets of the outcomes of a pair, those that are intervals of one number."""
    found = own.excess(pair, factor, bits)
    if isinstance(found, NotEnclosed):
        return ()
    recorded = (_recorded(each) for each in found if each.where is not None)
    return tuple(each for each in recorded if each is not None)


def _recorded(excess: Excess) -> PublishedOutcome | None:
    """None if the number that lies in intervals is no output, but a sum of some."""
    count = len(excess.outcome.outputs)
    numbers = published_values(excess)[count:]
    sets = [
        (place, own)
        for place, own in enumerate(numbers)
        if isinstance(own, NumberSet) and own != ANY_NUMBER
    ]
    told = [own for own in (excess.where or {}).values() if own != ((None, None),)]
    if told and not sets:
        return None
    place, intervals = sets[0] if sets else (None, NumberSet(()))
    return PublishedOutcome(
        output=_plain(excess.outcome.outputs),
        constants=excess.outcome.atoms,
        relations=tuple(map(_relation, relations(excess.outcome.reals))),
        number=place,
        intervals=tuple(Interval(*each) for each in intervals.intervals),
        probability=Ends.of(excess.first),
        adjacent_probability=Ends.of(excess.second),
    )


def _relation(form: LinearForm | None) -> Relation | None:
    if form is None:
        return None
    shares = sorted((int(str(place)), c) for place, c in form.terms)
    return Relation(form.constant, tuple(Share(place, c) for place, c in shares))
