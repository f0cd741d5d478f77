"""What given families prove of a service, or what is wrong with them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from fractions import Fraction

from dipapprox.data_classes import dataclass, field
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.language.services import Change, Service
from dipapprox.limits import Limits, limited
from dipapprox.privacy.description import count
from dipapprox.privacy.verdict import Replayed
from dipapprox.proof_steps.verdicts import WrittenProof
from dipapprox.proofs.budget_answer import budget_text
from dipapprox.services.families import Families, Rejection, check_families
from dipapprox.services.loss import Loss
from dipapprox.services.model import AskedService, Inexpressible, row_text
from dipapprox.services.service_proof import ServiceProof, fields_of, users_of
from dipapprox.services.system import System


@dataclass(frozen=True, slots=True)
class FamilyProof(ServiceProof):
    """The answer to: do these families prove that the service is private? Unknown if they do not.

    Its loss is what they prove.
    """

    families: Families = field(kw_only=True, repr=False)
    # The first thing that is not as it should be; None if the families were accepted, or not all
    # was checked.
    rejection: Rejection | None = field(kw_only=True)

    def replay(self, limits: Limits) -> tuple[WrittenProof, Replayed]:
        """Refuse; see `BudgetAnswer.replay`."""
        raise NoCertificate("it has no rules for such answers")

    def _where(self) -> str:
        return f"{self._epsilons()}, by the given families"

    def _facts(self) -> Iterable[tuple[str, str | None]]:
        families, found = self.families, self.rejection
        yield "families", f"{count(families.steps, 'step')} of {budget_text(families.step)}"
        if found is None:
            return
        replies = "; ".join(row_text(reply) for reply in found.unmatched)
        yield "family", f"of {row_text(found.state or ())}, data {found.data}"
        yield "pair", None if found.pair is None else " and ".join(map(row_text, found.pair))
        yield "may lose", None if found.budget is None else budget_text(found.budget)
        yield "call", None if found.call is None else found.call.text()
        yield "replies", f"too few matches for {replies}" if replies else None


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
        users: Whose queries and replies are seen; empty: everybody's.
        limits: States count as states.

    Raises:
        UserError: If the service has two data calls that differ in more than one being there.
        SourceError: If a handler does something meaningless in a state that calls lead to.
    """
    begun = time.monotonic()
    asked = AskedService(service, limits, eps, users_of(service, users))
    rejection: Rejection | None = None
    ended = ""
    if service.change is not Change.INSERT:
        ended = "families are about one data call more, 'adjacent insert'"
    else:
        with EarlyEnd() as end, limited(limits):
            try:
                rejection = check_families(System(asked), families)
            except Inexpressible as missing:
                ended = str(missing)
        ended = end.reason or ended
    if rejection is not None:
        ended = f"the families are rejected: {rejection.reason}"
    found = fields_of(
        asked, Loss(upper=None if ended else families.total, reason=ended), budget, begun
    )
    if not ended and budget is not None and budget < families.total:
        found["reason"] = f"the families prove {budget_text(families.total)} only"
    found["quotient_states"] = None  # no pairs are explored for their own sake
    return FamilyProof(families=families, rejection=rejection, **found)
