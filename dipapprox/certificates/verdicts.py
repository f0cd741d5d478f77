"""Certificates of verdicts at one ε: `verify --certificate`.

Evidence of DP is the output distribution of every input in a checked pair: equal enclosures are
listed once, and every input refers to them by index, one per output. Where that would be too much
only their number is recorded. Evidence of Not_DP is a pair, an output set, and both probabilities
of each output.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from dipapprox.certificates.statement import (
    CertificateFields,
    Computed,
    Count,
    Ends,
    PlainValues,
    Statement,
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


class WitnessOutput(Statement, frozen=True):
    """One output of a witness."""

    output: PlainValues
    probability: Ends
    adjacent_probability: Ends


class RecordedWitness(Statement, frozen=True):
    """A pair, an output set and its probabilities.

    Of a program with real outputs the outputs are those of `language.number_cells`: of each number
    the cell between `cuts` that it lies in, after the finite outputs.
    """

    kind: Literal["witness"]
    input: PlainValues
    adjacent: PlainValues
    outputs: Annotated[tuple[WitnessOutput, ...], Meta(min_length=1)]
    delta_enclosure: Ends
    cuts: tuple[tuple[Fraction, ...], ...] | UnsetType = UNSET

    @property
    def cells(self) -> tuple[tuple[Fraction, ...], ...]:
        """The cuts, none if no numbers are cut."""
        return () if isinstance(self.cuts, UnsetType) else self.cuts


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
    evidence: RecordedDistributions | Summary


class CertificateOfNotDP(VerdictCertificate, frozen=True):
    """One selected pair breaks the claim."""

    verdict: Literal["Not_DP"]
    evidence: RecordedWitness
