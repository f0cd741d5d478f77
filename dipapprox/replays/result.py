"""Files of proofs, judged by the kernel and by whoever knows what their texts mean; what is said.

refuted        the file was changed without a new digest, a text does not mean its machine, or
               a step does not hold
confirmed      all steps hold, and the last one is the claim, about the machine of the text
not confirmed  a limit was reached

What notices changes are the hash of a certificate's program, and the digest of all that it says:
the SHA-256 of the object without it, written as JSON with sorted keys, no blanks, UTF-8. A renewed
digest proves nothing; what the file says is then judged by itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from dipapprox.data_classes import Record, field
from dipapprox.errors import NO_MEMORY, LimitReached, UserError, shorten
from dipapprox.kernel.errors import BadProof, NotProved, Refuted, asking
from dipapprox.kernel.judgements import Judgement
from dipapprox.kernel.proofs import named
from dipapprox.kernel.reading import as_list, as_name, as_record
from dipapprox.kernel.replay import RULES, replay
from dipapprox.limits import check_limits, current
from dipapprox.privacy.description import (
    Description,
    Table,
    Tone,
    Word,
    count,
    known,
    parameter_fields,
    parameters_text,
    seconds_text,
)
from dipapprox.privacy.result import Result
from dipapprox.replays.words import words_of

_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(fields: Mapping[str, object]) -> str:
    """Return the digest of a certificate's fields, whatever they say under "digest".

    Raises:
        UnicodeEncodeError: If a text has half a character (a lone surrogate).
    """
    content = {name: value for name, value in fields.items() if name != "digest"}
    return f"sha256:{text_hash(_ENCODER.encode(content))}"


def text_fields(name: str, language: str, text: str) -> dict[str, str]:
    """Return a program's text as files have it."""
    return {"name": name, "language": language, "text": text, "sha256": text_hash(text)}


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


FORMAT = "dipapprox proof"
PIPELINE_FORMAT = "dipapprox composition proof"
VERSION = 1  # of files of both kinds


class Outcome(Word):
    """The three answers; the value is the word in reports and JSON."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_CONFIRMED = "not confirmed"


TONES = {
    Outcome.CONFIRMED: Tone.HOLDS,
    Outcome.REFUTED: Tone.FAILS,
    Outcome.NOT_CONFIRMED: Tone.OPEN,
}


class ReplayedStep(Record):
    rule: str
    premises: tuple[int, ...]  # numbers of the steps it rests on
    conclusion: str  # what it concludes, in words


class Replay(Record, Result):
    """The result of replaying the proof in a file.

    Attributes:
        differences: What does not hold, for REFUTED.
        reason: Why nothing was decided, for NOT_CONFIRMED; else None.
        program: The name of the program.
        scope: The domains and pairs it is about, as the file says: compared with the program.
        caveat: What the verdict does not say of the program, in words; None for nothing.
        verdict: What the file states: "DP" or "Not_DP".
        elaborated: Whether the program's text was found to mean the machine.
        steps: What the kernel replayed.
        explained: Whether people see all steps.
        seconds: How long it took.
        concluded: What each proof concludes, in words.
    """

    outcome: Outcome
    differences: tuple[str, ...]
    reason: str | None
    program: str
    parameters: Mapping[str, Fraction] = field(hash=False)
    scope: str
    verdict: str
    elaborated: bool
    steps: tuple[ReplayedStep, ...]
    explained: bool
    seconds: float
    concluded: tuple[str, ...] = ()
    caveat: str | None = None

    asked: ClassVar[str] = "compare its outcome: result.outcome is Outcome.CONFIRMED"

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `check --json`, a contract with other tools."""
        return {
            "result": self.outcome.value,
            "differences": list(self.differences),
            "reason": self.reason,
            "program": self.program,
            "params": parameter_fields(self.parameters),
            "scope": self.scope,
            "caveat": self.caveat,
            "verdict": self.verdict,
            "elaborated": self.elaborated,
            "steps": [
                {"rule": each.rule, "from": list(each.premises), "concludes": each.conclusion}
                for each in self.steps
            ],
            "seconds": round(self.seconds, 6),
        }

    def describe(self) -> Description:
        same = "the text means the machine of the proof: the elaborator's word"
        proved = self.outcome is Outcome.CONFIRMED and self.steps
        return Description(
            headline=f"{self.program}: the proof of {self.verdict} is {self.outcome.value}",
            label=self.outcome.value,
            tone=TONES[self.outcome],
            facts=known(
                *(("proved", said) for said in self.concluded if proved),
                ("scope", self.scope if proved else None),
                ("caveat", self.caveat),
                ("parameters", parameters_text(self.parameters)),
                *(("false", difference) for difference in self.differences),
                ("reason", self.reason),
                ("program", same if self.elaborated else None),
                ("replayed", f"{count(len(self.steps), 'step')}, {seconds_text(self.seconds)}"),
            ),
            below=self._explanation() if self.explained else (),
        )

    def _explanation(self) -> tuple[Table | str, ...]:
        """From the claim down to the leaves: what each step says, what it rests on, and why."""
        lines: list[str] = []
        for number, step in reversed([*enumerate(self.steps)]):
            rests = f", from {', '.join(map(str, step.premises))}" if step.premises else ""
            # Docstrings have no indentation from Python 3.13 on.
            said = " ".join((named(RULES[step.rule][0]).__doc__ or "").split())
            theorem = said.partition(" Step: ")[0]
            lines += [f"{number}. {step.conclusion}", f"   by '{step.rule}'{rests}: {theorem}"]
        return tuple(lines)


_PROGRAM = ("name", "language", "text", "sha256")


class Said(Record):
    program: str  # the name of what it is about
    parameters: Mapping[str, Fraction]  # of the program
    scope: str  # the inputs and pairs that it is about, in words
    verdict: str  # "DP" or "Not_DP"
    machine: object  # what its proofs are about
    proofs: Sequence[tuple[object, object]]  # a claim and steps each
    has_texts: bool  # whether there is a program's text
    # Returns what is false without any step, and what the verdict leaves out.
    differences: Callable[[], tuple[list[str], str | None]]


Reader = Callable[[Mapping[str, Any]], Said]
"""Returns what a file says, or raises `BadProof`."""


def judged(
    content: Mapping[str, object], fields: Sequence[str], read: Reader, explained: bool
) -> Replay:
    """Judge the JSON object of a file, that has some fields; people may see all steps."""
    try:
        return _judged(as_record(dict(content), "a proof", fields), read, explained)
    except BadProof as bad:
        raise UserError(f"the proof is malformed: {bad}") from None
    except UnicodeEncodeError:
        raise UserError("the proof is malformed: a text is not Unicode") from None
    except RecursionError:
        raise UserError("the proof is malformed: too deep") from None


def _judged(content: Mapping[str, Any], read: Reader, explained: bool) -> Replay:
    version = content["version"]
    if version != VERSION or isinstance(version, bool):
        raise BadProof(f"version {shorten(str(version))}; this dipapprox reads {VERSION}")
    said, steps, concluded = read(content), list[ReplayedStep](), list[str]()
    false, reason, caveat, elaborated = list[str](), None, None, False
    try:
        with asking(check_limits):
            if digest(content) != content["digest"]:
                false = ["digest: the file has changed since it was written"]
            else:
                false, caveat = said.differences()
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
        seconds=current().elapsed(),
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
    """Say what a step concluded; there were so many before its proof."""
    premises = tuple(before + (-each - 1 if each < 0 else each) for each in step["from"])
    return ReplayedStep(step["rule"], premises, words_of(judgement))
