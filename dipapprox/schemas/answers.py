"""What the commands print with --json, as types: the schemas of the package are made from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field

from dipapprox.source import BEYOND_ASCII

END = r"$(?!\n)"  # of a text, in patterns: `$` alone lets a line end follow
RATIONAL = rf"^-?[0-9]+(/[0-9]+)?{END}"
Count = Annotated[int, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]
Line = Annotated[
    str,
    Meta(
        pattern=rf"^[^\x00-\x1f{BEYOND_ASCII}]+{END}",
        description="one line, without what steers terminals or turns writing around",
    ),
]
"""What answers show: it must not look like another of their lines."""
Hash = Annotated[str, Meta(pattern=f"^[0-9a-f]{{64}}{END}")]
Digest = Annotated[str, Meta(pattern=f"^sha256:[0-9a-f]{{64}}{END}")]
_NAME_OR_RATIONAL = rf"^([A-Za-z_][A-Za-z_0-9]*|-?[0-9]+/[0-9]+){END}"

PlainValue = (
    int
    | Annotated[
        str,
        Meta(
            pattern=_NAME_OR_RATIONAL,
            description='a whole number, a rational "p/q", or a named value',
        ),
    ]
)

PlainValues = Annotated[
    tuple[PlainValue, ...], Meta(description="one value per cell, in order of declaration")
]


class Statement(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A JSON object with exactly these fields."""


VERDICTS = Literal["DP"], Literal["Not_DP"], Literal["Unknown"]


def kinds_of(
    base: type[Statement], cases: dict[str, str], **fields: tuple[Any, ...]
) -> tuple[type[Struct], ...]:
    """Return the types that an answer is one of.

    Args:
        base: What all have.
        cases: Their names, with what they say.
        fields: The types that other fields have, one for each case.
    """
    return tuple(
        defstruct(
            name,
            [(field, types[k]) for field, types in fields.items()],
            bases=(base,),
            namespace={"__doc__": about},
            module=base.__module__,
        )
        for k, (name, about) in enumerate(cases.items())
    )


Rational = Annotated[
    str, Meta(pattern=RATIONAL, description='an exact rational: "1/2", "3", "-1/4"')
]
Number = Annotated[
    str,
    Meta(
        pattern=rf"^-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?(/[0-9]+)?{END}",
        description="a decimal or rational, exact as written",
    ),
]
Enclosure = Annotated[
    tuple[Number, Number], Meta(description="[lower, upper], decimals rounded outward")
]
_EXTENDED = rf"^-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?(/[0-9]+)?{END}|^inf{END}"
Extended = Annotated[
    tuple[Annotated[str, Meta(pattern=_EXTENDED)], Annotated[str, Meta(pattern=_EXTENDED)]],
    Meta(description='[lower, upper], decimals rounded outward, or "inf"'),
]
Claimed = Annotated[
    Text, Meta(description="an exact rational, or the formula of an irrational number")
]
End = Annotated[
    str, Meta(pattern=f"^([0-9]+(/[0-9]+)?|inf){END}", description='an exact rational, or "inf"')
]
Range = tuple[End, End]
Seconds = Annotated[float, Meta(ge=0)]
Valuation = Annotated[
    dict[str, int | Text | PlainValues], Meta(description="values by variable; arrays as lists")
]
"""Not `PlainValue | PlainValues`: msgspec 0.22 frees the wrong memory where a string with a pattern
may also be a list or an object."""


class NumberSet(Statement, frozen=True):
    """Which numbers a real output may be: a union of intervals, null for an infinite end."""

    intervals: Annotated[
        tuple[tuple[Text | None, Text | None], ...],
        Meta(description="disjoint, from left to right; ends are exact rationals"),
    ] = field(name="in")
    about: Text | UnsetType = UNSET


PublishedValues = Annotated[
    dict[str, int | Text | NumberSet | tuple[int | Text | NumberSet, ...]],
    Meta(description="values, or of a real output sets of numbers, by variable; arrays as lists"),
]


class Scope(Statement, frozen=True):
    """What an answer is about: domains of inputs, and pairs or one input."""

    text: Text
    inputs: str
    selection: Literal["adjacent", "listed"]


Argument = Annotated[
    str,
    Meta(
        min_length=1,
        description="why the difference exceeds delta where the enclosure does not show it",
    ),
]


class CurveWitness(Statement, frozen=True, kw_only=True):
    """A pair of inputs and a set of outputs, which may be too many to be listed."""

    input: Valuation
    adjacent: Valuation
    outputs: tuple[PublishedValues, ...]
    outputs_at_least: Count | UnsetType = UNSET


class Witness(CurveWitness, frozen=True, kw_only=True):
    """A pair of inputs, a set of outputs, which may be too many to be listed, and their δ."""

    delta_enclosure: Enclosure
    argument: Argument | UnsetType = UNSET


class Why(Statement, frozen=True):
    """Who gave one end of an answer."""

    of: Annotated[Text, Meta(description="which number")]
    end: Literal["least", "most"]
    value: Annotated[Text, Meta(description='a decimal rounded outward, a formula, or "inf"')]
    by: Annotated[str, Meta(description="the method")]
    pair: Annotated[tuple[str, str] | None, Meta(description="the inputs that show it")]
    outputs: Annotated[str | None, Meta(description="the outputs that tell them apart")]


Reasons = Annotated[tuple[Why, ...], Meta(description="with --why: who gave each end")]


class ProgramAnswer(Statement, frozen=True, kw_only=True):
    """What every answer about a program begins with: what it is about."""

    program: str
    params: dict[str, Rational]
    scope: Scope
    caveat: Text | None
    why: Reasons | UnsetType = UNSET


class Proved(Statement, frozen=True):
    """That the kernel has replayed a proof."""

    steps: Count
    seconds: Seconds


