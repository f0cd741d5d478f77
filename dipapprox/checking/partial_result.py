"""What a check has found so far: differences, reasons, and figures for the report."""

from __future__ import annotations

from dipapprox.data_classes import dataclass, field
from dipapprox.numerics.decimals import short
from dipapprox.numerics.enclosure import Enclosure

_MOST_DIFFERENCES = 20


@dataclass(slots=True)
class PartialResult:
    """What a check has found so far; see `CheckResult` for the fields."""

    differences: list[str] = field(default_factory=list)
    reason: str | None = None
    pairs: int | None = None
    sets: int | None = None
    inputs: int = 0
    delta: Enclosure | None = None
    bits: int = 0
    shared: list[str] = field(default_factory=list)

    def take(self, other: PartialResult) -> None:
        """Become another one, but for the differences and the shared parts that are known here."""
        self.differences += other.differences
        self.shared += other.shared
        self.reason = self.reason or other.reason
        self.pairs, self.sets, self.inputs = other.pairs, other.sets, other.inputs
        self.delta, self.bits = other.delta, other.bits

    def differ(self, where: str, what: str) -> None:
        """Note that something in the file is false; only the first ones are kept."""
        if len(self.differences) < _MOST_DIFFERENCES:
            self.differences.append(f"{where}: {what}")

    def compare(self, where: str, recorded: Enclosure, derived: Enclosure) -> None:
        """Note a difference if two enclosures of one number have no point in common.

        That something is impossible is more than that it is improbable: 0 must be derived as such.
        """
        if not recorded.meets(derived):
            said, found = interval_text(recorded), interval_text(derived)
            self.differ(where, f"the file says {said}, the check finds {found}")
        elif recorded.upper == 0 < derived.upper:
            self.reason = self.reason or f"{where}: 0 or next to 0, the check cannot tell"


def interval_text(enclosure: Enclosure) -> str:
    """Write an enclosure for people."""
    lower, upper = short(enclosure)
    return f"[{lower}, {upper}]"
