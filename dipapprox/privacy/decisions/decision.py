"""What is asked of all ε of an interval, and what a decision says. Frozen data, nothing printed.

Ranges of ε as people read them and as JSON has them: no digit that may be false, no end lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from typing import ClassVar

from dipapprox.arithmetic.enclosure import Enclosure, rounded_down, short
from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import Record, settle
from dipapprox.digits import brief_text, exact_text
from dipapprox.errors import UserError, shorten
from dipapprox.exact.signs.interval import ALL_EPSILONS, EpsilonInterval
from dipapprox.exact.signs.nonnegative import NegativeRange
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.core import Value
from dipapprox.language.domains import exact_rational
from dipapprox.pairs.selections import Pair
from dipapprox.privacy import run as runs
from dipapprox.privacy.charts import Chart
from dipapprox.privacy.decisions.delta import Delta
from dipapprox.privacy.description import Description, End, Table, count, ends_of, known_to_be
from dipapprox.privacy.notation import as_text, ends, pair_fields, valuation_text
from dipapprox.privacy.verdict import SENTENCES, TONES, Answer

_USAGE = "write LO..HI: 0..inf, 1/10..1, or one number"


def read_epsilons(given: object, name: str = "interval") -> EpsilonInterval:
    """Read the eps > 0 of an interval: "LO..HI", (LO, HI), or one number.

    Rational ends are included; 0 and infinity, which may also be None, never are.

    Raises:
        UserError: If it is malformed or has no eps > 0.
    """
    match given:
        case str():
            first, dots, last = given.partition("..")
            if not first.strip() or ".." in last or bool(dots) != bool(last.strip()):
                raise UserError(f"{name} is not an interval of eps: '{shorten(given)}'", _USAGE)
            low: object = first
            high: object = last.strip() if dots else first
        case (low, high):
            pass
        case _:
            low = high = given
    lower = exact_rational(low, f"the lower end of {name}")
    infinite = high is None or high in ("inf", "oo", "∞")
    upper = None if infinite else exact_rational(high, f"the upper end of {name}")
    return closed_interval(lower, upper)


def closed_interval(lower: Fraction, upper: Fraction | None) -> EpsilonInterval:
    """Return the epsilons > 0 between two ends, both included unless 0 or infinite; a `UserError`
    if there are none."""
    if lower < 0:
        raise UserError(f"eps must be > 0, but the interval begins at {brief_text(lower)}", _USAGE)
    if upper is not None and (upper < lower or upper == 0):
        raise UserError(
            f"there is no eps > 0 in the interval {brief_text(lower)}..{brief_text(upper)}", _USAGE
        )
    return EpsilonInterval(lower, upper, lower > 0, upper is not None)


def interval_words(epsilons: EpsilonInterval) -> str:
    lower, upper = epsilons.lower, epsilons.upper
    if epsilons.is_point:
        return f"ε = {brief_text(lower)}"
    if upper is None:
        return f"all ε {'>=' if epsilons.lower_included else '>'} {brief_text(lower)}"
    left, right = "[" if epsilons.lower_included else "(", "]" if epsilons.upper_included else ")"
    return f"all ε in {left}{brief_text(lower)}, {brief_text(upper)}{right}"


DEFAULT_WIDTH = Fraction(1, 10**9)
"""Of the intervals around the ends of violated ranges, and of the least δ."""

LEAST_WIDTH = Fraction(1, 10**1000)


class DecisionQuestion(Record):
    """Is the program (tε, δ(ε))-differentially private for every ε of an interval?

    Raises:
        UserError: If a number is out of range.
    """

    budget: Fraction  # t >= 0
    delta: Delta
    interval: EpsilonInterval = ALL_EPSILONS
    # How narrowly ends of violated ranges and the least δ are enclosed, >= 10^-1000.
    width: Fraction = DEFAULT_WIDTH
    # Whether to find all ε at which some pair violates the claim; else the search ends with the
    # first violation.
    violations: bool = False
    least_delta: bool = False

    def __post_init__(self) -> None:
        if self.interval.is_point:
            settle(self, "delta", self.delta.at_point(self.interval.lower))
        if self.budget < 0:
            raise UserError(f"the budget must be >= 0, got {self.budget}")
        if self.width <= 0:
            raise UserError(f"the width must be > 0, got {self.width}")
        if self.width < LEAST_WIDTH:
            raise UserError("the width must be at least 10^-1000")

    @property
    def factor(self) -> ExponentialPolynomial:
        return ExponentialPolynomial.monomial(1, rate=self.budget)


_PLACES = 9


def ranges_text(ranges: Sequence[NegativeRange]) -> str:
    """Write ranges of ε for people: "0 < ε < 2.0319…, ε >= 5"."""
    return ", ".join(map(_range, ranges)) or "no ε"


def range_fields(
    ranges: Sequence[NegativeRange] | None, *, inside: bool
) -> list[dict[str, object]] | None:
    """Return sets of ε that are inside the ranges for certain, or that hold them for certain."""
    if ranges is None:
        return None
    found = []
    for each in ranges:
        lower, upper = each.lower.upper if inside else each.lower.lower, None
        if each.upper is not None:
            upper = each.upper.lower if inside else each.upper.upper
        ends = {"lower": exact_text(lower), "upper": "inf" if upper is None else exact_text(upper)}
        closed = {"lower_closed": each.lower_included, "upper_closed": each.upper_included}
        found.append({**ends, **closed})
    return found


def _range(each: NegativeRange) -> str:
    lower = _end(each.lower)
    if each.upper is None:
        return f"ε {'>=' if each.lower_included else '>'} {lower}"
    if each.lower == each.upper:
        return f"ε = {lower}"
    below, above = (
        "<=" if included else "<" for included in (each.lower_included, each.upper_included)
    )
    return f"{lower} {below} ε {above} {_end(each.upper)}"


def _end(end: Enclosure) -> str:
    """Write an exact end as it is, another one as the decimals that are certain, if there are."""
    if not end.width:
        return exact_text(end.lower)
    for places in range(_PLACES, 0, -1):
        digits = rounded_down(end.lower, places)
        if digits != "0" and digits == rounded_down(end.upper, places):
            return f"{digits}…"
    lower, upper = short(end)
    return f"[{lower}, {upper}]"


_LONGEST_FORMULA = 400
EXACT = "exact"  # the engine of decisions that rest on closed forms


class Cause(Enum):
    """Why a decision is unknown (DiPC spec, section 7.8); the value is the word in JSON."""

    OUTSIDE_FRAGMENT = "outside-fragment"
    PATH_BUDGET = "path-budget"
    INTEGRATION_BUDGET = "integration-budget"
    DEGREE_BUDGET = "degree-budget"
    PRECISION_BUDGET = "precision-budget"
    TIGHT_DELTA = "tight-delta"
    TERMINATION = "termination"
    TIME_LIMIT = "time-limit"
    MEMORY_LIMIT = "memory-limit"
    INTERRUPTED = "interrupted"
    NO_PROOF = "no-proof"


class ViolationRow(runs.WitnessRow):
    """An output of a violation: its probabilities are those at `eps`.

    The exact forms are functions of ε; None outside the decidable class.
    """

    form: ExponentialRatio | None
    adjacent_form: ExponentialRatio | None


class Violation(runs.DistinguishedPair):
    """Pr[P(input) in O] > e^{t eps} Pr[P(adjacent) in O] + δ, certified at one eps.

    Attributes:
        left: Encloses the left side; None, as `right`, if enclosures do not tell the sides apart:
            then the exact sign of their difference does, or an enclosure of it as a whole.
        right: Encloses the right side; it lies below.
        not_enclosed: Why `left` and `right` are None; None if they are not.
        ranges: Where this pair and O violate the claim; None outside the decidable class, and where
            a δ known by brackets does not tell.
        checked_by: The engine that found the same by numerical enclosures; None if their
            precision did not suffice.
    """

    rows: tuple[ViolationRow, ...]
    eps: Fraction
    left: Enclosure | None = None
    right: Enclosure | None = None
    not_enclosed: str | None = None
    ranges: tuple[NegativeRange, ...] | None = None
    checked_by: str | None = None


class LeastUniformDelta(Record):
    """The least δ that holds for every ε: a supremum."""

    enclosure: Enclosure
    exact: Fraction | None
    where: str  # where it is attained or approached, for people
    pair: Pair | None
    outputs: tuple[int, ...]


class Open(Record):
    pair: Pair
    outputs: tuple[int, ...]
    reason: str


class Decision(Record, runs.RunResult):
    """The answer to: is the program (tε, δ(ε))-DP for every ε of an interval?

    Attributes:
        listed: The outputs, where single ones are spoken of.
        note: What else must be known, or "".
        inequalities: Pairs with their outputs, or sets of outputs, looked at.
        distinct: Functions of ε among them whose sign was decided.
        open: For unknown, inequalities that are not decided (the first of them).
        violated_on: Where some checked pair violates the claim; None if that was not asked.
    """

    run: runs.Run
    listed: tuple[tuple[Value, ...], ...]
    epsilons: EpsilonInterval
    budget: Fraction
    delta: Delta
    answer: Answer
    cause: Cause | None
    note: str
    inequalities: int
    distinct: int
    open: tuple[Open, ...]
    violation: Violation | None
    violated_on: tuple[NegativeRange, ...] | None
    least_delta: LeastUniformDelta | None
    replayed: runs.Replayed | None = None

    asked: ClassVar[str] = "compare its answer: decision.answer is Answer.DP"

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the run before there was an answer."""
        return self.cause is Cause.INTERRUPTED

    def to_dict(self) -> dict[str, object]:
        upper = self.epsilons.upper
        return {
            **self.header(),
            "interval": [str(self.epsilons.lower), "inf" if upper is None else str(upper)],
            "budget": str(self.budget),
            "delta": self.delta.text,
            "verdict": self.answer.value,
            **self.extent(),
            "reason": None if self.cause is None else self.cause.value,
            "detail": self.reason or self.note or None,
            "witness": None if self.violation is None else self._witness(self.violation),
            "violated_on": range_fields(self._violated_on(), inside=True),
            "violated_within": range_fields(self._violated_on(), inside=False),
            "least_delta": None if self.least_delta is None else self._least(self.least_delta),
            "inequalities": self.inequalities,
            "distinct": self.distinct,
            "open": [
                {**self._place(each.pair, each.outputs), "reason": each.reason}
                for each in self.open
            ],
            **self.footer(),
        }

    def _violated_on(self) -> tuple[NegativeRange, ...] | None:
        if self.violated_on is None and self.violation is not None:
            return self.violation.ranges
        return self.violated_on

    def _witness(self, violation: Violation) -> dict[str, object]:
        return {
            "eps": exact_text(violation.eps),
            **violation.fields(self.inputs, self.output_cells),
            "probabilities": [
                {
                    "probability": ends(row.probability),
                    "adjacent_probability": ends(row.adjacent_probability),
                    "form": row.form and as_text(row.form),
                    "adjacent_form": row.adjacent_form and as_text(row.adjacent_form),
                }
                for row in violation.rows
            ],
            "lhs_enclosure": None if violation.left is None else ends(violation.left),
            "rhs_enclosure": None if violation.right is None else ends(violation.right),
            "not_enclosed": violation.not_enclosed,
            "violated_on": range_fields(violation.ranges, inside=True),
            "violated_within": range_fields(violation.ranges, inside=False),
            "checked_by": violation.checked_by,
        }

    def _least(self, least: LeastUniformDelta) -> dict[str, object]:
        return {
            "enclosure": ends(least.enclosure),
            "exact": None if least.exact is None else exact_text(least.exact),
            "where": least.where,
            **self._place(least.pair, least.outputs),
        }

    def _place(self, pair: Pair | None, outputs: Sequence[int]) -> dict[str, object]:
        listed = [self.listed[o] for o in outputs]
        return pair_fields(self.inputs, pair, self.output_cells, listed)

    def why(self) -> tuple[End, ...]:
        known = {EXACT: "closed forms", runs.BY_BUDGET: "least budget"}
        by = known.get(self.engine, f"enclosures: {self.engine}")
        found: tuple[End, ...] = ()
        if self.violation is not None:
            of, pair = (
                f"δ at ε = {exact_text(self.violation.eps)}",
                self.violation.pair_text(self.inputs),
            )
            shown = [valuation_text(self.output_cells, row.output) for row in self.violation.rows]
            found = (End(of, True, self.delta.text, by, pair, "; ".join(shown)),)
        elif self.answer is Answer.DP:
            of = f"δ for {interval_words(self.epsilons)}"
            found = (End(of, False, self.delta.text, by),)
        if self.least_delta is not None:
            told = Extended.of(self.least_delta.enclosure, by)
            found += ends_of("least δ", told)
        return found

    def charts(self) -> tuple[Chart, ...]:
        at = "" if self.violation is None else f" at ε = {exact_text(self.violation.eps)}"
        return self._witness_charts(f"Witness{at}: these outputs are too likely", self.violation)

    def describe(self) -> Description:
        words = SENTENCES[self.answer]
        if self.answer is Answer.DP:
            words += f" for {interval_words(self.epsilons)}"
        cause = None if self.cause is None else f"{self.cause.value}: {self.reason}"
        least = None if self.least_delta is None else self._least_text(self.least_delta)
        multiple = "ε" if self.budget == 1 else f"{brief_text(self.budget)} ε"
        claim = f"({multiple}, {self.delta.text})-DP for {interval_words(self.epsilons)}"
        return self.described(
            f"{self.program}: {words}{self.scope.restriction}",
            label=self.answer.value,
            tone=TONES[self.answer],
            asked=(("claim", claim),),
            found=(
                ("reason", cause),
                ("note", self.note),
                ("violated for", self._violated_text()),
                ("least δ", least),
                ("checked", self._checked()),
            ),
            below=() if self.violation is None else self._violation(self.violation),
        )

    def _violated_text(self) -> str | None:
        if self.violated_on is not None:
            return ranges_text(self.violated_on)
        if self.violation is not None and self.violation.ranges is not None:
            return f"{ranges_text(self.violation.ranges)} by this witness"
        return None

    def _checked(self) -> str:
        pairs = "infinitely many pairs" if self.pairs is None else count(self.pairs, "ordered pair")
        outputs = count(self.run.outputs, "output")
        if self.engine == EXACT:
            word = "inequality" if self.inequalities == 1 else "inequalities"
            return f"{pairs}, {outputs}, {self.inequalities} {word}, {self.distinct} distinct"
        if self.engine == runs.BY_BUDGET:
            return f"{pairs}, {outputs}"
        where = ""
        if self.violation is not None:
            where = f" at ε = {self.violation.eps}"
        elif self.answer is Answer.DP:
            where = f" for {interval_words(self.epsilons)}"
        return f"{pairs}, {outputs}, by enclosures{where}"

    def _least_text(self, least: LeastUniformDelta) -> str:
        exact = least.exact
        number = str(least.enclosure) if exact is None else f"exactly {exact_text(exact)}"
        if least.pair is None:
            return number
        first, second = (valuation_text(self.inputs, input) for input in least.pair)
        return f"{number}, {least.where}, for {first} against {second}"

    def _violation(self, violation: Violation) -> tuple[Table | str, ...]:
        title = f"Witness at ε = {exact_text(violation.eps)}"
        factor = "e^ε" if self.budget == 1 else f"e^({self.budget} ε)"
        left = right = ""
        if violation.left is not None and violation.right is not None:
            left, right = (f" {known_to_be(side)}" for side in (violation.left, violation.right))
        lines = [f"Pr[O | input]{left} > {factor} Pr[O | adjacent] + δ{right}"]
        if violation.not_enclosed is not None:
            lines[0] += f": {violation.not_enclosed}"
        if len(violation.rows) == 1:
            (row,) = violation.rows
            for name, form in (("input", row.form), ("adjacent", row.adjacent_form)):
                text = "" if form is None else as_text(form)
                if text and len(text) <= _LONGEST_FORMULA:
                    lines.append(f"Pr[O | {name}] = {text}")
        pair = violation.pair_text(self.inputs)
        return runs.pair_table(title, pair, self.output_cells, violation.rows), *lines
