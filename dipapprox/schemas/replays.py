"""What `check` prints of proofs with --json, as types."""

from __future__ import annotations

from typing import Literal

from dipapprox.schemas.answers import Nothing, Rational, Seconds, Something
from dipapprox.schemas.types import Count, Statement, Text


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
