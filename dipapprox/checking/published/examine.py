"""What a certificate states of a program with real outputs, compared with what the check finds.

Every selected pair's least δ is derived (`divergences`), whatever the file records; of the pairs
that it records, δ and the probabilities of the sets are compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.certificates.verdicts import (
    CertificateOfDP,
    CertificateOfNotDP,
    PublishedOutcome,
    PublishedPair,
    RecordedBoxes,
    RecordedDistributions,
    RecordedDivergence,
    RecordedDivergences,
    Relation,
    Summary,
)
from dipapprox.checking import pairs
from dipapprox.checking.distributions import Distributions, NoBounds
from dipapprox.checking.facts import Line
from dipapprox.checking.inputs import inputs_to_derive, neighbours, pair_text, values_of
from dipapprox.checking.partial_result import PartialResult, interval_text
from dipapprox.checking.published.divergences import Asked, Divergences
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.notation import values_text

_FEWEST_BITS, _MOST_BITS, _SPARE_BITS = 48, 300, 8
_NOTHING = Enclosure.exact(0)


def examine_published(
    record: CertificateOfDP,
    listed: list[pairs.Pair] | None,
    derived: Distributions,
    partial: PartialResult,
    limits: Limits,
) -> None:
    """Derive again what the record states about its program, and compare.

    Raises:
        UserError: If a recorded input is none.
        Stuck, NoBounds: If the check cannot follow or enclose something.
        LimitReached: If `limits` run out.
    """
    program, claim = derived.program, record.claim
    inputs = inputs_to_derive(program, listed)
    selected = [
        (inputs[first], inputs[int(second)])
        for first, mask in neighbours(program, inputs, listed)
        for second in mask.nonzero()[0]
    ]
    stated = record.delta_enclosure.enclosure
    own = Divergences(derived, limits)
    bits = _bits([stated, *_recorded_deltas(record)], record.computed.precision)
    lower = upper = Fraction(0)
    worst: pairs.Pair | None = None
    for pair in selected:
        limits.check()
        delta = _delta(own, pair, claim.eps_prv, claim.delta, bits, partial)
        if worst is None or delta.lower > lower:
            lower, worst = delta.lower, pair
        upper = max(upper, delta.upper)
    partial.inputs, partial.pairs = len(inputs), len(selected)
    largest = partial.delta = Enclosure(lower, upper)
    partial.compare("delta_enclosure", stated, largest)
    if record.pairs.count not in (None, len(selected)):
        partial.differ("pairs.count", f"there are {len(selected)}, not {record.pairs.count}")
    if largest.lower > claim.delta:
        assert worst is not None
        partial.differ("verdict", f"{pair_text(worst)} has a larger delta")
    elif largest.upper > claim.delta:
        partial.reason = f"delta lies inside {interval_text(largest)} at {partial.bits} bits"
    match record.evidence:
        case RecordedDistributions() | RecordedBoxes():
            partial.differ("evidence.kind", "numbers have no finite distributions")
        case Summary() | RecordedDivergences():
            if record.evidence.inputs != len(inputs):
                said = record.evidence.inputs
                partial.differ("evidence.inputs", f"there are {len(inputs)}, not {said}")
            if isinstance(record.evidence, RecordedDivergences):
                among = set(selected)
                for each in record.evidence.pairs:
                    _compare_pair(each, among, own, claim.eps_prv, bits, partial)
        case _:
            assert_never(record.evidence)
    if not partial.differences and partial.reason is None and stated.upper > claim.delta:
        partial.reason = "the recorded enclosures are true, but too wide to imply the verdict"


def examine_divergence(
    record: CertificateOfNotDP,
    evidence: RecordedDivergence,
    listed: list[pairs.Pair] | None,
    derived: Distributions,
    partial: PartialResult,
    limits: Limits,
) -> None:
    """Derive the δ of a pair again, which is to be larger than what is claimed.

    Raises:
        UserError: If a recorded input is none.
        Stuck, NoBounds: If the check cannot follow or enclose something.
        LimitReached: If `limits` run out.
    """
    program, claim = derived.program, record.claim
    if not program.real_outputs:
        partial.differ("evidence.kind", "the program publishes no real numbers")
        return
    pair = values_of(evidence.input, program.inputs), values_of(evidence.adjacent, program.inputs)
    selected = pairs.are_adjacent(program, *pair) if listed is None else pair in listed
    if not selected:
        partial.differ("evidence", f"{pair_text(pair)} is not among the pairs to check")
        return
    stated = [record.delta_enclosure.enclosure, evidence.delta_enclosure.enclosure]
    bits = _bits(stated, record.computed.precision)
    own = Divergences(derived, limits)
    delta = _delta(own, pair, claim.eps_prv, claim.delta, bits, partial)
    partial.inputs, partial.pairs, partial.delta = 2, 1, delta
    for where, each in zip(("delta_enclosure", "evidence.delta_enclosure"), stated, strict=True):
        partial.compare(where, each, delta)
    if delta.upper <= claim.delta:
        partial.differ("verdict", f"the pair's delta is {interval_text(delta)}")
    elif delta.lower <= claim.delta:
        partial.reason = f"delta lies inside {interval_text(delta)} at {partial.bits} bits"


def _delta(
    own: Divergences,
    pair: pairs.Pair,
    eps_prv: Fraction,
    claimed: Fraction,
    bits: int,
    partial: PartialResult,
) -> Enclosure:
    """Enclose a pair's δ, and if possible so narrowly that it is told from the claimed one."""
    while True:
        delta = own.delta(pair, eps_prv, bits)
        partial.bits = max(partial.bits, bits)
        told = delta.upper <= claimed or delta.lower > claimed
        if told or bits >= _MOST_BITS or (not claimed and not delta.lower):
            return delta
        bits = min(2 * bits, _MOST_BITS)


