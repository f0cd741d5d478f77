"""Normal probabilities of orthants by Plackett's identity: one integral takes two from the rank.

In: Y ~ N(0, C), C positive definite, and bounds b. Out: Pr[Y_k <= b_k for every k], in balls.

Let Y_1 have unit variance, S be the covariance of the others, c that with Y_1 and q = c' S^-1 c < 1
the squared multiple correlation. F(t) is the probability with t c in the place of c: F(0) is a
product, and (Plackett)

    dF/dt = Σ_j c_j f_1j(b_1, b_j; t) Pr[Y_k <= b_k, k ≠ 1, j | Y_1 = b_1, Y_j = b_j; t],

f_1j the density of Y_1 and Y_j. Let √q <= ρ < 1 and t = tanh v / ρ. What is asked for is F(0) and
the integral of G = dF/dv for v from 0 to atanh ρ. On the strip |Im v| <= y < π/4

    |G|  <=  (2 |b_1| + √2) / (√(2π) cos 2y).

Proof. Let U = c' S^-1 Y / √q, standard normal, and τ = t √q, so that Y_1 is τ U + √(1 - τ²) Z.
Then F is the mean of Φ((b_1 - τ U) / √(1 - τ²)) where the other inequalities hold, and

    dF/dτ = ∫ Pr[others hold | U = u] exp(-(u² - 2 τ u b_1 + b_1²) / (2 (1 - τ²)))
                 (τ b_1 - u) / (2π (1 - τ²)^(3/2)) du,

analytic where |Re τ| < 1. First let τ = tanh w, w = x + i z, |z| < π/4. Then 1 / (1 - τ²) = cosh² w
has the real part p = (1 + cosh 2x cos 2z) / 2 >= 1/2, and τ / (1 - τ²) = sinh(2w) / 2 has the real
part g = sinh 2x cos 2z / 2, |g| < p. The exponential's modulus is exp(-p (u - m)² / 2 - b_1² (p² -
g²) / 2p) with m = g b_1 / p, |m| <= |b_1|, and |τ|² = (cosh 2x - cos 2z) / (cosh 2x + cos 2z) <= 1.
As dτ/dw = 1 - τ²,

    |dF/dw|  <=  |cosh w| / 2π · √(2π / p) (|τ b_1| + |m| + 1 / √p),

where |cosh w|² / p = (cosh 2x + cos 2z) / (1 + cosh 2x cos 2z) <= 1 / cos 2z and 1/√p <= √2. Now w
is atanh(κ tanh v), κ = √q / ρ <= 1: tanh takes the strip |Im| < π/4 to the unit disc, so this takes
the strip to itself, and by Schwarz and Pick |dw/dv| <= cos 2z / cos 2y for |Im v| = y.

Rules of Gauss and Legendre have as many nodes as a proved error needs. On a panel of half-length h
the rule of n nodes, with the Bernstein ellipse that is as high as the strip on either side, a,
r - 1/r = 2 a / h, errs by at most 8 h b r^(1 - 2n) / (r - 1) if the function is at most b in it
(`arithmetic.legendre` has the proof).

References:
    R. L. Plackett, A reduction formula for normal multivariate integrals, Biometrika 41 (1954).

The method `Gaussian rank`: Gaussian events by the rank of their guards, whatever the samples.

    event -> polyhedron in as many dimensions as the rank -> signed cones, exactly -> orthants

A probability depends on the covariances of the guards' forms and on their means only. Rank 1 is a
closed form, ranks 2 and 3 are integrals in one variable, each two ranks more one integral more. How
much work that is, is estimated before; where it is too much for the wanted width a larger one is
enclosed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import asinh, ceil, expm1, inf, log, log2

from flint import arb, arb_mat

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, enclosing, sure
from dipapprox.arithmetic.legendre import legendre_nodes
from dipapprox.arithmetic.precision import give_way, precision, to_enclosure
from dipapprox.cache import Cache
from dipapprox.data_classes import Record
from dipapprox.events.event import Connected, Event, spelled_out
from dipapprox.limits import check_limits
from dipapprox.numerics.gaussian_rank.cones import Cones, cones_of, polyhedron_of
from dipapprox.numerics.methods import EventByEvent, is_gaussian

_LEAST_SQUARE = arb(1) / 64
"""Correlations that vanish, but not exactly, are no reason to divide by them."""

Matrix = Sequence[Sequence[arb]]
_HEIGHT = arb(7) / 10  # y, of the strip


def orthant(covariance: Matrix, bounds: Sequence[arb], bits: int) -> arb:
    """Enclose Pr[Y <= b] to about 2**-bits, at a working precision that allows it.

    Args:
        covariance: C, symmetric; variables that are independent for certain have an exact 0.

    Returns:
        A ball, not finite if C is not positive definite for certain at this precision.
    """
    if bits <= 0:
        return arb(0.5, 0.5)
    total = arb(1)
    for block in _blocks(covariance):
        total *= _connected(_within(covariance, block), [bounds[i] for i in block], bits)
    return total


def evaluations(covariance: Matrix, bits: int, most: float) -> float:
    """Estimate how many densities `orthant` needs, from what is left where t = 1.

    Counting, which is work itself, ends above `most`. Infinite where C is not positive definite for
    certain at this precision.
    """
    total = 0.0
    for block in _blocks(covariance):
        own = _within(covariance, block)
        total += 1
        if len(block) == 1:
            continue
        leader = _leader(own)
        if leader is None:
            return inf
        zeros = [arb(0)] * len(block)
        panels, nodes = rule_for(float(leader.last.mid()), float(_HEIGHT.mid()), 1.0, bits)
        given, _ = _conditioned(own, zeros, leader.place)
        places = [j for j in range(len(block)) if j != leader.place]
        points = panels * nodes
        for j, place in enumerate(places):
            if place in leader.partners:
                left, _ = _conditioned(given, zeros[1:], j)
                total += points * (1 + evaluations(left, bits, (most - total) / points))
            if total > most:
                return total
        total += evaluations(_within(own, places), bits, most - total)
        if total > most:
            return total
    return total


class _Leader(Record):
    """The variable Y_1, whose correlations with the others grow from 0."""

    place: int  # its number
    partners: tuple[int, ...]  # those that it is correlated with
    root: arb  # ρ, exact

    @property
    def last(self) -> arb:
        """atanh ρ."""
        return self.root.atanh()


def _leader(covariance: Matrix) -> _Leader | None:
    """Choose the variable that costs least, of two or more that are connected."""
    size = len(covariance)
    try:
        inverse = arb_mat(covariance).inv()
    except ZeroDivisionError:
        return None
    found = []
    for i, row in enumerate(covariance):
        partners = tuple([j for j in range(size) if j != i and not row[j].is_zero()])
        square = (1 - 1 / (row[i] * inverse[i, i])).upper()
        if not square < 1:  # or not a number
            return None
        root = square.max(_LEAST_SQUARE).sqrt().upper()
        if not root < 1:
            return None
        found.append(_Leader(i, partners, root))
    return min(found, key=lambda each: (float(each.last.mid()) + 1) * len(each.partners))


def _connected(covariance: Matrix, bounds: Sequence[arb], bits: int) -> arb:
    """`orthant` of variables that are connected by correlations."""
    for k, bound in enumerate(bounds):
        # Beyond x deviations there is at most exp(-x²/2) / 2.
        if bound * bound >= 7 * bits * covariance[k][k] / 5:
            rest = arb(0.5, 0.5) * arb(2) ** -bits
            if bound < 0:
                return rest
            others = [j for j in range(len(bounds)) if j != k]
            ends = [bounds[j] for j in others]
            return orthant(_within(covariance, others), ends, bits) - rest
    if len(bounds) == 1:
        return (-bounds[0] / (2 * covariance[0][0]).sqrt()).erfc() / 2
    leader = _leader(covariance)
    if leader is None:
        return arb.nan()
    return _grown(covariance, bounds, leader, bits)


def _grown(covariance: Matrix, bounds: Sequence[arb], leader: _Leader, bits: int) -> arb:
    """F(0) + ∫ G."""
    place, root, last = leader.place, leader.root, leader.last
    variance, height = covariance[place][place], bounds[place]
    deviations = height / variance.sqrt()
    others = [j for j in range(len(bounds)) if j != place]
    start = orthant(_within(covariance, others), [bounds[j] for j in others], bits + 1)
    start *= (-deviations / arb(2).sqrt()).erfc() / 2
    bound = 2 * abs(deviations) + arb(2).sqrt()
    bound /= (2 * arb.pi()).sqrt() * (2 * _HEIGHT).cos()
    if len(others) == 1:
        value = _pair_density(covariance, bounds, root)
        return start + quadrature(value, bound, _HEIGHT, arb(0), last, bits)
    density = _density(height, variance)
    # Errors at the nodes count with G's other factors, and the length of the range.
    loss = (last + 1) * len(leader.partners) * 4

    def derivative(point: arb) -> arb:
        check_limits()
        tanh = point.tanh()
        t, speed = tanh / root, (1 - tanh * tanh) / root
        weight = density * speed
        grown = [
            [c * t if (i == place) != (j == place) else c for j, c in enumerate(row)]
            for i, row in enumerate(covariance)
        ]
        given, ends = _conditioned(grown, bounds, place)
        total = arb(0)
        for j, other in enumerate(others):
            if other in leader.partners:
                own = covariance[place][other] * _density(ends[j], given[j][j]) * weight
                left, rest = _conditioned(given, ends, j)
                total += own * orthant(left, rest, bits + _log2(abs(own) * loss))
        return total

    return start + quadrature(derivative, bound, _HEIGHT, arb(0), last, bits)


def _pair_density(covariance: Matrix, bounds: Sequence[arb], root: arb) -> Callable[[arb], arb]:
    """G for two variables, which is most of the work: in units of their deviations."""
    deviations = [covariance[k][k].sqrt() for k in range(2)]
    x, y = (b / s for b, s in zip(bounds, deviations, strict=True))
    share = covariance[0][1] / (deviations[0] * deviations[1] * root)
    squares, both, unit = (x * x + y * y) / 2, x * y, share / (2 * arb.pi())

    def derivative(point: arb) -> arb:
        check_limits()
        tanh = point.tanh()
        correlation = share * tanh
        left = 1 - correlation * correlation
        exponent = (correlation * both - squares) / left
        return unit * (1 - tanh * tanh) * exponent.exp() / left.sqrt()

    return derivative


def _conditioned(
    covariance: Matrix, bounds: Sequence[arb], place: int
) -> tuple[list[list[arb]], list[arb]]:
    """The others given that one variable is at its bound: their covariance, the distances left."""
    row, bound = covariance[place], bounds[place]
    others = [j for j in range(len(row)) if j != place]
    shares = [row[j] / row[place] for j in others]
    left = [
        [covariance[i][j] - share * row[j] for j in others]
        for i, share in zip(others, shares, strict=True)
    ]
    return left, [bounds[i] - share * bound for i, share in zip(others, shares, strict=True)]


def _density(value: arb, variance: arb) -> arb:
    return (-value * value / (2 * variance)).exp() / (2 * arb.pi() * variance).sqrt()


def _within(covariance: Matrix, places: Sequence[int]) -> list[list[arb]]:
    return [[covariance[i][j] for j in places] for i in places]


def _blocks(covariance: Matrix) -> Iterator[list[int]]:
    """Yield the sets of variables that are independent of each other."""
    left = list(range(len(covariance)))
    while left:
        block = [left.pop(0)]
        for i in block:
            near = [j for j in left if not covariance[i][j].is_zero()]
            block += near
            left = [j for j in left if j not in near]
        yield sorted(block)


def _log2(value: arb) -> int:
    """About log2 of a ball's middle, rounded up; very negative for 0."""
    mantissa, exponent = value.mid().man_exp()
    return int(exponent) + int(mantissa).bit_length() if mantissa else -(10**6)


