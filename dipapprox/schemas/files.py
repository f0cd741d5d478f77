"""The files of proofs, and what `check` says of them, as types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from dipapprox.schemas.answers import (
    Count,
    Digest,
    Hash,
    Line,
    Nothing,
    Rational,
    Seconds,
    Something,
    Statement,
    Text,
)

Object = Annotated[dict[str, Any], Meta(description="read by the kernel: see the documentation")]


class ProgramOfProof(Statement, frozen=True):
    """A program's text and its hash."""

    name: Line
    language: Literal["dpg", "dip", "dipa"]
    text: str
    sha256: Hash


class VersionsOfProof(Statement, frozen=True):
    """What computed a proof; nothing is made of it."""

    engine: str
    python: str
    dipapprox: str


class Proof(Statement, frozen=True, kw_only=True):
    """What all proofs have."""

    format: Literal["dipapprox proof"]
    version: Literal[1]
    program: ProgramOfProof
    params: dict[str, Rational]
    scope: Line
    verdict: Literal["DP", "Not_DP"]
    machine: Object
    claim: Object
    steps: Annotated[tuple[Object, ...], Meta(min_length=1)]
    computed: VersionsOfProof
    digest: Digest


class ProofOfAnswer(Proof, frozen=True, kw_only=True):
    """About one ε, or all of an interval; `widened` are wider domains, by the names of inputs."""

    widened: dict[str, str]


class AboutBudget(Statement, frozen=True, rename={"for_all": "for all", "stops": "stops are seen"}):
    """The parameter that may be any number, and whether it is seen that an automaton stops."""

    for_all: str | None
    stops: bool


class AboutService(Statement, frozen=True, rename={"users": "seen by"}):
    """Who sees the replies of a service, together; nobody for everybody."""

    users: tuple[str, ...]


class ProofOfBudget(Proof, frozen=True, kw_only=True):
    """About a budget for every ε."""

    about: AboutBudget


class ProofOfService(Proof, frozen=True, kw_only=True):
    """About a budget for every ε and every sequence of calls."""

    about: AboutService


class ProgramOfPipeline(Statement, frozen=True):
    """A program that is run: its text, parameters, and wider domains."""

    program: ProgramOfProof
    params: dict[str, Rational]
    widened: dict[str, str]


class OneOfProofs(Statement, frozen=True):
    """A claim, and why it holds."""

    claim: Object
    steps: Annotated[tuple[Object, ...], Meta(min_length=1)]


class ProofOfPipeline(Statement, frozen=True):
    """About what many runs cost together; `programs` has an entry for every run."""

    format: Literal["dipapprox composition proof"]
    version: Literal[1]
    programs: tuple[ProgramOfPipeline | None, ...]
    pipeline: Object
    verdict: Literal["DP", "Not_DP"]
    proofs: Annotated[tuple[OneOfProofs, ...], Meta(min_length=1)]
    computed: VersionsOfProof
    digest: Digest


class StepOfProof(Statement, frozen=True, rename={"premises": "from"}):
    """A step that the kernel has replayed."""

    rule: Text
    premises: tuple[Count, ...]
    concludes: Text


class CheckOfProof(Statement, frozen=True, kw_only=True):
    """What is said of proofs."""

    program: str
    params: dict[str, Rational]
    scope: Text
    caveat: Text | None
    verdict: Literal["DP", "Not_DP"]
    elaborated: bool
    steps: tuple[StepOfProof, ...]
    seconds: Seconds


class ProofConfirmed(CheckOfProof, frozen=True):
    """All steps hold, and the last one is the claim."""

    result: Literal["confirmed"]
    differences: Nothing
    reason: None


class ProofRefuted(CheckOfProof, frozen=True):
    """Something does not hold."""

    result: Literal["refuted"]
    differences: Something
    reason: None


class ProofNotConfirmed(CheckOfProof, frozen=True):
    """Nothing was found false, but not all was replayed."""

    result: Literal["not confirmed"]
    differences: Nothing
    reason: Text
