"""Events as text, for messages."""

from __future__ import annotations

from dipapprox.digits import exact_text
from dipapprox.distributions import Distribution
from dipapprox.events.event import Event
from dipapprox.semantics.linear import LinearForm

_SHOWN = 6
"""Most guards and samples in a message."""


def describe(event: Event) -> str:
    """Write an event as text: its guards, then its samples; long ones are cut."""
    used = sorted({sample for guard in event.guards[:_SHOWN] for sample in guard.samples()})
    guards = ", ".join(_guard_text(guard) for guard in event.guards[:_SHOWN])
    if len(event.guards) > _SHOWN:
        guards += f", … ({len(event.guards)} guards)"
    samples = ", ".join(f"x{i} ~ {_law_text(event.samples[i])}" for i in used[:_SHOWN])
    if len(event.samples) > min(len(used), _SHOWN):
        samples += f", … ({len(event.samples)} samples)"
    return f"{{{guards}}} with {samples}"


def _law_text(law: Distribution) -> str:
    return f"{law.family.value}({exact_text(law.mean)}, {exact_text(law.scale)})"


def _guard_text(guard: LinearForm) -> str:
    """a form <= 0, as "2*x0 - x1 <= 3"."""
    text = ""
    for symbol, coefficient in guard.terms:
        size = abs(coefficient)
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} " if text else sign.replace("+", "")
        text += (f"{exact_text(size)}*" if size != 1 else "") + f"x{symbol}"
    return f"{text} <= {exact_text(-guard.constant)}"
