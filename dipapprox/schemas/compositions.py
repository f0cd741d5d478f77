"""What `compose` prints with --json, and `check` of its certificates, as types."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from dipapprox.schemas.answers import Enclosure, Extended, Proved, Rational, Reasons, Seconds
from dipapprox.schemas.types import Count, Statement, Text

Positive = Annotated[int, Meta(ge=1)]


class PipelineRun(Statement, frozen=True):
    """One thing that is run; `eps` is of programs, `subsample` the rate of a Poisson sample."""

    kind: Literal["program", "mechanism"]
    name: Text
    eps: Rational | None
    params: dict[str, Text]
    subsample: Rational | None
    times: Positive


class ComposedPoint(Statement, frozen=True):
    """The least δ at one budget."""

    eps_prv: Rational
    delta_enclosure: Enclosure


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


class EpsPrv(Composed, frozen=True):
    """The least budget for a δ."""

    eps_prv: None
    delta: Rational
    verdict: None
    reason: Text | None
    eps_prv_enclosure: Extended
    delta_enclosure: None
    curve: None


class Delta(Composed, frozen=True):
    """The least δ for a budget."""

    eps_prv: Rational
    delta: None
    verdict: None
    reason: Text | None
    eps_prv_enclosure: None
    delta_enclosure: Enclosure
    curve: None


class ComposedProfile(Composed, frozen=True):
    """The profile: between two points it lies below their chord in x = e^eps_prv, and above the
    lower end of the next point."""

    eps_prv: None
    delta: None
    verdict: None
    reason: Text | None
    eps_prv_enclosure: None
    delta_enclosure: None
    curve: Annotated[tuple[ComposedPoint, ...], Meta(min_length=2)]


class Claimed(Composed, frozen=True):
    """What all verdicts have: an enclosure of the least δ, or, for δ = 0, of the least budget."""

    eps_prv: Rational
    delta: Rational
    eps_prv_enclosure: Extended | None
    delta_enclosure: Enclosure | None
    curve: None


class ComposedPrivate(Claimed, frozen=True):
    """The composition keeps the claim."""

    verdict: Literal["DP"]
    reason: None


class ComposedViolated(Claimed, frozen=True):
    """Some mechanisms as they are described break it."""

    verdict: Literal["Not_DP"]
    reason: None


class ComposedUndecided(Claimed, frozen=True):
    """Not told."""

    verdict: Literal["Unknown"]
    reason: Text
