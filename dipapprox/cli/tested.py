"""What `dipapprox test` found: the claims of several programs, as one answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from dipapprox.data_classes import dataclass
from dipapprox.privacy.description import Description, Table, Tone, count, seconds_text
from dipapprox.privacy.result import Result
from dipapprox.questions.claims import ClaimOutcome, Tested

_SHOWN = {ClaimOutcome.FALSE: "FALSE", ClaimOutcome.UNKNOWN: "UNKNOWN", ClaimOutcome.ERROR: "ERROR"}
_TONES = (
    (ClaimOutcome.FALSE, Tone.FAILS),
    (ClaimOutcome.ERROR, Tone.FAILS),
    (ClaimOutcome.UNKNOWN, Tone.OPEN),
)


def shown(outcome: ClaimOutcome) -> str:
    """Write an outcome so that what does not hold is seen."""
    return _SHOWN.get(outcome, outcome.value)


@dataclass(frozen=True, slots=True)
class TestedClaims(Result):
    """Claims with their outcomes, by the files they stand in."""

    tested: Mapping[Path, Sequence[Tested]]

    @property
    def outcomes(self) -> Counter[ClaimOutcome]:
        """How many claims have each outcome."""
        return Counter(each.outcome for cases in self.tested.values() for each in cases)

    def summary(self) -> str:
        """Say in a line how many hold."""
        outcomes = self.outcomes
        spent = sum(each.seconds for cases in self.tested.values() for each in cases)
        parts = [
            f"{outcomes[outcome]} {word}"
            for outcome, word in (
                (ClaimOutcome.HOLDS, "hold" if outcomes[ClaimOutcome.HOLDS] != 1 else "holds"),
                (ClaimOutcome.FALSE, "false"),
                (ClaimOutcome.UNKNOWN, "unknown"),
                (ClaimOutcome.ERROR, "with errors"),
            )
            if outcomes[outcome]
        ]
        total = count(outcomes.total(), "claim")
        where = count(len(self.tested), "program")
        return f"{total} in {where}: {', '.join(parts)} ({seconds_text(spent)})"

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `test --json`."""
        outcomes = self.outcomes
        return {
            "claims": [
                {
                    "program": str(path),
                    "claim": each.claim.text,
                    "line": each.claim.span.line,
                    "outcome": each.outcome.value,
                    "message": each.message or None,
                    "seconds": round(each.seconds, 3),
                }
                for path, cases in self.tested.items()
                for each in cases
            ],
            **{outcome.value: outcomes[outcome] for outcome in ClaimOutcome},
        }

    def describe(self) -> Description:
        """Return what people see of it: a table for every file."""
        tables = tuple(
            Table(
                str(path),
                ("outcome", "claim", "found instead"),
                tuple((shown(each.outcome), each.claim.text, each.message) for each in cases),
            )
            for path, cases in self.tested.items()
        )
        found = self.outcomes
        tone = next((tone for outcome, tone in _TONES if found[outcome]), Tone.HOLDS)
        return Description(self.summary(), "test", tone, (), tables)
