"""Certificates of verdicts at one ε: `verify --certificate`.

Evidence of DP is the output distribution of every input in a checked pair: equal enclosures are
listed once, and every input refers to them by index, one per output. Where that would be too much
only their number is recorded. Where inputs are real it is how all pairs were subdivided. Of a
program with real outputs it is, for pairs that stand for those that look alike, the least δ, and by
outcome a set of numbers that nearly attains it. Evidence of Not_DP is a pair, an output set, and
both probabilities of each output; or, where numbers in no intervals show it, a pair with its least
δ.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from dipapprox.certificates.statement import (
    CertificateFields,
    Computed,
    Count,
    Ends,
    PlainValues,
    Statement,
    check_uncounted,
)

FORMAT = "dipapprox certificate"
VERSION = 2


class Claimed(Statement, frozen=True):
    """(eps_prv, delta)-differential privacy of the program run at eps."""

    eps: Fraction
    eps_prv: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.eps <= 0:
            raise ValueError(".eps: expected a number > 0")
        if self.eps_prv < 0:
            raise ValueError(".eps_prv: expected a number >= 0")
        if not 0 <= self.delta <= 1:
            raise ValueError(".delta: expected a number in [0, 1]")


class RecordedInput(Statement, frozen=True):
    """An input; per output, the index of its enclosure in "probabilities"."""

    input: PlainValues
    probabilities: tuple[Count, ...]


class RecordedDistributions(Statement, frozen=True, tag_field="kind", tag="distributions"):
    """The output distributions of all inputs."""

    outputs: tuple[PlainValues, ...]
    probabilities: tuple[Ends, ...]
    inputs: tuple[RecordedInput, ...]


class Summary(Statement, frozen=True, tag_field="kind", tag="summary"):
    """Too many inputs to be recorded: their number."""

    inputs: Count


class Interval(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """[lower, upper]; null is infinite."""

    lower: Fraction | None
    upper: Fraction | None

    def __post_init__(self) -> None:
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise ValueError("expected two numbers, the smaller one first")


class Share(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A multiple of a real output: its place among them, from 0, and the coefficient."""

    place: Count
    coefficient: Fraction


