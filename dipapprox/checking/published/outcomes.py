"""What a program with real outputs publishes for one input: paths, put together by outcome.

An outcome is the values of the finite outputs, which of the numbers are constants, and which are
sums of others and constants. What is left are coordinates: numbers with a density. Laws of two
different outcomes are singular to each other, so a divergence is summed over outcomes.

A path gives a `Part` of its outcome: independent factors that publish nothing, by number, and for
each coordinate the samples that it is connected with. Where two coordinates share samples, they are
replaced by as many sums of coordinates (`untangled`): an invertible map of what is published
changes no divergence, if it is the same map for both inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.checking.chains import Random
from dipapprox.checking.cycles import components
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.facts import Line
from dipapprox.checking.paths import Path, publishing_paths
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution
from dipapprox.language.core import Input, Program, Value
from dipapprox.limits import Limits

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What paths publish, up to the values of coordinates.

    Attributes:
        outputs: The finite outputs.
        reals: Of each real output a form over the coordinates: a constant, one of them, or a sum.
    """

    outputs: tuple[Value, ...]
    reals: tuple[Line, ...]

    @property
    def constants(self) -> tuple[Fraction | None, ...]:
        """Of each real output its value, None if it has a density."""
        return tuple(None if form.terms else form.constant for form in self.reals)

    @property
    def relations(self) -> tuple[Line | None, ...]:
        """Of each real output what it is of earlier ones, by place; None for coordinates."""
        places: list[int] = []
        found: list[Line | None] = []
        for place, form in enumerate(self.reals):
            if any(k >= len(places) for k, _ in form.terms):
                places.append(place)  # coordinates are numbered in the order of the outputs
                found.append(None)
            else:
                found.append(Line(form.constant, tuple((places[k], c) for k, c in form.terms)))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Ending:
    """A path to an outcome; `numbers` are the coordinates as forms over the samples."""

    laws: tuple[Distribution, ...]
    lines: tuple[Line, ...]
    chances: tuple[Random, ...]
    numbers: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Marginal:
    """Samples, lines <= 0 over them, and a number: S -> Pr[all lines hold and number in S]."""

    laws: tuple[Distribution, ...]
    lines: tuple[Line, ...]
    number: Line

    def mapped(self, factor: Fraction, shift: Fraction) -> Marginal:
        """Return the one of factor * number + shift, factor != 0; samples move alike."""
        laws = tuple(law.affine(factor, shift) for law in self.laws)
        lines = tuple(_moved(line, factor, shift) for line in self.lines)
        number = _moved(self.number, factor, shift).times(factor) + Line(shift)
        return Marginal(laws, lines, number)


def _moved(line: Line, factor: Fraction, shift: Fraction) -> Line:
    """A line over x as one over x' = factor x + shift."""
    total = sum((c for _, c in line.terms), _ZERO)
    terms = tuple((s, c / factor) for s, c in line.terms)
    return Line(line.constant - total * shift / factor, terms)


@dataclass(frozen=True, slots=True)
class Part:
    """A path to an outcome: a product of probabilities and of a measure for each coordinate."""

    factors: tuple[int, ...]
    marginals: tuple[Marginal, ...]


Endings = tuple[Ending, ...]
Parts = tuple[Part, ...]


def outcomes(
    program: Program, eps: Fraction, input: Input, limits: Limits
) -> Mapping[Outcome, Endings]:
    """Return every way to every outcome.

    Raises:
        Stuck: If the program cannot be followed, or integer noise is published as a number.
        LimitReached: If the limits run out.
    """
    found: dict[Outcome, list[Ending]] = {}
    for path in publishing_paths(program, eps, input, limits):
        numbers, reals = _coordinates(path)
        ending = Ending(path.laws, path.lines, path.chances, numbers)
        found.setdefault(Outcome(path.outputs, reals), []).append(ending)
    return {outcome: tuple(own) for outcome, own in found.items()}


def _coordinates(path: Path) -> tuple[tuple[Line, ...], tuple[Line, ...]]:
    """The numbers of a path that are no sums of those before them, and all in terms of them."""
    numbers: list[Line] = []
    reals: list[Line] = []
    for form in path.reals:
        if any(path.laws[sample].family.is_discrete for sample, _ in form.terms):
            raise Stuck("integer noise is published as a number")
        shares = _shares(form, numbers)
        if shares is None:
            shares = Line(_ZERO, ((len(numbers), Fraction(1)),))
            numbers.append(form)
        reals.append(shares)
    return tuple(numbers), tuple(reals)


