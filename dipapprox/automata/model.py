"""DiP automata: finite control, stored Laplace samples, one comparison of samples a step.

The model of Chadha, Sistla, Viswanathan and Bhusal, *Deciding Differential Privacy of Online
Algorithms with Multiple Variables* (CCS 2023), section 3. In a state one draws `insample` and,
independently, `insample'`, both Laplace, at an input state with the input added to their means;
one takes the transition whose guard compares `insample` with the stored values as required, emits
its output and stores `insample` in the variables that it assigns. Rates are multiplied by ε: the
scale of `Lap(d)` is 1 / (d·ε). Ties have probability 0, so `>` and `>=` are the same.

The coupling paper's automata with one threshold are those with one variable.

Sets of variables are bit masks over `Automaton.variables`; all numbers are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.source import Located


class OutputSample(Enum):
    """A real output: the sample that guards compare, or the fresh one."""

    COMPARED = "insample"
    FRESH = "insampleprime"


Output = str | OutputSample  # a symbol, or a sample


def is_real(output: Output) -> bool:
    """Whether an output is a real number; which sample it is cannot be seen."""
    return isinstance(output, OutputSample)


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Noise of density (k/2)·exp(-k·|x - mean|) with k = rate · ε."""

    rate: Fraction
    mean: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class ControlState(Located):
    """A control state."""

    name: str
    reads: bool
    # Noise of `insample`; None only where nothing is drawn, at a halting state.
    compared: LaplaceNoise | None
    fresh: LaplaceNoise | None = None  # noise of `insample'`; None if it is not used


@dataclass(frozen=True, slots=True)
class Transition(Located):
    """One step; guards speak of the values before it."""

    source: int
    above: int  # mask of the variables x with `insample >= x` in the guard
    below: int  # mask of the variables x with `insample < x` in the guard
    target: int
    output: Output
    assigned: int  # mask of the variables that become `insample`

    @property
    def used(self) -> int:
        """Mask of the variables that the guard mentions."""
        return self.above | self.below


@dataclass(frozen=True, slots=True)
class Automaton:
    """An automaton; `validity.check` says whether the theory speaks of it."""

    variables: tuple[str, ...]  # bit i of a mask is variable i
    states: tuple[ControlState, ...]  # the first one is initial
    transitions: tuple[Transition, ...]  # those of one state in order of the text
    # The ends of the interval in which changes of inputs lie: costs are convex in them. Words are
    # about 1 and -1, whatever these are; weights and the graphs of structures bound all of them.
    changes: tuple[int, ...] = (1, -1)

    def leaving(self) -> tuple[tuple[int, ...], ...]:
        """Return, for each state, the indices of its transitions."""
        found: list[list[int]] = [[] for _ in self.states]
        for index, transition in enumerate(self.transitions):
            found[transition.source].append(index)
        return tuple(map(tuple, found))

    def names(self, mask: int) -> tuple[str, ...]:
        """Return the names of a set of variables."""
        return tuple(self.variables[i] for i in members(mask))

    def guard_text(self, transition: Transition) -> str:
        """Return a guard as it is written in `.dipa` files; "true" if it is empty."""
        atoms = [f"insample >= {name}" for name in self.names(transition.above)]
        atoms += [f"insample < {name}" for name in self.names(transition.below)]
        return " && ".join(atoms) or "true"

    def reads(self, transition: Transition) -> bool:
        """Whether a transition reads an input."""
        return self.states[transition.source].reads

    def ends(self, transition: Transition) -> tuple[int, int]:
        """Return the least and the most by which the input of a transition may change."""
        return (min(self.changes), max(self.changes)) if self.reads(transition) else (0, 0)

    def rate(self, transition: Transition) -> Fraction:
        """Return the rate of the compared sample of a transition."""
        noise = self.states[transition.source].compared
        if noise is None:
            raise ValueError("a state with transitions has noise")
        return noise.rate

    def fresh_cost(self, transition: Transition) -> Fraction:
        """Return what a change of the input by 1 costs at the fresh sample: 0 if it is not seen."""
        state = self.states[transition.source]
        if transition.output is not OutputSample.FRESH or not state.reads or state.fresh is None:
            return Fraction(0)
        return state.fresh.rate


def members(mask: int) -> Iterator[int]:
    """Yield the elements of a bit mask, ascending."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
