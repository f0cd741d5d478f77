"""The answer of a check: confirmed, refuted, or not confirmed. Frozen data, nothing printed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, assert_never

from dipapprox.certificates.verdicts import Claimed
from dipapprox.checking.claims import BudgetClaim, CompositionClaim
from dipapprox.data_classes import dataclass
from dipapprox.digits import brief_text, exact_text
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.description import Description, interval, known
from dipapprox.privacy.notation import ends, parameter_fields, parameters_text
from dipapprox.privacy.result import Result
from dipapprox.privacy.scope import Scope
from dipapprox.privacy.verdict import Answer, delta_name
from dipapprox.replays.result import TONES, Outcome

AnyClaim = Claimed | BudgetClaim | CompositionClaim
"""What a certificate states."""


@dataclass(frozen=True, slots=True)
class CheckResult(Result):
    """The result of checking one certificate.

    It has no header of a run as other answers do: the program may be unreadable, then there are
    neither cells nor domains to name; and no engine ran.

    Attributes:
        scope: The domains and pairs that the certificate is about; None if its program cannot be
            read.
        differences: What is false in the certificate, for REFUTED.
        reason: Why nothing was decided, for NOT_CONFIRMED; else None.
        answer: The verdict that the certificate states.
        pairs: Ordered pairs whose delta, or inequalities, were derived again; None if that was
            not reached, or there are infinitely many.
        sets: Sets that hold infinitely many pairs, and were bounded; None for other certificates.
        inputs: Inputs whose distributions were derived again.
        inequalities: Recorded inequalities whose proofs were examined, for decisions.
        delta_enclosure: The check's own enclosure of the largest delta (of the witness's pair for
            Not_DP); None if that was not reached, and for decisions.
        precision: The check's own bits; 0 where all is exact, but for balls that tell signs.
        shared: What the check had to leave to the engines, in words; empty: nothing.
        seconds: How long it took.
    """

    outcome: Outcome
    differences: tuple[str, ...]
    reason: str | None
    program: str
    parameters: Mapping[str, Fraction]
    scope: Scope | None
    claim: AnyClaim
    answer: Answer
    pairs: int | None
    sets: int | None
    inputs: int
    delta_enclosure: Enclosure | None
    precision: int
    shared: tuple[str, ...]
    seconds: float

    asked: ClassVar[str] = "compare its outcome and its answer: result.outcome is Outcome.CONFIRMED"

    @property
    def restriction(self) -> str:
        """What follows the verdict: nothing, or " for the 3 listed pairs"."""
        return "" if self.scope is None else self.scope.restriction

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `check --json`, a contract with other tools."""
        return {
            "result": self.outcome.value,
            "differences": list(self.differences),
            "reason": self.reason,
            "program": self.program,
            "params": parameter_fields(self.parameters),
            **({"scope": None, "caveat": None} if self.scope is None else self.scope.fields()),
            **_claim_fields(self.claim),
            "verdict": self.answer.value,
            "pairs": self.pairs,
            **({} if self.sets is None else {"sets": self.sets}),
            "inputs": self.inputs,
            "delta_enclosure": None if self.delta_enclosure is None else ends(self.delta_enclosure),
            "precision": self.precision,
            "shared": list(self.shared),
            "seconds": round(self.seconds, 6),
        }

    def describe(self) -> Description:
        """Return what people see of it."""
        delta = None if self.delta_enclosure is None else interval(self.delta_enclosure)
        bits = f"{self.precision} bits, " if self.precision else ""
        subject = f"{self.program}: the certificate{self.restriction}"
        return Description(
            headline=f"{subject} is {self.outcome.value}",
            label=self.outcome.value,
            tone=TONES[self.outcome],
            facts=known(
                ("states", f"{self.answer.value}{self.restriction}: {claim_text(self.claim)}"),
                *(() if self.scope is None else self.scope.rows()),
                ("parameters", parameters_text(self.parameters)),
                *(("false", difference) for difference in self.differences),
                ("reason", self.reason),
                (self._delta_name(), delta),
                ("derived", self._derived()),
                *(("shared", exception) for exception in self.shared),
                ("computed", f"{bits}{self.seconds:.3g} s"),
            ),
        )

    def _delta_name(self) -> str:
        composed = isinstance(self.claim, CompositionClaim)
        return "least δ" if composed else delta_name(self.answer)

    def _derived(self) -> str | None:
        if isinstance(self.claim, CompositionClaim):
            return None if self.delta_enclosure is None else "pairs of all runs, their products"
        if self.sets is not None:
            return f"δ on {self.sets} sets of pairs that hold all, and of single pairs"
        if self.delta_enclosure is not None:
            return f"distributions of {self.inputs} inputs, sums of pairs: {self.pairs}"
        return None


def claim_text(claim: AnyClaim) -> str:
    """Write a claim for people."""
    match claim:
        case Claimed():
            claimed = f"(ε_prv, δ) = ({brief_text(claim.eps_prv)}, {brief_text(claim.delta)})"
            return f"{claimed}, program run at ε = {brief_text(claim.eps)}"
        case BudgetClaim() | CompositionClaim():
            return claim.text
        case _:
            assert_never(claim)


def _claim_fields(claim: AnyClaim) -> dict[str, object]:
    match claim:
        case Claimed():
            return {
                "eps": exact_text(claim.eps),
                "eps_prv": exact_text(claim.eps_prv),
                "delta": exact_text(claim.delta),
            }
        case BudgetClaim():
            return {
                "budget": None if claim.budget is None else exact_text(claim.budget),
                "least_budget": {
                    "lower": exact_text(claim.lower),
                    "upper": None if claim.upper is None else exact_text(claim.upper),
                },
                "unbounded": claim.unbounded,
                "caveat": claim.caveat,
            }
        case CompositionClaim():
            least = claim.eps_prv_enclosure
            return {
                "eps_prv": None if claim.eps_prv is None else exact_text(claim.eps_prv),
                "delta": None if claim.delta is None else exact_text(claim.delta),
                "eps_prv_enclosure": None if least is None else [exact_text(e) for e in least],
                "deltas": [
                    {"eps_prv": exact_text(budget), "delta_enclosure": ends(known)}
                    for budget, known in claim.deltas
                ],
            }
        case _:
            assert_never(claim)
