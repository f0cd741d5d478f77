"""The verdict on an interval of epsilons. Frozen data, nothing printed."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from dipapprox.arithmetic.enclosure import Enclosure, rounded_down, rounded_up
from dipapprox.data_classes import Record
from dipapprox.privacy.charts import Chart
from dipapprox.privacy.description import Description, End, count
from dipapprox.privacy.intervals.formula_claim import FormulaClaim
from dipapprox.privacy.notation import ends
from dipapprox.privacy.run import Run, RunResult, Witness
from dipapprox.privacy.verdict import (
    SENTENCES,
    TONES,
    Answer,
    Replayed,
    Verdict,
    delta_name,
    proved_fact,
    proved_fields,
)

_MOST_PARTS = 10  # undecided parts of the interval that are shown
_PLACES = 9


class IntervalVerdict(Record, RunResult):
    """The result of one verification for every eps in a closed interval.

    Attributes:
        points: Epsilons at which the claim was judged.
        delta_enclosure: For DP, encloses the largest delta_{u,u'} over pairs and interval; for
            Not_DP, the violating pair's at the eps of the witness. None if nothing is known.
        violation: For Not_DP the verdict at one eps, with its witness.
        remaining: For Unknown the undecided parts of the interval, merged, ascending.
    """

    run: Run
    lower: Fraction
    upper: Fraction
    claim: FormulaClaim
    answer: Answer
    points: int
    delta_enclosure: Enclosure | None
    violation: Verdict | None
    remaining: tuple[tuple[Fraction, Fraction], ...]
    interrupted: bool = False
    replayed: Replayed | None = None

    asked: ClassVar[str] = Verdict.asked

    @property
    def epsilons(self) -> str:
        """The interval as it is written: "1/10..1"."""
        return f"{self.lower}..{self.upper}"

    def to_dict(self) -> dict[str, object]:
        witness = eps = None
        if self.violation is not None:
            eps = str(self.violation.claim.eps)
            witness = self.violation.witness_fields()
        return {
            **self.header(),
            "eps": self.epsilons,
            "eps_prv": self.claim.eps_prv_text,
            "delta": self.claim.delta_text,
            "verdict": self.answer.value,
            **self.extent(),
            "delta_enclosure": ends(self.delta_enclosure),
            "eps_witness": eps,
            "witness": None if witness is None else {"eps": eps, **witness},
            "remaining": [[str(low), str(high)] for low, high in self.remaining],
            "points": self.points,
            **proved_fields(self.replayed),
            **self.footer(),
        }

    @property
    def witness(self) -> Witness | None:
        """For Not_DP the pair that violates the claim at the eps of `violation`."""
        return None if self.violation is None else self.violation.witness

    def why(self) -> tuple[End, ...]:
        if self.violation is not None:
            return self.violation.why()
        of = delta_name(self.answer)
        return self._ends(of, self.delta_enclosure, None, Fraction(1))

    def charts(self) -> tuple[Chart, ...]:
        return () if self.violation is None else self.violation.charts()

    def describe(self) -> Description:
        claimed = f"(ε_prv, δ) = ({self.claim.eps_prv_text}, {self.claim.delta_text})"
        violated = delta = None
        if self.violation is not None:
            violated = f"ε = {self.violation.claim.eps}"
        elif self.delta_enclosure is not None:
            delta = str(self.delta_enclosure)
        outputs = count(self.run.outputs, "output")
        pairs = "all pairs, infinitely many"
        if self.pairs is not None or not self.scope.everywhere:
            pairs = count(self.pairs or 0, "ordered pair")
        everywhere = f"program run at every ε in [{self.lower}, {self.upper}]"
        return self.described(
            f"{self.program}: {SENTENCES[self.answer]}{self.scope.restriction}",
            label=self.answer.value,
            tone=TONES[self.answer],
            asked=(("claim", f"{claimed}, {everywhere}"),),
            found=(
                ("reason", self.reason),
                ("violated at", violated),
                (delta_name(self.answer), delta),
                ("undecided", self._remaining()),
                ("checked", f"{pairs}, {outputs}"),
                proved_fact(self.replayed),
            ),
            below=() if self.violation is None else (self.violation.describe(),),
            computed=f"{count(self.points, 'value')} of ε",
        )

    def _remaining(self) -> str:
        shown = [
            f"[{rounded_down(low, _PLACES)}, {rounded_up(high, _PLACES)}]"
            for low, high in self.remaining[:_MOST_PARTS]
        ]
        more = len(self.remaining) - _MOST_PARTS
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
