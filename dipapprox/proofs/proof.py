"""What is proved of a program for all real inputs: bounds of its least budget, and the evidence."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Program, Value
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.changes import Box, Changes
from dipapprox.proofs.cones import Cone
from dipapprox.proofs.rays import Ray
from dipapprox.proofs.two_inputs import TwoInputs
from dipapprox.proofs.worst_change import BoxShift, DearChange


@dataclass(frozen=True, slots=True)
class StateProof:
    """What one final state costs at most: for every change of inputs a shift that keeps it."""

    cone: Cone  # the state's guards
    dearest: DearChange  # the dearest change found, with a proof that no shift is cheaper there
    # Their boxes are together all changes; None where no bound was found.
    shifts: tuple[BoxShift, ...] | None


@dataclass(frozen=True, slots=True)
class OutputProof:
    """The proof for one output. Costs are in multiples of unit · eps."""

    output: tuple[Value, ...]  # values of the output cells, in the order of the program
    # The final states with this output that some inputs make possible.
    states: tuple[StateProof, ...]
    ray: Ray | None  # inputs on which it loses much; None if none was found to lose anything


@dataclass(frozen=True, slots=True)
class PartProof:
    """The proofs for an independent part of the program."""

    inputs: tuple[int, ...]  # where its inputs stand among the program's; changes are of these
    cells: tuple[int, ...]  # where its outputs stand among the program's
    # The proof for each valuation of them, in the order of the execution.
    outputs: tuple[OutputProof, ...]
    real_cells: tuple[str, ...] = ()  # the names of its real outputs


@dataclass(frozen=True, slots=True)
class PartLoss:
    """What one part contributes to the lower bound."""

    part: int  # the number of the part
    output: int  # the number of its output
    # The inputs on which it loses; all parts walk along their rays at the same time, so where parts
    # share inputs, rays agree.
    ray: Ray


@dataclass(frozen=True, slots=True)
class CoupledSample:
    """One sample of a coupling: the second run's is the first run's, moved.

    It moves with its mean, by the change of the inputs there, and by `shift` besides: that is paid.
    """

    label: str  # the variable that the sample was first assigned to
    line: int | None  # of the draw; None for a program without text
    # The inputs in its mean, by number, with their coefficients.
    mean: tuple[tuple[int, Fraction], ...]
    shift: Fraction  # how far its noise is moved
    # How far the sample is moved by both; None where the change may be one of several.
    moved: Fraction | None
    cost: Fraction  # rate · |shift|, in multiples of eps


@dataclass(frozen=True, slots=True)
class Proof:
    """An answer for all real (or integer) inputs and every eps; budgets are multiples of eps."""

    program: Program  # what was asked about, with its declared domains
    answer: Answer  # DP if there is a budget; Not_DP if there is none
    reason: str  # why there is no budget, or no exact one; "" if there is nothing to say
    lower: Fraction  # no smaller budget serves every eps
    # The program is (upper · eps, 0)-DP for every eps; None if none is known.
    upper: Fraction | None
    integers: bool  # whether inputs range over the integers, not over the reals
    changes: Changes | None  # of adjacent inputs; None if nothing was computed
    parts: tuple[PartProof, ...] = ()  # the proofs for the independent parts; their costs add up
    # Where the lower bound is lost: together, in all these parts. If one of them is infinite it is
    # the only one.
    losses: tuple[PartLoss, ...] = ()
    # Two inputs between which `lower` is lost, or more than any number: as eps grows, as it
    # vanishes, or at one eps. Then there are no other losses. None if nothing was found to be lost,
    # or not as much.
    between: TwoInputs | None = None
    # Of the dearest outcome of every part, for the changes in `coupled`; their costs add up to
    # `upper`. Without samples that no guard mentions.
    coupling: tuple[CoupledSample, ...] = ()
    # For every part the least and the greatest change of each of its inputs for which the coupling
    # serves, in multiples of the unit.
    coupled: tuple[Box, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether `upper` is the least budget."""
        return self.upper == self.lower
