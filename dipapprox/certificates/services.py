"""Certificates of budgets of services: `prove --certificate`.

What is stated are bounds of the least D for which the service is (D eps, 0)-private for every
eps > 0 and every sequence of calls; budgets are multiples of eps. Evidence of the upper bound is a
value for each pair of states: no reply may tell more than the value falls. Evidence of the lower
bound, or of there being no budget, is a course of calls and replies.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from msgspec import Meta, Struct

from dipapprox.certificates.budgets import BudgetClaimed, StatedBounds
from dipapprox.certificates.statement import (
    Computed,
    Digest,
    Hash,
    Line,
    PlainValues,
    Statement,
    Text,
    check_params,
)

FORMAT = "dipapprox service certificate"
VERSION = 1


class RecordedService(Statement, frozen=True):
    """The text of a service and its hash."""

    name: Line
    language: Literal["dpg"]
    text: str
    sha256: Hash


class PairValue(Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """Two states, by the values of their cells, and how much may still be lost from there."""

    first: PlainValues
    second: PlainValues
    value: Fraction

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError("expected a value >= 0")


class RecordedCall(Statement, frozen=True):
    """A call: the name of its handler and what it carries."""

    name: Text
    values: PlainValues


class RecordedEvent(Statement, frozen=True):
    """A call of each run, null for none, and what both answer; null if it is not seen.

    A cell of the reply that the query does not assign is "no_reply".
    """

    first: RecordedCall | None
    second: RecordedCall | None
    reply: PlainValues | None


class RepeatedCalls(Statement, frozen=True):
    """Calls after which both runs are where they were, and what each time gains, in eps.

    Where that is no multiple of eps, `eps` is one at which something is gained.
    """

    events: Annotated[tuple[RecordedEvent, ...], Meta(min_length=1)]
    gain: Fraction | None
    eps: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.gain is None) == (self.eps is None):
            raise ValueError(".eps: expected it where there is no gain")
        for name, value in (("gain", self.gain), ("eps", self.eps)):
            if value is not None and value <= 0:
                raise ValueError(f".{name}: expected a number > 0")


class ServiceEvidence(Statement, frozen=True):
    """What proves the bounds; null where there is nothing to prove.

    Of state cells in `by_difference` a pair's first row has how much more the first run holds, the
    second 0. With `repeated`, `calls` lead to where they begin; without it, and against any budget,
    only the first run can give the last reply.
    """

    pairs: tuple[PairValue, ...] | None
    calls: tuple[RecordedEvent, ...] | None
    repeated: RepeatedCalls | None
    by_difference: tuple[Text, ...] = ()


class ServiceCertificate(Statement, frozen=True):
    """What a proof states, and its evidence."""

    format: Literal["dipapprox service certificate"]
    version: Literal[1]
    program: RecordedService
    params: dict[str, Fraction]
    examiner: tuple[Text, ...]
    claim: BudgetClaimed
    least_budget: Annotated[StatedBounds | None, Meta(description="null: there is none")]
    evidence: ServiceEvidence
    computed: Computed
    digest: Digest

    def __post_init__(self) -> None:
        check_params(self.params)
        bounds, evidence = self.least_budget, self.evidence
        if (evidence.pairs is None) != (bounds is None or bounds.upper is None):
            raise ValueError(".evidence.pairs: expected them where an upper bound is stated")
        if evidence.calls is None and (bounds is None or bounds.lower):
            raise ValueError(".evidence.calls: expected them where a lower bound is stated")
        if evidence.repeated is not None and bounds is not None:
            raise ValueError(".evidence.repeated: expected it where there is no budget only")


class CertificateOfService(ServiceCertificate, frozen=True):
    """There is a budget, and the claimed one is one."""

    verdict: Literal["DP"]

    def __post_init__(self) -> None:
        super().__post_init__()
        upper = None if self.least_budget is None else self.least_budget.upper
        if upper is None or (self.claim.budget is not None and self.claim.budget < upper):
            raise ValueError(".least_budget: expected an upper bound, at most the claimed budget")


class CertificateAgainstService(ServiceCertificate, frozen=True):
    """There is no budget, or the claimed one is less than the lower bound."""

    verdict: Literal["Not_DP"]

    def __post_init__(self) -> None:
        super().__post_init__()
        bounds, budget = self.least_budget, self.claim.budget
        if bounds is not None and (budget is None or budget >= bounds.lower):
            raise ValueError(".least_budget: expected a lower bound above the claimed budget")
