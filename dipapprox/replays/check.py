"""The file of a proof, judged: by the kernel, and by elaborating the program's text again.

refuted        the file was changed without a new digest, the text does not mean the machine, or
               a step does not hold
confirmed      all steps hold, and the last one is the claim, about the machine of the text
not confirmed  a limit was reached
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dipapprox.data_classes import dataclass, field
from dipapprox.deferred import Deferred
from dipapprox.errors import NO_MEMORY, LimitReached, NoCertificate, UserError, shorten
from dipapprox.kernel.budget import asking
from dipapprox.kernel.budgets import is_budget
from dipapprox.kernel.errors import BadProof, NotProved, Refuted
from dipapprox.kernel.judgements import Judgement
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.reading import as_list, as_name, as_number, as_record, as_word
from dipapprox.kernel.replay import RULES, read_claim, replay
from dipapprox.language.core import Program, Value
from dipapprox.language.domains import AllReals
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import DIP, DPG, parse_program
from dipapprox.language.values import parse_rational
from dipapprox.limits import Limits
from dipapprox.pairs.selections import AllPairs, OrderedPairs, PairSelection
from dipapprox.privacy.scope import scope_of
from dipapprox.proof_steps.machines import program_json, value_json
from dipapprox.replays.digest import digest, text_hash
from dipapprox.replays.result import VERSION, Outcome, Replay, ReplayedStep
from dipapprox.replays.widened import check_widened, widening_of

if TYPE_CHECKING:
    from dipapprox.replays import budgets
else:
    budgets = Deferred("dipapprox.replays.budgets")

_FIELDS = (
    "format",
    "version",
    "program",
    "params",
    "widened",
    "scope",
    "verdict",
    "machine",
    "claim",
    "steps",
    "computed",
    "digest",
)


_BUDGET_FIELDS = tuple("about" if name == "widened" else name for name in _FIELDS)
"""Of proofs of budgets (`budgets`)."""


def check_proof(content: Mapping[str, object], limits: Limits, explained: bool = False) -> Replay:
    """Judge the JSON object of a file.

    Args:
        content: With the "format" of proofs.
        limits: Asked all the time.
        explained: Whether people shall see all steps.

    Raises:
        UserError: If it is malformed.
    """
    try:
        return _Check(content, limits).judge(explained)
    except BadProof as bad:
        raise UserError(f"the proof is malformed: {bad}") from None
    except UnicodeEncodeError:
        raise UserError("the proof is malformed: a text is not Unicode") from None
    except RecursionError:
        raise UserError("the proof is malformed: too deep") from None


@dataclass(slots=True)
class _Check:
    """A check under way."""

    content: Mapping[str, Any]
    limits: Limits
    steps: list[ReplayedStep] = field(default_factory=list)
    elaborated: bool = False
    caveat: str | None = None

    def judge(self, explained: bool) -> Replay:
        fields = _BUDGET_FIELDS if is_budget(self.content.get("claim")) else _FIELDS
        content = as_record(dict(self.content), "a proof", fields)
        if content["version"] != VERSION or isinstance(content["version"], bool):
            raise BadProof(
                f"version {shorten(str(content['version']))}; this dipapprox reads {VERSION}"
            )
        program = as_record(
            content["program"], "the program", ("name", "language", "text", "sha256")
        )
        if not all(isinstance(program[name], str) for name in program):
            raise BadProof("the program's fields are texts")
        name = as_name(program["name"], "the program")
        scope = content["scope"]
        if not isinstance(scope, str) or not scope.isprintable():
            raise BadProof("the scope is no line of text")
        verdict = as_word(content["verdict"], "the verdict", ("DP", "Not_DP"))
        claim = content["claim"]
        if not isinstance(claim, dict) or claim.get("verdict") != verdict:
            raise BadProof("the verdict is not that of the claim")
        parameters = parameters_of(content["params"])
        outcome, differences, reason = Outcome.CONFIRMED, [], None
        try:
            differences = self._differences(program, parameters)
            if not differences:
                self.elaborated = True
                steps = as_list(content["steps"], "the steps")
                with asking(self.limits.check):
                    replay(content["machine"], claim, steps, self._note)
        except Refuted as refuted:
            differences = [f"step {len(self.steps)}: {refuted}"]
        except BadProof:
            raise
        except NotProved as obstacle:
            reason = f"step {len(self.steps)}: {obstacle}"
        except LimitReached as limit:
            reason = limit.reason
        except MemoryError:
            reason = NO_MEMORY
        if differences:
            outcome = Outcome.REFUTED
        elif reason is not None:
            outcome = Outcome.NOT_CONFIRMED
        return Replay(
            outcome=outcome,
            differences=tuple(differences),
            reason=reason,
            program=name,
            parameters=parameters,
            scope=scope,
            verdict=verdict,
            elaborated=self.elaborated,
            steps=tuple(self.steps),
            explained=explained,
            seconds=self.limits.elapsed(),
            caveat=self.caveat,
        )

    def _differences(
        self, program: Mapping[str, str], parameters: Mapping[str, Fraction]
    ) -> list[str]:
        """What is false without any step: the digests, and that the text means the machine."""
        if digest(self.content) != self.content["digest"]:
            return ["digest: the file has changed since it was written"]
        if text_hash(program["text"]) != program["sha256"]:
            return ["program.sha256: it is not that of the text"]
        if is_budget(self.content["claim"]):
            differences = budgets.differences(self.content, parameters)
            self.caveat = None if differences else budgets.caveat(self.content)
            return differences
        found = meant_by(program, parameters, self.content["widened"])
        if isinstance(found, str):
            return [found]
        read, machine = found
        if machine != remembering(self.content["machine"]):
            return ["machine: it is not what the program's text means"]
        scope = scope_of(read, self._selection(read))
        if scope.text != self.content["scope"]:
            return [f"scope: the proof is {scope.text}"]
        self.caveat = scope.caveat
        return []

    def _selection(self, program: Program) -> PairSelection:
        """Return the pairs that the claim lists, as values of the program."""
        machine = read_machine(self.content["machine"])
        if read_claim(self.content["claim"], machine)[1].pairs is None:
            return AllPairs()
        return OrderedPairs(
            tuple(
                (_values(program, u), _values(program, v))
                for u, v in self.content["claim"]["pairs"]
            )
        )

    def _note(self, number: int, judgement: Judgement) -> None:
        self.steps.append(step_of(self.content["steps"][number], judgement))


def parameters_of(params: object) -> dict[str, Fraction]:
    """Read values of parameters."""
    if not isinstance(params, dict) or not all(isinstance(v, str) for v in params.values()):
        raise BadProof("parameters are texts of numbers")
    return {as_name(name, "a parameter"): parse_rational(v, name) for name, v in params.items()}


def meant_by(
    program: Mapping[str, str], parameters: Mapping[str, Fraction], widened: object
) -> tuple[Program, object] | str:
    """Return what a text means, and its machine; or what is wrong with it."""
    language = as_word(program["language"], "the language", (DPG, DIP))
    if not isinstance(widened, dict) or not all(isinstance(v, str) for v in widened.values()):
        raise BadProof("wider domains are texts")
    try:
        check_widened(widened)
    except ValueError as error:
        raise BadProof(str(error)) from None
    try:
        parsed = parse_program(program["text"], language, program["name"])
        read = elaborate(parsed, parameters, program["name"], widening_of(widened))
        machine = program_json(read)
    except NoCertificate as none:
        return f"program.text: {none.message}"
    except UserError as error:
        return f"program.text: it is not a program: {error.message}"
    if dict(read.parameters) != dict(parameters):
        return "params: they are not those of the program"
    return read, machine


def remembering(machine: object) -> object:
    """Return a machine that forgets nothing; whoever reads what is forgotten has no proof."""
    match machine:
        case {"body": list() as body, **rest}:
            return {**rest, "body": _remembering(body)}
        case _:
            return machine


def _remembering(block: Sequence[object]) -> list[object]:
    found: list[object] = []
    for statement in block:
        match statement:
            case ["forget", *_]:
                pass
            case [("if" | "while" | "repeat"), part, *blocks]:
                inner = [_remembering(each) if isinstance(each, list) else each for each in blocks]
                found.append([statement[0], part, *inner])
            case _:
                found.append(statement)
    return found


def step_of(step: Mapping[str, Any], judgement: Judgement, before: int = 0) -> ReplayedStep:
    """Say what a step concluded, and why; there were so many before its proof."""
    premises = tuple(before + (-each - 1 if each < 0 else each) for each in step["from"])
    theorem = (RULES[step["rule"]][0].__doc__ or "").partition("\n\n    Step:")[0]
    return ReplayedStep(step["rule"], premises, " ".join(theorem.split()), str(judgement))


def _values(program: Program, row: Sequence[object]) -> tuple[Value, ...]:
    """Return the values of the input cells that a row of a claim has, which was read before."""
    return tuple(
        as_number(written, "a value")
        if isinstance(cell.domain, AllReals)
        else next(value for value in cell.domain if value_json(value) == written)
        for cell, written in zip(program.inputs, row, strict=True)
    )
