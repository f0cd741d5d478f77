"""A privacy claim: what a program is supposed to satisfy, exact and validated."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.digits import exact_text
from dipapprox.errors import BrokenInvariant, UserError
from dipapprox.language.values import exact_number
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.pairs.growth import Growth


@dataclass(frozen=True, slots=True)
class Claim:
    """The program run with `epsilon` is (epsilon_prv, delta)-differentially private.

    Attributes:
        epsilon: The program's privacy parameter, > 0; it scales the noise.
        epsilon_prv: The claimed budget, >= 0; by default equal to `epsilon`.
        delta: In [0, 1].
        multiple: If not 1, what is claimed is the budget epsilon_prv + log(multiple) instead, of
            which somebody has seen that it is >= 0.

    Raises:
        UserError: If a value is out of range.
    """

    epsilon: Fraction
    delta: Fraction
    epsilon_prv: Fraction | None = None
    multiple: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "epsilon_prv"):
            value = getattr(self, name)
            if value is None and name == "epsilon_prv":
                continue
            # An int would turn into a float as soon as it is raised to a negative power.
            object.__setattr__(self, name, exact_number(value, name))
        if self.epsilon <= 0:
            raise UserError(f"eps must be > 0, got {exact_text(self.epsilon)}")
        if self.multiple == 1 and self.epsilon_prv is not None and self.epsilon_prv < 0:
            raise UserError(f"eps_prv must be >= 0, got {exact_text(self.epsilon_prv)}")
        if not 0 <= self.delta <= 1:
            raise UserError(f"delta must be in [0, 1], got {exact_text(self.delta)}")

    @property
    def budget(self) -> Fraction:
        """The epsilon that is claimed: `epsilon_prv`, or `epsilon` when that is not given.

        Raises:
            BrokenInvariant: If the budget is no rational number; `growth` is known always.
        """
        if self.multiple != 1:
            raise BrokenInvariant("the budget of a claim is taken for a rational number")
        return self.epsilon if self.epsilon_prv is None else self.epsilon_prv

    @property
    def growth(self) -> Growth:
        """e^budget."""
        rate = self.epsilon if self.epsilon_prv is None else self.epsilon_prv
        return Growth(rate, self.multiple)


@dataclass(frozen=True, slots=True)
class Stated:
    """A number that was claimed by a formula: `text` as written, `value` its enclosure."""

    text: str
    value: Enclosure
