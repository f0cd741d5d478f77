"""The Python interface of `prove`, which takes more than programs with finite domains."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack, overload

from dipapprox.automata.model import Automaton
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.language.load import file_or_bundled
from dipapprox.language.services import Service
from dipapprox.privacy.options import Options
from dipapprox.proofs.automaton_proof import AutomatonProof, Stops, StreamProof
from dipapprox.proofs.prove_automaton import NamedAutomaton
from dipapprox.proofs.real_proof import RealProof
from dipapprox.proofs.subject import Subject, load_subject
from dipapprox.questions.interface import AnyProgram, Number, explained, known_options, program_made
from dipapprox.questions.prove import Proof, Prove
from dipapprox.questions.question import read_keywords
from dipapprox.services.service_proof import ServiceProof

if TYPE_CHECKING:

    class _Asked(TypedDict, total=False):
        budget: Number | None
        reals: bool
        stops: Stops | Literal["hidden", "visible"]
        examiner: Iterable[str] | str
        eps: Number | None
        options: Options | None


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
        case Program() | Service():
            return program
        case Automaton():
            return NamedAutomaton("automaton", program)
        case str() | PathLike():
            return load_subject(file_or_bundled(Path(program)), {})
        case _ if (made := program_made(program)) is not None:
            return made
        case _:
            raise UserError(
                f"program must be a Program or the name of a file, got {type(program).__name__}",
                "dipapprox.parse(text) reads one",
            )