def _compare_pair(
    recorded: PublishedPair,
    among: set[pairs.Pair],
    own: Divergences,
    eps_prv: Fraction,
    bits: int,
    partial: PartialResult,
) -> None:
    program = own.program
    pair = values_of(recorded.input, program.inputs), values_of(recorded.adjacent, program.inputs)
    if pair not in among:
        partial.differ("evidence.pairs", f"{pair_text(pair)} is not among the pairs to check")
        return
    where = f"δ of {pair_text(pair)}"
    partial.compare(where, recorded.delta_enclosure.enclosure, own.delta(pair, eps_prv, bits))
    for each in recorded.outcomes:
        outputs = values_of(each.output, program.outputs)
        if len(each.constants) != len(program.real_outputs):
            partial.differ(where, "constants for another number of real outputs")
            return
        try:
            first, second = _masses(own, pair, outputs, each, eps_prv, bits)
        except NoBounds as obstacle:
            partial.reason = partial.reason or f"{where}, {values_text(outputs)}: {obstacle}"
            continue
        said = f"{values_text(outputs)} of {pair_text(pair)}"
        partial.compare(f"probability of {said}", each.probability.enclosure, first)
        partial.compare(
            f"adjacent_probability of {said}", each.adjacent_probability.enclosure, second
        )


def _masses(
    own: Divergences,
    pair: pairs.Pair,
    outputs: Sequence[object],
    recorded: PublishedOutcome,
    eps_prv: Fraction,
    bits: int,
) -> tuple[Enclosure, Enclosure]:
    """Enclose the probabilities of a recorded set.

    Raises:
        NoBounds: If it is not certain which set is meant.
    """
    asked = None
    if recorded.number is not None:
        intervals = tuple((each.lower, each.upper) for each in recorded.intervals)
        asked = Asked(recorded.number, intervals)
    known = dict.fromkeys(outcome for input in pair for outcome in own.outcomes(input))
    # Numbers that depend on one another in different ways are different outcomes.
    alike = [
        outcome
        for outcome in known
        if outcome.outputs == tuple(outputs) and outcome.constants == recorded.constants
    ]
    if not alike:
        return _NOTHING, _NOTHING
    if recorded.relations:
        stated = tuple(None if each is None else _line(each) for each in recorded.relations)
        meant = [outcome for outcome in alike if outcome.relations == stated]
    else:
        meant = alike
    if len(meant) != 1:
        raise NoBounds("it is not certain how the numbers of the recorded set depend on each other")
    return own.masses(pair, meant[0], eps_prv, asked, bits)


def _line(relation: Relation) -> Line:
    return Line(relation.constant, tuple((s.place, s.coefficient) for s in relation.shares))


def _recorded_deltas(record: CertificateOfDP) -> Iterable[Enclosure]:
    if not isinstance(record.evidence, RecordedDivergences):
        return
    for pair in record.evidence.pairs:
        yield pair.delta_enclosure.enclosure


def _bits(recorded: Iterable[Enclosure], asked: int) -> int:
    """Choose bits at which derived enclosures are narrower than those of δ that are recorded."""
    narrowest = min((e.width for e in recorded if e.width), default=Fraction(1))
    needed = narrowest.denominator.bit_length() - narrowest.numerator.bit_length() + 1
    return max(_FEWEST_BITS, min(max(needed, asked) + _SPARE_BITS, _MOST_BITS))