class PairsAnswer(ProgramAnswer, frozen=True, kw_only=True):
    """What every answer about pairs of inputs has: how far it went, and what computed."""

    pairs: Count | None
    outputs: Count
    final_states: Count
    engine: str
    seconds: Seconds


# --- verify -----------------------------------------------------------------------------------


class ClaimAnswer(PairsAnswer, frozen=True, kw_only=True):
    """What all verdicts have."""

    eps_prv: Claimed
    delta: Claimed
    delta_enclosure: Enclosure
    proved: Proved | UnsetType = UNSET
    precision: Count | UnsetType = UNSET


class VerifyAnswer(ClaimAnswer, frozen=True, kw_only=True):
    """What all verdicts at one ε have."""

    eps: Rational
    eps_prv_enclosure: Enclosure | UnsetType = UNSET
    delta_claim_enclosure: Enclosure | UnsetType = UNSET


VERIFY = kinds_of(
    VerifyAnswer,
    {
        "DP": "All pairs keep the claim.",
        "NotDP": "The witness breaks the claim.",
        "Unknown": "Not told; the witness is the closest pair if there is one.",
    },
    verdict=VERDICTS,
    reason=(None, None, Text),
    witness=(None, Witness, Witness | None),
)


class IntervalWitness(Witness, frozen=True, kw_only=True):
    """A witness at one ε of an interval."""

    eps: Rational


class IntervalAnswer(ClaimAnswer, frozen=True, kw_only=True):
    """What all verdicts about an interval of ε have."""

    eps: Annotated[
        str,
        Meta(
            pattern=rf"^[0-9]+(/[0-9]+)?\.\.[0-9]+(/[0-9]+)?{END}",
            description="the interval, both ends included",
        ),
    ]
    points: Count


_Left = Annotated[tuple[tuple[Rational, Rational], ...], Meta(min_length=1)]
_NoneLeft = Annotated[tuple[Range, ...], Meta(max_length=0)]

INTERVAL = kinds_of(
    IntervalAnswer,
    {
        "IntervalDP": "All pairs keep the claim at every ε of the interval.",
        "IntervalNotDP": "The witness breaks the claim at `eps_witness`.",
        "IntervalUnknown": "Parts of the interval are undecided; they ascend.",
    },
    verdict=VERDICTS,
    reason=(None, None, Text),
    eps_witness=(None, Rational, Rational | None),
    witness=(None, IntervalWitness, None),
    remaining=(_NoneLeft, _NoneLeft, _Left),
)

Nothing = Annotated[tuple[str, ...], Meta(max_length=0)]
Something = Annotated[tuple[str, ...], Meta(min_length=1)]


# --- probability and explain --------------------------------------------------------------------


class OutputProbability(Statement, frozen=True):
    """One output with its probability."""

    output: PublishedValues
    probability: Enclosure
    final_states: Count


class Probability(ProgramAnswer, frozen=True):
    """`probability --json`."""

    eps: Rational
    input: Valuation
    outputs: tuple[OutputProbability, ...]
    reason: str | None
    precision: Count
    engine: str
    seconds: Seconds


PlainTerms = Annotated[
    tuple[tuple[Count, Rational, Rational], ...],
    Meta(description="[n, q, c]: the sum of c eps^n e^(q eps), ascending"),
]
PlainFactors = Annotated[
    tuple[tuple[PlainTerms, Annotated[int, Meta(ge=1)]], ...],
    Meta(description="[form, exponent]: the sum is divided by the product of these; empty for 1"),
]


class OutputForm(Statement, frozen=True):
    """The closed form of one output's probability: for people, and as data."""

    output: Valuation
    text: Text
    latex: Text
    terms: PlainTerms
    denominator: PlainFactors


class InputForms(Statement, frozen=True):
    """The closed forms of one input."""

    input: Valuation
    outputs: tuple[OutputForm, ...]


class ClosedForm(Statement, frozen=True):
    """`explain --closed-form --json`; `reason` says why some form is missing."""

    program: str
    params: dict[str, Rational]
    closed_forms: tuple[InputForms, ...]
    reason: Text | None


class ExplainedState(Statement, frozen=True):
    """One final state, with its integral for one input."""

    output: Valuation
    conditions: tuple[str, ...]
    guards: tuple[str, ...]
    choices: tuple[str, ...]
    samples: tuple[str, ...]
    sums: tuple[str, ...]
    dependencies: tuple[tuple[str, str], ...]
    depth: Count | None
    depth_unoptimised: Count
    input: Valuation | None
    integral_before: tuple[str, ...] | None
    integral_after: tuple[str, ...] | None
    elimination: tuple[str, ...]
    obstacle: str | None
    numbers: tuple[str, ...] | UnsetType = UNSET


class Explanation(Statement, frozen=True):
    """`explain --json`."""

    program: str
    params: dict[str, Rational]
    merged: bool
    reason: str | None
    final_states: Count | None
    average_guards: Rational | None
    average_guards_decimal: Seconds | None
    average_depth: Rational | None
    average_depth_decimal: Seconds | None
    average_depth_unoptimised: Rational | None
    average_depth_unoptimised_decimal: Seconds | None
    eps: Rational
    states: tuple[ExplainedState, ...]


# --- test ----------------------------------------------------------------------------------------


class ClaimTested(Statement, frozen=True):
    """A claim that stands with a program, and what became of it; the message says why."""

    program: Text
    claim: str
    line: Count
    outcome: Literal["holds", "false", "unknown", "error"]
    message: Text | None
    seconds: Seconds


class ClaimsTested(Statement, frozen=True):
    """All claims, in the order of their programs, and how many have each outcome."""

    claims: tuple[ClaimTested, ...]
    holds: Count
    false: Count
    unknown: Count
    error: Count