# --- quadrature -----------------------------------------------------------------------------------

_MOST_NODES = 512  # of a rule; longer panels are divided


def quadrature(
    value: Callable[[arb], arb], bound: arb, height: arb, first: arb, last: arb, bits: int
) -> arb:
    """Enclose ∫ from `first` to `last`, `first` < `last`, with an error of about 2**-bits.

    Args:
        value: Encloses the function, real on real balls.
        bound: Of its modulus where |imaginary part| <= `height`, > 0.
    """
    panels, count = rule_for(float((last - first).mid()), float(height), float(bound.mid()), bits)
    half = (last - first) / (2 * panels)
    slope = height / half
    ratio = slope + (slope * slope + 1).sqrt()
    error = 8 * bound / (ratio - 1) * ratio ** (1 - 2 * count)
    total = arb(0)
    rule = list(zip(*(each[count // 2 :] for each in legendre_nodes(count)), strict=True))
    for panel in range(panels):
        give_way()
        centre = first + (2 * panel + 1) * half
        for node, weight in rule:
            step = half * node
            total += weight * (value(centre + step) + value(centre - step))
        total += arb(0, error.upper())
    return total * half


def rule_for(length: float, height: float, bound: float, bits: int) -> tuple[int, int]:
    """Guess how many panels and nodes of each suffice; only the time depends on it."""
    panels = 1
    while True:
        half = max(length, 1e-30) / (2 * panels)
        ratio = asinh(height / half)  # its logarithm
        wanted = bits + 1 + log2(max(4 * length * bound, 1e-300) / expm1(min(ratio, 100.0)))
        count = 4 * max(ceil((wanted * log(2) / ratio + 1) / 8), 1)
        if count <= _MOST_NODES:
            return panels, count
        panels *= 2


MOST_RANK = 9  # more are refused before anything is looked at
_MOST_EVALUATIONS = 2_000_000  # of densities, for one event: some ten microseconds each
_LEAST_BITS = 8  # narrower than 2**-this is what is tried at least
_ATTEMPTS = 4
_REMEMBERED = 5_000  # about how many cones are kept, for those who ask for more bits


class GaussianRank(EventByEvent):
    name = "Gaussian rank"

    def __init__(self) -> None:
        self._known: Cache[Event, Cones | NotEnclosed] = Cache(
            _REMEMBERED, lambda each: 1 if isinstance(each, NotEnclosed) else 1 + len(each.cones)
        )

    @enclosing
    def one(self, event: Connected, bits: int) -> Enclosure:
        if not is_gaussian(event):
            return sure(NotEnclosed("not all samples are Gaussian"))
        plain = spelled_out(event)
        cones = sure(self._known.find(plain, lambda: _cones_of_event(plain)))
        bits = _affordable(cones, bits)
        if not bits:
            many = f"{len(cones.cones)} cones of rank {cones.rank}"
            sure(NotEnclosed(f"{many} take more than {_MOST_EVALUATIONS} evaluations"))
        own = _own_bits(cones, bits)
        found: Enclosure | NotEnclosed = NotEnclosed("not tried")
        for attempt in range(_ATTEMPTS):  # with more and more digits
            with precision(_digits(own, attempt)):
                total = arb(0)
                for cone in cones.cones:
                    rows, bounds = cone.as_balls()
                    total += cone.sign * orthant(rows, bounds, own)
                found = to_enclosure(total)
            if isinstance(found, Enclosure):
                found = found.intersect(UNIT)
                if found.width <= Fraction(1, 2**bits):
                    break
        return sure(found)


@enclosing
def _cones_of_event(event: Event) -> Cones:
    return sure(cones_of(sure(polyhedron_of(event, MOST_RANK))))


def _affordable(cones: Cones, bits: int) -> int:
    """As many bits as the work allows; 0 if none are worth it."""
    if cones.rank <= 3:
        return bits
    while bits >= _LEAST_BITS:
        own = _own_bits(cones, bits)
        work = 0.0
        with precision(_digits(own, _ATTEMPTS - 1)):
            for cone in cones.cones:
                check_limits()
                work += evaluations(cone.as_balls()[0], own, _MOST_EVALUATIONS - work)
                if work > _MOST_EVALUATIONS:
                    break
        if work <= _MOST_EVALUATIONS:
            return bits
        bits = bits * 3 // 4
    return 0


def _own_bits(cones: Cones, bits: int) -> int:
    return bits + 3 + len(cones.cones).bit_length()


def _digits(bits: int, attempt: int) -> int:
    """A multiple of 32, so that events share the nodes of rules."""
    return -(-(bits + (20 << 2 * attempt)) // 32) * 32
