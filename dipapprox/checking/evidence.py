"""What a certificate states, compared with what the checker derives: facts, sums, coverage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import assert_never

from dipapprox.certificates.verdicts import (
    CertificateOfDP,
    CertificateOfNotDP,
    RecordedBoxes,
    RecordedDistributions,
    RecordedDivergence,
    RecordedDivergences,
    RecordedWitness,
    Summary,
)
from dipapprox.checking import pairs
from dipapprox.checking.boxes.examine import examine_boxes
from dipapprox.checking.boxes.vertices import vertex_pairs
from dipapprox.checking.distributions import Bounds, DistributionBounds, Distributions
from dipapprox.checking.factor import factor_of
from dipapprox.checking.inputs import (
    inputs_to_derive,
    listed_pairs,
    neighbours,
    pair_text,
    values_of,
)
from dipapprox.checking.lawful import require_lawful
from dipapprox.checking.pairs import Distribution
from dipapprox.checking.partial_result import PartialResult, interval_text
from dipapprox.checking.published.examine import examine_divergence, examine_published
from dipapprox.checking.touching import exceeding
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import replace
from dipapprox.errors import UserError
from dipapprox.language.core import Input, Program
from dipapprox.language.domains import AllReals
from dipapprox.language.number_cells import with_number_cells
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.notation import values_text

_FEWEST_BITS, _MOST_BITS = 60, 700
_SPARE_BITS = 10


def examine(
    record: CertificateOfDP | CertificateOfNotDP,
    program: Program,
    partial: PartialResult,
    limits: Limits,
) -> None:
    """Derive again what the record states about its program, and compare.

    Raises:
        Stuck, NoBounds: If the checker cannot follow or enclose something.
        LimitReached: If `limits` run out.
    """
    if program.real_outputs and isinstance(record.evidence, RecordedWitness):
        try:
            # What cells of the numbers tell apart, the numbers tell apart.
            program = with_number_cells(program, record.evidence.cells)
        except UserError as error:
            partial.differ("evidence.cuts", error.message)
            return
    derived = Distributions(program, record.claim.eps, limits)
    try:
        listed = listed_pairs(record.pairs, program)
        match record:
            case CertificateOfNotDP(evidence=evidence):
                if isinstance(evidence, RecordedDivergence):
                    examine_divergence(record, evidence, listed, derived, partial, limits)
                else:
                    _examine_witness(record, evidence, listed, derived, partial)
            case CertificateOfDP():
                if _is_everywhere(program, listed):
                    _examine_everywhere(record, derived, partial, limits)
                elif program.real_outputs:
                    examine_published(record, listed, derived, partial, limits)
                else:
                    _examine_inputs(record, listed, derived, partial, limits)
            case _:
                assert_never(record)
        # Where all pairs of finite inputs are examined all inputs are followed.
        if not partial.differences and (record.verdict == "Not_DP" or listed is not None):
            require_lawful(derived, listed, limits)
    except UserError as error:  # an input that is none
        partial.differ("inputs", error.message)
    if derived.leaning:
        partial.shared.append(
            f"{len(derived.leaning)} of {derived.distinct} factors, whose inequalities are no "
            "comparisons of two samples: engine nested, the paper's order"
        )


def _is_everywhere(program: Program, listed: list[pairs.Pair] | None) -> bool:
    return listed is None and any(isinstance(cell.domain, AllReals) for cell in program.inputs)


def _examine_everywhere(
    record: CertificateOfDP, derived: Distributions, partial: PartialResult, limits: Limits
) -> None:
    """Examine what is stated of all values of real inputs."""
    if derived.program.real_outputs:
        listed = vertex_pairs(derived, limits)
        examine_published(record, listed, derived, partial, limits)
    elif isinstance(record.evidence, RecordedBoxes):
        examine_boxes(record, record.evidence, derived, partial, limits)
    else:
        partial.differ("evidence.kind", "pairs of real inputs are subdivided")


# --- Not_DP ---------------------------------------------------------------------------------------


def _examine_witness(
    record: CertificateOfNotDP,
    witness: RecordedWitness,
    listed: list[pairs.Pair] | None,
    derived: Distributions,
    partial: PartialResult,
) -> None:
    program = derived.program
    pair = values_of(witness.input, program.inputs), values_of(witness.adjacent, program.inputs)
    selected = pairs.are_adjacent(program, *pair) if listed is None else pair in listed
    if not selected:
        partial.differ("evidence", f"{pair_text(pair)} is not among the pairs to check")
        return
    outputs = [values_of(each.output, program.outputs) for each in witness.outputs]
    if len(set(outputs)) < len(outputs):
        partial.differ("evidence.outputs", "an output is listed twice")
        return
    recorded = [e for w in witness.outputs for e in (w.probability, w.adjacent_probability)]
    stated = [*recorded, witness.delta_enclosure, record.delta_enclosure]
    bits = _bits((each.enclosure for each in stated), record.computed.precision)
    while True:
        bounds = derived.at(bits)
        first, second = (bounds.for_input(input) for input in pair)
        factor = factor_of(record.claim.eps_prv, bits)
        difference = pairs.difference_of(first, outputs, second, bounds.unit, factor)
        partial.inputs, partial.pairs, partial.bits = 2, 1, bits
        partial.delta = pairs.delta_of(first, second, bounds.unit, factor)
        above, below = difference.lower > record.claim.delta, difference.upper <= record.claim.delta
        if above or below or bits >= _MOST_BITS:
            break
        bits = min(2 * bits, _MOST_BITS)
    for output, each in zip(outputs, witness.outputs, strict=True):
        for where, said, own in (
            ("probability", each.probability, first),
            ("adjacent_probability", each.adjacent_probability, second),
        ):
            found = _as_enclosure(own.get(output), bounds)
            partial.compare(f"{where} of {values_text(output)}", said.enclosure, found)
    partial.compare("evidence.delta_enclosure", witness.delta_enclosure.enclosure, difference)
    partial.compare("delta_enclosure", record.delta_enclosure.enclosure, partial.delta)
    if below:
        partial.differ("verdict", f"the difference over the witness is {interval_text(difference)}")
    elif not above:
        partial.reason = f"delta lies inside {interval_text(difference)} at {bits} bits"


# --- DP -------------------------------------------------------------------------------------------


def _examine_inputs(
    record: CertificateOfDP,
    listed: list[pairs.Pair] | None,
    derived: Distributions,
    partial: PartialResult,
    limits: Limits,
) -> None:
    program, evidence = derived.program, record.evidence
    inputs = inputs_to_derive(program, listed)
    claim, stated_delta = record.claim, record.delta_enclosure.enclosure
    recorded = evidence.probabilities if isinstance(evidence, RecordedDistributions) else ()
    stated = [each.enclosure for each in recorded]
    bits = _bits([*stated, stated_delta], record.computed.precision)
    tried = in_closed_form = False
    while True:
        bounds = derived.at(bits)
        found = [bounds.for_input(input) for input in inputs]
        factor = factor_of(claim.eps_prv, bits)
        largest = pairs.largest(
            inputs, found, bounds.unit, factor, neighbours(program, inputs, listed), limits
        )
        partial.inputs, partial.pairs, partial.bits = len(inputs), largest.pairs, bits
        partial.delta = largest.delta
        above, below = largest.delta.lower > claim.delta, largest.delta.upper <= claim.delta
        if not (above or below or claim.delta or tried):
            tried = True
            touching = pairs.touching(
                inputs, found, bounds.unit, factor, neighbours(program, inputs, listed), limits
            )
            with suppress(Stuck):
                pair = exceeding(program, claim.eps, claim.eps_prv, touching, limits)
                exactly = largest.delta if pair is not None else Enclosure.exact(Fraction(0))
                largest = replace(largest, delta=exactly, pair=pair or largest.pair)
                partial.delta = largest.delta
                above, below, in_closed_form = pair is not None, pair is None, True
        if above or below or bits >= _MOST_BITS:
            break
        bits = min(2 * bits, _MOST_BITS)
    partial.compare("delta_enclosure", stated_delta, largest.delta)
    if record.pairs.count not in (None, largest.pairs):
        partial.differ("pairs.count", f"there are {largest.pairs}, not {record.pairs.count}")
    if above:
        assert largest.pair is not None
        partial.differ("verdict", f"{pair_text(largest.pair)} has a larger delta")
    elif not below:
        partial.reason = f"delta lies inside {interval_text(largest.delta)} at {bits} bits"
    if isinstance(evidence, RecordedDivergences | RecordedBoxes):
        partial.differ("evidence.kind", "the inputs are finite, and no real numbers are published")
        return
    if isinstance(evidence, Summary):
        if evidence.inputs != len(inputs):
            partial.differ("evidence.inputs", f"there are {len(inputs)}, not {evidence.inputs}")
        return
    said = _compare_inputs(evidence, stated, inputs, found, bounds, program, partial)
    if partial.differences or partial.reason is not None or said is None or in_closed_form:
        return  # no enclosures imply what closed forms decide
    implied = pairs.largest(
        inputs, said, bounds.unit, factor, neighbours(program, inputs, listed), limits
    )
    if implied.delta.upper > claim.delta or stated_delta.upper > claim.delta:
        partial.reason = "the recorded enclosures are true, but too wide to imply the verdict"


def _compare_inputs(
    evidence: RecordedDistributions,
    stated: Sequence[Enclosure],
    inputs: Sequence[Input],
    found: Sequence[Distribution],
    bounds: DistributionBounds,
    program: Program,
    partial: PartialResult,
) -> list[Distribution] | None:
    """Compare every stated probability; return the recorded distributions in order of `inputs`."""
    outputs = [values_of(output, program.outputs) for output in evidence.outputs]
    said = {values_of(each.input, program.inputs): each.probabilities for each in evidence.inputs}
    if len(said) < len(evidence.inputs) or set(said) != set(inputs):
        partial.differ("evidence.inputs", f"they are not the {len(inputs)} inputs of the pairs")
        return None
    if len(set(outputs)) < len(outputs):
        partial.differ("evidence.outputs", "an output is listed twice")
        return None
    known = set(outputs)
    rounded = [_as_bounds(each, bounds.unit) for each in stated]
    agreed: set[tuple[int, Bounds | None]] = set()
    distributions: list[Distribution] = []
    for input, own in zip(inputs, found, strict=True):
        indices = said[input]
        if len(indices) != len(outputs) or max(indices, default=0) >= len(rounded):
            partial.differ(f"evidence.inputs, {values_text(input)}", "one probability per output")
            return None
        missing = [output for output in own if output not in known]
        if any(own[output][0] for output in missing):
            partial.differ("evidence.outputs", f"an output of {values_text(input)} is missing")
            return None
        if missing:
            partial.reason = f"an output of {values_text(input)} is missing, perhaps impossible"
            return None
        for output, index in zip(outputs, indices, strict=True):
            # Distinct enclosures are few: each is compared once with each derived one.
            key = index, own.get(output)
            if key not in agreed:
                agreed.add(key)
                partial.compare(
                    f"probability of {values_text(output)} for {values_text(input)}",
                    stated[index],
                    _as_enclosure(own.get(output), bounds),
                )
        distributions.append(dict(zip(outputs, (rounded[i] for i in indices), strict=True)))
    return distributions


# --- bounds --------------------------------------------------------------------------------------


def _bits(recorded: Iterable[Enclosure], asked: int) -> int:
    """Choose bits at which derived enclosures are much narrower than all recorded ones."""
    narrowest = min((e.width for e in recorded if e.width), default=Fraction(1))
    needed = narrowest.denominator.bit_length() - narrowest.numerator.bit_length() + 1
    return max(_FEWEST_BITS, min(max(needed, asked) + _SPARE_BITS, _MOST_BITS))


def _as_enclosure(bounds: Bounds | None, owner: DistributionBounds) -> Enclosure:
    low, high = bounds or (0, 0)
    return Enclosure(Fraction(low, 1 << owner.unit), Fraction(high, 1 << owner.unit))


def _as_bounds(enclosure: Enclosure, unit: int) -> Bounds:
    low, high = enclosure.lower * (1 << unit), enclosure.upper * (1 << unit)
    return max(low.numerator // low.denominator, 0), -(-high.numerator // high.denominator)
