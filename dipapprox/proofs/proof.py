"""What is proved of a program for all real inputs: bounds of its least budget, and the evidence."""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.language.core import Program, Value
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.changes import Box, Changes
from dipapprox.proofs.cones import Cone
from dipapprox.proofs.rays import Ray
from dipapprox.proofs.worst_change import BoxShift


@dataclass(frozen=True, slots=True)
class StateProof:
    """What one final state costs at most: for every change of inputs a shift that keeps it.

    Attributes:
        cone: The state's guards.
        shifts: Their boxes are together all changes; None where no bound was found.
    """

    cone: Cone
    shifts: tuple[BoxShift, ...] | None


@dataclass(frozen=True, slots=True)
class OutputProof:
    """The proof for one output. Costs are in multiples of radius · eps.

    Attributes:
        output: Values of the output cells, in the order of the program.
        states: The final states with this output that some inputs make possible.
        ray: Inputs on which it loses much; None if none was found to lose anything.
    """

    output: tuple[Value, ...]
    states: tuple[StateProof, ...]
    ray: Ray | None


@dataclass(frozen=True, slots=True)
class CoupledSample:
    """One sample of a coupling: the second run's is the first run's, moved.

    It moves with its mean, by the change of the inputs there, and by `shift` besides: that is paid.

    Attributes:
        label: The variable that the sample was first assigned to.
        line: Of the draw; None for a program without text.
        mean: The inputs in its mean, by number, with their coefficients.
        shift: How far its noise is moved.
        cost: rate · |shift|, in multiples of eps.
    """

    label: str
    line: int | None
    mean: tuple[tuple[int, Fraction], ...]
    shift: Fraction
    cost: Fraction


@dataclass(frozen=True, slots=True)
class Proof:
    """An answer for all real (or integer) inputs and every eps; budgets are multiples of eps.

    Attributes:
        program: What was asked about, with its declared domains.
        answer: DP if there is a budget; Not_DP if there is none.
        reason: Why there is no budget, or no exact one; "" if there is nothing to say.
        lower: No smaller budget serves every eps.
        upper: The program is (upper · eps, 0)-DP for every eps; None if none is known.
        integers: Whether inputs range over the integers, not over the reals.
        changes: Of adjacent inputs; None if nothing was computed.
        outputs: The proof for each output, in the order of the execution.
        dearest: The output that `upper` comes from, or that has no budget; None if none costs.
        coupling: Of the dearest state of the dearest output, for the changes in `coupled`; their
            costs add up to `upper`. Empty if nothing costs.
        coupled: The least and the greatest change of every input for which it serves, in multiples
            of the radius; all changes, where one coupling serves all.
    """

    program: Program
    answer: Answer
    reason: str
    lower: Fraction
    upper: Fraction | None
    integers: bool
    changes: Changes | None
    outputs: tuple[OutputProof, ...]
    dearest: OutputProof | None
    coupling: tuple[CoupledSample, ...] = ()
    coupled: Box = ()

    @property
    def is_exact(self) -> bool:
        """Whether `upper` is the least budget."""
        return self.upper == self.lower
