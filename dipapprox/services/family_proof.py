"""What given families prove of a service, or what is wrong with them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from fractions import Fraction

from dipapprox.data_classes import dataclass, field
from dipapprox.errors import EarlyEnd
from dipapprox.language.services import Change, Service
from dipapprox.limits import Limits, limited
from dipapprox.privacy.description import Table, count
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.budget_answer import budget_text
from dipapprox.services.families import Families, Rejection, check_families
from dipapprox.services.model import Inexpressible, row_text
from dipapprox.services.service_proof import ServiceAnswer, examiner_of
from dipapprox.services.system import BY_VALUE, System


@dataclass(frozen=True, slots=True)
class FamilyProof(ServiceAnswer):
    """The answer to: do these families prove that the service is private? Unknown if they do not.

    Attributes:
        service: What was asked about.
        families: As given.
        rejection: The first thing that is not as it should be; None if the families were accepted,
            or not all was checked.
        ended: Why not all was checked; empty if it was.
    """

    service: Service = field(repr=False)
    families: Families = field(repr=False)
    rejection: Rejection | None
    ended: str

    @property
    def lower(self) -> Fraction:
        """Families say nothing of smaller budgets."""
        return Fraction(0)

    @property
    def upper(self) -> Fraction | None:
        """The budget that the families prove; None if they prove none."""
        if self.rejection is not None or self.ended:
            return None
        return self.families.total

    @property
    def has_none(self) -> bool:
        """Never: families that are rejected prove nothing."""
        return False

    @property
    def states(self) -> int:
        """None is explored for its own sake."""
        return 0

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

    def _witness(self) -> None:
        return None

    def _scope(self) -> None:
        return None

    def _where(self) -> str:
        return f"{self._epsilons()}, by the given families"

    def _facts(self) -> Iterable[tuple[str, str | None]]:
        families, found = self.families, self.rejection
        yield "families", f"{count(families.steps, 'step')} of {budget_text(families.step)}"
        if found is not None:
            yield from self._failing(found)

    def _below(self) -> Iterable[Table | str]:
        return ()

    def _failing(self, found: Rejection) -> tuple[tuple[str, str | None], ...]:
        replies = "; ".join(row_text(reply) for reply in found.unmatched)
        return (
            ("family", f"of {row_text(found.state or ())}, data {found.data}"),
            ("pair", None if found.pair is None else " and ".join(map(row_text, found.pair))),
            ("may lose", None if found.budget is None else budget_text(found.budget)),
            ("call", None if found.call is None else found.call.text()),
            ("replies", f"too few matches for {replies}" if replies else None),
        )


def prove_families(
    service: Service,
    families: Families,
    budget: Fraction | None,
    users: tuple[str, ...],
    limits: Limits,
    eps: Fraction | None = None,
) -> FamilyProof:
    """Check families of relations.

    Args:
        service: Elaborated.
        families: Given.
        budget: The claimed one; None for none.
        users: Whose queries and replies are seen; empty: everybody's.
        limits: States count as states.
        eps: The only one that is asked about; None for every eps > 0.

    Raises:
        UserError: If there is no such user, the service has two data calls that differ in more than
            one being there, or a choice is no probability distribution.
        SourceError: If a handler does something meaningless in a state that calls lead to.
    """
    begun = time.monotonic()
    examiner = examiner_of(service, users)
    system = System(service, BY_VALUE, False, limits, eps)
    rejection: Rejection | None = None
    ended = ""
    if service.change is not Change.INSERT:
        ended = "families are about one data call more, 'adjacent insert'"
    else:
        with EarlyEnd() as end, limited(limits):
            try:
                rejection = check_families(system, families, examiner, limits)
            except Inexpressible as missing:
                ended = str(missing)
        ended = end.reason or ended
    spent = time.monotonic() - begun
    return FamilyProof(service, families, rejection, ended, budget=budget, seconds=spent, eps=eps)
