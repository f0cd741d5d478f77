"""A privacy claim: what a program is supposed to satisfy, exact and validated."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.errors import BrokenInvariant, UserError
from dipapprox.language.values import exact_number
from dipapprox.pairs.divergence import Growth


class Claim(Record):
    """The program run with `eps` is (eps_prv, delta)-differentially private.

    Attributes:
        eps: The program's privacy parameter, > 0; it scales the noise.
        delta: In [0, 1].
        growth: e^eps_prv, of which somebody has seen that it is >= 1.
    """

    eps: Fraction
    delta: Fraction
    growth: Growth

    def __init__(
        self, eps: Fraction, delta: Fraction, eps_prv: Fraction | Growth | None = None
    ) -> None:
        """Claim it; with `eps_prv` equal to `eps` if none is given.

        Raises:
            UserError: If a value is out of range.
        """
        # An int would turn into a float as soon as it is raised to a negative power.
        eps, delta = exact_number(eps, "eps"), exact_number(delta, "delta")
        if eps <= 0:
            raise UserError(f"eps must be > 0, got {exact_text(eps)}")
        if not isinstance(eps_prv, Growth):
            eps_prv = Growth(eps if eps_prv is None else exact_number(eps_prv, "eps_prv"))
            if eps_prv.rate < 0:
                raise UserError(f"eps_prv must be >= 0, got {exact_text(eps_prv.rate)}")
        if not 0 <= delta <= 1:
            raise UserError(f"delta must be in [0, 1], got {exact_text(delta)}")
        object.__setattr__(self, "eps", eps)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "growth", eps_prv)

    @property
    def eps_prv(self) -> Fraction:
        """The claimed eps_prv.

        Raises:
            BrokenInvariant: If it is no rational number; `growth` is known always.
        """
        if self.growth.multiple != 1:
            raise BrokenInvariant("the eps_prv of a claim is taken for a rational number")
        return self.growth.rate


class Stated(Record):
    """A number that was claimed by a formula: `text` as written, `value` its enclosure."""

    text: str
    value: Enclosure
