"""Hockey-stick divergences of programs that publish several independent numbers.

In: two sums of parts, each with the same number of published numbers, and a factor. Out: a
`Split`, as for one number. By what the measures are:

    one number differs              its divergence, times the mass of all others (`factors`)
    Gaussian noise only             N(m, 1) against N(0, 1), m the norm of the shifts in deviations
    anything else                   losses add up: the profiles of all numbers are composed

Sub-probabilities. A factor f, g of masses F, G <= 1 is completed to two probability measures: f by
the mass 1 - F where g has none, g by 1 - G where f has none. Its profile is that of f and g plus
1 - F. Of the completed product, what has some completed coordinate has the mass 1 - Π F_k under the
first measure where the second has none, or none under the first. So

    sup over S of (⊗ f_k)(S) - growth (⊗ g_k)(S)  =  H(growth) - (1 - Π F_k),

H being the profile of the composition, which `composition.losses` encloses: its bounds from above
hold for any pairs with these profiles, those from below for pairs that are run independently.

Gaussian factors. A Gaussian pair with shift m_k, in deviations, has on k coordinates the ratio of
one along the line of all shifts, so they are together one Gaussian pair with m² = Σ m_k².
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from flint import arb

from dipapprox.composition.catalogue import profile_of
from dipapprox.composition.closed_profiles import GaussianProfile
from dipapprox.composition.lattice import first_step, refined
from dipapprox.composition.mechanisms import Laplace, Mechanism, Profiled
from dipapprox.composition.pieces import Run
from dipapprox.composition.products import Grid, factors_of, product
from dipapprox.composition.profile import Ends, Point, Profile
from dipapprox.composition.reading import deltas, deltas_of
from dipapprox.data_classes import dataclass, replace
from dipapprox.distributions import Family
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Connected
from dipapprox.events.marginals import Part
from dipapprox.limits import Limits
from dipapprox.numerics.elimination.refinement import Tier
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.methods import Method
from dipapprox.numerics.precision import precision, to_ball, to_enclosure
from dipapprox.numerics.real_outputs.factors import Factored, Line, factored
from dipapprox.numerics.real_outputs.hockey_stick import HockeyStick, Split

_MOST_LOSSES = 2**15
"""Most losses of a composition: seconds."""

_MOST_MEASURED = 600
"""Most losses of a pair whose profile has no closed form: each takes milliseconds."""

_PARTS = Fraction(4)
"""By how much a grid of losses gets finer: widths go like its square."""

_ACCURATE = 60
"""Bits of accuracy beyond which no composition goes."""


class ProductMeasures:
    """Divergences of measures in space; see `HockeyStick` for the arguments.

    Attributes:
        line: The divergences of measures on the line.
    """

    def __init__(self, method: Method, limits: Limits, tier: Tier = Tier.AUTO) -> None:
        self.line = HockeyStick(method, limits, tier)
        self._limits = limits

    def divergence(
        self, first: Sequence[Part], second: Sequence[Part], growth: Enclosure, bits: int
    ) -> Split | NotEnclosed:
        """Enclose sup over sets S of first(S) - growth · second(S).

        Args:
            first: Parts of one outcome at one input, with one marginal for each published number;
                their measures add up. Empty: the measure 0.
            second: The same at another input.
            growth: The factor, >= 0.
            bits: Wanted width of the value: 2**-bits (best effort: compositions rarely get below
                2**-30).

        Raises:
            LimitReached: If the limits run out.
        """
        numbers = {len(part.marginals) for part in (*first, *second)}
        if numbers <= {1}:
            return self.line.divergence(first, second, growth, bits)
        if not first or not second:
            return self._only(first, second, bits)
        factors = factored(first, second)
        if isinstance(factors, NotEnclosed):
            return factors
        shared = self._mass(factors.common, bits + 2)
        if isinstance(shared, NotEnclosed):
            return shared
        if not factors.pairs:
            # The same measure twice: everything, or nothing.
            gain = Enclosure(1 - growth.upper, 1 - growth.lower)
            value = _positive(_times(shared, gain))
            return Split(value, ((None, None),) if gain.lower > 0 else (), UNIT, UNIT)
        if len(factors.pairs) == 1:
            ((coordinate, one, two),) = factors.pairs
            found = self.line.divergence(one, two, growth, bits + 1)
            if isinstance(found, NotEnclosed):
                return found
            return replace(
                found,
                value=_positive(_times(found.value, shared)),
                first=_times(found.first, shared),
                second=_times(found.second, shared),
                coordinate=coordinate,
            )
        composed = self._composed(factors, growth, bits + 1)
        if isinstance(composed, NotEnclosed):
            return composed
        return Split(_positive(_times(composed, shared)), None, UNIT, UNIT)

    def _only(
        self, first: Sequence[Part], second: Sequence[Part], bits: int
    ) -> Split | NotEnclosed:
        """One of the measures is 0."""
        if not first:
            nothing = Enclosure.exact(0)
            return Split(nothing, (), nothing, nothing)
        total = Enclosure.exact(0)
        for part in first:
            mass = self.total(part, bits + len(first).bit_length())
            if isinstance(mass, NotEnclosed):
                return mass
            total = total + mass
        return Split(total, ((None, None),), total, Enclosure.exact(0))

    def total(self, part: Part, bits: int) -> Enclosure | NotEnclosed:
        """Enclose the mass of one part."""
        own, *others = part.marginals
        lines = [(Part(part.events, (own,)),), *((Part((), (each,)),) for each in others)]
        return self._mass(lines, bits)

    def _mass(self, lines: Sequence[Line], bits: int) -> Enclosure | NotEnclosed:
        """Enclose the product of the masses of measures on the line."""
        found = Enclosure.exact(1)
        for line in lines:
            mass = self.line.total(line, bits + len(lines).bit_length())
            if isinstance(mass, NotEnclosed):
                return mass
            found = _times(found, mass)
        return found

    def _composed(self, factors: Factored, growth: Enclosure, bits: int) -> Enclosure | NotEnclosed:
        """Enclose the divergence of a product of at least two pairs.

        Probabilities of events that all parts of a side have are a factor: with w and v,

            sup w f(S) - growth v g(S)  =  w sup f(S) - (growth v / w) g(S).
        """
        accurate = min(bits, _ACCURATE) + 24
        stripped, weights = _without_events(factors)
        found = [self.line.product(events, accurate) for events in weights]
        mass = self._mass([own for _, own, _ in stripped.pairs], accurate)
        for each in (*found, mass):
            if isinstance(each, NotEnclosed):
                return each
        own, other = (each for each in found if isinstance(each, Enclosure))
        assert isinstance(mass, Enclosure)
        runs = self._runs(stripped, accurate)
        if isinstance(runs, NotEnclosed):
            return runs
        if not own.lower or not (growth.lower and other.lower):
            return NotEnclosed("a probability of what is published is too small to be told from 0")
        factor = Enclosure(
            growth.lower * other.lower / own.upper, growth.upper * other.upper / own.lower
        )
        try:
            profile = _Composed(runs, _hints(stripped), factor, bits, self._limits).enclosure()
        except _NoProfile as obstacle:
            return NotEnclosed(str(obstacle))
        return _times(own, profile + Enclosure(mass.lower - 1, mass.upper - 1))

    def _runs(self, factors: Factored, bits: int) -> list[Run] | NotEnclosed:
        """The pairs as mechanisms: all Gaussian ones together, equal ones counted."""
        square = Fraction(0)
        counted: dict[object, tuple[Mechanism, int]] = {}
        for _, *lines in factors.pairs:
            one, two = (_published_noise(line) for line in lines)
            if one and two and (one.family, one.square) == (two.family, two.square):
                ratio = (one.mean - two.mean) ** 2 / one.square
                if one.family is Family.GAUSSIAN:
                    square += ratio
                    continue
                if one.family is Family.LAPLACE:
                    if ratio:
                        shift = abs(one.mean - two.mean) / one.scale
                        _count(counted, shift, Laplace(shift, Fraction(1)))
                    continue
            (first, second) = lines
            mass, other = (self.line.total(line, bits + 16) for line in lines)
            if isinstance(mass, NotEnclosed):
                return mass
            if isinstance(other, NotEnclosed):
                return other
            profile = _LineProfile(self.line, first, second, mass, other, bits)
            _count(counted, (first, second), Profiled(lambda _, own=profile: own))  # type: ignore[misc]
        if square:
            _count(counted, None, Profiled(partial(_gaussian, square)))
        return [Run(mechanism, times) for mechanism, times in counted.values()]


_Events = tuple[Connected, ...]


def _without_events(factors: Factored) -> tuple[Factored, tuple[_Events, _Events]]:
    """Take the events out of sides of one part, of which each pair has no others."""
    pairs: list[tuple[int, Line, Line]] = []
    taken: tuple[list[Connected], list[Connected]] = ([], [])
    for coordinate, *lines in factors.pairs:
        sides: list[Line] = []
        for line, events in zip(lines, taken, strict=True):
            if len(line) == 1:
                events += line[0].events
                line = (replace(line[0], events=()),)
            sides.append(line)
        pairs.append((coordinate, sides[0], sides[1]))
    return Factored(tuple(pairs), factors.common), (tuple(taken[0]), tuple(taken[1]))


def _hints(factors: Factored) -> list[Mechanism]:
    """Noise of Laplace has half of its mass at the loss that its shift costs."""
    shifts = set()
    for _, own, other in factors.pairs:
        for part, its in zip(own, other, strict=False):
            laws = part.marginals[0].event.samples, its.marginals[0].event.samples
            for one, two in zip(*laws, strict=False):
                if one.family is Family.LAPLACE is two.family and one.mean != two.mean:
                    shifts.add(abs(one.mean - two.mean) / one.scale)
    exact: list[Mechanism] = [Laplace(shift, Fraction(1)) for shift in sorted(shifts)]
    return exact or [Profiled(partial(_gaussian, Fraction(1)))]


def _count(counted: dict[object, tuple[Mechanism, int]], key: object, mechanism: Mechanism) -> None:
    known, times = counted.get(key, (mechanism, 0))
    counted[key] = known, times + 1


def _gaussian(square: Fraction, bits: int) -> Profile:
    return GaussianProfile(to_ball(square).sqrt())


@dataclass(frozen=True, slots=True)
class _Noise:
    """The law of a number that is published on no condition.

    Attributes:
        family: Of one sample, or Gaussian.
        mean: Of the number.
        square: Of the scale.
        scale: Of one sample; 0 for several, where it need not be rational.
    """

    family: Family
    mean: Fraction
    square: Fraction
    scale: Fraction


def _published_noise(line: Line) -> _Noise | None:
    """The law of a number that is one sample, or a sum of Gaussian ones, on no condition."""
    if len(line) > 1 or line[0].events or line[0].marginals[0].event.guards:
        return None
    (marginal,) = line[0].marginals
    form, laws = marginal.form, marginal.event.samples
    terms = [(laws[sample], form.coefficient(sample)) for sample in form.samples()]
    mean = form.constant + sum((c * law.mean for law, c in terms), Fraction(0))
    square = sum(((c * law.scale) ** 2 for law, c in terms), Fraction(0))
    families = {law.family for law, _ in terms}
    if families == {Family.GAUSSIAN}:
        return _Noise(Family.GAUSSIAN, mean, square, Fraction(0))
    if len(terms) == 1:
        ((law, c),) = terms
        return _Noise(law.affine(c, Fraction(0)).family, mean, square, abs(c) * law.scale)
    return None


class _NoProfile(Exception):
    """Why a profile of one of the numbers is not known."""


@dataclass(frozen=True, slots=True)
class _LineProfile:
    """The profile of two measures on the line, completed.

    Attributes:
        line: Encloses their divergences.
        first: One measure.
        second: The other.
        mass: Of the first.
        other: Of the second.
        bits: Of accuracy.
    """

    line: HockeyStick
    first: Line
    second: Line
    mass: Enclosure
    other: Enclosure
    bits: int

    @property
    def ends(self) -> Ends:
        """What completes the two measures."""
        return Ends(1 - _ball(self.mass), 1 - _ball(self.other))

    def at(self, alpha: arb) -> Point:
        """Evaluate at α > 0.

        H does not increase, and as a convex function with H(0) = 1 it is below chords from there:
        so what it is at some far α serves farther ones.
        """
        if alpha > _FAR:
            return self.at(_FAR)
        if alpha < 1 / _FAR:
            point = self.at(1 / _FAR)
            return Point(1 - alpha * _FAR * (1 - point.bound), point.first, point.second)
        growth = to_enclosure(alpha)
        if isinstance(growth, NotEnclosed) or growth.lower < 0:
            raise _NoProfile("a factor is not known well enough")
        found = self.line.divergence(self.first, self.second, growth, self.bits)
        if isinstance(found, NotEnclosed):
            raise _NoProfile(found.reason)
        rest = 1 - _ball(self.mass)
        return Point(
            to_ball(found.value.upper) + rest, _ball(found.first) + rest, _ball(found.second)
        )


_FAR = arb(2) ** 100


class _Composed:
    """Finer and finer grids of losses.

    Args:
        runs: The pairs.
        hints: Mechanisms with losses near which atoms of the pairs may lie.
        factor: Where the profile is wanted, > 0.
        bits: Wanted width.
        limits: Asked throughout.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        hints: Sequence[Mechanism],
        factor: Enclosure,
        bits: int,
        limits: Limits,
    ) -> None:
        self._runs = runs
        self._hints = hints
        self._factor = factor
        self._bits = bits
        self._limits = limits

    def enclosure(self) -> Enclosure:
        """Enclose the profile of all runs."""
        wanted = Fraction(1, 2**self._bits)
        accuracy = Fraction(1, 2 ** min(self._bits, _ACCURATE))
        if not self._runs:  # equal measures
            factor = self._factor
            return _positive(Enclosure(1 - factor.upper, 1 - factor.lower))
        if len(self._runs) == 1 and self._runs[0].times == 1:
            return self._alone()
        step, exact = first_step(self._hints)
        low, high = self._budgets()
        found = UNIT
        while True:
            grid = Grid(step, exact, accuracy, accuracy, accuracy)
            try:
                factors = factors_of(self._runs, grid, self._limits, added=False)
                share = grid.share(self._runs)
                above = product(factors.above, share, self._limits)
                below = product(factors.below, share, self._limits)
            except LimitReached:
                if found == UNIT:
                    raise
                return found
            (upper,) = deltas(above, step, [low])
            (lower,) = deltas(below, step, [high + factors.slip])
            before = found.width
            found = found.intersect(_between(lower, min(upper, Fraction(1))))
            measured = any(isinstance(run.mechanism, Profiled) for run in self._runs)
            widest = max(each.losses.atoms for each in factors.above)
            if found.width <= wanted or exact or above.atoms > _MOST_LOSSES:
                return found
            if measured and widest > _MOST_MEASURED:
                return found
            if found.width > before / 2 and before < 1:
                return found
            step = refined(self._hints, step, _PARTS)

    def _alone(self) -> Enclosure:
        """The profile of one run, at the factor."""
        bits = self._bits + 64
        with precision(bits):
            profile = profile_of(self._runs[0].mechanism, bits)
            low, high = self._budgets()
            ((_, upper),) = deltas_of(profile, [low])
            ((lower, _),) = deltas_of(profile, [high])
        return _between(lower, upper)

    def _budgets(self) -> tuple[Fraction, Fraction]:
        """Bound the logarithm of the factor."""
        with precision(self._bits + 64):
            found = [to_enclosure(to_ball(end).log()) for end in self._ends()]
        if any(isinstance(each, NotEnclosed) for each in found):
            raise BrokenInvariant("a factor > 0 has no logarithm")
        low, high = found
        assert isinstance(low, Enclosure) and isinstance(high, Enclosure)
        return low.lower, high.upper

    def _ends(self) -> tuple[Fraction, Fraction]:
        return self._factor.lower, self._factor.upper


def _between(lower: Fraction, upper: Fraction) -> Enclosure:
    if lower > upper:
        raise BrokenInvariant("bounds of a composition from below and from above do not meet")
    return Enclosure(lower, upper)


def _ball(value: Enclosure) -> arb:
    return to_ball(value.lower).union(to_ball(value.upper))


def _times(left: Enclosure, right: Enclosure) -> Enclosure:
    ends = [a * b for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
    return Enclosure(min(ends), max(ends))


def _positive(value: Enclosure) -> Enclosure:
    nothing = Fraction(0)
    return Enclosure(max(value.lower, nothing), max(value.upper, nothing))