def _shares(form: Line, numbers: Sequence[Line]) -> Line | None:
    """Write a form as a sum of others and a constant; None if it is none."""
    # Each row is a combination of the numbers whose first sample no other row has.
    rest, shares = form, Line(_ZERO)
    for row, own in _echelon(numbers):
        lead, c = row.terms[0]
        factor = dict(rest.terms).get(lead, _ZERO) / c
        rest, shares = rest.minus(row.times(factor)), shares + own.times(factor)
    return None if rest.terms else shares + Line(rest.constant)


def _echelon(numbers: Sequence[Line]) -> list[tuple[Line, Line]]:
    """Reduce independent forms: rows with a leading sample each that no other row has, and what
    each row is of the forms."""
    rows: list[tuple[Line, Line]] = []
    for k, form in enumerate(numbers):
        row, own = form, Line(_ZERO, ((k, Fraction(1)),))
        for other, theirs in rows:
            lead, c = other.terms[0]
            factor = dict(row.terms).get(lead, _ZERO) / c
            row, own = row.minus(other.times(factor)), own.minus(theirs.times(factor))
        lead, c = row.terms[0]
        row, own = row.times(1 / c), own.times(1 / c)
        for place, (other, theirs) in enumerate(rows):
            factor = dict(other.terms).get(lead, _ZERO)
            rows[place] = other.minus(row.times(factor)), theirs.minus(own.times(factor))
        rows.append((row, own))
    return rows


@dataclass(frozen=True, slots=True)
class Untangled:
    """Independent numbers in the place of coordinates.

    Attributes:
        numbers: Each number as a form over the coordinates.
        first: The paths of one input.
        second: Those of the other.
    """

    numbers: tuple[Line, ...]
    first: Parts
    second: Parts


def untangled(first: Endings, second: Endings, derived: Distributions) -> Untangled | None:
    """Separate what is independent, for both inputs alike; None if coordinates share samples.

    Args:
        first: The ways to an outcome of one input; one at least, here or there.
        second: Those to the same outcome of the other.
        derived: Knows the factors that publish nothing.
    """
    numbers = (first or second)[0].numbers
    maps = [tuple(Line(_ZERO, ((k, Fraction(1)),)) for k in range(len(numbers)))]
    maps.append(tuple(own for _, own in _echelon(numbers)))
    for own in maps:
        sides = [_separated(each, own, derived) for each in (first, second)]
        if sides[0] is not None and sides[1] is not None:
            return Untangled(own, sides[0], sides[1])
    return None


def _separated(endings: Endings, shares: Sequence[Line], derived: Distributions) -> Parts | None:
    parts: list[Part] = []
    for ending in endings:
        numbers = tuple(_combined(own, ending.numbers) for own in shares)
        groups = [tuple(s for s, _ in form.terms) for form in (*ending.lines, *numbers)]
        marginals: dict[int, Marginal] = {}
        quiet: list[int] = []
        for samples in components(len(ending.laws), groups):
            place = {sample: k for k, sample in enumerate(samples)}
            published = [k for k, form in enumerate(numbers) if form.terms[0][0] in place]
            if len(published) > 1:
                return None
            if not published:
                quiet += samples
                continue
            marginals[published[0]] = Marginal(
                tuple(ending.laws[sample] for sample in samples),
                tuple(_among(line, place) for line in ending.lines if line.terms[0][0] in place),
                _among(numbers[published[0]], place),
            )
        place = {sample: k for k, sample in enumerate(quiet)}
        laws = [ending.laws[sample] for sample in quiet]
        lines = [_among(line, place) for line in ending.lines if line.terms[0][0] in place]
        factors = derived.factors_of(laws, lines, ending.chances)
        if factors is not None:
            parts.append(Part(factors, tuple(marginals[k] for k in range(len(numbers)))))
    return tuple(parts)


def _combined(shares: Line, numbers: Sequence[Line]) -> Line:
    total = Line(shares.constant)
    for k, c in shares.terms:
        total = total + numbers[k].times(c)
    return total


def _among(line: Line, place: Mapping[int, int]) -> Line:
    return Line(line.constant, tuple(sorted((place[s], c) for s, c in line.terms)))
