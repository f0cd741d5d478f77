"""Densities of published numbers: how the check knows them, as functions on panels of the line.

    a sample y among comparisons      the tree of y, its density times the messages of the others
    a sum of samples of Laplace type  one sample is replaced by y, the others are integrated out
                                      exactly (`regions`): Σ c e^q y^p e^(r y) on intervals of y

On [m - h, m + h] with y = m + h s, e^(r y) is e^(r m) Σ_k (r h s)^k / k!, cut off after degree D
with an error of at most e^(r m) |r h|^(D + 1) / (D + 1)! e^|r h|.

What the panels leave out of a density has a mass of at most `lost`: every sample is kept within its
`reach`, and a sum of samples within the sum of reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil

from flint import arb, arb_poly

from dipapprox.checking.cycles import Order, Sample
from dipapprox.checking.distributions import NoBounds
from dipapprox.checking.facts import Line
from dipapprox.checking.integrands import Densities, Smooth
from dipapprox.checking.orders import General, factors
from dipapprox.checking.panels import (
    Function,
    Grid,
    Piece,
    exponential_coefficients,
    lost,
    reach,
)
from dipapprox.checking.published.outcomes import Marginal
from dipapprox.checking.regions import by_sides, left_over
from dipapprox.checking.trees import Forest, Messages, TreeValues
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution
from dipapprox.limits import Limits
from dipapprox.numerics.enclosure import Enclosure, NotEnclosed
from dipapprox.numerics.precision import to_ball

_ZERO = Fraction(0)
_NOTHING = arb(0)

MOST_PANELS = 6_000


@dataclass(frozen=True, slots=True)
class Rooted:
    """Σ sign · probabilities of trees · function of a tree with the number as its root."""

    terms: tuple[tuple[int, tuple[int, ...], int], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Σ c e^q y^p e^(r y) between two ends, None for infinite ones; terms are (p, q, r, c)."""

    lower: Fraction | None
    upper: Fraction | None
    terms: tuple[tuple[int, Fraction, Fraction, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Exact:
    """A sum of cases. `laws` are those of the samples times their coefficients in the number, whose
    means add up to `centre`."""

    cases: tuple[Case, ...]
    laws: tuple[Distribution, ...]
    centre: Fraction


Density = Rooted | Exact


class Densities1D:
    """Densities by how they are found, each once; and the trees that they need.

    Args:
        limits: Asked throughout.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.forest = Forest()
        self._known: dict[Marginal, Density] = {}

    def of(self, marginal: Marginal) -> Density:
        """Find a density.

        Raises:
            NoBounds: If no rule applies.
            LimitReached: If the limits run out.
        """
        if marginal not in self._known:
            self._known[marginal] = self._found(marginal)
        return self._known[marginal]

    def _found(self, marginal: Marginal) -> Density:
        if any(law.family.is_discrete for law in marginal.laws):
            raise NoBounds("a number that is published depends on integer noise")
        if len(marginal.number.terms) == 1:
            rooted = self._rooted(marginal)
            if rooted is not None:
                return rooted
        if not all(law.family.is_exponential for law in marginal.laws):
            raise NoBounds("the check knows no density of sums with Gaussian noise in them")
        return _exact(marginal, self.limits)

    def _rooted(self, marginal: Marginal) -> Rooted | None:
        """The density of one sample; None if there are other lines than comparisons."""
        ((sample, c),) = marginal.number.terms
        # As the number is c x + b, samples become c x + b, all of them.
        plain = Marginal(marginal.laws, marginal.lines, Line(_ZERO, ((sample, Fraction(1)),)))
        moved = plain.mapped(c, marginal.number.constant)
        order = [sample, *(k for k in range(len(moved.laws)) if k != sample)]
        place = {s: k for k, s in enumerate(order)}
        lines = [
            Line(line.constant, tuple(sorted((place[s], a) for s, a in line.terms)))
            for line in moved.lines
        ]
        laws = [moved.laws[s] for s in order]
        found = factors(laws, lines, self.limits, first_is_published=True)
        if found is None:
            return Rooted(())
        alone = Order((Sample(laws[0], None, None, True),), ())
        terms: list[tuple[int, tuple[int, ...], int]] = [(1, (), -1)]
        for factor in found:
            if isinstance(factor, General):
                return None
            following = []
            for sign, others, root in terms:
                for own, trees in factor:
                    quiet, place_of_root = list(others), root
                    for tree in trees:
                        number = self.forest.plant(tree)
                        if any(each.published for each in tree.samples):
                            place_of_root = number
                        else:
                            quiet.append(number)
                    following.append((sign * own, tuple(quiet), place_of_root))
            terms = following
        bare = self.forest.plant(alone)
        return Rooted(tuple((s, o, bare if root < 0 else root) for s, o, root in terms))


def _exact(marginal: Marginal, limits: Limits) -> Exact:
    """Put the number in the place of one sample, and integrate the others out."""
    laws, form = marginal.laws, marginal.number
    pivot, c = form.terms[0]
    others = tuple((s, -d / c) for s, d in form.terms if s != pivot)
    # x = (y - b - Σ d x) / c, where sample `pivot` is y from here on
    replaced = Line(-form.constant / c, tuple(sorted((*others, (pivot, 1 / c)))))
    calculus = Densities(laws)
    starts = (
        (tuple(_with(line, pivot, replaced) for line in lines), _replaced(terms, pivot, replaced))
        for lines, terms in by_sides(laws, marginal.lines, calculus)
    )
    cases = []
    rest = frozenset(range(len(laws))) - {pivot}
    for lines, terms in left_over(starts, rest, calculus, limits):
        lower: Fraction | None = None
        upper: Fraction | None = None
        for line in lines:
            ((_, d),) = line.terms
            end = -line.constant / d
            if d > 0:
                upper = end if upper is None else min(upper, end)
            else:
                lower = end if lower is None else max(lower, end)
        own = tuple(
            (powers[pivot], q, rates[pivot], value / abs(c))
            for (_, q, powers, rates), value in sorted(terms.items())
        )
        cases.append(Case(lower, upper, own))
    named = tuple(laws[s].affine(d, _ZERO) for s, d in form.terms)
    centre = form.constant + sum((law.mean for law in named), _ZERO)
    return Exact(tuple(cases), named, centre)


def _with(line: Line, sample: int, value: Line) -> Line:
    """A line with a form in the place of a sample."""
    c = dict(line.terms).get(sample)
    if c is None:
        return line
    rest = Line(line.constant, tuple((s, d) for s, d in line.terms if s != sample))
    return rest + value.times(c)


def _replaced(terms: Smooth, sample: int, value: Line) -> Smooth:
    """A density, which has no powers yet, likewise."""
    found: Smooth = {}
    for (n, q, powers, rates), c in terms.items():
        rate = rates[sample]
        moved = [_ZERO if s == sample else r for s, r in enumerate(rates)]
        for s, d in value.terms:
            moved[s] += rate * d
        found[n, q + rate * value.constant, powers, tuple(moved)] = c
    return found


class DensityPanels:
    """Panels for some densities, and the densities on them; to be used at one working precision.

    Args:
        known: Has the forest of the densities.
        densities: At least one.
        cuts: More ends of panels.
        bits: Wanted accuracy.
        fineness: See `Grid`.

    Raises:
        NoBounds: If there are too many panels.
    """

    def __init__(
        self,
        known: Densities1D,
        densities: Sequence[Density],
        cuts: Sequence[Fraction],
        bits: int,
        fineness: int,
    ) -> None:
        self._limits = known.limits
        self._forest = known.forest
        self._bits = bits
        trees = [term for each in densities if isinstance(each, Rooted) for term in each.terms]
        roots = {root for _, _, root in trees}
        samples = [sample for root in sorted(roots) for sample in known.forest.members(root)]
        laws = {sample.law for sample in samples}
        points = {*cuts, *(c for s in samples for c in (s.lower, s.upper) if c is not None)}
        for each in densities:
            if isinstance(each, Exact):
                points |= set(_marks(each, bits, fineness))
        if len(laws) * 2 * bits << fineness > MOST_PANELS or len(points) > MOST_PANELS:
            raise NoBounds("too many different laws for the check's panels")
        self.grid = Grid(laws, points, bits, fineness)
        self._values = TreeValues(known.forest, bits, known.limits)
        self._exponentials: dict[Fraction, tuple[arb_poly, arb]] = {}
        self._messages = Messages(known.forest, self.grid, known.limits)

    def function(self, density: Density) -> tuple[Function, arb]:
        """Return a density, times the half-width of each panel, and what it lacks at most.

        Raises:
            NoBounds: If some probability cannot be enclosed.
        """
        if isinstance(density, Exact):
            lacks = sum((lost(law, self._bits) for law in density.laws), _NOTHING)
            pieces = (self._piece(density, a, b) for a, b in pairwise(self.grid.points))
            return tuple(pieces), lacks
        terms: list[tuple[arb, Function]] = []
        lacks = arb(0)
        for sign, others, root in density.terms:
            weight = arb(sign)
            for tree in others:
                weight *= _ball(self._values.value(tree))
            terms.append((weight, self._messages.weighted(root)))
            for sample in self._forest.members(root):
                lacks += self.grid.lost(sample.law)
        return combined(terms, len(self.grid.points) - 1), lacks

    def _piece(self, density: Exact, left: Fraction, right: Fraction) -> Piece | None:
        self._limits.check()
        middle, half = (left + right) / 2, (right - left) / 2
        polynomials: dict[Fraction, list[tuple[int, arb]]] = {}
        found = False
        for case in density.cases:
            if (case.lower is not None and case.lower > left) or (
                case.upper is not None and case.upper < right
            ):
                continue
            for p, q, r, c in case.terms:
                found = True
                factor = to_ball(c) * to_ball(q + r * middle).exp()
                polynomials.setdefault(r, []).append((p, factor))
        if not found:
            return None
        width = to_ball(half)
        place = arb_poly([to_ball(middle), width])
        total, error = arb_poly([_NOTHING]), _NOTHING
        for rate, terms in polynomials.items():
            own = arb_poly([_NOTHING])
            for p, factor in terms:
                own = own + place**p * factor
            series, remainder = self._exponential(rate * half)
            bound = sum((abs(each) for each in own.coeffs()), _NOTHING)
            error += bound * remainder
            total = total + own * series
        total, error = total * width, (error * width).upper()
        peak = sum((abs(each) for each in total.coeffs()), error)
        return Piece(total, error, peak.upper())

    def _exponential(self, rate: Fraction) -> tuple[arb_poly, arb]:
        """e^(rate s) on [-1, 1]: a polynomial, and a bound of what it lacks."""
        if rate not in self._exponentials:
            step = to_ball(rate)
            series = exponential_coefficients(step, _NOTHING, self.grid.degree + 1)
            last = exponential_coefficients(abs(step), _NOTHING, self.grid.degree + 2)[-1]
            self._exponentials[rate] = arb_poly(list(series)), last * abs(step).exp()
        return self._exponentials[rate]


def _marks(density: Exact, bits: int, fineness: int) -> Iterator[Fraction]:
    """Ends of panels for a sum: within the sum of reaches, as wide as its narrowest sample."""
    for case in density.cases:
        yield from (end for end in (case.lower, case.upper) if end is not None)
    extent = sum((reach(law, bits) for law in density.laws), _ZERO)
    width = 2 * min(law.scale for law in density.laws) / 2**fineness
    count = ceil(extent / width)
    if count > MOST_PANELS:
        raise NoBounds("laws of too different sizes for the check's panels")
    yield from (density.centre + k * width for k in range(-count, count + 1))


def combined(terms: Sequence[tuple[arb, Function]], panels: int) -> Function:
    """Add up functions, weighted."""
    found: list[Piece | None] = [None] * panels
    for weight, function in terms:
        size = abs(weight).upper()
        for k, piece in enumerate(function):
            if piece is None:
                continue
            own = Piece(piece.polynomial * weight, piece.error * size, piece.size * size)
            known = found[k]
            found[k] = (
                own
                if known is None
                else Piece(
                    known.polynomial + own.polynomial,
                    (known.error + own.error).upper(),
                    (known.size + own.size).upper(),
                )
            )
    return tuple(found)


def _ball(found: Enclosure | NotEnclosed) -> arb:
    if isinstance(found, NotEnclosed):
        raise NoBounds(found.reason)
    return to_ball(found.lower).union(to_ball(found.upper))
