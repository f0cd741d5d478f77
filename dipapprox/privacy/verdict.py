"""Verdicts: DP, Not_DP with a witness, Unknown with a reason. Frozen data, nothing printed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import dataclass, field
from dipapprox.deferred import Deferred
from dipapprox.digits import brief_text, exact_text
from dipapprox.language.core import Cell, Input
from dipapprox.privacy.claim import Claim, Stated
from dipapprox.privacy.description import (
    Description,
    Table,
    Tone,
    Word,
    count,
    seconds_text,
)
from dipapprox.privacy.notation import (
    Published,
    ends,
    valuation,
    valuation_text,
)
from dipapprox.privacy.run import Run, RunResult

if TYPE_CHECKING:
    from dipapprox.privacy import charts, provenance
    from dipapprox.privacy.charts import Chart
    from dipapprox.privacy.provenance import End
else:
    provenance = Deferred("dipapprox.privacy.provenance")
    charts = Deferred("dipapprox.privacy.charts")


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

BY_BUDGET = "budget"
"""The engine of verdicts that a budget for every eps proves."""

_MOST_ROWS = 20
"""Of a witness, in its table."""

_MOST_OUTPUTS = 8
"""Of a witness, in a line."""

_BEYOND = (BY_BUDGET, "coupling", "exact", "processing")
"""Words in the name of an engine that stand for more than enclosures."""


def delta_name(answer: Answer) -> str:
    """Name the delta that comes with an answer: a search ends with the first violating pair."""
    return "δ of this pair" if answer is Answer.NOT_DP else "largest δ"


@dataclass(frozen=True, slots=True)
class WitnessRow:
    """One output of a witness with its probability under both inputs."""

    output: tuple[Published, ...]
    probability: Enclosure
    adjacent_probability: Enclosure


def pair_table(
    title: str, pair: tuple[str, str], cells: tuple[Cell, ...], rows: Sequence[WitnessRow]
) -> Table:
    """Lay out the first outputs of a witness, with their probabilities for its two inputs."""
    lines = [
        (
            valuation_text(cells, row.output),
            _enclosed(row.probability),
            _enclosed(row.adjacent_probability),
        )
        for row in rows[:_MOST_ROWS]
    ]
    if len(rows) > _MOST_ROWS:
        lines.append((f"… {len(rows) - _MOST_ROWS} more", "", ""))
    columns = "output", f"Pr[·] for input {pair[0]}", f"Pr[·] for adjacent {pair[1]}"
    return Table(title, columns, tuple(lines))


def _enclosed(probability: Enclosure) -> str:
    return "not enclosed" if probability == UNIT else str(probability)


@dataclass(frozen=True, slots=True)
class Witness:
    """A pair of inputs and the output set that tells them apart.

    Pr[P(input) in S] - e^eps_prv Pr[P(adjacent) in S] lies in `delta_enclosure`, S being the
    outputs of `rows`; for Not_DP its lower end exceeds the claimed delta, unless there is an
    `argument`, which says why the difference exceeds it all the same.

    Attributes:
        at_least: None where all of S is in `rows`. Else S is the set of all outputs that are more
            than e^eps_prv times as likely under `input`, too many to list: at least so many, of
            which `rows` are examples.
    """

    input: Input
    adjacent: Input
    rows: tuple[WitnessRow, ...]
    delta_enclosure: Enclosure
    argument: str | None = None
    at_least: int | None = None

    def pair_text(self, inputs: tuple[Cell, ...]) -> tuple[str, str]:
        """Write its two inputs for people."""
        return valuation_text(inputs, self.input), valuation_text(inputs, self.adjacent)

    def outputs_text(self, cells: tuple[Cell, ...]) -> str:
        """Write the first of its outputs for people."""
        shown = [valuation_text(cells, row.output) for row in self.rows]
        more = f"; … {len(shown) - _MOST_OUTPUTS} more" if len(shown) > _MOST_OUTPUTS else ""
        return "; ".join(shown[:_MOST_OUTPUTS]) + more + self.others()

    def others(self) -> str:
        """Say after the listed outputs that they are examples, if they are."""
        if self.at_least is None:
            return ""
        return f", of at least {self.at_least} outputs that are more than e^ε_prv times as likely"

    def fields(self, inputs: tuple[Cell, ...], output_cells: tuple[Cell, ...]) -> dict[str, object]:
        """Return it as plain data: the field "witness" of every answer."""
        size = {} if self.at_least is None else {"outputs_at_least": self.at_least}
        return {
            "input": valuation(inputs, self.input),
            "adjacent": valuation(inputs, self.adjacent),
            "outputs": [valuation(output_cells, row.output) for row in self.rows],
            **size,
            "delta_enclosure": ends(self.delta_enclosure),
            **({} if self.argument is None else {"argument": self.argument}),
        }


def witness_bars(
    title: str, pair: tuple[str, str], cells: tuple[Cell, ...], rows: Sequence[WitnessRow]
) -> charts.Bars:
    """Draw the outputs of a witness: how likely each is for the two inputs."""
    return charts.Bars(
        title,
        (f"input {pair[0]}", f"adjacent {pair[1]}"),
        tuple(
            (valuation_text(cells, row.output), (row.probability, row.adjacent_probability))
            for row in rows
        ),
    )


def witness_charts(run: Run, title: str, witness: Witness | None) -> tuple[Chart, ...]:
    """Draw the outputs of a witness of an answer, if it has one that lists some."""
    if witness is None or not witness.rows:
        return ()
    pair = witness.pair_text(run.inputs)
    return (witness_bars(title, pair, run.output_cells, witness.rows),)


def witness_fields(run: Run, witness: Witness | None) -> dict[str, object] | None:
    """Return the field "witness" of an answer's `to_dict`."""
    return None if witness is None else witness.fields(run.inputs, run.output_cells)


