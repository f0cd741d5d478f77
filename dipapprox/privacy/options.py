"""How a verification computes: engine, precision, budgets. Complete, no optional holes."""

from __future__ import annotations

from enum import Enum
from typing import get_type_hints

from dipapprox.data_classes import Record, field
from dipapprox.errors import UserError, shorten
from dipapprox.integrals import Strategy
from dipapprox.limits import Limits
from dipapprox.numerics.kinds import Tier

LARGEST_PRECISION = 20_000  # in bits. Beyond, even closed forms take minutes
FIRST_PRECISION = 40  # bits of the first attempt: about 12 decimal places
LAST_PRECISION = 320  # bits of the last attempt: about 96 decimal places
MOST_JOBS = 256  # processes; more only take memory


class Engine(Enum):
    """Which engine encloses probabilities; the value is the word on the command line.

    AUTO: elimination, and nested for what it does not enclose; nested alone if a strategy asks for
    a certain shape of integrals. Deltas that enclosures do not tell from the claimed one are
    compared by closed forms, where there are some.
    EXACT: closed forms alone: Laplace, one-sided and discrete noise.
    """

    AUTO = "auto"
    ELIMINATION = "elimination"
    NESTED = "nested"
    EXACT = "exact"


class Options(Record):
    """Everything about a run that does not change what is asked.

    Attributes:
        tier: Which algebras elimination may use.
        strategy: How nested integrals are ordered and pulled apart.
        precision: Bits asked for at the first attempt.
        max_precision: Bits of the last attempt; at least `precision` is used.
        merge: Whether final states are merged at join points.
        jobs: Most processes. More than one are started for large work only; then a script that
            calls this library needs the usual `if __name__ == "__main__":`.
        proved: Whether `verify`, `decide`, `profile` and `calibrate` answer only what the kernel
            has replayed a proof of.

    Raises:
        UserError: If a number is out of range, or engine, tier and strategy do not fit.
    """

    engine: Engine = Engine.AUTO
    tier: Tier = Tier.AUTO
    strategy: Strategy = Strategy.LEAST_NESTING
    precision: int = FIRST_PRECISION
    max_precision: int = LAST_PRECISION
    merge: bool = True
    jobs: int = 1
    proved: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(Options).items():  # Python programs set them
            given: object = getattr(self, name)
            if type(given) is not kind:
                said = "a whole number" if kind is int else f"of the type {kind.__name__}"
                members = ", ".join(map(str, kind)) if issubclass(kind, Enum) else ""
                hint = f"there are {members}" if members else ""
                raise UserError(f"{name} must be {said}, got {shorten(repr(given))}", hint)
        for name, bits in (("precision", self.precision), ("max_precision", self.max_precision)):
            if not 2 <= bits <= LARGEST_PRECISION:
                raise UserError(f"{name} must be in [2, {LARGEST_PRECISION}] bits, got {bits}")
        if not 1 <= self.jobs <= MOST_JOBS:
            raise UserError(f"jobs must be in [1, {MOST_JOBS}], got {self.jobs}")
        shaped = self.strategy is not Strategy.LEAST_NESTING
        if shaped and self.engine in (Engine.ELIMINATION, Engine.EXACT):
            raise UserError("an optimizer orders the integrals of the engine 'nested' only")
        if self.tier is not Tier.AUTO and (shaped or self.engine in (Engine.NESTED, Engine.EXACT)):
            name = "nested" if shaped else self.engine.value
            raise UserError(
                f"a tier is an algebra of the engine 'elimination'; '{name}' has none to choose"
            )

    @property
    def compares_exactly(self) -> bool:
        """Whether closed forms may decide what enclosures do not.

        Who asks for one engine, tier or shape of integrals gets what that tells.
        """
        if self.engine is Engine.EXACT:
            return True
        plain = self.tier is Tier.AUTO and self.strategy is Strategy.LEAST_NESTING
        return self.engine is Engine.AUTO and plain
