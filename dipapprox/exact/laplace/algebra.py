"""The exact function algebra: piecewise exponential polynomials, for Laplace-type laws.

Where the other algebras have panels and errors, functions here live on the whole line and are what
they are: pieces between marks. Every scale s of a law stands for s / ε, so values are functions of
ε. They are computed in coordinates in which rates and marks are integers.

A piece is Σ c η^n e^{qη} u^m e^{bu}: a mapping from packed (q, b, n, m) to the coefficient. The
exponents are integers (below) and share one integer: monomials are multiplied by adding
two numbers. m and n stay below 2^23 and |b| below 2^79, as events with more samples or larger rates
are not begun (`engine`); q is at the top and as large as it likes.

References:
    DiPC, Lemma 18 (Appendix E): the integrals of exponential polynomials.

Units are coordinates in which the rates and the means of Laplace-type laws are integers. A law of
scale s stands for one of scale s / ε. With rates 1 / s = a / R and means k / D over common
denominators put u = (ε / R) x and η = ε / (R D): the density of Laplace noise becomes
a e^{-a|u - kη|} / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import comb, lcm

from flint import fmpq

from dipapprox.data_classes import Record
from dipapprox.errors import BrokenInvariant
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.laws.distribution import Distribution, exponential_sides
from dipapprox.numerics.algebras.piecewise import Ends, Marks, Piecewise, PiecewiseAlgebra, union


class Units(Record):
    """Denominators: all rates are multiples of 1 / `rates`, all points of 1 / `points`."""

    rates: int
    points: int

    @classmethod
    def of(cls, laws: Iterable[Distribution], points: Iterable[Fraction]) -> Units:
        """The least units that fit some laws and constants."""
        laws = tuple(laws)
        rates = lcm(*(law.scale.numerator for law in laws))
        marks = lcm(*(law.mean.denominator for law in laws), *(p.denominator for p in points))
        return cls(rates, marks)

    def __or__(self, other: Units) -> Units:
        return Units(lcm(self.rates, other.rates), lcm(self.points, other.points))

    @property
    def step(self) -> int:
        """R D: ε = step * η."""
        return self.rates * self.points

    def fit(self, laws: Iterable[Distribution], samples: int) -> bool:
        """Whether the exponents of events of so many samples stay in the range of monomials."""
        fastest = max(map(self.rate, laws), default=1)
        return samples < MOST_SAMPLES and samples * fastest < LARGEST_RATE

    def rate(self, law: Distribution) -> int:
        """The rate of a law, in units; ValueError if it is no multiple."""
        return _multiple(law.scale.denominator, law.scale.numerator, self.rates)

    def mark(self, point: Fraction) -> int:
        """A point, in units; ValueError if it is no multiple."""
        return _multiple(point.numerator, point.denominator, self.points)


def _multiple(numerator: int, denominator: int, unit: int) -> int:
    """numerator / denominator as a multiple of 1 / unit."""
    factor, rest = divmod(unit, denominator)
    if rest:
        raise ValueError(f"{numerator}/{denominator} is no multiple of 1/{unit}")
    return numerator * factor


Piece = dict[int, fmpq]  # packed monomial -> coefficient != 0; empty for the zero function
_POWER_BITS = 24
_RATE_BITS = 80
_POWER_MASK = (1 << _POWER_BITS) - 1
_RATE_SHIFT = 2 * _POWER_BITS
_RATE_MASK = (1 << _RATE_BITS) - 1
_RATE_HALF = 1 << (_RATE_BITS - 1)
_EXPONENT_SHIFT = _RATE_SHIFT + _RATE_BITS
MOST_SAMPLES = 1 << (_POWER_BITS - 1)
"""Every integration raises a power by one: no event may have more samples."""

LARGEST_RATE = _RATE_HALF  # the rates of an event's samples add up to less than this


def monomial(q: int, b: int, n: int = 0, m: int = 0) -> int:
    """Pack η^n e^{qη} u^m e^{bu}."""
    return (q << _EXPONENT_SHIFT) + (b << _RATE_SHIFT) + (n << _POWER_BITS) + m


def exponents(packed: int) -> tuple[int, int, int, int]:
    """Unpack into (q, b, n, m)."""
    m = packed & _POWER_MASK
    n = (packed >> _POWER_BITS) & _POWER_MASK
    rest = packed >> _RATE_SHIFT
    b = ((rest + _RATE_HALF) & _RATE_MASK) - _RATE_HALF
    return (rest - b) >> _RATE_BITS, b, n, m


def product(left: Piece, right: Piece) -> Piece:
    if len(left) > len(right):
        left, right = right, left
    total: Piece = {}
    for first, c in left.items():
        for second, d in right.items():
            both = first + second
            known = total.get(both)
            total[both] = c * d if known is None else known + c * d
    return {packed: c for packed, c in total.items() if c}


def combined(terms: Iterable[tuple[int, Piece]]) -> Piece:
    return _added((packed, weight * c) for weight, piece in terms for packed, c in piece.items())


def _added(terms: Iterable[tuple[int, fmpq]]) -> Piece:
    total: Piece = {}
    for packed, c in terms:
        known = total.get(packed)
        total[packed] = c if known is None else known + c
    return {packed: c for packed, c in total.items() if c}


def antiderivative(piece: Piece) -> Piece:
    """A function whose derivative in u is the piece; without a constant term in u.

    ∫ u^m du = u^{m+1} / (m+1), and for b != 0 the coefficients of e^{bu} Σ A_m u^m follow from
    those of the integrand, c_m = b A_m + (m+1) A_{m+1}, highest power first.
    """
    total: Piece = {}
    grouped: dict[int, dict[int, fmpq]] = {}
    for packed, c in piece.items():
        m = packed & _POWER_MASK
        grouped.setdefault(packed - m, {})[m] = c
    for base, coefficients in grouped.items():
        b = exponents(base)[1]
        if not b:
            for m, c in coefficients.items():
                total[base + m + 1] = c / (m + 1)
            continue
        above = _ZERO
        for m in range(max(coefficients), -1, -1):
            above = (coefficients.get(m, _ZERO) - (m + 1) * above) / b
            if above:
                total[base + m] = above
    return total


def by_difference(piece: Piece) -> list[tuple[Piece, Piece]]:
    """Write piece(t - r) as a sum of products of functions of t and of r.

    e^{b (t - r)} (t - r)^m = Σ_i binomial(m, i) t^{m-i} e^{bt} · (-r)^i e^{-br}.
    """
    parts: dict[tuple[int, int], Piece] = {}
    for packed, c in piece.items():
        q, b, n, m = exponents(packed)
        for i in range(m + 1):
            there = monomial(q, b, n, m - i)
            part = parts.setdefault((b, i), {})
            part[there] = part.get(there, _ZERO) + c * comb(m, i) * (-1) ** i
    return [(part, {monomial(0, -b, 0, i): _ONE}) for (b, i), part in parts.items()]


def at_mark(piece: Piece, mark: int) -> Piece:
    """The value at u = mark * η, a function of η alone."""
    terms = ((exponents(packed), c) for packed, c in piece.items())
    return _added((monomial(q + b * mark, 0, n + m), c * mark**m) for (q, b, n, m), c in terms)


def moved(piece: Piece, mark: int) -> Piece:
    """u -> piece(u + kη), k = `mark`.

    (u + kη)^m e^{b(u + kη)} is Σ C(m, j) k^{m-j} η^{m-j} e^{bkη} u^j e^{bu}.
    """
    terms = ((exponents(packed), c) for packed, c in piece.items())
    return _added(
        (monomial(q + b * mark, b, n + m - j, j), c * (comb(m, j) * mark ** (m - j)))
        for (q, b, n, m), c in terms
        for j in range(m + 1)
    )


def at_infinity(piece: Piece, sign: int) -> Piece:
    """The limit of an antiderivative of an integrable function: 0, or BrokenInvariant."""
    if not all(sign * exponents(packed)[1] < 0 for packed in piece):
        raise BrokenInvariant("an integral that must be at most 1 does not converge")
    return {}


_ZERO, _ONE = fmpq(0), fmpq(1)


def as_function(piece: Piece, unit: int) -> ExponentialPolynomial:
    """A piece without u, as a function of ε = unit * η; BrokenInvariant if it is no probability."""
    terms = {}
    for packed, c in piece.items():
        q, b, n, m = exponents(packed)
        if b or m or q > 0 or (n and not q):
            raise BrokenInvariant("a probability is not a bounded function of eps")
        terms[n, Fraction(q, unit)] = Fraction(int(c.p), int(c.q) * unit**n)
    return ExponentialPolynomial.of(terms)


Function = Piecewise[Piece]  # of u, with marks in η


class TooManyTerms(Exception):
    """A product has more terms than there is time and memory for."""


_MOST_TERMS = 4_000_000  # most pairs of terms that one product may multiply: a few seconds' work


class ExactAlgebra(PiecewiseAlgebra[Piece, Piece, ExponentialPolynomial]):
    """The algebra in some units: nothing is lost. `produced` counts the terms of its functions."""

    __slots__ = ("produced", "units")

    def __init__(self, units: Units) -> None:
        super().__init__({}, {})
        self.units = units
        self.produced = 0

    def mark(self, point: Fraction) -> int:
        return self.units.mark(point)

    def convolution(self, left: Function, right: Function, check: Callable[[], None]) -> Function:
        """t -> ∫ left(r) right(t - r) dr; TooManyTerms if the functions are too long.

        A piece of `right` between two marks wants t - r between them: as a sum of functions of t
        times functions of r, it gives differences of antiderivatives of the latter with `left`.
        """
        parts: list[tuple[int, Function]] = []
        for k, piece in enumerate(right.pieces):
            above = right.marks[k] if k < len(right.marks) else None
            below = right.marks[k - 1] if k else None
            for of_sum, of_part in by_difference(piece):
                check()
                weighted = self.product(left, Piecewise((), (of_part,)))
                if above is None or below is None:
                    primitive = self._integrate(weighted, from_left=above is None)
                    ends = [(1, below if above is None else above)]
                else:
                    primitive = self._primitive(weighted)
                    ends = [(1, below), (-1, above)]
                for sign, end in ends:
                    assert end is not None
                    moved = self.shifted(primitive, -end)
                    parts.append((sign, self.product(moved, Piecewise((), (of_sum,)))))
        return self._sum(parts)

    def plus_sample(
        self, function: Function, law: Distribution, check: Callable[[], None]
    ) -> Function:
        return self.convolution(function, self.density(law), check)

    def _sum(self, parts: Sequence[tuple[int, Function]]) -> Function:
        marks: Marks = ()
        for _, part in parts:
            marks = union(marks, part.marks)
        columns = zip(
            *([piece for piece, _, _ in part.on(marks)] for _, part in parts), strict=True
        )
        signs = [sign for sign, _ in parts]
        found = [combined(zip(signs, column, strict=True)) for column in columns]
        return self._made(marks, found or [{}])

    def _primitive(self, function: Function) -> Function:
        """A continuous antiderivative."""
        marks, found = function.marks, [antiderivative(function.pieces[0])]
        for mark, piece in zip(marks, function.pieces[1:], strict=True):
            primitive = antiderivative(piece)
            before, here = at_mark(found[-1], mark), at_mark(primitive, mark)
            found.append(combined([(1, primitive), (1, before), (-1, here)]))
        return self._made(marks, found)

    # --- pieces -------------------------------------------------------------------------------

    def _is_nothing(self, piece: Piece) -> bool:
        return not piece

    def _times(self, pairs: Sequence[tuple[Piece, Piece]]) -> list[Piece]:
        """Raises TooManyTerms if the factors are too long."""
        if sum(len(f) * len(g) for f, g in pairs) > _MOST_TERMS:
            raise TooManyTerms
        return [product(f, g) for f, g in pairs]

    def _minus(self, upper: Piece, lower: Piece) -> Piece:
        return combined([(1, upper), (-1, lower)])

    def _part(self, piece: Piece, ends: Ends, part: Ends) -> Piece:
        return piece

    def _moved(self, piece: Piece, by: int) -> Piece:
        return moved(piece, by)

    def _density(self, law: Distribution) -> Function:
        a, mark = self.units.rate(law), self.units.mark(law.mean)
        rising, falling = monomial(-a * mark, a), monomial(a * mark, -a)
        sides = exponential_sides(law)
        left, right = (
            {monomial: fmpq(a, len(sides))} if side in sides else {}
            for side, monomial in ((-1, rising), (1, falling))
        )
        return Piecewise((mark,), (left, right))

    def _integral(
        self, piece: Piece, ends: Ends, before: Piece, from_left: bool
    ) -> tuple[Piece, Piece]:
        """Add to the antiderivative what makes it continuous, and 0 at the end."""
        sign = 1 if from_left else -1
        start, end = ends if from_left else ends[::-1]
        primitive = antiderivative(piece)
        at_start = at_infinity(primitive, -sign) if start is None else at_mark(primitive, start)
        constant = combined([(1, before), (-sign, at_start)])
        found = combined([(sign, primitive), (1, constant)])
        return found, {} if end is None else at_mark(found, end)

    def _made(self, marks: Marks, pieces: Sequence[Piece]) -> Function:
        self.produced += sum(map(len, pieces))
        return super()._made(marks, pieces)

    def _total(self, function: Function) -> ExponentialPolynomial:
        """Σ over the pieces of the differences of antiderivatives."""
        found: list[tuple[int, Piece]] = []
        for piece, (low, high) in zip(function.pieces, function.ends, strict=True):
            primitive = antiderivative(piece)
            for sign, place in ((1, high), (-1, low)):
                if place is None:
                    found.append((sign, at_infinity(primitive, sign)))
                else:
                    found.append((sign, at_mark(primitive, place)))
        return as_function(combined(found), self.units.step)
