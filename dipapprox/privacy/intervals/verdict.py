"""The verdict on an interval of epsilons. Frozen data, nothing printed."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from dipapprox.data_classes import dataclass
from dipapprox.numerics.decimals import rounded_down, rounded_up
from dipapprox.numerics.enclosure import Enclosure
from dipapprox.privacy.description import Description, count, interval, known, seconds_text
from dipapprox.privacy.intervals.formula_claim import FormulaClaim
from dipapprox.privacy.notation import ends, parameter_fields, parameters_text
from dipapprox.privacy.result import Result
from dipapprox.privacy.scope import Scope
from dipapprox.privacy.verdict import Answer, Verdict, Witness, delta_name

_MOST_PARTS = 10
"""Undecided parts of the interval that are shown."""

_PLACES = 9


@dataclass(frozen=True, slots=True)
class IntervalVerdict(Result):
    """The result of one verification for every eps in a closed interval.

    Attributes:
        scope: The domains and pairs that it is about.
        lower: The least eps.
        upper: The greatest eps.
        reason: Why the answer is Unknown; None otherwise.
        pairs: Ordered pairs, each checked everywhere.
        points: Epsilons at which probabilities were computed.
        delta_enclosure: For DP, encloses the largest delta_{u,u'} over pairs and interval; for
            Not_DP, the violating pair's at the eps of the witness. None if nothing is known.
        violation: For Not_DP the verdict at one eps, with its witness.
        remaining: For Unknown the undecided parts of the interval, merged, ascending.
        precision: The most bits asked for at any eps.
        seconds: From parsed arguments to the verdict.
        interrupted: Whether the user stopped the run before there was an answer: it is Unknown.
    """

    program: str
    parameters: Mapping[str, Fraction]
    scope: Scope
    lower: Fraction
    upper: Fraction
    claim: FormulaClaim
    answer: Answer
    reason: str | None
    pairs: int
    outputs: int
    final_states: int
    points: int
    delta_enclosure: Enclosure | None
    violation: Verdict | None
    remaining: tuple[tuple[Fraction, Fraction], ...]
    precision: int
    engine: str
    seconds: float
    interrupted: bool = False

    asked: ClassVar[str] = Verdict.asked

    @property
    def epsilons(self) -> str:
        """The interval as it is written: "1/10..1"."""
        return f"{self.lower}..{self.upper}"

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `verify --json`: those of one eps, and what an interval adds."""
        witness = epsilon = None
        if self.violation is not None:
            epsilon = str(self.violation.claim.eps)
            witness = self.violation.witness_fields()
        return {
            "program": self.program,
            "params": parameter_fields(self.parameters),
            **self.scope.fields(),
            "eps": self.epsilons,
            "eps_prv": self.claim.eps_prv_text,
            "delta": self.claim.delta_text,
            "verdict": self.answer.value,
            "reason": self.reason,
            "pairs": self.pairs,
            "outputs": self.outputs,
            "final_states": self.final_states,
            "delta_enclosure": ends(self.delta_enclosure),
            "eps_witness": epsilon,
            "witness": None if witness is None else {"eps": epsilon, **witness},
            "remaining": [[str(low), str(high)] for low, high in self.remaining],
            "points": self.points,
            "precision": self.precision,
            "engine": self.engine,
            "seconds": round(self.seconds, 6),
        }

    @property
    def witness(self) -> Witness | None:
        """For Not_DP the pair that violates the claim at the eps of `violation`."""
        return None if self.violation is None else self.violation.witness

    def describe(self) -> Description:
        """Return what people see of it: the verdict, then that at the eps of the witness."""
        claimed = f"(ε_prv, δ) = ({self.claim.eps_prv_text}, {self.claim.delta_text})"
        violated = delta = None
        if self.violation is not None:
            violated = f"ε = {self.violation.claim.eps}"
        elif self.delta_enclosure is not None:
            delta = interval(self.delta_enclosure)
        points, spent = f"{count(self.points, 'value')} of ε", seconds_text(self.seconds)
        pairs, outputs = count(self.pairs, "ordered pair"), count(self.outputs, "output")
        return Description(
            headline=f"{self.program}: {self.answer.sentence}{self.scope.restriction}",
            label=self.answer.value,
            tone=self.answer.tone,
            facts=known(
                ("claim", f"{claimed}, program run at every ε in [{self.lower}, {self.upper}]"),
                *self.scope.rows(),
                ("parameters", parameters_text(self.parameters)),
                ("reason", self.reason),
                ("violated at", violated),
                (delta_name(self.answer), delta),
                ("undecided", self._remaining()),
                ("checked", f"{pairs}, {outputs}"),
                ("computed", f"{points}, {self.engine}, {self.precision} bits, {spent}"),
            ),
            below=() if self.violation is None else (self.violation.describe(),),
        )

    def _remaining(self) -> str:
        shown = [
            f"[{rounded_down(low, _PLACES)}, {rounded_up(high, _PLACES)}]"
            for low, high in self.remaining[:_MOST_PARTS]
        ]
        more = len(self.remaining) - _MOST_PARTS
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