class Relation(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A real output is a constant and multiples of earlier ones, in ascending order."""

    constant: Fraction
    shares: tuple[Share, ...]


class PublishedOutcome(Statement, frozen=True):
    """A set of what is published, and its probabilities.

    Attributes:
        output: Values of the finite outputs.
        constants: Values of the real outputs; null for those with a density.
        relations: What the real outputs are in terms of earlier ones that are none themselves; null
            for those that no relation tells. Empty: nothing is said.
        number: Which of the real outputs lies in the intervals, from 0, the others being any
            number; null: all may be any number.
        intervals: Disjoint, from left to right.
        probability: For the input.
        adjacent_probability: For the adjacent one.
    """

    output: PlainValues
    constants: tuple[Fraction | None, ...]
    number: Count | None
    intervals: tuple[Interval, ...]
    probability: Ends
    adjacent_probability: Ends
    relations: tuple[Relation | None, ...] = ()

    def __post_init__(self) -> None:
        if self.relations and len(self.relations) != len(self.constants):
            raise ValueError(".relations: expected one for each real output")
        if self.number is None and self.intervals:
            raise ValueError(".intervals: expected none, as no number is named")
        if self.number is not None and not (
            self.number < len(self.constants) and self.constants[self.number] is None
        ):
            raise ValueError(".number: expected a real output with a density")
        for before, after in pairwise(self.intervals):
            if before.upper is None or after.lower is None or before.upper > after.lower:
                raise ValueError(".intervals: expected disjoint ones, from left to right")


class PublishedPair(Statement, frozen=True):
    """An ordered pair of inputs, its least δ, and sets that nearly attain it, one per outcome."""

    input: PlainValues
    adjacent: PlainValues
    delta_enclosure: Ends
    outcomes: tuple[PublishedOutcome, ...]


class RecordedDivergences(Statement, frozen=True, tag_field="kind", tag="divergences"):
    """Pairs of a program with real outputs, one for each class of pairs that look alike."""

    inputs: Count
    pairs: tuple[PublishedPair, ...]


_Step = Annotated[int, Meta(ge=-1, le=1)]


class Cut(Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="cut"):
    """A set of pairs is cut where a real input has a value.

    Attributes:
        input: Which one, among the real inputs, from 0.
        side: 0: its value in u; 1: in u'.
        place: The value.
        parts: Steps of the parts that have points, the lower one first; null: none is needed.
    """

    input: Count
    side: Annotated[int, Meta(ge=0, le=1)]
    place: Fraction
    parts: tuple[Count | None, ...]


class Reduction(Struct, frozen=True, forbid_unknown_fields=True, array_like=True, tag="faces"):
    """A set of pairs is replaced by where the largest δ lies.

    Attributes:
        directions: For each real input, along what moves of (u_i, u'_i) δ never falls.
        parts: Steps of the products of edges and corners where such moves are blocked; null: none
            is needed.
    """

    directions: tuple[tuple[tuple[_Step, _Step], ...], ...]
    parts: tuple[Count | None, ...]


class Range(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """[low, high], perhaps one number."""

    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("expected two numbers, no smaller one last")


class RecordedBoxes(Statement, frozen=True, tag_field="kind", tag="boxes"):
    """All pairs (u, u') of real inputs, subdivided.

    Attributes:
        input: Of the pair with the largest δ that was seen.
        adjacent: The other one.
        delta_enclosure: Of that pair.
        roots: The first step of each choice of finite inputs; null: none is needed.
        steps: Of all.
        ends: If some real inputs have no bounds, for each real input between what ends it was
            subdivided; null for one with bounds.
    """

    input: PlainValues
    adjacent: PlainValues
    delta_enclosure: Ends
    roots: tuple[Count | None, ...]
    steps: tuple[Cut | Reduction, ...]
    ends: tuple[Range | None, ...] | UnsetType = UNSET

    def __post_init__(self) -> None:
        parts = [part for step in self.steps for part in step.parts]
        numbers = [part for part in (*self.roots, *parts) if part is not None]
        if sorted(numbers) != list(range(len(self.steps))):
            raise ValueError(".steps: expected a tree: each one is the step of one set")

    def between(self, inputs: int) -> tuple[Range | None, ...]:
        """Return the ends, by real input; none if all have bounds."""
        return (None,) * inputs if isinstance(self.ends, UnsetType) else self.ends


class WitnessOutput(Statement, frozen=True):
    """One output of a witness."""

    output: PlainValues
    probability: Ends
    adjacent_probability: Ends


class RecordedWitness(Statement, frozen=True, tag_field="kind", tag="witness"):
    """A pair, an output set and its probabilities.

    Of a program with real outputs the outputs are those of `language.number_cells`: of each number
    the cell between `cuts` that it lies in, after the finite outputs.
    """

    input: PlainValues
    adjacent: PlainValues
    outputs: Annotated[tuple[WitnessOutput, ...], Meta(min_length=1)]
    delta_enclosure: Ends
    cuts: tuple[tuple[Fraction, ...], ...] | UnsetType = UNSET

    @property
    def cells(self) -> tuple[tuple[Fraction, ...], ...]:
        """The cuts, none if no numbers are cut."""
        return () if isinstance(self.cuts, UnsetType) else self.cuts


class RecordedDivergence(Statement, frozen=True, tag_field="kind", tag="divergence"):
    """A pair of a program with real outputs whose least δ is too large."""

    input: PlainValues
    adjacent: PlainValues
    delta_enclosure: Ends


class VerdictComputed(Computed, frozen=True):
    """What computed a verdict, and the bits that were asked for."""

    precision: Count


class VerdictCertificate(CertificateFields, frozen=True):
    """What certificates of both verdicts have."""

    format: Literal["dipapprox certificate"]
    version: Literal[2]
    claim: Claimed
    delta_enclosure: Ends
    computed: VerdictComputed


class CertificateOfDP(VerdictCertificate, frozen=True):
    """Every selected pair keeps the claim."""

    verdict: Literal["DP"]
    evidence: RecordedDistributions | RecordedDivergences | RecordedBoxes | Summary


class CertificateOfNotDP(VerdictCertificate, frozen=True):
    """One selected pair breaks the claim."""

    verdict: Literal["Not_DP"]
    evidence: RecordedWitness | RecordedDivergence

    def __post_init__(self) -> None:
        super().__post_init__()
        check_uncounted(self.pairs)


def with_claimed_delta(
    record: CertificateOfDP | CertificateOfNotDP, delta: Fraction
) -> CertificateOfDP | CertificateOfNotDP:
    """Return what a certificate would say with another claimed delta; its digest is that of none.

    Bounds of the largest delta that reach beyond the claimed one are cut there.
    """
    claim = replace(record.claim, delta=delta)
    stated = record.delta_enclosure
    if isinstance(record, CertificateOfDP) and stated.upper > delta:
        stated = replace(stated, lower=min(stated.lower, delta), upper=delta)
    return replace(record, claim=claim, delta_enclosure=stated)
