"""Compositions of discrete Laplace noise: the exact least δ, for every ε.

With b = e^-u, u > 0 a rational number, let every scale be 1/(n u) for a whole number n. One run of
sensitivity Δ has P mass c b^(n x) / (1 + b^n) at the loss (Δ - 2x) n u, 0 <= x <= Δ, with c = 1 at
both ends and 1 - b^n between. So losses of a composition are k u for |k| <= W, the sum of all n Δ,
their P masses p_k are polynomials in b, of whole coefficients, over the product D of all 1 + b^n,
and Q masses are p_k b^k:

    H(e^ε) = Σ_(k u > ε) p_k - e^ε Σ_(k u > ε) p_k b^k,

one formula for every ε between two losses. The pair is its own reversal. Products are exact: one
number k is a power of b that no coefficient reaches, as polynomials in b have degrees <= W.

H is 0 from the greatest loss on, and no rational number before. For let ε = s u, s < W rational.
If H = δ is rational, then H D - δ D, a sum of rational multiples of different powers of e, is 0,
and all its coefficients are (Lindemann), which depend on s but not on u. So H would be δ for every
u; but it goes to 1 for large u (all of P is at k = W, and e^(ε - W u) vanishes), and to 0 for
small u, where all losses do. Hence balls tell H from every other δ that is claimed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from fractions import Fraction

from flint import arb, arb_poly, fmpz_poly

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, to_ball, to_enclosure
from dipapprox.composition.accountant import Composition
from dipapprox.composition.mechanisms import DiscreteLaplace
from dipapprox.data_classes import dataclass
from dipapprox.digits import exact_text
from dipapprox.limits import Limits
from dipapprox.linear.form import content

_MOST_STEPS = 512
"""Of the greatest loss, in units of u."""

_BITS = 64
_MOST_STEPS_OF_PIECES = 64
"""The pieces of a profile are that many polynomials of that degree."""


@dataclass(frozen=True, slots=True)
class Powers:
    """A sum of powers e^(-k unit), with whole coefficients.

    Attributes:
        unit: > 0.
        coefficients: Of k = 0, 1, …; the last one is not 0.
    """

    unit: Fraction
    coefficients: tuple[int, ...]

    def __str__(self) -> str:
        text = ""
        for k, coefficient in enumerate(self.coefficients):
            if coefficient:
                sign = "-" if coefficient < 0 else "+" if text else ""
                space = " " if text else ""
                text += f"{space}{sign}{space}{self._term(k, abs(coefficient))}"
        return text or "0"

    def _term(self, k: int, size: int) -> str:
        if not k:
            return str(size)
        power = f"exp({exact_text(-k * self.unit)})"
        return power if size == 1 else f"{size} * {power}"

    def ball(self) -> arb:
        """Enclose the value, at the current precision."""
        return arb_poly(list(self.coefficients))(to_ball(-self.unit).exp())


@dataclass(frozen=True, slots=True)
class GeometricLine:
    """(constant - factor e^ε) / divisors, exactly.

    Attributes:
        constant: >= 0.
        factor: >= 0.
        divisors: (Sum, how often it is a factor), …
    """

    constant: Powers
    factor: Powers
    divisors: tuple[tuple[Powers, int], ...]

    def __str__(self) -> str:
        if not self.constant.coefficients:
            return "0"
        below = " * ".join(f"({each})^{times}" for each, times in self.divisors)
        return f"({self.constant} - ({self.factor}) * exp(eps_prv)) / ({below})"

    def enclosed(self, budget: Fraction, bits: int) -> Enclosure:
        """Enclose it at an ε >= 0; exactly, if that is 0 for every ε."""
        if not self.constant.coefficients:
            return Enclosure.exact(0)
        with precision(bits):
            value = self.constant.ball() - to_ball(budget).exp() * self.factor.ball()
            for each, times in self.divisors:
                value /= each.ball() ** times
            found = to_enclosure(value)
        return UNIT if isinstance(found, NotEnclosed) else UNIT.intersect(found)


@dataclass(frozen=True, slots=True)
class GeometricBudget:
    """An ε >= 0, exactly: where a line falls to δ; None: 0."""

    line: GeometricLine | None
    delta: Fraction

    def __str__(self) -> str:
        if self.line is None:
            return "0"
        below = " * ".join(f"({each})^{times}" for each, times in self.line.divisors)
        above = f"{self.line.constant} - {exact_text(self.delta)} * {below}"
        return f"log(({above}) / ({self.line.factor}))"

    def enclosed(self, bits: int) -> Enclosure:
        """Enclose it, at so many bits."""
        if self.line is None:
            return Enclosure.exact(0)
        while True:  # ends: it is a positive number
            with precision(bits):
                divisor = arb(1)
                for each, times in self.line.divisors:
                    divisor *= each.ball() ** times
                above = self.line.constant.ball() - to_ball(self.delta) * divisor
                found = to_enclosure((above / self.line.factor.ball()).log())
            if not isinstance(found, NotEnclosed):
                return Enclosure(max(found.lower, Fraction(0)), found.upper)
            bits *= 2


@dataclass(frozen=True, slots=True)
class GeometricPiece:
    """The least δ where ε is less than `below`, and at least what the piece before it is below.

    Attributes:
        below: A loss; None for all further ε.
        line: δ there.
    """

    below: Fraction | None
    line: GeometricLine

    @property
    def end(self) -> str | None:
        """What e^ε is below."""
        return None if self.below is None else f"exp({exact_text(self.below)})"


@dataclass(frozen=True, slots=True)
class GeometricProfile:
    """The least δ of a composition.

    Attributes:
        unit: u.
        masses: (k, the coefficients of D p_k in powers of b) for k > 0, descending.
        divisors: The factors of D, and how often.
    """

    unit: Fraction
    masses: tuple[tuple[int, fmpz_poly], ...]
    divisors: tuple[tuple[Powers, int], ...]

    def line(self, budget: Fraction) -> GeometricLine:
        """Return what is the least δ from an ε >= 0 on to the next loss."""
        constant = factor = fmpz_poly([])
        for k, mass in self.masses:
            if k * self.unit <= budget:
                break
            constant += mass
            factor += mass.left_shift(k)
        return GeometricLine(self._powers(constant), self._powers(factor), self.divisors)

    def budget(self, delta: Fraction) -> GeometricBudget:
        """Return the least ε >= 0 with a least δ of at most `delta`, 0 < delta < 1."""
        places = [*(k for k, _ in self.masses), 0]
        first = bisect_left(places, True, key=lambda k: self._exceeds(k, delta))
        # H falls to delta between this loss and the next greater one.
        found = first < len(places)
        return GeometricBudget(self.line(places[first] * self.unit) if found else None, delta)

    def _exceeds(self, k: int, delta: Fraction) -> bool:
        """Whether H is above δ at a loss: before the greatest one it is no rational number."""
        line, bits = self.line(k * self.unit), _BITS
        while True:
            found = line.enclosed(k * self.unit, bits)
            if found.lower > delta or found.upper <= delta:
                return found.lower > delta
            bits *= 2

    def pieces(self) -> tuple[GeometricPiece, ...] | None:
        """Return the profile for all ε >= 0, ascending; None if that is long."""
        if self.masses[0][0] > _MOST_STEPS_OF_PIECES:
            return None
        ends = [k * self.unit for k, _ in reversed(self.masses)]
        lines = [self.line(start) for start in (Fraction(0), *ends)]
        return tuple(map(GeometricPiece, [*ends, None], lines))

    def _powers(self, polynomial: fmpz_poly) -> Powers:
        return Powers(self.unit, tuple(map(int, polynomial.coeffs())))


def geometric_profile(composition: Composition, limits: Limits) -> GeometricProfile | None:
    """Return the exact profile of a composition of discrete Laplace noise.

    Args:
        composition: Of mechanisms.
        limits: The time.

    Returns:
        None if there is any other mechanism, or too many different losses.

    Raises:
        LimitReached: If the time is over.
    """
    runs = [(run.mechanism, run.times) for run in composition.runs]
    noise = [(each, times) for each, times in runs if isinstance(each, DiscreteLaplace)]
    if len(noise) < len(runs):
        return None
    unit = content(1 / each.scale for each, _ in noise)
    counted = [(each.sensitivity, int(1 / (each.scale * unit)), times) for each, times in noise]
    most = sum(sensitivity * n * times for sensitivity, n, times in counted)
    if most > _MOST_STEPS:
        return None
    product, divisors = fmpz_poly([1]), Counter[int]()
    for sensitivity, n, times in counted:
        limits.check()
        product *= _one_run(sensitivity, n, most + 1) ** times
        divisors[n] += times
    coefficients = product.coeffs()
    masses = []
    for x in range(most // 2 + 1):
        mass = fmpz_poly(coefficients[(most + 1) * x : (most + 1) * (x + 1)])
        if most > 2 * x and mass:
            masses.append((most - 2 * x, mass))
    below = tuple(
        (Powers(unit, (1, *[0] * (n - 1), 1)), times) for n, times in sorted(divisors.items())
    )
    return GeometricProfile(unit, tuple(masses), below)


def _one_run(sensitivity: int, n: int, size: int) -> fmpz_poly:
    """The masses of one run times 1 + b^n: loss (Δ - 2x) n at b^(size n x)."""
    coefficients = [0] * ((size + 1) * n * sensitivity + 1)
    for x in range(sensitivity + 1):
        place = (size + 1) * n * x
        coefficients[place] += 1
        if 0 < x < sensitivity:
            coefficients[place + n] -= 1
    return fmpz_poly(coefficients)
