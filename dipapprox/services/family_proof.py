"""What given families prove of a service, or what is wrong with them."""

from __future__ import annotations

import time
from fractions import Fraction
from typing import ClassVar

from dipapprox.data_classes import dataclass, field
from dipapprox.digits import exact_text
from dipapprox.errors import INTERRUPTED, EarlyEnd
from dipapprox.language.core import Value
from dipapprox.language.services import Change, Service
from dipapprox.limits import Limits
from dipapprox.privacy.description import Description, known, seconds_text
from dipapprox.privacy.result import Result
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.budgets import budget_text, private_text
from dipapprox.services.families import Families, Rejection, check_families
from dipapprox.services.model import Inexpressible, State
from dipapprox.services.service_proof import examiner_of
from dipapprox.services.system import System


@dataclass(frozen=True, slots=True)
class FamilyProof(Result):
    """The answer to: do these families prove that the service is private?

    Attributes:
        service: What was asked about.
        answer: DP, or Unknown: a rejected family proves nothing.
        budget: The claimed one; None if none was.
        families: As given.
        rejection: The first thing that is not as it should be; None if the families were accepted,
            or not all was checked.
        ended: Why not all was checked; empty if it was.
        seconds: From the families to the answer.
    """

    service: Service = field(repr=False)
    answer: Answer
    budget: Fraction | None
    families: Families = field(repr=False)
    rejection: Rejection | None
    ended: str
    seconds: float

    asked: ClassVar[str] = "compare its answer: proof.answer is Answer.DP"

    @property
    def upper(self) -> Fraction | None:
        """The budget that the families prove; None if they prove none."""
        if self.rejection is not None or self.ended:
            return None
        return self.families.step * self.families.steps

    @property
    def reason(self) -> str | None:
        """Why the answer is Unknown, or the budget not the least; None for nothing."""
        if self.rejection is not None:
            return f"the families are rejected: {self.rejection.reason}"
        if self.ended:
            return self.ended
        if self.answer is Answer.UNKNOWN:
            return f"the families prove {budget_text(self.upper or Fraction(0))} only"
        return None

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run before there was an answer."""
        return self.ended == INTERRUPTED

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `prove --json`, a contract with other tools."""
        return {
            "program": self.service.name,
            "params": {name: exact_text(v) for name, v in self.service.parameters.items()},
            "verdict": self.answer.value,
            "reason": self.reason,
            "budget": None if self.budget is None else exact_text(self.budget),
            "least_budget": {
                "lower": "0",
                "upper": None if self.upper is None else exact_text(self.upper),
                "exact": self.upper == 0,
            },
            "structures": [],
            "published_weight": None,
            "states": 0,
            "quotient_states": None,
            "witness": None,
            "seconds": round(self.seconds, 6),
        }

    def describe(self) -> Description:
        """Return what people see of it: the answer, and where families fail."""
        found, families = self.rejection, self.families
        failing = () if found is None else self._failing(found)
        claim = None if self.budget is None else f"{private_text(self.budget)} for every ε > 0"
        facts = known(
            ("claim", claim),
            ("families", f"{families.steps} steps of {budget_text(families.step)}"),
            ("reason", self.reason),
            *failing,
            ("computed", f"exact, {seconds_text(self.seconds)}"),
        )
        private = self.answer is Answer.DP
        said = "not decided"
        if private:
            said = f"{private_text(self.upper)} for every ε > 0, by the given families"
        headline = f"{self.service.name}: {said}"
        return Description(headline, self.answer.value, self.answer.tone, facts)

    def _failing(self, found: Rejection) -> tuple[tuple[str, str | None], ...]:
        replies = "; ".join(_row(reply) for reply in found.unmatched)
        return (
            ("family", f"of {_row(found.state or ())}, data {found.data}"),
            ("pair", None if found.pair is None else " and ".join(map(_row, found.pair))),
            ("level", None if found.level is None else str(found.level)),
            ("call", None if found.call is None else found.call.text()),
            ("replies", f"too few matches for {replies}" if replies else None),
        )


def _row(values: State | tuple[Value | None, ...]) -> str:
    return f"({', '.join('a sample' if value is None else str(value) for value in values)})"


def prove_families(
    service: Service,
    families: Families,
    budget: Fraction | None,
    users: tuple[str, ...],
    limits: Limits,
) -> FamilyProof:
    """Check families of relations.

    Args:
        service: Elaborated.
        families: Given.
        budget: The claimed one; None for none.
        users: Whose queries and replies are seen; empty: everybody's.
        limits: States count as states.

    Raises:
        UserError: If there is no such user, the service has two data calls that differ in more than
            one being there, or a choice is no probability distribution.
        SourceError: If a handler does something meaningless in a state that calls lead to.
    """
    begun = time.monotonic()
    examiner = examiner_of(service, users)
    system = System(service, False, False, limits)
    rejection: Rejection | None = None
    ended = ""
    if service.change is not Change.INSERT:
        ended = "families are about one data call more, 'adjacent insert'"
    else:
        with EarlyEnd() as end:
            try:
                rejection = check_families(system, families, examiner, limits)
            except Inexpressible as missing:
                ended = str(missing)
        ended = end.reason or ended
    proved = families.step * families.steps
    holds = rejection is None and not ended and (budget is None or proved <= budget)
    answer = Answer.DP if holds else Answer.UNKNOWN
    spent = time.monotonic() - begun
    return FamilyProof(service, answer, budget, families, rejection, ended, spent)
