"""Whether a service implements another one: idealised steps replaced by subroutines (theorem 1).

Both have the same cells and calls. If in every state that calls lead to, and at every call, reply
and next state have the same joint law for every eps, then by induction over the calls the courses
of both have the same probabilities, and what one loses the other loses. So a handler that draws
from an ideal mechanism may be replaced by a sampler, a loop of coins say.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction

from dipapprox.data_classes import Record
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.exponentials import ExponentialRatio
from dipapprox.language.services import Service
from dipapprox.limits import Limits, limited
from dipapprox.services.loss import Loss
from dipapprox.services.model import (
    AskedService,
    Call,
    Inexpressible,
    Replied,
    State,
    Step,
    row_text,
)
from dipapprox.services.prove_service import find_loss
from dipapprox.services.publishing import spelled_out
from dipapprox.services.service_proof import ServiceProof, fields_of, users_of
from dipapprox.services.system import System, merged

Shown = tuple[Replied, State]  # reply, next state


class Deviation(Record):
    """Where two services do not do the same."""

    state: State
    call: Call
    reply: Replied
    after: State

    def text(self, name: str, idealised: str) -> str:
        """Say it."""
        where = f"in state {row_text(self.state)}, at '{self.call.text()}'"
        reply, after = row_text(self.reply), row_text(self.after)
        what = f"reply {reply} and state {after} have other probabilities"
        return f"{name} does not implement {idealised}: {where}, {what}"


def prove_implementation(
    service: Service,
    idealised: Service,
    budget: Fraction | None,
    users: tuple[str, ...],
    limits: Limits,
) -> ServiceProof:
    """Find the least D of a service by that of another one, which it implements.

    Args:
        idealised: With ideal mechanisms in their place.
        users: Whose queries and replies are seen; empty: everybody's.

    Returns:
        What holds of both; Unknown, with the place, if the service does not implement the other.

    Raises:
        UserError: If they have other cells or calls.
    """
    begun = time.monotonic()
    asked, ideal = (
        AskedService(each, limits, None, users_of(service, users)) for each in (service, idealised)
    )
    reason = ""
    with EarlyEnd() as end, limited(limits):
        try:
            found = first_deviation(asked, ideal)
            reason = "" if found is None else found.text(service.name, idealised.name)
        except Inexpressible as missing:
            reason = str(missing)
    reason = end.reason or reason
    loss = Loss(reason=reason) if reason else find_loss(ideal)
    return ServiceProof(**fields_of(asked, loss, budget, begun), implements=idealised.name)


def first_deviation(asked: AskedService, idealised: AskedService) -> Deviation | None:
    """Return where a service does not implement another; None if it does."""
    _require_alike(asked.service, idealised.service)
    own, ideal = System(asked), System(idealised)
    for state in ideal.reachable():
        for call in ideal.calls:
            ideal.limits.check()
            found = _differing(own.step(state, call), ideal.step(state, call))
            if found is not None:
                return Deviation(state, call, *found)
    return None


def _require_alike(service: Service, idealised: Service) -> None:
    both = service, idealised
    parts = (
        ("state cells", service.states, idealised.states),
        ("outputs", service.replies, idealised.replies),
        ("calls", *([(h.name, h.arguments, h.users) for h in s.handlers] for s in both)),
        ("adjacency", service.change, idealised.change),
    )
    for name, own, ideal in parts:
        if own != ideal:
            hint = "an implementation has the cells and calls of what it implements"
            raise UserError(f"'{service.name}' and '{idealised.name}' differ in their {name}", hint)


def _differing(ours: Step, theirs: Step) -> Shown | None:
    """Return what two steps show with different probabilities; None if there is nothing."""
    own, ideal = _law(ours), _law(theirs)
    if own.keys() != ideal.keys():
        own, ideal = (
            _law(merged([each for outcome in step for each in spelled_out(outcome)]))
            for step in (ours, theirs)
        )
    zero = ExponentialRatio.constant(0)
    for shown in dict.fromkeys((*ideal, *own)):
        if (own.get(shown, zero) - ideal.get(shown, zero)).numerator:
            return shown
    return None


def _law(step: Step) -> Mapping[Shown, ExponentialRatio]:
    return {(o.reply, o.state): o.probability for o in step}
