"""Verdicts: DP, Not_DP with a witness, Unknown with a reason. Frozen data, nothing printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from dipapprox.language.core import Cell, InputRow, Value
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.claim import Claim


class Answer(Enum):
    """The three answers; the value is the word in reports and JSON."""

    DP = "DP"
    NOT_DP = "Not_DP"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class WitnessRow:
    """One output of a witness with its probability under both inputs."""

    output: tuple[Value, ...]
    probability: Enclosure
    adjacent_probability: Enclosure


@dataclass(frozen=True, slots=True)
class Witness:
    """A pair of inputs and the output set that tells them apart.

    Pr[P(input) in S] - e^budget Pr[P(adjacent) in S] lies in `delta_enclosure`, S being the
    outputs of `rows`; for Not_DP its lower end exceeds the claimed delta.
    """

    input: InputRow
    adjacent: InputRow
    rows: tuple[WitnessRow, ...]
    delta_enclosure: Enclosure


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one verification.

    Attributes:
        reason: Why the answer is Unknown; None otherwise.
        pairs: Ordered pairs checked.
        outputs: Distinct outputs of the final states.
        final_states: Final states enumerated.
        delta_enclosure: Encloses the largest delta_{u,u'} over the checked pairs (Lemma 2);
            the violating pair's when the search stopped there. None if nothing was computed.
        witness: For Not_DP the violating pair; for Unknown the closest pair if there is one.
        precision: Bits asked for at the last attempt that was needed.
        engine: What computed the probabilities.
        seconds: From parsed arguments to the verdict.
    """

    program: str
    parameters: Mapping[str, Fraction]
    claim: Claim
    inputs: tuple[Cell, ...]
    output_cells: tuple[Cell, ...]
    answer: Answer
    reason: str | None
    pairs: int
    outputs: int
    final_states: int
    delta_enclosure: Enclosure | None
    witness: Witness | None
    precision: int
    engine: str
    seconds: float
