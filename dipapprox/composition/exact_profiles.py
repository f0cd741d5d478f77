"""Compositions of few losses: the exact least δ, for every ε.

With P mass p_k and Q mass p_k / a_k at the losses ln a_k, between two losses

    H(e^ε) = Σ p_k + p_∞ - e^ε Σ p_k / a_k = A - e^ε B,     over the losses > ε:

one line in e^ε. It falls to δ where A - α B = δ, on one of the lines: the least ε is ln of that α.
Losses, and so A and B, are of one of two kinds.

Rational outcomes. The a_k are rational numbers, the ratios P / Q of the products, and so are A and
B. At rational ε > 0 no ratio is e^ε, which is irrational: balls tell the two apart at some
precision, and A - e^ε B from another such number, unless they are the same.

Discrete Laplace noise. With b = e^-u, u > 0 a rational number, let every scale be 1/(n u) for a
whole number n. One run of sensitivity Δ has P mass c b^(n x) / (1 + b^n) at the loss (Δ - 2x) n u,
0 <= x <= Δ, with c = 1 at both ends and 1 - b^n between. So losses of a composition are k u for
|k| <= W, the sum of all n Δ, their P masses p_k are polynomials in b, of whole coefficients, over
the product D of all 1 + b^n, and Q masses are p_k b^k. The pair is its own reversal. Products are
exact: one number k is a power of b that no coefficient reaches, as polynomials in b have degrees
<= W.

H is 0 there from the greatest loss on, and no rational number before. For let ε = s u, s < W
rational. If H = δ is rational, then H D - δ D, a sum of rational multiples of different powers of
e, is 0, and all its coefficients are (Lindemann), which depend on s but not on u. So H would be δ
for every u; but it goes to 1 for large u (all of P is at k = W, and e^(ε - W u) vanishes), and to 0
for small u, where all losses do. Hence balls tell H from every other δ that is claimed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from math import prod

from flint import arb, arb_poly, fmpz_poly

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import precision, sign_beside_exponential, to_ball, to_enclosure
from dipapprox.composition.accountant import Composition
from dipapprox.composition.catalogue import is_symmetric, rational_pairs
from dipapprox.composition.losses import raised
from dipapprox.composition.mechanisms import DiscreteLaplace
from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import check_atoms, check_limits
from dipapprox.linear.form import content

_ZERO, _ONE = Fraction(0), Fraction(1)
_BITS = 64
_MOST_STEPS = 512  # of the greatest loss of noise, in units of u
_MOST_STEPS_OF_PIECES = 64  # the pieces of a profile are that many polynomials of that degree


class Powers(Record):
    """A sum of powers e^(-k unit), with whole coefficients."""

    unit: Fraction  # > 0
    coefficients: tuple[int, ...]  # of k = 0, 1, …; the last one is not 0

    def __str__(self) -> str:
        text = ""
        for k, coefficient in enumerate(self.coefficients):
            if coefficient:
                sign = "-" if coefficient < 0 else "+" if text else ""
                space = " " if text else ""
                text += f"{space}{sign}{space}{self._term(k, abs(coefficient))}"
        return text

    def _term(self, k: int, size: int) -> str:
        if not k:
            return str(size)
        power = f"exp({exact_text(-k * self.unit)})"
        return power if size == 1 else f"{size} * {power}"


Number = Fraction | Powers


def _text(number: Number) -> str:
    return exact_text(number) if isinstance(number, Fraction) else f"({number})"


def _ball(number: Number) -> arb:
    if isinstance(number, Fraction):
        return to_ball(number)
    return arb_poly(list(number.coefficients))(to_ball(-number.unit).exp())


class LossPlace(Record):
    """factor e^loss, a place that e^ε may have: one of the two numbers says nothing."""

    factor: Fraction = _ONE
    loss: Fraction = _ZERO

    def __str__(self) -> str:
        return f"exp({exact_text(self.loss)})" if self.loss else exact_text(self.factor)


class ProfileLine(Record):
    """(constant - factor e^ε) / divisors, exactly."""

    constant: Number  # a >= 0
    factor: Number  # B >= 0
    divisors: tuple[tuple[Powers, int], ...] = ()  # (Sum, how often it is a factor), …

    def __str__(self) -> str:
        text = _text(self.constant) if self.rational else str(self.constant)
        if self.factor:
            text += f" - {_text(self.factor)} * exp(eps_prv)"
        return f"({text}) / ({self.below()})" if self.divisors else text

    @property
    def rational(self) -> tuple[Fraction, Fraction] | None:
        """A and B, if they are rational numbers and all there is."""
        if isinstance(self.constant, Fraction) and isinstance(self.factor, Fraction):
            return self.constant, self.factor
        return None

    def below(self) -> str:
        """Write the product of the divisors."""
        return " * ".join(f"({each})^{times}" for each, times in self.divisors)

    def divisor(self) -> arb:
        """Enclose the product of the divisors, at the current precision."""
        return prod((_ball(each) ** times for each, times in self.divisors), start=arb(1))

    def enclosed(self, budget: Fraction, bits: int) -> Enclosure:
        """Enclose it at an ε >= 0; exactly, if that is a rational number."""
        if self.rational is not None and not (budget and self.factor):
            constant, factor = self.rational
            return Enclosure.exact(constant - factor)
        with precision(bits):
            value = _ball(self.constant) - _ball(self.factor) * to_ball(budget).exp()
            found = to_enclosure(value / self.divisor())
        return UNIT if isinstance(found, NotEnclosed) else UNIT.intersect(found)

    def exceeds(self, place: LossPlace, delta: Fraction) -> bool:
        """Whether it is above a number in (0, 1) where e^ε is at a place."""
        if self.rational is not None and not place.loss:
            constant, factor = self.rational
            return constant - place.factor * factor > delta
        bits = _BITS
        while True:  # ends: it is no rational number but 0
            found = self.enclosed(place.loss, bits)
            if found.lower > delta or found.upper <= delta:
                return found.lower > delta
            bits *= 2


class LeastBudget(Record):
    """An ε >= 0, exactly: where a line falls to δ; None: 0."""

    line: ProfileLine | None
    delta: Fraction

    @property
    def factor(self) -> Fraction | None:
        """e^ε, if that is rational for certain."""
        if self.line is None:
            return _ONE
        if self.line.rational is None:
            return None
        constant, factor = self.line.rational
        return (constant - self.delta) / factor

    def __str__(self) -> str:
        if self.line is None:
            return "0"
        if self.factor is not None:
            return f"log({exact_text(self.factor)})"
        above = f"{self.line.constant} - {exact_text(self.delta)} * {self.line.below()}"
        return f"log(({above}) / {_text(self.line.factor)})"

    def enclosed(self, bits: int) -> Enclosure:
        """Enclose it, at so many bits."""
        if self.line is None:
            return Enclosure.exact(0)
        while True:  # ends: it is a positive number
            with precision(bits):
                above = _ball(self.line.constant) - to_ball(self.delta) * self.line.divisor()
                quotient = above / _ball(self.line.factor)
                found = to_enclosure((_ball(self.factor) if self.factor else quotient).log())
            if not isinstance(found, NotEnclosed):
                return found.positive()
            bits *= 2


class ProfilePiece(Record):
    """The least δ where e^ε is below a place, if any, and not below that of the piece before."""

    below: LossPlace | None
    line: ProfileLine


class PositiveLosses(Record):
    """The losses > 0 of a composition."""

    places: tuple[LossPlace, ...]  # e^loss, descending
    # H up to the next loss if so many, the greatest ones, are greater than ε.
    line: Callable[[int], ProfileLine]
    few: bool = True  # whether all lines may be listed

    def line_at(self, budget: Fraction) -> ProfileLine:
        """Return the line that is H at an ε >= 0."""
        return self.line(
            sum(sign_beside_exponential(e.factor, _ONE, budget - e.loss) > 0 for e in self.places)
        )

    def budget(self, delta: Fraction) -> LeastBudget | None:
        """Return the least ε >= 0 where H is at most δ; None if there is none."""
        places = [*self.places, LossPlace()]
        numbers = range(len(places))
        first = bisect_left(numbers, True, key=lambda k: self.line(k).exceeds(places[k], delta))
        if not first:
            return None
        # H falls to δ between this loss and the next greater one.
        return LeastBudget(self.line(first) if first < len(places) else None, delta)


class ExactProfile(Record):
    """The least δ of a composition."""

    # The greater H is the profile: of two loss distributions of rational outcomes, or of one.
    directions: tuple[PositiveLosses, ...]

    def budget(self, delta: Fraction) -> LeastBudget | None:
        """Return the least ε >= 0 with a least δ of at most `delta`, in (0, 1); None if none is."""
        found = [each.budget(delta) for each in self.directions]
        finite = [each for each in found if each is not None]
        if len(finite) < len(found):
            return None
        return max(finite, key=lambda each: each.factor or _ONE)

    def line(self, budget: Fraction) -> ProfileLine:
        """Return the line that is the least δ at an ε >= 0."""
        greatest, *others = (each.line_at(budget) for each in self.directions)
        for line in others:
            if line.rational is None or greatest.rational is None:
                raise BrokenInvariant("noise is its own reversal")
            (constant, factor), (known, falling) = line.rational, greatest.rational
            if sign_beside_exponential(constant - known, factor - falling, budget) > 0:
                greatest = line
        return greatest

    def pieces(self) -> tuple[ProfilePiece, ...] | None:
        """Return the profile for all ε >= 0, ascending; None if it is long, or one of two."""
        own = self.directions[0]
        if len(self.directions) > 1 or not own.few:
            return None
        ends = (*reversed(own.places), None)
        return tuple(ProfilePiece(end, own.line(len(ends) - 1 - k)) for k, end in enumerate(ends))


def exact_profile(composition: Composition) -> ExactProfile | None:
    """Return the exact profile of a composition.

    Returns:
        None if the mechanisms are not all discrete Laplace noise, of not too many different losses,
        nor all of finitely many, exact and rational outcomes.
    """
    noise = _of_noise(composition)
    if noise is not None:
        return ExactProfile((noise,))
    known = (rational_pairs(run.mechanism) for run in composition.runs)
    pairs = [own for own in known if own is not None]
    if len(pairs) < len(composition.runs):
        return None
    symmetric = all(is_symmetric(run.mechanism) for run in composition.runs)
    found = []
    for turned in (False,) if symmetric else (False, True):
        total = _Ratios({_ONE: _ONE}, _ZERO)
        for masses, run in zip(pairs, composition.runs, strict=True):
            one = _ratios([(q, p) for p, q in masses] if turned else masses)
            own = raised(one, run.times, partial(_Ratios.times))
            total = total.times(own)
        found.append(total.losses())
    return ExactProfile(tuple(found))


class _Ratios(Record):
    """An exact loss distribution: P mass by the ratio P / Q, and where Q has none."""

    masses: dict[Fraction, Fraction]
    infinite: Fraction

    def losses(self) -> PositiveLosses:
        ratios = sorted((each for each in self.masses if each > 1), reverse=True)
        constants = accumulate((self.masses[each] for each in ratios), initial=self.infinite)
        factors = accumulate((self.masses[each] / each for each in ratios), initial=_ZERO)
        lines = list(map(ProfileLine, constants, factors))
        return PositiveLosses(tuple(map(LossPlace, ratios)), lines.__getitem__)

    def times(self, other: _Ratios) -> _Ratios:
        found: dict[Fraction, Fraction] = {}
        for ratio, mass in self.masses.items():
            check_limits()
            check_atoms(len(found))
            for factor, share in other.masses.items():
                product = ratio * factor
                found[product] = found.get(product, _ZERO) + mass * share
        infinite = self.infinite + other.infinite - self.infinite * other.infinite
        return _Ratios(found, infinite)


def _ratios(pairs: Sequence[tuple[Fraction, Fraction]]) -> _Ratios:
    masses: dict[Fraction, Fraction] = {}
    infinite = _ZERO
    for p, q in pairs:
        if not q:
            infinite += p
        elif p:
            masses[p / q] = masses.get(p / q, _ZERO) + p
    return _Ratios(masses, infinite)


def _of_noise(composition: Composition) -> PositiveLosses | None:
    """The losses of discrete Laplace noise; None if there is anything else, or too many of them."""
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
        check_limits()
        product *= _one_run(sensitivity, n, most + 1) ** times
        divisors[n] += times
    coefficients = product.coeffs()
    places, sums = [], [(fmpz_poly([]), fmpz_poly([]))]
    for x in range((most + 1) // 2):
        mass = fmpz_poly(coefficients[(most + 1) * x : (most + 1) * (x + 1)])
        if mass:
            k, (constant, factor) = most - 2 * x, sums[-1]
            places.append(LossPlace(loss=k * unit))
            sums.append((constant + mass, factor + mass.left_shift(k)))
    below = tuple(
        (Powers(unit, (1, *[0] * (n - 1), 1)), times) for n, times in sorted(divisors.items())
    )

    def line(number: int) -> ProfileLine:
        if not number:
            return ProfileLine(_ZERO, _ZERO)
        constant, factor = (Powers(unit, tuple(map(int, p.coeffs()))) for p in sums[number])
        return ProfileLine(constant, factor, below)

    return PositiveLosses(tuple(places), line, most <= _MOST_STEPS_OF_PIECES)


def _one_run(sensitivity: int, n: int, size: int) -> fmpz_poly:
    """The masses of one run times 1 + b^n: loss (Δ - 2x) n at b^(size n x)."""
    coefficients = [0] * ((size + 1) * n * sensitivity + 1)
    for x in range(sensitivity + 1):
        place = (size + 1) * n * x
        coefficients[place] += 1
        if 0 < x < sensitivity:
            coefficients[place + n] -= 1
    return fmpz_poly(coefficients)
