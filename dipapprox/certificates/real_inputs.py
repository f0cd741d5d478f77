"""Certificates of budgets of programs with real inputs, at a fixed number of them.

What is stated are bounds of the least D for which the program is (D eps, 0)-private for every
eps > 0 and all real (or integer) inputs; budgets are multiples of eps. A draw is its mean and noise
around 0: `sites` are the draws that can be made, each at most once in a run, and a *state* is a set
of noises and inputs, bounded by half spaces, with one output. Evidence of the upper bound are
shifts of the noise that keep a state; of the lower bound a ray of inputs on which an output loses,
with flows that say how dear its states are there. Without an upper bound only the outputs with rays
are recorded.

Inputs and outputs are told by their numbers among all, sites by their numbers in the program.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dipapprox.certificates.budgets import BudgetClaimed, StatedBounds
from dipapprox.certificates.statement import (
    Computed,
    Count,
    Digest,
    PlainValues,
    RecordedProgram,
    Statement,
    check_params,
)

FORMAT = "dipapprox real-input certificate"
VERSION = 4

Change = Literal[-1, 0, 1]


class Coefficient(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A number times the noise at a site, or times an input."""

    place: Count
    value: Fraction


class HalfSpace(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Σ noise + Σ inputs + constant <= 0."""

    noise: tuple[Coefficient, ...]
    inputs: tuple[Coefficient, ...]
    constant: Fraction


class RecordedShift(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """For all changes of the part's inputs in a box, in units of `radius`: how noise is moved.

    The cost is in multiples of radius · eps.
    """

    box: tuple[tuple[Change, Change], ...]
    shift: tuple[Coefficient, ...]
    cost: Fraction


class RecordedState(Statement, frozen=True):
    """A state of a case, and shifts that keep it; null where no upper bound is stated.

    `shown` are the real outputs, as sums like those of half spaces.
    """

    case: Count
    guards: tuple[HalfSpace, ...]
    shown: tuple[HalfSpace, ...]
    shifts: tuple[RecordedShift, ...] | None


class RecordedFlow(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Multiples >= 0 of a state's guards that say what it costs at the target; null: no shift.

    Behind the guards come, for each number that is shown, that it is no more and no less.
    """

    flow: tuple[Coefficient, ...]
    cost: Fraction | None


class RecordedRay(Statement, frozen=True):
    """Inputs from start + t · origin to start + t · target, in units of `radius`, for t → ∞.

    `flows` has one for each state of the output; `state` is possible at the start, and `shift`
    keeps it for the change `origin`.
    """

    start: tuple[Fraction, ...]
    origin: tuple[int, ...]
    target: tuple[int, ...]
    flows: tuple[RecordedFlow, ...]
    state: Count
    shift: tuple[Coefficient, ...]
    loss: Annotated[Fraction | None, Meta(description="null: beyond all bounds")]


class RecordedOutput(Statement, frozen=True):
    """An output of a part, its states, and a ray if the lower bound needs one.

    States that show other numbers, the same for all inputs and noise, are another output.
    """

    output: PlainValues
    states: Annotated[tuple[RecordedState, ...], Meta(min_length=1)]
    ray: RecordedRay | None


class Chosen(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """The number of the option that a choice takes, from 0."""

    site: Count
    option: Count


class RecordedPart(Statement, frozen=True):
    """A part that shares no noise with others: its inputs, its outputs, what it may give.

    `cases` are the ways in which its choices may go; one without choices has a single case.
    """

    inputs: tuple[Count, ...]
    cells: tuple[Count, ...]
    cases: Annotated[tuple[tuple[Chosen, ...], ...], Meta(min_length=1)]
    outputs: tuple[RecordedOutput, ...]


class RecordedPlaceLoss(Statement, frozen=True):
    """What an output of a part loses between two inputs.

    The event is the output, with real outputs close to `shown`. At the first input `state` holds
    for `noise`, and noise close to it; at the second there is a flow for each state of the output,
    null where it has probability 0.
    """

    part: Count
    output: Count
    shown: tuple[Fraction, ...]
    state: Count
    noise: tuple[Coefficient, ...]
    flows: tuple[RecordedFlow | None, ...]
    loss: Annotated[Fraction | None, Meta(description="null: beyond all bounds")]


class RecordedPlaces(Statement, frozen=True):
    """Two adjacent inputs between which some outputs, one of a part, lose as eps grows."""

    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]
    losses: Annotated[tuple[RecordedPlaceLoss, ...], Meta(min_length=1)]


class RecordedVanishingLoss(Statement, frozen=True):
    """What an output of a part, which publishes no real numbers, loses between two inputs."""

    part: Count
    output: PlainValues
    loss: Annotated[Fraction | None, Meta(description="null: its probabilities differ by a factor")]


class RecordedVanishing(Statement, frozen=True):
    """Two adjacent inputs between which some outputs, one of a part, lose as eps goes to 0."""

    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]
    losses: Annotated[tuple[RecordedVanishingLoss, ...], Meta(min_length=1)]


class RealInputCertificate(Statement, frozen=True):
    """What a proof states, and its evidence; `reals` takes finite domains as all numbers."""

    format: Literal["dipapprox real-input certificate"]
    version: Literal[4]
    program: RecordedProgram
    params: dict[str, Fraction]
    reals: bool
    claim: BudgetClaimed
    least_budget: Annotated[StatedBounds | None, Meta(description="null: there is none")]
    radius: Fraction
    evidence: tuple[RecordedPart, ...]
    places: RecordedPlaces | None
    vanishing: RecordedVanishing | None
    computed: Computed
    digest: Digest

    def __post_init__(self) -> None:
        check_params(self.params)


class CertificateOfRealInputs(RealInputCertificate, frozen=True):
    """There is a budget, and the claimed one is one."""

    verdict: Literal["DP"]

    def __post_init__(self) -> None:
        super().__post_init__()
        upper = None if self.least_budget is None else self.least_budget.upper
        if upper is None or (self.claim.budget is not None and self.claim.budget < upper):
            raise ValueError(".least_budget: expected an upper bound, at most the claimed budget")


class CertificateAgainstRealInputs(RealInputCertificate, frozen=True):
    """There is no budget, or the claimed one is less than the lower bound."""

    verdict: Literal["Not_DP"]

    def __post_init__(self) -> None:
        super().__post_init__()
        bounds, budget = self.least_budget, self.claim.budget
        if bounds is not None and (budget is None or budget >= bounds.lower):
            raise ValueError(".least_budget: expected a lower bound above the claimed budget")
        if bounds is not None and bounds.upper is not None:
            raise ValueError(".least_budget.upper: expected null beside a violation")
