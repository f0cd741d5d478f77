"""Events: conjunctions of linear comparisons over independent samples, exact and closed.

Final states speak about symbolic inputs and any eps; an `Event` is what is left when both are
fixed. The probability of an event is all that the numerical stages ever compute.

A final state that publishes real numbers leaves a law: it publishes finite values and real numbers.
Its samples fall into independent groups, connected by guards and by what is published; a group that
publishes nothing is an event, one that publishes a number is a `Marginal`, a measure on the line.
The state is the product of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.data_classes import Record
from dipapprox.events.circuits import Circuit
from dipapprox.language.core import Value
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm


class Event(Record):
    """{ x : form(x) <= 0 for every guard }, x[i] ~ samples[i] independent.

    A guard is about real samples or about integer ones, not both. Guards about integers have no
    integer points on their boundary.
    """

    samples: tuple[Distribution, ...]  # laws of x[0], x[1], …
    # Forms over the indices of `samples` (int symbols only), each non-constant.
    guards: tuple[LinearForm, ...]


Leaves = tuple[tuple[Distribution, int], ...]
"""Independent samples, equal laws counted: (law, how many >= 1), each law once."""


class Star(Record):
    """{ (c, x, y) : every x <= c <= every y }, all samples independent: at least two leaves.

    Most events of most programs; as laws with counts they stay small however many samples there
    are. Pr = ∫ density of c · Π cdf of x · Π survival of y.

    Of integers, c is one and the x and y lie half-way between two: a law with the mean m + 1/2 is
    that of z + 1/2 for an integer sample z of mean m. So there are no ties.
    """

    centre: Distribution
    below: Leaves
    above: Leaves


class Chosen(Record):
    """Choices have outcomes of some set."""

    circuit: Circuit  # of the probabilities of all sets of a program, as functions of its eps
    root: int  # the set
    eps: Fraction  # where the program runs, exact and > 0


class Mixture(Record):
    """One of many disjoint events: Σ count · Π Pr[event]^power, the events independent."""

    terms: tuple[tuple[int, tuple[tuple[Event | Star, int], ...]], ...]


Connected = Event | Star | Chosen | Mixture
"""A connected event in one of its spellings; stars may be spelled as `Event` as well."""


def spelled_out(event: Event | Star) -> Event:
    """Return the event with one sample per leaf; x[0] is the centre."""
    if isinstance(event, Event):
        return event
    samples, guards = [event.centre], []
    half = Fraction(event.centre.family.is_discrete, 2)
    for sign, leaves in ((Fraction(1), event.below), (Fraction(-1), event.above)):
        for law, count in leaves:
            own = law.affine(Fraction(1), -half) if half else law
            for _ in range(count):
                # x + half <= c, or c <= y + half
                guards.append(LinearForm.of({0: -sign, len(samples): sign}, sign * half))
                samples.append(own)
    return Event(tuple(samples), tuple(guards))


def laws_of(event: Event | Star) -> tuple[Distribution, ...]:
    """Return the laws of an event's samples; of a star's leaves each law once."""
    if isinstance(event, Event):
        return event.samples
    return event.centre, *[law for law, _ in event.below + event.above]


def count_samples(event: Event | Star) -> int:
    if isinstance(event, Event):
        return len(event.samples)
    return 1 + sum(count for _, count in (*event.below, *event.above))


Interval = tuple[Fraction | None, Fraction | None]  # [lower, upper]; None: infinite

EVERYWHERE: Interval = (None, None)


def common(first: Interval, second: Interval) -> Interval:
    """Return the intersection of two intervals, empty if its ends are in the wrong order."""
    lower = [end for end in (first[0], second[0]) if end is not None]
    upper = [end for end in (first[1], second[1]) if end is not None]
    return max(lower, default=None), min(upper, default=None)


def mapped(interval: Interval, factor: Fraction, shift: Fraction) -> Interval:
    """Return the interval of factor * x + shift, factor != 0."""
    low, high = (None if end is None else factor * end + shift for end in interval)
    return (low, high) if factor > 0 else (high, low)


class Marginal(Record):
    """S -> Pr[x in event and form(x) in S]: the law of one real output on one group of samples."""

    # Independent samples, all real, and guards: none if there is no condition. Guards and form
    # together connect all samples; the event has a positive probability.
    event: Event
    form: LinearForm  # over indices of `event.samples`, with at least one of them, plus a constant


class Part(Record):
    """One final state at one input: a product measure, all factors independent of one another.

    The marginals are those of the coordinates of the outcome, in order.
    """

    events: tuple[Connected, ...]
    marginals: tuple[Marginal, ...]


class PublishedOutcome(Record):
    """What final states publish, up to the values of coordinates y[0], y[1], … on the line.

    Measures of different outcomes are singular to each other: they are summed one by one.
    """

    outputs: tuple[Value, ...]  # the finite values, in the order of `Program.outputs`
    # Each of `Program.real_outputs` as a form over the coordinates (int symbols): a constant is an
    # atom, a bare coordinate a number with a density.
    reals: tuple[LinearForm, ...]

    @property
    def atoms(self) -> tuple[Fraction | None, ...]:
        """Per real output its constant; None where it is continuous."""
        return tuple(form.constant if form.is_constant else None for form in self.reals)

    @property
    def coordinates(self) -> int:
        """How many numbers with a density there are."""
        return 1 + max((k for form in self.reals for k in form.samples()), default=-1)


Measure = Sequence[Part]
"""Of one outcome: the sum of its parts, all with one marginal for each coordinate."""
