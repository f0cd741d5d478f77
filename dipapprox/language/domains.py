"""Domains of inputs: how they are written, and wider ones than a program declares."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.data_classes import dataclass, field
from dipapprox.errors import UserError
from dipapprox.language.core_expressions import Value
from dipapprox.language.diagnosis import did_you_mean

Domain = tuple[Value, ...]
"""The values of an input, each once."""

_SHORTEST_RANGE = 4
"""Fewer values are written one by one."""


def domain_text(domain: Domain, most: int | None = None) -> str:
    """Write a domain as programs do: "{0, 1}", "-5..5", "{bot, top}".

    Args:
        domain: In its own order.
        most: Values that are written one by one before the rest is only counted; None: all.
    """
    first, last = domain[0], domain[-1]
    if (
        len(domain) >= _SHORTEST_RANGE
        and isinstance(first, Fraction)
        and first.denominator == 1
        and domain == tuple(first + k for k in range(len(domain)))
    ):
        return f"{first}..{last}"
    if most is None or len(domain) <= most:
        return f"{{{', '.join(map(str, domain))}}}"
    shown = ", ".join(map(str, domain[: most - 1]))
    return f"{{{shown}, …, {last}}} ({len(domain)} values)"


@dataclass(frozen=True, slots=True)
class Widening:
    """Domains in place of those that a program declares; each contains the declared one.

    Attributes:
        everywhere: Of every input with numbers that `named` does not name; None: as declared.
        named: Of single inputs.
    """

    everywhere: Domain | None = None
    named: Mapping[str, Domain] = field(default_factory=dict)

    def apply(self, declared: Mapping[str, Domain]) -> dict[str, Domain]:
        """Return the wider domains by the names of their inputs; without those that stay.

        Raises:
            UserError: If an input does not exist, has named values, or would lose a value.
        """
        for name in self.named:
            if name not in declared:
                known = f"the inputs are {', '.join(declared)}" if declared else "it has none"
                raise UserError(
                    f"cannot widen '{name}': the program has no such input",
                    did_you_mean(name, tuple(declared), known),
                )
        numeric = {name: domain for name, domain in declared.items() if not _names(domain)}
        if self.everywhere is not None and not numeric:
            raise UserError("cannot widen: the program has no inputs with numbers")
        chosen = dict(self.named)
        if self.everywhere is not None:
            chosen = {**dict.fromkeys(numeric, self.everywhere), **chosen}
        for name, domain in chosen.items():
            if name not in numeric:
                raise UserError(
                    f"cannot widen '{name}': its values are names", "only numbers can be widened"
                )
            kept = set(domain)
            lost = [value for value in declared[name] if value not in kept]
            if lost:
                raise UserError(
                    f"cannot widen '{name}' to {domain_text(domain, 8)}: its value {lost[0]} "
                    "is not in there",
                    f"a wider domain contains the declared one, {domain_text(declared[name], 8)}",
                )
        return {
            name: domain for name, domain in chosen.items() if len(domain) > len(declared[name])
        }


AS_DECLARED = Widening()


def _names(domain: Domain) -> bool:
    return any(isinstance(value, str) for value in domain)
