"""Privacy loss distributions on a grid: whole numbers for masses, exact products, one-way rounding.

Atoms at losses ℓ of masses p, and a mass at infinity, stand for the function

    H(α) = Σ_ℓ p (1 - α e^-ℓ)₊ + p_∞.

No Q mass is kept: it is p e^-ℓ. H grows with every p, with p_∞ and with every ℓ (infinity being
the greatest). So rounding masses up, and moving masses to greater losses, only increases H;
rounding down, and leaving masses out, only decreases it. Masses need not sum to 1.

Composition adds losses: masses multiply as polynomials do,

    H_{μ*ν}(α) = Σ μ(ℓ) H_ν(α e^-ℓ) + μ(∞) ν(everything),                                     (1)

and what has lost infinity in one factor has in the product. (1) is monotone in H_ν, as μ >= 0; and
the product is the same the other way round. So for true pairs μ', ν' with H_μ' <= H_μ, H_ν' <= H_ν
at all α >= 0,

    H_{μ'*ν'} <= H_{μ'*ν} <= H_{μ*ν}.

Adaptivity: let the second mechanism depend on what the first one gave, y, but be dominated by ν
whatever y is. The composition has Σ_y μ'(y) H_{ν'(y)}(α e^-ℓ(y)) <= Σ_y μ'(y) H_ν(α e^-ℓ(y)): the
same bound. Lower bounds are for mechanisms that are run independently of each other, which is one
of the ways to run them.

Cuts. Of a product the highest losses go to infinity and the lowest are put on the lowest one that
is kept, when bounding from above; both increase H. From below, they are left out.

Sources: Sommer, Meiser, Mohammadi, Privacy loss classes, 2019; Zhu, Dong, Wang 2022, theorem 10.
"""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from functools import lru_cache

from flint import fmpz_poly

from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits


class Side(Enum):
    """From where a loss distribution bounds."""

    ABOVE = "above"
    BELOW = "below"


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """Masses at losses (start + 2 k) / 2 steps, k = 0, 1, …, in units of 2^-bits.

    Attributes:
        start: The lowest loss, in half steps.
        values: The masses, >= 0, as coefficients.
        infinite: The mass at infinity, >= 0.
        bits: Of the unit.
        side: From where it bounds.
    """

    start: int
    values: fmpz_poly
    infinite: int
    bits: int
    side: Side

    @property
    def total(self) -> int:
        """All mass: H(0)."""
        return int(self.values(1)) + self.infinite

    @property
    def atoms(self) -> int:
        """How many losses there are, from the least to the greatest."""
        return self.values.length()

    def masses(self) -> list[int]:
        """The masses, ascending in their losses."""
        return [int(value) for value in self.values.coeffs()]


def loss_distribution(
    start: int, masses: fmpz_poly, infinite: int, bits: int, side: Side, cut: int = 0
) -> LossDistribution:
    """Make a loss distribution, cutting off at most mass `cut` at either end.

    Args:
        start: The lowest loss, in half steps.
        masses: As coefficients, >= 0, ascending in their losses.
        infinite: The mass at infinity, >= 0.
        bits: Of the unit.
        side: From where it bounds.
        cut: In the unit.
    """
    low, high = 0, masses.length()
    below = above = 0
    while low < high and below + (mass := int(masses[low])) <= cut:
        below += mass
        low += 1
    while low < high and above + (mass := int(masses[high - 1])) <= cut:
        above += mass
        high -= 1
    kept = masses.truncate(high).right_shift(low)
    if side is Side.ABOVE:
        if low < high:
            kept += below
            infinite += above
        else:
            infinite += above + below
    return LossDistribution(start + 2 * low, kept, infinite, bits, side)


def composed(
    first: LossDistribution, second: LossDistribution, cut: int, limits: Limits
) -> LossDistribution:
    """Return the composition of two, on one grid.

    Args:
        first: Of the first mechanism.
        second: Of the second, of the same unit and side.
        cut: Most mass that may be cut off at either end, in their unit.
        limits: Asked beforehand.

    Raises:
        LimitReached: If time or memory is used up, or there are too many atoms.
    """
    bits, side = first.bits, first.side
    if (second.bits, second.side) != (bits, side):
        raise BrokenInvariant("loss distributions of different units are composed")
    limits.check()
    limits.check_atoms(first.atoms + second.atoms)
    one, two = first.total, second.total
    infinite = first.infinite * two + (one - first.infinite) * second.infinite
    product = first.values**2 if first is second else first.values * second.values
    if side is Side.ABOVE:
        # Coefficients are >= 0 before they are divided: flint rounds negative ones towards 0.
        product += _almost_units(bits, product.length())
    masses = product // (1 << bits)
    infinite = rounded(infinite, bits, side)
    return loss_distribution(first.start + second.start, masses, infinite, bits, side, cut)


def _almost_units(bits: int, length: int) -> fmpz_poly:
    """2^bits - 1 for so many coefficients."""
    return _many_units(bits, 1 << length.bit_length()).truncate(length)


@lru_cache(maxsize=4)
def _many_units(bits: int, length: int) -> fmpz_poly:
    return fmpz_poly([1] * length) * ((1 << bits) - 1)


def rounded(value: int, bits: int, side: Side) -> int:
    """Return value / 2^bits, rounded away from what is bounded."""
    return -(-value >> bits) if side is Side.ABOVE else value >> bits


def power(one: LossDistribution, times: int, cut: Fraction, limits: Limits) -> LossDistribution:
    """Return the composition of a mechanism with itself, by squaring.

    Args:
        one: A single run.
        times: How many, >= 1.
        cut: Mass of one run's share that may be cut off at either end of every product: of the
            composition of t runs, t times that.
        limits: As for `composed`.
    """
    found, count = one, 1
    for digit in bin(times)[3:]:
        count *= 2
        found = composed(found, found, int(cut * count), limits)
        if digit == "1":
            count += 1
            found = composed(found, one, int(cut * count), limits)
    return found
