"""What certificates claim, beside verdicts: budgets, compositions."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.digits import exact_text
from dipapprox.numerics.enclosure import Enclosure


@dataclass(frozen=True, slots=True)
class Interval:
    """The ε > 0 from `lower` to `upper`, both included; None: no upper end."""

    lower: Fraction
    upper: Fraction | None

    @property
    def is_point(self) -> bool:
        """Whether there is one ε."""
        return self.lower == self.upper

    @property
    def inner_point(self) -> Fraction:
        """Some ε of the interval."""
        return self.lower + 1 if self.upper is None else (self.lower + self.upper) / 2

    def __contains__(self, eps: Fraction) -> bool:
        return eps > 0 and self.lower <= eps and (self.upper is None or eps <= self.upper)


@dataclass(frozen=True, slots=True)
class BudgetClaim:
    """What a certificate states of an automaton; budgets are multiples of eps.

    Attributes:
        budget: The claimed one; None if none was.
        lower: The least budget is at least that.
        upper: It is at most that; None if no upper bound is stated.
        unbounded: Whether there is none that serves every eps.
        caveat: What the bounds do not cover, in words; None for nothing.
        at_any_eps: Whether there being none is stated of every single eps.
    """

    budget: Fraction | None
    lower: Fraction
    upper: Fraction | None
    unbounded: bool
    caveat: str | None
    at_any_eps: bool = True

    @property
    def text(self) -> str:
        """The claim for people."""
        if self.unbounded:
            return "no budget, at any ε > 0" if self.at_any_eps else "no budget serves every ε > 0"
        upper = "" if self.upper is None else f", at most {exact_text(self.upper)} · ε"
        bounds = f"least budget at least {exact_text(self.lower)} · ε{upper}"
        if self.budget is None:
            return bounds
        return f"({exact_text(self.budget)} ε, 0)-DP for every ε > 0: {bounds}"


@dataclass(frozen=True, slots=True)
class CompositionClaim:
    """What a certificate states of a pipeline.

    Attributes:
        eps_prv: The claimed budget; None if the least one was asked.
        delta: The claimed δ; None if the least one was asked.
        eps_prv_enclosure: The least budget for delta; None if it was not asked.
        deltas: Budgets and what is stated of the least δ there.
    """

    eps_prv: Fraction | None
    delta: Fraction | None
    eps_prv_enclosure: tuple[Fraction, Fraction] | None
    deltas: tuple[tuple[Fraction, Enclosure], ...]

    @property
    def text(self) -> str:
        """The claim for people."""
        if self.eps_prv is not None and self.delta is not None:
            return f"(ε_prv, δ) = ({exact_text(self.eps_prv)}, {exact_text(self.delta)})"
        if self.eps_prv_enclosure is not None and self.delta is not None:
            low, high = (exact_text(each) for each in self.eps_prv_enclosure)
            return f"least ε_prv for δ = {exact_text(self.delta)}: [{low}, {high}]"
        budgets = ", ".join(exact_text(budget) for budget, _ in self.deltas[:5])
        more = ", …" if len(self.deltas) > 5 else ""
        return f"least δ for ε_prv = {budgets}{more}"
