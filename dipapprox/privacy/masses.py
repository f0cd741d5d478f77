"""What is known of the outputs of a program for one input."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass
from dipapprox.privacy.notation import Published


@dataclass(frozen=True, slots=True)
class Bin:
    """Mass of a number in one interval."""

    lower: Fraction
    upper: Fraction
    mass: Enclosure

    @property
    def density(self) -> Enclosure:
        """The mean density there."""
        width = self.upper - self.lower
        return Enclosure(self.mass.lower / width, self.mass.upper / width)


@dataclass(frozen=True, slots=True)
class Histogram:
    """The mean densities of one real output, given nothing, in one outcome."""

    name: str
    outputs: tuple[Published, ...]  # the finite outputs of the outcome
    # Neighbours from left to right; they keep nearly all the mass of the outcome.
    bins: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class OutputProbability:
    """One output: its probability and the number of final states that give it for this input.

    Where real outputs are published it is an outcome, with its mass.
    """

    output: tuple[Published, ...]
    probability: Enclosure
    final_states: int


@dataclass(slots=True)
class Masses:
    """What is known when the search for probabilities ends, early or not."""

    engine: str
    precision: int  # bits that were asked for in the last attempt that came to an end
    rows: tuple[OutputProbability, ...] = ()
    outputs: int = 0  # finite valuations that the program has
    final_states: int = 0
    obstacle: str | None = None
    histograms: tuple[Histogram, ...] = ()
