"""What is known of the outputs of a program for one input.

Of real outputs these are masses of outcomes, and densities. An outcome is one valuation of the
finite outputs together with which of the numbers are constants; its probability is the mass of all
its numbers, or of those in intervals that are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.data_classes import Record
from dipapprox.errors import UserError
from dipapprox.events import event as events
from dipapprox.language.core import Cell, Input, Program
from dipapprox.linear.form import LinearForm
from dipapprox.pairs.published.divergences import PublishedDivergences
from dipapprox.privacy.notation import Published, published_values
from dipapprox.privacy.run import Options
from dipapprox.privacy.subjects import open_published
from dipapprox.semantics.execution import execute


class Bin(Record):
    """Mass of a number in one interval."""

    lower: Fraction
    upper: Fraction
    mass: Enclosure

    @property
    def density(self) -> Enclosure:
        width = self.upper - self.lower
        return Enclosure(self.mass.lower / width, self.mass.upper / width)


class Histogram(Record):
    """The mean densities of one real output, given nothing, in one outcome."""

    name: str
    outputs: tuple[Published, ...]  # the finite outputs of the outcome
    # Neighbours from left to right; they keep nearly all the mass of the outcome.
    bins: tuple[Bin, ...]


class OutputProbability(Record):
    """One output: its probability and the number of final states that give it for this input.

    Where real outputs are published it is an outcome, with its mass.
    """

    output: tuple[Published, ...]
    probability: Enclosure
    final_states: int


class Masses(Record, frozen=False):
    """What is known when the search for probabilities ends, early or not."""

    engine: str
    precision: int  # bits that were asked for in the last attempt that came to an end
    rows: tuple[OutputProbability, ...] = ()
    outputs: int = 0  # finite valuations that the program has
    final_states: int = 0
    obstacle: str | None = None
    histograms: tuple[Histogram, ...] = ()


_DEVIATIONS = 6  # A picture shows this many scales on both sides of the means


def enclose_masses(
    found: Masses,
    program: Program,
    eps: Fraction,
    input: Input,
    options: Options,
    where: Mapping[str, events.Interval],
    bins: int = 0,
) -> None:
    """Enclose the masses of all outcomes of one input; see `probabilities.output_distribution`.

    Args:
        found: Filled with what is known whenever this ends.
        where: Intervals that real output cells shall lie in, by name.

    Raises:
        UserError: If `where` names no real output, or one that depends on several numbers.
    """
    names = [cell.name for cell in program.real_outputs]
    for name in where:
        if name not in names:
            raise UserError(f"no real output is called '{name}'", f"there are {', '.join(names)}")
    states = execute(program, options.merge, real_outputs=True)
    found.outputs, found.final_states = len(states.outputs), len(states.states)
    divergences = open_published(states, eps, options)
    measures = divergences.measures(input)
    if isinstance(measures, NotEnclosed):
        found.obstacle = measures.reason
        return
    for outcome, parts in measures.items():
        asked = _asked(outcome, program.real_outputs, where)
        if asked is None:
            continue
        mass = divergences.masses.of(
            parts, options.precision, {k: (own,) for k, own in asked.items()}
        )
        if isinstance(mass, NotEnclosed):
            found.obstacle, mass = mass.reason, UNIT
        row = published_values(outcome, {LinearForm.symbol(k): (own,) for k, own in asked.items()})
        found.rows += (OutputProbability(row, mass.intersect(UNIT), len(parts)),)
        found.engine = divergences.name
    if bins:
        found.histograms = tuple(
            histogram
            for outcome, parts in measures.items()
            for histogram in _histograms(divergences, program, outcome, parts, bins)
        )


def _asked(
    outcome: events.PublishedOutcome, cells: Sequence[Cell], where: Mapping[str, events.Interval]
) -> dict[int, events.Interval] | None:
    """Return the intervals of coordinates; None if a constant lies outside its interval."""
    found: dict[int, events.Interval] = {}
    for cell, form in zip(cells, outcome.reals, strict=True):
        interval = where.get(cell.name)
        if interval is None:
            continue
        if form.is_constant:
            low, high = interval
            if (low is not None and form.constant < low) or (
                high is not None and form.constant > high
            ):
                return None
            continue
        if len(form.terms) > 1:
            raise UserError(
                f"'{cell.name}' is a sum of numbers that other outputs show, too", "ask about those"
            )
        coordinate, factor = _multiple(form)
        own = events.mapped(interval, 1 / factor, -form.constant / factor)
        found[coordinate] = events.common(found.get(coordinate, events.EVERYWHERE), own)
    return found


def _multiple(form: LinearForm) -> tuple[int, Fraction]:
    """Return the one coordinate that a form is about, and its factor."""
    ((coordinate, factor),) = form.terms
    assert isinstance(coordinate, int)
    return coordinate, factor


def _histograms(
    divergences: PublishedDivergences,
    program: Program,
    outcome: events.PublishedOutcome,
    parts: Sequence[events.Part],
    bins: int,
) -> Iterator[Histogram]:
    for cell, form in zip(program.real_outputs, outcome.reals, strict=True):
        if len(form.terms) != 1:
            continue
        coordinate, factor = _multiple(form)
        ranges = [_range(part.marginals[coordinate]) for part in parts]
        low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
        ends = [low + (high - low) * k / bins for k in range(bins + 1)]
        found = []
        for start, stop in pairwise(ends):
            mass = divergences.masses.of(parts, 20, {coordinate: ((start, stop),)})
            if isinstance(mass, NotEnclosed):
                break
            left, right = sorted((factor * start + form.constant, factor * stop + form.constant))
            found.append(Bin(left, right, mass))
        else:
            bars = tuple(found if factor > 0 else found[::-1])
            yield Histogram(cell.name, outcome.outputs, bars)


def _range(marginal: events.Marginal) -> tuple[Fraction, Fraction]:
    laws = marginal.event.samples
    terms = [(laws[sample], c) for sample, c in marginal.form.terms if isinstance(sample, int)]
    mean = marginal.form.constant + sum((c * law.mean for law, c in terms), Fraction(0))
    spread = _DEVIATIONS * max(abs(c) * law.scale for law, c in terms)
    return mean - spread, mean + spread
