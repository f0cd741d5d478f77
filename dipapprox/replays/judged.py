"""Files of proofs, judged: by the kernel, and by whoever knows what their texts mean.

refuted        the file was changed without a new digest, a text does not mean its machine, or
               a step does not hold
confirmed      all steps hold, and the last one is the claim, about the machine of the text
not confirmed  a limit was reached
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dipapprox.data_classes import Record
from dipapprox.errors import NO_MEMORY, LimitReached, UserError, shorten
from dipapprox.kernel.errors import BadProof, NotProved, Refuted, asking
from dipapprox.kernel.judgements import Judgement
from dipapprox.kernel.loading import named
from dipapprox.kernel.reading import as_list, as_name, as_record
from dipapprox.kernel.replay import RULES, replay
from dipapprox.limits import Limits
from dipapprox.replays.digest import digest
from dipapprox.replays.result import Outcome, Replay, ReplayedStep
from dipapprox.replays.words import words_of

_PROGRAM = ("name", "language", "text", "sha256")


class Said(Record):
    program: str  # the name of what it is about
    parameters: Mapping[str, Fraction]  # of the program
    scope: str  # the inputs and pairs that it is about, in words
    verdict: str  # "DP" or "Not_DP"
    machine: object  # what its proofs are about
    proofs: Sequence[tuple[object, object]]  # a claim and steps each
    has_texts: bool  # whether there is a program's text


class FileKind(Record):
    """A kind of files."""

    fields: tuple[str, ...]  # of the object
    version: int  # that is read
    read: Callable[[Mapping[str, Any]], Said]  # returns what a file says, or raises `BadProof`
    # Returns what is false without any step, and what the verdict leaves out.
    differences: Callable[[Mapping[str, Any], Said], tuple[list[str], str | None]]


def judged(
    content: Mapping[str, object], kind: FileKind, limits: Limits, explained: bool
) -> Replay:
    """Judge the JSON object of a file.

    Args:
        explained: Whether people shall see all steps.
    """
    try:
        return _judged(as_record(dict(content), "a proof", kind.fields), kind, limits, explained)
    except BadProof as bad:
        raise UserError(f"the proof is malformed: {bad}") from None
    except UnicodeEncodeError:
        raise UserError("the proof is malformed: a text is not Unicode") from None
    except RecursionError:
        raise UserError("the proof is malformed: too deep") from None


def _judged(content: Mapping[str, Any], kind: FileKind, limits: Limits, explained: bool) -> Replay:
    version = content["version"]
    if version != kind.version or isinstance(version, bool):
        raise BadProof(f"version {shorten(str(version))}; this dipapprox reads {kind.version}")
    said, steps, concluded = kind.read(content), list[ReplayedStep](), list[str]()
    false, reason, caveat, elaborated = list[str](), None, None, False
    try:
        with asking(limits.check):
            if digest(content) != content["digest"]:
                false = ["digest: the file has changed since it was written"]
            else:
                false, caveat = kind.differences(content, said)
            elaborated = said.has_texts and not false
            for claim, listed in said.proofs if not false else ():
                own, before = as_list(listed, "the steps"), len(steps)

                def note(
                    number: int, found: Judgement, own: list[Any] = own, before: int = before
                ) -> None:
                    steps.append(_step(own[number], found, before))

                concluded.append(words_of(replay(said.machine, claim, own, note)))
    except Refuted as refuted:
        false = [f"step {len(steps)}: {refuted}"]
    except BadProof:
        raise
    except NotProved as obstacle:
        reason = f"step {len(steps)}: {obstacle}"
    except LimitReached as limit:
        reason = limit.reason
    except MemoryError:
        reason = NO_MEMORY
    outcome = Outcome.CONFIRMED if reason is None else Outcome.NOT_CONFIRMED
    return Replay(
        outcome=Outcome.REFUTED if false else outcome,
        differences=tuple(false),
        reason=reason,
        program=said.program,
        parameters=said.parameters,
        scope=said.scope,
        verdict=said.verdict,
        elaborated=elaborated,
        steps=tuple(steps),
        explained=explained,
        seconds=limits.elapsed(),
        concluded=tuple(concluded),
        caveat=caveat,
    )


def program_of(json: object) -> dict[str, str]:
    """Read the text of a program, and its name."""
    program = as_record(json, "the program", _PROGRAM)
    if not all(isinstance(text, str) for text in program.values()):
        raise BadProof("the program's fields are texts")
    as_name(program["name"], "the program")
    return program


def _step(step: Mapping[str, Any], judgement: Judgement, before: int) -> ReplayedStep:
    """Say what a step concluded, and why; there were so many before its proof."""
    premises = tuple(before + (-each - 1 if each < 0 else each) for each in step["from"])
    theorem = (named(RULES[step["rule"]][0]).__doc__ or "").partition("\n\n    Step:")[0]
    return ReplayedStep(step["rule"], premises, " ".join(theorem.split()), words_of(judgement))
