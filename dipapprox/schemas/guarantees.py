"""What `decide`, `profile`, `calibrate` and `compose` print with --json, as types."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from dipapprox.schemas.answers import (
    END,
    RATIONAL,
    VERDICTS,
    Claimed,
    Count,
    CurveWitness,
    Enclosure,
    End,
    Extended,
    Number,
    PairsAnswer,
    Proved,
    PublishedValues,
    Range,
    Rational,
    Reasons,
    Seconds,
    Statement,
    Text,
    Valuation,
    Witness,
    kinds_of,
)

# --- decide -----------------------------------------------------------------------------------


class EpsilonRange(Statement, frozen=True):
    """The eps between two ends; whether an end belongs to them."""

    lower: Rational
    upper: End
    lower_closed: bool
    upper_closed: bool


class OutputProbabilities(Statement, frozen=True):
    """Both probabilities of one output at ε, and their forms in ε."""

    probability: Enclosure
    adjacent_probability: Enclosure
    form: Text | None
    adjacent_form: Text | None


class ViolationWitness(Statement, frozen=True):
    """Both sides of the inequality at one ε; `checked_by` is an engine that found the same."""

    eps: Rational
    input: Valuation
    adjacent: Valuation
    outputs: tuple[PublishedValues, ...]
    probabilities: tuple[OutputProbabilities, ...]
    lhs_enclosure: Enclosure | None
    rhs_enclosure: Enclosure | None
    not_enclosed: Annotated[
        Text | None,
        Meta(
            description="why the two sides are null: "
            "exact forms or their difference tell them apart, their enclosures do not"
        ),
    ]
    violated_on: tuple[EpsilonRange, ...] | None
    violated_within: tuple[EpsilonRange, ...] | None
    checked_by: Text | None


class LeastDelta(Statement, frozen=True):
    """The least δ for which the claim holds."""

    enclosure: Enclosure
    exact: Rational | None
    where: Text
    input: Valuation | None
    adjacent: Valuation | None
    outputs: tuple[Valuation, ...]


class OpenInequality(Statement, frozen=True):
    """An inequality that is not decided."""

    input: Valuation
    adjacent: Valuation
    outputs: tuple[Valuation, ...]
    reason: Text


class DecideAnswer(PairsAnswer, frozen=True, kw_only=True):
    """What all decisions have; the claim is (budget * eps, delta)-privacy."""

    interval: Annotated[
        Range, Meta(description="the epsilons > 0 between two ends, rational ends included")
    ]
    budget: Rational
    delta: Text
    violated_on: Annotated[
        tuple[EpsilonRange, ...] | None,
        Meta(
            description="ranges of eps that are violated for certain: by any pair with "
            "--violations, else by the witness"
        ),
    ]
    violated_within: Annotated[
        tuple[EpsilonRange, ...] | None,
        Meta(description="the same ranges with ends that they do not exceed for certain"),
    ]
    least_delta: LeastDelta | None
    inequalities: Count
    distinct: Annotated[int, Meta(ge=0, description="functions of eps whose sign was decided")]
    open: Annotated[
        tuple[OpenInequality, ...],
        Meta(description="inequalities that are not decided, the first hundred"),
    ]
    proved: Proved | UnsetType = UNSET


Cause = Literal[
    "outside-fragment", "path-budget", "integration-budget", "degree-budget", "precision-budget",
    "tight-delta", "termination", "time-limit", "memory-limit", "interrupted", "no-proof",
]  # fmt: skip

DECIDE = kinds_of(
    DecideAnswer,
    {
        "Private": "The claim holds at every ε of the interval.",
        "Violated": "The witness violates the claim.",
        "Undecided": "Not decided: `reason` is a word, `detail` says more.",
    },
    verdict=VERDICTS,
    reason=(None, None, Cause),
    detail=(Text | None, Text | None, Text),
    witness=(None, ViolationWitness, None),
)


# --- profile ----------------------------------------------------------------------------------


class ProfileAnswer(PairsAnswer, frozen=True, kw_only=True):
    """What all privacy profiles have."""

    eps: Rational
    precision: Count | UnsetType = UNSET
    reason: Text | None


class DeltaAt(ProfileAnswer, frozen=True):
    """The least δ at a budget."""

    eps_prv: Claimed
    delta_enclosure: Enclosure
    witness: Witness | None
    proved: Proved | UnsetType = UNSET


class BudgetAt(ProfileAnswer, frozen=True):
    """The least budget at a δ."""

    delta: Rational
    eps_prv_enclosure: Extended
    witness: Witness | None
    proved: Proved | UnsetType = UNSET


class Line(Statement, frozen=True):
    """delta >= intercept - slope * e^eps_prv at every eps_prv >= 0."""

    intercept: Number
    slope: Number


class ComposedPoint(Statement, frozen=True):
    """The least δ at one budget."""

    eps_prv: Rational
    delta_enclosure: Enclosure


class CurvePoint(ComposedPoint, frozen=True):
    """The least δ at one budget, and a line below the profile."""

    line: Line
    witness: CurveWitness | None


class Curve(ProfileAnswer, frozen=True):
    """The profile between points lies below the chord of its neighbours in x = e^eps_prv, and
    above every line and its value at the next point."""

    curve: Annotated[tuple[CurvePoint, ...], Meta(min_length=2)]
    largest_gap: Number
    witness: Witness | None


class RenyiPoint(Statement, frozen=True):
    """The largest Rényi divergence of one order."""

    order: Annotated[str, Meta(pattern=f"{RATIONAL}|^inf{END}")]
    divergence_enclosure: Extended
    witness: Witness | None


class Zcdp(Statement, frozen=True):
    """Zero-concentrated differential privacy."""

    rho_enclosure: Extended


class Renyi(ProfileAnswer, frozen=True):
    """Rényi divergences, and ρ of zero-concentrated differential privacy."""

    renyi: Annotated[tuple[RenyiPoint, ...], Meta(min_length=1)]
    zcdp: Zcdp


# --- calibrate --------------------------------------------------------------------------------


class Calibration(PairsAnswer, frozen=True, kw_only=True):
    """`calibrate --json`: the ε of the program for a guarantee."""

    eps_prv: Rational
    delta: Rational
    eps_enclosure: Annotated[
        tuple[Number | None, Number | None],
        Meta(description="[certified, refuted], exact, or null where none was found"),
    ]
    eps_prv_at_certified: Extended | None
    eps_prv_at_refuted: Extended | None
    witness: Witness | None
    meaning: str
    width: Rational
    tried: Count
    precision: Count
    reason: Text | None
    proved: Proved | UnsetType = UNSET


Positive = Annotated[int, Meta(ge=1)]


class PipelineRun(Statement, frozen=True):
    """One thing that is run; `eps` is of programs, `subsample` the rate of a Poisson sample."""

    kind: Literal["program", "mechanism"]
    name: Text
    eps: Rational | None
    params: dict[str, Text]
    subsample: Rational | None
    times: Positive


class ExactPiece(Statement, frozen=True):
    """The least δ where e^eps_prv is below a number, and not below that of the piece before.

    Numbers are written with whole and rational ones, +, -, *, /, ^ and exp: "exp(3/10)".
    """

    below: Text | None
    delta: Text


class Composed(Statement, frozen=True, kw_only=True):
    """What all answers have; `step` is null where no grid was needed.

    `order` says in which order runs may come: programs as listed, or all in any. `exact` is the
    least δ at eps_prv and `pieces` that at every eps_prv >= 0, where few numbers tell it.
    """

    runs: Annotated[tuple[PipelineRun, ...], Meta(min_length=1)]
    times: Positive
    adjacency: Literal["add/remove", "substitution"]
    order: Literal["any", "as listed"]
    exact: Text | None
    pieces: tuple[ExactPiece, ...] | None
    step: Text | None
    atoms: Count
    proved: Proved | UnsetType = UNSET
    why: Reasons | UnsetType = UNSET
    seconds: Seconds


_Curve = Annotated[tuple[ComposedPoint, ...], Meta(min_length=2)]

COMPOSED = kinds_of(
    Composed,
    {
        "EpsPrv": "The least budget for a δ.",
        "Delta": "The least δ for a budget.",
        "ComposedProfile": "The profile: between two points it lies below their chord in "
        "x = e^eps_prv, and above the\nlower end of the next point.",
    },
    eps_prv=(None, Rational, None),
    delta=(Rational, None, None),
    verdict=(None, None, None),
    reason=(Text | None, Text | None, Text | None),
    eps_prv_enclosure=(Extended, None, None),
    delta_enclosure=(None, Enclosure, None),
    curve=(None, None, _Curve),
)


class ComposedClaim(Composed, frozen=True):
    """What all verdicts have: an enclosure of the least δ, or, for δ = 0, of the least budget."""

    eps_prv: Rational
    delta: Rational
    eps_prv_enclosure: Extended | None
    delta_enclosure: Enclosure | None
    curve: None


CLAIMED = kinds_of(
    ComposedClaim,
    {
        "ComposedPrivate": "The composition keeps the claim.",
        "ComposedViolated": "Some mechanisms as they are described break it.",
        "ComposedUndecided": "Not told.",
    },
    verdict=VERDICTS,
    reason=(None, None, Text),
)
