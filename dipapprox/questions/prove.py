"""Which budget is kept for every eps and all real inputs, by an automaton or a program?"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from dipapprox.data_classes import dataclass
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.services import Service
from dipapprox.limits import Progress, silent
from dipapprox.privacy.options import Options
from dipapprox.proofs.automaton_proof import AutomatonProof, Stops, StreamProof
from dipapprox.proofs.prove_automaton import prove_automaton, prove_rounds
from dipapprox.proofs.prove_real import answer_real
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.replayed import proved
from dipapprox.proofs.subject import Subject, require_real_inputs, with_real_inputs
from dipapprox.questions import kinds, numbers
from dipapprox.questions.argument import LIMITS
from dipapprox.questions.computing import PROVED
from dipapprox.questions.question import Question, argument
from dipapprox.services.service_proof import ServiceProof, prove_service

Proof = AutomatonProof | RealProof | StreamProof | ServiceProof


@dataclass(frozen=True, slots=True)
class Prove(Question):
    """The least D for which it is (D * eps, 0)-differentially private at every eps > 0."""

    name: ClassVar[str] = "prove"
    computing: ClassVar[tuple[str, ...]] = (*LIMITS, PROVED)

    budget: Fraction | None = argument(
        numbers.nonnegative,
        "D",
        "claim (D * ε, 0)-privacy for every ε > 0 (default: is there any such D?)",
        default=None,
    )
    stops: Stops = argument(
        kinds.word(Stops),
        "",
        "is it seen that the automaton stops where no guard holds?",
        default="hidden",
        choices=kinds.choices_of(Stops),
    )
    reals: bool = argument(
        numbers.flag,
        "",
        "take every input with numbers as any real number, whatever its domain is",
        default="false",
    )
    examiner: tuple[str, ...] = argument(
        kinds.names,
        "USERS",
        "of a service: only these users look, together (default: everybody)",
        default="",
        swept=False,
    )
    eps: Fraction | None = argument(
        numbers.positive,
        "EPS",
        "of a service: at this ε only (default: for every ε > 0)",
        default=None,
    )

    def answer(self, program: Subject, options: Options, progress: Progress = silent) -> Proof:
        """Prove it; see `Question.answer`."""
        found = self._found(program, options)
        found.told()  # a contradiction of its ends stops the run
        return proved(found, options.limits) if options.proved else found

    def _found(self, program: Subject, options: Options) -> Proof:
        if isinstance(program, Service):
            return prove_service(program, self.budget, self.examiner, options.limits, self.eps)
        if self.eps is not None:
            raise UserError("eps: only services are proved at one ε", "'verify' asks at one ε")
        if not isinstance(program, Program):
            return prove_automaton(program, self.budget, self.stops, options.limits)
        if program.rounds is not None and program.real_outputs:
            name = program.real_outputs[0].variable
            raise UserError(
                f"the output '{name}' may be any real number: rounds without end publish values "
                "of finite sets",
                "where their number is known, prove without --for-all, or verify with --rounds",
            )
        if program.rounds is not None:
            return prove_rounds(program, self.budget, options.limits)
        if self.reals:
            program = with_real_inputs(program)
        require_real_inputs(program)
        return answer_real(program, self.budget, options.limits, proved=options.proved)
