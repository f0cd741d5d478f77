"""Verdicts: DP, Not_DP with a witness, Unknown with a reason. Frozen data, nothing printed."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.data_classes import Record, RecordType
from dipapprox.digits import brief_text, exact_text
from dipapprox.errors import BrokenInvariant, UserError
from dipapprox.language.domains import exact_number
from dipapprox.pairs.divergence import Growth
from dipapprox.privacy import charts as pictures
from dipapprox.privacy.description import Description, End, Table, Tone, Word, count
from dipapprox.privacy.notation import ends
from dipapprox.privacy.run import Replayed, Run, RunResult, Witness, pair_table


class _ClaimType(RecordType):
    def __call__(
        cls, eps: Fraction, delta: Fraction, eps_prv: Fraction | Growth | None = None
    ) -> Any:
        # An int would turn into a float as soon as it is raised to a negative power.
        eps, delta = exact_number(eps, "eps"), exact_number(delta, "delta")
        if eps <= 0:
            raise UserError(f"eps must be > 0, got {exact_text(eps)}")
        if not isinstance(eps_prv, Growth):
            eps_prv = Growth(eps if eps_prv is None else exact_number(eps_prv, "eps_prv"))
            if eps_prv.rate < 0:
                raise UserError(f"eps_prv must be >= 0, got {exact_text(eps_prv.rate)}")
        if not 0 <= delta <= 1:
            raise UserError(f"delta must be in [0, 1], got {exact_text(delta)}")
        return super().__call__(eps, delta, eps_prv)


class Claim(Record, metaclass=_ClaimType):
    """The program run with `eps` is (eps_prv, delta)-differentially private.

    It is claimed with `eps_prv`, a number or e^eps_prv; with `eps` if none is given. UserError if a
    value is out of range.

    Attributes:
        eps: The program's privacy parameter, > 0; it scales the noise.
        delta: In [0, 1].
        growth: e^eps_prv, of which somebody has seen that it is >= 1.
    """

    eps: Fraction
    delta: Fraction
    growth: Growth

    if TYPE_CHECKING:

        def __init__(
            self, eps: Fraction, delta: Fraction, eps_prv: Fraction | Growth | None = None
        ) -> None: ...

    @property
    def eps_prv(self) -> Fraction:
        """The claimed eps_prv.

        Raises:
            BrokenInvariant: If it is no rational number; `growth` is known always.
        """
        if self.growth.multiple != 1:
            raise BrokenInvariant("the eps_prv of a claim is taken for a rational number")
        return self.growth.rate


class Stated(Record):
    """A number that was claimed by a formula: `text` as written, `value` its enclosure."""

    text: str
    value: Enclosure


class Answer(Word):
    """The three answers; the value is the word in reports and JSON."""

    DP = "DP"
    NOT_DP = "Not_DP"
    UNKNOWN = "Unknown"


SENTENCES = {
    Answer.DP: "the claim holds",
    Answer.NOT_DP: "the claim is violated",
    Answer.UNKNOWN: "not decided",
}
"""What an answer says of a claim."""

TONES = {Answer.DP: Tone.HOLDS, Answer.NOT_DP: Tone.FAILS, Answer.UNKNOWN: Tone.OPEN}
"""What kind of answer it is."""


def delta_name(answer: Answer) -> str:
    """Name the delta that comes with an answer: a search ends with the first violating pair."""
    return "δ of this pair" if answer is Answer.NOT_DP else "largest δ"


class Verdict(Record, RunResult):
    """The result of one verification.

    Attributes:
        run: The program, and what was checked.
        delta_enclosure: Encloses the largest delta_{u,u'} over the checked pairs (Lemma 2);
            the violating pair's when the search stopped there. None if nothing was computed.
        witness: For Not_DP the violating pair; for Unknown the closest pair if there is one.
        interrupted: Whether the user stopped the run before there was an answer: it is Unknown.
        stated_eps_prv: What `claim.eps_prv` stands for, if that is no rational number: for DP a
            lower bound of it, for Not_DP an upper bound.
    """

    run: Run
    claim: Claim
    answer: Answer
    delta_enclosure: Enclosure | None
    witness: Witness | None
    interrupted: bool = False
    stated_eps_prv: Stated | None = None
    stated_delta: Stated | None = None
    replayed: Replayed | None = None

    asked: ClassVar[str] = "compare its answer: verdict.answer is Answer.DP"

    @property
    def eps_prv_text(self) -> str:
        """The claimed eps_prv: a rational, or the formula of an irrational number."""
        stated = self.stated_eps_prv
        return exact_text(self.claim.eps_prv) if stated is None else stated.text

    @property
    def delta_text(self) -> str:
        """The claimed delta, likewise."""
        return exact_text(self.claim.delta) if self.stated_delta is None else self.stated_delta.text

    def to_dict(self) -> dict[str, object]:
        stated = {
            "eps_prv_enclosure": self.stated_eps_prv,
            "delta_claim_enclosure": self.stated_delta,
        }
        return {
            **self.header(),
            "eps": exact_text(self.claim.eps),
            "eps_prv": self.eps_prv_text,
            "delta": self.delta_text,
            **{name: ends(each.value) for name, each in stated.items() if each is not None},
            "verdict": self.answer.value,
            **self.extent(),
            "delta_enclosure": ends(self.delta_enclosure),
            "witness": self.witness_fields(),
            **self.footer(),
        }

    def witness_fields(self) -> dict[str, object] | None:
        """Return the field "witness" of `to_dict`."""
        return self._witness_fields(self.witness)

    def describe(self) -> Description:
        stated = self.stated_eps_prv  # what is no rational number is stated
        budget = brief_text(self.claim.eps_prv) if stated is None else stated.text
        least = self.stated_delta
        claimed_delta = brief_text(self.claim.delta) if least is None else least.text
        claimed = f"(ε_prv, δ) = ({budget}, {claimed_delta})"
        delta = None if self.delta_enclosure is None else str(self.delta_enclosure)
        return self.described(
            f"{self.program}: {SENTENCES[self.answer]}{self.scope.restriction}",
            label=self.answer.value,
            tone=TONES[self.answer],
            asked=(("claim", f"{claimed}, program run at ε = {brief_text(self.claim.eps)}"),),
            found=(
                ("reason", self.reason),
                (delta_name(self.answer), delta),
                ("checked", self._checked()),
            ),
            below=() if self.witness is None else self._witness(self.witness),
        )

    def why(self) -> tuple[End, ...]:
        of = delta_name(self.answer)
        return self._ends(of, self.delta_enclosure, self.witness, UNIT.upper)

    def charts(self) -> tuple[pictures.Chart, ...]:
        return self._witness_charts(self._witness_title, self.witness)

    @property
    def _witness_title(self) -> str:
        certain = self.answer is Answer.NOT_DP
        return "Witness: these outputs are too likely" if certain else "Closest pair"

    def _checked(self) -> str:
        what = f"{count(self.run.outputs, 'output')}, {count(self.final_states, 'final state')}"
        if self.scope.everywhere and not self.scope.listed:
            if self.answer is Answer.UNKNOWN and self.delta_enclosure is None:
                return f"no pair of infinitely many; {what}" if self.final_states else "nothing"
            if self.pairs is not None:
                return f"{count(self.pairs, 'ordered pair')} of infinitely many; {what}"
            return f"all pairs, infinitely many; {what}"
        if self.pairs == 0 and self.answer is Answer.DP:
            return "no two different inputs are adjacent: nothing to tell apart"
        pairs = "all pairs" if self.pairs is None else count(self.pairs, "ordered pair")
        return f"{pairs}, {what}"

    def _witness(self, witness: Witness) -> tuple[Table | str, ...]:
        certain = self.answer is Answer.NOT_DP
        pair = witness.pair_text(self.inputs)
        relation = f" > {self.delta_text} = δ" if certain else ""
        if witness.argument is not None:
            relation += f": {witness.argument}"
        found = self.delta_enclosure
        if certain and found is not None and found.lower > witness.delta_enclosure.upper:
            relation += "; the δ of this pair is that of another set"
        total = (
            f"Pr[S | input] - e^({self.eps_prv_text}) Pr[S | adjacent] in "
            f"{witness.delta_enclosure}{relation}"
        )
        table = pair_table(self._witness_title, pair, self.output_cells, witness.rows)
        return table, *witness.examples("S"), total
