"""Laws of real outputs: what is left of a final state at one input and one eps.

A final state publishes finite values and real numbers. Its samples fall into independent groups,
connected by guards and by what is published; a group that publishes nothing is an event, one that
publishes a number is a `Marginal`, a measure on the line. The state is the product of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.events.event import Connected, Event
from dipapprox.language.core import Value
from dipapprox.semantics.linear import LinearForm


@dataclass(frozen=True, slots=True)
class Marginal:
    """S -> Pr[x in event and form(x) in S]: the law of one real output on one group of samples.

    Attributes:
        event: Independent samples, all real, and guards: none if there is no condition. Guards and
            form together connect all samples; the event has a positive probability.
        form: Over indices of `event.samples`, with at least one of them, plus a constant.
    """

    event: Event
    form: LinearForm


@dataclass(frozen=True, slots=True)
class Part:
    """One final state at one input: a product measure.

    Attributes:
        events: Independent; their probabilities multiply.
        marginals: Of the coordinates of the outcome, in order; independent of one another and of
            the events.
    """

    events: tuple[Connected, ...]
    marginals: tuple[Marginal, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What final states publish, up to the values of coordinates y[0], y[1], … on the line.

    Measures of different outcomes are singular to each other: they are summed one by one.

    Attributes:
        outputs: The finite values, in the order of `Program.outputs`.
        reals: Each of `Program.real_outputs` as a form over the coordinates (int symbols): a
            constant is an atom, a bare coordinate a number with a density.
    """

    outputs: tuple[Value, ...]
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
