"""Which budget is kept for every eps and all real inputs, by an automaton, program or service?"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypedDict, Unpack, overload

from dipapprox.automata.model import Automaton
from dipapprox.data_classes import Record
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.load import file_or_bundled
from dipapprox.language.services import Service
from dipapprox.limits import Progress, silent
from dipapprox.privacy.run import Options
from dipapprox.proofs.endless_proof import AutomatonProof, Stops, StreamProof
from dipapprox.proofs.prove_automaton import prove_automaton, prove_rounds
from dipapprox.proofs.prove_real import prove_real
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.replayed import proved
from dipapprox.proofs.subject import Subject, load_subject, require_real_inputs, with_real_inputs
from dipapprox.questions import arguments, kinds
from dipapprox.questions.arguments import LIMITS
from dipapprox.questions.interface import AnyProgram, Number, explained, known_options, program_made
from dipapprox.questions.question import (
    PROVED,
    Question,
    argument,
    limited_by_options,
    read_keywords,
)
from dipapprox.services.service_proof import ServiceProof, prove_service

if TYPE_CHECKING:

    class _Asked(TypedDict, total=False):
        budget: Number | None
        reals: bool
        stops: Stops | Literal["hidden", "visible"]
        examiner: Iterable[str] | str
        eps: Number | None
        options: Options | None


Proof = AutomatonProof | RealProof | StreamProof | ServiceProof


class Prove(Record, Question, kw_only=True):
    """The least D for which it is (D * eps, 0)-differentially private at every eps > 0."""

    name: ClassVar[str] = "prove"
    computing: ClassVar[tuple[str, ...]] = (*LIMITS, PROVED)

    budget: Fraction | None = argument(
        arguments.nonnegative,
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
        arguments.flag,
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
        arguments.positive,
        "EPS",
        "of a service: at this ε only (default: for every ε > 0)",
        default=None,
    )

    @limited_by_options
    def answer(self, program: Subject, options: Options, progress: Progress = silent) -> Proof:
        found = self._found(program, options)
        found.told()  # a contradiction of its ends stops the run
        return proved(found) if options.proved else found

    def _found(self, program: Subject, options: Options) -> Proof:
        if isinstance(program, Service):
            return prove_service(program, self.budget, self.examiner, self.eps)
        if self.eps is not None:
            raise UserError("eps: only services are proved at one ε", "'verify' asks at one ε")
        if self.examiner:
            raise UserError("examiner: only services have users, who may look")
        if not isinstance(program, Program):
            return prove_automaton(program, self.budget, self.stops)
        if program.rounds is not None and program.real_outputs:
            name = program.real_outputs[0].variable
            raise UserError(
                f"the output '{name}' may be any real number: rounds without end publish values "
                "of finite sets",
                "where their number is known, prove without --for-all, or verify with --rounds",
            )
        if program.rounds is not None:
            return prove_rounds(program, self.budget)
        if self.reals:
            program = with_real_inputs(program)
        require_real_inputs(program)
        return prove_real(program, self.budget, proved=options.proved)


@overload
def prove(program: Automaton, **asked: Unpack[_Asked]) -> AutomatonProof: ...


@overload
def prove(program: AnyProgram, **asked: Unpack[_Asked]) -> RealProof | StreamProof: ...


@overload
def prove(program: Service, **asked: Unpack[_Asked]) -> ServiceProof: ...


@overload
def prove(program: str | PathLike[str], **asked: Unpack[_Asked]) -> Proof: ...


@explained("prove(program, budget=1)")
def prove(
    program: AnyProgram | Automaton | Service | str | PathLike[str],
    *,
    budget: Number | None = None,
    reals: bool = False,
    stops: Stops | Literal["hidden", "visible"] = "hidden",
    examiner: Iterable[str] | str = "",
    eps: Number | None = None,
    options: Options | None = None,
) -> Proof:
    """Find the least D for which something is (D * eps, 0)-private for every eps > 0 and all real
    inputs: an automaton for inputs of every length, a program for its number of inputs or any
    number of rounds; or a service for every sequence of calls.

    Args:
        program: From `parse`, an automaton or service of an earlier proof, or the name of a `.dpg`
            or `.dipa` file.
        budget: A claimed D, >= 0: then the answer is about it.
        reals: Whether every input with numbers is taken as any real number.
        stops: Whether it is seen that an automaton stops where no guard holds.
        examiner: The users of a service who look, together; none: everybody.
        eps: Of a service: the only one that is asked about; None for every eps > 0.
        options: Their limits.

    Raises:
        UserError: If an argument is wrong, the file cannot be read, or an input has finitely many
            values.
        SourceError: If the file holds no valid automaton, or the program is wrong.
    """
    question = read_keywords(Prove, locals())
    return question.answer(_known_subject(program), known_options(options))


def _known_subject(program: object) -> Subject:
    match program:
        case Program() | Service() | Automaton():
            return program
        case str() | PathLike():
            return load_subject(file_or_bundled(Path(program)), {})
        case _ if (made := program_made(program)) is not None:
            return made
        case _:
            raise UserError(
                f"program must be a Program or the name of a file, got {type(program).__name__}",
                "dipapprox.parse(text) reads one",
            )