def witnessed_ends(
    run: Run,
    of: str,
    told: Extended | Enclosure | None,
    witness: Witness | None,
    trivial: Fraction | None = None,
) -> tuple[End, ...]:
    """Return who gave the ends of a number of an answer, the lower one shown by a witness.

    Args:
        run: The header of the answer; it knows who gave the ends of an `Enclosure`.
        of: Of which number.
        told: What is known of it.
        witness: Shows the lower end, if there is one.
        trivial: An upper end that says nothing.
    """
    pair, outputs = None, ""
    if witness is not None:
        pair, outputs = witness.pair_text(run.inputs), witness.outputs_text(run.output_cells)
    if isinstance(told, Enclosure):
        told = Extended(told.lower, told.upper, *run.by)
    words = [word for word in run.engine.split(" + ") if word not in _BEYOND]
    return provenance.ends_of(of, told, " + ".join(words), pair, outputs, trivial)


@dataclass(frozen=True, slots=True)
class Replayed:
    """That the kernel has replayed a proof, or several.

    Attributes:
        steps: How many there are.
        seconds: How long that took.
        bits: How exactly it encloses runs; 0 for closed forms.
        proof: What was replayed, if it is one proof.
    """

    steps: int
    seconds: float
    bits: int
    proof: object = field(default=None, repr=False, compare=False)

    def __add__(self, other: Replayed) -> Replayed:
        """Return that two proofs were replayed."""
        bits = max(self.bits, other.bits)
        return Replayed(self.steps + other.steps, self.seconds + other.seconds, bits)

    def fields(self) -> dict[str, object]:
        """Return the field "proved" of `to_dict`."""
        return {"steps": self.steps, "seconds": round(self.seconds, 6)}

    def text(self) -> str:
        """Say so for people."""
        return f"replayed by the kernel: {count(self.steps, 'step')}, {seconds_text(self.seconds)}"


def proved_fields(replayed: Replayed | None) -> dict[str, object]:
    """Return the field "proved" of an answer's `to_dict`, if it has one."""
    return {} if replayed is None else {"proved": replayed.fields()}


def proved_fact(replayed: Replayed | None) -> tuple[str, str | None]:
    """Return what people see of it."""
    return "proved", None if replayed is None else replayed.text()


@dataclass(frozen=True, slots=True)
class Verdict(RunResult):
    """The result of one verification.

    Attributes:
        run: The program, and what was checked.
        delta_enclosure: Encloses the largest delta_{u,u'} over the checked pairs (Lemma 2);
            the violating pair's when the search stopped there. None if nothing was computed.
        witness: For Not_DP the violating pair; for Unknown the closest pair if there is one.
        interrupted: Whether the user stopped the run before there was an answer: it is Unknown.
        stated_eps_prv: What `claim.eps_prv` stands for, if that is no rational number: for DP a
            lower bound of it, for Not_DP an upper bound.
        stated_delta: The same for `claim.delta`.
        replayed: That the kernel has replayed its proof; None if it was not asked to.
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
        """Return the fields of `verify --json`, a contract with other tools."""
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
            **proved_fields(self.replayed),
            **self.footer(),
        }

    def witness_fields(self) -> dict[str, object] | None:
        """Return the field "witness" of `to_dict`."""
        return witness_fields(self.run, self.witness)

    def describe(self) -> Description:
        """Return what people see of it: the verdict, then its witness."""
        told = (self.stated_eps_prv, self.claim.eps_prv), (self.stated_delta, self.claim.delta)
        each = (brief_text(value) if stated is None else stated.text for stated, value in told)
        claimed = f"(ε_prv, δ) = ({', '.join(each)})"
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
                proved_fact(self.replayed),
            ),
            below=() if self.witness is None else self._witness(self.witness),
        )

    def why(self) -> tuple[End, ...]:
        """Return who gave the ends of δ."""
        of = delta_name(self.answer)
        return witnessed_ends(self.run, of, self.delta_enclosure, self.witness, UNIT.upper)

    def charts(self) -> tuple[Chart, ...]:
        """Return its witness, drawn."""
        return witness_charts(self.run, self._witness_title, self.witness)

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
        return f"{count(self.pairs or 0, 'ordered pair')}, {what}"

    def _witness(self, witness: Witness) -> tuple[Table | str, ...]:
        certain = self.answer is Answer.NOT_DP
        pair = witness.pair_text(self.inputs)
        relation = f" > {self.delta_text} = δ" if certain else ""
        if witness.argument is not None:
            relation += f": {witness.argument}"
        examples = () if witness.at_least is None else (f"S: the output above{witness.others()}",)
        total = (
            f"Pr[S | input] - e^({self.eps_prv_text}) Pr[S | adjacent] in "
            f"{witness.delta_enclosure}{relation}"
        )
        table = pair_table(self._witness_title, pair, self.output_cells, witness.rows)
        return table, *examples, total
