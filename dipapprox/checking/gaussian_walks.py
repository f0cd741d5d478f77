"""Walks of Gaussian samples in balls: moments of a panel against Taylor series of the next density.

In: a `Walk` of Gaussian samples. Out: an enclosure of its probability. A density is kept, times
half the panels' width w / 2, as in `panels`: f(v) = p(v) + e(v), |e| <= E, for v in [-1, 1]. The
next one at u on a panel whose middle is D away is, summed over the panels of the last,

    ∫ f(v) K(u - v) dv,    K(x) = w / 2 φ_σ(D + w / 2 x) = Σ_j a_j x^j + …,    |x| <= 2,

and Σ_j a_j (u - v)^j has the coefficients Σ_l a_{i+l} (i + l)! / (i! l!) (-1)^l μ_l with the
moments μ_l = ∫ p(v) v^l dv: one product of polynomials, for all panels at once. With |K| <= k and a
remainder |R| <= r over |x| <= 2 (Lagrange, with the coefficients of exp(|a| x + |b| x²) as bounds),
the errors are 2 E k, and r times the integral of |p|. Panels too far apart for the wanted bits add
2 k sup |f| at most.

Panels move with every sample, so that a bound is an end of some panel; outside of the reach of a
sum's own law, known as its variance is, it is dropped, and what is lost widens the upper end.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import ceil, factorial, floor, gcd, isqrt, lcm, sqrt

from flint import arb, arb_mat, arb_poly

from dipapprox.checking.panels import Piece, exponential_coefficients
from dipapprox.checking.values import Stuck
from dipapprox.checking.walks import Beside, Plus, Walk, Within
from dipapprox.data_classes import dataclass, field
from dipapprox.distributions import Distribution, Family
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.precision import give_way, precision, to_ball, to_enclosure

_ZERO, _ONE = arb(0), arb(1)
_MOST_PANELS = 600
_ATTEMPTS = 3
_GUARD_BITS = 60
_MOST_STAGES = 64
"""More only make enclosures wider."""

_Known = dict[tuple[object, ...], tuple[Fraction, list[Piece]]]
"""Where the panels begin after some stages, and the density on them."""

_Kernel = tuple[list[arb], arb, arb]
"""The coefficients a_j j! 2^(-js) of x^(n-j), the rest and the sup over |x| <= 2."""

_Kernels = dict[tuple[int, Fraction, Fraction, Fraction], _Kernel]
"""By bits, width, deviation and distance: inputs and stages share them."""


@dataclass(slots=True, eq=False)
class _Stage:
    """What holds of one sum.

    Attributes:
        law: Of the sample that is added; at first, the start.
        lower: The greatest lower bound.
        upper: The least upper bound.
        beside: What the sum is compared with.
    """

    law: Distribution
    lower: Fraction | None = None
    upper: Fraction | None = None
    beside: list[Beside] = field(default_factory=list)

    def key(self) -> tuple[object, ...]:
        """Everything that holds."""
        return self.law, self.lower, self.upper, tuple(self.beside)


class GaussianWalks:
    """Encloses walks to about 2**-bits; walks that begin alike share what they begin with."""

    def __init__(self, bits: int, limits: Limits) -> None:
        self._bits = bits
        self._limits = limits
        self._known: _Known = {}
        self._kernels: _Kernels = {}

    def enclose(self, walk: Walk) -> Enclosure | NotEnclosed:
        """Enclose the probability of a walk.

        Raises:
            Stuck: If not all samples are Gaussian, some that is compared is bounded, or panels of
                one width do not fit.
            LimitReached: If the limits run out.
        """
        stages = _stages(walk)
        best = UNIT
        for fineness in range(_ATTEMPTS):
            own = self._bits + 8 + _MOST_STAGES.bit_length()
            with precision(own + _GUARD_BITS):
                panels = _Panels(stages, own, fineness, self._kernels, self._limits)
                found = to_enclosure(panels.probability(self._known))
            if isinstance(found, NotEnclosed):
                return found
            best = best.intersect(found.intersect(UNIT))
            if best.width <= Fraction(1, 2**self._bits):
                break
        return best


def _stages(walk: Walk) -> list[_Stage]:
    stages = [_Stage(walk.start)]
    for step in walk.steps:
        now = stages[-1]
        match step:
            case Plus(law):
                stages.append(_Stage(law))
            case Within(lower, upper):
                if lower is not None:
                    now.lower = lower if now.lower is None else max(now.lower, lower)
                if upper is not None:
                    now.upper = upper if now.upper is None else min(now.upper, upper)
            case Beside():
                now.beside.append(step)
    laws = [stage.law for stage in stages]
    laws += [each.sample.law for stage in stages for each in stage.beside]
    if any(law.family is not Family.GAUSSIAN for law in laws):
        raise Stuck("a walk with other than Gaussian samples")
    samples = [each.sample for stage in stages for each in stage.beside]
    if any(sample.lower is not None or sample.upper is not None for sample in samples):
        raise Stuck("a walk compared with a sample that has bounds")
    return stages


class _Panels:
    """The densities of one walk on panels of one width."""

    def __init__(
        self,
        stages: Sequence[_Stage],
        bits: int,
        fineness: int,
        kernels: _Kernels,
        limits: Limits,
    ) -> None:
        self._stages = stages
        self._bits = bits
        self._kernels = kernels
        self._limits = limits
        self._degree = 20 + 2 * bits // 3
        self._far = ceil(sqrt(1.4 * bits) + 1)
        n = self._degree
        # l! is about (n / e)^l within few bits: powers of 2 keep factors of products alike.
        step = max((3 * n // 8).bit_length() - 1, 0)
        self._raised = [arb((-1) ** k * 2 ** (k * step)) / factorial(k) for k in range(n + 1)]
        self._lowered = [arb(2 ** (k * step)) / factorial(k) for k in range(n + 1)]
        self._weights = [arb(factorial(k)) / 2 ** (k * step) for k in range(n + 1)]
        self._integrals = _integrals(n, bits)
        laws = [stage.law for stage in stages]
        laws += [each.sample.law for stage in stages for each in stage.beside]
        self._width = min(law.scale for law in laws) / 2**fineness
        spans = [s.upper - s.lower for s in stages if s.lower is not None and s.upper is not None]
        if spans:
            common = reduce(_common_measure, spans)
            if common <= 0:
                raise Stuck("a walk between bounds that exclude each other")
            self._width = common / ceil(common / self._width)

    def probability(self, known: _Known) -> arb:
        """Enclose the probability; `known` is what other walks have begun with."""
        lost = _ZERO
        mean = variance = Fraction(0)
        origin, pieces = Fraction(0), [Piece(arb_poly([_ZERO]), _ZERO, _ZERO)]
        for place, stage in enumerate(self._stages):
            self._limits.check()
            mean, variance = mean + stage.law.mean, variance + stage.law.scale**2
            reach = self._far * _root_above(variance)
            lost = lost + (-(to_ball(Fraction(self._far)) ** 2) / 2).exp()
            key = (self._width, self._bits, *(each.key() for each in self._stages[: place + 1]))
            if key in known:
                origin, pieces = known[key]
                continue
            start, count = self._range(stage, mean - reach, mean + reach)
            if place:
                pieces = self._added(pieces, stage.law, start - origin, count)
            else:
                pieces = [self._density(stage.law, start + k * self._width) for k in range(count)]
            origin = start
            for each in stage.beside:
                pieces = [
                    self._times(piece, self._share(each, start + k * self._width))
                    for k, piece in enumerate(pieces)
                ]
            known[key] = origin, pieces
        total = sum((_mass(piece.polynomial) for piece in pieces), _ZERO)
        error = sum((2 * piece.error for piece in pieces), _ZERO)
        # What was dropped is missing: at most `lost`.
        half = lost.upper() / 2
        return total + half + arb(0, (error + half).upper())

    def _range(self, stage: _Stage, low: Fraction, high: Fraction) -> tuple[Fraction, int]:
        """Where the first panel begins, and how many there are; bounds are ends of panels."""
        anchor = stage.lower if stage.lower is not None else stage.upper
        anchor = low if anchor is None else anchor
        first, last = floor((low - anchor) / self._width), ceil((high - anchor) / self._width)
        if stage.lower is not None:
            first = max(first, 0)
        if stage.upper is not None:
            last = min(last, int((stage.upper - anchor) / self._width))
        if last - first > _MOST_PANELS:
            raise Stuck("a walk with samples of too different scales for the check's panels")
        return anchor + first * self._width, max(last - first, 0)

    def _density(self, law: Distribution, left: Fraction) -> Piece:
        """φ times half the width on the panel that begins at `left`."""
        middle = left + self._width / 2 - law.mean
        coefficients, remainder, peak = self._series(law.scale, middle, 1)
        return Piece(arb_poly(coefficients), remainder, peak)

    def _series(
        self, scale: Fraction, distance: Fraction, extent: int
    ) -> tuple[list[arb], arb, arb]:
        """Coefficients of w / 2 φ(distance + w / 2 x), the rest and the sup for |x| <= extent."""
        z, k = to_ball(distance / scale), to_ball(self._width / 2 / scale)
        height = k / (2 * arb.pi()).sqrt()
        peak = self._peak(scale, distance, extent)
        factor = height * (-z * z / 2).exp()
        own = exponential_coefficients(-z * k, -k * k / 2, self._degree + 1)
        steepest = (abs(z) + extent * k) * k
        bound = exponential_coefficients(steepest, k * k / 2, self._degree + 2)[-1]
        remainder = (peak * bound * arb(extent) ** (self._degree + 1)).upper()
        return [c * factor for c in own], remainder, peak

    def _peak(self, scale: Fraction, distance: Fraction, extent: int) -> arb:
        """The sup of w / 2 φ(distance + w / 2 x) for |x| <= extent."""
        edge = max(Fraction(0), abs(distance) - extent * self._width / 2) / scale
        height = to_ball(self._width / 2 / scale) / (2 * arb.pi()).sqrt()
        return (height * (-(to_ball(edge) ** 2) / 2).exp()).upper()

    def _share(self, beside: Beside, left: Fraction) -> Piece:
        """The mass of a sample on its side of the sum, on the panel that begins at `left`."""
        law = beside.sample.law
        middle = left + self._width / 2
        coefficients, remainder, _ = self._series(law.scale, middle - law.mean, 1)
        integral = arb_poly(coefficients).integral()
        at_middle = (to_ball((law.mean - middle) / law.scale) / arb(2).sqrt()).erfc() / 2
        polynomial = integral + at_middle
        if not beside.below:
            polynomial = _ONE - polynomial
        return Piece(polynomial, remainder, _ONE)

    def _times(self, f: Piece, g: Piece) -> Piece:
        error = f.size * g.error + g.size * f.error + f.error * g.error
        return self._cut(f.polynomial * g.polynomial, error, f.size * g.size)

    def _cut(self, polynomial: arb_poly, error: arb, size: arb) -> Piece:
        for c in polynomial.coeffs()[self._degree + 1 :]:
            error = error + abs(c)
        return Piece(polynomial.truncate(self._degree + 1), error.upper(), size.upper())

    def _added(
        self, pieces: Sequence[Piece], law: Distribution, shift: Fraction, count: int
    ) -> list[Piece]:
        """The density of the sum with a sample, on panels that begin `shift` further right."""
        n, size = self._degree, len(pieces)
        # Differences of panels at which K is worth a series: all |x| <= 2 elsewhere are far away.
        far = (self._far + 1) * law.scale + self._width
        nearest = max(ceil((law.mean - shift - far) / self._width), 1 - size)
        furthest = min(floor((law.mean - shift + far) / self._width), count - 1)
        kernels = [
            self._kernel(law.scale, shift + place * self._width - law.mean)
            for place in range(nearest, furthest + 1)
        ]
        self._limits.check()
        give_way()
        # One product for all panels: every series has as many places as a product of two needs.
        places = 2 * n + 1
        series = _packed([series for series, _, _ in kernels], places) * _packed(
            self._moments(pieces), places
        )
        masses = arb_poly([(2 * piece.size).upper() for piece in pieces])
        errors = arb_poly([(2 * piece.error).upper() for piece in pieces])
        peaks = arb_poly([peak for _, _, peak in kernels])
        rests = arb_poly([rest for _, rest, _ in kernels])
        largest, missed = masses * peaks, errors * peaks + (masses + errors) * rests
        outside = masses(_ONE) * self._peak(law.scale, far, 2)
        found = []
        for target in range(count):
            place = target - nearest
            if not 0 <= place < size + len(kernels) - 1:
                found.append(Piece(arb_poly([_ZERO]), outside.upper(), outside.upper()))
                continue
            coefficients = [
                series[place * places + n - i] * factor for i, factor in enumerate(self._lowered)
            ]
            error, sup = missed[place] + outside, largest[place] + outside
            found.append(Piece(arb_poly(coefficients), error.upper(), sup.upper()))
        return found

    def _moments(self, pieces: Sequence[Piece]) -> list[list[arb]]:
        """(-1)^l μ_l / l! 2^(ls) of every piece, for all l."""
        n = self._degree
        values = [piece.polynomial.coeffs() for piece in pieces]
        columns = arb_mat([each + [_ZERO] * (n + 1 - len(each)) for each in values])
        found = columns * self._integrals
        return [
            [found[k, m] * factor for m, factor in enumerate(self._raised)]
            for k in range(len(pieces))
        ]

    def _kernel(self, scale: Fraction, distance: Fraction) -> _Kernel:
        key = self._bits, self._width, scale, distance
        if key not in self._kernels:
            coefficients, remainder, peak = self._series(scale, distance, 2)
            weighted = [c * factor for c, factor in zip(coefficients, self._weights, strict=True)]
            self._kernels[key] = weighted[::-1], remainder, peak
        return self._kernels[key]


@lru_cache(maxsize=8)
def _integrals(degree: int, bits: int) -> arb_mat:
    """∫ v^(k+m) dv over [-1, 1] at the working precision that belongs to `bits`."""
    size = range(degree + 1)
    with precision(bits + _GUARD_BITS):
        return arb_mat(
            [[_ZERO if (k + m) % 2 else arb(2) / (k + m + 1) for m in size] for k in size]
        )


def _packed(series: Sequence[Sequence[arb]], places: int) -> arb_poly:
    """Series one after the other, each with so many places."""
    found: list[arb] = []
    for each in series:
        found += each
        found += [_ZERO] * (places - len(each))
    return arb_poly(found)


def _mass(polynomial: arb_poly) -> arb:
    """∫ p(v) dv over [-1, 1]."""
    integral = polynomial.integral()
    return integral(_ONE) - integral(-_ONE)


def _common_measure(left: Fraction, right: Fraction) -> Fraction:
    below = lcm(left.denominator, right.denominator)
    return Fraction(gcd(int(left * below), int(right * below)), below)


def _root_above(square: Fraction) -> Fraction:
    """A number that is at least the root, and not much larger."""
    return Fraction(
        isqrt(square.numerator * square.denominator << 40) + 1, square.denominator << 20
    )
