"""What `check` says of a proof: frozen data, nothing printed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from dipapprox.data_classes import Record, field
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

FORMAT = "dipapprox proof"
VERSION = 1  # of files
PIPELINE_FORMAT = "dipapprox composition proof"
PIPELINE_VERSION = 1  # of files of proofs about pipelines


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
    theorem: str  # why the rule is right
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
        for number in reversed(range(len(self.steps))):
            step = self.steps[number]
            rests = f", from {', '.join(map(str, step.premises))}" if step.premises else ""
            lines += [f"{number}. {step.conclusion}", f"   by '{step.rule}'{rests}: {step.theorem}"]
        return tuple(lines)
