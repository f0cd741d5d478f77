"""Which budget does an automaton keep, for every eps, every length and all real inputs?"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.pairs.search import Progress, silent
from dipapprox.privacy.options import Options
from dipapprox.proofs.automaton_proof import AutomatonProof, Stops
from dipapprox.proofs.prove_automaton import NamedAutomaton, prove_automaton
from dipapprox.questions import kinds
from dipapprox.questions.computing import LIMITS
from dipapprox.questions.question import Question, argument


@dataclass(frozen=True, slots=True)
class Prove(Question):
    """The least D for which it is (D * eps, 0)-differentially private at every eps > 0."""

    name: ClassVar[str] = "prove"
    computing: ClassVar[tuple[str, ...]] = LIMITS

    budget: Fraction | None = argument(
        kinds.nonnegative,
        "D",
        "claim (D * ε, 0)-privacy for every ε > 0 (default: is there any such D?)",
        default=None,
    )
    stops: Stops = argument(
        kinds.Word(Stops),
        "",
        "is it seen that the automaton stops where no guard holds?",
        default="hidden",
    )

    def answer(
        self, program: Program | NamedAutomaton, options: Options, progress: Progress = silent
    ) -> AutomatonProof:
        """Prove it; see `Question.answer`."""
        if isinstance(program, Program):
            raise UserError("program must be an automaton", "'decide' answers for programs")
        return prove_automaton(program, self.budget, self.stops, options.limits)
